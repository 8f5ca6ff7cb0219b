"""Programs that benchmarks record, and files of other profilers."""
import pathlib
import subprocess

from goals import PYTHON, made, quietly

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / "workloads"


def built(name, *libraries, out=None):
    source = next(WORK.glob(f"{name}.c*"))
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    return made(out or name, lambda path: quietly(compiler, "-O2", "-g", "-pthread", source, "-o", path, *libraries))


def compiled():
    """The source that cc1 compiles."""
    def make(path):
        with open(path, "w") as out:
            subprocess.run([PYTHON, WORK / "gen_c.py", "60"], stdout=out, check=True)
    return made("generated.c", make)


def valgrind_source():
    return made("python.json", lambda path: quietly(
        "valgrind", "--tool=dhat", f"--dhat-out-file={path}", PYTHON, "-c",
        "import json, re, argparse, unittest, http.client, email"))


def dhat(kind, size):
    source = valgrind_source() if kind == "valgrind" else HERE.parent / "golden" / "dhat" / "dhat-rs-heap.json"
    return made(f"{kind}-{size}.json", lambda path: quietly(PYTHON, HERE / "gen_dhat.py", source, path, size))


class Workload:
    """A program, and limits for the cost of recording it."""

    def __init__(self, name, command, cpu, against_heaptrack, event_bytes, threads=1, heaptrack_works=True):
        self.name, self.command = name, [str(word) for word in command]
        self.cpu = cpu                              # at most, as a ratio to no profiler
        self.against_heaptrack = against_heaptrack  # how many times what we add heaptrack must add
        self.event_bytes = event_bytes              # at most, of the raw stream
        self.threads = threads
        # Debian's heaptrack 1.4 loses data on some programs unless it leaves its stream as recorded.
        self.heaptrack_works = heaptrack_works


def workloads():
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    return [
        Workload("python", [PYTHON, WORK / "objects.py", 40], 2.1, 6, 2.6),
        Workload("sqlite", ["sqlite3", ":memory:", f".read {WORK / 'tables.sql'}"], 1.12, 10, 2.6),
        Workload("cc1", [cc1, "-quiet", "-O2", compiled(), "-o", "/dev/null"], 1.20, 4, 3.5, heaptrack_works=False),
        Workload("stl", [built("containers"), 40], 1.65, 11, 2.6),
        Workload("mt", [built("workers"), 2, 30, 10000000], 2.6, 11, 5.5, threads=3, heaptrack_works=False),
    ]
