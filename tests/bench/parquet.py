#!/usr/bin/env python3
"""Benchmarks of Parquet files, against DuckDB's COPY of the same rows, and of databases.

usage: parquet.py BUILD [WORD...]       only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does.  DuckDB comes from npm.  It copies from memory, on one thread.  Rates are in rows a
second of CPU.  The encoder's time is that of the conversion without that of one replay ('allo hist').
"""
import json
import os
import pathlib
import shutil
import subprocess

from goals import ALLO, DATA, MB, PYTHON, at_least, at_most, goal, made, quietly, run_benches
from measure import compare, memory_of
from programs import WORK

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parent / "parquet"
REPORTS = HERE.parent.parent / "src" / "sql" / "reports"
ROUNDS = 3

os.environ["ALLO_NO_CACHE"] = "1"


def large_source():
    """So many allocations that the time for names does not count."""
    def make(path):
        with open(path, "w") as out:
            subprocess.run([PYTHON, WORK / "gen_c.py", "400"], stdout=out, check=True)
    return made("generated-large.c", make)


def recordings():
    """Names, recordings, and the most bytes a row of each."""
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    for name, most, command in (("python", 1.0, [PYTHON, WORK / "objects.py", 10]),
                                ("cc1", 2.8, [cc1, "-quiet", "-O2", large_source(), "-o", "/dev/null"]),
                                ("ast", 4.0, [PYTHON, WORK / "syntax_trees.py"])):
        yield name, most, made(f"{name}-many.allo", lambda path, command=command: quietly(
            "env", "PYTHONMALLOC=malloc", ALLO, "run", "-q", "-o", path, "--", *command))


def node(script, *arguments):
    folder = DATA / "parquet"
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / script, folder)
    if not (folder / "node_modules").exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PACKAGES / name, folder)
        quietly("npm", "ci", "--prefix", folder, "--ignore-scripts")
    done = subprocess.run(["node", folder / script, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def convert(path, output):
    return [ALLO, "convert", "-q", "-f", path, "-o", output]


def count_rows(database):
    done = subprocess.run(["sqlite3", database, "select count(*) from allocation"], capture_output=True, text=True, check=True)
    return int(done.stdout)


def bench_parquet():
    for name, most, path in recordings():
        folder, database = DATA / f"{name}.parquet", DATA / f"{name}.db"
        written, replay, stored = compare([convert(path, folder), [ALLO, "hist", path], convert(path, database)], ROUNDS)
        rows = count_rows(database)
        peer = node("duckdb.mjs", folder, DATA / "copied.parquet", REPORTS / "lifetimes.sql")
        size = (folder / "allocation.parquet").stat().st_size
        at_most(f"{name}: allocations", size / rows, most, "B/row", f"{rows / 1e6:.2f} M rows, {size / MB:.2f} MB")
        at_most(f"{name}: size against DuckDB's", size / peer["bytes"], 1, "x", f"{peer['bytes'] / MB:.2f} MB")
        encoder = written.cpu - replay.cpu
        detail = (f"{written.cpu:.2f} s of CPU, replay alone {replay.cpu:.2f} s, to .db {stored.cpu:.2f} s; "
                  f"DuckDB's COPY {peer['copy']:.2f} s")
        if name != "ast":  # which spends its time on stacks: 500 times as many as the others
            at_most(f"{name}: encoder's time against DuckDB's", encoder / peer["copy"], 1, "x", detail)
            goal(f"{name}: encoder", f"{rows / encoder / 1e6:.1f} M/s", "at least 10 M/s", rows / encoder >= 10e6, detail)
            goal(f"{name}: conversion", f"{rows / written.cpu / 1e6:.1f} M/s", "at least 4 M/s",
                 rows / written.cpu >= 4e6, detail)
        memory, alone = memory_of(convert(path, folder)), memory_of([ALLO, "hist", path])
        at_most(f"{name}: memory above replay's", (memory - alone) / MB, 100, "MB", f"{memory / MB:.0f} MB, {alone / MB:.0f} MB")
        at_most(f"{name}: folder against the database", sum(file.stat().st_size for file in folder.iterdir()) /
                database.stat().st_size, 0.1, "x", f"{database.stat().st_size / MB:.0f} MB")
        asked, = compare([["sqlite3", database, f".read {REPORTS / 'lifetimes.sql'}"]], 1)
        at_least(f"{name}: lifetimes on DuckDB, against SQLite", asked.cpu / peer["report"], 10,
                 f"{peer['report']:.3f} s of CPU, SQLite {asked.cpu:.2f} s")
        if name == "ast":
            at_most("ast: to SQLite", stored.cpu, 10, "s of CPU")


run_benches(globals())
