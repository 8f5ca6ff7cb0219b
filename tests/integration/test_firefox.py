"""Firefox Profiler files, checked against the requirements of its code for a processed profile of version 60."""
import gzip
import itertools
import json

from allotest import ALLO, GOLDEN, Test

# Columns of each table, and the type of a value: an index into another table, with or without null.
STRING, STACK, FRAME, FUNC, RESOURCE, SOURCE, LIB = (
    "stringArray", "stackTable", "frameTable", "funcTable", "resourceTable", "sources", "libs")
SHARED = {
    "stackTable": {"frame": FRAME, "prefix": (STACK, None)},
    "frameTable": {"address": int, "inlineDepth": int, "category": int, "subcategory": int,
                   "func": FUNC, "nativeSymbol": None, "innerWindowID": int, "line": (int, None),
                   "column": (int, None)},
    "funcTable": {"name": STRING, "isJS": bool, "relevantForJS": bool, "resource": (RESOURCE, -1),
                  "source": (SOURCE, None), "lineNumber": (int, None), "columnNumber": (int, None)},
    "resourceTable": {"lib": (LIB, None), "name": STRING, "host": None, "type": int},
    "nativeSymbols": {"libIndex": LIB, "address": int, "name": STRING, "functionSize": (int, None)},
    "sources": {"uuid": None, "filename": STRING},
}
SAMPLES = {"stack": (STACK, None), "time": float}
ALLOCATIONS = {**SAMPLES, "weight": int, "memoryAddress": int, "threadId": int}
MARKERS = {"data": None, "name": STRING, "startTime": float, "endTime": float, "phase": int,
           "category": int}
META = {"interval": float, "startTime": int, "processType": int, "product": str, "stackwalk": int,
        "version": int, "preprocessedProfileVersion": int, "symbolicated": bool, "debug": bool,
        "importedFrom": str, "usesOnlyOneStackType": bool, "sourceCodeIsNotOnSearchfox": bool,
        "keepProfileThreadOrder": bool}
LIB_FIELDS = ("arch", "name", "path", "debugName", "debugPath", "breakpadId")
THREAD = {"processType": str, "processStartupTime": int, "registerTime": int, "name": str,
          "isMainThread": bool, "processName": str, "pid": str, "tid": (int, str)}


BLOCKS = "blocks over time"
COUNTER = {"name": str, "category": str, "description": str, "pid": str, "mainThreadIndex": int}
MOMENTS = {"time": float, "count": int}


class Checker:
    """Asserts that a file is all that version 60 says it is."""

    def __init__(self, test, file):
        self.test = test
        self.file = file
        self.shared = file["shared"]

    def length_of(self, name):
        if name == LIB:
            return len(self.file["libs"])
        table = self.shared[name]
        return len(table) if name == STRING else table["length"]

    def is_valid(self, value, kind):
        if kind is None:
            return value is None
        if kind is bool:
            return isinstance(value, bool)
        if kind is float:
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if kind == (int, str):
            return isinstance(value, kind) and not isinstance(value, bool)
        if isinstance(kind, tuple):
            return value == kind[1] or self.is_valid(value, kind[0])
        if kind in (int, str):
            return isinstance(value, kind) and not isinstance(value, bool)
        return isinstance(value, int) and 0 <= value < self.length_of(kind)

    def check_table(self, name, table, columns, others=()):
        self.test.assertEqual(set(table), {"length", *columns, *others}, name)
        for column, kind in columns.items():
            self.test.assertEqual(len(table[column]), table["length"], f"{name}.{column}")
            for value in table[column]:
                self.test.assertTrue(self.is_valid(value, kind), f"{name}.{column}: {value}")

    def check_meta(self):
        meta = self.file["meta"]
        for key, kind in META.items():
            self.test.assertTrue(self.is_valid(meta[key], kind), key)
        self.test.assertEqual(meta["preprocessedProfileVersion"], 60)
        self.test.assertEqual(meta["markerSchema"], [])
        self.test.assertIn("grey", [category["color"] for category in meta["categories"]])
        threads = list(range(len(self.file["threads"])))
        self.test.assertEqual(meta["initialVisibleThreads"], threads)
        self.test.assertIn(meta["initialSelectedThreads"][0], threads)

    def check_shared(self):
        self.test.assertEqual(set(self.shared), {STRING, *SHARED})
        self.test.assertTrue(all(isinstance(text, str) for text in self.shared[STRING]))
        for name, columns in SHARED.items():
            self.check_table(name, self.shared[name], columns)
        stacks, frames = self.shared["stackTable"], self.shared["frameTable"]
        for i, prefix in enumerate(stacks["prefix"]):
            self.test.assertTrue(prefix is None or prefix < i, "callers come first")
            depth = frames["inlineDepth"][stacks["frame"][i]]
            if depth > 0:  # inlined into the frame before, at the same address
                caller = stacks["frame"][prefix]
                self.test.assertEqual(frames["inlineDepth"][caller], depth - 1)
                self.test.assertEqual(frames["address"][caller], frames["address"][stacks["frame"][i]])

    def check_thread(self, thread):
        for key, kind in THREAD.items():
            self.test.assertTrue(self.is_valid(thread[key], kind), key)
        for key in ("processShutdownTime", "unregisterTime"):
            self.test.assertIsNone(thread[key])
        self.test.assertEqual(thread["pausedRanges"], [])
        self.check_table("markers", thread["markers"], MARKERS)
        self.check_table("samples", thread["samples"], SAMPLES, ("weight", "weightType"))
        self.test.assertIn(thread["samples"]["weightType"], ("samples", "tracing-ms"))
        tables = [thread["samples"]]
        if "nativeAllocations" in thread:
            tables = [thread["nativeAllocations"]]
            self.check_table("nativeAllocations", tables[0], ALLOCATIONS, ("weightType",))
            self.test.assertEqual(tables[0]["weightType"], "bytes")
            self.test.assertEqual(thread["samples"]["length"], 0)
            if thread["name"] == BLOCKS:
                return self.check_blocks(tables[0])
            addresses = tables[0]["memoryAddress"]
            self.test.assertEqual(len(set(addresses)), len(addresses))
        self.test.assertEqual(len(tables[0]["weight"]), tables[0]["length"])
        # Samples over time have rows for gaps, too.
        self.test.assertTrue(all(weight > 0 or (stack is None and isinstance(thread["tid"], str))
                                 for weight, stack in zip(tables[0]["weight"], tables[0]["stack"])))
        self.test.assertEqual(tables[0]["time"], sorted(tables[0]["time"]))

    def check_blocks(self, table):
        """Every block begins once, and ends at most once, later, with the same bytes and stack."""
        live = {}
        for row in zip(table["memoryAddress"], table["weight"], table["stack"]):
            block, weight, stack = row
            self.test.assertNotEqual(weight, 0)
            if weight > 0:
                self.test.assertNotIn(block, live)
                live[block] = weight, stack
            else:
                self.test.assertEqual(live.get(block), (-weight, stack))
                live[block] = None
        self.test.assertEqual(table["time"], sorted(table["time"]))

    def check_counter(self, counter):
        """The memory track: differences, which never fall below nothing; and all of it is to be seen."""
        for key, kind in COUNTER.items():
            self.test.assertTrue(self.is_valid(counter[key], kind), key)
        self.test.assertEqual((counter["name"], counter["category"]), ("malloc", "Memory"))
        self.test.assertEqual(counter["pid"], self.file["threads"][counter["mainThreadIndex"]]["pid"])
        self.check_table("counter", counter["samples"], MOMENTS)
        times = counter["samples"]["time"]
        self.test.assertEqual(times, sorted(times))
        self.test.assertLessEqual(0, min(itertools.accumulate(counter["samples"]["count"])))
        # The Firefox Profiler shows these, or else the rows of threads.
        meta = self.file["meta"]
        self.test.assertEqual((meta["profilingStartTime"], meta["profilingEndTime"]), (0, times[-1]))

    def check(self):
        self.test.assertEqual(set(self.file), {"meta", "libs", "shared", "threads", "counters"})
        self.check_meta()
        self.check_shared()
        for lib in self.file["libs"]:
            self.test.assertTrue(all(isinstance(lib[key], str) for key in LIB_FIELDS))
        for thread in self.file["threads"]:
            self.check_thread(thread)
        for counter in self.file["counters"]:
            self.check_counter(counter)
        tids = [thread["tid"] for thread in self.file["threads"]]
        self.test.assertEqual(len(set(tids)), len(tids))


class Firefox(Test):
    def convert(self, *arguments):
        self.allo("convert", *arguments, "-fo", "test.firefox.json")
        return json.loads((self.tmp / "test.firefox.json").read_text())

    @staticmethod
    def rows(thread):
        """The values of a thread's stacks, and their indices."""
        table = thread.get("nativeAllocations", thread["samples"])
        scale = 1000000 if table["weightType"] == "tracing-ms" else 1
        return [(round(weight * scale), stack) for weight, stack in zip(table["weight"], table["stack"])]

    def listing(self, file):
        """A line for each stack of each thread: its weight, then callers and callees."""
        shared = file["shared"]
        strings, frames, funcs = shared["stringArray"], shared["frameTable"], shared["funcTable"]

        def text(frame):
            func = frames["func"][frame]
            source, resource = funcs["source"][func], funcs["resource"][func]
            parts = [strings[funcs["name"][func]]]
            if source is not None:
                parts.append(f"{strings[shared['sources']['filename'][source]]}:{frames['line'][frame]}")
            if resource >= 0:
                parts.append("in " + strings[shared["resourceTable"]["name"][resource]])
            if frames["address"][frame] >= 0:
                parts.append(hex(frames["address"][frame]))
            if frames["inlineDepth"][frame]:
                parts.append("inlined")
            return " ".join(parts)

        lines = [file["meta"]["product"]]
        for thread in file["threads"]:
            rows = self.rows(thread)
            lines.append(f"{thread['name']}: {sum(weight for weight, _ in rows)}")
            for weight, stack in rows:
                names = []
                while stack is not None:
                    names.insert(0, text(shared["stackTable"]["frame"][stack]))
                    stack = shared["stackTable"]["prefix"][stack]
                lines.append(f"  {weight} " + " > ".join(names))
        return "\n".join(lines) + "\n"

    def test_all_files_follow_version_60(self):
        for path in [*sorted(GOLDEN.glob("dhat/*")), *sorted(GOLDEN.glob("pprof/*")),
                     *sorted(GOLDEN.glob("folded/*"))]:
            with self.subTest(path.name):
                Checker(self, self.convert(path)).check()

    def test_threads_of_a_trace_are_threads_over_time(self):
        text = "".join(f" {10 ** 12 + time:16d} {7:8d} {tid:16d}\n              a`{name}\n                {count}\n"
                       for time, tid, name, count in ((0, 70, "f", 1), (500000, 71, "g", 3), (1000000, 70, "h", 1),
                                                      (5000000, 70, "f", 1)))
        file = self.convert("--from", "dtrace", self.file("in.txt", "\n" + text))
        Checker(self, file).check()
        one, other = file["threads"]
        self.assertEqual((one["pid"], one["tid"], one["name"]), ("7", "7/70", "thread 70"))
        self.assertEqual(one["samples"], {"length": 4, "stack": [0, 2, None, 0], "time": [0, 1, 2, 5],
                                          "weight": [1, 1, 0, 1], "weightType": "samples"})
        self.assertEqual(other["samples"], {"length": 1, "stack": [1], "time": [0.5], "weight": [3],
                                            "weightType": "samples"})
        self.assertEqual(file["meta"]["initialSelectedThreads"], [0])
        for path in sorted(GOLDEN.glob("dtrace/*")):
            Checker(self, self.convert(path)).check()

    def test_totals_are_those_of_info(self):
        for path in [*sorted(GOLDEN.glob("dhat/*")), *sorted(GOLDEN.glob("pprof/*"))]:
            with self.subTest(path.name):
                metrics = self.allo_json("info", path)["metrics"]
                threads = self.convert(path)["threads"]
                self.assertEqual([(thread["name"], sum(weight for weight, _ in self.rows(thread)))
                                  for thread in threads],
                                 [(metric["metric"]["name"], metric["sum"]) for metric in metrics])

    def test_files_have_not_changed(self):
        for name in ("dhat/valgrind-heap.json", "pprof/go-heap.pb.gz", "pprof/inline-dropframes.pb.gz",
                     "folded/diff.folded"):
            with self.subTest(name):
                path = GOLDEN / name
                self.assert_golden(GOLDEN / "firefox" / (path.name + ".txt"),
                                   self.listing(self.convert(path)))

    def test_bytes_are_allocations_and_counts_are_samples(self):
        file = self.convert(GOLDEN / "dhat" / "valgrind-heap.json")
        threads = {thread["name"]: thread for thread in file["threads"]}
        self.assertIn("nativeAllocations", threads["peak_bytes"])
        self.assertNotIn("nativeAllocations", threads["peak_blocks"])
        self.assertEqual(threads["peak_blocks"]["samples"]["weightType"], "samples")
        self.assertEqual(file["meta"]["initialSelectedThreads"],
                         [file["threads"].index(threads["peak_bytes"])])

    def test_build_ids_become_breakpad_ids(self):
        libs = self.convert(GOLDEN / "pprof" / "minimal.pb")["libs"]
        self.assertEqual([(lib["codeId"], lib["breakpadId"]) for lib in libs],
                         [("abcdef0123", "01EFCDAB00230000" + 16 * "0" + "0")])

    def test_a_comparison_is_two_threads(self):
        threads = self.convert(GOLDEN / "folded" / "diff.folded")["threads"]
        self.assertEqual([thread["name"] for thread in threads], ["samples before", "samples after"])

    def counted(self, *arguments):
        """The memory track: live bytes over time."""
        file = self.convert(*arguments)
        Checker(self, file).check()
        return [list(itertools.accumulate(counter["samples"]["count"])) for counter in file["counters"]]

    def test_the_memory_track_goes_up_to_the_peak(self):
        self.must(ALLO, "run", "-qo", "made.allo", "sqlite3", ":memory:",
                  "create table t(x); insert into t values(zeroblob(100003)); select hex(x) from t;")
        for path in (*sorted((GOLDEN / "allo").iterdir()), self.tmp / "made.allo"):
            with self.subTest(path.name):
                live, = self.counted(path) or [None]
                if path.name == "ad-hoc.allo":
                    self.assertIsNone(live)  # it is not one of memory
                    continue
                self.assertEqual(live[0], 0)
                self.assertEqual(max(live), self.allo_json("top", "-M", "peak_bytes", path)["sum"])
                self.assertEqual(live[-1], self.allo_json("top", "-M", "end_bytes", path)["sum"])
                self.assertLess(len(live), 1003)

    def blocks(self, *arguments):
        """Bytes that began to live, those that still live at the end, and the latter by function."""
        file = self.convert(*arguments)
        Checker(self, file).check()
        if file["threads"][0]["name"] != BLOCKS:
            return None
        table = file["threads"][0]["nativeAllocations"]
        shared = file["shared"]
        kept = {}
        for weight, stack in zip(table["weight"], table["stack"]):
            if stack is not None:
                func = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
                name = shared["stringArray"][shared["funcTable"]["name"][func]]
                kept[name] = kept.get(name, 0) + weight
        began = sum(weight for weight in table["weight"] if weight > 0)
        return began, sum(table["weight"]), kept

    def test_blocks_of_recordings_come_and_go(self):
        for path in sorted((GOLDEN / "allo").iterdir()):
            with self.subTest(path.name):
                found = self.blocks(path)
                if path.name == "ad-hoc.allo":
                    self.assertIsNone(found)
                    continue
                sums = [self.allo_json("top", "-M", metric, path)["sum"] for metric in ("alloc_bytes", "end_bytes")]
                # Weights of a sample are rounded block by block.
                slack = 1e-4 * sums[0] if "sampled" in path.name else 0
                self.assertAlmostEqual(found[0], sums[0], delta=slack)
                self.assertAlmostEqual(found[1], sums[1], delta=slack)

    def test_blocks_of_a_time_range_are_those_that_lived_in_it(self):
        path = GOLDEN / "allo" / "server.allo"
        for window in ("0..20us", "30us..50us", "40us.."):
            rows = [json.loads(line) for line in self.allo("blocks", "-n", "0", "--json", "--range", window, path).splitlines()]
            began = self.blocks("--range", window, path)[0]
            self.assertEqual((window, began), (window, sum(row["size"] for row in rows)))

    def test_no_blocks_without_times(self):
        recording = GOLDEN / "allo" / "server.allo"
        for arguments in ([GOLDEN / "dhat" / "valgrind-heap.json"], [recording, recording], ["--at", "peak", recording],
                          ["--ignore", "plugin", recording]):
            self.assertIsNone(self.blocks(*arguments))

    def test_a_sample_stands_for_a_million_blocks(self):
        self.must("gcc", "-O1", "-w", "-xc", self.file("many.c", """
            #include <stdlib.h>
            __attribute__((noinline)) void *small(size_t size) { return malloc(size); }
            __attribute__((noinline)) void *large(size_t size) { return malloc(size); }
            int main(void)
            {
                for (int i = 0; i < 1000000; i++)
                    if (i % 1000)
                        free(i % 2 ? small(1 + i % 100) : NULL), small(1 + i % 100);
                    else
                        large(30000);
            }"""), "-o", "many")
        self.must(ALLO, "run", "-qo", "many.allo", "./many")
        _, live, kept = self.blocks("many.allo")
        exact = self.allo_json("top", "-M", "end_bytes", "many.allo")["sum"]
        self.assertEqual(kept["large"], 30000 * 1000)  # large blocks are all kept
        self.assertAlmostEqual(live / exact, 1, delta=0.01)
        self.assertNotEqual(live, exact)
        told = self.run_program(ALLO, "convert", "many.allo", "-fo", "many.firefox.json").stderr.decode()
        self.assertIn("blocks were left out of the blocks over time", told)

    def test_the_memory_track_is_that_of_massifs_snapshots(self):
        [live] = self.counted(GOLDEN / "massif" / "valgrind.massif")
        text = (GOLDEN / "massif" / "valgrind.massif").read_text()
        self.assertEqual(live, [int(line[11:]) for line in text.splitlines() if line.startswith("mem_heap_B=")])

    def test_profiles_without_times_have_no_track(self):
        recording = GOLDEN / "allo" / "server.allo"
        for arguments in ([GOLDEN / "dhat" / "valgrind-heap.json"], [recording, recording],
                          [GOLDEN / "massif" / "xtree-memory.massif"], ["--ignore", "plugin", recording]):
            self.assertEqual(self.counted(*arguments), [])

    def test_packed_by_name(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "heap.profile.json.gz")
        packed = (self.tmp / "heap.profile.json.gz").read_bytes()
        Checker(self, json.loads(gzip.decompress(packed))).check()

    def test_names_of_any_kind(self):
        odd = self.file("odd.folded", b"main;\"a\" \\ <b>\x01\xff 5\n")
        file = self.convert(odd)
        Checker(self, file).check()
        self.assertIn("\"a\" \\ <b>\u0001\ufffd", file["shared"]["stringArray"])
