#!/usr/bin/env python3
"""Benchmarks of replay: reading a recording, against heaptrack_print on its own file of the same program.

usage: replay.py BUILD [WORD...]        only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  All metrics are made, names of frames are not.  Rates are in events a second of
CPU on one core, processes' start and end included, the best of some rounds.
"""
import json
import os
import subprocess

from goals import ALLO, DATA, PYTHON, at_least, at_most, goal, made, quietly, run_benches
from measure import compare, memory_of
from programs import WORK, built

ROUNDS = 5
ONE_CORE = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
MIB = 1 << 20


def recorded(name, *command, raw=False):
    """A recording, and its events."""
    how = ["--raw"] if raw else []
    path = made(f"{name}{'.raw' if raw else ''}.allo",
                lambda path: quietly("env", "PYTHONMALLOC=malloc", ALLO, "run", *how, "-f", "-o", path, "--", *command))
    said = subprocess.run([ALLO, "info", "--json", "--no-symbols", path], capture_output=True, check=True).stdout
    return path, json.loads(said)["recording"]["events"]


def many_threads(raw):
    return recorded("workers", built("workers"), 2, 30, 10000000, raw=raw)


def one_thread(raw):
    return recorded("objects", PYTHON, WORK / "objects.py", 40, raw=raw)


def replay(path):
    return [ALLO, "top", "--no-cache", "--no-symbols", "-n", "1", path]


def bench_rate():
    for name, recording, least in (("one thread", one_thread, 50), ("three threads", many_threads, 35)):
        for raw in (True, False):
            path, events = recording(raw)
            alone, helped = compare([[*ONE_CORE, *replay(path)], replay(path)], ROUNDS)
            rate, what = events / alone.cpu / 1e6, f"replay, {name}, {'raw' if raw else 'packed'}"
            goal(what, f"{rate:.1f} M/s", f"at least {least} M/s", rate >= least,
                 f"{events / 1e6:.1f} M events in {alone.cpu:.3f} s of CPU")
            at_least(f"{what}: as fast on all cores", alone.wall / helped.wall, 1.1,
                     f"{events / helped.wall / 1e6:.1f} M/s: {helped.wall:.3f} s, on one {alone.wall:.3f} s")


def against_heaptrack(what, path, events, name, *command, least):
    prefix = DATA / f"{name}.heaptrack"
    peer = made(f"{name}.heaptrack.zst", lambda path: (
        quietly("env", "PYTHONMALLOC=malloc", "heaptrack", "-o", prefix, *command),
        prefix.with_name(prefix.name + ".zst").rename(path)))
    ours, theirs = compare([[*ONE_CORE, *replay(path)], ["heaptrack_print", "-f", peer]], ROUNDS)
    at_least(f"{what}, to heaptrack_print on its own file", theirs.cpu / ours.cpu, least,
             f"{ours.cpu:.3f} s and {theirs.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


def bench_peer():
    path, events = one_thread(True)
    against_heaptrack("replay", path, events, "objects", PYTHON, WORK / "objects.py", 40, least=3)


def bench_modelled():
    """Blocks that are freed in near-random order; packing models their events."""
    command = built("containers"), 40
    path, events = recorded("containers", *command)
    against_heaptrack("replay, modelled", path, events, "containers", *command, least=1.5)


def bench_memory():
    for name, recording in (("one thread", one_thread), ("three threads", many_threads)):
        path, _ = recording(False)
        info = json.loads(subprocess.run([ALLO, "info", "--json", "--no-symbols", path], capture_output=True,
                                         check=True).stdout)
        sums = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
        most = 24 * sums["peak_blocks"] + 150 * info["stacks"] + 64 * MIB
        used = memory_of(replay(path))
        goal(f"memory, {name}", f"{used / MIB:.1f} MiB", f"at most {most / MIB:.1f} MiB", used <= most,
             f"{sums['peak_blocks']} blocks live, {info['stacks']} stacks")


def bench_cached():
    """The second command on a recording: the heap comes from the cache."""
    path, events = many_threads(False)
    os.environ["XDG_CACHE_HOME"] = str(DATA / "cache")
    commands = [[ALLO, name, path] for name in ("summary", "top", "tree", "leaks")] + [[ALLO, "diff", path, path]]
    for command in commands:
        quietly(*command)
    replayed, *cached = compare([replay(path), *commands], ROUNDS)
    for command, again in zip(commands, cached):
        at_least(f"{command[1]} from the cache, to a replay", replayed.wall / again.wall, 4,
                 f"{again.wall:.3f} s, {replayed.wall:.3f} s for {events / 1e6:.1f} M events")


def bench_findings():
    """Facts about single blocks, in the pass that makes the profile; of several threads, each site counts per thread."""
    for name, recording, most in (("one thread", one_thread, 2), ("three threads", many_threads, 4)):
        path, events = recording(False)
        findings = [ALLO, "findings", "--no-cache", "--no-symbols", path]
        top, found = compare([[*ONE_CORE, *replay(path)], [*ONE_CORE, *findings]], ROUNDS)
        at_most(f"findings, {name}, to a replay", found.cpu / top.cpu, most, "x",
                f"{found.cpu:.3f} s and {top.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


if __name__ == "__main__":
    run_benches(globals())
