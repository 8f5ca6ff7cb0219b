#!/usr/bin/env python3
"""Benchmarks of the change log: windows of a recording, against 'allo top --no-cache' in the same run.

usage: view.py BUILD [WORD...]        only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  Times are CPU time; of several rounds the best counts.
"""
import json
import os
import subprocess

from goals import ALLO, BUILD, at_most, made, run_benches
from measure import compare
from replay import ONE_CORE, many_threads, one_thread, replay  # its recordings

ROUNDS = 5


def measured(path):
    """The figures of tests/programs/measure_log.c; of times the best."""
    best = {}
    for _ in range(ROUNDS):
        said = subprocess.run([*ONE_CORE, BUILD / "tests" / "measure_log", path], capture_output=True, check=True,
                              text=True).stdout
        for name, value in (line.split() for line in said.splitlines()):
            best[name] = min(best.get(name, float("inf")), float(value))
    return best


def bench_log():
    for name, recording, most_bytes in ("one thread", one_thread, 5.5), ("three threads", many_threads, 9):
        path, events = recording(False)
        top = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu * 1e3
        figures = measured(path)
        changes = figures["changes"]
        at_most(f"change log, {name}: making it, to a replay", figures["build_ms"] / top, 2, "x",
                f"{changes / figures['build_ms'] / 1e3:.1f} M changes a second of {events / 1e6:.1f} M events")
        at_most(f"change log, {name}: bytes a change", figures["log_bytes"] / changes, most_bytes, "B",
                f"{figures['all_bytes'] / changes:.1f} with sums and states")
        for part in "whole", "fifth":
            at_most(f"change log, {name}: window ({part}), to a replay", figures[f"{part}_median_ms"] / top, 0.02, "x",
                    f"{figures[f'{part}_median_ms']:.2f} ms, p95 {figures[f'{part}_p95_ms']:.2f} ms")


def bench_command():
    """The second command with a range, to the same without the cache."""
    path, events = one_thread(False)
    cache = made("view-cache", lambda folder: folder.mkdir())
    os.environ["XDG_CACHE_HOME"] = str(cache)
    said = subprocess.run([ALLO, "info", "--json", "--no-symbols", path], capture_output=True, check=True).stdout
    length = json.loads(said)["duration_ns"]
    window = [ALLO, "top", "--no-symbols", "-n", "1", "--range", f"{length // 2}ns..{length * 7 // 10}ns", path]
    subprocess.run(window, check=True, stdout=subprocess.DEVNULL)
    cached, replayed = compare([window, [*window, "--no-cache"]], ROUNDS)
    at_most("allo top --range, cached, to a replay", cached.cpu / replayed.cpu, 0.3, "x",
            f"{cached.cpu:.3f} s and {replayed.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


run_benches(globals())
