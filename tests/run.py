#!/usr/bin/env python3
"""Runs all tests: tests/run.py [WORD...]      only the steps whose names contain one of the words

A step is a build and its tests.  run.py builds everything first, all folders at once, and then runs the tests of all steps on
all cores.
Each test prints a line, "ok" or "not ok" with its name; a failed test also prints its output.  The last line counts
the tests.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from default_signals import reset_signals
from sample_files import sample_files

# Seconds after which a command counts as hung: hours, since a loaded machine may be 50 times slower than an idle one.
HANG = 4 * 3600

# The exit status of a check that lacks a program, as in meson.
SKIPPED = 77

# The jobs that take longest, many since they wait: they start first, so that none of them ends alone.
LONGEST = ("test_viewer.py", "test_viewer_engine.py", "stress/run.py", "test_browser.py", "test_rust.py", "stress/foreign.py",
           "test_report.py", "test_view.py", "test_live.py", "test_serve.py", "test_python.py", "test_packages.py", "test_parquet.py")

# Whether tools/check_english.py must pass.
CHECKS_ENGLISH = True

passed, failed, skipped, durations = 0, [], [], []
reporting = threading.Lock()


def report(ok, name, said=""):
    with reporting:
        report_alone(ok, name, said)


def report_alone(ok, name, said):
    global passed
    if ok and "# SKIP" in name:
        skipped.append(name)
    elif ok:
        passed += 1
    else:
        failed.append(name)
        print("\n".join("    " + line for line in said.strip().splitlines()[-60:]))
    print(f"{'ok' if ok else 'not ok'} - {name}", flush=True)


def run(command, env=None):
    """Runs a command; its exit status and output."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env={**os.environ, **(env or {})}, timeout=HANG)
    except subprocess.TimeoutExpired as late:
        return 1, f"{late}"
    return done.returncode, done.stdout


def timed(job):
    """Runs a job, and notes the CPU time that it and its children took: GNU time writes it into a file."""
    command, _, env = job
    with tempfile.NamedTemporaryFile("r") as taken:
        outcome = run(["/usr/bin/time", "-q", "-f", "%e %U %S", "-o", taken.name, *command], env)
        seconds, user, system = taken.read().split()[-3:] or (0, 0, 0)  # nothing if time itself was killed
    durations.append((float(user) + float(system), float(seconds), " ".join(os.path.basename(word) for word in command[:4])))
    return outcome


# Steps build at the same time, since meson uses one core only.  Those that share a folder wait for the first of them.
building = {folder: threading.Lock() for folder in ("build-test", "build-asan", "build-tsan")}
built = {}


def build(folder, *setup, **options):
    """Builds with meson, without a single warning; whether that succeeded."""
    with building[folder]:
        if folder not in built:
            built[folder] = build_alone(folder, *setup, **options)
        return built[folder]


def build_alone(folder, *setup, env=None, targets=()):
    name = f"{folder}: builds without warnings"
    options = ["-Dwerror=true", "-Dtests=true", "-Dassertions=true", *setup]
    is_there = (ROOT / folder / "build.ninja").exists()
    code, said = run(["meson", "configure" if is_there else "setup", folder, *options], env)
    if code:
        report(False, name, said)
        return False
    code, said = run(["ninja", "-C", folder, *targets], env)
    report(code == 0, name, said)
    return code == 0


# A job is a command, a function that turns its exit status and output into arguments of report(), and variables.

def whole(name):
    """A command that is one test, or could not run: then its last line is the reason."""
    def result(code, said):
        reason = f" # SKIP {said.strip().splitlines()[-1]}" if code == SKIPPED and said.strip() else ""
        return [(code == 0 or bool(reason), name + reason, said)]
    return result


def tap(name):
    """A command that prints TAP: each of its tests counts."""
    def results(code, said):
        tests = re.findall(r"^(ok|not ok) \d+ - (.*)\n((?:#.*\n)*)", said, re.M)
        found = [(result == "ok", f"{name}: {test}", reason) for result, test, reason in tests]
        if code and all(ok for ok, *_ in found):
            found.append((False, f"{name}: runs to its end", said))
        return found
    return results


def longest_first(jobs):
    """The jobs in the order in which they start."""
    def place(job):
        return next((i for i, name in enumerate(LONGEST) if any(word.endswith(name) for word in job[0])), len(LONGEST))
    return sorted(jobs, key=place)


def run_all(jobs):
    """Runs jobs on all cores, and four more, as some wait, and reports in their order."""
    jobs = longest_first(jobs)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 4) as pool:
        for (_, results, _), (code, said) in zip(jobs, pool.map(timed, jobs)):
            for result in results(code, said):
                report(*result)


def programs(folder, pattern):
    return sorted(path for path in (ROOT / folder / "tests").glob(pattern) if path.is_file())


def unit_tests(folder):
    return [([str(program)], tap(f"{folder}: {program.name}"), {"CMOCKA_MESSAGE_OUTPUT": "TAP"})
            for program in programs(folder, "test_*")]


def replayed_corpora(folder):
    """Every fuzzer reads all sample files."""
    files = sample_files()
    return [([str(program), *files], whole(f"{folder}: {program.name} survives {len(files)} inputs"), {})
            for program in programs(folder, "fuzz_*")]


def failing_allocations(folder):
    """Reads, analyses and writes the files of each other tool, and lets allocations of each call stack fail."""
    files = [path for path in sample_files() if path.startswith("tests/golden/") and "/from-" not in path]
    return [([str(ROOT / folder / "tests" / "fail_allocations"), *of_tool], tap(folder), {})
            for _, of_tool in itertools.groupby(files, os.path.dirname)]


def integration_tests(folder, *words):
    """The tests in Python, which print TAP as well."""
    return [([sys.executable, "tests/integration/main.py", path.name, *words], tap(folder),
             {"ALLO_BUILD": str(ROOT / folder)})
            for path in sorted((ROOT / "tests" / "integration").glob("test_*.py"))]


def stress_tests(folder):
    """A few rounds of `make stress`."""
    env = {"ALLO_BUILD": str(ROOT / folder)}
    return [([sys.executable, "tests/stress/run.py", "--rounds", "1", "--kills", "20"], tap(f"{folder}: stress"), env),
            ([sys.executable, "tests/stress/foreign.py", "--short"], tap(f"{folder}: stress"), env)]


# A step builds its targets and returns its jobs.

def step_arrows():
    checks = [("check_includes.py", "arrows between folders go one way"), ("check_names.py", "each name means one thing"),
              ("check_headers.py", "headers have two users")]
    if CHECKS_ENGLISH:
        checks.append(("check_english.py", "the English is plain"))
    return [([sys.executable, f"tools/{program}"], whole(claim), {}) for program, claim in checks]


def step_style():
    checks = [([sys.executable, "tools/check_format.py"], whole("style: C files are formatted"), {})]
    if build("build-test", env={"CC": "gcc"}):
        checks.append(([sys.executable, "tools/check_static.py", "build-test"], whole("style: static analysis finds nothing"), {}))
    return checks


def step_stress():
    return stress_tests("build-test") if build("build-test", env={"CC": "gcc"}) else []


def step_gcc():
    if not build("build-test", env={"CC": "gcc"}):
        return []
    return integration_tests("build-test") + unit_tests("build-test")


def step_sanitizers():
    # clang has other warnings than gcc.  AddressSanitizer includes LeakSanitizer, which checks at every exit.
    # Undefined behaviour ends the program: a test would not notice a message alone.  Damaged input and failing
    # allocations are tested here only: without sanitizers most of their faults would not be seen.
    if not build("build-asan", "-Dviewer_engine=disabled", "-Db_sanitize=address,undefined", "-Db_lundef=false",
                 "-Doptimization=1", "-Dc_args=-fno-sanitize-recover=all -gline-tables-only", env={"CC": "clang"}):
        return []
    return (integration_tests("build-asan", "sanitized") + failing_allocations("build-asan")
            + replayed_corpora("build-asan") + unit_tests("build-asan"))


def step_threads():
    # The runtime's multi-threaded tests under ThreadSanitizer; nothing else is built.  The control thread is
    # made by clone(2), which the sanitizer takes for a fork.
    if not build("build-tsan", "-Dviewer_engine=disabled", "-Db_sanitize=thread", "-Db_lundef=false",
                 "-Doptimization=1", env={"CC": "clang"}, targets=["races"]):
        return []
    env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "ALLO_CONTROL": "0", "TSAN_OPTIONS": "history_size=5"}
    return [([str(program)], tap(f"build-tsan: {program.name}"), env) for program in programs("build-tsan", "race_*")]


def compile_pprof():
    """Go compiles its pprof when it is first used.  Tests that use it at the same time would each do that."""
    if shutil.which("go"):
        run(["go", "tool", "pprof", "-h"])
    return []


STEPS = {"arrows": step_arrows, "style": step_style, "stress": step_stress, "gcc": step_gcc, "sanitizers": step_sanitizers, "threads": step_threads}


def main():
    words = sys.argv[1:]
    started = time.monotonic()
    reset_signals()
    steps = [step for name, step in STEPS.items() if not words or any(word in name for word in words)]
    with concurrent.futures.ThreadPoolExecutor(len(steps) + 1) as pool:
        jobs = list(itertools.chain(*pool.map(lambda step: step(), [*steps, compile_pprof])))
    began = time.monotonic()
    run_all(jobs)
    for name in skipped:
        print(f"skipped: {name}")
    for name in failed:
        print(f"failed: {name}")
    for cpu, seconds, command in sorted(durations, reverse=True)[:15]:
        print(f"# slow: {cpu:.0f} s of CPU in {seconds:.0f} s, {command}")
    spent = sum(cpu for cpu, *_ in durations)
    print(f"# {time.monotonic() - started:.0f} s; {spent:.0f} s of CPU after {began - started:.0f} s of builds")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed else 0)


main()
