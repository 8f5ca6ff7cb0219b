"""A recorded program has only its own threads, unless --control asks for one, and ends when they do."""
import json
import os
import pty
import shutil
import signal
import subprocess
import time

from allotest import ALLO, BUILD, HANG, IS_ROOT, ROOT, wait_until
from recordings import RUNTIME, built
from service import Server
from watching import Obedient, WatchTest, kill, threads_of

WAYS = ("exit", "other", "strict", "killed")
NAP = {"x86_64": {35, 230}, "aarch64": {101, 115}}[os.uname().machine]  # nanosleep, clock_nanosleep


def last_line(program):
    """The last line of a program that waits for a line of input."""
    program.child.stdin.write("\n")
    program.child.stdin.close()
    return program.child.stdout.read().splitlines()[-1]


class Threads(WatchTest):
    def rights(self, way, *options, command=None):
        """rights.c, once it is ready."""
        run = command or [ALLO, "run", "-q", "-o", self.tmp / "%e.%p.%n.allo", *options, built("rights.c"), way]
        program = Obedient(self, command=run)
        self.assertEqual(program.child.stdout.readline(), "ready\n")
        return program

    def test_a_recorded_program_has_only_its_own_threads(self):
        for options in ([], ["-m", "sampled"], ["-m", "counters"], ["--delay", "1h"], ["--no-follow"]):
            if "counters" in options:
                program = Obedient(self, command=[ALLO, "run", "-q", *options, built("obeys.c")])
            else:
                program = Obedient(self, *options)
            self.assertEqual(program.tell("get 3 300", "threads"), ["1 threads"], options)
            self.assertEqual(program.tell("child", "get 3 300", "threads"), ["1 threads"], options)
            self.assertEqual(program.end(), 0)
        self.assertEqual(self.sockets(), [])

    def test_a_linked_program_has_only_its_own_threads(self):
        inside = built("inside.c", f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}", name="inside")
        for env, threads in (({}, 1), ({"ALLO_CONTROL": "0"}, 1), ({"ALLO_CONTROL": "1"}, 2)):
            child = subprocess.Popen([inside, "waits", "own.allo"], cwd=self.tmp, env={**self.env, **env},
                                     stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            wait_until(lambda: (self.processes().get(child.pid) or {}).get("state") == "recording", "it records")
            self.assertEqual(threads_of(child.pid), threads)
            child.stdin.write(b"\n\n")
            child.stdin.close()
            self.assertEqual(child.wait(HANG), 0)
            (self.tmp / "own.allo").unlink()

    def test_a_program_that_forks_counts_one_thread(self):
        """Python 3.12 warns if /proc/self/task has more."""
        program = self.rights("fork")
        program.child.stdin.write("\n")
        program.child.stdin.close()
        self.assertEqual(sorted(program.child.stdout.read().splitlines()),
                         ["1 threads, 1 kinds of rights", "child: 1 threads"])

    def test_a_user_namespace_can_be_entered_through_syscall(self):
        expected = self.rights("unshare", command=[built("rights.c"), "unshare"])
        expected.child.stdin.close()
        expected = expected.child.stdout.read().splitlines()
        for options in ([], ["--control"]):
            program = self.rights("unshare", *options)
            if options:
                wait_until(self.sockets, "there is a socket")
            program.child.stdin.close()
            said = program.child.stdout.read().splitlines()
            self.assertEqual(said[0], expected[0])
            # The new thread has the rights of the new namespace.
            self.assertRegex(said[1], r"^[12] threads, 1 kinds of rights$")

    def test_no_thread_keeps_rights_that_the_program_gave_up(self):
        if not IS_ROOT:
            self.skipTest("only root can become another user")
        self.tmp.chmod(0o777)
        for way in ("drop", "drop-raw"):
            for options in ([], ["--control"]):
                program = self.rights(way, *options)
                if options:
                    wait_until(self.sockets, "there is a socket")
                self.assertRegex(last_line(program), r"^[12] threads, 1 kinds of rights$", (way, options))
                self.assertEqual(program.end(), 0)
                self.assertEqual(self.sockets(), [])


class Ends(WatchTest):
    def test_a_program_ends_with_its_last_thread(self):
        """With the same status as alone, also if no thread calls exit()."""
        for way in WAYS:
            alone = subprocess.run([built("last_thread.c"), way], cwd=self.tmp).returncode
            for options in ([], ["--control"]):
                done = self.run_allo("run", "-q", "-o", "%e.%p.%n.allo", *options, built("last_thread.c"), way)
                self.assertEqual(done.returncode, alone, (way, options, done.stderr))
        self.assertEqual(self.sockets(), [])

    def test_a_program_that_lives_long_enough_for_a_socket_ends_too(self):
        program = Obedient(self, "--control")
        wait_until(self.sockets, "there is a socket")
        program.tell("get 1 1")
        program.child.stdin.write("end-thread\n")
        self.assertEqual(program.child.wait(HANG), 3)
        self.assertEqual(self.sockets(), [])

    def stuck(self, **options):
        child = subprocess.Popen([ALLO, "run", "-q", built("last_thread.c"), "stuck"], cwd=self.tmp, env=self.env,
                                 stdout=subprocess.PIPE, **options)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), b"stuck\n")
        return child

    def test_repeated_signals_end_a_stuck_program(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
            child = self.stuck()

            def has_ended():
                child.send_signal(number)
                return child.poll() is not None
            wait_until(has_ended, "it has ended")
            self.assertIn(child.returncode, (-signal.SIGKILL, -number))  # the last signal may end allo

    def test_control_c_ends_a_stuck_program(self):
        main, side = pty.openpty()
        self.addCleanup(os.close, main)

        def own_terminal():
            os.setsid()
            os.close(os.open(os.ttyname(side), os.O_RDWR))  # it becomes the controlling terminal
        child = self.stuck(stdin=side, preexec_fn=own_terminal)
        os.close(side)

        def has_ended():
            os.write(main, b"\x03")
            return child.poll() is not None
        wait_until(has_ended, "it has ended")
        self.assertIn(child.returncode, (-signal.SIGKILL, -signal.SIGINT))

    def test_a_program_that_handles_signals_is_not_killed(self):
        handles = ("import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: print('got', flush=True))\n"
                   "print('ready', flush=True)\nsys.stdin.read()")
        child = subprocess.Popen([ALLO, "run", "-q", "-o", self.tmp / "%p.allo", "python3", "-c", handles],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        for _ in range(4):
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.readline(), "got\n")
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0)


class Reading(WatchTest):
    """Commands that only read find the recording of a process from outside."""

    def test_ps_shows_processes_without_a_socket(self):
        program, pid = self.recorded("-m", "sampled", "--rate", "2")
        program.tell("get 23 1009")
        row = self.processes()[pid]
        self.assertEqual({key: row.get(key) for key in ("program", "state", "mode", "rate", "file", "socket")},
                         {"program": "obeys", "state": "recording", "mode": "sampled", "rate": 2,
                          "file": str(self.tmp / f"obeys.{pid}.1.allo"), "socket": None})
        self.assertGreater(row["duration_ns"], 0)
        self.assertGreater(row["file_bytes"], 0)

    def test_a_recording_that_has_ended_is_shown_as_such(self):
        program, pid = self.recorded("--max-file", "256K")
        wait_until(lambda: program.tell("brief 100000 10") == [] and self.processes()[pid]["state"] == "ended",
                   "it has ended")

    def test_a_process_is_found_by_its_name(self):
        shutil.copy(built("obeys.c"), self.tmp / f"only-{os.getpid()}")
        program = Obedient(self, command=[ALLO, "run", "-q", "-o", "x.allo", self.tmp / f"only-{os.getpid()}"])
        program.tell("get 3 100")
        self.assertEqual(self.watch_json("stats", f"%only-{os.getpid()}")["live_bytes"], 300)

    def test_heap_and_memory_are_read(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "give 3")
        self.assertEqual(self.watch_json("stats", pid)["live_bytes"], 20 * 1009)
        self.assertEqual(json.loads(self.watch("live", pid, "--once", "--json"))["live_blocks"], 20)
        self.watch("snapshot", pid, "-q", "-o", "heap.pb.gz")
        self.assertEqual(self.sums("heap.pb.gz")["live_bytes"], 20 * 1009)
        server = Server(self, pid)
        self.addCleanup(server.close)
        status, _, body = server.ask("/debug/pprof/heap")
        self.assertEqual(status, 200, body)
        (self.tmp / "served.pb.gz").write_bytes(body)
        self.assertEqual(self.sums("served.pb.gz")["live_bytes"], 20 * 1009)
        profiler = json.loads(server.ask("/memory")[2])["profiler"]
        self.assertEqual(profiler["is_recording"], 1)
        self.assertEqual(threads_of(pid), 1)

    def test_live_ends_with_the_process(self):
        program, pid = self.recorded()
        program.tell("get 2 50")
        child = subprocess.Popen([ALLO, "live", "--json", "--interval", "100ms", str(pid)], cwd=self.tmp, env=self.env,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(json.loads(child.stdout.readline())["live_bytes"], 100)
        self.assertEqual(program.end(), 0)
        self.assertEqual(child.wait(HANG), 0)

    def test_a_window_without_a_mark(self):
        program, pid = self.recorded()
        program.tell("get 100 1009")
        child = subprocess.Popen([ALLO, "snapshot", str(pid), "--delta", "1s", "-q", "-o", "delta.pb.gz"], cwd=self.tmp,
                                 env=self.env)

        def sleeps():
            number = open(f"/proc/{child.pid}/syscall").read().split()[0]
            return number.isdigit() and int(number) in NAP
        wait_until(sleeps, "the window has begun")
        child.send_signal(signal.SIGSTOP)
        program.tell("give 40", "brief 7 70")
        child.send_signal(signal.SIGCONT)
        self.assertEqual(child.wait(HANG), 0)
        sums = self.sums("delta.pb.gz")
        self.assertEqual(sums["alloc_bytes"], 490)
        # A busy thread stamps one in 32 events, so that many may belong to the time before.
        self.assertIn(-sums["live_bytes"] // 1009, range(40 - 32, 40 + 1))

    def test_a_process_without_a_recording_is_named(self):
        program = Obedient(self, command=[ALLO, "run", "-q", "-m", "counters", built("obeys.c")])
        pid = self.pid_of(program)
        program.tell("get 1 1")
        self.assertIn("has the runtime, but neither a recording nor a control socket",
                      self.watch("stats", pid, status=2))

    def test_stop_needs_no_thread(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        path = self.tmp / f"obeys.{pid}.1.allo"
        self.assertEqual(self.watch("stop", pid), f"stopped obeys ({pid}): {path}\n")
        self.assertEqual(self.processes()[pid]["state"], "ended")
        program.tell("brief 100 10", "get 11 1100")
        self.assertEqual(self.watch_json("info", path)["recording"]["end"], "stopped")
        # The recording may end between the allocation of a brief block and its free.
        self.assertIn(self.sums(path)["end_bytes"], (23 * 1009, 23 * 1009 + 10))
        self.assertLess(self.sums(path)["alloc_blocks"], 23 + 100)
        self.assertIn("nothing is being recorded", self.watch("stop", pid, status=1))
        self.assertEqual(program.end(), 0)
        self.assertEqual(self.watch_json("info", path)["recording"]["end"], "stopped")
        self.watch("verify", path)

    def test_threads_that_allocate_all_the_time_stop(self):
        child = subprocess.Popen([ALLO, "run", "-q", "--raw", "-o", "x.allo", built("churn.c"), "3", "20000", "forever"],
                                 cwd=self.tmp, env=self.env, stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        pid = wait_until(self.processes, "it is there").popitem()[0]
        self.addCleanup(kill, pid)
        self.watch("stop", pid, "-q")
        path, sizes = self.tmp / "x.allo", [0]

        def is_quiet():
            time.sleep(0.3)
            sizes.append(path.stat().st_size)
            return sizes[-1] == sizes[-2]
        wait_until(is_quiet, "the recording does not grow any more")
        self.watch("verify", path)

    def test_a_start_needs_a_control_socket(self):
        program, pid = self.recorded()
        program.tell("get 1 1")
        self.assertIn(f"obeys ({pid}) has no control socket", self.watch("start", pid, status=1))

    def marks(self, path):
        """Their names among the events."""
        return [event["name"] for event in map(json.loads, self.watch("events", "--json", path).splitlines())
                if event["event"] == "mark"]

    def check_marks(self, path):
        self.assertEqual(self.marks(path), ["one\nline", "two", "two"])
        self.assertEqual([mark["name"] for mark in self.watch_json("info", path)["recording"]["marks"]],
                         ["one\nline", "two", "two"])
        self.assertEqual(self.watch_json("top", "--range", "one\nline..two", "-M", "total", path)["sum"], 2500)
        self.assertEqual(len(self.watch_json("info", path)["recording"]["threads"]), 1)
        self.watch("verify", path)

    def test_marks_need_no_thread(self):
        for options in (["--raw"], []):
            program = Obedient(self, command=[ALLO, "run", "-q", "-f", *options, "-o", self.tmp / "marked.allo",
                                              built("obeys.c")])
            pid = self.pid_of(program)
            program.tell("get 3 300")
            self.assertEqual(self.watch("mark", pid, "one\nline"), f"marked obeys ({pid}) in {self.tmp / 'marked.allo'}\n")
            program.tell("get 5 500")
            self.watch("mark", pid, "two")
            program.tell("get 7 700")
            self.watch("mark", pid, "two")
            self.assertEqual(threads_of(pid), 1)
            self.check_marks(self.tmp / "marked.allo")
            self.assertEqual(program.end(), 0)
            self.check_marks(self.tmp / "marked.allo")

    def test_marks_of_commands_at_the_same_time_are_all_there(self):
        program, pid = self.recorded()
        program.tell("get 1 1")
        children = [subprocess.Popen([ALLO, "mark", "-q", str(pid), str(i)], env=self.env) for i in range(20)]
        self.assertEqual([child.wait(HANG) for child in children], [0] * 20)
        path = self.tmp / f"obeys.{pid}.1.allo"
        self.assertEqual(sorted(self.marks(path), key=int), [str(i) for i in range(20)])

    def test_marks_that_cannot_be_added(self):
        program, pid = self.recorded()
        program.tell("get 1 1")
        for name in ("", "x" * 1025):
            self.assertIn("a mark needs a name of at most 1024 bytes", self.watch("mark", pid, name, status=2))
        for _ in range(11):
            self.watch("mark", pid, "x" * 1024)
        self.assertIn("has no room for more marks", self.watch("mark", pid, "x" * 1024, status=1))
        self.watch("mark", pid, "short")
        self.assertEqual(self.marks(self.tmp / f"obeys.{pid}.1.allo"), 11 * ["x" * 1024] + ["short"])
        self.watch("stop", pid)
        self.assertIn("nothing is being recorded", self.watch("mark", pid, "late", status=1))

    def test_files_that_others_may_have_written_are_not_believed(self):
        """A process maps something that looks like its recording: a link, a FIFO's name, another pid."""
        program, pid = self.recorded()
        program.tell("get 1 1")
        head = (self.tmp / f"obeys.{pid}.1.allo").read_bytes()[:1 << 16]
        for name, change in (("pid", lambda data: data), ("magic", lambda data: b"X" + data[1:])):
            path = self.file(f"{name}.allo", change(head))
            maps = ("import mmap, sys\nfile = open(sys.argv[1], 'r+b')\nheld = mmap.mmap(file.fileno(), 65536)\n"
                    "print('ready', flush=True)\nsys.stdin.read()")
            child = subprocess.Popen(["python3", "-c", maps, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(child.stdout.close)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            self.assertNotIn(child.pid, self.processes())
            child.stdin.close()
            child.wait()
