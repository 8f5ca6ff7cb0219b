"""CSV as Python's csv module reads it, and our own JSON as doc/formats/json.md describes it."""
import collections
import csv
import io
import json
import re

from allotest import GOLDEN, ROOT, Test
from gopprof import raw_text
from inputs import dhat
from profilejson import Profile, names, shown

SAMPLES = sorted(GOLDEN.glob("dhat/*.json")) + sorted(GOLDEN.glob("pprof/*.gz"))


class Csv(Test):
    def rows(self, path, *options):
        text = self.allo("convert", path, "--to", "csv", *options)
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def test_every_sample_is_a_row(self):
        for sample in SAMPLES:
            with self.subTest(sample.name):
                profile = Profile(self.allo("convert", sample, "--to", "json"))
                wanted = collections.Counter()
                for frames, values, labels, _ in profile.samples:
                    call = frames[0][0]
                    wanted[(*values, ";".join(names(frames)).replace("; ", ": "), shown(call),
                            call.file or "", str(call.line or ""), call.module or "",
                            hex(call.address) if call.address else "", len(labels))] += 1
                found = collections.Counter(
                    (*(int(row[metric["name"]]) for metric in profile.metrics), row["stack"],
                     row["function"], row["file"], row["line"], row["module"], row["address"],
                     row["labels"].count("="))
                    for row in self.rows(sample))
                self.assertEqual(found, wanted)

    def test_large_inputs_pass_through_whole(self):
        path = self.file("many.json", dhat([{"tb": i, "tbk": 1, "fs": [i + 1]} for i in range(5000)],
                                           ["[root]"] + [f"0x{i:X}: f{i} (a.c:{i})" for i in range(1, 5001)]))
        rows = self.rows(path)
        self.assertEqual([int(row["alloc_bytes"]) for row in rows], list(range(5000)))
        self.assertEqual(rows[4999]["stack"], "f5000")

    def test_commas_quotes_and_line_breaks_are_quoted(self):
        odd = 'std::map<int, "x">::f\r\n(a; b)'
        path = self.file("odd.json", dhat([{"tb": 2**64 - 1, "tbk": 23, "fs": [1]},
                                           {"tb": 9, "tbk": 1, "fs": []}],
                                          ["[root]", f"0x1: {odd} (a,b.c:5)"]))
        rows = self.rows(path)
        self.assertEqual((rows[0]["function"], rows[0]["file"], rows[0]["alloc_bytes"]),
                         (odd, "a,b.c", str(2**64 - 1)))
        self.assertEqual(rows[0]["stack"], 'std::map<int, "x">::f  (a: b)')
        self.assertEqual((rows[1]["function"], rows[1]["stack"], rows[1]["alloc_bytes"]),
                         ("", "", "9"))

    def test_labels_are_keys_and_values(self):
        rows = self.rows(GOLDEN / "pprof" / "minimal.pb.gz")
        self.assertEqual(rows[0]["labels"], "bytes=64 bytes")

    def test_a_comparison_has_before_and_after(self):
        rows = self.rows(GOLDEN / "folded" / "diff.folded")
        self.assertEqual([(row["samples_before"], row["samples_after"]) for row in rows],
                         [("1000", "1300"), ("12", "12"), ("5", "0"), ("0", "300")])

    def test_shrunken_values_are_negative(self):
        self.file("before.folded", "main;a 1000\n")
        self.file("after.folded", "main;a 900\n")
        self.allo("diff", "before.folded", "after.folded", "-o", "diff.pb.gz")
        self.assertEqual(self.rows("diff.pb.gz")[0]["samples"], "-100")


class Json(Test):
    def test_totals_are_those_of_the_file(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        profile = Profile(self.allo("convert", path, "--to", "json"))
        for metric, total in (("alloc_bytes", 1274456), ("alloc_blocks", 1341),
                              ("peak_bytes", 1178112), ("peak_blocks", 1002), ("end_bytes", 5000),
                              ("read_bytes", 200025), ("write_bytes", 217232)):
            self.assertEqual(profile.sum(metric), total)
        self.assertEqual((profile.meta["command"], profile.meta["pid"], profile.meta["clock"],
                          profile.meta["duration"], profile.meta["peak_time"]),
                         ("./demo", 23928, "instructions", 352477, 263968))
        self.assertEqual([metric["name"] for metric in profile.metrics if not metric["adds_up"]],
                         ["max_blocks", "max_bytes"])

    def test_dhat_comes_through_with_every_number(self):
        for sample in sorted(GOLDEN.glob("dhat/valgrind-*.json")):
            with self.subTest(sample.name):
                dhat = json.loads(sample.read_text())
                profile = Profile(self.allo("convert", sample, "--to", "json"))
                self.assertEqual(len(profile.samples), len(dhat["pps"]))
                for (frames, values, _, accesses), point in zip(profile.samples, dhat["pps"]):
                    self.assertEqual(list(accesses), point.get("acc", []))
                    self.assertEqual(sum(len(frame) for frame in frames), len(point["fs"]))
                    self.assertEqual(values[:2], [point["tbk"], point["tb"]])
                    if dhat["bklt"]:
                        self.assertEqual(values[2:9], [point[key] for key in (
                            "mbk", "mb", "gbk", "gb", "ebk", "eb", "tl")])

    def test_pprof_comes_through_as_go_prints_it(self):
        for sample in sorted(GOLDEN.glob("pprof/*.gz")):
            with self.subTest(sample.name):
                profile = Profile(self.allo("convert", sample, "--to", "json"))
                raw = raw_text(self, sample)
                rows = re.findall(r"(?m)^ +([-\d ]+): [\d ]*$", raw.split("Locations")[0])
                counts = collections.Counter(tuple(int(number) for number in row.split())
                                             for row in rows)
                # raw_text() drops samples of zeros.
                self.assertEqual(collections.Counter(
                    tuple(values) for _, values, _, _ in profile.samples if any(values)), counts)

    def test_only_used_entries_are_written(self):
        text = self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "--to", "json", "-F",
                         "leak_some")
        data = json.loads(text)
        self.assertEqual(len(data["samples"]), 1)
        self.assertEqual(len(data["stacks"]), 1 + 3)
        self.assertEqual([function["name"] for function in data["functions"][1:]],
                         ["malloc", "main", "leak_some"])
        used = {frame for _, frame in data["stacks"][1:]}
        self.assertEqual(used, set(range(1, len(data["frames"]))))

    def test_parents_come_before_their_callees(self):
        for sample in SAMPLES:
            data = json.loads(self.allo("convert", sample, "--to", "json"))
            for table in ("modules", "functions", "frames", "stacks", "label_sets", "threads"):
                self.assertIsNone(data[table][0])
            for number, (parent, frame) in list(enumerate(data["stacks"][1:], 1)):
                self.assertLess(parent, number)
                self.assertLess(0, frame)
                self.assertLess(frame, len(data["frames"]))

    def test_the_largest_numbers_are_exact(self):
        path = self.file("most.json", dhat([{"tb": 2**64 - 1, "tbk": 2**53 + 1, "fs": [1]}],
                                           ["[root]", "0xFFFFFFFFFFFFFFFF: main (a.c:5)"], te=2**64 - 1))
        profile = Profile(self.allo("convert", path, "--to", "json"))
        self.assertEqual(profile.samples[0][1], [2**53 + 1, 2**64 - 1])
        self.assertEqual(profile.samples[0][0][0][0].address, 2**64 - 1)
        self.assertEqual(profile.meta["duration"], 2**64 - 1)

    def test_the_example_of_the_manual_is_true(self):
        page = (ROOT / "doc" / "formats" / "json.md").read_text()
        path = self.file("in.folded", "main;f 1009\n")
        self.assertIn(f"```json\n{self.allo('convert', path, '--to', 'json')}```\n", page)

    def test_nothing_is_lost_on_the_way(self):
        for sample in SAMPLES:
            self.allo("convert", sample, "--to", "json", "--strict", "-fo", "out.json")
