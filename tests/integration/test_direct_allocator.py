"""Programs that call an allocator by its own functions, which are not recorded: allo run says so before they start."""
import shutil
import sys

from allotest import ALLO, ENVIRONMENT, Test, unsanitized
from recordings import PROGRAMS, built

NOTE = ("note: {} uses {} directly: only blocks from malloc and new are recorded; "
        "build it with the C library's allocator to record all\n")
FUNCTIONS = {"mi_malloc": "mimalloc", "je_malloc": "jemalloc", "_rjem_malloc": "jemalloc", "tc_malloc": "tcmalloc",
             "rpmalloc": "rpmalloc", "sn_malloc": "snmalloc", "dlmalloc": "dlmalloc"}
MESSAGES = {"mimalloc": "mimalloc: error: ", "jemalloc": "<jemalloc>: ", "tcmalloc": "tcmalloc: large alloc "}


class DirectAllocator(Test):
    def compiled(self, function, message, *flags):
        self.must("gcc", "-D_GNU_SOURCE", "-O1", f"-DMALLOC={function}", f'-DMESSAGE="{message}"',
                  PROGRAMS / "own_allocator.c", *flags, "-o", "own")

    def said(self, *command, **options):
        done = self.run_program(ALLO, "run", *command, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def test_functions_in_the_program_are_known(self):
        for function, name in FUNCTIONS.items():
            self.compiled(function, "")
            self.assertTrue(self.said("./own").startswith(NOTE.format("./own", name)), function)
        self.compiled("mi_malloc", "", "-rdynamic", "-s")  # a dynamic symbol
        self.assertTrue(self.said("./own").startswith(NOTE.format("./own", "mimalloc")))
        self.assertNotIn("directly", self.said("-q", "./own"))

    def test_functions_of_a_library_are_known(self):
        self.must("gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", "libown.so", input=b"#include <stdlib.h>\n"
                  b"void *mi_malloc(size_t size) { static char room[10100000]; static size_t used; "
                  b"used += size; return room + used - size; }\n")
        self.compiled("mi_malloc", "", "-DIMPORTED", "-L.", "-lown", "-Wl,-rpath,.", "-s")
        self.assertTrue(self.said("./own").startswith(NOTE.format("./own", "mimalloc")))

    def test_a_stripped_program_is_known_by_its_messages(self):
        for name, message in MESSAGES.items():
            self.compiled("get_memory", message, "-s")
            self.assertTrue(self.said("./own").startswith(NOTE.format("./own", name)), name)

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
