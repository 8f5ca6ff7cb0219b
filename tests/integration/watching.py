"""Programs to watch: tests/programs/obeys.c under `allo run`, with and without a control socket."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from allotest import ALLO, ENVIRONMENT, HANG, wait_until
from recordings import CaptureTest, built


class Obedient:
    """obeys.c, recorded or not: it executes commands."""

    def __init__(self, test, *options, command=(), wrapper=(), words=(), env=None, **more):
        program = built("obeys.c")
        run = [ALLO, "run", "-q", "--raw", "-o", test.tmp / "%e.%p.%n.allo", *options, *wrapper, program, *words]
        self.child = subprocess.Popen([str(word) for word in (command or run)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
                                      cwd=test.tmp, env={**test.env, **(env or {})}, **more)
        test.addCleanup(self.end)

    def tell(self, *lines):
        """Its output for these commands, without "done"."""
        said = []
        for line in lines:
            self.child.stdin.write(f"{line}\n")
            self.child.stdin.flush()
            while (answer := self.child.stdout.readline()) not in ("done\n", ""):
                said.append(answer.rstrip("\n"))
        return said

    def end(self):
        """Its exit status."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        try:
            status = self.child.wait(HANG)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = self.child.wait()
        for stream in (self.child.stdout, self.child.stderr):
            stream.close()
        return status


class WatchTest(CaptureTest):
    """A test with its own folder of sockets."""

    def setUp(self):
        super().setUp()
        self.runtime = self.tmp / "run"
        self.runtime.mkdir(mode=0o700)
        self.env = self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": str(self.runtime)}

    def sockets(self):
        return sorted((self.runtime / "allo").glob("*.sock"))

    def pid_of(self, program):
        """The pid of obeys.c, which `allo run` executes."""
        def find():
            for path in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if (f"\nPPid:\t{program.child.pid}\n" in (path / "status").read_text()
                            and os.readlink(path / "exe") == str(built("obeys.c").resolve())):
                        return int(path.name)
        return wait_until(find, "the program runs")

    def parent_of(self, pid):
        """The parent of a process; None if it has ended."""
        with contextlib.suppress(OSError):
            return int(re.search(r"\nPPid:\t(\d+)\n", pathlib.Path(f"/proc/{pid}/status").read_text())[1])

    def recorded(self, *options):
        """Starts obeys.c without a control socket; returns it and its pid."""
        program = Obedient(self, *options)
        return program, self.pid_of(program)

    def obedient(self, *options, **more):
        """Starts obeys.c with a control socket; returns it and its pid once it answers."""
        known = set(self.sockets())
        program = Obedient(self, "--control", *options, **more)
        new = wait_until(lambda: set(self.sockets()) - known, "there is a socket")
        return program, int(new.pop().stem)

    def window(self, pid, change):
        """Makes delta.pb.gz: the difference between the times before and after change()."""
        file = self.processes()[pid]["file"]

        def marks():
            return len(re.findall(r"snapshot \d", self.watch("events", file)))

        def is_stopped(child):
            return child.poll() is not None or "State:\tT" in pathlib.Path(f"/proc/{child.pid}/status").read_text()

        def open_for(seconds):
            """A stopped command whose window has begun; None if so many seconds have passed on a busy machine meanwhile."""
            known, begun = marks(), time.monotonic()
            child = subprocess.Popen([ALLO, "snapshot", str(pid), "--delta", f"{seconds}s", "-qf", "-o", "delta.pb.gz"],
                                     cwd=self.tmp, env=self.env)
            while True:
                time.sleep(0.05)
                child.send_signal(signal.SIGSTOP)
                wait_until(lambda: is_stopped(child), "the command has stopped")
                is_open = child.poll() is None and time.monotonic() - begun < seconds
                if child.poll() is not None or marks() > known:
                    break
                begun = time.monotonic()  # it has not begun before
                child.send_signal(signal.SIGCONT)
            if not is_open:
                child.kill()
                child.wait()
            return child if is_open else None

        # The command marks the beginning.  It stops until the change is over, however long the change takes.
        child = next(filter(None, map(open_for, (1, 4, 16, 64, 256, 1024))))
        change()
        child.send_signal(signal.SIGCONT)
        self.assertEqual(child.wait(HANG), 0)

    def run_allo(self, *arguments, **options):
        return self.run_program(ALLO, *arguments, env=self.env, **options)

    def watch(self, *arguments, status=0):
        """The output of a command, which must have this exit status."""
        done = self.run_allo(*arguments)
        self.assertEqual(done.returncode, status, (arguments, done.stderr.decode()))
        return (done.stdout if status == 0 else done.stderr).decode()

    def watch_json(self, *arguments):
        return json.loads(self.watch(*arguments, "--json"))

    def processes(self):
        """{pid: row of `allo ps`}, for the folder of this test."""
        return {process["pid"]: process for process in self.watch_json("ps")["processes"]
                if process.get("socket", process.get("file", "")).startswith(str(self.tmp))}

    def ask(self, path, request):
        """The reply to any bytes; None if there is no reply."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(HANG)
            connection.connect(str(path))
            try:
                connection.sendall(request)
                answer = b""
                while data := connection.recv(1 << 16):
                    answer += data
                return answer.decode(errors="replace")
            except ConnectionError:
                return None

    def sums(self, path):
        """{metric: sum} of any profile."""
        return {row["metric"]["name"]: row["sum"] for row in self.watch_json("info", path)["metrics"]}


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors_of(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def kill(pid):
    os.kill(pid, signal.SIGKILL)
