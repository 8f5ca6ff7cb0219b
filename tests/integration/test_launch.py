"""allo run: temporary files, other PID namespaces."""
import os
import sys
import unittest

from allotest import ALLO, ENVIRONMENT, Test
from recordings import built


class Temporary(Test):
    def test_an_unusable_folder_for_temporary_files_is_named(self):
        blocked = self.file("file", "")
        for folder in ("/nonexistent", str(blocked), "/proc"):
            done = self.run_program(ALLO, "run", "true", env={**ENVIRONMENT, "TMPDIR": folder})
            self.assertEqual(done.returncode, 125, done.stderr)
            error, hint = done.stderr.decode().splitlines()
            self.assertTrue(error.startswith(f"allo: error: {folder}: cannot make a temporary file"), error)
            self.assertIn("set TMPDIR", hint)
        self.assertEqual([path.name for path in self.tmp.iterdir()], ["file"])


class Namespaces(Test):
    SANITIZED = False

    def unshared(self, *options):
        """A command that runs another one in new namespaces."""
        command = ["unshare", "--pid", "--fork", *options]
        done = self.run_program(*command, "true")
        if done.returncode != 0:
            raise unittest.SkipTest(f"{' '.join(command)} fails here: {done.stderr.decode().strip()}")
        return command

    def test_recordings_from_a_pid_namespace_are_packed(self):
        for options in ((), ("--mount-proc",), ("--map-root-user",)):
            command = self.unshared(*options)
            for path in self.tmp.glob("*.allo"):
                path.unlink()
            done = self.run_program(ALLO, "run", "-o", "%e.%n.allo", *command, built("entry_points.c"))
            said = done.stderr.decode()
            self.assertEqual(done.returncode, 0, said)
            self.assertNotIn("still running", said)
            for name in ("unshare.1.allo", "entry_points.1.allo"):
                self.assertIn("packed", self.allo("info", self.tmp / name), said)
            self.assertIn("wrote entry_points.1.allo", said)

    def test_counts_from_a_pid_namespace_arrive(self):
        done = self.run_program(ALLO, "run", "-m", "counters", *self.unshared("--mount-proc"), built("entry_points.c"))
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 0, said)
        self.assertNotIn("still running", said)
        self.assertNotIn("counts are lost", said)

    def test_a_process_that_runs_on_in_a_pid_namespace_stays_unpacked(self):
        """Its parent, process 1 there, has gone from the view of allo run, but not from the namespace."""
        os.mkfifo(self.tmp / "end")
        code = ("import os\n"
                "x = bytes(100000)\n"
                "print(os.getpid(), flush=True)\n"
                "open('end').read()\n")
        self.file("lasting.py", code)
        command = " ".join(self.unshared("--mount-proc"))
        script = f"{command} sh -c 'exec {sys.executable} lasting.py' >started 2>&1 & while ! test -s started; do :; done"
        done = self.run_program(ALLO, "run", "-o", "%e.%p.%n.allo", "sh", "-c", script)
        said = done.stderr.decode()
        try:
            self.assertRegex(said, r"process \d+ is still running and writes to python")
        finally:
            (self.tmp / "end").open("w").close()
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual((self.tmp / "started").read_text(), "1\n")
