"""What the integration tests share: the program under test, sample files, a place for output."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ALLO_BUILD", ROOT / "build-test"))
ALLO = BUILD / "src" / "allo"
GOLDEN = ROOT / "tests" / "golden"

# With sanitizers a process takes ten times as long: tests that start many of them start fewer.
SLOW = BUILD.name == "build-asan"

# Colours and progress depend on who runs the tests; results must not.
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "DEBUGINFOD_CACHE_PATH")}
# Names that an earlier run has found must not hide that this one does not find them.
ENVIRONMENT["ALLO_NO_CACHE"] = "1"


def unsanitized(test):
    """Marks a test that nothing is learnt from with sanitizers, unlike from the others of its class."""
    test.SANITIZED = False
    return test


class Test(unittest.TestCase):
    """A test with a folder of its own, self.tmp."""

    # Whether the test is worth repeating with a sanitized build.
    SANITIZED = True

    def setUp(self):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def run_program(self, *command, **options):
        options.setdefault("env", ENVIRONMENT)
        return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.tmp, timeout=300, **options)

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

    def file(self, name, content):
        path = self.tmp / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


def unpacked(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
