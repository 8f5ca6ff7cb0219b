#!/usr/bin/env python3
"""Benchmarks of allo attach: how long it stops a process, and how long it takes.

usage: attach.py BUILD [WORD...]       only the benchmarks whose name contains one of the words

Prints one line per goal, as run.py does.  The threads wait for events, so processors are free for all of them; the median is that of
many rounds, since the machine may be busy with others.
"""
import json
import statistics
import subprocess
import sys
import time

from goals import ALLO, at_most, run_benches

ROUNDS = 25


def allo(*words):
    return json.loads(subprocess.run([ALLO, *map(str, words), "--json"], check=True, capture_output=True).stdout)


def rounds_with(threads):
    """Medians: milliseconds of stopping for attach and detach, and of attaching in all."""
    code = ("import sys, threading; [threading.Thread(target=threading.Event().wait, daemon=True).start() "
            f"for _ in range({threads - 1})]; print(flush=True); sys.stdin.read()")
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    attached, detached, whole = [], [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        attached.append(allo("attach", process.pid, "--dormant")["stopped_ns"] / 1e6)
        whole.append((time.perf_counter() - start) * 1e3)
        detached.append(allo("detach", process.pid)["stopped_ns"] / 1e6)
    process.communicate()
    return [statistics.median(times) for times in (attached, detached, whole)]


def bench_stop():
    for threads in (1, 4, 16):
        attached, detached, whole = rounds_with(threads)
        at_most(f"allo attach stops {threads} idle threads", attached, 1, "ms",
                f"detach {detached:.2f} ms; attaching takes {whole:.0f} ms in all")


run_benches(globals())
