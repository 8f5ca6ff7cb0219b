"""Sites of a recording, at the peak and in total, against Valgrind's DHAT on the same program."""
import json

from allotest import ALLO, BUILD
from recordings import PROGRAMS, CaptureTest, built


def rust(source):
    """A program of Rust's, built when it is not there or older than its source."""
    source = PROGRAMS / source
    out = BUILD / "programs" / f"{source.stem}-rust"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        out.parent.mkdir(exist_ok=True)
        return ["rustc", "-g", "-O", "-o", out, source], out
    return None, out


class Sites(CaptureTest):
    METRICS = ("alloc_bytes", "alloc_blocks", "peak_bytes", "peak_blocks", "end_bytes", "end_blocks")

    def rows(self, path, functions, metric):
        """The totals of some functions of the program."""
        found = self.allo_json("top", "-n", "0", "-M", metric, path)
        rows = {row["name"].split("::")[-1].split("(")[0]: row["total"] for row in found["rows"]}
        return {name: rows.get(name, 0) for name in functions}

    def both(self, command):
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=dhat.json", "--run-libc-freeres=no",
                  "--run-cxx-freeres=no", *command)
        self.must(ALLO, "run", "-q", "-f", "-o", "made.allo", "--", *command)
        return "dhat.json", "made.allo"

    def must_agree(self, command, functions):
        dhat, ours = self.both(command)
        self.assertNotIn(0, self.rows(dhat, functions, "alloc_bytes").values())
        for metric in self.METRICS:
            theirs = self.rows(dhat, functions, metric)
            self.assertEqual(self.rows(ours, functions, metric), theirs, metric)
        sums = [{metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}
                for path in (dhat, ours)]
        for metric in self.METRICS:
            self.assertEqual(sums[1][metric], sums[0][metric], metric)
        return dhat, ours

    def must_live_in_the_same_order(self, dhat, ours, functions):
        """One counts instructions, the other nanoseconds; blocks that live longer live longer by both."""
        orders = []
        for path in (dhat, ours):
            lived = self.rows(path, functions, "lifetime")
            blocks = self.rows(path, functions, "alloc_blocks")
            orders.append(sorted(functions, key=lambda name: lived[name] / blocks[name]))
        self.assertEqual(orders[0], orders[1])
        self.assertEqual(orders[0], list(functions))

    def test_c(self):
        functions = ("brief", "middling", "lasting")
        self.must_live_in_the_same_order(*self.must_agree([built("lives.c")], functions), functions)

    def test_cpp(self):
        self.must_agree([built("boxes.cpp"), 23, 7, 11], ("small", "add", "leak"))

    def test_rust(self):
        functions = ("brief", "middling", "lasting")
        build, program = rust("lives.rs")
        if build:
            self.must(*build)
        dhat, ours = self.must_agree([program], functions)
        self.must_live_in_the_same_order(dhat, ours, functions)

    def test_the_holders_of_the_peak_are_known(self):
        """Counts that are known in advance."""
        _, ours = self.both([built("lives.c")])
        self.assertEqual(self.rows(ours, ("brief", "middling", "lasting"), "peak_bytes"),
                         {"brief": 0, "middling": 293 * 2017, "lasting": 71 * 3019})
        report = json.loads(self.allo("info", "--json", ours))["recording"]
        self.assertEqual(report["allocations"], 2 * 331 + 293 + 71)
