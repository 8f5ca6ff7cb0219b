"""A program that counts its own allocations, against all views of its recording."""
import collections
import json
import os
import subprocess

from allotest import ALLO, ENVIRONMENT
from recordings import CaptureTest, built

# `make stress` asks for more.
EVENTS = int(os.environ.get("ALLO_TRUTH_EVENTS", 1_000_000))
NEVER = 2**63 - 1

# The allocation after a sleep is timed to within 50 us (doc/cpp.md); the recorder and the program convert clocks.
TOLERANCE_NS = 100_000

# Blocks by the function of the program that allocated them.
BY_FUNCTION = """
with recursive inside(id, name) as (
    select s.id, f.name
    from stack s join frame fr on fr.id = s.frame join function f on f.id = fr.function where f.name like 'by!_%' escape '!'
    union all select s.id, inside.name from stack s join inside on s.parent = inside.id)
"""


class Truth(CaptureTest):
    def query(self, path, query):
        return json.loads(self.allo("sql", "--json", path, BY_FUNCTION + query))["rows"]

    def record_truth(self, *arguments, options=()):
        """The program's own counts."""
        return json.loads(self.must(ALLO, "run", "-q", "-f", "-o", "truth.allo", *options, "--",
                                    built("truth.cpp", name="truth"), EVENTS, *arguments))

    def check_rows(self, truth):
        """Single allocations, by SQL."""
        rows = self.query("truth.allo", f"""select name, count(*), sum(size), sum(free_ns = {NEVER}),
            sum(iif(free_ns = {NEVER}, size, 0)), sum(is_resized_on)
            from allocation a join inside on inside.id = a.stack group by name""")
        self.assertEqual({row[0]: row[1:3] for row in rows},
                         {name: made for name, made in truth["made"].items() if made[0] > 0})
        live = [sum(row[3] for row in rows), sum(row[4] for row in rows)]
        self.assertEqual(live, truth["live"])
        made = sum(row[1] for row in rows)
        self.assertEqual((sum(row[5] for row in rows), made - live[0]),
                         (truth["resizes"], truth["frees"] + truth["resizes"]))

    def check_sums(self, truth):
        """Sums by stack, by SQL; and the same by `top`, which counts functions with their callees."""
        rows = self.query("truth.allo", """select metric.name, sum(value) from sample
            join inside on inside.id = sample.stack join metric on metric.id = sample.metric group by metric.name""")
        sums = dict(rows)
        made = [sum(each) for each in zip(*truth["made"].values())]
        expected = {"alloc_blocks": made[0], "alloc_bytes": made[1], "peak_blocks": truth["peak"][0],
                    "peak_bytes": truth["peak"][1], "end_blocks": truth["live"][0], "end_bytes": truth["live"][1]}
        self.assertEqual({name: sums.get(name) for name in expected}, expected)
        # The whole program: what libraries allocate comes on top, the same in all views.
        info = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", "truth.allo")["metrics"]}
        whole = self.query("truth.allo", "select metric.name, sum(value) from sample join metric on metric.id = metric "
                                         "group by metric.name")
        whole = dict(whole)
        self.assertEqual({name: info[name] for name in expected}, {name: whole[name] for name in expected})

    def check_events(self, truth):
        """The events themselves."""
        kinds = collections.Counter()
        with_size = 0
        with subprocess.Popen([ALLO, "events", "--json", "truth.allo"], cwd=self.tmp, env=ENVIRONMENT,
                              stdout=subprocess.PIPE) as events:
            for line in events.stdout:
                event = json.loads(line)
                kinds[event["event"]] += 1
                with_size += event.get("size", 0) if event["event"] in ("alloc", "realloc") else 0
        self.assertEqual(events.returncode, 0)
        info = self.allo_json("info", "truth.allo")["recording"]
        self.assertEqual((info["allocations"], info["reallocs"], info["frees"]),
                         (kinds["alloc"] + kinds["realloc"], kinds["realloc"], kinds["free"]))
        self.assertEqual((info["unknown_frees"], info["dropped_events"]), (0, 0))
        self.assertEqual(kinds["realloc"], truth["resizes"])
        whole, = self.query("truth.allo", "select count(*), sum(size) from allocation")
        self.assertEqual(whole, [kinds["alloc"] + kinds["realloc"], with_size])

    def check(self, truth):
        self.assertGreaterEqual(truth["events"], EVENTS)
        self.assertEqual(truth["events"], sum(blocks for blocks, _ in truth["made"].values()) + truth["frees"])
        self.check_rows(truth)
        self.check_sums(truth)
        self.check_times(truth)

    def check_times(self, truth):
        """Each stamp's allocation was made between two readings of the clock, so the start of the recording lies
        between two differences.  All stamps must agree on it."""
        times = dict(self.query("truth.allo", "select size, alloc_ns from allocation a join inside on inside.id = a.stack "
                                              "where name = 'by_stamp'"))
        self.assertEqual(sorted(times), sorted(size for size, *_ in truth["stamps"]))
        earliest = max((before - times[size], size) for size, before, _ in truth["stamps"])
        latest = min((after - times[size], size) for size, _, after in truth["stamps"])
        self.assertLessEqual(earliest[0] - latest[0], TOLERANCE_NS, (earliest, latest))

    def test_every_view_agrees_with_the_counters_of_the_program(self):
        truth = self.record_truth()
        self.check(truth)
        self.check_events(truth)

    def test_mappings_are_counted_in_whole_pages(self):
        truth = self.record_truth("mmap", options=["--track", "malloc,new,mmap,brk"])
        for name in ("by_mmap", "by_mmap64", "by_mremap", "by_brk", "by_sbrk"):
            self.assertGreater(truth["made"][name][0], 0, name)
        self.check(truth)
