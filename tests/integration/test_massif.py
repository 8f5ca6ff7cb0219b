"""massif's snapshots and Valgrind's xtrees, against the numbers of a program that are known."""
import re

from allotest import GOLDEN, Test

PROGRAM = """
#include <stdlib.h>
static void *kept[23], *volatile sink;
__attribute__((noinline)) static void *make(size_t n) { return malloc(n); }
static inline __attribute__((always_inline)) void *inlined(size_t n) { return make(n); }
__attribute__((noinline)) static void keep(void)
{
        for (int i = 0; i < 23; i++)
                kept[i] = inlined(1009);
}
__attribute__((noinline)) static void few(void) { sink = make(11); }
__attribute__((noinline)) static void fewer(void) { sink = make(7); }
__attribute__((noinline)) static void peak(void)
{
        void *block[7];
        for (int i = 0; i < 7; i++)
                block[i] = make(100003);
        for (int i = 0; i < 7; i++)
                free(block[i]);
}
int main(void)
{
        keep();
        few();
        fewer();
        peak();
        return 0;
}
"""

KEPT = 23 * 1009 + 11 + 7
PEAK = KEPT + 7 * 100003
REST = "[below massif's threshold]"

HEAD = "desc: (none)\ncmd: ./p\ntime_unit: ms\n"


def snapshot(number, heap, tree="", kind="empty", extra=0):
    rule = "#-----------\n"
    return (f"{rule}snapshot={number}\n{rule}time={number * 10}\nmem_heap_B={heap}\n"
            f"mem_heap_extra_B={extra}\nmem_stacks_B=0\nheap_tree={kind}\n{tree}")


class Massif(Test):
    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"]
                for metric in self.allo_json("info", path)["metrics"]}

    def totals(self, path, metric):
        rows = self.allo_json("top", "-M", metric, "--count=0", "--cum", path)["rows"]
        return {row["name"]: row["total"] for row in rows if row["total"]}


class Valgrind(Massif):
    SANITIZED = False  # Valgrind does the work here

    def record(self, *options):
        self.must("gcc", "-g", "-O1", self.file("program.c", PROGRAM), "-o", "program")
        self.must("valgrind", "-q", *options, "./program")

    def test_the_peak_is_that_of_the_program(self):
        self.record("--tool=massif", "--massif-out-file=out", "--peak-inaccuracy=0", "--threshold=0")
        self.assertEqual(self.sums("out")["peak_bytes"], PEAK)
        self.assertIn("inlining", self.allo("info", "out"))
        totals = self.totals("out", "peak_bytes")
        for function, bytes in (("peak", 7 * 100003), ("keep", 23 * 1009), ("inlined", 23 * 1009),
                                ("few", 11), ("fewer", 7), ("main", PEAK), ("make", PEAK)):
            self.assertEqual((function, totals[function]), (function, bytes))

    def test_every_function_holds_the_same_as_in_dhat(self):
        self.record("--tool=massif", "--massif-out-file=out", "--peak-inaccuracy=0", "--threshold=0")
        self.record("--tool=dhat", "--dhat-out-file=dhat")
        ours, theirs = self.totals("out", "peak_bytes"), self.totals("dhat", "peak_bytes")
        for function in ("main", "make", "keep", "inlined", "peak", "few", "fewer"):
            self.assertEqual((function, ours[function]), (function, theirs[function]))

    def test_omitted_callers_are_still_counted(self):
        self.record("--tool=massif", "--massif-out-file=out", "--peak-inaccuracy=0", "--threshold=50")
        self.assertEqual(self.sums("out")["peak_bytes"], PEAK)
        totals = self.totals("out", "peak_bytes")
        self.assertEqual((totals["peak"], totals[REST]), (7 * 100003, KEPT))
        self.assertNotIn("keep", totals)

    def test_the_last_snapshot_is_the_end(self):
        self.record("--tool=massif", "--massif-out-file=out", "--detailed-freq=1", "--threshold=0",
                    "--time-unit=B")
        text = (self.tmp / "out").read_text()
        heaps = re.findall(r"^mem_heap_B=(\d+)", text, re.M)
        self.assertTrue(text.rsplit("snapshot=", 1)[1].count("heap_tree=detailed"))
        self.assertEqual(self.sums("out")["end_bytes"], int(heaps[-1]))

    def test_an_xtree_has_all_numbers(self):
        self.record("--tool=memcheck", "--xtree-memory=full", "--xtree-memory-file=out.ms")
        self.assertEqual(self.sums("out.ms"),
                         {"live_bytes": KEPT, "live_blocks": 25, "alloc_bytes": PEAK,
                          "alloc_blocks": 32, "freed_bytes": 7 * 100003, "freed_blocks": 7})
        self.assertEqual(self.totals("out.ms", "live_blocks")["keep"], 23)


class MassifFiles(Massif):
    def test_sums_match_the_snapshot(self):
        for name, bytes in (("valgrind", 1178112), ("valgrind-stacks", 1178112),
                            ("demo-export", 1178112)):
            with self.subTest(name):
                path = GOLDEN / "massif" / f"{name}.massif"
                self.assertEqual(self.sums(path)["peak_bytes"], bytes)

    def test_without_a_peak_the_largest_tree_is_taken(self):
        path = self.file("out", HEAD + snapshot(0, 5, "n0: 5 root\n", "detailed")
                         + snapshot(1, 9, "n1: 9 root\n n0: 7 0x1: f (a.c:1)\n", "detailed")
                         + snapshot(2, 8, "n0: 8 root\n", "detailed") + snapshot(3, 11))
        info = self.allo_json("info", path)
        self.assertEqual([metric["sum"] for metric in info["metrics"]], [9])
        self.assertEqual(self.totals(path, "peak_bytes"), {"f": 7, REST: 2})
        self.assertIn("the largest snapshot, of 11 bytes", info["comments"][0])
        self.assertEqual(info["duration_ns"], 30 * 1000000)

    def test_the_marked_peak_comes_before_larger_ones(self):
        path = self.file("out", HEAD + snapshot(0, 5, "n1: 5 root\n n0: 5 0x1: f (a.c:1)\n", "peak", 3)
                         + snapshot(1, 9, "n0: 9 root\n", "detailed"))
        self.assertEqual(self.sums(path), {"peak_bytes": 5, "end_bytes": 9})
        self.assertEqual(self.allo_json("info", path)["comments"],
                         ["at the peak: 3 bytes of the allocator's own"])

    def test_equal_addresses_are_inlined_calls_unless_they_recurse(self):
        for outer, has_inlining in (("0x1: g (a.c:2)", True), ("0x2: g (a.c:2)", False),
                                    ("0x1: f (a.c:1)", False)):
            with self.subTest(outer):
                tree = f"n1: 5 root\n n1: 5 0x1: f (a.c:1)\n  n0: 5 {outer}\n"
                path = self.file("out", HEAD + snapshot(0, 5, tree, "peak"))
                self.assertEqual("inlining" in self.allo("info", path), has_inlining)

    def test_other_numbers_of_an_xtree_keep_their_names(self):
        path = self.file("out", HEAD + "".join(
            snapshot(i, 7, f"n1: 7 {root}\n n0: 7 0x1: f (a.c:1)\n", "detailed")
            for i, root in enumerate(("curB : currently allocated Bytes", "newB : new Bytes",
                                      "newBk : new Blocks"))))
        metrics = self.allo_json("info", path)["metrics"]
        self.assertEqual([(m["metric"]["name"], m["metric"]["unit"], m["sum"]) for m in metrics],
                         [("live_bytes", "bytes", 7), ("newB", "bytes", 7), ("newBk", "count", 7)])

    def test_callers_that_are_left_out_come_outermost(self):
        tree = ("n2: 30 root\n n2: 20 0x1: f (a.c:1)\n  n0: 15 0x2: main (a.c:9)\n"
                "  n0: 5 in 1 place, below massif's threshold (1.00%)\n"
                " n0: 10 in 3 places, all below massif's threshold (1.00%)\n")
        path = self.file("out", HEAD + snapshot(0, 30, tree, "peak"))
        self.assertEqual(self.totals(path, "peak_bytes"), {"f": 20, "main": 15, REST: 15})
        nodes = self.allo_json("tree", path)["nodes"]
        self.assertEqual({(nodes[node["parent"]].get("name"), node["name"], node["self"])
                          for node in nodes[1:]},
                         {(None, "main", 0), ("main", "f", 15), (None, REST, 10), (REST, "f", 5)})

    def test_a_program_that_never_allocates_has_a_profile(self):
        path = self.file("out", HEAD + snapshot(0, 0) + snapshot(1, 0))
        self.assertEqual(self.sums(path), {"peak_bytes": 0})

    def test_damage_is_named_with_its_place(self):
        for text, error in (
                (snapshot(0, 5) + snapshot(1, 4), "has no detailed snapshot"),
                ("", "has no snapshot"),
                (snapshot(0, 5, "n1: 5 root\n", "peak"), "the file ends within a tree"),
                (snapshot(0, 5, "n1: 5 root\nn0: 5 f\n", "peak"),
                 "13:1: expected \"nCALLERS: BYTES NAME\", indented by 1"),
                (snapshot(0, 5, "n1: 5 root\n n0: 6 f\n", "peak"), "13:1: the callers of a function"),
                (snapshot(0, 5, "n0: 6 root\n", "peak"), "holds 6 bytes, but its snapshot 5"),
                (snapshot(0, 5, "n99999999999999999999: 5 x\n", "peak"), "12:1: expected \"nCALL"),
                (snapshot(0, 5, "", "huge"), "11:1: expected \"heap_tree=empty, detailed or peak\""),
                (snapshot(0, 5).replace("mem_stacks_B=0\n", ""), "10:1: expected \"mem_stacks_B=\""),
                ("what?\n", "4:1: expected \"snapshot=NUMBER\"")):
            with self.subTest(error):
                self.assertIn(error, self.allo_fails("info", self.file("broken", HEAD + text)))
