"""Our files in a browser: node runs tests/browser with Chromium."""
import shutil

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, ROOT, Test

SOURCE = ROOT / "tests" / "browser"
FOLDER = BUILD / "browser"


class Browser(Test):
    SANITIZED = False  # Chromium does the work here

    def setUp(self):
        """Packages go into the build folder, once for each state of package-lock.json."""
        super().setUp()
        FOLDER.mkdir(exist_ok=True)
        for path in SOURCE.glob("*.mjs"):
            shutil.copy(path, FOLDER)
        lock = FOLDER / "package-lock.json"
        wanted = SOURCE / "package-lock.json"
        installed = FOLDER / "node_modules" / ".package-lock.json"
        if installed.exists() and lock.read_bytes() == wanted.read_bytes():
            return
        shutil.copy(SOURCE / "package.json", FOLDER)
        shutil.copy(wanted, FOLDER)
        self.must("npm", "ci", "--prefix", FOLDER, "--silent", "--no-audit", "--no-fund",
                  "--ignore-scripts")

    def run_node(self, name):
        environment = {**ENVIRONMENT, "ALLO": str(ALLO), "GOLDEN": str(GOLDEN)}
        done = self.run_program("node", "--test-reporter=tap", "--test", FOLDER / name, env=environment)
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"# pass [1-9]")
        self.assertRegex(said, r"# skipped 0")

    def test_svg(self):
        self.run_node("test_svg.mjs")

    def test_speedscope(self):
        self.run_node("test_speedscope.mjs")
