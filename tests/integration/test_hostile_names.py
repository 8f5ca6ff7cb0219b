"""Names from untrusted files: spreadsheets must not execute them, terminals must not obey them."""
import csv
import io
import re

from allotest import ALLO, Test, ENVIRONMENT
from terminal import on_terminal

FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+cmd", "-2+3", "-[Object init]", '=HYPERLINK("x","y")', "\tx"]
# Escape, bell, C1, a carriage return, and marks that change the direction of text.
CONTROLS = ["\x1b[31m", "\x07", "\x9b31m", "\r", "\x7f", "\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"]


class Spreadsheets(Test):
    def folded(self, names):
        path = self.tmp / "names.folded"
        path.write_text("".join(f"main;{name} {number}\n" for number, name in enumerate(names, 1)))
        return path

    def cells(self, *command):
        return [cell for row in csv.reader(io.StringIO(self.allo(*command), newline="")) for cell in row]

    def test_no_cell_of_csv_is_a_formula(self):
        path = self.folded(FORMULAS)
        for command in (["convert", path, "--to", "csv", "-o", "-"], ["top", "--csv", path], ["peek", "--csv", "/./", path],
                        ["sql", "--csv", path, "select name from function"]):
            with self.subTest(command[0]):
                cells = self.cells(*command)
                self.assertEqual([cell for cell in cells if re.match(r"[=@+\t\r-]", cell)], [])
                # Convert joins the names of a stack, so it begins with "main".
                self.assertEqual({"'" + name for name in FORMULAS if name.strip() == name} - set(cells), set())

    def test_numbers_keep_their_signs(self):
        before, after = self.folded(["f"]), self.tmp / "after.folded"
        after.write_text("main;f 0\n")
        cells = self.cells("diff", "--csv", before, after)
        self.assertIn("-1", cells)
        numbers = self.cells("sql", "--csv", before, "select -1, -1.5, -2.5e-300, '+5%', '-x'")
        self.assertEqual(numbers[5:], ["-1", "-1.5", "-2.5e-300", "+5%", "'-x"])


class Terminals(Test):
    def profile(self):
        """A recording format of bytes: folded stacks, one per control character."""
        path = self.tmp / "names.folded"
        path.write_bytes("".join(f"main;evil{control}name{number} {number + 1}\n"
                                 for number, control in enumerate(CONTROLS) if control != "\n").encode())
        return path

    def test_no_control_character_reaches_a_terminal(self):
        path = self.profile()
        commands = [["top"], ["tree"], ["peek", "/evil/"], ["summary"], ["top", "--csv"], ["top", "--json"],
                    ["tree", "--json"], ["top", "--markdown"]]
        commands = [[*command, path] for command in commands]
        commands += [["sql", *option, path, "select name from function"] for option in ([], ["--csv"], ["--json"])]
        commands += [["convert", path, "--to", form, "-o", "-"] for form in
                     ("csv", "folded", "callgrind", "massif", "json", "dhat", "speedscope", "chrome-trace", "firefox", "svg")]
        for command in commands:
            with self.subTest(command=command[:4]):
                _, text = on_terminal(ALLO, *command, env={**ENVIRONMENT, "NO_COLOR": "1", "PAGER": "cat"})
                text = text if isinstance(text, str) else text.decode()
                self.assertIn("evil", text)
                # The terminal itself makes CR LF of each line end; the program may erase its progress line.
                text = text.replace("\r\n", "\n").replace("\r\x1b[K", "")
                self.assertEqual(re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", text),
                                 [])

    def test_files_keep_all_characters(self):
        self.allo("convert", self.profile(), "--to", "folded", "-o", "copy.folded")
        self.assertIn("evil\u202ename".encode(), (self.tmp / "copy.folded").read_bytes())
