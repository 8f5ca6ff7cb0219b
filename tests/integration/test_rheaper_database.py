"""Recordings of rheaper as databases, made by `allo convert` and under the name of rheaper's own program."""
import collections
import contextlib
import gzip
import os
import re
import sqlite3

from allotest import ALLO, SLOW
from rheaperfiles import MAX, METRICS, Heap, Recording, Rheaper, example, named, random_recording, small


class Databases(Rheaper):
    def ask(self, path, query):
        with contextlib.closing(sqlite3.connect(self.tmp / path)) as db:
            return db.execute(query).fetchall()


class Database(Databases):
    def rows(self, path):
        never = (1 << 63) - 1
        found = self.ask(path, "select alloc_ns, free_ns, size, address, name from allocation join thread "
                               "on thread.id = alloc_thread")
        return collections.Counter((birth, None if end == never else end, size, address, f"events-{name}")
                                   for birth, end, size, address, name in found)

    def test_each_allocation_is_a_row(self):
        for seed in range(5 if SLOW else 25):
            recording = random_recording(seed * 7 + 1)
            self.allo("convert", "-qf", self.write(recording, f"rip-{seed}"), "-o", "a.db")
            heap = Heap(recording)
            with self.subTest(seed=seed):
                self.assertEqual(self.rows("a.db"), collections.Counter(heap.rows))
                sums = dict(self.ask("a.db", "select name, sum(value) from sample join metric on metric.id = metric "
                                             "where adds_up group by name"))
                wanted = {name: sum(site[name] for site in heap.sites.values()) for name in METRICS
                          if not name.startswith("max")}
                self.assertEqual(sums, {name: value for name, value in wanted.items() if value})

    def test_archives_make_the_same_rows(self):
        recording = random_recording(3)
        self.allo("convert", "-q", self.write(recording), "-o", "directory.db")
        self.allo("convert", "-q", self.file("a.tar", recording.tar()), "-o", "archive.db")
        self.must(ALLO, "convert", "-q", "--to", "sqlite", "-", "-o", "pipe.db", input=gzip.compress(recording.tar()))
        for name in ("archive.db", "pipe.db"):
            self.assertEqual((self.tmp / name).read_bytes(), (self.tmp / "directory.db").read_bytes())

    def test_filters_leave_the_profile(self):
        self.allo("convert", "-q", "--focus", "site_8", self.write(small()), "-o", "a.db")
        self.assertEqual(self.ask("a.db", "select count(*) from allocation"), [(0,)])
        self.assertEqual(self.ask("a.db", "select sum(alloc_bytes) from site"), [(69636,)])

    def test_parts_of_it_cannot_be_had(self):
        path = self.write(small())
        for option in (["--range", "1ms..2ms"], ["--at", "peak"], ["--thread", "1"]):
            for command in (["top", path], ["convert", path, "-o", "a.db"]):
                self.assertIn("cannot be read in parts", self.allo_fails(*command, *option, status=2))

    def test_an_unreadable_recording_leaves_no_file(self):
        recording = small()
        recording.backtraces["bt-0"].insert(0, b"x")
        path = self.write(recording)
        self.assertIn("bt-0:1:1: expected an object", self.allo_fails("convert", path, "-o", "a.db"))
        self.assertFalse((self.tmp / "a.db").exists())
        with open("/dev/full", "wb") as full:
            done = self.run_program(ALLO, "convert", "--to", "sqlite", self.write(small()), pass_fds=[full.fileno()],
                                    preexec_fn=lambda: os.dup2(full.fileno(), 1))
        self.assertNotEqual(done.returncode, 0)

    def test_numbers_above_63_bits_are_there(self):
        recording = named(Recording(), MAX)
        recording.alloc(MAX - 15, 1 << 63, MAX)
        recording.alloc(0x1000, 5, MAX)
        recording.free(0x1000)
        self.allo("convert", "-q", self.write(recording), "-o", "a.db")
        self.assertEqual(self.ask("a.db", "select count(*) from allocations"), [(2,)])


class DropIn(Databases):
    """Under the name of rheaper's own program."""

    def setUp(self):
        super().setUp()
        self.program = self.tmp / "rheaper"
        self.program.symlink_to(ALLO)
        self.path = example().write(self.tmp / "rip-1700000000")

    def test_it_takes_a_recording_and_a_database(self):
        done = self.run_program(self.program, "rip-1700000000", "profile.db")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"^allo: wrote profile.db \(.*\): 3 stacks, 10 metrics, 200 allocations\n$")
        self.allo("convert", "-q", self.path, "-o", "converted.db")
        self.assertEqual((self.tmp / "profile.db").read_bytes(), (self.tmp / "converted.db").read_bytes())

    def test_every_failure_is_status_1(self):
        self.file("there.db", "something")
        for arguments, says in (([], "expected a recording and a database"), (["rip-1700000000"], "expected"),
                                (["rip-1700000000", "a.db", "more"], "expected"), (["nowhere", "a.db"], "nowhere: "),
                                (["rip-1700000000", "there.db"], "there.db: exists and was not overwritten"),
                                (["rip-1700000000", "no/a.db"], "no/a.db")):
            done = self.run_program(self.program, *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(done.stderr.decode(), "^allo: error: .*" + re.escape(says))
        self.assertEqual((self.tmp / "there.db").read_text(), "something")
        self.assertIn("Usage: rheaper <PROFILE_DATA> <ANALYZED_DB>", self.must(self.program, "--help"))

    def test_tables_have_the_columns_of_rheaper(self):
        self.must(self.program, "rip-1700000000", "profile.db")
        for table, columns in (("backtraces", "id frame_no file line sym"),
                               ("allocations", "alloc_after dealloc_after bt size addr alloc_thread dealloc_thread")):
            self.assertEqual([row[1] for row in self.ask("profile.db", f"pragma table_info({table})")], columns.split())

    def test_the_queries_of_its_readme_run(self):
        self.must(self.program, "rip-1700000000", "profile.db")
        biggest = self.ask("profile.db", "SELECT bt, sum(size) FROM allocations GROUP BY bt ORDER BY sum(size) DESC LIMIT 10;")
        top = self.allo_json("top", "-M", "alloc_bytes", "--by", "site", self.path)["rows"]
        self.assertEqual([size for _, size in biggest], [row["self"] for row in top if row["self"]])
        lived = self.ask("profile.db", "SELECT bt, count(0), sum(size) FROM allocations where dealloc_after NOT NULL AND "
                         "dealloc_after - alloc_after < 10000 GROUP BY bt ORDER BY sum(size) DESC LIMIT 5;")
        self.assertEqual([(bt, size) for bt, _, size in lived], biggest[:2])
        frames = self.ask("profile.db", f"select frame_no, sym from backtraces where id = '{biggest[0][0]}' limit 10;")
        self.assertEqual(frames[:2] + frames[5:6], [(0, "backtrace::backtrace::libunwind::trace"),
                         (1, "rheaper::alloc::TrackerGuard::with"), (5, "server::http::read_body")])
