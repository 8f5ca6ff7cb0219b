#!/usr/bin/env python3
"""Benchmarks of the viewer: its change log against 'allo top --no-cache', and its page against speedscope.

usage: view.py BUILD [WORD...]        only the benchmarks whose name holds one of the words

Prints a line a goal, as run.py does, and the share of the goal that is used.  Times are CPU time, those of pages elapsed time;
of several rounds the best counts.  A time is compared with that of 'allo top' on the same recording: the goals are the ratios
that the plan of the viewer had on its own machine.  Tests have its goals of exactness: equal numbers (test_views.py), equal
replies of both engines (test_wasm.py), no requests of a report (test_report.mjs).
"""
import json
import os
import pathlib
import random
import shutil
import subprocess

from goals import ALLO, BUILD, DATA, MB, PYTHON, at_least, at_most, made, quietly, run_benches
from measure import compare
from replay import ONE_CORE, many_threads, one_thread, recorded, replay  # its recordings

ROUNDS = 5

# CPU seconds of 'allo top' on the plan's machine, and its goals for a recording: seconds, and changes a second.
PLAN = {
    "one thread": {"top": 0.394, "changes": 35e6, "on screen": 2.0, "window": 0.008, "brush": 0.016, "bytes": 7.0},
    "compiler": {"top": 1.54, "changes": 20e6, "on screen": 6.0, "window": 0.040, "brush": 0.050, "bytes": 12},
}


def planned(name, what):
    """The goal for a time, as a ratio to `allo top`."""
    return round(PLAN[name][what] / PLAN[name]["top"], 3)


def within(name, value, most, unit, detail=""):
    at_most(name, value, most, unit, f"{value / most:.2f} of the goal{'; ' if detail else ''}{detail}")



def measured(path):
    """The figures of tests/programs/measure_log.c; of times the best."""
    best = {}
    for _ in range(ROUNDS):
        said = subprocess.run([*ONE_CORE, BUILD / "tests" / "measure_log", path], capture_output=True, check=True,
                              text=True).stdout
        for name, value in (line.split() for line in said.splitlines()):
            best[name] = min(best.get(name, float("inf")), float(value))
    return best


def bench_log():
    for name, recording, most_bytes in (("one thread", one_thread, 5.5), ("compiler", compiler, 5.5),
                                        ("three threads", many_threads, 9)):
        path, events = recording(False)
        top = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu * 1e3
        figures = measured(path)
        changes = figures["changes"]
        making = changes / PLAN[name]["changes"] / PLAN[name]["top"] if name in PLAN else 2
        within(f"change log, {name}: making it, to a replay", figures["build_ms"] / top, round(making, 2), "x",
               f"{changes / figures['build_ms'] / 1e3:.1f} M changes a second of {events / 1e6:.1f} M events")
        within(f"change log, {name}: bytes a change", figures["log_bytes"] / changes, most_bytes, "B",
               f"{figures['all_bytes'] / changes:.1f} with sums and states")
        for part in "whole", "fifth":
            within(f"change log, {name}: window ({part}), to a replay", figures[f"{part}_median_ms"] / top, 0.02, "x",
                   f"{figures[f'{part}_median_ms']:.2f} ms, p95 {figures[f'{part}_p95_ms']:.2f} ms")


def bench_command():
    """The second command with a range, to the same without the cache."""
    path, events = one_thread(False)
    cache = made("view-cache", lambda folder: folder.mkdir())
    os.environ["XDG_CACHE_HOME"] = str(cache)
    said = subprocess.run([ALLO, "info", "--json", "--no-symbols", path], capture_output=True, check=True).stdout
    length = json.loads(said)["duration_ns"]
    window = [ALLO, "top", "--no-symbols", "-n", "1", "--range", f"{length // 2}ns..{length * 7 // 10}ns", path]
    subprocess.run(window, check=True, stdout=subprocess.DEVNULL)
    cached, replayed = compare([window, [*window, "--no-cache"]], ROUNDS)
    within("allo top --range, cached, to a replay", cached.cpu / replayed.cpu, 0.3, "x",
           f"{cached.cpu:.3f} s and {replayed.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


def bench_index():
    """The first window of a recording with an index, to the first without: nothing is cached."""
    path, events = one_thread(False)
    indexed = made("indexed.allo",
                   lambda out: subprocess.run([ALLO, "symbolize", "-q", "--index", path, "-o", out], check=True))
    said = subprocess.run([ALLO, "info", "--json", "--no-symbols", path], capture_output=True, check=True).stdout
    length = json.loads(said)["duration_ns"]
    window = [*ONE_CORE, ALLO, "top", "--no-symbols", "-n", "1", "--range", f"{length // 2}ns..{length * 7 // 10}ns"]
    os.environ["ALLO_NO_CACHE"] = "1"
    with_index, without = compare([[*window, indexed], [*window, path]], ROUNDS)
    del os.environ["ALLO_NO_CACHE"]
    within("first window with an index, to one without", with_index.cpu / without.cpu, 0.3, "x",
           f"{with_index.cpu:.3f} s and {without.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")
    grown = os.stat(indexed).st_size - os.stat(path).st_size
    within("bytes of an index per event", grown / events, 3, "B", f"{grown / 1e6:.1f} MB")


# Pages, in Chromium.

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent


def with_packages(name, source):
    """A folder with the npm packages that another one asks for."""
    folder = DATA / name
    if not (folder / "node_modules").exists():
        folder.mkdir(exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, folder)
        quietly("npm", "ci", "--prefix", folder, "--ignore-scripts")
    return folder


def figures_of(*command, folder=None):
    said = subprocess.run([str(word) for word in command], check=True, capture_output=True, cwd=folder).stdout
    return json.loads(said)


def page_figures(kind, path):
    folder = with_packages("browser", TESTS / "browser")
    shutil.copy(HERE / "page.mjs", folder)
    return figures_of("node", folder / "page.mjs", ALLO, kind, path)


def page_seconds(kind, path, rounds=3):
    """Seconds from the command until the data are on screen."""
    return min(page_figures(kind, path)["seconds"] for _ in range(rounds))


def report_of(name, path):
    return made(name, lambda out: subprocess.run([ALLO, "report", "-q", "--max-size", "0", "-o", out, path], check=True))


def many_stacks():
    """500,000 distinct stacks of 12 to 31 frames, of 40,000 functions."""
    def make(path):
        chosen = random.Random(23)
        with open(path, "w") as out:
            for _ in range(500_000):
                frames = (f"function_{chosen.randrange(40_000)}" for _ in range(chosen.randint(12, 31)))
                out.write(";".join(frames) + f" {chosen.randrange(1, 5000)}\n")
    return made("stacks.folded", make)


def bench_speedscope():
    path = many_stacks()
    ours, theirs = page_seconds("view", path), page_seconds("speedscope", path, rounds=1)
    at_least("500,000 stacks on screen, speedscope's time to ours", theirs / ours, 10, f"{theirs:.2f} s, {ours:.2f} s")


def bench_page():
    path, events = one_thread(False)
    indexed = made("indexed.allo",
                   lambda out: subprocess.run([ALLO, "symbolize", "-q", "--index", path, "-o", out], check=True))
    page_seconds("view", indexed, rounds=1)  # fills the caches
    seconds = page_seconds("view", indexed)
    replayed = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu
    within("allo view on screen, cached, to a replay", seconds / replayed, 1, "x",
           f"{seconds:.2f} s for {events / 1e6:.1f} M events, of which the browser has its share")
    for name, recording in (("one thread", one_thread), ("compiler", compiler)):
        path, events = recording(False)
        replayed = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu
        seconds = page_seconds("report", report_of(f"{path.stem}.html", path))
        within(f"a report on screen, {name}, to a replay", seconds / replayed, planned(name, "on screen"), "x",
               f"{seconds:.2f} s for {events / 1e6:.1f} M events")


def bench_short_page():
    """A small report: nearly all of its time is that of the page and its engine."""
    replayed = compare([[*ONE_CORE, *replay(one_thread(False)[0])]], ROUNDS)[0].cpu
    path, events = short_run(False)
    seconds = page_seconds("report", report_of(f"{path.stem}.html", path))
    within("a short report on screen, to the replay of a long one", seconds / replayed, round(0.6 / PLAN["one thread"]["top"], 2),
           "x", f"{seconds:.2f} s for {events / 1e6:.1f} M events")


def compiler(raw):
    """A C++ compiler at work: many stacks, many blocks that live on."""
    source = made("generated.cpp", lambda out: out.write_text(
        subprocess.run([PYTHON, HERE / "workloads" / "gen_cpp.py", "120"], check=True, capture_output=True, text=True).stdout))
    expanded = made("generated.ii", lambda out: quietly("g++", "-E", source, "-o", out))
    program = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True).stdout.strip()
    return recorded("cc1plus", program, "-quiet", "-fpreprocessed", "-O2", expanded, "-o", "/dev/null", raw=raw)


def short_run(raw):
    return recorded("objects-2", PYTHON, HERE / "workloads" / "objects.py", 2, raw=raw)


LARGE = (("one thread", one_thread), ("compiler", compiler))


def bench_engine():
    """The engine of reports, under node: the same code runs in the page."""
    folder = with_packages("wasm", TESTS / "wasm")
    for file in (TESTS / "wasm" / "engine.mjs", HERE / "windows.mjs"):
        shutil.copy(file, folder)
    for name, recording in LARGE:
        path, events = recording(False)
        replayed = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu
        rounds = [figures_of("node", folder / "windows.mjs", BUILD / "src" / "wasm" / "engine.wasm", path) for _ in range(3)]
        best = {key: min(figures[key] for figures in rounds) for key in rounds[0]}
        within(f"engine in the page, {name}: window p95, to a replay", best["p95_ms"] / replayed / 1e3,
               planned(name, "window"), "x",
               f"{best['p95_ms']:.1f} ms, median {best['median_ms']:.1f} ms")
        within(f"engine in the page, {name}: memory per event", best["memory_mib"] * (1 << 20) / events, PLAN[name]["bytes"], "B",
               f"{best['memory_mib']:.0f} MiB; ready after {best['ready_s']:.2f} s of CPU")


def bench_brush():
    """A report in the browser: from a new range until the flame graph is drawn."""
    for name, recording in LARGE:
        path, events = recording(False)
        replayed = compare([[*ONE_CORE, *replay(path)]], ROUNDS)[0].cpu
        rounds = [page_figures("brush", report_of(f"{path.stem}.html", path)) for _ in range(3)]
        best = {key: min(figures[key] for figures in rounds) for key in rounds[0]}
        within(f"brush to drawn, {name}: p95, to a replay", best["p95_ms"] / replayed / 1e3, planned(name, "brush"), "x",
               f"{best['p95_ms']:.0f} ms, median {best['median_ms']:.0f} ms, {events / 1e6:.1f} M events")
        within(f"memory of the page's script, {name}", best["heap_mb"], 60, "MB")


def bench_flame():
    """Drawing: a tree of 2 million nodes, of which a picture shows the visible ones."""
    source = TESTS.parent / "viewer"
    folder = with_packages("viewer", source)
    shutil.copytree(source / "src", folder / "src", dirs_exist_ok=True)
    shutil.copy(HERE / "flame.mjs", folder)
    rounds = [figures_of("node", "flame.mjs", folder=folder) for _ in range(3)]
    best = min(rounds, key=lambda figures: figures["worst_ms"])
    within("flame graph: script of the worst picture, to a frame of 60 Hz", best["worst_ms"] / (1000 / 60), 0.72, "x",
           f"{best['worst_ms']:.1f} ms, {best['boxes']} boxes of {best['nodes'] / 1e6:.2f} M nodes, "
           f"laid out in {best['layout_ms']:.0f} ms")


def bench_size():
    page = TESTS.parent / "viewer" / "dist" / "viewer.html.gz"
    within("the page, packed", page.stat().st_size / 1e3, 120, "KB")
    within("the engine, packed", (BUILD / "src" / "wasm" / "engine.wasm.zst").stat().st_size / 1e3, 180, "KB",
           "with zstd; the plan's 180 KB are with gzip, without findings, DHAT's tree and generations")
    empty = made("empty.html", lambda out: subprocess.run([ALLO, "report", "-q", "--empty", "-o", out], check=True))
    within("a report without data", empty.stat().st_size / 1e3, 450, "KB")
    for recording, megabytes in ((short_run, 0.9), (one_thread, 2.5), (compiler, 11.5)):
        path, events = recording(False)
        report = report_of(f"{path.stem}.html", path)
        data = report.stat().st_size - empty.stat().st_size
        within(f"a report of {events / 1e6:.0f} M events", report.stat().st_size / MB, megabytes, "MB",
               f"{data / path.stat().st_size:.2f} x its recording, without page and engine")


def bench_report():
    """Writing needs no replay."""
    path, events = one_thread(False)
    report = [*ONE_CORE, ALLO, "report", "-q", "-f", "--max-size", "0", "-o", DATA / "written.html", path]
    written, replayed = compare([report, [*ONE_CORE, *replay(path)]], ROUNDS)
    within("allo report, to a replay", written.cpu / replayed.cpu, 1, "x",
           f"{written.cpu:.3f} s of CPU for {events / 1e6:.1f} M events")


run_benches(globals())
