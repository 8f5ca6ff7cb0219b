"""Every command in README.md works and prints the output that README.md shows."""
import re

from allotest import BUILD, ROOT
from pages import PageTest, commands

LINES_MOST = 200


class Readme(PageTest):
    def test_it_begins_with_two_commands(self):
        found = [command for command, *_ in commands("README.md")]
        self.assertEqual(found[:2], ["make demo", "make test"])

    def test_it_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), LINES_MOST)

    def test_every_other_command_prints_the_shown_output(self):
        self.follow("README.md")

    def test_demo(self):
        output = self.must("make", "-C", ROOT, "demo", f"BUILD={BUILD.name}")
        self.assertRegex(output, r"add_line_number +index\.c")
        self.assertIn("$ allo top examples/allo.dhat.json", output)
        for name in ("allo.pb.gz", "allo.svg", "allo.folded"):
            self.assertGreater((BUILD / "demo" / name).stat().st_size, 0)

    def test_tests_are_run_by_make(self):
        self.assertIn("tests/run.py", self.must("make", "-C", ROOT, "-n", "test"))

    def test_links_lead_somewhere(self):
        for page in [*ROOT.glob("*.md"), ROOT / "rust" / "README.md", *(ROOT / "doc").glob("**/*.md")]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")
