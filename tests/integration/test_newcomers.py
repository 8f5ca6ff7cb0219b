"""Real programs: the first command that a user types, and the sentence that the answer must contain.

time(1) is the second opinion about the resident memory, with and without the recorder.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

from allotest import ALLO, ENVIRONMENT, HANG, ROOT, Test, wait_until
from recordings import PROGRAMS, copy_compiled

MIB = 1 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
TIME = "/usr/bin/time"
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.a")
COVERAGE = re.compile(r"malloc held [\d.]+ \w+,? (?:of|mostly untouched:) ([\d.]+) (\w+) resident at the peak"
                      r"(?: \((?:the recorder: ([\d.]+) (\w+) more|(with the recorder))\))?")

CACHE = """
use std::collections::HashMap;
struct Cache { pages: HashMap<u64, Vec<u8>> }
impl Cache {
    #[inline(never)]
    fn fill(&mut self, count: u64) { for i in 0..count { self.pages.insert(i, vec![7; 1009]); } }
}
fn main() { let mut cache = Cache { pages: HashMap::new() }; cache.fill(5000); println!("{}", cache.pages.len()); }
"""

HOLDS = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void remember(void)
{
    for (int i = 0; i < 640; i++) {
        memset(malloc(65536), 1, 65536);
        if (i % 16 == 0) usleep(2000);
    }
}
int main(void)
{
    remember();
    memset(mmap(0, 30 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 30 << 20);
    usleep(500000);
}
"""

NGINX = """
daemon off; worker_processes 2; pid nginx.pid; error_log error.log;
events { worker_connections 64; }
http {
    access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
    scgi_temp_path t5;
    server { listen unix:socket; location / { return 200 "answer"; } }
}
"""


class Newcomer(Test):
    def find(self, program):
        if not shutil.which(program, path=f"{ENVIRONMENT['PATH']}:/usr/sbin:/sbin") and not (self.tmp / program).exists():
            self.skipTest(f"{program} is not installed")

    def first_row(self, text):
        """The first row of the first table."""
        return text[text.index("held at the peak"):].splitlines()[2]

    def ask(self, *command, **options):
        """Records a program; the report of the run, and the answer to 'allo FILE'."""
        done = self.run_program(ALLO, "run", "-f", "-o", "first.allo", *command, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode(), self.allo("first.allo")

    def peak_of_time(self, *command, before=(), **options):
        """The largest resident memory of a program by time(1)."""
        done = self.run_program(*before, TIME, "-f", "%M", "-o", "peak", *command, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int((self.tmp / "peak").read_text().split()[-1]) * 1024

    def assert_near(self, found, expected):
        """Processors count pages apart, so the kernel's sums of the same memory may differ by some hundred KiB."""
        self.assertAlmostEqual(found, expected, delta=max(0.05 * expected, MIB // 2))

    def assert_like_time(self, found, *command, **options):
        """Pages of the compiler's file are resident if they were in the page cache: runs on a busy machine differ."""
        for _ in range(3):
            expected = self.peak_of_time(*command, **options)
            if abs(found - expected) <= max(0.05 * expected, MIB // 2):
                return
        self.assert_near(found, expected)

    def covered(self, said):
        """The resident memory of the program and of the recorder in the coverage line."""
        found = COVERAGE.search(" ".join(said.split()))
        self.assertTrue(found, said)
        return float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]] if found[3] else 0

    def check_sum(self, said, program):
        """The recorded memory and the rest are parts of the program's."""
        line = re.search(r"malloc held .*", said)[0].replace("mostly untouched: ", "of ")
        held, _, rest = line.partition("; ")
        parts = [float(number) * UNITS[unit] for number, unit in
                 [re.search(r"([\d.]+) (\w+)", held).groups(), *re.findall(r"([\d.]+) ([KMG]?i?B)\b", rest)]]
        if rest:
            self.assertLess(sum(parts), 1.05 * program + MIB // 2, line)

    def check_coverage(self, said, *command, is_near_alone=True, **options):
        """Both numbers of the coverage line are those of time, and no memory is in it twice."""
        program, recorder = self.covered(said)
        self.check_sum(said, program)
        before = [ALLO, "run", "-q", "-o", "timed.%p.%n.allo"]
        self.assert_like_time(program + recorder, *command, before=before, **options)
        if recorder and is_near_alone:
            self.assert_like_time(program, *command, **options)

    def check(self, command, row, sentence, **options):
        self.find(command[0])
        said, text = self.ask(*command)
        self.assertRegex(self.first_row(text), row)
        self.assertRegex(said + text, sentence)
        self.check_coverage(said, *command, **options)


class Programs(Newcomer):
    SANITIZED = False

    def test_jq(self):
        data = self.file("data.json", json.dumps([{"name": f"user {i}", "tags": ["a", "b"]} for i in range(20000)]))
        self.check(["jq", "map(.name) | length", data], r"% .*\d  (jv_pars|jv_array|jq\+0x|libjq\S*\+0x)",
                   r"skipped wrappers: .*jv_mem_alloc|is stripped")

    def test_sqlite3(self):
        fill = ("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) "
                "insert into t select i, 'value ' || i from n; select count(*) from t")
        self.check(["sqlite3", ":memory:", fill], r"  (sqlite3(?!Mem|Malloc|Realloc|_malloc)\w+|\S+\+0x[0-9a-f]+)\b",
                   r"skipped wrappers: .*sqlite3|is stripped")

    def test_perl(self):
        self.check(["perl", "-e", "my %h; $h{\"key $_\"} = \"value $_\" x 10 for 1..20000; print scalar(keys %h)"],
                   r"  Perl_(hv_common|pp_\w+)", r"skipped wrappers: .*Perl_safesysmalloc")

    def test_git(self):
        self.find("git")
        for command in (["init", "-q"], ["add", "-A"],
                        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
            (self.tmp / "file").write_text("line\n" * 3000)
            self.must("git", *command)
        said, text = self.ask("git", "log", "--stat", "-p")
        self.assertRegex(self.first_row(text), r"  (git\+0x[0-9a-f]+|[a-z_]\w+)( > |$)")
        if "git+0x" in text:
            self.assertRegex(text, r"\ngit is stripped: its functions have no names \(.*(-dbgsym|debuginfod-find .*|-g)\)\n")
        self.check_coverage(said, "git", "log", "--stat", "-p")

    def test_python(self):
        script = self.file("app.py", "import json\nx = json.loads(json.dumps([{'k': i} for i in range(30000)]))\n")
        self.check(["/usr/bin/python3", script], r"  <(module|listcomp)>.*  app\.py:2$",
                   r"skipped wrappers: .*Python standard library|CPython's allocators")
        leaks = self.allo("leaks", "--at", "peak", "first.allo")
        # The interpreter's own functions are no callers of the script.
        self.assertRegex(leaks.split("\n\n")[1], r"^.*\n(    \(via .*\)\n)?(    \S.*  app\.py:2\n?)+$")

    def test_python_behind_a_shim(self):
        """As pyenv's python3: a script of the shell, with children, that executes the interpreter in the end."""
        shim = self.file("python3", "#!/bin/bash\nversion=$(printf '%s' 3 | tr 3 3)\nexport version\nexec /usr/bin/python3 \"$@\"\n")
        shim.chmod(0o755)
        self.file("app.py", "import json\nx = json.loads(json.dumps([{'k': i} for i in range(30000)]))\n")
        env = {**ENVIRONMENT, "PATH": f"{self.tmp}:{ENVIRONMENT['PATH']}"}
        done = self.run_program(ALLO, "run", "python3", "app.py", env=env)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 0, said)
        folder, = self.tmp.glob("*.allo*")  # and no file beside it
        self.assertRegex(said, r"recordings, the largest first:\nallo:   peak +[\d.]+ MiB, +[\d,]+ allocations,  python3 \(\d+\)\n")
        largest, = re.findall(r"allo summary (\S+) +the largest process: read this first", said)
        self.assertRegex(self.first_row(self.allo(largest)), r"  <(module|listcomp)>.*  app\.py:2$")
        self.assertRegex(self.allo(largest), rf"allo summary {re.escape(folder.name)} +all processes of the run together\n")
        self.assertRegex(self.allo(folder), r"  python3 \(\d+\)")
        self.check_coverage(said, "python3", "app.py", env=env)

    def test_node(self):
        # Reading the unwind tables of such a large program makes several MiB of its file resident.
        self.check(["node", "-e", "const a = []; for (let i = 0; i < 50; i++) a.push(Buffer.alloc(100000))"],
                   r"  (v8::internal::Heap::AllocateExternalBackingStore|(v8|node)::\S*(Buffer|BackingStore)::\S+)",
                   r"is Node.js, which maps the heap of JavaScript itself: set NODE_OPTIONS=", is_near_alone=False)
        self.assertIn("JavaScript functions have no names: record with NODE_OPTIONS=",
                      " ".join(self.allo("summary", "first.allo").split()))

    def test_node_with_names(self):
        self.find("node")
        self.file("app.js", "const a = [];\nfunction remember(i) { a.push(Buffer.alloc(100000, i)); a.push(Buffer.from('x'.repeat(9000))); }\n"
                            "for (let i = 0; i < 100; i++) remember(i);\n")
        env = {**ENVIRONMENT, "NODE_OPTIONS": "--perf-basic-prof --interpreted-frames-native-stack"}
        done = self.run_program(ALLO, "run", "-o", "named.allo", "node", "app.js", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.allo("summary", "named.allo")
        self.assertRegex(self.first_row(text), r"  JS:remember \S*/app.js:2:\d+")  # and not "JS:alloc node:buffer"
        self.assertNotIn("have no names", text)
        self.assertIn("skipped wrappers: ", text)
        for path in pathlib.Path("/tmp").glob(f"perf-{self.allo_json('info', 'named.allo')['pid']}.map"):
            path.unlink()

    def test_a_compiler(self):
        self.find("g++")
        self.file("some.cpp", "#include <map>\n#include <string>\n#include <regex>\nstd::map<std::string, std::regex> all;\n"
                              "int f(std::string s) { return std::regex_match(s, all[s]); }\n")
        # Long enough for several looks at its memory, also on a busy machine.
        command = ["g++", "-O1", "-c", "some.cpp", "-o", "some.o"]
        for _ in range(20):
            said, _ = self.ask(*command)
            if "(the recorder: " in said:
                break
        self.assertRegex(said, r"allo:   peak +[\d.]+ MiB, +[\d,]+ allocations,  cc1plus \(\d+\)\n")
        self.assertRegex(said, r"malloc held [\d.]+ MiB of [\d.]+ MiB resident at the peak \(the recorder: .* more\); "
                               r"the program mapped [\d.]+ MiB itself \(--track mmap records it\)")
        path, = re.findall(r"allo summary (\S+) +the largest process: read this first", said)
        self.assertRegex(self.first_row(self.allo("summary", path)), r"  (?!x(m|c|re)alloc|ggc_)[a-z]\w+")
        self.check_coverage(said, *command)

    def test_rustc(self):
        self.find("rustc")
        # Of rustup, the program of this name only starts the compiler.
        compiler = pathlib.Path(self.must("rustc", "--print", "sysroot").strip()) / "bin" / "rustc"
        self.file("hello.rs", "fn main() { println!(\"hello\"); }\n")
        done = self.run_program(ALLO, "run", "-o", "first.allo", compiler, "--emit=metadata", "hello.rs")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), COVERAGE)  # also of a compiler with jemalloc inside
        self.assertRegex(self.first_row(self.allo("first.allo")), r"  rustc_\w+::")

    def test_a_program_with_jemalloc_inside(self):
        if not JEMALLOC.exists():
            self.skipTest("libjemalloc.a is not installed")
        self.file("holds.c", HOLDS)
        self.must("gcc", "-O1", "-g", "holds.c", "-o", "holds", "-Wl,--whole-archive", JEMALLOC, "-Wl,--no-whole-archive",
                  "-lstdc++", "-lm", "-ldl")
        told = (r"malloc held 40\.[01] MiB of [67]\d.\d MiB resident at the peak(?: \(.*\))?; "
                r"(2[5-9]|3\d).\d MiB free in malloc or mapped \(--track mmap tells which\)\n")
        # A look at the memory may come early on a busy machine.
        for _ in range(20):
            said, text = self.ask("./holds")
            if re.search(told, said):
                break
        self.assertRegex(self.first_row(text), r"  remember  holds.c:\d+$")
        self.assertRegex(said, told)
        self.check_coverage(said, "./holds")

    def test_our_cpp_service(self):
        copy_compiled(self.tmp / "service", PROGRAMS / "service.cpp", "g++", "-std=c++17", "-O1", "-g", "-pthread")
        self.check(["./service"], r"  burst > std::vector<char>::insert  service.cpp:\d+",
                   r"next\n(.*\n)*  allo leaks first.allo +the memory that was never freed")
        leaks = self.allo("leaks", "first.allo")
        # Libstdc++ keeps memory for exceptions, more than the program leaks.
        for command in ("summary", "top"):
            self.assertRegex(self.allo(command, "first.allo"), r"  libstdc\+\+\S+ \(language runtime\)\n")
        self.assertRegex(leaks.split("\n\n")[1], r"\(via std::.*\)\n    open_session  service.cpp:\d+\n    main")
        self.assertRegex(leaks, r"^.*\n.*; plus 7\d\.\d KiB of language runtimes in 2 stacks\n")

    def test_our_rust_program(self):
        self.find("rustc")
        self.must("rustc", "-g", self.file("cache.rs", CACHE), "-o", "cache")
        self.check(["./cache"], r"  cache::Cache::fill", r"skipped wrappers: Rust standard library")


class Servers(Newcomer):
    SANITIZED = False

    def serve(self, before, *command):
        process = subprocess.Popen([str(word) for word in (*before, *command)], cwd=self.tmp,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, HANG)
        self.addCleanup(process.terminate)
        (self.tmp / "socket").unlink(missing_ok=True)  # of an earlier run
        return process

    def ended(self, process):
        """The report of a run that has been asked to end."""
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(HANG), 0, said)
        return said

    def answers(self, run):
        """The report of a recorded run, whose coverage must be that of time in another run."""
        said = run([ALLO, "run", "-o", "first.allo"])
        run([ALLO, "run", "-q", "-o", "timed.%p.%n.allo", TIME, "-f", "%M", "-o", "peak"])
        self.assert_near(sum(self.covered(said)), int((self.tmp / "peak").read_text()) * 1024)
        self.check_sum(said, self.covered(said)[0])
        return said

    def run_redis(self, before):
        process = self.serve(before, "redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--daemonize", "no",
                             "--enable-debug-command", "local")
        wait_until((self.tmp / "socket").exists, "redis listens")
        wait_until(lambda: b"OK" in self.run_program("redis-cli", "-s", "socket", "debug", "populate", "20000").stdout,
                   "redis has the keys")
        self.run_program("redis-cli", "-s", "socket", "shutdown", "nosave")
        return self.ended(process)

    def test_redis(self):
        self.find("redis-server")
        self.answers(self.run_redis)
        text = self.allo("first.allo")
        self.assertRegex(self.first_row(text), r"  (_?dict\w+|db\w+|debugCommand|create\w+Object\w*|redis\S*\+0x)")
        self.assertRegex(text, r"skipped wrappers: .*zmalloc|redis\S* is stripped")

    def run_nginx(self, before):
        process = self.serve(before, "nginx", "-p", self.tmp, "-c", "nginx.conf")
        wait_until(lambda: self.run_program("curl", "-s", "--unix-socket", "socket", "http://x/").stdout == b"answer",
                   "nginx answers")
        os.kill(int((self.tmp / "nginx.pid").read_text()), signal.SIGQUIT)
        return self.ended(process)

    def test_nginx(self):
        self.find("nginx")
        self.file("nginx.conf", NGINX)
        said = self.answers(self.run_nginx)
        self.assertEqual(len(re.findall(r"allocations,  nginx \(\d+\)\n", said)), 3, said)
        self.assertEqual({path.name for path in self.tmp.glob("first.allo*")}, {"first.allo", "first.allo.d"})
        text = self.allo("first.allo.d")
        self.assertRegex(self.first_row(text), r"  (?!ngx_(alloc|palloc|calloc|create_pool))(ngx_\w+|nginx\+0x|OPENSSL_|CONF_)")
        self.assertNotIn("hooks_rights.c", text)
