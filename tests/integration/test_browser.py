"""Our files in a browser: node runs tests/browser with Chromium."""
import nodepackages
from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, ROOT, Test

SOURCE = ROOT / "tests" / "browser"
FOLDER = BUILD / "browser"


class Browser(Test):
    SANITIZED = False  # Chromium does the work here

    def setUp(self):
        super().setUp()
        nodepackages.install(self, SOURCE, FOLDER)

    def run_node(self, name):
        environment = {**ENVIRONMENT, **nodepackages.browser(self), "ALLO": str(ALLO), "GOLDEN": str(GOLDEN)}
        done = self.run_program("node", "--test-reporter=spec", "--test", FOLDER / name, env=environment)
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"\bpass [1-9]")
        self.assertRegex(said, r"\bskipped 0")

    def test_svg(self):
        self.run_node("test_svg.mjs")

    def test_speedscope(self):
        self.run_node("test_speedscope.mjs")

    def test_report(self):
        self.run_node("test_report.mjs")
