#!/usr/bin/env python3
"""The stress matrix: programs that make profilers crash, with and without allo.

usage: run.py [--rounds N] [--kills N] [WORD...]       only the cases whose name holds one of the words

Every round of a case runs it under a watchdog.  It must print the same output as without allo and end as it
does then; every recording must pass `allo verify`, and in every other round, which leaves the stream
as recorded, a second reader must find that each address comes and goes in turns.  ALLO_BUILD names
the build that is tested.  Prints TAP.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

from watch import (ALLO, ENVIRONMENT, HANG, IS_ROOT, Folder, Missing, RawRecording, Tap, Wrong, must_balance, must_equal,
                   reset_signals, text, verify, watched)
from tracing import tracing_obstacle
from recordings import ROOT, RUNTIME, built, counted, counter, libraries, preloaded, preloaded_library


# Packages of Debian have them here.
ALLOCATORS = {name: pathlib.Path("/usr/lib/x86_64-linux-gnu") / file for name, file in (
    ("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc.so.2"))}


class Case:
    """A program, and its known properties."""

    def __init__(self, name, program, *arguments, env=None, recordings=None, inherits=False,
                 folders=(), seconds=HANG, wrapped=(), is_raw=None, options=(), flags=()):
        self.name, self.program, self.arguments = name, program, arguments
        self.env = env or {}
        self.recordings = recordings  # as many as there are processes, if that is known
        self.inherits = inherits      # children that free what they inherit
        self.folders = folders        # there before the program is
        self.seconds = seconds
        self.wrapped = wrapped        # a command in front of the program, recorded as well
        self.is_raw = is_raw          # whether all rounds leave the stream as recorded, or none
        self.options = options        # of allo run
        self.flags = flags            # of the compiler, for an allocator inside of the program

    def command(self, folder):
        for name in self.folders:
            (folder / name).mkdir()
        name = f"{pathlib.Path(self.program).stem}-{self.flags[2][3:]}" if self.flags else None
        return [*self.wrapped, built(self.program, *self.flags, name=name), *(
            str(argument).replace("{folder}", str(folder)) for argument in self.arguments)]

    def plain(self):
        with Folder() as folder:
            return watched(self.command(folder), folder, self.env, self.seconds)

    def round(self, plain, number):
        is_raw = number % 2 == 0 if self.is_raw is None else self.is_raw
        with Folder() as folder:
            options = [*self.options, *(["--raw"] if is_raw else [])]
            done = watched([ALLO, "run", "-q", *options, "-o", folder / "%e.%p.%n.allo", "--",
                            *self.command(folder)], folder, self.env, self.seconds)
            must_equal(plain, done)
            self.judge(sorted(folder.glob("*.allo")), is_raw)

    def judge(self, found, is_raw):
        if not found:
            raise Wrong("no recording")
        if self.recordings is not None and len(found) != self.recordings:
            raise Wrong(f"{len(found)} recordings, not {self.recordings}: {[path.name for path in found]}")
        for path in found:
            verify(path)
            if is_raw:
                must_balance(path, self.inherits)

    def run(self, rounds):
        plain = self.plain()
        for number in range(rounds):
            try:
                self.round(plain, number)
            except Wrong as wrong:
                raise Wrong(f"round {number + 1} of {rounds}: {wrong}") from None


class DiskFull(Case):
    """The recording goes to a disk that takes only so much of it."""

    def round(self, plain, number):
        with Folder() as folder:
            disk = folder / "disk"
            disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "allo-test", disk], check=True)
            try:
                done = watched([ALLO, "run", "-q", "--raw", "-o", disk / "%e.%p.%n.allo", "--",
                                *self.command(folder)], folder, self.env, self.seconds)
                must_equal(plain, done)
                for path in disk.glob("*.allo"):
                    verify(path, may_lack=True)
                    if RawRecording(path).end == "exit":
                        raise Wrong(f"{path.name} does not say that the disk was full")
            finally:
                subprocess.run(["umount", "--lazy", disk], check=True)


class OutOfMemory(Case):
    """The address space is limited: threads that find no memory are not recorded, and verify says so."""

    def judge(self, found, is_raw):
        if len(found) != self.recordings:
            raise Wrong(f"{len(found)} recordings, not {self.recordings}")
        for path in found:
            said = verify(path, may_lack=True)
            if "has problems" in said and "could not be recorded" not in said:
                raise Wrong(said)


class FileLimit(Case):
    """Files may only get so large (RLIMIT_FSIZE); beyond it, the kernel sends a signal that kills."""

    def judge(self, found, is_raw):
        for path in found:
            verify(path, may_lack=True)


class Unwritable(Case):
    """There is no place for a recording: the runtime alone must let the program be."""

    def round(self, plain, number):
        with Folder() as folder:
            env = preloaded("/proc/nowhere/%e.%p.allo")
            must_equal(plain, watched(self.command(folder), folder, {**env, **self.env}, self.seconds))


class Counted(Case):
    """Another library is preloaded already, which counts: both see the same."""

    def round(self, plain, number):
        with Folder() as folder:
            counts = folder / "counts"
            done = watched([ALLO, "run", "-q", "--raw", "-o", folder / "%e.%p.%n.allo", "--",
                            *self.command(folder)], folder,
                           {"LD_PRELOAD": str(counter()), "ALLO_TEST_COUNTS": str(counts)}, self.seconds)
            must_equal(plain, done)
            path, = folder.glob("*.allo")
            verify(path)
            recording = RawRecording(path)
            expected = counted(counts, recording.head.pid)
            if recording.totals() != expected:
                raise Wrong(f"recorded {recording.totals()}, counted {expected}")


class Restarted(Case):
    """The program has the runtime inside, and recordings come and go while it runs."""

    def __init__(self, program, *arguments):
        super().__init__(f"recordings come and go: {program}", program, *arguments)

    def round(self, plain, number):
        library = preloaded_library("restarting.c", f"-I{ROOT / 'include'}", RUNTIME)
        with Folder() as folder:
            env = {"LD_PRELOAD": f"{library}:{RUNTIME}", "ALLO_PATH": str(folder / "%e.%p.%n.allo")}
            must_equal(plain, watched(self.command(folder), folder, {**self.env, **env}, self.seconds))
            found = sorted(folder.glob("*.allo"))
            unmade = [path.name for path in found if path.open("rb").read(1) in (b"", b"\0")]
            if not found or unmade:
                raise Wrong(f"not begun: {unmade}" if unmade else "no recording")
            for path in random.sample(found, min(len(found), 6)):
                verify(path)
                must_balance(path, inherits=True, has_begun_late=True)


class Nagged(Case):
    """A client sends requests to all of its processes all the time, valid and invalid."""

    REQUESTS = [b"allo 1 status\n\n", b"allo 1 start\n\n", b"allo 1 start\nmode sampled\nrate 100\nstats 1\n\n",
                b"allo 1 start\nmode counters\n\n", b"allo 1 stop\n\n", b"allo 1 stop\n\n", b"allo 1 stop\n\n",
                b"allo 1 mark\nname here\n\n", b"allo 1 stats\n\n", b"allo 1 leave\n\n", b"\n\n", b"x" * 20000,
                b"allo 1 sta", b""]

    def __init__(self, program, *arguments, **more):
        super().__init__(f"nagged: {program}", program, *arguments, **more)

    def run(self, rounds):
        self.answered = 0
        super().run(rounds)
        # The programs are short: on a busy machine they may be over before anybody asks.
        for _ in range(20):
            if self.answered > 0:
                return
            super().run(1)
        raise Wrong("no process has answered")

    def nag(self, folder, is_over):
        kept, answered = [], 0
        while not is_over.is_set():
            for path in (folder / "run" / "allo").glob("*.sock"):
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(5)
                try:
                    connection.connect(str(path))
                    connection.sendall(request := random.choice(self.REQUESTS))
                    if request.startswith(b"allo") and request.endswith(b"\n\n"):
                        answered += connection.recv(1 << 16).startswith(b"allo 1 ")
                except OSError:
                    pass  # it may end at any moment
                kept = [*kept[-4:], connection]  # some hang on
            time.sleep(0.003)
        return answered

    def round(self, plain, number):
        with Folder() as folder, concurrent.futures.ThreadPoolExecutor(1) as pool:
            (folder / "run").mkdir(mode=0o700)
            is_over = threading.Event()
            nagging = pool.submit(self.nag, folder, is_over)
            try:
                done = watched([ALLO, "run", "-q", "--raw", "--control", "-o", folder / "%e.%p.%n.allo",
                                *self.options, "--", *self.command(folder)], folder,
                               {**self.env, "XDG_RUNTIME_DIR": str(folder / "run")}, self.seconds)
            finally:
                is_over.set()
            must_equal(plain, done)
            self.answered += nagging.result()
            left = [path.name for path in folder.glob("run/allo/*")]  # where there was time for any
            if left:
                raise Wrong(f"sockets are left: {left}")
            found = sorted(folder.glob("*.allo"))
            for path in random.sample(found, min(len(found), 2)):
                verify(path)
                must_balance(path, inherits=True, has_begun_late=True)


class Stopped(Nagged):
    """Recordings are started and stopped from outside, while their processes end."""

    REQUESTS = [b"allo 1 stop\n\n", b"allo 1 start\n\n"]

    def __init__(self, program, *arguments, **more):
        super().__init__(program, *arguments, **more)
        self.name = f"stopped: {program}"


LIMITED = ["sh", "-c", 'ulimit -f 512; exec "$@"', "sh"]
LIMITED_IGNORING = ["sh", "-c", 'trap "" XFSZ; ulimit -f 512; exec "$@"', "sh"]


MAPPINGS = ["--track", "malloc,new,mmap,brk"]


def cases():
    yield Case("fork storm", "stress_fork.c", recordings=1 + 40 + 8, inherits=True)
    yield Case("vfork and exec", "stress_vfork.c", recordings=1 + 20)
    yield Case("posix_spawn", "stress_spawn.c", recordings=1 + 24)
    yield Case("daemon", "stress_daemon.c", recordings=2, inherits=True)
    yield Case("dlopen and dlclose", "stress_dlopen.c", *libraries(), 200, recordings=1)
    yield Case("dlopen and dlclose with threads", "stress_dlopen.c", *libraries(), 100, 2, recordings=1)
    yield Case("500 short threads", "stress_threads.c", recordings=1)
    yield Case("signal handlers that allocate", "stress_signals.c", recordings=1)
    yield Case("thread-local destructors", "stress_tls.cpp", recordings=1)
    yield Case("static constructors and destructors", "stress_statics.cpp", recordings=1)
    yield Case("longjmp", "stress_longjmp.c", recordings=1)
    yield Case("fibers", "stress_fibers.c", recordings=1)
    yield Case("exceptions", "stress_exceptions.cpp", recordings=1)
    yield Case("odd frames", "stress_frames.c", recordings=1)
    yield Case("every entry point", "entry_points.c", recordings=1)
    yield Case("every new and delete", "new_delete.cpp", recordings=1)
    for program in ("stress_fork.c", "stress_threads.c", "stress_signals.c", "stress_tls.cpp", "stress_statics.cpp",
                    "stress_longjmp.c"):
        yield Case(f"sampled, with statistics: {program}", program, options=["-m", "sampled", "--rate", "100"],
                   env={"ALLO_STATS": "1"}, inherits=True)
    for program, *arguments in (
            ("stress_fork.c",), ("stress_threads.c",), ("stress_dlopen.c", *libraries(), 100, 2),
            ("stress_signals.c",), ("stress_longjmp.c",), ("stress_tls.cpp",), ("stress_statics.cpp",),
            ("stress_exceptions.cpp",), ("stress_fibers.c",), ("churn.c", 4, 100000)):
        yield Restarted(program, *arguments)
    for program, *arguments in (("stress_fork.c",), ("stress_signals.c",), ("churn.c", 4, 60000)):
        yield Nagged(program, *arguments)
    yield Stopped("stress_leave.c", 300)
    yield Case("mappings", "mappings.c", options=MAPPINGS, recordings=1)
    yield Case("mappings of children", "mappings.c", "children", options=MAPPINGS, recordings=2)
    yield Case("mappings, not tracked", "mappings.c", recordings=1)
    yield Case("where something was just unmapped", "stress_holes.c", recordings=1)
    for how in ("_exit", "quick_exit", "abort", "segfault", "kill"):
        yield Case(f"ends by {how}", "stress_exits.c", how, recordings=1)
    for how in ("exit", "return", "exit-in-thread", "main-leaves"):
        yield Case(f"ends by {how}", "stress_exits.c", how, recordings=1)
    yield Case("ends by exec", "stress_exits.c", "exec", recordings=2)
    yield Case("200,000 frames deep", "stress_recursion.c", recordings=1)
    yield OutOfMemory("out of memory", "stress_memory.c", recordings=1)
    yield DiskFull("disk full", "churn.c", 2, 400000)
    yield FileLimit("file size limit", "churn.c", 2, 400000, wrapped=LIMITED, is_raw=True)
    yield FileLimit("file size limit, signal ignored", "churn.c", 2, 400000, wrapped=LIMITED_IGNORING,
                    is_raw=True)
    yield Unwritable("unwritable folder", "churn.c", 2, 20000)
    yield Unwritable("unwritable folder, children", "stress_fork.c")
    yield Case("all files closed", "stress_descriptors.c", "{folder}/own", folders=["own"], recordings=1)
    yield Case("another folder", "stress_folders.c", "{folder}/other", folders=["other"], recordings=2,
               inherits=True)
    yield Case("another root", "stress_folders.c", "{folder}/other", "{folder}/root", folders=["other", "root"],
               inherits=True)
    yield Counted("LD_PRELOAD already set", "churn.c", 3, 30000)
    for archive in ("libjemalloc.a", "libtcmalloc_minimal.a"):
        flags = ["-fno-builtin", "-Wl,--whole-archive", f"-l:{archive}", "-Wl,--no-whole-archive", "-lstdc++", "-lm", "-ldl"]
        yield Case(f"{archive} inside: threads", "churn.c", 4, 50000, flags=flags, recordings=1)
        yield Case(f"{archive} inside: children", "stress_fork.c", flags=flags, recordings=1 + 40 + 8, inherits=True)
        yield Case(f"{archive} inside: short threads", "stress_threads.c", flags=flags, recordings=1)
        yield Case(f"{archive} inside: exceptions", "stress_exceptions.cpp", flags=flags, recordings=1)
        yield Case(f"{archive} inside: longjmp", "stress_longjmp.c", flags=flags, recordings=1)
    for name, library in ALLOCATORS.items():
        env = {"LD_PRELOAD": str(library)}
        yield Case(f"{name}: threads", "churn.c", 4, 50000, env=env, recordings=1)
        yield Case(f"{name}: children", "stress_fork.c", env=env, recordings=1 + 40 + 8, inherits=True)
        yield Case(f"{name}: short threads", "stress_threads.c", env=env, recordings=1)
        yield Case(f"{name}: thread-local destructors", "stress_tls.cpp", env=env, recordings=1)
        yield Case(f"{name}: static constructors", "stress_statics.cpp", env=env, recordings=1)
        yield Case(f"{name}: mappings", "mappings.c", env=env, options=MAPPINGS, recordings=1)


class Attached:
    """allo attach, start, stop and detach, while threads verify their blocks, others come and go, a program forks, and
    500 signals a second arrive."""

    name = "attached while busy"
    ROUNDS = 4  # of attaching, in each round

    def run(self, rounds):
        if obstacle := tracing_obstacle():
            raise Missing(obstacle)
        with Folder() as folder:
            (folder / "run").mkdir(mode=0o700)
            env = {**ENVIRONMENT, "XDG_RUNTIME_DIR": str(folder / "run")}
            target = subprocess.Popen([built("attached.c"), "8", "signals", "churn"], cwd=folder, env=env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                target.stdout.readline()
                for number in range(rounds * self.ROUNDS):
                    self.attach(target.pid, folder, env, number)
                said, errors = target.communicate(timeout=HANG)
            finally:
                target.kill()
                target.wait()
            if target.returncode != 0 or not said.startswith("fine: "):
                raise Wrong(f"the program is not fine: {said} {errors}")

    def attach(self, pid, folder, env, number):
        for words in (["attach", "-q", "-o", f"{number}-a.allo"], ["stop", "-q"], ["start", "-q", "-o", f"{number}-b.allo"],
                      ["detach", "-q"]):
            done = watched([ALLO, words[0], pid, *words[1:]], folder, env)
            if done.status != 0:
                raise Wrong(f"round {number}: {words}: {text(done.errors)}")
        for path in folder.glob(f"{number}-*.allo"):
            verify(path)
            path.unlink()


class Handover:
    """A thread frees the blocks of another: 100,000 blocks a round, in one recording."""

    name = "from thread to thread"

    def run(self, rounds):
        count = rounds * 100_000
        program = built("inside.c", f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{RUNTIME.parent}",
                        name="inside-stress")
        with Folder() as folder:
            done = watched([program, "handover", folder / "h.allo", count], folder, {}, 60 + 6 * rounds)
            size = sum(16 + i % 1000 for i in range(count))
            if f" total {count}/{size} current 0/0 " not in text(done.errors):
                raise Wrong(f"statistics are wrong: {text(done.errors)}")
            verify(folder / "h.allo")
            summary = json.loads(subprocess.run([ALLO, "summary", "--json", folder / "h.allo"], check=True,
                                                capture_output=True).stdout)
            if [summary[key] for key in ("allocations", "frees", "alloc_bytes", "end_blocks")] != [count, count, size, 0]:
                raise Wrong(f"the recording is wrong: {summary}")


class Killed:
    """SIGKILL at any moment: the recording has all events that were counted, except those that each thread
    was just about to do."""

    name = "killed at any moment"
    THREADS = 3
    # A thread may be between its count and its event in one call at most: two events, of a realloc.
    BETWEEN = 2 * THREADS

    def __init__(self):
        self.random = random.Random()

    def run(self, rounds):
        recordings = 0
        for number in range(rounds):
            delay = self.random.uniform(0, 0.03)
            try:
                recordings += self.round(delay, has_begun=number % 2 == 1)
            except Wrong as wrong:
                raise Wrong(f"round {number + 1} of {rounds}, {delay * 1000:.2f} ms: {wrong}") from None
        # Some do not come so far as to begin one; were there only few, this would be no test.
        if recordings < rounds // 2:
            raise Wrong(f"{recordings} recordings in {rounds} rounds")

    def round(self, delay, has_begun):
        """Kills a program; the delay begins with the program or with its recording."""
        with Folder() as folder:
            env = preloaded(folder / "%e.%p.allo", counter(), ALLO_TEST_COUNTS=str(folder / "counts"))
            child = subprocess.Popen([built("churn.c"), str(self.THREADS), "2000", "forever"], env=env,
                                     cwd=folder, stdout=subprocess.DEVNULL)
            while has_begun and child.poll() is None and not list(folder.glob("*.allo")):
                time.sleep(0.001)
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
            child.wait()
            found = list(folder.glob("*.allo"))
            if len(found) > 1:
                raise Wrong(f"{len(found)} recordings")
            for path in found:
                self.judge(path, counted(folder / "counts", child.pid))
            return len(found)

    def judge(self, path, count):
        said = verify(path)
        if "was killed" not in said:
            raise Wrong(f"allo verify does not say that the process was killed: {said}")
        recording = must_balance(path, inherits=False) or RawRecording(path)
        if count:
            missing = sum(count[:3]) - sum(recording.totals()[:3])
            if abs(missing) > self.BETWEEN:
                raise Wrong(f"{missing} events of {sum(count[:3])} are missing")


def become_root_of_a_namespace():
    """Starts this program again where a user may mount and chroot."""
    os.execvp("unshare", ["unshare", "--map-root-user", "--mount", sys.executable, *sys.argv])


def main():
    reset_signals()
    if not IS_ROOT:
        become_root_of_a_namespace()
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    tap = Tap()
    if not RUNTIME.exists():
        tap.say("the runtime is built", f"there is no {RUNTIME}")
        tap.finish()
    wanted = [(case, options.rounds) for case in cases()] + [(Handover(), options.rounds), (Attached(), options.rounds),
                                                            (Killed(), options.kills)]
    wanted = [(case, rounds) for case, rounds in wanted
              if not options.words or any(word in case.name for word in options.words)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = [(case, rounds, pool.submit(case.run, rounds)) for case, rounds in wanted]
        for case, rounds, outcome in outcomes:
            try:
                outcome.result()
                tap.say(f"{case.name}, {rounds} rounds")
            except Exception as wrong:  # whatever it is, the others go on
                tap.say(f"{case.name}, {rounds} rounds", f"{type(wrong).__name__}: {wrong}")
    tap.finish()


main()
