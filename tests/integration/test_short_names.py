"""Names of C++ and Rust functions: short for people, full for programs."""
import csv
import io
import unicodedata

from allotest import ALLO, GOLDEN, Test
from terminal import on_terminal

VECTOR = "std::vector<char, std::allocator<char> >::vector(unsigned long)"
APPEND = ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
          "::append(char const*)")
CLONE = "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone"


def columns_of(line):
    """Columns of a line on a terminal, by Python's tables."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) > 0 for c in line)


class ShortNames(Test):
    def setUp(self):
        super().setUp()
        self.heap = self.file("heap.folded", f"main;{VECTOR} 30\nmain;{APPEND} 20\nmain;{CLONE} 10\n")

    def names(self, *arguments):
        return self.allo(*arguments, self.heap)

    def test_tables_and_trees_have_short_names(self):
        for command in (["top"], ["tree"], ["tree", "--invert"], ["summary"], ["peek", "main"],
                        ["top", "--markdown"]):
            text = self.names(*command).replace("\\", "")
            for name in ("std::vector<char>::vector", "std::string::append", "Vec::clone"):
                self.assertIn(name, text, command)
            self.assertNotIn("allocator", text, command)

    def test_full_names_are_an_option(self):
        for command in (["top"], ["tree"], ["summary"], ["peek", "main"]):
            text = self.names(*command, "--full-names")
            for name in (VECTOR, APPEND, CLONE):
                self.assertIn(name, text, command)

    def test_csv_has_full_names(self):
        rows = csv.DictReader(io.StringIO(self.names("top", "--csv")))
        self.assertEqual({row["function"] for row in rows}, {"main", VECTOR, APPEND, CLONE})

    def test_json_has_full_and_short_names(self):
        rows = {row["name"]: row.get("short") for row in self.allo_json("top", self.heap)["rows"]}
        self.assertEqual(rows, {"main": None, VECTOR: "std::vector<char>::vector",
                                APPEND: "std::string::append", CLONE: "Vec::clone"})

    def test_files_keep_full_names(self):
        self.assertIn(VECTOR, self.allo("convert", "--to", "folded", self.heap))

    def test_functions_that_would_look_alike_have_parameters(self):
        overloads = self.file("overloads.folded", "main;parse(int) 5\nmain;parse(char) 4\nmain;load(int) 3\n")
        for command in ("top", "tree"):
            text = self.allo(command, overloads)
            self.assertIn("parse(int)", text)
            self.assertIn("parse(char)", text)
            self.assertNotIn("load(", text)
        self.assertNotIn("parse(", self.allo("top", "-n1", overloads))

    def test_a_short_name_is_a_pattern(self):
        for pattern in ("std::string::append", "=std::string::append", "/string::append$/", "=Vec::clone",
                        f"={VECTOR}"):
            rows = self.allo_json("top", "-F", pattern, self.heap)["rows"]
            self.assertEqual(len(rows), 2, pattern)

    def test_files_are_not_shortened(self):
        dhat = self.file("file.json", (GOLDEN / "dhat" / "valgrind-cpp.json").read_text()
                         .replace("(stl_vector.h:", "(a::b<int, int>.h:"))
        self.assertIn("a::b<int, int>.h", self.allo("top", "--by", "file", dhat))

    def test_a_long_name_keeps_its_method_at_any_width(self):
        long = "ns::" * 40 + "Store::insert_or_assign"
        wide = self.file("wide.folded", f"main;{long} 5\nmain;{'例' * 90}::加える 4\n")
        for columns in (60, 80, 100):
            for command in ("top", "tree"):
                status, text = on_terminal(ALLO, command, wide, columns=columns,
                                           env={"NO_COLOR": "1", "PAGER": "cat"})
                self.assertEqual(status, 0)
                self.assertIn("insert_or_assign", text)
                self.assertIn("::加える", text)
                self.assertLessEqual(max(map(columns_of, text.splitlines())), columns, text)
