"""Every command in README.md works and prints the output that README.md shows."""
import os
import re
import shutil

from allotest import ALLO, BUILD, ENVIRONMENT, ROOT, Test

README = (ROOT / "README.md").read_text()


def commands():
    """Each command of a console block, and the lines it prints; a line "..." stands for any lines, and "..."
    at the end of a line for the rest of it."""
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            yield command, output


def without_sizes(text):
    """Sizes of files in brackets: packing and drawing may change them."""
    return re.sub(r"\([\d.]+ [KM]?i?B\)", "(size)", text)


def pattern_of(line):
    if line == "...":
        return "(?s:.+)"
    return re.escape(line[:-3]) + ".*\n" if line.endswith("...") else re.escape(line + "\n")


class Readme(Test):
    SANITIZED = False  # Valgrind and go do much of the work here

    def setUp(self):
        """A folder like the checkout, and a PATH as after installation."""
        super().setUp()
        shutil.copytree(ROOT / "examples", self.tmp / "examples")
        (self.tmp / "rust").symlink_to(ROOT / "rust")
        programs = self.tmp / "bin"
        programs.mkdir()
        for name in ("allo", "dhat-pprof", "dtrace2spall", "rheaper"):
            (programs / name).symlink_to(ALLO)
        self.environment = {**ENVIRONMENT, "PATH": f"{programs}:{os.environ['PATH']}",
                            "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(BUILD / "rust"),
                            "PKG_CONFIG_PATH": str(self.installed_like()),
                            "LD_LIBRARY_PATH": str(BUILD / "capture"), "PPROF_TMPDIR": str(self.tmp)}

    def installed_like(self):
        """A folder with pkg-config's file.  Its paths go through links without spaces, as those of installed files:
        a shell splits the output of pkg-config at spaces."""
        (self.tmp / "checkout").symlink_to(ROOT)
        (self.tmp / "built").symlink_to(BUILD)
        text = (BUILD / "meson-uninstalled" / "allo-uninstalled.pc").read_text()
        text = re.sub("^prefix=.*$", f"prefix={self.tmp}/built", text, flags=re.M)
        text = re.sub("^srcdir=.*$", f"srcdir={self.tmp}/checkout", text, flags=re.M)
        (self.tmp / "allo.pc").write_text(text)
        return self.tmp

    def run_line(self, command):
        done = self.run_program("bash", "-o", "pipefail", "-c", f"exec 2>&1; {command}",
                                env=self.environment)
        return done.returncode, done.stdout.decode()

    def test_it_begins_with_two_commands(self):
        found = [command for command, _ in commands()]
        self.assertEqual(found[:2], ["make demo", "make test"])
        self.assertGreater(len(found), 10)

    def test_every_other_command_prints_the_shown_output(self):
        for command, expected in commands():
            if command.startswith("make "):
                continue
            with self.subTest(command):
                status, output = self.run_line(command)
                self.assertEqual(status, 0, output)
                pattern = "".join(pattern_of(line) for line in without_sizes(expected).splitlines())
                self.assertRegex(without_sizes(output), f"^{pattern}$")

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
