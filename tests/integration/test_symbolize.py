"""allo symbolize: recordings that have their names with them."""
import random
import struct
import subprocess

from allotest import ALLO, ENVIRONMENT
from profilejson import Profile
from test_symbols import GCC, GXX, SymbolsTest

NAMES = 20  # the kind of their chunks


def chunks(data):
    """(offset, kind, length with its head) of each chunk of a packed recording."""
    at = 16
    while data[at:at + 4] == b"ACHK":
        kind, = struct.unpack_from("I", data, at + 4)
        packed, = struct.unpack_from("I", data, at + 24)
        yield at, kind, 48 + packed
        at += 48 + packed


class SymbolizeTest(SymbolsTest):
    def json(self, recording, *options):
        return self.allo("convert", "-q", *options, "--to", "json", recording, "-o", "-")

    def without_symbols(self, text):
        profile = Profile(text)
        return sorted((tuple(frame[0].address for frame in frames), values) for frames, _, *values in profile.samples)


class Stored(SymbolizeTest):
    def test_the_program_is_gone(self):
        for command in (GCC, GXX):
            program = self.build(command, "-g")
            recording = self.record(program)
            expected, summary = self.json(recording), self.allo_json("info", "-q", recording)
            self.allo("symbolize", recording)
            program.unlink()
            self.assertEqual(self.json(recording), expected)
            told = self.symbols(recording, program)
            self.assertEqual((told["source"], told["named"]), ("stored", told["stored"]))
            now = self.allo_json("info", "-q", recording)
            for key in ("events", "allocations", "frees", "threads"):
                self.assertEqual(now["recording"][key], summary["recording"][key])
            self.assertEqual(now["metrics"], summary["metrics"])
            self.allo("verify", recording)

    def test_the_program_is_another_one(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        expected = self.json(recording)
        self.allo("symbolize", recording)
        self.build(GCC, "-g", "-O0")
        self.assertEqual(self.json(recording), expected)

    def test_another_build_is_not_stored(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        self.build(GCC, "-g", "-O0")
        self.allo("symbolize", recording)
        self.assertEqual(self.symbols(recording, program)["named"], 0)

    def test_no_symbols_leaves_addresses(self):
        recording = self.record(self.build(GCC, "-g"))
        bare = self.json(recording, "--no-symbols")
        self.allo("symbolize", recording)
        self.assertEqual(self.json(recording, "--no-symbols"), bare)
        for command in ("top", "tree", "summary", "blocks", "leaks", "sql"):
            query = {"sql": ["select name from function"], "tree": []}.get(command, ["-n", "0"])
            self.assertIn("allocate_static", self.allo(command, recording, *query), command)
            self.assertNotIn("allocate_static", self.allo(command, "--no-symbols", recording, *query), command)

    def test_to_another_file(self):
        recording = self.record(self.build(GCC, "-g"))
        before, out = recording.read_bytes(), self.tmp / "named.allo"
        self.allo("symbolize", recording, "-o", out)
        self.assertEqual(recording.read_bytes(), before)
        self.assertEqual(self.json(out), self.json(recording))
        self.assertIn("exists", self.allo_fails("symbolize", recording, "-o", out, status=2))
        self.allo("symbolize", "-f", recording, "-o", out)

    def test_twice_is_as_once(self):
        recording = self.record(self.build(GXX, "-g"))
        self.allo("symbolize", recording)
        once = recording.read_bytes()
        self.allo("symbolize", recording)
        self.assertEqual(recording.read_bytes(), once)

    def test_better_names_replace_poorer_ones(self):
        program = self.build(GCC, "-g")
        recording, whole = self.record(program), program.read_bytes()
        expected = self.json(recording)
        self.must("strip", "--strip-debug", program)
        self.allo("symbolize", recording)
        self.assertEqual(self.symbols(recording, program)["with_line"], 0)
        program.write_bytes(whole)
        self.allo("symbolize", recording)
        program.unlink()
        self.assertEqual(self.json(recording), expected)
        # And poorer information does not replace better.
        program.write_bytes(whole)
        self.must("strip", program)
        self.allo("symbolize", recording)
        self.assertEqual(self.json(recording), expected)

    def test_with_debug_information_elsewhere(self):
        program = self.build(GCC, "-g")
        recording = self.record(program)
        expected = self.json(recording)
        (self.tmp / "elsewhere").mkdir()
        program.rename(self.tmp / "elsewhere" / "prog")
        self.allo("symbolize", "--debug-dir", self.tmp / "elsewhere", recording)
        self.assertEqual(self.json(recording), expected)

    def test_only_used_names_are_stored(self):
        program = self.build(GXX, "-g")
        recording = self.record(program)
        self.allo("symbolize", recording)
        data = recording.read_bytes()
        stored = sum(length for _, kind, length in chunks(data) if kind == NAMES)
        self.assertGreater(stored, 0)
        self.assertLess(stored, 40000)

    def test_names_of_any_bytes_and_languages(self):
        program = self.build(GCC, "-O0")
        names = {"allocate_static": b"odd \xff;\tname", "allocate_inlined": b"_RNvCskK7mfDs1mzF_1m5outer",
                 "handle": b"_ZN3foo3barEv", "allocate_and_end": "größe".encode()}
        self.must("objcopy", *(word for old, new in names.items() for word in ("--redefine-sym", old.encode() + b"=" + new)),
                  program)
        recording = self.record(program)
        expected = self.json(recording)
        for name in ("odd \ufffd;\\u0009name", "m::outer", "foo::bar()", "größe"):
            self.assertIn(name, expected)
        self.allo("symbolize", recording)
        program.unlink()
        self.assertEqual(self.json(recording), expected)

    def must(self, *command, **options):
        command = [word if isinstance(word, bytes) else str(word) for word in command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.tmp,
                              env=options.get("env", ENVIRONMENT))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(errors="replace")


class Raw(SymbolizeTest):
    def raw(self, *command):
        recording = self.tmp / "raw.allo"
        self.must(ALLO, "run", "--raw", "-o", recording, *command)
        return recording

    def test_is_packed(self):
        program = self.build(GCC, "-g")
        recording = self.raw(program)
        expected, size = self.without_symbols(self.json(recording)), recording.stat().st_size
        self.allo("symbolize", recording)
        self.assertLess(recording.stat().st_size, size / 2)
        self.assertEqual(recording.read_bytes()[:8], b"ALLOpck1")
        program.unlink()
        self.assertIn("allocate_static", self.allo("top", recording))
        self.assertEqual([stack for stack, _ in self.without_symbols(self.json(recording))],
                         [stack for stack, _ in expected])

    def test_one_that_may_still_be_written_keeps_its_name(self):
        recording = self.killed()
        before = recording.read_bytes()
        self.assertIn("is not closed", self.allo_fails("symbolize", recording, status=2))
        self.assertEqual(recording.read_bytes(), before)
        self.allo("symbolize", recording, "-o", self.tmp / "named.allo")
        self.assertIn("main", self.allo("tree", self.tmp / "named.allo"))

    def killed(self):
        source = self.file("killed.c", """#include <signal.h>
            #include <stdlib.h>
            int main(void) { volatile char *p = malloc(1009); p[0] = 1; raise(SIGKILL); }""")
        program = self.build(["gcc", "-g", source])
        recording = self.tmp / "killed.allo"
        subprocess.run([ALLO, "run", "-q", "--raw", "-o", recording, program], env=ENVIRONMENT, check=False)
        return recording


class Damaged(SymbolizeTest):
    SANITIZED = True

    def setUp(self):
        super().setUp()
        self.program = self.build(GXX, "-g")
        self.recording = self.record(self.program)
        self.expected = self.without_symbols(self.json(self.recording))
        self.allo("symbolize", self.recording)
        self.data = self.recording.read_bytes()
        self.program.unlink()

    def test_damaged_names_cost_names_only(self):
        chance = random.Random(5)
        places = [(at, length) for at, kind, length in chunks(self.data) if kind == NAMES]
        for at, length in [chance.choice(places) for _ in range(30)]:
            data = bytearray(self.data)
            data[at + chance.randrange(length)] ^= 1 << chance.randrange(8)
            self.recording.write_bytes(data)
            done = self.run_program(ALLO, "verify", self.recording)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertEqual(self.without_symbols(self.json(self.recording)), self.expected)

    def test_it_may_be_cut_anywhere(self):
        chance = random.Random(6)
        for _ in range(40):
            self.recording.write_bytes(self.data[:chance.randrange(16, len(self.data))])
            done = self.run_program(ALLO, "top", self.recording)
            self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_names_are_not_stored_in_incomplete_recordings(self):
        for damage in (self.data[:-20], self.data[:len(self.data) // 2]):
            self.recording.write_bytes(damage)
            error = self.allo_fails("symbolize", self.recording)
            self.assertIn("damaged or cut", error)
            self.assertEqual(self.recording.read_bytes(), damage)

    def test_other_inputs_are_refused(self):
        self.assertIn("name a file", self.allo_fails("symbolize", "-", status=2))
        self.assertIn("not a recording", self.allo_fails("symbolize", self.file("x", "main 1\n")))
