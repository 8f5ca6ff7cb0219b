#!/usr/bin/env python3
"""Benchmarks of reading and writing profiles, each against a peer in the same run.

usage: run.py BUILD [WORD...]       only the benchmarks whose name holds one of the words

Prints a line per goal: the measurement, the limit, and whether it is met.  Inputs are
made once, in BUILD/bench.  The exit status says whether all goals were met.
"""
import collections
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import zlib

from goals import ALLO, DATA, MB, PYTHON, at_least, at_most, goal, made, quietly, run_benches
from measure import compare, memory_of
from programs import WORK, built, dhat, valgrind_source

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

os.environ["XDG_CACHE_HOME"] = str(DATA / "cache")


def allo(*arguments):
    return [ALLO, *arguments]


def convert(source, target, *options):
    return allo("convert", "-q", "-f", *options, source, "-o", DATA / target)


def zlib_size(path):
    """The size of a gzip file's content, compressed by zlib's level 6."""
    packer, size = zlib.compressobj(6, zlib.DEFLATED, 31), 0
    with gzip.open(path) as unpacked:
        while block := unpacked.read(1 << 20):
            size += len(packer.compress(block))
    return size + len(packer.flush())


def bench_dhat():
    for kind, least in (("valgrind", 12), ("dhat-rs", 8)):
        source = dhat(kind, "100M")
        ours, peer = compare([convert(source, "out.pb.gz"),
                              [PYTHON, "-c", f"import json; json.load(open({str(source)!r}))"]], 5)
        at_least(f"{kind} DHAT to pprof, against json.load", peer.wall / ours.wall, least,
                 f"{ours.wall:.3f} s, {source.stat().st_size / MB / ours.wall:.0f} MB/s; json.load {peer.wall:.2f} s")
        at_most(f"{kind} DHAT to pprof, memory for 100 MB", memory_of(convert(source, "out.pb.gz")) / MB, 100, "MB")
        size, zlib_6 = (DATA / "out.pb.gz").stat().st_size, zlib_size(DATA / "out.pb.gz")
        at_most(f"{kind} DHAT to pprof, size against zlib -6", size / zlib_6, 1.05, "x", f"{size / MB:.2f} MB")
        fast, = compare([convert(source, "fast.pb.gz", "--fast")], 5)
        at_most(f"{kind} DHAT to pprof, size with --fast", (DATA / "fast.pb.gz").stat().st_size / zlib_6, 1.3, "x",
                f"{fast.wall:.3f} s")


def bench_large():
    source = dhat("valgrind", "1G")
    ours, = compare([convert(source, "large.pb.gz")], 2)
    at_most("valgrind DHAT to pprof, memory for 1 GB", memory_of(convert(source, "large.pb.gz")) / MB, 200, "MB",
            f"{ours.wall:.2f} s")


def bench_pprof():
    source = made("twenty.pb.gz", lambda path: quietly(*allo(
        "convert", "-q", "-f", "--to", "pprof", dhat("valgrind", "133M"), "-o", path)))
    ours, peer, top, peer_top = compare([
        convert(source, "again.pb.gz"),
        ["go", "tool", "pprof", "-symbolize=none", "-proto", f"-output={DATA / 'go.pb.gz'}", source],
        allo("top", source),
        ["go", "tool", "pprof", "-symbolize=none", "-top", source]], 7)
    with gzip.open(source) as unpacked:
        size = len(unpacked.read()) / MB
    at_least("pprof read and written, against go", peer.wall / ours.wall, 6,
             f"{size:.1f} MB of protobuf: {ours.wall:.3f} s; go tool pprof -proto {peer.wall:.2f} s")
    at_least("allo top, against go tool pprof -top", peer_top.wall / top.wall, 20,
             f"{top.wall:.3f} s; go {peer_top.wall:.2f} s")


def names_only(source, target):
    """Folded stacks of a DHAT file as collapsing scripts write them: without addresses."""
    quietly(*allo("convert", "-q", "-f", "--to", "folded", "-M", "alloc_bytes", source, "-o", target))
    text = target.read_bytes()
    target.write_bytes(re.sub(rb"0x[0-9a-f]+ \[[^;]*\]", b"???", text))


def repeat_lines(source, target, size):
    """Lines of a file in any order, over and over: a line a sample."""
    lines, chance = source.read_bytes().splitlines(keepends=True), random.Random(1)
    with open(target, "wb") as out:
        while out.tell() < size:
            out.write(b"".join(chance.choices(lines, k=10000)))


def bench_folded():
    few = made("few.folded", lambda path: names_only(dhat("valgrind", "10M"), path))
    source = made("lines.folded", lambda path: repeat_lines(few, path, 250 * MB))
    many = made("many.folded", lambda path: names_only(dhat("valgrind", "510M"), path))
    # `info` reads the whole file and prints a few lines: its time is the time of reading.  Equal lines cost a lookup
    # each.  Distinct stacks are split and interned, so their peer is a program that keeps every distinct line.
    distinct = ["mawk", "{ sums[$0] += $NF } END { print length(sums) }"]
    for name, path, peer, most in (("repeated", source, ["wc", "-l"], 3), ("distinct", many, distinct, 0.5)):
        svg = convert(path, f"{name}.svg")
        reading, drawn, other = compare([allo("info", "-q", path), svg, [*peer, path]], 8 if name == "repeated" else 3)
        at_most(f"folded, {name} stacks, read, against {peer[0]}", reading.cpu / other.cpu, most, "x",
                f"{path.stat().st_size / MB:.0f} MB: {reading.cpu:.3f} s of CPU, {peer[0]} {other.cpu:.3f} s; "
                f"to svg {drawn.cpu:.3f} s and {memory_of(svg) / MB:.0f} MB of memory")


def dtrace(kind, size):
    return made(f"dtrace-{kind}-{size}.txt", lambda path: quietly(PYTHON, HERE / "gen_dtrace.py", path, size, kind))


def bench_dtrace():
    for kind in ("plain", "fields"):
        for size, rounds in (("100M", 8), ("1G", 3)):
            source = dtrace(kind, size)
            spall, folded, mawk, wc = compare([convert(source, "out.spall"), convert(source, "out.folded"),
                                               ["mawk", "{ n += NF } END { print n }", source], ["wc", "-l", source]], rounds)
            at_most(f"DTrace, {kind}, {size}, to Spall, against mawk", spall.cpu / mawk.cpu, 1, "x",
                    f"{spall.cpu:.3f} s of CPU, {spall.wall:.3f} s; mawk {mawk.cpu:.3f} s; "
                    f"{(DATA / 'out.spall').stat().st_size / MB:.0f} MB written")
            at_most(f"DTrace, {kind}, {size}, to folded, against wc -l", folded.cpu / wc.cpu, 10, "x",
                    f"{folded.cpu:.3f} s of CPU, {source.stat().st_size / MB / folded.cpu:.0f} MB/s; wc {wc.cpu:.3f} s")
        small, large = (memory_of(convert(dtrace(kind, size), "out.spall")) for size in ("10M", "1G"))
        at_most(f"DTrace, {kind}, to Spall, memory for 1 GB against 10 MB", large / small, 1.2, "x",
                f"{large / MB:.1f} MB and {small / MB:.1f} MB")


def perf_text():
    source = dtrace("fields", "100M")
    return made("perf-100M.txt", lambda path: quietly(PYTHON, HERE / "gen_perf.py", source, path))


def bench_perf():
    source = perf_text()
    folded, spall, wc = compare([convert(source, "perf.folded"), convert(source, "perf.spall"), ["wc", "-l", source]], 8)
    size = source.stat().st_size / MB
    at_most("perf to folded, against wc -l", folded.cpu / wc.cpu, 10, "x",
            f"{size:.0f} MB: {folded.cpu:.3f} s of CPU, {size / folded.cpu:.0f} MB/s; wc {wc.cpu:.3f} s; to Spall {spall.cpu:.2f} s")
    for target in ("perf.folded", "perf.spall"):
        at_most(f"{target.replace('.', ' to ')}, memory", memory_of(convert(source, target)) / MB, 20, "MB")


def bench_calls():
    source = made("calls.spall", lambda path: quietly(*allo("convert", "-q", "-f", "--to", "spall", perf_text(), "-o", path)))
    chrome = made("calls.trace.json", lambda path: quietly(*allo("convert", "-q", "-f", "--to", "chrome-trace", source, "-o", path)))
    ours, again, digest = compare([convert(source, "calls.folded"), convert(source, "again.spall"), ["md5sum", source]], 5)
    at_most("Spall to folded, against md5sum", ours.cpu / digest.cpu, 1.5, "x",
            f"{source.stat().st_size / MB:.0f} MB: {ours.cpu:.2f} s of CPU; md5sum {digest.cpu:.2f} s; to Spall again {again.cpu:.2f} s")
    at_most("Spall to Spall, memory", memory_of(convert(source, "again.spall")) / MB, 20, "MB")
    ours, peer = compare([convert(chrome, "calls.folded"),
                          [PYTHON, "-c", f"import json; json.load(open({str(chrome)!r}))"]], 3)
    at_least("Chrome trace to folded, against json.load", peer.cpu / ours.cpu, 2,
             f"{chrome.stat().st_size / MB:.0f} MB: {ours.cpu:.2f} s of CPU; json.load {peer.cpu:.2f} s")


def recording(name, *command):
    return made(f"{name}.allo", lambda path: quietly(*allo("run", "-q", "-o", path, *command)))


def generated(name, script, size):
    def make(path):
        with open(path, "w") as out:
            subprocess.run([PYTHON, WORK / script, size], stdout=out, check=True)
    return made(name, make)


def addresses(source):
    """{module: the addresses in its file} of a recording's frames."""
    def output(*arguments):
        return json.loads(subprocess.run(allo(*arguments), check=True, stdout=subprocess.PIPE).stdout)
    profile = output("convert", "-q", "--no-symbols", "--to", "json", source, "-o", "-")
    told = output("info", "-q", "--no-symbols", "--json", source)
    bias = {(module["path"], module["start"]): module["bias"] for module in told["recording"]["modules"]}
    found = collections.defaultdict(set)
    for frame in profile["frames"]:
        if frame and frame.get("module"):
            module = profile["modules"][frame["module"]]
            found[module["path"]].add(frame["address"] - bias[module["path"], module["start"]])
    return found


def addr2line(source):
    """A command that looks up the same addresses, one program or library after the other."""
    script = []
    for number, (path, found) in enumerate(addresses(source).items()):
        listed = DATA / f"{source.stem}.{number}.addresses"
        listed.write_text("\n".join(map(hex, sorted(found))))
        script.append(f"addr2line -f -i -e {path} @{listed}")
    return ["sh", "-c", "; ".join(script)], sum(map(len, addresses(source).values()))


def bench_symbols():
    source = generated("generated.c", "gen_c.py", "60")
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    inlined = made("inlined", lambda path: quietly(
        "g++", "-O2", "-g", "-std=c++17", generated("inlined.cpp", "gen_cpp.py", "100"), "-o", path))
    for name, source in (("cc1", recording("cc1", compiler, "-quiet", "-O2", source, "-o", "/dev/null")),
                         ("inlined C++", recording("inlined", inlined))):
        command, count = addr2line(source)
        # Seconds of CPU, so that a second core does not help.
        named, again, bare, peer = compare([allo("top", "-q", "--no-cache", source), allo("top", "-q", source),
                                            allo("top", "-q", "--no-symbols", source), command], 8)
        ours = named.cpu - bare.cpu
        at_least(f"names of {name}, against addr2line -f -i", peer.cpu / ours, 5,
                 f"{count} addresses: {ours * 1e3:.0f} ms; addr2line {peer.cpu * 1e3:.0f} ms; "
                 f"allo top {named.wall * 1e3:.0f} ms, the second time {again.wall * 1e3:.0f} ms")


def bench_rheaper():
    events = 10_000_000
    maker = made("make_rheaper", lambda path: quietly("gcc", "-O2", ROOT / "tests/programs/make_rheaper.c", "-o", path))
    source = made("rip-1", lambda path: quietly(maker, path, events))
    ours, top, cat = compare([convert(source, "rheaper.db"), allo("top", source),
                              ["sh", "-c", f"cat {source}/events/* | wc -c"]], 5)
    rate = events / ours.wall / 1e6
    goal("rheaper's recording to SQLite", f"{rate:.2f} M/s", "at least 3 M/s", rate >= 3,
         f"{events / 1e6:.0f} M events: {ours.wall:.2f} s, {ours.cpu:.2f} s of CPU; "
         f"allo top {top.wall:.2f} s; cat | wc -c {cat.wall:.2f} s")
    at_most("rheaper's recording to SQLite, memory", memory_of(convert(source, "rheaper.db")) / MB, 80, "MB")
    at_most("rheaper's recording, memory of allo top", memory_of(allo("top", source)) / MB, 20, "MB")


def bench_sql():
    workers, insert = built("workers"), built("insert_rows", "-l:libsqlite3.a", "-lm", "-ldl")
    source = made("workers.allo", lambda path: quietly(*allo(
        "run", "-q", "-f", "-o", path, "--", workers, 2, 30, 10000000)))
    ours = convert(source, "workers.db")
    rows = made("workers.rows", lambda path: (quietly(*ours), quietly(insert, "dump", DATA / "workers.db", path)))
    count = rows.stat().st_size / 88
    database, bare = compare([ours, [insert, "load", rows, DATA / "bare.db"]], 3)
    at_most("recording to SQLite, against a bare loop of inserts", database.cpu / bare.cpu, 1.5, "x",
            f"{count / 1e6:.1f} M rows: {database.cpu:.2f} s of CPU, {count / database.cpu / 1e6:.2f} M rows/s; "
            f"loop {bare.cpu:.2f} s; {memory_of(ours) / MB:.0f} MB of memory, "
            f"{(DATA / 'workers.db').stat().st_size / count:.1f} bytes a row")


def bench_start():
    source = ROOT / "tests/golden/dhat/dhat-rs-heap.json"
    fifty = made("fifty.json", lambda path: quietly(PYTHON, HERE / "gen_dhat.py", source, path, "50K"))
    ours, nothing = compare([convert(fifty, "fifty.pb.gz"), ["/bin/true"]], 60)
    at_most("a 50 KB file, beyond /bin/true", (ours.wall - nothing.wall) * 1e3, 2, "ms",
            f"{ours.wall * 1e3:.2f} ms; true {nothing.wall * 1e3:.2f} ms")


run_benches(globals())
