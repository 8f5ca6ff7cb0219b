#!/usr/bin/env python3
"""Programs that we did not write, with and without allo.

usage: real.py [--short] [WORD...]       only those whose name holds one of the words

Each must print the same output and end the same way as without allo, and every recording of its processes
must pass `allo verify`.  ALLO_BUILD names the build that is tested.  Prints TAP.
"""
import argparse
import http.client
import os
import shutil
import signal
import socket
import subprocess
import time

from watch import ALLO, ENVIRONMENT, HANG, Folder, Tap, Wrong, must_equal, text, reset_signals, verify, watched
from recordings import RUNTIME

PYTHON = """
import hashlib, json, re, threading, zlib
sums = [0] * 4
def work(number):
    for i in range(400):
        made = json.dumps([{"number": number, "tags": [str(tag) for tag in range(i % 9)]} for _ in range(9)])
        sums[number] += len(zlib.compress(made.encode())) + len(re.findall(r"\\d+", made))
threads = [threading.Thread(target=work, args=(number,), name=f"worker {number}") for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sums, hashlib.sha256(str(sums).encode()).hexdigest())
"""

PERL = """
my (%words, $sum);
for my $i (1 .. 20000) { push @{$words{sprintf("w%03d", $i * 7919 % 1009)}}, "x" x ($i % 50) }
for my $word (sort keys %words) { $sum += length(join(",", map { uc } @{$words{$word}})) }
my $pid = fork(); if ($pid == 0) { my @kept = map { $_ * 2 } 1 .. 5000; exit(scalar(@kept) == 5000 ? 7 : 1) }
waitpid($pid, 0); print "$sum ", $? >> 8, "\\n";
"""

NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
  const made = [];
  for (let i = 0; i < 20000; i++) made.push({ i, text: 'x'.repeat(i % 50), buffer: Buffer.alloc(i % 5000, i) });
  const worker = new Worker(__filename);
  worker.on('message', (sum) => console.log(JSON.stringify(made).length, sum));
} else {
  let sum = 0;
  for (let i = 0; i < 2000; i++) sum += require('zlib').deflateSync(Buffer.alloc(3000, i)).length;
  parentPort.postMessage(sum);
}
"""

JAVA = """
import java.util.*;
import java.util.concurrent.*;
class Lists {
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Integer>> sums = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int number = i;
            sums.add(pool.submit(() -> {
                Map<String, List<Integer>> made = new TreeMap<>();
                for (int k = 0; k < 20000; k++)
                    made.computeIfAbsent("key" + k % 1009, any -> new ArrayList<>()).add(k * number);
                return made.toString().length();
            }));
        }
        int sum = 0;
        for (Future<Integer> each : sums) sum += each.get();
        pool.shutdown();
        System.out.println(sum);
    }
}
"""

SQL = """
create table t(a integer primary key, b text); insert into t select value, hex(value * 7919) from generate_series(1, 20000);
create index i on t(b); select count(*), max(lower(b)) from t; select a % 7, count(*), group_concat(substr(b, 1, 2))
from t where a < 50 group by a % 7; select sum(json_extract(json_object('a', a), '$.a')) from t where b like '%9%';
"""

GIT = """
git init -q made && cd made && git config user.name Somebody && git config user.email somebody@example.org
for n in 1 2 3 4 5; do
	seq $n 2000 > numbers && mkdir -p d$n && seq $n 300 > d$n/more && git add . && git commit -q -m "number $n"
done
git gc -q && git fsck 2>/dev/null && git log --format='%H %s' --stat && git diff HEAD~3 --shortstat
"""

PAGE = """<!doctype html><title>made</title><p id=p></p><script>
let made = []; for (let i = 0; i < 20000; i++) made.push({ i, text: 'x'.repeat(i % 50) });
document.getElementById('p').textContent = JSON.stringify(made).length;
</script>"""

NGINX = """
daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{ access_log {folder}/access; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on; gzip_min_length 1;
  gzip_types text/plain; server {{ listen 127.0.0.1:{port}; root {folder}/files; }} }}
"""


def c_source(count=60):
    return "\n".join(f"int f{i}(int *p, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += p[k] * (k ^ {i * 37 % 101});"
                     f" return s > {i} ? s : f{max(i - 1, 0)}(p, n - 1); }}" for i in range(count))


class Program:
    """A program that ends."""

    def __init__(self, name, command, files=None, env=None, at_least=1, is_short=False, is_steady=True, seconds=HANG):
        self.name, self.words = name, command
        self.files = files or {}
        self.env = env or {}
        self.at_least = at_least    # recordings
        self.is_short = is_short
        self.is_steady = is_steady  # says the same each time
        self.seconds = seconds

    def outcome(self, prefix, folder):
        for name, content in self.files.items():
            (folder / name).write_text(content)
        return watched([*prefix, *self.words], folder, self.env, self.seconds)

    def run(self):
        with Folder() as folder:
            plain = self.outcome([], folder)
        with Folder() as folder, Folder() as recordings:
            done = self.outcome([ALLO, "run", "-q", "-o", recordings / "%e.%p.%n.allo", "--"], folder)
            if not self.is_steady:
                plain, done = plain._replace(said=b""), done._replace(said=b"")
            must_equal(plain, done)
            found = sorted(recordings.glob("*.allo"))
            if len(found) < self.at_least:
                raise Wrong(f"{len(found)} recordings, not {self.at_least} or more: {[path.name for path in found]}")
            for path in found:
                verify(path)
            return f"{len(found)} recordings, {sum(path.stat().st_size for path in found) / 1e6:.1f} MB"


class Server(Program):
    """One that serves until it is told to end."""

    def outcome(self, prefix, folder):
        port = free_port()
        (folder / "files").mkdir()
        (folder / "files" / "page.txt").write_text("a page\n" * 500)
        for name, content in self.files.items():
            (folder / name).write_text(content.format(folder=folder, port=port))
        command = [str(word).format(folder=folder, port=port) for word in (*prefix, *self.words)]
        with open(folder / "log", "wb") as log:
            child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env={**ENVIRONMENT, **self.env}, start_new_session=True)
        try:
            wait_for(port, child, folder / "log")
            said = self.talk(port)
            self.end(port, folder)
            child.wait(timeout=self.seconds)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        return type(watched(["true"], folder))(child.returncode, said, (folder / "log").read_bytes())


class Redis(Server):
    def talk(self, port):
        done = subprocess.run(["redis-benchmark", "-p", str(port), "-n", "5000", "-c", "20", "-d", "100", "-r", "1000",
                               "-t", "set,get,lpush,lpop,sadd,hset,zadd", "-q"], capture_output=True, timeout=self.seconds)
        if done.returncode:
            raise Wrong(f"redis-benchmark: {text(done.stderr)}")
        return subprocess.run(["redis-cli", "-p", str(port), "strlen", "key:000000000001"], capture_output=True).stdout

    def end(self, port, _):
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], capture_output=True)


class Nginx(Server):
    def talk(self, port):
        said = b""
        for number in range(400):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG)
            connection.request("GET", "/page.txt" if number % 10 else "/none",
                               headers={"Accept-Encoding": "gzip" if number % 2 else "identity"})
            answer = connection.getresponse()
            said += f"{answer.status} {len(answer.read())}\n".encode()
            connection.close()
        return said

    def end(self, _, folder):
        os.kill(int((folder / "pid").read_text()), signal.SIGQUIT)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port, child, log):
    until = time.monotonic() + 30
    while time.monotonic() < until and child.poll() is None:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Wrong(f"does not serve: {text(log.read_bytes())}")


def programs():
    dates = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
             "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    yield Program("python3 with threads", ["/usr/bin/python3", "-c", PYTHON], is_short=True)
    yield Program("perl with a child", ["perl", "-e", PERL], at_least=2, is_short=True)
    yield Program("sqlite3", ["sqlite3", ":memory:", SQL], is_short=True)
    yield Program("git", ["sh", "-ec", GIT], env=dates, at_least=20, is_short=True)
    yield Program("gcc with children", ["gcc", "-O2", "-S", "-o", "-", "made.c"], files={"made.c": c_source()},
                  at_least=2, is_short=True)
    yield Program("node with a worker", ["node", "made.js"], files={"made.js": NODE})
    yield Program("java", ["java", "-Xmx256m", "Lists.java"], files={"Lists.java": JAVA})
    yield Program("chromium", ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=profile",
                               "--dump-dom", "made.html"], files={"made.html": PAGE}, at_least=4)
    yield Redis("redis-server under redis-benchmark",
                ["redis-server", "--port", "{port}", "--save", "", "--daemonize", "no"])
    yield Nginx("nginx with workers", ["nginx", "-p", "{folder}", "-c", "{folder}/nginx.conf"],
                files={"nginx.conf": NGINX}, at_least=3)


def main():
    reset_signals()
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    tap = Tap()
    if not RUNTIME.exists():
        tap.say("the runtime is built", f"there is no {RUNTIME}")
        tap.finish()
    for program in programs():
        if options.short and not program.is_short:
            continue
        if options.words and not any(word in program.name for word in options.words):
            continue
        if not shutil.which(program.words[0]):
            tap.say(program.name, f"there is no {program.words[0]}")
            continue
        try:
            print(f"# {program.name}: {program.run()}")
            tap.say(program.name)
        except Exception as wrong:  # whatever it is, the others go on
            tap.say(program.name, f"{type(wrong).__name__}: {wrong}")
    tap.finish()


main()
