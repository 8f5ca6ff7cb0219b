"""Our massif files, read by ms_print and by our reader."""
import collections
import json
import re

from allotest import ALLO, GOLDEN, Test
from profilejson import Profile
from test_massif import HEAD, KEPT, PEAK, PROGRAM, REST, snapshot
from test_views import Part

ROOT_LABEL = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."


class Snapshot:
    def __init__(self, text):
        fields = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
        self.time = float(fields["time"])
        self.bytes = int(fields["mem_heap_B"])
        self.kind = fields["heap_tree"]
        self.lines = text.split("heap_tree=")[1].split("\n")[1:-1]


def snapshots(path):
    head, *rest = re.split(r"^#-+\nsnapshot=\d+\n#-+\n", path.read_text(), flags=re.M)
    return head, [Snapshot(text) for text in rest]


class Written(Test):
    def convert(self, *arguments, name="out.massif"):
        self.allo("convert", "-qf", *arguments, "-o", name)
        return self.tmp / name

    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"]
                for metric in self.allo_json("info", path)["metrics"]}

    def check_node(self, lines, depth):
        """A node and its callers: counts are those of lines, and bytes add up."""
        found = re.fullmatch(r"( *)n(\d+): (\d+) (.*)", next(lines))
        self.assertEqual(len(found[1]), depth)
        callers = [self.check_node(lines, depth + 1) for _ in range(int(found[2]))]
        if callers:
            self.assertEqual(sum(callers), int(found[3]))
            self.assertEqual(callers, sorted(callers, reverse=True))
        return int(found[3])

    def check(self, path):
        """That a file is as massif has it; its snapshots."""
        head, found = snapshots(path)
        self.assertRegex(head, r"\Adesc: .+\ncmd: .*\ntime_unit: (i|ms|B)\n\Z")
        self.assertLessEqual(len(found), 100)
        self.assertEqual([s.time for s in found], sorted(s.time for s in found))
        self.assertLessEqual(sum(s.kind == "peak" for s in found), 1)
        for s in found:
            if s.kind == "peak":
                self.assertEqual(s.bytes, max(s.bytes for s in found))
            self.assertEqual(s.lines == [], s.kind == "empty")
            if s.lines:
                self.assertTrue(s.lines[0].endswith(f": {s.bytes} {ROOT_LABEL}"))
                lines = iter(s.lines)
                self.assertEqual(self.check_node(lines, 0), s.bytes)
                self.assertEqual(list(lines), [])
        return found

    def shown(self, path):
        """The peak in the output of ms_print: its bytes, and its tree."""
        text = self.must("ms_print", "--threshold=0", path)
        peak = re.search(r"Detailed snapshots: \[.*?(\d+) \(peak\)", text)[1]
        found = re.search(rf"^ *{peak} +[\d,.]+ +([\d,]+) .*\n(100\.00% (?:.*\n)*?)(?:-{{80}}|\Z)", text, re.M)
        return int(found[1].replace(",", "")), found[2]


class Files(Written):
    def inputs(self):
        for folder in ("dhat", "folded", "pprof", "massif", "heaptrack", "jemalloc", "gperftools", "allo"):
            for path in sorted((GOLDEN / folder).iterdir()):
                if not path.name.startswith("from-") and path.name != "demo.raw.zst":
                    yield path

    def test_all_are_as_massif_has_them(self):
        for path in self.inputs():
            with self.subTest(path.name):
                out = self.convert(path)
                self.check(out)
                self.must("ms_print", out)
                sums = self.sums(path)
                # Go prefers all bytes that were ever allocated for some files: they are no heap.
                shown = self.allo_json("top", path)
                heap = sums.get("live_bytes", shown["sum"]) if shown["metric"]["name"] == "alloc_bytes" else shown["sum"]
                self.assertEqual(self.sums(out)["peak_bytes"], max(heap, 0))

    def test_memory_that_was_ever_allocated_is_not_the_heap(self):
        path = GOLDEN / "pprof" / "go-allocs.pb.gz"
        self.assertEqual(self.allo_json("top", path)["metric"]["name"], "alloc_bytes")  # as Go prefers here
        sums = self.sums(path)
        self.assertLess(sums["live_bytes"], sums["alloc_bytes"])
        self.assertEqual(max(s.bytes for s in self.check(self.convert(path))), sums["live_bytes"])
        # -M alone can ask for it, and there is a warning.
        done = self.run_program(ALLO, "convert", "-f", path, "-M", "alloc_bytes", "-o", "out.massif")
        self.assertIn(b"not live memory", done.stderr)
        self.assertEqual(max(s.bytes for s in self.check(self.tmp / "out.massif")), sums["alloc_bytes"])

    def test_snapshots_of_massif_come_back(self):
        for name in ("valgrind", "demo-export"):
            path = GOLDEN / "massif" / f"{name}.massif"
            before, after = snapshots(path)[1], self.check(self.convert(path))
            self.assertEqual([(s.time, s.bytes) for s in after], [(s.time, s.bytes) for s in before])
            self.assertEqual([s.lines for s in after if s.kind == "peak"],
                             [s.lines for s in before if s.kind == "peak"])

    def test_callers_below_the_threshold_are_counted(self):
        few = "".join(f"main;few{i};few 1\n" for i in range(17))
        path = self.file("in.folded", "main;much 990\n" + few + "main;many;few 1000\n" + "main;one 3\n")
        tree = self.check(self.convert(path))[1].lines
        rest = "below massif's threshold (1.00%)"
        self.assertEqual(tree, [
            f"n3: 2010 {ROOT_LABEL}",
            " n2: 1017 0x0: few (in ???)",
            "  n1: 1000 0x0: many (in ???)",
            "   n0: 1000 0x0: main (in ???)",
            f"  n0: 17 in 17 places, all {rest}",
            " n1: 990 0x0: much (in ???)",
            "  n0: 990 0x0: main (in ???)",
            f" n0: 3 in 1 place, {rest}"])

    def test_stacks_that_end_where_others_go_on_are_a_place(self):
        path = self.file("in.folded", "f 500\nmain;f 400\n")
        self.assertEqual(self.check(self.convert(path))[1].lines, [
            f"n1: 900 {ROOT_LABEL}", " n2: 900 0x0: f (in ???)",
            "  n0: 500 in 1 place, below massif's threshold (1.00%)", "  n0: 400 0x0: main (in ???)"])

    def test_stacks_end_after_200_calls(self):
        path = self.file("in.folded", ";".join(f"f{i}" for i in range(100000)) + " 5\n")
        out = self.convert(path)
        self.assertEqual(len(self.check(out)[1].lines), 201)
        self.assertLess(out.stat().st_size, 50000)
        self.assertEqual(self.sums(out), {"peak_bytes": 5, "end_bytes": 5})

    def test_names_of_any_kind(self):
        names = ["f(int) (const)", "f (in a) b", "g (x.c:3)", "in 3 places", "n1: 5 h", "#i", "é\u2028j",
                 "{lambda()#1}::operator()", "0x12: k"]
        functions = [{"id": i + 1, "name": name} for i, name in enumerate([*names, "a\nn9: 7 b\r\tc"])]
        path = self.file("in.dhat", json.dumps({
            "dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False,
            "tu": "instrs", "Mtu": "Minstr", "tuth": 500, "cmd": "a\nsnapshot=9\n#b", "pid": 1, "te": 9, "tg": 5,
            "pps": [{"tb": 100, "tbk": 1, "tl": 1, "mb": 100, "mbk": 1, "gb": 100, "gbk": 1, "eb": 0,
                     "ebk": 0, "fs": [function["id"]]} for function in functions],
            "ftbl": ["[root]"] + [f"0x{f['id']:X}: {f['name']} (in /lib/a (b).so)" for f in functions]}))
        out = self.convert(path)
        self.check(out)
        self.assertEqual(self.shown(out)[0], 100 * len(functions))
        found = Profile(self.allo("convert", out, "--to", "json"))
        self.assertEqual(sorted(frames[0][0].name for frames, *_ in found.samples),
                         sorted([*names, "a n9: 7 b  c"]))
        self.assertEqual({frames[0][0].module for frames, *_ in found.samples}, {"/lib/a (b).so"})
        self.assertEqual(found.meta["command"], "a snapshot=9 #b")

    def test_times_that_go_back_do_not(self):
        path = self.file("in", HEAD + "".join(snapshot(i, 5) for i in (0, 3, 1)) +
                         snapshot(4, 9, "n1: 9 root\n n0: 9 0x1: f (a.c:1)\n", "peak"))
        self.assertEqual([(s.time, s.bytes) for s in self.check(self.convert(path))],
                         [(0, 5), (30, 5), (30, 5), (40, 9)])

    def test_another_metric_is_written_when_named(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        out = self.convert("-M", "alloc_bytes", path)
        self.assertEqual([s.kind for s in self.check(out)], ["empty", "peak"])
        self.assertEqual(self.sums(out)["peak_bytes"], self.allo_json("top", "-M", "alloc_bytes", path)["sum"])

    def test_negative_values_are_left_out_and_said_so(self):
        self.file("before.folded", "main;a 1000\nmain;b 5\n")
        self.file("after.folded", "main;a 900\nmain;b 28\n")
        self.allo("diff", "before.folded", "after.folded", "-o", "diff.pb.gz")
        done = self.run_program(ALLO, "convert", "diff.pb.gz", "-o", "out.massif")
        self.assertEqual((done.returncode, self.sums(self.tmp / "out.massif")["peak_bytes"]), (0, 23))
        self.assertIn(b"negative", done.stderr)


class Recorded(Written):
    SANITIZED = False  # the runtime does the work

    def setUp(self):
        super().setUp()
        self.must("gcc", "-g", "-O1", self.file("program.c", PROGRAM), "-o", "program")
        self.allo("run", "--time", "exact", "-qo", "made.allo", "./program")

    def test_ms_print_shows_the_peak_of_a_recording(self):
        out = self.convert("made.allo")
        found = self.check(out)
        peak, tree = self.shown(out)
        self.assertEqual(peak, PEAK)
        self.assertEqual(found[0].bytes, 0)
        self.assertEqual((found[-1].bytes, found[-1].kind), (KEPT, "detailed"))
        self.assertIn(f"({7 * 100003:,}B) 0x", tree)
        for function in ("make", "peak", "main"):
            self.assertRegex(tree, rf"0x[0-9A-F]+: {function} \(\S*program\.c:\d+\)")

    def test_it_is_read_as_it_was_written(self):
        out = self.convert("made.allo")
        self.assertEqual(self.sums(out), {"peak_bytes": PEAK, "end_bytes": KEPT})
        totals = [{row["name"]: row["total"] for row in
                   self.allo_json("top", "-M", "peak_bytes", "--count=0", "--cum", path)["rows"]}
                  for path in ("made.allo", out)]
        for function in ("peak", "keep", "inlined", "make"):
            self.assertEqual(totals[0][function], totals[1][function], function)
        self.assertEqual(totals[1][REST], 11 + 7)
        self.assertEqual(self.allo_json("info", out)["producer"], "Allotrope")

    def test_snapshots_agree_with_the_events(self):
        live, heap = {}, [(0, 0)]
        for line in self.allo("events", "--json", "made.allo").splitlines():
            event = json.loads(line)
            if event["event"] == "free":
                live.pop(event["block"])
            elif event["event"] == "alloc":
                live[event["block"]] = event["size"]
            heap.append((event["ns"] / 1e6, sum(live.values())))
        found = self.check(self.convert("made.allo"))
        self.assertLess(20, len(found))
        for s in found:
            # Times are cut to microseconds: all that was live within one of them will do.
            before = [held for time, held in heap if time <= s.time][-1]
            within = {held for time, held in heap if s.time <= time <= s.time + 0.001}
            self.assertIn(s.bytes, {before, *within})

    def test_a_part_has_its_own_start_and_end(self):
        events = [json.loads(line) for line in self.allo("events", "--json", "made.allo").splitlines()]
        frees = [event["ns"] for event in events if event["event"] == "free"]
        found = self.check(self.convert("--range", f"{frees[-1]}ns..", "made.allo"))
        held = Part(events, frees[-1]).peak_bytes
        self.assertLess(KEPT, held)
        self.assertEqual((found[0].time, found[0].bytes, found[0].kind), (0, held, "peak"))
        self.assertEqual(found[-1].bytes, KEPT)
        before = Part(events, end=frees[-1])
        found = self.check(self.convert("--at", f"{frees[-1] - 1}ns", "made.allo"))
        self.assertEqual((found[-1].bytes, found[-1].kind),
                         (held, "peak" if held == before.peak_bytes else "detailed"))
        # The peak may lie between two snapshots: the view is about the instant.
        self.assertIn(max(s.bytes for s in found), range(held, before.peak_bytes + 1))

    def test_of_filtered_stacks_and_of_several_files_the_course_is_not_known(self):
        for arguments in (["--focus", "keep", "made.allo"], ["made.allo", "made.allo"]):
            kinds = collections.Counter(s.kind for s in self.check(self.convert(*arguments)))
            self.assertEqual(sum(kinds.values()), 3)
