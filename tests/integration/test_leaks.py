"""allo leaks: blocks that were never freed, against DHAT, memcheck and LeakSanitizer."""
import csv
import io
import re
import shutil
import unittest

from allotest import ALLO, ENVIRONMENT, GOLDEN, Test
from recordings import CaptureTest, PROGRAMS, built

# The leaks of tests/programs/leaks.c: function: (bytes, blocks).
LEAKS = {"leak_at_start": (7 * 1009, 7), "leak_on": (30 * 101, 30), "leak_in_the_middle": (3 * 4099, 3)}
TOTAL = (sum(leak[0] for leak in LEAKS.values()), sum(leak[1] for leak in LEAKS.values()))


def by_function(found):
    """{function: leak}, by the one that called filled()."""
    leaks = {}
    for leak in found["leaks"]:
        names = [frame["name"] for frame in leak["frames"]]
        leaks[next(name for name in names if name in LEAKS)] = leak
    return leaks


class Recording(CaptureTest):
    def setUp(self):
        super().setUp()
        self.allo("run", "-q", "-o", "a.allo", built("leaks.c"), 10)

    def test_leaks_are_those_of_the_program(self):
        found = self.allo_json("leaks", "a.allo")
        self.assertEqual((found["sum"], found["sum_blocks"]), TOTAL)
        self.assertEqual({name: (leak["total"], leak["total_blocks"]) for name, leak in by_function(found).items()},
                         LEAKS)
        self.assertEqual(found["leak_count"], 3)

    def test_growth_is_distinguished_from_the_start(self):
        leaks = by_function(self.allo_json("leaks", "a.allo"))
        self.assertEqual({name: leak["kind"] for name, leak in leaks.items()},
                         {"leak_at_start": "start", "leak_on": "growing", "leak_in_the_middle": "later"})
        for name, leak in leaks.items():
            self.assertEqual(sum(leak["births"]), LEAKS[name][1])
            self.assertLessEqual(leak["first_ns"], leak["last_ns"])
        # Steps take 10 ms each; the middle is in the middle, whatever the machine does.
        self.assertLess(leaks["leak_on"]["first_ns"], leaks["leak_in_the_middle"]["first_ns"])
        self.assertLess(leaks["leak_in_the_middle"]["last_ns"], leaks["leak_on"]["last_ns"])
        self.assertGreater(leaks["leak_on"]["last_ns"] - leaks["leak_on"]["first_ns"], 29 * 10_000_000)

    def test_a_pause_at_the_end_changes_no_kind(self):
        source = self.file("grow.c", "#include <stdlib.h>\n#include <unistd.h>\n"
                                     "static void leak_on(void) { *(volatile char *)malloc(101) = 1; }\n"
                                     "int main(int count, char **words) { for (int i = 0; i < 40; i++) { leak_on(); usleep(5000); }\n"
                                     " usleep(count > 1 ? 1000 * atoi(words[1]) : 0); return 0; }\n")
        self.must("gcc", "-O0", "-g", "-w", source, "-o", "grow")
        for pause in (0, 2000):
            self.allo("run", "-q", "-f", "-o", "grow.allo", "./grow", pause)
            leak = by_function(self.allo_json("leaks", "grow.allo"))["leak_on"]
            self.assertEqual((leak["kind"], leak["total"]), ("growing", 40 * 101), leak)

    def test_a_pause_within_a_short_run_changes_no_kind(self):
        source = self.file("stop.c", "#include <stdlib.h>\n#include <unistd.h>\n"
                                     "static void leak_on(void) { *(volatile char *)malloc(101) = 1; }\n"
                                     "int main(int count, char **words) { for (int i = 0; i < 20000; i++) {\n"
                                     " if (i == atoi(words[1])) usleep(100000);\n"
                                     " if (i % 20 == 0) leak_on(); free(malloc(50)); } return count != 2; }\n")
        self.must("gcc", "-O0", "-g", "-w", source, "-o", "stop")
        for step in (20, 10000, 19990):
            self.allo("run", "-q", "-f", "-o", "stop.allo", "./stop", step)
            leak = by_function(self.allo_json("leaks", "stop.allo"))["leak_on"]
            self.assertEqual((leak["kind"], leak["total"]), ("growing", 1000 * 101), leak)

    def test_only_some_kinds(self):
        for kind, name in (("start", "leak_at_start"), ("growing", "leak_on"), ("later", "leak_in_the_middle")):
            found = self.allo_json("leaks", "--only", kind, "a.allo")
            self.assertEqual(list(by_function(found)), [name])
            self.assertEqual((found["sum"], found["sum_blocks"]), LEAKS[name])
        self.assertEqual(self.allo_json("leaks", "--only", "start,later", "a.allo")["leak_count"], 2)
        done = self.run_program(ALLO, "leaks", "--exit-code", "--only", "growing", "-I", "leak_on", "a.allo")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_page(self):
        text = self.allo("leaks", "a.allo")
        self.assertRegex(text, r"^never freed: 21\.9 KiB in 40 blocks\n"
                               r"at start 6\.90 KiB in 1 stack; growing 2\.96 KiB in 1 stack; later 12\.0 KiB in 1 stack\n\n"
                               r"12\.0 KiB in 3 blocks \(54\.9%\), later: from .* to .*\n"
                               r"    filled  blocks\.h:\d+\n    leak_in_the_middle  leaks\.c:\d+\n    main  leaks\.c:\d+\n")
        self.assertNotIn("malloc", text)
        self.assertIn("+ ", self.allo("leaks", "--depth", 2, "a.allo"))
        self.assertIn("\n2 more stacks, ", self.allo("leaks", "-n", 1, "a.allo"))

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.allo("leaks", "--csv", "a.allo"))))
        self.assertEqual([(int(row["total"]), int(row["blocks"]), row["kind"]) for row in rows],
                         [(3 * 4099, 3, "later"), (7 * 1009, 7, "start"), (30 * 101, 30, "growing")])
        self.assertTrue(rows[0]["stack"].endswith("main;leak_in_the_middle;filled"), rows[0])

    def test_a_part_of_the_time(self):
        # Blocks that are in use just then are not looked at.
        whole = by_function(self.allo_json("leaks", "a.allo"))
        ns = (whole["leak_at_start"]["last_ns"] + whole["leak_on"]["first_ns"]) // 2
        found = self.allo_json("leaks", "--range", f"..{ns}ns", "-F", "leak_", "a.allo")
        self.assertEqual(list(by_function(found)), ["leak_at_start"])
        at = self.allo_json("leaks", "--at", f"{ns}ns", "-F", "leak_", "a.allo")
        self.assertEqual(at["sum"], found["sum"])
        self.assertNotIn("kind", at["leaks"][0])

    def test_several_recordings_have_no_common_time(self):
        found = self.allo_json("leaks", "a.allo", "a.allo")
        self.assertEqual((found["sum"], found["sum_blocks"]), (2 * TOTAL[0], 2 * TOTAL[1]))
        self.assertNotIn("kind", found["leaks"][0])
        self.assertIn("--only needs a single recording",
                      self.allo_fails("leaks", "--only", "growing", "a.allo", "a.allo", status=2))

    def test_a_cut_recording_has_leaks_too(self):
        data = (self.tmp / "a.allo").read_bytes()
        path = self.file("cut.allo", data[:-1])
        self.assertEqual(self.run_program(ALLO, "leaks", path).returncode, 0)

    def test_leaks_of_a_recording_without_events_are_not_known(self):
        data = (self.tmp / "a.allo").read_bytes()
        for length in (10, 100, 200):
            error = self.allo_fails("leaks", self.file("cut.allo", data[:length]))
            self.assertIn(f"cut.allo: the file ends after {length} bytes: no event can be read", error)


class LanguageRuntimes(CaptureTest):
    """Their libraries keep memory until the end of the process: it is no leak."""

    def assert_clean(self, *command):
        """Prints something into a pipe; all that is left belongs to the language."""
        self.must(ALLO, "run", "-q", "-f", "-o", "a.allo", "--max-leaks", 0, "--", *command)
        found = self.allo_json("leaks", "a.allo")
        self.assertGreater(found["sum"], 0)
        self.assertEqual((found["runtime"], found["runtime_blocks"]), (found["sum"], found["sum_blocks"]))
        self.assertEqual({leak["kind"] for leak in found["leaks"]}, {"runtime"})

    def test_the_buffers_of_stdin_and_stdout(self):
        source = self.file("echo.c", "#include <stdio.h>\nint main(void) { char line[80];\n"
                                     " if (!freopen(\"echo.c\", \"r\", stdin)) return 1;\n"
                                     " while (fgets(line, sizeof(line), stdin)) printf(\"%s\", line); return 0; }\n")
        self.must("gcc", "-g", source, "-o", "echo")
        self.assert_clean("./echo")

    @unittest.skipUnless(shutil.which("rustc"), "rustc is not installed")
    def test_the_main_thread_of_rust(self):
        source = self.file("sum.rs", "fn main() { let all: Vec<String> = (0..99).map(|i| i.to_string()).collect();\n"
                                     " println!(\"{}\", all.concat()); }\n")
        for flags in (["-g"], ["-O"]):
            self.must("rustc", *flags, source, "-o", "sum")
            self.assert_clean("./sum")

    def test_a_stream_that_is_not_closed_is_a_leak(self):
        source = self.file("open.c", "#include <stdio.h>\nint main(void) {\n"
                                     " for (int i = 0; i < 7; i++) fgetc(fopen(\"open.c\", \"r\")); return 0; }\n")
        self.must("gcc", "-g", source, "-o", "open")
        self.allo("run", "-q", "-f", "-o", "a.allo", "./open")
        leaks = self.allo_json("leaks", "a.allo")["leaks"]
        self.assertEqual([(leak["total_blocks"], leak["kind"] == "runtime") for leak in leaks], [(7, False), (7, True)])

    def build(self, leak, *flags):
        self.must("g++", "-O1", "-g", *flags, self.file("clean.cpp",
                  "#include <string>\n#include <vector>\nstatic volatile int leaks = %d;\n"
                  "static char *volatile kept;\n"
                  "int main() { std::vector<std::string> names; if (leaks) kept = new char[5003];\n"
                  " for (int i = 0; i < 1000; i++) names.push_back(std::string(100, 'a'));\n"
                  " return names.size() != 1000; }\n" % leak), "-o", "clean")

    def check_limits(self, recording):
        """Returns its leaks."""
        self.allo("leaks", "--exit-code", recording)
        self.assertRegex(self.allo("budget", "--max-leaks", 0, recording),
                         r"^ok  leaks  0 B  limit 0 B  plus 7\d\.\d KiB of language runtimes\n")
        limit = self.allo_json("budget", "--max-leaks", 0, recording)["limits"][0]
        self.assertEqual((limit["measured"], limit["ok"]), (0, True))
        found = self.allo_json("leaks", recording)
        self.assertEqual((found["runtime"], found["runtime_blocks"]), (found["sum"], found["sum_blocks"]))
        self.assertEqual(limit["runtime"], found["runtime"])
        return found

    def test_a_clean_cpp_program_passes_limits_on_leaks(self):
        self.build(leak=0)
        said = self.must(ALLO, "run", "-q", "-o", "a.allo", "--max-leaks", 0, "--", "./clean")
        self.assertEqual(said, "")
        found = self.check_limits("a.allo")
        self.assertEqual([leak["kind"] for leak in found["leaks"]], ["runtime"])
        self.assertRegex(self.allo("leaks", "a.allo"), r"^never freed: nothing\n"
                                                       r"plus 7\d\.\d KiB of language runtimes in 1 stack\n")
        # Other formats and sums of files have no times.
        self.allo("convert", "-q", "a.allo", "-o", "a.pb.gz")
        self.allo("leaks", "--exit-code", "a.pb.gz")
        self.allo("leaks", "--exit-code", "a.allo", "a.allo")

    def test_the_pool_of_a_static_library_is_recognised(self):
        self.build(0, "-static-libstdc++", "-static-libgcc")
        self.allo("run", "-q", "-o", "a.allo", "./clean")
        self.check_limits("a.allo")

    def test_the_overview_leaves_it_out_and_names_it(self):
        self.build(leak=0)
        self.allo("run", "-q", "-o", "a.allo", "./clean")
        text = self.allo("summary", "a.allo")
        self.assertRegex(text, r", 0 B never freed, plus 7\d\.\d KiB of language runtimes\n")
        self.assertRegex(text, r"\nnever freed: nothing, plus 7\d\.\d KiB of language runtimes\n\n")
        self.assertNotIn("allo leaks", text)
        page = self.allo_json("summary", "a.allo")
        table = next(table for table in page["tables"] if table["name"] == "end")
        self.assertEqual((table["sum"], table["runtime"], table["rows"]), (page["end_bytes"], page["end_bytes"], []))

    def test_a_leak_counts_without_it(self):
        self.build(leak=1)
        self.allo("run", "-q", "-o", "a.allo", "./clean")
        self.assertEqual(self.run_program(ALLO, "leaks", "--exit-code", "a.allo").returncode, 3)
        done = self.run_program(ALLO, "budget", "--max-leaks", 0, "a.allo")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout.decode(), r"^FAIL  leaks  4\.89 KiB  limit 0 B  4\.89 KiB over, mostly main  clean\.cpp "
                                               r"\(4\.89 KiB\), plus 7\d\.\d KiB of language runtimes\n")
        text = self.allo("summary", "a.allo")
        self.assertRegex(text, r"\nnever freed: 4\.89 KiB in 1 block, plus 7\d\.\d KiB of language runtimes\n.*\n"
                               r"4\.89 KiB  100\.0% +1  main  clean\.cpp:\d+\n\n")


class Others(Test):
    """The same program by tools that are not ours."""
    SANITIZED = False

    def test_dhat_counts_the_same(self):
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=d.out", built("leaks.c"))
        found = self.allo_json("leaks", "d.out")
        self.assertEqual((found["sum"], found["sum_blocks"]), TOTAL)
        self.assertEqual({name: (leak["total"], leak["total_blocks"]) for name, leak in by_function(found).items()},
                         LEAKS)
        self.assertNotIn("kind", found["leaks"][0])

    def test_memcheck_counts_the_same(self):
        done = self.run_program("valgrind", "--leak-check=full", built("leaks.c"))
        said = done.stderr.decode()
        lost = re.search(r"definitely lost: ([\d,]+) bytes in ([\d,]+) blocks", said)
        self.assertEqual(tuple(int(n.replace(",", "")) for n in lost.groups()), TOTAL, said)


class Suppressions(Test):
    """The same suppressions, by LeakSanitizer and by us: the same stacks are left."""
    SANITIZED = False

    PATTERNS = ["leak_on", "leak_*", "^leak_on$", "leak_on$", "on$", "^on", "*on", "leak_a*t$", "^leak*middle$",
                "leaks.c", "blocks.h", "programs/leaks.c$", "^leaks.c", "filled", "lsan_leaks", "nosuch", "le*at*st",
                "t*t*t$", "leak_at_start*$", "at_start$", "Leak_on", "main"]

    def setUp(self):
        super().setUp()
        # Calls stay calls, and frames frames: LeakSanitizer's quick unwinder goes by their pointers.
        self.lsan = built("leaks.c", "-fsanitize=leak", "-fno-omit-frame-pointer", "-fno-inline", name="lsan_leaks")
        plain = built("leaks.c", "-fno-omit-frame-pointer", "-fno-inline", name="plain_lsan_leaks")
        self.allo("run", "-q", "-o", "a.allo", plain)

    def theirs(self, suppressions):
        """Functions that LeakSanitizer reports as leaking."""
        done = self.run_program(self.lsan, env={**ENVIRONMENT, "LSAN_OPTIONS": f"suppressions={suppressions}"})
        said = done.stderr.decode()
        self.assertEqual(done.returncode != 0, "detected memory leaks" in said, said)
        return {name for name in LEAKS if re.search(rf" in {name} ", said)}

    def ours(self, suppressions):
        found = self.allo_json("leaks", "-q", "--suppressions", suppressions, "a.allo")
        return set(by_function(found)), found

    def test_patterns(self):
        some = 0
        for pattern in self.PATTERNS:
            with self.subTest(pattern):
                path = self.file("x.supp", f"# {pattern}\nleak:{pattern}\n")
                theirs = self.theirs(path)
                self.assertEqual(self.ours(path)[0], theirs)
                some += 0 < len(theirs) < 3
        self.assertGreater(some, 3)

    def test_hidden_leaks_are_counted(self):
        path = self.file("x.supp", "leak:leak_on\n\n# none\nleak:nosuch\nleak:leak_at\n")
        left, found = self.ours(path)
        self.assertEqual(left, {"leak_in_the_middle"})
        self.assertEqual((found["sum"], found["sum_blocks"]), LEAKS["leak_in_the_middle"])
        self.assertEqual([(s["pattern"], s["line"], s["hidden"], s["hidden_blocks"]) for s in found["suppressions"]],
                         [("leak_on", 1, *LEAKS["leak_on"]), ("nosuch", 4, 0, 0),
                          ("leak_at", 5, *LEAKS["leak_at_start"])])
        done = self.run_program(ALLO, "leaks", "--suppressions", path, "a.allo")
        self.assertIn(b"x.supp:4: leak:nosuch has hidden nothing", done.stderr)
        self.assertRegex(done.stdout.decode(), r"2\.96 KiB +30 +\d +leak:leak_on\n")
        # LeakSanitizer counts the same.
        said = self.run_program(self.lsan, env={
            **ENVIRONMENT, "LSAN_OPTIONS": f"suppressions={path}:print_suppressions=1"}).stderr.decode()
        used = re.findall(r"^ +(\d+) +(\d+) (\w+)$", said, re.M)
        self.assertEqual({(int(count), int(size), name) for count, size, name in used},
                         {(30, 3030, "leak_on"), (7, 7063, "leak_at")})

    def test_status_3_only_if_anything_is_left(self):
        some, all_ = self.file("some.supp", "leak:leak_on\n"), self.file("all.supp", "leak:at_start\nleak:middle\n")
        for options, status in (([], 3), (["--suppressions", some], 3),
                                (["--suppressions", some, "--suppressions", all_], 0)):
            done = self.run_program(ALLO, "leaks", "--exit-code", *options, "a.allo")
            self.assertEqual((done.returncode, done.stderr), (status, b""))
        self.allo("leaks", "a.allo")


class Profiles(Test):
    def test_a_line_that_is_no_suppression_is_named(self):
        for text, line in (("leak:a\nrace:b\n", 2), ("{\n  name\n}\n", 1), ("\n\nfoo\n", 3)):
            path = self.file("x.supp", text)
            error = self.allo_fails("leaks", "--suppressions", path, GOLDEN / "dhat" / "valgrind-heap.json")
            self.assertIn(f"x.supp:{line}:1: expected \"leak:PATTERN\"", error)
        self.assertIn("No such file", self.allo_fails("leaks", "--suppressions", "nosuch",
                                                      GOLDEN / "dhat" / "valgrind-heap.json"))

    def test_live_blocks_of_a_profile(self):
        found = self.allo_json("leaks", GOLDEN / "pprof" / "go-heap.pb.gz")
        self.assertEqual(found["metric"]["name"], "live_bytes")
        self.assertGreater(found["leak_count"], 0)

    def test_a_profile_that_does_not_tell_is_refused(self):
        folded = self.file("a.folded", "main;f 5\n")
        self.assertIn("has no leak data", self.allo_fails("leaks", folded))

    def test_nothing_left_is_no_failure(self):
        heap = self.tmp / "none.pb.gz"
        self.allo("convert", "-q", GOLDEN / "dhat" / "valgrind-heap.json", "-I", "/./", "-o", heap)
        done = self.run_program(ALLO, "leaks", "--exit-code", heap)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"never freed: nothing\n", done.stdout)
