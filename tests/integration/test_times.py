"""Times of recordings, compared with the clock of the recorded program."""
import time

from allotest import ENVIRONMENT
from recordings import CaptureTest, built, preloaded, preloaded_library

CLOCK_MONOTONIC_COARSE = 6
MS = 10 ** 6
SLEEP_ERROR = 50_000  # ns: of a gap in which the thread slept
COMPUTING_ERROR = MS  # of a gap of 10 ms or more in which it computed
# The accuracy of a recording in which every event read the clock.
UNSAVED = {"exact": False, "sleep_error_ns": 40_000, "computing_error_ns": 40_000}

EIGHT = """
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 8; i++) {
		void *volatile p = malloc(1000 + i);
		usleep(300000);
		free(p);
	}
}
"""


class Gap:
    """A block that lived through a gap, by the program's clock."""

    def __init__(self, line):
        size, self.kind, length, rush, *clock = line.split()
        self.size, self.ns, self.rush = int(size), int(length), int(rush)
        self.before_malloc, self.after_malloc, self.before_free, self.after_free = map(int, clock)

    def error(self, accuracy):
        """The largest error that is allowed for its lifetime, ns."""
        if self.kind != "computing" or accuracy["exact"] or accuracy["computing_error_ns"] <= SLEEP_ERROR:
            return SLEEP_ERROR
        return COMPUTING_ERROR if self.ns >= 10 * MS else accuracy["computing_error_ns"]

    def __repr__(self):
        return f"{self.kind} of {self.ns / MS} ms after {self.rush} blocks"


class Round:
    """A pause between a free and an allocation, by the clock of hidden.c."""

    def __init__(self, line):
        freed, made, self.kind, hidden, *clock = line.split()
        self.freed, self.made, self.hidden = int(freed), int(made), int(hidden)
        before_free, after_free, before_malloc, after_malloc = map(int, clock)
        self.least, self.most = before_malloc - after_free, after_malloc - before_free

    def is_wrong(self, found):
        """The program may have been interrupted anywhere, but `least` and `most` enclose the pause."""
        ns = found[self.made][0] - found[self.freed][1]
        error = SLEEP_ERROR if self.kind == "sleep" else COMPUTING_ERROR
        # Of a computation of 0.5 ms before a computation, some may be added.
        return not self.least - error <= ns <= self.most + min(error, self.hidden // 2 or error)


class Times(CaptureTest):
    def accuracy(self, path):
        return self.allo_json("info", path)["recording"]["time"]

    def lives(self, path, least, most):
        """Times of blocks, by their size."""
        rows = self.allo_json("sql", path, "select size, alloc_ns, free_ns from allocation "
                              f"where size between {least} and {most}")["rows"]
        return {size: (start, end) for size, start, end in rows}

    def check_lifetimes(self, gaps, found, accuracy):
        """A recorded time lies between two readings of the program's clock, with some error."""
        for gap in gaps:
            start, end = found[gap.size]
            error = gap.error(accuracy)
            with self.subTest(gap=gap):
                self.assertGreaterEqual(end - start, gap.before_free - gap.after_malloc - error)
                self.assertLessEqual(end - start, gap.after_free - gap.before_malloc + error)

    def check_clock(self, gaps, found, accuracy):
        """One difference between the two clocks fits all times, so errors do not accumulate."""
        least, most = [], []
        for gap in gaps:
            for ns, before, after in zip(found[gap.size], (gap.before_malloc, gap.before_free),
                                         (gap.after_malloc, gap.after_free)):
                least.append(before - ns - gap.error(accuracy))
                most.append(after - ns + gap.error(accuracy))
        self.assertLessEqual(max(least), min(most))

    def check(self, path, said):
        """Compares a recording of clocks.c with its output; returns the accuracy."""
        gaps = [Gap(line) for line in said.splitlines()]
        accuracy = self.accuracy(path)
        found = self.lives(path, min(gap.size for gap in gaps), max(gap.size for gap in gaps))
        self.assertGreaterEqual(len(gaps), 114)
        self.assertEqual(sorted(found), sorted(gap.size for gap in gaps))
        self.check_lifetimes(gaps, found, accuracy)
        self.check_clock(gaps, found, accuracy)
        return accuracy

    def recorded(self, *options, threads=1, env=ENVIRONMENT, name="clocks.allo"):
        """Runs clocks.c under `allo run`; returns the path of the recording and the program's output."""
        path = self.tmp / name
        return path, self.allo("run", "-q", "-f", "-o", path, *options, "--", built("clocks.c"), threads, env=env)

    def test_eight_sleeps_have_eight_lifetimes(self):
        program, path = self.tmp / "eight", self.tmp / "eight.allo"
        self.must("gcc", "-O2", "-D_GNU_SOURCE", self.file("eight.c", EIGHT), "-o", program)
        self.allo("run", "-q", "-o", path, "--", program)
        found = self.lives(path, 1000, 1007)
        self.assertEqual(sorted(found), list(range(1000, 1008)))
        for size, (start, end) in found.items():
            self.assertGreaterEqual(end - start, 300 * MS - SLEEP_ERROR, size)
        # Sleeps follow one another, and none begins before the last one ended.
        ordered = [ns for size in sorted(found) for ns in found[size]]
        self.assertEqual(ordered, sorted(ordered))

    def test_gaps_of_one_thread_have_their_length(self):
        accuracy = self.check(*self.recorded())
        if accuracy != UNSAVED:
            del accuracy["unsure_sleeps"]
            self.assertEqual(accuracy, {"exact": False, "sleep_error_ns": SLEEP_ERROR, "computing_error_ns":
                                        round(time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e9)})

    def rounds(self, threads, *lengths):
        """Runs hidden.c; returns all rounds, the wrong ones, and the number of unsure sleeps."""
        path = self.tmp / "hidden.allo"
        said = self.allo("run", "-q", "-f", "-o", path, "--", built("hidden.c"), threads, *lengths)
        rounds = [Round(line) for line in said.splitlines()]
        self.assertEqual(len(rounds), threads * len(lengths) * 2 * 12)
        found = self.lives(path, rounds[0].freed, rounds[-1].made)
        wrong = [each for each in rounds if each.is_wrong(found)]
        return rounds, wrong, self.accuracy(path).get("unsure_sleeps", 0), path

    def test_a_computation_is_added_to_the_next_pause_about_once(self):
        rounds, wrong, unsure, path = self.rounds(1, 500, 1000, 3000)
        self.assertLessEqual(len(wrong), len(rounds) // 10, [(each.kind, each.hidden) for each in wrong])
        # No sleep is wrong without being counted.
        self.assertLessEqual(sum(each.kind == "sleep" for each in wrong), unsure)
        if unsure:
            self.assertRegex(self.allo("info", path), rf"; {unsure} sleeps? may include up to [\d.]+ ms of computing")

    def test_a_computation_in_one_of_two_threads_is_timed(self):
        self.assertEqual(self.rounds(2, 500, 3000)[1], [])

    def test_a_sleep_after_a_rush_is_sure(self):
        # Interrupts may count as computing of the thread.
        self.assertLessEqual(self.rounds(1, 0)[2], 6)

    def test_gaps_in_a_raw_recording_have_their_length(self):
        self.check(*self.recorded("--raw"))

    def test_gaps_of_two_threads_have_their_length(self):
        self.check(*self.recorded(threads=2))

    def test_exact_times_are_exact(self):
        path, said = self.recorded("--time", "exact")
        self.assertEqual(self.check(path, said), {"exact": True})
        self.assertIn("exact times (every event)", self.allo("info", path))

    def test_without_rseq_every_event_reads_the_clock(self):
        env = {**ENVIRONMENT, "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
        path, said = self.recorded(env=env)
        self.assertEqual(self.check(path, said), UNSAVED)
        self.assertIn("times within 40 us", self.allo("info", path))

    def test_with_a_kernel_that_does_not_show_sleeps_every_event_reads_the_clock(self):
        path = self.tmp / "odd.allo"
        env = preloaded(path)
        env["LD_PRELOAD"] += f":{preloaded_library('odd_rseq.c')}"
        self.assertEqual(self.check(path, self.must(built("clocks.c"), env=env)), UNSAVED)

    def with_odd_clock(self, kind):
        path = self.tmp / f"{kind}.allo"
        env = preloaded(path, preloaded_library("odd_clock.c", "-ldl"), ODD_CLOCK=kind)
        said = self.must(built("clocks.c"), env=env)
        return path, said

    def test_without_a_known_clock_word_every_event_reads_the_clock(self):
        self.assertEqual(self.check(*self.with_odd_clock("shifted")), UNSAVED)

    def test_with_a_clock_word_that_does_not_tick_every_event_reads_the_clock(self):
        self.assertEqual(self.check(*self.with_odd_clock("fast")), UNSAVED)

    def test_a_busy_thread_leaves_most_stamps_out(self):
        path, _ = self.recorded("--raw")
        exact_path, _ = self.recorded("--raw", "--time", "exact", name="exact.allo")
        if self.accuracy(path) == UNSAVED:
            self.skipTest("this kernel shows no ticks or no sleeps: every event reads the clock")
        bytes_per_event = [info["file_bytes"] / info["events"] for info in
                           (self.allo_json("info", each)["recording"] for each in (path, exact_path))]
        self.assertLess(bytes_per_event[0], bytes_per_event[1])

    def test_an_unknown_time_setting_is_refused(self):
        self.assertIn("--time", self.allo_fails("run", "--time", "rough", "true", status=125))
