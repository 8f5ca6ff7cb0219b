"""Programs whose memory is mostly not malloc's: allo recognises their runtime, and says what to do while they start."""
import shutil
import subprocess
import sys

from allotest import ALLO, ENVIRONMENT, HANG, Test

# A symbol of each runtime, and a part of the advice.
SYMBOLS = {"_ZN4node5StartEiPPc": 'set NODE_OPTIONS="--perf-basic-prof',
           "JLI_Launch": "jcmd PID", "luaJIT_setmode": "add --track malloc,new,mmap"}
LUA = "is LuaJIT, which maps its heap itself: add --track malloc,new,mmap to record that"
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

    def test_python_needs_no_advice(self):
        self.assertNotIn("note: ", self.said(self.python(), "-c", "print(1)"))

    def lua(self, statements="free(malloc(9));"):
        """A program like LuaJIT."""
        self.file("lua.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nvoid luaJIT_setmode(void) {}\n"
                  f"int main(void) {{ {statements} }}\n")
        self.must("gcc", "lua.c", "-rdynamic", "-o", "lua")
        return self.tmp / "lua"

    def test_advice_is_given_once(self):
        lua = self.lua()
        self.assertIn(f"note: {lua} {LUA}", self.said(lua).splitlines()[0])
        self.assertNotIn("LuaJIT", self.said("-q", lua))

    def test_a_runtime_behind_a_shell(self):
        """As a shim runs it, as a script runs it, and as a child."""
        lua = self.lua("free(malloc(9)); sleep(1);")
        self.file("script", f"#!{lua}\n").chmod(0o755)
        for command in (["sh", "-c", f"exec {lua}"], ["./script"], ["env", lua], ["sh", "-c", f"{lua}; true"]):
            self.assertEqual(self.said(*command).count(f"note: lua {LUA}"), 1, command)

    def test_advice_comes_while_the_program_runs(self):
        lua = self.lua("free(malloc(9)); getchar();")
        process = subprocess.Popen([ALLO, "run", "sh", "-c", f"exec {lua}"], cwd=self.tmp, env=PLAIN,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(LUA, process.stderr.readline().decode())
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

    def test_an_allocator_that_cannot_be_patched_is_told(self):
        """A free() of one byte has no room for a jump."""
        self.file("own.c", "#include <stddef.h>\nstatic char room[1 << 20]; static size_t used;\n"
                  "void *malloc(size_t size) { used += 16 + size / 16 * 16; return room + used; }\n"
                  "void free(void *block) { (void)block; }\nint main(void) { return !malloc(9); }\n")
        self.must("gcc", "-O1", "own.c", "-fno-builtin", "-rdynamic", "-o", "own")
        self.assertIn(f"note: not recorded: {self.tmp}/own: the functions of the allocator that it contains cannot be patched\n",
                      self.said("./own"))

    def test_leaks_of_python_are_better_seen_at_the_peak(self):
        self.said("-q", self.python(), "-c", "all = [bytearray(1009) for i in range(2300)]",
                  env={**PLAIN, "PYTHONMALLOC": "malloc"})
        path = next(self.tmp.glob("python*.allo"))
        done = self.run_program(ALLO, "leaks", path)
        self.assertIn(f"CPython frees its objects when it exits: 'allo leaks --at peak {path}'".encode(), done.stderr)
        done = self.run_program(ALLO, "leaks", "--at", "peak", path)
        self.assertNotIn(b"CPython frees", done.stderr)
        self.assertRegex(done.stdout, rb"2\.\d+ MiB")
