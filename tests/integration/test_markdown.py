"""--markdown prints the tables that text has, as Markdown."""
import re

from allotest import GOLDEN, Test

INPUTS = [GOLDEN / "allo" / "server.allo", GOLDEN / "allo" / "sampled.allo", GOLDEN / "dhat" / "dhat-rs-heap.json",
          GOLDEN / "pprof" / "go-heap.pb.gz"]
RECORDINGS = INPUTS[:2]

# Commands and their inputs.
COMMANDS = [
    (["top"], INPUTS),
    (["top", "-n", "3", "--by", "site", "-v"], INPUTS),
    (["threads"], RECORDINGS),
    (["hist"], INPUTS[:3]),
    (["diff", INPUTS[0]], RECORDINGS[1:]),
    (["leaks", "--suppressions", "server.supp"], RECORDINGS[:1]),
    (["list", "/./"], INPUTS[2:]),
    (["peek", "/./"], INPUTS[2:]),
    (["summary"], INPUTS),
    (["info"], INPUTS),
]


def unescape(text):
    return re.sub(r"\\(.)", r"\1", text)


def cells(line):
    """The cells of a table's line, between unescaped bars."""
    return [unescape(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def blocks(text):
    """Paragraphs, tables, lists and fences, as lists of lines."""
    found, fence = [[]], None
    for line in text.splitlines():
        if fence:
            found[-1].append(line)
            if line == fence:
                fence = None
        elif line.startswith("```"):
            fence = line
            found[-1].append(line)
        elif line:
            found[-1].append(line)
        else:
            found.append([])
    assert fence is None, "a fence is not closed"
    return found


class Markdown(Test):
    def check(self, arguments):
        plain = self.allo(*arguments)
        text = self.allo(*arguments, "--markdown")
        # Text without spaces, since they align its columns.
        squeezed = [re.sub(r"\s", "", line) for line in plain.splitlines()]
        rest, tables = list(squeezed), 0
        for block in blocks(text):
            self.assertTrue(block, "no block is empty: no two empty lines follow each other")
            if not block[0].startswith("|"):
                continue
            tables += 1
            header, rule, *rows = block
            self.assertRegex(rule, r"^(\| (:---|---:) )+\|$")
            for row in [rule, *rows]:
                self.assertEqual(len(cells(row)), len(cells(header)), row)
            for row in rows:
                line = "".join(cells(row)).replace(" ", "")
                self.assertIn(line, rest)
                rest.remove(line)
            for column, side in zip(zip(*map(cells, rows)), cells(rule)):
                if all(re.fullmatch(r"[~+-]?[\d,.]+(%| [A-Za-z]{1,3})?", cell) for cell in column):
                    self.assertEqual(side, "---:", column)
        return tables

    def test_tables_have_the_cells_of_text(self):
        self.file("server.supp", "leak:server\n")
        for command, inputs in COMMANDS:
            for path in inputs:
                with self.subTest(command=command, path=path.name):
                    self.assertGreater(self.check([*command, path]), 0)

    def test_names_cannot_break_a_table(self):
        path = self.file("odd.folded", "main;a|b;`x` 5\nmain;\\|;<b>*_ 7\n")
        text = self.allo("top", "--markdown", path)
        self.assertIn("\\`x\\`", text)
        self.assertIn("\\<b\\>\\*\\_", text)
        self.assertIn("| a\\|b |", text)
        self.check(["top", path])

    def test_formats_exclude_each_other(self):
        for other in ("--csv", "--json"):
            self.assertIn(f"{other} and --markdown exclude each other",
                          self.allo_fails("top", "--markdown", other, INPUTS[0], status=2))
