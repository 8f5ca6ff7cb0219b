"""Annotations of a program: labels, marks and events, against those that tests/unit/recordings.h writes."""
import json
import re
import subprocess

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, ROOT, Test, unpacked
from profilejson import Profile
from rawrecording import RawRecording

FOLDER = GOLDEN / "allo"
PACKED, ZIPPED, AD_HOC = FOLDER / "notes.allo", FOLDER / "notes.raw.allo.zst", FOLDER / "ad-hoc.allo"
BYTES = {"upload": 7 * 1009 + 5 * 307 + 53, "download": 3 * 2003}


class Notes(Test):
    def raw(self):
        self.must("zstd", "-q", "-d", ZIPPED, "-o", self.tmp / "notes.raw.allo")
        return self.tmp / "notes.raw.allo"

    def events(self, path):
        return [json.loads(line) for line in self.allo("events", "--json", path).splitlines()]

    def top(self, *arguments):
        top = self.allo_json("top", *arguments)
        return {row["name"]: row["self"] for row in top["rows"]}, top["frameless"]


class Reading(Notes):
    def test_a_second_reader_finds_the_same(self):
        raw = RawRecording(self.raw())
        kinds = {"alloc": "alloc", "free": "free", "resize": "realloc", "mark": "mark", "own": "event"}
        names = {text: name for text, name in raw.texts.items()} | {0: None, None: None}
        wanted = [(kinds[event.kind], event.pointer, event.size, event.stack, names[event.text],
                   raw.labels[event.labels], raw.streams[event.stream][0][0].thread) for event in raw.events]
        for path in (raw.path, ZIPPED):
            self.assertEqual(wanted, [(event["event"], event.get("pointer"), event.get("size", event.get("units")),
                                       event.get("stack"), event.get("name"), event.get("labels", {}), event["tid"])
                                      for event in self.events(path)])
        self.assertEqual({name for name in names.values() if name}, {"request", "upload", "download", "user", "alice",
                                                                     "load", "serve", "cache miss"})

    def test_packing_keeps_them(self):
        self.must(BUILD / "tests" / "make_recording", "notes", "packed", self.tmp / "new.allo")
        said = [[{key: value for key, value in event.items() if key in ("event", "tid", "size", "units", "stack", "name", "labels")}
                 for event in self.events(path)] for path in (ZIPPED, PACKED, self.tmp / "new.allo")]
        self.assertEqual(said[0], said[1])
        self.assertEqual(said[0], said[2])
        self.assertEqual(len(said[0]), 26)

    def test_names_are_stored_in_packed_ones_of_either_version(self):
        """Chunks are copied as they are, so the version must be theirs."""
        for path, version in ((FOLDER / "server.allo", 2), (PACKED, 3)):
            self.allo("symbolize", "-q", "-f", path, "-o", "named.allo")
            self.assertEqual((self.tmp / "named.allo").read_bytes()[8], version)
            self.assertEqual(self.events(path), self.events("named.allo"))

    def test_events_as_text(self):
        lines = self.allo("events", PACKED).splitlines()
        self.assertRegex(lines[0], r"^0\.00000\d{4}  4711  mark     load$")
        self.assertTrue(lines[2].endswith("  1009  2  request=upload"), lines[2])
        self.assertIn("  event    17  2  cache miss  request=download", "\n".join(lines))
        self.assertIn("  event    5  3\n", "\n".join(lines))
        self.assertEqual(len(self.allo("events", "-n", "3", PACKED).splitlines()), 3)

    def test_info_tells_of_them(self):
        for path in (PACKED, ZIPPED):
            info = self.allo_json("info", path)["recording"]
            self.assertEqual([mark["name"] for mark in info["marks"]], ["load", "serve", "serve"])
            self.assertEqual((info["own_events"], info["own_units"], info["events"]), (3, 39, 26))
            self.assertRegex(self.allo("info", path), r"(?m)^  marks     load at .*, serve at .*, serve at ")
        self.assertNotIn("marks", self.allo_json("info", FOLDER / "server.allo")["recording"])
        for command in ("summary", "timeline"):
            self.assertRegex(self.allo(command, PACKED), r"(?m)^marks load at .*, serve at .*, serve at ")
            self.assertEqual(len(self.allo_json(command, PACKED)["marks"]), 3)
        within = self.allo_json("timeline", "--range", "10us..50us", ZIPPED)["marks"]
        self.assertEqual(within, [{"ns": 38992, "tid": 4711, "name": "serve"}])


class Marks(Notes):
    def test_ranges_from_mark_to_mark(self):
        for path in (PACKED, ZIPPED):
            load, serve = (next(event["ns"] for event in self.events(path) if event.get("name") == name)
                           for name in ("load", "serve"))
            for by_name, by_time in (("load..serve", f"{load}ns..{serve}ns"), ("serve..", f"{serve}ns.."),
                                     ("..serve", f"..{serve}ns"), ("load..1h", f"{load}ns..1h")):
                said = [self.allo("convert", "--range", part, "--to", "json", path) for part in (by_name, by_time)]
                self.assertEqual(*said, by_name)
            said = [self.allo("blocks", "--at", instant, path) for instant in ("serve", f"{serve}ns")]
            self.assertEqual(*said)

    def test_invalid_marks_are_refused(self):
        done = self.run_program(ALLO, "top", "--range", "lod..serve", PACKED)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode(), f"allo: error: {PACKED}: 'lod' is neither a time nor the name of a mark\n"
                                               "  hint: its marks are load, serve\n")
        done = self.run_program(ALLO, "top", "--at", "noon", FOLDER / "server.allo")
        self.assertIn("  hint: it has no marks; write a time as 2.5s or 300ms\n", done.stderr.decode())
        self.assertIn("ends before it starts", self.allo_fails("top", "--range", "serve..load", PACKED, status=2))
        self.assertIn("cannot be read in parts", self.allo_fails("top", "--range", "a..b", GOLDEN / "dhat" / "valgrind-cpp.json",
                                                                 status=2))


class Labels(Notes):
    def test_values_of_a_label(self):
        for path in (PACKED, ZIPPED):
            self.assertEqual(self.top("--by", "label:request", "-M", "alloc_bytes", path), (BYTES, 101 + 61))
            self.assertEqual(self.top("--by", "label:user", "-M", "alloc_blocks", path)[0], {"alice": 5})
            self.assertEqual(self.top("--by", "label:thread", "-M", "alloc_bytes", path)[0],
                             {"4712": 7 * 1009 + 5 * 307, "4711": 101 + 3 * 2003 + 53 + 61})
            self.assertEqual(self.top("--by", "label:nothing", path)[0], {})

    def test_filters(self):
        for path in (PACKED, ZIPPED):
            for options, wanted in ((("--label", "request=upload"), BYTES["upload"]), (("-L", "request"), sum(BYTES.values())),
                                    (("-L", "user=alice", "-L", "request=upload"), 5 * 307),
                                    (("-L", "user=alice", "-L", "request=download"), 0), (("-L", "request=up"), 0)):
                self.assertEqual(self.allo_json("top", *options, "-M", "alloc_bytes", "-q", path)["sum"], wanted)
                blocks = self.allo("blocks", "--json", "-n", "0", *options, path).splitlines()
                self.assertEqual(sum(json.loads(block)["size"] for block in blocks), wanted)
            # Threads are labels without a note of the program.
            for thread, wanted in ((4711, 101 + 3 * 2003 + 53 + 61), (4712, 7 * 1009 + 5 * 307)):
                self.assertEqual(self.allo_json("top", "-L", f"thread={thread}", "-M", "alloc_bytes", "-q", path)["sum"], wanted)
        leaks = self.allo_json("leaks", "-L", "request=upload", PACKED)
        self.assertEqual(leaks["sum"], 5 * 1009 + 5 * 307)
        first = self.allo_json("leaks", "-L", "request=upload", "--realloc", "first", PACKED)
        self.assertEqual(first["sum"], 5 * 1009 + 5 * 307 + 61)
        hist = self.allo_json("hist", "-L", "user", PACKED)
        self.assertEqual(hist["size"]["blocks"], 5)
        self.assertIn("KEY=VALUE", self.allo_fails("top", "--label", "=x", PACKED, status=2))

    def test_blocks_have_them(self):
        rows = [json.loads(line) for line in self.allo("blocks", "--json", "-n", "0", PACKED).splitlines()]
        wanted = [event.get("labels") for event in self.events(PACKED) if event["event"] in ("alloc", "realloc")]
        self.assertCountEqual([row.get("labels") for row in rows], wanted)
        self.assertIn("\n        request=upload\n", self.allo("blocks", "--stacks", PACKED))

    def test_pprof_has_them_once_a_sample(self):
        self.allo("convert", "-q", PACKED, "-o", "notes.pb.gz")
        text = self.must("protoc", f"--proto_path={ROOT / 'tests' / 'integration'}", "--decode=Profile",
                         "pprof_messages.proto", input=unpacked(self.tmp / "notes.pb.gz"))
        samples = re.findall(r"^sample \{\n(.*?)^\}$", text, re.M | re.S)
        self.assertEqual(sorted(sample.count("  label {") for sample in samples), [2, 2, 3, 3, 3, 4, 4])
        values = self.allo("top", "--by", "label:request", "--label", "thread=4711", "-M", "alloc_bytes", "notes.pb.gz", "--csv")
        self.assertEqual([line.split(",")[0] for line in values.splitlines()[1:]], ["6009", "53"])

    def test_forms_that_hold_labels_have_them(self):
        self.allo("convert", "-q", PACKED, "-o", "notes.json")
        profile = Profile((self.tmp / "notes.json").read_text())
        self.assertIn(("request", "download"), {pair[:2] for _, _, labels, _ in profile.samples for pair in labels})


class Events(Notes):
    def test_they_are_further_metrics(self):
        top = self.top("--by", "label:event", "-M", "units", PACKED)
        self.assertEqual(top, ({"cache miss": 34}, 5))
        dhat = json.loads(self.allo("convert", "-q", PACKED, "--to", "dhat"))
        self.assertEqual((dhat["mode"], sum(point["tb"] for point in dhat["pps"])), ("heap", sum(BYTES.values()) + 162))

    def test_without_a_heap_dhat_has_its_ad_hoc_form(self):
        dhat = json.loads(self.allo("convert", "-q", AD_HOC, "--to", "dhat"))
        self.assertEqual({key: dhat.get(key) for key in ("mode", "verb", "bklt", "bkacc", "bu", "bsu", "bksu", "tg", "tuth")},
                         {"mode": "ad-hoc", "verb": "Occurred", "bklt": False, "bkacc": False, "bu": "unit", "bsu": "units",
                          "bksu": "events", "tg": None, "tuth": None})
        self.assertEqual([(point["tb"], point["tbk"], sorted(point)) for point in dhat["pps"]],
                         [(23 * 1009, 23, ["fs", "tb", "tbk"]), (64, 1, ["fs", "tb", "tbk"])])
        metrics = [metric["metric"]["name"] for metric in self.allo_json("info", AD_HOC)["metrics"]]
        self.assertEqual(metrics, ["events", "units"])
        for command in ("summary", "tree", "top", "leaks", "timeline", "threads", "blocks", "verify"):
            done = self.run_program(ALLO, command, AD_HOC)
            self.assertLess(done.returncode, 3, (command, done.stderr))
            self.assertNotIn(b"internal", done.stderr)


class Cache(Notes):
    def test_cached_replays_have_them_too(self):
        """Of a recording that is long enough."""
        path = self.tmp / "long.allo"
        self.must(BUILD / "tests" / "make_recording", "long-notes", "packed", path)
        env = {key: value for key, value in ENVIRONMENT.items() if key != "ALLO_NO_CACHE"} | {"XDG_CACHE_HOME": str(self.tmp / "cache")}
        pages = [subprocess.run([ALLO, "summary", *form, path], env=env, capture_output=True, check=True, cwd=self.tmp).stdout
                 for form in (("--json",), ("--json",), ("-q",), ("-q",))]
        self.assertEqual(len(list(self.tmp.glob("cache/allotrope/replays/*"))), 1)
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(pages[2], pages[3])
        self.assertEqual([mark["name"] for mark in json.loads(pages[0])["marks"]], ["load"] + 5 * ["serve"])
        without = subprocess.run([ALLO, "summary", "--json", path], env=ENVIRONMENT, capture_output=True, check=True, cwd=self.tmp)
        self.assertEqual(json.loads(without.stdout), json.loads(pages[1]))
