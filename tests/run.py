#!/usr/bin/env python3
"""Runs all tests: tests/run.py [WORD...]      only those steps whose name holds one of the words

Steps run one after the other; each is a build or a group of tests.  Every test prints a line, "ok" or
"not ok" with its name, and what a failed one said.  The last line counts them.
"""
import os
import pathlib
import re
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


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    return done.returncode, done.stdout


def build(folder, *setup, env=None):
    """A meson build in a folder of its own, without a single warning.  Whether there is one."""
    name = f"{folder}: builds without warnings"
    env = {**os.environ, **(env or {})}
    if not (ROOT / folder / "build.ninja").exists():
        code, said = run(["meson", "setup", folder, "-Dwerror=true", "-Dtests=true", *setup], env=env)
        if code:
            report(False, name, said)
            return False
    code, said = run(["ninja", "-C", folder], env=env)
    report(code == 0, name, said)
    return code == 0


def tap(name, command, env=None):
    """A program that prints TAP: each of its tests counts."""
    code, said = run(command, env={**os.environ, **(env or {})}, timeout=600)
    tests = re.findall(r"^(ok|not ok) \d+ - (.*)\n((?:#.*\n)*)", said, re.M)
    for result, test, reason in tests:
        report(result == "ok", f"{name}: {test}", reason)
    if not tests or (code and all(result == "ok" for result, *_ in tests)):
        report(False, f"{name}: runs to its end", said)


def unit_tests(folder):
    for program in sorted((ROOT / folder / "tests").glob("test_*")):
        if program.is_file():
            tap(f"{folder}: {program.name}", [str(program)], {"CMOCKA_MESSAGE_OUTPUT": "TAP"})


def replay_corpora(folder):
    """Every input that ever made trouble, and some that should, through every reader's fuzzer."""
    for program in sorted((ROOT / folder / "tests").glob("fuzz_*")):
        if not program.is_file():
            continue
        inputs = sorted(str(path) for path in (ROOT / "tests" / "fuzz").glob("corpus/*/*"))
        inputs += sorted(str(path) for path in (ROOT / "tests" / "golden").glob("*/*"))
        code, said = run([str(program), *inputs], timeout=600)
        report(code == 0, f"{folder}: {program.name} survives {len(inputs)} inputs", said)


def failing_allocations(folder):
    """Each allocation of reading, analysing and writing each golden file fails once."""
    inputs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "golden").glob("*/*"))
    tap(folder, [str(ROOT / folder / "tests" / "fail_allocations"), *inputs])


def integration_tests(folder, words=()):
    """Python's own tests, which say what they find in TAP as well."""
    tap(f"{folder}", [sys.executable, "tests/integration/main.py", *words],
        {"ALLO_BUILD": str(ROOT / folder)})


def step_arrows():
    code, said = run([sys.executable, "tools/check_includes.py"])
    report(code == 0, "arrows between folders go one way", said)


def step_gcc():
    if not build("build-test", env={"CC": "gcc"}):
        return
    unit_tests("build-test")
    replay_corpora("build-test")
    failing_allocations("build-test")
    integration_tests("build-test")


def step_clang():
    if not build("build-clang", env={"CC": "clang"}):
        return
    unit_tests("build-clang")


def step_sanitizers():
    # LeakSanitizer comes with AddressSanitizer: nothing may be left over at any exit.
    # Undefined behaviour ends the program: a message alone would go unnoticed.
    if not build("build-asan", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dfuzz=true",
                 "-Doptimization=1", "-Dc_args=-fno-sanitize-recover=all", env={"CC": "clang"}):
        return
    unit_tests("build-asan")
    replay_corpora("build-asan")
    failing_allocations("build-asan")
    integration_tests("build-asan", ["sanitized"])


STEPS = {"arrows": step_arrows, "gcc": step_gcc, "clang": step_clang, "sanitizers": step_sanitizers}


def main():
    words = sys.argv[1:]
    started = time.monotonic()
    for name, step in STEPS.items():
        if not words or any(word in name for word in words):
            print(f"# {name}", flush=True)
            step()
    for name in failed:
        print(f"failed: {name}")
    print(f"# {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
