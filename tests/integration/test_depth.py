"""Deep recursions: the cost of recording and of every command grows with the depth, not with its square."""
import os
import subprocess

from allotest import ALLO, ENVIRONMENT
from pythons import interpreters
from recordings import PROGRAMS, CaptureTest, built, preloaded

DEPTH, TIMES = 8000, 4
# Linear is TIMES, quadratic is TIMES squared.  The rest is for caches, other processes and fixed costs.
MOST = 10

COMMANDS = {
    "top": ["top"], "top --by site": ["top", "--by", "site"], "tree": ["tree"], "tree --invert": ["tree", "--invert"],
    "tree --dhat": ["tree", "--dhat"], "leaks": ["leaks"], "peek": ["peek", "even"], "list": ["list", "odd"],
    "summary": ["summary"], "info": ["info"], "hist": ["hist"], "timeline": ["timeline"], "threads": ["threads"],
    "blocks": ["blocks"], "verify": ["verify"],
}
# Formats that do not repeat the callers of each stack.
FORMATS = ["callgrind", "chrome-trace", "firefox", "json", "massif", "spall", "sqlite", "svg"]
SPELLED = ["csv", "dhat", "folded", "gperftools", "pprof", "speedscope"]


class Depth(CaptureTest):
    def cpu(self, *command, env=ENVIRONMENT, enough=0):
        """The CPU time of a process and its children, the least of three runs; fewer if it is below `enough`."""
        times = []
        while len(times) < 3 and (not times or min(times) >= enough):
            with open(self.tmp / "output", "wb") as output:
                child = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, cwd=self.tmp,
                                         env=env)
                _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0, (self.tmp / "output").read_bytes()[-3000:])
            times.append(used.ru_utime + used.ru_stime)
        return min(times)

    def check(self, name, command, env=lambda depth: ENVIRONMENT):
        with self.subTest(name):
            small = self.cpu(*command(DEPTH), env=env(DEPTH))
            large = self.cpu(*command(TIMES * DEPTH), env=env(TIMES * DEPTH), enough=MOST * small)
            self.assertLess(large, MOST * small, f"{small} s, {large} s")

    def record_both(self):
        for depth in (DEPTH, TIMES * DEPTH):
            self.allo("run", "-q", "-o", f"{depth}.allo", "--", built("deep.c"), depth)

    def test_recording_takes_time_by_the_depth(self):
        def command(depth):
            return ["sh", "-c", f'rm -f {depth}.raw; LD_PRELOAD="$PRELOAD" exec "$0" "$@"', built("deep.c"), depth]

        def environment(depth):
            given = preloaded(self.tmp / f"{depth}.raw")
            return {**given, "PRELOAD": given["LD_PRELOAD"], "LD_PRELOAD": ""}

        self.check("record", command, environment)

    def test_recording_python_takes_time_by_the_depth(self):
        # In 3.10, each level is a deep C stack as well.  Frames have one layout in 3.11, and one in later versions.
        minors = {int(version.split(".")[1]): path for version, path in interpreters().items()}
        paths = {min(minor, 12): path for minor, path in minors.items() if minor > 10}
        for path in paths.values():
            self.check(f"record {path}", lambda depth, path=path: [path, PROGRAMS / "python_depth.py", depth],
                       lambda depth: preloaded(self.tmp / f"%p.{depth}.raw"))
        if not paths:
            self.skipTest("no CPython since 3.11 is on this machine")

    def test_commands_take_time_by_the_depth(self):
        self.record_both()
        for name, words in COMMANDS.items():
            self.check(name, lambda depth, words=words: [ALLO, *words, f"{depth}.allo"])
        self.check("diff", lambda depth: [ALLO, "diff", f"{depth}.allo", f"{depth}.allo"])
        self.check("sql", lambda depth: [ALLO, "sql", "--no-cache", f"{depth}.allo", "select count(*) from site"])

    def test_formats_take_time_by_the_depth(self):
        self.record_both()
        for name in FORMATS:
            self.check(name, lambda depth, name=name: [ALLO, "convert", "-f", "-q", f"{depth}.allo", "--to", name, "-o",
                                                       f"{depth}.{name}"])

    def test_numbers_of_a_deep_recursion_are_exact(self):
        self.allo("run", "-q", "-o", "d.allo", "--", built("deep.c"), 20000)
        rows = {row["name"]: (row["self"], row["total"])
                for row in self.allo_json("top", "-M", "alloc_bytes", "-n", "0", "d.allo")["rows"]}
        even = sum(100 + depth % 100 for depth in range(1, 20001, 2))
        odd = sum(200 + depth % 100 for depth in range(2, 20001, 2))
        self.assertEqual(rows["even"], (even, even + odd))
        self.assertEqual(rows["odd"], (odd, even + odd - 101))

    def test_formats_that_repeat_callers_refuse_a_deep_recursion(self):
        self.allo("run", "-q", "-o", "d.allo", "--", built("deep.c"), 20000)
        for name in SPELLED:
            with self.subTest(name):
                error = self.allo_fails("convert", "d.allo", "--to", name, "-o", f"d.{name}")
                self.assertRegex(error, f"{name} repeats the callers of every stack: .* becomes 2[0-9]{{8}} frames")
                self.assertFalse((self.tmp / f"d.{name}").exists())
                self.allo("convert", "d.allo", "--stack-depth", "100", "--to", name, "-o", f"d.{name}")
