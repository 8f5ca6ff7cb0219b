"""Shared by the integration tests: the program under test, sample files, a folder for output."""
import atexit
import gzip
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ALLO_BUILD", ROOT / "build-test"))
ALLO = BUILD / "src" / "allo"
QUOTED_ALLO = shlex.quote(str(ALLO))  # for shell commands: the path may contain spaces
GOLDEN = ROOT / "tests" / "golden"


def preloadable(folder, *names):
    """The folder, or a copy of these files if its path has a character that separates paths in LD_PRELOAD."""
    if not re.search(r"[ :$]", str(folder)):
        return folder
    copy = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    for name in names:
        shutil.copy(folder / name, copy)
    return copy


RUNTIME = preloadable(BUILD / "capture", "liballo.so.0", "liballo.a") / "liballo.so.0"
if not RUNTIME.is_relative_to(BUILD):
    os.environ["ALLO_LIBRARY"] = str(RUNTIME)

# With sanitizers a process takes ten times as long: tests that start many of them start fewer.
SLOW = BUILD.name == "build-asan"

IS_ROOT = os.geteuid() == 0

# Seconds after which an operation counts as hung.  It bounds no speed: a loaded machine may be 50 times slower.
HANG = 1200

# Colours and progress depend on the user's terminal; results must not.
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "DEBUGINFOD_CACHE_PATH")}
# Symbols cached by an earlier run must not hide that this one cannot find them.
ENVIRONMENT["ALLO_NO_CACHE"] = "1"


def wait_until(condition, claim="the condition holds"):
    """The result of the condition, once it is true."""
    end = time.monotonic() + HANG
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"still not true after {HANG} s: {claim}")
        time.sleep(0.02)
    return found


def wait_for_text(path, pattern, writer):
    """The match of the pattern in a file, once its writer, a process, has written it; an error if the process ends before."""
    def is_settled():
        return re.search(pattern, path.read_text()) or writer.poll() is not None
    wait_until(is_settled)
    if not (found := re.search(pattern, path.read_text())):
        raise AssertionError(f"{writer.args} ended with {writer.returncode}: {path.read_text()}")
    return found


def has_signal(pid, kind, number):
    """Whether the set of signals that /proc/PID/status calls `kind` contains the signal."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def cpu_seconds(pid):
    """CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def unsanitized(test):
    """Marks a test that the sanitizers cannot learn from, unlike the others of its class."""
    test.SANITIZED = False
    return test


class Test(unittest.TestCase):
    """A test with its own folder, self.tmp."""

    # Whether the test is worth repeating with a sanitized build.
    SANITIZED = True

    def setUp(self):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def run_program(self, *command, **options):
        options.setdefault("env", ENVIRONMENT)
        return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.tmp, timeout=HANG, **options)

    def must(self, *command, **options):
        """Runs a program that must succeed; returns its standard output as text."""
        done = self.run_program(*command, **options)
        self.assertEqual(done.returncode, 0,
                         f"{command}\n{done.stderr.decode(errors='replace')[-3000:]}")
        return done.stdout.decode(errors="replace")

    def allo(self, *arguments, **options):
        """Runs allo, which must succeed; returns its standard output as text."""
        return self.must(ALLO, *arguments, **options)

    def allo_json(self, *arguments):
        return json.loads(self.allo(*arguments, "--json"))

    def allo_fails(self, *arguments, status=1, **options):
        """Runs allo, which must fail with this status and one line of error; returns the line."""
        done = self.run_program(ALLO, *arguments, **options)
        error = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, status, error[-3000:])
        lines = error.splitlines()
        errors = [line for line in lines if line.startswith("allo: error: ")]
        self.assertEqual(len(errors), 1, error)
        return errors[0]

    def assert_golden(self, path, found):
        """Compares a text with a golden file; ALLO_GOLDEN=renew writes the file instead, to be read
        before it is committed."""
        if os.environ.get("ALLO_GOLDEN") == "renew":
            path.parent.mkdir(exist_ok=True)
            path.write_text(found)
        self.maxDiff = None
        self.assertMultiLineEqual(path.read_text(), found)

    def allo_of_a_user(self):
        """A command that runs allo as a user other than root."""
        if not IS_ROOT:
            return [ALLO]
        # The build may be in a folder that only root may enter.
        self.tmp.chmod(0o755)
        shutil.copy(ALLO, self.tmp / "allo")
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.tmp / "allo"]

    def file(self, name, content):
        path = self.tmp / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


def unpacked(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
