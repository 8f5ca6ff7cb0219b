"""allo attach and allo detach: processes that were started without the runtime."""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from allotest import ALLO, ENVIRONMENT, HANG, IS_ROOT, wait_until
from rawrecording import RawRecording
from recordings import FLAGS, PROGRAMS, built
from test_capture import NEW_DELETE
from tracing import tracing_obstacle
from watching import WatchTest


OBSTACLE = tracing_obstacle()

# A leak in Python that needs no file: blocks of malloc, through ctypes, every few milliseconds.
SLEEPER = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
print("ready", flush=True)
while True:
    libc.malloc(1009)
    time.sleep(0.005)
"""


@unittest.skipIf(OBSTACLE, OBSTACLE)
class AttachTest(WatchTest):
    SANITIZED = False

    def start(self, *command, ready="ready\n", **options):
        """A program without the runtime, which has printed a line."""
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, cwd=self.tmp, env=self.env, **options)
        for stream in (child.stdout, child.stderr, child.stdin):
            self.addCleanup(stream.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        if ready:
            self.assertEqual(child.stdout.readline(), ready)
        return child

    def attach(self, pid, *options):
        return self.watch_json("attach", pid, *options)

    def verifier(self, *words):
        return self.start(built("attached.c"), *words)

    def is_fine(self, child):
        """Ends a verifying program, which must have found nothing."""
        child.stdin.close()
        said = child.stdout.read()
        self.assertEqual(child.wait(HANG), 0, child.stderr.read())
        self.assertRegex(said, r"^fine: [1-9]\d* operations")

    def stack_size(self, pid):
        """Of the main thread."""
        line, = [line for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith("[stack]")]
        start, end = line.split()[0].split("-")
        return int(end, 16) - int(start, 16)

    def threads(self, pid):
        return len(os.listdir(f"/proc/{pid}/task"))


class Targets(AttachTest):
    def test_counts_are_exact(self):
        program = self.start(built("obeys.c"), ready=None)

        def tell(*lines):
            for line in lines:
                program.stdin.write(f"{line}\n")
                program.stdin.flush()
                self.assertIn("done", program.stdout.readline())

        tell("get 100 50")
        made = self.attach(program.pid)
        tell("get 23 1009", "brief 500 70", "give 20")
        told = self.watch("stop", program.pid)
        self.assertIn(made["file"], told)
        made_by = self.watch_json("top", "-n", "0", "-M", "alloc", made["file"])
        self.assertEqual((made_by["sum"], made_by["sum_blocks"]), (23 * 1009 + 500 * 70, 523))
        rows = self.watch_json("top", "-n", "0", "-M", "leaked", made["file"])["rows"]
        self.assertEqual({row["name"]: row["self"] for row in rows if row["self"]}, {"get": 3 * 1009})
        self.watch("verify", made["file"])
        self.watch("detach", program.pid)
        tell("get 7 1", "give 110")
        program.stdin.close()
        self.assertEqual(program.wait(HANG), 0)

    def test_a_leak_of_a_sleeping_python(self):
        python = self.start(sys.executable, "-c", SLEEPER)
        made = self.attach(python.pid, "-o", "python.allo")
        self.assertEqual(made["file"], str(self.tmp / "python.allo"))
        wait_until(lambda: self.watch_json("stats", python.pid)["live_blocks"] > 20, "it leaks")
        self.watch("detach", python.pid)
        leaks = self.watch_json("leaks", "python.allo")["leaks"]
        self.assertGreater(sum(leak["total_blocks"] for leak in leaks if leak["total"] == leak["total_blocks"] * 1009), 20)
        self.assertIsNone(python.poll())
        # Without the runtime it leaks on, unrecorded.
        self.assertEqual(self.threads(python.pid), 1)

    def test_a_leak_of_redis(self):
        if not shutil.which("redis-server"):
            self.skipTest("redis-server is not installed")
        redis = self.start("redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "", ready=None)

        def ask(*words, given=None):
            return self.must("redis-cli", "-s", "redis.sock", *words, input=given)

        wait_until((self.tmp / "redis.sock").exists)
        wait_until(lambda: self.run_program("redis-cli", "-s", "redis.sock", "ping").stdout == b"PONG\n")
        made = self.attach(redis.pid)
        self.assertEqual(made["program"], "redis-server")
        ask(given="".join(f"SET key{i} {'x' * 3000}\n" for i in range(200)).encode())
        listed, = [row for row in self.watch_json("ps")["processes"] if row["pid"] == redis.pid]
        self.assertEqual((listed["program"], listed["state"]), ("redis-server", "recording"))
        self.watch("mark", redis.pid, "filled")
        self.watch("snapshot", "-q", redis.pid, "-o", "redis.pb.gz")
        live = json.loads(self.watch("live", redis.pid, "--once", "--json"))
        self.assertGreaterEqual(live["live_bytes"], 200 * 3000)
        self.watch("detach", redis.pid)
        held = self.watch_json("top", "-n", "0", "-M", "leaked", made["file"])
        self.assertGreaterEqual(held["sum"], 200 * 3000)
        self.assertEqual(ask("get", "key7"), "x" * 3000 + "\n")
        self.assertEqual(ask("dbsize"), "200\n")
        self.assertEqual(ask("flushall"), "OK\n")
        self.assertIsNone(redis.poll())

    def test_busy_threads_find_their_blocks_unchanged(self):
        verifier = self.verifier("4", "signals", "churn")
        for number in range(6):
            made = self.attach(verifier.pid, "-o", f"{number}.allo")
            self.assertGreater(made["stopped_ns"], 0)
            self.assertGreaterEqual(made["threads"], 6)
            self.watch("detach", verifier.pid)
            self.watch("verify", f"{number}.allo")
        self.is_fine(verifier)

    def test_every_new_and_delete_of_an_allocator_is_seen_once(self):
        """Those of jemalloc and tcmalloc do not call malloc, or only in part."""
        wrapper = self.file("main.cpp", "#include <cstdio>\nextern \"C\" int use_all();\nint main() { puts(\"ready\"); fflush(stdout); getchar();\n"
                            "int result = use_all(); puts(\"done\"); fflush(stdout); getchar(); return result; }\n")
        wanted = collections.Counter()
        for sizes in NEW_DELETE.values():
            wanted.update(sizes)
        self.must("g++", "-std=c++17", *FLAGS, PROGRAMS / "new_delete.cpp", "-c", "-o", "all.o")
        self.must("objcopy", "--redefine-sym=main=use_all", "all.o")
        tried = 0
        for library in "libjemalloc.so.2", "libtcmalloc_minimal.so.4":
            if self.run_program("g++", wrapper, "all.o", "-Wl,--no-as-needed", f"-l:{library}", "-o", library).returncode != 0:
                continue  # it is not installed
            with self.subTest(library):
                tried += 1
                program = self.start(self.tmp / library)
                made = self.attach(program.pid, "-o", f"{library}.allo")
                program.stdin.write("\n")
                program.stdin.flush()
                self.assertEqual(program.stdout.readline(), "done\n")
                self.watch("stop", program.pid)
                recording = RawRecording(made["file"])
                found = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
                self.assertEqual({size: found[size] for size in wanted}, wanted)
                ours = {event.pointer for event in recording.events if event.kind == "alloc" and event.size in wanted}
                self.assertEqual(ours & set(recording.unbalanced()), set())
                inside = [event for event in recording.events if event.size == 1009]
                self.assertTrue(all(recording.functions(event.stack)[0].startswith("use_new(") for event in inside),
                                recording.functions(inside[0].stack))
                self.watch("detach", program.pid)
                program.stdin.close()
                self.assertEqual(program.wait(HANG), 0)
        if not tried:
            self.skipTest("no library of an allocator is installed")

    def test_functions_with_a_prefix_are_named(self):
        """They are not recorded."""
        self.file("uses.c", "#include <stdio.h>\n#include <stdlib.h>\nvoid *mi_malloc(size_t);\nint main(void) { puts(\"ready\"); fflush(stdout);\n"
                  "while (getchar() != EOF) { void *volatile block = mi_malloc(9); mi_use(malloc(9)); puts(\"done\"); fflush(stdout); }\n"
                  "return 0; }\n")
        self.file("uses.h", "void mi_use(void *);\n")
        self.file("use.c", "#include <stdlib.h>\nvoid mi_use(void *block) { free(block); free(malloc(1009)); }\n")
        self.must("gcc", "-O1", "-fno-builtin", "-fPIC", "-shared", "-DPREFIX=mi_", PROGRAMS / "prefixed.c", "use.c", "-o", "libprefixed.so")
        self.must("gcc", "-include", "uses.h", "uses.c", "-L.", "-lprefixed", "-Wl,-rpath,.", "-o", "uses")
        program = self.start(self.tmp / "uses")
        made = self.attach(program.pid, "-o", "uses.allo")
        program.stdin.write("\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "done\n")
        self.watch("detach", program.pid)
        allocator, = self.watch_json("info", made["file"])["recording"]["allocators"]
        self.assertEqual((allocator["name"], allocator["recorded"]), ("mimalloc", False))
        self.assertIn("attach", allocator["reason"])
        program.stdin.close()
        self.assertEqual(program.wait(HANG), 0)

    def test_memory_below_a_small_stack_stays_as_it_is(self):
        """Nor does the stack of the main thread grow with each attaching."""
        for mode, growth in ("computes", 0), ("waits", 0), ("deep", 64 << 10):
            with self.subTest(mode):
                program = self.start(built("small_stack.c"), mode)
                before = self.stack_size(program.pid)
                for _ in range(3):
                    self.watch("attach", program.pid, "--dormant")
                    self.watch("detach", program.pid)
                    self.assertLessEqual(self.stack_size(program.pid), before + growth)
                program.stdin.close()
                self.assertEqual(program.stdout.read(), "0 bytes have changed\n")
                self.assertEqual(program.wait(HANG), 0)

    def fork_after_attach(self, *options):
        """The paths of the recording and of those of its children."""
        shell = self.start("bash", "-c", "echo ready; while read line; do (: $(echo $line)); done")
        made = pathlib.Path(self.attach(shell.pid, *options)["file"])
        for _ in range(20):
            shell.stdin.write("word\n")
        shell.stdin.close()
        self.assertEqual(shell.wait(HANG), 0)
        return made, list(made.with_name(made.name + ".d").glob("*"))

    def test_forked_children_are_recorded_too(self):
        """In one directory, as with `allo run`, unless the name asks for something else."""
        for options in ((), ("-o", "100%%.allo")):
            made, children = self.fork_after_attach(*options)
            self.assertGreater(len(children), 20)
            self.assertEqual([path.name for path in self.tmp.glob("*.allo")], [made.name])
            self.allo("verify", children[0])
            made.unlink()
        made, children = self.fork_after_attach("-o", "%e.%p.allo")
        self.assertEqual(children, [])
        self.assertGreater(len(list(self.tmp.glob("bash.*.allo"))), 1)

    def test_forked_children_can_be_left_out(self):
        made, children = self.fork_after_attach("--no-follow")
        self.assertEqual((children, list(self.tmp.glob("*.allo"))), ([], [made]))
        self.allo("verify", made)

    def test_a_program_that_executes_another_goes_on(self):
        shell = self.start("bash", "-c", "echo ready; read line; exec sleep 1000")
        self.attach(shell.pid)
        shell.stdin.write("go\n")
        shell.stdin.flush()
        wait_until(lambda: pathlib.Path(f"/proc/{shell.pid}/comm").read_text() == "sleep\n")
        self.assertIsNone(shell.poll())
        self.assertIn("is not attached", self.watch("detach", shell.pid, status=2))

    def test_another_mount_and_pid_namespace(self):
        inner = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
        if self.run_program(*inner, "true").returncode != 0:
            self.skipTest("unshare is not permitted")
        # Neither the program nor its socket has a path here.
        script = """mount -t tmpfs none /mnt && cp "$1" /mnt/it && mount -t tmpfs none /tmp && cd /mnt &&
                    unset XDG_RUNTIME_DIR && exec ./it 1"""
        outer = self.start(*inner, "sh", "-c", script, "sh", built("attached.c"))
        pid = wait_until(lambda: int(pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text() or 0))
        made = self.attach(pid)
        self.assertTrue(pathlib.Path(made["file"]).exists(), made)
        self.assertIn(pid, [row["pid"] for row in self.watch_json("ps")["processes"]])
        self.watch("stop", pid)
        self.assertGreater(self.watch_json("top", "-M", "alloc", made["file"])["sum_blocks"], 0)
        self.watch("detach", pid)
        self.is_fine(outer)


class Refusals(AttachTest):
    def test_twice(self):
        verifier = self.verifier("1")
        self.assertIn("stopped for", self.watch("attach", verifier.pid, "--dormant"))
        self.assertIn("already attached", self.watch("attach", verifier.pid, status=2))
        self.watch("start", verifier.pid)
        self.watch("detach", verifier.pid)
        self.assertIn("is not attached", self.watch("detach", verifier.pid, status=2))
        self.watch("attach", verifier.pid, "--dormant")
        self.is_fine(verifier)

    def test_a_process_of_allo_run(self):
        program, pid = self.obedient()
        self.assertIn("has the runtime already", self.watch("attach", pid, status=2))
        self.assertIn("is not attached", self.watch("detach", pid, status=2))

    def test_no_process(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.assertIn("there is no process", self.watch("attach", child.pid, status=2))
        self.assertIn("is not a process", self.watch("attach", "nobody", status=2))
        self.assertIn("no process is named", self.watch("attach", "%no-such-program", status=2))

    def test_a_static_program(self):
        static = built("attached.c", "-static", name="attached-static")
        self.assertIn("is statically linked", self.watch("attach", self.start(static, "1").pid, status=1))

    def test_a_debugger_is_there(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        traced = self.start("strace", "-qq", "-o", os.devnull, built("attached.c"), "1")
        pid = int(pathlib.Path(f"/proc/{traced.pid}/task/{traced.pid}/children").read_text().split()[0])
        self.assertIn("is already traced, by strace", self.watch("attach", pid, status=1))

    def test_a_stopped_process(self):
        verifier = self.verifier("1")
        os.kill(verifier.pid, signal.SIGSTOP)
        wait_until(lambda: "State:\tT" in pathlib.Path(f"/proc/{verifier.pid}/status").read_text())
        self.assertIn("is stopped", self.watch("attach", verifier.pid, status=1))

    def test_a_seccomp_filter(self):
        sandboxed = self.start(sys.executable, "-c", "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); "
                               "import struct; code = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); "
                               "program = ctypes.create_string_buffer(struct.pack('<HxxxxxxQ', 1, ctypes.addressof(code))); "
                               "assert ctypes.CDLL(None).prctl(22, 2, program) == 0; "
                               "print('ready', flush=True); input()")
        self.assertIn("has a seccomp filter", self.watch("attach", sandboxed.pid, status=1))

    def test_another_user(self):
        if IS_ROOT:
            self.skipTest("root may attach to all processes")
        self.assertIn("another user", self.watch("attach", 1, status=1))

    def test_a_library_that_cannot_be_loaded_leaves_the_process_as_it_was(self):
        verifier = self.verifier("2", "signals")
        broken = self.tmp / "broken.so"
        broken.write_bytes(b"no library")
        self.env["ALLO_LIBRARY"] = str(broken)
        self.assertIn("cannot load the runtime: ", self.watch("attach", verifier.pid, status=1))
        del self.env["ALLO_LIBRARY"]
        maps = pathlib.Path(f"/proc/{verifier.pid}/maps").read_text()
        self.assertNotIn("memfd", maps)
        self.watch("attach", verifier.pid, "--dormant")
        self.is_fine(verifier)


class Unstoppable(AttachTest):
    def test_a_thread_that_does_not_stop_delays_the_others_for_a_moment_only(self):
        """One waits in vfork().  The time limit is a share of the time that `allo` has tried."""
        program = self.start(built("unstoppable.c", "-pthread"))

        def tell(line):
            program.stdin.write(f"{line}\n")
            program.stdin.flush()
            return program.stdout.readline().strip()

        start = time.monotonic()
        refusal = self.watch("attach", "--dormant", program.pid, status=1)
        tried_ms = (time.monotonic() - start) * 1000
        self.assertRegex(refusal, r"thread \d+ of process \d+ does not stop\n")
        self.assertIn("its vfork()", refusal)
        self.assertLess(int(tell("gap")), tried_ms / 3)
        self.assertEqual(tell("release"), "done")
        self.watch("attach", "--dormant", program.pid)
        self.watch("detach", program.pid)
        program.stdin.close()
        self.assertEqual(program.wait(HANG), 0)


class Killed(AttachTest):
    def test_a_killed_injector_leaves_the_process_alive(self):
        """strace kills `allo attach` at its 1st, 24th, 47th, ... system call of each kind."""
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        kills = 0
        for call in ("ptrace", "pwrite64", "process_vm_writev"):
            number, was_killed = 1, True
            while was_killed:
                verifier = self.verifier("2", "signals")
                done = self.run_program("strace", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e",
                                        f"inject={call}:signal=SIGKILL:when={number}", ALLO, "attach", "--dormant",
                                        verifier.pid, env=self.env)
                was_killed = done.returncode == -signal.SIGKILL
                kills += was_killed
                self.assertTrue(was_killed or done.returncode == 0, done.stderr)
                # Another one repairs what was left half done.
                again = self.run_allo("attach", "--dormant", verifier.pid).stderr.decode()
                self.assertTrue(not again or "already attached" in again, again)
                self.watch("detach", verifier.pid)
                self.is_fine(verifier)
                number += 67 if call == "ptrace" else 7
        self.assertGreater(kills, 8)
