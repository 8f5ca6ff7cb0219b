"""Missing packages: "make" names them and installs nothing; jobs that install say so first."""
import shutil
import sys

from allotest import ENVIRONMENT, ROOT, Test

# Everything that the makefile and tools/setup.sh call, but no compiler and no meson.
TOOLS = ("cat", "cut", "git", "grep", "head", "id", "make", "mktemp", "rm", "sed", "sh", "sort", "tr", "uname")


class Setup(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        self.bin = self.tmp / "bin"
        self.bin.mkdir()
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in ("apt-get", "sudo"):
            self.file(f"bin/{name}", f'#!/bin/sh\necho "{name} $*" >> {self.tmp}/called\n').chmod(0o755)
        self.environment = {**ENVIRONMENT, "PATH": str(self.bin)}

    def test_make_installs_nothing(self):
        done = self.run_program("make", "-C", ROOT, f"BUILD={self.tmp}/build", env=self.environment)
        self.assertNotEqual(done.returncode, 0)
        said = done.stderr.decode()
        self.assertRegex(said, r"These Debian packages are missing: .*\bmeson\b")
        self.assertRegex(said, r"\n  apt-get install --no-install-recommends .*\bmeson\b")
        self.assertFalse((self.tmp / "called").exists())
        self.assertFalse((self.tmp / "build").exists())

    def test_other_jobs_announce_what_they_install(self):
        done = self.run_program("sh", ROOT / "tools" / "setup.sh", "build", env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"^Installing missing packages: .*\bmeson\b")
        self.assertRegex((self.tmp / "called").read_text(), r"apt-get install -y .*\bmeson\b")

    def test_packages_that_do_not_exist_are_left_out(self):
        self.file("bin/apt-get", '#!/bin/sh\ncase "$*" in *ninja-build*) exit 100 ;; esac\n'
                                 f'echo "$*" >> {self.tmp}/called\n').chmod(0o755)
        self.file("bin/apt-cache", '#!/bin/sh\n[ "$2" != ninja-build ]\n').chmod(0o755)
        done = self.run_program("sh", ROOT / "tools" / "setup.sh", "build", env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Not available on this system: ninja-build\n", done.stdout.decode())
        self.assertRegex((self.tmp / "called").read_text(), r"install -y .*\bmeson\b")

    def test_packages_that_cannot_be_installed_are_an_error(self):
        self.file("bin/apt-get", "#!/bin/sh\necho disk full\nexit 100\n").chmod(0o755)
        self.file("bin/apt-cache", "#!/bin/sh\n").chmod(0o755)
        done = self.run_program("sh", ROOT / "tools" / "setup.sh", "build", env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (1, b"disk full\n"))


# The last line of tests/run.py runs all tests; this asks how it reports a check instead.
REPORTED = """
import os, sys
path = sys.argv[1]
sys.path.insert(0, os.path.dirname(path))
namespace = {"__file__": path}
exec(open(path).read().removesuffix("main()\\n"), namespace)
print(namespace["whole"]("the claim")(int(sys.argv[2]), sys.argv[3]))
"""


class Checks(Test):
    """A check that cannot run is no success."""
    SANITIZED = False

    def reported(self, code, said):
        return self.must(sys.executable, "-c", REPORTED, ROOT / "tests" / "run.py", code, said).strip()

    def test_the_format_is_not_checked_by_another_version(self):
        (self.tmp / "bin").mkdir()
        formatter = self.file("bin/clang-format", "#!/bin/sh\necho clang-format version 99.0.0\n")
        formatter.chmod(0o755)
        env = {**ENVIRONMENT, "PATH": str(formatter.parent)}
        done = self.run_program(sys.executable, ROOT / "tools" / "check_format.py", env=env)
        self.assertEqual((done.returncode, done.stdout), (77, b"clang-format 14 is not installed\n"))

    def test_it_is_reported_as_skipped(self):
        self.assertEqual(self.reported(77, "one line\nthe reason\n"),
                         "[(True, 'the claim # SKIP the reason', 'one line\\nthe reason\\n')]")
        self.assertEqual(self.reported(1, "differs"), "[(False, 'the claim', 'differs')]")
        self.assertEqual(self.reported(0, ""), "[(True, 'the claim', '')]")


class Archive(Test):
    """The archive of 'make dist' has no git repository, which the checks of the source must not need."""
    SANITIZED = False

    def test_checks_pass(self):
        if not (ROOT / ".git").exists():
            self.skipTest("this tree is such an archive")
        (self.tmp / "tree").mkdir()
        self.must("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "archive", "-o", self.tmp / "tree.tar", "HEAD")
        self.must("tar", "-x", "-f", self.tmp / "tree.tar", "-C", self.tmp / "tree")
        for check in ("check_includes.py", "check_names.py", "check_english.py"):
            with self.subTest(check):
                self.must("env", "-C", self.tmp / "tree", sys.executable, f"tools/{check}")
