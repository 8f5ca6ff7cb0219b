#!/usr/bin/env python3
"""Checks that #include arrows between the folders of src/, and of capture/, go one way only: see doc/architecture.md.

usage: check_includes.py        prints each violation and exits with 1

Sub-folders follow the rules of the folder they are in: src/replay/packed/ may include the same as src/replay/.
Also checks that file names are unique in the tree, so that a name in a backtrace finds one file.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path("doc/architecture.md")

# Names of groups in that table.
GROUPS = {"core": {"base", "profile", "replay", "analysis"}, "data": {"symbols", "readers", "writers", "sql", "parquet"}}


def allowed_includes():
    """Which other folders a folder may include from: the last column of the table in doc/architecture.md."""
    rows = re.findall(r"^\| `(?:src/)?(\w+)/` \|.*\| ([^|]+) \|$", TABLE.read_text(), re.M)
    groups = {**GROUPS, "all": {folder for folder, _ in rows} - {"lib", "capture"}, "-": set()}
    return {folder: set().union(*(groups.get(word, {word}) for word in last.split())) for folder, last in rows}


ALLOWED = allowed_includes()

# Headers that a folder must not include, although it may include others of their folder.
FORBIDDEN = {("cli", "base/encoding/json_write.h"): "describe the result with report/report.h, which writes JSON"}


def problems():
    names = {}
    for path in sorted([*pathlib.Path("src").glob("*/**/*.[ch]"), *pathlib.Path("capture").rglob("*.[ch]")]):
        folder = path.parts[1] if path.parts[0] == "src" else path.parts[0]
        if path.name in names:
            yield f"{path}: there is also {names[path.name]}"
        names[path.name] = path
        if folder not in ALLOWED:
            yield f"{path}: the folder '{folder}' is not in the table of {TABLE}"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = re.match(r'#include "([^"]+)"', line)
            if not included:
                continue
            target = included.group(1)
            if "/" not in target:
                if target != "allotrope.h":
                    yield f"{path}:{number}: write the path from src/: \"{folder}/{target}\""
                continue
            if (folder, target) in FORBIDDEN:
                yield f"{path}:{number}: {FORBIDDEN[folder, target]}"
            to = target.split("/")[0]
            if to != folder and to not in ALLOWED[folder]:
                yield f"{path}:{number}: {folder}/ must not include from {to}/"


def main():
    found = list(problems())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
