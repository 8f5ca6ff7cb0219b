"""allo serve: third-party tools read profiles and metrics of a third-party service."""
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import types
import urllib.parse
import urllib.request

from allotest import ALLO, HANG, ROOT, Test, unsanitized, wait_until
from pages import blocks
from service import Redis, Server, UnixConnection
from watching import WatchTest

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
IDLE_SECONDS = 10  # after which the server closes a connection, at the earliest


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch_json(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except OSError:
        return None


class Served(Test):
    """One service and one server for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.close)
        cls.server = Server(cls.redis, cls.redis.pid)
        cls.addClassCleanup(cls.server.close)

    def get(self, path, **options):
        """The body of a reply with status 200."""
        status, _, body = self.server.ask(path, **options)
        self.assertEqual(status, 200, body[:300])
        return body

    def refused(self, status, path, **options):
        """The reason in a reply with this status."""
        found, headers, body = self.server.ask(path, **options)
        self.assertEqual(found, status, body)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertRegex(body, rb"^[^\n]+\n$")
        return body.decode().strip()

    def pprof(self, *arguments):
        return self.must("go", "tool", "pprof", *arguments,
                         env={**self.redis.environment, "PPROF_TMPDIR": str(self.tmp)})


class Configurations(Test):
    SANITIZED = False  # Prometheus does most of the work

    def test_prometheus_with_the_configurations_of_the_pages(self):
        """All have the token."""
        redis = Redis()
        self.addCleanup(redis.close)
        server = Server(redis, redis.pid, token="a-token-of-the-test")
        self.addCleanup(server.close)
        self.file("token", server.token)
        found = [text for page in ("doc/watch.md", "doc/fleets.md") for words, text in blocks(page, "yaml")
                 if words in ([], ["prometheus.yml"]) and "scrape_configs" in text]
        self.assertEqual(len(found), 3)
        for i, text in enumerate(found):
            self.assertIn("127.0.0.1:6070", text)
            text = text.replace("127.0.0.1:6070", f"127.0.0.1:{server.port}").replace("/etc/allo.token", "token")
            text = re.sub(r"scrape_interval: \w+", "scrape_interval: 1s", text)
            self.file(f"{i}.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s}\n" + text)
            port = free_port()
            log = self.tmp / f"{i}.log"
            with open(log, "wb") as out:
                prometheus = subprocess.Popen(
                    ["prometheus", f"--config.file={i}.yml", f"--storage.tsdb.path=data{i}",
                     f"--web.listen-address=127.0.0.1:{port}"], cwd=self.tmp, stdout=out, stderr=out)
            self.addCleanup(prometheus.wait)
            self.addCleanup(prometheus.kill)
            state = wait_until(lambda: self.health(port) or ("401 Unauthorized" in log.read_text() and "no targets: 401"))
            self.assertEqual(state, "up", text)

    def health(self, port):
        """The state of the only target, once it is known."""
        found = fetch_json(f"http://127.0.0.1:{port}/api/v1/targets")
        states = [target["health"] for target in found["data"]["activeTargets"]] if found else []
        return states[0] if states and states != ["unknown"] else None


class Metrics(Served):
    SANITIZED = False  # Prometheus does most of the work

    @classmethod
    def setUpClass(cls):
        """Prometheus takes five seconds to start."""
        super().setUpClass()
        port = free_port()
        (cls.redis.tmp / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
            f"- {{job_name: allo, static_configs: [{{targets: ['127.0.0.1:{cls.server.port}']}}]}}\n"
            f"- {{job_name: found, http_sd_configs: [{{url: '{cls.server.url}/targets', refresh_interval: 1s}}]}}\n")
        prometheus = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
             f"--web.listen-address=127.0.0.1:{port}"],
            cwd=cls.redis.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(prometheus.wait)
        cls.addClassCleanup(prometheus.kill)
        cls.prometheus = f"http://127.0.0.1:{port}"

    def test_prometheus_scrapes(self):
        api = f"{self.prometheus}/api/v1"

        def scraped():
            found = fetch_json(f"{api}/targets")
            targets = found["data"]["activeTargets"] if found else []
            return [target for target in targets if (target["health"], target["lastError"]) == ("up", "")]

        wait_until(scraped, "a scrape has succeeded")

        def value(expression):
            found = fetch_json(f"{api}/query?" + urllib.parse.urlencode({"query": expression}))
            rows = found["data"]["result"] if found else []
            return float(rows[0]["value"][1]) if rows else None

        resident = wait_until(lambda: value("process_resident_memory_bytes"))
        self.assertAlmostEqual(resident, json.loads(self.get("/memory"))["process"]["rss_bytes"], delta=16 << 20)
        wait_until(lambda: value("allo_profiler_recording") == 1, "the recording is noticed")
        self.redis.fill("busy", 5000, 10)  # at least 10 ms, the resolution of the counter
        wait_until(lambda: value("process_cpu_seconds_total"))
        wait_until(lambda: value('up{job="allo"}') == 1, "the process is up")
        wait_until(lambda: value(f'up{{job="found",program="redis-server",pid="{self.redis.pid}"}}') == 1,
                   "the process is found by its target")
        known = {row["metric"]: row["type"] for row in fetch_json(f"{api}/targets/metadata")["data"]}
        # OpenMetrics names the family of a counter without its suffix.
        self.assertEqual(known["process_cpu_seconds"], "counter")
        self.assertEqual(known["process_resident_memory_bytes"], "gauge")

    def test_promtool_accepts_the_metrics(self):
        text = self.get("/metrics")
        done = self.run_program("promtool", "check", "metrics", input=text)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))

    def test_accept_selects_the_format(self):
        for accept, kind, end in [("*/*", "text/plain; version=0.0.4; charset=utf-8", None),
                                  (OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                                   b"# EOF\n")]:
            status, headers, body = self.server.ask("/metrics", Accept=accept)
            self.assertEqual((status, headers["Content-Type"]), (200, kind))
            self.assertEqual(body.endswith(b"# EOF\n"), end is not None)
            self.assertEqual(headers["Cache-Control"], "no-store")
            names = re.findall(rb"^([a-z_]+)[ {]", body, re.M)
            self.assertFalse([name for name in names if name.endswith((b"_total_total", b"_info_info"))])

    def test_all_processes_have_labels(self):
        other = Redis("--dormant")
        self.addCleanup(other.close)
        server = Server(other, "--all")
        self.addCleanup(server.close)
        status, _, body = server.ask("/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(body.decode(), rf'\nprocess_resident_memory_bytes{{pid="{other.pid}",'
                                        r'program="redis-server"} \d+\n')
        done = self.run_program("promtool", "check", "metrics", input=body)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))
        found = json.loads(server.ask("/memory")[2])
        self.assertIn(other.pid, [process["pid"] for process in found["processes"]])
        one = json.loads(server.ask(f"/memory?pid={other.pid}")[2])
        self.assertEqual((one["pid"], one["program"]), (other.pid, "redis-server"))
        self.assertIn({"targets": [f"127.0.0.1:{server.port}"],
                       "labels": {"__param_pid": str(other.pid), "pid": str(other.pid), "program": "redis-server"}},
                      json.loads(server.ask("/targets")[2]))
        self.assertIn(b"POST", server.ask("/enable")[2])
        # A process that ends is gone at first, and unknown later.
        other.end()
        self.assertIn(server.status(f"/debug/pprof/heap?pid={other.pid}"), (404, 410))
        wait_until(lambda: server.status(f"/memory?pid={other.pid}") == 404)
        self.assertNotIn(f'pid="{other.pid}"'.encode(), server.ask("/metrics")[2])


class Heaps(Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.redis.fill("key", 7, 100003)

    def sums(self, path):
        """Sums of a profile by metric."""
        (self.tmp / "it.pb.gz").write_bytes(self.get(path))
        raw = self.pprof("-raw", "it.pb.gz")
        types = re.search(r"Samples:\n(.*)\n", raw)[1].split()
        names = [one.split("/")[0] for one in types]
        rows = [[int(n) for n in row.split()] for row in
                re.findall(r"^ *((?:-?\d+ +)*-?\d+):(?: \d+)+ *$", raw, re.M)]
        return {name: sum(row[i] for row in rows) for i, name in enumerate(names)}, types, raw

    @unsanitized
    def test_go_pprof_shows_names(self):
        top = self.pprof("-top", "-cum", "-nodecount=40", f"{self.server.url}/debug/pprof/heap")
        self.assertIn("Type: inuse_space", top)
        self.assertRegex(top, r"% +main\n")
        self.assertRegex(top, r"% +(zmalloc|zrealloc|zmalloc_usable)\w*\n")
        top = self.pprof("-top", f"{self.server.url}/debug/pprof/allocs")
        self.assertIn("Type: alloc_space", top)

    @unsanitized
    def test_google_pprof_shows_names(self):
        text = self.must("google-pprof", "--text", "--cum", f"{self.server.url}/pprof/heap",
                         env={**self.redis.environment, "PPROF_TMPDIR": str(self.tmp), "HOME": str(self.tmp)})
        self.assertRegex(text, r"Total: \d+\.\d MB")
        self.assertRegex(text, r"% main\n")
        self.assertRegex(text, r"% (zmalloc|zrealloc|zmalloc_usable)\w*\n")

    def test_a_heap_holds_the_data_of_the_service(self):
        sums, types, _ = self.sums("/debug/pprof/heap")
        self.assertEqual(types, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                                 "inuse_space/bytes[dflt]"])
        self.assertGreater(sums["inuse_space"], 7 * 100003)
        self.assertGreater(sums["alloc_space"], sums["inuse_space"])
        (self.tmp / "heap.txt").write_bytes(self.get("/debug/pprof/heap?debug=1&gc=1"))
        text = (self.tmp / "heap.txt").read_text()
        self.assertRegex(text, r"^heap profile: \d+: \d+ \[\d+: \d+\] @ heapprofile\n")
        self.assertRegex(text, r"(?m)^#\t0x[0-9a-f]+\tmain$")
        self.assertIn("\nMAPPED_LIBRARIES:\n", text)
        # Our own reader agrees with the sums of Go's.
        listed = self.allo_json("summary", "heap.txt")
        self.assertEqual(listed["format"], "gperftools")
        live = int(text.split(":")[2].split()[0])
        self.assertAlmostEqual(live, sums["inuse_space"], delta=1 << 20)

    def test_names_for_addresses(self):
        text = self.get("/pprof/heap").decode()
        self.assertNotIn("\n#", text)
        addresses = re.findall(r"0x[0-9a-f]+", text.split("MAPPED_LIBRARIES")[0])[:200]
        self.assertEqual(self.get("/pprof/symbol"), b"num_symbols: 1\n")
        for path in ("/pprof/symbol", "/debug/pprof/symbol"):
            names = self.get(path, body="+".join(addresses).encode()).decode()
            self.assertRegex(names, r"(?m)^0x[0-9a-f]+\tzmalloc")
            self.assertLessEqual({line.split("\t")[0] for line in names.splitlines()}, set(addresses))
        self.assertEqual(self.get("/pprof/symbol", body=b"nonsense+0x+0xffffffffffffffffff++0x10"), b"")
        self.assertTrue(self.get("/debug/pprof/cmdline").startswith(b"redis-server"))

    def decoded(self, packed):
        return self.must("protoc", f"--proto_path={ROOT / 'tests' / 'integration'}", "--decode=Profile",
                         "pprof_messages.proto", input=gzip.decompress(packed))

    def test_a_heap_is_of_the_moment(self):
        for path in ("/debug/pprof/heap", "/debug/pprof/allocs"):
            before = time.time_ns()
            text = self.decoded(self.get(path))
            self.assertTrue(before <= int(re.search(r"(?m)^time_nanos: (\d+)", text)[1]) <= time.time_ns(), path)
            self.assertNotIn("duration_nanos", text)
            addresses = re.findall(r"(?ms)^location \{$.*?^  address: (\d+)$", text)
            self.assertEqual((len(set(addresses)), text.count("\nlocation {")), (len(addresses), len(addresses)))

    def test_a_window_of_a_second(self):
        # A machine that cannot do all this within a second gets more time.
        for seconds in (1, 8, 60):
            found = []
            started = time.monotonic()
            asking = threading.Thread(target=lambda: found.append(
                self.server.ask(f"/debug/pprof/heap?seconds={seconds}")))
            asking.start()
            time.sleep(0.3 * seconds)
            self.redis.fill(f"more{seconds}-", 200, 5003)
            # Other heaps have to wait; metrics do not.
            status, headers, _ = self.server.ask("/debug/pprof/allocs")
            refusal = status, headers["Retry-After"]
            metrics = self.server.status("/metrics")
            is_within = time.monotonic() - started < seconds
            asking.join()
            if is_within and refusal[0] == 429:
                break
        self.assertEqual((refusal[0], metrics), (429, 200))
        self.assertIn(int(refusal[1]), range(1, seconds + 1))
        status, headers, body = found[0]
        self.assertEqual((status, headers["Content-Disposition"]), (200, 'attachment; filename="heap-delta"'))
        text = self.decoded(body)
        self.assertGreaterEqual(int(re.search(r"(?m)^duration_nanos: (\d+)", text)[1]), seconds * 10**9)
        self.assertLessEqual(int(re.search(r"(?m)^time_nanos: (\d+)", text)[1]), time.time_ns())
        (self.tmp / "delta.pb").write_bytes(gzip.decompress(body))
        raw = self.pprof("-raw", "delta.pb")
        values = [int(row) for row in re.findall(r"^ *\d+ +\d+ +-?\d+ +(-?\d+):", raw, re.M)]
        self.assertTrue(0.95 < sum(values) / (200 * 5003) < 1.3, values)

    def test_invalid_requests(self):
        for path, why in [("?seconds=0", "seconds are 1 to 60"), ("?seconds=61", "seconds are 1 to 60"),
                          ("?seconds=1&debug=1", "seconds are for profiles only"),
                          ("?seconds=ten", "seconds is a number, not 'ten'"),
                          ("?debug=-", "debug is a number")]:
            self.assertIn(why, self.refused(400, f"/debug/pprof/heap{path}"))
        self.assertIn("no process '1'", self.refused(404, "/debug/pprof/heap?pid=1"))
        self.assertIn("there is no /nothing", self.refused(404, "/nothing"))
        page = self.get("/debug/pprof/").decode()
        self.assertIn(f'href="/debug/pprof/heap?pid={self.redis.pid}"', page)


class Interpreters(WatchTest):
    def test_frames_of_an_interpreter_have_their_own_addresses(self):
        """Collectors tell samples apart by the addresses of their locations."""
        code = "def one(n): return [bytes(100003) for _ in range(n)]\ndef two(n): return [bytes(200003) for _ in range(n)]\n" \
               "kept = one(7), two(5)\nimport os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
        process = subprocess.Popen([ALLO, "run", "-q", "/usr/bin/python3", "-c", code], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.tmp, env=self.env)
        self.addCleanup(process.communicate)
        pid = int(process.stdout.readline())
        server = Server(types.SimpleNamespace(tmp=self.tmp, environment=self.env), pid)
        self.addCleanup(server.close)
        status, _, body = server.ask("/debug/pprof/heap")
        self.assertEqual(status, 200, body)
        text = self.must("protoc", f"--proto_path={ROOT / 'tests' / 'integration'}", "--decode=Profile", "pprof_messages.proto",
                         input=gzip.decompress(body))
        self.assertRegex(text, r'(?m)^string_table: "(one|two)')
        addresses = re.findall(r"(?ms)^location \{$.*?^  address: (\d+)$", text)
        self.assertEqual((len(set(addresses)), text.count("\nlocation {")), (len(addresses), len(addresses)))


class Deltas(WatchTest):
    def test_a_delta_has_the_allocations_since_the_last_one(self):
        program, pid = self.recorded("-q")
        program.tell("get 5 100003")
        server = Server(types.SimpleNamespace(tmp=self.tmp, environment=self.env), pid)
        self.addCleanup(server.close)

        def sums():
            """Allocated blocks and bytes, live blocks and bytes."""
            status, _, body = server.ask("/debug/pprof/delta_heap")
            self.assertEqual(status, 200, body)
            path = self.file("delta.pb.gz", body)
            info = self.allo_json("info", path)
            found = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
            return tuple(found.get(name, 0) for name in ("alloc_blocks", "alloc_bytes", "live_blocks", "live_bytes"))

        self.assertEqual(sums(), (0, 0, 5, 5 * 100003))
        self.assertEqual(sums(), (0, 0, 5, 5 * 100003))
        program.tell("get 7 1009", "brief 3 53")
        # Neither a window nor a whole heap moves the start.
        self.assertEqual(server.status("/debug/pprof/heap?seconds=1"), 200)
        self.assertEqual(server.status("/debug/pprof/heap"), 200)
        self.assertEqual(sums(), (10, 7 * 1009 + 3 * 53, 12, 5 * 100003 + 7 * 1009))
        program.tell("give 8")
        self.assertEqual(sums(), (0, 0, 4, 4 * 100003))
        # The page does not link to it.
        self.assertNotIn(b"delta_heap", server.ask("/")[2])

    def test_a_delta_of_a_sampled_recording(self):
        program, pid = self.recorded("-m", "sampled", "--rate", "1000")
        program.tell("get 1000 100003")
        server = Server(types.SimpleNamespace(tmp=self.tmp, environment=self.env), pid)
        self.addCleanup(server.close)
        self.assertEqual(server.status("/debug/pprof/delta_heap"), 200)
        program.tell("get 10 100003")
        # Blocks this large are always recorded.
        path = self.file("delta.pb.gz", server.ask("/debug/pprof/delta_heap")[2])
        found = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}
        self.assertEqual((found["alloc_bytes"], found["live_bytes"]), (10 * 100003, 1010 * 100003))


class Ways(Test):
    """Start and end of the server, and processes that change meanwhile."""

    def start(self, *options):
        redis = Redis(*options)
        self.addCleanup(redis.close)
        return redis

    def serve(self, redis, *arguments, **options):
        server = Server(redis, *arguments, **options)
        self.addCleanup(server.close)
        return server

    def test_recording_is_turned_on_and_off(self):
        redis = self.start("--dormant")
        server = self.serve(redis, redis.pid, token="a-token-of-the-test")
        status, _, why = server.ask("/debug/pprof/heap")
        self.assertEqual(status, 503)
        self.assertIn(b"is not being recorded", why)
        status, headers, _ = server.ask("/enable")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(server.status("/debug/pprof/heap"), 503)
        # A page of another site must not do it either.
        self.assertEqual(server.status("/enable", body=b"", Origin="http://evil.example"), 403)
        self.assertEqual(server.status("/enable", body=b"", Origin="null"), 403)

        def is_recording():
            return json.loads(server.ask("/memory")[2])["profiler"].get("is_recording")

        wait_until(lambda: is_recording() == 0)
        status, _, said = server.ask("/enable", body=b"", Origin=server.url)
        self.assertEqual(status, 200, said)
        self.assertIn(b"recording to", said)
        redis.fill("key", 1, 100003)
        self.assertEqual(server.ask("/debug/pprof/heap")[2][:2], b"\x1f\x8b")
        wait_until(lambda: is_recording() == 1)
        self.assertEqual(server.status("/disable", body=b""), 200)
        self.assertEqual(server.status("/debug/pprof/heap"), 503)

    def test_recording_without_a_socket_cannot_be_turned_off(self):
        redis = self.start()
        server = self.serve(redis, redis.pid, token="a-token-of-the-test")
        status, _, why = server.ask("/disable", body=b"")
        self.assertEqual(status, 503)
        self.assertIn(b"has no control socket", why)
        self.assertEqual(server.status("/debug/pprof/heap"), 200)

    def test_a_process_that_ends(self):
        redis = self.start()
        server = self.serve(redis, redis.pid)
        found = []
        asking = threading.Thread(target=lambda: found.append(server.ask("/debug/pprof/heap?seconds=60")))
        asking.start()
        time.sleep(0.2)  # for the request to arrive; if it is late, the reply is the same
        redis.end()
        asking.join(HANG)
        self.assertEqual((found[0][0], found[0][2]),
                         (410, f"redis-server ({redis.pid}) has ended\n".encode()))
        for path in ("/debug/pprof/heap", "/pprof/heap", "/metrics", "/memory", "/debug/pprof/cmdline"):
            status, headers, body = server.ask(path)
            self.assertEqual((status, body), (410, f"redis-server ({redis.pid}) has ended\n".encode()))
        self.assertEqual(headers["X-Go-Pprof"], "1")
        self.assertEqual(server.end(signal.SIGINT), 0)

    def test_a_stopped_process_does_not_delay_scrapes(self):
        redis = self.start()
        server = self.serve(redis, redis.pid)
        self.assertEqual(server.status("/metrics"), 200)
        os.kill(redis.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, redis.pid, signal.SIGCONT)

        def ask():
            """The seconds that a scrape takes."""
            started = time.monotonic()
            self.assertEqual(server.status("/metrics"), 200)
            return time.monotonic() - started

        # The server waits 0.1 s for the process once, and not for each scrape.  Other programs delay some scrapes,
        # but not all.
        self.assertTrue(any(ask() < 0.1 for _ in range(200)))
        body = server.ask("/metrics")[2]
        self.assertIn(b'allo_telemetry_source_up{source="runtime"} 0', body)

    def test_a_path(self):
        redis = self.start("--dormant")
        path = redis.tmp / "allo.sock"
        server = self.serve(redis, redis.pid, listen=f"unix:{path}")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        connection = UnixConnection(path)
        connection.request("GET", "/metrics", headers={"Host": "whatever.example"})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.assertIn("already in use", self.allo_fails("serve", redis.pid, "--listen", f"unix:{path}",
                                                       env=redis.environment))
        server.process.kill()
        server.process.wait()
        self.assertTrue(path.exists())
        server = self.serve(redis, redis.pid, listen=f"unix:{path}")
        self.assertEqual(server.end(), 0)
        self.assertFalse(path.exists())

    def test_few_unread_replies_are_kept(self):
        redis = self.start()

        def ask(path):
            """Reads only the start of the reply; the rest of the text does not fit the socket."""
            connection = UnixConnection(path)
            connection.request("GET", "/debug/pprof/heap?debug=1")
            return connection, connection.sock.recv(12)

        def hold():
            """Replies of a new server; None if it may have closed the first one before it was asked for the last."""
            server = self.serve(redis, redis.pid, listen=f"unix:{redis.tmp / 'allo.sock'}")
            start = time.monotonic()
            replies = [ask(redis.tmp / "allo.sock") for _ in range(10)]
            if time.monotonic() - start < IDLE_SECONDS:
                return replies
            for connection, _ in replies:
                connection.close()
            server.end()
            return None

        held = wait_until(hold)
        self.assertEqual([said[-3:] for _, said in held], [b"200"] * 8 + [b"429"] * 2)
        for connection, _ in held:
            connection.close()
        wait_until(lambda: ask(redis.tmp / "allo.sock")[1].endswith(b"200"))

    def test_invalid_addresses_and_tokens(self):
        for where in ("0.0.0.0:0", "[::]:0"):
            line = self.allo_fails("serve", "--all", "--no-token", "--listen", where, status=2)
            self.assertIn("a token is needed", line)
        self.assertIn("exclude each other", self.allo_fails("serve", "--all", "--no-token", "--token", "x" * 16, status=2))
        self.assertIn("16 to 255 characters",
                      self.allo_fails("serve", "--all", "--listen", "0.0.0.0:0", "--token", "short", status=2))
        for where in ("nowhere", "127.0.0.1:99999", "1.2.3:80", "::1:80", "unix:", "unix:" + "x" * 200):
            self.allo_fails("serve", "--all", "--listen", where, status=2)
        self.allo_fails("serve", "999999999")
        self.allo_fails("serve", "--all", "1", status=2)
        self.assertIn("name a process", self.allo_fails("serve", status=2))
        self.file("token", "")
        self.allo_fails("serve", "--all", "--token-file", "token", status=2)

    def test_a_process_that_only_counts(self):
        redis = self.start("-m", "counters", "--control")
        server = self.serve(redis, redis.pid)
        redis.fill("key", 3, 100003)
        heap = wait_until(lambda: json.loads(server.ask("/memory")[2])["heap"])
        self.assertGreater(heap["live_bytes"], 3 * 100003)
        self.assertGreater(heap["alloc_blocks"], heap["live_blocks"])
        status, _, why = server.ask("/debug/pprof/heap")
        self.assertEqual(status, 503)
        self.assertIn(b"only counts", why)

    def test_a_process_without_the_runtime(self):
        redis = self.start("--dormant")
        server = self.serve(redis, os.getpid())
        self.assertIn("does not have the runtime", server.log.read_text())
        self.assertEqual(json.loads(server.ask("/memory")[2])["pid"], os.getpid())
        status, _, why = server.ask("/debug/pprof/heap")
        self.assertEqual(status, 503)
        self.assertIn(b"does not have the runtime", why)


class Followers(Test):
    """The child that answers repeated requests for a heap."""

    def start(self, *options):
        redis = Redis(*options)
        self.addCleanup(redis.close)
        server = Server(redis, redis.pid, token="a-token-of-the-test")
        self.addCleanup(server.close)
        return redis, server

    def children(self, server):
        """Pids of the server's children."""
        text = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def live(self, server, path="/debug/pprof/heap?debug=1"):
        """Live bytes and all bytes of the heading, and the names of all frames."""
        status, _, body = server.ask(path)
        self.assertEqual(status, 200, body[:300])
        live, ever = re.match(rb"heap profile: \d+: (\d+) \[\d+: (\d+)\]", body).groups()
        return int(live), int(ever), set(re.findall(rb"(?m)^#\t0x[0-9a-f]+\t(\S+)", body))

    def whole(self, redis):
        """The same bytes as `allo snapshot` finds by replaying the recording."""
        self.allo("snapshot", redis.pid, "-o", "whole.folded", "-M", "live_bytes", env=redis.environment)
        return sum(int(line.rsplit(" ", 1)[1]) for line in (self.tmp / "whole.folded").read_text().splitlines())

    def test_one_child_answers_again(self):
        redis, server = self.start()
        before, _, _ = self.live(server)
        child, = self.children(server)
        sizes = [before]
        for turn in range(3):
            redis.fill(f"key{turn}-", 20, 50021)
            live, ever, names = self.live(server)
            # Meanwhile, redis may free the buffers of its last client, of 64 KiB.
            self.assertGreater(live - sizes[-1], 20 * 50021 - (128 << 10))
            self.assertLess(live - sizes[-1], 30 * 50021)
            self.assertGreater(ever, live)
            self.assertIn(b"main", names)
            sizes.append(live)
        self.assertEqual(self.children(server), [child])
        # The same numbers as a replay of the whole recording; redis allocates a little all the time.
        self.assertAlmostEqual(self.live(server)[0], self.whole(redis), delta=64 << 10)

    def sums(self, packed):
        """The sums of allocated and of live bytes in a profile."""
        text = self.must("protoc", f"--proto_path={ROOT / 'tests' / 'integration'}", "--decode=Profile",
                         "pprof_messages.proto", input=gzip.decompress(packed))
        values = [int(value) for value in re.findall(r"(?m)^  value: (-?\d+)", text)]
        return sum(values[1::4]), sum(values[3::4])

    def test_windows_are_followed(self):
        """A window starts nothing but the follower, which knows the heap at the start of the next one."""
        redis, server = self.start()
        redis.fill("before", 40, 50021)
        live, ever, _ = self.live(server)
        follower = self.children(server)
        changes = []
        for turn in range(2):
            # A machine that cannot do all this within a second gets more time.
            for seconds in (1, 8, 60):
                found, began = [], time.monotonic()
                asking = threading.Thread(target=lambda: found.append(
                    server.ask(f"/debug/pprof/heap?seconds={seconds}")))
                asking.start()
                time.sleep(0.3 * seconds)
                redis.fill(f"during{turn}-{seconds}-", 20, 50021)
                children = self.children(server)
                is_within = time.monotonic() - began < seconds
                asking.join()
                if is_within:
                    break
            self.assertEqual((found[0][0], children), (200, follower))
            changes.append(self.sums(found[0][2]))
        for made, kept in changes:
            self.assertTrue(20 * 50021 <= kept < 30 * 50021, changes)
            self.assertGreaterEqual(made, kept)
        # A profile of everything has the totals, not those of a window.
        now, total, _ = self.live(server)
        self.assertGreaterEqual(now - live, 2 * 20 * 50021 - (128 << 10))
        self.assertGreaterEqual(total - ever, sum(made for made, _ in changes))

    def settled(self, server):
        """Live bytes, once redis has freed the buffers of its last client, which it does every second."""
        seen = [None, self.live(server)[0]]
        while seen[-1] != seen[-2]:
            time.sleep(1.5)
            seen.append(self.live(server)[0])
        return seen[-1]

    def test_a_crash_costs_a_new_replay_only(self):
        redis, server = self.start()
        redis.fill("key", 20, 50021)
        before = self.settled(server)
        for number in (signal.SIGKILL, signal.SIGSEGV):
            child, = self.children(server)
            os.kill(child, number)
            live, _, names = self.live(server)
            self.assertAlmostEqual(live, before, delta=64 << 10)
            self.assertIn(b"main", names)
            self.assertNotEqual(self.children(server), [child])

    def test_it_ends_with_its_process(self):
        redis, server = self.start()
        self.live(server)
        self.assertEqual(len(self.children(server)), 1)
        redis.end()
        wait_until(lambda: not self.children(server))
        self.assertEqual(server.status("/debug/pprof/heap"), 410)

    def test_a_new_recording_is_followed(self):
        redis, server = self.start("--control")
        redis.fill("old", 20, 50021)
        self.assertGreater(self.live(server)[0], 20 * 50021)
        self.assertEqual(server.status("/disable", body=b""), 200)
        self.assertEqual(server.status("/debug/pprof/heap"), 503)
        self.assertEqual(server.status("/enable", body=b""), 200)
        redis.fill("new", 5, 50021)
        live, ever, _ = self.live(server)
        self.assertGreater(live, 5 * 50021)
        self.assertLess(live, 20 * 50021)
        # Windows, and a profile beside them, work as before.
        self.assertEqual(server.status("/debug/pprof/heap?seconds=1"), 200)
        self.assertGreaterEqual(self.live(server)[1], ever)

    def test_the_ninth_process_takes_the_place_of_the_first(self):
        redis = [Redis() for _ in range(9)]
        for one in redis:
            self.addCleanup(one.close)
        server = Server(redis[0], *[one.pid for one in redis])
        self.addCleanup(server.close)
        for one in redis:
            self.live(server, f"/debug/pprof/heap?debug=1&pid={one.pid}")
        self.assertEqual(len(self.children(server)), 8)
        self.live(server, f"/debug/pprof/heap?debug=1&pid={redis[0].pid}")
        self.assertEqual(len(self.children(server)), 8)


class Abuse(Served):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis("--dormant")
        cls.addClassCleanup(cls.redis.close)
        (cls.redis.tmp / "token").write_text("correct horse battery\n".replace(" ", "-"))
        cls.server = Server(cls.redis, cls.redis.pid, "--token-file", "token", "--host", "metrics.example",
                            listen="0.0.0.0:0")
        cls.addClassCleanup(cls.server.close)

    TOKEN = "Bearer correct-horse-battery"

    def test_tokens(self):
        for given in (None, "Bearer ", "Bearer correct-horse-batterx", "Bearer correct-horse-battery ",
                      "Bearer correct-horse-batterycorrect-horse-battery", "Basic AAAA", "Basic !", "x"):
            headers = {"Authorization": given} if given else {}
            self.assertEqual(self.server.status("/metrics", **headers), 401)
        self.assertEqual(self.server.status("/metrics", Authorization=self.TOKEN), 200)
        self.assertEqual(self.server.status("/nothing"), 401)
        # As pprof sends it: http://allo:TOKEN@HOST
        self.assertEqual(self.server.status(
            "/metrics", Authorization="Basic YWxsbzpjb3JyZWN0LWhvcnNlLWJhdHRlcnk="), 200)

    def test_hosts(self):
        for host, status in [("evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403),
                             ("localhost.evil.example:80", 403), ("[::1", 403), ("10.1.2.3:x", 403),
                             ("LOCALHOST", 200), ("[::1]:80", 200), ("10.1.2.3:80", 200), ("metrics.example", 200)]:
            answer = self.server.tell(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
                                      f"Authorization: {self.TOKEN}\r\n\r\n".encode())
            self.assertEqual(int(answer.split()[1]), status, host)
        self.assertIn(self.server.tell(b"GET /metrics HTTP/1.1\r\n\r\n").split()[1], (b"400", b"403"))

    def test_oversized_requests(self):
        line = b"GET /" + b"a" * 10_000_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        header = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Y: " + b"a" * 10_000_000 + b"\r\n\r\n"
        short = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Y: " + b"a" * 9000 + b"\r\n\r\n"
        before = self.server.resident()
        for data, status in ((line, b"414"), (header, b"431"), (short, b"431")):
            for _ in range(3):
                answer = self.server.tell(data)
                self.assertTrue(not answer or answer.split()[1] == status, answer[:100])
        head = (f"POST /pprof/symbol HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {self.TOKEN}\r\n").encode()
        self.assertEqual(self.server.tell(head + b"Content-Length: 99999999\r\n\r\n").split()[1], b"413")
        self.server.tell(head + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 40)
        # Announced bodies that never come use no more than their share of memory.
        waiting = [self.server.connect() for _ in range(8)]
        for peer in waiting:
            peer.sendall(head + b"Content-Length: 1000000\r\n\r\n")
        refused = []
        while len(refused) < 4:
            refused += [peer for peer in waiting if peer not in refused and b" 429 " in self.peek(peer)]
        self.assertEqual([self.peek(peer) for peer in waiting if peer not in refused], [b""] * 4)
        for peer in waiting:
            peer.close()
        for data in (b"\0" * 5000, b"GET\r\n\r\n", b"\r\n" * 10, b"GET / HTTP/9.9\r\n\r\n", b"\xff\xfe" * 100):
            with self.server.connect() as peer:
                peer.sendall(data + b"\r\n\r\n")
                self.peek(peer)
        self.assertLess(self.server.resident() - before, 8 << 20)
        wait_until(lambda: self.server.status("/pprof/symbol", body=b"0x1", Authorization=self.TOKEN) == 200)

    def peek(self, peer):
        peer.settimeout(0.3)
        try:
            return peer.recv(100)
        except OSError:
            return b""

    @unsanitized
    def test_a_thousand_of_everything(self):
        self.server.status("/metrics", Authorization=self.TOKEN)
        before = self.server.resident()
        idle = [self.server.connect() for _ in range(1000)]
        slow = [self.server.connect() for _ in range(50)]
        for peer in slow:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        statuses = []

        def ask(path):
            for _ in range(20):
                statuses.append(self.server.status(path, Authorization=self.TOKEN))

        threads = [threading.Thread(target=ask, args=("/metrics" if i % 2 else "/debug/pprof/heap",))
                   for i in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), 1000)
        # Metrics for all clients; heaps one at a time, and this process has none.
        self.assertEqual(statuses.count(200), 500)
        self.assertEqual(statuses.count(429) + statuses.count(503), 500)
        self.assertLess(self.server.resident() - before, 32 << 20)

        def all_dropped():
            for peer in list(slow):
                try:
                    peer.send(b"a")  # a byte now and then does not extend the deadline
                except OSError:
                    slow.remove(peer)
            return not slow

        wait_until(all_dropped, "the server has closed slow connections")
        self.assertTrue(all(self.peek(peer) == b"" for peer in idle[:20]))
        for peer in idle:
            peer.close()
        self.assertEqual(self.server.status("/metrics", Authorization=self.TOKEN), 200)
        files = f"/proc/{self.server.process.pid}/fd"
        wait_until(lambda: len(os.listdir(files)) < 20)
        self.assertIsNone(self.server.process.poll())
