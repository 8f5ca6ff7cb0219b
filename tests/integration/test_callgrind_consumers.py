"""Callgrind output as its real consumer sees it: callgrind_annotate."""
import collections
import re

from allotest import ALLO, GOLDEN, Test
from profilejson import Profile, shown

# "1,271,912 (99.80%)  demo.c:main [/usr/bin/demo]"
LINE = re.compile(r"^ *([\d,]+) \([ \d.]+%\)  (.+)$", re.M)
TREE = re.compile(r"^ *([\d,]+) \([ \d.]+%\)  ([<*>]) +(.+?)(?: \(([\d,]+)x\))?(?: \[[^]]*\])?$",
                  re.M)


def number(text):
    return int(text.replace(",", ""))


def costs(profile, metric):
    """The own cost of each function of a profile, and the cost with its callees."""
    index = profile.metric(metric)
    own, through = collections.Counter(), collections.Counter()
    for frames, values, _, _ in profile.samples:
        calls = [f"{call.file or '???'}:{shown(call)}" for frame in frames for call in frame]
        own[calls[0] if calls else "???:[root]"] += values[index]
        for call in set(calls):
            through[call] += values[index]
    through["???:[root]"] = profile.sum(metric)
    return +own, +through


class Annotate(Test):
    SANITIZED = False  # perl does the work here

    def annotate(self, path, *options):
        done = self.run_program("callgrind_annotate", "--threshold=100", "--auto=no", *options,
                                path)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def functions(self, path, has_modules, *options):
        """Costs by function, and the total."""
        found = [(name.rsplit(" [", 1)[0] if has_modules else name, number(cost))
                 for cost, name in LINE.findall(self.annotate(path, *options))]
        total = next(cost for name, cost in found if name == "PROGRAM TOTALS")
        return {name: cost for name, cost in found if name != "PROGRAM TOTALS" and cost}, total

    def check(self, sample, metric):
        profile = Profile(self.allo("convert", sample, "--to", "json"))
        has_modules = len(profile.json["modules"]) > 1
        own, through = costs(profile, metric)
        self.allo("convert", sample, "-M", metric, "-fo", "out.callgrind")
        self.assertEqual(self.functions("out.callgrind", has_modules), (own, sum(own.values())))
        self.assertEqual(self.functions("out.callgrind", has_modules, "--inclusive=yes"),
                         (through, sum(own.values())))

    def test_every_sample_has_its_own_and_inclusive_costs(self):
        checked = 0
        for sample in sorted(GOLDEN.glob("dhat/*.json")) + sorted(GOLDEN.glob("pprof/*.gz")):
            profile = Profile(self.allo("convert", sample, "--to", "json"))
            for metric in profile.metrics:
                if profile.sum(metric["name"]) > 0:
                    with self.subTest(f"{sample.name} {metric['name']}"):
                        self.check(sample, metric["name"])
                        checked += 1
        self.assertGreater(checked, 60)

    def test_recursion_is_counted_once(self):
        self.check(self.file("in.folded", "main;f;f;f;g 1000\nmain;f;g;f;g;malloc 9\n"
                                          "f;g;f;malloc 20\ng 3\nmain;f;f 5\n"), "samples")
        _, total = self.functions("out.callgrind", False)
        self.assertEqual(total, 1037)
        through, _ = self.functions("out.callgrind", False, "--inclusive=yes")
        self.assertEqual((through["???:f"], through["???:g"]), (1034, 1032))

    def test_an_interpreter_whose_stacks_are_cut_off(self):
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=dhat.out", "/usr/bin/python3", "-c",
                  "import json")
        self.check("dhat.out", "alloc_bytes")
        # The graph is small, however many stacks there were.
        self.assertLess((self.tmp / "out.callgrind").stat().st_size,
                        (self.tmp / "dhat.out").stat().st_size)

    def test_callers_and_callees_of_a_known_program(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-M", "alloc_bytes", "-M",
                  "alloc_blocks", "-o", "callgrind.out.1")
        text = self.annotate("callgrind.out.1", "--inclusive=yes", "--tree=both",
                             "--show=AllocBytes")
        found = collections.Counter((arrow, name, number(cost), calls)
                                    for cost, arrow, name, calls in TREE.findall(text))
        self.assertEqual(found["*", "demo.c:main", 1255256, ""], 1)
        self.assertEqual(found["<", "demo.c:worker", 19200, "300"], 1)
        # Six calls of itself are one: it calls calloc and nothing else, and only main calls it.
        self.assertEqual({key: count for key, count in found.items() if key[1] == "demo.c:recurse"},
                         {("<", "demo.c:recurse", 2000, "20"): 1,
                          ("*", "demo.c:recurse", 2000, ""): 1,
                          (">", "demo.c:recurse", 2000, "20"): 1})
        self.assertIn("Events recorded:  AllocBytes AllocBlocks", text)
        self.assertIn("./demo (PID 23928)", text)

    def test_values_are_annotated_to_lines(self):
        self.file("demo.c", "".join(f"line {i}\n" for i in range(1, 120)))
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-M", "alloc_bytes", "-F",
                  "leak_some", "--trim-allocator", "-o", "out.kcg")
        done = self.must("callgrind_annotate", "--threshold=100", "--auto=yes", "out.kcg")
        self.assertRegex(done, r"(?m)^5,000 \(100.0%\)  line 7\d$")


class Form(Test):
    def text(self, path, *options):
        return self.allo("convert", path, "--to", "callgrind", *options)

    def test_event_names_are_short_and_differ(self):
        text = self.text(GOLDEN / "dhat" / "valgrind-heap.json")
        events = re.search(r"(?m)^events: (.*)$", text).group(1).split(" ")
        self.assertEqual(events[0], "PeakBytes")
        self.assertEqual(len(set(events)), 11)
        for event in events:
            self.assertRegex(event, r"^[A-Za-z][A-Za-z0-9]*$")
            self.assertRegex(text, rf"(?m)^event: {event} : \w+ \(\w+\)")
        self.assertIn("event: AllocBytes : alloc_bytes (bytes), ever allocated\n", text)

    def test_a_comparison_has_two_events(self):
        text = self.text(GOLDEN / "folded" / "diff.folded")
        self.assertIn("events: Samples SamplesBefore\nsummary: 1612 1017\n", text)
        self.assertTrue(text.endswith("\ntotals: 1612 1017\n"))

    def test_names_stay_within_their_line(self):
        text = self.text(self.file("in.folded", b"main;(3) odd\x0bname;\xff 1009\n"))
        self.assertIn(" (3) odd name\n", text)
        self.assertIn(" \ufffd\n", text)

    def test_values_that_cannot_be_written_are_noted(self):
        before = self.file("before.folded", "main;a 1000\n")
        after = self.file("after.folded", "main;b 23\n")
        self.allo("diff", before, after, "-o", "diff.pb.gz")
        done = self.run_program(ALLO, "convert", "diff.pb.gz", "--to", "callgrind")
        self.assertIn(b"summary: 23\n", done.stdout)
        self.assertIn(b"note: 1 value is negative", done.stderr)

    def test_nothing_at_all_is_a_file_too(self):
        text = self.text(GOLDEN / "dhat" / "valgrind-empty.json")
        self.assertIn("summary: 0 0 0 0 0 0 0 0 0 0 0\n", text)
