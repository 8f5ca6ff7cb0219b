"""Bounded recordings: `allo run --ring` keeps the latest events exactly and all others as sums, within a size on disk."""
import array
import csv
import io
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import threading
import time

from allotest import ALLO, ENVIRONMENT, HANG, wait_until
from recordings import CaptureTest, built
from viewserver import ViewServer

SIZE = 8 << 20
REST = SIZE * 5 // 8  # the program rests above it
COUNTERS = ("allocations", "bytes", "frees", "reallocs", "live", "is_done")
FUNCTIONS = ("allocate_one", "allocate_other", "resize")


def size_of(number):
    """The size of the n-th allocation in the program."""
    return 16 + ((number * 2654435761 & 0xFFFFFFFF) >> 23)


def has_ended(pid):
    """Whether a process is gone, or waits for its parent to notice."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class DiskUse(threading.Thread):
    """Measures the largest size of a file on the disk."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.most, self.is_over = path, 0, False
        self.start()

    def run(self):
        while not self.is_over:
            if self.path.exists():
                self.most = max(self.most, self.path.stat().st_blocks * 512)
            time.sleep(0.001)

    def end(self):
        self.is_over = True
        self.join()
        return self.most


class Ring(CaptureTest):
    KILLS = 10
    FIRST_KILL = 200_000  # allocations before the earliest one; events are summed up from 800,000 or so on

    def start(self, events, *threads, options=("--raw",), size=SIZE, rest=None):
        self.path, self.counters_path = self.tmp / "ring.allo", self.tmp / "counters"
        self.path.unlink(missing_ok=True)
        self.counters_path.unlink(missing_ok=True)
        self.disk = DiskUse(self.path)
        return subprocess.Popen(
            [ALLO, "run", "-q", "-o", self.path, "--ring", str(size), *options, "--", built("ring.c"),
             self.counters_path, self.path, str(rest or size * 5 // 8), str(events), *map(str, threads)],
            env=ENVIRONMENT, cwd=self.tmp, stderr=subprocess.PIPE)

    def finish(self, running, status=0, size=SIZE, seconds=HANG):
        said = running.communicate(timeout=seconds)[1].decode()
        self.assertEqual(running.returncode, status, said)
        most = self.disk.end()
        self.assertGreater(most, 0)
        self.assertLessEqual(most, size)
        return most

    def counters(self):
        """The program's own sums over all threads, and of the first thread."""
        found = [dict(zip(COUNTERS, each)) for each in struct.iter_unpack("6Q", self.counters_path.read_bytes())]
        return {name: sum(each[name] for each in found) for name in COUNTERS}, found[0]

    def sums(self, path=None):
        """The recording's sums over the functions that allocate."""
        done = self.run_program(ALLO, "convert", "--to", "csv", path or self.path)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name: sum(int(row[name]) for row in rows if row["function"] in FUNCTIONS)
                for name in ("alloc_blocks", "alloc_bytes", "end_blocks")}

    def info(self, path=None):
        return self.allo_json("info", path or self.path)["recording"]

    def assert_complete(self, path=None):
        """The recording agrees with the program, which has ended."""
        counters, _ = self.counters()
        found = self.sums(path)
        self.assertEqual(found, {"alloc_blocks": counters["allocations"], "alloc_bytes": counters["bytes"],
                                 "end_blocks": counters["live"]})
        self.assertGreater(self.info(path)["exact_ns"], 0)
        self.allo("verify", path or self.path)

    def assert_last_stretch(self, path=None, least=50000):
        """Each event of the exact part of a program with one thread is the right one; the number of allocations there."""
        _, counters = self.counters()
        exact_ns = self.info(path)["exact_ns"]
        reading = subprocess.Popen([ALLO, "events", "--csv", path or self.path], env=ENVIRONMENT, cwd=self.tmp,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        sizes = array.array("H", (int(row[5]) for row in csv.reader(reading.stdout)
                                  if row[2] in ("alloc", "realloc") and int(row[0]) >= exact_ns))
        self.assertEqual(reading.wait(), 0)
        count = counters["allocations"]
        self.assertGreater(len(sizes), least)
        self.assertLess(len(sizes), count)
        self.assertEqual(sizes, array.array("H", map(size_of, range(count - len(sizes), count))))
        return len(sizes)

    def test_one_thread(self):
        """Sums since the start, exact events at the end, raw and packed."""
        self.finish(self.start(4_000_000))
        self.assert_complete()
        self.assert_last_stretch()
        packed = self.tmp / "packed.allo"
        self.finish(self.start(4_000_000, options=()))
        self.path.replace(packed)
        self.assert_complete(packed)
        self.assert_last_stretch(packed)

    def tables(self):
        """Functions by all metrics but times."""
        return [self.allo("top", "-n0", "--metric", metric, self.path)
                for metric in ("alloc_bytes", "alloc_blocks", "max_bytes", "peak_bytes", "end_bytes")]

    def test_the_summary_is_that_of_an_unbounded_recording(self):
        """All but times: peaks, maxima by stack, reallocs."""
        facts = ("events", "allocations", "reallocs", "frees", "alloc_bytes", "peak_bytes", "peak_blocks", "end_bytes",
                 "end_blocks", "dropped_events")
        self.finish(self.start(3_000_000))
        bounded, tables = self.allo_json("summary", self.path), self.tables()
        self.counters_path.unlink()
        self.must(ALLO, "run", "-q", "-f", "-o", self.path, "--", built("ring.c"), self.counters_path,
                  self.path, str(1 << 40), "3000000", input=b"")
        whole = self.allo_json("summary", self.path)
        self.assertEqual({fact: bounded[fact] for fact in facts}, {fact: whole[fact] for fact in facts})
        self.assertEqual(self.tables(), tables)

    def test_threads_labels_and_marks(self):
        """Threads that end leave their sums, labels and blocks."""
        self.finish(self.start(4_000_000, 4))
        self.assert_complete()
        groups = self.allo_json("top", "--by", "label:kind", self.path)
        self.assertEqual(sorted(row["name"] for row in groups["rows"] if row["name"] in ("odd", "even")), ["even", "odd"])
        self.assertEqual(len([row for row in csv.DictReader(io.StringIO(self.allo("events", "--csv", self.path)))
                              if row["event"] == "mark"]), 5)

    def test_a_range_before_the_exact_part(self):
        self.finish(self.start(2_000_000))
        line = self.allo_fails("top", "--range", "1ms..2ms", self.path, status=2)
        self.assertIn("as sums only", line)
        exact_ns = self.info()["exact_ns"]
        self.allo("top", "--range", f"{exact_ns // 1000 + 1}us..", self.path)
        self.assertIn("earlier events are sums", " ".join(self.allo("info", self.path).split()))

    def test_reading_while_it_is_written(self):
        """Answers are consistent, or the message is clear."""
        running = self.start(3_000_000)
        wait_until(lambda: self.path.exists() and self.counters_path.exists())
        answers = 0
        while running.poll() is None:
            before = self.counters()[0]
            done = self.run_program(ALLO, "convert", "--to", "csv", self.path)
            after = self.counters()[0]
            if done.returncode != 0:
                self.assertIn("have just been summed up", done.stderr.decode())
                continue
            answers += 1
            count = sum(int(row["alloc_blocks"]) for row in csv.DictReader(io.StringIO(done.stdout.decode()))
                        if row["function"] in FUNCTIONS)
            self.assertGreaterEqual(count, before["allocations"])
            self.assertLessEqual(count, after["allocations"] + 1)
        self.assertGreater(answers, 0)
        self.finish(running)
        self.assert_complete()

    def kill_at(self, moment, whom):
        """Kills the program, allo, or both, when the program has done a part of its work."""
        running = self.start(3_000_000 if whom == "allo" else 10**12)
        wait_until(lambda: self.counters_path.exists() and self.counters_path.stat().st_size > 0 and
                   self.counters()[0]["allocations"] >= moment)
        children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
        child = children.read_text().split() if running.poll() is None else []
        if whom != "program":
            running.kill()
        if whom != "allo":
            os.kill(int(child[0]), signal.SIGKILL)
        running.wait()
        running.stderr.close()
        wait_until(lambda: not child or has_ended(child[0]))
        return self.disk.end()

    def test_kills(self):
        for attempt in range(self.KILLS):
            whom = ("program", "both", "allo")[attempt % 3]
            moment = random.randrange(self.FIRST_KILL, 1_200_000)
            with self.subTest(whom=whom, moment=moment):
                self.assertLessEqual(self.kill_at(moment, whom), SIZE)
                found, counters = self.sums(), self.counters()[0]
                if whom == "allo":  # it went on until the file was full, and counts its losses
                    self.assertEqual(counters["is_done"], 1)
                    self.assertLessEqual(found["alloc_blocks"], counters["allocations"])
                    self.assertGreaterEqual(found["alloc_blocks"], moment)
                    if found["alloc_blocks"] < counters["allocations"]:
                        self.assertGreater(self.info()["lost_pages"], 0)
                    continue
                self.assertIn(found["alloc_blocks"] - counters["allocations"], (0, 1))
                self.assertLessEqual(abs(found["end_blocks"] - counters["live"]), 1)

    def test_lost_pages_are_told(self):
        """By the summary, the run's report and info: the program goes on while allo stands still."""
        path, counters = self.tmp / "ring.allo", self.tmp / "counters"
        script = 'kill -STOP $PPID; "$@"; kill -CONT $PPID'
        said = self.run_program(ALLO, "run", "--ring", "4M", "--only", "ring", "-o", path, "--", "sh", "-c", script, "sh",
                                built("ring.c"), counters, "/dev/null", str(1 << 40), "3000000").stderr.decode()
        path, = self.tmp.glob("ring.allo.d/*.allo")
        info = self.allo_json("info", path)
        lost = info["recording"]["losses"]["pages"]
        self.assertGreater(lost, 0)
        self.assertEqual(info["recording"]["lost_pages"], lost)
        self.assertIn(f"allo: 0 events and {lost} pages of events dropped, ", said)
        told = re.search(rf"{lost} pages of events \([0-9.]+ MiB, about ([0-9.]+)% of all\): the program wrote faster", said)
        self.assertTrue(told, said)
        self.counters_path = counters
        share = 1 - self.sums(path)["alloc_blocks"] / self.counters()[0]["allocations"]
        self.assertAlmostEqual(float(told[1]) / 100, share, delta=0.1)
        for command in ("info", "summary"):
            self.assertIn("the program wrote faster than allo", " ".join(self.allo(command, path).split()))

    def test_a_length_of_time(self):
        """At least the last 100 ms are exact."""
        self.finish(self.start(6_000_000, size="100ms", rest=1 << 40), size=1 << 40)
        self.assert_complete()
        duration_ns = self.allo_json("summary", self.path)["duration_ns"]
        self.assertGreaterEqual(duration_ns - self.info()["exact_ns"], 99_000_000)
        self.check_page()

    def check_page(self):
        """Curves of `allo view` begin with the exact part; its totals are those of the whole run."""
        server = ViewServer(self.tmp, self.path)
        self.addCleanup(server.close)
        exact_ns, opened = self.info()["exact_ns"], server.ask("open")
        self.assertEqual(opened["exact_ns"], exact_ns)
        self.assertEqual(opened["allocated"]["bytes"], self.allo_json("summary", self.path)["alloc_bytes"])
        timeline, theirs = server.ask("timeline"), self.allo_json("timeline", self.path)
        self.assertEqual(timeline["from"], exact_ns)
        self.assertEqual(timeline["ns"][0], exact_ns)
        self.assertEqual(timeline["peak"]["bytes"], theirs["peak_bytes"])
        self.assertGreater(timeline["min"][0], 0)
        self.assertGreater(server.ask("history")["ns"][0], exact_ns)
        for ask in ("timeline", "history"):
            earlier = server.ask(ask, **{"from": 0, "to": exact_ns // 2})
            self.assertIsNone(earlier.error)
            self.assertEqual(earlier["ns"], [])

    def test_a_ring_that_is_too_small(self):
        self.assertIn("at least 4 MiB", self.allo_fails("run", "--ring", "1M", "true", status=125))
        self.assertIn("neither a size nor a time", self.allo_fails("run", "--ring", "soon", "true", status=125))
        self.assertIn("drop -m", self.allo_fails("run", "--ring", "8M", "-m", "sampled", "true", status=125))
