"""allo hist against lives that are worked out here."""
import csv
import io

from allotest import ALLO, GOLDEN
from lives import KILLED, NEVER, PACKED, PLAIN, RAW, UTF8, LivesTest
from recordings import built
from terminal import on_terminal

HEAP = GOLDEN / "dhat" / "valgrind-heap.json"


class Bins(LivesTest):
    def check(self, path, options, blocks):
        """Every bin has the blocks whose sizes or lifetimes are within it, and none is left out."""
        found = self.allo_json("hist", *options, path)
        self.assertTrue(found["exact"])
        ended = [block for block in blocks if block.lifetime is not None]
        never = [block for block in blocks if block.free_ns == NEVER]
        for by, of, value in (("size", blocks, lambda block: block.size),
                              ("lifetime", ended, lambda block: block.lifetime)):
            histogram = found[by]
            self.assertEqual((histogram["blocks"], histogram["bytes"]), (len(of), sum(block.size for block in of)))
            for each in histogram["bins"]:
                within = [block for block in of if each["from"] <= value(block) <= each["to"]]
                self.assertEqual((each["blocks"], each["bytes"]), (len(within), sum(block.size for block in within)))
            self.assertEqual(sum(each["blocks"] for each in histogram["bins"]), len(of))
            for before, after in zip(histogram["bins"], histogram["bins"][1:]):
                self.assertEqual(before["to"] + 1, after["from"])
        self.assertEqual((found["lifetime"]["never_blocks"], found["lifetime"]["never_bytes"]),
                         (len(never), sum(block.size for block in never)))

    def test_bins_count_the_sizes_within_them(self):
        for path in (RAW, PACKED, KILLED, self.record(built("resizes.c")), self.record(built("handover.c")),
                     self.record("ls", "-l", "/usr/bin")):
            self.check(path, (), self.lives(path).blocks)

    def test_filters(self):
        path = self.record(built("handover.c"))
        blocks = self.lives(path).blocks
        maker = next(block.tid for block in blocks if block.size == 2005)
        middle = blocks[len(blocks) // 2].alloc_ns
        for options, is_wanted in ((("--size", "2000..2004"), lambda block: 2000 <= block.size <= 2004),
                                   (("--live",), lambda block: block.free_ns == NEVER),
                                   (("--thread", "maker-2"), lambda block: block.tid == maker),
                                   (("--at", f"{middle}ns"), lambda block: block.alloc_ns <= middle < block.free_ns),
                                   (("--range", f"..{middle}ns"), lambda block: block.alloc_ns < middle),
                                   (("--lifetime", "1us.."), lambda block: (block.lifetime or 0) >= 1000)):
            self.check(path, options, [block for block in blocks if is_wanted(block)])
        made = self.allo_json("hist", "-F", "fn:=make", path)["size"]
        self.assertEqual(made["bins"], [{"from": 1025, "to": 2048, "blocks": 98,
                                         "bytes": sum((23 + i) * (2003 + i) for i in range(4))}])

    def test_all_lifetimes_are_those_of_the_metric(self):
        """Bins of the same lifetime each would add up to it; wide ones can only be near."""
        path = self.record(built("resizes.c"))
        blocks = self.lives(path)
        info = self.allo_json("info", path)
        sums = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
        lived = sum(block.lifetime for block in blocks.blocks if block.lifetime is not None)
        left = sum(info["duration_ns"] - block.first_ns for block in blocks.blocks if block.free_ns == NEVER)
        self.assertEqual(lived + left, sums["lifetime"])

    def test_bins_that_are_given(self):
        found = self.allo_json("hist", "--by", "size", "--bins", "64,1009,1K,2K", PACKED)
        self.assertNotIn("lifetime", found)
        blocks = self.lives(PACKED).blocks
        for each in found["size"]["bins"]:
            self.assertEqual(each["blocks"], sum(each["from"] <= block.size <= each["to"] for block in blocks))
        borders = {each["from"] for each in found["size"]["bins"]}
        self.assertLessEqual(borders, {0, 64, 1009, 1024, 2048})

    def test_bins_that_cannot_be(self):
        for options, said in ((("--bins", "1,2"), "needs --by"), (("--by", "size", "--bins", "4,2"), "must ascend"),
                              (("--by", "size", "--bins", "4,x"), "'x' is not a number"),
                              (("--by", "lifetime", "--bins", "1ms,1us"), "must ascend"),
                              (("--by", "size", "--bins", ",".join(map(str, range(1, 200)))), "more than 128 bins")):
            self.assertIn(said, self.allo_fails("hist", *options, PACKED, status=2))


class Sums(LivesTest):
    """Of profiles, which have no single allocations."""

    def test_stacks_count_with_their_averages(self):
        done = self.run_program(ALLO, "hist", HEAP)
        self.assertIn(b"each stack's blocks count with their average", done.stderr)
        self.assertIn(b"average size", done.stdout)
        found = self.allo_json("hist", HEAP)
        sums = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", HEAP)["metrics"]}
        self.assertFalse(found["exact"])
        for by, unit in (("size", "bytes"), ("lifetime", "instructions")):
            self.assertEqual(found[by]["unit"], unit)
            self.assertEqual((found[by]["blocks"], found[by]["bytes"]), (sums["alloc_blocks"], sums["alloc_bytes"]))
            self.assertEqual(sum(each["blocks"] for each in found[by]["bins"]), sums["alloc_blocks"])

    def test_missing_data_is_reported(self):
        folded = self.file("a.folded", "main;a 5\n")
        self.assertIn("has no single allocations", self.allo_fails("hist", folded, status=2))
        pprof = GOLDEN / "pprof" / "go-allocs.pb.gz"
        self.assertIn("nor lifetimes", self.allo_fails("hist", "--by", "lifetime", pprof, status=2))
        self.assertNotIn("lifetime", self.allo_json("hist", pprof))
        self.assertIn("--size, --lifetime and --live", self.allo_fails("hist", "--live", HEAP, status=2))
        self.assertIn("cannot be read in parts", self.allo_fails("hist", "--at", "peak", HEAP, status=2))


class Printing(LivesTest):
    def test_bars_are_as_long_as_blocks_are_many(self):
        text = self.allo("hist", "--by", "size", PACKED, env=PLAIN)
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^ +size +blocks +bytes$")
        bars = {}
        for line in lines[1:-1]:
            bars[line[:23].strip()] = line.count("#")
        self.assertEqual(bars["513 B - 1.00 KiB"], 30)
        self.assertEqual(lines[-1], "exactly 1,009 B: 23 blocks, 82.1% of all")
        self.assertTrue(text.isascii())
        self.assertIn("█", self.allo("hist", PACKED, env=UTF8))

    def test_csv_has_the_same_numbers(self):
        rows = list(csv.DictReader(io.StringIO(self.allo("hist", "--csv", PACKED))))
        found = self.allo_json("hist", PACKED)
        for by in ("size", "lifetime"):
            bins = [{key: int(value) for key, value in row.items() if key != "by"} for row in rows
                    if row["by"] == by and row["from"]]
            self.assertEqual(bins, found[by]["bins"])
        never, = [row for row in rows if row["from"] == ""]
        self.assertEqual(int(never["blocks"]), found["lifetime"]["never_blocks"])

    def test_on_a_terminal(self):
        env = {"LC_ALL": "C.UTF-8", "PAGER": "cat", "TERM": "xterm"}
        self.assertIn("\033[32m", on_terminal(ALLO, "hist", PACKED, rows=60, env=env)[1])
        self.assertNotIn("\033", on_terminal(ALLO, "hist", PACKED, rows=60, env={**env, "NO_COLOR": "1"})[1])

    def test_nothing_happened(self):
        for path in self.without_blocks():
            self.assertEqual(self.allo_json("hist", path)["size"]["bins"], [])
            self.assertIn("no blocks", self.allo("hist", path))

    def test_any_beginning_of_a_recording_has_one(self):
        for form in ("raw", "packed"):
            for path in self.cuts(form):
                done = self.run_program(ALLO, "hist", path)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_a_pipe_is_read(self):
        for path in (PACKED, HEAP):
            self.assertEqual(self.allo("hist", "-", input=path.read_bytes()), self.allo("hist", path))
