"""allo blocks against lives that are worked out here."""
import csv
import io
import json
import shlex
import subprocess

from allotest import ALLO, GOLDEN, QUOTED_ALLO
from lives import KILLED, NEVER, PACKED, RAW, LivesTest
from recordings import built
from terminal import on_terminal


class Blocks(LivesTest):
    def blocks(self, *arguments):
        return [json.loads(line) for line in self.allo("blocks", "--json", "-q", *arguments).splitlines()]

    def numbers(self, *arguments):
        return [block["number"] for block in self.blocks("-n", "0", *arguments)]


class Rows(Blocks):
    def test_every_block_has_a_row(self):
        for path in (RAW, PACKED, KILLED, self.record(built("resizes.c")), self.record(built("handover.c")),
                     self.record("ls", "-l", "/usr/bin")):
            expected = self.lives(path).blocks
            found = self.blocks("-n", "0", "--sort", "time", path)
            self.assertEqual(len(found), len(expected))
            for row, block in zip(found, expected):
                self.assertEqual((row["number"], row["alloc_ns"], row["size"], row["tid"], row["stack"]),
                                 (block.number, block.alloc_ns, block.size, block.tid, block.stack))
                self.assertEqual(row.get("free_ns", NEVER), block.free_ns)
                self.assertEqual(row.get("free_tid"), block.free_tid)
                self.assertEqual(row.get("lifetime_ns"), block.lifetime)
                self.assertEqual(row.get("first_ns", block.first_ns), block.first_ns)
                for flag in ("resized", "resized_on", "temporary"):
                    self.assertEqual(row.get(flag, False), getattr(block, flag), flag)

    def test_csv_has_the_values_of_json(self):
        path = self.record(built("handover.c"))
        rows = [json.loads(line) for line in self.allo("blocks", "-n0", "--json", path).splitlines()]
        table = list(csv.DictReader(io.StringIO(self.allo("blocks", "-n0", "--csv", path), newline="")))
        self.assertEqual(len(table), len(rows))
        for cells, row in zip(table, rows):
            for column in ("number", "alloc_ns", "free_ns", "lifetime_ns", "size", "tid", "thread", "free_tid", "stack"):
                self.assertEqual(cells[column], str(row.get(column, "")), (column, row))
            self.assertEqual(cells["temporary"], str(int(row.get("temporary", False))))
            self.assertEqual(cells["function"], row.get("name", ""))
        events = [json.loads(line) for line in self.allo("events", "--json", path).splitlines()]
        table = list(csv.DictReader(io.StringIO(self.allo("events", "--csv", path), newline="")))
        self.assertEqual([(cells["ns"], cells["event"], cells["size"], cells["stack"]) for cells in table],
                         [(str(event["ns"]), event["event"], str(event.get("size", event.get("units", ""))),
                           str(event.get("stack", ""))) for event in events])
        for command in ("blocks", "events"):
            self.assertIn("exclude each other", self.allo_fails(command, "--csv", "--json", path, status=2))

    def test_orders(self):
        path = self.record("ls", "-l", "/usr/bin")
        blocks = self.lives(path).blocks
        by = {"size": lambda block: (-block.size, block.number),
              "time": lambda block: block.number,
              "lifetime": lambda block: (block.free_ns != NEVER, block.first_ns if block.free_ns == NEVER else
                                         -(block.lifetime or 0), block.number)}
        for order, key in by.items():
            expected = [block.number for block in sorted(blocks, key=key)]
            self.assertEqual(self.numbers("--sort", order, path), expected, order)
            for count in (1, 7, 64):
                self.assertEqual([block["number"] for block in self.blocks("-n", count, "--sort", order, path)],
                                 expected[:count], (order, count))
        ends = [block.get("free_ns", NEVER) for block in self.blocks("-n", "0", "--sort", "end", path)]
        self.assertEqual(ends, sorted(ends))
        self.assertEqual(len(ends), len(blocks))

    def test_known_blocks_are_found(self):
        path = self.record(built("blocks.c"))
        found = self.blocks("-n", "0", "--size", "1009", path)
        self.assertEqual(len(found), 23)
        self.assertEqual(sum("free_ns" not in block for block in found), 3)
        self.assertEqual({block["name"] for block in found}, {"main"})
        self.assertTrue(all(block["file"].endswith("blocks.c") and block["line"] > 0 for block in found))
        self.assertEqual(len(self.blocks("--live", "--size", "1009", path)), 3)


class Filters(Blocks):
    def setUp(self):
        super().setUp()
        self.path = self.record(built("handover.c"))
        self.expected = self.lives(self.path).blocks

    def check(self, options, is_wanted):
        self.assertEqual(sorted(self.numbers(*options, self.path)),
                         [block.number for block in self.expected if is_wanted(block)], options)

    def test_sizes(self):
        for text, low, high in (("2003..2005", 2003, 2005), ("2004", 2004, 2004), ("2K..", 2048, NEVER),
                                ("..100", 0, 100), ("0..0", 0, 0)):
            self.check(("--size", text), lambda block: low <= block.size <= high)

    def test_lifetimes(self):
        lifetimes = sorted(block.lifetime for block in self.expected if block.lifetime is not None)
        middle = lifetimes[len(lifetimes) // 2]
        self.check(("--lifetime", f"{middle}ns.."),
                   lambda block: block.lifetime is not None and block.lifetime >= middle)
        self.check(("--lifetime", f"..{middle}ns"),
                   lambda block: block.lifetime is not None and block.lifetime <= middle)
        self.check(("--live",), lambda block: block.free_ns == NEVER)

    def test_threads(self):
        for tid in {block.tid for block in self.expected}:
            self.check(("--thread", tid), lambda block: block.tid == tid)
        maker = next(block.tid for block in self.expected if block.size == 2005)
        self.check(("--thread", "maker-2"), lambda block: block.tid == maker)

    def test_ranges(self):
        times = sorted({block.alloc_ns for block in self.expected})
        for start, end in ((0, len(times) // 2), (len(times) // 3, len(times) // 2), (len(times) // 2, len(times) - 1)):
            a, b = times[start], times[end]
            self.check(("--range", f"{a}ns..{b}ns"), lambda block: block.lives_within(a, b))

    def test_moments(self):
        for block in self.expected[::9]:
            now = block.alloc_ns
            self.check(("--at", f"{now}ns"), lambda block: block.alloc_ns <= now < block.free_ns)
        self.check(("--at", "end"), lambda block: block.free_ns == NEVER)

    def test_stacks(self):
        stacks = {block["stack"] for block in self.blocks("-n", "0", "--size", "2003..2006", self.path)}
        self.check(("-F", "fn:=make"), lambda block: block.stack in stacks)
        self.check(("-I", "fn:=make"), lambda block: block.stack not in stacks)
        self.assertEqual(len(self.numbers("-F", "fn:=make", self.path)), 23 + 24 + 25 + 26)
        hidden = self.blocks("-n", "1", "-F", "fn:=make", "-H", "fn:=make", "-H", "fn:=filled", self.path)
        self.assertEqual(hidden[0]["name"], "run")

    def test_blocks_of_reallocs_belong_to_the_last_or_the_first(self):
        path = self.record(built("resizes.c"), name="resizes.allo")
        grown = self.numbers("-F", "fn:=grow", path)
        self.assertEqual(len(grown), 13 * 31)
        self.assertEqual(self.numbers("-F", "fn:=grow", "--realloc", "first", path), [])
        self.assertEqual(len(self.numbers("-F", "fn:=filled", "--realloc", "first", path)), 13 * 33)

    def test_several_at_once(self):
        maker = next(block.tid for block in self.expected if block.size == 2004)
        self.check(("--thread", "maker-1", "--size", "2004", "--lifetime", "0s.."),
                   lambda block: block.tid == maker and block.size == 2004 and block.lifetime is not None)


class Moments(Blocks):
    def test_the_peak_is_exact_where_events_share_a_time(self):
        path = self.record(built("churn.c"), "0", "4000")
        events = self.lives(path)
        self.assertLess(len({event["ns"] for event in events.events}), len(events.events) / 8)
        sums = [self.allo_json("top", *options, path) for options in (("-M", "peak_bytes"), ("--at", "1ms"))]
        for found, at in zip(sums, ("peak", "1ms")):
            rows = self.blocks("-n", "0", "--at", at, path)
            self.assertEqual((sum(row["size"] for row in rows), len(rows)), (found["sum"], found["sum_blocks"]))

    def test_a_threads_own_peak(self):
        path = self.record(built("churn.c"), "3", "9000")
        for row in self.allo_json("threads", path)["threads"]:
            rows = self.blocks("-n", "0", "--at", "peak", "--thread", row["tid"], path)
            self.assertEqual(sum(block["size"] for block in rows), row["max_bytes"])


class Printing(Blocks):
    def test_text_has_a_line_a_block(self):
        lines = self.allo("blocks", "-n", "3", PACKED).splitlines()
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[0], r"^ +seconds +size +lifetime  thread +allocated by$")
        self.assertRegex(lines[1], r"^ +0\.0000\d\d +1,009 B  +\S.*  47\d\d \w+ ")
        self.assertEqual(lines[-1], "28 blocks of 22.9 KiB in all, 25 more: -n 0 shows all")
        self.assertEqual(len(self.allo("blocks", "-n", "0", "--sort", "end", PACKED).splitlines()), 28 + 2)

    def test_stacks_are_printed_below(self):
        path = self.record(built("blocks.c"))
        text = self.allo("blocks", "--size", "1009", "-n", "1", "--stacks", path)
        self.assertRegex(text, r"(?m)^ {8}main  blocks\.c:\d+$")
        self.assertRegex(text, r"(?m)^ {8}_start")
        frames = self.blocks("--size", "1009", "-n", "1", "--stacks", path)[0]["frames"]
        self.assertEqual((frames[0]["name"], frames[-1]["name"]), ("main", "_start"))

    def test_plain_numbers(self):
        self.assertRegex(self.allo("blocks", "-n", "1", "--bytes", PACKED), r" 1009 +(never freed|\d+)  ")

    def test_names_are_cut_to_the_terminal(self):
        path = self.record(built("named_shapes.cpp"))
        for columns in (80, 100, 160):
            status, text = on_terminal(ALLO, "blocks", "-n", "5", path, columns=columns, env={"PAGER": "cat"})
            self.assertEqual(status, 0)
            self.assertLessEqual(max(map(len, text.splitlines())), columns)
            _, text = on_terminal(ALLO, "blocks", "-n", "5", "--full-names", path, columns=columns, env={"PAGER": "cat"})
            self.assertNotIn("\N{HORIZONTAL ELLIPSIS}", text)

    def test_the_reader_may_leave_early(self):
        path = self.record(built("churn.c"), "0", "50000")
        done = subprocess.run(["bash", "-c", f"{QUOTED_ALLO} blocks -n 0 --sort end {shlex.quote(str(path))} | head -n 2; echo ${{PIPESTATUS[0]}}"],
                              capture_output=True, text=True)
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertEqual(done.stderr, "")

    def test_nothing_happened(self):
        for path in self.without_blocks():
            self.assertEqual(self.blocks(path), [])
            self.assertIn("0 blocks of 0 B in all", self.allo("blocks", path))

    def test_any_beginning_of_a_recording_has_blocks(self):
        for form in ("raw", "packed"):
            for path in self.cuts(form):
                done = self.run_program(ALLO, "blocks", path)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_a_pipe_is_read(self):
        self.assertEqual(self.allo("blocks", "-", input=PACKED.read_bytes()), self.allo("blocks", PACKED))

    def test_invalid_options_are_refused(self):
        for options, said in ((("--size", "5..2"), "ends before it begins"), (("--size", "large"), "'large' is not a number"),
                              (("--lifetime", ".."), "has to have an end"), (("--live", "--lifetime", "1s.."), "exclude"),
                              (("--at", "peak", "--range", "1s.."), "exclude"), (("--thread", "nobody"), "no thread has")):
            self.assertIn(said, self.allo_fails("blocks", *options, PACKED, status=2))
        done = self.run_program(ALLO, "blocks", "-F", "no such name", PACKED)
        self.assertIn(b"no stack matches", done.stderr)

    def test_other_files_have_none(self):
        done = self.run_program(ALLO, "blocks", GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"only recordings have single allocations", done.stderr)
