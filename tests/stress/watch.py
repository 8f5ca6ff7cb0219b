"""Running programs with and without allo, each under a watchdog, and what must hold of both."""
import collections
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

from allotest import ALLO, ENVIRONMENT  # noqa: E402
from rawrecording import RawRecording  # noqa: E402

# Past this many bytes, the plain reader takes too long.
LARGE = 3 << 20

# What `allo verify` ends with when it finds any.
PROBLEMS = 3

Outcome = collections.namedtuple("Outcome", "status said errors")


class Wrong(Exception):
    """What should hold and does not."""


def end_all(mark):
    """Ends every process whose environment holds a text: those that left our session, too."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            pass  # gone, or not ours


def watched(command, folder, env=None, seconds=60):
    """Runs a command to its end; one that does not end is ended, with all that it started."""
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
        raise Wrong(f"says {text(recorded.said)!r}, without allo {text(plain.said)!r}\n{text(recorded.errors)}")


def verify(path, may_lack=False):
    """What `allo verify` says; a recording may lack something when the disk was full."""
    done = subprocess.run([ALLO, "verify", path], capture_output=True, timeout=120)
    if done.returncode not in ((0, PROBLEMS) if may_lack else (0,)):
        raise Wrong(f"allo verify {path.name}: exit status {done.returncode}\n{text(done.stdout)}{text(done.stderr)}")
    return text(done.stdout) + text(done.stderr)


def must_balance(path, inherits, has_begun_late=False):
    """Each address comes and goes in turns; a child may free what its parent left it.

    Of a recording that began while the program ran, each thread may have been within a call, of which nothing is
    told: the address that it got may have been freed a moment before, and be freed again.
    """
    if path.stat().st_size > LARGE:
        return
    recording = RawRecording(path)
    wrong = {address: count for address, count in recording.unbalanced().items()
             if not (inherits and count == -1)}
    untold = sum(-1 - count for count in wrong.values())
    if has_begun_late and all(count < 0 for count in wrong.values()) and untold <= len(recording.thread_names()):
        wrong = {}
    if wrong:
        address, count = next(iter(wrong.items()))
        raise Wrong(f"{path.name}: {len(wrong)} addresses out of balance, {address:#x} by {count}")
    if recording.dropped:
        raise Wrong(f"{path.name}: {recording.dropped} events dropped")


class Folder:
    """A folder that is there for a while."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="allo-stress-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Tap:
    """Results as tests/run.py reads them."""

    def __init__(self):
        self.count = self.failures = 0
        self.started = time.monotonic()

    def say(self, name, wrong=None):
        self.count += 1
        self.failures += wrong is not None
        lines = "".join(f"# {line}\n" for line in (wrong or "").splitlines())
        print(f"{'not ok' if wrong is not None else 'ok'} {self.count} - {name}\n{lines}", end="", flush=True)

    def finish(self):
        print(f"# {self.count - self.failures} passed, {self.failures} failed, "
              f"{time.monotonic() - self.started:.0f} s")
        sys.exit(1 if self.failures else 0)
