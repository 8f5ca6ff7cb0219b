"""allo timeline against events that are added up here."""
import csv
import io
import re
import shlex
import struct

from allotest import ALLO, ENVIRONMENT, GOLDEN, QUOTED_ALLO
from lives import KILLED, PACKED, PLAIN, RAW, UTF8, LivesTest
from recordings import built
from terminal import on_terminal


class Steps(LivesTest):
    def check(self, path, *options):
        """Every number of every step."""
        found = self.allo_json("timeline", *options, path)
        start, length = found["from_ns"], found["step_ns"]
        heap = list(self.lives(path).heap())
        events = self.lives(path)
        for i, step in enumerate(found["steps"]):
            begin = start + i * length
            end = begin + length if i + 1 < len(found["steps"]) else max(found["end_ns"], begin) + 1
            self.assertEqual(step["start_ns"], begin)
            before = [(held, blocks) for ns, held, blocks in heap if ns < begin][-1:] or [(0, 0)]
            within = before + [(held, blocks) for ns, held, blocks in heap if begin <= ns < end]
            self.assertEqual(step["max_bytes"], max(held for held, _ in within), (i, step))
            self.assertEqual(step["max_blocks"], max(blocks for _, blocks in within))
            self.assertEqual(step["min_bytes"], min(held for held, _ in within))
            self.assertEqual((step["end_bytes"], step["end_blocks"]), within[-1])
            born = [block for block in events.blocks if begin <= block.alloc_ns < end]
            gone = [block for block in events.blocks if begin <= block.free_ns < end]
            self.assertEqual(step["allocations"], len(born))
            self.assertEqual(step["alloc_bytes"], sum(block.size for block in born))
            self.assertEqual(step["frees"], len(gone))
            self.assertEqual(step["temporary_blocks"], sum(block.temporary for block in gone))
        return found

    def test_steps_add_up_their_events(self):
        for path in (PACKED, KILLED, self.record(built("resizes.c")), self.record("ls", "-l", "/usr/bin")):
            for steps in ("2", "7", "200"):
                found = self.check(path, "--steps", steps)
                self.assertLessEqual(len(found["steps"]), int(steps) + 1)

    def test_a_range_has_its_own_steps(self):
        events = self.lives(PACKED).events
        start, end = events[5]["ns"], events[-5]["ns"]
        found = self.allo_json("timeline", "--range", f"{start}ns..{end}ns", "--steps", "10", PACKED)
        self.assertEqual((found["from_ns"], found["end_ns"]), (start, end))
        self.assertEqual(sum(step["allocations"] for step in found["steps"]),
                         sum(start <= block.alloc_ns < end for block in self.lives(PACKED).blocks))

    def test_threads_add_up(self):
        path = self.record(built("handover.c"))
        whole = self.allo_json("timeline", path)
        blocks = self.lives(path).blocks
        self.assertEqual(sum(step["allocations"] for step in whole["steps"]), len(blocks))
        for i in range(4):
            part = self.allo_json("timeline", "--thread", f"maker-{i}", path)
            tids = {block.tid for block in blocks if block.size == 2003 + i}
            self.assertEqual(sum(step["allocations"] for step in part["steps"]),
                             sum(block.tid in tids for block in blocks))

    def test_the_peak_is_that_of_info(self):
        for path in (RAW, PACKED, self.record("ls")):
            info, found = self.allo_json("info", path), self.allo_json("timeline", path)
            sums = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
            self.assertEqual((found["peak_bytes"], found["peak_blocks"], found["peak_ns"]),
                             (sums["peak_bytes"], sums["peak_blocks"], info["peak_ns"]))
            self.assertEqual(found["end_ns"], info["duration_ns"])
            self.assertEqual(max(step["max_bytes"] for step in found["steps"]), sums["peak_bytes"])

    def test_csv_has_the_same_numbers(self):
        rows = list(csv.DictReader(io.StringIO(self.allo("timeline", "--csv", "--steps", "12", PACKED))))
        steps = self.allo_json("timeline", "--steps", "12", PACKED)["steps"]
        self.assertEqual([{key: int(value) for key, value in row.items()} for row in rows], steps)


class Splits(LivesTest):
    """--by function, site, thread and label: groups that add up to the whole."""

    def split(self, path, *options):
        return self.allo_json("timeline", "--steps", "50", *options, path)

    def test_groups_add_up_to_the_whole(self):
        threads = self.record(built("handover.c"))
        for path in (PACKED, RAW, threads, self.record(built("resizes.c"), name="resizes.allo")):
            whole = self.split(path)
            for by in ("function", "site", "thread", "label:request"):
                for count in ("0", "1"):
                    found = self.split(path, "--by", by, "-n", count)
                    self.assertEqual([found[key] for key in ("from_ns", "end_ns", "step_ns")],
                                     [whole[key] for key in ("from_ns", "end_ns", "step_ns")])
                    sums = [sum(values) for values in zip(*(group["end_of_step_bytes"] for group in found["groups"]))]
                    self.assertEqual(sums, [step["end_bytes"] for step in whole["steps"]], (by, count))
                    self.assertLessEqual(len(found["groups"]), 2 if count == "1" else 100)

    def test_a_group_is_a_thread_alone(self):
        path = self.record(built("handover.c"))
        for group in self.split(path, "--by", "thread", "-n", "0")["groups"]:
            alone = self.split(path, "--thread", group["name"].split()[0])
            self.assertEqual(group["max_bytes"], [step["max_bytes"] for step in alone["steps"]])
            self.assertEqual((group["peak_bytes"], group["end_bytes"]),
                             (alone["peak_bytes"], alone["steps"][-1]["end_bytes"]))

    def test_functions_are_those_of_top(self):
        path = self.record(built("handover.c"))
        ends = {group["name"]: group["end_bytes"] for group in self.split(path, "--by", "function", "-n", "0")["groups"]}
        rows = self.allo_json("top", "-n0", "-M", "end_bytes", path)["rows"]
        self.assertEqual({name: size for name, size in ends.items() if size},
                         {row["name"]: row["self"] for row in rows if row["self"]})

    def test_a_row_is_a_line_of_its_course(self):
        text = self.allo("timeline", "--by", "thread", PACKED, env=UTF8)
        self.assertRegex(text, r"(?m)^22\.8 KiB  .*  █.*  4711 server$")
        self.assertNotRegex(self.allo("timeline", "--by", "thread", "--ascii", PACKED, env=UTF8), "[▁-█]")
        rows = list(csv.DictReader(io.StringIO(self.allo("timeline", "--by", "thread", "--csv", PACKED), newline="")))
        self.assertEqual({row["group"] for row in rows}, {"4711 server", "4712 worker"})
        self.assertIn("drop --of", self.allo_fails("timeline", "--by", "thread", "--of", "rate", PACKED, status=2))


class Charts(LivesTest):
    def heights(self, text):
        """How tall each column of a chart is, in cells."""
        rows = [line.split("|", 1)[1] for line in text.splitlines() if re.match(r" *[\d.,]*( [KMG]?i?B)?(/s)? \|", line)]
        width = max(map(len, rows))
        return [sum(row.ljust(width)[i] != " " for row in rows) for i in range(width)], len(rows)

    def test_the_chart_rises_and_falls_as_the_heap_does(self):
        text = self.allo("timeline", "--rows", "8", PACKED, env=PLAIN)
        heights, rows = self.heights(text)
        self.assertEqual(rows, 8)
        self.assertEqual(max(heights), 8)
        mark = next(line for line in text.splitlines() if " v" in line or line.lstrip().startswith("v"))
        axis = next(line for line in text.splitlines() if "|" in line).index("|")
        column = re.search(r"\bv\b", mark).start() - axis - 1
        self.assertEqual(heights[column], 8)
        self.assertIn("peak 22.8 KiB at 40.0 us", text)
        self.assertIn("peak 22.8 KiB in 25 blocks at 40.0 us, in the end 2.99 KiB in 5 blocks", text)

    def test_it_is_drawn_with_characters_of_the_locale(self):
        for env, has in ((UTF8, True), (PLAIN, False), ({**ENVIRONMENT, "LC_ALL": "", "LC_CTYPE": "", "LANG": ""}, False),
                         ({**ENVIRONMENT, "LC_ALL": "", "LC_CTYPE": "", "LANG": "de_DE.utf8"}, True)):
            self.assertEqual("█" in self.allo("timeline", PACKED, env=env), has)
        self.assertTrue(self.allo("timeline", "--ascii", PACKED, env=UTF8).isascii())

    def test_it_fits_the_terminal(self):
        for columns in (40, 80, 137, 200):
            status, text = on_terminal(ALLO, "timeline", PACKED, columns=columns, rows=50,
                                       env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PAGER": "cat"})
            self.assertEqual(status, 0)
            chart = text.splitlines()[1:-1]
            self.assertEqual(max(map(len, chart)), columns, text)

    def test_colours_are_for_terminals(self):
        env = {"LC_ALL": "C.UTF-8", "PAGER": "cat", "TERM": "xterm"}
        _, text = on_terminal(ALLO, "timeline", PACKED, rows=50, env=env)
        self.assertIn("\033[", text)
        _, text = on_terminal(ALLO, "timeline", PACKED, rows=50, env={**env, "NO_COLOR": "1"})
        self.assertNotIn("\033[", text)
        self.assertNotIn("\033[", self.allo("timeline", PACKED))

    def test_other_things_are_shown(self):
        for of, said in (("blocks", "live blocks"), ("allocs", "allocations in a step"), ("rate", "allocations a second")):
            text = self.allo("timeline", "--of", of, PACKED, env=PLAIN)
            self.assertIn(said, text)
            self.assertEqual(max(self.heights(text)[0]), 10)
        self.assertRegex(self.allo("timeline", "--of", "rate", PACKED), r"most [\d,]+/s at")
        self.assertIn("peak 25 at", self.allo("timeline", "--of", "blocks", PACKED))

    def test_one_row_is_a_sparkline(self):
        lines = self.allo("timeline", "--rows", "1", PACKED, env=UTF8).splitlines()
        self.assertEqual(len(lines), 6)


class Lacking(LivesTest):
    def test_nothing_happened(self):
        for path in self.without_blocks():
            found = self.allo_json("timeline", path)
            self.assertEqual(found["peak_bytes"], 0)
            self.assertGreater(len(found["steps"]), 0)
            self.assertTrue(all(step["max_bytes"] == 0 for step in found["steps"]))
            self.assertIn("peak 0 B in 0 blocks", self.allo("timeline", path))

    def test_any_beginning_of_a_recording_has_a_timeline(self):
        for form in ("raw", "packed"):
            for path in self.cuts(form):
                done = self.run_program(ALLO, "timeline", "--json", path)
                self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_times_may_be_anything(self):
        data = bytearray(self.make("server", "raw").read_bytes())
        struct.pack_into("<4Q", data, 40, 0, 0, 1000000, 2000000)  # a tick is two nanoseconds
        for slot in range(1 << 16, len(data), 1 << 16):
            if data[slot + 4] == 1:  # a thread's
                struct.pack_into("<Q", data, slot + 24, (1 << 63) - 1000)
        path = self.file("late.allo", bytes(data))
        found = self.allo_json("timeline", path)
        self.assertEqual(sum(step["allocations"] for step in found["steps"]),
                         self.allo_json("summary", path)["allocations"])

    def test_missing_data_is_reported(self):
        data = PACKED.read_bytes()
        done = self.run_program(ALLO, "timeline", self.file("cut.allo", data[:-20]))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"cut.allo is truncated: the numbers are those of its first ", done.stderr)
        done = self.run_program(ALLO, "timeline", "-q", self.tmp / "cut.allo")
        self.assertEqual(done.stderr, b"")

    def test_a_pipe_is_read_and_written(self):
        self.assertEqual(self.allo("timeline", "--csv", "-", input=PACKED.read_bytes()),
                         self.allo("timeline", "--csv", PACKED))
        self.must("bash", "-o", "pipefail", "-c", f"{QUOTED_ALLO} timeline --csv {shlex.quote(str(PACKED))} | head -n 1")

    def test_other_files_have_none(self):
        done = self.run_program(ALLO, "timeline", GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"only recordings have a timeline; 'allo run PROGRAM' makes one", done.stderr)

    def test_invalid_options_are_refused(self):
        for options, said in ((("--at", "peak"), "--range"), (("--rows", "0"), "from 1 to"),
                              (("--steps", "100000000"), "at most"), (("--of", "hope"), "hope"),
                              (("--csv", "--json"), "exclude each other")):
            self.assertIn(said, self.allo_fails("timeline", *options, PACKED, status=2))
