"""A service that we did not write, recorded, and `allo serve` beside it."""
import http.client
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

from allotest import ALLO, ENVIRONMENT, HANG, wait_for_text, wait_until


class Redis:
    """redis-server under `allo run`, without a port."""

    def __init__(self, *options):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
        (self.tmp / "run").mkdir(mode=0o700)
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": str(self.tmp / "run")}
        self.process = subprocess.Popen(
            [ALLO, "run", "-q", *options, "redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "",
             "--pidfile", "redis.pid"], stdout=subprocess.DEVNULL, cwd=self.tmp, env=self.environment)
        wait_until(lambda: (self.tmp / "redis.sock").exists())
        pid = self.tmp / "redis.pid"
        self.pid = int(wait_until(lambda: pid.exists() and pid.read_text()))
        # It answers once it has freed the memory of its start.
        wait_until(lambda: subprocess.run(["redis-cli", "-s", "redis.sock", "ping"], cwd=self.tmp,
                                          capture_output=True).stdout == b"PONG\n")
        if {"--control", "--dormant"} & set(options):
            wait_until((self.tmp / f"run/allo/{self.pid}.sock").exists)

    def fill(self, name, count, size):
        """Has it keep so many values of a size."""
        lines = "".join(f"SET {name}{i} {'x' * size}\n" for i in range(count))
        subprocess.run(["redis-cli", "-s", "redis.sock"], input=lines.encode(), stdout=subprocess.DEVNULL,
                       cwd=self.tmp, check=True)

    def end(self):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        self.process.wait(HANG)

    def close(self):
        self.end()
        shutil.rmtree(self.tmp, ignore_errors=True)


class Server:
    """`allo serve` with these arguments; `url` is where it listens.

    Clients need `token`, which ask() sends, the token of --token-file, or the one that the server makes; or none."""

    def __init__(self, redis, *arguments, listen="127.0.0.1:0", token=None, makes_token=False,
                 **environment):
        self.log = redis.tmp / "serve.log"
        self.token = token
        if token:
            environment["ALLO_TOKEN"] = token
        elif "--token-file" not in arguments and not makes_token:
            arguments += ("--no-token",)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [ALLO, "serve", *[str(word) for word in arguments], "--listen", listen], stderr=log,
                stdout=subprocess.DEVNULL, cwd=redis.tmp, env={**redis.environment, **environment})
        # The hint about /metrics is its last line.
        said = wait_for_text(self.log, r"(?s).*/metrics\n\Z", self.process)[0]
        self.url = re.search(r"serving on (\S+)\n", said)[1]
        self.port = int(self.url.rsplit(":", 1)[1]) if self.url.startswith("http") else None

    def ask(self, path, body=None, method=None, **headers):
        """Status, headers and body of an answer; headers are given with _ for -."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=HANG) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers, refusal.read()

    def status(self, path, **options):
        return self.ask(path, **options)[0]

    def connect(self):
        # Tests hold thousands of connections; many users may have 1024 descriptors unless they ask for more.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return socket.create_connection(("127.0.0.1", self.port), timeout=HANG)

    def tell(self, data):
        """Sends bytes and returns the reply, up to its end."""
        with self.connect() as peer:
            try:
                peer.sendall(data)
            except OSError:
                pass  # it has not been read to its end
            try:
                return peer.recv(1 << 16)
            except OSError:
                return b""

    def resident(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("the server has ended")

    def end(self, number=signal.SIGTERM):
        """Has it end; returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(HANG)

    def close(self):
        """The same, unless it has ended, and nothing may be wrong about it."""
        if self.process.poll() is None and self.end() != 0:
            raise AssertionError(self.log.read_text())


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)
