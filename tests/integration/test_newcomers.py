"""Real programs: the first command that a user types, and the sentence that the answer must contain.

time(1) is the second opinion about the resident memory, with and without the recorder.
"""
import json
import pathlib
import re
import shutil
import signal
import subprocess

from allotest import ALLO, ENVIRONMENT, HANG, ROOT, Test, wait_until

MIB = 1 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
TIME = "/usr/bin/time"
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
        done = self.run_program(ALLO, "run", "-o", "first.allo", *command, **options)
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

    def check_coverage(self, said, *command, is_near_alone=True, **options):
        """Both numbers of the coverage line are those of time."""
        found = COVERAGE.search(" ".join(said.split()))
        self.assertTrue(found, said)
        program = float(found[1]) * UNITS[found[2]]
        recorder = float(found[3]) * UNITS[found[4]] if found[3] else 0
        before = [ALLO, "run", "-q", "-o", "timed.%p.%n.allo"]
        self.assert_near(program + recorder, self.peak_of_time(*command, before=before, **options))
        if recorder and is_near_alone:
            self.assert_near(program, self.peak_of_time(*command, **options))

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
        self.check(["/usr/bin/python3", "-c", "import json; x = json.loads(json.dumps([{'k': i} for i in range(30000)]))"],
                   r"  (?!_?PyMem_|_?PyObject_(Malloc|Calloc|Realloc))\w+",
                   r"is CPython, which keeps small objects in its own arenas: set PYTHONMALLOC=malloc to record each object")

    def test_node(self):
        # Reading the unwind tables of such a large program makes several MiB of its file resident.
        self.check(["node", "-e", "const a = []; for (let i = 0; i < 50; i++) a.push(Buffer.alloc(100000))"],
                   r"  (?!node::NodeArrayBufferAllocator|operator new|CRYPTO_|std::)\S+",
                   r"is Node.js, which maps the heap of JavaScript itself: set NODE_OPTIONS=", is_near_alone=False)

    def test_a_compiler(self):
        self.find("g++")
        self.file("some.cpp", "#include <map>\n#include <string>\n#include <regex>\nstd::map<std::string, std::regex> all;\n"
                              "int f(std::string s) { return std::regex_match(s, all[s]); }\n")
        command = ["g++", "-fsyntax-only", "some.cpp"]
        said, _ = self.ask(*command)
        self.assertRegex(said, r"allo:   peak +[\d.]+ MiB, +[\d,]+ allocations,  cc1plus \(\d+\)\n")
        self.assertRegex(said, r"malloc held [\d.]+ MiB of [\d.]+ MiB resident at the peak \(the recorder: .* more\); "
                               r"the program mapped [\d.]+ MiB itself \(--track mmap records it\)")
        path, = re.findall(r"allo summary (\S+) +the largest process: read this first", said)
        self.assertRegex(self.first_row(self.allo("summary", path)), r"  (?!xmalloc|xcalloc|xrealloc|ggc_)\S+")
        self.check_coverage(said, *command)

    def test_rustc(self):
        self.find("rustc")
        # Of rustup, the program of this name only starts the compiler.
        compiler = pathlib.Path(self.must("rustc", "--print", "sysroot").strip()) / "bin" / "rustc"
        self.file("hello.rs", "fn main() { println!(\"hello\"); }\n")
        done = self.run_program(ALLO, "run", "-o", "first.allo", compiler, "--emit=metadata", "hello.rs")
        self.assertEqual(done.returncode, 0, done.stderr)
        if (self.tmp / "first.allo").exists():
            self.assertRegex(done.stderr.decode(), COVERAGE)  # a compiler that uses malloc
        else:
            self.assertRegex(done.stderr.decode(), r"note: \S+/rustc contains an allocator: only blocks that it gets from the C "
                                                   r"library's malloc are recorded\n(.*\n)*allo: nothing was recorded: ")

    def test_our_cpp_service(self):
        self.must("g++", "-std=c++17", "-O1", "-g", "-pthread", ROOT / "tests" / "programs" / "service.cpp", "-o", "service")
        self.check(["./service"], r"  burst > std::vector<char>::insert  service.cpp:\d+",
                   r"next\n(.*\n)*  allo leaks first.allo +the memory that was never freed, by stack")
        leaks = self.allo("leaks", "first.allo")
        # Libstdc++ keeps memory for exceptions, more than the program leaks.
        self.assertRegex(leaks.split("\n\n")[1], r"\(via std::.*\)\n    open_session  service.cpp:\d+\n    main")
        self.assertRegex(leaks, r"^.*\n.*; runtime start-up 7\d\.\d KiB in 1 stack\n")

    def test_our_rust_program(self):
        self.find("rustc")
        self.must("rustc", "-g", self.file("cache.rs", CACHE), "-o", "cache")
        self.check(["./cache"], r"  cache::Cache::fill", r"skipped wrappers: Rust standard library")


class Servers(Newcomer):
    SANITIZED = False

    def serve(self, *command):
        process = subprocess.Popen([str(word) for word in (ALLO, "run", "-o", "first.allo", *command)], cwd=self.tmp,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, HANG)
        self.addCleanup(process.terminate)
        return process

    def test_redis(self):
        self.find("redis-server")
        process = self.serve("redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--daemonize", "no",
                             "--enable-debug-command", "local")
        wait_until((self.tmp / "socket").exists, "redis listens")
        wait_until(lambda: b"OK" in self.run_program("redis-cli", "-s", "socket", "debug", "populate", "20000").stdout,
                   "redis has the keys")
        self.run_program("redis-cli", "-s", "socket", "shutdown", "nosave")
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(HANG), 0, said)
        text = self.allo("first.allo")
        self.assertRegex(self.first_row(text), r"  (?!z(m|c|re)alloc|ztry|sds|_sds)\w+")
        self.assertRegex(text, r"skipped wrappers: .*zmalloc|redis\S* is stripped")
        self.assertRegex(said, COVERAGE)

    def test_nginx(self):
        self.find("nginx")
        self.file("nginx.conf", NGINX)
        process = self.serve("nginx", "-p", self.tmp, "-c", "nginx.conf")
        wait_until((self.tmp / "nginx.pid").exists, "nginx runs")
        wait_until(lambda: self.run_program("curl", "-s", "--unix-socket", "socket", "http://x/").stdout == b"answer",
                   "nginx answers")
        process.send_signal(signal.SIGQUIT)
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(HANG), 0, said)
        self.assertEqual(len(re.findall(r"allocations,  nginx \(\d+\)\n", said)), 3, said)
        self.assertEqual({path.name for path in self.tmp.glob("*.allo*")}, {"first.allo", "first.allo.d"})
        text = self.allo("first.allo.d")
        self.assertRegex(self.first_row(text), r"  (?!ngx_(alloc|palloc|calloc|create_pool))(ngx_\w+|nginx\+0x|OPENSSL_|CONF_)")
        self.assertNotIn("hooks_rights.c", text)
