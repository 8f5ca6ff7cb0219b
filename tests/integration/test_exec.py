"""Programs that a recorded program executes: those that cannot be recorded run as they would alone, and are named."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from allotest import ALLO, BUILD, ENVIRONMENT as AROUND, IS_ROOT, RUNTIME
from recordings import CaptureTest, PROGRAMS, built

NOBODY = 65534
# Searching for leaks needs rights that a container may lack.
ENVIRONMENT = {**AROUND, "ASAN_OPTIONS": "detect_leaks=0"}
LINKER = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))
FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "vfork",
             "posix_spawn", "posix_spawnp", "syscall", "syscall_at")
GO_PARENT = """
package main

import ("os"; "os/exec")

func main() {
	child := exec.Command(os.Args[1])
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.Run()
	os.Exit(child.ProcessState.ExitCode())
}
"""
OWN_MALLOC = """
#include <stdlib.h>
#include <string.h>

static char room[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	used += (size + 15) & ~15ul;
	return room + used - ((size + 15) & ~15ul);
}

void *calloc(size_t count, size_t size)
{
	return memset(malloc(count * size), 0, count * size);
}

void free(void *block)
{
}
"""
NEXT_MALLOC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

void *malloc(size_t size)
{
	return ((void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"))(size);
}
"""
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


class Unseen(Exec):
    """System calls that nothing in libc sees: the library finds itself in a sanitized program."""

    def assert_leaves(self, program, parent, *words, env=None):
        """The program runs as alone, and is named."""
        alone = self.run_program(program)
        done = self.run_program(ALLO, "run", parent, *words, program, env=env or ENVIRONMENT)
        self.assertEqual((alone.returncode, done.returncode), (7, 7), done.stderr)
        self.assertEqual(done.stdout, alone.stdout)
        return done.stderr.decode()

    def test_a_system_call_in_assembly_executes_a_sanitized_program(self):
        for flag, name in SANITIZERS.items():
            program = shows(f"-fsanitize={flag}", name=f"shows_{flag}")
            said = self.assert_leaves(program, built("executes.c"), "inline")
            self.assertIn(f"note: not recorded: {program}: it has the allocator of {name}\n", said)

    def test_a_static_program_executes_a_sanitized_one(self):
        program = shows("-fsanitize=address", name="shows_asan")
        parent = built("executes.c", "-static", name="executes_static")
        said = self.assert_leaves(program, built("executes.c"), "execv", parent, "execv")
        self.assertIn(f"note: not recorded: {program}: it has the allocator of AddressSanitizer\n", said)

    def test_a_go_program_executes_a_sanitized_one(self):
        if not shutil.which("go"):
            raise unittest.SkipTest("go is not installed")
        program = shows("-fsanitize=address", name="shows_asan")
        cache = program.parent / "go-cache"  # a cold one costs a minute of CPU time
        parent = self.tmp / "parent"
        self.file("parent.go", GO_PARENT)
        self.must("go", "build", "-o", parent, "parent.go", env={**ENVIRONMENT, "GOCACHE": str(cache), "GOFLAGS": "-mod=mod"})
        said = self.assert_leaves(program, "sh", "-c", f"'{parent}' '{program}'; exit $?")
        self.assertIn(f"note: not recorded: {program}: it has the allocator of AddressSanitizer\n", said)

    def test_the_program_keeps_its_name_and_arguments(self):
        program = built("shows_name.c", "-fsanitize=address", name="shows_name_asan")
        link = self.tmp / "another name"
        link.symlink_to(program)
        for path in (program, link):
            self.assert_leaves(path, built("executes.c"), "inline")
        status, output, said = self.executed("inline", shows("-fsanitize=address", name="shows_asan"), "one", "two")
        self.assertEqual((status, output), (7, "none one two\n"), said)

    def test_a_script_of_a_sanitized_interpreter_runs_once(self):
        program = self.tmp / "interpreter"
        program.symlink_to(shows("-fsanitize=address", name="shows_asan"))
        self.file("script", f"#! {program} word\n").chmod(0o755)
        said = self.assert_leaves(self.tmp / "script", built("executes.c"), "inline")
        self.assertIn(f"not recorded: {self.tmp / 'script'}: it has the allocator of AddressSanitizer", said)

    def test_a_file_that_was_deleted_is_executed_again(self):
        program = self.tmp / "copy"
        shutil.copy(shows("-fsanitize=address", name="shows_asan"), program)
        code = ("import ctypes, os, sys; fd = os.open(sys.argv[1], os.O_RDONLY); os.unlink(sys.argv[1]); "
                "os.execve(sys.argv[2], [sys.argv[2], 'inline', f'/proc/self/fd/{fd}'], os.environ) if os.set_inheritable(fd, True) is None else 0")
        done = self.run_program(ALLO, "run", sys.executable, "-c", code, program, built("executes.c"))
        self.assertEqual((done.returncode, done.stdout), (7, b"none\n"), done.stderr)

    def test_only_our_library_is_left_out(self):
        program = shows("-fsanitize=address", name="shows_asan")
        env = {**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        for before in ("libm.so.6", "libm.so.6:libdl.so.2"):
            _, output, said = self.executed("inline", program, before=before, env=env)
            self.assertEqual(output, f"{before}\n", said)

    def test_the_library_alone_leaves_too(self):
        """Without `allo run` there is no list to write to."""
        program = shows("-fsanitize=address", name="shows_asan")
        done = self.run_program(program, env={**ENVIRONMENT, "LD_PRELOAD": str(RUNTIME)})
        self.assertEqual((done.returncode, done.stdout), (7, b"none\n"), done.stderr)

    def test_a_list_with_special_characters_is_found(self):
        folder = self.tmp / "a;b\\c"
        folder.mkdir()
        program = shows("-fsanitize=address", name="shows_asan")
        said = self.assert_leaves(program, built("executes.c"), "inline", env={**ENVIRONMENT, "TMPDIR": str(folder)})
        self.assertIn(f"note: not recorded: {program}: ", said)

    def test_a_process_that_may_not_write_files_is_named(self):
        program = shows("-fsanitize=address", name="shows_asan")
        done = self.run_program(ALLO, "run", built("executes.c"), "inline", "/bin/sh", "-c", 'ulimit -f 0; exec "$0" "$@"',
                                built("executes.c"), "inline", program)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn(f"note: not recorded: {program}: ", done.stderr.decode())

    def test_recorded_programs_stay_recorded(self):
        program = shows(name="shows_plain")
        status, output, said = self.executed("inline", program, "one")
        self.assertEqual((status, output), (7, f"{RUNTIME.resolve()} one\n"), said)
        self.assertEqual(self.recorded("shows_plain"), 1)

    def test_the_check_calls_no_function(self):
        """A sanitizer has replaced libc's functions, and has not started."""
        library = BUILD / "capture" / "libcapture_relaunch.a"
        names = {line.split()[-1] for line in self.must("nm", "-u", library).splitlines() if " U " in line}
        self.assertEqual(names - {"_DYNAMIC", "_GLOBAL_OFFSET_TABLE_", "__libc_stack_end", "_r_debug", "allo_is_confined"}, set())

    def test_programs_that_link_the_runtime_lack_the_check(self):
        has_check = [" i indirect" in self.must("nm", path) for path in (BUILD / "capture" / "liballo.a", RUNTIME)]
        self.assertEqual(has_check, [False, True])


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

    def test_programs_without_the_library_in_their_environment_are_named(self):
        program = shows(name="shows_plain")
        for command in (("env", "-i", program, "one"), ("env", "LD_PRELOAD=libm.so.6", program, "one"),
                        ("sh", "-c", f"unset LD_PRELOAD; '{program}' one; :"),
                        ("sh", "-c", f"PATH='{program.parent}'; export PATH; unset LD_PRELOAD; {program.name} one; :")):
            done = self.run_program(ALLO, "run", "--", *command)
            self.assertEqual(done.stderr.decode().count(
                f"note: not recorded: {program}: its environment lacks the runtime in LD_PRELOAD\n"), 1, done.stderr)
            self.assertIn(done.stdout, (b"none one\n", b"libm.so.6 one\n"))

    def test_programs_that_exist_and_are_expected_are_named_only(self):
        for command in (("env", "-i", "/nowhere/program"), ("env", "PATH=/nowhere", "LD_PRELOAD=", "sh")):
            done = self.run_program(ALLO, "run", "--", *command)
            self.assertEqual(done.returncode, 127, done.stderr)
            self.assertNotIn(b"not recorded", done.stderr)
        done = self.run_program(ALLO, "run", "--no-follow", "--", "sh", "-c", "/bin/true; :")
        self.assertNotIn(b"not recorded", done.stderr)

    def test_programs_whose_malloc_is_that_of_an_earlier_library_are_named(self):
        library = self.tmp / "own.so"
        self.must("gcc", "-shared", "-fPIC", "-O1", self.file("own.c", OWN_MALLOC), "-o", library)
        program = shows(name="shows_plain")
        done = self.run_program(ALLO, "run", "--", "sh", "-c", f"LD_PRELOAD={library}:$LD_PRELOAD exec '{program}' one")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn(f"note: not recorded: {program}: another library with an allocator comes first in LD_PRELOAD\n",
                      done.stderr.decode())
        # This one calls the next malloc(), which is ours.
        self.must("gcc", "-shared", "-fPIC", "-O1", self.file("next.c", NEXT_MALLOC), "-o", library)
        done = self.run_program(ALLO, "run", "--", "sh", "-c", f"LD_PRELOAD={library}:$LD_PRELOAD exec {program} one")
        self.assertNotIn(b"not recorded", done.stderr)

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
        linker = self.tmp / "ld-uClibc.so.0"
        shutil.copy(LINKER, linker)
        program = self.tmp / "foreign"
        self.must("gcc", "-D_GNU_SOURCE", PROGRAMS / "shows_preload.c", f"-Wl,--dynamic-linker={linker}", "-o", program)
        self.assert_runs_as_alone(program, "there is no runtime for its C library")

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
