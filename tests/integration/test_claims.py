"""Processes that lie about themselves, or say nothing at all."""
import json
import os
import shutil
import subprocess
import sys
import time
import types
import unittest

from allotest import ALLO, ENVIRONMENT, GOLDEN, IS_ROOT, Test, wait_until
from service import Server

NOBODY = 65534

# Listens at the paths of its arguments, in as many processes.  Each answers all requests with the first argument, or not
# at all if that is empty.
LIAR = """
import os, socket, sys
for path in sys.argv[2:]:
    if os.fork() == 0:
        sys.argv[1:] = [sys.argv[1], path]
        break
else:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            sys.exit()
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
os.chmod(sys.argv[2], 0o600)
listener.listen(64)
held = []
while True:
    peer = listener.accept()[0]
    if sys.argv[1]:
        peer.recv(65536)
        peer.sendall(sys.argv[1].replace("PID", str(os.getpid())).encode())
        peer.close()
    else:
        held.append(peer)
"""


class ClaimTest(Test):
    def setUp(self):
        super().setUp()
        self.name = f"liar{os.getpid()}"  # root finds the processes of all tests that run
        (self.tmp / "run/allo").mkdir(parents=True, mode=0o700)
        (self.tmp / "run/allo").chmod(0o700)
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": str(self.tmp / "run")}

    def lie(self, reply, *paths, user=None):
        """Starts processes at these paths."""
        # Other users may not be able to run the interpreter of the tests.
        python = "/usr/bin/python3" if user else sys.executable
        liar = subprocess.Popen([python, "-c", LIAR, reply, *map(str, paths)], start_new_session=True,
                                **({"user": user, "group": user} if user else {}))

        def end():
            os.killpg(liar.pid, 9)
            liar.wait()
        self.addCleanup(end)
        wait_until(lambda: all(path.exists() and path.stat().st_mode & 0o777 == 0o600 for path in paths))

    def claim(self, file):
        return (f"allo 1 ok\npid PID\nprogram {self.name}\nversion 0.1.0\nstate recording\nmode exact\n"
                f"file {file}\nrate 0\nstart_ns 1\n\n")

    def refused(self, *arguments):
        error = self.allo_fails(*arguments, env=self.environment)
        self.assertIn("not a regular file of its user", error)

    def check_commands(self, socket):
        self.refused("snapshot", socket, "-o", self.tmp / "out.pb.gz")
        self.refused("live", "--once", socket)

    def check_names(self):
        """Commands that read files take %NAME for the recording of a process."""
        for command in ("summary", "top", "convert"):
            self.refused(command, f"%{self.name}", *(("-o", self.tmp / "out.pb.gz") if command == "convert" else ()))


class Files(ClaimTest):
    def test_a_fifo_is_not_opened(self):
        fifo, path = self.tmp / "fifo.allo", self.tmp / "run/allo/1.sock"
        os.mkfifo(fifo)
        self.lie(self.claim(fifo), path)
        self.check_commands(path)
        self.check_names()

    def test_a_link_is_not_followed(self):
        link, path = self.tmp / "link.allo", self.tmp / "run/allo/1.sock"
        link.symlink_to(GOLDEN / "allo/server.allo")
        self.lie(self.claim(link), path)
        self.check_commands(path)
        self.check_names()

    def test_a_recording_of_the_user_is_read(self):
        file, path = self.tmp / "own.allo", self.tmp / "run/allo/1.sock"
        shutil.copy(GOLDEN / "allo/server.allo", file)
        self.lie(self.claim(file), path)
        self.allo("snapshot", path, "-o", self.tmp / "out.pb.gz", env=self.environment)
        self.assertEqual(self.allo("top", f"%{self.name}", env=self.environment), self.allo("top", file))

    @unittest.skipUnless(IS_ROOT, "only root reads files that other users name")
    def test_a_file_of_another_user_is_not_opened(self):
        self.tmp.chmod(0o711)
        folder = self.tmp / "nobody"
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
        private = self.tmp / "private.allo"
        shutil.copy(GOLDEN / "allo/server.allo", private)
        private.chmod(0o600)
        self.lie(self.claim(private), folder / "1.sock", user=NOBODY)
        self.check_commands(folder / "1.sock")
        os.chown(private, NOBODY, NOBODY)
        self.allo("snapshot", folder / "1.sock", "-o", self.tmp / "out.pb.gz", env=self.environment)


class Lines(ClaimTest):
    @unittest.skipUnless(IS_ROOT, "only root can start programs of other users")
    def test_a_line_of_another_user_names_no_file(self):
        """Processes that may not write to the list leave links beside it, and so may anybody."""
        self.tmp.chmod(0o711)
        folder = self.tmp / "shared"
        folder.mkdir()
        folder.chmod(0o777)
        named = self.tmp / "secret failed 1 x"
        shutil.copy(GOLDEN / "allo/server.allo", named)
        before = named.read_bytes()
        script = f'setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups ln -s "$1" "$(echo "$2"/allo-run-*).1.0"; ls "$2"'
        done = self.run_program(ALLO, "run", "-o", "own.allo", "sh", "-c", script, "sh", f"{os.getpid()}:0 {named}", folder,
                                env={**self.environment, "TMPDIR": str(folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"allo-run-\w+\.1\.0\n")
        self.assertNotIn("secret", done.stderr.decode())
        self.assertEqual(named.read_bytes(), before)
        self.assertEqual(list(folder.iterdir()), [])


class Silence(ClaimTest):
    def listed(self):
        """The processes of this test among those of `allo ps`."""
        rows = json.loads(self.allo("ps", "--json", env=self.environment))["processes"]
        return [row for row in rows if row.get("socket", "").startswith(str(self.tmp))]

    def assert_waits_together(self, ask):
        """One after the other, sixty silent sockets take sixty times as long as one.  `ask` has their number."""
        taken = []
        for first, last in ((1, 1), (2, 60)):
            self.lie("", *[self.tmp / f"run/allo/{i}.sock" for i in range(first, last + 1)])
            start = time.monotonic()
            ask(last)
            taken.append(time.monotonic() - start)
        self.assertLess(taken[1], 20 * taken[0], taken)

    def test_silent_processes_are_waited_for_together(self):
        self.assert_waits_together(lambda count: self.assertEqual(len(self.listed()), count))

    def test_metrics_of_all_processes_wait_for_silent_ones_together(self):
        def ask(_):
            server = Server(types.SimpleNamespace(tmp=self.tmp, environment=self.environment), "--all")
            self.addCleanup(server.close)
            self.assertEqual(server.status("/metrics"), 200)
        self.assert_waits_together(ask)

    def test_a_process_with_many_sockets_is_listed_once(self):
        paths = [self.tmp / f"run/allo/{i}.sock" for i in range(1, 9)]
        self.lie("", paths[0])
        for path in paths[1:]:
            os.link(paths[0], path)
        self.assertEqual(len(self.listed()), 1)
