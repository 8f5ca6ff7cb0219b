"""allo run: the program does not notice that it is recorded; the report afterwards."""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from allotest import ALLO, ENVIRONMENT, HANG, IS_ROOT, QUOTED_ALLO, ROOT, SLOW, Test
from recordings import built
from terminal import Terminal, on_terminal

PYTHON = os.path.realpath(sys.executable)

# A library without effect, for tests that must not depend on our runtime.
LIBC = re.search(r"/\S*/libc\.so\.6", pathlib.Path("/proc/self/maps").read_text())[0]
NEUTRAL = {**ENVIRONMENT, "ALLO_LIBRARY": LIBC}

NOBODY = 65534


def settings_of(environment):
    """The settings of the runtime in ALLO_SETTINGS."""
    entries = re.findall(r"(?:[^;\\]|\\.)+", environment["ALLO_SETTINGS"], re.DOTALL)
    return dict(re.sub(r"\\(.)", r"\1", entry, flags=re.DOTALL).split("=", 1) for entry in entries)


class Limits(Test):
    """allo run --max-peak and its relatives: a run and its check in one step."""

    def run_with(self, *options, program=("true",)):
        return self.run_program(ALLO, "run", "-qfo", "a.allo", *options, "--", *program)

    def test_kept_limits_change_nothing(self):
        done = self.run_with("--max-peak", "64M", "--max-total", "1G", "--max-blocks", "1000000",
                             program=("sh", "-c", "echo said"))
        self.assertEqual((done.returncode, done.stdout), (0, b"said\n"), done.stderr)
        self.assertIn(b"all 3 limits are kept", done.stderr)

    def test_an_exceeded_limit_has_its_own_status(self):
        done = self.run_with("--max-peak", "16", "--max-leaks", "1G", program=("ls", "/"))
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertRegex(done.stderr.decode(), r"FAIL +peak .* over, mostly ")
        self.assertIn("1 of 2 limits exceeded", done.stderr.decode())
        self.assertNotIn(b"limit", done.stdout)

    def test_the_peaks_of_all_processes_count(self):
        script = ("sh", "-c", "ls / > /dev/null; ls / > /dev/null; true")
        done = self.run_program(ALLO, "run", "-q", "--max-peak", "64M", "--", *script)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(ALLO, "run", "-q", "--max-peak", "16", "--", *script)
        self.assertEqual(done.returncode, 124, done.stderr)

    def test_the_programs_own_failure_wins(self):
        done = self.run_with("--max-peak", "16", program=("ls", "/nowhere"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"limit exceeded", done.stderr)
        killed = self.run_with("--max-peak", "16", program=("sh", "-c", "kill -9 $$"))
        self.assertEqual(killed.returncode, -9)

    def test_limits_are_read_before_the_program_runs(self):
        for options in (("--max-peak", "many"), ("--max-peak", "1M", "-m", "counters"),
                        ("--max-peak", "1M", "--dormant")):
            done = self.run_program(ALLO, "run", *options, "--", "touch", "ran")
            self.assertEqual(done.returncode, 125, options)
            self.assertFalse((self.tmp / "ran").exists())


class Run(Test):
    def run_allo(self, *words, **options):
        """Runs a program under allo; its status, output and all that was said."""
        return self.run_program(ALLO, "run", *words, **options)

    def both(self, *words, **options):
        """The output of a program alone, and under allo."""
        alone = self.run_program(*words, **options)
        recorded = self.run_allo("-q", "--", *words, **options)
        self.assertEqual(alone.returncode, recorded.returncode, recorded.stderr)
        return alone.stdout, recorded.stdout

    def refused(self, *words, status=125, **options):
        """(error, hint) of a run that does not come to pass; nothing may be left behind."""
        options.setdefault("env", NEUTRAL)
        before = sorted(self.tmp.rglob("*"))
        done = self.run_allo(*words, **options)
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines[0].startswith("allo: error: "), lines)
        self.assertLessEqual(len(lines), 2)
        self.assertEqual(sorted(self.tmp.rglob("*")), before)
        return lines[0], lines[1] if len(lines) > 1 else ""


class Statuses(Run):
    def test_every_status_is_handed_on(self):
        for status in range(0, 256, 17 if SLOW else 1):
            done = self.run_allo("-q", "sh", "-c", f"exit {status}", env=NEUTRAL)
            self.assertEqual((done.returncode, done.stderr), (status, b""))

    def test_allo_dies_of_the_programs_signal(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGABRT,
                       signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGALRM,
                       signal.SIGTERM, signal.SIGUSR1, signal.SIGRTMIN):
            done = self.run_allo("sh", "-c", f"kill -{int(number)} $$", env=NEUTRAL)
            self.assertEqual(done.returncode, -number, done.stderr)
            self.assertRegex(done.stderr.decode(), rf"^allo: sh died of signal {int(number)} \(")
        self.assertEqual([path for path in self.tmp.iterdir() if "core" in path.name], [])

    def test_a_missing_program_is_127(self):
        for name in ("no-such-program", "./no-such-program", "/etc/passwd/x", ""):
            self.assertIn("allo: error: ", self.refused(name, status=127)[0])
        script = self.file("script", "#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.assertIn("its interpreter /no/such/interpreter does not exist",
                      self.refused("./script", status=127)[0])

    def test_a_program_that_cannot_be_executed_is_126(self):
        self.file("dull", "#!/bin/sh\n")
        for name in ("./dull", "/", "/dev/null"):
            self.refused(name, status=126)
        broken = self.file("broken", b"\x7fELF\x02\x01\x01" + bytes(100))
        broken.chmod(0o755)
        self.refused("./broken", status=125)  # made for machine number 0

    def test_our_own_failures_are_125(self):
        self.assertIn("'allo run' needs PROGRAM", self.refused()[0])
        self.assertIn("unknown option '--outptu'", self.refused("--outptu", "x", "true")[0])
        for option, value in (("--min-size", "many"), ("--max-file", "-1"), ("--delay", "soon"),
                              ("--duration", "1d"), ("--track", "stacks"), ("--unwind", "magic"),
                              ("--stack-depth", "deep"), ("-m", "sloppy"), ("-o", "%x")):
            self.refused(option, value, "true")
        missing = {**ENVIRONMENT, "ALLO_LIBRARY": "/no/such/liballo.so"}
        self.assertIn("ALLO_LIBRARY: cannot find the library", self.refused("true", env=missing)[0])

    def test_help_is_ours_before_the_program_and_the_programs_behind_it(self):
        self.assertIn("Usage: allo run ", self.allo("run", "-o", "x", "--help", "true"))
        self.assertIn("Usage: allo run ", self.allo("record", "-h"))
        self.assertEqual(self.allo("run", "-q", "echo", "--help", "-h", env=NEUTRAL), "--help -h\n")


class Arguments(Run):
    def test_options_behind_the_program_are_the_programs(self):
        words = ["-o", "x", "--quiet", "-", "-", "--", "-f", "--nonsense", ""]
        for before in ([], ["--"], ["-q"], ["-qf", "--"]):
            done = self.run_allo(*before, "printf", "<%s>", *words, env=NEUTRAL)
            self.assertEqual(done.stdout.decode(), "".join(f"<{word}>" for word in words))

    def test_a_program_may_look_like_an_option(self):
        self.file("-x", "#!/bin/sh\necho here\n").chmod(0o755)
        env = {**NEUTRAL, "PATH": f"{self.tmp}:{ENVIRONMENT['PATH']}"}
        self.assertEqual(self.run_allo("--", "-x", env=env).stdout, b"here\n")
        self.refused("-x", env=env)

    def test_programs_keep_the_name_they_are_called_by(self):
        (self.tmp / "other").symlink_to(shutil.which("sh"))
        for name in ("sh", shutil.which("sh"), "./other"):
            alone, recorded = self.both(name, "-c", "echo $0", env=NEUTRAL)
            self.assertEqual(alone, recorded)

    def test_a_script_needs_no_interpreter(self):
        self.file("script", "echo $1\n").chmod(0o755)
        self.assertEqual(self.run_allo("./script", "seven", env=NEUTRAL).stdout, b"seven\n")

    def test_the_current_directory_is_searched_where_path_says_so(self):
        self.file("here-only", "#!/bin/sh\necho $0\n").chmod(0o755)
        done = self.run_allo("-q", "here-only", env={**NEUTRAL, "PATH": "/nowhere:"})
        self.assertEqual(done.stdout, b"./here-only\n")
        error, hint = self.refused("here-only", status=127)
        self.assertIn("./here-only", hint)


class Surroundings(Run):
    def test_input_and_output_are_handed_through(self):
        data = os.urandom(3 << 20)
        done = self.run_allo("cat", input=data, env=NEUTRAL)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, data)

    def test_standard_error_is_the_programs_before_it_is_ours(self):
        done = self.run_allo("sh", "-c", "echo first >&2; echo second >&2", env=NEUTRAL)
        self.assertTrue(done.stderr.startswith(b"first\nsecond\nallo: sh exited with status 0 after "))
        done = self.run_allo("-q", "sh", "-c", "echo only >&2", env=NEUTRAL)
        self.assertEqual(done.stderr, b"only\n")

    def environment_of(self, *options, **more):
        done = self.run_allo("-q", *options, "env", "-0", env={**NEUTRAL, **more})
        return dict(variable.split("=", 1) for variable in done.stdout.decode().split("\0")[:-1])

    def test_the_environment_differs_only_in_variables_of_the_library(self):
        given = {**NEUTRAL, "ODD": "a=b\nc", "EMPTY": "", "ALLO_MIN_SIZE": "77", "ALLO_ODD": "1",
                 "ALLO_SETTINGS": "MIN_SIZE=9"}
        alone = dict(variable.split("=", 1) for variable in self.run_program(
            "env", "-0", env=given).stdout.decode().split("\0")[:-1])
        found = self.environment_of(**given)
        ours = {"LD_PRELOAD", "ALLO_SETTINGS"}
        self.assertEqual({k: v for k, v in alone.items() if k not in ours},
                         {k: v for k, v in found.items() if k not in ours})
        self.assertLessEqual(ours, set(found))
        self.assertEqual(found["LD_PRELOAD"], os.path.realpath(LIBC))
        settings = settings_of(found)
        folder = re.escape(os.path.realpath(self.tmp))
        self.assertRegex(settings["OUTPUT"], rf"^{folder}/env\.\d+\.allo$")
        self.assertEqual(settings["FAMILY"], settings["OUTPUT"] + ".d/%e.%p.allo")
        self.assertEqual(settings["OUTPUT"].split(".")[-2], settings["MAIN"])
        self.assertFalse(os.path.exists(settings["LIST"]))
        for name, value in (("STACK_DEPTH", "0"), ("MIN_SIZE", "0"), ("TRACK", "malloc,new,python"),
                            ("MAX_FILE", "0"), ("DELAY_NS", "0"), ("DURATION_NS", "0"),
                            ("FOLLOW", "1"), ("UNWIND", "auto")):
            self.assertEqual(settings[name], value)

    def test_every_character_reaches_the_library(self):
        name = "a;b\\c=d e\\;f.allo"
        self.assertEqual(settings_of(self.environment_of("-o", name))["OUTPUT"],
                         f"{os.path.realpath(self.tmp)}/{name}")
        self.allo("run", "-q", "-o", name, built("entry_points.c"))
        self.assertEqual([path.name for path in self.tmp.iterdir()], [name])

    def test_options_reach_the_library(self):
        found = self.environment_of(
            "--stack-depth", "7", "--min-size=4K", "--track", "brk,malloc,mmap", "--max-file", "1.5G",
            "--delay", "10ms", "--duration=2.5m", "--no-follow", "--unwind", "fp", "-m", "exact",
            "-o", "%h/a%%.%n.allo")
        for name, value in (("STACK_DEPTH", "7"), ("MIN_SIZE", "4096"), ("TRACK", "malloc,mmap,brk"),
                            ("MAX_FILE", str(3 << 29)), ("DELAY_NS", "10000000"),
                            ("DURATION_NS", "150000000000"), ("FOLLOW", "0"), ("UNWIND", "fp"),
                            ("OUTPUT", f"{os.path.realpath(self.tmp)}/%h/a%%.%n.allo")):
            self.assertEqual(settings_of(found)[name], value)
        self.assertTrue((self.tmp / os.uname().nodename).is_dir())

    def test_preloaded_libraries_stay(self):
        for before in ("libm.so.6", "libm.so.6 libdl.so.2", "libm.so.6:libdl.so.2"):
            found = self.environment_of(LD_PRELOAD=before)
            self.assertEqual(found["LD_PRELOAD"], f"{os.path.realpath(LIBC)}:{before}")
        self.assertEqual(self.environment_of(LD_PRELOAD="")["LD_PRELOAD"], os.path.realpath(LIBC))

    def test_signals_are_ignored_and_blocked_as_before(self):
        """As nohup, a shell's background jobs and careless parents leave them."""
        def prepare(ignored, blocked):
            def set_signals():
                for number in ignored:
                    signal.signal(number, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
            return set_signals

        for ignored, blocked in (
                ((), ()), ((signal.SIGHUP,), ()), ((signal.SIGINT, signal.SIGQUIT), ()),
                ((signal.SIGCHLD, signal.SIGPIPE, signal.SIGTSTP), (signal.SIGUSR1,)),
                ((), (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGCONT))):
            alone, recorded = self.both("grep", "^Sig[BI]", "/proc/self/status", env=NEUTRAL,
                                        preexec_fn=prepare(ignored, blocked), restore_signals=False)
            self.assertEqual(alone, recorded)
            self.assertIn(b"SigIgn", alone)

    def test_no_file_of_ours_is_open_in_the_program(self):
        with open(self.file("given", "")) as given:
            words = ["sh", "-c", "readlink /proc/$$/fd/* | grep -v pipe:; ls /proc/$$/fd"]
            alone, recorded = self.both(*words, env=NEUTRAL, pass_fds=[given.fileno()])
            self.assertEqual(alone, recorded)
            self.assertIn(b"/given\n", alone)

    def test_closed_files_stay_closed(self):
        look = "for f in 0 1 2; do [ -e /proc/$$/fd/$f ] && echo $f >> open; done; exit 5"
        for closed, left in (("<&-", "1\n2\n"), (">&-", "0\n2\n"), ("2>&-", "0\n1\n"),
                             ("<&- >&- 2>&-", None)):
            command = f"exec {closed}; exec {QUOTED_ALLO} run -o r.allo -f sh -c '{look}'"
            self.assertEqual(self.run_program("sh", "-c", command).returncode, 5)
            path = self.tmp / "open"
            self.assertEqual(path.read_text() if path.exists() else None, left)
            path.unlink(missing_ok=True)
            # Messages have not ended up in anything that was opened instead.
            self.assertNotIn(b"allo: ", (self.tmp / "r.allo").read_bytes())

    def test_a_closed_pipe_for_messages_is_no_error(self):
        done = self.run_program("bash", "-c", "set -o pipefail; "
                                f"{QUOTED_ALLO} run sh -c 'sleep 0.1; exit 3' 2>&1 | true")
        self.assertEqual(done.returncode, 3)

    def test_nothing_is_left_in_the_temporary_directory(self):
        folder = self.tmp / "temporary"
        folder.mkdir()
        env = {**NEUTRAL, "TMPDIR": str(folder)}
        done = self.run_allo("-q", "sh", "-c", 'ls "$TMPDIR"', env=env)
        self.assertRegex(done.stdout.decode(), r"^allo-run-\w+\n$")
        self.assertEqual(list(folder.iterdir()), [])


READY = "import signal, sys, time, os\n"

# A shell with job control, as small as it can be: tells when its job stops, and continues it.
SHELL = r"""
import os, signal, sys
how = sys.argv[1]
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgid(0))
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    print("stopped by", os.WSTOPSIG(status), flush=True)
    if how == "group":
        os.killpg(job, signal.SIGCONT)
    else:
        os.kill(job, signal.SIGCONT)
print("ended with", os.waitstatus_to_exitcode(status), flush=True)
"""


class Signals(Run):
    def start(self, code, *options, **more):
        """A python program under allo that has said "ready"."""
        process = subprocess.Popen([ALLO, "run", "-q", *options, PYTHON, "-c", READY + code],
                                   cwd=self.tmp, env=NEUTRAL, stdout=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_signals_to_allo_are_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
                       signal.SIGUSR2):
            process = self.start(f"signal.signal({int(number)}, lambda n, _: sys.exit(n + 40))\n"
                                 "print('ready', flush=True)\nwhile True: time.sleep(1)")
            process.send_signal(number)
            self.assertEqual(process.wait(HANG), number + 40)

    def test_a_program_that_dies_of_a_signal_passed_on(self):
        process = self.start("print('ready', flush=True)\ntime.sleep(60)")
        process.terminate()
        self.assertEqual(process.wait(HANG), -signal.SIGTERM)

    def test_a_program_may_ignore_a_signal_passed_on(self):
        process = self.start("signal.signal(15, signal.SIG_IGN)\nprint('ready', flush=True)\n"
                             "time.sleep(0.5)\nsys.exit(9)")
        process.terminate()
        self.assertEqual(process.wait(HANG), 9)

    def test_signals_ignored_by_nohup_stay_ignored(self):
        process = self.start("print('ready', flush=True)\ntime.sleep(0.5)\nsys.exit(9)",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(HANG), 9)

    def test_an_interrupt_from_the_terminal_arrives_once(self):
        code = READY + ("count = 0\ndef interrupt(*_):\n    global count\n    count += 1\n"
                        "signal.signal(2, interrupt)\nsignal.signal(3, interrupt)\n"
                        "print('ready', flush=True)\nwhile count == 0: time.sleep(0.05)\n"
                        "time.sleep(0.5)\nsys.exit(40 + count)")
        for key in ("\x03", "\x1c"):
            terminal = Terminal([ALLO, "run", PYTHON, "-c", code], env={"ALLO_LIBRARY": LIBC},
                                cwd=self.tmp)
            terminal.wait_for("ready")
            terminal.type(key)
            self.assertIn("exited with status 41 after ", " ".join(terminal.finish().split()))
            self.assertEqual(terminal.status, 41)

    def test_an_interrupt_ends_the_program_and_the_report_still_comes(self):
        for _ in range(3 if SLOW else 10):
            terminal = Terminal([ALLO, "run", "sh", "-c", "echo ready; exec sleep 60"], cwd=self.tmp,
                                env={"ALLO_LIBRARY": LIBC})
            terminal.wait_for("ready")
            terminal.type("\x03")
            self.assertIn("sh died of signal 2 (SIGINT) after ", terminal.finish())
            self.assertEqual(terminal.status, -signal.SIGINT)

    def under_shell(self, how, code):
        terminal = Terminal([PYTHON, "-c", SHELL, how, ALLO, "run", "-q", PYTHON, "-c", READY + code],
                            env={"ALLO_LIBRARY": LIBC}, cwd=self.tmp)
        terminal.wait_for("ready")
        return terminal

    def test_the_shell_stops_and_continues_both(self):
        code = ("count = 0\ndef go_on(*_):\n    global count\n    count += 1\n"
                "signal.signal(signal.SIGCONT, go_on)\nprint('ready', flush=True)\n"
                "while count == 0: time.sleep(0.05)\ntime.sleep(0.3)\nsys.exit(40 + count)")
        for how in ("group", "allo"):
            terminal = self.under_shell(how, code)
            terminal.type("\x1a")
            terminal.wait_for(f"stopped by {int(signal.SIGTSTP)}")
            self.assertIn("ended with 41", terminal.finish())

    def test_a_program_that_stops_itself_stops_us(self):
        for number in (signal.SIGSTOP, signal.SIGTSTP):
            terminal = self.under_shell("allo", "print('ready', flush=True)\n"
                                        f"os.kill(os.getpid(), {int(number)})\nsys.exit(7)")
            terminal.wait_for(f"stopped by {int(number)}")
            self.assertIn("ended with 7", terminal.finish())

    def test_the_program_may_use_the_terminal(self):
        status, text = on_terminal(ALLO, "run", "-q", "sh", "-c", "test -t 0 && test -t 1 && tty",
                                   env={"ALLO_LIBRARY": LIBC}, cwd=self.tmp)
        self.assertEqual(status, 0)
        self.assertIn("/dev/pts/", text)


class Refusals(Run):
    def program(self, *flags):
        source = self.file("p.c", "int main(void) { return 0; }\n")
        self.must("gcc", *flags, "-o", self.tmp / "program", source)
        return self.tmp / "program"

    def patch(self, path, at, data):
        content = bytearray(path.read_bytes())
        content[at:at + len(data)] = data
        path.write_bytes(content)

    def test_static_programs(self):
        for flags in (["-static"], ["-static-pie", "-fPIE"]):
            self.program(*flags)
            error, hint = self.refused("./program")
            self.assertEqual(error, "allo: error: ./program: cannot be recorded: it is statically "
                             "linked, so no library can be preloaded")
            self.assertIn("without -static", hint)

    def test_scripts_of_static_programs(self):
        program = self.program("-static")
        self.file("script", f"#!{program}\n").chmod(0o755)
        self.assertIn(f"its interpreter {program} is statically linked", self.refused("./script")[0])

    def test_other_machines(self):
        self.patch(self.program(), 18, struct.pack("<H", 243))
        self.assertIn("it is a program for RISC-V", self.refused("./program")[0])
        self.patch(self.program(), 4, b"\x01")
        self.assertIn("it is a 32-bit program", self.refused("./program")[0])
        self.patch(self.program(), 5, b"\x02")
        self.assertIn("it is a program for ", self.refused("./program")[0])

    def test_other_c_libraries(self):
        program = self.program()
        linker = re.search(rb"/lib64/ld-linux-[\w-]+\.so\.\d", program.read_bytes())
        self.patch(program, linker.start(), b"/lib/ld-uClibc.so.0\0")
        error, hint = self.refused("./program")
        self.assertIn("it uses another C library than glibc and musl (ld-uClibc.so.0)", error)
        self.assertIn("one of these", hint)

    def test_a_dynamic_linker_that_is_not_there(self):
        program = self.program()
        at = program.read_bytes().index(b"/lib64/ld-linux")
        self.patch(program, at, b"/lib65")
        self.assertIn("needs /lib65/ld-linux", self.refused("./program", status=127)[0])

    def test_programs_with_more_rights_than_their_caller(self):
        if not IS_ROOT:
            return self.check_rights_without_root()
        program = self.program()
        command = self.allo_of_a_user()
        self.tmp.chmod(0o777)
        for mode, what in ((0o4755, "is setuid"), (0o2755, "is setgid")):
            shutil.chown(program, NOBODY, NOBODY)
            program.chmod(mode)
            error, hint = self.refused("./program")
            self.assertIn(f"it {what}, so the dynamic linker preloads no library", error)
            self.assertIn("cp", hint)
            # For a user who has these rights already, it is a program like others.
            done = self.run_program(*command, "run", "-q", "./program", env=NEUTRAL)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            # And where no program can gain rights.
            done = self.run_program("setpriv", "--no-new-privs", ALLO, "run", "-q", "./program",
                                    env=NEUTRAL)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def check_rights_without_root(self):
        """Only root can make programs that give rights; every system has some."""
        for name, what in (("su", "is setuid"), ("chage", "is setgid")):
            error, hint = self.refused(name, "--help")
            self.assertIn(f"it {what}, so the dynamic linker preloads no library", error)
            self.assertIn("cp", hint)
            done = self.run_program("setpriv", "--no-new-privs", ALLO, "run", "-q", name, "--help", env=NEUTRAL)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        program = self.program()
        for mode in (0o4755, 0o2755):
            program.chmod(mode)
            done = self.run_allo("-q", "./program", env=NEUTRAL)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_programs_with_capabilities(self):
        program = self.program()
        # Version 2, effective, CAP_NET_BIND_SERVICE permitted.
        code = ("import os, struct, sys\n"
                "os.setxattr(sys.argv[1], 'security.capability', struct.pack('<5I', 0x02000001, 1 << 10, 0, 0, 0))")
        self.must(*([] if IS_ROOT else ["unshare", "--map-root-user"]), PYTHON, "-c", code, program)
        done = self.run_program(*self.allo_of_a_user(), "run", "./program", env=NEUTRAL)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"it has file capabilities", done.stderr)
        if IS_ROOT:  # who has all capabilities already
            self.assertEqual(self.run_allo("-q", "./program", env=NEUTRAL).returncode, 0)

    def test_sanitizers(self):
        for compiler, flag, name in (("gcc", "address", "AddressSanitizer"),
                                     ("gcc", "thread", "ThreadSanitizer"),
                                     ("clang", "address", "AddressSanitizer")):
            self.must(compiler, f"-fsanitize={flag}", "-o", "program",
                      self.file("p.c", "int main(void) { return 0; }\n"))
            error, hint = self.refused("./program")
            self.assertIn(f"it has the allocator of {name}", error)
            self.assertIn(f"-fsanitize={flag}", hint)

    def test_an_unreadable_program_is_run(self):
        program = self.program()
        program.chmod(0o111)
        command = self.allo_of_a_user()
        self.tmp.chmod(0o777)
        done = self.run_program(*command, "run", "-q", "./program", env=NEUTRAL)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class Output(Run):
    def test_an_existing_file_is_not_overwritten(self):
        old = self.file("old.allo", "old")
        error, hint = self.refused("-o", "old.allo", "touch", "ran")
        self.assertEqual(error, "allo: error: old.allo: exists and was not overwritten")
        self.assertIn("add -f", hint)
        self.assertEqual(old.read_bytes(), b"old")
        name = os.path.basename(os.path.realpath(shutil.which("touch")))
        self.file(f"{name}.allo", "old")
        self.refused("-o", "%e.allo", "touch", "ran")
        self.run_allo("-q", "-f", "-o", "old.allo", "touch", "ran")
        self.assertTrue((self.tmp / "ran").exists())
        self.assertFalse(old.exists() and old.read_bytes() == b"old")

    def test_special_files_are_never_replaced(self):
        (self.tmp / "link").symlink_to("/dev/null")
        os.mkfifo(self.tmp / "pipe")
        for name in ("pipe", "link", *(["/dev/null"] if IS_ROOT else [])):
            self.assertIn("is not a regular file", self.refused("-f", "-o", name, "true")[0])
        self.assertTrue(os.path.exists("/dev/null"))

    def test_a_file_that_is_not_replaced_after_all(self):
        """Nothing is removed before it is certain that the program runs."""
        old = self.file("old.allo", "old")
        self.refused("-f", "-o", "old.allo", "no-such-program", status=127)
        self.assertEqual(old.read_bytes(), b"old")

    def test_directories_that_cannot_be_written_to(self):
        self.assertIn("cannot", self.refused("-o", "/proc/x.allo", "true")[0])
        self.file("file", "")
        self.assertIn("cannot make the directory", self.refused("-o", "file/x/y.allo", "true")[0])
        command = self.allo_of_a_user()
        self.tmp.chmod(0o555)
        self.addCleanup(self.tmp.chmod, 0o755)
        done = self.run_program(*command, "run", "true", env=NEUTRAL)
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"cannot write to the directory {self.tmp}: Permission denied\n  hint: choose another place", done.stderr.decode())

    def test_a_path_has_no_line_break(self):
        self.assertIn("cannot have a line break", self.refused("-o", "a\nb.allo", "true")[0])

    def test_a_rate_needs_sampling(self):
        for options in ((), ("-m", "exact"), ("-m", "counters")):
            error, hint = self.refused(*options, "--rate", "5", "true")[:2]
            self.assertIn("--rate is the interval of a sampled recording", error)
            self.assertIn("-m sampled", hint)
        for condition in ("pressure=%", "rss=0x10%", "peak="):
            self.assertIn("--snapshot-on does not accept", self.refused("--snapshot-on", condition, "true")[0])

    def test_a_recording_does_not_go_to_standard_output(self):
        self.refused("-o", "-", "true")


class Recordings(Run):
    SUMMARY = (r"allo: 23 allocations, 22\.7 KiB total, peak 22\.7 KiB at [\d.]+ [mu]?s, 2\.96 KiB never "
               r"freed\n(?:allo: malloc held [\d.]+ K?i?B of [\d.]+ MiB resident at the peak"
               r"(?: \(.*\))?\n)?allo: 0 events dropped, 100\.0% of stacks complete\n")

    def setUp(self):
        super().setUp()
        self.must("gcc", "-g", "-O1", "-o", "blocks", ROOT / "tests" / "programs" / "blocks.c")

    def said(self, *words, status=0, **options):
        """The standard error of allo."""
        done = self.run_allo(*words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def is_raw(self, path):
        return (self.tmp / path).read_bytes().startswith(b"ALLOraw1")

    def totals(self, path):
        """Sums of all metrics but the times, which are other ones in every run."""
        return {entry["metric"]["name"]: entry["sum"] for entry in self.allo_json("info", path)["metrics"]
                if entry["metric"]["name"] != "lifetime"}

    def test_a_program_is_summed_up(self):
        text = self.said("./blocks")
        name = re.search(r"wrote (\S+)", text)[1]
        self.assertRegex(name, r"^blocks\.\d+\.allo$")
        self.assertRegex(text, r"^allo: \./blocks exited with status 0 after [\d.]+ m?s\n" + self.SUMMARY +
                         rf"allo: wrote {name} \([\d.]+ K?i?B\)\n\n"
                         rf"  allo summary {name} .*\n  allo view {name} .*\n$")
        self.assertEqual([path.name for path in self.tmp.glob("*.allo")], [name])

    def test_suggested_commands_work(self):
        text = self.said("-o", "it's a name.allo", "./blocks")
        lines = re.findall(r"^  (allo .*?)   +\S", text, re.M)
        self.assertEqual(len(lines), 2)
        summary, view = [line.replace("allo ", f"{QUOTED_ALLO} ", 1) for line in lines]
        self.assertIn("22.7 KiB", self.must("sh", "-c", summary))
        answer = self.run_program("sh", "-c", f"{view} --ask '{{\"v\":1,\"ask\":\"open\"}}'")
        self.assertIn(b"./blocks", answer.stdout)

    def test_recordings_are_packed_unless_they_are_to_stay_raw(self):
        for options in ([], ["-q"]):
            self.said("-f", "-o", "packed.allo", *options, "./blocks")
            self.assertFalse(self.is_raw("packed.allo"))
        text = self.said("-o", "raw.allo", "--raw", "./blocks")
        self.assertRegex(text, self.SUMMARY)
        self.assertTrue(self.is_raw("raw.allo"))
        self.assertLess((self.tmp / "packed.allo").stat().st_size, (self.tmp / "raw.allo").stat().st_size)
        self.assertEqual(self.totals("packed.allo"), self.totals("raw.allo"))
        self.assertEqual(self.totals("raw.allo")["end_bytes"], 3 * 1009)

    def test_nothing_is_said_to_the_quiet(self):
        self.assertEqual(self.said("-q", "./blocks"), "")

    def test_the_recording_of_a_program_that_died_is_whole(self):
        text = self.said("-o", "x.allo", "./blocks", "abort", status=-signal.SIGABRT)
        self.assertRegex(text, r"^allo: \./blocks died of signal 6 \(SIGABRT\) after .*\n" + self.SUMMARY)
        self.assertEqual(self.totals("x.allo")["alloc_blocks"], 23)

    def test_every_process_has_a_line(self):
        text = self.said("sh", "-c", "./blocks; ./blocks; exit 3", status=3)
        self.assertEqual(len(re.findall(r"^allo:   peak +22\.7 KiB, +23 allocations,  blocks \(\d+\)$", text, re.M)), 2)
        self.assertRegex(text, r"(?m)^allo: blocks \(\d+\): 23 allocations, ")
        self.assertRegex(text, r"(?m)^  allo summary sh\.\d+\.allo\.d/blocks\.\d+\.allo ")

    def test_many_processes_have_a_line_together(self):
        text = self.said("sh", "-c", "for i in 1 2 3 4 5 6 7; do ./blocks; done")
        self.assertEqual(len(re.findall(r"^allo:   peak .*  blocks \(", text, re.M)), 5)
        self.assertRegex(text, r"(?m)^allo:   and 3 more, peak at most 22.7 KiB$")
        self.assertEqual([path for path in self.tmp.rglob("*.allo") if self.is_raw(path)], [])

    def test_children_are_not_followed_where_they_are_not_wanted(self):
        for option, count in ((["--no-follow"], 1), ([], 2)):
            self.said(*option, "-o", f"{count}.%n.allo", "./blocks", "leave", stdin=subprocess.DEVNULL)
            self.assertEqual(len(list(self.tmp.glob(f"{count}.*.allo"))), count)

    def test_other_processes_do_not_get_the_name(self):
        self.said("-o", "x.allo", "sh", "-c", "./blocks; ./blocks; exit 0")
        self.assertEqual(self.allo_json("info", "x.allo")["recording"]["arguments"][0], "sh")
        self.assertEqual(len(list((self.tmp / "x.allo.d").glob("blocks.*.allo"))), 2)

    def test_the_name_belongs_to_the_program_that_it_came_to(self):
        """env(1), which most scripts begin with, executes another program."""
        for words in (["env", "./blocks"], ["sh", "-c", "exec ./blocks"]):
            text = self.said("-f", "-o", "x.allo", *words)
            self.assertRegex(text, r"allo: blocks \(\d+\): " + self.SUMMARY.removeprefix("allo: "))
            self.assertIn("allo: wrote x.allo (", text)
            self.assertEqual(self.totals("x.allo")["alloc_blocks"], 23)
            self.assertRegex(str(*(self.tmp / "x.allo.d").iterdir()), rf"/{words[0]}\.\d+\.allo$")

    def test_running_children_are_left_alone(self):
        process = subprocess.Popen([ALLO, "run", "./blocks", "leave"], cwd=self.tmp, env=ENVIRONMENT,
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        text = process.stderr.read()
        self.assertEqual(process.wait(HANG), 0)
        pid, path = re.search(r"^allo: process (\d+) is still running and writes to (\S+)$", text, re.M).groups()
        self.assertTrue(self.is_raw(path))
        self.assertRegex(text, self.SUMMARY)
        process.stdin.close()
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.01)
        self.assertEqual(self.totals(path)["alloc_bytes"], 4099)

    def test_a_recording_that_is_gone_is_an_error_that_changes_no_status(self):
        text = self.said("-o", "x.allo", "./blocks", "remove", "x.allo", status=5)
        self.assertIn("allo: error: ", text)
        self.assertIn("x.allo", text)

    def test_nothing_recorded_is_explained(self):
        self.must("gcc", "-o", "none", self.file("none.c", "int main(void) { return 0; }\n"))
        text = self.said("./none")
        self.assertIn("allo: nothing was recorded: ./none made no allocation that the runtime sees\n", text)
        self.assertIn("  hint: ", text)
        self.assertIn("allo: nothing was recorded: ./blocks ended before --delay was over\n",
                      self.said("--delay", "1h", "./blocks"))
        self.assertEqual(list(self.tmp.glob("*.allo*")), [])

    def test_an_allocator_in_the_program_is_named(self):
        # Its free() is shorter than a jump.
        self.must("gcc", "-O2", "-fno-builtin", "-o", "own", self.file("own.c", "#include <stdlib.h>\n"
                  "static char room[1 << 16]; static size_t used;\n"
                  "void *malloc(size_t n) { used += n + 15 & ~15; return room + used - (n + 15 & ~15); }\n"
                  "void *calloc(size_t n, size_t m) { return malloc(n * m); }\n"
                  "void *realloc(void *p, size_t n) { return malloc(n); }\n"
                  "void free(void *p) { }\n"
                  "int main(void) { return !malloc(3); }\n"))
        self.assertIn("allo: nothing was recorded: ./own contains an allocator, which the runtime cannot patch", self.said("./own"))

    def test_small_blocks_can_be_left_out(self):
        for nothing in (("--min-size", "1010"), ("--track", "mmap")):
            said = self.said(*nothing, "./blocks")
            self.assertIn("allo: 0 allocations, ", said)
            self.assertIn("./blocks made no allocation that --min-size and --track let through", said)
        self.assertRegex(self.said("--min-size", "1009", "./blocks"), self.SUMMARY)

    def test_a_recording_that_is_full_says_so(self):
        text = self.said("--max-file", "256K", PYTHON, "-c", "x = [str(i) * 999 for i in range(99999)]")
        self.assertIn("note: the recording ends before the program: it reached --max-file; the figures are those of its first ", text)
        self.assertIn(" not freed by then\n", text)
        self.assertLess(text.index("note: the recording ends"), text.index(" total, peak "))


class Counters(Run):
    """-m counters: the sums of a recording, without a recording."""

    def counted(self, *words, **options):
        said = self.run_allo("-m", "counters", *words, **options).stderr.decode()
        self.assertEqual([path for path in self.tmp.iterdir() if path.suffix == ".allo"], [])
        return said

    def test_it_counts_the_events_of_a_recording(self):
        for program, blocks, is_alone in ((built("leaks.c"), 1590, True),
                                          (built("stress_threads.c", "-pthread"), 1500, False)):
            said = self.counted(program, "0")
            exact = self.run_allo("-o", "x.allo", program, "0").stderr.decode()
            (self.tmp / "x.allo").unlink()
            count, total, peak, left = re.search(r"([\d,]+) allocations, (.* total), (peak .*) in [\d,]+ blocks?, "
                                                 r"(.*) in [\d,]+ blocks? never freed\n", said).groups()
            self.assertGreaterEqual(int(count.replace(",", "")), blocks)
            for figure in (f"{count} allocations", total, peak if is_alone else "peak", f"{left} never freed"):
                self.assertIn(figure, exact)

    def test_each_process_counts(self):
        said = self.counted("sh", "-c", "sh -c 'kill -9 $$'; cat /dev/null; exit 3")
        lines = [line for line in said.splitlines() if line.startswith("allo: ")]  # sh says "Killed"
        self.assertIn("allo: sh exited with status 3 after", lines[0])
        self.assertRegex(lines[1], r"^allo: [\d,]+ allocations, ")
        self.assertRegex(lines[2], r"^allo: process \d+ ended without exit\(\): its counts are lost$")
        self.assertRegex(lines[3], r"^allo: process \d+: [\d,]+ allocations, ")

    def test_there_is_no_file_to_name(self):
        self.assertIn("-m counters makes no recording", self.refused("-m", "counters", "-o", "x", "true")[0])
