"""Programs that a recorded program executes: those that cannot be recorded run as they would alone, and are named."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from allotest import ALLO, ENVIRONMENT as AROUND, IS_ROOT, RUNTIME
from recordings import CaptureTest, PROGRAMS, built

NOBODY = 65534
# Searching for leaks needs rights that a container may lack.
ENVIRONMENT = {**AROUND, "ASAN_OPTIONS": "detect_leaks=0"}
LINKER = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))
FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "vfork",
             "posix_spawn", "posix_spawnp")
SANITIZERS = {"address": "AddressSanitizer", "thread": "ThreadSanitizer"}


def shows(*flags, name):
    return built("shows_preload.c", *flags, name=name)


class Exec(CaptureTest):
    def run_program(self, *command, **options):
        options.setdefault("env", ENVIRONMENT)
        return super().run_program(*command, **options)

    def executed(self, function, program, *arguments, before="", env=None):
        """(status, output, messages) of a recorded program that executes another."""
        env = {**(env or ENVIRONMENT), **({"LD_PRELOAD": before} if before else {})}
        done = self.run_program(ALLO, "run", "-o", "%e.%p.%n.allo", built("executes.c"), function, program,
                                *arguments, env=env)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def recorded(self, name):
        return len(list(self.tmp.glob(f"{name}.*.allo")))

    def assert_runs_as_alone(self, program, reason, function="execv"):
        alone = self.run_program(program)
        status, output, said = self.executed(function, program)
        self.assertEqual((status, output), (alone.returncode, alone.stdout.decode()), said)
        self.assertIn(f"note: not recorded: {program}: {reason}\n", said)
        self.assertEqual(self.recorded(pathlib.Path(program).name), 0)


class Sanitized(Exec):
    def test_every_function_executes_a_sanitized_program(self):
        program = shows("-fsanitize=address", name="shows_asan")
        alone = self.run_program(program)
        self.assertEqual((alone.returncode, alone.stdout), (7, b"none\n"), alone.stderr)
        for function in FUNCTIONS:
            given = ["only"] if function == "execle" else ["one", "two"]
            status, output, said = self.executed(function, program, *given)
            self.assertEqual((status, output), (7, " ".join(["none", *given]) + "\n"), (function, said))
            name = "a file without a name" if function == "fexecve" else program
            self.assertIn(f"note: not recorded: {name}: it has the allocator of AddressSanitizer\n", said, function)

    def test_every_sanitizer_is_found(self):
        for flag, name in SANITIZERS.items():
            program = shows(f"-fsanitize={flag}", name=f"shows_{flag}")
            self.assert_runs_as_alone(program, f"it has the allocator of {name}")

    def test_a_sanitizer_inside_the_program_is_found(self):
        """clang links the allocator into the program, and exports its symbols."""
        clang = shutil.which("clang")
        if not clang:
            raise unittest.SkipTest("clang is not installed")
        for flag, name in SANITIZERS.items():
            program = self.tmp / f"shows_clang_{flag}"
            self.must(clang, "-D_GNU_SOURCE", f"-fsanitize={flag}", PROGRAMS / "shows_preload.c", "-o", program)
            self.assert_runs_as_alone(program, f"it has the allocator of {name}")

    def test_a_preloaded_sanitizer_is_found(self):
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True,
                                 stdout=subprocess.PIPE).stdout.decode().strip()
        library = os.path.realpath(library)
        program = shows("-fsanitize=address", name="shows_asan")
        code = "import os, sys; os.execve(sys.argv[1], sys.argv[1:], {**os.environ, 'LD_PRELOAD': os.environ['LD_PRELOAD'] + ':' + sys.argv[2]})"
        done = self.run_program(ALLO, "run", sys.executable, "-c", code, built("shows_preload.c"), library)
        self.assertEqual((done.returncode, done.stdout.decode()), (7, f"{library} {library}\n"), done.stderr)
        self.assertIn("it has the allocator of AddressSanitizer", done.stderr.decode())
        self.assertEqual(self.run_program(program).returncode, 7)

    def test_a_sanitizer_preloaded_for_the_program_itself_is_refused(self):
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True,
                                 stdout=subprocess.PIPE).stdout.decode().strip()
        done = self.run_program(ALLO, "run", "true", env={**ENVIRONMENT, "LD_PRELOAD": library})
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("allo: error: LD_PRELOAD: the allocator of a sanitizer, libasan.so, cannot be recorded",
                      done.stderr.decode())

    def test_only_our_library_is_left_out(self):
        program = shows("-fsanitize=address", name="shows_asan")
        for before in ("libm.so.6", "libm.so.6:libdl.so.2"):
            env = {**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
            _, output, said = self.executed("execv", program, before=before, env=env)
            self.assertEqual(output, f"{before}\n", said)

    def test_programs_are_counted(self):
        program = shows("-fsanitize=address", name="shows_asan")
        done = self.run_program(ALLO, "run", "sh", "-c", '"$0"; "$0"; "$0"; "$0" | cat; true', program)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"not recorded: {program}: it has the allocator of AddressSanitizer, 4 times\n",
                      done.stderr.decode())
        done = self.run_program(ALLO, "run", "-q", "sh", "-c", '"$0"; true', program)
        self.assertEqual(done.stderr, b"")

    def test_a_script_is_judged_by_its_interpreter(self):
        program = self.tmp / "interpreter"  # the kernel splits the line of a script at spaces
        program.symlink_to(shows("-fsanitize=address", name="shows_asan"))
        self.file("script", f"#! {program} word\n").chmod(0o755)
        self.file("outer", f"#!{self.tmp}/script\n").chmod(0o755)
        for name in ("script", "outer"):
            status, output, said = self.executed("execv", self.tmp / name)
            self.assertEqual((status, output.split()[0]), (7, "none"), said)
            self.assertIn(f"not recorded: {self.tmp / name}: it has the allocator of AddressSanitizer", said)

    def test_a_program_is_found_in_path(self):
        program = shows("-fsanitize=address", name="shows_asan")
        env = {**ENVIRONMENT, "PATH": f"/nowhere:{program.parent}:{ENVIRONMENT['PATH']}"}
        for function in ("execvp", "execvpe", "execlp", "posix_spawnp"):
            status, _, said = self.executed(function, program.name, env=env)
            self.assertEqual(status, 7, said)
            self.assertIn(f"not recorded: {program}: ", said)


class Others(Exec):
    def test_recorded_programs_keep_the_library(self):
        program = shows(name="shows_plain")
        for function in FUNCTIONS:
            given = ["only"] if function == "execle" else ["one", "two"]
            before = self.recorded("shows_plain")
            status, output, said = self.executed(function, program, *given)
            self.assertEqual((status, output), (7, " ".join([str(RUNTIME.resolve()), *given]) + "\n"), said)
            self.assertNotIn("not recorded", said)
            self.assertEqual(self.recorded("shows_plain"), before + 1, said)

    def test_a_failed_call_fails_as_before(self):
        self.file("dull", "not a program")
        for function in FUNCTIONS:
            for program in ("/no/such/program", "./dull", "no-such-program"):
                alone = self.run_program(built("executes.c"), function, program)
                self.assertEqual(self.executed(function, program)[0], alone.returncode, (function, program))

    def test_static_programs_are_named_and_their_children_recorded(self):
        program = built("executes.c", "-static", name="executes_static")
        child = shows(name="shows_plain")
        status, output, said = self.executed("execv", program, "execv", child)
        self.assertEqual((status, output), (7, f"{RUNTIME.resolve()}\n"), said)
        self.assertIn(f"not recorded: {program}: it is statically linked\n", said)
        self.assertEqual(self.recorded("shows_plain"), 1)

    def test_programs_for_another_c_library_run_without_the_library(self):
        linker = self.tmp / "ld-musl-x86_64.so.1"
        shutil.copy(LINKER, linker)
        program = self.tmp / "foreign"
        self.must("gcc", "-D_GNU_SOURCE", PROGRAMS / "shows_preload.c", f"-Wl,--dynamic-linker={linker}", "-o", program)
        self.assert_runs_as_alone(program, "it uses another C library than glibc")

    def test_programs_for_another_machine_are_named(self):
        code = bytearray(shows(name="shows_plain").read_bytes())
        code[4] = 1  # 32 bits
        self.file("small", bytes(code)).chmod(0o755)
        alone = self.run_program(built("executes.c"), "execv", "./small")
        status, _, said = self.executed("execv", "./small")
        self.assertEqual(status, alone.returncode)
        self.assertIn("not recorded: ./small: it is a program for another machine, or a 32-bit program\n", said)

    def test_setuid_programs_are_named(self):
        if not IS_ROOT:
            raise unittest.SkipTest("only root can make a setuid program of another user")
        if os.statvfs(self.tmp).f_flag & os.ST_NOSUID:
            raise unittest.SkipTest("the folder for temporary files is mounted nosuid")
        self.tmp.chmod(0o777)
        for path in (ALLO, RUNTIME, built("executes.c"), shows(name="shows_plain")):
            shutil.copy(path, self.tmp)
        (self.tmp / "shows_plain").chmod(0o4755)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        env = {**ENVIRONMENT, "ALLO_LIBRARY": str(self.tmp / RUNTIME.name)}
        done = self.run_program(*user, "./allo", "run", "-o", "%e.%p.allo", "./executes", "execv", "./shows_plain", env=env)
        self.assertEqual((done.returncode, done.stdout), (7, b"none\n"), done.stderr)
        self.assertIn("not recorded: ./shows_plain: it is setuid\n", done.stderr.decode())
        # A process that cannot gain rights executes it as any other.
        done = self.run_program(*user, "--no-new-privs", "./allo", "run", "-o", "%e.%p.allo", "./executes", "execv",
                                "./shows_plain", env=env)
        self.assertEqual(done.stdout.decode(), f"{self.tmp / RUNTIME.name}\n", done.stderr)
        self.assertNotIn("not recorded", done.stderr.decode())
