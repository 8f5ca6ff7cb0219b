"""Terminals of 80 columns: no line is longer, and colours have a meaning."""
import os
import re
import shutil
import subprocess
import sys
import unicodedata

from allotest import ALLO, GOLDEN, Test, wait_until
from recordings import CaptureTest, copy_compiled
from terminal import on_terminal

ENV = {"PAGER": "cat", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
HEAP = GOLDEN / "dhat" / "valgrind-heap.json"

# Functions with names that no line has room for.
LONG = """
#include <stdlib.h>
#define NAME(part) part##_that_has_a_name_of_more_than_eighty_characters_which_no_line_of_a_terminal_has_room_for
static void *volatile kept;
__attribute__((noinline)) void *NAME(allocate)(int size) { return kept = malloc(size); }
__attribute__((noinline)) void *NAME(burst)(int size) { void *more = NAME(allocate)(size); *(volatile char *)more = 1; return more; }
int main(int count, char **words) {
    void *all[200];
    for (int i = 0; i < 200; i++) all[i] = NAME(burst)(100000);
    for (int i = 1; i < 200; i++) free(all[i]);
    for (int i = 0; i < 200; i++) free(NAME(burst)(1));
    return 0;
}
"""

CPP = """
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
struct Session { std::string name; std::map<int, std::string> data; };
static std::unordered_map<std::string, std::unique_ptr<Session>> sessions;
static void open_session(int number) {
    auto session = std::make_unique<Session>();
    for (int i = 0; i < 5; i++)
        session->data[i] = std::string(100, 'x');
    sessions["key of the session " + std::to_string(number)] = std::move(session);
}
int main(int count, char **) {
    std::thread([] { for (int i = 0; i < 50; i++) open_session(i); }).join();
    std::vector<std::vector<char>> burst;
    for (int i = 0; i < 100; i++)
        burst.emplace_back(100000);
    new std::map<std::string, std::vector<int>>{{"leaked", {1, 2, 3}}};
    if (count > 1)
        getchar();
    return burst.empty();
}
"""

RUST = """
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
struct Session { name: String, data: BTreeMap<u32, Vec<u8>> }
fn open_session(sessions: &mut HashMap<String, Box<Session>>, number: u32) {
    let data = (0..5).map(|i| (i, vec![7; 100])).collect();
    let name = format!("name of the session {number}");
    sessions.insert(format!("key of the session {number}"), Box::new(Session { name, data }));
}
fn main() {
    let mut sessions = HashMap::new();
    for number in 0..50 { open_session(&mut sessions, number); }
    let burst: Vec<Vec<u8>> = std::thread::spawn(|| (0..100).map(|_| vec![1; 100000]).collect()).join().unwrap();
    std::mem::forget(sessions.remove("key of the session 7").map(|session| (session.name.len(), session.data)));
    if std::env::args().len() > 1 { std::io::stdin().read(&mut [0]).unwrap(); }
    println!("{}", burst.len());
}
"""

PYTHON = """
import json, sys
store = {}
def remember(n):
    store[n] = json.loads(json.dumps({"key %d" % i: "x" * 100 for i in range(50)}))
for n in range(50):
    remember(n)
if len(sys.argv) > 1:
    sys.stdin.read(1)
"""


def columns_of(line):
    """Columns of a line, by Python's tables."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


class Width(Test):
    def recorded(self, name, *command):
        self.must(ALLO, "run", "-q", "-o", name, *command)
        return name

    def programs(self):
        """The command of a program in each language."""
        copy_compiled(self.tmp / "service", self.file("service.cpp", CPP), "g++", "-g", "-O1", "-pthread")
        yield ["./service"]
        yield [sys.executable, self.file("app.py", PYTHON)]
        if shutil.which("rustc"):
            copy_compiled(self.tmp / "sessions", self.file("sessions.rs", RUST), "rustc", "-g", "-A", "warnings")
            yield ["./sessions"]

    def recordings(self):
        for number, command in enumerate(self.programs()):
            yield self.recorded(f"{number}.allo", *command)
        folder = self.tmp / ("folder_with_a_long_name_" * 4)
        folder.mkdir()
        self.must("gcc", "-O1", "-w", self.file("long.c", LONG), "-o", folder / "long")
        yield self.recorded("long.allo", folder / "long")
        yield GOLDEN / "dhat" / "dhat-rs-heap.json"
        yield GOLDEN / "dhat" / "valgrind-cpp.json"

    def assert_fits(self, *arguments):
        status, text = on_terminal(ALLO, *arguments, env={**ENV, "NO_COLOR": "1"}, cwd=self.tmp)
        self.assertIn(status, (0, 3), text)
        for line in text.splitlines():
            # A path, or an argument of a command to copy, is not broken.
            if str(GOLDEN) not in line and not line.startswith("  program   /") and len(line.split()) > 1:
                self.assertLessEqual(columns_of(line), 80, (arguments, line))
        return text

    def test_no_line_is_longer_than_80_columns(self):
        for path in self.recordings():
            for command in (["summary"], ["top"], ["top", "--by", "site"], ["tree"], ["tree", "--invert"], ["leaks"],
                            ["hist"], ["hist", "--by", "size"], ["peek", "main"], ["diff", HEAP],
                            ["budget", "--max-peak", "1K", "--max-leaks", "0"], ["info"], ["findings"],
                            ["list", "main"]):
                self.assert_fits(*command, path)
            if str(path).endswith(".allo"):
                self.assert_fits("threads", path)
                for by in ("function", "site", "thread"):
                    self.assert_fits("timeline", "--by", by, path)

    def test_tables_of_words_fit(self):
        for command in (["formats"], ["sql", HEAP, ".schema"], ["sql", HEAP, ".reports"], ["sql", HEAP, ".tables"]):
            self.assert_fits(*command)

    def test_the_ledger_fits(self):
        for command in self.programs():
            process = subprocess.Popen([str(word) for word in (*command, "wait")], cwd=self.tmp, stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL)
            wait_until(lambda pid=process.pid: self.held(pid) > 4 << 20, "the program has its memory")
            self.assertIn("blocks in use", self.assert_fits("mem", process.pid))
            process.communicate()
            self.assertEqual(process.returncode, 0)

    def held(self, pid):
        return self.allo_json("mem", "--no-walk", pid)["process"]["rss_bytes"]

    def test_explanations_are_whole(self):
        text = " ".join(self.assert_fits("mem", os.getpid()).split())
        self.assertNotIn("…", text)
        self.assertRegex(text, r"control group /\S*: [\d.,]+ \w+ used, working set [\d.,]+ \w+, ")

    def test_a_line_breaks_between_words_and_not_inside_a_number(self):
        with subprocess.Popen(["sleep", "60"]) as process:
            try:
                for columns in range(40, 100, 3):
                    _, text = on_terminal(ALLO, "mem", process.pid, columns=columns, env={**ENV, "NO_COLOR": "1"})
                    self.assertNotRegex(text, r"[\d.] *\n *[KMG]iB")
            finally:
                process.kill()


class Colours(CaptureTest):
    def painted(self, *arguments, status=0):
        found, text = on_terminal(ALLO, *arguments, env=ENV)
        self.assertEqual(found, status, text)
        return text

    def test_growth_is_red_and_shrinkage_green(self):
        old = self.file("old.folded", "main;grows 5\nmain;shrinks 50\nmain;goes 7\n")
        new = self.file("new.folded", "main;grows 60\nmain;shrinks 20\nmain;comes 3\n")
        text = self.painted("diff", old, new)
        for colour, name in ((31, "grows"), (32, "shrinks"), (31, "comes"), (32, "goes")):
            line = next(line for line in text.splitlines() if name in line)
            self.assertRegex(line, rf"\033\[{colour}m[+-]\d+\033\[0m", name)

    def test_own_code_is_bold_and_libraries_are_dim_over_time(self):
        copy_compiled(self.tmp / "service", self.file("service.cpp", CPP), "g++", "-g", "-O1", "-pthread")
        self.allo("run", "-q", "-o", "service.allo", "./service")
        for by in ("function", "site"):
            text = self.painted("timeline", "--by", by, self.tmp / "service.allo")
            self.assertRegex(text, r"\033\[1mopen_session\b.*\033\[0m")
            self.assertRegex(text, r"[▁-█] *\033\[2m\S.*\033\[0m")

    def test_a_broken_limit_is_red(self):
        self.assertRegex(self.painted("budget", "--max-peak", "1K", "--max-leaks", "1G", HEAP, status=3),
                         r"(?s)\033\[1;31mFAIL\033\[0m .*\033\[32mok\033\[0m ")

    def test_errors_are_red_and_hints_dim(self):
        text = self.painted("top", "--by", "functon", HEAP, status=2)
        self.assertIn("allo: \033[31merror:\033[0m ", text)
        self.assertRegex(text, r"\033\[2m  hint: .*\033\[0m")
        self.assertRegex(self.painted("top", "-n", "1", HEAP), r"\033\[2m\d+ more functions.*\033\[0m")

    def test_hot_lines_are_stronger_than_cold_ones(self):
        source = self.file("hot.c", "".join(f"line {i}\n" for i in range(1, 9)))
        heap = self.file("lines.json", (GOLDEN / "dhat" / "valgrind-heap.json").read_text()
                         .replace("demo.c:", f"{source}:"))
        colours = re.findall(r"\033\[([\d;]+)m", self.painted("list", "main", heap))
        self.assertIn("1;31", colours)

    def test_without_colours_there_are_no_escapes(self):
        old = self.file("old.folded", "main;a 5\n")
        for command in (["diff", old, old], ["list", "main", HEAP], ["budget", "--max-peak", "1G", HEAP]):
            _, text = on_terminal(ALLO, *command, env={**ENV, "NO_COLOR": "1"})
            self.assertNotIn("\033", text)


class Words(Test):
    def test_one_more_row_is_singular(self):
        heap = self.file("six.folded", "".join(f"main;f{i} {i + 1}\n" for i in range(6)))
        self.assertRegex(self.allo("summary", heap), r"\n1 more (site|function): -n 0 shows all\n")

    def test_unknown_modules_have_no_table(self):
        self.assertNotIn("by module", self.allo("summary", GOLDEN / "dhat" / "dhat-rs-heap.json"))
