#!/usr/bin/env python3
"""Benchmarks of recording: its cost, against no profiler and against heaptrack in the same run.

usage: capture.py BUILD [WORD...]       only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  CPU time is that of the whole tree of processes.  Rounds are
interleaved, and of each way to run a program the best one counts; where neighbours take a shared machine's
caches away, there are more rounds, until the best ones stand.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from goals import ALLO, BUILD, DATA, PYTHON, at_least, at_most, made, run_benches
from measure import Figures, compare, memory_of, once
from programs import WORK, Workload, built, workloads

RUNTIME = BUILD / "capture" / "liballo.so.0"
OUT = DATA / "recorded"
MIB = 1 << 20
SLOT = 1 << 16
ROUNDS = 5
ROUNDS_MOST = 20
PEER_ROUNDS = 2  # the peers take long, and a hundredth of theirs does not matter


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def size_of(folder):
    """Bytes on the disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.iterdir())


def stream_of(path):
    """Bytes of a raw recording's blocks with their headers: without the file header and the unused ends of slots."""
    with open(path, "rb") as file:
        slots = range(SLOT, path.stat().st_size, SLOT)
        headers = [os.pread(file.fileno(), 24, at) for at in slots]
    return sum(64 + int.from_bytes(header[20:24], "little") for header in headers if header[:4] == b"ASLT")


def recorded_by(command):
    """A way to record: the words in front of the program; OUT stands for the output file."""
    return [str(word).replace("{out}", str(OUT)) for word in command]


NONE = []
RAW = recorded_by([ALLO, "run", "--raw", "-q", "-o", "{out}/%p.allo", "--"])
KEPT = recorded_by([ALLO, "run", "-q", "-o", "{out}/%p.allo", "--"])
HEAPTRACK_RAW = recorded_by(["heaptrack", "--raw", "-o", "{out}/heaptrack"])
HEAPTRACK = recorded_by(["heaptrack", "-o", "{out}/heaptrack"])


def measured(workload, ways, rounds):
    """Measurements of each way, and the size of its file."""
    figures = [Figures() for _ in ways]
    stood = 0  # rounds in which nothing was faster by a hundredth than before
    for number in range(ROUNDS_MOST):
        before = [figure.cpu for figure in figures]
        for way, figure in zip(ways, figures):
            if number >= PEER_ROUNDS and way in (HEAPTRACK, HEAPTRACK_RAW):
                continue
            emptied(OUT)
            os.sync()  # what others have left to be written is not this one's
            once([*way, *workload.command], figure, has_child=way is KEPT)
            figure.size = size_of(OUT)
            if way is RAW and not hasattr(figure, "events"):
                largest = max(OUT.iterdir(), key=lambda path: path.stat().st_size)
                figure.events, figure.stream = info(largest)["events"], stream_of(largest)
        stood = stood + 1 if all(figure.cpu > 0.99 * was for figure, was in zip(figures, before)) else 0
        if number + 1 >= rounds and stood >= rounds:
            break
    return figures


def info(path):
    said = subprocess.run([ALLO, "info", "--json", path], capture_output=True, check=True).stdout
    return json.loads(said)["recording"]


def bench_cpu():
    for work in workloads():
        none, ours, peer = measured(work, [NONE, RAW, HEAPTRACK_RAW], ROUNDS)
        ratio, peer_ratio = ours.cpu / none.cpu, peer.cpu / none.cpu
        at_most(f"{work.name}: CPU, to no profiler", ratio, work.cpu, "x",
                f"{none.cpu:.3f} s, {ours.cpu:.3f} s, heaptrack --raw {peer.cpu:.3f} s; "
                f"{ours.events / 1e6:.1f} M events, {(ours.cpu - none.cpu) / ours.events * 1e9:.1f} ns each")
        at_least(f"{work.name}: what heaptrack --raw adds, to what we add", (peer_ratio - 1) / max(ratio - 1, 1e-3),
                 work.against_heaptrack, f"{peer_ratio:.2f} x and {ratio:.2f} x")
        # Within the noise of a shared machine.
        at_most(f"{work.name}: wall time, to CPU", ours.wall / none.wall / ratio, 1.05, "x",
                f"{none.wall:.3f} s, {ours.wall:.3f} s: {ours.wall / none.wall:.2f} x")
        at_most(f"{work.name}: raw stream", ours.stream / ours.events, work.event_bytes, "bytes an event",
                f"the file has {ours.size / MIB:.1f} MiB, {ours.size / ours.events:.2f} bytes an event")


def bench_kept():
    for work in workloads():
        peer_way = HEAPTRACK if work.heaptrack_works else HEAPTRACK_RAW
        none, raw, kept, peer = measured(work, [NONE, RAW, KEPT, peer_way], 3)
        # The time that a user waits.  A difference of whole runs would mostly be noise of the program.
        at_most(f"{work.name}: packing, after the program has ended", kept.after_child / raw.events * 1e9, 30,
                "ns an event", f"{kept.after_child:.3f} s; {kept.own_cpu / raw.events * 1e9:.1f} ns of CPU")
        form = "" if work.heaptrack_works else " raw one"
        at_most(f"{work.name}: kept file, to heaptrack's{form}", kept.size / peer.size, 1, "x",
                f"{kept.size / MIB:.2f} MiB, {peer.size / MIB:.2f} MiB; {kept.size / raw.events:.2f} bytes an event")
        if work.name in ("python", "stl"):
            at_least(f"{work.name}: what heaptrack adds, to what we add", (peer.cpu - none.cpu) / (kept.cpu - none.cpu),
                     4, f"packing included: {kept.cpu:.3f} s of CPU, heaptrack {peer.cpu:.3f} s")


def bench_built_in():
    """jemalloc inside of a program, whose functions are patched, and as a shared library."""
    inside = built("containers", "-Wl,--whole-archive", "-l:libjemalloc.a", "-Wl,--no-whole-archive", out="containers_inside")
    shared = built("containers", "-Wl,--no-as-needed", "-ljemalloc", out="containers_shared")
    added = []
    for program in (inside, shared):
        none, ours = measured(Workload(program.name, [program, 40], 0, 0, 0), [NONE, RAW], ROUNDS)
        added.append((ours.cpu - none.cpu) / ours.events * 1e9)
        if program == inside:
            at_most("stl, jemalloc inside: CPU, to no profiler", ours.cpu / none.cpu, 2.3, "x",
                    f"{none.cpu:.3f} s, {ours.cpu:.3f} s; {ours.events / 1e6:.1f} M events")
    at_most("stl, jemalloc inside: what an event adds, to a shared jemalloc", added[0] / added[1], 1.3, "x",
            f"{added[0]:.1f} ns, {added[1]:.1f} ns")


def preloaded(command):
    """The runtime alone, so that nothing else is measured."""
    return ["env", f"LD_PRELOAD={RUNTIME}", f"ALLO_OUTPUT={OUT}/%p.allo", *command]


def python_without_functions():
    """A copy of the interpreter that hides its type of code objects, so that stacks have native frames only."""
    def make(path):
        content = pathlib.Path(PYTHON).resolve().read_bytes()
        path.write_bytes(content.replace(b"\0PyCode_Type\0", b"\0PyCode_Hide\0"))
        path.chmod(0o755)
    return made("python3-without-functions", make)


def bench_python_objects():
    """Objects in CPython's own arenas, with Python functions and native frames in their stacks."""
    emptied(OUT)
    command = ["env", "-u", "PYTHONMALLOC", PYTHON, WORK / "objects.py", 40]
    native = ["env", "-u", "PYTHONMALLOC", "PYTHONHOME=/usr", python_without_functions(), WORK / "objects.py", 40]
    none, ours = compare([command, preloaded(command)], ROUNDS)
    at_most("python, objects in arenas: CPU, to no profiler", ours.cpu / none.cpu, 2.1, "x",
            f"{none.cpu:.3f} s, {ours.cpu:.3f} s")
    emptied(OUT)
    ours, ours_native = compare([preloaded(command), preloaded(native)], ROUNDS)
    both = [said for said in map(info, OUT.iterdir()) if "interpreters" in said]  # env has a recording, too
    if sorted(said["interpreters"][0]["functions"] for said in both) != ROUNDS * ["recorded"] + ROUNDS * ["unknown version"]:
        raise SystemExit("python: one interpreter must have functions, and the other one none")
    at_most("python, objects: functions, over native stacks", (ours.cpu - ours_native.cpu) / both[0]["events"] * 1e9, 15,
            "ns an event", f"{ours_native.cpu:.3f} s, {ours.cpu:.3f} s; {both[0]['events'] / 1e6:.1f} M events")


def bench_memory():
    for work in workloads():
        emptied(OUT)
        none, ours = memory_of(work.command), memory_of(preloaded(work.command))
        at_most(f"{work.name}: memory added", (ours - none) / MIB, round(6 + 0.4 * work.threads, 1), "MiB",
                f"{none / MIB:.1f} MiB, {ours / MIB:.1f} MiB")


def bench_start():
    emptied(OUT)
    # With one allocation: a program that has none has no recording.
    command = [built("pairs"), 1, 0, 1]
    none, ours, run = compare([["env", *command], preloaded(command), [*RAW, *command]], 60)
    at_most("a short program: added by the runtime", (ours.wall - none.wall) * 1e3, 2, "ms",
            f"{none.wall * 1e3:.2f} ms, {ours.wall * 1e3:.2f} ms; allo run {run.wall * 1e3:.2f} ms")


def bench_sampler():
    """CPU time of 'allo run' itself, which looks at the memory of the process from outside."""
    emptied(OUT)
    grow = [PYTHON, "-c", "import time\nall = []\nfor i in range(250): all.append(bytearray(1 << 20)); time.sleep(0.02)"]
    ours, = compare([[*RAW, *grow]], ROUNDS)
    at_most("a program that grows: CPU of allo run, of the time", 100 * ours.own_cpu / ours.wall, 2, "%",
            f"{ours.own_cpu:.2f} s in {ours.wall:.2f} s")


def steps(pairs, *before):
    """Instructions of a run of pairs, with libraries preloaded.  The same on any machine, however busy."""
    counter = built("count_steps", "-shared", "-fPIC", "-ldl", out="count_steps.so")
    emptied(OUT)
    env = {"LD_PRELOAD": ":".join(map(str, [*before, counter])), "COUNT_STEPS": f"{OUT}/steps",
           "ALLO_OUTPUT": f"{OUT}/pairs.allo"}
    subprocess.run([built("pairs"), *pairs], env={**os.environ, **env}, check=True)
    if before:
        accuracy = info(OUT / "pairs.allo")["time"]
        if accuracy["sleep_error_ns"] >= accuracy["computing_error_ns"]:
            raise SystemExit("pairs: every event has read the clock, which is not the usual mode")
    return int((OUT / "steps").read_text())


def bench_instructions():
    for name, depth, fresh, most in (("20 frames deep", "15", "0", 173), ("50 frames deep", "45", "0", 255),
                                     ("20 frames deep, 3 of them fresh", "12", "3", 200)):
        # The difference of a long run and a short run excludes start and end.
        none, ours = ((steps([depth, fresh, "5500"], *before) - steps([depth, fresh, "3500"], *before)) / 2000
                      for before in ([], [RUNTIME]))
        at_most(f"pairs, {name}: added", (ours - none) / 2, most, "instructions an event",
                f"{none:.0f} and {ours:.0f} a pair of malloc and free")


def main():
    if not RUNTIME.exists():
        print(f"MISSED  there is no {RUNTIME}: nothing to measure")
        sys.exit(1)
    # Each Python object is a separate block.
    os.environ["PYTHONMALLOC"] = "malloc"
    run_benches(globals())


main()
