"""Parquet files: three readers find the rows of the SQLite database in them, and DuckDB compares runs."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess

import nodepackages
from allotest import ALLO, BUILD, GOLDEN, ROOT, Test, wait_until
from recordings import built
from rheaperfiles import random_recording

SOURCE = ROOT / "tests" / "parquet"
FOLDER = BUILD / "parquet"
READERS = ("duckdb", "hyparquet", "parquet-wasm")
NEVER = 9223372036854775807

FILES = ["allocation.parquet", "clickhouse.sql", "duckdb.sql", "frame.parquet", "function.parquet", "label.parquet",
         "marker.parquet", "meta.parquet", "metric.parquet", "module.parquet", "process.parquet", "sample.parquet",
         "stack.parquet", "stack_frame.parquet", "thread.parquet"]

# What the files have, as queries of the database.
STACKS = """
    with shown(id) as (
        select 0 union select id from stack where is_sampled = 1 union select site from stack where is_sampled = 1
    )
    select s.id, s.frame, s.site, coalesce(l.frame, 0), s.depth from shown join stack s on s.id = shown.id
    left join stack l on l.id = s.leaf"""
QUERIES = {"stack": STACKS, "stack_frame": "select stack, frame_no, frame from stack_frame"}


def comparable(value):
    """Whole numbers as texts, up to 2^53 if they are floats.  Other floats are sums that differ in their last digits, by the order
    in which they were added up."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2 ** 53 else f"{value:.12g}"
    return str(value) if isinstance(value, int) else value


def read(value):
    """A value that a reader wrote: whole numbers are texts, and large floats are integers in JSON."""
    return float(value) if isinstance(value, int) else value


TEXTS = {str, type(None)}


def comparable_rows(rows, convert=comparable):
    """Rows of texts, which most are, stay as they are."""
    return [row if TEXTS.issuperset(map(type, row)) else [convert(value) for value in row] for row in map(list, rows)]


class ParquetTest(Test):
    SANITIZED = False  # node takes most of the time; unit tests and fuzzers reach the code, too

    def setUp(self):
        super().setUp()
        self.known = {}
        nodepackages.install(self, SOURCE, FOLDER)

    def convert(self, source, name="x", *options):
        self.known.clear()
        self.allo("convert", "-q", *options, source, "-o", f"{name}.parquet")
        self.allo("convert", "-q", *options, source, "-o", f"{name}.db")
        return self.tmp / f"{name}.parquet"

    def database(self, name="x"):
        return contextlib.closing(sqlite3.connect(self.tmp / f"{name}.db"))

    def dumped(self, reader, *folders):
        self.must("node", FOLDER / "dump.mjs", reader, self.tmp / "rows.json", *folders)
        return json.loads((self.tmp / "rows.json").read_text())

    def wanted(self, name, table):
        """The rows of the database, read once for all readers."""
        if (name, table) not in self.known:
            with self.database(name) as db:
                rows = comparable_rows(db.execute(QUERIES.get(table, f"select * from {table}")))
            self.known[name, table] = rows if table == "allocation" else sorted(rows, key=repr)
        return self.known[name, table]

    def assert_rows(self, found, name="x"):
        """The rows of all files are those of the database."""
        for table, rows in found.items():
            rows, wanted = comparable_rows(rows, lambda value: comparable(read(value))), self.wanted(name, table)
            if table != "allocation":  # the order of ends is part of the table
                rows.sort(key=repr)
            self.assertEqual(len(rows), len(wanted), table)
            self.assertTrue(rows == wanted, f"{name}: {table}: " + next(
                (f"{row} is not {other}" for row, other in zip(rows, wanted) if row != other), ""))

    def duckdb(self, folder, *queries):
        """The answers of DuckDB, after the SQL in the folder."""
        said = self.must("node", FOLDER / "query.mjs", "duckdb", folder, 1 << 30, 600, input=json.dumps(queries).encode())
        for answer in json.loads(said):
            self.assertIsInstance(answer, list)
            yield [[read(value) for value in row] for row in answer]


class Rows(ParquetTest):
    def check(self, source, readers=READERS, *options):
        folder = self.convert(source, "x", *options)
        self.assertEqual(sorted(os.listdir(folder)), FILES)
        for reader in readers:
            with self.subTest(reader):
                self.assert_rows(self.dumped(reader, folder)[str(folder)])

    def test_every_reader_finds_the_rows_of_a_recording(self):
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 23, 7, 5)
        self.check("boxes.allo")

    def test_addresses_of_a_raw_recording(self):
        self.allo("run", "-q", "--raw", "-o", "raw.allo", built("boxes.cpp"), 2300, 70, 50)
        self.check("raw.allo")
        with self.database() as db:
            self.assertGreater(db.execute("select count(distinct address) from allocation").fetchone()[0], 50)

    def test_weights_of_a_sampled_recording(self):
        self.allo("run", "-q", "-m", "sampled", "--rate", "4096", "-o", "boxes.allo", built("boxes.cpp"), 23000, 70, 50)
        self.check("boxes.allo", ("duckdb", "hyparquet"))
        with self.database() as db:
            self.assertGreater(db.execute("select max(weight) from allocation").fetchone()[0], 1)

    def test_rows_of_several_groups(self):
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 270000, 70, 50)
        self.check("boxes.allo", ("duckdb", "parquet-wasm"))

    def test_pages_that_share_a_dictionary(self):
        self.allo("run", "-q", "-o", "paths.allo", built("paths.c"), 16, 5)
        folder = self.convert("paths.allo")
        with self.database() as db:
            rows, stacks = db.execute("select count(*), count(distinct stack) from allocation").fetchone()
        self.assertGreaterEqual(stacks, 1 << 16)
        self.assertGreater(rows, 1 << 18)
        groups, = self.duckdb(folder, f"select distinct row_group_num_rows from parquet_metadata('{folder}/allocation.parquet')")
        self.assertEqual(groups, [[str(rows)]])
        for path in folder.iterdir():  # millions of frames, which are like any others
            if path.name != "allocation.parquet":
                path.unlink()
        for reader in READERS:
            with self.subTest(reader):
                self.assert_rows(self.dumped(reader, folder)[str(folder)])

    def test_no_rows(self):
        self.check(self.file("one.folded", "main;f 7\n"))

    def test_names_of_any_bytes(self):
        name = b"caf\xe9;\xff\xfe \xf0\x9f\x92\xa9;it's \"x\", \xc0\x80"
        self.check(self.file("a.folded", name + b" 7\n" + b"\x01;" * 3000 + b"end 1\n"))

    def test_numbers_of_any_size(self):
        self.check(self.file("a.folded", f"main;a {2 ** 63 - 1}\nmain;b {2 ** 63}\nmain;c {2 ** 64 - 1}\nmain;d 1\n"))

    def test_recordings_of_rheaper(self):
        for seed in range(3):
            random_recording(seed).write(self.tmp / f"rip-{seed}")
            shutil.rmtree(self.tmp / "x.parquet", ignore_errors=True)
            (self.tmp / "x.db").unlink(missing_ok=True)
            self.check(f"rip-{seed}", ("duckdb",))

    def test_every_sample_file(self):
        folders = {}
        for kind in ("dhat", "folded", "pprof", "heaptrack", "jemalloc", "massif", "gperftools", "allo"):
            for path in sorted((GOLDEN / kind).iterdir()):
                name = f"{kind}-{path.name}"
                done = self.run_program(ALLO, "convert", "-q", path, "-o", f"{name}.parquet")
                if done.returncode == 0:
                    self.allo("convert", "-q", path, "-o", f"{name}.db")
                    folders[str(self.tmp / f"{name}.parquet")] = name
        self.assertGreater(len(folders), 30)
        for folder, tables in self.dumped("duckdb", *folders).items():
            self.assert_rows(tables, folders[folder])


    def test_files_are_as_they_were(self):
        self.allo("convert", "-q", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "x.parquet")
        (tables,) = self.dumped("duckdb", self.tmp / "x.parquet").values()
        tables["meta"] = [row for row in tables["meta"] if row[0] != "allo version"]
        lines = [f"{table} {json.dumps(row)}\n" for table, rows in sorted(tables.items()) for row in rows]
        self.assert_golden(GOLDEN / "parquet" / "from-dhat-valgrind-heap.txt", "".join(lines))


class Answers(ParquetTest):
    def setUp(self):
        super().setUp()
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 2300, 70, 50)
        self.folder = self.convert("boxes.allo")

    def test_sums_are_those_of_top(self):
        total = self.allo_json("top", "boxes.allo", "-M", "alloc_bytes")["sum"]
        found, = self.duckdb(self.folder, "select sum(size), count(*) from allocation")
        with self.database() as db:
            self.assertEqual(total, db.execute("select sum(alloc_bytes) from site").fetchone()[0])
        self.assertEqual(int(found[0][0]), total)

    def test_two_runs_are_compared(self):
        (self.tmp / "runs").mkdir()
        self.allo("run", "-q", "-o", "more.allo", built("boxes.cpp"), 2300, 70, 53)
        for run, file in (("old", "boxes.allo"), ("new build's", "more.allo")):
            done = self.run_program(ALLO, "convert", file, "-o", f"runs/run={run}/")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"duckdb -init runs/duckdb.sql", done.stderr)
        growth, stacks = self.duckdb(
            self.tmp / "runs", "from regressions('old', 'new build''s')",
            "select count(*), count(distinct id) from stack")
        self.assertEqual([row[2:4] for row in growth if row[2] != "0"], [[str(3 * 4099), "3"]])
        self.assertEqual(stacks[0][0], stacks[0][1])
        # The same question in SQLite.
        self.allo("convert", "-q", "more.allo", "-o", "more.db")
        with self.database("more") as db:
            db.execute("attach ? as old", [str(self.tmp / "x.db")])
            self.assertEqual(db.execute(
                "select sum(n.end_bytes - coalesce(o.end_bytes, 0)) from site n left join old.site o "
                "on o.stack = n.stack").fetchone()[0], 3 * 4099)


class Folders(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        self.file("a.folded", "main;f 7\n")
        self.before = sorted(os.listdir(self.tmp))

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in sorted((self.tmp / folder).iterdir())}

    def test_the_same_input_makes_the_same_bytes(self):
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 270000, 70, 50)
        self.allo("convert", "-q", "boxes.allo", "-o", "x.parquet")
        first = self.contents("x.parquet")
        for command in ([ALLO], ["taskset", "-c", str(min(os.sched_getaffinity(0))), ALLO]):
            self.must(*command, "convert", "-qf", "boxes.allo", "-o", "x.parquet")
            self.assertEqual(self.contents("x.parquet"), first)

    def test_an_existing_folder_is_replaced_only_when_asked(self):
        self.allo("convert", "-q", "a.folded", "-o", "x.parquet/")
        self.assertEqual(sorted(os.listdir(self.tmp / "x.parquet")), FILES)
        self.assertIn("x.parquet: exists and was not overwritten",
                      self.allo_fails("convert", "a.folded", "-o", "x.parquet", status=2))
        self.file("a.folded", "main;f 9\nmain;g 8\n")
        before = self.contents("x.parquet")
        self.allo("convert", "-qf", "a.folded", "-o", "x.parquet")
        self.assertNotEqual(self.contents("x.parquet")["sample.parquet"], before["sample.parquet"])
        self.assertEqual(sorted(os.listdir(self.tmp)), [*self.before, "x.parquet"])

    def test_a_folder_with_other_files_stays(self):
        self.allo("convert", "-q", "a.folded", "-o", "x.parquet")
        self.file("x.parquet/notes.txt", "mine")
        before = self.contents("x.parquet")
        self.assertIn("it contains notes.txt", self.allo_fails("convert", "-f", "a.folded", "-o", "x.parquet", status=2))
        self.assertEqual(self.contents("x.parquet"), before)

    def test_names_that_cannot_be(self):
        self.file("x.parquet", "a file")
        os.symlink("nowhere", self.tmp / "link.parquet")
        for name, message in (("x.parquet", "exists and is not a folder"), ("-", "is a folder of files"),
                              ("link.parquet", "link to a folder that does not exist"),
                              ("y.parquet.gz", "compression of their own"), ("no/y.parquet", "cannot create")):
            with self.subTest(name):
                done = self.run_program(ALLO, "convert", "-f", "--to", "parquet", "a.folded", "-o", name)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr.decode())
                self.assertIn("hint: ", done.stderr.decode())
        self.assertEqual(sorted(os.listdir(self.tmp)), sorted([*self.before, "x.parquet", "link.parquet"]))

    def test_a_full_disk_leaves_nothing(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

        done = self.run_program(ALLO, "convert", "a.folded", "-o", "x.parquet", preexec_fn=limit)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), "x.parquet: cannot write: File too large")
        self.assertEqual(sorted(os.listdir(self.tmp)), self.before)

    def test_a_killed_conversion_leaves_nothing(self):
        for end in (signal.SIGKILL, signal.SIGTERM):
            with subprocess.Popen([ALLO, "convert", "--to", "parquet", "-o", self.tmp / "x.parquet"],
                                  stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                process.stdin.write(b"main;f 7\n" * 100000)
                process.stdin.flush()
                wait_until(lambda: any("(deleted)" in os.readlink(link.path)
                                       for link in os.scandir(f"/proc/{process.pid}/fd")))
                process.send_signal(end)
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            left = set(os.listdir(self.tmp)) - set(self.before)
            # A signal that can be caught ends the input, and what was read is written.
            self.assertEqual(left, set() if end == signal.SIGKILL else {"x.parquet"})

    def test_a_broken_input_leaves_nothing(self):
        self.file("a.folded", "main;f seven\n")
        self.allo_fails("convert", "--from", "folded", "a.folded", "-o", "x.parquet")
        self.assertEqual(sorted(os.listdir(self.tmp)), self.before)

    def test_permissions_are_those_of_the_input(self):
        (self.tmp / "a.folded").chmod(0o600)
        self.allo("convert", "-q", "a.folded", "-o", "x.parquet")
        self.assertEqual((self.tmp / "x.parquet").stat().st_mode & 0o077, 0)
        self.assertEqual({path.stat().st_mode & 0o077 for path in (self.tmp / "x.parquet").iterdir()}, {0})
