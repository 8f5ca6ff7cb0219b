"""Traces from pipes that never end: bounded memory, copies on the way, and files that are complete after a signal."""
import json
import os
import pathlib
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys

from allotest import ALLO, ENVIRONMENT, GOLDEN, HANG, QUOTED_ALLO, Test, has_signal, wait_until
from spallfile import Trace
from terminal import Terminal
from test_dtrace import MS, entry, integers, stack

TRACE = GOLDEN / "dtrace" / "macos-timestamp-pid-tid-ustack.txt"

QUOTED_PYTHON = shlex.quote(sys.executable)

# Prints the trace when it is interrupted, as dtrace does.
LATE = """
import signal, sys, time
def say(*_):
    time.sleep(0.2)
    print(open(sys.argv[1]).read(), end="")
    sys.exit()
signal.signal(signal.SIGINT, say)
print("ready", file=sys.stderr, flush=True)
while True:
    signal.pause()
"""


class Stream(Test):
    def start(self, *options, **more):
        """allo with a pipe for its input."""
        child = subprocess.Popen([str(word) for word in (ALLO, "convert", "--from", "dtrace", "-o", "out.spall", *options)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.tmp,
                                 env=ENVIRONMENT, **more)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for file in (child.stdin, child.stdout, child.stderr):
            self.addCleanup(file.close)
        return child

    def trace(self):
        return Trace((self.tmp / "out.spall").read_bytes())

    def read_up_to(self, child, size):
        """The standard output while the input is still open."""
        data = b""
        while len(data) < size and select.select([child.stdout], [], [], HANG)[0]:
            data += os.read(child.stdout.fileno(), 1 << 16)
        return data


def waits_for_signals(pid):
    """Whether the process has blocked interrupts, to poll for them."""
    try:
        return has_signal(pid, "SigBlk", signal.SIGINT)
    except OSError:
        return False


def children(pid):
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended
            continue
        if int(rest.split()[1]) == pid:
            yield int(path.parent.name), name


class Signals(Stream):
    def wait_for_allo(self, terminal):
        """Until the shell on the terminal has started it, and it has come so far."""
        wait_until(lambda: any(name == "allo" and waits_for_signals(pid) for pid, name in children(terminal.pid)),
                   "allo waits for signals")

    def stop(self, number, text, *options):
        """Sends the signal when all of the text has been read."""
        child = self.start("--passthrough", *options)
        child.stdin.write(text)
        child.stdin.flush()
        self.assertEqual(self.read_up_to(child, len(text)), text)
        self.assertEqual(list(self.tmp.iterdir()), [])
        child.send_signal(number)
        said = child.stderr.read()
        return child.wait(HANG), said

    def test_they_end_the_input_and_the_file_is_complete(self):
        text = TRACE.read_bytes()
        self.allo("convert", TRACE, "-qo", "wanted.spall")
        wanted = Trace((self.tmp / "wanted.spall").read_bytes())
        (self.tmp / "wanted.spall").unlink()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A number that is incomplete when the signal comes does not count: more digits might follow.
            status, said = self.stop(number, text + f"{integers(648497489071750, 31557, 7001)}\n{stack('a`f')}  12".encode())
            self.assertEqual(status, 0, said)
            self.assertIn(b"a signal ended the input", said)
            self.assertEqual(self.trace().calls, wanted.calls)
            (self.tmp / "out.spall").unlink()

    def test_those_that_are_ignored_stay_ignored(self):
        child = self.start("-q", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        child.stdin.write(TRACE.read_bytes())
        child.stdin.flush()
        child.send_signal(signal.SIGHUP)
        child.stdin.write(entry(1, "a`late", keys=integers(648497489071750, 31557, 7001)).encode())
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0, child.stderr.read())
        self.assertEqual(self.trace().thread((31557, 7001))[-1][0], "a`late")

    def test_an_interrupt_from_the_terminal_is_for_the_whole_pipe(self):
        """Who writes into it is waited for."""
        self.file("late.py", LATE)
        shutil.copy(TRACE, self.tmp / "trace.txt")
        terminal = Terminal(["sh", "-c", f"trap : INT; {QUOTED_PYTHON} late.py trace.txt | "
                                         f"{QUOTED_ALLO} convert --from dtrace -qo out.spall; echo status $?"], cwd=self.tmp)
        terminal.wait_for("ready")
        self.wait_for_allo(terminal)
        terminal.type("\x03")
        self.assertIn("status 0", terminal.finish())
        self.assertEqual(self.trace().spans[31557, 7001], (0, 1200000))

    def test_the_second_interrupt_is_for_us(self):
        shutil.copy(TRACE, self.tmp / "trace.txt")
        os.mkfifo(self.tmp / "pipe")
        # Background processes do not receive interrupts.
        terminal = Terminal(["sh", "-c", f"trap : INT; (cat trace.txt; echo ready >&2; exec sleep 60) > pipe & "
                                         f"{QUOTED_ALLO} convert --from dtrace -qo out.spall < pipe; echo status $?; kill $!"],
                            cwd=self.tmp)
        terminal.wait_for("ready")
        self.wait_for_allo(terminal)
        terminal.type("\x03")
        terminal.read(0.3)
        self.assertNotIn(b"status", terminal.said)
        # Interrupts that come too fast for allo are one to the kernel: repeat the second.
        while b"status" not in terminal.said:
            terminal.type("\x03")
            terminal.read(0.3)
        terminal.wait_for("status 0")
        terminal.finish()
        self.assertEqual(self.trace().spans[31557, 7001], (0, 1200000))

    def test_top_waits_for_the_end_as_well(self):
        self.file("late.py", LATE)
        shutil.copy(TRACE, self.tmp / "trace.txt")
        terminal = Terminal(["sh", "-c", f"{QUOTED_PYTHON} late.py trace.txt | {QUOTED_ALLO} top --no-pager -"], cwd=self.tmp)
        terminal.wait_for("ready")
        self.wait_for_allo(terminal)
        terminal.type("\x03")
        self.assertIn("samples: 9", terminal.finish())


class Copies(Stream):
    def test_the_input_is_copied_at_once_and_unchanged(self):
        child = self.start("--passthrough", "-q")
        text = TRACE.read_bytes().replace(b"\n", b"\r\n")
        for part in (text[:700], text[700:]):
            child.stdin.write(part)
            child.stdin.flush()
            self.assertEqual(self.read_up_to(child, len(part)), part)
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0)
        self.assertTrue(self.trace().calls)

    def test_the_reader_of_the_copy_may_leave(self):
        child = self.start("--passthrough", "-q")
        child.stdout.close()
        child.stdin.write(TRACE.read_bytes())
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0)
        self.assertTrue(self.trace().calls)

    def test_an_incomplete_copy_is_reported(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ALLO, "convert", "--passthrough", TRACE, "-o", "out.spall"], stdout=full,
                                  stderr=subprocess.PIPE, cwd=self.tmp, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"the copy of the input on standard output is incomplete: No space left", done.stderr)
        self.assertTrue(self.trace().calls)

    def test_a_file_that_is_read_twice_is_copied_once(self):
        text = "\n" + "".join(entry(1, "a`f", keys=integers(Copies.time(i), 7, 1)) for i in range(3000))
        path = self.file("in.txt", text)
        self.assertEqual(self.allo("convert", "-q", "--passthrough", "--fields=timestamp,pid,tid", path, "-o", "out.spall"),
                         text)
        self.assertEqual(self.trace().spans[7, 1], (0, 3000 * MS))

    @staticmethod
    def time(i):
        return 10 ** 12 + (i + 1500) % 3000 * MS

    def test_the_copy_and_the_profile_cannot_go_to_the_same_place(self):
        self.assertIn("cannot both go to standard output", self.allo_fails("convert", "--passthrough", TRACE, "--to", "spall",
                                                                   status=2))


class Endless(Stream):
    SANITIZED = False  # what they take is no measure

    def peak(self, megabytes):
        """Resident bytes at most for so much of text."""
        text = "".join(entry(1, "a`main", *(f"a`f{(i * 7 + k) % 50}" for k in range(20))) for i in range(2000)).encode()
        child = self.start("-qf")
        for _ in range(megabytes * 1000000 // len(text)):
            child.stdin.write(text)
        child.stdin.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_memory_does_not_grow_with_the_input(self):
        small, large = (self.peak(megabytes) for megabytes in ((5, 100)))
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        # A child begins as a copy of this process.
        self.assertLess(large, max(small * 1.1, own) + 1000000)

    def test_standard_input_is_read_without_being_named(self):
        self.must(ALLO, "convert", "-qo", "out.spall", input=TRACE.read_bytes())
        self.assertTrue(self.trace().calls)
        self.assertIn("is empty", self.allo_fails("convert", "-o", "other.spall", input=b""))
        self.assertFalse((self.tmp / "other.spall").exists())

    def test_named_pipes_are_read_as_well(self):
        os.mkfifo(self.tmp / "pipe")
        writer = subprocess.Popen(["cp", TRACE, self.tmp / "pipe"])
        self.allo("convert", "pipe", "-qo", "out.spall")
        self.assertEqual(writer.wait(), 0)
        self.assertTrue(self.trace().calls)


class DropIn(Test):
    """dtrace2spall's documented flags."""

    def setUp(self):
        super().setUp()
        self.program = self.tmp / "dtrace2spall"
        self.program.symlink_to(ALLO)

    def run_with(self, *flags, path=TRACE):
        return self.run_program(self.program, *flags, input=pathlib.Path(path).read_bytes())

    def trace(self, *flags, path=TRACE):
        done = self.run_with("-o", "out.spall", *flags, path=path)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        return Trace((self.tmp / "out.spall").read_bytes())

    def test_its_examples(self):
        trace = self.trace("--freq", "997", "--fields=-,pid,tid")
        self.assertEqual((trace.version, set(trace.calls)), (1, {(31557, 7001), (31557, 7002)}))
        self.assertEqual(self.trace("--freq", "997", path=GOLDEN / "dtrace" / "macos-ustack-only.txt").spans,
                         {(0, 0): (0, round(55e9 / 997))})

    def test_flags_in_all_their_forms(self):
        wanted = self.trace("--freq", "250", "--fields", "-,pid,tid").calls
        for flags in (("-f", "250", "--fields=-,pid,tid"), ("-f250",), ("--freq=250", "--out=out.spall")):
            self.assertEqual(self.trace(*flags).calls, wanted)

    def test_output_goes_to_standard_output_by_default(self):
        done = self.run_with()
        self.assertEqual(Trace(done.stdout).calls, self.trace().calls)
        self.assertEqual(self.run_with("-o", "-").stdout, done.stdout)

    def test_an_existing_output_is_overwritten(self):
        self.file("out.spall", "old")
        self.trace()

    def test_json_is_a_chrome_trace(self):
        events = json.loads(self.run_with("--json", "-f", "5000").stdout)["traceEvents"]
        begins = sorted((event["pid"], event["tid"], event["name"], event["ts"]) for event in events if event["ph"] == "B")
        self.assertEqual(begins, sorted((*thread, call.name, call.start / 1000)
                                        for thread, calls in self.trace("-f", "5000").calls.items() for call in calls))
        self.assertEqual(len(begins), sum(event["ph"] == "E" for event in events))

    def test_passthrough_copies(self):
        done = self.run_with("--passthrough", "-o", "out.spall")
        self.assertEqual(done.stdout, TRACE.read_bytes())
        self.assertEqual(self.run_with("--passthrough").returncode, 1)

    def test_every_failure_is_status_1_and_leaves_nothing(self):
        for flags in (["--nonsense"], ["--fields=pid"], ["-f", "x"], ["-o"], ["-o", "no/such/folder.spall"]):
            done = self.run_with("-o", "new.spall", *flags)
            self.assertEqual(done.returncode, 1, flags)
            self.assertRegex(done.stderr.decode(), "^allo: error: ")
            self.assertFalse((self.tmp / "new.spall").exists())

    def test_help_is_help(self):
        self.assertIn("Usage: dtrace2spall [flags]", self.must(self.program, "--help"))
        self.assertIn("Usage: dtrace2spall [flags]", self.must(self.program, "-h"))
