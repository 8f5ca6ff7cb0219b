#!/usr/bin/env python3
"""Benchmarks of replay: reading a recording, against heaptrack_print on its own file of the same program.

usage: replay.py BUILD [WORD...]        only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  All metrics are made, names of frames are not.  Rates are in events a second of
CPU on one core, processes' start and end included, the best of some rounds.
"""
import json
import os
import shutil
import subprocess

from goals import ALLO, DATA, PYTHON, at_least, at_most, goal, made, quietly, run_benches
from measure import compare, memory_of
from programs import WORK, built, dhat

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
    """The second run of a command takes its answer from the cache that the first one filled."""
    path, events = many_threads(False)
    cache = DATA / "cache"
    os.environ["XDG_CACHE_HOME"] = str(cache)
    words = [[name] for name in ("summary", "top", "tree", "leaks", "findings", "timeline", "threads", "hist")]
    words += [["timeline", "--by", "function"], ["hist", "--at", "peak"], ["diff", path]]
    for these in words:
        shutil.rmtree(cache, ignore_errors=True)
        command = [ALLO, *these, path]
        first, = compare([command], 1)
        again, = compare([command], ROUNDS)
        at_least(f"second '{' '.join(map(str, these)).replace(f' {path}', '')}', to the first", first.cpu / again.cpu, 8,
                 f"{again.cpu:.3f} s and {first.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


def bench_cached_report():
    """A report in the series form, whose windows count every change of the heap."""
    path, events = many_threads(False)
    cache, page = DATA / "cache", DATA / "report.html"
    os.environ["XDG_CACHE_HOME"] = str(cache)
    shutil.rmtree(cache, ignore_errors=True)
    command = [ALLO, "report", "-f", "-o", page, path]
    first, = compare([command], 1)
    again, = compare([command], 2)
    at_least("second report, to the first", first.cpu / again.cpu, 1.1,
             f"{again.cpu:.3f} s and {first.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


def bench_findings():
    """Facts about single blocks, in the pass that makes the profile; of several threads, each site counts per thread."""
    for name, recording, most in (("one thread", one_thread, 2), ("three threads", many_threads, 4)):
        path, events = recording(False)
        findings = [ALLO, "findings", "--no-cache", "--no-symbols", path]
        top, found = compare([[*ONE_CORE, *replay(path)], [*ONE_CORE, *findings]], ROUNDS)
        at_most(f"findings, {name}, to a replay", found.cpu / top.cpu, most, "x",
                f"{found.cpu:.3f} s and {top.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


def bench_attribution():
    """Finding the responsible functions, against the callers of malloc: many events, deep stacks, and many stacks."""
    workers, events = many_threads(False)
    stacks, deep = recorded("stacks", built("stacks"), 17, 10000000)
    many = dhat("valgrind", "133M")
    for name, file, metric, rounds in ((f"{events / 1e6:.1f} M events", workers, "peak_bytes", 3 * ROUNDS),
                                       (f"{deep / 1e6:.1f} M events, stacks of 40 calls", stacks, "peak_bytes", ROUNDS),
                                       ("DHAT, 390,000 stacks", many, "peak_bytes", 5 * ROUNDS),
                                       ("DHAT, 390,000 stacks, all memory", many, "alloc_bytes", 5 * ROUNDS)):
        top = [ALLO, "top", "-q", "--no-cache", "-M", metric, file]
        sites, leaves = compare([top, [*top, "--by", "leaf"]], rounds)
        at_most(f"top by responsible function, to --by leaf, {name}", sites.cpu / leaves.cpu, 1.05, "x",
                f"{sites.cpu:.3f} s and {leaves.cpu:.3f} s of CPU")


if __name__ == "__main__":
    run_benches(globals())
