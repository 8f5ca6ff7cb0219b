"""The first screen has the answer and nothing else; an empty answer names the question that has one."""
import os
import re
import shutil
import subprocess
import sys

from allotest import ALLO, HANG, Test, wait_until
from terminal import on_terminal

KEPT = """
#include <stdlib.h>
static void *volatile kept;
static void *all[1000];
__attribute__((noinline)) void fill(void) { for (int i = 0; i < 1000; i++) all[i] = malloc(500); }
__attribute__((noinline)) void brief(void) { free(kept = malloc(77)); }
__attribute__((noinline)) void forget(void) { kept = malloc(90000); }
int main(void)
{
    for (int i = 0; i < 4; i++) brief();
    fill();
    forget();
    for (int i = 0; i < 1000; i++) free(all[i]);
}
"""

CALLBACK = """
#include <functional>
#include <map>
#include <string>
static void *volatile kept;
__attribute__((noinline)) void remember() { kept = new char[1009]; }
__attribute__((noinline)) void dispatch(const std::function<void()> &what) { what(); }
int main() { dispatch([] { std::function<void()> inner = remember; inner(); }); }
"""


class OfOneProgram(Test):
    def setUp(self):
        super().setUp()
        self.must("gcc", "-O1", "-g", "-fno-optimize-sibling-calls", self.file("kept.c", KEPT), "-o", "kept")
        self.must(ALLO, "run", "-q", "-o", "kept.allo", "./kept")

    def test_a_few_temporary_blocks_have_no_table(self):
        text = self.allo("summary", "kept.allo")
        self.assertNotIn("most temporary", text)
        self.assertIn("most allocated", text)
        tables = {table["name"]: table for table in self.allo_json("summary", "kept.allo")["tables"]}
        self.assertEqual([(row["name"], row["value"]) for row in tables["temporary"]["rows"]], [("brief", 4)])

    def test_findings_of_low_severity_are_only_counted(self):
        self.assertIn("low", self.allo("findings", "kept.allo"))
        text = self.allo("summary", "kept.allo")
        self.assertRegex(text, r"\nfindings: 1 low\n'allo findings' shows them, with advice\n\n")

    def test_the_last_advice_is_the_viewer(self):
        text = self.allo("summary", "kept.allo")
        self.assertRegex(text, r"\nnext\n(  allo .*\n)*  allo view kept.allo +everything, in the browser\n$")
        done = self.run_program(ALLO, "run", "-f", "-o", "kept.allo", "./kept")
        self.assertTrue(done.stderr.decode().endswith("\n\n  allo summary kept.allo   read this first\n"
                                                      "  allo view kept.allo      explore it in the browser\n"), done.stderr)

    def test_limits_stand_apart_from_the_advice(self):
        done = self.run_program(ALLO, "run", "-f", "-o", "kept.allo", "--max-leaks", "1M", "./kept")
        self.assertRegex(done.stderr.decode(), r"browser\n\nok +leaks")

    def test_functions_that_only_call_others_are_not_in_top(self):
        self.assertRegex(self.allo("top", "kept.allo"), r"\n\d+ of \d+ functions hold 100.0%\n(.*\n)*\d+ more functions, 0 B ")
        self.assertNotIn("__libc_start", self.allo("top", "kept.allo"))
        for options in (["-n", "0"], ["--cum"]):
            self.assertIn("__libc_start", self.allo("top", *options, "kept.allo"))

    def test_without_a_match_in_this_metric_the_total_is_named(self):
        for command in (["top", "-F", "brief"], ["tree", "-F", "brief"], ["peek", "brief"], ["list", "brief"]):
            done = self.run_program(ALLO, *command, "kept.allo")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"note: no block that matches was live at the program's peak: '-M total' shows all allocations\n",
                          done.stderr, command)
            self.assertEqual(self.run_program(ALLO, *command, "-M", "total", "kept.allo").stderr, b"", command)
        for command in ("peek", "list"):
            said = self.run_program(ALLO, command, "nosuch", "kept.allo").stderr
            self.assertTrue(said.startswith(b'note: no function matches "nosuch"'), said)

    def test_a_program_that_was_removed_is_named(self):
        (self.tmp / "kept").rename(self.tmp / "moved")
        self.assertIn("\nkept was not found: its functions have no names (--debug-dir DIR)\n", self.allo("summary", "kept.allo"))
        (self.tmp / "copies").mkdir()
        (self.tmp / "moved").rename(self.tmp / "copies" / "kept")
        text = self.allo("summary", "--debug-dir", "copies", "kept.allo")
        self.assertNotIn("was not found", text)
        self.assertIn("  fill  kept.c:", text)

    def test_an_empty_answer_is_a_word(self):
        self.assertEqual(self.allo("leaks", "-F", "brief", "kept.allo"), "never freed: nothing\n")
        self.assertTrue(self.allo("leaks", "kept.allo").startswith("never freed: 87.9 KiB in 1 block\n"))
        self.assertTrue(self.allo("leaks", "--at", "peak", "kept.allo").startswith("live at the program's peak: 576."))

    def test_wrong_usage_names_the_right_one(self):
        for command, hint in ((["budget", "--baseline", "kept.allo", "kept.allo"], "--growth 5% limits the growth since"),
                              (["top", "--sort", "total", "kept.allo"], "'allo top --cum' by the\n"),
                              (["live", "kept.allo"], "'allo summary' shows it"),
                              (["ps", "kept.allo"], "'allo ps' takes no arguments, not 1 argument\n  hint: usage: allo ps [OPTION]...\n"),
                              (["./kept"], "'allo run PROGRAM' records one"),
                              (["sh", "-c", "ls"], "'allo run sh' records the program")):
            said = self.run_program(ALLO, *command).stderr.decode()
            self.assertIn(" ".join(hint.split()), " ".join(said.split()), command)


class WithoutFile(Test):
    COMMANDS = ("summary", "info", "top", "tree", "leaks", "hist", "timeline", "threads", "blocks", "events")

    def newest(self):
        """The input of all commands."""
        names = set()
        for command in self.COMMANDS:
            done = self.run_program(ALLO, command)
            self.assertEqual(done.returncode, 0, done.stderr)
            names.add(re.match(r"allo: showing (\S+), the newest recording here\n", done.stderr.decode())[1])
            self.assertEqual(done.stdout, self.run_program(ALLO, command, *names).stdout)
        self.assertEqual(self.run_program(ALLO, "top", "-q").stderr, b"")
        return names

    def test_the_newest_recording_is_shown(self):
        for command in (*self.COMMANDS, "flame"):
            said = self.allo_fails(command, status=2)
            self.assertIn(f"'allo {command}' without FILE reads the newest recording here, and there is no *.allo in", said)
            self.assertIn("Without FILE, it reads the newest recording", " ".join(self.allo(command, "--help").split()))
        self.must(ALLO, "run", "-q", "-o", "old.allo", "ls")
        self.must(ALLO, "run", "-q", "-o", "new.allo", "ls")
        os.utime(self.tmp / "old.allo", (1, 1))
        self.assertEqual(self.newest(), {"new.allo"})
        os.utime(self.tmp / "new.allo", (0, 0))
        self.assertEqual(self.newest(), {"old.allo"})

    def test_all_processes_of_a_run_are_shown(self):
        self.must(ALLO, "run", "-q", "-o", "two.allo", "sh", "-c", "ls; :")
        self.assertEqual(self.newest(), {"two.allo.d"})
        self.assertIn("2 recordings", self.allo("summary"))


class OfStacks(Test):
    SANITIZED = False

    def test_library_calls_in_a_row_are_one_line(self):
        self.must("g++", "-O0", "-g", self.file("callback.cpp", CALLBACK), "-o", "callback")
        self.must(ALLO, "run", "-q", "-o", "callback.allo", "./callback")
        leak = self.allo("leaks", "-F", "remember", "callback.allo").split("\n\n")[1]
        self.assertRegex(leak, r"\n    remember  callback.cpp:6\n    \.\.\. \d+ calls of libraries\n    main::\{lambda(#1)?\}  callback.cpp:8\n"
                               r"    \.\.\. \d+ calls of libraries\n    dispatch  callback.cpp:7\n    main  callback.cpp:8\n")
        self.assertNotIn("__libc_start", leak)
        whole = self.allo("leaks", "-F", "remember", "--depth", "0", "callback.allo")
        self.assertIn("std::function", whole)
        self.assertIn("__libc_start", whole)
        self.assertNotIn("calls of libraries", whole)

    def test_a_comparison_names_the_skipped_wrappers(self):
        """Internals of std:: are known by their names: a comparison has no folders."""
        source = self.file("grow.cpp", "#include <functional>\n#include <vector>\nstatic std::vector<std::function<long()>> all;\n"
                           "static void grow(int n) { for (long i = 0; i < n; i++) { long a = i, b = i, c = i; "
                           "all.push_back([a, b, c] { return a + b + c; }); } }\nint main(int count, char **) { grow(count * 100); }\n")
        self.must("g++", "-O2", "-g", source, "-o", "grow")
        for name, words in (("old", []), ("new", ["more", "and more"])):
            self.must(ALLO, "run", "-q", "-o", f"{name}.allo", "./grow", *words)
        text = self.allo("diff", "-M", "total", "old.allo", "new.allo")
        self.assertRegex(text, r"(?m)^ *\+.*  (grow|main)\b")
        self.assertNotRegex(text, r"(?m)^ *\+.*  (std::|_M_)")
        self.assertIn("skipped wrappers: C++ standard library", text)

    def test_calls_beyond_the_depth_are_counted(self):
        self.must("g++", "-O0", "-g", self.file("callback.cpp", CALLBACK), "-o", "callback")
        self.must(ALLO, "run", "-q", "-o", "callback.allo", "./callback")
        leak = self.allo("leaks", "-F", "remember", "--depth", "1", "callback.allo").split("\n\n")[1]
        frames = self.allo_json("leaks", "-F", "remember", "callback.allo")["leaks"][0]["frames"]
        inner = [frame["name"] for frame in frames].index("remember()")
        self.assertIn(f"\n    remember  callback.cpp:6\n    + {len(frames) - inner - 1} more: --depth 0 shows all\n", leak)


class OfProcesses(Test):
    def test_advice_has_two_columns(self):
        done = self.run_program(ALLO, "run", "-o", "two.allo", "sh", "-c", "ls; ls /; :")
        advice = done.stderr.decode().split("\n\n")[-1]
        self.assertRegex(advice, r"^  allo summary \S+ +the largest process: read this first\n"
                                 r"  allo summary \S+ +all processes together\n  allo view \S+ +explore the largest ")
        self.assertEqual(len({len(re.match(r"  \S+ \S+ \S+ +", line)[0]) for line in advice.splitlines()}), 1, advice)

    def test_advice_about_names_comes_after_the_numbers(self):
        self.must("gcc", "-O1", "-s", self.file("kept.c", KEPT), "-o", "kept")
        self.must(ALLO, "run", "-q", "-o", "two.allo", "sh", "-c", "./kept; ./kept; :")
        text = self.allo("two.allo.d")
        self.assertRegex(text, r"\n3 recordings, .*(\n.*)+\nkept is stripped: .*\n\n +peak +share ")

    def test_a_run_states_the_resident_memory_of_its_largest_process(self):
        self.must(ALLO, "run", "-q", "-o", "two.allo", "sh", "-c", f"'{sys.executable}' -c 'x = [str(i) for i in range(100000)]'; ls /; :")
        text = " ".join(self.allo("two.allo.d").split())
        self.assertRegex(text, r" never freed \S+ \(\d+\): malloc held [\d.]+ \w+ of [\d.]+ MiB resident at the peak\b.* peak share ")
        largest = self.allo_json("summary", "two.allo.d")["processes"][0]
        self.assertGreater(largest["resident"]["peak_bytes"], 4 << 20)

    def test_advice_about_names_is_whole(self):
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        self.must(ALLO, "run", "-q", "-o", "git.allo", "git", "--version")
        _, text = on_terminal(ALLO, "git.allo", cwd=self.tmp, columns=50, env={"PAGER": "cat", "NO_COLOR": "1"})
        if "is stripped" not in text:
            self.skipTest("git has names")
        said = re.search(r"is stripped: [^)]*\)", text)
        self.assertTrue(said, text)
        self.assertNotIn("…", said[0])

    def test_the_list_of_processes_fits_80_columns(self):
        folder = self.tmp / ("a folder with a long name " * 3)
        folder.mkdir()
        process = subprocess.Popen([ALLO, "run", "-q", "-o", folder / "wait.allo", sys.executable, "-c", "import sys; sys.stdin.read()"],
                                   stdin=subprocess.PIPE, cwd=self.tmp)
        self.addCleanup(process.communicate, timeout=HANG)
        def row():
            _, text = on_terminal(ALLO, "ps", env={"PAGER": "cat", "NO_COLOR": "1"})
            return next((line for line in text.splitlines() if line.rstrip().endswith("wait.allo")), None)
        self.assertLessEqual(len(wait_until(row, "the process is listed")), 80)
