"""Where names come from: debug files elsewhere, other machines' roots, and names that were found before."""
import os
import pathlib
import random
import re
import shutil

from allotest import ALLO, ENVIRONMENT
from test_symbols import GCC, GXX, SymbolsTest


class FilesTest(SymbolsTest):
    def setUp(self):
        super().setUp()
        self.elsewhere = self.tmp / "elsewhere"
        self.elsewhere.mkdir()

        self.lowest_of = {}

    def lowest(self, program):
        """Also when it is not there any more."""
        if program not in self.lowest_of:
            self.lowest_of[program] = super().lowest(program)
        return self.lowest_of[program]

    def build_id(self, program):
        return re.search("Build ID: ([0-9a-f]+)", self.must("readelf", "-n", program)).group(1)

    def recorded(self, *flags, command=GCC):
        """A program, a recording of it, and the names that its frames should have."""
        program = self.build(command, "-g", *flags)
        recording = self.record(program)
        return program, recording, self.frames(self.profile(recording), program)

    def strip(self, program, debug):
        """Takes the debug information out into a file."""
        debug.parent.mkdir(parents=True, exist_ok=True)
        self.must("objcopy", "--only-keep-debug", program, debug)
        self.must("strip", program)

    def check_names(self, expected, program, recording, *options):
        self.assertEqual(self.frames(self.profile(recording, *options), program), expected)

    def source(self, recording, program, *options):
        told = self.allo_json("info", "-q", *options, recording)
        return next(m for m in told["symbols"] if m["module"] == str(program))["source"]


class DebugDirs(FilesTest):
    def check_at(self, place, *more):
        """Debug information at a place below a folder is found there."""
        program, recording, expected = self.recorded()
        build_id = self.build_id(program)
        debug = self.elsewhere / place.format(first=build_id[:2], rest=build_id[2:], all=build_id, path=program)
        self.strip(program, debug)
        self.assertEqual(self.source(recording, program), "exported")
        self.check_names(expected, program, recording, *more, "--debug-dir", self.elsewhere)
        return program, recording, expected

    def test_by_build_id(self):
        self.check_at(".build-id/{first}/{rest}.debug")

    def test_as_debuginfod_has_it(self):
        self.check_at("{all}/debuginfo")

    def test_by_name(self):
        self.check_at("prog.debug")

    def test_below_its_path(self):
        self.check_at("./{path}.debug")

    def test_several_folders(self):
        empty = self.tmp / "empty"
        empty.mkdir()
        self.check_at("prog.debug", "--debug-dir", empty)

    def test_by_the_name_in_the_program(self):
        program, recording, expected = self.recorded("-Wl,--build-id=none")
        self.strip(program, self.elsewhere / "other-name.dbg")
        self.must("objcopy", f"--add-gnu-debuglink={self.elsewhere / 'other-name.dbg'}", program)
        # Without a build-id a program that has changed is not the one that was recorded.
        recording = self.record(program)
        self.check_names(expected, program, recording, "--debug-dir", self.elsewhere)

    def test_the_program_as_it_was_before_it_was_stripped(self):
        program, recording, expected = self.recorded()
        shutil.copy(program, self.elsewhere)
        self.must("strip", program)
        self.check_names(expected, program, recording, "--debug-dir", self.elsewhere)
        program.unlink()
        self.check_names(expected, program, recording, "--debug-dir", self.elsewhere)

    def test_the_program_is_gone_and_its_debug_file_is_not(self):
        program, recording, expected = self.check_at("prog.debug")
        program.unlink()
        self.check_names(expected, program, recording, "--debug-dir", self.elsewhere)

    def test_another_build_is_not_taken(self):
        program, recording, _ = self.recorded()
        other = self.build(GCC, "-g", "-O1", name="other")
        for name in ("prog.debug", "prog"):
            shutil.copy(other, self.elsewhere / name)
        place = self.elsewhere / ".build-id" / self.build_id(program)[:2] / (self.build_id(program)[2:] + ".debug")
        self.strip(other, place)
        self.must("strip", program)
        self.assertEqual(self.source(recording, program, "--debug-dir", self.elsewhere), "exported")

    def test_a_path_that_is_no_folder_is_reported(self):
        recording = self.recorded()[1]
        for option in ("--debug-dir", "--sysroot"):
            self.assertIn("No such file", self.allo_fails("top", option, self.tmp / "nothing", recording))
            self.assertIn("needs a directory", self.allo_fails("top", option, recording, recording, status=2))

    def test_all_commands_that_name_frames_take_them(self):
        program, recording, _ = self.recorded()
        self.strip(program, self.elsewhere / "prog.debug")
        for command in ("top", "tree"):
            self.assertNotIn("allocate_static", self.allo(command, recording))
            self.assertIn("allocate_static", self.allo(command, "--debug-dir", self.elsewhere, recording))

    def test_debug_files_fetched_by_debuginfod(self):
        program, recording, expected = self.recorded()
        self.strip(program, self.elsewhere / self.build_id(program) / "debuginfo")
        (self.tmp / "cache").mkdir()
        (self.tmp / "cache" / "debuginfod_client").symlink_to(self.elsewhere)
        for variables in ({"DEBUGINFOD_CACHE_PATH": str(self.elsewhere)}, {"XDG_CACHE_HOME": str(self.tmp / "cache")}):
            self.assertIn("allocate_static", self.allo("top", recording, env={**ENVIRONMENT, **variables}))


class Roots(FilesTest):
    def moved(self):
        """A recorded program that now lies under another root."""
        program, recording, expected = self.recorded()
        place = self.elsewhere / str(program)[1:]
        place.parent.mkdir(parents=True)
        program.rename(place)
        return program, recording, expected, place

    def test_a_program_under_another_root(self):
        program, recording, expected, _ = self.moved()
        self.assertEqual(self.source(recording, program), "not_found")
        self.check_names(expected, program, recording, "--sysroot", self.elsewhere)

    def test_links_lead_to_places_under_the_root(self):
        program, recording, expected, place = self.moved()
        (self.elsewhere / "opt").mkdir()
        place.rename(self.elsewhere / "opt" / "real")
        place.symlink_to("/opt/real")
        self.check_names(expected, program, recording, "--sysroot", self.elsewhere)
        place.unlink()
        place.symlink_to("../" * 40 + "opt/real")
        self.check_names(expected, program, recording, "--sysroot", self.elsewhere)

    def test_debug_files_under_another_root(self):
        program, recording, expected, place = self.moved()
        build_id = self.build_id(place)
        self.strip(place, self.elsewhere / "usr/lib/debug/.build-id" / build_id[:2] / (build_id[2:] + ".debug"))
        self.check_names(expected, program, recording, "--sysroot", self.elsewhere)

    def test_a_local_file_is_not_used_for_another_root(self):
        program, recording, _ = self.recorded()
        self.assertEqual(self.source(recording, program, "--sysroot", self.elsewhere), "not_found")


class Parts(FilesTest):
    """Where a program's parts have gaps between them, the loader tells of each apart."""

    def test_gaps(self):
        for kind in ("-pie", "-no-pie"):
            program = self.build(GCC, "-g", kind, "-Wl,-z,separate-code,-z,max-page-size=0x200000")
            recording = self.record(program)
            bias = next(m["bias"] for m in self.allo_json("info", "-q", recording)["recording"]["modules"]
                        if m["path"] == str(program))
            found = {frame[0].address - bias: [(call.name, f"{call.file}:{call.line}") for call in frame]
                     for frames, *_ in self.profile(recording).samples for frame in frames
                     if frame[0].module == str(program)}
            self.assertIn("allocate_static", {calls[0][0] for calls in found.values()})
            self.assertEqual(found, self.addr2line(program, sorted(found)))


class Jit(FilesTest):
    SOURCE = """
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <unistd.h>
        /* push rbp; mov rbp, rsp; mov rax, rdi; mov edi, 1001; call rax; pop rbp; ret */
        static const unsigned char code[] = "\\x55\\x48\\x89\\xe5\\x48\\x89\\xf8\\xbf\\xe9\\x03\\0\\0\\xff\\xd0\\x5d\\xc3";
        int main(void) {
            char *page = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), name[64];
            memcpy(page + 64, code, sizeof(code));
            sprintf(name, "/tmp/perf-%d.map", (int)getpid());
            FILE *map = fopen(name, "w");
            fprintf(map, "%lx 1000 old name\\nnot a line\\n%lx %zx made: up (here)\\n", (long)page, (long)page + 64, sizeof(code));
            fclose(map);
            return !((void *(*)(void *(*)(size_t)))(page + 64))(malloc) || usleep(300000);
        }"""

    def setUp(self):
        super().setUp()
        if os.uname().machine != "x86_64":
            self.skipTest("the code is x86-64's")
        self.recording = self.record(self.build(["gcc", "-O1", "-fno-omit-frame-pointer", self.file("jit.c", self.SOURCE)]))
        self.map = pathlib.Path(f"/tmp/perf-{self.allo_json('info', '-q', self.recording)['pid']}.map")
        self.addCleanup(self.map.unlink, missing_ok=True)

    def test_names_from_the_perf_map_of_a_process(self):
        self.assertIn("made: up (here)", self.allo("top", "-M", "end", self.recording))
        self.allo("symbolize", self.recording)
        self.map.unlink()
        self.assertIn("made: up (here)", self.allo("top", "-M", "end", self.recording))

    def test_tiers_of_a_javascript_function_are_one_name(self):
        lines = self.map.read_text()
        start, size = lines.splitlines()[-1].split()[:2]
        for name, shown in (("JS:~f app.js:1", "JS:f app.js:1"), ("JS:^f app.js:1", "JS:f app.js:1"),
                            ("JS:*f app.js:1", "JS:f app.js:1"), ("LazyCompile:*f app.js", "LazyCompile:f app.js"),
                            ("Eval:~x", "Eval:~x"), ("JS:~", "JS:~"),
                            ("JS:~ /srv/app.js:1:1", "JS:(anonymous) /srv/app.js:1:1")):
            for line in (f"{start} {size} {name}\n", f"0x{start} 0x{size} {name}\n"):
                self.map.write_text(line)
                names = {row["name"] for row in self.allo_json("top", "-M", "end", self.recording)["rows"]}
                self.assertIn(shown, names, line)

    def test_a_part_is_of_the_same_process(self):
        info = self.allo_json("info", "-q", self.recording)
        written = (info["start_ns"] + info["duration_ns"]) / 1e9 + 9.9  # a while later is soon enough
        os.utime(self.map, (written, written))
        self.assertIn("made: up (here)", self.allo("top", "-M", "end", self.recording))
        self.assertIn("made: up (here)", self.allo("top", "-M", "end", "--range", "..150ms", self.recording))

    def test_another_process_of_that_number(self):
        later = self.map.stat().st_mtime + 3600
        os.utime(self.map, (later, later))
        self.assertNotIn("made: up", self.allo("top", "-M", "end", self.recording))
        os.utime(self.map, (1e9, 1e9))
        self.assertNotIn("made: up", self.allo("top", "-M", "end", self.recording))


class Report(FilesTest):
    def test_the_package_to_install_is_named(self):
        """/bin/true, or its substitute, belongs to a package with separate debug information in Debian."""
        program = shutil.which("sort")
        recording = self.record(program, "/dev/null")
        package = self.must("dpkg", "-S", program).split(":")[0]
        told = next(m for m in self.allo_json("info", "-q", recording)["symbols"] if m["module"] == program)
        self.assertEqual(told["install"], f"{package}-dbgsym")
        self.assertIn(f"apt install {package}-dbgsym", self.allo("info", "-q", recording))

    def test_modules_without_a_package(self):
        program, recording, _ = self.recorded()
        self.must("strip", program)
        self.assertIn(f"debuginfod-find debuginfo {self.build_id(program)}", self.allo("info", "-q", recording))

    def test_frames_with_names_and_lines_are_counted(self):
        program, recording, expected = self.recorded()
        told = self.symbols(recording, program)
        self.assertEqual((told["frames"], told["named"], told["with_line"], told["stored"]),
                         (len(expected), len(expected), sum(not calls[0][1].endswith(":0") for calls in expected.values()), 0))
        self.must("strip", "--strip-debug", program)
        self.assertIn("no lines", self.allo("info", "-q", recording))


class Cache(FilesTest):
    SANITIZED = True

    def setUp(self):
        super().setUp()
        self.env = {**ENVIRONMENT, "XDG_CACHE_HOME": str(self.tmp / "cache")}
        del self.env["ALLO_NO_CACHE"]
        self.folder = self.tmp / "cache" / "allotrope" / "symbols"

    def named(self, recording, *options, env=None):
        return self.allo("convert", "-q", *options, "--to", "json", recording, "-o", "-", env=env or self.env)

    def spoil(self, program):
        """Makes the debug information useless, without a change of size or build-id."""
        data = bytearray(program.read_bytes())
        for name in (".debug_info", ".symtab"):
            start, size = (int(word, 16) for word in re.search(
                rf" {re.escape(name)} +\w+ +\w+ +(\w+) (\w+)", self.must("readelf", "-SW", program)).groups())
            data[start:start + size] = bytes(size)
        program.write_bytes(data)

    def test_names_are_found_once(self):
        program, recording, _ = self.recorded(command=GXX)
        plain = self.named(recording, env=ENVIRONMENT)
        self.assertEqual(self.named(recording), plain)
        self.assertTrue((self.folder / self.build_id(program)).exists())
        self.spoil(program)
        self.assertEqual(self.named(recording), plain)
        self.assertNotEqual(self.named(recording, "--no-cache"), plain)
        self.assertNotEqual(self.named(recording, env={**self.env, "ALLO_NO_CACHE": "1"}), plain)

    def test_names_found_for_one_recording_serve_all(self):
        program = self.build(GXX, "-g")
        first, second = self.record(program), self.record(program, "further", "arguments")
        expected = self.named(second, env=ENVIRONMENT)
        self.named(first)
        self.assertEqual(self.named(second), expected)
        self.spoil(program)
        self.assertEqual(self.named(second), expected)

    def test_other_files_of_the_same_build_are_looked_into(self):
        program, recording, expected = self.recorded()
        whole = program.read_bytes()
        self.must("strip", program)
        self.named(recording)
        program.write_bytes(whole)
        self.assertIn("allocate_static", self.named(recording))

    def test_damage_does_not_matter(self):
        program, recording, _ = self.recorded()
        plain = self.named(recording)
        file = self.folder / self.build_id(program)
        whole, chance = file.read_bytes(), random.Random(3)
        for turn in range(40):
            data = bytearray(whole)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            file.write_bytes(data if turn % 4 else whole[:chance.randrange(len(whole))])
            self.assertEqual(self.named(recording), plain)
            self.assertEqual(file.read_bytes(), whole)

    def test_no_room_for_it(self):
        _, recording, _ = self.recorded()
        self.file("cache", "not a folder")
        self.assertEqual(self.named(recording), self.named(recording, env=ENVIRONMENT))

    def test_a_home_that_does_not_exist_is_not_made(self):
        _, recording, _ = self.recorded()
        home = self.tmp / "home"
        env = {key: value for key, value in {**ENVIRONMENT, "HOME": str(home)}.items() if key != "ALLO_NO_CACHE"}
        env.pop("XDG_CACHE_HOME", None)
        self.named(recording, env=env)
        self.assertFalse(home.exists())
        home.mkdir()
        self.named(recording, env=env)
        self.assertTrue((home / ".cache" / "allotrope").is_dir())

    def test_it_does_not_grow_for_ever(self):
        program, recording, _ = self.recorded()
        self.folder.mkdir(parents=True)
        for number in range(70):
            file = self.folder / f"{number:040x}"
            file.write_bytes(bytes(1 << 20))
            os.utime(file, (number, number))
        (self.folder / "not ours").write_bytes(bytes(1 << 20))
        self.named(recording)
        left = {path.name for path in self.folder.iterdir()}
        self.assertIn("not ours", left)
        self.assertIn(self.build_id(program), left)
        self.assertIn(f"{69:040x}", left)
        self.assertNotIn(f"{0:040x}", left)
        self.assertLess(sum(path.stat().st_size for path in self.folder.iterdir()), 64 << 20)
