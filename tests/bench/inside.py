#!/usr/bin/env python3
"""Benchmarks of a program that links the runtime: the cost of linking it, and of its modes.

usage: inside.py BUILD [WORD...]       only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does, each against the same program without the runtime.
"""
import os

from goals import BUILD, DATA, at_least, at_most, run_benches
from measure import compare
from programs import built, workloads

RUNTIME = BUILD / "capture" / "liballo.so.0"
OUT = DATA / "inside"
ROUNDS = 7
PAIRS = [15, 0, 3000000]


def linked(name):
    return built(name, "-Wl,--no-as-needed", RUNTIME, f"-Wl,-rpath,{RUNTIME.parent}", out=f"{name}-linked")


def recorded(command, mode, *more, preload=True):
    """A command in whose environment the runtime records in this way."""
    OUT.mkdir(exist_ok=True)
    for path in OUT.iterdir():
        path.unlink()
    return ["env", *([f"LD_PRELOAD={RUNTIME}"] if preload else []), f"ALLO_OUTPUT={OUT}/%p.%n.allo",
            f"ALLO_MODE={mode}", *more, *command]


def bench_stopped():
    none, ours = compare([[built("pairs"), *PAIRS], [linked("pairs"), *PAIRS]], 3 * ROUNDS)
    at_most("pairs, linked and stopped: CPU, to not linked", ours.cpu / none.cpu, 1.02, "x",
            f"{none.cpu / 3e6 / 5 * 1e9:.2f} ns, {ours.cpu / 3e6 / 5 * 1e9:.2f} ns a pair of malloc and free")


def bench_exact():
    pairs = [built("pairs"), *PAIRS[:2], 300000], [linked("pairs"), *PAIRS[:2], 300000]
    preloaded, ours = compare([recorded(pairs[0], "exact"), recorded(pairs[1], "exact", preload=False)], ROUNDS)
    at_most("pairs, linked and exact: CPU, to preloaded", ours.cpu / preloaded.cpu, 1.03, "x",
            f"{preloaded.cpu:.3f} s, {ours.cpu:.3f} s")


def bench_modes():
    for work in workloads():
        none, counters, sampled = compare([["env", *work.command], recorded(work.command, "counters"),
                                           recorded(work.command, "sampled")], ROUNDS)
        at_most(f"{work.name}: counters, CPU, to none", counters.cpu / none.cpu, 1.15, "x",
                f"{none.cpu:.3f} s, {counters.cpu:.3f} s")
        at_most(f"{work.name}: sampled by 512 KiB, CPU, to none", sampled.cpu / none.cpu, 1.05, "x",
                f"{none.cpu:.3f} s, {sampled.cpu:.3f} s")


def bench_threads():
    """How much faster the same work is with a second thread."""
    def work(threads):
        return [built("workers"), threads, 30, 10000000 // threads]

    for mode in ("sampled", "counters"):
        one, two, ours_one, ours_two = compare([["env", *work(1)], ["env", *work(2)], recorded(work(1), mode),
                                                recorded(work(2), mode)], 3)
        at_least(f"two threads, {mode}: faster, to without", (ours_one.wall / ours_two.wall) / (one.wall / two.wall),
                 0.9, f"{one.wall / two.wall:.2f} x without, {ours_one.wall / ours_two.wall:.2f} x with")


# Each Python object is a separate block.
os.environ["PYTHONMALLOC"] = "malloc"
run_benches(globals())
