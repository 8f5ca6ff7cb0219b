#!/usr/bin/env python3
"""Measures the lines that unit tests and a part of the integration tests reach.

usage: coverage.py      builds into build-coverage/, runs the tests, prints a table by folder;
                        build-coverage/report/index.html shows each line

The shared runtime is not measured, since it lives in other programs; its parts are, by their unit tests.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-coverage"

# Seconds after which a test counts as hung.
HANG = 4 * 3600

# Quick ones that together run most commands, readers and writers.
INTEGRATION = ["test_cli.py", "test_csv_json.py", "test_formats.py", "test_golden.py", "test_sql.py", "test_summary.py"]


def build():
    """Builds from scratch: counts and notes of an earlier build would be added up."""
    # Several threads and processes count at the same time.
    options = ["-Db_coverage=true", "-Dc_args=-fprofile-update=atomic", "-Dtests=true", "-Dassertions=true",
               "-Doptimization=1", "-Dviewer_engine=disabled"]
    shutil.rmtree(BUILD, ignore_errors=True)
    subprocess.run(["meson", "setup", BUILD, *options], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["ninja", "-C", BUILD, "--quiet"], check=True)


def passes(test):
    try:
        return subprocess.run(test, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=HANG,
                              env={**os.environ, "ALLO_BUILD": str(BUILD)}).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def run_tests():
    """Runs the tests on all cores, and names those that fail."""
    tests = [[sys.executable, "tests/integration/main.py", name] for name in INTEGRATION]
    tests += [[str(path)] for path in sorted((BUILD / "tests").glob("test_*")) if path.is_file()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [test[-1] for test, is_good in zip(tests, pool.map(passes, tests)) if not is_good]
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    return not failed


def measure():
    report = BUILD / "report"
    report.mkdir(exist_ok=True)
    subprocess.run(["gcovr", "--root", ROOT, "--filter", "src/", "--filter", "capture/", "--exclude-throw-branches",
                    "--gcov-ignore-parse-errors", "--json-summary", report / "summary.json",
                    "--html-details", report / "index.html", BUILD], cwd=ROOT, check=True)
    return json.loads((report / "summary.json").read_text())


def print_table(summary):
    reached, total = collections.Counter(), collections.Counter()
    for file in summary["files"]:
        parts = pathlib.Path(file["filename"]).parts
        folder = "/".join(parts[:2]) if parts[0] == "src" else parts[0]
        for name in (folder, "all"):
            reached[name] += file["line_covered"]
            total[name] += file["line_total"]
    print(f"{'folder':<16}{'lines':>8}{'reached':>9}")
    for name in sorted(total, key=lambda name: (name == "all", name)):
        print(f"{name:<16}{total[name]:>8}{100 * reached[name] / max(total[name], 1):>8.1f}%")
    print(f"every line: {BUILD.name}/report/index.html")


def main():
    os.chdir(ROOT)
    build()
    is_good = run_tests()
    print_table(measure())
    sys.exit(0 if is_good else 1)


main()
