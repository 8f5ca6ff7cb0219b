"""allo run: temporary files, the path of the library, other PID namespaces."""
import os
import shutil
import sys
import unittest

from allotest import ALLO, ENVIRONMENT, IS_ROOT, RUNTIME, Test
from recordings import CaptureTest, built


class Temporary(Test):
    def test_an_unusable_folder_for_temporary_files_is_named(self):
        blocked = self.file("file", "")
        for folder in (str(self.tmp / "missing"), str(blocked), "/proc"):
            done = self.run_program(ALLO, "run", "true", env={**ENVIRONMENT, "TMPDIR": folder})
            self.assertEqual(done.returncode, 125, done.stderr)
            error, hint = done.stderr.decode().splitlines()
            self.assertTrue(error.startswith(f"allo: error: {folder}: cannot make a temporary file"), error)
            self.assertIn("set TMPDIR", hint)
        self.assertEqual([path.name for path in self.tmp.iterdir()], ["file"])


class Library(CaptureTest):
    """LD_PRELOAD separates paths by spaces and colons, and replaces variables after '$'."""

    def folder(self, name):
        (self.tmp / name).mkdir()
        return self.tmp / name

    def test_the_library_may_have_any_path(self):
        temporary = self.folder("temporary")
        for name in ("a b", "a:b", "a$ORIGIN", " "):
            with self.subTest(name):
                library = shutil.copy(RUNTIME, self.folder(name))
                env = {**ENVIRONMENT, "ALLO_LIBRARY": str(library), "TMPDIR": str(temporary)}
                done = self.run_program(ALLO, "run", "-f", "-o", "found.allo", "--", built("leaks.c"), env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn(b"ld.so", done.stderr)
                self.assertGreater(self.allo_json("info", "found.allo")["recording"]["events"], 20)
                self.assertEqual(list(temporary.iterdir()), [])

    def test_the_folder_for_links_may_have_any_path(self):
        env = {**ENVIRONMENT, "ALLO_LIBRARY": str(shutil.copy(RUNTIME, self.folder("a b"))),
               "TMPDIR": str(self.folder("c d"))}
        done = self.run_program(ALLO, "run", "-o", "found.allo", "--", built("leaks.c"), env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.allo_json("info", "found.allo")["recording"]["events"], 20)
        self.assertEqual(list((self.tmp / "c d").iterdir()), [])

    def test_processes_that_run_on_leave_nothing_in_the_temporary_folder(self):
        """The list of `allo run` has no reader any more, but each of their children begins a recording."""
        temporary = self.folder("temporary")
        os.mkfifo(self.tmp / "go")
        code = ("import os, subprocess, sys\n"
                "if os.fork() == 0:\n"
                "    os.dup2(os.open('said', os.O_CREAT | os.O_WRONLY), 2)\n"
                "    os.dup2(2, 1)\n"
                "    open('go').read()\n"
                "    for i in range(3):\n"
                "        if os.fork() == 0:\n"
                "            x = [bytes(5000) for i in range(9)]\n"
                "            os._exit(0)\n"
                "        os.wait()\n"
                "        subprocess.run(['ls', '/'], stdout=subprocess.DEVNULL)\n")
        ready, begun = os.pipe()
        done = self.run_program(ALLO, "run", "-q", "-o", "found.allo", "--", sys.executable, "-c", code,
                                env={**ENVIRONMENT, "TMPDIR": str(temporary)}, pass_fds=(begun,))
        self.assertEqual(done.returncode, 0, done.stderr)
        os.close(begun)
        (self.tmp / "go").write_text("")
        os.read(ready, 1)  # until the process has ended
        os.close(ready)
        self.assertGreaterEqual(len(list((self.tmp / "found.allo.d").iterdir())), 6)
        self.assertEqual([path.name for path in temporary.iterdir() if path.name.startswith("allo-run")], [])

    def test_a_process_that_runs_on_still_finds_the_library(self):
        """Without the library, the dynamic linker would print a warning into the output of its programs."""
        temporary = self.folder("temporary")
        os.mkfifo(self.tmp / "go")
        env = {**ENVIRONMENT, "ALLO_LIBRARY": str(shutil.copy(RUNTIME, self.folder("a b"))), "TMPDIR": str(temporary)}
        code = ("import os, sys\n"
                "if os.fork() == 0:\n"
                "    x = [bytes(5000) for i in range(9)]\n"
                "    os.dup2(os.open('said', os.O_CREAT | os.O_WRONLY), 2)\n"
                "    os.dup2(2, 1)\n"
                "    os.write(int(sys.argv[1]), b'.')\n"
                "    open('go').read()\n"
                "    os.execv('/bin/true', ['/bin/true'])\n"
                "os.read(int(sys.argv[2]), 1)\n")
        ready, begun = os.pipe()
        done = self.run_program(ALLO, "run", "-o", "found.allo", "--", sys.executable, "-c", code, begun, ready, env=env,
                                pass_fds=(begun, ready))
        self.assertEqual(done.returncode, 0, done.stderr)
        os.close(begun)
        self.assertEqual(len(list(temporary.glob("allo-library-*/liballo.so.0"))), 1)
        (self.tmp / "go").write_text("")
        while os.read(ready, 1):  # until the process has ended
            pass
        os.close(ready)
        self.assertEqual((self.tmp / "said").read_text(), "")


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


class ControlFolders(Test):
    """A user whose folder for control sockets was made by another user."""
    USER = 61234  # no one has this number

    def setUp(self):
        super().setUp()
        if not IS_ROOT:
            raise unittest.SkipTest("only root can run programs as another user")
        self.tmp.chmod(0o777)
        for path in (ALLO, RUNTIME, built("entry_points.c")):
            shutil.copy(path, self.tmp)
        self.env = {**ENVIRONMENT, "ALLO_LIBRARY": str(self.tmp / RUNTIME.name)}
        self.env.pop("XDG_RUNTIME_DIR", None)
        self.folder = f"/tmp/allo-{self.USER}"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def said(self, *words, **more):
        done = self.run_program("setpriv", f"--reuid={self.USER}", f"--regid={self.USER}", "--clear-groups", "./allo",
                                *words, env={**self.env, **more})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def test_a_folder_of_another_user_is_named(self):
        record = ("run", "--control", "./entry_points")
        for words in (("ps",), record):
            self.assertNotIn(self.folder, self.said(*words))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder, 0o700)
        for words in (("ps",), record):
            self.assertIn(f"note: {self.folder} belongs to another user: ", self.said(*words))
        self.assertNotIn(self.folder, self.said("run", "./entry_points"))
        os.chown(self.folder, self.USER, self.USER)
        os.chmod(self.folder, 0o755)
        self.assertIn(f"note: {self.folder} is not a private folder (mode 0700): ", self.said("ps"))
        os.mkdir(self.tmp / "run", 0o700)
        os.chown(self.tmp / "run", self.USER, self.USER)
        for words in (("ps",), record):
            self.assertNotIn(self.folder, self.said(*words, XDG_RUNTIME_DIR=str(self.tmp / "run")))
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_usual_runtime_folder_needs_no_variable(self):
        folder = f"/run/user/{self.USER}"
        try:
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise unittest.SkipTest(f"{folder} cannot be made: {error}")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chown(folder, self.USER, self.USER)
        # The program ends when its socket is there.
        self.said("run", "--control", "sh", "-c", f"until test -S {folder}/allo/$$.sock; do :; done")
        self.assertFalse(os.path.exists(self.folder))
