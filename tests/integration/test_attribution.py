"""Sites: tables name the code that is responsible, not the last function before malloc."""
import json
import shutil
import subprocess
import unittest

from allotest import ALLO, ROOT, Test

WRAPPER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *take(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) void *make_node(void) { return memset(malloc(48), 1, 48); }
#define USER(n) __attribute__((noinline)) void *user##n(void) \\
    { void *node = make_node(); if (!node) abort(); return take(1000 + 100 * n); }
USER(1) USER(2) USER(3) USER(4) USER(5) USER(6) USER(7) USER(8) USER(9)
int main(void)
{
    void *all[] = { user1(), user2(), user3(), user4(), user5(), user6(), user7(), user8(), user9() };
    printf("%p\\n", all[0]);
}
"""

CACHE = """
use std::collections::HashMap;
struct Cache { pages: HashMap<u64, Vec<u8>> }
impl Cache {
    #[inline(never)]
    fn fill(&mut self, count: u64) { for i in 0..count { self.pages.insert(i, vec![7; 1009]); } }
}
fn main() { let mut cache = Cache { pages: HashMap::new() }; cache.fill(100); println!("{}", cache.pages.len()); }
"""

class SiteTest(Test):
    def build(self, source, compiler, *options):
        self.must(compiler, *options, "-o", self.tmp / "program", source)
        return self.tmp / "program"

    def record(self, *command, options=()):
        path = self.tmp / "recorded.allo"
        self.must(ALLO, "run", "-q", "-f", *options, "-o", path, "--", *command)
        return path

    def first_row(self, *arguments):
        return self.allo_json("top", *arguments)["rows"][0]

    def service(self, *options):
        source = ROOT / "tests" / "programs" / "service.cpp"
        return self.record(self.build(source, "g++", "-std=c++17", "-O1", "-g", "-pthread"), options=options)


class Attribution(SiteTest):
    def test_a_summary_of_a_cpp_service_names_its_functions(self):
        text = self.allo("summary", self.service())
        for table, function in (("held at the peak", "burst > std::vector<char>::insert  service.cpp:"),
                                ("most temporary", "parse > ")):
            rows = text[text.index(table):].splitlines()
            self.assertIn(function, rows[2])
        leaks = text[text.index("never freed: "):text.index("most allocated")]
        self.assertIn("open_session  service.cpp:", leaks)
        self.assertNotIn("_M_", leaks)
        self.assertIn("skipped wrappers: C++ standard library", text)
        self.assertIn("; --wrappers=none shows them", text)

    def test_leaks_begin_with_the_responsible_function(self):
        recording = self.service()
        text = self.allo("leaks", "-n", "0", "--depth", "2", recording)
        self.assertRegex(text, r"\n    \(via std::operator\+<char> > .*\)\n    open_session  service.cpp:\d+\n    main")
        for leak in self.allo_json("leaks", "-n", "0", recording)["leaks"]:
            names = [frame["name"] for frame in leak["frames"]]
            if any("open_session" in name for name in names):
                self.assertIn("open_session", names[leak["site"]])

    def test_all_wrappers_can_be_shown(self):
        recording = self.service()
        for options in (["--wrappers=none"], ["--by", "leaf"]):
            result = self.allo_json("top", *options, recording)
            self.assertIn("std::", result["rows"][0]["name"])
            self.assertEqual(result["skipped"], [])

    def test_sums_do_not_depend_on_attribution(self):
        recording = self.service()
        results = [self.allo_json("top", "-n", "0", f"--wrappers={how}", recording) for how in ("auto", "known", "none")]
        self.assertEqual({sum(row["self"] for row in result["rows"]) for result in results}, {results[0]["sum"]})

    def test_mine_hides_libraries(self):
        rows = self.allo_json("top", "-n", "0", "--mine", self.service())["rows"]
        self.assertEqual([row["name"] for row in rows if row["name"].startswith(("std::", "__libc", "_dl"))], [])
        self.assertIn("burst", rows[0]["name"])

    def test_a_wrapper_is_detected_by_its_shape_and_a_constructor_stays(self):
        recording = self.record(self.build(self.file("wrap.c", WRAPPER), "gcc", "-O1", "-g", "-fno-optimize-sibling-calls"))
        result = self.allo_json("top", "-n", "0", "-M", "alloc", recording)
        own = {row["name"]: row["self"] for row in result["rows"]}
        self.assertIn("take", result["skipped"])
        self.assertEqual(own["user9"], 1900)
        self.assertEqual(own["make_node"], 9 * 48)
        self.assertNotIn("take", own)
        known = {row["name"]: row["self"] for row in
                 self.allo_json("top", "-n", "0", "-M", "alloc", "--wrappers=known", recording)["rows"]}
        self.assertEqual(known["take"], sum(1000 + 100 * n for n in range(1, 10)))
        more = {row["name"]: row["self"] for row in
                self.allo_json("top", "-n", "0", "-M", "alloc", "--alloc-fn", "make_node", recording)["rows"]}
        self.assertEqual(more["user9"], 1948)

    def test_a_diff_and_a_budget_name_the_function_that_grew(self):
        base = self.record("ls").rename(self.tmp / "base.allo")
        grown = self.service()
        self.assertIn("burst", self.allo_json("diff", base, grown)["rows"][0]["name"])
        done = self.run_program(ALLO, "budget", "--max-peak", "1M", grown)
        self.assertIn(b"mostly burst", done.stdout)

    def test_live_shows_sites(self):
        rows = self.allo_json("live", "--once", "-n", "100", self.service("--raw"))["sites"]
        names = {row["function"] for row in rows}
        self.assertTrue(any("open_session" in name for name in names), names)
        self.assertFalse([name for name in names if name.startswith("std::")])

    @unittest.skipUnless(shutil.which("rustc"), "needs rustc")
    def test_rust_containers_belong_to_their_users(self):
        program = self.build(self.file("cache.rs", CACHE), "rustc", "-g")
        row = self.first_row(self.record(program))
        self.assertEqual(row["name"].split("::", 1)[1], "Cache::fill")


class Colors(SiteTest):
    """Own code is bold and libraries are dim, in all tables and trees."""

    def test_own_code_stands_out(self):
        self.record("ls").rename(self.tmp / "base.allo")
        recording = self.service()
        for command in (["top", "-n", "0", "--wrappers=none"], ["tree", "--min", "0"], ["leaks", "-n", "0", "--depth", "0"],
                        ["summary", "-n", "0", "--wrappers=none"], ["peek", "/./"],
                        ["diff", "-n", "0", "--wrappers=none", self.tmp / "base.allo"]):
            with self.subTest(command[0]):
                text = self.allo(*command, recording, "--color", "always", "--no-pager")
                self.assertRegex(text, r"\033\[2m *(std::|__libc_start)")
                self.assertRegex(text, r"\033\[1m *(burst|open_session|main)\b")
                self.assertNotRegex(text, r"\033\[1m *std::")
                self.assertNotRegex(text, r"\033\[2m *(burst|open_session|main)\b")
                self.assertNotIn("\033", self.allo(*command, recording))

    def test_modules_are_told_apart(self):
        text = self.allo("top", "-n", "0", "--by", "module", "--wrappers=none", self.service(), "--color", "always")
        self.assertRegex(text, r"\033\[1m\S*program\b")
        self.assertRegex(text, r"\033\[2m\S*libstdc\+\+")


class Budgets(Test):
    """The reason of an exceeded limit is a site, too."""

    def setUp(self):
        super().setUp()
        self.must("gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", "wrap", self.file("wrap.c", WRAPPER))
        self.must(ALLO, "run", "-q", "-o", "wrap.allo", "./wrap")

    def reason(self, *options):
        done = self.run_program(ALLO, "budget", "--json", "--max-total", "0", *options, "wrap.allo")
        self.assertEqual(done.returncode, 3, done.stderr)
        limit = json.loads(done.stdout)["limits"][0]
        return limit["mostly"], limit["mostly_value"]

    def test_options_decide_on_the_site(self):
        taken = sum(1000 + 100 * n for n in range(1, 10))
        self.assertEqual(self.reason("--wrappers=known"), ("take", taken))
        self.assertNotEqual(self.reason()[0], "take")
        self.assertEqual(self.reason("--wrappers=known", "--alloc-fn", "take", "-F", "fn:user9"), ("user9", 1900))

    def test_a_configuration_decides_on_the_site(self):
        self.file("allo.conf", "wrappers = known\n")
        self.assertEqual(self.reason()[0], "take")
        self.file("allo.conf", "wrappers = known\nalloc-fn = take\n")
        self.assertNotEqual(self.reason()[0], "take")
        self.assertEqual(self.reason("-F", "fn:user9"), ("user9", 1900))
        self.assertNotEqual(self.reason("--wrappers=none")[0], "user9")


class Configuration(Test):
    def setUp(self):
        super().setUp()
        source = self.file("wrap.c", WRAPPER)
        self.must("gcc", "-O1", "-g", "-o", self.tmp / "wrap", source)
        self.recording = self.tmp / "wrap.allo"
        self.must(ALLO, "run", "-q", "-o", self.recording, "--", self.tmp / "wrap")
        self.inner = self.tmp / "one" / "two"
        self.inner.mkdir(parents=True)

    def top(self, *options):
        return subprocess.run([ALLO, "top", "-n", "0", "-M", "alloc", *options, self.recording], cwd=self.inner,
                              capture_output=True, text=True, check=False)

    def test_a_file_in_a_parent_directory_stores_options(self):
        self.assertIn("make_node", self.top().stdout)
        self.file("one/allo.conf", "# ours\nwrappers = known\nalloc-fn = make_node\n")
        done = self.top()
        self.assertRegex(done.stdout, r"skipped wrappers: .*make_node;")
        self.assertRegex(done.stdout, r"(?m) take ")
        self.assertNotRegex(self.top("--wrappers=auto").stdout, r"(?m) take ")

    def test_mistakes_are_named_with_file_and_line(self):
        for text, message in (("wrappers = known\n\ncolour = red\n", "allo.conf:3:1: unknown key \"colour\""),
                              ("wrappers = some\n", "allo.conf:1:1: wrappers is auto, known or none"),
                              ("alloc-fn\n", "allo.conf:1:1: expected \"key = value\""),
                              ("x" * 70000, "allo.conf: larger than 64 KiB")):
            self.file("allo.conf", text)
            done = self.top()
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
