"""Parts of recordings: --range, --at, --thread and diff --between, against sums over events."""
import json
import re

from allotest import ALLO, BUILD, GOLDEN, Test
from recordings import built

RAW = GOLDEN / "allo" / "server.raw.allo.zst"
PACKED = GOLDEN / "allo" / "server.allo"


class Part:
    """The totals of the events from one time to another, computed in a simple way."""

    def __init__(self, events, start=0, end=1 << 62, thread=None):
        self.live = {}
        self.alloc_blocks = self.alloc_bytes = 0
        self.peak_bytes = self.peak_blocks = 0
        begun = False
        for event in events:
            if event["ns"] >= end:
                break
            inside = event["ns"] >= start
            if inside and not begun:
                begun = True
                self.note_peak()
            self.apply(event, thread, inside)
        if not begun:
            self.note_peak()

    def note_peak(self):
        held = sum(self.live.values())
        if held > self.peak_bytes:
            self.peak_bytes, self.peak_blocks = held, len(self.live)

    def apply(self, event, thread, inside):
        block = event.get("block", event.get("pointer"))
        if event["event"] == "free":
            self.live.pop(block, None)
        elif event["event"] in ("alloc", "realloc"):
            self.live.pop(event.get("old_block", event.get("old_pointer")), None)
            if thread is None or event["tid"] == thread:
                self.live[block] = event["size"]
                if inside:
                    self.alloc_blocks += 1
                    self.alloc_bytes += event["size"]
                    self.note_peak()

    @property
    def end_bytes(self):
        return sum(self.live.values())


class Views(Test):
    def record(self, *command):
        path = self.tmp / "made.allo"
        self.must(ALLO, "run", "-q", "-f", "-o", path, "--", *command)
        return path

    def events(self, path):
        return [json.loads(line) for line in self.allo("events", "--json", path).splitlines()]

    def sum(self, path, metric, *options):
        found = self.allo_json("top", "-M", metric, *options, path)
        self.assertEqual(found["metric"]["name"], metric)
        return found["sum"]

    def check(self, path, options, part):
        """All sums of one profile, and the sum of a command that shows one."""
        profile = json.loads(self.allo("convert", "-q", "--to", "json", *options, path))
        names = [metric["name"] for metric in profile["metrics"]]
        for metric in ("alloc_blocks", "alloc_bytes", "peak_bytes", "peak_blocks", "end_bytes"):
            found = sum(sample["values"][names.index(metric)] for sample in profile["samples"])
            self.assertEqual(found, getattr(part, metric), (options, metric))
        self.assertEqual(self.sum(path, "peak_bytes", *options), part.peak_bytes, options)


class Ranges(Views):
    def test_a_range_has_the_totals_of_its_events(self):
        for path in (RAW, PACKED, self.record("sqlite3", ":memory:", "create table t(x); insert into t values(1);")):
            events = self.events(path)
            times = sorted({event["ns"] for event in events})
            for start, end in ((0, 1), (1, 2), (0, -1), (len(times) // 3, len(times) // 2),
                               (len(times) // 2, len(times) - 1)):
                a, b = times[start], times[end]
                self.check(path, ("--range", f"{a}ns..{b}ns"), Part(events, a, b))
                self.check(path, ("--range", f"{a}ns.."), Part(events, a))
                self.check(path, ("--range", f"..{b}ns"), Part(events, 0, b))

    def test_consecutive_ranges_add_up(self):
        path = self.record("sqlite3", ":memory:", "select 1;")
        times = [event["ns"] for event in self.events(path)]
        middle = f"{times[len(times) // 2]}ns"
        for metric in ("alloc_blocks", "alloc_bytes"):
            self.assertEqual(self.sum(path, metric, "--range", f"..{middle}") +
                             self.sum(path, metric, "--range", f"{middle}.."), self.sum(path, metric))

    def test_times_of_a_range_are_from_its_start(self):
        for path in (RAW, PACKED):
            times = sorted({event["ns"] for event in self.events(path)})
            start = times[len(times) // 2]
            meta = json.loads(self.allo("convert", path, "--range", f"{start}ns..", "--to", "json"))["meta"]
            whole = json.loads(self.allo("convert", path, "--to", "json"))["meta"]
            self.assertEqual(meta["duration"], whole["duration"] - start)
            self.assertLessEqual(meta.get("peak_time", 0), meta["duration"])

    def test_times_after_the_end_are_refused(self):
        """A range may end there."""
        for options in (("--range", "1h.."), ("--range", "1h..2h"), ("--at", "1h")):
            self.assertRegex(self.allo_fails("top", PACKED, *options, status=2), r": ends after [0-9.]+ us, before 3600\.0 s$")
        for metric in ("end_bytes", "peak_bytes", "alloc_bytes"):
            self.assertEqual(self.sum(PACKED, metric, "--range", "..1h"), self.sum(PACKED, metric))

    def test_invalid_parts_are_errors(self):
        for options, said in ((("--range", "5s"), "two times such as"), (("--range", "5s..2s"), "ends before"),
                              (("--range", "x..y"), "'x' is neither a time nor the name of a mark"),
                              (("--at", "noon"), "'noon' is neither a time nor the name of a mark"),
                              (("--at", ""), "no instant"),
                              (("--at", "peak", "--range", "1s.."), "exclude each other"),
                              (("--thread", "nobody"), "no thread has")):
            self.assertIn(said, self.allo_fails("top", *options, PACKED, status=2))
        dhat = next((GOLDEN / "dhat").iterdir())
        self.assertIn("cannot be read in parts", self.allo_fails("top", "--at", "peak", dhat, status=2))


class Instants(Views):
    def live(self, path, instant):
        return self.sum(path, "live_bytes", "--at", instant)

    def test_peak_and_end_are_those_of_the_whole(self):
        for path in (RAW, PACKED):
            self.assertEqual(self.live(path, "peak"), self.sum(path, "peak_bytes"))
            self.assertEqual(self.live(path, "end"), self.sum(path, "end_bytes"))

    def test_an_instant_has_the_blocks_live_then(self):
        for path in (RAW, PACKED):
            events = self.events(path)
            for event in events:
                self.assertEqual(self.live(path, f"{event['ns']}ns"), Part(events, 0, event["ns"] + 1).end_bytes)

    def test_two_instants_are_compared(self):
        events = self.events(PACKED)
        early, late = events[3]["ns"], events[-4]["ns"]
        found = self.allo_json("diff", "--between", f"{early}ns..{late}ns", PACKED)
        self.assertEqual(found["base"], Part(events, 0, early + 1).end_bytes)
        self.assertEqual(found["new"], Part(events, 0, late + 1).end_bytes)
        for arguments, said in ((("--between", "1s..2s", PACKED, PACKED), "moments of one recording"),
                                (("--between", "1s", PACKED), "two instants"), ((PACKED,), "one file is not enough")):
            self.assertIn(said, self.allo_fails("diff", *arguments, status=2))


class Threads(Views):
    def test_a_thread_has_its_allocations(self):
        path = self.record(built("handover.c"))
        events = self.events(path)
        for number in {event["tid"] for event in events}:
            self.check(path, ("--thread", number), Part(events, thread=number))
        for i in range(4):
            blocks = self.allo_json("top", "--thread", f"maker-{i}", "-F", "fn:=make", "-M", "alloc_bytes", path)
            self.assertEqual(blocks["sum"], (23 + i) * (2003 + i))

    def test_a_filter_by_label_finds_each_listed_thread(self):
        """--by label:KEY lists the values; -L KEY=VALUE selects one."""
        path = self.record(built("handover.c"))
        blocks = [json.loads(line) for line in self.allo("blocks", "-n0", "--json", path).splitlines()]
        for key in ("thread", "thread name"):
            rows = self.allo_json("top", "-n0", "-M", "alloc_bytes", "--by", f"label:{key}", path)["rows"]
            self.assertGreaterEqual(len(rows), 4)
            for row in rows:
                label = f"{key}={row['name']}"
                self.assertEqual(self.sum(path, "alloc_bytes", "-L", label), row["self"], label)
                found = [json.loads(line) for line in
                         self.allo("blocks", "-n0", "--json", "-L", label, path).splitlines()]
                self.assertEqual(sum(block["size"] for block in found), row["self"], label)
                for command in (["tree"], ["leaks"], ["hist"], ["convert", "--to", "folded"]):
                    self.assertNotIn("no stack matches", self.run_program(
                        ALLO, *command, "-L", label, path).stderr.decode(), (command, label))
        self.assertGreater(len(blocks), len(found))

    def test_headings_name_the_part(self):
        path = self.record(built("handover.c"))
        for options, about in (((), "live at the program's peak"),
                               (("--thread", "maker-1"), "live at the thread's peak"),
                               (("--range", "1us.."), "live at the peak of the range"),
                               (("--range", "1us..", "--thread", "maker-1"), "live at the thread's peak in the range"),
                               (("--range", "1us..", "-M", "end"), "live at the end of the range"),
                               (("--range", "1us..", "-M", "total"), "allocated in the range"),
                               (("--at", "peak"), "live at the program's peak"),
                               (("--at", "end"), "live when recording ended"), (("--at", "1us"), "live at 1.00 us")):
            self.assertRegex(self.allo("top", *options, path).splitlines()[0], f", {about}$", options)
            self.assertEqual(self.allo_json("top", *options, path)["metric"]["about"], about, options)
            self.assertRegex(self.allo("tree", *options, path).splitlines()[0], f", {about}$", options)

    def test_headings_of_several_files_are_of_sums(self):
        path = self.record(built("handover.c"))
        for options, about in (((), "sum of 3 peaks"), (("--thread", "maker-1"), "sum of 3 peaks of the thread"),
                               (("--at", "peak"), "sum of 3 peaks"),
                               (("-M", "end"), "live when recording ended, sum of 3 files")):
            self.assertRegex(self.allo("top", *options, path, path, path).splitlines()[0], f", {about}$", options)
        self.allo("convert", path, path, "-o", "both.svg")
        self.assertIn(", sum of 2 peaks", (self.tmp / "both.svg").read_text())

    def test_pprof_has_them_as_labels(self):
        path = self.record(built("handover.c"))
        self.allo("convert", path, "-o", "made.pb.gz")
        tags = self.must("go", "tool", "pprof", "-tags", "-sample_index=alloc_space", "-unit=B", "made.pb.gz")
        for i in range(4):
            self.assertRegex(tags, rf"maker-{i}\b")
        top = self.must("go", "tool", "pprof", "-top", "-tagfocus=maker-2", "-focus=^make$", "-sample_index=alloc_space",
                        "-unit=B", "made.pb.gz")
        self.assertRegex(top, rf"Showing nodes accounting for {25 * 2005}B,")


class Runs(Views):
    def test_two_runs_of_a_program_without_names_are_the_same(self):
        """Even if it was loaded at another address."""
        program = self.tmp / "stripped"
        self.must("strip", "-o", program, built("lives.c"))
        for name in ("one.allo", "two.allo"):
            self.must(ALLO, "run", "-q", "-o", name, "--", program)
        self.allo("diff", "--exit-code", "-M", "alloc_bytes", "one.allo", "two.allo")
        names = [row["name"] for row in self.allo_json("top", "--by", "site", "-n", "0", "one.allo")["rows"]]
        self.assertEqual(names, [row["name"] for row in self.allo_json("top", "--by", "site", "-n", "0",
                                                                       "two.allo")["rows"]])
        # addr2line accepts the offsets of functions that are shown.
        place = next(name.removeprefix("stripped+") for name in names if name.startswith("stripped+"))
        where = self.must("addr2line", "-f", "-e", built("lives.c"), place).splitlines()
        self.assertIn(where[0], ("brief", "middling", "lasting", "main", "filled"))

    def test_a_damaged_recording_has_the_peak_of_its_readable_part(self):
        data = bytearray(PACKED.read_bytes())
        whole = self.allo_json("info", PACKED)["peak_ns"]
        for at in range(64, len(data), 7):
            damaged = self.file("damaged.allo", bytes(data[:at]) + bytes([data[at] ^ 0xff]) + bytes(data[at + 1:]))
            done = self.run_program(ALLO, "timeline", "--json", damaged)
            if done.returncode == 0:
                found = json.loads(done.stdout)
                self.assertEqual(found["peak_bytes"] > 0, found["peak_ns"] > 0)
                self.assertLessEqual(found["peak_ns"], whole)


class Agreement(Views):
    """All ways to select the same part give the same bytes."""

    def test_all_views_have_the_same_totals(self):
        path = self.record("perl", "-e", "my @a = map { \"x\" x $_ } 1..2000; @a = ();")
        times = [event["ns"] for event in self.events(path)]
        for part in ((), ("--range", f"{times[len(times) // 4]}ns..{times[len(times) // 2]}ns")):
            self.allo("convert", "-f", *part, path, "-o", "made.pb.gz")
            self.allo("convert", "-f", *part, path, "-o", "made.dhat")
            self.allo("convert", "-f", *part, path, "-M", "alloc_bytes", "-o", "made.folded")
            dhat = json.loads((self.tmp / "made.dhat").read_text())
            points = dhat["pps"]
            for metric, key, pprof in (("alloc_bytes", "tb", "alloc_space"), ("peak_bytes", "gb", "peak_space"),
                                       ("end_bytes", "eb", "end_space"), ("alloc_blocks", "tbk", "alloc_objects")):
                top = self.sum(path, metric, *part)
                tree = self.allo_json("tree", "-M", metric, *part, path)
                raw = self.must("go", "tool", "pprof", "-raw", "made.pb.gz")
                self.assertEqual(tree["nodes"][0]["total"], top)
                self.assertEqual(sum(point[key] for point in points), top)
                self.assertEqual(raw_sum(raw, pprof), top)
            folded = (self.tmp / "made.folded").read_text().splitlines()
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded),
                             self.sum(path, "alloc_bytes", *part))


def raw_sum(raw, name):
    """Totals from the output of `go tool pprof -raw`."""
    lines = raw.split("Samples:\n")[1].split("Locations\n")[0].splitlines()
    column = [kind.split("/")[0] for kind in lines[0].replace("[dflt]", "").split()].index(name)
    return sum(int(line.split(":")[0].split()[column]) for line in lines[1:] if re.match(r"\s*\d[\d ]*:", line))
