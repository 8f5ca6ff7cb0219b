"""Programs that link the runtime: include/allo.h, as tests/programs/inside.c uses it."""
import collections
import json
import re
import subprocess

from allotest import ALLO, BUILD, ENVIRONMENT, ROOT
from rawrecording import RawRecording
from recordings import RUNTIME, CaptureTest, built

FLAGS = [f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}"]
ARCHIVE = RUNTIME.with_name("liballo.a")
AROUND = {**ENVIRONMENT, "ALLO_PROGRAM": str(ALLO)}


class Inside(CaptureTest):
    def inside(self, *arguments, status=0, static=False, env=None):
        """The stderr of the program."""
        flags = [FLAGS[0], ARCHIVE] if static else FLAGS
        program = built("inside.c", *flags, name="inside_static" if static else "inside")
        done = subprocess.run([program, *map(str, arguments)], cwd=self.tmp, text=True,
                              env={**AROUND, **(env or {})}, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def sizes(self, path):
        """The number of allocations of each size."""
        events = [event for event in RawRecording(self.tmp / path).events if event.kind == "alloc"]
        return collections.Counter(event.size for event in events)


class Interface(Inside):
    HEADER = ROOT / "include" / "allo.h"
    # The functions of libc and the operators of C++ that the runtime interposes.
    HOOKS = re.compile(r"(malloc|calloc|realloc|memalign|aligned_alloc|valloc|pvalloc|posix_memalign|free|"
                       r"free_sized|free_aligned_sized|dlclose|mmap|mmap64|munmap|mremap|brk|sbrk|_exit|_Exit|unshare|setns|"
                       r"set(e|re|res)?[ug]id|setgroups|initgroups|capset|syscall|prctl|chroot|sigaction|signal|__sysv_signal|"
                       r"f?execve|execv|execvpe?|execle?|execlp|execveat|posix_spawnp?|"
                       r"_Z[nd][wla]\w+)$")

    def test_the_header_needs_nothing_else(self):
        self.file("alone.c", '#include <allo.h>\nint main(void) { ALLO_ASSERT_NO_ALLOCS { } '
                             'ALLO_ASSERT_HEAP(stats.total_blocks == 0); return 0; }\n')
        for compiler in (["gcc", "-std=c11"], ["clang", "-std=c11"], ["g++", "-x", "c++", "-std=c++11"],
                         ["clang", "-x", "c++"]):
            with self.subTest(compiler):
                self.must(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", FLAGS[0],
                          "alone.c")

    def test_only_the_header_is_exported_and_all_of_it(self):
        text = re.sub(r"/\*.*?\*/", "", self.HEADER.read_text(), flags=re.S)
        text = re.sub(r"^#define.*?[^\\]$", "", text, flags=re.M | re.S)
        declared = set(re.findall(r"^(?!typedef).*\b(allo_\w+)\(", text, re.M))
        # `allo attach` finds these in the memory of a process.
        attached = {"allo_attach_prepare", "allo_attach_plan"}
        for command, declared in ((["nm", "-D", "--defined-only", RUNTIME], declared | attached),
                                  (["nm", "-g", "--defined-only", ARCHIVE], declared)):
            lines = [line.split() for line in self.must(*command).splitlines()]
            names = {line[2].split("@")[0] for line in lines if len(line) == 3}
            self.assertEqual({name for name in names if not self.HOOKS.match(name)}, declared)

    def test_tracers_find_the_probes(self):
        said = self.must("readelf", "-n", RUNTIME)
        for name, arguments in (("alloc", "8@%rdi 8@%rsi 8@%rdx"), ("free", "8@%rdi")):
            self.assertRegex(said, rf"Provider: otel_memory\n +Name: {name}\n.*\n +Arguments: {arguments}\n")


class Heap(Inside):
    SAID = "end: total 14/1642 current 2/432 peak 3/1432\n"

    def test_statistics_are_those_of_the_recording(self):
        for static in (False, True):
            self.assertEqual(self.inside("heap", "x.%n.allo", static=static),
                             f"{self.SAID}x.{1 + static}.allo\n")
            totals = self.allo_json("info", f"x.{1 + static}.allo")["metrics"]
            totals = {row["metric"]["name"]: row["sum"] for row in totals}
            self.assertEqual([totals[name] for name in (
                "alloc_blocks", "alloc_bytes", "end_blocks", "end_bytes", "peak_blocks",
                "peak_bytes")], [14, 1642, 2, 432, 3, 1432])
            self.allo("verify", f"x.{1 + static}.allo")

    def test_a_dhat_profile_has_the_four_rows(self):
        self.assertEqual(self.inside("heap", "heap.json", "dhat"), f"{self.SAID}heap.json\n")
        profile = json.loads((self.tmp / "heap.json").read_text())
        rows = sorted(profile["pps"], key=lambda row: -row["tb"])
        self.assertEqual([[row[key] for key in ("tb", "tbk", "mb", "mbk", "gb", "gbk", "eb", "ebk")]
                          for row in rows],
                         [[1000, 1, 1000, 1, 1000, 1, 0, 0], [600, 2, 400, 1, 400, 1, 400, 1],
                          [32, 1, 32, 1, 32, 1, 32, 1], [10, 10, 1, 1, 0, 0, 0, 0]])
        self.assertFalse((self.tmp / "heap.json.allo").exists())
        self.assertLessEqual(profile["tg"], profile["te"])

    def test_profiles_are_counted_as_recordings_are(self):
        for number in (1, 2):
            self.assertEqual(self.inside("heap", "heap.%n.json", "dhat"), f"{self.SAID}heap.{number}.json\n")

    def test_under_allo_run_there_is_one_recording_of_the_whole(self):
        for static in (False, True):
            self.inside("scopes", static=static)
            program = built("inside.c", *([FLAGS[0], ARCHIVE] if static else FLAGS),
                            name="inside_static" if static else "inside")
            done = self.run_program(ALLO, "run", "-q", "--raw", "-o", f"{static}.%p.allo", program, "scopes")
            self.assertIn("\nouter: total 4/1360 current 1/10 peak 3/1350\nmore than the thread's: 1\n",
                          done.stderr.decode())
            path, = self.tmp.glob(f"{static}.*.allo")
            self.assertGreater(self.sizes(path.name)[77777], 0)

    def test_without_allo_the_recording_stays(self):
        said = self.inside("heap", "heap.json", "dhat", status=1,
                           env={"ALLO_PROGRAM": "/no/such/allo"})
        self.assertIn("cannot stop: cannot run /no/such/allo", said)
        self.allo("verify", "heap.json.allo")

    def test_the_environment_overrides_the_program(self):
        self.inside("heap", "x.allo", env={"ALLO_PATH": "y.allo", "ALLO_MIN_SIZE": "100"})
        self.assertEqual(self.sizes("y.allo"), {1000: 1, 200: 1})
        self.assertFalse((self.tmp / "x.allo").exists())
        self.inside("heap", "z.allo", env={"ALLO_OUTPUT": "whole.allo"}, status=0)
        self.assertFalse((self.tmp / "z.allo").exists())
        self.assertEqual(self.sizes("whole.allo")[16], 4)
        for variable, word in (("ALLO_MODE", "sample"), ("ALLO_UNWIND", "dwarfs")):
            said = self.inside("heap", "v.allo", env={variable: word}, status=1)
            self.assertEqual(said, f"cannot start: {variable}: unknown value '{word}'\n")
        self.assertFalse((self.tmp / "v.allo").exists())

    def test_misuse_is_reported(self):
        nothing, folder, already, stats, path = self.inside("misuse", "m.allo").splitlines()
        self.assertEqual(nothing, "nothing is being recorded, nothing is being recorded")
        self.assertEqual(folder, "cannot record to /no/such/folder/x.allo: No such file or directory")
        self.assertEqual(already, "already recording to m.allo")
        self.assertIn("no statistics are kept", stats)
        self.assertRegex(path, r"^inside\.\d+\.1\.allo$")


class Threads(Inside):
    def test_each_recording_has_all_threads_and_nothing_of_the_pause(self):
        said = self.inside("restarts", "r.%n.allo").splitlines()
        expected = {1009 + number: 100 + number for number in range(8)}
        blocks, size = sum(expected.values()), sum(s * n for s, n in expected.items())
        self.assertEqual(len(said), 6)
        for number in (1, 2, 3):
            self.assertIn(f"round: total {blocks}/{size} current 0/0", said[2 * number - 2])
            self.assertEqual(self.sizes(f"r.{number}.allo"), expected)
            self.assertEqual(self.allo_json("summary", f"r.{number}.allo")["thread_count"], 8)
            self.allo("verify", f"r.{number}.allo")

    def test_recordings_come_and_go_while_threads_allocate(self):
        for mode in (0, 1, 2, 3):
            self.assertEqual(self.inside("storm", f"{mode}.%n.allo", 15, mode), "")
        files = sorted(self.tmp.glob("*.allo"))
        self.assertEqual(len(files), 45)
        for file in files[:8] + files[20:24]:
            self.allo("verify", file)

    def test_blocks_go_from_thread_to_thread(self):
        count = 300_000
        size = sum(16 + i % 1000 for i in range(count))
        said, path = self.inside("handover", "h.allo", count).splitlines()
        self.assertRegex(said, rf"total {count}/{size} current 0/0 peak \d+/\d+$")
        summary = self.allo_json("summary", path)
        self.assertEqual([summary[key] for key in ("allocations", "frees", "alloc_bytes", "end_blocks")],
                         [count, count, size, 0])
        # Times are exact to a few nanoseconds: that many blocks may have been between threads.
        peak = int(re.search(r"peak \d+/(\d+)", said)[1])
        self.assertLess(abs(summary["peak_bytes"] - peak), 10_000)

    def test_a_scope_measures_its_own_thread(self):
        self.assertEqual(self.inside("scopes"), "path ''\n"
                         "inner: total 2/350 current 0/0 peak 2/350\n"
                         "outer: total 4/1360 current 1/10 peak 3/1350\n"
                         "more than the thread's: 1\npath ''\n")


class Samples(Inside):
    """Estimates, compared with the known allocations of the program."""

    BLOCKS = [16, 700, 5000, 40000] * 50_000
    END = [16, 700, 5000, 40000] * 2500

    def test_estimates_are_near_and_totals_exact(self):
        # The tolerance is seven standard deviations.
        for mode, rate, near in ((1, 65536, 0.03), (2, 10, 0.09)):
            self.inside("samples", f"{mode}.allo", mode, rate)
            info = self.allo_json("info", f"{mode}.allo")
            sampling = info["recording"]["sampling"]
            self.assertEqual([sampling[f"exact_{name}"] for name in ("allocations", "bytes", "frees")],
                             [len(self.BLOCKS), sum(self.BLOCKS), 190_000])
            self.assertLess(sampling["sampled_allocations"], 60_000)
            sums = {row["metric"]["name"]: row["sum"] for row in info["metrics"]}
            for name, truth, times in (("alloc_bytes", sum(self.BLOCKS), 1), ("end_bytes", sum(self.END), 4),
                                       ("peak_bytes", sum(self.END) * 2, 3)):
                self.assertAlmostEqual(sums[name] / truth, 1, delta=times * near, msg=f"{name}, mode {mode}")

    def test_a_rate_of_one_is_exact(self):
        self.inside("samples", "x.allo", 1, 1)
        info = self.allo_json("info", "x.allo")
        self.assertEqual(info["recording"]["allocations"], len(self.BLOCKS))
        self.assertNotIn("sampling", info["recording"])


class Limits(Inside):
    def test_a_failed_assertion_prints_its_place_and_the_numbers(self):
        said = self.inside("limits", "b.allo", "bytes")
        self.assertRegex(said, r"quiet\nhandled: allo: .*inside\.c:\d+: assertion failed: at most "
                               r"1000 bytes held\n  seen: 1001 bytes held, allocations: 1, of 1001 "
                               r"bytes in all\n  recorded in b\.allo\n$")
        said = self.inside("limits", "c.allo", "condition")
        self.assertIn("assertion failed: stats.peak_bytes < 100\n  seen: total_bytes 1900, ", said)
        said = self.inside("limits", "a.allo", "allocs", status=-6)
        self.assertIn("assertion failed: no allocations\n  seen: 5 bytes held, allocations: 1", said)
        self.assertEqual(self.sizes("a.allo"), {1000: 1, 900: 1, 5: 1})


class Ends(Inside):
    def test_a_recording_survives_any_end_of_the_program(self):
        for how, status in (("thread", 7), ("abort", -6), ("kill", -9), ("return", 0)):
            self.inside("ends", f"{how}.allo", how, status=status)
            self.assertEqual(self.sizes(f"{how}.allo")[1009], 1)
            self.allo("verify", f"{how}.allo")
        self.assertEqual(self.sizes("thread.allo")[1013], 1)

    def test_a_child_gets_its_own_recording(self):
        self.inside("ends", "f.%p.allo", "fork")
        sizes = [self.sizes(path.name) for path in self.tmp.glob("f.*.allo")]
        self.assertEqual(sorted((s[1009], s[1013]) for s in sizes), [(0, 1), (1, 0)])

    def test_a_process_may_end_while_a_thread_stops_its_recording(self):
        self.assertEqual(self.inside("ends-while-restarting", "r.allo"), "0 failed\n")

    def test_exit_writes_the_requested_format(self):
        self.inside("ends", "e.json", "thread", "dhat", status=7)
        profile = json.loads((self.tmp / "e.json").read_text())
        self.assertEqual(sorted(row["tb"] for row in profile["pps"] if row["tb"] > 1000),
                         [1009, 1013])

    def test_a_dump_is_possible_at_any_time(self):
        said = self.inside("dumps")
        self.assertRegex(said, r"^nothing is being recorded\n\S*;dumps;got 1009\n$")
        for path, size in (("first", 1009), ("signal.1", 3012), ("signal.2", 3012)):
            self.assertIn(f";dumps;got {size}\n", (self.tmp / f"{path}.folded").read_text())
