"""Sites: tables name the code that is responsible, not the last function before malloc."""
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from allotest import ALLO, ENVIRONMENT, Test
from recordings import PROGRAMS, copy_compiled

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

# Three functions around one, and a function that three busy functions call.
LAYERED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
APART static void *obtain(size_t size) { void *block = malloc(size); if (!block) abort(); return block; }
APART void *obtain_filled(size_t size) { return memset(obtain(size), 1, size); }
APART void *obtain_copy(const void *old, size_t size) { return memcpy(obtain(size), old, size); }
APART void *obtain_text(const char *text) { return strcpy(obtain(strlen(text) + 1), text); }
APART static void *shared(size_t size) { return memset(malloc(size), 2, size); }
static void *all[64];
static int count;
#define USER(n, call) APART void user##n(void) { all[count++] = call; all[count++] = memset(malloc(n), 3, n); }
USER(11, obtain_filled(511)) USER(12, obtain_filled(512)) USER(13, obtain_filled(513))
USER(14, obtain_copy(all, 314)) USER(15, obtain_copy(all, 315)) USER(16, obtain_text("sixteen")) USER(17, obtain_text("seven"))
USER(21, shared(1021)) USER(22, shared(1022)) USER(23, shared(1023)) USER(24, shared(1024))
int main(void)
{
    user11(); user12(); user13(); user14(); user15(); user16(); user17(); user21(); user22(); user23(); user24();
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
        return copy_compiled(self.tmp / "program", source, compiler, *options)

    def record(self, *command, options=()):
        path = self.tmp / "recorded.allo"
        self.must(ALLO, "run", "-q", "-f", *options, "-o", path, "--", *command)
        return path

    def first_row(self, *arguments):
        return self.allo_json("top", *arguments)["rows"][0]

    def service(self, *options):
        return self.record(self.build(PROGRAMS / "service.cpp", "g++", "-std=c++17", "-O1", "-g", "-pthread"), options=options)


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

    def test_a_wrapper_may_have_the_name_of_tables(self):
        source = self.file("wrapper.cpp", "#include <cstdlib>\nnamespace app {\n__attribute__((noinline)) void *burst(int n) { return malloc(n); }\n}\n"
                           "void *volatile kept;\nint main() { kept = app::burst(100000); }\n")
        recording = self.record(self.build(source, "g++", "-O1", "-g"))
        for name in ("app::burst", "app::burst(int)"):
            result = self.allo_json("top", "--alloc-fn", name, recording)
            self.assertEqual(result["rows"][0]["name"], "main", name)
            self.assertIn("app::burst", result["skipped"])

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

    def test_compression_belongs_to_its_user(self):
        if not list(pathlib.Path("/usr/include").glob("zlib.h")):
            self.skipTest("zlib's headers are not installed")
        self.file("pack.c", "#include <zlib.h>\n__attribute__((noinline)) static int pack(void) { static z_stream stream; "
                  "return deflateInit(&stream, 9); }\nint main(void) { return pack() != Z_OK; }\n")
        row = self.first_row(self.record(self.build(self.tmp / "pack.c", "gcc", "-g", "-O1", "-Wl,--no-as-needed", "-lz")))
        self.assertEqual(row["name"], "pack")

    def test_layers_of_wrappers_are_detected(self):
        """The functions around one are few, and each of them has few callers."""
        self.file("layered.c", LAYERED)
        recording = self.record(self.build(self.tmp / "layered.c", "gcc", "-O1", "-g", "-fno-optimize-sibling-calls"))
        result = self.allo_json("top", "-n", "0", "-M", "alloc", "--by", "function", recording)
        own = {row["name"]: row["self"] for row in result["rows"] if row["self"]}
        self.assertIn("obtain", result["skipped"])
        self.assertNotIn("shared", result["skipped"])
        self.assertEqual(own["obtain_filled"], 511 + 512 + 513)
        self.assertEqual(own["shared"], 1021 + 1022 + 1023 + 1024)
        self.assertEqual([own[f"user{n}"] for n in (11, 17, 21, 24)], [11, 17, 21, 24])

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


CONTAINERS = """
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#define APART __attribute__((noinline)) static
static std::map<int, std::string> by_number;
static std::unordered_map<std::string, int> by_name;
static std::vector<std::vector<int>> rows;
static std::deque<long> queue;
static std::list<std::string> texts;
static std::vector<std::shared_ptr<std::string>> shared;
static std::vector<std::unique_ptr<int[]>> unique;
static std::vector<std::function<int()>> functions;
static std::string kept;
APART void fill_map() { for (int i = 0; i < 900; i++) by_number[i] = std::string(50, 'x'); }
APART void fill_table() { for (int i = 0; i < 900; i++) by_name["a name that is long enough " + std::to_string(i)] = i; }
APART void fill_rows() { for (int i = 0; i < 300; i++) { rows.emplace_back(); rows.back().assign(100, i); } }
APART void fill_queue() { for (int i = 0; i < 9000; i++) queue.push_back(i); }
APART void fill_list() { for (int i = 0; i < 500; i++) texts.push_back(std::string(70, 'y')); }
APART void fill_shared() { for (int i = 0; i < 500; i++) shared.push_back(std::make_shared<std::string>(60, 'z')); }
APART void fill_unique() { for (int i = 0; i < 500; i++) unique.push_back(std::make_unique<int[]>(20)); }
APART void fill_functions()
{
    for (long i = 0; i < 500; i++) { std::string s(40, 'q'); functions.push_back([s, i] { return (int)(s.size() + i); }); }
}
APART void fill_stream() { std::ostringstream out; for (int i = 0; i < 5000; i++) out << i << ' '; kept = out.str(); }
APART void fill_in_thread() { std::thread([] { fill_list(); }).join(); }
int main()
{
    fill_map(); fill_table(); fill_rows(); fill_queue(); fill_list();
    fill_shared(); fill_unique(); fill_functions(); fill_stream(); fill_in_thread();
}
"""

RUST_CONTAINERS = """
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
#[inline(never)]
fn fill_map() -> HashMap<u32, String> { let mut m = HashMap::new(); for i in 0..900 { m.insert(i, format!("value {i}")); } m }
#[inline(never)]
fn fill_tree() -> BTreeMap<u32, Vec<u8>> { let mut m = BTreeMap::new(); for i in 0..500 { m.insert(i, vec![1; 100]); } m }
#[inline(never)]
fn fill_queue() -> VecDeque<u64> { let mut q = VecDeque::new(); for i in 0..9000 { q.push_back(i); } q }
#[inline(never)]
fn fill_texts() -> Vec<String> { let mut v = Vec::new(); for i in 0..200 { v.push("abc".repeat(i + 50)); } v }
#[inline(never)]
fn fill_shared() -> Vec<Rc<String>> { let mut v = Vec::new(); for i in 0..300 { v.push(Rc::new(i.to_string() + "abcdefghijklmnop")); } v }
#[inline(never)]
fn fill_joined() -> String { let mut v = Vec::new(); for i in 0..500 { v.push(format!("{}", i)); } v.sort(); v.join(",") }
#[inline(never)]
fn fill_both() -> Vec<u8> { [vec![1u8; 9000], vec![2u8; 9000]].concat() }
#[inline(never)]
fn fill_in_thread() -> usize { std::thread::spawn(|| fill_tree().len()).join().unwrap() }
fn main() {
    let all = (fill_map(), fill_tree(), fill_queue(), fill_texts(), fill_shared(), fill_joined(), fill_both());
    println!("{} {} {}", all.0.len() + all.1.len() + all.2.len(), all.3.len() + all.4.len(), all.5.len() + all.6.len() + fill_in_thread());
}
"""


class Packages(SiteTest):
    """Functions of scripts belong to the package or folder of their file, which is shown as their module."""

    def test_each_kind_of_path(self):
        expected = {
            "py::f:/srv/app/main.py": "/srv/app",
            "py::g:/srv/app/other.py": "/srv/app",
            "py::f:main.py": "main.py",
            "py::f:/main.py": "/main.py",
            "py::f:/usr/lib/python3/dist-packages/numpy/core/x.py": "/usr/lib/python3/dist-packages/numpy",
            "py::f:/srv/venv/lib/python3.12/site-packages/six.py": "/srv/venv/lib/python3.12/site-packages/six.py",
            "py::f:/usr/lib/python3.11/json/decoder.py": "/usr/lib/python3.11",
            "py::f:<frozen importlib._bootstrap>": "<frozen>",
            "py::f:<string>": "<string>",
            "JS:f /srv/web/index.js:2:18": "/srv/web",
            "JS:^f /srv/web/node_modules/a/node_modules/b/lib/b.js:2:18": "/srv/web/node_modules/a/node_modules/b",
            "JS:f /srv/web/node_modules/@scope/name/lib/b.js:2:18": "/srv/web/node_modules/@scope/name",
            "JS:f node:buffer:391:30": "Node.js",
            "plain": "???",
            "py::nowhere": "???",
        }
        for name, package in expected.items():
            self.file("one.folded", f"main;{name} 7\n")
            row = self.first_row("--by", "module", "--wrappers=none", "one.folded")
            self.assertEqual((row["name"], row["self"]), (package, 7), name)
        self.file("all.folded", "".join(f"main;{name} {10 + i}\n" for i, name in enumerate(expected)))
        rows = {row["name"]: row["self"] for row in self.allo_json("top", "-n", 0, "--by", "module", "all.folded")["rows"]}
        self.assertEqual(rows["/srv/app"], 10 + 11)
        for pattern, count in (("mod:=/srv/app", 2), ("mod:/srv/web", 3), ("mod:/NODE_MOD/i", 2), ("mod:/node_mod/", 2)):
            kept = self.allo_json("top", "-n", 0, "-F", pattern, "--by", "leaf", "all.folded")["rows"]
            self.assertEqual(sum(row["self"] > 0 for row in kept), count, pattern)


class Containers(SiteTest):
    SANITIZED = False

    def check(self, program):
        """No function of a library is a site, but of memory that no function of the program has asked for."""
        sites = self.allo_json("top", "-n", 0, "--by", "site", "-M", "alloc_bytes", self.record(program))
        used = [row for row in sites["rows"] if row["self"] >= sites["sum"] // 200]
        names = {row["name"] for row in used if "libstdc++.so" not in row["name"]}  # see test_leaks.RuntimeStartup
        strangers = {name for name in names if not re.match(r"(void |\w+::)*(fill_\w+|main\b)", name)}
        self.assertEqual(strangers, set(), names)
        self.assertGreater(len({name for name in names if "fill_" in name}), 5, names)

    def test_cpp_containers_belong_to_their_users(self):
        source = self.file("containers.cpp", CONTAINERS)
        for level in ("-O0", "-O2"):
            program = self.build(source, "g++", "-std=c++17", "-pthread", level, "-g")
            self.check(program)
            self.must("strip", "--strip-debug", program)  # the code is the same without -g
            self.check(program)

    @unittest.skipUnless(shutil.which("clang++"), "clang is not installed")
    def test_those_of_clang_too(self):
        self.check(self.build(self.file("containers.cpp", CONTAINERS), "clang++", "-std=c++17", "-pthread", "-O2", "-g"))

    @unittest.skipUnless(shutil.which("rustc"), "rustc is not installed")
    def test_rust_collections_belong_to_their_users(self):
        source = self.file("containers.rs", RUST_CONTAINERS)
        for options in (["-Copt-level=0"], ["-Copt-level=2"], ["-Copt-level=0", "-g"], ["-Copt-level=2", "-g"]):
            self.check(self.build(source, "rustc", *options))


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
        copy_compiled(self.tmp / "wrap", self.file("wrap.c", WRAPPER), "gcc", "-O1", "-g", "-fno-optimize-sibling-calls")
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
        copy_compiled(self.tmp / "wrap", self.file("wrap.c", WRAPPER), "gcc", "-O1", "-g")
        self.recording = self.tmp / "wrap.allo"
        self.must(ALLO, "run", "-q", "-o", self.recording, "--", self.tmp / "wrap")
        self.inner = self.tmp / "one" / "two"
        self.inner.mkdir(parents=True)

    def top(self, *options, env=ENVIRONMENT):
        return subprocess.run([ALLO, "top", "-n", "0", "-M", "alloc", *options, self.recording], cwd=self.inner,
                              capture_output=True, text=True, check=False, env=env)

    def test_a_file_in_a_parent_directory_stores_options(self):
        self.assertIn("make_node", self.top().stdout)
        self.file("one/allo.conf", "# ours\nwrappers = known\nalloc-fn = make_node\n")
        done = self.top()
        self.assertRegex(done.stdout, r"skipped wrappers: .*make_node;")
        self.assertRegex(done.stdout, r"(?m) take ")
        self.assertNotRegex(self.top("--wrappers=auto").stdout, r"(?m) take ")

    def test_the_files_of_the_user_come_last(self):
        """$XDG_CONFIG_HOME/allotrope/allo.conf, or ~/.config/allotrope/allo.conf; one file counts."""
        for folder, text in (("config", "wrappers = known\nalloc-fn = make_node\n"), ("home/.config", "wrappers = known\n")):
            (self.tmp / folder / "allotrope").mkdir(parents=True)
            self.file(f"{folder}/allotrope/allo.conf", text)
        home = {**ENVIRONMENT, "HOME": str(self.tmp / "home")}
        home.pop("XDG_CONFIG_HOME", None)
        config = {**home, "XDG_CONFIG_HOME": str(self.tmp / "config")}
        relative = {**home, "XDG_CONFIG_HOME": "config"}  # the standard says: ignore it
        for env, skips_node in ((config, True), (home, False), (relative, False)):
            text = self.top(env=env).stdout
            self.assertRegex(text, r"  take  ")
            self.assertEqual(re.search(r"skipped wrappers: .*make_node;", text) is not None, skips_node, text)
        self.file("one/allo.conf", "wrappers = auto\n")
        self.assertNotRegex(self.top(env=config).stdout, r"  take  ")
        self.file("config/allotrope/allo.conf", "colour = red\n")
        (self.tmp / "one" / "allo.conf").unlink()
        self.assertIn("config/allotrope/allo.conf:1:1: unknown key", self.top(env=config).stderr)

    def test_mistakes_are_named_with_file_and_line(self):
        for text, message in (("wrappers = known\n\ncolour = red\n", "allo.conf:3:1: unknown key \"colour\""),
                              ("wrappers = some\n", "allo.conf:1:1: wrappers is auto, known or none"),
                              ("alloc-fn\n", "allo.conf:1:1: expected \"key = value\""),
                              ("x" * 70000, "allo.conf: larger than 64 KiB")):
            self.file("allo.conf", text)
            done = self.top()
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
