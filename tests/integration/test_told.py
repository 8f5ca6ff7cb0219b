"""Notes of commands beside their results: nothing is left out silently."""
import json

from allotest import ALLO, GOLDEN, Test
from inputs import FOLDED

HEAP = GOLDEN / "dhat" / "valgrind-heap.json"


class Told(Test):
    def said(self, *arguments, status=0, **options):
        done = self.run_program(ALLO, *arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def test_access_counts_are_missed_where_a_form_has_no_place_for_them(self):
        self.assertIn("pprof cannot hold access counts; left out", self.said("convert", HEAP, "-o", "a.pb.gz"))
        self.assertIn("pprof cannot hold access counts",
                      self.said("convert", "--strict", HEAP, "-o", "b.pb.gz", status=1))
        self.assertFalse((self.tmp / "b.pb.gz").exists())
        self.assertNotIn("access counts", self.said("convert", HEAP, "-o", "a.dhat"))

    def test_the_note_on_csv_agrees_with_its_columns(self):
        said = self.said("convert", HEAP, "-o", "a.csv")
        self.assertRegex(said, "note: csv holds [a-z, ]*files, lines of the innermost call only")
        self.assertNotRegex(said, "cannot hold .*(modules|addresses|files|lines)")
        self.assertIn("file,line,module,address", (self.tmp / "a.csv").read_text().splitlines()[0])

    def test_times_of_a_run_come_back_from_pprof(self):
        self.said("convert", HEAP, "-o", "a.pb.gz")
        before, after = self.allo_json("info", HEAP), self.allo_json("info", "a.pb.gz")
        for key in ("duration_instructions", "peak_instructions", "pid", "command"):
            self.assertEqual(after[key], before[key])
        self.assertGreater(after["peak_instructions"], 0)

    def test_a_merged_profile_is_no_single_process(self):
        self.said("convert", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json", "-o", "both.dhat")
        info = self.allo_json("info", "both.dhat")
        self.assertEqual((info["pid"], info["peak_instructions"]), (0, 0))

    def test_filters_that_leave_nothing_say_so(self):
        for command in (["top"], ["tree"], ["tree", "--dhat"], ["convert", "--to", "folded"]):
            self.assertIn("no stack matches", self.said(*command, "-F", "no such name", HEAP))
            self.assertNotIn("no stack matches", self.said(*command, "-F", "main", HEAP))

    def test_a_written_comparison_notes_lost_data(self):
        said = self.said("diff", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json", "-o", "diff.folded")
        self.assertRegex(said, r"wrote diff.folded \(.*B\)")
        self.assertIn("folded cannot hold", said)
        self.assertIn("were omitted", self.said("diff", HEAP, HEAP, "-o", "diff.dhat"))

    def test_standard_input_is_read_once(self):
        self.assertIn("only once", self.said("diff", "-", "-", input=FOLDED, status=2))

    def test_rows_of_addresses_differ(self):
        rows = self.allo("top", "--by", "address", "-n", "0", HEAP).splitlines()[2:]
        self.assertEqual(len(rows), len(set(rows)))
        self.assertTrue(any(" 0x" in row for row in rows))

    def test_units_that_numbers_do_not_show(self):
        self.assertRegex(self.allo("top", "-M", "lifetime", HEAP), r"^lifetime: [\d,]+ instructions,")

    def test_cumulative_rows_are_not_added_up(self):
        text = self.allo("top", "--cum", "-n", "1", HEAP)
        self.assertNotIn("hold", text.splitlines()[1])
        self.assertRegex(text.splitlines()[-1], r"^\d+ more: -n 0 shows all$")

    def test_one_is_not_several(self):
        one, two = self.file("one.folded", "main;a 1.5\n"), self.file("two.folded", "main;a 1.5\nmain;b 2.5\n")
        for command in (["info"], ["top"], ["convert", "--to", "csv"]):
            self.assertIn("note: 1 value is not a whole number and was rounded", self.said(*command, one))
            self.assertIn("note: 2 values are not whole numbers and were rounded", self.said(*command, two))
        for path, what, stacks in ((one, "1 value is not a whole number", "1 stack\n"), (two, "2 values are not whole numbers", "2 stacks\n")):
            done = self.run_program(ALLO, "verify", path)
            self.assertIn(what, done.stdout.decode())
            self.assertTrue(done.stdout.decode().endswith(stacks), done.stdout)
            note = json.loads(self.run_program(ALLO, "verify", "--json", path).stdout)["notes"][0]
            self.assertTrue(f"{note['count']} {note['what']}".startswith(what), note)
        single = self.file("single.heap", "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x5 0x6\n")
        for command in ("top", "tree"):
            self.assertIn("8 B in 1 block,", self.allo(command, single))
        self.assertIn("1 of 3 functions holds 60.0%", self.allo("top", "-n", "1", two))

    def test_metrics_that_not_all_files_have(self):
        massif, heap = GOLDEN / "massif" / "valgrind.massif", GOLDEN / "gperftools" / "gperftools.heap"
        said = self.said("top", HEAP, massif)
        self.assertRegex(said, rf"^note: alloc_blocks, .*peak_blocks, .* are only in {HEAP}\n$")
        self.assertNotIn("peak_bytes", said)  # which both have
        said = self.said("convert", HEAP, massif, heap, "-o", "all.csv").splitlines()
        self.assertIn(f"note: alloc_blocks, alloc_bytes are only in {HEAP}, {heap}", said)
        self.assertIn(f"note: peak_bytes is only in {HEAP}, {massif}", said)
        self.assertIn(f"note: live_blocks, live_bytes are only in {heap}", said)
        for arguments in (["-q", HEAP, massif], [HEAP, HEAP], [HEAP]):
            self.assertNotIn("only in", self.said("tree", *arguments))

    def test_stacks_that_are_left_without_frames(self):
        path = self.file("a.folded", "main;a 1\nmain;b 2\nmain;c 3\nmain 14\n")
        self.assertEqual(self.allo("top", "--hide", "main", "-n", "1", path).splitlines()[3:],
                         ["   3  15.0%  15.0%      3  c", "2 more functions, 3 (15.0%): -n 0 shows all",
                          "without any frame: 14 (70.0%)"])
        self.assertEqual(self.allo("top", "--show", "nothing", path).splitlines()[-1], "without any frame: 20 (100.0%)")
        self.assertEqual(self.allo_json("top", "--show", "=a", path)["frameless"], 19)
        self.assertNotIn("without any frame", self.allo("top", path))
        self.assertNotIn("without any frame", self.allo("top", "--hide", "=a", path))

    def test_values_before_have_their_own_name(self):
        path = GOLDEN / "folded" / "diff.folded"
        metrics = self.allo_json("info", path)["metrics"]
        self.assertEqual([(metric["metric"]["name"], metric["sum"]) for metric in metrics],
                         [("samples_before", 1017), ("samples", 1612)])
        for metric in metrics:
            name, total = metric["metric"]["name"], metric["sum"]
            self.assertIn(f" {name} ", self.allo("info", path))
            self.assertTrue(self.allo("top", "-M", name, path).startswith(f"{name}: {total:,}, "))
            self.assertEqual(self.allo_json("top", "-M", name, path)["sum"], total)
            self.assertEqual(self.allo_json("tree", "-M", name, path)["metric"]["name"], name)
        single = self.allo("convert", "-q", "--to=csv", "-M", "samples_before", path).splitlines()
        self.assertTrue(single[0].startswith("samples_before,labels,"))
        self.assertEqual([line.split(",")[0] for line in single[1:]], ["1000", "12", "5", "0"])
        pair = self.allo("convert", "-q", "--to=csv", path)
        for chosen in (["samples"], ["samples_before", "samples"], ["samples", "samples_before"]):
            words = [word for name in chosen for word in ("-M", name)]
            self.assertEqual(self.allo("convert", "-q", "--to=csv", *words, path), pair)
        cpp = GOLDEN / "dhat" / "valgrind-cpp.json"
        self.assertEqual(self.allo("diff", "-M", "peak_bytes_before", HEAP, cpp),
                         self.allo("diff", "-M", "peak_bytes", HEAP, cpp))
