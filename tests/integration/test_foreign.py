"""tests/stress/foreign.py: what is missing counts as skipped, and what fails alone as failed."""
import os
import sys

from allotest import BUILD, ENVIRONMENT, ROOT, Test


# Opens a file once more if it is recorded, as a leak would.  Standard input is the same file.
SERVER = """#!/usr/bin/python3
import os, socket, sys
kept = open(os.devnull) if "LD_PRELOAD" in os.environ and os.path.exists(LEAKS) else None
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
while True:
    peer = listener.accept()[0]
    if peer.recv(3) == b"end":
        break
"""

CLIENT = """#!/usr/bin/python3
import socket, sys
if "shutdown" in sys.argv:
    socket.create_connection(("127.0.0.1", int(sys.argv[2]))).sendall(b"end")
print(1)
"""


class Foreign(Test):
    SANITIZED = False

    def foreign(self, word):
        """The exit status and the output, with programs of this folder before others."""
        env = {**ENVIRONMENT, "ALLO_BUILD": str(BUILD), "PATH": f"{self.tmp}:{ENVIRONMENT['PATH']}"}
        done = self.run_program(sys.executable, ROOT / "tests/stress/foreign.py", word, env=env)
        return done.returncode, done.stdout.decode().splitlines()

    def program(self, name, script):
        self.file(name, f"#!/bin/sh\n{script}\n").chmod(0o755)

    def test_a_missing_program_is_skipped(self):
        (self.tmp / "python3").symlink_to(sys.executable)
        env = {**ENVIRONMENT, "ALLO_BUILD": str(BUILD), "PATH": str(self.tmp)}
        done = self.run_program(sys.executable, ROOT / "tests/stress/foreign.py", "sqlite3", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode().splitlines()[0], "ok 1 - sqlite3 # SKIP there is no sqlite3")
        self.assertIn(b"# 0 passed, 0 failed, 1 skipped, ", done.stdout)

    def test_a_missing_feature_of_the_kernel_is_skipped(self):
        self.program("unshare", "echo unshare failed: Operation not permitted >&2; exit 1")
        status, lines = self.foreign("unshare")
        self.assertEqual((status, lines[0]), (0, "ok 1 - unshare # SKIP unshare is refused: unshare failed: Operation not permitted"))

    def test_a_program_that_fails_alone_is_no_success(self):
        for script in ("exit 1", "exit 0"):  # the second one prints nothing
            self.program("sqlite3", script)
            status, lines = self.foreign("sqlite3")
            self.assertEqual((status, lines[0]), (1, "not ok 1 - sqlite3"))
            self.assertIn("fails without allo, too", lines[1])

    def test_a_descriptor_more_is_a_difference(self):
        self.program("redis-benchmark", "true")
        leaks = self.tmp / "leaks"
        for name, text in (("redis-server", SERVER.replace("LEAKS", repr(str(leaks)))), ("redis-cli", CLIENT)):
            self.file(name, text).chmod(0o755)
        status, lines = self.foreign("redis")
        self.assertEqual((status, lines[-2]), (0, "ok 1 - redis-server under redis-benchmark"), lines)
        leaks.touch()
        status, lines = self.foreign("redis")
        self.assertEqual((status, lines[0]), (1, "not ok 1 - redis-server under redis-benchmark"), lines)
        self.assertIn("has 2 of /dev/null", "".join(lines))
