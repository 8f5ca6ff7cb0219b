"""Events, stacks and processes that cannot be recorded are counted, with their reason, by every command."""
import os
import re
import resource

from allotest import ALLO, IS_ROOT
from rawrecording import RawRecording
from recordings import CaptureTest, built


class Losses(CaptureTest):
    def run_losses(self, program, *words, options=(), **more):
        """What `allo run` says about the program; its output is in self.output."""
        done = self.run_program(ALLO, "run", "-o", "found.allo", "-f", *options, "--", built(program), *words, **more)
        self.output = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def assert_told(self, text, dropped, kinds):
        """Text that `info` and `summary` show, the number of dropped events, and the kinds of notes of `verify`."""
        found = self.tmp / "found.allo"
        for command in ("info", "summary"):
            self.assertIn(text, " ".join(self.allo(command, found).split()))
        self.assertEqual(self.allo_json("summary", found)["dropped_events"], dropped)
        self.assertEqual(self.allo_json("info", found)["recording"]["dropped_events"], dropped)
        done = self.run_program(ALLO, "verify", "--json", found)
        self.assertEqual(done.returncode, 3, done.stderr)
        for kind in kinds:
            self.assertIn(f'"{kind}"', done.stdout.decode())

    def test_events_of_a_thread_without_memory(self):
        for options in ((), ("--raw",)):
            said = self.run_losses("losses.c", "thread", options=options)
            count = int(self.output.split()[0])
            self.assertIn(f"allo: {count:,} events dropped", said)
            self.assertIn(f"note: not recorded: {count:,} events of threads whose state got no memory", said)
            self.assert_told(f"{count:,} events of threads whose state got no memory", count, ["dropped-events"])
            self.assertEqual(self.allo_json("summary", self.tmp / "found.allo")["losses"]["memory_events"], count)

    def test_stacks_without_memory(self):
        said = self.run_losses("losses.c", "stacks")
        lost = int(re.search(r"note: not recorded: ([\d,]+) stacks that got no memory", said).group(1).replace(",", ""))
        self.assertGreater(lost, 1000)
        self.assert_told(f"{lost:,} stacks that got no memory", 0, ["lost-stacks"])
        self.assertEqual(self.allo_json("info", self.tmp / "found.allo")["recording"]["losses"]["stacks"], lost)

    def test_a_thread_recovers_after_a_jump_out_of_a_hook(self):
        """Nothing after the jump is lost, and the thread has one stream."""
        self.run_losses("losses.c", "jump", options=("--raw",))
        count = int(self.output.split()[0])
        recording = RawRecording(self.tmp / "found.allo")
        self.assertEqual(recording.dropped, 0)
        blocks = [event for event in recording.events if event.kind == "alloc" and event.size == 1013]
        self.assertEqual(len(blocks), count)
        self.assertEqual(len({event.stream for event in blocks}), 1)
        self.allo("verify", self.tmp / "found.allo")

    def test_a_limit_of_the_file_size_ends_a_recording(self):
        said = self.run_losses("losses.c", "file")
        self.assertIn("it reached the limit of the process for file sizes (RLIMIT_FSIZE)", said)
        self.assertIn("allo: 0 events dropped before the recording ended, ", said)
        self.assert_told("file size limit", 0, ["early-end"])

    def test_processes_whose_recording_cannot_be_created(self):
        """By a limit: neither the program nor its child is killed (SIGXFSZ), and both are listed."""
        done = self.run_program(ALLO, "run", "-o", "found.allo", "--", "sh", "-c", "/bin/echo one; /bin/echo two",
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (0, b"one\ntwo\n"), said)
        self.assertEqual(len(re.findall(r"note: process \d+ \(echo\) was not recorded: its limit for file sizes", said)),
                         2, said)
        self.assertRegex(said, r"note: process \d+ \(sh\) was not recorded: its limit for file sizes is below 64 KiB")
        self.assertNotIn("made no allocation", said)

    def test_a_folder_without_access_is_named(self):
        folder = self.tmp / "closed"
        folder.mkdir(mode=0o555)
        self.tmp.chmod(0o755)
        command = [ALLO, "run", "-o", folder / "found.allo", "--"]
        if IS_ROOT:
            # Only the program lacks the access.
            done = self.run_program(*command, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/echo")
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stderr.decode(), r"note: process \d+ \(echo\) was not recorded: Permission denied")
        else:
            done = self.run_program(*command, "/bin/echo")
            self.assertEqual(done.returncode, 125)
            self.assertIn(f"cannot write to the directory {folder}: Permission denied", done.stderr.decode())


class Restrictions(CaptureTest):
    """Programs that give up their access to files, in the middle of a recording."""

    EVENTS = 3 * 400000

    def check(self, *words, path="found.allo", options=()):
        done = self.run_program(ALLO, "run", "-o", "found.allo", "-f", *options, "--", built("restricted.c"), *words)
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        found = self.tmp / path
        self.allo("verify", found)
        self.assertGreaterEqual(self.allo_json("summary", found)["events"], self.EVENTS)
        return found

    def test_another_root(self):
        self.need_root()
        (self.tmp / "root").mkdir()
        self.check("chroot", self.tmp / "root")

    def test_another_user(self):
        self.need_root()
        self.check("setuid")
        # A raw recording has no hole at its end.
        self.assertLess(self.check("setuid", options=("--raw",)).stat().st_size, 1 << 30)

    def test_a_renamed_recording_continues(self):
        self.check("renamed", self.tmp / "found.allo", self.tmp / "other.allo", path="other.allo")

    def test_a_deleted_recording_ends(self):
        done = self.run_program(ALLO, "run", "-o", "found.allo", "--", built("restricted.c"), "deleted",
                                self.tmp / "found.allo")
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)

    def need_root(self):
        if not IS_ROOT:
            self.skipTest("chroot() and setuid() need root")

    def test_a_hole_is_skipped(self):
        """A killed process leaves one; it may be of any size."""
        self.allo("run", "--raw", "-q", "-o", "found.allo", "--", built("descriptors.c"), "list")
        found = self.tmp / "found.allo"
        before = self.allo_json("summary", found)["events"]
        os.truncate(found, 8 << 40)
        self.allo("verify", found)
        self.assertEqual(self.allo_json("summary", found)["events"], before)
