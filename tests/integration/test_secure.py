"""A program with more rights than its caller: its caller's environment neither writes files nor runs programs."""
import os
import struct
import unittest

from allotest import ALLO, BUILD, ENVIRONMENT, IS_ROOT, ROOT, Test

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class Secure(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        if not IS_ROOT:
            raise unittest.SkipTest("only root can make a setuid program of another user")
        if os.statvfs(self.tmp).f_flag & os.ST_NOSUID:
            raise unittest.SkipTest("the folder for temporary files is mounted nosuid")
        self.tmp.chmod(0o755)
        self.program = self.tmp / "secure"
        self.must("gcc", "-D_GNU_SOURCE", "-I", ROOT / "include", ROOT / "tests" / "programs" / "secure.c",
                  BUILD / "capture" / "liballo.a", "-o", self.program)
        self.home, self.roots = self.tmp / "home", self.tmp / "roots"
        self.home.mkdir()
        os.chown(self.home, NOBODY, NOBODY)
        self.roots.mkdir(0o700)
        for name in ("evil", "home/allo"):
            path = self.file(name, f"#!/bin/sh\nid -u > {self.home}/was_run\n")
            path.chmod(0o755)

    def attempts(self):
        """Environments by which the caller would gain something."""
        target = self.roots / "any.name"
        yield {"ALLO_PROGRAM": str(self.tmp / "evil")}
        yield {"PATH": f"{self.home}:{ENVIRONMENT['PATH']}"}
        yield {"ALLO_OUTPUT": str(target)}
        yield {"ALLO_OUTPUT": "whole.%p.allo"}
        yield {"ALLO_PATH": str(target), "ALLO_FORMAT": "allo"}
        yield {"ALLO_PATH": str(target), "ALLO_FORMAT": "pprof", "ALLO_PROGRAM": str(ALLO)}
        yield {"ALLO_SETTINGS": f"OUTPUT={target};LIST={target}"}
        yield {"ALLO_SETTINGS": f"PATH={target};FORMAT=allo;PROGRAM={self.tmp / 'evil'}"}
        yield {"ALLO_DEBUG": "3", "ALLO_DEBUG_FILE": str(target)}
        yield {"ALLO_OUTPUT": str(target), "ALLO_DORMANT": "1", "ALLO_CONTROL": str(self.roots / "socket")}
        yield {"XDG_RUNTIME_DIR": str(self.roots), "TMPDIR": str(self.roots), "ALLO_DEBUG": "3"}

    def files(self):
        return sorted(path for folder in (self.home, self.roots) for path in folder.iterdir())

    def assert_nothing_is_gained(self):
        before = self.files()
        for attempt in self.attempts():
            for words in ([], ["start"], ["\nssh-ed25519 AAAA U\n"]):
                done = self.run_program(*AS_NOBODY, "sh", "-c", 'cd "$0" && exec "$@"', self.home, self.program, *words,
                                        env={**ENVIRONMENT, **attempt})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.files(), before, attempt)
                if words == ["start"]:
                    refused = "nothing is recorded or converted in a program with more rights than its caller"
                    self.assertIn(f"start: {refused}", done.stdout.decode())
                    self.assertIn("dump: nothing is being recorded\n", done.stdout.decode())
                    self.assertIn("counters: on\nblocks: 1\n", done.stdout.decode())

    def test_a_setuid_program_leaves_and_runs_nothing(self):
        self.program.chmod(0o4755)
        self.assert_nothing_is_gained()

    def test_a_setgid_program_leaves_and_runs_nothing(self):
        self.program.chmod(0o2755)
        self.assert_nothing_is_gained()

    def test_a_program_with_file_capabilities_leaves_and_runs_nothing(self):
        dac_override = 1 << 1
        try:
            os.setxattr(self.program, "security.capability", struct.pack("<5I", 0x02000001, dac_override, 0, 0, 0))
        except OSError as error:
            raise unittest.SkipTest(f"file capabilities cannot be set here: {error}")
        self.assert_nothing_is_gained()

    def test_the_same_program_without_rights_obeys(self):
        """The attempts above would work."""
        env = {**ENVIRONMENT, "ALLO_OUTPUT": "whole.allo"}
        self.must(*AS_NOBODY, "sh", "-c", 'cd "$0" && exec "$@"', self.home, self.program, env=env)
        self.assertTrue((self.home / "whole.allo").exists())
        env = {**ENVIRONMENT, "ALLO_PROGRAM": str(self.tmp / "evil")}
        self.must(*AS_NOBODY, "sh", "-c", 'cd "$0" && exec "$@"', self.home, self.program, "start", env=env)
        self.assertTrue((self.home / "was_run").exists())
