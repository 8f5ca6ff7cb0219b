"""The page of `allo view`: its unit tests, its tests in Chromium with a plain and the real engine, and the committed build."""
import shutil

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, ROOT, Test

SOURCE = ROOT / "viewer"
FOLDER = BUILD / "viewer"


class Viewer(Test):
    SANITIZED = False  # Chromium does the work here

    def setUp(self):
        """A copy, so that the source folder stays clean.  Packages are installed once for each state of package-lock.json."""
        super().setUp()
        wanted = (SOURCE / "package-lock.json").read_bytes()
        installed = FOLDER / "node_modules" / ".package-lock.json"
        lock = FOLDER / "package-lock.json"
        is_current = installed.exists() and lock.exists() and lock.read_bytes() == wanted
        for name in ("src", "test", "dist"):
            shutil.rmtree(FOLDER / name, ignore_errors=True)
        shutil.copytree(SOURCE, FOLDER, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("node_modules", ".test-*", "viewer.html"))
        if not is_current:
            self.must("npm", "ci", "--prefix", FOLDER, "--silent", "--no-audit", "--no-fund", "--ignore-scripts")

    def run_node(self, *words):
        environment = {**ENVIRONMENT, "ALLO": str(ALLO), "GOLDEN": str(GOLDEN)}
        done = self.run_program("node", FOLDER / "test" / "run.mjs", *words, env=environment)
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"# pass [1-9]")
        self.assertRegex(said, r"# skipped 0")

    def test_units(self):
        self.run_node()

    def test_browser(self):
        self.run_node("browser")

    def test_real_engine(self):
        self.run_node("real")
