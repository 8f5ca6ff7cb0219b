"""Programs whose memory is mostly not malloc's: allo recognises their runtime, and says what to do while they start."""
import shutil
import subprocess
import sys

from allotest import ALLO, ENVIRONMENT, HANG, Test

# A symbol of each runtime, and a part of the advice.
SYMBOLS = {"Py_BytesMain": "set PYTHONMALLOC=malloc", "_ZN4node5StartEiPPc": 'set NODE_OPTIONS="--perf-basic-prof',
           "JLI_Launch": "jcmd PID", "luaJIT_setmode": "add --track malloc,new,mmap",
           "ChromeMain": "add --track malloc,new,mmap"}
CPYTHON = "is CPython, which keeps small objects in its own arenas: set PYTHONMALLOC=malloc to record each object"
GO_NOTE = "is a Go program, which does not use malloc: import net/http/pprof in it, and run 'allo top http://"
PLAIN = {name: value for name, value in ENVIRONMENT.items() if name not in ("PYTHONMALLOC", "NODE_OPTIONS")}


class Runtimes(Test):
    SANITIZED = False

    def said(self, *command, env=PLAIN, status=0):
        done = self.run_program(ALLO, "run", "-o", "%e.%p.%n.allo", *command, env=env)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def python(self):
        """The interpreter itself: a version manager's script comes before it."""
        return self.must(sys.executable, "-c", "import os, sys; print(os.path.realpath(sys.executable))").strip()

    def test_each_is_recognised_by_a_symbol(self):
        for symbol, advice in SYMBOLS.items():
            self.file("program.c", f"#include <stdlib.h>\nvoid {symbol}(void) {{}}\nint main(void) {{ free(malloc(9)); }}\n")
            self.must("gcc", "program.c", "-rdynamic", "-o", "program")
            first = self.said("./program").splitlines()[0]
            self.assertTrue(first.startswith("note: ./program ") and advice in first, first)

    def test_others_get_no_advice(self):
        for command in (["ls"], ["sh", "-c", "ls"], ["perl", "-e", "1"], ["gcc", "--version"]):
            self.assertNotIn("note: ", self.said(*command))

    def test_python(self):
        python = self.python()
        self.assertIn(f"note: {python} {CPYTHON}", self.said(python, "-c", "print(1)").splitlines()[0])
        self.assertNotIn("CPython", self.said("-q", python, "-c", "print(1)"))
        self.assertNotIn("CPython", self.said(python, "-c", "print(1)", env={**PLAIN, "PYTHONMALLOC": "malloc"}))

    def test_python_behind_a_shell(self):
        """As a shim runs it, as a script runs it, and as a child."""
        name = self.python().rsplit("/", 1)[1]
        self.file("script", f"#!{self.python()}\nprint(1)\n").chmod(0o755)
        for command in (["sh", "-c", f"exec {self.python()} -c 'print(1)'"], ["./script"],
                        ["env", self.python(), "-c", "print(1)"],
                        ["sh", "-c", f"{self.python()} -c 'import time; time.sleep(1)'; true"]):
            self.assertEqual(self.said(*command).count(f"note: {name} {CPYTHON}"), 1, command)

    def test_advice_comes_while_the_program_runs(self):
        process = subprocess.Popen([ALLO, "run", "sh", "-c", f"exec {self.python()} -c 'input()'"], cwd=self.tmp, env=PLAIN,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(CPYTHON, process.stderr.readline().decode())
        self.assertIsNone(process.poll())
        process.communicate(b"\n", HANG)

    def test_node(self):
        if shutil.which("node"):
            self.assertIn("node is Node.js", self.said("node", "-e", "1").splitlines()[0])

    def test_java(self):
        if shutil.which("java"):
            self.assertIn("java is Java", self.said("java", "-version").splitlines()[0])

    def go(self, *imports):
        """A Go program that waits for its input; None without a compiler."""
        self.file("main.go", "package main\n" + "".join(f"import {name}\n" for name in imports) + 'import "fmt"\n'
                  "var all [][]byte\n"
                  "func main() { for i := 0; i < 300; i++ { block := make([]byte, 100000); for j := range block { block[j] = 1 }\n"
                  'all = append(all, block) }; fmt.Println(len(all)); fmt.Scanln() }\n')
        compiler = shutil.which("go")
        if compiler:
            self.must(compiler, "build", "-o", "main", "main.go")
        return compiler

    def test_a_static_go_program_is_refused_with_advice(self):
        if self.go():
            self.assertIn(f"hint: it {GO_NOTE}", self.said("./main", status=125))

    def test_a_dynamic_go_program(self):
        if self.go('"C"'):
            said = self.said("./main")
            self.assertIn(f"note: ./main {GO_NOTE}", said.splitlines()[0])

    def test_allo_mem_names_go(self):
        if not self.go():
            return
        process = subprocess.Popen([self.tmp / "main"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        text = self.allo("mem", process.pid)
        self.assertIn("; Go's heap", text)
        self.assertNotIn("unexplained", text)
        parts = {part["name"]: part["rss_bytes"] for part in self.allo_json("mem", process.pid)["ledger"]["parts"]}
        self.assertGreater(parts["heap"], 28_000_000)
        process.communicate(b"\n", HANG)

    def test_an_allocator_inside_is_told_at_the_start(self):
        self.file("own.c", "#include <stddef.h>\nstatic char room[1 << 20]; static size_t used;\n"
                  "void *malloc(size_t size) { used += 16 + size / 16 * 16; return room + used; }\n"
                  "void free(void *block) { (void)block; }\nint main(void) { return !malloc(9); }\n")
        self.must("gcc", "-O0", "own.c", "-fno-builtin", "-rdynamic", "-o", "own")
        self.assertTrue(self.said("./own").startswith("note: ./own contains an allocator: only blocks that it gets from"))

    def test_leaks_of_python_are_better_seen_at_the_peak(self):
        self.said("-q", self.python(), "-c", "all = [bytearray(1009) for i in range(2300)]",
                  env={**PLAIN, "PYTHONMALLOC": "malloc"})
        path = next(self.tmp.glob("python*.allo"))
        done = self.run_program(ALLO, "leaks", path)
        self.assertIn(f"CPython frees its objects when it exits: 'allo leaks --at peak {path}'".encode(), done.stderr)
        done = self.run_program(ALLO, "leaks", "--at", "peak", path)
        self.assertNotIn(b"CPython frees", done.stderr)
        self.assertRegex(done.stdout, rb"2\.\d+ MiB")
