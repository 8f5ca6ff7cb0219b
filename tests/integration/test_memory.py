"""allo mem: the memory of a running process, its parts and its metrics."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from allotest import ALLO, BUILD, ENVIRONMENT, HANG, IS_ROOT, ROOT, Test
from recordings import RUNTIME, built
from terminal import Terminal

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
JEMALLOC = LIBRARIES / "libjemalloc.so.2"
TCMALLOC = LIBRARIES / "libtcmalloc_minimal.so.4"
MIMALLOC = LIBRARIES / "libmimalloc.so.2"

# As in tests/programs/memory.c.
LARGE, PLAIN_MAP, SHARED_MAP = 3 * 5000000, 7 << 20, 3 << 20
ARENAS = "live blocks outside of malloc's memory count as resident"
CACHED = 7 * sum(range(32, 1041, 16))


class MemoryTest(Test):
    @contextlib.contextmanager
    def running(self, *arguments, preload=(), recorded=None, controlled=False, options=(), program=None):
        """Starts tests/programs/memory.c, perhaps with a control socket; returns its pid, and the bytes and blocks that it holds and has freed."""
        command = [program or built("memory.c"), *arguments]
        if recorded:
            command = [ALLO, "run", "-q", *options, "-o", self.tmp / recorded, "--", *command]
        environment = {**ENVIRONMENT, "LD_PRELOAD": ":".join(map(str, preload)), "ALLO_CONTROL": str(int(controlled))}
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment, cwd=self.tmp)
        try:
            numbers = [*map(int, process.stdout.readline().split())] or [0] * 4
            self.live_bytes, self.live_blocks, self.used_bytes, self.freed_bytes = numbers
            pid = process.pid
            if recorded:
                pid = int(self.must("pgrep", "-P", process.pid))
            yield pid
        finally:
            process.stdin.close()
            process.wait(HANG)
            process.stdout.close()

    def mem(self, pid, *options):
        """The snapshot, with the parts of the ledger by name."""
        found = self.allo_json("mem", pid, *options)
        found["parts"] = {part["name"]: part for part in found["ledger"]["parts"]}
        return found

    def assert_near(self, found, expected, percent=1.0):
        self.assertLess(abs(found - expected), expected * percent / 100, f"{found} is not {expected}")


    def check_prometheus(self, said):
        checked = subprocess.run(["promtool", "check", "metrics"], input=said, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def check_openmetrics(self, said):
        """Checks OpenMetrics: Debian has no tool for it."""
        self.assertTrue(said.endswith("\n# EOF\n"))
        families, family, kind = set(), None, None
        for line in said.splitlines()[:-1]:
            if line.startswith("# HELP "):
                family, kind, unit = line.split()[2], None, None
                self.assertNotIn(family, families)
                families.add(family)
                self.assertNotRegex(family, "_(total|info)$")
            elif line.startswith("# TYPE "):
                self.assertEqual(line.split()[2], family)
                kind = line.split()[3]
            elif line.startswith("# UNIT "):
                self.assertTrue(family.endswith("_" + line.split()[3]))
            else:
                name = re.match(r'(\w+)(\{(\w+="[^"\\\n]*",?)+\})? [\d.]+$', line).group(1)
                self.assertEqual(name, family + {"counter": "_total", "info": "_info", "gauge": ""}[kind])
        self.assertGreater(len(families), 40)


class Ledger(MemoryTest):
    SANITIZED = False  # the process under test is not ours

    def check_sum(self, pid, found):
        """All rows add up to the resident set of the kernel."""
        rss = sum(part["rss_bytes"] for part in found["parts"].values())
        self.assertEqual(rss, found["ledger"]["rss_bytes"])
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        self.assert_near(rss, int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) << 10, 0.5)

    def test_blocks_of_glibc_are_walked(self):
        with self.running() as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        parts = found["parts"]
        self.assertEqual(found["ledger"]["allocator"], "glibc")
        self.assert_near(parts["blocks"]["rss_bytes"], self.used_bytes, 0.1)
        self.assertAlmostEqual(parts["blocks"]["blocks"], self.live_blocks, delta=50)
        self.assert_near(parts["free_blocks"]["rss_bytes"], self.freed_bytes, 0.1)
        self.assert_near(parts["caches"]["bytes"], CACHED, 5)
        self.assertNotIn("heap", parts)
        # Unexplained memory is the program's own mapping and next to nothing else.
        self.assert_near(parts["unexplained"]["rss_bytes"], PLAIN_MAP)
        self.assert_near(parts["shared"]["rss_bytes"], SHARED_MAP)
        self.assertGreater(parts["stacks"]["rss_bytes"], 200 << 10)
        self.assertLess(parts["stacks"]["rss_bytes"], 500 << 10)
        self.assertEqual(parts["stacks"]["stacks"], 2)
        self.assertEqual(found["ledger"]["notes"], ["the process is not recorded"])

    def test_a_recording_gives_requested_sizes(self):
        with self.running(recorded="x.allo") as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        parts = found["parts"]
        # libc and the thread have some blocks too.
        self.assertAlmostEqual(parts["live"]["blocks"], self.live_blocks, delta=50)
        self.assertAlmostEqual(parts["live"]["bytes"], self.live_bytes, delta=100000)
        self.assertNotIn("blocks", parts)
        # A header of 8 bytes, and up to 15 bytes of padding; whole pages for mapped blocks.
        self.assertGreater(parts["rounding"]["bytes"], 8 * self.live_blocks)
        self.assertLess(parts["rounding"]["bytes"], 24 * self.live_blocks + LARGE / 100)
        self.assertGreater(parts["profiler"]["rss_bytes"], 500 << 10)
        self.assert_near(parts["unexplained"]["rss_bytes"], PLAIN_MAP)
        self.assertEqual(found["ledger"]["notes"], [])

    def mem_elsewhere(self, *command):
        """allo mem of a recorded program in another part of the file system."""
        environment = {**ENVIRONMENT, "ALLO_OUTPUT": str(self.tmp / "inner" / "x.allo")}
        (self.tmp / "inner").mkdir()
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   cwd=self.tmp, env=environment)
        with process:
            self.assertTrue(process.stdout.readline())
            found = self.mem(process.pid)
            process.stdin.close()
        return found

    @unittest.skipUnless(IS_ROOT, "only root can mount a file system and read another user namespace")
    def test_the_recording_may_be_in_another_mount_namespace(self):
        found = self.mem_elsewhere("unshare", "--mount", "sh", "-c",
                                   f'mount -t tmpfs none inner && LD_PRELOAD={RUNTIME} exec "$0"', built("memory.c"))
        self.assertFalse((self.tmp / "inner" / "x.allo").exists())
        self.assertEqual(found["ledger"]["notes"], [])
        self.assertGreater(found["parts"]["live"]["blocks"], 1000)

    @unittest.skipUnless(IS_ROOT, "only root can change the root directory")
    def test_the_recorded_program_may_have_another_root(self):
        found = self.mem_elsewhere("env", f"LD_PRELOAD={RUNTIME}", sys.executable, "-c",
                                   "import os, sys; os.chroot('inner'); print(1, flush=True); sys.stdin.read()")
        self.assertEqual(found["ledger"]["notes"], [ARENAS])
        self.assertGreater(found["parts"]["live"]["blocks"], 1000)

    def test_functions_that_a_program_imports_name_its_allocator(self):
        """The library may have any name.  A weak import does not need it."""
        archive = LIBRARIES / "libjemalloc_pic.a"
        if not archive.exists():
            self.skipTest(f"{archive} is not installed")
        self.must("gcc", "-shared", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lstdc++", "-lm", "-lpthread",
                  "-o", "libfast.so")
        for declared, flags, name in (("", ["-L.", "-lfast", "-Wl,-rpath,."], "jemalloc"),
                                      ("__attribute__((weak)) ", [], "glibc")):
            self.file("asks.c", f"#include <stdio.h>\n{declared}int mallctl(const char *, void *, void *, void *, unsigned long);\n"
                      "int main(void) { if (mallctl) mallctl(\"epoch\", 0, 0, 0, 0); puts(\"\"); fflush(stdout); return getchar() == 0; }\n")
            self.must("gcc", "-Wno-address", "asks.c", *flags, "-o", "asks")
            with self.running(program=self.tmp / "asks") as pid:
                self.assertEqual(self.allo_json("mem", pid)["ledger"]["allocator"], name)

    def test_recorded_mappings_are_live(self):
        with self.running(recorded="x.allo", options=("--track", "malloc,new,mmap")) as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        self.assertGreater(found["parts"]["live"]["bytes"], self.live_bytes + PLAIN_MAP)
        self.assertLess(found["parts"].get("unexplained", {"rss_bytes": 0})["rss_bytes"], PLAIN_MAP // 2)
        self.assertEqual(found["ledger"]["notes"], [ARENAS])

    def test_blocks_of_an_allocator_in_the_program_are_live(self):
        archive = LIBRARIES / "libjemalloc.a"
        if not archive.exists():
            self.skipTest(f"{archive} is not installed")
        program = built("memory.c", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lstdc++", "-lm",
                        name="memory_jemalloc")
        with self.running(recorded="x.allo", program=program) as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        self.assertAlmostEqual(found["parts"]["live"]["bytes"], self.live_bytes, delta=100000)
        self.assertEqual(found["parts"]["live"]["rss_bytes"], found["parts"]["live"]["bytes"])
        self.assertEqual(found["ledger"]["allocator"], "jemalloc")
        self.assertNotIn("unexplained", found["parts"])
        stripped = self.tmp / "stripped"
        self.must("strip", "-o", stripped, program)
        with self.running(recorded="y.allo", program=stripped) as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        self.assertAlmostEqual(found["parts"]["live"]["bytes"], self.live_bytes, delta=100000)
        self.assertEqual(found["ledger"]["notes"], ["the allocator of the process is unknown", ARENAS])

    def test_a_sampled_recording_is_an_estimate(self):
        with self.running("small") as pid:
            exact = self.mem(pid)["parts"]["blocks"]["bytes"]
        environment = {**ENVIRONMENT, "LD_PRELOAD": str(RUNTIME), "ALLO_OUTPUT": str(self.tmp / "s.allo"),
                       "ALLO_MODE": "sampled", "ALLO_RATE": "20000"}
        process = subprocess.Popen([built("memory.c"), "small"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment)
        process.stdout.readline()
        found = self.mem(process.pid)
        table = self.allo("mem", process.pid)
        process.communicate()
        self.assertTrue(found["ledger"]["estimated"])
        self.assert_near(found["parts"]["live"]["bytes"], exact, 10)
        self.assertRegex(table, r" ~[\d.]+ MiB +~[\d,]+ +live blocks")

    def test_without_the_walk_the_heap_is_one_row(self):
        with self.running("small") as pid:
            found = self.mem(pid, "--no-walk")
            self.check_sum(pid, found)
        self.assert_near(found["parts"]["heap"]["rss_bytes"], self.live_bytes + self.freed_bytes, 3)
        self.assertIn("walking was turned off", found["ledger"]["notes"][-1])

    def test_other_allocators_are_recognized(self):
        for library, name in ((JEMALLOC, "jemalloc"), (TCMALLOC, "tcmalloc"), (MIMALLOC, "mimalloc")):
            with self.subTest(name), self.running(preload=[library]) as pid:
                found = self.mem(pid)
                self.check_sum(pid, found)
                self.assertEqual(found["allocator"]["name"], name)
                self.assertGreater(found["parts"]["heap"]["rss_bytes"], self.live_bytes)
                self.assertIn(f"{name}'s malloc\n", self.allo("mem", pid))

    def test_other_allocators_report_their_parts_with_the_runtime(self):
        for library, name, only in ((JEMALLOC, "jemalloc", "allocator"), (TCMALLOC, "tcmalloc", "free_pages")):
            for recorded in (f"{name}.allo", None):
                preload = [library] if recorded else [RUNTIME, library]
                with (self.subTest(name, recorded=recorded),
                      self.running(preload=preload, recorded=recorded, controlled=True) as pid):
                    found = self.mem(pid)
                    self.check_sum(pid, found)
                    parts = found["parts"]
                    self.assertRegex(found["allocator"]["version"], r"\d\.\d")
                    self.assertNotIn("heap", parts)
                    # As malloc_usable_size() counts: without headers.
                    used = parts["blocks"]["bytes"] if not recorded else parts["live"]["bytes"] + parts["rounding"]["bytes"]
                    self.assert_near(used, self.used_bytes, 3)
                    self.assert_near(parts["free_blocks"]["bytes"] + parts["caches"]["bytes"], self.freed_bytes, 10)
                    self.assertIn(only, parts)
                    if recorded:
                        self.assertAlmostEqual(parts["live"]["bytes"], self.live_bytes, delta=200000)

    def test_an_idle_process_does_not_report_its_allocator(self):
        for what, preload, why in (
                ("idle", [RUNTIME, JEMALLOC], "no thread of the program has called the allocator in the last 50 ms"),
                ("small", [JEMALLOC, RUNTIME], "no thread of the program can read the allocator's statistics")):
            with self.running(what, preload=preload, controlled=True) as pid:
                found = self.mem(pid)
                self.check_sum(pid, found)
            self.assertGreater(found["parts"]["heap"]["rss_bytes"], self.live_bytes)
            self.assertIn(why, found["ledger"]["notes"][-1])

    def test_rounding_is_noted_only_where_it_is_a_row(self):
        """jemalloc's heap is one row, if no thread reports the statistics."""
        found = []
        for what in ("idle", "running"):
            with self.running(*([what] if what == "idle" else []), preload=[RUNTIME, JEMALLOC], controlled=True) as pid:
                self.allo("start", pid, "-o", self.tmp / f"{what}.allo")
                page = self.mem(pid)
                noted = [note for note in page["ledger"]["notes"] if "rounding" in note]
                self.assertEqual(len(noted), int("rounding" in page["parts"]), page["ledger"])
                found.append("rounding" in page["parts"])
        self.assertEqual(found, [False, True])

    def test_a_process_without_a_control_socket_does_not_report_its_allocator(self):
        with self.running(preload=[JEMALLOC], recorded="x.allo") as pid:
            found = self.mem(pid)
            self.check_sum(pid, found)
        self.assertEqual(found["allocator"]["name"], "jemalloc")
        self.assertEqual(found["profiler"]["is_recording"], 1)
        self.assertAlmostEqual(found["parts"]["live"]["bytes"], self.live_bytes, delta=200000)
        self.assertIn("the process has no control socket", found["ledger"]["notes"][-1])

    def test_a_process_that_counts_reports_live_blocks(self):
        environment = {**ENVIRONMENT, "LD_PRELOAD": str(RUNTIME), "ALLO_OUTPUT": "x", "ALLO_MODE": "counters",
                       "ALLO_CONTROL": "1"}
        process = subprocess.Popen([built("memory.c"), "small"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment, cwd=self.tmp)
        live_bytes, live_blocks, *_ = map(int, process.stdout.readline().split())
        found = self.mem(process.pid)
        process.communicate()
        self.assertAlmostEqual(found["heap"]["live_bytes"], live_bytes, delta=100000)
        self.assertEqual(found["parts"]["live"]["blocks"], found["heap"]["live_blocks"])
        self.assertAlmostEqual(found["heap"]["live_blocks"], live_blocks, delta=50)
        self.assertEqual(found["profiler"]["is_recording"], 1)

    def test_an_unknown_allocator_is_noted(self):
        self.file("own.c", """
            #include <stddef.h>
            #include <unistd.h>
            static char memory[1 << 20];
            static size_t used;
            void *malloc(size_t size) { used += (size + 15) / 16 * 16; return memory + used; }
            void free(void *block) { (void)block; }
            void *realloc(void *block, size_t size) { (void)block; return malloc(size); }
            void *calloc(size_t count, size_t size) { return malloc(count * size); }
            int main(void) { char c; write(1, "\\n", 1); return read(0, &c, 1) < 0; }
        """)
        self.must("gcc", "own.c", "-o", "own", "-rdynamic")
        process = subprocess.Popen([self.tmp / "own"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        found = self.mem(process.pid)
        process.communicate()
        self.assertNotIn("name", found["allocator"])
        self.assertIn("the allocator of the process is unknown", found["ledger"]["notes"])

    def test_a_heap_that_changes_all_the_time_is_walked(self):
        self.file("busy.c", """
            #include <pthread.h>
            #include <stdlib.h>
            #include <unistd.h>
            #include <semaphore.h>
            static sem_t filled;
            static void *work(void *given)
            {
                static __thread void *blocks[20000];
                unsigned seed = (unsigned)(size_t)given;
                for (long round = 1;; round++) {
                    if (round == 20 * 20000) sem_post(&filled);
                    int i = rand_r(&seed) % 20000;
                    free(blocks[i]);
                    blocks[i] = malloc(rand_r(&seed) % 3000);
                }
            }
            int main(void)
            {
                pthread_t thread;
                char c;
                for (size_t i = 1; i < 3; i++) pthread_create(&thread, NULL, work, (void *)i);
                for (size_t i = 1; i < 3; i++) sem_wait(&filled);
                write(1, "\\n", 1);
                _exit(read(0, &c, 1) < 0);
            }
        """)
        self.must("gcc", "-O1", "-pthread", "busy.c", "-o", "busy")
        process = subprocess.Popen([self.tmp / "busy"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        for _ in range(5):
            parts = self.mem(process.pid)["parts"]
            # 40,000 blocks of 1500 bytes, most of the time.
            self.assert_near(parts["blocks"]["bytes"], 60e6, 20)
            self.assertLess(parts.get("heap", {"rss_bytes": 0})["rss_bytes"], 3e6)
        process.communicate()

    def test_the_table(self):
        with self.running() as pid:
            said = self.allo("mem", pid, "-v")
        self.assertRegex(said, rf"^process {pid} \(memory\): [\d.]+ MiB resident, [\d.]+ MiB at most; glibc's malloc\n")
        self.assertRegex(said, r"\n +[\d.]+ MiB +[\d.]+% +[\d.]+ MiB +[\d,]+  blocks in use  with headers and padding")
        self.assertRegex(said, r"\n +[\d.]+ MiB +[\d.]+ MiB +heap +[0-9a-f]+-[0-9a-f]+  \[heap\]\n")
        self.assertRegex(said, r"\ncontrol group /.*: [\d.]+ [MG]iB used")

    def test_notes_follow_the_table(self):
        with self.running("small") as pid:
            done = self.run_program(ALLO, "mem", pid)
            quiet = self.run_program(ALLO, "mem", "-q", pid)
        self.assertEqual(done.stderr, b"note: the requested sizes are unknown: the process is not recorded\n")
        self.assertEqual(quiet.stderr, b"")


class Faults(MemoryTest):
    def test_there_is_no_such_process(self):
        self.assertIn("process 99999999: no such process", self.allo_fails("mem", "99999999"))

    def test_a_thread_of_the_kernel_has_no_memory(self):
        for pid in self.must("pgrep", "-x", "kthreadd").split():
            self.assertIn("has no memory", self.allo_fails("mem", pid))

    def test_wrong_arguments(self):
        for arguments, why in ((["server"], "is not a process id"), ([], "'allo mem' needs PID"),
                               (["--list", "1"], "takes no process"),
                               (["--metrics", "--json", "1"], "exclude --watch and --json"),
                               (["--interval", "0", "1"], "must not be 0"), (["0"], "is not a process id")):
            self.assertIn(why, self.allo_fails("mem", *arguments, status=2))

    @contextlib.contextmanager
    def of_another_user(self):
        """A command that runs allo without the right to read a process, and the process."""
        # The kernel treats a process that may not be dumped as one of root's.
        with self.running("small" if IS_ROOT else "hidden") as pid:
            yield self.allo_of_a_user(), pid

    def test_other_users_may_not_read_a_process(self):
        with self.of_another_user() as (program, pid):
            done = self.run_program(*program, "mem", pid)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"cannot read /proc/", done.stderr)
        self.assertIn(b"only the user of the process and root may read it", done.stderr)

    def test_metrics_without_permission_are_missing(self):
        with self.of_another_user() as (program, pid):
            said = self.must(*program, "mem", "--metrics", pid)
        self.assertIn('allo_telemetry_source_up{source="io"} 0\n', said)
        self.assertIn('allo_telemetry_source_up{source="status"} 1\n', said)
        self.assertNotIn("allo_process_io_bytes_total", said)


class Watching(MemoryTest):
    SANITIZED = False  # it mostly waits

    def test_the_table_is_replaced_and_the_terminal_left_alone(self):
        with self.running("small") as pid:
            terminal = Terminal([ALLO, "mem", "-w", "--interval", "50ms", pid], columns=120, rows=40)
            terminal.wait_for("resident, ")
            for _ in range(3):
                self.assertRegex(terminal.wait_for("resident, "), "\033\\[\\d+A")
            os.kill(terminal.pid, signal.SIGKILL)
            said = terminal.finish()
        # A kill must leave nothing to restore.
        self.assertNotRegex(said, "\033\\[\\?")
        self.assertEqual(terminal.status, -signal.SIGKILL)

    def test_it_ends_with_the_process(self):
        with self.running("small") as pid:
            watching = subprocess.Popen([ALLO, "mem", "-w", "--interval", "10ms", str(pid)], env=ENVIRONMENT,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            headings = 0
            while headings < 3:
                headings += watching.stdout.readline().startswith(f"process {pid} ")
        _, complaints = watching.communicate(timeout=HANG)
        self.assertEqual(watching.returncode, 0)
        self.assertEqual(complaints, f"allo: process {pid} has ended\n")

    def test_json_is_one_line_per_snapshot(self):
        with self.running("small") as pid:
            lines = self.allo("mem", "--watch", "-n", 3, "--interval", "1ms", "--json", pid).splitlines()
        self.assertEqual([json.loads(line)["pid"] for line in lines], [pid] * 3)


class Metrics(MemoryTest):
    def test_promtool_accepts_the_metrics(self):
        said = self.allo("mem", "--metrics", os.getpid())
        self.check_prometheus(said)
        for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds",
                     'allo_process_rss_bytes{kind="anon"}', "allo_cgroup_memory_current_bytes",
                     'allo_cgroup_memory_bytes{type="anon"}', 'allo_cgroup_memory_stat_total{type="pgfault"}',
                     'allo_memory_pressure_waiting_seconds_total{scope="system",kind="some"}',
                     'allo_allocator_info{allocator="glibc"}'):
            self.assertIn(f"\n{name} ", said)

    def test_openmetrics_follows_its_standard(self):
        self.check_openmetrics(self.allo("mem", "--openmetrics", os.getpid()))

    def test_all_metrics_are_documented(self):
        described = (ROOT / "doc" / "telemetry.md").read_text()
        listed = json.loads(self.allo("mem", "--list", "--json"))["metrics"]
        for row in listed:
            label = "{" + row["label"] + "}" if "label" in row else ""
            self.assertIn(f"| `{row['metric']}{label}` | {row['type']} | {row['cost']} | "
                          f"{'`' + row['json'] + '`' if 'json' in row else ''} | {row['about']} |", described)
        table = re.findall(r"^\| `\w+.*\| (?:gauge|counter|info) \|", described, re.M)
        self.assertEqual(len(table), len(listed))
        self.assertIn("process_resident_memory_bytes", self.allo("mem", "--list"))

    def test_the_control_group_agrees_with_the_kernel(self):
        """With the version of this machine."""
        lines = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
        kinds = [(fields[4], fields[fields.index("-") + 1], fields[-1].split(","))
                 for fields in map(str.split, pathlib.Path("/proc/self/mountinfo").read_text().splitlines())]
        first = [name for name in lines if "memory" in name.split(",")]
        if first:
            mount = next(point for point, kind, options in kinds if kind == "cgroup" and "memory" in options)
            folder, names = mount + lines[first[0]], ("memory.usage_in_bytes", "memory.max_usage_in_bytes", "total_rss")
        else:
            mount = next(point for point, kind, _ in kinds if kind == "cgroup2")
            folder, names = mount + lines[""], ("memory.current", "memory.peak", "anon")
        folder = pathlib.Path(folder)

        def kernels():
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return stat, [int((folder / names[0]).read_text()), int((folder / names[1]).read_text()), int(stat[names[2]])]

        # Other processes of the group, such as allo, keep running: tries until they are quiet for a moment.
        for _ in range(50):
            before = kernels()[1]
            group = self.allo_json("mem", os.getpid())["cgroup"]
            stat, after = kernels()
            found = [group["current_bytes"], group["peak_bytes"], group["stat"]["anon"]]
            if all(min(ends) * 0.9 - (16 << 20) <= value <= max(ends) * 1.1 + (16 << 20)
                   for value, *ends in zip(found, before, after)):
                break
        else:
            self.fail(f"{found} is never near {before} to {after}")
        self.assertEqual(group["version"], 1 if first else 2)
        if first:
            self.assertEqual(len(group["stat"]) - ("kernel" in group["stat"]),
                             len([name for name in stat if name.startswith("total_") and name != "total_swap"]))
        else:
            self.assertEqual(set(group["stat"]), set(stat))


class Inside(MemoryTest):
    """The API inside a program."""
    SANITIZED = False  # the runtime does the work

    def figures(self, what, preload="", static=False):
        flags = [f"-I{ROOT / 'include'}"]
        flags += [RUNTIME.with_name("liballo.a")] if static else [RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}"]
        program = built("figures.c", *flags, name="figures_static" if static else "figures")
        return self.must(program, what, env={**ENVIRONMENT, "LD_PRELOAD": str(preload)})

    def test_metrics_are_those_of_the_program(self):
        for static in (False, True):
            found = json.loads(self.figures("json", static=static))
            heap, allocator = found["heap"], found["allocator"]
            self.assertEqual((heap["live_bytes"], heap["live_blocks"]), (2500 * 1009, 2500))
            self.assertEqual((allocator["name"], allocator["arenas"]), ("glibc", 1))
            # A block of 1009 bytes takes 1024.
            self.assert_near(allocator["allocated_bytes"], 2500 * 1024, 10)
            self.assert_near(allocator["free_list_bytes"], 2500 * 1024, 10)
            self.assertGreater(allocator["mapped_peak_bytes"], 5000 * 1024)
            self.assertLessEqual(found["pages"]["uss_bytes"], found["pages"]["pss_bytes"])
            self.assertEqual([source["name"] for source in found["sources"] if source["why"]], [])

    def test_statistics_of_other_allocators(self):
        for library, name, figures in (
                (JEMALLOC, "jemalloc", ("allocated", "active", "resident", "mapped", "retained", "metadata",
                                        "thread_cache", "free_page")),
                (TCMALLOC, "tcmalloc", ("allocated", "mapped", "retained", "free_list", "free_page", "thread_cache")),
                (MIMALLOC, "mimalloc", ("committed", "committed_peak"))):
            for static in (False, True):
                with self.subTest(name, static=static):
                    found = json.loads(self.figures("json", preload=library, static=static))
                    allocator = found["allocator"]
                    self.assertEqual(allocator["name"], name)
                    self.assertRegex(allocator["version"], r"\d\.\d")
                    self.assertEqual(sorted(key for key in allocator if key.endswith("_bytes")),
                                     sorted(f"{figure}_bytes" for figure in figures))
                    if "allocated_bytes" in allocator:
                        self.assertGreater(allocator["allocated_bytes"], 2500 * 1009)
                        self.assertLess(allocator["allocated_bytes"], 2 * 2500 * 1009)

    def test_unknown_values_are_not_0(self):
        """A preloaded malloc comes before the linked one."""
        found = json.loads(self.figures("json", preload=JEMALLOC))
        self.assertEqual(found["heap"], {})
        why = {source["name"]: source["why"] for source in found["sources"]}
        self.assertIn("another library interposes malloc before this one", why["heap"])

    def test_both_text_formats_are_valid(self):
        said = self.figures("prometheus")
        self.check_prometheus(said)
        self.assertIn("\nallo_heap_inuse_objects 2500\n", said)
        self.assertIn('\nallo_allocator_info{allocator="glibc",version="', said)
        self.assertNotIn("allo_allocator_allocated_bytes", said)
        self.check_openmetrics(self.figures("openmetrics"))

    def test_it_does_not_disturb_the_program(self):
        for what in ("manners", "fork", "threads"):
            for static in (False, True):
                with self.subTest(what, static=static):
                    self.figures(what, static=static)
