#!/usr/bin/env python3
"""Real collectors scrape a program that allocates known amounts, with the configurations of doc/fleets.md.

usage: fleets.py BUILD PARCA [TEST...]      PARCA is its program

Each collector has to show the sums of two moments, and the names of functions.
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD, PARCA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
os.environ["ALLO_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from allotest import ALLO, HANG, wait_until
from pages import blocks
from watching import WatchTest

TOKEN = "a-token-of-the-test"
# Blocks and sizes that nothing else allocates by chance, for two moments.
FIRST, SECOND = (230, 100003), (170, 200003)
KEPT = [count * size for count, size in (FIRST, SECOND)]


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


class Fleet(WatchTest):
    def setUp(self):
        super().setUp()
        self.program, self.pid = self.obedient(env={"ALLO_STATS": "1"})
        self.program.tell("get 1 1009")  # the recording begins with the first allocation
        self.port = free_port()
        token = self.file("token", TOKEN)
        token.chmod(0o600)
        self.start(ALLO, "serve", self.pid, "--token-file", token, "--listen", f"127.0.0.1:{self.port}")
        wait_until(lambda: self.fetch(self.port, "/targets", Authorization=f"Bearer {TOKEN}"), "the program is a target")

    def start(self, *command):
        with open(self.tmp / f"{pathlib.Path(command[0]).name}.log", "wb") as log:
            process = subprocess.Popen([str(word) for word in command], cwd=self.tmp, env=self.env, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def fetch(self, port, path, **arguments):
        """The reply, decoded; None if there is none yet."""
        headers = {name: value for name, value in arguments.items() if name == "Authorization"}
        query = urllib.parse.urlencode({name: value for name, value in arguments.items() if name not in headers})
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}?{query}", headers=headers),
                                        timeout=HANG) as reply:
                return json.loads(reply.read())
        except OSError:
            return None

    def configuration(self, name):
        """The block of the page, for the server of this test."""
        text, = (text for words, text in blocks("doc/fleets.md", "yaml") if words == [name])
        text = text.replace("127.0.0.1:6070", f"127.0.0.1:{self.port}").replace("/etc/allo.token", str(self.tmp / "token"))
        self.assertIn(f":{self.port}/targets", text)
        return self.file(name, text)

    def test_prometheus(self):
        port = free_port()
        self.start("prometheus", f"--config.file={self.configuration('prometheus.yml')}", "--storage.tsdb.path=data",
                   f"--web.listen-address=127.0.0.1:{port}")
        (_, expression), = blocks("doc/fleets.md", "promql")

        def live():
            found = self.fetch(port, "/api/v1/query", query=expression) or {"data": {"result": []}}
            return {row["metric"]["program"]: int(row["value"][1]) for row in found["data"]["result"]}.get("obeys")

        base = wait_until(live, "Prometheus has a value")
        for done in range(2):
            self.program.tell("get {} {}".format(*(FIRST, SECOND)[done]))
            wanted = base + sum(KEPT[:done + 1])
            wait_until(lambda: live() == wanted, f"the sum is {wanted}")

    def test_parca(self):
        port = free_port()
        self.start(PARCA, f"--config-path={self.configuration('parca.yaml')}", f"--http-address=127.0.0.1:{port}",
                   "--storage-active-memory=67108864")
        query = 'memory:inuse_space:bytes:space:bytes{program="obeys"}'

        def samples():
            """Moments in nanoseconds, and the sums then."""
            now = time.time()
            found = self.fetch(port, "/api/profiles/query_range", query=query, start=rfc3339(now - 3600), end=rfc3339(now + 60))
            return [(sample["timestamp"], int(sample["value"])) for series in (found or {}).get("series", [])
                    for sample in series["samples"]]

        wait_until(samples, "Parca has a sample")
        base = samples()[-1][1]
        moments = []
        for done in range(2):
            before = time.time()
            self.program.tell("get {} {}".format(*(FIRST, SECOND)[done]))
            wanted = base + sum(KEPT[:done + 1])
            moments.append(wait_until(lambda: next((moment for moment, value in samples() if value == wanted), None),
                                      f"the sum is {wanted}"))
            self.assertTrue(rfc3339(before) <= moments[-1] <= rfc3339(time.time()), moments)
        self.assertLess(*moments)
        reply = self.fetch(port, "/api/profiles/query", **{
            "mode": "MODE_SINGLE_UNSPECIFIED", "single.query": query, "single.time": moments[-1], "reportType": "REPORT_TYPE_TOP"})
        sums = {row["meta"]["function"]["name"]: int(row["cumulative"]) for row in reply["top"]["list"]}
        self.assertEqual(sums["get"], sum(KEPT) + 1009)


    def test_a_snapshot_is_pushed_to_parca(self):
        port = free_port()
        self.start(PARCA, f"--config-path={self.configuration('parca.yaml')}", f"--http-address=127.0.0.1:{port}")
        wait_until(lambda: self.fetch(port, "/api/profiles/types"), "Parca answers")
        self.program.tell("get {} {}".format(*FIRST))
        (_, command), = [block for block in blocks("doc/fleets.md", "sh") if block[0] == ["push-to-parca"]]
        command = command.replace("7070", str(port)).replace("my-service", "pushed")
        self.must("sh", "-ec", command, env={**self.env, "PID": str(self.pid), "PATH": f"{ALLO.parent}:{os.environ['PATH']}"})

        def values():
            now = time.time()
            found = self.fetch(port, "/api/profiles/query_range", query='memory:inuse_space:bytes:space:bytes{program="pushed"}',
                               start=rfc3339(now - 3600), end=rfc3339(now + 60))
            return [int(sample["value"]) for series in (found or {}).get("series", []) for sample in series["samples"]]

        self.assertEqual(wait_until(values), [KEPT[0] + 1009])


def rfc3339(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
