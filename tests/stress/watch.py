"""Runs programs with and without allo, under a watchdog, and checks both runs."""
import collections
import difflib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from allotest import ALLO, ENVIRONMENT, HANG, IS_ROOT  # noqa: E402
from default_signals import reset_signals  # noqa: E402
from rawrecording import RawRecording  # noqa: E402

# Above this size the plain reader takes too long.
LARGE = 3 << 20

# Exit status of `allo verify` when it finds gaps.
PROBLEMS = 3

Outcome = collections.namedtuple("Outcome", "status said errors")


class Wrong(Exception):
    """A check that failed."""


class Missing(Exception):
    """A program or a feature of the kernel that the test needs, and that is not there."""


def end_all(mark):
    """Ends every process whose environment contains a text, including those that left our session."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            pass  # gone, or not ours


def watched(command, folder, env=None, seconds=HANG):
    """Runs a command; kills it and its descendants after the time limit."""
    mark = f"ALLO_TEST_RUN={folder}"
    child = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                             env={**ENVIRONMENT, **(env or {}), "ALLO_TEST_RUN": str(folder)})
    try:
        said, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end_all(mark)
        said, errors = child.communicate()
        raise Wrong(f"does not end within {seconds} s: {command}\n{text(said)}\n{text(errors)}") from None
    return Outcome(child.returncode, said, errors)


def text(data):
    return data.decode(errors="replace")[-2000:]


def must_equal(plain, recorded):
    if plain.status != recorded.status:
        raise Wrong(f"exit status {recorded.status}, without allo {plain.status}\n{text(recorded.errors)}")
    if plain.said != recorded.said:
        alone, lines = (outcome.said.decode(errors="replace").splitlines() for outcome in (plain, recorded))
        changes = "\n".join(difflib.unified_diff(alone, lines, "without allo", "with allo", "", "", 0, ""))
        raise Wrong(f"the output differs:\n{changes[:2000]}\n{text(recorded.errors)}")


def verify(path, may_lack=False):
    """The findings of `allo verify`; a recording may have gaps if the disk was full."""
    done = subprocess.run([ALLO, "verify", path], capture_output=True, timeout=HANG)
    if done.returncode not in ((0, PROBLEMS) if may_lack else (0,)):
        raise Wrong(f"allo verify {path.name}: exit status {done.returncode}\n{text(done.stdout)}{text(done.stderr)}")
    return text(done.stdout) + text(done.stderr)


def ends(event, address):
    return address == (event.pointer if event.kind == "free" else event.old)


def can_be_of_calls_under_way(recording, addresses):
    """Whether double frees of these addresses can come from calls that were in progress when the recording began.

    Such a call is not recorded.  It may return a block that was freed since.  Its thread records nothing before it
    returns, and each thread can be in one call only.
    """
    first_of = {}
    for event in recording.events:
        first_of.setdefault(event.stream, event.ticks)
    freed_before = []  # times of frees of blocks that are freed again without an allocation in between
    for address in addresses:
        freed, is_live = None, True
        for event in recording.events:
            if ends(event, address):
                if not is_live:
                    freed_before.append(freed)
                freed, is_live = event.ticks, False
            if event.kind in ("alloc", "resize") and event.pointer == address:
                is_live = True
    latest = sorted(first_of.values(), reverse=True)[:len(freed_before)]
    return len(latest) == len(freed_before) and all(
        first > freed for first, freed in zip(latest, sorted(freed_before, reverse=True)))


def must_balance(path, inherits, has_begun_late=False):
    """Allocations and frees of an address alternate; a child may free blocks of its parent.  Returns the recording,
    unless it is too large to be read here."""
    if path.stat().st_size > LARGE:
        return None
    recording = RawRecording(path)
    wrong = {address: count for address, count in recording.unbalanced().items()
             if not (inherits and count == -1)}
    is_late = has_begun_late and all(count < 0 for count in wrong.values())
    if wrong and not (is_late and can_be_of_calls_under_way(recording, wrong)):
        address, count = next(iter(wrong.items()))
        raise Wrong(f"{path.name}: {len(wrong)} addresses out of balance, {address:#x} by {count}")
    if recording.dropped:
        raise Wrong(f"{path.name}: {recording.dropped} events dropped")
    return recording


class Folder:
    """A temporary folder."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="allo-stress-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Tap:
    """Prints results for tests/run.py."""

    def __init__(self):
        self.count = self.failures = self.skips = 0
        self.started = time.monotonic()

    def say(self, name, wrong=None):
        self.count += 1
        self.failures += wrong is not None
        lines = "".join(f"# {line}\n" for line in (wrong or "").splitlines())
        print(f"{'not ok' if wrong is not None else 'ok'} {self.count} - {name}\n{lines}", end="", flush=True)

    def skip(self, name, reason):
        self.count += 1
        self.skips += 1
        print(f"ok {self.count} - {name} # SKIP {' '.join(reason.split())}", flush=True)

    def finish(self):
        print(f"# {self.count - self.failures - self.skips} passed, {self.failures} failed, {self.skips} skipped, "
              f"{time.monotonic() - self.started:.0f} s")
        sys.exit(1 if self.failures else 0)
