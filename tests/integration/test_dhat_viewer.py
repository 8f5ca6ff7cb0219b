"""DHAT output as its real consumer sees it: the viewer that comes with Valgrind, run by node."""
import json
import pathlib
import re

from allotest import ALLO, GOLDEN, ROOT, Test
from inputs import dhat
from profilejson import Profile

VIEWER = "/usr/libexec/valgrind/dh_view.js"
HARNESS = ROOT / "tests" / "integration" / "dh_view_load.mjs"

C_PROGRAM = """
#include <stdlib.h>
#include <string.h>

static char *volatile keep[23];

__attribute__((noinline)) static void *inner(size_t size) { return malloc(size); }
static inline __attribute__((always_inline)) void *inlined(size_t size) { return inner(size); }
__attribute__((noinline)) static void recurse(int depth)
{
	if (depth > 0) {
		recurse(depth - 1);
		__asm__ volatile("");
	} else {
		keep[0] = calloc(7, 11);
		free(keep[0]);
	}
}

int main(void)
{
	for (int i = 0; i < 23; i++) {
		keep[i] = inlined(1009);
		memset(keep[i], i, 1009);
	}
	for (int i = 0; i < 20; i++)
		free(keep[i]);
	recurse(5);
	keep[0] = realloc(NULL, 100);
	keep[0] = realloc(keep[0], 3000);
	return 0;
}
"""

CXX_PROGRAM = """
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace { struct Blob { std::vector<int> data; explicit Blob(int n) : data(n) {} }; }

int main()
{
	std::map<std::string, std::unique_ptr<Blob>> blobs;
	for (int i = 0; i < 50; i++)
		blobs["a name that is too long for the small string buffer " + std::to_string(i)] =
			std::make_unique<Blob>(i);
	auto leaked = new Blob(1009);
	return leaked->data.size() == 1009 && blobs.size() == 50 ? 0 : 1;
}
"""

# The totals that Valgrind prints at the end of a run, and the fields of program points that add up to them.
SUMMARY = re.compile(r"== (Total|At t-gmax|At t-end|Reads|Writes): +([\d,]+) bytes"
                     r"(?: in ([\d,]+) blocks)?")
KEYS = {"Total": ("tb", "tbk"), "At t-gmax": ("gb", "gbk"), "At t-end": ("eb", "ebk"),
        "Reads": ("rb",), "Writes": ("wb",)}


def points_by_frames(data):
    """The program points of a DHAT file by the texts of their frames."""
    points = {}
    for point in data["pps"]:
        frames = tuple(data["ftbl"][index] for index in point["fs"])
        assert frames not in points, frames
        points[frames] = {key: value for key, value in point.items() if key != "fs"}
    return points


class Viewer(Test):
    def view(self, path):
        """The viewer's state for a file, which it must accept."""
        seen = json.loads(self.must("node", HARNESS, VIEWER, path))
        self.assertNotIn("error", seen)
        for text in seen["shown"].values():
            self.assertNotIn("NaN", text)
            self.assertNotIn("undefined", text)
        return seen

    def to_dhat(self, path, *options):
        self.allo("convert", path, "--to", "dhat", "-fo", "again.dhat", *options)
        return self.tmp / "again.dhat"

    def notes(self, path, *options):
        done = self.run_program(ALLO, "convert", path, "--to", "dhat", "-fo", "noted.dhat",
                                *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.decode().splitlines() if line.startswith("note: ")]

    def assert_same_file(self, path, again):
        before = json.loads(pathlib.Path(path).read_text())
        after = json.loads(again.read_text())
        self.assertEqual(points_by_frames(before), points_by_frames(after))
        for key in before.keys() | after.keys():
            if key not in ("pps", "ftbl"):
                self.assertEqual(before.get(key), after.get(key), key)
        self.assertEqual(after["ftbl"][0], "[root]")
        self.assertEqual(set(range(1, len(after["ftbl"]))),
                         {index for point in after["pps"] for index in point["fs"]})


class OfDhatFiles(Viewer):
    def test_every_dialect_comes_back_as_it_was(self):
        samples = sorted(GOLDEN.glob("dhat/*.json"))
        self.assertGreaterEqual(len(samples), 9)
        for sample in samples:
            with self.subTest(sample.name):
                self.assert_same_file(sample, self.to_dhat(sample))

    def test_the_viewer_shows_the_same_before_and_after(self):
        for sample in sorted(GOLDEN.glob("dhat/*.json")):
            with self.subTest(sample.name):
                before, after = self.view(sample), self.view(self.to_dhat(sample))
                self.assertEqual(before["sums"], after["sums"])
                self.assertEqual(sorted(before["points"], key=str),
                                 sorted(after["points"], key=str))
                self.assertEqual(list(before["shown"]), list(after["shown"]))

    def test_the_largest_numbers_are_kept(self):
        most = 2**64 - 1
        keys = ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb")
        point = {key: most - i for i, key in enumerate(keys)}
        path = self.file("most.json", dhat(
            [{**point, "acc": [-3, 65535, 0, 1], "fs": [1, 2]}, {**point, "fs": []}],
            ["[root]", "0xFFFFFFFFFFFFFFFF: f (a \"b\".c:4294967295)", "0x1: main (a.c:0)"],
            bklt=True, bkacc=True, tuth=most, pid=most, te=most, tg=most - 1,
            cmd="\"\\\t\u00b5\u20ac\U0001f600"))
        self.assert_same_file(path, self.to_dhat(path))

    def test_units_of_the_program_are_kept(self):
        path = self.file("units.json", dhat(
            [{"tb": 1009, "tbk": 23, "fs": [1]}], ["[root]", "0x1: query (db.c:5)"],
            mode="ad-hoc", verb="Answered", bu="row", bsu="rows", bksu="queries"))
        self.assert_same_file(path, self.to_dhat(path))
        self.assertIn("1,009 rows", self.view("again.dhat")["shown"]["Total (rows)"])

    def test_values_that_the_viewer_refuses_are_mended(self):
        path = self.file("twice.json", dhat([{"tb": 1000, "tbk": 20, "fs": [1]},
                                             {"tb": 9, "tbk": 3, "fs": [1]}], ["[root]", "0x1: main (a.c:5)"]))
        refused = json.loads(self.must("node", HARNESS, VIEWER, path))
        self.assertIn("repeated location", refused["error"])
        self.allo("verify", "--repair", "-o", "mended.json", path)
        sums = self.view("mended.json")["sums"]
        self.assertEqual((sums["tb"], sums["tbk"]), (1009, 23))

    def test_access_counts_that_would_stop_the_viewer_are_cut(self):
        point = {"tb": 9, "tbk": 3, "tl": 1, "mb": 9, "mbk": 3, "gb": 9, "gbk": 3, "eb": 0,
                 "ebk": 0, "rb": 1, "wb": 2, "fs": [1]}
        for acc, seen in (([1, 70000, 2], [1, "infinite", 2]), ([-2, 0, 1], [0, 0, 1])):
            path = self.file("acc.json", dhat([{**point, "acc": acc}], ["[root]", "0x1: main (a.c:5)"],
                                              bklt=True, bkacc=True, tuth=500, tg=8))
            self.assertEqual(self.view(self.to_dhat(path))["points"][0]["acc"], seen)


class OfOtherFiles(Viewer):
    def test_go_heap_profiles_have_their_live_blocks_at_peak_and_end(self):
        path = GOLDEN / "pprof" / "go-heap.pb.gz"
        profile = Profile(self.allo("convert", path, "--to", "json"))
        seen = self.view(self.to_dhat(path))["sums"]
        self.assertEqual((seen["tb"], seen["tbk"]),
                         (profile.sum("alloc_bytes"), profile.sum("alloc_blocks")))
        for bytes_key, blocks_key in (("gb", "gbk"), ("eb", "ebk")):
            self.assertEqual((seen[bytes_key], seen[blocks_key]),
                             (profile.sum("live_bytes"), profile.sum("live_blocks")))
        self.assertEqual((seen["tb"], seen["gb"], seen["tl"]), (5440123, 58959, 0))
        notes = "\n".join(self.notes(path))
        for word in ("no peak", "no end", "no maximum", "no lifetime"):
            self.assertIn(word, notes)
        self.assertNotIn("no total", notes)

    def test_totals_alone_are_shown_without_lifetimes(self):
        path = GOLDEN / "pprof" / "go-heap.pb.gz"
        again = self.to_dhat(path, "-M", "alloc_bytes", "-M", "alloc_blocks")
        data = json.loads(again.read_text())
        self.assertEqual((data["bklt"], data["bkacc"]), (False, False))
        self.assertEqual(self.view(again)["sums"]["tb"], 5440123)
        self.assertFalse([note for note in
                          self.notes(path, "-M", "alloc_bytes", "-M", "alloc_blocks")
                          if "program points" in note])

    def test_live_blocks_stand_for_a_missing_total(self):
        path = GOLDEN / "pprof" / "go-heap.pb.gz"
        seen = self.view(self.to_dhat(path, "-M", "live_bytes"))["sums"]
        self.assertEqual([seen[key] for key in ("tb", "tbk", "gb", "eb")],
                         [58959, 0, 58959, 58959])
        notes = "\n".join(self.notes(path, "-M", "live_bytes"))
        self.assertIn("no total", notes)
        self.assertIn("bytes without blocks", notes)

    def test_data_of_dhat_in_pprof_comes_back(self):
        for sample in sorted(GOLDEN.glob("dhat/*.json")):
            with self.subTest(sample.name):
                self.allo("convert", sample, "-fo", "heap.pb.gz")
                before, after = self.view(sample), self.view(self.to_dhat("heap.pb.gz"))
                self.assertEqual(before["sums"], after["sums"])
                again = json.loads((self.tmp / "again.dhat").read_text())
                usual = {"instrs": 500, "\u00b5s": 10}[again["tu"]]
                self.assertEqual(again.get("tuth", usual), usual)

    def test_every_profile_loads(self):
        samples = [path for path in sorted(GOLDEN.glob("*/*"))
                   if path.parent.name in ("folded", "pprof")]
        self.assertGreaterEqual(len(samples), 9)
        for sample in samples:
            with self.subTest(sample.name):
                self.view(self.to_dhat(sample))

    def test_samples_are_ad_hoc_events(self):
        path = self.file("cpu.folded", "main;work;spin 1009\nmain;work 23\n")
        again = self.to_dhat(path)
        data = json.loads(again.read_text())
        self.assertEqual([data[key] for key in ("mode", "verb", "bu", "bsu", "bksu", "bklt")],
                         ["ad-hoc", "Occurred", "sample", "samples", "samples", False])
        seen = self.view(again)
        self.assertEqual((seen["sums"]["tb"], seen["sums"]["tbk"]), (1032, 1032))
        self.assertEqual(points_by_frames(data)[("0x0: spin (in ???)", "0x0: work (in ???)",
                                                 "0x0: main (in ???)")], {"tb": 1009, "tbk": 1009})

    def test_a_comparison_is_written_with_its_second_values(self):
        self.view(self.to_dhat(GOLDEN / "folded" / "diff.folded"))
        self.assertEqual(self.view("again.dhat")["sums"]["tb"], 1612)

    def test_equal_addresses_of_inlined_calls_stay_together(self):
        path = GOLDEN / "pprof" / "inline-dropframes.pb.gz"
        profile = Profile(self.allo("convert", path, "--to", "json"))
        data = json.loads(self.to_dhat(path).read_text())
        stacks = {tuple((call.address, call.name) for frame in frames for call in frame)
                  for frames, _, _, _ in profile.samples}
        parsed = {tuple((int(address, 16), name.rsplit(" (", 1)[0]) for address, name in
                        (frame.split(": ", 1) for frame in frames))
                  for frames in points_by_frames(data)}
        self.assertEqual(parsed, stacks)
        self.assertTrue(any(len(frame) > 1 for frames, _, _, _ in profile.samples
                            for frame in frames))


class OfRealPrograms(Viewer):
    SANITIZED = False  # Valgrind does the work here

    def profile(self, *command):
        """Runs a program under DHAT; returns the totals that Valgrind printed."""
        done = self.run_program("valgrind", "--tool=dhat", "--dhat-out-file=dhat.out", *command)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = SUMMARY.findall(done.stderr.decode())
        self.assertEqual(len(found), 5, done.stderr[-3000:])
        return {key: int(number.replace(",", ""))
                for what, *numbers in found for key, number in zip(KEYS[what], numbers)}

    def check(self, *command):
        totals = self.profile(*command)
        again = self.to_dhat("dhat.out")
        self.assert_same_file(self.tmp / "dhat.out", again)
        seen = self.view(again)
        self.assertEqual({key: seen["sums"][key] for key in totals}, totals)
        profile = Profile(self.allo("convert", "again.dhat", "--to", "json"))
        self.assertEqual(profile.sum("alloc_bytes"), totals["tb"])
        self.assertEqual(profile.sum("peak_blocks"), totals["gbk"])
        return totals, seen

    def test_a_c_program(self):
        self.file("program.c", C_PROGRAM)
        self.must("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "program.c", "-o", "program")
        totals, seen = self.check("./program")
        # 23 blocks of 1009 bytes, one of 77, and a block that grew from 100 to 3000.
        self.assertEqual((totals["tb"], totals["tbk"]), (23 * 1009 + 77 + 3100, 26))
        self.assertEqual((totals["eb"], totals["ebk"]), (3 * 1009 + 3000, 4))
        kept = [point for point in seen["points"] if point["tbk"] == 23]
        self.assertEqual(len(kept), 1)
        addresses = [frame.split(":")[0] for frame in kept[0]["frames"]]
        self.assertRegex(kept[0]["frames"][2], r": inlined \(program.c:8\)$")
        self.assertEqual(addresses[2], addresses[3])

    def test_a_cxx_program(self):
        self.file("program.cpp", CXX_PROGRAM)
        self.must("g++", "-g", "-O2", "program.cpp", "-o", "program")
        totals, _ = self.check("./program")
        self.assertEqual((totals["eb"], totals["ebk"]), (1009 * 4 + 24, 2))

    def test_an_interpreter(self):
        self.check("/usr/bin/python3", "-c", "import json")
