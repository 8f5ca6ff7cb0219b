#!/usr/bin/env python3
"""Runs static analysis: cppcheck on all C sources, clang-tidy on the most delicate ones.

usage: check_static.py BUILD    BUILD is a meson build; clang-tidy takes compiler flags from its compile_commands.json

Prints the findings and exits with 1 if there are any. .clang-tidy and tools/cppcheck.txt choose the checks.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Code that runs inside other programs, code that reads hostile input, and code that decides who may connect.
DELICATE = ["capture/stacks/cfi.c", "capture/control/control.c", "capture/hooks/hooks.c", "capture/file/recorder.c", "capture/safepoint.c",
            "capture/stacks/stack_table.c", "capture/stacks/unwind.c", "src/base/io/input.c", "src/base/encoding/json_read.c", "src/base/map.c",
            "src/base/vec.c", "src/readers/**/read_pprof.c", "src/replay/**/event_cursor.c", "src/replay/**/earlier.c", "src/serve/access.c"]


def run(command):
    """The exit status and all output."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def cppcheck():
    return run(["cppcheck", "--quiet", f"-j{os.cpu_count()}", "--std=c11", "--enable=warning,portability",
                "--inline-suppr", "--error-exitcode=1", "--suppressions-list=tools/cppcheck.txt",
                "--template={file}:{line}: {message} [{id}]", "-Isrc", "-Iinclude", "-D_GNU_SOURCE", "-D__x86_64__",
                '-DALLO_VERSION="0"', "src", "capture"])


def clang_tidy(build, path):
    return run(["clang-tidy", "--quiet", "-p", build, str(path)])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, missing = [], []
    for pattern in DELICATE:
        paths = sorted(ROOT.glob(pattern))
        found += paths
        if not paths:
            missing.append(f"tools/check_static.py: {pattern} does not exist; update the list")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(cppcheck)] + [pool.submit(clang_tidy, sys.argv[1], path) for path in found]
        failed = [said for status, said in (job.result() for job in jobs) if status]
    print("\n".join(missing + failed), end="\n" if missing or failed else "")
    sys.exit(1 if missing or failed else 0)


main()
