"""Programs in a seccomp sandbox that kills them at unexpected system calls."""
import signal

from allotest import ALLO, ENVIRONMENT
from recordings import CaptureTest, built

EVENTS = 200000  # of the program after it has entered the sandbox


class Sandbox(CaptureTest):
    def check(self, *words, status=0, options=(), env=ENVIRONMENT):
        """Runs the program; returns what `allo run` says and the summary of the recording."""
        program = built("sandboxed.c")
        self.assertEqual(self.must(program, *words), "done\n")
        done = self.run_program(ALLO, "run", "-o", "found.allo", "-f", *options, "--", program, *words, env=env)
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        self.assertEqual(self.run_program(ALLO, "verify", "found.allo").returncode, status)
        return done.stderr.decode(), self.allo_json("summary", self.tmp / "found.allo")

    def test_a_filter_by_prctl_and_by_syscall(self):
        for way in ("prctl", "syscall"):
            _, summary = self.check(way)
            self.assertEqual((summary["events"], summary["dropped_events"]), (EVENTS + 2, 0))

    def test_threads_that_start_inside(self):
        _, summary = self.check("thread")
        self.assertGreaterEqual(summary["events"], 2 * EVENTS)
        self.assertEqual((summary["thread_count"], summary["dropped_events"]), (2, 0))

    def test_children_are_counted(self):
        said, summary = self.check("fork", status=3)
        self.assertIn("note: not recorded: 3 processes forked or executed in a sandbox (seccomp)", said)
        self.assertEqual((summary["events"], summary["losses"]["processes"]), (EVENTS + 2, 3))

    def test_the_strict_mode_ends_the_recording(self):
        said, summary = self.check("strict", status=3)
        self.assertIn("its sandbox (seccomp) leaves no more space, or no clock", said)
        self.assertEqual(summary["events"], 2)

    def test_space_is_used_up(self):
        """--max-file also limits the space that is reserved."""
        said, summary = self.check("prctl", 10 * EVENTS, status=3, options=("--max-file", "4M"))
        self.assertIn("its sandbox (seccomp) leaves no more space, or no clock", said)
        self.assertIn("space for the sandbox used up", summary["end"])
        self.assertGreater(summary["events"], EVENTS)

    def test_a_filter_that_allows_the_calls_of_the_runtime_changes_nothing(self):
        """The recording exceeds the space that would be reserved otherwise: its children are recorded, too."""
        _, summary = self.check("loose")
        self.assertEqual(summary["events"], EVENTS + 2)

    def test_the_list_of_modules_does_without_copies(self):
        _, summary = self.check("uncopied", env={**ENVIRONMENT, "ALLO_MODULES": "list"})
        self.assertEqual((summary["events"], summary["dropped_events"]), (EVENTS + 2, 0))


class Unnoticed(CaptureTest):
    """doc/cpp.md, "What recording changes": filters that libc does not see."""

    def record_in(self, way):
        program = built("sandboxed.c")
        self.assertEqual(self.must(program, way), "done\n")
        return self.run_program(ALLO, "run", "-o", "found.allo", "-f", "--", program, way)

    def test_it_may_kill_the_program_and_the_recording_is_complete_up_to_there(self):
        done = self.record_in("unseen")
        self.assertEqual(done.returncode, -signal.SIGSYS, done.stderr)
        self.allo("verify", "found.allo")
        self.assertEqual(self.allo_json("summary", self.tmp / "found.allo")["events"], 2)

    def test_it_may_end_the_recording_and_the_report_says_so(self):
        done = self.record_in("refusing")
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        self.assertIn("note: the recording ends before the program", done.stderr.decode())
