"""liballotrope as it is installed: its exported symbols, and programs that use it."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from allotest import BUILD, ENVIRONMENT, GOLDEN, ROOT, Test, unpacked
from gopprof import raw_text

HEADER = ROOT / "include" / "allotrope.h"
EXAMPLES = ROOT / "examples"
DHAT = GOLDEN / "dhat" / "valgrind-heap.json"

# The same sources must be both C and C++.
COMPILERS = {
    "gcc": ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "clang": ["clang", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "g++": ["g++", "-x", "c++", "-std=c++20", "-Wall", "-Wpedantic", "-Werror"],
}


def declared():
    """The functions of the header."""
    return set(re.findall(r"\b(allotrope_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(),
                                                         flags=re.S)))


class Installed(Test):
    """With a copy of the installed files."""

    SANITIZED = False  # other people's compilers and tools do the work here

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
        subprocess.run(["meson", "install", "-C", BUILD, "--destdir", cls.root, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.pc = next(cls.root.rglob("allotrope.pc"))
        cls.lib = cls.pc.parent.parent
        symbols = subprocess.run(["nm", "-D", cls.lib / "liballotrope.so"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        cls.sanitizers = ["-fsanitize=address,undefined"] if "__asan_init" in symbols else []

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def pkg_config(self, *what):
        env = {**ENVIRONMENT, "PKG_CONFIG_PATH": str(self.pc.parent),
               "PKG_CONFIG_SYSROOT_DIR": str(self.root)}
        return self.must("pkg-config", *what, "allotrope", env=env).split()

    def compile(self, source, compiler="gcc", static=False, output="program", flags=()):
        """Compiles against the installed library as its pkg-config file says."""
        how = ["--static"] if static else []
        self.must(*COMPILERS[compiler], *self.sanitizers, *flags, *self.pkg_config("--cflags"),
                  source, "-x", "none", *(["-static"] if static else []), "-o", output,
                  *self.pkg_config(*how, "--libs"))
        return self.tmp / output

    def runs(self, program, *arguments):
        """Runs a program with the shared library; returns its standard output as text."""
        return self.must(program, *arguments,
                         env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(self.lib)})

    def fails(self, program, *arguments):
        """The same for a program that must fail; returns its error message."""
        done = self.run_program(program, *arguments,
                                env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(self.lib)})
        self.assertEqual(done.returncode, 1, done)
        return done.stderr.decode()


class WhatIsInstalled(Installed):
    def test_all_that_programs_need_is_there(self):
        self.assertEqual(next(self.root.rglob("allotrope.h")).read_bytes(), HEADER.read_bytes())
        names = sorted(path.name for path in self.lib.glob("liballotrope*"))
        version = self.pkg_config("--modversion")[0]
        self.assertEqual(names, ["liballotrope.a", "liballotrope.so", "liballotrope.so.0",
                                 "liballotrope.so." + version])
        self.assertIn("[liballotrope.so.0]",
                      self.must("readelf", "-d", self.lib / "liballotrope.so"))

    def test_only_the_header_is_exported_and_all_of_it(self):
        lines = self.must("nm", "-D", "--defined-only", self.lib / "liballotrope.so").splitlines()
        names = {line.split()[2] for line in lines} - {"ALLOTROPE_0"}
        self.assertEqual(names, {name + "@@ALLOTROPE_0" for name in declared()})
        lines = self.must("nm", "-g", "--defined-only", self.lib / "liballotrope.a").splitlines()
        self.assertEqual({line.split()[2] for line in lines if len(line.split()) == 3}, declared())

    def test_the_header_needs_nothing_else(self):
        self.file("alone.c", "#include <allotrope.h>\nint main(void) { return 0; }\n")
        for compiler in (["gcc", "-std=c11"], ["clang", "-std=c11"], ["g++", "-x", "c++"],
                         ["g++", "-x", "c++", "-std=c++11"], ["clang", "-x", "c++"]):
            with self.subTest(compiler):
                self.must(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                          *self.pkg_config("--cflags"), "alone.c")

    def test_a_program_may_have_names_like_ours(self):
        """allo_ is the prefix of the runtime that records, and of our own insides."""
        insides = self.must("nm", "--defined-only", BUILD / "src" / "lib" / "liballotrope.a")
        for static in (False, True):
            with self.subTest(static=static):
                names = re.findall(r" t (allo_(?:fail|profile_merge|read_file|hash_seed))$",
                                   insides, re.M)
                self.assertEqual(len(names), 4)
                own = "\n".join(f"int {name}(void);\nint {name}(void) {{ return 77; }}"
                                for name in names)
                self.file("own.c", "#include <allotrope.h>\n#include <stdio.h>\n" + own + """
int main(int argc, char **argv)
{
	struct allotrope_profile *profile = allotrope_read_file(argv[argc - 1], NULL, NULL);

	printf("%d %zu %s\\n", allo_fail(), allotrope_sample_count(profile), allotrope_version());
	allotrope_profile_free(profile);
	return 0;
}
""")
                program = self.compile("own.c", static=static)
                self.assertEqual(self.runs(program, DHAT).split(),
                                 ["77", "9", *self.pkg_config("--modversion")])


class ExampleChecks:
    """Checks of the examples, for every compiler."""

    def check_convert(self, program):
        self.assertIn("pprof      read  write", self.runs(program))
        self.runs(program, DHAT, "heap.pb.gz")
        self.assertIn("convert: no-such-file: cannot open: No such file or directory\n",
                      self.fails(program, "no-such-file", "x.pb.gz"))

    def check_top(self, program):
        self.assertEqual(self.runs(program, DHAT, "alloc_bytes").splitlines()[:3], [
            "alloc_bytes: 1274456 bytes, ever allocated",
            "     1048576      1255256  main demo.c",
            "      131040       131040  grow_buffer demo.c"])
        self.assertIn('no metric "x" in this profile (it has: alloc_blocks,',
                      self.fails(program, DHAT, "x"))

    def check_build(self, program):
        self.runs(program, "built.pb.gz")
        text = raw_text(self, "built.pb.gz")
        self.assertEqual(re.sub(r"(?m)^Time: .*\n", "", text).rstrip(), """\
Comment: command: ./server --port 8080
Comment: pid: 4711
PeriodType: space bytes
Period: 524288
Duration: 2.5s
Samples:
alloc_objects/count alloc_space/bytes[dflt]
          3       4096: 1 2 3 
        100       6400: 4 5 
                request:[/report]
                block_size:[64 bytes]
Locations
     1: 0x7f0000001233 M=2 
     2: 0x401454 M=1 
     3: 0x401099 M=1 
     4: 0x0 append list.h:31 s=0()
             read_rows table.c:120 s=0()
     5: 0x0 main main.c:8 s=0()
Mappings
1: 0x401000/0x405000/0x1000 /usr/bin/server 5eed00 
2: 0x7f0000001000/0x7f0000003000/0x1000 /usr/lib/libparse.so.2 c0ffee1234""")
        self.assertIn("exists and was not overwritten", self.fails(program, "built.pb.gz"))

    def check_merge(self, program):
        self.file("a.folded", "main;f 1\nmain;g 2\n")
        self.file("b.folded", "main;g 40\nmain;h 5\n")
        self.runs(program, "merged.pb.gz", "a.folded", "b.folded")
        rows = json.loads(self.allo("top", "--json", "merged.pb.gz"))["rows"]
        self.assertEqual([(row["name"], row["self"]) for row in rows],
                         [("g", 42), ("h", 5), ("f", 1), ("main", 0)])
        self.assertIn("b.folded", self.fails(program, "merged.pb.gz", "/nowhere/b.folded"))

    def check_diff(self, program):
        self.file("a.folded", "main;f 1\nmain;g 20\n")
        self.file("b.folded", "main;g 4\nmain;h 5\nmain;f 1\n")
        self.assertEqual([line.split() for line in
                          self.runs(program, "a.folded", "b.folded").splitlines()],
                         [["-16", "g"], ["+5", "h"]])

    def check_dhat_to_pprof(self, program):
        self.runs(program, DHAT, "one.pb.gz")
        raw = self.must("go", "tool", "pprof", "-raw", "-symbolize=none", "one.pb.gz")
        self.allo("convert", DHAT, "-o", "other.pb.gz")
        self.assertEqual(raw, self.must("go", "tool", "pprof", "-raw", "-symbolize=none",
                                        "other.pb.gz"))
        self.assertEqual(self.runs(program, DHAT, "large.pb.gz", "100000").splitlines(), [
            "Command: ./demo", "Program points: 9",
            "     1048576  main (demo.c:92)", "      131040  grow_buffer (demo.c:47)",
            "Kept: 2"])
        top = self.must("go", "tool", "pprof", "-top", "-sample_index=alloc_space", "-unit=B",
                        "-symbolize=none", "large.pb.gz")
        self.assertIn("1179616B, 100% of 1179616B total", top)
        self.file("a.folded", "main 1\n")
        self.assertIn("dhat_to_pprof: a.folded:1:1: expected an object",
                      self.fails(program, "a.folded", "x.pb.gz"))

    def check_allocations(self, program):
        recording = GOLDEN / "allo" / "server.allo"
        printed = self.allo("blocks", "--json", "-n", "0", "--at", "peak", "--size", "1000..", recording)
        wanted = [json.loads(line)["size"] for line in printed.splitlines()]
        sizes = [int(line.split()[0]) for line in self.runs(program, recording).splitlines()]
        self.assertGreater(len(sizes), 0)
        self.assertEqual(sorted(sizes), sorted(wanted))
        self.assertIn("has no individual allocations", self.fails(program, DHAT))

    def check_all(self, compiler, static):
        sources = sorted(EXAMPLES.glob("*.c"))
        self.assertGreaterEqual(len(sources), 6)
        for source in sources:
            with self.subTest(source.name):
                self.assertLess(len(source.read_text().splitlines()), 100)
                program = self.compile(source, compiler, static, output=source.stem)
                getattr(self, "check_" + source.stem)(program)


class Examples(ExampleChecks, Installed):
    def test_gcc_shared(self):
        self.check_all("gcc", False)

    def test_gcc_static(self):
        self.check_all("gcc", True)

    def test_gxx_shared(self):
        self.check_all("g++", False)

    def test_gxx_static(self):
        self.check_all("g++", True)

    def test_clang_static(self):
        self.check_all("clang", True)


class ExamplesWithClang(ExampleChecks, Installed):
    SANITIZED = True  # nothing may be left over when an example ends

    def test_clang_shared(self):
        self.check_all("clang", False)


def parse_text_format(text):
    """The output of `protoc --decode`, as lists of values by field."""
    stack = [{}]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            message = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(message)
            stack.append(message)
        elif line == "}":
            stack.pop()
        else:
            field, value = line.split(": ", 1)
            stack[-1].setdefault(field, []).append(json.loads(value))
    return stack[0]


class BuiltProfile(Installed):
    """A profile made with the library, taken apart by protoc."""

    def setUp(self):
        super().setUp()
        program = self.compile(ROOT / "tests" / "programs" / "library_profile.c")
        self.runs(program, "built.pb.gz")
        here = pathlib.Path(__file__).parent
        text = self.must("protoc", f"--proto_path={here}", "--decode=Profile",
                         "pprof_messages.proto", input=unpacked(self.tmp / "built.pb.gz"))
        self.profile = parse_text_format(text)
        self.strings = self.profile["string_table"]
        self.locations = {location["id"][0]: location for location in self.profile["location"]}
        self.functions = {function["id"][0]: function for function in self.profile["function"]}

    def text(self, message, field):
        return self.strings[message.get(field, [0])[0]]

    def names(self, location):
        """"name file:line" of a location's lines, or its address."""
        return [f"{self.text(function, 'name')} {self.text(function, 'filename')}:{line['line'][0]}"
                for line in location.get("line", [])
                for function in [self.functions[line["function_id"][0]]]] \
            or [hex(location["address"][0])]

    def test_labels_stand_once_in_each_sample(self):
        labels = [[(self.text(label, "key"), self.text(label, "str"), label.get("num", [0])[0],
                    self.text(label, "num_unit")) for label in sample.get("label", [])]
                  for sample in self.profile["sample"]]
        wanted = [("annotation", "checkout", 0, ""), ("size", "", 48, "bytes")]
        self.assertEqual(labels, [wanted, wanted, []])

    def test_stacks_have_the_leaf_first(self):
        stacks = [[name for id in sample["location_id"] for name in self.names(self.locations[id])]
                  for sample in self.profile["sample"]]
        self.assertEqual(stacks, [
            ["0x7f0000000123", "0x400123", "0x400456"],
            ["copy text.h:11", "init a.c:12", "init b.c:13", "half c.c:14", "0x7f2000000200",
             "main m.c:15"],
            ["main m.c:15"]])
        self.assertEqual([sample["value"] for sample in self.profile["sample"]],
                         [[23, 1009], [7, 4096], [1, 1]])

    def test_equal_offsets_in_two_objects_are_two_locations(self):
        pairs = [(location["address"][0], location["mapping_id"][0])
                 for location in self.profile["location"] if "line" not in location]
        self.assertEqual(pairs, [(0x7f0000000123, 2), (0x400123, 1), (0x400456, 1),
                                 (0x7f2000000200, 4)])

    def test_functions_differ_by_their_files(self):
        self.assertEqual(sorted((self.text(function, "name"), self.text(function, "filename"))
                                for function in self.profile["function"]),
                         [("copy", "text.h"), ("half", "c.c"), ("init", "a.c"), ("init", "b.c"),
                          ("main", "m.c")])
        inlined = [location for location in self.profile["location"]
                   if len(location.get("line", [])) > 1]
        self.assertEqual([self.names(location) for location in inlined],
                         [["copy text.h:11", "init a.c:12"]])

    def test_mappings_have_their_real_ranges(self):
        ranges = [(self.text(m, "filename"), self.text(m, "build_id"), m["memory_start"][0],
                   m["memory_limit"][0], m.get("file_offset", [0])[0])
                  for m in self.profile["mapping"]]
        self.assertEqual(ranges, [
            ("/bin/one", "aa01", 0x400000, 0x410000, 0x2000),
            ("/lib/two.so", "bb02", 0x7f0000000000, 0x7f0000010000, 0x2000),
            ("/lib/named.so", "", 0x7f1000000000, 0x7f1000001000, 0),
            ("/lib/half.so", "", 0x7f2000000000, 0x7f2000001000, 0)])

    def test_a_mapping_is_resolved_if_all_of_it_is(self):
        """pprof does not look for names where any of these is set."""
        flags = ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames")
        self.assertEqual([[flag in m for flag in flags] for m in self.profile["mapping"]],
                         [[False] * 4, [False] * 4, [True] * 4, [False] * 4])

    def test_types_and_period(self):
        types = [(self.text(t, "type"), self.text(t, "unit")) for t in self.profile["sample_type"]]
        self.assertEqual(types, [("inuse_objects", "count"), ("inuse_space", "bytes")])
        period = self.profile["period_type"][0]
        self.assertEqual((self.text(period, "type"), self.text(period, "unit")), ("space", "bytes"))
        self.assertEqual(self.profile["period"], [524288])
        self.assertEqual(self.profile["time_nanos"], [1700000000000000000])
        self.assertEqual(self.text(self.profile, "default_sample_type"), "inuse_space")

    def test_go_sees_the_same(self):
        text = raw_text(self, "built.pb.gz")
        samples = re.findall(r"^ +(\d+) +(\d+): ([\d ]+)$", text, re.M)
        self.assertEqual([(int(a), int(b), len(c.split())) for a, b, c in samples],
                         [(23, 1009, 3), (7, 4096, 5), (1, 1, 1)])
        self.assertEqual(text.count("annotation:[checkout]"), 2)
        self.assertIn("1: 0x400000/0x410000/0x2000 /bin/one aa01", text)
        self.assertIn("3: 0x7f1000000000/0x7f1000001000/0x0 /lib/named.so  [FN][FL][LN][IN]", text)


class OwnAddresses(Installed):
    """A program's own stack as addresses: pprof must find the very lines of the calls."""

    def check_lines(self, *how):
        source = ROOT / "tests" / "programs" / "self_profile.c"
        lines = {text: number for number, line in enumerate(source.read_text().splitlines(), 1)
                 for text in re.findall(r"/\* (.* calls) \*/", line)}
        program = self.compile(source, flags=["-g", "-O1", "-D_GNU_SOURCE", *how])
        self.runs(program, "own.pb.gz")
        text = raw_text(self, "own.pb.gz", symbolize="local")
        found = re.findall(r"^ +\d+: 0x\w+ M=1 (\w+) .*/self_profile.c:(\d+) ", text, re.M)
        self.assertEqual(found[:3], [("inner", str(lines["the leaf calls"])),
                                     ("outer", str(lines["its caller calls"])),
                                     ("main", str(lines["main calls"]))])

    def test_of_a_program_that_lies_anywhere(self):
        self.check_lines("-fPIE", "-pie")

    def test_of_a_program_that_lies_where_it_was_linked(self):
        self.check_lines("-fno-pie", "-no-pie")


class Threads(Test):
    SANITIZED = False  # it brings a sanitizer of its own

    def test_threads_do_not_get_in_each_others_way(self):
        env = {**ENVIRONMENT, "CC": "clang"}
        self.must("meson", "setup", "build", ROOT, "-Dtests=true", "-Db_sanitize=thread",
                  "-Db_lundef=false", "-Doptimization=0", "-Ddebug=false", "-Dviewer_engine=disabled", env=env)
        self.must("ninja", "-C", "build", "tests/test_library_threads", env=env)
        self.must("build/tests/test_library_threads",
                  env={**ENVIRONMENT, "TSAN_OPTIONS": "halt_on_error=1"})


class Document(Installed):
    """doc/library.md promises nothing that is not so."""

    text = (ROOT / "doc" / "library.md").read_text()

    def test_its_code_is_that_of_the_examples_or_compiles(self):
        examples = [path.read_text() for path in sorted(EXAMPLES.glob("*.c"))]
        blocks = re.findall(r"^```c\n(.*?)^```", self.text, re.S | re.M)
        self.assertGreater(len(blocks), 5)
        for block in blocks:
            with self.subTest(block[:60]):
                if not any(block.strip("\n") in example for example in examples):
                    self.compile(self.file("block.c", block))

    def test_all_examples_are_mentioned(self):
        for path in EXAMPLES.glob("*.c"):
            self.assertIn(f"examples/{path.name}", self.text)

    def test_it_names_nothing_that_does_not_exist(self):
        names = set(re.findall(r"\ballotrope_\w+", self.text))
        self.assertGreater(len(names), 20)
        known = set(re.findall(r"\ballotrope_\w+", HEADER.read_text()))
        self.assertEqual(names - known, set())
