"""Folded output as its real consumer sees it: flamegraph.pl."""
import collections
import html
import re

from allotest import ALLO, GOLDEN, Test
from inputs import dhat_of_stacks
from profilejson import Profile, names

FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"

TITLE = re.compile(r"<title>(.*) \(([\d,]+) bytes, [\d.]+%(?:; ([+-]?[\d.]+)%)?\)</title>")


class Folded(Test):
    def lines(self, path, *options):
        """The written lines."""
        text = self.allo("convert", path, "--to", "folded", *options)
        self.assertTrue(text == "" or text.endswith("\n"))
        return text.splitlines()

    def draw(self, path, *options):
        """The boxes that flamegraph.pl draws, names and bytes; it must not complain of anything."""
        self.allo("convert", path, "--to", "folded", "-fo", "in.folded", *options)
        done = self.run_program("perl", FLAMEGRAPH, "--countname=bytes", "--minwidth=0",
                                "in.folded")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        return [(html.unescape(name), int(count.replace(",", "")), change and float(change))
                for name, count, change in TITLE.findall(done.stdout.decode())]


class FlameGraph(Folded):
    SANITIZED = False  # perl does the work here

    def test_boxes_have_the_sums_of_the_profile(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        boxes = {name: count for name, count, _ in self.draw(path, "-M", "alloc_bytes")}
        self.assertEqual(boxes["all"], 1274456)
        self.assertEqual(boxes["grow_buffer"], 131040)
        self.assertEqual(boxes["leak_some"], 5000)
        self.assertEqual(boxes["clone"], 19200)

    def test_odd_names_are_one_box_each(self):
        odd = ["[u8; 32]::drop", "line\nbreak\tand tab", "step 12", "step 12.5",
               "operator new(int)", "#private", "a  b", "caf\u00e9", "3"]
        path = self.file("odd.json", dhat_of_stacks((["main", name], 1009 + i)
                                                    for i, name in enumerate(odd)))
        boxes = {(name, count) for name, count, _ in self.draw(path)}
        expected = ["[u8: 32]::drop", "line break and tab", "step 12_", "step 12.5_",
                    "operator new(int)", "#private", "a  b", "caf\u00e9", "3"]
        total = sum(1009 + i for i in range(len(odd)))
        self.assertEqual(boxes, {(name, 1009 + i) for i, name in enumerate(expected)} |
                         {("all", total), ("main", total)})

    def test_a_comparison_is_coloured_by_its_change(self):
        before = self.file("before.json", dhat_of_stacks([(["main", "a"], 1000),
                                                          (["main", "gone"], 500)]))
        after = self.file("after.json", dhat_of_stacks([(["main", "a"], 1300),
                                                        (["main", "new"], 700)]))
        self.allo("diff", before, after, "-o", "diff.folded")
        self.assertEqual(collections.Counter((self.tmp / "diff.folded").read_text().splitlines()),
                         collections.Counter(["main;a 1000 1300", "main;new 0 700",
                                              "main;gone 500 0"]))
        boxes = {name: (count, change) for name, count, change in self.draw("diff.folded")}
        # Widths show the second profile; changes are percentages of the whole.
        self.assertEqual(boxes["all"][0], 2000)
        self.assertEqual(boxes["a"], (1300, 15.0))
        self.assertEqual(boxes["new"], (700, 35.0))


class Lines(Folded):
    def test_each_metric_sums_up_to_the_profile(self):
        for sample in sorted(GOLDEN.glob("dhat/*.json")) + sorted(GOLDEN.glob("pprof/*.gz")):
            profile = Profile(self.allo("convert", sample, "--to", "json"))
            for i, metric in enumerate(profile.metrics):
                with self.subTest(f"{sample.name} {metric['name']}"):
                    wanted = collections.Counter()
                    for frames, values, _, _ in profile.samples:
                        wanted[";".join(names(frames)) or "[unknown]"] += values[i]
                    written = [line.rsplit(" ", 1)
                               for line in self.lines(sample, "-M", metric["name"])]
                    self.assertEqual(len(written), len({stack for stack, _ in written}))
                    self.assertEqual({stack: int(count) for stack, count in written},
                                     {stack: count for stack, count in wanted.items() if count})

    def test_stacks_that_print_the_same_are_added_up(self):
        path = self.file("same.json", dhat_of_stacks([
            (["main", "f"], 1000), (["main", "f"], 9), (["main", "a;b"], 20), (["main", "a:b"], 3)]))
        self.assertEqual(self.lines(path), ["main;f 1009", "main;a:b 23"])

    def test_sums_beyond_64_bits_stay_at_the_largest_number(self):
        most = 2**64 - 1
        path = self.file("most.json", dhat_of_stacks([(["main"], most), (["main"], 1)]))
        done = self.run_program(ALLO, "convert", path, "--to", "folded")
        self.assertEqual(done.stdout.decode(), f"main {most}\n")
        self.assertIn("1 sum exceeds 64 bits", done.stderr.decode())

    def test_empty_stacks_and_zeros(self):
        path = self.file("empty.json", dhat_of_stacks([([], 1009), (["main"], 0), (["f"], 23)]))
        self.assertEqual(self.lines(path), ["[unknown] 1009", "f 23"])

    def test_a_comment_is_not_made_of_a_stack(self):
        path = self.file("hash.json", dhat_of_stacks([(["#main", "#f"], 1009), (["#main"], 23)]))
        self.assertEqual(self.lines(path), ["_#main;#f 1009", "_#main 23"])
        self.allo("convert", path, "-o", "hash.folded")
        again = Profile(self.allo("convert", "hash.folded", "--to", "json"))
        self.assertEqual(again.sum("samples"), 1032)

    def test_bytes_that_are_no_utf8_are_replaced(self):
        path = self.file("bad.folded", b"main;f\xff\xfeg 1009\nmain;f\xfe\xffg 23\n")
        self.assertEqual(self.lines(path), ["main;f\ufffd\ufffdg 1032"])

    def test_negative_values_cannot_be_written(self):
        before = self.file("before.json", dhat_of_stacks([(["main", "a"], 1000), (["main", "b"], 5)]))
        after = self.file("after.json", dhat_of_stacks([(["main", "a"], 900), (["main", "b"], 28)]))
        self.allo("diff", before, after, "-o", "diff.pb.gz")
        done = self.run_program(ALLO, "convert", "diff.pb.gz", "--to", "folded", "-M", "total")
        self.assertEqual(done.stdout.decode(), "main;b 23\n")
        self.assertIn("note: 1 value is negative", done.stderr.decode())
