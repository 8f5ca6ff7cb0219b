"""Completion in real shells, man pages in the real man, and the installed files."""
import os
import re

from allotest import BUILD, ENVIRONMENT, Test
from terminal import Terminal

# The input up to TAB, and its completion or the offered words.
COMPLETIONS = [
    (["tre"], "tree"), (["conv"], "convert"), (["help", "verif"], "verify"),
    (["top", "--foc"], "--focus"), (["tree", "--full"], "--full-names"), (["diff", "--norm"], "--normalize"),
    (["top", "--from", "pp"], "pprof"), (["convert", "--to", "ppr"], "pprof"),
    (["top", "-M", "peak_by"], "peak_bytes"), (["convert", "--metric", "temp"], "temporary_blocks"),
    (["tree", "--dhat", "--sort", "short"], "short-lived"), (["top", "--by", "mod"], "module"),
    (["diff", "--only", "shr"], "shrunk"), (["info", "--color", "alw"], "always"),
    (["completion", "zs"], "zsh"), (["top", "some f"], "some file.json"),
    (["convert", "-o", "some"], "some file.json"),
    (["run", "--unwind", "dw"], "dwarf"), (["run", "sha512su"], "sha512sum"),
    (["run", "-q", "cat", "some f"], "some file.json"),
]


class Shell(Test):
    SANITIZED = False  # the shells do the work here

    def setUp(self):
        super().setUp()
        self.file("some file.json", "")

    def script(self, shell):
        return self.file("completion." + shell, self.allo("completion", shell))

    def commands(self):
        return re.findall(r"^  ([a-z]+) +\S", self.allo("help").split("Usage:")[1], re.M)


class Bash(Shell):
    def complete(self, *words):
        """The completions of _allo for the last word."""
        done = self.must("bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _allo; '
                         'printf "%s\\n" "${COMPREPLY[@]}"', self.script("bash"), "allo", *words)
        return done.splitlines()

    def test_the_script_is_accepted(self):
        self.must("bash", "-n", self.script("bash"))
        self.assertIn("-F _allo allo", self.must("bash", "-c", 'source "$0"; complete -p allo',
                                                 self.script("bash")))

    def test_words_are_completed(self):
        for words, completed in COMPLETIONS:
            self.assertEqual(self.complete(*words), [completed], words)

    def test_all_that_fits_is_offered(self):
        self.assertEqual(self.complete(""), self.commands())
        self.assertEqual(self.complete("top", "--by", ""),
                         ["function", "site", "file", "module", "address", "leaf"])
        self.assertIn("--dhat", self.complete("tree", "--"))
        self.assertIn("-M", self.complete("tree", "-"))

    def test_values_behind_an_equals_sign_are_completed(self):
        # bash treats the sign as a separate word.
        self.assertEqual(self.complete("top", "--by", "=", "mo"), ["module"])
        self.assertEqual(self.complete("top", "--color", "="), ["auto", "always", "never"])


class Fish(Shell):
    def complete(self, *words):
        line = " ".join(["allo"] + [word.replace(" ", "\\ ") for word in words])
        done = self.must("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]',
                         self.script("fish"), line)
        return [offer.split("\t")[0].replace("\\ ", " ") for offer in done.splitlines()]

    def test_the_script_is_accepted(self):
        self.must("fish", "--no-execute", self.script("fish"))

    def test_words_are_completed(self):
        for words, completed in COMPLETIONS:
            self.assertEqual(self.complete(*words), [completed], words)

    def test_all_that_fits_is_offered(self):
        self.assertEqual(sorted(self.complete("")), sorted(self.commands()))
        self.assertEqual(sorted(self.complete("top", "--by", "")),
                         sorted(["function", "site", "file", "module", "address", "leaf"]))


class Zsh(Shell):
    """zsh completes only input from a terminal."""

    def setUp(self):
        super().setUp()
        self.shell = Terminal(["zsh", "-f", "-i"], columns=200, cwd=self.tmp,
                              env={"PS1": "", "TERM": "dumb", "HOME": str(self.tmp)})
        self.addCleanup(self.shell.finish)
        self.addCleanup(self.shell.type, "\x15exit\n")
        # The shell runs the completed line: a function named allo prints its arguments.
        self.run_line("unsetopt zle_bracketed_paste; PROMPT=; autoload -U compinit; compinit -u -D")
        self.run_line(f"source {self.script('zsh')}")
        self.run_line("allo() { print -rl -- '<<' $@ '>>' }")

    def run_line(self, line):
        self.shell.type(f"{line}; print do''ne\n")
        return self.shell.wait_for("done\r\n")

    def complete(self, *words):
        line = " ".join(["allo"] + [word.replace(" ", "\\ ") for word in words])
        self.shell.type(f"{line}\t\n")
        self.shell.wait_for("<<\r\n")
        return self.shell.wait_for(">>\r\n").split("\r\n")[:-1]

    def test_words_are_completed(self):
        for words, completed in COMPLETIONS:
            self.assertEqual(self.complete(*words), words[:-1] + [completed])

    def test_options_of_every_command_are_accepted(self):
        for command in self.commands():
            self.assertEqual(self.complete(command, "--he"), [command, "--help"])

    def test_values_behind_an_equals_sign_are_completed(self):
        self.assertEqual(self.complete("top", "--by=mo"), ["top", "--by=module"])


class Manual(Shell):
    def pages(self):
        yield "allo.1", self.allo("help", "--man")
        yield "allo-formats.7", self.allo("help", "--man", "allo-formats")
        for command in self.commands():
            yield f"allo-{command}.1", self.allo("help", "--man", command)

    def test_pages_format_without_warnings(self):
        for name, text in self.pages():
            page = self.file(name, text)
            env = {**ENVIRONMENT, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
            for command in (["groff", "-man", "-ww", "-z", page],
                            ["man", "--warnings", "-l", page]):
                done = self.run_program(*command, env=env)
                self.assertEqual((done.returncode, done.stderr), (0, b""), (command, name))

    def test_pages_agree_with_help(self):
        page = self.file("allo-tree.1", self.allo("help", "--man", "tree"))
        env = {**ENVIRONMENT, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
        text = re.sub(r"\s+", " ", self.must("man", "-l", page, env=env))
        for line in ("allo tree [OPTION]... [FILE...]", "-i, --invert", "--sort NAME",
                     "high-reads and high-writes, read or written at least 1000 times a byte",
                     "allo tree --dhat --sort short-lived dhat.out.1234"):
            self.assertIn(line, text)


class Installation(Shell):
    def setUp(self):
        super().setUp()
        self.must("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.tmp / "to")
        self.prefix = next((self.tmp / "to").glob("**/bin")).parent

    def test_the_program_and_its_other_names_are_there(self):
        for name in ("dhat-pprof", "dtrace2spall", "rheaper"):
            link = self.prefix / "bin" / name
            self.assertEqual(os.readlink(link), "allo")
            self.assertIn(f"Usage: {name} ", self.must(link, "--help"))
        self.assertIn("allo ", self.must(self.prefix / "bin" / "allo", "version"))

    def test_programs_can_be_recorded(self):
        """Although all of it was moved after it was built."""
        self.must(self.prefix / "bin" / "allo", "run", "-o", "ls.allo", "ls")
        self.assertGreater((self.tmp / "ls.allo").stat().st_size, 0)

    def test_there_is_a_page_for_every_command(self):
        pages = {page.name: page.read_text() for page in self.prefix.glob("share/man/man*/*")}
        wanted = {"allo.1": self.allo("help", "--man"),
                  "allo-formats.7": self.allo("help", "--man", "allo-formats"),
                  **{f"allo-{command}.1": self.allo("help", "--man", command)
                     for command in self.commands()}}
        self.assertEqual(pages, wanted)

    def test_completion_lies_where_shells_look_for_it(self):
        for path, shell in (("bash-completion/completions/allo", "bash"),
                            ("zsh/site-functions/_allo", "zsh"),
                            ("fish/vendor_completions.d/allo.fish", "fish")):
            self.assertEqual((self.prefix / "share" / path).read_text(), self.allo("completion", shell))

    def test_zsh_loads_the_completion_from_its_folder(self):
        folder = self.prefix / "share" / "zsh" / "site-functions"
        done = self.must("zsh", "-f", "-c", f"fpath=({folder} $fpath); autoload -U compinit; "
                         "compinit -u -D; print $_comps[allo]; autoload +X _allo; whence -w _allo")
        self.assertEqual(done.splitlines(), ["_allo", "_allo: function"])
