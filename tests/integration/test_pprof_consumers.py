"""pprof output as its real consumers see it: go tool pprof and protoc."""
import re

from allotest import GOLDEN, Test


class GoToolPprof(Test):
    SANITIZED = False  # go does the work here

    def raw(self, path):
        """What -raw prints, without the line that the tool makes up itself."""
        text = self.must("go", "tool", "pprof", "-raw", "-symbolize=none", path)
        return [line.rstrip() for line in text.splitlines()]

    def test_a_round_trip_changes_nothing_that_raw_shows(self):
        for sample in sorted(GOLDEN.glob("pprof/*.pb*")):
            with self.subTest(sample.name):
                self.allo("convert", sample, "-fo", "again.pb.gz")
                self.assertEqual(self.raw(sample), self.raw("again.pb.gz"))

    def test_totals_of_dhat_are_the_sums_of_its_program_points(self):
        self.allo("convert", GOLDEN / "dhat" / "valgrind-heap.json", "-o", "heap.pb.gz")
        for index, total in (("alloc_space", "1274456B"), ("alloc_objects", "1341"),
                             ("peak_space", "1178112B"), ("end_space", "5000B"),
                             ("reads", "200025B"), ("writes", "217232B")):
            text = self.must("go", "tool", "pprof", "-top", f"-sample_index={index}",
                             *(["-unit=B"] if total.endswith("B") else []), "-symbolize=none",
                             "heap.pb.gz")
            self.assertRegex(text, rf"of {re.escape(total)} total")
