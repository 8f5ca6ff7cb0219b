#!/usr/bin/env python3
"""Benchmarks of telemetry: the cost of a snapshot of metrics, and how long it delays other threads.

usage: telemetry.py BUILD [WORD...]       only the benchmarks whose name contains one of the words

Prints one line per goal, as run.py does.  The process has 4 GiB in small pages, or half of the spare memory if that is
less.
"""
import os
import subprocess
import time

from goals import ALLO, BUILD, at_most, run_benches
from measure import spare_memory
from programs import built

RUNTIME = BUILD / "capture" / "liballo.so.0"
ROUNDS = 8


def scraped():
    return built("scraped", f"-I{BUILD.parent / 'include'}", "-Wl,--no-as-needed", RUNTIME, f"-Wl,-rpath,{RUNTIME.parent}")


def bench_scrape():
    gib = min(4, spare_memory() / 2 / (1 << 30))
    said = subprocess.run([scraped(), str(gib), str(ROUNDS)], capture_output=True, text=True, check=True).stdout
    least, middle, walk, quiet, asked, walked = map(float, said.split())
    size = f"{gib:.1f} GiB touched"
    at_most(f"a scrape of {size}: CPU", least, 200, "us", f"median {middle:.0f} us; a page walk takes {walk / 1e3:.0f} ms")
    at_most(f"mmap meanwhile, worst, {size}", asked / 1e3, round(quiet / 1e3 + 2, 2), "ms",
            f"{quiet / 1e3:.2f} ms without scrapes, {walked / 1e3:.1f} ms with a page walk")


def bench_ledger():
    """The time of `allo mem` per GiB of blocks in another process."""
    code = "import sys; blocks = [bytes(1000 + i % 1000) for i in range(700000)]; del blocks[::3]; print(); sys.stdin.read()"
    process = subprocess.Popen(["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONMALLOC": "malloc"})
    process.stdout.readline()
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        said = subprocess.run([ALLO, "mem", "--bytes", str(process.pid)], capture_output=True, text=True, check=True).stdout
        best = min(best, time.perf_counter() - started)
    process.communicate()
    bytes_ = next(int(line.split()[0]) for line in said.splitlines() if "blocks in use" in line)
    at_most("allo mem of 1 GiB in blocks: seconds", best * (1 << 30) / bytes_, 1.5, "s",
            f"{best:.2f} s for {bytes_ / (1 << 20):.0f} MiB of blocks in use")


run_benches(globals())
