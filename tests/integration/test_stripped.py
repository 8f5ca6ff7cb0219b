"""Stripped programs: functions are told apart by their offsets; nm of the same program with symbols is the second opinion."""
import random

from allotest import ALLO, Test
from profilejson import Profile

# Each user calls the wrapper and a constructor; the sizes tell who it was.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void *take(size_t size) { return memset(malloc(size), 1, size); }
static __attribute__((noinline)) void *make_node(void) { return memset(malloc(48), 1, 48); }
#define USER(n) static __attribute__((noinline)) void *user##n(void) \\
    { void *node = make_node(); if (!node) abort(); return take(1000 + 100 * n); }
USER(1) USER(2) USER(3) USER(4) USER(5) USER(6) USER(7) USER(8) USER(9)
int main(void)
{
    void *all[] = { user1(), user2(), user3(), user4(), user5(), user6(), user7(), user8(), user9() };
    fprintf(stderr, "%p\\n", all[0]);
    return 0;
}
"""


class Stripped(Test):
    def setUp(self):
        super().setUp()
        source = self.file("prog.c", SOURCE)
        self.program = self.tmp / "prog"
        self.must("gcc", "-O1", "-fno-optimize-sibling-calls", source, "-o", self.program)
        self.whole = self.program.read_bytes()
        self.start = {name: int(address, 16) for address, kind, name in
                      (line.split() for line in self.must("nm", "--defined-only", self.program).splitlines())}
        self.must("strip", self.program)

    def record(self):
        path = self.tmp / "prog.allo"
        self.must(ALLO, "run", "-q", "-f", "-o", path, self.program)
        return path

    def offset(self, function):
        return f"prog+{self.start[function]:#x}"

    def own(self, *options):
        """Bytes by function."""
        result = self.allo_json("top", "-n", "0", "-M", "alloc", *options)
        return result, {row["name"]: row["self"] for row in result["rows"]}

    def test_each_function_has_a_row_and_wrappers_are_passed_over(self):
        result, own = self.own(self.record())
        for n in range(1, 10):
            self.assertEqual(own[self.offset(f"user{n}")], 1000 + 100 * n)
        self.assertEqual(own[self.offset("make_node")], 9 * 48)
        self.assertIn(self.offset("take"), result["skipped"])

    def test_programs_at_fixed_addresses_too(self):
        self.must("gcc", "-O1", "-no-pie", "prog.c", "-o", self.program)
        self.start = {line.split()[2]: int(line.split()[0], 16)
                      for line in self.must("nm", "--defined-only", self.program).splitlines()}
        self.must("strip", self.program)
        self.assertEqual(self.own("--wrappers=none", self.record())[1][self.offset("make_node")], 9 * 48)

    def test_the_summary_says_once_how_to_get_names(self):
        recording = self.record()
        text = self.allo("summary", recording)
        self.assertEqual(text.count("stripped"), 1, text)
        self.assertIn("\nprog is stripped: its functions have no names (compile it with -g)\n", text)
        self.assertEqual(self.allo_json("summary", recording)["missing_symbols"],
                         {"module": str(self.program), "command": "compile it with -g"})

    def test_packaged_programs_have_a_package_with_names(self):
        root = self.tmp / "root"
        (root / "var" / "lib" / "dpkg" / "info").mkdir(parents=True)
        (root / "var" / "lib" / "dpkg" / "info" / "tools.list").write_text(f"/.\n{self.program}\n")
        inside = root / str(self.program)[1:]
        inside.parent.mkdir(parents=True)
        recording = self.record()
        inside.write_bytes(self.program.read_bytes())
        self.assertIn("\nprog is stripped: its functions have no names (apt install tools-dbgsym)\n",
                      self.allo("summary", "--sysroot", root, recording))

    def test_programs_with_symbols_get_no_such_line(self):
        self.program.write_bytes(self.whole)
        recording = self.record()
        self.assertNotIn("stripped", self.allo("summary", recording))
        self.assertNotIn("missing_symbols", self.allo_json("summary", recording))
        self.assertEqual(self.own(recording)[1]["user9"], 1900)

    def test_the_symbol_table_in_gnu_debugdata_counts(self):
        symbols = self.file("whole", self.whole)
        self.must("objcopy", "--only-keep-debug", symbols, "mini")
        self.must("xz", "mini")
        recording = self.record()
        self.must("objcopy", "--add-section", ".gnu_debugdata=mini.xz", self.program)
        own = self.own(recording)[1]
        self.assertEqual((own["user9"], own["make_node"]), (1900, 9 * 48))
        # A damaged one does not.
        data = bytearray((self.tmp / "mini.xz").read_bytes())
        data[len(data) // 2] ^= 255
        self.file("mini.xz", bytes(data))
        self.must("objcopy", "--update-section", ".gnu_debugdata=mini.xz", self.program)
        self.assertEqual(self.own(recording)[1][self.offset("user9")], 1900)

    def test_a_packed_symbol_table_that_is_too_large_is_left_alone(self):
        recording = self.record()
        self.file("mini", bytes(64 << 20))
        self.must("xz", "mini")
        self.must("objcopy", "--add-section", ".gnu_debugdata=mini.xz", self.program)
        self.assertEqual(self.own(recording)[1][self.offset("user9")], 1900)

    def test_a_damaged_unwind_table_leaves_addresses(self):
        recording = self.record()
        expected = self.own("--wrappers=none", recording)[1]
        size = next(int(line.split()[2], 16) for line in self.must("objdump", "-h", self.program).splitlines()
                    if " .eh_frame " in line)
        for seed in range(5):
            self.file("table", random.Random(seed).randbytes(size))
            self.must("objcopy", "--update-section", ".eh_frame=table", self.program)
            found = self.own("--wrappers=none", recording)[1]
            self.assertEqual(sum(found.values()), sum(expected.values()))
            self.assertIn("[prog]", found)

    def test_offsets_do_not_count_as_names(self):
        recording = self.record()
        facts = next(module for module in self.allo_json("info", "-q", recording)["symbols"]
                     if module["module"] == str(self.program))
        self.assertEqual(facts["named"], 0)
        self.assertGreater(facts["frames"], 9)
        module = next(module for module in
                      Profile(self.allo("convert", "-q", "--to", "json", recording, "-o", "-")).json["modules"]
                      if module and module["path"] == str(self.program))
        # Otherwise pprof does not look for better ones.
        self.assertFalse(module.get("has_functions"))

    def test_an_exported_function_far_away_shows_the_next_one(self):
        """As ngx_spawn_process(), which calls all code of a worker."""
        source = self.file("far.c", """
            #include <stdlib.h>
            static void *volatile kept;
            #define HIDDEN static __attribute__((noinline)) void
            HIDDEN inner(void) { kept = malloc(1009); }
            HIDDEN middle(void) { inner(); kept = 0; }
            HIDDEN outer(void) { middle(); kept = 0; }
            __attribute__((noinline)) void near(void) { middle(); kept = 0; }
            __attribute__((noinline)) void far(void) { outer(); kept = 0; }
            int main(void) { near(); far(); }
            """)
        self.must("gcc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", source, "-o", self.program)
        address = next(line.split()[0] for line in self.must("nm", "prog").splitlines() if line.endswith(" outer"))
        self.must("strip", self.program)
        rows = {row["name"]: row.get("via") for row in self.allo_json("top", "-M", "total", self.record())["rows"]}
        self.assertEqual((rows["near"], rows["far"]), (None, f"prog+{int(address, 16):#x}"))
        self.assertIn("\nprog is stripped: its functions have no names (compile it with -g)\n", self.allo("prog.allo"))

    def test_stored_offsets_stay_until_there_are_names(self):
        recording = self.record()
        self.allo("symbolize", recording)
        self.program.unlink()
        self.assertEqual(self.own(recording)[1][self.offset("user9")], 1900)
        self.program.write_bytes(self.whole)
        self.allo("symbolize", recording)
        self.program.unlink()
        self.assertEqual(self.own(recording)[1]["user9"], 1900)
