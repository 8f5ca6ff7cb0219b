#!/usr/bin/env python3
"""The cost of single allocations on each SQL engine: the table of doc/engines.md.

usage: engines.py BUILD

The rows are those of a compiler.  Times are CPU seconds of all threads, so they hold on a loaded machine.  Queries are all
reports that read single allocations; an engine starts for each.  DuckDB and ClickHouse's engine come from npm.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

from goals import ALLO, BUILD, DATA, MB, made, quietly
from programs import WORK

HERE = pathlib.Path(__file__).resolve().parent
os.environ["ALLO_BUILD"] = str(BUILD)
os.environ["ALLO_NO_CACHE"] = "1"
sys.path.insert(0, str(HERE.parent / "integration"))

from postgresql import SECONDS, PostgreSQL

PACKAGES = HERE.parent / "parquet"
FOLDER = DATA / "parquet"
MEMORY = 4 << 30
REPORTS = [(HERE.parent.parent / "src" / "sql" / "reports" / f"{name}.sql").read_text()
           for name in ("growth", "leaks", "lifetimes", "reallocs", "sizes", "threads", "timeline")]


def recording():
    def make_source(path):
        with open(path, "w") as out:
            subprocess.run([sys.executable, WORK / "gen_c.py", "400"], stdout=out, check=True)

    def record(path):
        cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
        quietly(ALLO, "run", "-q", "-o", path, "--", cc1, "-quiet", "-O2", made("generated-large.c", make_source), "-o", "/dev/null")
    return made("cc1-many.allo", record)


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(*command, input=""):
    """CPU seconds, peak memory in bytes, and the output."""
    before = cpu_of_children()
    with tempfile.NamedTemporaryFile("r") as memory:
        done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", memory.name, *map(str, command)], input=input,
                              stdout=subprocess.PIPE, text=True, check=True)
        return cpu_of_children() - before, int(memory.read().split()[-1]) << 10, done.stdout


def convert(source, output):
    return measured(ALLO, "convert", "-qf", source, "-o", output)[0]


def size_of(path):
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size


class Column:
    """Of the table: bytes on disk, seconds to get there, seconds and bytes of memory of the queries."""

    def __init__(self, size, loading, asking, memory):
        self.size, self.loading, self.asking, self.memory = size, loading, asking, memory


def on_sqlite(source):
    path = DATA / "engines.db"
    loading = convert(source, path)
    costs = [measured(ALLO, "sql", path, "--csv", input=query)[:2] for query in REPORTS]
    return Column(size_of(path), loading, sum(cpu for cpu, _ in costs), max(memory for _, memory in costs))


def ask_node(engine, folder, queries):
    cpu, memory, said = measured("node", FOLDER / "query.mjs", engine, folder, MEMORY, SECONDS, input=json.dumps(queries))
    answers = json.loads(said)
    assert all(isinstance(answer, list) for answer in answers), answers
    return cpu, memory, answers


def on_node(engine, source, size_query=None):
    folder = DATA / "engines.parquet"
    written = convert(source, folder)
    empty, _, _ = ask_node(engine, folder, [])
    cpu, memory, _ = ask_node(engine, folder, REPORTS)
    size = int(ask_node(engine, folder, [size_query])[2][0][0][0]) if size_query else size_of(folder)
    return Column(size, written + (empty if size_query else 0), cpu - empty, memory)


def on_clickhouse(source):
    return on_node("clickhouse", source, "select sum(data_compressed_bytes) from system.parts where database = 'allo' and active")


def server_cpu(pid):
    """Seconds of the server's processes that have ended: one per connection, and its workers."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def on_postgresql(source):
    script = DATA / "engines.pgsql"
    loading = convert(source, script)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="allo-pg-"))
    server = PostgreSQL(folder)
    try:
        before = server_cpu(server.server.pid)
        cpu, _, _ = measured("psql", "-X", "-q", "-h", folder, "-U", "allo", "-d", "postgres", "-f", script)
        loading += cpu + server_cpu(server.server.pid) - before
        before = server_cpu(server.server.pid)
        status, said = server.ask("postgres", "".join(f"{query.rstrip().rstrip(';')};\n" for query in REPORTS) +
                                  "select 'peak ' || pg_read_file('/proc/self/status', 0, 4096);")
        assert status == 0, said
        asking = server_cpu(server.server.pid) - before
        memory = next(int(line.split()[1]) << 10 for line in said.splitlines() if line.startswith("VmHWM:"))
        size = int(server.ask("postgres", "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' "
                                          "and relnamespace = 'public'::regnamespace")[1])
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    return Column(size, loading, asking, memory)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("query.mjs", "package.json", "package-lock.json"):
        shutil.copy(PACKAGES / name, FOLDER)
    quietly("npm", "ci", "--prefix", FOLDER, "--ignore-scripts")
    source = recording()
    columns = [on_sqlite(source), on_node("duckdb", source), on_clickhouse(source), on_postgresql(source)]
    rows = int(subprocess.run(["sqlite3", DATA / "engines.db", "select count(*) from allocation"], capture_output=True,
                              text=True, check=True).stdout)
    print(f"{rows / 1e6:.2f} million allocations; a recording of {source.stat().st_size / rows:.2f} bytes per allocation\n")
    print("| | SQLite | DuckDB | ClickHouse | PostgreSQL |\n|---|---:|---:|---:|---:|")
    for title, figure in (
            ("bytes on disk, per allocation", lambda column: f"{column.size / rows:.1f}"),
            ("from a recording, allocations per CPU second", lambda column: f"{rows / column.loading / 1e6:.2f} million"),
            ("a report on allocations, allocations per CPU second",
             lambda column: f"{len(REPORTS) * rows / column.asking / 1e6:.1f} million"),
            ("memory of the seven reports", lambda column: f"{column.memory / MB:.0f} MB")):
        print(f"| {title} | {' | '.join(map(figure, columns))} |")


main()
