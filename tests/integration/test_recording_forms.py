"""Every form that is written of a recording, as its consumer sees it, against `allo top` of the recording itself."""
import csv
import io
import json
import re

from allotest import ALLO, GOLDEN, Test
from gopprof import raw_text
from profilejson import Profile
from test_dhat_viewer import HARNESS, VIEWER
from test_massif import KEPT, PEAK, PROGRAM

METRICS = ("alloc_bytes", "alloc_blocks", "max_bytes", "max_blocks", "peak_bytes", "peak_blocks", "end_bytes",
           "end_blocks", "lifetime", "temporary_blocks")
OF_DHAT = {"tb": "alloc_bytes", "tbk": "alloc_blocks", "gb": "peak_bytes", "gbk": "peak_blocks", "eb": "end_bytes",
           "ebk": "end_blocks", "mb": "max_bytes", "mbk": "max_blocks", "tl": "lifetime"}


class Forms(Test):
    SANITIZED = False  # the consumers do the work

    def setUp(self):
        super().setUp()
        self.must("gcc", "-g", "-O1", "-Wl,--build-id", self.file("program.c", PROGRAM), "-o", "program")
        self.must(ALLO, "run", "-qo", "made.allo", "./program")
        self.recordings = [self.tmp / "made.allo", GOLDEN / "allo" / "server.allo"]

    def convert(self, path, name, *options):
        self.allo("convert", "-qf", *options, path, "-o", name)
        return self.tmp / name

    def sums(self, path):
        return {metric: self.allo_json("top", "-M", metric, path)["sum"] for metric in METRICS}

    def test_the_numbers_are_those_of_the_program(self):
        sums = self.sums(self.recordings[0])
        self.assertEqual((sums["alloc_bytes"], sums["alloc_blocks"]), (PEAK, 32))
        self.assertEqual((sums["peak_bytes"], sums["end_bytes"], sums["end_blocks"]), (PEAK, KEPT, 25))

    def test_dhats_viewer_has_all_its_numbers(self):
        for path in self.recordings:
            seen = json.loads(self.must("node", HARNESS, VIEWER, self.convert(path, "out.dhat")))
            self.assertNotIn("error", seen)
            sums = self.sums(path)
            data = json.loads((self.tmp / "out.dhat").read_text())
            self.assertTrue(data["bklt"])
            self.assertLessEqual(data["tg"], data["te"])
            for key, metric in OF_DHAT.items():
                # The viewer's root has no maximum, and times may be in microseconds.
                found = sum(point[key] for point in data["pps"])
                if key == "tl":
                    self.assertLessEqual(abs(found * (1000 if data["tu"] == "µs" else 1) - sums[metric]),
                                         1000 * len(data["pps"]))
                else:
                    self.assertEqual((metric, found), (metric, sums[metric]))
                if key[0] in "tge" and key != "tl":
                    self.assertEqual((metric, seen["sums"][key]), (metric, sums[metric]))
            self.assertIn("At t-gmax (bytes)", seen["shown"])

    def test_pprof_has_totals_and_mappings_with_build_ids(self):
        for path in self.recordings:
            raw = raw_text(self, self.convert(path, "out.pb.gz"))
            types = re.search(r"^Samples:\n(.*)$", raw, re.M)[1].split()
            rows = re.findall(r"^ +((?:\d+ +)*\d+):(?: |$)", raw.split("Locations")[0], re.M)
            found = [sum(column) for column in zip(*([int(n) for n in row.split()] for row in rows))]
            by_name = dict(zip((name.split("/")[0] for name in types), found))
            for metric, name in (("alloc_bytes", "alloc_space"), ("alloc_blocks", "alloc_objects"),
                                 ("peak_bytes", "peak_space"), ("end_bytes", "end_space")):
                top = self.allo_json("top", "-M", metric, path)
                # raw_text() drops samples without frames.
                self.assertEqual((name, by_name[name]), (name, top["sum"] - top.get("frameless", 0)))
            # Some versions of go show modules without frames as well.
            used = set(re.findall(r" M=(\d+)", raw))
            ids = {call.module: call.build_id for sample in Profile(self.allo("convert", path, "--to", "json")).samples
                   for frame in sample[0] for call in frame}
            mappings = re.findall(r"^(\d+): 0x\w+/0x\w+/0x\w+ (\S+) (\w+)", raw.split("Mappings")[1], re.M)
            self.assertEqual({path: build_id for number, path, build_id in mappings if number in used}, ids)
        note = self.must("readelf", "-n", "program")
        self.allo("convert", "-qf", "made.allo", "-o", "out.pb.gz")
        self.assertIn(re.search(r"Build ID: (\w+)", note)[1],
                      self.must("go", "tool", "pprof", "-raw", "-symbolize=none", "out.pb.gz"))

    def test_totals_of_the_other_forms_agree(self):
        for path in self.recordings:
            sums = self.sums(path)
            for metric in ("peak_bytes", "alloc_bytes", "end_bytes"):
                with self.subTest(f"{path.name} {metric}"):
                    self.assertEqual({form: find(self, path, metric) for form, find in TOTALS.items()},
                                     dict.fromkeys(TOTALS, sums[metric]))

    def folded(self, path, metric):
        text = self.allo("convert", path, "--to", "folded", "-M", metric)
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())

    def speedscope(self, path, metric):
        file = json.loads(self.convert(path, "out.speedscope.json", "-M", metric).read_text())
        return sum(file["profiles"][0]["weights"])

    def firefox(self, path, metric):
        file = json.loads(self.convert(path, "out.firefox.json", "-M", metric).read_text())
        thread = next(thread for thread in file["threads"] if thread["name"] == metric)
        return sum(thread["nativeAllocations"]["weight"])

    def svg(self, path, metric):
        text = self.convert(path, "out.svg", "-M", metric).read_text()
        return int(re.search(r"<title>all[^<]*?\(?([\d,]+) bytes", text)[1].replace(",", ""))

    def json(self, path, metric):
        return Profile(self.allo("convert", path, "--to", "json")).sum(metric)

    def csv(self, path, metric):
        rows = csv.DictReader(io.StringIO(self.allo("convert", path, "--to", "csv")))
        return sum(int(row[metric] or 0) for row in rows)

    def callgrind(self, path, metric):
        text = self.convert(path, "out.callgrind", "-M", metric).read_text()
        return int(re.search(r"^totals: (\d+)", text, re.M)[1])


TOTALS = {"folded": Forms.folded, "speedscope": Forms.speedscope, "firefox": Forms.firefox, "svg": Forms.svg,
          "json": Forms.json, "csv": Forms.csv, "callgrind": Forms.callgrind}
