"""Shared by the benchmarks: goals, inputs, and the command line.

usage: SCRIPT BUILD [WORD...]       only the benchmarks whose name holds one of the words
"""
import math
import pathlib
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
ALLO = BUILD / "src" / "allo"
DATA = BUILD / "bench"
PYTHON = "/usr/bin/python3"
MB = 1e6

missed = []


def goal(name, value, should, is_met, detail):
    print(f"{'met   ' if is_met else 'MISSED'}  {name:44s} {value:>10s}  (goal {should})   {detail}", flush=True)
    if not is_met:
        missed.append(name)


def is_measurement(value):
    """Whether the value can be one: zero, a negative number or NaN is a mistake of the benchmark."""
    return math.isfinite(value) and value > 0


def at_least(name, ratio, least, detail=""):
    goal(name, f"{ratio:.1f} x", f"at least {least} x", is_measurement(ratio) and ratio >= least, detail)


def at_most(name, value, most, unit, detail=""):
    goal(name, f"{value:.2f} {unit}", f"at most {most} {unit}", is_measurement(value) and value <= most, detail)


def made(name, make):
    """A file in DATA, made when it is not there."""
    path = DATA / name
    if not path.exists():
        print(f"making {name}", flush=True)
        make(path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
    return path


def quietly(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def run_benches(functions):
    """Runs those whose names begin with bench_; the exit status says whether all goals were met."""
    DATA.mkdir(exist_ok=True)
    for name, bench in sorted(functions.items()):
        if name.startswith("bench_") and (not sys.argv[2:] or any(word in name for word in sys.argv[2:])):
            bench()
    print(f"{len(missed)} goals missed" if missed else "all goals met")
    sys.exit(1 if missed else 0)
