"""Allocators that are built into programs: their functions are patched at the entry, and each call is recorded."""
import collections
import csv
import io
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

from allotest import ALLO, ENVIRONMENT, ROOT
from rawrecording import RawRecording
from recordings import FLAGS, PROGRAMS, built
from test_capture import NEW_DELETE, Capture

FOLDER = pathlib.Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"jemalloc": "libjemalloc.a", "tcmalloc": "libtcmalloc_minimal.a", "tcmalloc with profiler": "libtcmalloc.a"}
TEXT_BODY = "char *text = next(); *(int *)text = 0x61626300 >> 8; return text;"
MARKER = 54321
STEPS = 30000
# jemalloc's names, which Rust's and other builds of it begin with a prefix.
NAMES = ("malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign", "valloc", "mallocx", "rallocx",
         "xallocx", "dallocx", "sdallocx", "malloc_usable_size")
TABLE = ROOT / "capture/hooks/built_in_functions.c"
PREFIXES = "_rjem_", "je_", "duckdb_je_", "mi_", "tc_"
# Functions of the libraries that make no block, and those that call another function of the table.
OTHERS = re.compile(r"mi_(arena|check|collect|debug|good_size|heap_(check|collect|contains|delete|destroy|get|new|set|visit)|is_|"
                    r"malloc_(good_)?size|malloc_usable_size|manage|option|process|register|reserve|stats|thread|usable_size|version)"
                    r"|mi_(dupenv_s|wdupenv_s|wcsdup|(heap_)?realpath|reallocarr$|heap_recalloc_aligned_at)"
                    r"|tc_(mallinfo|malloc_size|malloc_stats|mallopt|nallocx|query|set|version)"
                    r"|(mallctl|malloc_(stats|good_size|size|usable_size)|nallocx|sallocx|mallinfo|mallopt|reallocarr$|_aligned_malloc)"
                    r"|_Z[^nd]|Malloc(Extension|Hook)|mmap|mremap|munmap|sbrk|__(libc|posix|start|stop)_|_init|_fini|[A-Z]")


def archives():
    found = {name: FOLDER / file for name, file in ALLOCATORS.items() if (FOLDER / file).exists()}
    if not found:
        raise unittest.SkipTest("no archive of an allocator is installed")
    return found


class BuiltIn(Capture):
    def linked(self, source, archive, *flags):
        """A program of tests/programs that contains an allocator; each has a path of its own, by which symbols are cached."""
        name = f"program{len(list(self.tmp.glob('program*')))}"
        compiler = ["g++", "-std=c++17"] if str(source).endswith(".cpp") else ["gcc", "-std=gnu17", "-fno-builtin"]
        self.must(*compiler, *FLAGS, PROGRAMS / source, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                  *flags, "-lstdc++", "-lm", "-ldl", "-lunwind" if "libtcmalloc.a" in str(archive) else "-lm", "-o", name)
        return self.tmp / name

    def recorded(self, *command, **options):
        for old in self.tmp.glob("*.allo"):
            old.unlink()
        return self.record(*command, **options)

    def calls(self, recording):
        """The events between the first and the last block of the marker's size."""
        events = recording.events
        first, last = (index for index, event in enumerate(events) if event.size == MARKER and event.kind == "alloc")
        return [(event.kind, event.old or 0, event.pointer, event.size or 0) for event in events[first + 2:last]]

    def written(self, path):
        lines = (line.split() for line in path.read_text().splitlines())
        return [(kind, int(old, 16), int(block, 16), int(size)) for kind, old, block, size in lines]

    def must_agree(self, program):
        recording = self.recorded(program, "calls", STEPS)
        wanted, found = self.written(self.tmp / "calls"), self.calls(recording)
        self.assertEqual(len(wanted), STEPS)
        self.assertEqual(found, wanted)
        self.assertEqual((recording.dropped, recording.head.failed_stacks), (0, 0))
        return recording


class Exported(BuiltIn):
    """The program's malloc takes the place of libc's."""

    def test_every_call_is_recorded_in_order(self):
        for name, archive in archives().items():
            with self.subTest(name):
                flag = "-DJEMALLOC" if name == "jemalloc" else "-DTCMALLOC"
                recording = self.must_agree(self.linked("built_in.c", archive, flag))
                stacks = [recording.functions(event.stack) for event in recording.events if event.kind == "alloc"]
                self.assertGreater(sum("make_calls" in stack for stack in stacks), 1000)

    def test_a_stripped_program_is_recorded_by_the_names_that_it_exports(self):
        for name, archive in archives().items():
            with self.subTest(name):
                self.must_agree(self.linked("built_in.c", archive, "-rdynamic", "-s"))

    def test_every_new_and_delete_is_seen_once(self):
        for name, archive in archives().items():
            with self.subTest(name):
                recording = self.recorded(self.linked("new_delete.cpp", archive))
                for function, sizes in NEW_DELETE.items():
                    found = self.sizes(recording, function)
                    self.assertEqual({size: found[size] for size in sizes}, sizes, function)
                self.assertEqual(recording.unbalanced(), {})
                self.assertEqual([size for size in recording.live() if size in (1009, 1013, 1019, 1021, 1031)], [])


class Reports(BuiltIn):
    """Reports know the allocator of the program."""

    def test_info_names_it_and_findings_do_not_assume_that_of_glibc(self):
        for name, archive in archives().items():
            with self.subTest(name):
                program = self.linked("findings.c", archive, "-fno-ipa-icf")
                self.allo("run", "-q", "-f", "-o", "tiny.allo", program, "tiny")
                allocator, = self.allo_json("info", "tiny.allo")["recording"]["allocators"]
                self.assertEqual((allocator["name"], allocator["module"], allocator["recorded"]),
                                 (name.split()[0], str(program), True))
                self.assertIn(f"{name.split()[0]} in {program}, recorded from the start", " ".join(self.allo("info", "tiny.allo").split()))
                findings = self.allo_json("findings", "tiny.allo")["findings"]
                self.assertEqual([found for found in findings if found["rule"] == "tiny"], [])
                self.assertNotIn("glibc", str(findings))
                self.assertEqual(self.run_program(ALLO, "verify", "tiny.allo").returncode, 0)
                self.assertNotIn("allocators", self.allo_json("summary", "tiny.allo").get("losses", {}))


def table():
    """Rows of the table: the prefix (None: any), the kind, the name, and the numbers of arguments."""
    prefix = None
    for line in TABLE.read_text().splitlines():
        if found := re.match(r"#define PREFIX (\S+)", line):
            prefix = None if found[1] == "NULL" else found[1].strip('"')
        elif found := re.match(r'\t(\w+)\("(\w+)"(.*)\),', line):
            yield prefix, found[1], found[2], [int(number) for number in re.findall(r"\d+", found[3])]


class Unnamed(BuiltIn):
    """Functions that are not exported, and call the allocator through the same table as those that are."""

    SOURCE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define HIDDEN __attribute__((noipa, visibility("hidden")))
#define EXPORTED __attribute__((noipa))
struct table {
	void *(*make)(size_t, void *, void *), *(*try_make)(size_t, void *, void *);
	void *(*zero)(size_t, size_t, void *, void *), *(*try_zero)(size_t, size_t, void *, void *);
	void *(*align)(size_t, size_t, void *, void *), *(*try_align)(size_t, size_t, void *, void *);
	void *(*resize)(void *, size_t, void *, void *), *(*try_resize)(void *, size_t, void *, void *);
	void (*release)(void *, void *), (*release_sized)(void *, size_t, void *);
	size_t (*size_of)(void *, void *);
	void *(*make_aligned)(size_t, size_t, void *, void *), *(*try_make_aligned)(size_t, size_t, void *, void *);
	void *(*resize_aligned)(void *, size_t, size_t, void *, void *), *(*try_resize_aligned)(void *, size_t, size_t, void *, void *);
	void (*release_aligned)(void *, void *);
};
static const struct table *volatile table;
static volatile int is_patient;

EXPORTED void *_ZnwmRKSt9nothrow_t(size_t size) { return table->try_make(size, 0, 0); }
HIDDEN void *try_zero(size_t count, size_t size) { return table->try_zero(count, size, 0, 0); }
HIDDEN void *try_resize(void *block, size_t size) { return table->try_resize(block, size, 0, 0); }
EXPORTED void free(void *block) { table->release(block, 0); }
HIDDEN void *try_make_aligned(size_t size, size_t to) { return table->try_make_aligned(size, to, 0, 0); }
HIDDEN void *try_resize_aligned(void *block, size_t size, size_t to) { return table->try_resize_aligned(block, size, to, 0, 0); }
HIDDEN void release_aligned(void *block) { table->release_aligned(block, 0); }
HIDDEN size_t size_of(void *block) { return table->size_of(block, 0); }
EXPORTED void *malloc(size_t size)
{
	const struct table *way = table;
	void *block;
	while (!(block = way->make(size, 0, 0)) && is_patient)
		;
	return block;
}
EXPORTED void *calloc(size_t count, size_t size)
{
	const struct table *way = table;
	void *block;
	while (!(block = way->zero(count, size, 0, 0)) && is_patient)
		;
	return block;
}
EXPORTED void *realloc(void *before, size_t size)
{
	const struct table *way = table;
	void *block;
	while (!(block = way->resize(before, size, 0, 0)) && is_patient)
		;
	return block;
}

static char room[1 << 22];
static size_t used;
static void *make(size_t size, void *a, void *b)
{
	size_t at = used + 64;
	(void)a, (void)b;
	if (at + size > sizeof(room))
		return NULL;
	used = (at + size + 63) & ~(size_t)63;
	return memcpy(room + at - 8, &size, 8) + 8;
}
static void *zero(size_t count, size_t size, void *a, void *b) { return make(count * size, a, b); }
static void *align(size_t to, size_t size, void *a, void *b) { (void)to; return make(size, a, b); }
static size_t find_size(void *block, void *a) { size_t size = 0; (void)a; return block ? *(size_t *)((char *)block - 8) : size; }
static void *resize(void *block, size_t size, void *a, void *b)
{
	void *moved = make(size, a, b);
	size_t old = find_size(block, NULL);
	return block && moved ? memcpy(moved, block, old < size ? old : size) : moved;
}
static void release(void *block, void *a) { (void)a; if (block) *(char *)block = 0; }
static void release_sized(void *block, size_t size, void *a) { (void)size; release(block, a); }
static void *make_aligned(size_t size, size_t to, void *a, void *b) { (void)to; return make(size, a, b); }
static void *resize_aligned(void *block, size_t size, size_t to, void *a, void *b) { (void)to; return resize(block, size, a, b); }
static const struct table first = { make, make, zero, zero, align, align, resize, resize, release, release_sized, find_size,
                                    make_aligned, make_aligned, resize_aligned, resize_aligned, release };
static const struct table *volatile table = &first;

int main(void)
{
	for (int i = 0; i < 17; i++) {
		void *block = _ZnwmRKSt9nothrow_t(1009);
		free(block);
		block = try_zero(3, 337);
		block = try_resize(block, 1013);
		free(block);
		block = malloc(1019);
		block = try_resize(block, 1021);
		if (size_of(block) != 1021)
			return 1;
		free(realloc(block, 1031));
		block = try_make_aligned(1033, 64);
		release_aligned(try_resize_aligned(block, 1039, 64));
	}
	return 0;
}
"""
    EVENTS = [("alloc", 1009), ("free", None), ("alloc", 1011), ("resize", 1013), ("free", None), ("alloc", 1019), ("resize", 1021),
              ("resize", 1031), ("free", None), ("alloc", 1033), ("resize", 1039), ("free", None)]

    @unittest.skipUnless(platform.machine() == "x86_64", "they are recognized on x86-64 only")
    def test_they_are_recorded(self):
        self.file("shim.c", self.SOURCE)
        for flags in ("-fomit-frame-pointer",), ("-fno-omit-frame-pointer",), ("-fcf-protection=none", "-fno-omit-frame-pointer"):
            with self.subTest(flags):
                self.must("gcc", "-O2", "-fno-builtin", "-fno-toplevel-reorder", *flags, "shim.c", "-rdynamic", "-s", "-o", "shim")
                recording = self.recorded(self.tmp / "shim")
                events = [(event.kind, event.size) for event in recording.events]
                start = events.index(("alloc", 1009))
                self.assertEqual(events[start:start + 17 * len(self.EVENTS)], self.EVENTS * 17)
                self.assertEqual(recording.unbalanced(), {})


class Table(BuiltIn):
    """The functions that are known."""

    BODIES = {"FREE": ("void", "calls++;"), "STORE": ("int", "*(char **)v0 = next(); return 0;"), "TEXT": ("char *", TEXT_BODY),
              "GROW": ("long", "calls++; return 1L << 40;")}

    def test_every_function_of_debians_libraries_is_in_it_or_makes_no_block(self):
        known = {(prefix or "") + name for prefix, _, name, _ in table()}
        known |= {start + name for start in ("", *PREFIXES) for prefix, _, name, _ in table() if prefix is None}
        libraries = [path for path in FOLDER.glob("lib*malloc*.so.*") if re.match(r"lib(jemalloc|mimalloc|tcmalloc(_minimal)?)\.so\.\d$", path.name)]
        for path in libraries:
            names = {line.split()[-1].split("@")[0] for line in self.must("nm", "-D", "--defined-only", path).splitlines()
                     if line.split()[-2] in "TWi"}
            self.assertEqual(sorted(name for name in names - known if not OTHERS.match(name)), [], path)

    def test_a_call_of_each_function_is_recorded(self):
        """With all prefixes in one program, more than 160 functions."""
        functions, calls, wanted = [], [], []
        rows = [(prefix, *row) for row in table() for prefix in (PREFIXES if row[0] is None else [row[0]]) if prefix]
        for prefix, _, kind, name, arguments in sorted(rows, key=lambda row: PREFIXES.index(row[0])):
            of_count = kind.removesuffix("_COUNT") != kind
            kind = kind.removesuffix("_COUNT")
            result, body = self.BODIES.get(kind, ("void *", "return next();"))
            values, size = ["0"] * 5, 1000 + len(wanted)
            if kind in ("ALLOC", "NEW"):
                values[arguments[-1]] = str(size)
            elif kind in ("RESIZE", "GROW", "FREE"):
                values[arguments[0]] = f"(long)last"
                if kind != "FREE":
                    values[arguments[-1 if kind == "RESIZE" else 1]] = str(size)
            elif kind == "STORE":
                values[arguments[0]], values[arguments[1]] = "(long)&last", str(size)
            if of_count:
                values[arguments[-2]] = "3"
                size *= 3
            if kind == "TEXT":
                size = 4
            functions.append(f"__attribute__((noinline)) {result} {prefix}{name}(long v0, long v1, long v2, long v3, long v4)"
                             f" {{ if (calls < 0) abort(); {body} }}")
            keep = "last = (char *)" if kind not in ("FREE", "STORE", "GROW") else ""
            calls.append(f"{keep}{prefix}{name}({', '.join(values)});")
            wanted.append(("free", 0) if kind == "FREE" else ("resize" if kind in ("RESIZE", "GROW") else "alloc", size))
            if kind == "FREE":  # the next one needs a block
                calls.append(f"last = (char *){prefix}malloc(7, 0, 0, 0, 0);")
                wanted.append(("alloc", 7))
        self.assertGreater(len(functions), 160)
        self.file("all.c", "void abort(void); static char room[64 << 20], *at = room; static volatile long calls; static char *volatile last;\n"
                  "static inline __attribute__((always_inline)) char *next(void) { return at += 65536; }\n"
                  + "\n".join(functions) + "\nint main(void) {\n" + "\n".join(calls) + "\nreturn 0; }\n")
        self.must("gcc", "-O1", "-w", "-rdynamic", "all.c", "-o", "all")
        recording = self.recorded(self.tmp / "all")
        found = [(event.kind, event.size or 0) for event in recording.events]
        self.assertEqual(found, wanted)


class Processes(BuiltIn):
    """What else happens in a program that contains its allocator."""

    FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void use(int count, size_t size) { while (count-- > 0) free(malloc(size)); }
int main(int count, char **words)
{
	if (count > 1) { use(23, 1009); return 0; }
	if (fork() == 0) { use(19, 1013); exit(0); }
	wait(NULL);
	use(17, 1019);
	execl(words[0], words[0], "again", NULL);
	return 1;
}
"""
    # The constructor of a library runs before or after ours; the program's malloc is in use meanwhile.
    THREADS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static volatile int is_over;
static pthread_t threads[3];
static void *allocate(void *context)
{
	for (unsigned i = 1; !is_over; i++) {
		unsigned size = i % 500 + 1;
		unsigned char *block = malloc(size);
		memset(block, (int)size, size);
		block = realloc(block, size + 100);
		if (block[0] != (unsigned char)size || block[size - 1] != (unsigned char)size)
			abort();
		free(block);
	}
	return context;
}
static __attribute__((constructor)) void start(void)
{
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
}
void stop(void)
{
	is_over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}
"""

    def test_forked_and_executed_programs_are_recorded(self):
        self.file("forks.c", self.FORKS)
        for name, archive in archives().items():
            with self.subTest(name):
                program = self.linked(self.tmp / "forks.c", archive)
                self.allo("run", "--raw", "-q", "-o", "all/%p.%n.allo", program)
                found = collections.Counter()
                for path in (self.tmp / "all").glob("*.allo"):
                    events = RawRecording(path).events
                    found.update(event.size for event in events if event.kind == "alloc" and event.size in (1009, 1013, 1019))
                self.assertEqual(found, {1009: 23, 1013: 19, 1019: 17})
                shutil.rmtree(self.tmp / "all")

    def test_threads_of_constructors_go_on(self):
        self.file("threads.c", self.THREADS)
        self.file("main.c", "#include <unistd.h>\nvoid stop(void);\nint main(void) { usleep(3000); stop(); return 0; }\n")
        self.must("gcc", "-O1", "-shared", "-fPIC", "threads.c", "-o", "libthreads.so")
        for name, archive in archives().items():
            for source, flags in (("main.c", ("-L.", "-lthreads", "-Wl,-rpath,.")), ("threads.c", ("-DALONE", "-include", "main.c"))):
                with self.subTest(name, source=source):
                    program = self.linked(self.tmp / source, archive, *flags)
                    for _ in range(10):
                        done = self.run_program(ALLO, "run", "-f", "-o", "threads.allo", program)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertNotIn("not recorded", done.stderr.decode())

    def test_threads_of_a_constructor_that_runs_before_ours_go_on(self):
        """Only one library of a process can be initialized first: the last one that wants to."""
        self.file("threads.c", self.THREADS)
        self.file("main.c", "#include <unistd.h>\nvoid stop(void);\nint main(void) { usleep(3000); stop(); return 0; }\n")
        self.must("gcc", "-O1", "-shared", "-fPIC", "-Wl,-z,initfirst", "threads.c", "-o", "libthreads.so")
        for name, archive in archives().items():
            with self.subTest(name):
                program = self.linked(self.tmp / "main.c", archive, "-L.", "-lthreads", "-Wl,-rpath,.")
                for _ in range(10):
                    done = self.run_program(ALLO, "run", "-f", "-o", "threads.allo", program)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("several threads ran when its own allocator was found", done.stderr.decode())

    def test_blocks_that_constructors_of_libraries_make_are_recorded(self):
        self.file("made.c", "#include <stdlib.h>\nvoid *made[23];\n"
                  "static __attribute__((constructor)) void make(void) { for (int i = 0; i < 23; i++) made[i] = malloc(1009); }\n")
        self.file("main.c", "#include <stdlib.h>\nextern void *made[23];\n"
                  "int main(void) { for (int i = 0; i < 23; i++) free(made[i]); return 0; }\n")
        self.must("gcc", "-O1", "-g", "-fno-builtin", "-shared", "-fPIC", "made.c", "-o", "libmade.so")
        for name, archive in archives().items():
            with self.subTest(name):
                recording = self.recorded(self.linked(self.tmp / "main.c", archive, "-L.", "-lmade", f"-Wl,-rpath,{self.tmp}"))
                made = [event for event in recording.events if event.kind == "alloc" and event.size == 1009]
                self.assertEqual(["make" in recording.functions(event.stack) for event in made], [True] * 23)
                self.assertEqual([size for size in recording.live() if size == 1009], [])
                self.assertEqual(recording.unbalanced(), {})

    def test_a_program_that_may_not_change_its_code_runs_unrecorded_and_allo_says_so(self):
        keeps_code = built("keeps_code.c")
        if subprocess.run([keeps_code, "/bin/true"], stderr=subprocess.DEVNULL).returncode == 77:
            self.skipTest("the kernel allows no seccomp filters here")
        for name, archive in archives().items():
            with self.subTest(name):
                program = self.linked("built_in.c", archive)
                done = self.run_program(ALLO, "run", "-f", "-o", "kept.allo", keeps_code, program, "calls", 1000)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(self.written(self.tmp / "calls")), 1000)
                self.assertIn(f"note: not recorded: {program}: it may not change its code (SELinux, seccomp), which has an "
                              "allocator\n", done.stderr.decode())

    def test_exceptions_leave_a_hooked_operator_new(self):
        """Also in between other allocations, whose blocks must be recorded with whole stacks."""
        self.file("throws.cpp", "#include <cstddef>\n#include <cstdint>\n#include <new>\nint main() { volatile size_t huge = SIZE_MAX / 2; int caught = 0;\n"
                  "for (int i = 0; i < 29; i++) { void *block = operator new(1009); try { operator delete(operator new(huge)); }\n"
                  "catch (const std::bad_alloc &) { caught++; } operator delete(block); } return caught == 29 ? 0 : 1; }\n")
        for name, archive in archives().items():
            with self.subTest(name):
                recording = self.recorded(self.linked(self.tmp / "throws.cpp", archive, "-fno-builtin"))
                blocks = [event for event in recording.events if event.kind == "alloc" and event.size == 1009]
                self.assertEqual(len(blocks), 29)
                self.assertTrue(all("main" in recording.functions(event.stack) for event in blocks))
                self.assertEqual((recording.unbalanced(), recording.head.cut_stacks), ({}, 0))

    def test_each_mode_counts_the_same(self):
        for name, archive in archives().items():
            with self.subTest(name):
                program = self.linked("built_in.c", archive)
                self.allo("run", "-q", "-f", "-o", "exact.allo", program, "calls", STEPS)
                exact = self.allo_json("summary", "exact.allo")["allocations"]
                counted = self.run_program(ALLO, "run", "-m", "counters", program, "calls", STEPS).stderr.decode()
                self.assertIn(f"{exact:,} allocations", counted)


class Simple(BuiltIn):
    """An allocator whose callers the compiler has seen together with it: tests/programs/free_list.c."""

    def compile(self, *flags):
        self.must("gcc", "-std=gnu17", "-O2", "-g", "-fno-builtin-malloc", "-rdynamic", *flags, PROGRAMS / "free_list.c", "-o", "list")
        return self.tmp / "list"

    def count(self, size, path):
        return sum(row["size"] == str(size) for row in csv.DictReader(io.StringIO(self.allo("blocks", "-n", "0", "--csv", path))))

    def test_registers_that_callers_rely_on_are_left_alone(self):
        for flags in ((), ("-DCALLS",), ("-fno-ipa-ra",), ("-O1",), ("-O3",)):
            done = self.run_program(ALLO, "run", "-f", "-o", "list.allo", self.compile(*flags))
            self.assertEqual((done.returncode, done.stdout), (0, b"199 items, 0 wrong\n"), (flags, done.stderr))
            refused = b"the functions of the allocator that it contains cannot be patched" in done.stderr
            self.assertEqual(refused, "-DCALLS" not in flags, (flags, done.stderr))

    def test_a_child_that_only_uses_new_is_recorded(self):
        self.allo("run", "-q", "-o", "run.allo", self.compile("-DCALLS"), "fork")
        found = sum(self.count(1009, path) for path in self.tmp.glob("run.allo.d/*.allo"))
        self.assertEqual(found, 1000)

    def test_a_hook_that_was_left_by_a_jump_does_not_hide_later_calls(self):
        self.allo("run", "-q", "-o", "run.allo", self.compile("-DCALLS"), "jump")
        found = self.count(1013, "run.allo")
        # The runtime looks once in 1024 calls, two of which are made for each block.
        self.assertGreater(found, 5000 - 1024)


class Browsers(Capture):
    """Their allocators are inside: mozjemalloc and PartitionAlloc."""

    def check(self, *command):
        program = next((name for name in command[0] if shutil.which(name)), None)
        if not program:
            self.skipTest(f"there is no {command[0][0]}")
        page = self.file("page.html", "<h1>Heading</h1><script>document.title = [...Array(999).keys()].join()</script>\n")
        done = self.run_program(ALLO, "run", "--raw", "-o", "all/%p.%n.allo", program, *command[1:], f"file://{page}",
                                env={**ENVIRONMENT, "HOME": str(self.tmp)})
        said = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, said[-3000:])
        self.assertGreater((self.tmp / "page.png").stat().st_size, 1000)
        self.assertNotIn("cannot be patched", said)
        summaries = [self.allo_json("summary", path) for path in (self.tmp / "all").glob("*.allo")]
        largest = max(summaries, key=lambda summary: summary["allocations"])
        self.assertGreater(largest["allocations"], 50000)
        self.assertGreater(largest["frees"], largest["allocations"] // 2)
        self.assertLess(largest["frees"], largest["allocations"] + 1000)
        for path in (self.tmp / "all").glob("*.allo"):
            self.assertNotIn("not allocated", self.run_program(ALLO, "verify", path).stdout.decode(), path)

    def test_firefox_records_its_own_heap(self):
        self.check(["firefox-esr", "firefox"], "--headless", "--no-remote", "--profile", self.tmp, "--screenshot",
                   self.tmp / "page.png")

    def test_chromium_records_its_own_heap(self):
        self.check(["chromium-headless-shell", "chromium"], "--headless", "--no-sandbox", "--disable-gpu",
                   f"--user-data-dir={self.tmp / 'profile'}", f"--screenshot={self.tmp / 'page.png'}")


class Prefixed(BuiltIn):
    """An allocator beside libc's malloc, with names of its own."""

    def prefixed(self, prefix):
        """jemalloc with other names."""
        if "jemalloc" not in archives():
            self.skipTest("libjemalloc.a is not installed")
        names = [f"--redefine-sym={name}={prefix}{name}" for name in NAMES]
        # The rest of libc's names, and C++'s operators, would take the place of theirs.
        self.must("objcopy", *names, "--wildcard", "--localize-symbol=_Z*", "--localize-symbol=pvalloc",
                  "--localize-symbol=__*", archives()["jemalloc"], "prefixed.a")
        return self.tmp / "prefixed.a"

    def program(self, prefix, *flags):
        return self.linked("built_in.c", self.prefixed(prefix), "-DJEMALLOC", f"-DPREFIX={prefix}", *flags)

    def test_every_call_is_recorded_in_order_for_each_prefix(self):
        for prefix in "_rjem_", "je_", "duckdb_je_", "tc_", "mi_":
            with self.subTest(prefix):
                self.must_agree(self.program(prefix))

    def test_findings_do_not_assume_glibc(self):
        program = self.linked("findings.c", self.prefixed("_rjem_"), "-fno-ipa-icf", "-Dmalloc=_rjem_malloc", "-Dcalloc=_rjem_calloc",
                              "-Drealloc=_rjem_realloc", "-Dfree=_rjem_free")
        self.allo("run", "-q", "-f", "-o", "tiny.allo", program, "tiny")
        allocator, = self.allo_json("info", "tiny.allo")["recording"]["allocators"]
        self.assertEqual((allocator["name"], allocator["recorded"]), ("jemalloc", True))
        self.assertNotIn("glibc", self.allo("findings", "tiny.allo"))

    def test_the_memory_of_a_process_is_not_taken_for_glibcs(self):
        self.file("waits.c", "#include <stdio.h>\nvoid *_rjem_malloc(size_t size);\n"
                  "int main(void) { puts(_rjem_malloc(99) ? \"ready\" : \"\"); fflush(stdout); return getchar() != EOF; }\n")
        program = self.linked(self.tmp / "waits.c", self.prefixed("_rjem_"))
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            self.assertEqual(self.allo_json("mem", child.pid)["allocator"]["name"], "jemalloc")

    def test_libc_is_recorded_beside_it(self):
        recording = self.must_agree(self.program("_rjem_"))
        self.assertIn(STEPS * 32, [event.size for event in recording.events])  # the notes of calls

    def test_names_in_a_debug_file_of_the_same_build_id_are_found(self):
        program = self.program("_rjem_", "-Wl,--build-id=0x" + "a11000000000000000000000000000000000000f")
        debug = pathlib.Path("/usr/lib/debug/.build-id/a1")
        try:
            debug.mkdir(parents=True, exist_ok=True)
            self.must("objcopy", "--only-keep-debug", program, debug / "1000000000000000000000000000000000000f.debug")
        except OSError as error:
            self.skipTest(f"debug files cannot be installed: {error}")
        try:
            self.must("strip", program)
            self.must_agree(program)
        finally:
            (debug / "1000000000000000000000000000000000000f.debug").unlink()

    def test_exported_names_of_a_stripped_program_are_found(self):
        self.must_agree(self.program("_rjem_", "-rdynamic", "-s"))

    def test_another_function_with_such_a_name_is_left_alone(self):
        """Without a malloc of this prefix there is no allocator."""
        self.file("other.c", "#include <stdlib.h>\nint mi_free(int *x) { return *x; }\n"
                  "int main(void) { int x = 7; return mi_free(&x) == 7 && malloc(9) ? 0 : 1; }\n")
        self.must("gcc", "other.c", "-o", "other")
        recording = self.recorded(self.tmp / "other")
        self.assertEqual([event.kind for event in recording.events], ["alloc"])


class Libraries(BuiltIn):
    """Prefixed allocators in libraries, also in those that are loaded later."""

    HOST = """
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>
static void *wait_here(void *given) { return pause(), given; }
/* Kills a process that makes memory executable or lists a directory. */
static void install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(77);
}
int main(int count, char **words)
{
	int (*run)(int, char **), result = 0;
	pthread_t thread;
	if (strcmp(words[1], "threads") == 0)
		pthread_create(&thread, 0, wait_here, 0);
	if (strcmp(words[1], "filter") == 0)
		install_filter();
	for (int times = strcmp(words[1], "again") == 0 ? 2 : 1; times > 0; times--) {
		void *addon = dlopen("./libaddon.so", RTLD_NOW);
		*(void **)&run = dlsym(addon, "run");
		result |= run(count - 1, words + 1);
		if (times > 1)
			dlclose(addon);
	}
	return result;
}
"""

    EARLY = """
#include <stdlib.h>
static char room[9999], *at = room;
static volatile int frees;
__attribute__((noinline)) void *mi_malloc(size_t size) { if (frees < 0) abort(); return (at += size) - size; }
__attribute__((noinline)) void mi_free(void *block) { if (frees < 0) abort(); frees += block != NULL; }
int run(void)
{
	void *volatile block = mi_malloc(99), *volatile other = malloc(9);
	free(other);
	mi_free(block);
	mi_free(mi_malloc(1009));
	return 0;
}
"""

    def host(self, *sources_and_flags):
        """A program that loads a library when it runs."""
        self.must("gcc", "-std=gnu17", "-fno-builtin", *FLAGS, "-fPIC", "-shared", *sources_and_flags, "-o", "libaddon.so")
        self.file("host.c", self.HOST)
        self.must("gcc", "-O1", "-g", "host.c", "-ldl", "-pthread", "-o", "host")
        return self.tmp / "host"

    def addon(self, prefix, *flags):
        return self.host("-Dmain=run", f"-DPREFIX={prefix}", PROGRAMS / "built_in.c", PROGRAMS / "prefixed.c", *flags)

    def test_a_library_that_the_program_starts_with_is_recorded_from_its_first_call(self):
        self.addon("_rjem_")
        self.file("linked.c", "int run(int count, char **words);\n"
                  "int main(int count, char **words) { return run(count, words); }\n")
        self.must("gcc", "linked.c", "-L.", "-laddon", "-Wl,-rpath,.", "-o", "linked")
        self.must_agree(self.tmp / "linked")
        path, = self.tmp.glob("*.allo")
        self.assertNotIn("allocators", self.allo_json("info", path)["recording"])

    def test_a_library_that_is_loaded_later_is_recorded_since_it_is_seen(self):
        for prefix, flags in (("_rjem_", ()), ("duckdb_je_", ()), ("mi_", ("-Wl,--version-script=hide",))):
            with self.subTest(prefix):
                self.file("hide", "{ global: run; local: *; };\n")
                recording = self.recorded(self.addon(prefix, *flags), "later", "calls", STEPS)
                self.assertEqual(self.calls(recording), self.written(self.tmp / "calls"))
                path, = self.tmp.glob("*.allo")
                allocator, = self.allo_json("info", path)["recording"]["allocators"]
                self.assertEqual((allocator["recorded"], allocator["module"]), (True, "./libaddon.so"))
                self.assertIn("recorded since", self.allo("info", path))
                self.assertNotIn("was not recorded", self.allo("summary", path))

    def test_a_library_that_is_loaded_again_is_recorded_again(self):
        recording = self.recorded(self.host(self.file("early.c", self.EARLY)), "again")
        self.assertEqual(sum(event.size == 1009 for event in recording.events), 2)

    def test_blocks_from_before_it_is_seen_are_no_mistake(self):
        recording = self.recorded(self.host(self.file("early.c", self.EARLY)), "later")
        self.assertEqual(sum(event.size == 1009 for event in recording.events), 1)
        path, = self.tmp.glob("*.allo")
        self.assertNotIn("not allocated", self.allo("verify", path))

    def test_with_other_threads_it_is_left_alone_and_all_say_so(self):
        host = self.addon("_rjem_")
        done = self.run_program(ALLO, "run", "-f", "-o", "threads.allo", host, "threads", "calls", STEPS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: not recorded: jemalloc in ./libaddon.so: several threads ran when it was found", done.stderr.decode())
        allocator, = self.allo_json("info", "threads.allo")["recording"]["allocators"]
        self.assertEqual((allocator["name"], allocator["recorded"]), ("jemalloc", False))
        self.assertIn("not recorded: several threads", self.allo("info", "threads.allo"))
        self.assertIn("missing: 1 allocator of the program or its libraries", self.allo("summary", "threads.allo"))
        self.assertEqual(self.allo_json("summary", "threads.allo")["losses"]["allocators"], 1)
        self.assertIn("1 allocator of a library or the program was not recorded",
                      self.run_program(ALLO, "verify", "threads.allo").stdout.decode())

    SHARING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *wait_here(void *given) { return pause(), given; }
int main(void)
{
	void (*run)(void), *addon = dlopen("./libaddon.so", RTLD_NOW);
	pthread_t thread;
	*(void **)&run = dlsym(addon, "run");
	pthread_create(&thread, 0, wait_here, 0);
	pid_t child = vfork();
	if (child == 0) {
		run();
		_exit(0);
	}
	return waitpid(child, 0, 0) != child;
}
"""

    def test_a_child_that_shares_memory_leaves_it_alone(self):
        """It sees only itself, not the threads of its parent."""
        self.host(self.file("early.c", self.EARLY))
        self.file("sharing.c", self.SHARING)
        self.must("gcc", "-O1", "-w", "sharing.c", "-ldl", "-pthread", "-o", "sharing")
        done = self.run_program(ALLO, "run", "-f", "-o", "sharing.allo", self.tmp / "sharing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mimalloc in ./libaddon.so: several threads ran when it was found", done.stderr.decode())

    def test_a_filter_that_forbids_patching_is_obeyed(self):
        host = self.addon("_rjem_")
        if self.run_program(host, "filter", "calls", 10).returncode == 77:
            self.skipTest("the kernel allows no seccomp filters here")
        done = self.run_program(ALLO, "run", "-f", "-o", "filter.allo", host, "filter", "calls", STEPS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("jemalloc in ./libaddon.so: the process may not change its code (SELinux, seccomp)", done.stderr.decode())

    def test_both_names_of_one_function_are_recorded_once(self):
        """malloc and mi_malloc, or tc_malloc, have one address there."""
        self.file("both.c", "#include <stdlib.h>\nvoid *MALLOC(size_t); void FREE(void *);\n"
                  "int main(void) { for (int i = 0; i < 23; i++) { void *volatile block = MALLOC(1009); FREE(block); }\n"
                  "for (int i = 0; i < 17; i++) { void *volatile block = malloc(1013); free(block); } return 0; }\n")
        tried = 0
        for library, prefix in (("libmimalloc.so.2", "mi_"), ("libtcmalloc_minimal.so.4", "tc_")):
            if not (FOLDER / library).exists():
                continue
            tried += 1
            self.must("gcc", "-fno-builtin", f"-DMALLOC={prefix}malloc", f"-DFREE={prefix}free", "both.c", f"-l:{library}", "-o", "both")
            recording = self.recorded(self.tmp / "both")
            sizes = collections.Counter(event.size for event in recording.events if event.size in (1009, 1013))
            self.assertEqual(sizes, {1009: 23, 1013: 17}, library)
            self.assertEqual(recording.unbalanced(), {})
        if not tried:
            self.skipTest("no library of an allocator is installed")

    def test_operators_of_a_library_are_recorded_once(self):
        """Some call functions that are patched, and some do not."""
        tried = 0
        for library in ("libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
            if not (FOLDER / library).exists():
                continue
            tried += 1
            recording = self.recorded(built("new_delete.cpp"), "succeed", env={**ENVIRONMENT, "LD_PRELOAD": str(FOLDER / library)})
            sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
            for wanted in NEW_DELETE.values():
                self.assertEqual({size: sizes[size] for size in wanted}, wanted, library)
            self.assertEqual(recording.unbalanced(), {}, library)
        if not tried:
            self.skipTest("no library of an allocator is installed")


del Capture
