#!/usr/bin/env python3
"""Programs that we did not write, with and without allo.

usage: foreign.py [--short] [WORD...]       only those whose name holds one of the words

Each must succeed without allo.  With allo it must print the same output, end the same way and have the same open descriptors
as without allo, and every recording of its processes must pass `allo verify`.  Scripts print their own descriptors, other
programs start an `ls` that lists those of its parent, and those of servers are read from /proc; only browsers and valgrind
show none.  Programs and features of the kernel that are missing are reported as skipped, with the reason.
ALLO_BUILD names the build that is tested.  Prints TAP.
"""
import argparse
import collections
import functools
import glob
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from watch import (ALLO, ENVIRONMENT, HANG, IS_ROOT, ROOT, Folder, Missing, Outcome, Tap, Wrong, must_equal, text,
                   reset_signals, verify, watched)
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
import os, time
# A joined thread leaves the kernel's list a moment later; a foreign thread would stay.
for _ in range(1000):
    if len(os.listdir("/proc/self/task")) == 1: break
    time.sleep(0.01)
print(sums, hashlib.sha256(str(sums).encode()).hexdigest(), sorted(os.listdir("/proc/self/fd")),
      len(os.listdir("/proc/self/task")))
"""

PERL = """
my (%words, $sum);
for my $i (1 .. 20000) { push @{$words{sprintf("w%03d", $i * 7919 % 1009)}}, "x" x ($i % 50) }
for my $word (sort keys %words) { $sum += length(join(",", map { uc } @{$words{$word}})) }
my $pid = fork(); if ($pid == 0) { my @kept = map { $_ * 2 } 1 .. 5000; exit(scalar(@kept) == 5000 ? 7 : 1) }
waitpid($pid, 0); opendir(my $own, "/proc/self/fd"); print "$sum ", $? >> 8, " ", join(",", sort(readdir($own))), "\\n";
"""

NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
  const made = [];
  for (let i = 0; i < 20000; i++) made.push({ i, text: 'x'.repeat(i % 50), buffer: Buffer.alloc(i % 5000, i) });
  const worker = new Worker(__filename);
  const own = () => require('fs').readdirSync('/proc/self/fd').length;
  worker.on('message', (sum) => console.log(JSON.stringify(made).length, sum, own()));
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
        System.out.println(sum + " " + new java.io.File("/proc/self/fd").list().length);
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
# git closes the pipe by which the shell would report a failure a moment after the shell has begun; a foreign descriptor stays.
git -c alias.own='!for i in $(seq 1000); do test -e /proc/$PPID/fd/3 || break; sleep 0.01; done; ls /proc/$PPID/fd' own
git gc -q && git fsck 2>/dev/null && git log --format='%H %s' --stat && git diff HEAD~3 --shortstat
"""

PAGE = """<!doctype html><title>made</title><p id=p></p><script>
let made = []; for (let i = 0; i < 20000; i++) made.push({ i, text: 'x'.repeat(i % 50) });
document.getElementById('p').textContent = JSON.stringify(made).length;
</script>"""

FIREFOX = ("HOME=$PWD firefox-esr --headless --no-remote --profile $PWD --screenshot $PWD/made.png file://$PWD/made.html "
           "> said 2>&1; head -c 8 made.png | od -c")

NGINX = """
daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{ access_log {folder}/access; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on; gzip_min_length 1;
  gzip_types text/plain; server {{ listen 127.0.0.1:{port}; root {folder}/files; }} }}
"""


RUBY = """
made = Hash.new { |hash, key| hash[key] = [] }
20000.times { |i| made["w%03d" % (i * 7919 % 1009)] << "x" * (i % 50) }
inner = Thread.new { (1..5000).map(&:to_s).join.length }
pid = fork { exit!(Array.new(3000) { |i| i.to_s }.length == 3000 ? 7 : 1) }
Process.wait(pid)
puts made.values.flatten.join.length, inner.value, $?.exitstatus, Dir.children("/proc/self/fd").sort.inspect
"""

PHP = """
$made = [];
for ($i = 0; $i < 20000; $i++) $made[sprintf("w%03d", $i * 7919 % 1009)][] = str_repeat("x", $i % 50);
ksort($made); echo md5(json_encode($made)), " ", strlen(gzcompress(serialize($made))), "\\n";
echo implode(",", scandir("/proc/self/fd")), "\\n";
"""

R = """
made <- lapply(1:2000, function(i) paste(rep("x", i %% 50), collapse = ""))
fit <- lm(y ~ x, data.frame(x = 1:500, y = (1:500) * 3 + sin(1:500)))
cat(sum(nchar(made)), format(coef(fit), digits = 12), length(list.files("/proc/self/fd")), "\\n")
"""

GUILE = """
(use-modules (srfi srfi-1) (ice-9 ftw))
(define made (map (lambda (i) (make-string (modulo i 50) #\\x)) (iota 20000)))
(display (apply + (map string-length made))) (newline)
(display (length (scandir "/proc/self/fd"))) (newline)
"""

GO = """
package main

// #include <stdlib.h>
// #include <string.h>
import "C"
import ("fmt"; "os"; "sync"; "unsafe")

func main() {
	var group sync.WaitGroup
	sums := make([]int, 4)
	for n := range sums {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 1; i < 3000; i++ {
				text := C.CString(fmt.Sprint(i * n))
				more := C.malloc(C.size_t(i % 500 + 1))
				sums[n] += int(C.strlen(text)) + len(fmt.Sprintf("%x", i))
				C.free(more)
				C.free(unsafe.Pointer(text))
			}
		}(n)
	}
	group.Wait()
	own, _ := os.ReadDir("/proc/self/fd")
	fmt.Println(sums, len(own))
}
"""

# Runs a command of gcc, and lists the descriptors of both.
PARENT = 'ls /proc/self/fd; ls /proc/$PPID/fd; exec "$@"'

# The parts of CPython's tests that are about processes, threads, signals, memory, descriptors, frames and code objects.
PYTHON_TESTS = ("test_subprocess test_threading test_fork1 test_signal test_posix test_os test_mmap test_io test_gc "
                "test_faulthandler test_pty test_selectors test_resource test_json test_re test_zlib test_descr test_exceptions "
                "test_generators test_coroutines test_code test_sys_settrace test_weakref test_tracemalloc").split()

# The folders of this project's sources that need no generated header.
FOLDERS = ["capture", *(f"src/{name}" for name in "analysis base ledger profile readers replay symbols telemetry wire writers".split())]

MAKE = """
objects := $(patsubst %.c,%.o,$(shell find $(FOLDERS) -name '*.c' | LC_ALL=C sort))
all: $(objects)
	@sha256sum $(objects)
	@ls /proc/$$PPID/fd
%.o: %.c
	@$(CC) -std=gnu17 -O1 -D_GNU_SOURCE -DALLO_VERSION='"0"' -Isrc -Iinclude -I. -c -o $@ $<
"""

GDB = ["-q", "-batch", "-nx", "-ex", "set confirm off", "-ex", "set debuginfod enabled off", "-ex", "catch syscall exit_group", "-ex", "run",
       "-ex", "info threads", "-ex", "info inferiors", "-ex", "continue", "--args", "perl", "-e"]

USER = 65534  # nobody


def c_source(count=60):
    return "\n".join(f"int f{i}(int *p, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += p[k] * (k ^ {i * 37 % 101});"
                     f" return s > {i} ? s : f{max(i - 1, 0)}(p, n - 1); }}" for i in range(count))


class Program:
    """A program that ends."""

    def __init__(self, name, command, files=None, env=None, at_least=1, is_short=False, compared=None, needs=None, make=None,
                 probe=None, statuses=(0,), seconds=HANG):
        self.name, self.words = name, command
        self.files = files or {}
        self.env = env or {}
        self.at_least = at_least    # recordings
        self.is_short = is_short
        self.compared = compared or (lambda said: said)  # the part of the output that is the same each time
        self.needs = needs or command[0]                 # a program, or a file if it begins with a slash
        self.make = make                                 # prepares the folder
        self.probe = probe          # a command that fails if the kernel refuses what the program needs
        self.statuses = statuses    # without allo
        self.seconds = seconds

    def must_be_possible(self):
        if not (glob.glob(self.needs) if self.needs.startswith("/") else shutil.which(self.needs)):
            raise Missing(f"there is no {self.needs}")
        done = subprocess.run(self.probe or ["true"], capture_output=True, timeout=HANG, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Missing(f"{self.probe[0]} is refused: {text(done.stderr)}")

    def prepare(self, folder, port=None):
        for name, content in self.files.items():
            (folder / name).write_text(content.format(folder=folder, port=port) if port else content)
        if self.make:
            self.make(folder)

    def outcome(self, prefix, folder, recordings):
        self.prepare(folder)
        words = [str(word).replace("{recordings}", str(recordings)) for word in self.words]
        done = watched([*prefix, *words], folder, self.env, self.seconds)
        return done._replace(said=self.compared(done.said.replace(str(folder).encode(), b"{folder}")))

    def must_work(self, plain):
        """Equal failures would prove nothing."""
        if plain.status not in self.statuses or not plain.said:
            raise Wrong(f"fails without allo, too: exit status {plain.status}\n{text(plain.said)}\n{text(plain.errors)}")

    def run(self):
        self.must_be_possible()
        with Folder() as recordings:
            recordings.chmod(0o1777)  # programs that change their user go on recording
            with Folder() as folder:
                plain = self.outcome([], folder, recordings)
                self.must_work(plain)
            with Folder() as folder:
                done = self.outcome([ALLO, "run", "-q", "-o", recordings / "%e.%p.%n.allo", "--"], folder, recordings)
            must_equal(plain, done)
            found = sorted(recordings.glob("*.allo"))
            if len(found) < self.at_least:
                raise Wrong(f"{len(found)} recordings, not {self.at_least} or more: {[path.name for path in found]}")
            for path in found:
                verify(path)
            return f"{len(found)} recordings, {sum(path.stat().st_size for path in found) / 1e6:.1f} MB"


def descendants(pid):
    """The pids of all processes below one."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def descriptors(pids, folder):
    """How often each process has each file open, without numbers, sockets and files of their own folder: clients and
    transactions come and go."""
    seen = set()
    for pid in pids:
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        targets = [os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
        counts = collections.Counter(re.sub(r"[0-9]+", "*", target) for target in targets
                                     if not target.startswith(("socket:", str(folder))))
        seen.update(f"{name} has {count} of {target}\n" for target, count in counts.items())
    return "".join(sorted(seen)).encode()


class Server(Program):
    """One that serves until it is asked to end."""

    def outcome(self, prefix, folder, _):
        port = free_port()
        folder.chmod(0o755)  # workers may have another user
        (folder / "files").mkdir()
        (folder / "files" / "page.txt").write_text("a page\n" * 500)
        self.prepare(folder, port)
        command = [str(word).format(folder=folder, port=port) for word in (*prefix, *self.words)]
        with open(folder / "log", "wb") as log:
            child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env={**ENVIRONMENT, **self.env}, start_new_session=True)
        try:
            self.wait(port, child, folder)
            said = self.talk(port, folder)
            processes = descendants(child.pid) if prefix else [child.pid, *descendants(child.pid)]
            said += descriptors(processes, folder)
            self.end(port, folder)
            child.wait(timeout=self.seconds)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        return Outcome(child.returncode, self.compared(said), (folder / "log").read_bytes())

    def wait(self, port, child, folder):
        while child.poll() is None:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise Wrong(f"does not serve: {text((folder / 'log').read_bytes())}")


class Redis(Server):
    def talk(self, port, _):
        done = subprocess.run(["redis-benchmark", "-p", str(port), "-n", "5000", "-c", "20", "-d", "100", "-r", "100",
                               "-t", "set,get,lpush,lpop,sadd,hset,zadd", "-q"], capture_output=True, timeout=self.seconds)
        if done.returncode:
            raise Wrong(f"redis-benchmark: {text(done.stderr)}")
        return subprocess.run(["redis-cli", "-p", str(port), "strlen", "key:000000000001"], capture_output=True).stdout

    def end(self, port, _):
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], capture_output=True)


class Nginx(Server):
    def __init__(self, *arguments, reloads, **options):
        super().__init__(*arguments, **options)
        self.reloads = reloads

    def talk(self, port, folder):
        said = self.ask(port)
        for _ in range(self.reloads):
            before = self.workers(folder)
            os.kill(self.master(folder), signal.SIGHUP)
            while before & self.workers(folder) or len(self.workers(folder)) < len(before):
                time.sleep(0.02)
            said += self.ask(port)
        return said

    def master(self, folder):
        return int((folder / "pid").read_text())

    def workers(self, folder):
        return set(descendants(self.master(folder)))

    def ask(self, port):
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
        os.kill(self.master(folder), signal.SIGQUIT)


class Postgres(Server):
    """PostgreSQL does not run as root; pgbench's sums say whether transactions got lost."""

    def tool(self, name):
        return (sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [name])[-1]

    def must(self, *command):
        done = subprocess.run([*as_nobody(), *command], capture_output=True, timeout=self.seconds, cwd="/")
        if done.returncode:
            raise Wrong(f"{command[0]}: {text(done.stderr)}")
        return done.stdout

    def prepare(self, folder, port=None):
        super().prepare(folder, port)
        if IS_ROOT:
            shutil.chown(folder, USER, USER)
        self.must(self.tool("initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "allo", "--no-sync")

    def psql(self, folder, program, *words):
        return self.must(self.tool(program), "-h", str(folder), "-U", "allo", *words, "postgres")

    def wait(self, port, child, folder):
        while not (folder / ".s.PGSQL.5432").exists() or "ready" not in (folder / "data/postmaster.pid").read_text():
            if child.poll() is not None:
                raise Wrong(f"does not serve: {text((folder / 'log').read_bytes())}")
            time.sleep(0.05)

    def talk(self, _, folder):
        self.psql(folder, "pgbench", "-i", "-q", "-s", "1")
        self.psql(folder, "pgbench", "-n", "-c", "4", "-j", "2", "-t", "100")
        said = self.psql(folder, "psql", "-At", "-c", "select count(*) from pgbench_history; select (select sum(abalance) from "
                         "pgbench_accounts) = (select sum(delta) from pgbench_history)")
        while self.has_passing_processes(folder):
            time.sleep(0.05)
        return said

    def has_passing_processes(self, folder):
        """Those of clients and for maintenance have descriptors of their own for a moment."""
        master = int((folder / "data/postmaster.pid").read_text().split()[0])
        try:
            titles = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(master)]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return any(re.match(rb"postgres: (?:allo |autovacuum worker)|(?!postgres:)", title) for title in titles)

    def end(self, _, folder):
        os.kill(int((folder / "data/postmaster.pid").read_text().split()[0]), signal.SIGINT)


def as_nobody():
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if IS_ROOT else []


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def failed_tests(said):
    """The lines of CPython's test runner that say which tests failed, and the result."""
    return b"\n".join(sorted(re.findall(rb"^(?:(?:FAIL|ERROR): .*|(?:Tests r|R)esult: .*|test_\w+ (?:failed|crashed).*)$", said, re.M)))


def without_numbers(said):
    """Process ids, thread ids and addresses differ from run to run."""
    return re.sub(rb"0x[0-9a-f]+|\b\d{2,}\b", b"#", said)


def build_go(folder):
    subprocess.run(["go", "build", "-o", "cgo", "made.go"], cwd=folder, check=True, capture_output=True,
                   env={**os.environ, "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"})


@functools.cache
def kept_sources():
    """A copy of the sources, which may change while the programs run."""
    kept = tempfile.TemporaryDirectory(prefix="allo-stress-sources-")
    for name in ("capture", "src", "include"):
        shutil.copytree(ROOT / name, pathlib.Path(kept.name) / name,
                        ignore=lambda _, names: [name for name in names if name.endswith(".gz")])
    return kept


def copy_sources(folder):
    shutil.copytree(kept_sources().name, folder, dirs_exist_ok=True)


def programs(is_short):
    dates = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
             "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    python = "/usr/bin/python3"
    yield Program("python3 with threads", [python, "-c", PYTHON], is_short=True)
    yield Program("CPython's tests", [python, "-m", "test", "-j0", "-q", *PYTHON_TESTS], needs="/usr/lib/python3*/test/test_os.py",
                  compared=failed_tests, at_least=20, statuses=(0, 2))  # some fail in a container: the same ones must fail
    yield Program("perl with a child", ["perl", "-e", PERL], at_least=2, is_short=True)
    yield Program("sqlite3", ["sqlite3", ":memory:", SQL, ".shell ls /proc/$PPID/fd"], is_short=True)
    yield Program("git", ["sh", "-ec", GIT], env=dates, at_least=20, is_short=True)
    yield Program("gcc with children", ["gcc", "-wrapper", f"sh,-c,{PARENT},sh", "-O2", "-S", "-o", "-", "made.c"], files={"made.c": c_source()},
                  at_least=2, is_short=True)
    yield Program("make -j2 of a tree", ["make", "-s", "-j2"], files={"Makefile": MAKE}, make=copy_sources, is_short=True,
                  env={"FOLDERS": "src/base" if is_short else " ".join(FOLDERS)}, at_least=40 if is_short else 400)
    yield Program("node with a worker", ["node", "made.js"], files={"made.js": NODE})
    yield Program("ruby", ["ruby", "-e", RUBY], at_least=2)
    yield Program("php", ["php", "-r", PHP])
    yield Program("R", ["Rscript", "--vanilla", "-e", R])
    yield Program("guile", ["guile", "--no-auto-compile", "-c", GUILE])
    yield Program("java", ["java", "-Xmx256m", "Lists.java"], files={"Lists.java": JAVA})
    yield Program("Go with cgo", ["./cgo"], files={"made.go": GO}, make=build_go, needs="go")
    yield Program("chromium", ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=profile",
                               "--dump-dom", "made.html"], files={"made.html": PAGE}, at_least=4)
    yield Program("Firefox", ["sh", "-ec", FIREFOX], files={"made.html": PAGE}, at_least=4, needs="firefox-esr")
    yield Program("gdb and its target", ["gdb", *GDB, PERL], compared=without_numbers)
    yield Program("valgrind and its target", ["valgrind", "-q", "--tool=none", "perl", "-e", PERL], at_least=0)
    sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-all"]
    yield Program("bwrap", [*sandbox, "--bind", "{recordings}", "{recordings}", "perl", "-e", PERL], probe=[*sandbox, "true"])
    yield Program("unshare", ["unshare", "-Urpf", "--mount-proc", "perl", "-e", PERL], is_short=True,
                  probe=["unshare", "-Urpf", "--mount-proc", "true"])
    if IS_ROOT:
        yield Program("setpriv", [*as_nobody(), "perl", "-e", PERL], at_least=2, is_short=True)
        yield Program("su", ["su", "nobody", "-s", "/bin/sh", "-c", "perl -e '" + PERL.replace("'", "'\\''") + "'"], at_least=2,
                      is_short=True)
    yield Redis("redis-server under redis-benchmark",
                ["redis-server", "--port", "{port}", "--save", "", "--daemonize", "no"], is_short=True)
    yield Nginx("nginx with workers and reloads", ["nginx", "-p", "{folder}", "-c", "{folder}/nginx.conf"],
                files={"nginx.conf": NGINX}, at_least=3, reloads=1 if is_short else 3, is_short=True)
    postgres = (sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres")) or ["postgres"])[-1]
    yield Postgres("PostgreSQL under pgbench", [*as_nobody(), postgres, "-D", "{folder}/data", "-k", "{folder}", "-c",
                                                "listen_addresses="], needs=postgres, at_least=5)


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
    for program in programs(options.short):
        if options.short and not program.is_short:
            continue
        if options.words and not any(word in program.name for word in options.words):
            continue
        try:
            print(f"# {program.name}: {program.run()}")
            tap.say(program.name)
        except Missing as missing:
            tap.skip(program.name, str(missing))
        except Exception as wrong:  # whatever it is, the others go on
            tap.say(program.name, f"{type(wrong).__name__}: {wrong}")
    tap.finish()


main()
