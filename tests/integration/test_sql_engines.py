"""The same SQL on four engines: every report and every query of doc/sql.md has SQLite's rows on DuckDB, ClickHouse's engine
and PostgreSQL."""
import csv
import io
import json
import pathlib
import re
import shutil
import tempfile

import nodepackages
from allotest import ALLO, BUILD, GOLDEN, ROOT, Test
from postgresql import MEMORY, SECONDS, PostgreSQL, no_more_memory
from recordings import built

MANUAL = ROOT / "doc" / "sql.md"
FOLDER = BUILD / "parquet"
PACKAGES = json.loads((ROOT / "tests" / "parquet" / "package.json").read_text())["dependencies"]

# The part of doc/sql.md that this test writes.
TABLE = re.compile(r"(?<=<!-- tests/integration/test_sql_engines.py writes this table -->\n)(?:\|.*\n)*")


def queries():
    return re.findall(r"^```sql\n(.*?)^```$", MANUAL.read_text(), re.M | re.S)


def reports():
    return [path.read_text() for path in sorted((ROOT / "src" / "sql" / "reports").glob("*.sql"))]


def plain(value):
    """A value as text: engines differ in types, and sums of floats in their last digits."""
    text = "" if value is None else str(value)
    if not re.fullmatch(r"-?\d+(\.\d*)?([eE][-+]?\d+)?", text) or re.fullmatch(r"-?\d+", text):
        return text
    number = float(text)
    return str(int(number)) if number.is_integer() and abs(number) < 2 ** 53 else f"{number:.12g}"


def plain_rows(answer):
    return answer if isinstance(answer, str) else [[plain(value) for value in row] for row in answer]


def first_difference(found, rows):
    """For a message: a diff of many rows takes minutes."""
    if isinstance(found, str) or isinstance(rows, str):
        return found if isinstance(found, str) else rows
    return next((f"{row} is not {other}" for row, other in zip(found, rows) if row != other),
                f"{len(found)} rows, not {len(rows)}")


class EngineTest(Test):
    SANITIZED = False  # the engines take most of the time; other tests reach the code, too

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="allo-pg-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.postgresql = PostgreSQL(folder)
        cls.addClassCleanup(cls.postgresql.close)

    def setUp(self):
        super().setUp()
        nodepackages.install(self, ROOT / "tests" / "parquet", FOLDER)

    def convert(self, source):
        """For all engines.  Tables of an earlier source are replaced."""
        self.allo("convert", "-qf", source, "-o", "x.db")
        self.allo("convert", "-qf", source, "-o", "x.parquet")
        for command in ("drop database if exists x", "create database x"):
            self.postgresql.ask("postgres", command)
        script = self.allo("convert", "-q", source, "--to", "postgresql")
        self.assertEqual(self.postgresql.ask("x", script), (0, ""))

    def answer_sqlite(self, asked, seconds=SECONDS):
        found = []
        for query in asked:
            done = self.run_program(ALLO, "sql", "x.db", "--json", "--timeout", f"{seconds}s", input=query.encode(),
                                    preexec_fn=no_more_memory(MEMORY))
            found.append(done.stderr.decode() if done.returncode else json.loads(done.stdout)["rows"])
        return found

    def answer_node(self, engine, asked, seconds):
        self.assertTrue((self.tmp / "x.parquet" / f"{engine}.sql").exists())
        said = self.must("node", FOLDER / "query.mjs", engine, "x.parquet", MEMORY, seconds, input=json.dumps(asked).encode())
        return json.loads(said)

    def answer_duckdb(self, asked, seconds=SECONDS):
        return self.answer_node("duckdb", asked, seconds)

    def answer_clickhouse(self, asked, seconds=SECONDS):
        return self.answer_node("clickhouse", asked, seconds)

    def answer_postgresql(self, asked, seconds=SECONDS):
        found = []
        for query in asked:
            status, said = self.postgresql.ask("x", query.rstrip().rstrip(";") + ";", seconds)
            found.append(said if status else list(csv.reader(io.StringIO(said))))
        return found

    ENGINES = {"SQLite": answer_sqlite, "DuckDB": answer_duckdb, "ClickHouse": answer_clickhouse,
               "PostgreSQL": answer_postgresql}


class Same(EngineTest):
    def sources(self):
        """Threads, reallocs and marks; labels; estimates; a profile without single allocations."""
        self.allo("run", "-q", "-o", "churn.allo", built("churn.c"), 3, 20000)
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 2300, 70, 50)
        self.allo("run", "-q", "-m", "sampled", "--rate", "4096", "-o", "some.allo", built("boxes.cpp"), 23000, 70, 50)
        return ["churn.allo", "boxes.allo", "some.allo", GOLDEN / "allo" / "notes.allo", GOLDEN / "dhat" / "valgrind-heap.json"]

    def compare(self, asked):
        """For each engine, the queries that always have SQLite's rows.  Each must have rows somewhere."""
        same = {engine: set(asked) for engine in self.ENGINES}
        with_rows = set()
        for source in self.sources():
            self.convert(source)
            wanted = [plain_rows(answer) for answer in self.answer_sqlite(asked)]
            with_rows.update(query for query, rows in zip(asked, wanted) if rows)
            for engine, answer in self.ENGINES.items():
                for query, rows, found in zip(asked, wanted, answer(self, asked)):
                    is_same = not isinstance(rows, str) and plain_rows(found) == rows
                    same[engine] -= set() if is_same else {query}
                    with self.subTest(engine=engine, source=str(source), query=query):
                        self.assertTrue(is_same, first_difference(plain_rows(found), rows))
        self.assertEqual(with_rows, set(asked))
        return same

    def test_reports_and_queries_of_the_manual(self):
        asked = {"reports": reports(), "queries": queries()}
        self.assertGreaterEqual(min(map(len, asked.values())), 11)
        same = self.compare(sum(asked.values(), []))
        tested = {"SQLite": "in `allo`", "DuckDB": PACKAGES["@duckdb/node-api"].split("-")[0],
                  "ClickHouse": f"chDB {PACKAGES['chdb']}", "PostgreSQL": "15"}
        lines = ["| engine | version | input | reports | queries of this page |", "|---|---|---|---|---|"]
        for engine, name in (("SQLite", "`x.db`"), ("DuckDB", "`x.parquet`"), ("ClickHouse", "`x.parquet`"),
                             ("PostgreSQL", "`x.pgsql`")):
            counts = " | ".join(f"{len(same[engine].intersection(part))} of {len(part)}" for part in asked.values())
            lines.append(f"| {engine} | {tested[engine]} | {name} | {counts} |")
        wanted = "".join(line + "\n" for line in lines)
        manual = MANUAL.read_text()
        self.assert_golden(MANUAL, TABLE.sub(lambda _: wanted, manual))

    def test_views(self):
        self.compare([
            "select id, frame_no, file, line, sym from backtraces order by id, frame_no",
            "select bt, size, alloc_thread, dealloc_thread, alloc_after from allocations "
            "order by alloc_after, bt, size, addr, alloc_thread",
            "select stack, alloc_blocks, alloc_bytes, peak_blocks, peak_bytes, end_blocks, end_bytes, temporary_blocks, "
            "function, file, line, module, leaf from site order by stack",
            "select stack, frame_no, frame from stack_frame order by stack, frame_no"])

    def test_every_table_has_the_same_rows(self):
        """Columns that all engines have."""
        self.compare([
            "select * from meta order by key", "select * from process order by id", "select * from module order by id",
            "select * from function order by id", "select * from frame order by id",
            "select s.id, s.frame, s.site, s.depth from stack s where s.id in (select stack from sample) order by s.id",
            "select * from thread order by id", "select * from metric order by id", "select * from sample order by id",
            "select * from label order by id", "select * from marker order by id",
            # In `allo sql`, the table has more columns.
            "select id, stack, size, alloc_ns, free_ns, alloc_thread, free_thread, address, is_temporary, is_resized_on, "
            "first_ns, first_stack, labels, weight from allocation order by id"])


class Limits(EngineTest):
    def test_a_query_ends_at_its_limit(self):
        self.allo("run", "-q", "-o", "churn.allo", built("churn.c"), 3, 20000)
        self.convert("churn.allo")
        endless = ["select count(*) from allocation a cross join allocation b cross join allocation c "
                   "where a.size + b.size + c.size = 1"]
        for engine, answer in self.ENGINES.items():
            with self.subTest(engine):
                found, = answer(self, endless, 1)
                self.assertIsInstance(found, str, found)
                self.assertRegex(found, "(?i)timeout|interrupt|limit")


class Scripts(EngineTest):
    """For PostgreSQL."""

    def load(self, script):
        self.postgresql.ask("postgres", "drop database if exists y")
        self.postgresql.ask("postgres", "create database y")
        return self.postgresql.ask("y", script)

    def ask(self, query):
        status, said = self.postgresql.ask("y", query)
        self.assertEqual(status, 0, said)
        return list(csv.reader(io.StringIO(said)))

    def test_names_of_any_bytes(self):
        names = [b"\\.", b"a\tb", b"\\N", b"c\rd", b"caf\xe9", b"\x01", b"it's \"x\"", b"drop table meta"]
        self.file("odd.folded", b"".join(b"main;" + name + b" 7\n" for name in names))
        self.assertEqual(self.load(self.allo("convert", "-q", "odd.folded", "--to", "postgresql")), (0, ""))
        found = {name for name, in self.ask("select name from function")}
        self.assertLessEqual({name.decode(errors="replace") for name in names}, found)

    def test_numbers_of_any_size(self):
        self.file("a.folded", f"main;a {2 ** 63 - 1}\nmain;b {2 ** 64 - 1}\nmain;d 1\n")
        self.assertEqual(self.load(self.allo("convert", "-q", "a.folded", "--to", "postgresql")), (0, ""))
        self.assertEqual(self.ask("select sum(value) from sample"), [[str(2 * (2 ** 63 - 1) + 1)]])

    def test_a_script_that_is_cut_changes_nothing(self):
        self.allo("run", "-q", "-o", "boxes.allo", built("boxes.cpp"), 2300, 70, 50)
        script = self.allo("convert", "-q", "boxes.allo", "--to", "postgresql")
        for part in (0.1, 0.5, 0.99):
            # Whole lines, as they come from a pipe whose writer was killed.
            self.load(script[:script.rindex("\n", 0, int(part * len(script))) + 1])
            self.assertEqual(self.ask("select count(*) from pg_tables where schemaname = 'public'"), [["0"]], part)

    def test_tables_that_exist_stay(self):
        self.file("a.folded", "main;f 7\n")
        script = self.allo("convert", "-q", "a.folded", "--to", "postgresql")
        self.assertEqual(self.load("create table module(mine text); insert into module values('here')")[0], 0)
        status, said = self.postgresql.ask("y", script)
        self.assertEqual(status, 3)
        self.assertIn('relation "module" already exists', said)
        self.assertEqual(self.ask("select mine from module"), [["here"]])
        self.assertEqual(self.ask("select count(*) from pg_tables where schemaname = 'public'"), [["1"]])

    def test_scripts_are_as_they_were(self):
        script = self.allo("convert", "-q", "--no-symbols", GOLDEN / "allo" / "notes.allo", "--to", "postgresql")
        self.assert_golden(GOLDEN / "postgresql" / "from-allo-notes.pgsql",
                           re.sub(r"(?m)^(allo version)\t.*", r"\1\t", script))
