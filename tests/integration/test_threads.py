"""allo threads against events that are added up here."""
import collections
import csv
import io

from allotest import ALLO, GOLDEN
from lives import KILLED, PACKED, RAW, LivesTest
from recordings import built
from terminal import on_terminal


class Counts(LivesTest):
    def counted(self, path):
        """The totals of each thread, by its number."""
        found = collections.defaultdict(collections.Counter)
        lives = self.lives(path)
        for block in lives.blocks:
            own = found[block.tid]
            own["allocations"] += 1
            own["alloc_bytes"] += block.size
            own["temporary_blocks"] += block.temporary
            if block.free_tid is None:
                own["end_blocks"] += 1
                own["end_bytes"] += block.size
            elif block.free_tid != block.tid:
                own["freed_by_others"] += 1
                found[block.free_tid]["frees_of_others"] += 1
        for tid, count in lives.frees.items():
            found[tid]["frees"] = count
        return found

    def check(self, path):
        counted = self.counted(path)
        rows = self.allo_json("threads", "-n", "0", path)["threads"]
        # Numbers of threads that have ended are given to others again.
        sums = collections.defaultdict(collections.Counter)
        for row in rows:
            sums[row["tid"]].update({key: value for key, value in row.items() if key not in ("tid", "name")})
        self.assertEqual(set(sums), set(counted))
        for tid, counts in counted.items():
            for key, value in counts.items():
                self.assertEqual(sums[tid][key], value, (path, tid, key))
        return rows

    def test_threads_have_the_sums_of_their_events(self):
        for path in (RAW, PACKED, KILLED, self.record(built("handover.c")), self.record(built("resizes.c")),
                     self.record("ls", "-l", "/usr/bin")):
            self.check(path)

    def test_the_next_one_in_a_ring_frees(self):
        rows = {row.get("name"): row for row in self.check(self.record(built("handover.c")))}
        for i in range(4):
            maker = rows[f"maker-{i}"]
            self.assertEqual(maker["freed_by_others"], 23 + i)
            self.assertEqual(maker["frees_of_others"], 23 + (i + 1) % 4)
            self.assertGreaterEqual(maker["max_bytes"], (23 + i) * (2003 + i))

    def test_shares_of_the_peak_add_up(self):
        for path in (PACKED, self.record(built("handover.c")), self.record(built("churn.c"), "4", "20000")):
            found = self.allo_json("threads", "-n", "0", path)
            info = self.allo_json("info", path)
            sums = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
            rows = found["threads"]
            self.assertEqual((found["peak_bytes"], found["peak_ns"]), (sums["peak_bytes"], info["peak_ns"]))
            for key in ("alloc_bytes", "peak_bytes", "peak_blocks", "end_bytes", "end_blocks", "temporary_blocks"):
                self.assertEqual(sum(row[key] for row in rows), sums[key], key)
            for row in rows:
                part = self.allo_json("top", "--thread", row["tid"], "-M", "peak_bytes", path)
                self.assertEqual(part["sum"], row["max_bytes"])

    def test_five_hundred_threads(self):
        path = self.record(built("stress_threads.c"))
        rows = self.check(path)
        names = {row.get("name") for row in rows}
        self.assertGreater(sum(str(name).startswith("short-") for name in names), 9)
        text = self.allo("threads", path)
        # A heading, two tables of 20 threads with an empty line between them, and the terms.
        self.assertEqual(len(text.splitlines()), 1 + 21 + 1 + 21 + 1 + (len(rows) > 20))
        if len(rows) > 20:
            self.assertIn(f"{len(rows) - 20} more threads: -n 0 shows all", text)

    def test_a_part_of_the_time(self):
        events = self.lives(PACKED).events
        middle = events[len(events) // 2]["ns"]
        halves = [self.allo_json("threads", "--range", part, PACKED)["threads"]
                  for part in (f"..{middle}ns", f"{middle}ns..")]
        whole = self.allo_json("threads", PACKED)["threads"]
        for key in ("allocations", "alloc_bytes", "frees", "temporary_blocks"):
            self.assertEqual(sum(row[key] for rows in halves for row in rows), sum(row[key] for row in whole), key)
        self.assertEqual(sum(row["end_bytes"] for row in halves[1]), sum(row["end_bytes"] for row in whole))
        alone, = self.allo_json("threads", "--thread", "worker", PACKED)["threads"]
        self.assertEqual(alone["name"], "worker")


class Printing(LivesTest):
    def test_rows_come_in_the_order_that_is_asked_for(self):
        path = self.record(built("handover.c"))
        for sort, key in (("bytes", "alloc_bytes"), ("allocs", "allocations"), ("peak", "peak_bytes"),
                          ("end", "end_bytes"), ("cross", "frees_of_others")):
            values = [row[key] for row in self.allo_json("threads", "--sort", sort, path)["threads"]]
            self.assertEqual(values, sorted(values, reverse=True))
        tids = [row["tid"] for row in self.allo_json("threads", "--sort", "thread", path)["threads"]]
        self.assertEqual(tids, sorted(tids))
        found = self.allo_json("threads", "-n", "2", path)
        self.assertEqual((len(found["threads"]), found["thread_count"]), (2, len(tids)))

    def test_text_and_csv_say_the_same(self):
        rows = self.allo_json("threads", PACKED)["threads"]
        found = list(csv.DictReader(io.StringIO(self.allo("threads", "--csv", PACKED))))
        self.assertEqual([{key: str(value) for key, value in row.items()} for row in rows], found)
        lines = self.allo("threads", "--bytes", PACKED).splitlines()
        self.assertEqual(lines[0], f"2 threads, 28 allocations of {sum(row['alloc_bytes'] for row in rows)}; "
                         f"{sum(row['frees_of_others'] for row in rows)} blocks were freed by another thread")
        for line, row in zip(lines[2:], rows):
            self.assertEqual(line.split()[:3], [str(row["tid"]), str(row["allocations"]), str(row["alloc_bytes"])])
            self.assertEqual(line.split()[-1], row["name"])
        for line, row in zip(lines[lines.index("") + 2:], rows):
            self.assertEqual(line.split(), [str(row[key]) for key in (
                "tid", "temporary_blocks", "frees", "frees_of_others", "freed_by_others", "name")])

    def test_on_a_terminal(self):
        status, text = on_terminal(ALLO, "threads", PACKED, columns=120, env={"TERM": "xterm", "PAGER": "cat"})
        self.assertEqual(status, 0)
        self.assertIn("\033[2ma block belongs to the thread that allocated it", text)
        _, text = on_terminal(ALLO, "threads", PACKED, env={"NO_COLOR": "1", "PAGER": "cat"})
        self.assertNotIn("\033", text)

    def test_nothing_happened(self):
        for path in self.without_blocks():
            self.assertEqual(self.allo_json("threads", path)["threads"], [])
            self.assertIn("0 threads, 0 allocations", self.allo("threads", path))

    def test_any_beginning_of_a_recording_has_threads(self):
        for form in ("raw", "packed"):
            for path in self.cuts(form):
                done = self.run_program(ALLO, "threads", path)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_other_files_have_none(self):
        done = self.run_program(ALLO, "threads", GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"only recordings have threads", done.stderr)
