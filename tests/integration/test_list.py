"""allo list: source lines with numbers in front, against go tool pprof -list on the same profile."""
import csv
import io
import os
import re
import shutil

from allotest import ALLO, ENVIRONMENT, GOLDEN, Test
from inputs import dhat
from recordings import PROGRAMS, built


class Lines(Test):
    """A DHAT file that has lines of a source that we write ourselves."""

    def setUp(self):
        super().setUp()
        self.heap = GOLDEN / "dhat" / "valgrind-heap.json"
        self.source = self.tmp / "demo.c"
        self.source.write_text("".join(f"\tline({n});\n" for n in range(1, 121)))
        os.utime(self.source, (0, 0))

    def run_list(self, *arguments, **options):
        done = self.run_program(ALLO, "list", *arguments, self.heap, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def test_numbers_stand_in_front_of_lines(self):
        text, said = self.run_list("=make_node", "-M", "alloc_bytes", "-C", 1)
        lines = text.splitlines()
        self.assertEqual(lines[1], '1 function matches "=make_node"')
        self.assertRegex(lines[3], r"^make_node  demo\.c$")
        self.assertRegex(lines[4], r"^self [\d.]+ KiB, total [\d.]+ KiB \([\d.]+%\)$")
        self.assertRegex(lines[6], r"^ +13 {10}line\(13\);$")
        self.assertRegex(lines[7], r"^[\d.]+ KiB +[\d.]+ KiB +[\d,]+ +14 {10}line\(14\);$")
        self.assertRegex(lines[8], r"^ +15 {10}line\(15\);$")
        self.assertEqual(len(lines), 9)
        self.assertEqual(said, "")

    def test_lines_far_away_are_left_out(self):
        text, _ = self.run_list("=main", "-M", "alloc_bytes", "-C", 1)
        numbers = [int(n) for n in re.findall(r" (\d+) +line\(", text)]
        self.assertEqual(numbers, sorted(set(numbers)))
        hot = {row["line"] for row in self.allo_json("list", "=main", "-M", "alloc_bytes",
                                                     self.heap)["functions"][0]["lines"]}
        self.assertEqual(set(numbers), {n for h in hot for n in (h - 1, h, h + 1) if 0 < n <= 120})
        self.assertRegex(text, r"\n +\.\.\.\n")
        none, _ = self.run_list("=main", "-M", "alloc_bytes", "-C", 0)
        self.assertEqual({int(n) for n in re.findall(r" (\d+) +line\(", none)}, hot)

    def test_a_missing_source_leaves_the_numbers(self):
        self.source.unlink()
        text, said = self.run_list("=make_node")
        self.assertIn("make_node  demo.c (not found)\n", text)
        self.assertRegex(text, r"KiB +[\d,]+ +14\n")
        self.assertIn("1 source file was not found, such as demo.c: --source-dir DIR says where to look", said)

    def test_sources_are_searched_in_given_folders(self):
        (self.tmp / "src").mkdir()
        shutil.move(self.source, self.tmp / "src" / "demo.c")
        for options, env in ((["--source-dir", "src"], {}), (["--substitute", "demo=src/demo"], {}),
                             ([], {"ALLO_SOURCE_PATH": "nowhere::src"})):
            text, said = self.run_list("=make_node", *options, env={**ENVIRONMENT, **env})
            self.assertIn("make_node  src/demo.c\n", text)
            self.assertEqual(said, "")
        self.allo_fails("list", "--substitute", "nonsense", "main", self.heap, status=2)

    def test_a_hostile_profile_names_no_file_outside_of_the_folders(self):
        secret, inside = self.file("secret", "hidden\n"), self.tmp / "src"
        inside.mkdir()
        (inside / "own.c").write_text("shown\n")
        for path, options in ((str(secret), []), ("../secret", []), ("a/../../secret", []),
                              ("/x/../secret", ["--substitute", "/x=src"])):
            with self.subTest(path):
                heap = self.file("hostile.json", dhat(frames=["[root]", f"0x1: main ({path}:1)"]))
                searched = ["list", "--source-dir", "src", *options, "=main", heap]
                self.assertIn("hidden", self.allo(*searched))
                done = self.run_program(ALLO, *searched, "--only-source-dir")
                self.assertNotIn(b"hidden", done.stdout)
                self.assertIn(b"1 source file was not found", done.stderr)
        heap = self.file("sound.json", dhat(frames=["[root]", "0x1: main (/build/../lib/own.c:1)"]))
        self.assertIn("shown", self.allo("list", "--source-dir", "src", "--only-source-dir", "=main", heap))

    def test_a_path_may_lose_its_outer_folders(self):
        binary = built("leaks.c")
        self.must("valgrind", "--tool=dhat", "--fullpath-after=", "--dhat-out-file=full.dhat", binary)
        shutil.copy(PROGRAMS / "leaks.c", self.tmp / "src.c")
        (self.tmp / "copy" / "programs").mkdir(parents=True)
        shutil.copy(PROGRAMS / "leaks.c", self.tmp / "copy" / "programs" / "leaks.c")
        found = self.allo_json("list", "=leak_on", "--source-dir", "copy", "full.dhat")["functions"][0]
        self.assertEqual(found["found"], "copy/programs/leaks.c")
        self.assertTrue(found["file"].startswith("/"))
        self.assertIn("filled(101", found["lines"][0]["source"])

    def test_a_changed_source_is_reported(self):
        os.utime(self.source)  # now, and the profile is older
        heap = self.tmp / "heap.json"
        shutil.copy(self.heap, heap)
        os.utime(heap, (1e9, 1e9))
        done = self.run_program(ALLO, "list", "=make_node", heap)
        self.assertIn(b"1 source file has changed since", done.stderr)

    def test_a_short_source_is_reported(self):
        self.source.write_text("one\ntwo\n")
        os.utime(self.source, (0, 0))
        text, said = self.run_list("=make_node")
        self.assertIn("1 line is beyond the end of the source", said)
        self.assertRegex(text, r" 14\n")

    def test_a_pipe_as_source_is_not_waited_for(self):
        self.source.unlink()
        os.mkfifo(self.source)
        self.assertIn("(not found)", self.run_list("=make_node")[0])
        self.source.unlink()
        self.source.symlink_to("/dev/zero")
        self.assertIn("(not found)", self.run_list("=make_node")[0])
        self.source.unlink()
        self.source.mkdir()
        self.assertIn("(not found)", self.run_list("=make_node")[0])

    def test_a_source_cannot_move_the_cursor(self):
        self.source.write_bytes(b"\x1b[2J\x07\xff\n" * 100)
        os.utime(self.source, (0, 0))
        for arguments in ([], ["--json"]):
            text, _ = self.run_list("=make_node", *arguments)
            self.assertNotIn("\x1b", text)

    def test_csv_and_json_have_lines_with_numbers(self):
        rows = list(csv.DictReader(io.StringIO(self.allo("list", "--csv", "-M", "alloc_bytes", "=make_node",
                                                         self.heap))))
        found = self.allo_json("list", "-M", "alloc_bytes", "=make_node", self.heap)["functions"][0]
        self.assertEqual([(int(row["line"]), int(row["self"]), int(row["total"])) for row in rows],
                         [(line["line"], line["self"], line["total"]) for line in found["lines"]])
        self.assertEqual(rows[0]["source"].strip(), "line(14);")
        self.assertEqual(found["lines"][0]["source"], "\tline(14);")

    def test_names_without_files_have_a_hint(self):
        folded = self.file("a.folded", "main;f 5\n")
        done = self.run_program(ALLO, "list", "f", folded)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"compile with -g", done.stderr)
        self.assertRegex(done.stdout.decode(), r"f  \(no file\)\nself 5, total 5")
        self.assertIn(b"no function matches", self.run_program(ALLO, "list", "nosuch", folded).stderr)


class GoToolPprof(Test):
    SANITIZED = False  # go and valgrind do the work here

    def theirs(self, index, pattern, file):
        """{function: {line: (flat, cum)}} as pprof -list prints them."""
        text = self.must("go", "tool", "pprof", "-symbolize=none", "-unit=B", f"-sample_index={index}",
                         f"-source_path={PROGRAMS}", "-list", pattern, file)
        found = {}
        for block in re.split(r"^ROUTINE =+ ", text, flags=re.M)[1:]:
            lines = re.findall(r"^ +(\.|\d+B?) +(\.|\d+B?) +(\d+):(.*)$", block, re.M)
            found[block.split(" in ")[0]] = {
                int(line): (int(flat.rstrip("B").replace(".", "0")), int(cum.rstrip("B").replace(".", "0")), source)
                for flat, cum, line, source in lines if (flat, cum) != (".", ".")}
        return found

    def test_a_program(self):
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=a.dhat", built("leaks.c"))
        self.allo("convert", "--trim-allocator", "a.dhat", "-o", "a.pb.gz")
        for metric, index in (("alloc_bytes", "alloc_space"), ("end_blocks", "end_objects")):
            ours = {function["name"]: {line["line"]: (line["self"], line["total"], line["source"])
                                       for line in function["lines"]}
                    for function in self.allo_json("list", "/./", "-n", 0, "-M", metric, "--source-dir", PROGRAMS,
                                                   "a.pb.gz")["functions"]}
            theirs = self.theirs(index, ".", "a.pb.gz")
            self.assertEqual(ours, {name: lines for name, lines in theirs.items() if lines})
            self.assertIn("leak_on", ours)
