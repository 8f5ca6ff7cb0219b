"""allo merge: sums of several profiles, and where they came from."""
import re

from allotest import ALLO, GOLDEN, Test
from recordings import CaptureTest, built

HEAP, CPP = GOLDEN / "dhat" / "valgrind-heap.json", GOLDEN / "dhat" / "valgrind-cpp.json"


class Merge(Test):
    def merge(self, *arguments, status=0):
        done = self.run_program(ALLO, "merge", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def sums(self, *files):
        return {metric["metric"]["name"]: metric["sum"]
                for file in files for metric in self.allo_json("info", file)["metrics"]}

    def test_sums_are_those_of_the_parts(self):
        self.merge(HEAP, CPP, "-o", "both.pb.gz")
        one, other, both = self.sums(HEAP), self.sums(CPP), self.sums("both.pb.gz")
        self.assertEqual(both, {name: one[name] + other[name] for name in one})

    def test_pprof_merges_to_the_same(self):
        for name, file in (("a", HEAP), ("b", CPP)):
            self.allo("convert", "-q", file, "-o", f"{name}.pb.gz")
        self.merge("a.pb.gz", "b.pb.gz", "-o", "both.pb.gz")
        tops = []
        for files in (["both.pb.gz"], ["a.pb.gz", "b.pb.gz"]):
            text = self.must("go", "tool", "pprof", "-top", "-unit=B", "-symbolize=none", "-nodefraction=0",
                             "-nodecount=1000", "-sample_index=alloc_space", *files)
            tops.append(sorted(re.findall(r"^ *(\d+)B? +\S+ +\S+ +(\d+)B? +\S+ +(.*)$", text, re.M)))
        self.assertEqual(tops[0], tops[1])
        self.assertGreater(len(tops[0]), 10)

    def test_a_database_has_the_labels_too(self):
        self.merge("--label", "shard", HEAP, CPP, "-o", "both.db")
        rows = self.allo_json("sql", "both.db", "select distinct text from label where name = 'shard'")["rows"]
        self.assertEqual(sorted(row[0] for row in rows), sorted(map(str, (CPP, HEAP))))

    def test_labels_tell_the_files_apart(self):
        self.merge("--label", "shard", HEAP, CPP, "-o", "both.pb.gz")
        tags = self.must("go", "tool", "pprof", "-tags", "-symbolize=none", "-unit=B", "-sample_index=alloc_space",
                         "both.pb.gz")
        found = {name: float(count) for count, name in re.findall(r"([\d.]+)B \(.*?\): (.+)", tags)}
        self.assertEqual(found, {str(file): self.sums(file)["alloc_bytes"] for file in (HEAP, CPP)})
        self.assertIn("labels", self.merge("--label", "shard", HEAP, CPP, "-o", "both.svg"))
        self.allo_fails("merge", "--label", "", HEAP, CPP, "-o", "x.pb.gz", status=2)

    def test_metrics_that_change_their_meaning_are_noted(self):
        said = self.merge(HEAP, CPP, "-o", "both.dhat")
        self.assertIn("peak_bytes is the sum of the peaks of all files", said)
        self.assertIn("max_bytes is the sum of each site's own maxima", said)
        self.assertNotIn("max_bytes adds up", self.merge(HEAP, CPP, "-M", "alloc_bytes", "-o", "a.json"))
        massif = GOLDEN / "massif" / "valgrind.massif"
        self.assertIn("alloc_bytes", self.merge(HEAP, massif, "-o", "mixed.pb.gz"))

    def test_the_same_file_twice_is_reported(self):
        (self.tmp / "link").symlink_to(HEAP)
        self.assertIn("is the same file as", self.merge(HEAP, CPP, "link", "-o", "both.pb.gz"))
        self.assertNotIn("is the same file as", self.merge(HEAP, CPP, "-o", "two.pb.gz"))

    def test_files_written_as_json(self):
        found = self.allo_json("merge", "-q", HEAP, CPP, "-o", "both.pb.gz")
        self.assertEqual(found["output"], "both.pb.gz")
        self.assertEqual(found["inputs"], [str(HEAP), str(CPP)])
        self.assertEqual(found["bytes"], (self.tmp / "both.pb.gz").stat().st_size)
        self.assertIn("access counts", found["left_out"])
        self.allo_fails("merge", "--json", HEAP, CPP, "--to", "folded", status=2)

    def test_one_file_is_nothing_to_merge(self):
        self.allo_fails("merge", HEAP, "-o", "x.pb.gz", status=2)
        self.allo_fails("merge", HEAP, CPP, status=2)
        self.allo_fails("merge", HEAP, CPP, "-o", "x.unknown", status=2)
        kept = self.file("kept.pb.gz", "precious")
        self.allo_fails("merge", HEAP, CPP, "-o", kept, status=2)
        self.assertEqual(kept.read_text(), "precious")


class Processes(CaptureTest):
    def test_recordings_of_a_run(self):
        for name in ("a", "b"):
            self.allo("run", "-q", "-o", f"{name}.allo", built("leaks.c"))
        self.allo("merge", "a.allo", "b.allo", "-o", "both.pb.gz")
        rows = {row["name"]: row for row in
                self.allo_json("top", "-M", "end_bytes", "--cum", "-n", 0, "both.pb.gz")["rows"]}
        self.assertEqual(rows["leak_on"]["total"], 2 * 30 * 101)
        self.assertEqual(rows["leak_on"]["total_blocks"], 2 * 30)
