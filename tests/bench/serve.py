#!/usr/bin/env python3
"""Benchmarks of `allo serve`: the CPU time of a scrape, and the time of repeated requests for a heap.

usage: serve.py BUILD [WORD...]       only the benchmarks whose name contains one of the words

Prints one line per goal, as run.py does.
"""
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import time

from goals import ALLO, PYTHON, at_least, at_most, run_benches
from measure import spare_memory

BATCHES, BATCH = 40, 25


# Two allocations and two frees per item: 24 million events.
CHURN = "for _ in range(6000): items = [str(i) for i in range(1000, 2000)]"


def cpu_us(process):
    """CPU time of a process with one thread, so far."""
    return int(pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e3


@contextlib.contextmanager
def served(code, **environment):
    """Records a Python program that waits after `code`, and serves it: server, connection, recording."""
    code = f"import os, sys\n{code}\nprint(os.getpid(), flush=True); sys.stdin.read()"
    with tempfile.TemporaryDirectory() as folder:
        recorded = subprocess.Popen([ALLO, "run", "-q", "-o", f"{folder}/it.allo", PYTHON, "-c", code],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    env={**os.environ, **environment})
        pid = recorded.stdout.readline().strip()
        server = subprocess.Popen([ALLO, "serve", pid, "--no-token", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        address = server.stderr.readline().split("http://")[1].strip()
        yield server, http.client.HTTPConnection(address), pathlib.Path(folder, "it.allo")
        server.terminate()
        server.communicate()
        recorded.communicate()


def get(connection, path):
    connection.request("GET", path)
    reply = connection.getresponse()
    body = reply.read()
    assert reply.status == 200, body
    return body


def bench_scrape():
    """The process has 4 GiB in small pages, or half of the spare memory if that is less."""
    size = min(4 << 30, spare_memory() // 2)
    with served(f"block = b'x' * {size}") as (server, connection, _):
        costs = []
        for _ in range(BATCHES):
            before = cpu_us(server)
            for _ in range(BATCH):
                text = get(connection, "/metrics")
            costs.append((cpu_us(server) - before) / BATCH)
    at_most(f"a scrape over HTTP of {size / (1 << 30):.1f} GiB touched: CPU", min(costs), 300, "us",
            f"median {sorted(costs)[BATCHES // 2]:.0f} us; {len(text)} bytes")


def bench_heap_again():
    """The first request replays the recording; later ones only the new events."""
    with served(CHURN, PYTHONMALLOC="malloc") as (_, connection, recording):
        times = []
        for _ in range(6):
            start = time.monotonic()
            get(connection, "/debug/pprof/heap")
            times.append(time.monotonic() - start)
        said = subprocess.run([ALLO, "info", "--json", recording], capture_output=True, check=True).stdout
        events = json.loads(said)["recording"]["events"]
    assert events >= 20e6, events
    at_least("a heap over HTTP: first and second request", times[0] / times[1], 10,
             f"{times[0] * 1e3:.0f} ms and {times[1] * 1e3:.1f} ms, then {min(times[2:]) * 1e3:.1f} ms; "
             f"{events / 1e6:.0f} M events")
    at_most("a later heap over HTTP", min(times[1:]) * 1e3, 50, "ms", "whatever the age of the recording")


run_benches(globals())
