"""The resident memory of recorded processes, and how much of it malloc explains; time(1) is the second opinion."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from allotest import ALLO, ENVIRONMENT, GOLDEN, HANG, wait_until
from packedrecording import PackedRecording
from rawrecording import RawRecording
from recordings import CaptureTest, built, preloaded
from viewserver import ViewServer

MIB = 1 << 20
TIME = "/usr/bin/time"
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
SOURCE = "#include <map>\n#include <string>\n#include <regex>\nstd::map<std::string, std::regex> all;\n"


class Coverage(CaptureTest):
    def start(self, *words, options=("--raw",), env=ENVIRONMENT):
        """Starts a program that waits for the end of its input, under allo run."""
        process = subprocess.Popen([str(word) for word in (ALLO, "run", *options, "-o", "%e.%p.allo", *words)],
                                   cwd=self.tmp, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, HANG)
        self.addCleanup(process.stdin.close)
        return process

    def sampled(self, least, name="resident", mapped=0):
        """The recording of a running process, once a sample and a breakdown of so many bytes are in it."""
        def find():
            for path in self.tmp.glob(f"{name}.*.allo"):
                recording = RawRecording(path)
                resident = recording.resident
                if (resident and max(resident.samples) * 1024 > least <= sum(resident.parts.values())
                        and resident.parts["mapped"] >= mapped):
                    return recording
        return wait_until(find, "the recording has a breakdown")

    def finished(self, process):
        process.stdin.close()
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(HANG), 0, said)
        return said

    def resident(self, path):
        return self.allo_json("summary", path)["resident"]

    def largest(self):
        return max(self.resident(path)["peak_bytes"] for path in self.tmp.glob("*.allo"))

    def assert_near(self, found, expected, share=0.05):
        """Processors count pages apart, so the kernel's sums of the same memory may differ by some hundred KiB."""
        self.assertAlmostEqual(found, expected, delta=max(share * expected, MIB // 2))

    def timed(self, *command, **options):
        """Runs a program under time, both under allo; returns the peak of time."""
        done = self.run_program(ALLO, "run", "-q", "-o", "%e.%p.%n.allo", TIME, "-q", "-f", "%M", "-o", "peak", *command,
                                **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int((self.tmp / "peak").read_text()) * 1024

    def test_the_peak_is_that_of_time(self):
        self.file("some.cpp", SOURCE)
        for command in ([built("resident.c"), "20", "30"], [sys.executable, "-c", "x = [str(i) for i in range(10**5)]"],
                        ["g++", "-c", "some.cpp"], ["ls", "/"], ["sort", "some.cpp"]):
            peak = self.timed(*command, stdin=subprocess.DEVNULL)
            self.assert_near(self.largest(), peak)
            for path in self.tmp.glob("*.allo"):
                path.unlink()

    def test_a_killed_program_has_its_peak(self):
        path = self.tmp / "killed.allo"
        done = self.run_program(ALLO, "run", "-q", "-o", path, sys.executable, "-c",
                                f"x = bytearray({60 * MIB}); import os; os.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, -9, done.stderr)
        self.assertGreater(self.resident(path)["peak_bytes"], 60 * MIB)

    def test_a_large_launcher_does_not_hide_the_peak(self):
        launcher = "import subprocess, sys; kept = b'x' * (200 << 20); subprocess.run(sys.argv[1:])"
        program = f"x = bytearray({60 * MIB}); import os; os.kill(os.getpid(), 9)"
        self.must(sys.executable, "-c", launcher, ALLO, "run", "-q", "-o", "killed.allo", sys.executable, "-c", program)
        peak = self.resident("killed.allo")["peak_bytes"]
        self.assertGreater(peak, 60 * MIB)
        self.assertLess(peak, 150 * MIB)

    def test_a_rest_that_was_not_examined_is_told(self):
        """The process is larger than those whose rest is their code, and ends too soon for a look."""
        self.must("gcc", "-O1", self.file("soon.c", """
            #include <string.h>
            #include <sys/mman.h>
            #include <stdlib.h>
            static void *volatile kept;
            int main(void)
            {
                kept = malloc(1009);
                memset(mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 8 << 20);
            }"""), "-o", "soon")
        for _ in range(20):
            said = self.run_program(ALLO, "run", "-f", "-o", "soon.allo", "./soon").stderr.decode()
            if "(with the recorder)" in said:
                break
        self.assertRegex(said, r"malloc held 1,009 B of \S+ MiB resident at the peak \(with the recorder\); the rest was not examined\n")

    def test_the_rest_is_told(self):
        """A process that has stopped growing is broken down once more, unless less than 1 % is new since the last time."""
        process = self.start(built("resident.c"), "20", "60", options=())
        self.sampled(80 * MIB, mapped=59 * MIB)
        said = self.finished(process)
        self.assertRegex(said, r"allo: malloc held 20.0 MiB of 8\d.\d MiB resident at the peak; "
                               r"the program mapped (59|60).\d MiB itself \(--track mmap records it\)\n")
        path = next(self.tmp.glob("*.allo"))
        self.assertRegex(self.allo("summary", path), r"the program mapped\s(59|60)\.")
        self.assertIn("resident  malloc held 20.0 MiB", self.allo("info", path))
        found = self.resident(path)
        self.assertEqual(found, self.allo_json("info", path)["recording"]["resident"])
        self.assertEqual(found["live_bytes"], 20 * MIB + 1)
        self.assert_near(found["parts"]["mapped_bytes"], 60 * MIB)
        self.assert_near(found["parts"]["heap_bytes"], 20 * MIB)
        self.assert_near(sum(found["parts"].values()), found["peak_bytes"])

    def test_a_program_that_malloc_explains_gets_a_short_line(self):
        process = self.start(built("resident.c"), "90", "0", options=())
        self.sampled(90 * MIB)
        self.assertRegex(self.finished(process), r"malloc held 90.0 MiB of 9\d.\d MiB resident at the peak\n")

    def test_memory_that_was_freed_before_the_peak_does_not_count(self):
        process = self.start(built("resident.c"), "40", "80", "freed", options=())
        self.sampled(80 * MIB)
        self.assertRegex(self.finished(process), r"peak 40.0 MiB at (.|\n)*malloc held (0 B|\d.*KiB) of ")

    def test_untouched_memory_is_told(self):
        program = self.file("untouched.c", "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                            "int main(void) { char *all = malloc(1 << 30); memset(all, 1, 8 << 20); return read(0, all, 1); }\n")
        self.must("gcc", "-O0", program, "-o", "untouched")
        process = self.start("./untouched", options=())
        self.sampled(8 * MIB, "untouched")
        said = " ".join(self.finished(process).split())
        self.assertRegex(said, r"malloc held 1.00 GiB, mostly untouched: \d+\.\d+ MiB resident at the peak")
        server = ViewServer(self.tmp, next(self.tmp.glob("untouched.*.allo")))
        self.addCleanup(server.close)
        self.assertIn(server.ask("open")["coverage"]["text"], said)

    def test_free_memory_of_other_allocators_is_not_told_from_mappings(self):
        """Their memory looks like any other from outside.  The breakdown may be taken before the last pages are touched."""
        if not JEMALLOC.exists():
            self.skipTest(f"{JEMALLOC} is not installed")
        env = {**ENVIRONMENT, "LD_PRELOAD": str(JEMALLOC)}
        process = self.start(built("resident.c"), "20", "60", options=(), env=env)
        self.sampled(80 * MIB)
        self.assertRegex(self.finished(process), r"; (5[5-9]|6\d).\d MiB free in malloc or mapped \(--track mmap tells which\)\n")
        parts = self.resident(next(self.tmp.glob("resident.*.allo")))["parts"]
        self.assertEqual((parts["heap_bytes"], parts["mapped_bytes"]), (0, 0))
        self.assertGreater(parts["heap_or_mapped_bytes"], 75 * MIB)

    def test_objects_of_python_are_not_in_mappings_of_the_program(self):
        """They are recorded blocks, in arenas that CPython maps."""
        script = "import sys; x = [bytes(31) for _ in range(10**6)]; sys.stdin.read()"
        process = self.start("/usr/bin/python3", "-c", script, options=())
        recording = self.sampled(60 * MIB, "python3*")
        told = {part["name"]: part["rss_bytes"] for part in self.allo_json("mem", recording.head.pid)["ledger"]["parts"]}
        said = self.finished(process)
        found = self.resident(recording.path)
        self.assertNotIn("mapped", re.search("malloc held .*", said)[0])
        self.assertGreater(found["parts"]["mapped_bytes"], 40 * MIB)
        self.assert_near(told["live"], found["live_bytes"])
        self.assertLess(told["unexplained"], 3 * MIB)

    def test_heaps_of_runtimes_are_named(self):
        """By the program, or by the library that contains the runtime."""
        for name, heap in (("node", "V8"), ("luajit-2.1", "LuaJIT"), ("nodes", None)):
            shutil.copy(built("resident.c"), self.tmp / name)
            process = self.start(self.tmp / name, "20", "60", options=())
            self.sampled(80 * MIB, name)
            words = f"itself, with {heap}'s heap (--track" if heap else "itself (--track"
            self.assertIn(words, self.finished(process))
            self.assertIn(words, " ".join(self.allo("summary", next(self.tmp.glob(f"{name}.*.allo"))).split()))

    def test_recorded_mappings_count(self):
        process = self.start(built("resident.c"), "20", "60", options=("--track", "malloc,mmap"))
        self.sampled(80 * MIB)
        self.assertRegex(self.finished(process), r"malloc and mappings held 80.\d MiB of 8\d.\d MiB resident at the peak\n")

    def test_allo_mem_agrees(self):
        process = self.start(built("resident.c"), "20", "60")
        recording = self.sampled(80 * MIB)
        parts = {part["name"]: part["rss_bytes"]
                 for part in self.allo_json("mem", "--no-walk", recording.head.pid)["ledger"]["parts"]}
        self.assert_near(recording.resident.parts["mapped"], parts["unexplained"])
        self.assert_near(sum(recording.resident.parts.values()), sum(parts.values()))
        self.finished(process)

    def test_samples_survive_allo_and_the_program(self):
        process = self.start(built("resident.c"), "20", "60")
        pid = self.sampled(80 * MIB).head.pid
        process.kill()
        process.wait(HANG)
        os.kill(pid, signal.SIGKILL)
        recording = self.sampled(80 * MIB)
        self.assertGreater(max(recording.resident.samples), 80 * 1024)
        self.assertEqual(recording.resident.own_peak, 0)
        self.assertGreater(self.resident(recording.path)["peak_bytes"], 80 * MIB)

    def test_a_program_that_another_one_executes_has_its_own_samples(self):
        process = self.start("sh", "-c", 'x=$(printf %5000s); exec "$0" 20 60', built("resident.c"))
        recording = self.sampled(80 * MIB)
        self.finished(process)
        for path in self.tmp.glob("sh.*.allo"):
            self.assertLess(max(RawRecording(path).resident.samples), 20 * 1024)
        self.assertGreater(RawRecording(recording.path).resident.own_peak, 80 * MIB)

    def test_a_packed_recording_has_them_too(self):
        path = self.record(built("resident.c"), "3", "3").path
        raw = RawRecording(path).resident
        self.must("cp", path, "packed.allo")
        self.allo("symbolize", "packed.allo")  # packs it
        packed = PackedRecording(self.tmp / "packed.allo")
        self.assertEqual(packed.resident(), raw)
        self.assertEqual(self.resident(path), self.resident("packed.allo"))

    def test_the_runtime_alone_samples_itself(self):
        program = self.file("grow.c", "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                                      "int main(void) { for (int i = 0; i < 40; i++) { memset(malloc(1 << 20), 1, 1 << 20);"
                                      " usleep(10000); } _exit(0); }\n")
        self.must("gcc", "-O0", "-w", program, "-o", "grow")
        self.must("./grow", env=preloaded(self.tmp / "alone.allo"))
        resident = RawRecording(self.tmp / "alone.allo").resident
        self.assertGreaterEqual(sum(sample > 0 for sample in resident.samples), 2)
        self.assertGreater(max(resident.samples), 40 * 1024)
        self.assertGreater(resident.own_peak, 40 * MIB)
        self.assertLess(resident.own_peak, 60 * MIB)

    def test_old_recordings_have_none(self):
        for name in ("server.allo", "killed.raw.allo.zst"):
            self.assertNotIn("resident", self.allo_json("summary", GOLDEN / "allo" / name))

    def test_the_timeline_has_the_resident_memory(self):
        process = self.start(built("resident.c"), "20", "60")
        path = self.sampled(80 * MIB).path
        self.finished(process)
        samples = RawRecording(path).resident.samples
        found = self.allo_json("timeline", path)
        self.assertEqual(max(step["rss_bytes"] for step in found["steps"]), max(samples) * 1024)
        self.assertGreaterEqual(found["steps"][-1]["rss_bytes"], 80 * MIB)
        text = self.allo("timeline", path)
        self.assertRegex(text, r"resident memory, 8\d\.\d MiB at most")
        self.assertEqual(len({line.index(mark) for line in text.splitlines() for mark in "│└|+" if mark in line[:20]}), 1, text)
        for options in (["--of", "blocks"], ["--thread", str(RawRecording(path).head.pid)]):
            self.assertNotIn("resident memory", self.allo("timeline", *options, path))
        header, *rows = self.allo("timeline", "--csv", path).splitlines()
        self.assertTrue(header.endswith(",rss_bytes"))
        self.assertEqual([int(row.rsplit(",", 1)[1]) for row in rows], [step["rss_bytes"] for step in found["steps"]])
