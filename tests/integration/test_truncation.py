"""A recording that is truncated while it is written must not kill the program (SIGBUS)."""
import signal
import subprocess

from allotest import ALLO, ENVIRONMENT, HANG
from recordings import CaptureTest, built


class Truncation(CaptureTest):
    def test_the_program_survives(self):
        done = self.run_program(ALLO, "run", "-o", "found.allo", "--", built("truncated.c"), self.tmp / "found.allo",
                                "own")
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)

    def test_the_rest_of_the_recording_says_so(self):
        """Its head is left, and one page."""
        done = self.run_program(ALLO, "run", "--raw", "-o", "found.allo", "--", built("truncated.c"),
                                self.tmp / "found.allo", "own", 2 << 16)
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        self.assertEqual(self.allo_json("info", "found.allo")["recording"]["end"], "file lost")
        self.assertEqual(self.run_program(ALLO, "verify", "found.allo").returncode, 3)

    def test_the_missing_part_is_told_first(self):
        self.allo("run", "-q", "--raw", "-o", "whole.allo", "--", built("churn.c"), "3", "20000")
        self.file("cut.allo", (self.tmp / "whole.allo").read_bytes()[:500000])
        for command in ("summary", "top", "tree", "leaks", "threads", "hist", "info"):
            done = subprocess.run([ALLO, command, self.tmp / "cut.allo"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=ENVIRONMENT, text=True, timeout=HANG, check=True)
            self.assertRegex(done.stdout, r"\Anote: .*/cut\.allo is truncated: the numbers are those of its first 500,000 bytes\n", command)

    def test_handlers_of_the_program_work_as_alone(self):
        program = built("truncated.c")
        alone = self.must(program, self.tmp / "alone", "handled")
        self.assertIn("done\n", alone)
        self.assertEqual(self.allo("run", "-q", "-o", "found.allo", "--", program, self.tmp / "recorded", "handled"),
                         alone)
        self.allo("verify", "found.allo")

    def test_other_faults_kill_it_as_alone(self):
        done = self.run_program(ALLO, "run", "-q", "-o", "found.allo", "--", built("truncated.c"), self.tmp / "file",
                                "default")
        self.assertEqual(done.returncode, -signal.SIGBUS, done.stderr)
