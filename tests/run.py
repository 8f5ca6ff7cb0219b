#!/usr/bin/env python3
"""Runs all tests: tests/run.py [WORD...]      only those steps whose name holds one of the words

A step is a build and its tests.  First all is built, then the tests of all steps run on all cores, those that
take long first.  Every test prints a line, "ok" or "not ok" with its name, and what a failed one said.  The last
line counts them.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)

passed, failed = 0, []


def report(ok, name, said=""):
    global passed
    if ok:
        passed += 1
    else:
        failed.append(name)
        print("\n".join("    " + line for line in said.strip().splitlines()[-60:]))
    print(f"{'ok' if ok else 'not ok'} - {name}", flush=True)


def run(command, env=None):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env={**os.environ, **(env or {})}, timeout=600)
    except subprocess.TimeoutExpired as late:
        return 1, f"{late}"
    return done.returncode, done.stdout


def build(folder, *setup, env=None, targets=()):
    """A meson build in a folder of its own, without a single warning.  Whether there is one."""
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


# A job is a command and what is to be made of its outcome: results for report().

def whole(name):
    """A command that is one test."""
    return lambda code, said: [(code == 0, name, said)]


def tap(name):
    """A command that prints TAP: each of its tests counts."""
    def results(code, said):
        tests = re.findall(r"^(ok|not ok) \d+ - (.*)\n((?:#.*\n)*)", said, re.M)
        found = [(result == "ok", f"{name}: {test}", reason) for result, test, reason in tests]
        if code and all(ok for ok, *_ in found):
            found.append((False, f"{name}: runs to its end", said))
        return found
    return results


def run_all(jobs):
    """Runs jobs on all cores, and one more, as some wait, and reports in their order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        outcomes = pool.map(lambda job: run(job[0], job[2]), jobs)
        for (_, results, _), (code, said) in zip(jobs, outcomes):
            for result in results(code, said):
                report(*result)


def programs(folder, pattern):
    return sorted(path for path in (ROOT / folder / "tests").glob(pattern) if path.is_file())


def inputs():
    """Files that made trouble once, files that should, and files of other tools."""
    return sorted(str(path.relative_to(ROOT)) for pattern in ("fuzz/corpus/*/*", "golden/*/*")
                  for path in (ROOT / "tests").glob(pattern))


def unit_tests(folder):
    return [([str(program)], tap(f"{folder}: {program.name}"), {"CMOCKA_MESSAGE_OUTPUT": "TAP"})
            for program in programs(folder, "test_*")]


def replayed_corpora(folder):
    """All inputs through every fuzzer."""
    return [([str(program), *inputs()],
             whole(f"{folder}: {program.name} survives {len(inputs())} inputs"), {})
            for program in programs(folder, "fuzz_*")]


def failing_allocations(folder):
    """Each allocation of reading, analysing and writing each file of other tools fails once."""
    return [([str(ROOT / folder / "tests" / "fail_allocations"), path], tap(folder), {})
            for path in inputs() if path.startswith("tests/golden/") and "/from-" not in path]


def integration_tests(folder, *words):
    """Python's own tests, which say what they find in TAP as well."""
    return [([sys.executable, "tests/integration/main.py", path.name, *words], tap(folder),
             {"ALLO_BUILD": str(ROOT / folder)})
            for path in sorted((ROOT / "tests" / "integration").glob("test_*.py"))]


def stress_tests(folder):
    """A few rounds of what `make stress` does for long."""
    env = {"ALLO_BUILD": str(ROOT / folder)}
    return [([sys.executable, "tests/stress/run.py", "--rounds", "1", "--kills", "20"], tap(f"{folder}: stress"), env),
            ([sys.executable, "tests/stress/real.py", "--short"], tap(f"{folder}: stress"), env)]


# A step builds what it needs, and returns its jobs.

def step_arrows():
    return [([sys.executable, "tools/check_includes.py"], whole("arrows between folders go one way"), {}),
            ([sys.executable, "tools/check_names.py"], whole("each name means one thing"), {})]


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
    return (integration_tests("build-test") + failing_allocations("build-test")
            + replayed_corpora("build-test") + unit_tests("build-test"))


def step_sanitizers():
    # By the other compiler, whose warnings are others as well.
    # LeakSanitizer comes with AddressSanitizer: nothing may be left over at any exit.
    # Undefined behaviour ends the program: a message alone would go unnoticed.
    if not build("build-asan", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1",
                 "-Dc_args=-fno-sanitize-recover=all -gline-tables-only", env={"CC": "clang"}):
        return []
    return (integration_tests("build-asan", "sanitized") + failing_allocations("build-asan")
            + replayed_corpora("build-asan") + unit_tests("build-asan"))


def step_threads():
    # The runtime's multi-threaded tests under ThreadSanitizer; nothing else is built.  The control thread is
    # made by clone(2), which the sanitizer takes for a fork.
    if not build("build-tsan", "-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1", env={"CC": "clang"},
                 targets=["races"]):
        return []
    env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "ALLO_CONTROL": "0", "TSAN_OPTIONS": "history_size=5"}
    return [([str(program)], tap(f"build-tsan: {program.name}"), env) for program in programs("build-tsan", "race_*")]


STEPS = {"arrows": step_arrows, "style": step_style, "stress": step_stress, "gcc": step_gcc, "sanitizers": step_sanitizers, "threads": step_threads}


def main():
    words = sys.argv[1:]
    started = time.monotonic()
    # Who is started in the background of a shell ignores it, and so would all that is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    jobs = []
    for name, step in STEPS.items():
        if not words or any(word in name for word in words):
            jobs += step()
    run_all(jobs)
    for name in failed:
        print(f"failed: {name}")
    print(f"# {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
