"""--markdown prints the tables that text has, as Markdown."""
import csv
import io
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
    (["sql", "--report", "functions"], RECORDINGS[:1]),
    (["blocks"], RECORDINGS),
    (["blocks", "-n", "0", "--sort", "end"], RECORDINGS),
]

# Those that print no table of this input, and one that has no input.
WITHOUT_TABLES = [["findings"], ["timeline"], ["tree"], ["verify"], ["version"]]
WITHOUT_INPUT = ["formats"]
EVENTS = ["events"]  # text has no table

# Commands about processes, which change from one run to the next.
OF_PROCESSES = {"live", "mem", "ps", "stats"}


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

    def test_every_command_with_the_option_is_tested(self):
        tested = {command[0] for command in [*(command for command, _ in COMMANDS), *WITHOUT_TABLES, WITHOUT_INPUT, EVENTS]}
        for command in re.findall(r"^  ([a-z]+) +\S", self.allo("help").split("Usage:")[1], re.M):
            if re.search(r"--markdown  ", self.allo("help", command)):
                self.assertIn(command, tested | OF_PROCESSES)

    def test_others_are_markdown_as_well(self):
        for command in WITHOUT_TABLES:
            with self.subTest(command=command):
                arguments = command if command == ["version"] else [*command, INPUTS[0]]
                self.assertEqual(self.check(arguments), 0)
        self.assertEqual(self.check(WITHOUT_INPUT), 1)

    def test_names_cannot_break_a_table(self):
        path = self.file("odd.folded", "main;a|b;`x` 5\nmain;\\|;<b>*_ 7\n")
        text = self.allo("top", "-n", "0", "--markdown", path)
        self.assertIn("\\`x\\`", text)
        self.assertIn("\\<b\\>\\*\\_", text)
        self.assertIn("| a\\|b |", text)
        self.check(["top", path])

    def test_events_are_the_rows_of_csv(self):
        for path in RECORDINGS:
            header, _, *rows = self.allo("events", "--markdown", path).splitlines()
            table = list(csv.reader(io.StringIO(self.allo("events", "--csv", path), newline="")))
            self.assertEqual(len(cells(header)), len(table[0]))
            self.assertEqual([cells(row) for row in rows], table[1:])
            self.assertGreater(len(rows), 20)

    def test_each_query_has_a_table(self):
        query = "select 'a|b' as text, 5 as number, null as none; select 1 as empty where 0"
        self.assertEqual(self.allo("sql", "--markdown", INPUTS[0], query),
                         "| text | number | none |\n| :--- | ---: | :--- |\n| a\\|b | 5 | NULL |\n\n"
                         "| empty |\n| :--- |\n")
        schema = self.allo("sql", "--markdown", INPUTS[0], ".schema").splitlines()
        self.assertTrue(all(line.startswith("    ") for line in schema))
        self.assertIn("| leaks | ", self.allo("sql", "--markdown", INPUTS[0], ".reports"))

    def test_formats_exclude_each_other(self):
        for other in ("--csv", "--json"):
            self.assertIn(f"{other} and --markdown exclude each other",
                          self.allo_fails("top", "--markdown", other, INPUTS[0], status=2))
