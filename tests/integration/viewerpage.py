"""The source of the page of `allo view` in a folder of its test, and its programs in node."""
import fcntl
import shutil

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, ROOT, Test

SOURCE = ROOT / "viewer"
PACKAGES = BUILD / "viewer"


def install(test):
    """Installs the packages once for each state of package-lock.json.  Tests may want them at the same time."""
    PACKAGES.mkdir(exist_ok=True)
    with open(PACKAGES / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, known = SOURCE / "package-lock.json", PACKAGES / "package-lock.json"
        if ((PACKAGES / "node_modules" / ".package-lock.json").exists() and known.exists()
                and known.read_bytes() == wanted.read_bytes()):
            return
        for path in (SOURCE / "package.json", wanted):
            shutil.copy(path, PACKAGES)
        test.must("npm", "ci", "--prefix", PACKAGES, "--silent", "--no-audit", "--no-fund", "--ignore-scripts")


class ViewerTest(Test):
    SANITIZED = False  # node and a browser do the work here

    def setUp(self):
        """A copy, so that the source folder stays clean, and tests may run at the same time."""
        super().setUp()
        install(self)
        self.folder = self.tmp / "viewer"
        shutil.copytree(SOURCE, self.folder, ignore=shutil.ignore_patterns("node_modules", ".test-*", "viewer.html"))
        (self.folder / "node_modules").symlink_to(PACKAGES / "node_modules")

    def run_node(self, *words, browser={}):
        environment = {**ENVIRONMENT, **browser, "ALLO": str(ALLO), "GOLDEN": str(GOLDEN)}
        done = self.run_program("node", self.folder / "test" / "run.mjs", *words, env=environment)
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"# pass [1-9]")
        self.assertRegex(said, r"# skipped 0")
