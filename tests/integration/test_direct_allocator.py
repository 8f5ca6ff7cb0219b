"""Programs that call an allocator by its own functions: allo run says before they start if these are not recorded."""
import shutil
import sys

from allotest import ALLO, ENVIRONMENT, Test, unsanitized
from recordings import PROGRAMS, built

NOTE = "note: {} uses {} directly: only blocks from malloc and new are recorded; "
OTHER = NOTE + "build it with the C library's allocator to record all\n"
STRIPPED = NOTE + ("to record all, build it with symbols (no strip, no -s), or install its debug file of the same build-id in "
                   "/usr/lib/debug\n")
RECORDED = "mi_malloc", "mi_malloc_aligned", "je_malloc", "_rjem_malloc", "duckdb_je_malloc", "tc_malloc", "malloc"
FUNCTIONS = {"rpmalloc": "rpmalloc", "sn_malloc": "snmalloc", "dlmalloc": "dlmalloc"}
MESSAGES = {"mimalloc": "mimalloc: error: ", "jemalloc": "<jemalloc>: ", "tcmalloc": "tcmalloc: large alloc "}


class DirectAllocator(Test):
    def compiled(self, function, message, *flags):
        self.must("gcc", "-D_GNU_SOURCE", "-O1", f"-DMALLOC={function}", f'-DMESSAGE="{message}"',
                  PROGRAMS / "own_allocator.c", *flags, "-o", "own")

    def said(self, *command, **options):
        done = self.run_program(ALLO, "run", *command, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def test_functions_in_the_program_are_recorded(self):
        for function in RECORDED:
            for flags in (), ("-rdynamic", "-s"):
                self.compiled(function, "", *flags)
                said = self.said("-f", "-o", "own.allo", "./own")
                self.assertIn("allo: 100,000 allocations, ", said, function)
                self.assertNotIn("note: ", said)

    def test_functions_that_are_not_recorded_are_known(self):
        for function, name in FUNCTIONS.items():
            self.compiled(function, "")
            self.assertTrue(self.said("./own").startswith(OTHER.format("./own", name)), function)
        self.compiled("dlmalloc", "", "-rdynamic", "-s")  # a dynamic symbol
        self.assertTrue(self.said("./own").startswith(OTHER.format("./own", "dlmalloc")))
        self.assertNotIn("directly", self.said("-q", "./own"))

    def test_functions_of_a_library_are_recorded(self):
        self.must("gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", "libown.so", input=b"#include <stdlib.h>\n"
                  b"void *mi_malloc(size_t size) { static char room[10100000]; static size_t used; "
                  b"if (used > sizeof(room)) abort(); used += size; return room + used - size; }\n")
        self.compiled("mi_malloc", "", "-DIMPORTED", "-L.", "-lown", "-Wl,-rpath,.", "-s")
        said = self.said("-f", "-o", "own.allo", "./own")
        self.assertIn("allo: 100,000 allocations, ", said)
        self.assertNotIn("note: ", said)

    def check_executed(self, reason, *command):
        """Of `own`, which holds 10 MiB; the recording of the program before it is small."""
        said = self.said("-f", "-o", "a.allo", *command)
        self.assertIn(f"note: not fully recorded: {self.tmp}/own: it {reason}\n", said)
        if (self.tmp / "a.allo").exists():
            resident = self.allo_json("summary", "a.allo").get("resident", {"peak_bytes": 0})
            self.assertLess(resident["peak_bytes"], 8 << 20, said)
        return said

    def test_a_program_that_another_one_executes_is_listed(self):
        self.must("gcc", "-x", "c", "-", "-o", "shim", input=b"#include <stdlib.h>\n#include <unistd.h>\n"
                  b"int main(int count, char **words) { void *volatile block = malloc(1 << 20);\n"
                  b" return count > 1 && block ? execv(words[1], words + 1) : 9; }\n")
        self.compiled("dlmalloc", "")
        for path in ("./own", self.tmp / "own"):
            self.check_executed("uses dlmalloc directly", "./shim", path)
        self.check_executed("uses dlmalloc directly", "sh", "-c", "./own; true")
        said = self.check_executed("uses dlmalloc directly, 2 times", "sh", "-c", "./own; ./own; sleep 0.1")
        self.assertIn("note: own uses dlmalloc directly: only blocks", said)  # while it runs
        self.assertNotIn("directly", self.said("-q", "-f", "-o", "a.allo", "./shim", "./own"))
        self.assertNotIn("directly", self.said("-f", "-o", "a.allo", "--only", "sh", "sh", "-c", "./own; true"))
        self.assertNotIn("fully", self.said("-f", "-o", "a.allo", "sh", "-c", "true; ls; exec ls"))

    def test_a_stripped_program_is_known_by_its_messages(self):
        for name, message in MESSAGES.items():
            self.compiled("get_memory", message, "-s")
            self.assertTrue(self.said("./own").startswith(STRIPPED.format("./own", name)), name)

    def test_a_stripped_program_that_exports_malloc_is_recorded(self):
        """Its messages are those of the allocator behind malloc."""
        self.compiled("malloc", MESSAGES["jemalloc"], "-s")
        said = self.said("-f", "-o", "own.allo", "./own")
        self.assertIn("allo: 100,000 allocations, ", said)
        self.assertNotIn("directly", said)

    def test_a_static_program_is_refused_with_the_name_of_its_allocator(self):
        self.compiled("mi_malloc", MESSAGES["mimalloc"], "-static")
        done = self.run_program(ALLO, "run", "./own")
        self.assertEqual(done.returncode, 125)
        self.assertIn("it is statically linked, with mimalloc, so no library can be preloaded\n  hint: link it dynamically",
                      done.stderr.decode())

    @unsanitized
    def test_ordinary_programs_get_no_note(self):
        shutil.copy(ALLO, self.tmp / "stripped_allo")
        self.must("strip", "stripped_allo")
        commands = [[built("entry_points.c")], ["true"], ["sh", "-c", "true"], [sys.executable, "-c", ""],
                    ["perl", "-e", "1"], ["gcc", "--version"], ["git", "--version"], ["sqlite3", "--version"],
                    [ALLO, "--version"], ["./stripped_allo", "--version"]]
        for command in commands:
            if shutil.which(str(command[0]), path=f"{ENVIRONMENT['PATH']}:{self.tmp}"):
                self.assertNotIn("directly", self.said(*command), command)

    def test_allocators_behind_malloc_get_no_note(self):
        """Their blocks are recorded: the program calls malloc."""
        self.file("behind.c", "#include <stdlib.h>\nint main(void) { void *volatile block = malloc(9); return !block; }\n")
        for library in ("libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
            done = self.run_program("gcc", "behind.c", "-Wl,--no-as-needed", f"-l:{library}", "-o", "behind")
            if done.returncode == 0:  # otherwise it is not installed
                self.assertNotIn("directly", self.said("./behind"))
