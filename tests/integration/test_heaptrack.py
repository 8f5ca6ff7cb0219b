"""heaptrack's recordings, against heaptrack_print."""
import gzip
import random
import re
import shlex

from allotest import ALLO, GOLDEN, Test

PROGRAM = """
#include <stdlib.h>
#include <string.h>
static void *kept[23], *volatile sink;
__attribute__((noinline)) static void *make(size_t n) { return memset(malloc(n), 1, n); }
__attribute__((noinline)) static void keep(void)
{
        for (int i = 0; i < 23; i++)
                kept[i] = make(1009);
}
__attribute__((noinline)) static void peak(void)
{
        void *block[7];
        for (int i = 0; i < 7; i++)
                block[i] = make(100003);
        for (int i = 0; i < 7; i++)
                free(block[i]);
}
__attribute__((noinline)) static void temporary(void)
{
        for (int i = 0; i < 31; i++) {
                sink = make(77);
                free(sink);
        }
}
int main(void)
{
        keep();
        peak();
        temporary();
        peak();
        sink = make(55);
        return 0;
}
"""

INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"

# Our names, and those of heaptrack.
COSTS = {"alloc_blocks": "allocations", "temporary_blocks": "temporary", "end_bytes": "leaked",
         "peak_bytes": "peak"}


class Heaptrack(Test):
    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"]
                for metric in self.allo_json("info", path)["metrics"]}

    def heaptrack_print(self, path, cost):
        """The sum over all stacks; heaptrack's own summary is rounded."""
        self.must("heaptrack_print", path, "-F", "costs", "--flamegraph-cost-type", cost, "-p0", "-a0",
                  "-T0", "--disable-builtin-suppressions", "--disable-embedded-suppressions")
        lines = (self.tmp / "costs").read_text().splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines)

    def agree(self, path):
        sums = self.sums(path)
        for ours, theirs in COSTS.items():
            self.assertEqual((ours, sums[ours]), (ours, self.heaptrack_print(path, theirs)))
        return sums


class HeaptrackPrint(Heaptrack):
    SANITIZED = False  # heaptrack does the work here

    def test_sums_of_the_samples_are_those_of_heaptrack(self):
        for name in ("demo.zst", "demo.gz", "handmade.v3.txt"):
            with self.subTest(name):
                self.agree(GOLDEN / "heaptrack" / name)

    def test_a_recording_is_read_as_by_heaptrack(self):
        self.must("gcc", "-g", "-O1", self.file("program.c", PROGRAM), "-o", "program")
        self.must("heaptrack", "-o", "recorded", "./program")
        path = next(self.tmp.glob("recorded.*"))
        self.agree(path)
        rows = {row["name"]: row for row in self.allo_json("top", "-g", "function", "--count=0", path,
                                                           "--cum")["rows"]}
        self.assertEqual((rows["peak"]["total"], rows["peak"]["total_blocks"]), (7 * 100003, 7))
        self.assertEqual((rows["keep"]["total"], rows["keep"]["total_blocks"]), (23 * 1009, 23))
        for metric, function, total in (("alloc_bytes", "peak", 2 * 7 * 100003),
                                        ("end_blocks", "keep", 23), ("end_bytes", "keep", 23 * 1009),
                                        ("temporary_blocks", "temporary", 31)):
            rows = self.allo_json("top", "-M", metric, "--count=0", "--cum", path)["rows"]
            self.assertEqual([row["total"] for row in rows if row["name"] == function], [total])

    def test_a_raw_recording_is_refused_and_read_once_interpreted(self):
        self.must("gcc", "-g", "-O1", self.file("program.c", PROGRAM), "-o", "program")
        self.must("heaptrack", "--raw", "-o", "recorded", "./program")
        raw = next(self.tmp.glob("recorded.raw.*"))
        self.assertIn("raw recording", self.allo_fails("info", raw))
        self.must("sh", "-c", f"zstd -dc {shlex.quote(str(raw))} | {INTERPRET} > interpreted")
        rows = self.allo_json("top", "-M", "end_bytes", "--cum", "interpreted")["rows"]
        self.assertIn(("keep", 23 * 1009), {(row["name"], row["total"]) for row in rows})

    def test_random_events_are_added_up_as_by_heaptrack(self):
        pick = random.Random(3)
        lines = ["v 10400 3", "X ./made up", "I 1000 1000", "s 9 /bin/made", "s 4 main"]
        lines += [f"s {len(f'function{i}'):x} function{i}" for i in range(50)]
        lines += [f"i {0x401000 + i:x} 1 {i + 3:x}" for i in range(50)]
        traces, infos, live = 0, 0, []
        for step in range(60000):
            if traces < 500 and pick.random() < .1 or traces == 0:
                lines.append(f"t {pick.randrange(1, 51):x} {pick.randrange(0, traces + 1):x}")
                traces += 1
            if infos < 300 and pick.random() < .1 or infos == 0:
                lines.append(f"a {pick.randrange(0, 5000):x} {pick.randrange(1, traces + 1):x}")
                infos += 1
            if live and pick.random() < (.6 if step // 9000 % 2 else .4):
                lines.append(f"- {live.pop(pick.choice([-1, pick.randrange(len(live))])):x}")
            else:
                live.append(pick.randrange(infos))
                lines.append(f"+ {live[-1]:x}")
            if pick.random() < .01:
                lines.append(f"c {step // 100:x}")
        path = self.file("made.txt", "\n".join(lines) + "\n")
        self.assertGreater(self.agree(path)["temporary_blocks"], 1000)

    def test_a_free_of_the_first_information_after_a_free_counts_as_in_heaptrack(self):
        head = "v 10400 3\nX ./p\nI 1000 1000\ns 6 /bin/p\ns 4 main\ni 401000 1 2\nt 1 0\na 10 1\na 20 1\n"
        for events, count in (("+ 0\n+ 1\n- 1\n- 0\n", 2), ("+ 0\n+ 1\n- 0\n- 1\n", 0), ("+ 1\n+ 0\n- 1\n+ 1\n- 0\n", 0)):
            with self.subTest(events):
                self.assertEqual(self.agree(self.file("made.txt", head + events))["temporary_blocks"], count)

    def test_older_formats_are_read_as_by_heaptrack(self):
        text = (GOLDEN / "heaptrack" / "handmade.v3.txt").read_text()
        text = re.sub(r"^s [0-9a-f]+ ", "s ", text, flags=re.M)
        newest = self.sums(GOLDEN / "heaptrack" / "handmade.v3.txt")
        for version in ("v 10100 2", "v 10100 1", "v 10200"):
            with self.subTest(version):
                path = self.file("old.txt", text.replace("v 10400 3", version))
                self.assertEqual(self.agree(path), newest)


class HeaptrackFiles(Heaptrack):
    HEAD = "v 10400 3\nX ./p\nI 1000 1000\ns 6 /bin/p\ns 4 main\ni 401000 1 2\nt 1 0\na 10 1\n"

    def test_inlined_calls_are_lines_of_one_frame(self):
        tree = self.allo("tree", GOLDEN / "heaptrack" / "handmade.v3.txt")
        self.assertIn("main > main > inner", tree)
        info = self.allo_json("info", GOLDEN / "heaptrack" / "handmade.v3.txt")
        self.assertEqual((info["frames"], info["functions"], info["duration_ns"]), (2, 2, 20000000))

    def test_packing_makes_no_difference(self):
        plain = GOLDEN / "heaptrack" / "handmade.v3.txt"
        packed = self.file("packed", gzip.compress(plain.read_bytes()))
        self.assertEqual(self.sums(packed), self.sums(plain))

    def test_of_equal_peaks_the_first_counts(self):
        path = self.file("peaks", self.HEAD + "a 10 0\n+ 0\n+ 0\n- 0\n+ 1\n- 1\n")
        rows = self.allo_json("top", "-M", "peak_bytes", path)["rows"]
        self.assertEqual([(row["name"], row["self"]) for row in rows], [("main", 32)])

    def test_attaching_starts_all_over(self):
        path = self.file("attached", self.HEAD + "+ 0\n+ 0\nA\n+ 0\n- 0\n- 0\n")
        self.assertEqual(self.sums(path),
                         {"alloc_blocks": 1, "alloc_bytes": 16, "peak_blocks": 1, "peak_bytes": 16,
                          "end_blocks": 0, "end_bytes": 0, "temporary_blocks": 1})
        self.assertEqual(self.allo_json("verify", path)["notes"], [])

    def test_a_free_of_nothing_is_noted(self):
        path = self.file("odd", self.HEAD + "+ 0\n- 0\n- 0\n")
        done = self.run_program(ALLO, "verify", "--json", path)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b'"unknown-free"', done.stdout)
        self.assertEqual(self.sums(path)["end_blocks"], 0)

    def test_damage_is_named_with_its_place(self):
        lines = self.HEAD.count("\n")
        for text, error in (
                ("v 10400 4\n", "1:1: has heaptrack's file format 4"),
                ("v 10000\n", "1:1: has heaptrack's file format 0"),
                (self.HEAD + "t 1 2\n", f"{lines + 1}:1: trace 2 does not exist"),
                (self.HEAD + "t 2 0\n", f"{lines + 1}:1: instruction 2 does not exist"),
                (self.HEAD + "a 10 2\n", f"{lines + 1}:1: trace 2 does not exist"),
                (self.HEAD + "+ 1\n", f"{lines + 1}:1: allocation information 1 does not exist"),
                (self.HEAD + "i 5 9\n", f"{lines + 1}:1: string 9 does not exist"),
                (self.HEAD + "s 9 abc\n", f"{lines + 1}:1: expected \"s\", a length"),
                (self.HEAD + "+ 10 1 7f00\n", f"{lines + 1}:1: this is a raw recording"),
                (self.HEAD + "+ 0\n" * 9 + "a ffffffffffffffff 1\n+ 1\n",
                 f"{lines + 11}:1: more than 2^64 bytes"),
                (self.HEAD + "+ 0\n" * 500000 + "?\n", f"{lines + 500001}:1: expected a line")):
            with self.subTest(error):
                self.assertIn(error, self.allo_fails("info", self.file("broken", text)))
