"""Traces of calls that begin and end, Spall's and Chrome's: read, written, and back again."""
import collections
import json
import random
import struct

from allotest import ALLO, GOLDEN, Test
from spallfile import Trace
from test_perf import folded

MAGIC = 0x0BADF00D


def head(version, unit):
    return struct.pack("<QQdQ", MAGIC, version, unit, 0)


def spall_1(threads, unit=0.001, version=1):
    """{(pid, tid): [("B", ticks, name) or ("E", ticks), ...]} as a file; threads take turns."""
    events, data = {thread: list(events) for thread, events in threads.items()}, [head(version, unit)]
    while any(events.values()):
        for (pid, tid), waiting in events.items():
            for kind, time, *name in waiting[:3]:
                if kind == "E":
                    data.append(struct.pack("<BIId", 4, pid, tid, time))
                elif version == 0:
                    text = name[0].encode()
                    data.append(struct.pack("<BIIdB", 3, pid, tid, time, len(text)) + text)
                else:
                    text = name[0].encode()
                    data.append(struct.pack("<BBIIdBB", 3, 0, pid, tid, time, len(text), 4) + text + b"args")
            del waiting[:3]
    return b"".join(data)


def spall_3(threads, unit=1.0, names=()):
    data = [head(3, unit)]
    for (pid, tid), events in threads.items():
        for start in range(0, len(events), 5):
            buffer = b""
            for kind, text in names if start == 0 else ():
                buffer += struct.pack("<BB", kind, len(text)) + text.encode()
            for kind, time, *name in events[start:start + 5]:
                text = name[0].encode() if name else b""
                buffer += struct.pack("<BQBB", 3, time, len(text), 0) + text if name else struct.pack("<BQ", 4, time)
            data.append(struct.pack("<IIIQ", len(buffer), tid, pid, 0) + buffer)
    return b"".join(data)


def random_calls(chance, count):
    """Calls of one thread: some take no time, some follow on each other, some call the same again."""
    events, stack, now = [], [], chance.randrange(100)
    for _ in range(count):
        now += chance.choice((0, 0, 1, 7, 1000))
        if stack and chance.random() < 0.5:
            stack.pop()
            events.append(("E", now))
        else:
            stack.append(chance.choice(("main", "a", "b", "operator()(int, \"x\")\\n", "größe")))
            events.append(("B", now, stack[-1]))
    return events + [("E", now)] * len(stack)


def random_threads(seed):
    chance = random.Random(seed)
    return {(pid, tid): random_calls(chance, 300) for pid, tid in ((7, 7), (7, 8), (9, 4294967295))}


def events_of(calls):
    """Calls in the order of their beginnings as beginnings and ends."""
    events, stack = [], []
    for call in calls:
        while len(stack) >= call.depth:
            events.append(("E", stack.pop()))
        stack.append(call.end)
        events.append(("B", call.start, call.name))
    return events + [("E", end) for end in reversed(stack)]


def widths(events):
    """The own time of each stack of names."""
    found, stack, last = collections.Counter(), [], 0
    for kind, time, *name in events:
        found[";".join(stack)] += time - last if stack else 0
        last = time
        if kind == "B":
            stack.append(name[0])
        else:
            stack.pop()
    return +found


def nested(events):
    """Beginnings and ends as [start, end, name], in the order of their beginnings."""
    calls, stack = [], []
    for kind, time, *name in events:
        if kind == "B":
            stack.append([time, None, name[0]])
            calls.append(stack[-1])
        else:
            stack.pop()[1] = time
    return calls


class Traces(Test):
    def events(self, path, *options):
        """A file, converted to a trace for Spall."""
        self.allo("convert", path, "--to", "spall", "-fo", "decoded.spall", *options)
        trace = Trace((self.tmp / "decoded.spall").read_bytes())
        return {thread: events_of(calls) for thread, calls in trace.calls.items()}

    def said(self, path, *options, to="out.folded"):
        done = self.run_program(ALLO, "convert", "-f", path, "-o", to, *options)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stderr.decode()

    def refused(self, path, place, says):
        said = self.allo_fails("convert", "--strict", path, "-o", "out.spall")
        self.assertIn(f"{path}{place}: ", said)
        self.assertIn(says, said)
        self.assertFalse((self.tmp / "out.spall").exists())

    def chrome(self, events, name="in.trace.json", container="{\"traceEvents\":%s}"):
        return self.file(name, container % json.dumps(events))


class BackAgain(Traces):
    def test_calls_are_the_same_after_all_conversions(self):
        for seed in range(3):
            threads = random_threads(seed)
            self.file("0.spall", spall_1(threads))
            ways = [["1.trace.json", "2.spall", "3.trace.json.gz"],
                    ["4.spall --format-version 3", "5.trace.json", "6.spall"]]
            for way in ways:
                last = "0.spall"
                for step in way:
                    self.allo("convert", last, "-fo", *step.split())
                    last = step.split()[0]
                    with self.subTest(seed=seed, last=last):
                        self.assertEqual(self.events(last), threads)

    def test_version_3_is_read(self):
        threads = random_threads(5)
        path = self.file("in.spall", spall_3(threads, names=((8, "server"), (9, "a thread"))))
        self.assertEqual(self.events(path), threads)
        self.allo("convert", path, "-o", "out.spall", "--format-version", "3")
        trace = Trace((self.tmp / "out.spall").read_bytes())
        self.assertEqual(trace.process_names, {7: "server", 9: "server"})
        self.assertEqual(set(trace.thread_names.values()), {"a thread"})
        self.allo("convert", path, "-o", "out.trace.json")
        events = json.loads((self.tmp / "out.trace.json").read_text())["traceEvents"]
        names = [(event["name"], event["pid"], event["args"]["name"]) for event in events if event["ph"] == "M"]
        self.assertEqual(set(names), {("process_name", 7, "server"), ("process_name", 9, "server"),
                                      ("thread_name", 7, "a thread"), ("thread_name", 9, "a thread")})

    def test_version_0_is_read(self):
        threads = random_threads(6)
        self.assertEqual(self.events(self.file("in.spall", spall_1(threads, version=0))), threads)

    def test_ticks_may_be_of_any_length(self):
        threads = {(1, 1): [("B", 10, "a"), ("B", 10.5, "b"), ("E", 25.5), ("E", 26)]}
        expected = {(1, 1): [("B", 10000, "a"), ("B", 10500, "b"), ("E", 25500), ("E", 26000)]}
        self.assertEqual(self.events(self.file("in.spall", spall_1(threads, unit=1))), expected)
        ticks = {(1, 1): [(kind, time // 500, *name) for kind, time, *name in expected[1, 1]]}
        self.assertEqual(self.events(self.file("in.spall", spall_3(ticks, unit=500))), expected)

    def test_golden_files_are_the_same_in_all_forms(self):
        for name in ("spall/v1.spall", "spall/v3.spall"):
            self.assertEqual(self.events(GOLDEN / name),
                             {(42, 7): [("B", 0, "main"), ("B", 10000, "parse"), ("E", 25500), ("E", 100000)],
                              (42, 8): [("B", 30000, "alloc"), ("E", 31000)]})
        native = self.events(GOLDEN / "spall" / "native-auto-v3.spall")
        calls = nested(native[0, 7])
        self.assertEqual(len(calls), 13)
        self.assertEqual([end - start for start, end, name in calls if name == "manual zone"], [676])


    def test_hidden_calls_keep_their_time(self):
        threads = random_threads(8)
        path = self.file("in.spall", spall_1(threads))
        total = sum(sum(widths(events).values()) for events in threads.values())
        for options in (("--hide", "=a"), ("--hide", "=main"), ("--stack-depth", "2"), ("--show", "=b")):
            found = self.events(path, *options)  # which must be one that the viewer reads
            self.assertLessEqual(sum(sum(widths(events).values()) for events in found.values()), total)
        focused = sum(map(widths, self.events(path, "--focus", "=b").values()), collections.Counter())
        expected = sum(map(widths, threads.values()), collections.Counter())
        self.assertEqual(focused, {stack: time for stack, time in expected.items() if "b" in stack.split(";")})


class AddedUp(Traces):
    def test_times_are_those_of_the_calls_themselves(self):
        threads = random_threads(11)
        expected = sum(map(widths, threads.values()), collections.Counter())
        for data in (spall_1(threads), spall_3(threads)):
            path = self.file("in.spall", data)
            self.assertEqual(folded(self.allo("convert", path, "--to", "folded")), expected)
            self.assertEqual(self.allo_json("info", path)["metrics"][0]["sum"], sum(expected.values()))

    def test_threads_are_labels(self):
        threads = {(7, 8): [("B", 0, "a"), ("E", 5)], (7, 9): [("B", 0, "a"), ("E", 3)]}
        path = self.file("in.spall", spall_3(threads, names=((9, "worker"),)))
        self.allo("convert", path, "-o", "out.pb.gz")
        for label, expected in (("tid=8", 5), ("tid=9", 3), ("thread name=worker", 8), ("pid=7", 8)):
            found = folded(self.allo("convert", "out.pb.gz", "--to", "folded", "--label", label))
            self.assertEqual(found, {"a": expected}, label)


class Chrome(Traces):
    def test_the_order_of_events_does_not_matter(self):
        chance = random.Random(3)
        now, events, expected = 0, [], []
        for _ in range(50):  # calls with a call inside of each, at times that are all different
            times = sorted(chance.sample(range(now, now + 1000), 4))
            now += 1000
            expected += [("B", times[0], "outer"), ("B", times[1], "inner"), ("E", times[2]), ("E", times[3])]
            for name, start, end in (("outer", times[0], times[3]), ("inner", times[1], times[2])):
                one = {"pid": 1, "tid": 2, "ts": start / 1000, "name": name}
                events += chance.choice(([{**one, "ph": "X", "dur": (end - start) / 1000}],
                                         [{**one, "ph": "B"}, {**one, "ph": "E", "ts": end / 1000}]))
        for _ in range(3):
            chance.shuffle(events)
            self.assertEqual(self.events(self.chrome(events)), {(1, 2): expected})

    def calls(self, *events, **options):
        """Of one thread: (kind, start, end or duration, name)."""
        made = [{"ph": kind, "pid": 1, "tid": 1, "ts": start, **({"dur": more} if more is not None else {}), "name": name}
                for kind, start, more, name in events]
        found = self.events(self.chrome(made, **options))
        return nested(found[1, 1])

    def test_where_times_are_equal_the_longer_call_is_outside(self):
        expected = [[0, 9000, "a"], [0, 9000, "b"], [0, 4000, "c"], [4000, 9000, "d"], [9000, 9000, "e"]]
        calls = [("X", 4, 5, "d"), ("X", 0, 4, "c"), ("X", 0, 9, "a"), ("X", 0, 9, "b"), ("X", 9, 0, "e")]
        self.assertEqual(self.calls(*calls), expected)
        self.assertEqual(self.calls(("X", 0, 9, "in"), ("B", 0, None, "out"), ("E", 10, None, "out")),
                         [[0, 10000, "out"], [0, 9000, "in"]])
        self.assertEqual(self.calls(("X", 0, 12, "out"), ("B", 0, None, "in"), ("E", 10, None, "in")),
                         [[0, 12000, "out"], [0, 10000, "in"]])
        # Ends come before beginnings.
        self.assertEqual(self.calls(("X", 5, 3, "b"), ("B", 0, None, "a"), ("E", 5, None, "a")),
                         [[0, 5000, "a"], [5000, 8000, "b"]])

    def test_calls_that_overlap_are_cut(self):
        self.assertEqual(self.calls(("X", 0, 10, "a"), ("X", 5, 10, "b")), [[0, 10000, "a"], [5000, 10000, "b"]])
        self.assertIn("1 call overlaps another one", self.said("in.trace.json"))
        self.assertEqual(self.calls(("B", 0, None, "a"), ("X", 5, 10, "b"), ("E", 8, None, "a")),
                         [[0, 8000, "a"], [5000, 8000, "b"]])
        self.assertEqual(self.calls(("X", 0, 10, "a"), ("B", 5, None, "b"), ("E", 12, None, "b")),
                         [[0, 12000, "a"], [5000, 12000, "b"]])

    def test_calls_without_beginning_or_end_are_reported(self):
        self.assertEqual(self.calls(("B", 0, None, "a"), ("B", 2, None, "b"), ("E", 7, None, "b"), ("X", 8, 3, "c")),
                         [[0, 11000, "a"], [2000, 7000, "b"], [8000, 11000, "c"]])
        self.assertIn("1 call has no end", self.said("in.trace.json"))
        self.assertEqual(self.calls(("B", 0, None, "a"), ("X", 2, None, "b"), ("E", 7, None, "a")),
                         [[0, 7000, "a"], [2000, 7000, "b"]])
        self.assertEqual(self.calls(("E", 0, None, "z"), ("B", 1, None, "a"), ("E", 2, None, "x")), [[1000, 2000, "a"]])
        said = self.said("in.trace.json")
        self.assertIn("1 call has no start", said)
        self.assertIn("1 call ends with another name than it started with", said)

    def test_the_container_may_be_any_that_is_used(self):
        event = '{"args":{"name":"no"},"ph":"X","name":"a","ts":1,"dur":"2.5","pid":1,"tid":1}'
        for text in (f"[{event}]", f"[{event},]", f"[{event}", f"[{event},\n", f' {{"traceEvents": [{event}]}}',
                     f'{{"displayTimeUnit":"ns","x":[1,[2]],"traceEvents":[{event}],"otherData":{{"a":1}}}}'):
            with self.subTest(text[:20]):
                self.assertEqual(self.events(self.file("in.json", text)), {(1, 1): [("B", 1000, "a"), ("E", 3500)]})

    def test_processes_and_threads_may_have_names_for_numbers(self):
        path = self.chrome([{"ph": "X", "ts": 0, "dur": 1, "name": "a", "pid": "main", "tid": "-3"},
                            {"ph": "X", "ts": 0, "dur": 1, "name": "b", "pid": "12", "tid": "io thread"},
                            {"ph": "X", "ts": 0, "dur": 1, "name": "c"}])
        self.allo("convert", path, "-o", "out.trace.json")
        events = json.loads((self.tmp / "out.trace.json").read_text())["traceEvents"]
        calls = {event["name"]: (event["pid"], event["tid"]) for event in events if event["ph"] == "B"}
        self.assertEqual(calls["a"][1], 2 ** 32 - 3)
        self.assertEqual(calls["b"][0], 12)
        self.assertEqual(calls["c"], (0, 0))
        named = {(event["name"], event["args"]["name"]) for event in events if event["ph"] == "M"}
        self.assertEqual(named, {("process_name", "main"), ("thread_name", "io thread")})

    def test_times_may_be_before_the_start(self):
        self.assertEqual(self.calls(("X", -5, 3.0005, "a"), ("X", 1e1, 2e-3, "b")), [[0, 3001, "a"], [15000, 15002, "b"]])

    def test_other_events_are_skipped(self):
        self.assertEqual(self.events(GOLDEN / "chrome-trace" / "demo.trace.json"),
                         {(42, 7): [("B", 0, "main"), ("B", 10500, "build_list"), ("E", 210750), ("E", 400000)],
                          (42, 8): [("B", 320000, "worker"), ("E", 360000)]})


class Written(Traces):
    def test_events_suit_all_viewers(self):
        self.file("in.spall", spall_1(random_threads(2)))
        self.allo("convert", "in.spall", "-o", "out.trace.json")
        text = (self.tmp / "out.trace.json").read_text()
        self.assertTrue(text.startswith('{"traceEvents":['))  # Perfetto's way to know it
        trace, last = json.loads(text, parse_float=str), collections.defaultdict(float)
        for event in trace["traceEvents"]:
            self.assertIn(event["ph"], "BE")
            self.assertRegex(event["ts"], r"^\d+\.\d{3}$")  # no exponent: Spall
            self.assertTrue(event["name"])  # of ends, too: speedscope
            thread = event["pid"], event["tid"]
            self.assertLessEqual(last[thread], float(event["ts"]))
            last[thread] = float(event["ts"])

    def test_heap_profiles_are_as_wide_as_their_bytes(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        events, = self.events(path).values()
        self.assertEqual(widths(events), folded(self.allo("convert", path, "--to", "folded")))
        self.allo("convert", path, "-o", "out.trace.json")
        self.assertEqual(self.events("out.trace.json"), {(0, 0): events})
        self.assertIn("peak_bytes, each a nanosecond wide", (self.tmp / "out.trace.json").read_text())

    def test_the_heap_over_time_is_a_counter(self):
        path = GOLDEN / "massif" / "valgrind.massif"
        self.allo("convert", path, "-o", "out.trace.json")
        found = [event["args"]["bytes"] for event in json.loads((self.tmp / "out.trace.json").read_text())["traceEvents"]
                 if event["ph"] == "C"]
        snapshots = [int(line.split("=")[1]) for line in path.read_text().splitlines() if line.startswith("mem_heap_B=")]
        self.assertEqual(found, snapshots)


class Broken(Traces):
    def test_spall_files_say_where_they_are_broken(self):
        good = spall_1({(1, 1): [("B", 5, "a"), ("E", 7)]})
        for data, place, says in (
                (head(2, 1) + good[32:], ": byte 9", "version 2"), (head(1, 0) + good[32:], ": byte 17", "0 microseconds"),
                (head(1, float("nan")), ": byte 17", "nan microseconds"), (good[:20], ": byte 21", "ends within its head"),
                (good + b"\x05", f": byte {len(good) + 1}", "unknown event kind 5"),
                (good + spall_1({(1, 1): [("B", 6, "a")]})[32:], f": byte {len(good) + 1}", "begins at 6 ns"),
                (good + spall_1({(1, 1): [("B", -1, "a")]})[32:], f": byte {len(good) + 1}", "-1 ticks"),
                (good + spall_1({(1, 1): [("B", 9, "a"), ("E", 8)]})[32:], f": byte {len(good) + 26}", "ends at 8 ns"),
                (head(3, 1) + struct.pack("<IIIQ", 5, 1, 1, 0) + struct.pack("<BQ", 4, 1), ": byte 53", "beyond the end of its buffer")):
            with self.subTest(says):
                self.refused(self.file("in.spall", data), place, says)

    def test_a_spall_file_that_ends_anywhere_is_read_so_far(self):
        for whole in (spall_1(random_threads(1))[:700], spall_3(random_threads(1))[:700]):
            for length in range(32, len(whole), 13):
                path = self.file("in.spall", whole[:length])
                said = self.said(path, to="out.spall")
                Trace((self.tmp / "out.spall").read_bytes())
        self.assertRegex(said, r"in\.spall is truncated: the numbers are those of its first [\d,]+ bytes")

    def test_json_says_where_it_is_broken(self):
        for text, place, says in (('[{"ph":"B","name":"a"}]', ":1:23", "no \"ts\""),
                                  ('[\n{"ph":"X","ts":1,"dur":-1}]', ":2:27", "negative"),
                                  ('[{"ph":"B","ts":1},\n{"ph":"B","ts":"x"}]', ":2:19", "expected microseconds"),
                                  ('[{"ph":"B","ts":1},\n{"ph":"B","ts', ":2:14", "the end of the file"),
                                  ('{"traceEvents":[{"ph":"B","ts":1}', ":1:34", "the end of the file"),
                                  ('[{"ph":"B","ts":1}] x', ":1:21", "expected the end of the file"),
                                  ('[{"ph":"B","ts":1},2]', ":1:20", "expected an object"),
                                  ('[{"ph":"B","ts":1e300}]', ":1:22", "expected microseconds")):
            with self.subTest(text):
                self.refused(self.file("in.json", text), place, says)
        said = self.allo_fails("info", "--from", "chrome-trace", self.file("in.json", '{"a":1}'))
        self.assertIn('has no "traceEvents"', said)
