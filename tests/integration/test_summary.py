"""allo summary: its numbers are those of the other commands."""
import collections
import json
import shlex

from allotest import ALLO, GOLDEN, QUOTED_ALLO, SLOW
from lives import KILLED, NEVER, PACKED, PLAIN, RAW, UTF8, LivesTest
from recordings import built
from terminal import on_terminal

METRICS = {"peak": "peak_bytes", "end": "end_bytes", "alloc": "alloc_bytes", "temporary": "temporary_blocks"}


class Numbers(LivesTest):
    def kept_by_runtimes(self, path):
        """Bytes that are no leaks, by site."""
        kept = collections.Counter()
        for leak in self.allo_json("leaks", "-n", "0", path)["leaks"]:
            if leak["kind"] == "runtime":
                site = leak["frames"][leak["site"]]
                kept[site["name"], site.get("line")] += leak["total"]
        return kept

    def check(self, path):
        """Against events, `allo top` and `allo info`."""
        found = self.allo_json("summary", "-n", "0", path)
        lives = self.lives(path)
        self.assertEqual(found["allocations"], len(lives.blocks))
        self.assertEqual(found["alloc_bytes"], sum(block.size for block in lives.blocks))
        self.assertEqual(found["stacks"], len({block.stack for block in lives.blocks}))
        kinds = collections.Counter(event["event"] for event in lives.events)
        self.assertEqual((found["events"], found["frees"], found["reallocs"]),
                         (len(lives.events), kinds["free"], kinds["realloc"]))
        left = [block.size for block in lives.blocks if block.free_ns == NEVER]
        self.assertEqual((found["end_bytes"], found["end_blocks"]), (sum(left), len(left)))
        self.assertEqual(found["peak_bytes"], max((held for _, held, _ in lives.heap()), default=0))
        self.assertEqual(found["peak_ns"], self.allo_json("info", path)["peak_ns"])
        self.assertEqual(max(found["timeline"]["max_bytes"]), found["peak_bytes"])
        self.assertEqual([table["name"] for table in found["tables"]], list(METRICS))
        for table in found["tables"]:
            top = self.allo_json("top", "-n", "0", "--by", "site", "-M", METRICS[table["name"]], path)
            self.assertEqual(table["sum"], top["sum"])
            kept = self.kept_by_runtimes(path) if table["name"] == "end" else {}
            rows = [(row["name"], row.get("line"), row["self"] - kept.get((row["name"], row.get("line")), 0)) for row in top["rows"]]
            self.assertEqual([(row["name"], row.get("line"), row["value"]) for row in table["rows"]],
                             sorted((row for row in rows if row[2]), key=lambda row: -row[2]))
            self.assertEqual(table.get("runtime", 0), sum(kept.values()))
            self.assertEqual(table["row_count"], len(table["rows"]))
        modules = self.allo_json("top", "-n", "0", "--by", "module", "-M", "peak_bytes", path)
        self.assertEqual([(row["name"], row["value"]) for row in found["modules"]["rows"]],
                         [(row["name"], row["self"]) for row in modules["rows"] if row["self"]])
        return found

    def test_it_agrees_with_all_others(self):
        for path in (RAW, PACKED, KILLED, self.record(built("resizes.c")), self.record(built("handover.c")),
                     self.record(built("churn.c"), "3", "2000"), self.record("ls", "-l", "/usr/bin")):
            self.check(path)

    def test_threads_are_those_of_threads(self):
        path = self.record(built("handover.c"))
        found = {row["tid"]: row["value"] for row in self.allo_json("summary", "-n", "0", path)["threads"]}
        for row in self.allo_json("threads", "-n", "0", path)["threads"]:
            self.assertEqual(found.get(row["tid"], 0), row["peak_bytes"])
        self.assertIn("by thread", self.allo("summary", path))
        self.assertIn("maker-3", self.allo("summary", path))

    def test_five_hundred_threads(self):
        text = self.allo("summary", self.record(built("stress_threads.c")))
        self.assertIn("more threads: -n 0 shows all", text)

    def test_tables_have_as_many_rows_as_wanted(self):
        path = self.record("ls", "-l", "/usr/bin")
        for table in self.allo_json("summary", "-n", "2", path)["tables"]:
            self.assertEqual(len(table["rows"]), min(2, table["row_count"]))
        self.assertIn("more sites: -n 0 shows all", self.allo("summary", path))


class Pages(LivesTest):
    def test_the_page_of_a_server(self):
        text = self.allo("summary", PACKED, env=PLAIN)
        for line in ("999.0 us, 28 allocations, 22.9 KiB total, peak 22.8 KiB at 40.0 us, 2.99 KiB never freed",
                     "server --port 80", "held at the peak: 22.8 KiB in 25 blocks", "never freed: 2.99 KiB in 5 blocks",
                     "most allocated: 22.9 KiB in 28 blocks"):
            self.assertIn(f"{line}\n", text)
        self.assertIn("v peak 22.8 KiB at 40.0 us", text)
        self.assertTrue(text.isascii())
        self.assertIn("█", self.allo("summary", PACKED, env=UTF8))

    def test_suggested_commands_work(self):
        odd = self.tmp / "it's a file.allo"
        odd.write_bytes(PACKED.read_bytes())
        shape = self.record(built("named_shapes.cpp"))
        for path in (odd, self.record(built("handover.c"), name="ring.allo"), shape,
                     GOLDEN / "dhat" / "valgrind-cpp.json", GOLDEN / "pprof" / "go-allocs.pb.gz"):
            found = self.allo_json("summary", path)
            self.assertTrue(found["next"])
            self.assertLessEqual(len(found["next"]), 5)
            self.assertEqual(shlex.split(found["next"][-1]["command"])[1], "view")
            for each in found["next"][:-1]:
                words = shlex.split(each["command"])
                self.assertEqual((words[0], words[-1]), ("allo", str(path)))
                done = self.run_program(ALLO, *words[1:])
                self.assertEqual((done.returncode, b"no stack matches" in done.stderr), (0, False), each)
                self.assertIn(each["command"], self.allo("summary", path))

    def test_leaks_are_suggested_where_something_leaks(self):
        self.assertIn(shlex.join(["allo", "leaks", str(PACKED)]), self.allo("summary", PACKED))
        freed = self.tmp / "freed.json"
        heap = json.loads((GOLDEN / "dhat" / "valgrind-heap.json").read_text())
        for point in heap["pps"]:
            point["eb"] = point["ebk"] = 0
        freed.write_text(json.dumps(heap))
        self.assertNotIn("allo leaks", self.allo("summary", freed))

    def test_it_fits_the_terminal(self):
        for columns in (60, 80, 140):
            status, text = on_terminal(ALLO, "summary", PACKED, columns=columns, rows=100,
                                       env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PAGER": "cat"})
            self.assertEqual(status, 0)
            page = text.split("\nnext\n")[0].splitlines()[3:]
            self.assertLessEqual(max(map(len, page)), columns, text)
        self.assertIn("\033[1m", on_terminal(ALLO, "summary", PACKED, env={"PAGER": "cat", "TERM": "xterm"})[1])

    def test_nothing_happened(self):
        for path in self.without_blocks():
            text = self.allo("summary", path)
            self.assertIn("0 allocations, 0 B total", text)
            self.assertIn("never freed: nothing", text)
            self.assertEqual([table["rows"] for table in self.allo_json("summary", path)["tables"]], [[]] * 4)

    def test_a_killed_program(self):
        done = self.run_program(ALLO, "summary", KILLED)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"note: ", done.stderr)
        self.assertEqual(self.run_program(ALLO, "summary", "-q", KILLED).stderr, b"")

    def test_any_beginning_of_a_recording_has_a_summary(self):
        for form in ("raw", "packed"):
            for path in self.cuts(form):
                done = self.run_program(ALLO, "summary", path)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_a_pipe_is_read_and_written(self):
        found = json.loads(self.allo("summary", "--json", "-", input=PACKED.read_bytes()))
        self.assertEqual(found["tables"], self.allo_json("summary", PACKED)["tables"])
        self.must("bash", "-o", "pipefail", "-c", f"{QUOTED_ALLO} summary {shlex.quote(str(PACKED))} | head -n 1")


class Kept(LivesTest):
    """Expensive results are cached for the next time."""

    long = None  # a recording that is worth it, made once

    def setUp(self):
        super().setUp()
        if not Kept.long:
            Kept.long = self.record(built("churn.c"), "2", "600000").read_bytes()
        self.path = self.file("long.allo", Kept.long)
        self.cache = self.tmp / "cache"
        self.env = {**PLAIN, "XDG_CACHE_HOME": str(self.cache)}
        del self.env["ALLO_NO_CACHE"]
        self.expected = self.page(ALLO_NO_CACHE="1")

    def page(self, *options, **more):
        done = self.run_program(ALLO, "summary", *options, self.path, env={**self.env, **more})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def kept(self):
        return sorted(self.cache.glob("allotrope/replays/*"))

    def test_the_second_page_is_that_of_the_first(self):
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.page(), self.expected)
        kept, = self.kept()
        before = kept.stat().st_mtime_ns
        for _ in range(2):
            self.assertEqual(self.page(), self.expected)
        self.assertEqual(json.loads(self.page("--json")), json.loads(self.page("--json", ALLO_NO_CACHE="1")))
        self.assertEqual([path.stat().st_mtime_ns for path in self.kept()], [before])
        self.assertEqual(kept.parent.stat().st_mode & 0o777, 0o700)

    def test_one_file_serves_all_commands(self):
        commands = (("top", "-n", "0"), ("leaks",), ("top", "-n", "0", "--at", "peak"), ("tree",), ("info",))

        def output(command, **more):
            return self.allo(*command, "--json", self.path, env={**self.env, **more})

        expected = [output(command, ALLO_NO_CACHE="1") for command in commands]
        self.assertEqual(self.kept(), [])
        self.assertEqual([output(command) for command in commands], expected)
        kept, = self.kept()
        before = kept.stat().st_mtime_ns
        self.assertEqual([output(command) for command in commands], expected)
        self.assertEqual(kept.stat().st_mtime_ns, before)

    def test_estimates_are_kept(self):
        path = self.record(built("churn.c"), "2", "600000", options=("-m", "sampled", "--rate", "64"))
        for command in (("top", "-n", "0", "-v"), ("leaks",), ("summary",)):
            expected = self.allo(*command, "--json", path, env={**self.env, "ALLO_NO_CACHE": "1"})
            for _ in range(2):
                self.assertEqual(self.allo(*command, "--json", path, env=self.env), expected)
        self.assertEqual(len(self.kept()), 2)  # threads are told apart in one of them

    def test_parts_of_a_recording_share_one_log(self):
        for part in (("--range", "1ms.."), ("--thread", "churn")):
            expected = self.allo("top", *part, "--no-cache", self.path, env=self.env)
            for _ in range(2):
                self.assertEqual(self.allo("top", *part, self.path, env=self.env), expected)
        self.assertEqual(len(self.kept()), 1)

    def test_it_is_not_believed_when_it_is_damaged(self):
        self.page()
        kept, = self.kept()
        data = kept.read_bytes()
        changes = 5 if SLOW else 23
        for change in range(changes):
            at = len(data) * change // changes
            kept.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1:])
            self.assertEqual(self.page(), self.expected)
            self.assertEqual(kept.read_bytes(), data)  # it is made anew
        for length in (0, 7, len(data) // 2, len(data) - 1):
            kept.write_bytes(data[:length])
            self.assertEqual(self.page(), self.expected)
        kept.unlink()
        kept.mkdir()
        self.assertEqual(self.page(), self.expected)

    def test_another_recording_of_the_same_name_is_another_one(self):
        self.page()
        self.record(built("churn.c"), "1", "1100000", name="long.allo")
        self.assertEqual(self.page(), self.page(ALLO_NO_CACHE="1"))
        self.assertNotEqual(self.page(), self.expected)
        self.assertEqual(len(self.kept()), 2)

    def test_nowhere_to_keep_it_is_no_failure(self):
        for place in ("/proc/nowhere", "relative", str(self.path)):
            self.assertEqual(self.page(XDG_CACHE_HOME=place, HOME="/proc/nowhere"), self.expected)

    def test_quick_results_are_not_cached(self):
        self.allo("summary", PACKED, env=self.env)
        self.assertEqual(self.kept(), [])

    def test_it_may_be_unwanted(self):
        self.assertEqual(self.page("--no-cache"), self.expected)
        self.assertEqual(self.kept(), [])
        self.page()
        kept, = self.kept()
        kept.write_bytes(b"")
        self.assertEqual(self.page("--no-cache"), self.expected)
        self.assertEqual(kept.read_bytes(), b"")

    def test_stacks_take_no_replay(self):
        for command in ("blocks", "hist"):
            self.allo(command, "-F", "main", self.path, env=self.env)
        self.assertEqual(self.kept(), [])

    def test_a_pipe_is_not_kept(self):
        with self.path.open("rb") as file:
            self.must("bash", "-c", f"cat | {QUOTED_ALLO} summary -", stdin=file, env=self.env)
        self.assertEqual(self.kept(), [])


class Others(LivesTest):
    """Profiles that are no recordings."""

    def test_tables_are_those_that_there_are_numbers_for(self):
        for path, names in (("dhat/valgrind-heap.json", ["peak", "end", "alloc"]),
                            ("pprof/go-allocs.pb.gz", ["live", "alloc"]),
                            ("dhat/valgrind-adhoc.json", ["other"])):
            found = self.allo_json("summary", GOLDEN / path)
            self.assertEqual([table["name"] for table in found["tables"]], names, path)
            self.assertNotIn("timeline", found)
            self.allo("summary", GOLDEN / path)

    def test_every_format_has_one(self):
        for folder in ("dhat", "pprof", "folded", "jemalloc", "gperftools", "heaptrack", "massif"):
            for path in sorted((GOLDEN / folder).iterdir())[:4]:
                if self.run_program(ALLO, "info", path).returncode == 0:
                    self.allo("summary", path)

    def test_threads_of_pprof(self):
        self.allo("convert", "-q", self.record(built("handover.c")), "-o", "made.pb.gz")
        text = self.allo("summary", "made.pb.gz")
        self.assertIn("held at the peak, by thread", text)
        self.assertIn("maker-1", text)
