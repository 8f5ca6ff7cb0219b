"""Programs of musl: recorded by a runtime that is built for it, also among programs of glibc."""
import collections
import functools
import os
import pathlib
import platform
import shutil
import subprocess
import unittest

import test_capture
from allotest import ALLO, BUILD, ENVIRONMENT, RUNTIME
from rawrecording import RawRecording
from recordings import FLAGS, LIBRARY, PROGRAMS, built, counted

MUSL = RUNTIME.with_name("liballo-musl.so.0")
# musl-gcc leaves out the index of the unwind tables, which Alpine's compiler adds.
MUSL_FLAGS = [*FLAGS, "-std=gnu17", "-Wl,--eh-frame-hdr"]
LINKER = pathlib.Path(f"/lib/ld-musl-{platform.machine()}.so.1")

# What musl does not have, or does otherwise.
ENTRY_POINTS = {function: sizes for function, sizes in test_capture.ENTRY_POINTS.items()
                if function not in ("use_pvalloc", "use_realloc_to_nothing")}
ENTRY_POINTS["use_realloc_to_nothing"] = {1061: 7, 0: 7}

CALLS = ("use_files", "use_streams", "use_folders", "use_patterns", "use_sorting", "use_trees", "use_addresses",
         "use_text")


@functools.lru_cache(maxsize=None)
def musl(source, *flags, name=None):
    """A program of tests/programs for musl."""
    out = BUILD / "programs" / "musl" / (name or pathlib.Path(source).stem)
    out.parent.mkdir(parents=True, exist_ok=True)
    made = out.with_name(f"{out.name}.{os.getpid()}")
    subprocess.run(["musl-gcc", *MUSL_FLAGS, PROGRAMS / source, *flags, "-o", made], check=True)
    made.replace(out)
    return out


@unittest.skipUnless(MUSL.exists() and shutil.which("musl-gcc"), "musl-gcc is not there: there is no runtime for musl")
class Musl(test_capture.Capture):
    def whole(self, recording):
        """Every stack reaches the start of its thread."""
        head = recording.head
        self.assertEqual((head.failed_stacks, head.cut_stacks, head.guessed_frames), (0, 0, 0))


class Counts(Musl):
    def test_every_entry_point_is_seen_with_its_caller(self):
        recording = self.record(musl("entry_points.c"))
        for function, sizes in ENTRY_POINTS.items():
            with self.subTest(function):
                self.assertEqual(self.sizes(recording, function), sizes)
        self.must_balance(recording)
        self.assertEqual([size for size in recording.live() if size == 4099], [4099] * 8)

    def test_totals_are_those_of_a_counter(self):
        counter = musl("count_preload.c", *LIBRARY, name="count_preload.so")
        for source, *arguments in (["resizes.c"], ["handover.c"], ["churn.c", 0, 50000], ["churn.c", 3, 20000],
                                   ["stress_threads.c"], ["stress_longjmp.c"], ["stress_frames.c"]):
            with self.subTest(source=source, arguments=arguments):
                path = self.tmp / "recorded"
                self.must(musl(source), *arguments, env={
                    **ENVIRONMENT, "LD_PRELOAD": f"{counter}:{MUSL}", "ALLO_OUTPUT": str(path),
                    "ALLO_TEST_COUNTS": str(self.tmp / "counts")})
                recording = RawRecording(path)
                allocations, resizes, frees, size = counted(self.tmp / "counts", recording.head.pid)
                # pthread_atfork() of musl allocates 40 bytes for the runtime.
                self.assertEqual(recording.totals(), (allocations - 1, resizes, frees, size - 40))
                self.must_balance(recording)
                path.unlink()

    def test_threads_have_their_names(self):
        recording = self.record(musl("stress_threads.c"))
        sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
        self.assertEqual(sizes[1009], 1500)
        self.assertEqual({f"short-{i}" for i in range(500)} - recording.all_names(), set())
        self.must_balance(recording)

    def test_children_have_recordings_of_their_own(self):
        self.must(musl("stress_fork.c"), env={**ENVIRONMENT, "LD_PRELOAD": str(MUSL),
                                              "ALLO_OUTPUT": str(self.tmp / "%p.allo")})
        self.assertEqual(len(list(self.tmp.glob("*.allo"))), 1 + 40 + 8)
        for path in self.tmp.glob("*.allo"):
            self.assertEqual(RawRecording(path).dropped, 0)

    def test_libraries_come_and_stay(self):
        """musl never unloads them."""
        one, two = (musl("stress_library.c", *LIBRARY, f"-DMAKE=make_{name}", f"-DSIZE={size}", '-DBEFORE="16"',
                         name=f"{name}.so") for name, size in (("one", 2063), ("two", 2069)))
        recording = self.record(musl("stress_dlopen.c"), one, two, 20, 2)
        for size, name in ((2063, "make_one"), (2069, "make_two")):
            stacks = self.stacks(recording, size)
            self.assertEqual({stack[:4] for stack in stacks}, {(name, "make", "use", "main")})
            self.assertEqual(sum(stacks.values()), 100)
        self.must_balance(recording)

    def test_signal_handlers_may_interrupt_the_runtime(self):
        recording = self.record(musl("stress_signals.c"))
        self.assertEqual((recording.end, recording.head.failed_stacks), ("exit", 0))
        self.assertGreater(sum(size == 1009 + 10 for size in (event.size for event in recording.events)), 0)

    def test_the_table_names_functions_and_lines(self):
        self.must(ALLO, "run", "-q", "-o", "it.allo", musl("entry_points.c"))
        self.assertRegex(self.allo("list", "use_leaks", "it.allo", "-M", "leaked", "-C", "0"), r"malloc\(4099\)")


@unittest.skipUnless(platform.machine() == "x86_64", "the code of musl is read on x86-64 only")
class Stacks(Musl):
    def test_stacks_go_through_functions_of_musl(self):
        recording = self.record(musl("libc_calls.c"))
        found = collections.Counter()
        for event in recording.events:
            if event.kind == "alloc":
                stack = recording.functions(event.stack)
                found.update((call, "main" in stack) for call in CALLS if call in stack and "use_all" in stack)
        for call in CALLS:
            for in_main in (True, False):
                self.assertGreater(found[call, in_main], 0, (call, in_main))
        self.whole(recording)
        self.must_balance(recording)

    def test_frames_of_every_kind(self):
        recording = self.record(musl("stress_frames.c"))
        for size, function in ((1009, "with_alloca"), (1013, "with_array"), (1019, "with_alignment"),
                               (1021, "with_alignment_and_alloca")):
            (stack, count), = self.stacks(recording, size).items()
            self.assertEqual((tuple(stack[:3]), count), (("allocate", function, "main"), 23))
        self.whole(recording)


class TwoLibraries(Musl):
    """A program of one C library executes one of the other."""

    FUNCTIONS = ("execve", "execvp", "posix_spawn", "vfork", "syscall")

    def check(self, parent, child, function, preloaded):
        done = self.run_program(ALLO, "run", "-o", "%e.%p.%n.allo", parent, function, child)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout.decode()), (7, f"{preloaded}\n"), said)
        self.assertNotIn("not recorded", said)
        for program in (parent, child):
            for path in self.tmp.glob(f"{program.name}.*.allo"):
                self.allo("verify", path)
                path.unlink()
                break
            else:
                self.fail(f"{program} has no recording: {said}")
        for path in self.tmp.iterdir():
            path.unlink()

    def test_a_program_of_glibc_executes_one_of_musl(self):
        for function in self.FUNCTIONS:
            with self.subTest(function):
                self.check(built("executes.c"), musl("shows_preload.c", name="shows_musl"), function,
                           MUSL.resolve())

    def test_a_program_of_musl_executes_one_of_glibc(self):
        for function in self.FUNCTIONS:
            with self.subTest(function):
                self.check(musl("executes.c", name="executes_musl"), built("shows_preload.c"), function,
                           RUNTIME.resolve().with_name(RUNTIME.name))

    def test_the_runtime_for_musl_does_nothing_in_a_program_of_glibc(self):
        """Static programs pass LD_PRELOAD on as it is."""
        for program in ([built("entry_points.c")], ["/usr/bin/python3", "-c", "import threading"]):
            done = self.run_program(*program, env={**ENVIRONMENT, "LD_PRELOAD": str(MUSL),
                                                   "ALLO_OUTPUT": str(self.tmp / "it.allo")})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
            self.assertEqual(list(self.tmp.iterdir()), [])

    def test_other_preloaded_libraries_stay(self):
        done = self.run_program(ALLO, "run", "-q", "-o", "%e.%p.%n.allo", built("executes.c"), "execv",
                                musl("shows_preload.c", name="shows_musl"),
                                env={**ENVIRONMENT, "LD_PRELOAD": "/no/such/library.so"})
        self.assertEqual(done.stdout.decode(), f"{MUSL.resolve()}:/no/such/library.so\n")


class Missing(Musl):
    """An installation without the runtime for musl."""

    def setUp(self):
        super().setUp()
        (self.tmp / "lib").mkdir()
        shutil.copy(RUNTIME, self.tmp / "lib")
        self.environment = {**ENVIRONMENT, "ALLO_LIBRARY": str(self.tmp / "lib" / RUNTIME.name)}

    def test_programs_of_musl_are_refused(self):
        done = self.run_program(ALLO, "run", musl("entry_points.c"), env=self.environment)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn("cannot find the runtime for programs of musl", done.stderr.decode())
        self.assertIn("hint: build Allotrope with musl-gcc", done.stderr.decode())

    def test_children_of_musl_run_without_it(self):
        child = musl("shows_preload.c", name="shows_musl")
        done = self.run_program(ALLO, "run", "-o", "%e.%p.allo", built("executes.c"), "execv", child,
                                env=self.environment)
        self.assertEqual((done.returncode, done.stdout), (7, b"none\n"))
        self.assertIn(f"not recorded: {child}: there is no runtime for its C library\n", done.stderr.decode())


class Root(Musl):
    """A root file system like Alpine's: its C library is musl."""

    def setUp(self):
        super().setUp()
        self.root = self.tmp / "root"
        for folder in ("proc", "tmp", "bin", "lib", "src", "capture"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(LINKER, self.root / LINKER.relative_to("/"))
        for program in (musl("entry_points.c"), musl("executes.c", name="executes_musl"),
                        musl("shows_preload.c", name="shows_musl")):
            shutil.copy(program, self.root / "bin")
        # allo itself is a program of glibc.
        shutil.copy(ALLO, self.root / "src")
        shutil.copy(MUSL, self.root / "capture")
        for word in self.must("ldd", ALLO).split():
            if word.startswith("/"):
                (self.root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, self.root / word[1:])

    def inside(self, *command):
        done = self.run_program("unshare", "--map-root-user", "--mount", "sh", "-c",
                                f'mount --rbind /proc "{self.root}/proc" && exec chroot "{self.root}" "$@"', "sh", *command)
        if b"unshare" in done.stderr or b"mount:" in done.stderr or b"chroot:" in done.stderr:
            raise unittest.SkipTest(f"no root can be entered here: {done.stderr.decode()}")
        return done

    def test_programs_are_recorded(self):
        done = self.inside("/src/allo", "run", "--raw", "-q", "-o", "/tmp/it.allo", "/bin/entry_points")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        path = self.root / "tmp" / "it.allo"
        self.allo("verify", path)
        recording = RawRecording(path)
        self.assertEqual({size: count for size, count in collections.Counter(
            event.size for event in recording.events if event.kind == "alloc").items() if size in (1009, 4099)},
            {1009: 23, 4099: 8})
        self.must_balance(recording)

    def test_children_are_recorded(self):
        done = self.inside("/src/allo", "run", "--raw", "-q", "-o", "/tmp/%e.%p.%n.allo", "/bin/executes_musl", "execv",
                           "/bin/shows_musl")
        self.assertEqual((done.returncode, done.stdout), (7, b"/capture/liballo-musl.so.0\n"), done.stderr)
        self.assertEqual(len(list((self.root / "tmp").glob("shows_musl.*.allo"))), 1)
