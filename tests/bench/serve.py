#!/usr/bin/env python3
"""Benchmarks of serving: what a scrape over HTTP costs, the server included.

usage: serve.py BUILD [WORD...]       only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  The process that is looked at has 4 GiB in small pages, or a half of
what the machine has to spare where that is less.
"""
import http.client
import pathlib
import subprocess
import tempfile

from goals import ALLO, PYTHON, at_most, run_benches
from measure import spare_memory

BATCHES, BATCH = 40, 25


def cpu_us(process):
    """What a process with one thread has used so far."""
    return int(pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e3


def bench_scrape():
    size = min(4 << 30, spare_memory() // 2)
    code = f"import os, sys; block = b'x' * {size}; print(os.getpid(), flush=True); sys.stdin.read()"
    with tempfile.TemporaryDirectory() as folder:
        recorded = subprocess.Popen([ALLO, "run", "-q", "-o", f"{folder}/it.allo", PYTHON, "-c", code],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pid = recorded.stdout.readline().strip()
        server = subprocess.Popen([ALLO, "serve", pid, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        address = server.stderr.readline().split("http://")[1].strip()
        peer = http.client.HTTPConnection(address)
        costs = []
        for _ in range(BATCHES):
            before = cpu_us(server)
            for _ in range(BATCH):
                peer.request("GET", "/metrics")
                text = peer.getresponse().read()
            costs.append((cpu_us(server) - before) / BATCH)
        server.terminate()
        server.communicate()
        recorded.communicate()
    at_most(f"a scrape over HTTP of {size / (1 << 30):.1f} GiB touched: CPU", min(costs), 300, "us",
            f"in the middle {sorted(costs)[BATCHES // 2]:.0f} us; {len(text)} bytes")


run_benches(globals())
