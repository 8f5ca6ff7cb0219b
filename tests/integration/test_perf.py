"""Output of perf script: captures of a real program, with all fields that perf offers, and broken texts."""
import collections
import functools
import json
import pathlib
import random
import re
import signal
import subprocess
import tempfile

from allotest import ALLO, ENVIRONMENT, GOLDEN, Test
from spallfile import Trace

# Three parts of four in heavy(), on a thread whose name looks like numbers of threads, and one in light().
PROGRAM = r"""
#include <sys/prctl.h>
#include <pthread.h>
#include <time.h>

static volatile unsigned long sink;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define SPIN(seconds) do { for (double end = now() + (seconds); now() < end;) \
		for (int i = 0; i < 50000; i++) sink += (unsigned long)i; } while (0)

__attribute__((noinline)) void heavy(void) { SPIN(0.3); sink++; }
__attribute__((noinline)) void light(void) { SPIN(0.1); sink++; }

static void *worker(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "pool 7/8 9.5:");
	heavy();
	sink++;
	return 0;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, worker, 0);
	light();
	pthread_join(thread, 0);
	return sink == 0;
}
"""

# The options of perf script.
FIELDS = [["comm,ip,sym"], ["comm,tid,ip,sym", "--show-mmap-events"], ["comm,tid,time,ip,sym,dso", "--ns", "--header"],
          ["comm,pid,tid,time,period,event,ip,sym,symoff,dso", "--show-mmap-events", "--show-task-events"],
          ["event,ip,sym", "--show-task-events"], ["time,ip,sym,symoff"], ["ip,sym", "--show-mmap-events"],
          ["tid,period,event,ip,sym"], ["comm,pid,tid,time,event,ip,sym,srcline"], ["comm,tid,misc,time,event,ip,sym,dso"]]


def folded(text):
    found = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        found[stack] += int(count)
    return found


def without_modules(stacks):
    """Without a module, a frame without a symbol is unknown."""
    found = collections.Counter()
    for stack, count in stacks.items():
        found[re.sub(r"\[.*?\]", "[unknown]", stack)] += count
    return found


class Capture(Test):
    """A program that perf has looked at; where that is not allowed, the text of another machine."""
    SANITIZED = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="allo-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.data = pathlib.Path(cls.folder.name) / "perf.data"
        cls.path = GOLDEN / "perf" / "two-events.txt"
        (cls.data.parent / "spin.c").write_text(PROGRAM)
        run = functools.partial(subprocess.run, cwd=cls.data.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "spin.c", "-o", "spin it"], check=True)
        done = run(["perf", "record", "-e", "cpu-clock", "-e", "page-faults", "-F", "997", "-g", "-o", cls.data, "--", "./spin it"])
        text = run(["perf", "script", "-i", cls.data]).stdout
        cls.is_live = done.returncode == 0 and b"heavy" in text
        if cls.is_live:
            cls.path = cls.data.parent / "perf.txt"
            cls.path.write_bytes(text)
        else:
            print("# perf cannot record here: what another machine has recorded is looked at")
        cls.text = cls.path.read_text()

    def script(self, *options):
        return self.file("fields.txt", self.must("perf", "script", "-i", self.data, *options))

    def test_a_capture_matches_the_counts_of_perf(self):
        if self.is_live:
            leaves = re.findall(r"^ *[0-9a-f]+ (.*)", self.script("-G", "-F", "ip,sym").read_text(), re.M)
        else:
            leaves = re.findall(r": *\n\t +[0-9a-f]+ (.*?)(?:\+0x.*)?\n", self.text)
        self.assertGreater(len(leaves), 20)
        found = collections.Counter()
        for row in self.allo_json("top", "-M", "samples", "--keep-allocator", "--count=0", self.path)["rows"]:
            found[row["name"]] += row["self"]
        self.assertEqual(sum(found.values()), len(leaves))
        # Suffixes that compilers add to copies of functions are not shown, nor versions.
        leaves = [re.sub(r"(@|\.(isra|part|constprop|cold|lto_priv)\b).*", "", name) for name in leaves]
        for name, count in collections.Counter(leaves).items():
            if name and not name.startswith("[unknown]"):  # perf knows that there is a symbol, not which
                self.assertEqual(found[name], count, name)

    def test_time_is_where_the_program_spends_it(self):
        stacks = folded(self.allo("convert", self.path, "--to", "folded", "-M", "cpu"))
        outer, inner = ("worker;heavy", "main;light") if self.is_live else ("_M_run", "__libc_start_call_main")
        heavy, light = (sum(count for stack, count in stacks.items() if part in stack) for part in (outer, inner))
        self.assertGreater(heavy, 1.5 * light if self.is_live else 0)
        self.assertGreater(light, 0)

    def test_all_fields_tell_of_the_same_stacks(self):
        usual = folded(self.allo("convert", self.path, "--to", "folded", "-M", "samples"))
        for fields, *options in FIELDS if self.is_live else ():
            with self.subTest(fields=fields, options=options):
                path = self.script("-F", fields, *options)
                found = folded(self.allo("convert", path, "--to", "folded", "-M", "samples"))
                self.assertEqual(found, usual if "dso" in fields else without_modules(usual))

    def test_threads_have_their_names_and_times(self):
        times = [float(time) for time in re.findall(r"(\d+\.\d+): +\d+ +(?:cpu-clock|page-faults)", self.text)]
        period = int(re.search(r": +(\d+) +cpu-clock", self.text)[1])
        self.allo("convert", self.path, "-o", "a.spall", "--format-version", "3")
        trace = Trace((self.tmp / "a.spall").read_bytes())
        self.assertEqual(set(trace.thread_names.values()),
                         {"spin it", "pool 7/8 9.5:"} if self.is_live else {"busy prog", "worker 7/8 x"})
        self.assertEqual(min(start for start, _ in trace.spans.values()), 0)
        self.assertAlmostEqual(max(end for _, end in trace.spans.values()) / 1e9, max(times) - min(times) + period / 1e9, delta=0.02)

    def test_a_capture_converts_to_every_format(self):
        for form in self.allo_json("formats")["formats"]:
            if form["write"]:
                with self.subTest(form["name"]):
                    self.allo("convert", self.path, "--to", form["name"], "-fo", f"out.{form['name']}")
                    self.assertGreater((self.tmp / f"out.{form['name']}").stat().st_size, 0)
        again = folded(self.allo("convert", "out.pprof", "--to", "folded"))
        self.assertEqual(again, folded(self.allo("convert", self.path, "--to", "folded")))

    def test_several_events_are_kept_apart(self):
        metrics = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", self.path)["metrics"]}
        for event in ("cpu-clock", "page-faults"):
            # Users without rights get page-faults:u, which excludes the kernel.
            found = re.findall(rf"(\d+) +({event}(?::u)?):", self.text)
            name = "cpu" if event == "cpu-clock" else found[0][1]
            self.assertEqual(metrics[name], sum(int(period) for period, _ in found))
        self.assertEqual(metrics["samples"], len(re.findall(r"^\S.*: *$", self.text, re.M)))


class Text(Test):
    """Texts that were not taken from a machine."""
    HEAD = "prog 7/8 [001] 12.000001:  250000 cpu-clock: \n"

    def stacks(self, text, *options):
        return folded(self.allo("convert", "--from", "perf", self.file("in.txt", text), "--to", "folded", *options))

    def refused(self, text, line):
        path = self.file("in.txt", text)
        said = self.allo_fails("convert", "--from", "perf", "--strict", path, "-o", "out.pb.gz")
        self.assertRegex(said, rf"in\.txt:{line}:1: expected ")
        self.assertFalse((self.tmp / "out.pb.gz").exists())

    def test_inlined_calls_belong_to_their_frame(self):
        text = (self.HEAD + "\t 1185 spin (inlined)\n  a.h:7\n\t 1185 turn (inlined)\n  a.h:12\n"
                "\t 1185 leaf+0xc (/x)\n  b.c:3\n\t 1300 main+0x1 (/x)\n  b.c:9\n\n")
        self.assertEqual(self.stacks(text), {"main;leaf;turn;spin": 250000})
        profile = json.loads(self.allo("convert", self.tmp / "in.txt", "--to", "json"))
        self.assertEqual([[line[1] for line in frame["lines"]] for frame in profile["frames"][1:]], [[7, 12, 3], [9]])
        self.assertEqual(profile["functions"][1], {"name": "spin", "file": "a.h"})

    def test_lines_may_end_as_on_windows(self):
        text = self.HEAD + "\t 1 leaf+0xc (/x)\n\t 2 main+0x1 (/x)\n\n" + self.HEAD + "\t 1 leaf+0xc (/x)\n\n"
        self.assertEqual(self.stacks(text.replace("\n", "\r\n"), "-M", "samples"), {"main;leaf": 1, "leaf": 1})

    def test_tabs_may_have_become_spaces(self):
        text = self.HEAD + "             1 leaf+0xc (/x)\n             2 main+0x1 (/x)\n\n"
        self.assertEqual(self.stacks(text), {"main;leaf": 250000})

    def test_the_head_of_a_sample_may_be_indented(self):
        for line in (" 5123    250000 cpu-clock: \n", "    7/8     12.5: 250000 cpu-clock: \n", "   feed 51 12.5: 250000 cpu-clock: \n"):
            self.assertEqual(self.stacks((line + "\t 1 leaf+0xc (/x)\n\t 2 main\n\n") * 2), {"main;leaf": 500000})

    def test_the_last_blank_line_may_be_missing(self):
        text = self.HEAD + "\t 1 leaf+0xc (/x)"
        self.assertEqual(self.stacks(text + "\n"), self.stacks(text))
        self.assertEqual(self.stacks(self.HEAD + "\t 1 a (/x)\n" + self.HEAD + "\t 1 b (/x)\n"),
                         {"a": 250000, "b": 250000})

    def test_samples_without_frames_count(self):
        self.assertEqual(self.stacks(self.HEAD + "\n" + self.HEAD + self.HEAD + "\t 1 a (/x)\n\n", "-M", "samples"),
                         {"[unknown]": 2, "a": 1})

    def test_messages_of_perf_are_ignored(self):
        text = ("[ perf record: Woken up 1 times to write data ]\nWarning:\n# cmdline : perf record -g ./a\n" + self.HEAD +
                "\t 1 a (/x)\n\n[ perf record: Captured and wrote 0.003 MB p.data (23 samples) ]\n")
        self.assertEqual(self.stacks(text), {"a": 250000})
        self.assertEqual(self.allo_json("info", self.tmp / "in.txt")["command"], "perf record -g ./a")

    def test_symbols_become_readable(self):
        text = self.HEAD + "\t 1 _ZN3foo3barEv+0xc (/x)\n\n"
        self.assertEqual(self.stacks(text), {"foo::bar()": 250000})

    def test_events_without_periods_are_separate_metrics(self):
        text = "".join(f"a 1 {i}.0: {event}: \n\t 1 {event}_leaf\n\n" for i, event in enumerate("xyxzx"))
        self.assertEqual(self.stacks(text, "-M", "samples"), {"x_leaf": 3, "y_leaf": 1, "z_leaf": 1})
        for event, count in (("x", 3), ("y", 1), ("z", 1)):
            self.assertEqual(self.stacks(text, "-M", event), {f"{event}_leaf": count})

    def test_a_sample_lasts_as_long_as_others_are_apart(self):
        def calls(text, *options):
            self.allo("convert", "--from", "perf", self.file("in.txt", text), "-fo", "a.spall", *options)
            trace = Trace((self.tmp / "a.spall").read_bytes())
            return [(call.name, call.start // 10 ** 6, call.end // 10 ** 6) for calls in trace.calls.values() for call in calls]

        # Every 10 ms, then a pause.
        text = "".join(f"a 1 {time}: cycles: \n\t 1 main\n\n" for time in ("5.00", "5.01", "5.02", "6.00"))
        self.assertEqual(calls(text), [("main", 0, 30), ("main", 1000, 1010)])
        self.assertEqual(calls(text, "--freq", "1000")[0], ("main", 0, 1))
        # The clock's period is known.
        text = text.replace("cycles", "4000000 cpu-clock")
        self.assertEqual(calls(text)[:2], [("main", 0, 4), ("main", 10, 14)])
        # Without times they follow on each other, thread by thread.
        text = "".join(f"a {tid} cycles: \n\t 1 {name}\n\n" for tid, name in ((1, "f"), (2, "g"), (1, "f"), (1, "h")))
        self.assertEqual(calls(text, "--freq", "100"), [("f", 0, 20), ("h", 20, 30), ("g", 0, 10)])

    def test_samples_may_come_in_any_order_in_a_file(self):
        samples = [f"a 1 {5 + i / 100:.2f}: 10000000 cpu-clock: \n\t 1 f{i % 7}\n\n" for i in range(3000)]
        sorted_path = self.file("sorted.txt", "".join(samples))
        random.Random(1).shuffle(samples)
        mixed_path = self.file("mixed.txt", "".join(samples))
        for path in (sorted_path, mixed_path):
            self.allo("convert", path, "-o", path.name + ".spall")
        self.assertEqual((self.tmp / "mixed.txt.spall").read_bytes(), (self.tmp / "sorted.txt.spall").read_bytes())
        said = self.allo_fails("convert", "-o", "pipe.spall", "-", input=mixed_path.read_bytes())
        self.assertRegex(said, r"standard input:\d+:1: the sample is earlier than others before it")
        self.assertFalse((self.tmp / "pipe.spall").exists())

    def test_a_sample_that_a_signal_cuts_off_is_dropped(self):
        whole = self.HEAD + "\t 1 leaf+0xc (/x)\n\t 2 main (/x)\n\n"
        for cut in ("prog 7/", self.HEAD, self.HEAD + "\t 1 leaf+0xc (/x)\n", self.HEAD + "\t 1 leaf+0xc (/x)\n\t 2 ma"):
            text = (whole + cut).encode()
            child = subprocess.Popen([ALLO, "convert", "--from", "perf", "--passthrough", "-fo", "out.spall"], cwd=self.tmp,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
            with child:
                child.stdin.write(text)
                child.stdin.flush()
                self.assertEqual(child.stdout.read(len(text)), text)
                child.send_signal(signal.SIGTERM)
                self.assertIn(b"a signal ended the input", child.stderr.read())
            self.assertEqual(child.returncode, 0)
            calls, = Trace((self.tmp / "out.spall").read_bytes()).calls.values()
            self.assertEqual([call.name for call in calls], ["main", "leaf"])

    def test_other_files_are_refused(self):
        good = self.HEAD + "\t 1 a (/x)\n\n"
        self.refused(good + "main;parse 12\n", 4)
        self.refused(good + "what is this\n" + good, 4)
        self.refused("prog 7/8\n", 1)
        self.assertIn("has no samples", self.allo_fails("info", "--from", "perf", self.file("in.txt", "# nothing\n")))

    def test_indented_lines_that_are_nothing_are_noted(self):
        path = self.file("in.txt", "   what\n" + self.HEAD + "\t 1 a (/x)\n\n")
        done = self.run_program(ALLO, "convert", "--from", "perf", path, "-o", "out.pb.gz")
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 line is neither a sample nor a frame and was skipped", done.stderr.decode())

    def test_perf_data_is_recognised(self):
        path = self.file("perf.data", b"PERFILE2" + bytes(200))
        done = self.run_program(ALLO, "info", path)
        self.assertIn("perf script -i", done.stderr.decode())

    def test_texts_come_in_through_pipes(self):
        whole = (GOLDEN / "perf" / "default.txt").read_bytes() * 60  # more than a window
        path = self.file("in.txt", whole)
        self.assertEqual(self.allo("convert", "--from", "perf", "-", "--to", "folded", input=whole),
                         self.allo("convert", path, "--to", "folded"))
        one = folded(self.allo("convert", GOLDEN / "perf" / "default.txt", "--to", "folded"))
        self.assertEqual(folded(self.allo("convert", path, "--to", "folded")),
                         {stack: 60 * count for stack, count in one.items()})
