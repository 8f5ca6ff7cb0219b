"""Sampled recordings: estimates in every format, against weights that are computed here."""
import csv
import io
import json
import math
import sqlite3
import struct

from allotest import ALLO, BUILD, GOLDEN, Test
from recordings import built
from test_views import raw_sum

BYTES, EVENTS = 1, 2  # enum allo_wire_mode
SAMPLING_AT = 192     # in the head
SAMPLING = struct.Struct("=IIQQQQ")
EXACT = (987654, 321098765, 900001)  # true totals: blocks, bytes, freed blocks
DEVIATIONS = 1.96


class Weighed:
    """Estimates from sampled events, computed in a simple way."""

    def __init__(self, events, weigh):
        self.weigh = weigh
        self.live, self.held = {}, 0
        self.allocs, self.lives = [], []
        self.peak, self.peak_bytes = [], 0
        at_peak = False  # a new peak, whose live blocks are not copied yet
        for event in events:
            if at_peak and (event["event"] != "alloc" or event["size"] == 0):
                self.peak = self.end
                at_peak = False
            self.apply(event)
            if self.held > self.peak_bytes + 1e-6:
                self.peak_bytes = self.held
                at_peak = True
        if at_peak:
            self.peak = self.end
        self.lives += [(size, None) for size, _ in self.live.values()]

    def apply(self, event):
        block = event.get("block", event.get("pointer"))
        gone = self.live.pop(block if event["event"] == "free" else
                             event.get("old_block", event.get("old_pointer")), None)
        if gone:
            self.lives.append((gone[0], event["ns"] - gone[1]))
            self.held -= self.bytes([gone[0]])
        if event["event"] in ("alloc", "realloc"):
            self.live[block] = (event["size"], event["ns"])
            self.allocs.append(event["size"])
            self.held += self.bytes([event["size"]])

    @property
    def end(self):
        return [size for size, _ in self.live.values()]

    def blocks(self, sizes):
        return sum(map(self.weigh, sizes))

    def bytes(self, sizes):
        return sum(self.weigh(size) * size for size in sizes)

    def margin(self, sizes):
        """Half of the 95 % confidence interval."""
        return DEVIATIONS * math.sqrt(sum(self.weigh(size) * (self.weigh(size) - 1) * size ** 2 for size in sizes))


def by_bytes(rate):
    return lambda size: 1 / (1 - math.exp(-max(size, 1) / rate))


def by_events(rate):
    return lambda size: rate


class Sampled(Test):
    """Events of real programs, treated as a sample."""

    def record(self, *command):
        self.must(ALLO, "run", "--raw", "-q", "-f", "-o", "exact.allo", "--", *command)
        return self.tmp / "exact.allo"

    def sampled(self, mode, rate, path=None, exact=EXACT):
        """The same events in a recording marked as sampled, raw and packed."""
        data = bytearray((path or self.record(built("lives.c"))).read_bytes())
        SAMPLING.pack_into(data, SAMPLING_AT, mode, 0, rate, *exact)
        raw = self.file("sampled.raw.allo", bytes(data))
        self.allo("symbolize", "-q", "-f", raw, "-o", "sampled.allo")
        return raw, self.tmp / "sampled.allo"

    def events(self, path):
        return [json.loads(line) for line in self.allo("events", "--json", path).splitlines()]

    def sums(self, path, *options):
        """All metrics."""
        return {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", *options, path)["metrics"]}

    def assert_near(self, found, expected, message=None):
        self.assertAlmostEqual(found, expected, delta=0.51 + 1e-6 * expected, msg=message)


class Weights(Sampled):
    def check(self, path, weighed):
        found = self.sums(path)
        for name, sizes in (("alloc", weighed.allocs), ("peak", weighed.peak), ("end", weighed.end)):
            self.assert_near(found[f"{name}_blocks"], weighed.blocks(sizes), name)
            self.assert_near(found[f"{name}_bytes"], weighed.bytes(sizes), name)
        self.assertNotIn("temporary_blocks", found)

    def test_every_block_has_its_weight(self):
        for command in ((built("lives.c"),), ("perl", "-e", "my @a = map { \"x\" x $_ } 1..2000; @a = ();")):
            exact = self.record(*command)
            for mode, rate, weigh in ((BYTES, 512, by_bytes(512)), (BYTES, 1 << 19, by_bytes(1 << 19)),
                                      (EVENTS, 7, by_events(7))):
                for path in self.sampled(mode, rate, exact):
                    self.check(path, Weighed(self.events(path), weigh))

    def test_equal_weights_give_multiples(self):
        exact = self.record(built("handover.c"))
        before = self.sums(exact)
        del before["temporary_blocks"], before["lifetime"]
        for path in self.sampled(EVENTS, 1000, exact):
            found = self.sums(path)
            self.assertEqual({name: found[name] for name in before},
                             {name: 1000 * value for name, value in before.items()})

    def test_labels_marks_and_events_are_not_sampled(self):
        exact = self.tmp / "notes.allo"
        self.must(BUILD / "tests" / "make_recording", "notes", "raw", exact)
        before = self.sums(exact)
        for path in self.sampled(EVENTS, 10, exact):
            found = self.sums(path)
            for name in ("events", "units"):
                self.assertEqual(found[name], before[name])
                self.assertNotIn("~", self.allo("top", "-M", name, path))
            for name in ("alloc_bytes", "peak_blocks"):
                self.assertEqual(found[name], 10 * before[name])
                rows, expected = (self.allo_json("top", "-n", "0", "--by", "label:user", "-M", name, of)["rows"]
                                  for of in (path, exact))
                self.assertEqual({row["name"]: row["self"] for row in rows},
                                 {row["name"]: 10 * row["self"] for row in expected})

    def test_an_interval_of_one_event_records_all(self):
        exact = self.record(built("lives.c"))
        for path in self.sampled(EVENTS, 1, exact):
            found, expected = self.sums(path), self.sums(exact)
            del found["lifetime"], expected["lifetime"]  # packing rounds times
            self.assertEqual(found, expected)
            self.assertNotIn("~", self.allo("summary", path))

    def test_parts_are_weighed_too(self):
        for path in self.sampled(BYTES, 4096):
            events = self.events(path)
            middle = events[len(events) // 2]["ns"]
            weighed = Weighed([event for event in events if event["ns"] < middle], by_bytes(4096))
            found = self.sum(path, "live_bytes", "--at", f"{middle - 1}ns")
            self.assert_near(found, weighed.bytes(weighed.end))
            self.assert_near(self.sum(path, "alloc_bytes", "--range", f"..{middle}ns"), weighed.bytes(weighed.allocs))

    def sum(self, path, metric, *options):
        return self.allo_json("top", "-M", metric, *options, path)["sum"]


class Agreement(Sampled):
    """All formats made of a recording have exactly the same totals."""

    def test_raw_and_packed(self):
        raw, packed = self.sampled(BYTES, 1000, self.record(built("handover.c")))
        for command in (("top", "-n", "0", "-v"), ("tree", "-v"), ("hist", "--by", "size"), ("peek", "main", "-v"),
                        ("top", "-n", "0", "--by", "site", "-M", "end_bytes")):
            self.assertEqual(self.allo_json(*command, raw), self.allo_json(*command, packed), command)
        self.assertEqual(*(self.allo_json("threads", path)["threads"] for path in (raw, packed)))
        a, b = (self.allo_json("summary", path) for path in (raw, packed))
        for key in ("allocations", "frees", "alloc_bytes", "peak_bytes", "end_bytes", "sampling", "estimated"):
            self.assertEqual(a[key], b[key])

    def test_commands_and_formats(self):
        for mode, rate in ((BYTES, 3000), (EVENTS, 3)):
            for path in self.sampled(mode, rate, self.record(built("handover.c"))):
                sums = self.sums(path)
                self.check_commands(path, sums)
                self.check_forms(path, sums)
                self.check_database(path, sums)

    def check_commands(self, path, sums):
        summary = self.allo_json("summary", path)
        self.assertEqual((summary["allocations"], summary["alloc_bytes"]), (sums["alloc_blocks"], sums["alloc_bytes"]))
        self.assertEqual((summary["peak_blocks"], summary["peak_bytes"]), (sums["peak_blocks"], sums["peak_bytes"]))
        self.assertEqual((summary["end_blocks"], summary["end_bytes"]), (sums["end_blocks"], sums["end_bytes"]))
        threads = self.allo_json("threads", path)["threads"]
        for name, metric in (("allocations", "alloc_blocks"), ("alloc_bytes", "alloc_bytes"),
                             ("peak_bytes", "peak_bytes"), ("end_blocks", "end_blocks")):
            self.assertEqual(sum(thread[name] for thread in threads), sums[metric])
        timeline = self.allo_json("timeline", path)
        self.assertEqual((timeline["peak_bytes"], timeline["peak_blocks"]), (sums["peak_bytes"], sums["peak_blocks"]))
        self.assertEqual(sum(step["allocations"] for step in timeline["steps"]), sums["alloc_blocks"])
        self.assertEqual(sum(step["alloc_bytes"] for step in timeline["steps"]), sums["alloc_bytes"])
        self.assertEqual(timeline["steps"][-1]["end_bytes"], sums["end_bytes"])
        for part, metric in (((), "alloc_bytes"), (("--at", "peak"), "peak_bytes"), (("--live",), "end_bytes")):
            sizes = self.allo_json("hist", "--by", "size", *part, path)["size"]
            self.assertAlmostEqual(sizes["bytes"], sums[metric], delta=len(sizes["bins"]))
        rows = [json.loads(line) for line in self.allo("blocks", "-n", "0", "--json", path).splitlines()]
        self.assert_near(sum(row["weight"] for row in rows), sums["alloc_blocks"])
        for metric in ("alloc_bytes", "peak_bytes", "end_bytes", "alloc_blocks"):
            self.assertEqual(self.allo_json("top", "-M", metric, path)["sum"], sums[metric])
            self.assertEqual(self.allo_json("tree", "-M", metric, path)["nodes"][0]["total"], sums[metric])

    def check_forms(self, path, sums):
        self.allo("convert", "-f", path, "-o", "made.pb.gz")
        self.allo("convert", "-f", path, "-o", "made.dhat")
        self.allo("convert", "-f", path, "-M", "alloc_bytes", "-o", "made.folded")
        points = json.loads((self.tmp / "made.dhat").read_text())["pps"]
        raw = self.must("go", "tool", "pprof", "-raw", "made.pb.gz")
        for metric, key, pprof in (("alloc_bytes", "tb", "alloc_space"), ("peak_bytes", "gb", "peak_space"),
                                   ("end_bytes", "eb", "end_space"), ("alloc_blocks", "tbk", "alloc_objects")):
            self.assertEqual(sum(point[key] for point in points), sums[metric])
            self.assertEqual(raw_sum(raw, pprof), sums[metric])
        folded = (self.tmp / "made.folded").read_text().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded), sums["alloc_bytes"])

    def check_database(self, path, sums):
        self.allo("convert", "-f", path, "-o", "made.db")
        db = sqlite3.connect(self.tmp / "made.db")
        blocks, size, spread = db.execute("select sum(weight), sum(weight * size), "
                                          "sum(weight * (weight - 1) * size * size) from allocation").fetchone()
        self.assert_near(blocks, sums["alloc_blocks"])
        self.assert_near(size, sums["alloc_bytes"])
        total, variance = db.execute("select sum(value), sum(variance) from sample join metric m on m.id = metric "
                                     "where m.name = 'alloc_bytes'").fetchone()
        self.assertEqual(total, sums["alloc_bytes"])
        self.assertAlmostEqual(variance / spread, 1, places=6)
        self.assertEqual(db.execute("select sum(peak_bytes) from site").fetchone(), (sums["peak_bytes"],))
        self.assertEqual(db.execute("select sum(is_temporary) from allocation").fetchone(), (0,))
        self.assertEqual(db.execute("select value from meta where key = 'period'").fetchone(),
                         (str(self.allo_json("info", path)["period"]),))
        db.close()
        self.check_selected(path, total, variance)
        leaks = list(csv.DictReader(io.StringIO(self.allo("sql", "--csv", "--report", "leaks", "made.db"))))
        self.assertAlmostEqual(sum(int(row["bytes"]) for row in leaks), sums["end_bytes"], delta=len(leaks))


    def check_selected(self, path, total, variance):
        """A single metric equals the same metric among others."""
        self.allo("convert", "-f", "-M", "alloc_bytes", path, "-o", "one.db")
        db = sqlite3.connect(self.tmp / "one.db")
        self.assertEqual(db.execute("select sum(value) from sample").fetchone(), (total,))
        self.assertAlmostEqual(db.execute("select sum(variance) from sample").fetchone()[0] / variance, 1, places=9)
        db.close()


class Periods(Sampled):
    def test_pprof_has_the_sampling_interval(self):
        for mode, rate, kind in ((BYTES, 524288, "space bytes"), (EVENTS, 1000, "allocations count")):
            for path in self.sampled(mode, rate):
                self.allo("convert", "-f", path, "-o", "made.pb.gz")
                raw = self.must("go", "tool", "pprof", "-raw", "made.pb.gz")
                self.assertIn(f"PeriodType: {kind}\nPeriod: {rate}\n", raw)
                # Reading and writing it again changes nothing.
                self.allo("convert", "-f", "made.pb.gz", "-o", "again.pb.gz")
                for name in ("made.pb.gz", "again.pb.gz"):
                    self.assertTrue(self.allo_json("top", name)["estimated"])
                    self.assertEqual(self.allo_json("top", "-M", "alloc_bytes", name)["sum"],
                                     self.sums(path)["alloc_bytes"])

    def test_a_merge_with_estimates_is_an_estimate(self):
        exact = self.record(built("lives.c"))
        sampled, _ = self.sampled(EVENTS, 10, exact)
        both = self.allo_json("top", "-v", "-M", "alloc_bytes", exact, sampled)
        alone = self.allo_json("top", "-v", "-M", "alloc_bytes", sampled)
        self.assertTrue(both["estimated"])
        self.assertEqual(both["sum_margin"], alone["sum_margin"])
        self.assertEqual(both["sum"] * 10, alone["sum"] * 11)
        for pair in ((exact, sampled), (sampled, exact)):
            self.assertTrue(self.allo_json("diff", *pair)["estimated"])
        self.assertNotIn("estimated", self.allo_json("diff", exact, exact))


    def test_estimates_of_other_profilers_are_marked(self):
        for name in ("pprof/go-heap.pb.gz", "jemalloc/jemalloc.heap", "gperftools/go-heap-debug1.txt"):
            self.assertIn(": ~", self.allo("top", GOLDEN / name).splitlines()[0])
            self.assertTrue(self.allo_json("top", GOLDEN / name)["estimated"])
            self.assertNotIn("sum_margin", self.allo_json("top", "-v", GOLDEN / name))


class Real(Sampled):
    """Estimates fit the true totals that the runtime counts."""

    SANITIZED = False  # the runtime does the work, and is never sanitized

    def test_estimates_are_near_the_true_totals(self):
        program = "my @a = map { \"x\" x $_ } 1..20000; @a = ();"
        for mode, rate in (("sampled", 4096), ("sampled", 65536), ("events", 20)):
            self.must(ALLO, "run", "-q", "-m", mode, "--rate", rate, "-f", "-o", "real.allo", "--",
                      "perl", "-e", program)
            found = self.allo_json("top", "-v", "-M", "alloc_bytes", "real.allo")
            sampling = self.allo_json("info", "real.allo")["recording"]["sampling"]
            self.assertEqual((sampling["by"], sampling["rate"]),
                             ("bytes" if mode == "sampled" else "allocations", rate))
            # Six standard deviations: exceeded once in 500 million runs.
            self.assertLess(abs(found["sum"] - sampling["exact_bytes"]), 6 / DEVIATIONS * found["sum_margin"])
            self.assertGreater(sampling["exact_bytes"], 20000 * 20000 // 2)


    def test_a_recording_without_samples(self):
        done = self.run_program(ALLO, "run", "-m", "sampled", "--rate", "1024T", "-o", "real.allo", "--",
                                built("lives.c"))
        self.assertRegex(done.stderr.decode(), r"\nallo: sampled: one in 1,125,899,906,842,624 bytes")
        self.assertRegex(done.stderr.decode(), r"no allocation of .* was sampled: use a lower --rate")


class Overhead(Sampled):
    """--max-overhead changes the interval, and each block keeps the weight of its own."""

    SANITIZED = False

    def record_uneven(self, threads, *options):
        """A run that is long enough for the interval to change."""
        for rounds in (600_000, 2_400_000, 9_600_000):
            self.must(ALLO, "run", "-q", "-f", "--raw", "--max-overhead", 2, *options, "-o", "uneven.allo", "--",
                      built("uneven.c", "-pthread"), threads, rounds)
            sampling = self.allo_json("info", "uneven.allo")["recording"]["sampling"]
            if sampling["overhead"]["rate_changes"] > 0:
                break
        self.assertGreater(sampling["overhead"]["rate_changes"], 0)
        self.allo("symbolize", "-q", "-f", "uneven.allo", "-o", "uneven.packed.allo")
        return sampling

    def test_estimates_stay_true(self):
        for threads, options in ((1, ()), (3, ("--rate", "16"))):
            sampling = self.record_uneven(threads, *options)
            for metric, truth in (("alloc_bytes", "exact_bytes"), ("alloc_blocks", "exact_allocations")):
                top = self.allo_json("top", "-v", "-M", metric, "uneven.allo")
                self.assertLess(abs(top["sum"] - sampling[truth]), 6 / DEVIATIONS * top["sum_margin"], (options, metric))
            overhead = sampling["overhead"]
            self.assertEqual(overhead["limit_percent"], 2)
            self.assertAlmostEqual(overhead["percent"], 100 * overhead["spent_ns"] / overhead["cpu_ns"], places=9)
            top = self.allo_json("top", "-v", "-M", "alloc_bytes", "uneven.allo")
            self.assertAlmostEqual(overhead["error_percent"], 100 * top["sum_margin"] / top["sum"], delta=0.01)
            self.check_agreement()

    def check_agreement(self):
        """Packing rounds times, and changes no weight."""
        raw, packed = "uneven.allo", "uneven.packed.allo"
        for command in (("top", "-n", "0", "-v"), ("tree", "-v"), ("hist", "--by", "size")):
            self.assertEqual(self.allo_json(*command, raw), self.allo_json(*command, packed), command)
        self.assertEqual(*(self.allo_json("threads", path)["threads"] for path in (raw, packed)))
        self.assertEqual(*(self.allo_json("info", path)["recording"]["sampling"] for path in (raw, packed)))
        sums = self.sums(packed)
        self.assertEqual(sums["end_bytes"], self.sums(raw)["end_bytes"])
        rows = [json.loads(line) for line in self.allo("blocks", "-n", "0", "--json", packed).splitlines()]
        self.assert_near(sum(row["weight"] for row in rows), sums["alloc_blocks"])
        self.assertGreater(len({row["weight"] for row in rows}), len({row["size"] for row in rows}))
        steps = self.allo_json("timeline", packed)["steps"]
        self.assertEqual(sum(step["alloc_bytes"] for step in steps), sums["alloc_bytes"])
        middle = f"{self.allo_json('summary', packed)['duration_ns'] // 2}ns"
        parts = [self.allo_json("top", "-M", "alloc_bytes", "--range", part, packed)["sum"]
                 for part in (f"..{middle}", f"{middle}..")]
        self.assertAlmostEqual(sum(parts), sums["alloc_bytes"], delta=1)

    def test_it_is_shown(self):
        self.record_uneven(1)
        for path in ("uneven.allo", "uneven.packed.allo"):
            said = r"[\d.e+-]+% of processor time, limit 2%; in the end one in [\d,]+ bytes; " \
                   r"total bytes \+/- [\d.e+-]+%"
            self.assertRegex(" ".join(self.allo("info", path).split()), " overhead " + said)
            self.assertRegex(" ".join(self.allo("summary", path).split()), " overhead: " + said)

    def test_impossible_limits_are_refused(self):
        for options, why in ((("--max-overhead", "0"), "must be 0.1 to 50 percent"),
                             (("--max-overhead", "51"), "must be 0.1 to 50 percent"),
                             (("--max-overhead", "2", "--ring", "4M"), "drop --ring"),
                             (("--max-overhead", "2", "-m", "counters"), "drop -m counters"),
                             (("--max-overhead", "2", "-m", "events"), "drop -m events")):
            done = self.run_program(ALLO, "run", *options, "--", "true")
            self.assertEqual(done.returncode, 125, options)
            self.assertIn(why, done.stderr.decode())


class Marked(Sampled):
    """Estimates are marked, and have an error margin."""

    COMMANDS = (("top",), ("tree",), ("peek", "main"), ("list", "main"), ("leaks",), ("summary",), ("threads",),
                ("timeline",), ("hist",), ("info",), ("budget", "--max-peak", "1T"), ("tree", "--dhat"))

    def test_every_command(self):
        exact = self.record(built("lives.c"))
        for path in self.sampled(BYTES, 4096, exact):
            for command in self.COMMANDS:
                self.assertIn("~", self.allo(*command, path), command)
                self.assertNotIn("~", self.allo(*command, exact), command)
                self.assertIs(self.allo_json(*command, path)["estimated"], True)
                self.assertNotIn("estimated", self.allo_json(*command, exact))
            self.assertRegex(self.allo("diff", exact, path), r"peak_bytes: base ~.*, new ~.*, ~\+")
            self.assertRegex(self.allo("convert", "-q", "--to", "svg", path), r"<desc>peak_bytes: ~[\d,]+ bytes .*in ~[\d,]+ blocks?, ")
            self.assertRegex(self.allo("convert", "-q", "--to", "svg", exact), r"<desc>peak_bytes: [\d,]+ bytes ")
            for command in (("top",), ("peek", "main"), ("threads",), ("timeline",), ("hist",)):
                self.assertNotIn("~", self.allo(*command, "--csv", path), command)

    def test_rows_have_a_mark_at_every_number_but_zero(self):
        raw, _ = self.sampled(BYTES, 4096)
        for line in self.allo("top", raw).splitlines()[2:]:
            if line.startswith((" ", "~")) and not line.endswith(" function"):
                self.assertRegex(line, r"^ *(~[\d.]+ \w+|0 B) +[\d.]+% +[\d.]+% +~[\d.]+ \w+ +(~[\d,]+|0) ")
                self.assertNotIn("~0 ", line)

    def test_error_margins(self):
        for mode, rate, weigh in ((BYTES, 4096, by_bytes(4096)), (EVENTS, 50, by_events(50))):
            for path in self.sampled(mode, rate):
                weighed = Weighed(self.events(path), weigh)
                for metric, sizes in (("alloc_bytes", weighed.allocs), ("peak_bytes", weighed.peak),
                                      ("end_bytes", weighed.end)):
                    self.check_margins(path, metric, weighed.margin(sizes))

    def check_margins(self, path, metric, margin):
        option = ("-v", "-M", metric, path)
        top = self.allo_json("top", *option)
        self.assert_near(top["sum_margin"], margin)
        self.assert_near(math.hypot(*(row["self_margin"] for row in self.allo_json("top", "-n", "0", *option)["rows"])),
                         margin)
        self.assert_near(self.allo_json("tree", *option)["nodes"][0]["total_margin"], margin)
        self.assert_near(self.allo_json("peek", "=main", *option)["sum_margin"], margin)
        self.assertNotIn("sum_margin", self.allo_json("top", "-M", metric, path))
        self.assertRegex(self.allo("top", *option), r"^\w+: ~[\d.]+ \w+ \+/- [\d.]+ \w+ in ~")
        table = list(csv.DictReader(io.StringIO(self.allo("top", "--csv", "-n", "0", *option))))
        self.assert_near(math.hypot(*(int(row["margin"]) for row in table)), margin)
        self.assertRegex(self.allo("tree", *option), r"\n~[\d.]+ \w+ \+/- [\d.]+ \w+ [\d.]+%  ")

    def test_the_summary_has_margins_on_demand(self):
        exact = self.record(built("handover.c"))
        for path in self.sampled(BYTES, 4096, exact):
            page = self.allo("summary", "-v", path)
            self.assertRegex(page, r"\nheld at the peak: ~[\d.]+ \w+ \+/- [\d.]+ \w+ in ~")
            self.assertIn("+/-", page.split("by thread")[1])
            self.assertNotIn("+/-", self.allo("summary", path))
            self.assertIn("margin", self.allo_json("summary", "-v", path)["tables"][0])
        self.assertEqual(self.allo("summary", "-v", exact), self.allo("summary", exact))

    def test_true_totals_are_shown(self):
        for mode, rate, said in ((BYTES, 524288, "one in 524,288 bytes"), (EVENTS, 1000, "one in 1,000 allocations")):
            for path in self.sampled(mode, rate):
                self.assertIn(f"\n  sampled   {said}\n", self.allo("info", path))
                self.assertIn("in all 987,654 allocations of 306.2 MiB, 900,001 freed", self.allo("info", path))
                self.assertIn(f"\nsampled: {said}; in all 987,654 allocations of 306.2 MiB, 900,001 freed\n",
                              self.allo("summary", path))
                info = self.allo_json("info", path)["recording"]
                self.assertEqual(info["mode"], "sampled" if mode == BYTES else "events")
                expected = {"by": "bytes" if mode == BYTES else "allocations", "rate": rate,
                            "sampled_allocations": info["sampling"]["sampled_allocations"],
                            "exact_allocations": EXACT[0], "exact_bytes": EXACT[1], "exact_frees": EXACT[2]}
                self.assertEqual(info["sampling"], expected)
                self.assertEqual(self.allo_json("summary", path)["sampling"], expected)
                self.assertGreater(info["allocations"], expected["sampled_allocations"])
        exact = self.allo_json("info", self.tmp / "exact.allo")["recording"]
        self.assertEqual(exact["mode"], "exact")
        self.assertNotIn("sampling", exact)

    def test_a_killed_recording_may_lack_true_totals(self):
        for path in self.sampled(BYTES, 4096, exact=(0, 0, 0)):
            self.assertRegex(self.allo("summary", path), r"\nsampled: one in 4,096 bytes\n")
            self.assertNotIn("exact_bytes", self.allo_json("info", path)["recording"]["sampling"])

    def test_temporary_blocks_are_unknown(self):
        for path in self.sampled(BYTES, 4096):
            self.assertRegex(self.allo("threads", path), r" - +~[\d,]+ +0 +0 ")
            self.assertNotIn("temporary_blocks", self.allo_json("threads", path)["threads"][0])
            self.assertNotIn("temporary_blocks", self.allo_json("timeline", path)["steps"][0])
            self.assertNotIn("temporary", self.allo("summary", path))

    def test_any_interval_and_mode_is_read(self):
        exact = self.record(built("lives.c"))
        for mode, rate in ((BYTES, 0), (BYTES, 1), (BYTES, 1 << 40), (BYTES, (1 << 64) - 1), (EVENTS, 0),
                           (EVENTS, (1 << 64) - 1), (3, 10), (4, 10), (0xffffffff, 10)):
            raw, packed = self.sampled(mode, rate, exact)
            self.allo("summary", raw)
            self.allo("info", packed)
            self.assertEqual(self.allo("top", "-v", raw), self.allo("top", "-v", packed))


