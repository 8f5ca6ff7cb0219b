"""Functions of Python in stacks, compared with what Python says itself, and objects of Python."""
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest
import urllib.request

from allotest import ALLO, ENVIRONMENT, HANG, ROOT, Test, wait_until
from pythons import interpreters
from tracing import tracing_obstacle

FRAMES = ROOT / "tests/programs/python_frames.py"
PLAIN = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("PYTHON")}


def python_stacks(text, least):
    """Of the output of 'allo events --stacks': the Python frames of each allocation of at least `least` bytes, by size."""
    stacks, frames = {}, None
    for line in text.splitlines():
        if not line.startswith("    "):
            size = re.match(r"\S+  \d+  alloc +\S+  (\d+)", line)
            frames = stacks.setdefault(int(size[1]), []) if size and int(size[1]) >= least else None
        elif frames is not None and not re.match(r"    (\S+\+)?0x[0-9a-f]+$", line):
            function, place = line.strip().rsplit("  ", 1)
            file, colon, number = place.rpartition(":")
            frames.append([function, file, int(number)] if colon else [function, place, 0])
    return stacks


class PythonTest(Test):
    SANITIZED = False

    def each(self, check):
        """Calls a check with the path of each interpreter."""
        if not interpreters():
            self.skipTest("no CPython of a known version is on this machine")
        for version, path in interpreters().items():
            with self.subTest(python=version):
                check(path)

    def record(self, *command, options=(), env=PLAIN, name="out.allo"):
        done = self.run_program(ALLO, "run", "-f", "-q", *options, "-o", name, "--", *command, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()


class Functions(PythonTest):
    """Functions and lines in stacks."""

    def compare(self, path, *words, options=(), env=PLAIN):
        said = self.record(path, FRAMES, *words, options=options, env=env)
        wanted = dict(json.loads(line) for line in said.splitlines())
        seen = python_stacks(self.must(ALLO, "events", "--stacks", "out.allo"), 1_000_000)
        self.assertGreater(len(wanted), 600)
        for size, frames in wanted.items():
            self.assertEqual(seen.get(size), frames)

    def test_each_frame_is_what_python_says(self):
        self.each(lambda path: self.compare(path, "deep", "threads", options=["--track", "malloc"]))

    def test_frames_are_right_without_the_gil(self):
        self.each(lambda path: self.compare(path, "released", "threads", options=["--track", "malloc"]))

    def test_frames_are_right_while_objects_are_recorded(self):
        """With the JIT of 3.14 and later, if the interpreter has one."""
        self.each(lambda path: self.compare(path, env={**PLAIN, "PYTHON_JIT": "1"}))

    def test_frames_of_greenlets_are_right(self):
        paths = [path for path in interpreters().values() if self.run_program(path, "-c", "import greenlet", env=PLAIN).returncode == 0]
        for path in paths:
            with self.subTest(python=path):
                self.compare(path, "greenlets", "threads")
        if not paths:
            self.skipTest("greenlet is not installed")


# A part of each table of offsets in _PyRuntime is made up, so that no layout fits.
FUTURE = """
#include <stdint.h>
#include <stdlib.h>
char _PyRuntime[4096] = "xdebugpy";
const uint32_t Py_Version = %s;
char PyCode_Type[4096];
void *PyThreadState_GetUnchecked(void) { abort(); }
void *PyGILState_GetThisThreadState(void) { abort(); }
int main(void) { for (int i = 0; i < 100; i++) free(malloc(100)); }
"""

OBJECTS = """
class Thing:
    pass
things = [Thing() for i in range(20000)]
text = [str(i) for i in range(20000)]
"""

HOST = """
#include <dlfcn.h>
int main(int count, char **words)
{
    void *python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    int (*run)(int, char **);
    if (!python)
        return 2;
    *(void **)&run = dlsym(python, "Py_BytesMain");
    return run(count - 1, words + 1);
}
"""

# Unloads the library each time.
VISITING_HOST = """
#include <dlfcn.h>
#include <stdlib.h>
#define FIND(pointer, name) (*(void **)&(pointer) = dlsym(python, name))
int main(int count, char **words)
{
    for (int i = 0; i < 2; i++) {
        void *python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
        void (*begin)(int);
        int (*run)(const char *), (*end)(void);
        if (!python || !FIND(begin, "Py_InitializeEx") || !FIND(run, "PyRun_SimpleString") || !FIND(end, "Py_FinalizeEx"))
            return 2;
        begin(0);
        if (run(words[2]) != 0 || end() != 0 || dlclose(python) != 0)
            return 3;
        for (int k = 0; k < 1009; k++)
            free(malloc(100000));
    }
    return 0;
}
"""


class Objects(PythonTest):
    """Allocations of Python's own allocators."""

    def counts(self, name="out.allo"):
        return self.allo_json("info", name)["recording"]

    def test_every_object_is_recorded(self):
        """PYTHONMALLOC=malloc makes each object a block of malloc; with our hooks they stay in arenas."""
        def check(path):
            if path.endswith("t"):
                self.skipTest("builds without GIL refuse PYTHONMALLOC=malloc")
            fixed = {**PLAIN, "PYTHONHASHSEED": "0"}
            self.record(path, "-S", "-c", OBJECTS, env=fixed)
            seen = self.counts()
            self.record(path, "-S", "-c", OBJECTS, env={**fixed, "PYTHONMALLOC": "malloc"})
            wanted = self.counts()
            self.assertGreater(wanted["allocations"], 40_000)
            # The interpreter copies the variable that differs.
            self.assertLess(abs(seen["allocations"] - wanted["allocations"]), 20)
            self.assertLess(abs(seen["frees"] - wanted["frees"]), 20)
            self.record(path, "-S", "-c", OBJECTS, options=["--track", "malloc,new"])
            self.assertLess(self.counts()["allocations"], wanted["allocations"] / 5)
        self.each(check)

    def test_arenas_do_not_count_in_addition(self):
        """Arenas are mapped, and have at least 256 KiB.  Nothing else here is as large."""
        def check(path):
            self.record(path, "-S", "-c", OBJECTS, options=["--track", "malloc,new,mmap,python"])
            said = self.must(ALLO, "events", "out.allo")
            sizes = [int(size) for size in re.findall(r"^\S+  \d+  (?:re)?alloc +\S+  (\d+)", said, re.M)]
            self.assertGreater(sum(sizes), 2_000_000)
            self.assertLess(max(sizes), 256 * 1024)
        self.each(check)

    def test_debug_hooks_of_the_interpreter_keep_working(self):
        def check(path):
            self.record(path, "-S", "-c", OBJECTS, env={**PLAIN, "PYTHONMALLOC": "debug"})
            self.assertGreater(self.counts()["allocations"], 40_000)
        self.each(check)

    def test_objects_are_recorded_from_the_first_one_on_behind_wrappers_of_the_interpreter(self):
        def check(path):
            for words in (["-X", "dev"], ["-X", "tracemalloc"], ["-X", "dev", "-X", "tracemalloc"]):
                self.record(path, *words, "-S", "-c", OBJECTS, env=PLAIN)
                self.assertNotIn("not allocated", self.run_program(ALLO, "verify", "out.allo").stdout.decode(), words)
        self.each(check)

    def test_calls_of_malloc_by_its_debug_hooks_are_not_recorded_again(self):
        """They are the last thing that these functions do, so no frame is between their hook and that of malloc."""
        def check(path):
            for kind in ("debug", "malloc_debug"):
                self.record(path, "-S", "-c", OBJECTS, env={**PLAIN, "PYTHONMALLOC": kind})
                self.assertNotIn("not allocated", self.run_program(ALLO, "verify", "out.allo").stdout.decode(), kind)
        self.each(check)

    def test_the_sites_are_python_lines(self):
        def check(path):
            script = self.file("app.py", "def keep(n):\n    return {i: bytes(90) for i in range(n)}\n\n\nkept = keep(50000)\n")
            self.record(path, "-S", script)
            rows = self.allo_json("top", "out.allo", "-n", "1", "--by", "site")["rows"]
            self.assertEqual((rows[0]["file"].rpartition("/")[2], rows[0]["line"]), ("app.py", 2))
        self.each(check)

    def test_python_code_has_module_rows(self):
        def check(path):
            script = self.file("app.py", "import json\nkept = json.loads(json.dumps(list(range(1000, 9000))))\n"
                               "more = [bytes(90) for _ in range(50000)]\n")
            self.record(path, "-S", script)
            rows = [row["name"] for row in self.allo_json("top", "out.allo", "-n", "0", "--by", "module")["rows"]]
            self.assertEqual(rows[0], str(self.tmp))
            self.assertNotIn("???", rows)
            self.assertRegex(self.allo("summary", "out.allo"), rf"by module: .*\n.*\n +[\d.]+ MiB .*  {self.tmp}\n")
            kept = self.allo_json("top", "out.allo", "-n", "0", "-F", f"mod:={self.tmp}")
            self.assertIn("app.py", {row["file"].rpartition("/")[2] for row in kept["rows"] if row.get("file")})
        self.each(check)

    def test_forked_workers_are_recorded(self):
        def check(path):
            self.record(path, "-c", "import os\nfor i in range(3):\n    if os.fork() == 0:\n        x = [str(i) for i in "
                        "range(5000)]\n        os._exit(0)\n    os.wait()\n")
            for name in sorted(self.tmp.glob("out.allo.d/*.allo")):
                self.assertIn("py::", self.must(ALLO, "convert", name, "--to", "json"))
        self.each(check)

    def test_a_version_from_the_future_gets_no_functions_and_a_note(self):
        self.file("future.c", FUTURE % "0x031000f0")
        self.must("gcc", "-rdynamic", "future.c", "-o", "future")
        self.record("./future")
        self.assertIn("Python    3.16.0, without functions; not supported: unknown version (3.10 to 3.15 are)",
                      self.must(ALLO, "info", "out.allo"))
        self.assertIn("note: 1 interpreter is of a version that is not supported",
                      self.run_program(ALLO, "top", "out.allo").stderr.decode())

    def test_each_wrong_offset_gets_no_functions_and_a_note(self):
        """In a real interpreter, whose own table of offsets is changed."""
        def check(path):
            library, env = self.library_of(path)
            content = pathlib.Path(library).read_bytes()
            found = re.search(rb"xdebugpy..(.)\x03\0{4}", content, re.DOTALL)
            if not found:
                self.skipTest(f"{path} has no table of offsets")
            table = found.start()
            self.file("host.c", HOST)
            self.must("gcc", "host.c", "-ldl", "-o", "host")
            places = {13: (184, 232, 240, 248, 264, 280, 296, 304, 312, 344),
                      14: (208, 256, 264, 272, 288, 320, 336, 344, 352, 384),
                      15: (208, 320, 328, 336, 352, 384, 400, 408, 416, 448)}[found[1][0]]
            for place in places:
                changed = bytearray(content)
                struct.pack_into("<Q", changed, table + place, struct.unpack_from("<Q", content, table + place)[0] + 8)
                (self.tmp / os.path.basename(library)).write_bytes(changed)
                self.record("./host", self.tmp / os.path.basename(library), "-S", "-c", OBJECTS, env=env)
                said = self.must(ALLO, "info", "out.allo")
                self.assertIn("without functions", said)
                self.assertIn("unexpected layout", said)
                self.assertNotIn("py::", self.must(ALLO, "convert", "out.allo", "--to", "json"))
                self.assertIn("note: 1 interpreter", self.run_program(ALLO, "top", "out.allo").stderr.decode())
                self.assertGreater(self.counts()["allocations"], 40_000)
        self.each(check)

    def test_offsets_that_disagree_get_no_functions(self):
        self.file("future.c", FUTURE % "0x030d00f0")
        self.must("gcc", "-rdynamic", "future.c", "-o", "future")
        self.record("./future")
        self.assertIn("unexpected layout", self.must(ALLO, "info", "out.allo"))

    def library_of(self, path):
        """The shared library of an interpreter, and an environment for programs that load it."""
        said = self.must(path, "-c", "import sysconfig as s; print(s.get_config_var('LIBDIR')); "
                         "print(s.get_config_var('INSTSONAME'))")
        library = os.path.join(*said.split())
        if ".so" not in library or not os.path.exists(library):
            self.skipTest(f"{path} has no shared library")
        return library, {**PLAIN, "PYTHONHOME": os.path.dirname(os.path.dirname(path)), "PYTHONNOUSERSITE": "1"}

    def test_a_library_that_is_loaded_later(self):
        def check(path):
            library, env = self.library_of(path)
            self.file("host.c", HOST)
            self.must("gcc", "host.c", "-ldl", "-o", "host")
            self.record("./host", library, "-S", "-c", OBJECTS, env=env)
            self.assertIn("with functions and objects", self.must(ALLO, "info", "out.allo"))
            self.assertIn("py::", self.must(ALLO, "convert", "out.allo", "--to", "json"))
        self.each(check)

    def test_a_library_that_is_unloaded(self):
        def check(path):
            library, env = self.library_of(path)
            self.file("host.c", VISITING_HOST)
            self.must("gcc", "host.c", "-ldl", "-o", "host")
            self.record("./host", library, OBJECTS, env=env)
            blocks = re.findall(r"  alloc +\S+  100000\b", self.must(ALLO, "events", "out.allo"))
            self.assertEqual(len(blocks), 2 * 1009)
            self.assertIn("with functions and objects", self.must(ALLO, "info", "out.allo"))
        self.each(check)


# Executes the lines that it is given.
OBEDIENT = """
import os, sys
class Thing:
    pass
things = []
print(os.getpid(), flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""

MAKE = "things += [Thing() for i in range(5000)]"
TRACE = "import tracemalloc; tracemalloc.start(5)"


class ObedientTest(PythonTest):
    """An interpreter that obeys."""

    def start(self, *words, env=()):
        """Starts a command that ends with an interpreter; returns it, and the interpreter's pid."""
        self.runtime = {**PLAIN, "XDG_RUNTIME_DIR": str(self.tmp), **dict(env)}
        child = subprocess.Popen([*map(str, words), "-c", OBEDIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, cwd=self.tmp, env=self.runtime)
        for stream in (child.stdin, child.stdout):
            self.addCleanup(stream.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child, child.stdout.readline().strip()

    def record_from_start(self, *words, env=()):
        return self.start(ALLO, "run", "-q", "-f", *words, env=env)

    def obey(self, child, *lines):
        for line in lines:
            child.stdin.write(line + "\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), "done\n")

    def end(self, child):
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0)


class Wrappers(ObedientTest):
    """Wrappers around Python's allocators, before and after recordings begin."""

    def recorded(self, name):
        """The number of blocks that the lines have allocated."""
        rows = self.allo_json("top", name, "-n", "0", "--by", "file", "-M", "alloc_blocks")["rows"]
        return sum(row["self"] for row in rows if row["name"] == "<string>")

    def record_twice(self, child, pid, *between):
        """Two recordings of a process, with commands in between."""
        wait_until(lambda: any((self.tmp / "allo").glob(f"{pid}*.sock")), "the control socket is open")
        for number in (1, 2):
            name = f"{pid}.{number}.allo"
            self.must(ALLO, "start", "-o", self.tmp / name, pid, env=self.runtime)
            self.obey(child, MAKE, "things.clear()")
            self.must(ALLO, "stop", pid, env=self.runtime)
            self.assertGreaterEqual(self.recorded(name), 5000)
            # tracemalloc itself allocates two blocks for each object.
            self.assertLess(self.recorded(name), 3.5 * 5000)
            self.obey(child, *between)

    def test_wrappers_are_there_before_the_recording(self):
        def check(path):
            for words, env in ((["-X", "tracemalloc"], {}), (["-X", "dev"], {}), ([], {"PYTHONMALLOC": "debug"}),
                               (["-X", "tracemalloc", "-X", "dev"], {})):
                child, pid = self.record_from_start("--dormant", "--", path, *words, env=env)
                self.record_twice(child, pid, MAKE, "import tracemalloc; tracemalloc.stop()", MAKE, TRACE, MAKE)
                self.end(child)
        self.each(check)

    def test_wrappers_come_and_go_while_recordings_begin_and_end(self):
        def check(path):
            child, pid = self.record_from_start("--dormant", "--", path)
            for _ in range(4):
                self.record_twice(child, pid, TRACE, MAKE)
                self.obey(child, "tracemalloc.stop()", "things.clear()", MAKE)
            self.end(child)
        self.each(check)

    def test_wrappers_are_recorded_from_the_start(self):
        def check(path):
            for words in (["-X", "tracemalloc"], ["-X", "dev"], ["-X", "dev", "-X", "tracemalloc=3"]):
                child, _ = self.record_from_start("-o", "begun.allo", "--", path, *words)
                self.obey(child, MAKE, TRACE, MAKE, "tracemalloc.stop()", MAKE)
                self.end(child)
                self.assertGreaterEqual(self.recorded("begun.allo"), 15_000)
        self.each(check)


KEPT = """class Thing:
    pass


def keep(n):
    return [Thing() for i in range(n)]


things = []


def hold(n):
    things.extend(keep(n))
"""

OBSTACLE = tracing_obstacle()


@unittest.skipIf(OBSTACLE, OBSTACLE)
class Attached(ObedientTest):
    """Interpreters that were started without the runtime."""

    def test_functions_and_lines_of_a_running_interpreter(self):
        def check(path):
            kept = self.file("kept.py", KEPT)
            child, pid = self.start(path)
            self.obey(child, "import kept", "kept.hold(1000)")
            recording = json.loads(self.must(ALLO, "attach", pid, "--json", env=self.runtime))["file"]
            self.obey(child, "kept.hold(3000)")
            self.must(ALLO, "detach", pid, env=self.runtime)
            self.obey(child, "kept.hold(1000)")
            self.end(child)
            row = self.allo_json("top", recording, "-n", "1", "--by", "site", "-M", "end_blocks")["rows"][0]
            self.assertIn(row["name"], ("keep", "keep.<locals>.<listcomp>", "<listcomp>"))
            self.assertEqual((pathlib.Path(row["file"]).name, row["line"]), ("kept.py", 6))
            self.assertGreaterEqual(row["self"], 3000)
            self.assertLess(row["self"], 2 * 3000 + 500)  # an instance may have its attributes in a block of its own
            stacks = self.must(ALLO, "events", "--stacks", recording)
            native = r"(?:    /\S+\+0x\w+\n)*"  # before 3.11, calls go through functions of the interpreter
            self.assertRegex(stacks, f"    keep  {kept}:6\n{native}    hold  {kept}:13\n{native}    <module>  <string>:1\n")
        self.each(check)


class Application(PythonTest):
    """A program that we did not write: pydoc's server, which has a thread, generators and C extensions."""

    def test_pydoc(self):
        def check(path):
            env = {**PLAIN, "PYTHONUNBUFFERED": "1"}
            # Most of the memory would be the compiler's if modules were not compiled yet.
            self.must(path, "-c", "import decimal, http.server, json, pydoc, sqlite3", env=env)
            child = subprocess.Popen([ALLO, "run", "-f", "-q", "-o", "out.allo", "--", path, "-m", "pydoc", "-p", "0"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.tmp, env=env)
            self.addCleanup(child.stdin.close)
            self.addCleanup(child.stdout.close)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            address = re.search(r"http://\S+", child.stdout.readline())[0]
            for page in ("index", "json", "sqlite3", "decimal"):
                with urllib.request.urlopen(f"{address}{page}.html", timeout=HANG) as reply:
                    self.assertIn(b"</html>", reply.read())
            child.stdin.write("q\n")
            child.stdin.flush()
            child.stdout.read()
            self.assertEqual(child.wait(HANG), 0)

            said = self.must(ALLO, "summary", "out.allo")
            self.assertRegex(said.partition("most allocated")[2], r"  (HTMLDoc\.)?markup  pydoc\.py:\d+")
            self.must(ALLO, "verify", "out.allo")
            rows = self.allo_json("top", "out.allo", "-n", "0", "--by", "site", "-M", "alloc_blocks")["rows"]
            files = [row.get("file") or "" for row in rows]
            of_python = sum(row["self"] for row, file in zip(rows, files) if file.endswith(".py") or "<frozen" in file)
            self.assertGreater(of_python, 0.8 * sum(row["self"] for row in rows))
            # The lines of functions are within them.  Instructions that make a function's cells have none.
            source = pathlib.Path(next(file for file in files if file.endswith("/pydoc.py"))).read_text().splitlines()
            checked = 0
            for row, file in zip(rows, files):
                name = row["name"].rpartition(".")[2]
                if file.endswith("/pydoc.py") and "line" in row and name in ("markup", "section", "multicolumn", "docmodule", "docclass"):
                    above = [line for line in source[:row["line"]] if line.startswith("    def ")]
                    self.assertTrue(above[-1].startswith(f"    def {name}("), row)
                    checked += 1
            self.assertGreaterEqual(checked, 5)
        self.each(check)
