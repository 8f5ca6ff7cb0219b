#!/usr/bin/env python3
"""Checks that clang-format would not change any C file of the project.

usage: check_format.py          names each file that differs and exits with 1
       check_format.py --fix    formats these files

Versions of clang-format disagree on details, so only version 14 (Debian 12) counts.  Without it nothing is checked: the
exit status is 77, with which tests/run.py counts the check as skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"
SKIPPED = 77
FOLDERS = ("capture", "examples", "include", "src", "tests")


def find_formatter():
    """The name of clang-format in the version that counts, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", said):
                return name
    return None


def c_files():
    return [str(path) for folder in FOLDERS for path in sorted(pathlib.Path(folder).rglob("*.[ch]"))
            if "golden" not in path.parts]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    formatter = find_formatter()
    if not formatter:
        print(f"clang-format {VERSION} is not installed")
        return SKIPPED
    files = c_files()
    if "--fix" in sys.argv:
        return subprocess.run([formatter, "-i", *files], check=False).returncode
    done = subprocess.run([formatter, "--dry-run", *files], stderr=subprocess.PIPE, text=True, check=False)
    said = done.stderr
    if done.returncode:
        print(f"{formatter} fails with exit status {done.returncode}:\n{said}")
        return 1
    different = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: warning:", said, re.M)))
    for name in different:
        print(f"{name}: differs from .clang-format (tools/check_format.py --fix formats it)")
    return 1 if different else 0


sys.exit(main())
