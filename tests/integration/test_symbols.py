"""Names of frames: allo and addr2line agree about the addresses of a recording."""
import os
import pathlib
import random
import re
import shutil
import subprocess

from allotest import ALLO, ENVIRONMENT, IS_ROOT
from profilejson import Profile
from recordings import PROGRAMS, CaptureTest

GCC = ["gcc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", PROGRAMS / "symbols.c"]
GXX = ["g++", "-O2", "-std=c++17", PROGRAMS / "named_shapes.cpp"]
CLANG = ["clang", "-O2", "-std=gnu17", "-D_GNU_SOURCE", PROGRAMS / "symbols.c"]


class SymbolsTest(CaptureTest):
    def build(self, command, *flags, name="prog"):
        path = self.tmp / name
        self.must(*command, *flags, "-o", path)
        return path

    def record(self, program, *arguments):
        self.recordings = getattr(self, "recordings", 0) + 1
        recording = self.tmp / f"{self.recordings}.allo"
        self.must(ALLO, "run", "-o", recording, program, *arguments)
        return recording

    def profile(self, recording, *options):
        return Profile(self.allo("convert", "-q", *options, "--to", "json", recording, "-o", "-"))

    def frames(self, profile, program):
        """{address in the file: [(function, "file:line"), ...]} of a module's frames, the innermost first."""
        found = {}
        for frame, in {(frame,) for frames, *_ in profile.samples for frame in frames}:
            if frame[0].module != str(program):
                continue
            module = next(m for m in profile.json["modules"] if m and m["path"] == str(program))
            address = frame[0].address - module["start"] + self.lowest(program)
            found[address] = [(call.name, f"{call.file}:{call.line}") for call in frame]
        self.assertTrue(found)
        return found

    def lowest(self, program):
        parts = self.must("readelf", "-lW", program)
        return min(int(line.split()[2], 16) for line in parts.splitlines() if line.lstrip().startswith("LOAD")) & ~4095

    def addr2line(self, file, addresses):
        """The same as addr2line has it."""
        text = self.must("addr2line", "-a", "-f", "-i", "-C", "-e", file, *map(hex, addresses))
        found = {}
        for line in text.splitlines():
            if re.fullmatch("0x[0-9a-f]{16}", line):
                calls = found.setdefault(int(line, 16), [])
                name = None
            elif name is None:
                name = line
            else:
                place, number = re.sub(r" \(discriminator \d+\)$", "", line).rsplit(":", 1)
                known = place != "??" and number != "?"
                calls.append((re.sub(r"( \[clone )?\.(constprop|isra|part|cold)\b.*", "", name),
                              f"{os.path.normpath(place)}:{number}" if known else "None:0"))
                name = None
        return found

    def check(self, program, debug=None):
        """All frames of the program have the names and lines that addr2line finds; returns them."""
        found = self.frames(self.profile(self.record(program)), program)
        theirs = self.addr2line(debug or program, sorted(found))
        for address, calls in found.items():
            # addr2line leaves out the namespace around a function without a linker name.
            name, place = theirs[address][-1]
            if calls[-1][0].endswith(f"::{name}"):
                theirs[address][-1] = (calls[-1][0], place)
            self.assertEqual(calls, theirs[address], hex(address))
        return found

    def symbols(self, recording, module):
        told = self.allo_json("info", "-q", recording)
        return next(m for m in told["symbols"] if m["module"] == str(module))


class Lines(SymbolsTest):
    def names(self, found):
        return {tuple(name for name, _ in calls) for calls in found.values()}

    def check_c(self, found):
        names = self.names(found)
        self.assertIn(("innermost", "keep_inlined", "allocate_inlined"), names)
        self.assertIn(("allocate_static",), names)
        self.assertIn(("allocate_and_end",), names)
        self.assertIn(("handle",), names)
        self.assertTrue(all(place.startswith(str(PROGRAMS)) for calls in found.values() for name, place in calls
                            if name != "_start"), found)

    def test_gcc(self):
        self.check_c(self.check(self.build(GCC, "-g")))

    def test_not_moved_by_the_loader(self):
        self.check_c(self.check(self.build(GCC, "-g", "-no-pie")))

    def test_dwarf_4(self):
        self.check_c(self.check(self.build(GCC, "-gdwarf-4")))

    def test_packed_sections(self):
        self.check_c(self.check(self.build(GCC, "-g", "-gz")))

    def test_clang_writes_no_table_of_addresses(self):
        program = self.build(CLANG, "-g")
        self.assertNotIn(".debug_aranges", self.must("readelf", "-SW", program))
        self.check_c(self.check(program))

    def test_entries_in_a_file_apart(self):
        """addr2line does not look there, but the same code without such a file has the same addresses."""
        self.check_c(self.check(self.build(GCC, "-g", "-gsplit-dwarf"), self.build(GCC, "-g", name="whole")))

    def test_cpp(self):
        names = self.names(self.check(self.build(GXX, "-g")))
        self.assertTrue(any(calls[-1] == "shapes::Grid<double>::grow(unsigned long)" and len(calls) > 2
                            for calls in names), names)
        self.assertTrue(any(calls[-1] == "shapes::(anonymous namespace)::hidden" for calls in names), names)

    def test_a_library_linked_into_its_folder(self):
        library = self.build(GCC, "-g", "-fPIC", "-shared", "-Dmain=go", name="libgo.so")
        source = self.file("go.c", "int go(void); int main(void) { return go(); }")
        program = self.build(["gcc", source], library, f"-Wl,-rpath,{self.tmp}")
        found = self.frames(self.profile(self.record(program)), library)
        self.assertEqual(found, self.addr2line(library, sorted(found)))


    def test_a_library_that_is_asked_for_by_a_way_from_here(self):
        library = self.build(GCC, "-g", "-fPIC", "-shared", "-Dmain=go", name="libgo.so")
        source = self.file("go.c", """#include <dlfcn.h>
            int main(void) { return ((int (*)(void))dlsym(dlopen("./libgo.so", RTLD_NOW), "go"))(); }""")
        profile = self.profile(self.record(self.build(["gcc", source])))
        found = self.frames(profile, f"{self.tmp}/./libgo.so")
        self.assertEqual(found, self.addr2line(library, sorted(found)))


class Names(SymbolsTest):
    def test_without_debug_information_functions_have_names(self):
        for command in (GCC, GXX):
            found = self.check(self.build(command))
            self.assertTrue(all(len(calls) == 1 and calls[0][1] == "None:0" for calls in found.values()))

    def test_exported_functions_have_names_in_a_stripped_program(self):
        program = self.build(GCC, "-rdynamic", "-s")
        recording = self.record(program)
        names = {calls[0][0] for calls in self.frames(self.profile(recording), program).values()}
        self.assertIn("allocate_inlined", names)
        self.assertIn("main", names)
        self.assertNotIn("allocate_static", names)
        self.assertEqual(self.symbols(recording, program)["source"], "exported")

    def test_a_stripped_program_is_reported(self):
        program = self.build(GCC, "-s")
        recording = self.record(program)
        told = self.symbols(recording, program)
        self.assertEqual((told["source"], told["named"]), ("exported", 0))
        line = next(line for line in self.allo("info", recording).splitlines() if line.startswith(f"    {program} "))
        self.assertIn("stripped", line)
        self.assertIn(told["build_id"], line)

    def test_no_symbols(self):
        program = self.build(GCC, "-g")
        found = self.frames(self.profile(self.record(program), "--no-symbols"), program)
        self.assertEqual({calls[0][0] for calls in found.values()}, {None})

    def test_commands_show_names(self):
        recording = self.record(self.build(GCC, "-g"))
        for command in (["top", "-n", "0"], ["tree"]):
            self.assertIn("allocate_inlined", self.allo(*command, recording))
        other = self.record(self.build(GXX, "-g", name="other"))
        self.assertIn("allocate_static", self.allo("diff", other, recording))

    def test_frames_of_two_readings_are_the_same(self):
        recording = self.record(self.build(GCC, "-g"))
        once, twice = self.allo_json("top", recording), self.allo_json("top", recording, recording)
        self.assertEqual([(row["name"], 2 * row["self"]) for row in once["rows"]],
                         [(row["name"], row["self"]) for row in twice["rows"]])


# Compilers give linker names to none of the functions that allocate.
NAMELESS = """
#include <functional>
#include <cstdlib>
static void *volatile kept;
#define APART __attribute__((noinline))
namespace app {
static APART void *burst() { return kept = malloc(1001); }
namespace { APART void *hidden() { return kept = malloc(1002); } }
namespace { struct Pool { APART void *take() { return kept = malloc(1003); } }; }
struct Cache {
    template <class T> APART void *fill(T make) { return make(); }
    APART void *own();
};
void *Cache::own() { return fill([] { return kept = malloc(1004); }); }
}
int main()
{
    app::Cache cache;
    struct Local { APART void *take() { return kept = malloc(1005); } } local;
    app::burst(); app::hidden(); app::Pool().take(); cache.own(); local.take();
}
"""


class NamesOfCpp(SymbolsTest):
    def callers(self, *compiler):
        """{size: function} of the callers of malloc, without parameters and const."""
        program = self.build([*compiler, "-std=c++17", self.file("nameless.cpp", NAMELESS)])
        leaks = self.allo_json("leaks", "-n", 0, "--keep-allocator", self.record(program))["leaks"]
        found = {leak["total"]: [frame["name"] for frame in leak["frames"]] for leak in leaks}
        return {size: re.sub(r"\(int\)|\(\)| const|#1|'lambda'", "", next(name for name in names if "malloc" not in name))
                for size, names in found.items() if 1000 < size < 1006}

    def test_functions_without_linker_names_have_their_namespaces_and_classes(self):
        for compiler in (["g++", "-g", "-O0"], ["g++", "-g", "-O2"], ["clang++", "-g", "-O2"], ["g++", "-g", "-O2", "-gdwarf-4"]):
            with self.subTest(compiler):
                if not shutil.which(compiler[0]):
                    self.skipTest(f"{compiler[0]} is not installed")
                found = self.callers(*compiler)
                found[1004] = re.sub(r"\{lambda\}|\$_\d+|\{lambda", "{lambda}", found[1004]).replace("}}", "}")
                self.assertEqual(found, {1001: "app::burst", 1002: "app::(anonymous namespace)::hidden",
                                         1003: "app::(anonymous namespace)::Pool::take",
                                         1004: "app::Cache::own::{lambda}::operator", 1005: "main::Local::take"})

    def test_inlined_functions_have_them_too(self):
        """Inlined functions have no symbol, either."""
        source = self.file("inlined.cpp", "#include <cstdlib>\nvoid *volatile kept;\nnamespace app { static inline __attribute__((always_inline)) "
                           "void fill() { kept = malloc(1006); } }\nint main() { app::fill(); }\n")
        leaks = self.allo_json("leaks", self.record(self.build(["g++", "-g", "-O2", source])))["leaks"]
        frames, = [leak["frames"] for leak in leaks if leak["total"] == 1006]
        self.assertEqual([frame["name"] for frame in frames][-5:-3], ["app::fill", "main"])

    def test_all_copies_of_a_function_have_one_name(self):
        """Inlined or not, with and without optimization; only the copy that is not inlined has a symbol."""
        source = self.file("copies.cpp", "#include <cstdlib>\nvoid *volatile kept;\nnamespace {\nvoid grab(int n) { kept = malloc(1000 + n); }\n}\n"
                           "int main() { grab(7); void (*volatile call)(int) = grab; call(8); }\n")
        recordings = []
        for level in ("-O0", "-O2"):
            program = self.build(["g++", "-g", level, source], name=f"copies{level}")
            recordings.append(self.record(program))
            rows = self.allo_json("top", "--by", "leaf", "-M", "leaked", recordings[-1])["rows"]
            found = [(row["name"], row["self_blocks"]) for row in rows if "grab" in row["name"]]
            self.assertEqual(found, [("(anonymous namespace)::grab", 2)], level)
        self.assertIn("nothing has changed", self.allo("diff", *recordings))

    def test_c_functions_stay_as_they_are(self):
        source = self.file("plain.c", "#include <stdlib.h>\nvoid *volatile kept;\nstatic __attribute__((noinline)) void fill(void) "
                           "{ kept = malloc(1007); }\nint main(void) { fill(); return kept == NULL; }\n")
        leaks = self.allo_json("leaks", self.record(self.build(["gcc", "-g", "-O1", source])))["leaks"]
        frames, = [leak["frames"] for leak in leaks if leak["total"] == 1007]
        self.assertIn("fill", [frame["name"] for frame in frames])


class DebugFiles(SymbolsTest):
    def split(self, folder, *flags):
        """A stripped program whose debug information is in a folder beside it."""
        program = self.build(GCC, "-g", *flags)
        debug = self.tmp / folder / "prog.debug"
        debug.parent.mkdir(exist_ok=True)
        self.must("objcopy", "--only-keep-debug", program, debug)
        self.must("strip", program)
        self.must("objcopy", f"--add-gnu-debuglink={debug}", program)
        return program, debug

    def test_beside_the_program(self):
        self.check(*self.split("."))

    def test_in_a_folder_for_them(self):
        self.check(*self.split(".debug"))

    def test_known_by_its_checksum(self):
        self.check(*self.split(".", "-Wl,--build-id=none"))

    def test_one_of_another_build_is_not_taken(self):
        for flags in ((), ("-Wl,--build-id=none",)):
            program, debug = self.split(".", *flags)
            other = self.build(GCC, "-g", "-O1", *flags, name="other")
            self.must("objcopy", "--only-keep-debug", other, debug)
            self.assertEqual(self.symbols(self.record(program), program)["source"], "exported")

    def test_by_build_id(self):
        """Debian's way: packages of debug information for stripped packages."""
        program, debug = self.split("apart")
        build_id = re.search("Build ID: ([0-9a-f]+)", self.must("readelf", "-n", program)).group(1)
        name = pathlib.Path(".build-id") / build_id[:2] / (build_id[2:] + ".debug")
        if IS_ROOT:
            place = "/usr/lib/debug" / name
            self.addCleanup(self.must, "sh", "-c", 'rm "$1"; rmdir --ignore-fail-on-non-empty "${1%/*}"', "sh", place)
        else:
            # All programs see another folder in place of /usr/lib/debug.
            place = self.tmp / "system" / name
            run = self.run_program
            self.run_program = lambda *command, **options: run(
                "unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /usr/lib/debug && exec "$@"',
                self.tmp / "system", *command, **options)
        subprocess.run(["install", "-D", "-m", "644", debug, place], check=True)
        self.check(program, debug)
        # Even when the program itself is gone.
        recording = self.record(program)
        found = self.frames(self.profile(recording), program)
        program.rename(self.tmp / "moved")
        told = self.symbols(recording, program)
        self.assertEqual((told["source"], told["named"]), ("lines", len(found)))


class OtherFiles(SymbolsTest):
    """A module that has changed is never used for names."""

    def check_unnamed(self, recording, program, source):
        told = self.symbols(recording, program)
        self.assertEqual((told["source"], told["named"]), (source, 0))
        calls = {call for frames, *_ in self.profile(recording).samples for frame in frames for call in frame
                 if call.module == str(program)}
        self.assertEqual({call.name for call in calls}, {None})
        line = next(line for line in self.allo("info", "-q", recording).splitlines() if line.startswith(f"    {program} "))
        self.assertIn(told.get("build_id", "no build-id"), line)
        return told, subprocess.run([ALLO, "top", recording], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                    env=ENVIRONMENT, check=True).stderr.decode()

    def test_another_build(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        self.build(GCC, "-g", "-O0")
        told, note = self.check_unnamed(recording, program, "other_build")
        self.assertNotEqual(told["found_build_id"], told["build_id"])
        self.assertIn(f"{program} is not the recorded build", note)

    def test_another_one_without_build_ids(self):
        program = self.build(GCC, "-g", "-Wl,--build-id=none")
        self.check(program)
        recording = self.record(program)
        self.build(GCC, "-g", "-O0", "-Wl,--build-id=none")
        _, note = self.check_unnamed(recording, program, "changed")
        self.assertIn(f"{program} is changed", note)

    def test_nothing(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        program.unlink()
        _, note = self.check_unnamed(recording, program, "not_found")
        self.assertEqual(note, "")

    def test_something_else(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        program.write_text("#!/bin/sh\n")
        self.check_unnamed(recording, program, "unreadable")
        program.unlink()
        os.mkfifo(program)
        self.check_unnamed(recording, program, "unreadable")


class Damage(SymbolsTest):
    SANITIZED = True

    def test_any_damage_to_a_file_is_survived(self):
        program = self.build(GXX, "-g")
        recording = self.record(program)
        whole = program.read_bytes()
        sections = [(int(m[1], 16), int(m[2], 16)) for m in re.finditer(
            r"\.(?:debug_\w+|symtab|strtab|dynsym) +\w+ +\w+ +(\w+) (\w+)", self.must("readelf", "-SW", program))]
        self.assertGreater(len(sections), 6)
        chance = random.Random(7)
        for turn in range(120):
            data = bytearray(whole)
            start, size = chance.choice([*sections, (len(data) - 4000, 4000)])
            for _ in range(chance.choice((1, 5, 200))):
                data[start + chance.randrange(size)] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
            if turn % 10 == 0:
                del data[chance.randrange(len(data)):]
            program.write_bytes(data)
            with self.subTest(turn=turn):
                self.allo("convert", "-q", "--to", "folded", "--force", recording, "-o", self.tmp / "out")
