"""Databases: SQLite's answers about a file agree with allo's other commands and with the file."""
import collections
import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, HANG, ROOT, Test, cpu_seconds, wait_until
from profilejson import Profile
from recordings import PROGRAMS, CaptureTest, built, copy_compiled
from terminal import Terminal, on_terminal
from test_attribution import WRAPPER
from test_recordings import KILLED, PACKED, RAW, SUMS, Recordings
from watching import WatchTest

NEVER = 2 ** 63 - 1
HEAP = GOLDEN / "dhat" / "valgrind-heap.json"
TABLES = ["allocation", "frame", "function", "label", "marker", "meta", "metric", "module", "process", "sample",
          "stack", "thread"]
VIEWS = ["allocations", "backtraces", "site", "stack_frame"]
# As its readme has them, but for the number of a stack.
RHEAPER = [
    "SELECT bt, sum(size) FROM allocations GROUP BY bt ORDER BY sum(size) DESC LIMIT 10;",
    "SELECT bt, count(0), sum(size) FROM allocations where dealloc_after NOT NULL AND "
    "dealloc_after - alloc_after < 10000 GROUP BY bt ORDER BY sum(size) DESC LIMIT 5;",
    "select frame_no, sym from backtraces where id = '14887427388493581654' limit 10;",
]
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


def queries():
    return re.findall(r"^```sql\n(.*?)^```$", (ROOT / "doc" / "sql.md").read_text(), re.M | re.S)


class DatabaseTest(Test):
    def database(self, source, *options, name="made.db"):
        """A database of a file, opened by Python's sqlite3."""
        self.allo("convert", "-q", "-f", source, *options, "-o", name)
        self.addCleanup((db := sqlite3.connect(self.tmp / name)).close)
        self.assertEqual(db.execute("pragma integrity_check").fetchall(), [("ok",)])
        self.check_references(db)
        return db

    def check_references(self, db):
        """Joins lose nothing."""
        for table, column, to in (("sample", "stack", "stack"), ("sample", "metric", "metric"),
                                  ("stack", "parent", "stack"), ("stack", "frame", "frame"), ("stack", "site", "stack"),
                                  ("stack", "leaf", "stack"),
                                  ("frame", "module", "module"), ("frame", "function", "function"),
                                  ("allocation", "stack", "stack"), ("allocation", "first_stack", "stack"),
                                  ("allocation", "alloc_thread", "thread"), ("thread", "process", "process")):
            lost = db.execute(f"select count(*) from {table} where {column} is not null and {column} not in "
                              f"(select id from {to})").fetchone()[0]
            self.assertEqual(lost, 0, f"{table}.{column}")

    def sums(self, db):
        return dict(db.execute("select m.name, sum(v.value) from sample v join metric m on m.id = v.metric "
                               "group by m.id"))

    def sql(self, file, query, *options):
        """Rows, by allo."""
        lines = self.allo("sql", file, query, "--json", *options).splitlines()
        return [tuple(row) for row in json.loads(lines[-1])["rows"]]


class Profiles(DatabaseTest):
    SAMPLES = [path for folder in ("dhat", "folded", "pprof", "heaptrack", "jemalloc", "massif", "gperftools", "allo")
               for path in sorted((GOLDEN / folder).iterdir()) if not path.name.startswith("from-")
               and path.suffix not in (".md", ".maps") and path.name not in ("valgrind-empty.json", "demo.raw.zst")]

    def test_sums_are_those_of_info(self):
        for path in self.SAMPLES:
            with self.subTest(path.name):
                info = self.allo_json("info", path)
                found = self.sums(self.database(path))
                self.assertEqual(found, {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]
                                         if metric["sum"] != 0})

    def test_stacks_are_those_of_the_file(self):
        for path in (HEAP, GOLDEN / "dhat" / "dhat-rs-heap.json", GOLDEN / "pprof" / "go-heap.pb.gz",
                     GOLDEN / "folded" / "diff.folded"):
            with self.subTest(path.name):
                db = self.database(path)
                profile = Profile(self.allo("convert", path, "--to", "json"))
                wanted = collections.Counter()
                for frames, row, _, _ in profile.samples:
                    wanted[tuple(call.name for frame in frames for call in frame)] += row[0]
                found = collections.Counter()
                names = collections.defaultdict(list)
                for stack, name in db.execute("select id, sym from backtraces order by id, frame_no"):
                    names[stack].append(name)
                for stack, value in db.execute("select stack, value from sample where metric = 1"):
                    found[tuple(names[stack])] += value
                self.assertEqual({k: v for k, v in found.items() if v and "0x" not in "".join(k)},
                                 {k: v for k, v in wanted.items() if v and "0x" not in "".join(k)})

    def test_functions_are_those_of_top(self):
        for path in (HEAP, GOLDEN / "dhat" / "valgrind-cpp.json", GOLDEN / "pprof" / "go-heap.pb.gz"):
            with self.subTest(path.name):
                top = self.allo_json("top", "-n", "0", "-M", "alloc_bytes", path)
                # Without names, top adds up modules.
                wanted = {(row["name"], row.get("file", "")): row["self"] for row in top["rows"]
                          if row["self"] and "[" not in row["name"]}
                self.assertEqual(wanted, {(name, file): value for name, file, value in self.database(path).execute(
                    "select function, file, sum(alloc_bytes) from site where function not like '0x%[%' "
                    "group by 1, 2 having sum(alloc_bytes) > 0") if "[" not in name})

    def test_labels_and_comparisons(self):
        db = self.database(GOLDEN / "folded" / "diff.folded")
        self.assertEqual(self.sums(db), {"samples_before": 1017, "samples": 1612})
        self.allo("diff", "-o", "less.pb.gz", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json")
        self.assertTrue(self.database("less.pb.gz").execute("select count(*) from sample where value < 0").fetchone()[0])
        profile = Profile(self.allo("convert", GOLDEN / "pprof" / "go-heap.pb.gz", "--to", "json"))
        wanted = {pair for _, _, found, _ in profile.samples for pair in found}
        found = self.database(GOLDEN / "pprof" / "go-heap.pb.gz").execute("select count(*) from label").fetchone()[0]
        self.assertEqual(found > 0, len(wanted) > 0)

    def test_annotations_of_a_program(self):
        """As tests/unit/recordings.h has it."""
        db = self.database(GOLDEN / "allo" / "notes.allo")
        wanted = {("request", "upload"): 7 * 1009 + 5 * 307 + 53, ("request", "download"): 3 * 2003,
                  ("user", "alice"): 5 * 307}
        self.assertEqual(wanted, {(name, text): bytes for name, text, bytes in db.execute(
            "select l.name, l.text, sum(a.size) from allocation a join label l on l.labels = a.labels group by 1, 2")})
        self.assertEqual({**wanted, ("event", "cache miss"): None}, {(name, text): bytes for name, text, bytes in db.execute(
            "select l.name, l.text, sum(v.value) filter (where m.name = 'alloc_bytes') from sample v "
            "join metric m on m.id = v.metric join label l on l.labels = v.labels group by 1, 2")})
        self.assertEqual([(50 + 51, 0), (61, 0)], db.execute(
            "select size, labels from allocation where labels = 0 order by alloc_ns").fetchall())
        self.assertEqual(["load", "serve", "serve"], [name for name, tid in db.execute(
            "select m.name, t.tid from marker m join thread t on t.id = m.thread order by m.ns") if tid == 4711])
        part = self.database(GOLDEN / "allo" / "notes.allo", "--range", "serve..", name="part.db")
        self.assertEqual(part.execute("select count(*), min(name) from marker").fetchone(), (2, "serve"))

    def test_names_of_any_bytes(self):
        path = self.file("odd.folded", b"main;a\xff\xfe;tab\there 3\nmain;\xe2\x82\xac '\"; drop table meta;-- 4\n")
        names = {name for name, in self.database(path).execute("select name from function")}
        self.assertLessEqual({"main", "a\ufffd\ufffd", "tab\there", "\u20ac '\""}, names)

    def test_dumps_are_as_they_were(self):
        for path, name in ((PACKED, "from-allo-server.sql"), (HEAP, "from-dhat-valgrind-heap.sql")):
            self.database(path, "--no-symbols")
            dump = self.must("sqlite3", "made.db", ".dump")
            self.assert_golden(GOLDEN / "sqlite" / name, re.sub(r"\('allo version','[^']*'\)", "('allo version','')", dump))

    def test_filters_leave_single_allocations_out(self):
        db = self.database(PACKED, "-M", "alloc_bytes")
        self.assertEqual(self.sums(db), {"alloc_bytes": SUMS["alloc_bytes"]})
        self.assertEqual(db.execute("select count(*) from allocation").fetchone(), (0,))

    def test_output_goes_anywhere(self):
        self.database(HEAP)
        plain = (self.tmp / "made.db").read_bytes()
        piped = self.run_program(ALLO, "convert", "-q", HEAP, "--to", "sqlite").stdout
        self.assertEqual(piped, plain)
        self.allo("convert", "-q", HEAP, "-o", "made.db.zst")
        self.must("zstd", "-dq", "made.db.zst", "-o", "again.db")
        self.assertEqual((self.tmp / "again.db").read_bytes(), plain)
        self.assertIn("exists and was not overwritten", self.allo_fails("convert", HEAP, "-o", "made.db", status=2))
        bad = self.file("bad.json", HEAP.read_bytes()[:2000])
        self.allo_fails("convert", bad, "-o", "bad.db")
        self.assertFalse((self.tmp / "bad.db").exists())


class OfRecordings(DatabaseTest, Recordings):
    def sums(self, db):
        return DatabaseTest.sums(self, db)

    def blocks(self, path):
        """The blocks of a raw recording, computed from its events by this test."""
        live, done = {}, []
        for event in self.events(path):
            old = event.get("old_pointer", event["pointer"])
            if event["event"] in ("realloc", "free") and old in live:
                block = live.pop(old)
                done.append((*block, event["ns"], event["tid"]))
            if event["event"] in ("alloc", "realloc"):
                live[event["pointer"]] = (event["pointer"], event["size"], event["ns"], event["tid"])
        return sorted([*done, *((*block, NEVER, None) for block in live.values())])

    def test_each_block_has_its_row(self):
        self.must("zstd", "-dq", RAW, "-o", "server.raw.allo")
        db = self.database("server.raw.allo")
        self.assertEqual(sorted(db.execute(
            "select address, size, alloc_ns, a.tid, free_ns, b.tid from allocation join thread a on a.id = alloc_thread "
            "left join thread b on b.id = free_thread"), key=lambda row: (row[:5], row[5] or 0)),
            sorted(self.blocks("server.raw.allo"), key=lambda row: (row[:5], row[5] or 0)))
        self.assertEqual(db.execute("select count(*), sum(size) from allocation").fetchone(),
                         (SUMS["alloc_blocks"], SUMS["alloc_bytes"]))
        self.assertEqual(db.execute("select count(*), sum(size) from allocation where free_ns = ?", (NEVER,)).fetchone(),
                         (SUMS["end_blocks"], SUMS["end_bytes"]))

    def test_chains_of_reallocs(self):
        db = self.database(PACKED)
        self.assertEqual(db.execute("select size from allocation where is_resized_on = 1 order by alloc_ns").fetchall(),
                         [(64,), (128,)])
        rows = db.execute("select size, first_ns, first_stack from allocation where first_ns is not null "
                          "order by alloc_ns").fetchall()
        birth, = db.execute("select alloc_ns, stack from allocation where size = 64")
        self.assertEqual(rows, [(128, *birth), (32, *birth)])
        self.assertEqual(db.execute("select max(address) from allocation").fetchone(), (0,))

    def test_sums_of_rows_are_those_of_samples(self):
        for path in (PACKED, RAW, KILLED):
            db = self.database(path)
            self.assertEqual(db.execute(
                "select stack, sum(size), count(*), sum(is_temporary), sum(case when free_ns = ? then size else 0 end) "
                "from allocation group by stack order by stack", (NEVER,)).fetchall(), db.execute(
                "select stack, alloc_bytes, alloc_blocks, temporary_blocks, end_bytes from site order by stack").fetchall())

    def test_the_process(self):
        db = self.database(PACKED)
        info = self.allo_json("info", PACKED)
        self.assertEqual(db.execute("select pid, command, host, folder, ended, clock from process").fetchone(),
                         (info["pid"], info["command"], info["recording"]["host"], info["recording"]["folder"],
                          info["recording"]["end"], "ns"))
        self.assertEqual([row for row in db.execute("select tid from thread order by tid")],
                         sorted({(thread["tid"],) for thread in info["recording"]["threads"]}))

    def test_parts_of_recordings(self):
        for form, step in (("raw", 9973), ("packed", 197)):
            data = self.make("server", form).read_bytes()
            for size in range(300, len(data) - 1, step):
                part = self.file("part.allo", data[:size])
                info = self.allo_json("info", part)
                if info["recording"]["events"] == 0:
                    self.assertIn("no event can be read", self.allo_fails("sql", part, "select 1"))
                    continue
                db = self.database(part)
                self.assertEqual(self.sums(db), {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]
                                                 if metric["sum"] != 0})
                self.assertEqual(db.execute("select count(*), coalesce(sum(size), 0) from allocation").fetchone(),
                                 tuple(next((m["sum"] for m in info["metrics"] if m["metric"]["name"] == name), 0)
                                       for name in ("alloc_blocks", "alloc_bytes")))

    def test_windows(self):
        self.must("zstd", "-dq", RAW, "-o", "server.raw.allo")
        db = self.database("server.raw.allo", "--range", "20us..50us")
        wanted = [block for block in self.blocks("server.raw.allo") if block[2] < 50000 and block[4] > 20000]
        self.assertEqual(sorted(size for size, in db.execute("select size from allocation")),
                         sorted(block[1] for block in wanted))

    def test_missing_events_are_noted_once(self):
        path = self.make("killed", "raw")
        for options in ((), ("--range", "1ns.."), ("--at", "peak"), ("--thread", "4711")):
            told = []
            for name in ("made.db", "made.csv"):
                said = self.run_program(ALLO, "convert", "-f", *options, path, "-o", name).stderr.decode()
                told.append([note for note in re.findall("^note: .*", said, re.M) if not re.search("cannot hold|csv holds", note)])
            self.assertTrue(told[1])
            self.assertEqual(*told, options)

    def test_rheapers_queries(self):
        db = self.database(PACKED)
        top, shorter, frames = RHEAPER
        answers = {query: self.must("sqlite3", "-csv", "made.db", query) for query in (top, shorter)}
        profile = Profile(self.allo("convert", PACKED, "--to", "json", "-M", "alloc_bytes"))
        sums = sorted((row[0] for _, row, _, _ in profile.samples), reverse=True)
        self.assertEqual([int(line.split(",")[1]) for line in answers[top].split()], sums[:10])
        self.assertEqual(answers[shorter], "".join(
            f"{stack},{count},{size}\n" for stack, count, size in db.execute(
                "select stack, count(*), sum(size) from allocation where free_ns < ? group by stack "
                "order by sum(size) desc limit 5", (NEVER,))))
        stack = answers[top].split()[0].split(",")[0]
        query = frames.replace("14887427388493581654", stack)
        found = [line.split(",") for line in self.must("sqlite3", "-csv", "made.db", query).splitlines()]
        self.assertEqual([int(number) for number, _ in found], list(range(len(found))))
        self.assertGreater(len(found), 0)
        self.assertEqual(self.sql("made.db", query), [(int(number), name.strip('"')) for number, name in found])
        self.assertEqual(db.execute("select count(*) from allocations where dealloc_after is null").fetchone(),
                         (SUMS["end_blocks"],))
        self.assertEqual(db.execute("select max(alloc_after) * 1000000 = (select max(alloc_ns) from allocation) "
                                    "from allocations").fetchone(), (1,))


class Runs(CaptureTest, DatabaseTest):
    def run_twice(self, *program):
        for name in ("one.allo", "two.allo"):
            self.must(ALLO, "run", "-q", "-f", "-o", name, *program)
        return [self.database(name, name=name + ".x.db") for name in ("one.allo", "two.allo")]

    def test_ids_are_the_same_in_two_runs(self):
        for program in ((built("boxes.cpp"), 23, 7, 5), (built("churn.c"), 0, 3000)):
            one, two = self.run_twice(*program)
            for table, columns in (("stack", "id, parent, frame, site, leaf, depth"), ("frame", "*"), ("module", "*"),
                                   ("function", "*")):
                query = f"select {columns} from {table} order by id"
                self.assertEqual(one.execute(query).fetchall(), two.execute(query).fetchall(), table)
            query = "select stack, alloc_bytes, alloc_blocks, end_bytes from site order by stack"
            self.assertEqual(one.execute(query).fetchall(), two.execute(query).fetchall())
            self.assertTrue(all(0 < id < 2 ** 63 for id, in one.execute("select id from stack where id > 0")))

    def test_two_runs_are_compared_as_the_manual_has_it(self):
        text = (ROOT / "doc" / "sql.md").read_text()
        command = re.search(r"^```\n\$ (sqlite3 new.db .*?)^```$", text, re.M | re.S)[1]
        for name, leaked in (("old", 5), ("new", 9)):
            self.must(ALLO, "run", "-q", "-o", f"{name}.allo", built("boxes.cpp"), 23, 7, leaked)
            self.allo("convert", "-q", f"{name}.allo", "-o", f"{name}.db")
        rows = self.must("bash", "-c", command).splitlines()
        self.assertTrue(rows[0].endswith(f"|{4 * 4099}"), rows)
        self.assertTrue(rows[1].endswith("|0"), rows)

    def test_ids_do_not_depend_on_names(self):
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("boxes.cpp"), 23, 7, 5)
        with_names, without = self.database("one.allo"), self.database("one.allo", "--no-symbols", name="bare.db")
        query = "select stack, alloc_bytes, alloc_blocks from site order by stack"
        self.assertEqual(with_names.execute(query).fetchall(), without.execute(query).fetchall())
        inlined = with_names.execute("select count(*) from frame where is_inlined = 1").fetchone()[0]
        self.assertGreater(inlined, 0)
        self.assertEqual(without.execute("select count(*) from frame where is_inlined = 1").fetchone(), (0,))

    def test_all_views_agree(self):
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 3, 3000)
        db = self.database("one.allo")
        for metric in ("alloc_bytes", "alloc_blocks", "peak_bytes", "end_bytes"):
            top = self.allo_json("top", "-M", metric, "one.allo")["sum"]
            self.assertEqual(self.sums(db).get(metric, 0), top)
            self.assertEqual(db.execute(f"select sum({metric}) from site").fetchone(), (top,))
        self.assertEqual(db.execute("select count(*), sum(size) from allocation").fetchone(),
                         (self.sums(db)["alloc_blocks"], self.sums(db)["alloc_bytes"]))
        self.allo("convert", "-q", "one.allo", "-o", "one.pb.gz")
        pprof = self.must("go", "tool", "pprof", "-raw", "-sample_index=alloc_space", "one.pb.gz")
        rows = re.findall(r"^\s*((?:\d+ +){9}\d+):", pprof, re.M)
        self.assertEqual(sum(int(row.split()[1]) for row in rows), self.sums(db)["alloc_bytes"])

    def test_rows_of_an_instant_are_the_live_blocks(self):
        """A thread that is alone looks at the clock now and then: many events have the same time."""
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 0, 3000)
        self.must(ALLO, "run", "-q", "-o", "two.allo", built("churn.c"), 2, 3000)
        info = self.allo_json("info", "one.allo")
        for path, *options in (("one.allo", "--at", "peak"), ("one.allo", "--at", "end"),
                               ("one.allo", "--at", f"{info['peak_ns']}ns"),
                               ("one.allo", "--at", f"{info['peak_ns'] - 1}ns"), ("two.allo", "--at", "peak"),
                               ("two.allo", "--at", "peak", "--thread", "churn")):
            with self.subTest(options):
                db = self.database(path, *options)
                self.assertEqual(db.execute("select sum(size), count(*) from allocation").fetchone(),
                                 tuple(self.sums(db)[name] for name in ("live_bytes", "live_blocks")))

    def test_rows_of_parts_have_their_stacks(self):
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 2, 3000)
        # The middle allocation: the first threads may end before the last begin.
        rows = self.allo("sql", "--csv", "one.allo", "select alloc_ns from allocation order by alloc_ns").split()[1:]
        middle = int(rows[len(rows) // 2])
        for options in (("--realloc", "first"), ("--range", f"{middle}ns.."), ("--range", f"..{middle}ns"),
                        ("--thread", "churn"), ("--at", "end")):
            with self.subTest(options):
                db = self.database("one.allo", *options)
                self.assertEqual(db.execute("select count(*) > 0, sum(stack = 0), sum(first_stack is not null and "
                                            "first_stack = 0) from allocation").fetchone(), (1, 0, 0))
                self.assertEqual({stack for stack, in db.execute("select stack from allocation union select first_stack "
                                                                 "from allocation where first_stack is not null "
                                                                 "union select stack from sample")},
                                 {stack for stack, in db.execute("select id from stack where is_sampled = 1")})

    def test_a_program_without_allocations(self):
        path = self.tmp / "nothing.allo"
        self.must(BUILD / "tests" / "make_recording", "empty", "packed", path)
        db = self.database(path)
        self.assertEqual(db.execute("select count(*) from allocation").fetchone(), (0,))
        for report in self.reports():
            self.allo("sql", path, "--report", report)

    def reports(self):
        return [line.split()[0] for line in self.allo("sql", HEAP, ".reports").splitlines()]

    def test_every_query_of_the_manual_runs(self):
        self.assertGreaterEqual(len(queries()), 12)
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 3, 20000)
        self.must(ALLO, "run", "-q", "-o", "two.allo", built("boxes.cpp"), 23, 7, 5)
        found = collections.Counter()
        shutil.copy(GOLDEN / "allo" / "notes.allo", self.tmp)
        for name in ("one.allo", "two.allo", "notes.allo"):
            db = self.database(name)
            for query in queries():
                rows = db.execute(query).fetchall()
                self.assertEqual(self.sql(name, query), rows, query)
                found[query] += len(rows)
        for query in queries():
            self.assertTrue(found[query], f"nothing is found by\n{query}")

    def test_every_report_runs(self):
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 2, 3000)
        names = self.reports()
        files = sorted(path.stem for path in (ROOT / "src" / "sql" / "reports").glob("*.sql"))
        self.assertEqual(names, files)
        text = (ROOT / "doc" / "sql.md").read_text()
        for name in names:
            self.assertIn(f"`{name}`", text)
            for path in ("one.allo", HEAP):
                self.assertEqual(len(json.loads(self.allo("sql", path, "--report", name, "--json"))["columns"]) > 1, True)
            # In the dialect of other databases, too.
            sql = (ROOT / "src" / "sql" / "reports" / f"{name}.sql").read_text()
            self.assertNotRegex(sql, r"(?i)group_concat|printf|\bglob\b|<<|>>|[^-]&|\bifnull\b|\bpragma\b|/\s")
        self.assertIn("it accepts functions, growth", self.run_program(ALLO, "sql", HEAP, "--report", "nonsense")
                      .stderr.decode())

    def test_reports_agree_with_other_commands(self):
        self.must(ALLO, "run", "-q", "-o", "one.allo", built("churn.c"), 2, 3000)
        total = self.allo_json("top", "-M", "alloc_bytes", "one.allo")["sum"]
        report = lambda name: json.loads(self.allo("sql", "one.allo", "--report", name, "--json"))
        for name, column in (("functions", "alloc_bytes"), ("sites", "alloc_bytes"), ("modules", "alloc_bytes"),
                             ("sizes", "bytes"), ("lifetimes", "bytes"), ("threads", "bytes"),
                             ("timeline", "alloc_bytes")):
            answer = report(name)
            at = answer["columns"].index(column)
            self.assertEqual(sum(row[at] for row in answer["rows"]), total, name)
        leaked = self.allo_json("top", "-M", "end_bytes", "one.allo")["sum"]
        answer = report("leaks")
        self.assertEqual(sum(row[answer["columns"].index("bytes")] for row in answer["rows"]), leaked)
        self.assertEqual(report("timeline")["rows"][-1][-1], leaked)


class Sites(CaptureTest, DatabaseTest):
    """The site of each stack is that of `allo top`."""
    PROGRAMS = {
        "jq": ["jq", "map(.name) | length", "data.json"],
        "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values(zeroblob(90000)); select count(*) from t"],
        "wrap": ["./wrap"],
        "service": ["./service"],
    }

    def setUp(self):
        super().setUp()
        self.file("data.json", json.dumps([{"name": f"user {i}", "tags": ["a", "b"]} for i in range(500)]))
        copy_compiled(self.tmp / "wrap", self.file("wrap.c", WRAPPER), "gcc", "-O1", "-g", "-fno-optimize-sibling-calls")
        copy_compiled(self.tmp / "service", PROGRAMS / "service.cpp", "g++", "-std=c++17", "-O1", "-g", "-pthread")

    def sums_of_top(self, recording, metric, *options):
        """Text with a line for each function, or for all functions without a name in a module."""
        rows = self.allo_json("top", "-n", "0", "-M", metric, *options, recording)["rows"]
        return "".join(sorted(f"{row['name']}|{row.get('file', '')}|{row['self']}|{row['self_blocks']}\n" for row in rows
                              if row["self_blocks"]))

    def sums_of_sql(self, recording, metric, *options):
        text = self.allo("sql", "--csv", *options, recording, f"""
            with named as (select *, case when function like '0x%' then '[' || substr(function, instr(function, '[') + 1)
                else function end as name from site)
            select name, file, sum({metric}) as bytes, sum({metric.replace('bytes', 'blocks')}) as blocks
            from named group by 1, 2 having blocks > 0""")
        return "".join(sorted("|".join(row) + "\n" for row in csv.reader(io.StringIO(text)) if row[0] != "name"))

    def test_sums_by_site_are_those_of_top(self):
        for program, command in self.PROGRAMS.items():
            if program in ("jq", "sqlite3") and not shutil.which(program):
                continue
            recording = f"{program}.allo"
            self.must(ALLO, "run", "-q", "-o", recording, "--", *command)
            for metric in ("alloc_bytes", "peak_bytes"):
                for options in ((), ("--wrappers=known",), ("--wrappers=none",), ("--alloc-fn", "main")):
                    with self.subTest(f"{program} {metric} {options}"):
                        self.assertMultiLineEqual(self.sums_of_sql(recording, metric, *options),
                                                  self.sums_of_top(recording, metric, *options))
            # The options make a difference.
            self.assertNotEqual(self.sums_of_sql(recording, "alloc_bytes"),
                                self.sums_of_sql(recording, "alloc_bytes", "--wrappers=none"))

    def test_known_counts(self):
        """wrap.c: 9 users take 1100 to 1900 bytes through a wrapper, and have a node of 48 bytes each."""
        self.must(ALLO, "run", "-q", "-o", "wrap.allo", "./wrap")
        query = "select function, leaf, sum(alloc_bytes) from site where function like 'user%' group by 1, 2 order by 1"
        self.assertEqual(self.sql("wrap.allo", query), [(f"user{n}", "take", 1000 + 100 * n) for n in range(1, 10)])
        self.assertEqual(self.sql("wrap.allo", "select sum(alloc_bytes), min(leaf) from site where function = 'make_node'"),
                         [(9 * 48, "make_node")])
        for table in ("allocation", "allocations"):
            self.assertEqual(self.sql("wrap.allo", f"select site, leaf, sum(size) from {table} where site like 'user%' "
                                                   "group by 1, 2 order by 1"), self.sql("wrap.allo", query))
            columns = [name for _, name, *_ in self.database("wrap.allo").execute(f"pragma table_info({table})")]
            self.assertNotIn("site", columns)
        self.file("allo.conf", "alloc-fn = make_node\n")
        self.assertEqual(self.sql("wrap.allo", query.replace("1, 2", "1").replace("leaf, ", "")),
                         [(f"user{n}", 1048 + 100 * n) for n in range(1, 10)])
        self.assertEqual(self.sql("wrap.allo", "select value from meta where key like 'alloc-fn%'"), [("make_node",)])
        self.assertEqual(self.database("wrap.allo").execute(
            "select count(*) from site where function = 'make_node'").fetchone(), (0,))

    def test_a_large_file_has_the_sites_of_top(self):
        """top reads it in portions, sql as a whole: `late` has the shape of a wrapper in the last stacks only."""
        heap = json.loads(HEAP.read_text())
        heap["ftbl"] = ["[root]", "0x1: malloc (in /bin/a)", "0x2: late (a.c:1)", "0x3: early (a.c:2)",
                        *(f"0x{i + 16:X}: user{i} (a.c:{i + 16})" for i in range(40000))]
        values = {**heap["pps"][0], "tbk": 1, "mb": 0, "mbk": 0, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0}
        heap["pps"] = [{**values, "tb": 16 + i % 97, "fs": [1, 2 if i >= 20000 else 3, 4 + i]} for i in range(40000)]
        large = self.file("large.json", json.dumps(heap))
        self.assertMultiLineEqual(self.sums_of_sql(large, "alloc_bytes"), self.sums_of_top(large, "alloc_bytes"))

    def test_reports_name_sites(self):
        self.must(ALLO, "run", "-q", "-o", "wrap.allo", "./wrap")
        for report in ("functions", "sites", "leaks"):
            names = {row.split(",")[0] for row in self.allo("sql", "--csv", "wrap.allo", "--report", report).splitlines()}
            self.assertLessEqual({f"user{n}" for n in range(1, 10)}, names, report)
            self.assertNotIn("take", names, report)

    def test_databases_of_two_runs_merge(self):
        for name in ("one", "two"):
            self.must(ALLO, "run", "-q", "-o", f"{name}.allo", "./wrap")
        both, two = self.database("one.allo", name="both.db"), self.database("two.allo", name="two.db")
        before = both.execute("select count(*) from stack").fetchone()
        both.execute("attach ? as two", (str(self.tmp / "two.db"),))
        for table in ("module", "function", "frame", "stack"):
            both.execute(f"insert or ignore into {table} select * from two.{table}")
        self.assertEqual(both.execute("select count(*) from stack").fetchone(), before)
        both.execute("insert into sample select id + (select max(id) from main.sample), stack, metric, value, labels, "
                     "thread, start_ns, duration_ns, variance from two.sample")
        query = "select function, leaf, sum(alloc_bytes) from site where function like 'user%' group by 1, 2 order by 1"
        self.assertEqual(both.execute(query).fetchall(), [(name, leaf, 2 * sum) for name, leaf, sum in two.execute(query)])


class Asking(DatabaseTest):
    def test_forms(self):
        query = "select 1 as a, 'x,\"y' as b, null as c, 2.5 as d, x'00ff' as e"
        self.assertEqual(self.allo("sql", HEAP, query), "a  b        c    d  e\n1  x,\"y  NULL  2.5  x'00ff'\n")
        self.assertEqual(json.loads(self.allo("sql", HEAP, query, "--json")),
                         {"v": 1, "columns": ["a", "b", "c", "d", "e"], "rows": [[1, 'x,"y', None, 2.5, "x'00ff'"]]})
        self.assertEqual(list(csv.reader(io.StringIO(self.allo("sql", HEAP, query, "--csv"), newline=""))),
                         [["a", "b", "c", "d", "e"], ["1", 'x,"y', "", "2.5", "x'00ff'"]])
        self.assertEqual(self.allo("sql", HEAP, "select 1 as long_name, 'text' as b union select 22, 'longer'"),
                         "long_name  b\n        1  text\n       22  longer\n")
        self.assertEqual(self.allo("sql", HEAP, "select 1 as a; -- nothing\n; select 2 as b"), "a\n1\n\nb\n2\n")
        many = self.allo("sql", HEAP, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) "
                                      "select i, 'x' as t from n").splitlines()
        self.assertEqual((len(many), many[-1]), (5001, "5000  x"))
        columns = ", ".join(str(i) for i in range(40))
        self.assertEqual(len(json.loads(self.allo("sql", HEAP, f"select {columns}", "--json"))["columns"]), 40)
        self.allo_fails("sql", HEAP, "select 1", "--csv", "--json", status=2)

    def test_tables_and_views(self):
        self.assertEqual([name for name, kind in self.sql(HEAP, ".tables") if kind == "table"], TABLES)
        self.assertEqual([name for name, kind in self.sql(HEAP, ".tables") if kind == "view"], VIEWS)
        text = (ROOT / "doc" / "sql.md").read_text()
        for table in TABLES + VIEWS:
            self.assertIn(f"**{table}**", text)
            for _, column, *_ in self.sql(HEAP, f"pragma table_info({table})"):
                if table not in VIEWS and column != "id":
                    self.assertRegex(text, rf"`{column}`", f"{table}.{column}")

    def test_the_schema_has_its_line_breaks(self):
        for text in (self.allo("sql", HEAP, ".schema"), on_terminal(ALLO, "sql", "--no-pager", HEAP, ".schema", columns=40)[1]):
            self.assertNotIn("?", text)
            self.assertRegex(text, r"(?m)^CREATE TABLE sample\(\r?\n    ")
            self.assertNotIn("...", text)
        self.assertRegex(text, r"CREATE TABLE allocation\([^;]*;\s+CREATE TEMP VIEW allocation as[^;]* as site,[^;]* as leaf\b")
        rows = self.allo_json("sql", HEAP, ".schema")["rows"]
        self.assertIn("\n", "".join(row[0] for row in rows))

    def test_sql_from_standard_input(self):
        self.assertEqual(self.allo("sql", HEAP, input=b"select 1 as a;\nselect 2 as a;\n"), "a\n1\n\na\n2\n")
        self.assertIn("standard input:2:8: no such column: nope",
                      self.allo_fails("sql", HEAP, input=b"select 1;\nselect nope;\n"))
        self.assertEqual(self.allo("sql", "-", "select count(*) as n from metric", input=HEAP.read_bytes()), " n\n11\n")
        self.assertIn("both the profile and the SQL", self.allo_fails("sql", "-", input=b"", status=2))

    def test_errors_have_a_position(self):
        for query, place in (("select nope from site", "query:1:8: no such column: nope"),
                             ("select 1;\n select 2 frm site", "query:2:15: near \"site\": syntax error"),
                             ("select * from nope", "query:1:15: no such table: nope"),
                             ("select (", "query:1:9: incomplete input")):
            self.assertIn(place, self.allo_fails("sql", HEAP, query))
        for query, hint in (("select functoin from site", "the columns are function, file, stack, "),
                            ("select peak_bytes from allocation", "'peak_bytes' is a column of site"),
                            ("select f.PATH from function f", "'PATH' is a column of module"),
                            ("select nope", "'.schema' in place of a query shows all columns")):
            self.assertIn(f"  hint: {hint}", self.run_program(ALLO, "sql", HEAP, query).stderr.decode())
        done = self.run_program(ALLO, "sql", HEAP, "select * from nope")
        for name in TABLES + VIEWS:
            self.assertIn(name, done.stderr.decode().splitlines()[1])
        self.assertEqual(self.run_program(ALLO, "sql", HEAP, "select 1 as a; select nope").stdout, b"a\n1\n")

    def test_queries_only_read(self):
        self.database(HEAP)
        before = (self.tmp / "made.db").read_bytes()
        for file in ("made.db", HEAP):
            for query in ("delete from meta", "drop view site", "create table t(x)", "vacuum into 'other.db'",
                          "pragma user_version = 7", "attach 'other.db' as o; create table o.t(x)"):
                self.run_program(ALLO, "sql", file, query)
                self.assertFalse((self.tmp / "other.db").exists(), query)
            for table in ("meta", "allocation"):
                done = self.run_program(ALLO, "sql", file, f"select 1; delete from {table}")
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"would change a database", done.stderr)
                self.assertIn(b"--write", done.stderr)
        self.assertEqual((self.tmp / "made.db").read_bytes(), before)
        self.allo("sql", "made.db", "--write", "create table t as select 23 as x")
        self.assertEqual(self.sql("made.db", "select x from t"), [(23,)])
        self.assertIn("is not a database", self.allo_fails("sql", HEAP, "--write", "delete from meta", status=2))

    def test_other_databases(self):
        with sqlite3.connect(self.tmp / "other.db") as other:
            other.execute("create table t(x)")
        self.assertIn("is a SQLite database that allo did not make", self.allo_fails("sql", "other.db", "select 1"))
        self.database(HEAP)
        with sqlite3.connect(self.tmp / "made.db") as made:
            made.execute("pragma user_version = 99")
        self.assertIn("has tables of version 99", self.allo_fails("sql", "made.db", "select 1"))
        data = (self.tmp / "made.db").read_bytes()
        self.allo_fails("sql", self.file("cut.db", data[:5000]), "select sum(value) from sample")
        self.assertIn("which allo only writes", self.allo_fails("top", "made.db"))
        self.allo_fails("sql", "missing.allo", "select 1")
        self.allo_fails("sql", self.file("no.allo", "nothing of ours"), "select 1")

    def test_a_time_limit(self):
        self.assertIn("longer than --timeout allows", self.allo_fails("sql", HEAP, "--timeout", "300ms", ENDLESS))
        count = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000) select count(*) from n"
        for timeout in ("1h", "18446744073s"):  # the latter is the longest that a number can express
            self.assertEqual(self.sql(HEAP, count, "--timeout", timeout), [(500000,)])

    def test_an_interrupt_stops_a_query(self):
        process = subprocess.Popen([ALLO, "sql", HEAP, ENDLESS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        wait_until(lambda: cpu_seconds(process.pid) > 0.3, "the query runs")
        process.send_signal(signal.SIGINT)
        said, error = process.communicate(timeout=HANG)
        self.assertEqual((process.returncode, error), (-signal.SIGINT, b""))
        terminal = Terminal([ALLO, "sql", HEAP, ENDLESS], env=ENVIRONMENT)
        wait_until(lambda: cpu_seconds(terminal.pid) > 0.3, "the query runs")
        os.kill(terminal.pid, signal.SIGINT)
        terminal.finish()
        self.assertEqual(terminal.status, -signal.SIGINT)

    def test_a_prompt(self):
        terminal = Terminal([ALLO, "sql", HEAP], env={**ENVIRONMENT, "PAGER": "cat", "NO_COLOR": "1"})
        terminal.wait_for("allo> ")
        terminal.type("select name\n")
        terminal.wait_for("...> ")
        terminal.type("from metric where id = 1;\n")
        self.assertIn("alloc_b", terminal.wait_for("allo> "))
        terminal.type("select nope;\n")
        self.assertIn("query:1:8: no such column: nope", terminal.wait_for("allo> "))
        terminal.type(".tables\n")
        self.assertIn("allocation", terminal.wait_for("allo> "))
        used = cpu_seconds(terminal.pid)
        terminal.type(ENDLESS + ";\n")
        wait_until(lambda: cpu_seconds(terminal.pid) > used + 0.3, "the query runs")
        os.kill(terminal.pid, signal.SIGINT)
        self.assertIn("stopped", terminal.wait_for("allo> "))
        terminal.type("select 41 + 1 as answer;\n")
        self.assertIn("42", terminal.wait_for("allo> "))
        terminal.type(".quit\n")
        terminal.finish()
        self.assertEqual(terminal.status, 0)

    def test_names_are_cut_to_the_terminal(self):
        path = self.file("long.folded", f"main;{'x' * 300} 7\n")
        terminal = Terminal([ALLO, "sql", path, "select 7 as n, name, 'end' as e from function where length(name) > 99"],
                            env={**ENVIRONMENT, "PAGER": "cat", "NO_COLOR": "1"})
        lines = terminal.finish().strip().splitlines()
        self.assertLessEqual(max(len(line) for line in lines), 80)
        self.assertTrue(lines[-1].endswith("end"), lines)


def with_cache(folder):
    """The environment of a program that has a cache in a folder."""
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(folder / "cache")}
    del environment["ALLO_NO_CACHE"]
    return environment


class GrowingRecordings(WatchTest):
    """The program writes through a mapping: the file keeps its size and, mostly, its times."""
    QUERY = "select count(*) from allocation where size = 1009"

    def test_every_answer_has_all_rows(self):
        program, _ = self.recorded()
        for count in range(1, 6):
            program.tell("get 23 1009")
            (path,) = self.tmp.glob("*.allo")
            found = self.allo("sql", path, self.QUERY, env=with_cache(self.tmp))
            self.assertEqual(int(found.split()[-1]), 23 * count)
        program.end()
        self.assertEqual(int(self.allo("sql", path, self.QUERY, env=with_cache(self.tmp)).split()[-1]), 5 * 23)

    def test_a_packed_recording_takes_the_place_of_a_raw_one(self):
        """Both have the same name."""
        self.must(ALLO, "run", "-q", "--raw", "-o", "one.allo", built("boxes.cpp"), 23, 7, 5)
        counts = []
        for leaked in (5, 9):
            self.must(ALLO, "run", "-q", "-f", "-o", "one.allo", built("boxes.cpp"), 23, 7, leaked)
            counts += [int(self.allo("sql", "one.allo", "select count(*) from allocation where size = 4099",
                                     env=with_cache(self.tmp)).split()[-1]) for _ in range(2)]
        self.assertEqual(counts, [5, 5, 9, 9])


class Cache(Recordings, DatabaseTest):
    COUNT = "select count(*) from allocation"

    def setUp(self):
        super().setUp()
        self.path = self.make("server", "packed", "a.allo")
        self.folder = self.tmp / "cache" / "allotrope" / "databases"

    def answer(self, query, *options):
        """The last word of the answer, with a cache."""
        return self.allo("sql", self.path, query, *options, env=with_cache(self.tmp)).split()[-1]

    def count(self, *options):
        return int(self.answer(self.COUNT, *options))

    def kept(self):
        return list(self.folder.iterdir()) if self.folder.exists() else []

    def test_a_recordings_database_is_kept_in_the_cache(self):
        self.assertEqual(self.count(), SUMS["alloc_blocks"])
        (kept,) = self.kept()
        self.assertEqual((kept.stat().st_mode & 0o777, self.folder.stat().st_mode & 0o777), (0o600, 0o700))
        self.must("sqlite3", kept, "delete from allocation where rowid = 1")
        self.assertEqual(self.count(), SUMS["alloc_blocks"] - 1)
        os.utime(self.path, ns=(1, 1))
        self.assertEqual(self.count(), SUMS["alloc_blocks"])
        self.must(BUILD / "tests" / "make_recording", "killed", "packed", self.path)
        self.assertEqual(self.count(), self.database(self.path).execute(self.COUNT).fetchone()[0])
        # Tables of another version are replaced.
        newest = max(self.kept(), key=lambda path: path.stat().st_mtime_ns)
        self.must("sqlite3", newest, "pragma user_version = 1")
        self.count()
        self.assertNotEqual(self.must("sqlite3", newest, "pragma user_version").strip(), "1")

    def test_other_sites_need_another_database(self):
        query = "select value from meta where key = 'wrappers'"
        self.assertEqual([self.answer(query, *options) for options in ((), ("--wrappers=none",), ("--wrappers=known",), ())],
                         ["auto", "none", "known", "auto"])
        query = "select count(*) from meta where key like 'alloc-fn%'"
        self.assertEqual([self.answer(query, *options) for options in (("--alloc-fn", "a"), ("--alloc-fn", "b"), ())],
                         ["1", "1", "0"])
        self.assertEqual(len(self.kept()), 1)

    def test_nothing_appears_beside_a_recording(self):
        before = sorted(path.name for path in self.tmp.iterdir())
        self.count()
        self.assertEqual(sorted(path.name for path in self.tmp.iterdir()), sorted([*before, "cache"]))

    def test_the_oldest_databases_go_when_there_is_too_much(self):
        self.folder.mkdir(parents=True)
        for i in range(3):
            path = self.folder / f"{i}.db"
            path.touch()
            os.truncate(path, 2 << 30)  # without blocks
            os.utime(path, (i + 1, i + 1))
        self.count()
        names = [path.name for path in self.kept()]
        self.assertIn("2.db", names)
        self.assertEqual(len(names), 2)

    def test_databases_that_are_not_kept(self):
        self.assertEqual(self.sql(self.path, self.COUNT), [(SUMS["alloc_blocks"],)])
        for options in (("--no-cache",), ("--no-symbols",), ("--realloc", "first"), ("--debug-dir", self.tmp),
                        ("--sysroot", "/")):
            self.assertEqual(self.count(*options), SUMS["alloc_blocks"])
        self.assertLess(self.count("--range", "..20us"), SUMS["alloc_blocks"])
        self.path = HEAP
        self.count()
        self.assertEqual(self.kept(), [])
        self.assertFalse(pathlib.Path(f"{HEAP}.db").exists())

    def test_a_folder_that_cannot_be_written(self):
        (self.tmp / "cache").write_text("not a folder")
        self.assertEqual(self.count(), SUMS["alloc_blocks"])
