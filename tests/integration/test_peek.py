"""allo peek: callers and callees, against go tool pprof -peek on the same profile."""
import csv
import io
import re

from allotest import ALLO, GOLDEN, ROOT, Test
from recordings import built

FOLDED = "main;parse;word 60\nmain;parse;line;word 30\nmain;draw 10\nmain;walk;walk;word 5\n"


class Blocks(Test):
    def setUp(self):
        super().setUp()
        self.heap = self.file("a.folded", FOLDED)

    def test_callers_stand_above_and_callees_below(self):
        self.assertEqual(self.allo("peek", "word", self.heap).splitlines(), [
            "samples: 105, measured",
            '1 function matches "word"',
            "",
            "callers   60   63.2%    parse",
            "          30   31.6%    line",
            "           5    5.3%    walk",
            "function  95   90.5%  word",
            "callees   95  100.0%    [self]"])
        self.assertEqual(self.allo("peek", "=main", self.heap).splitlines()[3:], [
            "callers   105  100.0%    [nobody]",
            "function  105  100.0%  main",
            "callees    90   85.7%    parse",
            "           10    9.5%    draw",
            "            5    4.8%    walk"])

    def test_a_recursion_is_no_caller_of_itself(self):
        match = self.allo_json("peek", "walk", self.heap)["matches"][0]
        self.assertEqual([row["name"] for row in match["callers"]], ["main"])
        self.assertEqual([row["name"] for row in match["callees"]], ["word"])

    def test_several_matches_are_bounded_and_reported(self):
        text = self.allo("peek", "/./", "-n", 1, self.heap)
        self.assertIn('6 functions match "/./", the 1 largest of them are here: -n 0 shows all', text)
        self.assertIn("callees    90   85.7%    parse\n           15   14.3%    [2 more: -n 0 shows all]\n", text)
        found = self.allo_json("peek", "/./", "-n", 2, self.heap)
        self.assertEqual((found["match_count"], len(found["matches"])), (6, 2))
        self.assertEqual(found["matches"][0]["callee_count"], 3)
        self.assertEqual(len(found["matches"][0]["callees"]), 2)

    def test_nothing_that_matches_is_said(self):
        done = self.run_program(ALLO, "peek", "nosuch", self.heap)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b'note: no function matches "nosuch"', done.stderr)
        self.assertIn(b"--keep-allocator", done.stderr)
        self.assertEqual(self.run_program(ALLO, "peek", "-q", "nosuch", self.heap).stderr, b"")

    def test_the_allocator_can_be_looked_at(self):
        heap = GOLDEN / "dhat" / "valgrind-heap.json"
        self.assertEqual(self.allo_json("peek", "=malloc", heap)["matches"], [])
        found = self.allo_json("peek", "=malloc", "--keep-allocator", heap)["matches"]
        self.assertEqual(len(found), 1)
        self.assertGreater(found[0]["caller_count"], 1)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.allo("peek", "=parse", "--csv", self.heap))))
        self.assertEqual([(row["relation"], row["total"], row["function"]) for row in rows], [
            ("caller", "90", "main"), ("match", "90", "parse"), ("callee", "60", "word"), ("callee", "30", "line")])

    def test_other_grains(self):
        heap = GOLDEN / "dhat" / "valgrind-heap.json"
        found = self.allo_json("peek", "--by", "file", "demo.c", heap)
        self.assertEqual([match["name"] for match in found["matches"]], ["demo.c"])
        sites = self.allo_json("peek", "--by", "site", "-M", "alloc_bytes", "=main", heap)["matches"]
        self.assertGreater(len(sites), 1)
        self.assertTrue(all(match["line"] > 0 for match in sites))

    def test_a_pattern_that_is_none_is_refused(self):
        self.allo_fails("peek", "/(/", self.heap, status=2)
        self.allo_fails("peek", "", self.heap, status=2)
        self.allo_fails("peek", "word", status=2)

    def test_odd_names_stay_on_their_line(self):
        odd = self.file("odd.folded", b"a\x1b[2Jb;" + b"n" * 3000 + b" 5\n")
        text = self.allo("peek", "/./", odd)
        self.assertNotIn("\x1b", text)
        self.assertIn("n" * 3000, text)


class GoToolPprof(Test):
    SANITIZED = False  # go and valgrind do the work here

    def theirs(self, index, *arguments):
        """{function: (flat, cum, {caller: bytes}, {callee: bytes})} as pprof -peek prints them."""
        text = self.must("go", "tool", "pprof", "-symbolize=none", "-unit=B", f"-sample_index={index}",
                         *arguments)
        blocks = {}
        for block in re.split(r"^-+\+-+\n", text, flags=re.M)[2:]:
            callers, callees, own = {}, {}, None
            for line in block.splitlines():
                before, name = line.split("|", 1)
                name = re.sub(r" \((?:partial-)?inline\)$", "", name.strip())
                numbers = re.findall(r"(-?\d+)B?(?:\s|$)", before)
                if line[:10].strip():
                    own, flat, cum = name, int(before.split()[0].rstrip("B")), int(before.split()[3].rstrip("B"))
                else:
                    (callees if own else callers)[name] = int(numbers[0])
            if own:
                blocks[own] = (flat, cum, callers, callees)
        return blocks

    def ours(self, metric, file):
        """The same by us; names that two files have are one function to pprof, and left out."""
        matches = self.allo_json("peek", "/./", "-n", 0, "-M", metric, file)["matches"]
        names = [match["name"] for match in matches]
        return {match["name"]: (match["self"], match["total"],
                                {row["name"]: row["total"] for row in match["callers"]},
                                {row["name"]: row["total"] for row in match["callees"]})
                for match in matches if names.count(match["name"]) == 1}

    def assert_agree(self, file):
        for metric, index in (("alloc_bytes", "alloc_space"), ("alloc_blocks", "alloc_objects"),
                              ("end_bytes", "end_space"), ("peak_bytes", "peak_space")):
            with self.subTest(metric):
                ours = self.ours(metric, file)
                if not ours:
                    continue  # which pprof takes for a failure
                theirs = self.theirs(index, "-peek", ".", file)
                self.assertEqual(ours, {name: row for name, row in theirs.items() if name in ours})
                self.assertGreater(len(ours), sum(row[1] > 0 for row in theirs.values()) - 2)
        self.assertGreater(len(ours), 3)  # of the last one

    def test_a_program_of_boxes(self):
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=a.dhat", built("boxes.cpp"), 23, 3, 5)
        # Frames without a name have different names here and there.
        self.allo("convert", "--trim-allocator", "--ignore", "mod:libstdc++", "a.dhat", "-o", "a.pb.gz")
        self.assert_agree("a.pb.gz")

    def test_ourselves(self):
        self.allo("convert", "-q", "--trim-allocator", ROOT / "examples" / "allo.dhat.json", "-o", "a.pb.gz")
        self.assert_agree("a.pb.gz")
