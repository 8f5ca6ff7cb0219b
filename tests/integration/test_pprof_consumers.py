"""pprof and gperftools output as its real consumers see it: go tool pprof, google-pprof and protoc."""
import re

from allotest import GOLDEN, Test
from gopprof import raw_text


class GoToolPprof(Test):
    SANITIZED = False  # go does the work here

    def raw(self, path):
        return [line.rstrip() for line in raw_text(self, path).splitlines()]

    def test_a_round_trip_changes_nothing_that_raw_shows(self):
        for sample in sorted(GOLDEN.glob("pprof/*.pb*")):
            with self.subTest(sample.name):
                self.allo("convert", sample, "-fo", "again.pb.gz")
                self.assertEqual(self.raw(sample), self.raw("again.pb.gz"))

    def test_inuse_is_live_memory(self):
        """Of a recording it is never the sum of each site's own maximum."""
        path = GOLDEN / "allo" / "server.allo"
        self.allo("convert", path, "-o", "whole.pb.gz")
        text = raw_text(self, "whole.pb.gz")
        self.assertNotIn("inuse_", text)
        self.assertIn("peak_space/bytes[dflt]", text)
        for instant, metric in (("peak", "peak_bytes"), ("end", "end_bytes")):
            held = self.allo_json("top", "-M", metric, path)["sum"]
            self.allo("convert", "-f", "--at", instant, path, "-o", "live.pb.gz")
            top = self.must("go", "tool", "pprof", "-top", "-inuse_space", "-unit=B", "live.pb.gz")
            self.assertIn(f"of {held}B total", top)
            self.assertIn("inuse_space/bytes[dflt]", raw_text(self, "live.pb.gz"))

    def test_totals_of_dhat_are_the_sums_of_its_program_points(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "heap.pb.gz")
        for index, total in (("alloc_space", "1274456B"), ("alloc_objects", "1341"),
                             ("peak_space", "1178112B"), ("end_space", "5000B"),
                             ("reads", "200025B"), ("writes", "217232B")):
            text = self.must("go", "tool", "pprof", "-top", f"-sample_index={index}",
                             *(["-unit=B"] if total.endswith("B") else []), "-symbolize=none",
                             "heap.pb.gz")
            self.assertRegex(text, rf"of {re.escape(total)} total")


class Gperftools(Test):
    SANITIZED = False  # go and perl do the work here

    def samples(self, path):
        """The values and addresses of all samples."""
        text = self.must("go", "tool", "pprof", "-raw", "-symbolize=none", path)
        samples, locations = re.search(r"(?s)Samples:\n[^\n]*\n(.*?)Locations\n(.*?)Mappings\n", text).groups()
        address = dict(re.findall(r"(?m)^ *(\d+): (0x[0-9a-f]+)", locations))
        return sorted((values.split(), [address[number] for number in stack.split()])
                      for values, stack in re.findall(r"(?m)^ *(-?\d[-\d ]*): ?([\d ]*)$", samples))

    def test_pprof_sees_no_difference_after_a_round_trip(self):
        sample = GOLDEN / "gperftools" / "gperftools.heap"
        self.allo("convert", sample, "-fo", "again.heap")
        self.assertEqual(self.samples("again.heap"), self.samples(sample))
        self.assertGreater(len(self.samples(sample)), 1)

    def test_totals_of_dhat_are_those_of_its_program_points(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "dhat.heap")
        for index, total in (("alloc_space", "1274456B"), ("alloc_objects", "1341"),
                             ("inuse_space", "1178112B"), ("inuse_objects", "1002")):
            text = self.must("go", "tool", "pprof", "-top", f"-sample_index={index}",
                             *(["-unit=B"] if total.endswith("B") else []), "-symbolize=none", "dhat.heap")
            self.assertRegex(text, rf"of {total} total")

    def test_google_pprof_reads_addresses_and_totals(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "dhat.heap")
        for option, total in (("--inuse_objects", "1002"), ("--alloc_objects", "1341")):
            text = self.must("google-pprof", "--text", option, "/bin/true", "dhat.heap")
            self.assertRegex(text, rf"(?m)^Total: {total} objects$")
            # main calls everything that the main thread allocates: 1093f7 is its first call.
            self.assertRegex(text, r"(?m) 0x0*1093f7$")

    def test_frames_without_addresses_keep_their_names(self):
        self.file("in.folded", "main;operator+;[unknown] 1009\nmain;operator+ 23\nmain;a b 5\n")
        self.allo("convert", "in.folded", "-o", "made_up.heap")
        text = (self.tmp / "made_up.heap").read_text()
        self.assertTrue(text.startswith("heap profile: 3: 1037 [0: 0] @ heapprofile\n1: 1009 [0: 0] @ 0x4000"))
        self.allo("convert", "made_up.heap", "-o", "again.folded")
        self.assertEqual(sorted((self.tmp / "again.folded").read_text().splitlines()),
                         sorted((self.tmp / "in.folded").read_text().splitlines()))
        self.assertEqual([len(stack) for _, stack in self.samples("made_up.heap")], [3, 2, 2])

    def test_only_the_values_after_a_change_are_written(self):
        self.allo("convert", GOLDEN / "folded" / "diff.folded", "-o", "diff.heap")
        self.assertTrue((self.tmp / "diff.heap").read_text().startswith("heap profile: 3: 1612 [0: 0] @"))
