"""allo diff: its table and options, against go tool pprof on the same two profiles."""
import csv
import io
import re

from allotest import ALLO, GOLDEN, Test
from recordings import PROGRAMS, copy_compiled


def folded(**counts):
    return "".join(f"main;{name} {count}\n" for name, count in counts.items())


class Table(Test):
    def setUp(self):
        super().setUp()
        self.a = self.file("a.folded", folded(same=100, grown=100, shrunk=100, gone=50))
        self.b = self.file("b.folded", folded(same=100, grown=150, shrunk=20, new=30))

    def rows(self, *arguments):
        found = self.allo_json("diff", self.a, self.b, *arguments)["rows"]
        return [(row["name"], row["state"], row["base"], row["new"], row["change"]) for row in found]

    def test_the_largest_changes_come_first(self):
        self.assertEqual(self.allo("diff", self.a, self.b).splitlines(), [
            "samples: base 350, new 300, -50 (-14.3%)",
            "change  change%  base  new        function",
            "   -80   -80.0%   100   20        shrunk",
            "   +50   +50.0%   100  150        grown",
            "   -50  -100.0%    50    0  GONE  gone",
            "   +30              0   30  NEW   new",
            "1 new, 1 gone, 1 grown, 1 shrunk, 2 unchanged"])

    def test_only_some_kinds_of_change(self):
        self.assertEqual(self.rows("--only", "new"), [("new", "new", 0, 30, 30)])
        self.assertEqual(self.rows("--only", "gone"), [("gone", "gone", 50, 0, -50)])
        self.assertEqual(self.rows("--only", "new,grown"),
                         [("grown", "grown", 100, 150, 50), ("new", "new", 0, 30, 30)])
        self.assertEqual(self.rows("--only", "shrunk", "--only=gone"),
                         [("shrunk", "shrunk", 100, 20, -80), ("gone", "gone", 50, 0, -50)])
        self.assertEqual(self.rows("--only", "new,grown", "-n", 1),
                         [("grown", "grown", 100, 150, 50)])
        self.assertIn("1 more: -n 0 shows all\n",
                      self.allo("diff", self.a, self.b, "--only", "new,grown", "-n", 1))

    def test_nothing_of_a_kind_is_said(self):
        text = self.allo("diff", self.a, self.a, "--only", "gone")
        self.assertIn("nothing has changed: 5 functions, all the same\n", text)
        self.b.write_text(folded(same=100, grown=150, shrunk=100, gone=50))
        text = self.allo("diff", self.a, self.b, "--only", "gone,new")
        self.assertIn("no function is new or gone\n1 grown, 4 unchanged\n", text)

    def test_no_change_is_said_in_so_many_words(self):
        self.assertEqual(self.allo("diff", self.a, self.a).splitlines(), [
            "samples: base 350, new 350, no change in total",
            "nothing has changed: 5 functions, all the same"])
        self.assertEqual(self.allo_json("diff", self.a, self.a)["rows"], [])
        self.allo("diff", "--exit-code", self.a, self.a)

    def test_a_difference_is_status_3_if_asked_for(self):
        done = self.run_program(ALLO, "diff", "--exit-code", self.a, self.b)
        self.assertEqual((done.returncode, done.stderr), (3, b""))

    def test_normalized_totals_are_equal(self):
        diff = self.allo_json("diff", self.a, self.b, "--normalize", "-n", 0)
        self.assertTrue(diff["normalized"])
        self.assertEqual((diff["base"], diff["new"], diff["change"]), (300, 300, 0))
        # 350 become 300: a hundred of them become 85 or 86.
        bases = {row["name"]: row["base"] for row in diff["rows"]}
        for name, exact in (("same", 600 / 7), ("grown", 600 / 7), ("shrunk", 600 / 7),
                            ("gone", 300 / 7)):
            self.assertLess(abs(bases[name] - exact), 1)
        self.assertIn("base 300 (scaled to the new total), new 300, no change in total",
                      self.allo("diff", self.a, self.b, "--normalize"))

    def test_twice_the_same_is_no_difference_when_normalized(self):
        self.b.write_text(folded(same=200, grown=200, shrunk=200, gone=100))
        self.assertEqual(self.rows("--normalize"), [])
        self.allo("diff", "--normalize", "--exit-code", self.a, self.b)

    def test_csv_has_plain_numbers_and_whole_names(self):
        self.b.write_text('main;say "hi", <all>;f(int, char) 5000\n')
        rows = list(csv.DictReader(io.StringIO(self.allo("diff", "--csv", self.a, self.b))))
        self.assertEqual(rows[0], {"change": "+5000", "change%": "", "base": "0", "new": "5000",
                                   "state": "new", "function": "f(int, char)", "file": "",
                                   "line": ""})
        self.assertEqual(rows[1]["change%"], "-100.0000")
        top = list(csv.DictReader(io.StringIO(self.allo("top", "--csv", "-n", 0, self.b))))
        self.assertEqual([row["function"] for row in top], ["f(int, char)", "main",
                                                            'say "hi", <all>'])

    def test_sites_differ_by_their_lines(self):
        diff = self.allo_json("diff", GOLDEN / "dhat" / "valgrind-heap.json",
                              GOLDEN / "dhat" / "valgrind-cpp.json", "--by", "site")
        self.assertIn(("make_node", "demo.c", 14),
                      [(row["name"], row["file"], row["line"]) for row in diff["rows"]])

    def test_options_that_do_not_go_together_are_refused(self):
        for arguments in (["--only", "new", "--as", "tree"], ["--csv", "--as", "tree"],
                          ["--csv", "--json"], ["--only", "new", "-o", "x.pb.gz"],
                          ["--only", "larger"]):
            self.allo_fails("diff", *arguments, self.a, self.b, status=2)
        for name, option in (("--count", ["-n", "0"]), ("--count", ["--count=20"]), ("--by", ["--by=function"]),
                             ("--by", ["-g", "site"])):
            for form in (["--as", "tree"], ["--as", "tree", "--json"], ["--to", "folded"], ["-o", "x.svg"]):
                self.assertIn(f"{name} is for the table",
                              self.allo_fails("diff", *option, *form, self.a, self.b, status=2))


class GoToolPprof(Test):
    """The same comparison by pprof."""
    SANITIZED = False  # go and valgrind do the work here

    def setUp(self):
        super().setUp()
        copy_compiled(self.tmp / "boxes", PROGRAMS / "boxes.cpp", "g++", "-g", "-O1")
        for name, arguments in (("a", (23, 3, 5)), ("b", (31, 2, 9))):
            self.must("valgrind", "--tool=dhat", f"--dhat-out-file={name}.dhat", "./boxes", *arguments)
            self.allo("convert", "--trim-allocator", f"{name}.dhat", "-o", f"{name}.pb.gz")

    def top(self, *arguments):
        """{function: (flat, cum)} as pprof -top has them, in bytes or blocks."""
        text = self.must("go", "tool", "pprof", "-top", "-unit=B", "-symbolize=none", "-nodefraction=0",
                         "-nodecount=1000", *arguments)
        rows = re.findall(r"^ *(-?\d+)B? +\S+ +\S+ +(-?\d+)B? +\S+ +(.*?)(?: \((?:partial-)?inline\))?$", text, re.M)
        return {name: (int(flat), int(cum)) for flat, cum, name in rows if (flat, cum) != ("0", "0")}

    def test_a_written_difference_agrees_with_diff_base(self):
        for metric, index in (("alloc_bytes", "alloc_space"), ("alloc_blocks", "alloc_objects"),
                              ("end_bytes", "end_space"), ("peak_bytes", "peak_space")):
            with self.subTest(metric):
                self.allo("diff", "a.pb.gz", "b.pb.gz", "-M", metric, "-fo", "d.pb.gz")
                theirs = self.top(f"-sample_index={index}", "-diff_base=a.pb.gz", "b.pb.gz")
                self.assertEqual(self.top(f"-sample_index={index}", "d.pb.gz"), theirs)
                self.assertTrue(theirs)

    def test_the_table_has_the_same_numbers(self):
        theirs = self.top("-sample_index=alloc_space", "-diff_base=a.pb.gz", "b.pb.gz")
        ours = {row["name"]: row["change"] for row in
                self.allo_json("diff", "a.pb.gz", "b.pb.gz", "-M", "alloc_bytes", "-n", 0,
                               "--wrappers=none")["rows"]}
        self.assertEqual(ours, {name: flat for name, (flat, _) in theirs.items() if flat})
        self.assertEqual(ours["boxes::small(int)"], 8 * 1009)
        self.assertEqual(ours["boxes::leak(int)"], 4 * 4099)

    def test_normalized_numbers_are_in_proportion(self):
        # pprof scales the new profile to the base, we scale the base: shares of the whole agree.
        theirs = self.top("-sample_index=alloc_space", "-normalize", "-diff_base=a.pb.gz", "b.pb.gz")
        ours = self.allo_json("diff", "a.pb.gz", "b.pb.gz", "-M", "alloc_bytes", "-n", 0, "--normalize",
                              "--wrappers=none")
        before = self.allo_json("diff", "a.pb.gz", "b.pb.gz", "-M", "alloc_bytes")["base"]
        scale = before / ours["new"]
        for row in ours["rows"]:
            flat = theirs.get(row["name"], (0, 0))[0]
            self.assertLess(abs(row["change"] * scale - flat), 4, row)
        self.assertGreater(len(ours["rows"]), 3)
