"""Recordings, raw and packed, complete and with gaps, against the events that were written."""
import gzip
import json
import random
import struct

from allotest import ALLO, BUILD, GOLDEN, Test, unsanitized
from recordings import built

# The content of the server recording of tests/unit/recordings.h.
SUMS = {"alloc_blocks": 28, "alloc_bytes": 5 + 64 + 23 * 1009 + 128 + 32 + 7,
        "peak_blocks": 25, "peak_bytes": 5 + 23 * 1009 + 128,
        "end_blocks": 5, "end_bytes": 5 + 3 * 1009 + 32}

RAW = GOLDEN / "allo" / "server.raw.allo.zst"
PACKED = GOLDEN / "allo" / "server.allo"
KILLED = GOLDEN / "allo" / "killed.allo"


class Recordings(Test):
    def make(self, what, form, name="made.allo"):
        path = self.tmp / name
        self.must(BUILD / "tests" / "make_recording", what, form, path)
        return path

    def sums(self, *arguments, **options):
        info = json.loads(self.allo("info", "--json", *arguments, **options))
        return {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}

    def events(self, *arguments):
        return [json.loads(line) for line in self.allo("events", "--json", *arguments).splitlines()]

    def untimed(self, *arguments):
        """Sums without lifetimes, which packing rounds."""
        sums = self.sums(*arguments)
        del sums["lifetime"]
        return sums


def named(events):
    """Raw events with the block names of a packed recording, computed from their addresses."""
    made, names = {}, {}
    for event in events:
        event = dict(event)
        pointer, old = event.pop("pointer"), event.pop("old_pointer", None)
        if event["event"] == "realloc":
            event["old_block"] = names.pop(old)
        if "stack" in event:
            made[event["stack"]] = made.get(event["stack"], 0) + 1
            names[pointer] = f"{event['stack']}:{made[event['stack']]}"
        event["block"] = names[pointer]
        yield event


def rounded(events):
    return [{**event, "ns": 0} for event in events]


class Whole(Recordings):
    def test_sums_are_those_of_the_events(self):
        for path in (RAW, PACKED, self.make("server", "raw"), self.make("server", "packed", "p")):
            sums = self.sums(path)
            self.assertEqual({name: sums[name] for name in SUMS}, SUMS)

    def test_golden_recordings_equal_new_ones(self):
        for what in ("server", "sampled", "killed"):
            golden = GOLDEN / "allo" / f"{what}.allo"
            for form in ("raw", "packed"):
                made = self.make(what, form)
                events = self.events(made)
                if form == "raw":
                    self.assertEqual(rounded(named(events)), rounded(self.events(golden)))
                    self.assertEqual(self.untimed(made), self.untimed(golden))
                else:
                    self.assertEqual(events, self.events(golden))
                    self.assertEqual(self.sums(made), self.sums(golden))

    def test_pipes_and_packed_files_are_read_as_well(self):
        raw = self.make("server", "raw").read_bytes()
        packed = PACKED.read_bytes()
        for path, forms in ((RAW, (raw, gzip.compress(raw), RAW.read_bytes())),
                            (PACKED, (packed, gzip.compress(packed)))):
            for data in forms:
                self.assertEqual(self.sums("-", input=data), self.sums(path))
        with (self.tmp / "made.allo").open("rb") as file:
            self.assertEqual(self.sums("-", stdin=file), self.sums(RAW))

    def test_info_describes_the_run(self):
        info = self.allo_json("info", PACKED)
        self.assertEqual((info["format"], info["dialect"], info["command"], info["pid"]),
                         ("allo", "packed", "server --port 80", 4711))
        self.assertEqual((info["duration_ns"], info["peak_ns"]), (999000, 40000))
        run = info["recording"]
        self.assertEqual(run["arguments"], ["server", "--port", "80"])
        self.assertEqual((run["program"], run["host"], run["folder"], run["end"]),
                         ("/usr/bin/server", "box", "/srv", "exit"))
        self.assertEqual((run["events"], run["allocations"], run["reallocs"], run["frees"],
                          run["failed_reallocs"]), (50, 28, 2, 21, 1))
        # The stack of log is cut, one block has none.
        self.assertEqual(run["complete_allocations"], 28 - 3 - 1)
        self.assertEqual([(thread["tid"], thread["name"]) for thread in run["threads"]],
                         [(4711, "server"), (4712, "worker")])
        self.assertEqual([(module["path"], module["build_id"]) for module in run["modules"]],
                         [("/usr/bin/server", "deadbeef"), ("/lib/libc.so.6", "deadbeef"),
                          ("/lib/plugin.so", "deadbeef")])
        text = self.allo("info", PACKED)
        for line in ("ended     exit", "host      box, in /srv", "threads 2",
                     "85.7% of allocations have their whole stack"):
            self.assertIn(line, text)

    def test_views_and_formats_show_modules_and_addresses(self):
        rows = self.allo_json("top", "--by=address", "-M", "end_bytes", "--count=0", PACKED)["rows"]
        self.assertEqual({row["name"]: row["self"] for row in rows if row["self"]},
                         {"0x122f [server]": 3 * 1009, "0x144f [server]": 32})
        self.assertIn("[server]", self.allo("tree", PACKED))
        self.allo("convert", PACKED, "-o", "out.pb.gz")
        converted = self.sums("out.pb.gz")
        self.assertEqual({name: converted[name] for name in SUMS}, SUMS)
        self.assertIn("nothing has changed", self.allo("diff", "-M", "peak_bytes", RAW, PACKED))

    @unsanitized  # many events; other tests cover the formats
    def test_raw_and_packed_convert_to_the_same_files(self):
        self.make("many", "raw", "raw.allo")
        self.make("many", "packed", "packed.allo")
        for metric in ("alloc_blocks", "alloc_bytes", "peak_blocks", "peak_bytes", "max_blocks", "max_bytes",
                       "end_blocks", "end_bytes", "temporary_blocks"):
            self.assertEqual(self.allo("convert", "-q", "--to", "folded", "-M", metric, "raw.allo"),
                             self.allo("convert", "-q", "--to", "folded", "-M", metric, "packed.allo"))
        raw, packed = self.sums("raw.allo")["lifetime"], self.sums("packed.allo")["lifetime"]
        self.assertAlmostEqual(packed / raw, 1, places=3)
        self.assertLess((self.tmp / "packed.allo").stat().st_size,
                        (self.tmp / "raw.allo").stat().st_size)


class Events(Recordings):
    def test_every_event_is_printed(self):
        events = self.events(RAW)
        self.assertEqual(len(events), 50)
        self.assertEqual(rounded(named(events)), rounded(self.events(PACKED)))
        for raw, packed in zip(events, self.events(PACKED)):
            self.assertLess(abs(raw["ns"] - packed["ns"]), 1250)
        self.assertEqual(events[0], {"v": 1, "ns": 960, "tid": 4711, "event": "alloc",
                                     "pointer": 0x50008, "size": 5, "stack": 0})
        self.assertEqual([event for event in events if event["event"] == "realloc"][0],
                         {"v": 1, "ns": 40000, "tid": 4711, "event": "realloc", "pointer": 0x52000,
                          "old_pointer": 0x51000, "size": 128, "stack": 3})
        self.assertEqual([event["event"] for event in events[-3:]],
                         ["realloc-failed", "alloc", "free"])
        self.assertEqual([event["ns"] for event in events], sorted(event["ns"] for event in events))

    def test_text_has_a_line_per_event(self):
        lines = self.allo("events", RAW).splitlines()
        self.assertEqual(len(lines), 50)
        self.assertEqual(lines[1], "0.000001984  4711  alloc    0x51000  64  3")
        self.assertIn("0.000040000  4711  realloc  0x52000  128  3  from 0x51000", lines)
        self.assertIn("0.000050000  4712  free     0x60410", lines)
        lines = [line.split("  ", 1)[1] for line in self.allo("events", PACKED).splitlines()]
        self.assertEqual(len(lines), 50)
        self.assertEqual(lines[1], "4711  alloc    3:1  64  3")
        self.assertIn("4711  realloc  3:2  128  3  from 3:1", lines)
        self.assertIn("4712  free     2:2", lines)

    def test_stacks_are_modules_and_offsets(self):
        self.assertEqual(self.allo("events", "--stacks", "-n3", RAW).splitlines(),
                         ["0.000000960  4711  alloc    0x50008  5  0",
                          "0.000001984  4711  alloc    0x51000  64  3",
                          "    /usr/bin/server+0x144f",
                          "0.000008992  4711  alloc    0x60000  1009  2",
                          "    /usr/bin/server+0x122f",
                          "    /usr/bin/server+0x1015"])
        frames = self.events("--stacks", PACKED)[-2]["frames"]
        self.assertEqual(frames[0], {"address": 0x7f0000301000, "module": "/lib/plugin.so",
                                     "offset": 0x1000})

    def test_the_number_of_printed_events_is_limited(self):
        self.assertEqual(len(self.events("-n", "7", PACKED)), 7)
        self.assertEqual(len(self.events("-n", "0", PACKED)), 50)
        self.assertEqual(len(self.events("-n", "1000", PACKED)), 50)

    def test_only_recordings_have_events(self):
        error = self.allo_fails("events", GOLDEN / "folded" / "diff.folded")
        self.assertIn("is not a recording", error)


class Gaps(Recordings):
    def notes(self, path, status=3):
        done = self.run_program(ALLO, "verify", "--json", path)
        self.assertEqual(done.returncode, status, done.stderr)
        return {note["kind"]: note["count"] for note in json.loads(done.stdout)["notes"]}

    def test_a_complete_recording_passes(self):
        for path in (RAW, PACKED):
            self.assertEqual(self.notes(path, 0), {})
            self.assertIn(": OK, ", self.allo("verify", path))

    def test_gaps_are_reported(self):
        for path in (KILLED, self.make("killed", "raw")):
            self.assertEqual(self.notes(path), {"killed": 1, "missing-pages": 1,
                                                "unread-pages": 1, "dropped-events": 3})
            self.assertIn("not by exit: killed, _exit, exec, or still running", self.allo("info", path))

    def test_parts_of_recordings_are_read(self):
        for form, step in (("raw", 9973), ("packed", 97)):
            data = self.make("server", form).read_bytes()
            for size in range(300, len(data) - 1, step):
                part = self.file("part.allo", data[:size])
                done = self.run_program(ALLO, "info", "--json", part)
                self.assertEqual(done.returncode, 0, (form, size, done.stderr))
                if form == "packed":
                    self.assertIn("cut", self.notes(part))

    # Those that show numbers.
    READERS = [["summary"], ["top"], ["tree"], ["leaks"], ["hist"], ["findings"], ["timeline"], ["threads"], ["events"],
               ["blocks"], ["peek", "main"], ["list", "main"], ["budget", "--max-peak", "1G"], ["sql", "SELECT 1"],
               ["flame", "-o", "out.svg"], ["report", "-o", "out.html"], ["convert", "-o", "out.pb.gz"], ["diff", PACKED]]

    def refused(self, path, says):
        for command in self.READERS:
            inputs = [path, *command[1:]] if command[0] == "sql" else [*command[1:], path]
            done = self.run_program(ALLO, command[0], *inputs)
            self.assertEqual((done.returncode, done.stdout), (1, b""), command)
            self.assertEqual(done.stderr.decode(), f"allo: error: {path}: {says}: no event can be read\n"
                             "  hint: record the program again; 'allo verify' lists what is missing\n")
        for name in ("out.svg", "out.html", "out.pb.gz"):
            self.assertFalse((self.tmp / name).exists())
        self.assertIn(" is truncated: ", self.run_program(ALLO, "info", path).stderr.decode())
        self.assertEqual(self.run_program(ALLO, "info", path).returncode, 0)
        self.assertEqual(self.notes(path)["cut"], 1)

    def test_a_file_that_ends_before_its_first_event_has_no_numbers(self):
        """Not zeros, which look like those of a program that did not allocate."""
        packed = self.make("server", "packed").read_bytes()
        events = next(at for at in range(len(packed)) if packed[at:at + 8] == struct.pack("=4sI", b"ACHK", 19))
        raw = self.make("server", "raw").read_bytes()
        for data, sizes in ((packed, (10, 100, events + 60)), (raw, (20000, 65536))):
            for size in sizes:
                self.refused(self.file("part.allo", data[:size]), f"the file ends after {size:,} bytes")

    def test_a_part_with_events_is_named_as_a_part(self):
        for form in ("raw", "packed"):
            data = self.make("server", form).read_bytes()
            size = len(data) - 20 if form == "packed" else len(data) - 65536
            part = self.file("part.allo", data[:size])
            for command in ("summary", "top", "hist", "timeline", "events"):
                done = self.run_program(ALLO, command, part)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"note: {part} is truncated: the numbers are those of its first {size:,} bytes\n",
                              done.stderr.decode())

    def test_a_program_that_was_killed_has_no_truncated_file(self):
        for path in (KILLED, self.make("killed", "raw")):
            done = self.run_program(ALLO, "summary", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"truncated", done.stderr)

    def test_bytes_after_a_packed_recording_are_noted(self):
        data = self.make("server", "packed").read_bytes()
        for more in (b"x", data, KILLED.read_bytes()):
            longer = self.file("longer.allo", data + more)
            self.assertEqual(self.notes(longer), {"trailing-bytes": len(more)})
            self.assertEqual(self.allo_json("top", longer)["rows"], self.allo_json("top", PACKED)["rows"])

    def test_damage_has_a_position(self):
        data = bytearray(self.make("server", "packed").read_bytes())
        chunks = [at for at in range(len(data)) if data[at:at + 4] == b"ACHK"]
        data[chunks[4] + 48 + 5] ^= 1  # the first chunk of events, in its packed bytes
        done = self.run_program(ALLO, "verify", self.file("bad.allo", bytes(data)))
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"bad.allo: byte {chunks[4] + 1}:", done.stdout.decode())
        self.assertEqual(self.notes(self.tmp / "bad.allo")["damaged-pages"], 1)

    def test_bytes_of_no_format_are_refused(self):
        """Some of these have lines that look like a text format."""
        for seed in range(10):
            path = self.file("random", random.Random(seed).randbytes(100_000))
            self.assertIn("is not a profile of a known format", self.allo_fails("top", path))

    def test_other_files_are_refused(self):
        data = bytearray(self.make("server", "raw").read_bytes())
        data[8] = 9
        self.assertIn("recording of version 9",
                      self.allo_fails("info", self.file("new.allo", bytes(data))))
        packed = bytearray(PACKED.read_bytes())
        packed[8] = 7
        self.assertIn("packed recording of version 7",
                      self.allo_fails("top", self.file("new.allo", bytes(packed))))


class Long(Recordings):
    """Recordings that are long enough for a thread that reads ahead."""

    def told(self, path, *wrapper):
        for arguments in (["top", "--json", "-n", "0", "--no-symbols"], ["threads", "--json"], ["timeline", "--json"],
                          ["verify"]):
            yield self.run_program(*wrapper, ALLO, *arguments, path).stdout

    def test_one_processor_gives_the_same_result(self):
        for raw in (["--raw"], []):
            self.must(ALLO, "run", *raw, "-q", "-f", "-o", "long.allo", "--", built("churn.c"), "3", "150000")
            whole = (self.tmp / "long.allo").read_bytes()
            for size in (len(whole), len(whole) * 2 // 3):
                path = self.file("part.allo", whole[:size])
                self.assertEqual(list(self.told(path)), list(self.told(path, "taskset", "-c", "0")))
