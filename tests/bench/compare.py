#!/usr/bin/env python3
"""Compares the cost of heap profilers: the same programs, without a profiler and under each.

usage: compare.py BUILD [WORD...]       only the programs whose name contains one of the words

Prints a Markdown table for each program, with the command of each profiler.  Times are CPU seconds of all processes,
the best of three interleaved rounds (one for the slowest profilers).  Memory is the largest resident set of a process.  memray is
measured if MEMRAY names its program, the profilers of Rust if PEERS_RUST names the folder of their programs: "make peers"
builds them.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from goals import ALLO, DATA, PYTHON
from measure import Figures, once
from programs import WORK, built

OUT = DATA / "compared"
MEMORY = DATA / "compared.memory"
ROUNDS = 3
MIB = 1 << 20
MEMRAY = os.environ.get("MEMRAY")
RUST = os.environ.get("PEERS_RUST")


class Profiler:
    """Words in front of a program.  {out} is the folder for files."""

    def __init__(self, name, words, rounds=ROUNDS, runs_python=False):
        self.name, self.words, self.rounds, self.runs_python = name, words, rounds, runs_python
        self.figures = Figures()

    def shown(self):
        return self.words.replace("{out}/", "")

    def command(self, program):
        """memray is a Python program that takes the place of the interpreter."""
        words = self.words.replace("{out}", str(OUT)).split()
        words = [{"allo": str(ALLO), "memray": MEMRAY}.get(word, word) for word in words]
        return ["env", *words, *(program[1:] if self.runs_python else program)]

    def measure(self, program):
        shutil.rmtree(OUT)
        OUT.mkdir()
        once(["/usr/bin/time", "-q", "-f", "%M", "-o", str(MEMORY), *self.command(program)], self.figures)
        self.memory = int(MEMORY.read_text().split()[-1]) << 10
        self.size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())


class Crate(Profiler):
    """A crate that is compiled into the program: an allocator."""

    def __init__(self, name):
        super().__init__(name, "")

    def shown(self):
        return f"crate {self.name}"

    def command(self, program):
        return [str(rust_program(self.name)), *program[1:]]


def rust_program(name):
    return pathlib.Path(RUST) / name / "release" / "profilers"


def general():
    return [
        Profiler("none", ""),
        Profiler("allo", "allo run -q -o {out}/heap.allo"),
        Profiler("allo, unpacked", "allo run -q --raw -o {out}/heap.allo"),
        Profiler("allo, sampled", "allo run -q -m sampled -o {out}/heap.allo"),
        Profiler("heaptrack", "heaptrack -o {out}/heaptrack"),
        Profiler("DHAT", "valgrind --tool=dhat --dhat-out-file={out}/dhat", rounds=1),
        Profiler("massif", "valgrind --tool=massif --massif-out-file={out}/massif", rounds=1),
        Profiler("gperftools", "LD_PRELOAD=libtcmalloc.so.4 HEAPPROFILE={out}/heap", rounds=1),
        Profiler("jemalloc, sampled",
                 "LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,prof_final:true,prof_prefix:{out}/heap"),
    ]


def of_python():
    return [
        Profiler("memray", "memray run -q -o {out}/memray.bin", runs_python=True),
        Profiler("memray, objects", "memray run -q --trace-python-allocators -o {out}/memray.bin", runs_python=True),
        Profiler("memray, objects, native", "memray run -q --trace-python-allocators --native -o {out}/memray.bin",
                 runs_python=True),
    ] if MEMRAY else []


def measure_all(profilers, program):
    for number in range(ROUNDS):
        for profiler in profilers:
            if number < profiler.rounds:
                profiler.measure(program)


def print_table(profilers):
    base = profilers[0]
    print("| profiler | CPU time | to none | peak memory | file | command |\n|---|---:|---:|---:|---:|---|")
    for profiler in profilers:
        file = f"{profiler.size >> 10} KiB" if profiler.size else ""
        shown = f"`{profiler.shown()}`" if profiler.shown() else ""
        print(f"| {profiler.name} | {profiler.figures.cpu:.2f} s | {profiler.figures.cpu / base.figures.cpu:.1f} x "
              f"| {profiler.memory / MIB:.0f} MiB | {file} | {shown} |", flush=True)


def compare_cpp():
    print("\nC++: strings, maps and shared pointers (tests/bench/workloads/containers.cpp)\n")
    profilers = general()
    measure_all(profilers, [str(built("containers")), "10"])
    print_table(profilers)


def compare_python():
    """The profilers that do not know CPython see its objects only if each is a block of malloc."""
    program = [PYTHON, str(WORK / "objects.py"), "16"]
    print("\nPython: small objects (tests/bench/workloads/objects.py)\n")
    profilers = [*general()[:4], *of_python()]
    measure_all(profilers, program)
    print_table(profilers)
    print("\nThe same with PYTHONMALLOC=malloc\n")
    os.environ["PYTHONMALLOC"] = "malloc"
    profilers = general()
    measure_all(profilers, program)
    print_table(profilers)


def compare_rust():
    """All record every allocation."""
    if not RUST:
        return
    print("\nRust: strings, maps and shared pointers (tests/peers/profilers)\n")
    profilers = [*general()[:7], Crate("dhat"), Crate("pprof-alloc"), Crate("rheaper")]
    measure_all(profilers, [str(rust_program("none")), "200", str(OUT)])
    print_table(profilers)


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{len(os.sched_getaffinity(0))} cores of {model}, Linux {platform.release()}"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    print(machine())
    words = sys.argv[2:]
    for name, run in (("cpp", compare_cpp), ("python", compare_python), ("rust", compare_rust)):
        if not words or any(word in name for word in words):
            run()


main()
