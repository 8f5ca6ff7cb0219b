"""allo under the name of dhat-pprof, with go tool pprof as the reader of its output."""
import json
import re
import shutil

from allotest import ALLO, GOLDEN, Test
from recordings import PROGRAMS, copy_compiled

RUST = GOLDEN / "dhat" / "dhat-rs-heap.json"

# The sample types, and the key of a program point that each is the sum of.
TYPES = [("alloc_objects", "tbk"), ("alloc_space", "tb"), ("inuse_objects", "mbk"), ("inuse_space", "mb"),
         ("peak_objects", "gbk"), ("peak_space", "gb"), ("end_objects", "ebk"), ("end_space", "eb")]


class DropIn(Test):
    def setUp(self):
        super().setUp()
        self.program = self.tmp / "dhat-pprof"
        self.program.symlink_to(ALLO)


class Arguments(DropIn):
    def test_names_are_the_usual_ones_without_any(self):
        shutil.copy(RUST, self.tmp / "dhat-heap.json")
        said = self.must(self.program)
        self.assertEqual(said.splitlines()[0], "Reading DHAT profile from: dhat-heap.json")
        self.assertIn("Wrote pprof profile to: dhat-heap.pb.gz", said)
        self.assertTrue((self.tmp / "dhat-heap.pb.gz").read_bytes().startswith(b"\x1f\x8b"))

    def test_input_and_output_can_be_named_and_more_is_ignored(self):
        self.must(self.program, RUST)
        self.assertTrue((self.tmp / "dhat-heap.pb.gz").exists())
        self.must(self.program, RUST, "other", "and", "more")
        self.assertEqual((self.tmp / "other").read_bytes(), (self.tmp / "dhat-heap.pb.gz").read_bytes())

    def test_an_existing_output_is_overwritten(self):
        old = self.file("dhat-heap.pb.gz", "old")
        self.must(self.program, RUST)
        self.assertNotEqual(old.read_bytes(), b"old")

    def test_minus_is_standard_input_and_output(self):
        self.must(self.program, RUST, "file.pb.gz")
        done = self.run_program(self.program, "-", "-", input=RUST.read_bytes())
        self.assertEqual(done.stdout, (self.tmp / "file.pb.gz").read_bytes())
        self.assertIn(b"Reading DHAT profile from: -", done.stderr)

    def test_every_failure_is_status_1(self):
        cut = self.file("cut.json", RUST.read_bytes()[:500])
        pprof = GOLDEN / "pprof" / "go-heap.pb.gz"
        for arguments in ([], ["nosuch.json"], [cut], [pprof], [RUST, "nosuch/out.pb.gz"]):
            done = self.run_program(self.program, *arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr.decode(), r"^allo: error: ")
        self.assertFalse((self.tmp / "dhat-heap.pb.gz").exists())

    def test_help_is_help(self):
        self.assertIn("Usage: dhat-pprof [INPUT [OUTPUT]]", self.must(self.program, "--help"))

    def test_a_sum_of_maxima_above_the_peak_is_pointed_out(self):
        points = json.loads(RUST.read_text())["pps"]
        self.assertGreater(sum(p["mb"] for p in points), sum(p["gb"] for p in points))
        done = self.run_program(self.program, RUST)
        self.assertEqual(done.stderr.decode(), "note: inuse_space is the sum of each site's own maximum, "
                         "28.2 KiB; the program held at most 25.8 KiB: see peak_space\n")
        self.assertNotIn(b"note", done.stdout)
        # Valgrind looks for a site's maximum only when the whole heap grows: no more than the peak here.
        done = self.run_program(self.program, GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(done.stderr, b"")


class GoToolPprof(DropIn):
    SANITIZED = False  # go and valgrind do the work here

    def pprof(self, *arguments):
        return self.must("go", "tool", "pprof", "-symbolize=none", *arguments, "dhat-heap.pb.gz")

    def top(self, index, *more):
        """The type's name, the total, and (flat, cum, function) of the rows."""
        text = self.pprof("-top", f"-sample_index={index}", "-unit=B", "-nodefraction=0",
                          "-nodecount=10000", *more)
        rows = re.findall(r"^ *(\d+)B? +\S+ +\S+ +(\d+)B? +\S+ +(.*?)(?: \((?:partial-)?inline\))?$", text, re.M)
        return (re.search(r"^Type: (\S+)", text, re.M)[1],
                int(re.search(r"of (\d+)B? total", text)[1]),
                [(int(flat), int(cum), name) for flat, cum, name in rows])

    def check_totals(self, path):
        points = json.loads(path.read_text())["pps"]
        for index, (name, key) in enumerate(TYPES):
            found, total, _ = self.top(index)
            self.assertEqual((found, total), (name, sum(point[key] for point in points)))

    def check_counts(self, said):
        """The output of the program agrees with the file."""
        raw = self.pprof("-raw")
        samples = raw.split("Samples:\n")[1].split("Locations\n")[0].splitlines()[1:]
        locations = raw.split("Locations\n")[1].split("Mappings\n")[0].splitlines()
        self.assertIn(f"  {len(samples)} samples\n", said)
        self.assertIn(f"  {sum(bool(re.match(r' *[0-9]+: ', line)) for line in locations)} locations\n",
                      said)

    def test_sample_types_and_their_default(self):
        self.must(self.program, GOLDEN / "dhat" / "valgrind-heap.json")
        types = self.pprof("-raw").split("Samples:\n")[1].splitlines()[0].split()
        self.assertEqual(types, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                                 "inuse_space/bytes[dflt]", "peak_objects/count", "peak_space/bytes",
                                 "end_objects/count", "end_space/bytes", "lifetime/instructions",
                                 "reads/bytes", "writes/bytes"])
        self.assertIn("Type: inuse_space\n", self.pprof("-top"))

    def test_a_c_plus_plus_program_under_valgrind(self):
        copy_compiled(self.tmp / "boxes", PROGRAMS / "boxes.cpp", "g++", "-g", "-O1")
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=dhat-heap.json", "./boxes", 23, 3, 5)
        said = self.must(self.program)
        self.check_totals(self.tmp / "dhat-heap.json")
        self.check_counts(said)
        add = "boxes::Store<int, std::unique_ptr<char [], std::default_delete<char []> > >::add(int)"
        for index, small, large, leaked in ((0, 23, 3, 5), (1, 23 * 1009, 3 * 65537, 5 * 4099),
                                            (4, 0, 3, 5), (7, 0, 0, 5 * 4099)):
            cums = {name: cum for _, cum, name in self.top(index)[2]}
            self.assertEqual(cums.get("boxes::small(int)", 0), small)
            self.assertEqual(cums["boxes::leak(int)"], leaked)
            # Beside the blocks themselves there is a node of the map, and the growth of the vector.
            self.assertGreaterEqual(cums.get(add, 0), large)
            self.assertLess(cums.get(add, 0) - large, 200)
        # The allocator is the leaf and main the root, whatever pprof sorts by.
        flats = [(flat, name) for flat, _, name in self.top("alloc_space")[2] if flat]
        self.assertEqual(flats[0], (3 * 65537 + 5 * 4099, "operator new[](unsigned long)"))
        peek = self.pprof("-peek", r"boxes::leak", "-sample_index=alloc_objects")
        self.assertRegex(peek, r"main\n[^|]*\| boxes::leak\(int\)\n[^|]*\|   operator new\[\]")

    def test_a_rust_program(self):
        said = self.must(self.program, RUST)
        self.check_totals(RUST)
        self.check_counts(said)
        rows = self.top("alloc_space")[2]
        cums = {name: cum for _, cum, name in rows}
        frames = json.loads(RUST.read_text())["ftbl"]
        for name in cums:
            self.assertTrue(any(f": {name} (" in frame or f": {name}" == frame[-len(name) - 2:]
                                for frame in frames), name)
        self.assertEqual(cums["rsdemo::table::{{closure}}"], self.sum_through(RUST, "rsdemo::table::{{cl"))
        self.assertEqual(cums["rsdemo::main"], self.sum_through(RUST, "rsdemo::main ("))

    def sum_through(self, path, name):
        """Bytes of all points with such a frame."""
        profile = json.loads(path.read_text())
        return sum(point["tb"] for point in profile["pps"]
                   if any(f": {name}" in profile["ftbl"][frame] for frame in point["fs"]))
