"""Pages of the documentation: their commands, and a folder in which a test follows them."""
import contextlib
import os
import pathlib
import re
import shutil
import signal

from allotest import ALLO, BUILD, ENVIRONMENT, ROOT, Test


def blocks(page, language):
    """The code blocks of a page in a language: the words after its name, and the text."""
    text = (ROOT / page).read_text()
    return [(words.split(), block) for words, block in
            re.findall(rf"^```{language}((?: [^\n]*)?)\n(.*?)^```$", text, re.M | re.S)]


def commands(page):
    """Each command of a page, the lines that it prints, and the interpreters that its block needs, which the first line
    of the block names: ```console python3.12.  A line "..." stands for any lines, and "..." in a line for any text.
    A command continues after a backslash at the end of a line."""
    for needs, block in blocks(page, "console"):
        for command, output in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            yield command, output, needs


def without_sizes(text):
    """Sizes of files in brackets: packing and drawing may change them."""
    return re.sub(r"\([\d.]+ [KM]?i?B\)", "(size)", text)


def pattern_of(line):
    return "(?s:.+)" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"


class PageTest(Test):
    SANITIZED = False  # compilers, Valgrind and go do much of the work here

    def setUp(self):
        """A folder like the checkout, and a PATH as after installation."""
        super().setUp()
        shutil.copytree(ROOT / "examples", self.tmp / "examples")
        (self.tmp / "rust").symlink_to(ROOT / "rust")
        (self.tmp / "python").symlink_to(ROOT / "python")
        (self.tmp / "run").mkdir(mode=0o700)
        self.programs = self.tmp / "bin"
        self.programs.mkdir()
        for name in ("allo", "dhat-pprof", "dtrace2spall", "rheaper"):
            (self.programs / name).symlink_to(ALLO)
        self.link_python("python3")
        self.link_python("python3.12")
        self.addCleanup(self.end_processes)
        self.environment = {**ENVIRONMENT, "PATH": f"{self.programs}:{os.environ['PATH']}",
                            "XDG_RUNTIME_DIR": str(self.tmp / "run"),
                            "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(BUILD / "rust"), "CFLAGS": "-O0",
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

    def link_python(self, name):
        """Puts an interpreter into PATH, if there is one in /usr/bin or pyenv's folder.  pyenv's own link is a script,
        which would be recorded as well."""
        found = [*pathlib.Path("/usr/bin").glob(name), *pathlib.Path.home().glob(f".pyenv/versions/*/bin/{name}")]
        if found:
            (self.programs / name).symlink_to(found[0])

    def end_processes(self):
        """A page that fails half-way leaves its servers, whose ids are in files."""
        for path in self.tmp.glob("*.pid"):
            for pid in path.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)

    def run_line(self, command, **options):
        done = self.run_program("bash", "-o", "pipefail", "-c", f"exec 2>&1; {command}", env=self.environment, **options)
        return done.returncode, done.stdout.decode()

    def follow(self, page):
        """Types every command of the page except make's, and compares the output with the page."""
        count = 0
        for command, expected, needs in commands(page):
            if command.startswith("make ") or not all((self.programs / name).exists() for name in needs):
                continue
            count += 1
            with self.subTest(f"{page}: {command}"):
                status, output = self.run_line(command)
                self.assertEqual(status, 0, output)
                pattern = "".join(pattern_of(line) for line in without_sizes(expected).splitlines())
                self.assertRegex(without_sizes(output), f"^{pattern}$")
        self.assertGreater(count, 0)
