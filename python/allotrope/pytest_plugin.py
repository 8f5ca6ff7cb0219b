"""pytest plugin: tests fail if they need more memory than allowed.

    @pytest.mark.limit_memory("24 MB")      most bytes held at once
    @pytest.mark.limit_leaks("1 MB")        bytes that are allocated and not freed
    @pytest.mark.limit_allocations(100)     number of allocated blocks

Limits cover the body of a test without its fixtures.  They need the runtime of allo in the process: if a test has a limit,
pytest starts again under 'allo run', before the first test.  Every object of Python counts, and the memory of C extensions.
"""
import ctypes
import functools
import gc
import inspect
import os
import re
import sys

import pytest

from allotrope.__main__ import program

MARKS = {
    "limit_memory": "limit_memory(size): fail if the test holds more bytes at once, such as '24 MB', in its thread",
    "limit_leaks": "limit_leaks(size): fail if the test allocates more bytes than it frees",
    "limit_allocations": "limit_allocations(count): fail if the test allocates more blocks",
}

# Set for the second start.
STARTED = "ALLO_PYTEST"

# As in pytest-memray, a KB has 1024 bytes.
UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Stats(ctypes.Structure):
    """struct allo_heap_stats of allo.h."""
    _fields_ = [("total_blocks", ctypes.c_uint64), ("total_bytes", ctypes.c_uint64),
                ("current_blocks", ctypes.c_int64), ("current_bytes", ctypes.c_int64),
                ("peak_blocks", ctypes.c_uint64), ("peak_bytes", ctypes.c_uint64)]


class Scope(ctypes.Structure):
    """struct allo_scope of allo.h."""
    _fields_ = [("before", Stats), ("reserved", ctypes.c_uint64 * 4)]


class Measurement:
    """Calls a function, and measures it: the peak of its thread, the rest of the whole process."""

    def __init__(self, runtime, function, collects):
        self.function, self.collects = function, collects
        self.before, self.after, self.peak, scope = Stats(), Stats(), Stats(), Scope()
        # Made now, so that measuring allocates as little as possible.
        self.get, self.begin, self.end = runtime.allo_get_heap_stats, runtime.allo_scope_begin, runtime.allo_scope_end
        self.at_before, self.at_after = ctypes.byref(self.before), ctypes.byref(self.after)
        self.at_peak, self.at_scope = ctypes.byref(self.peak), ctypes.byref(scope)

    def call(self, *arguments, **more):
        self.begin(self.at_scope)
        self.get(self.at_before)
        try:
            return self.function(*arguments, **more)
        finally:
            if self.collects:
                gc.collect()
            self.get(self.at_after)
            self.end(self.at_scope, self.at_peak)

    @property
    def held(self):
        return self.peak.peak_bytes

    @property
    def blocks(self):
        return self.after.total_blocks - self.before.total_blocks

    @property
    def kept(self):
        return self.after.current_bytes - self.before.current_bytes


def size_of(text):
    """The bytes of '24 MB'."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:(B?)|([KMGT])I?B?)\s*", str(text).upper())
    if not match:
        raise pytest.UsageError(f"expected a size such as '24 MB', found '{text}'")
    return int(float(match[1]) * UNITS[match[3] or ""])


def size_text(count):
    """'1.5 MiB' for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024


def wrap(measurement):
    """A function in place of another one; pytest looks for the arguments of the latter."""
    return functools.wraps(measurement.function)(lambda *arguments, **more: measurement.call(*arguments, **more))


def limits_of(item):
    """The limits of a test: name and number."""
    found = []
    for name in MARKS:
        mark = item.get_closest_marker(name)
        if not mark:
            continue
        if len(mark.args) != 1:
            raise pytest.UsageError(f"{item.nodeid}: expected one argument: {MARKS[name].partition(':')[0]}")
        found.append((name, int(mark.args[0]) if name == "limit_allocations" else size_of(mark.args[0])))
    return found


def load_runtime():
    """The preloaded runtime, with its functions; None if it keeps no statistics here."""
    runtime = ctypes.CDLL(None)
    try:
        for name in ("allo_get_heap_stats", "allo_scope_begin", "allo_scope_end"):
            getattr(runtime, name).restype = ctypes.c_bool
    except AttributeError:
        return None
    return runtime if runtime.allo_get_heap_stats(ctypes.byref(Stats())) else None


def run_again(config):
    """Executes the same command under 'allo run'.  pytest's capture gives standard output back before."""
    allo, recording = program(), config.getoption("allo")
    if os.environ.get(STARTED) or hasattr(config, "workerinput"):
        raise pytest.UsageError("limits of memory need the runtime of allo: allo run -q -m counters -- python3 -m pytest ...")
    if not allo:
        raise pytest.UsageError("limits of memory need the program allo, which is not in PATH")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[STARTED] = "1"
    if recording:
        os.environ["ALLO_STATS"] = "1"
    else:
        # Counters see malloc only.
        os.environ["PYTHONMALLOC"] = "malloc"
    words = ["-f", "-o", recording] if recording else ["-m", "counters"]
    arguments = sys.orig_argv[1:] if hasattr(sys, "orig_argv") else ["-m", "pytest", *config.invocation_params.args]
    os.execv(allo, [allo, "run", "-q", *words, "--", sys.executable, *arguments])


class Plugin:
    """The hooks that need the runtime, or find out whether it is needed."""

    def __init__(self, config):
        self.config = config
        self.runtime = load_runtime()
        self.problems = pytest.StashKey()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        has_limits = any([limits_of(item) for item in items])
        if has_limits and not self.runtime and not self.config.getoption("collectonly"):
            run_again(self.config)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        limits, function = limits_of(pyfuncitem), pyfuncitem.obj
        if not limits or inspect.iscoroutinefunction(function):
            yield
            return
        collects = any(name == "limit_leaks" for name, _ in limits)
        of_nothing = Measurement(self.runtime, None, collects)
        measured = Measurement(self.runtime, function, collects)
        # The first calls fill CPython's caches.  Each is that of a new function, as the test is.
        functions = [eval("lambda: None") for _ in range(3)]
        gc.collect()
        for of_nothing.function in functions:
            wrap(of_nothing)()
        self.mark(pyfuncitem.nodeid)
        pyfuncitem.obj = wrap(measured)
        yield
        pyfuncitem.obj = function
        self.mark(f"end of {pyfuncitem.nodeid}")
        pyfuncitem.stash[self.problems] = self.judge(pyfuncitem, limits, measured, of_nothing)

    def mark(self, name):
        if self.config.getoption("allo"):
            self.runtime.allo_mark(name.encode())

    def judge(self, item, limits, measured, of_nothing):
        """A line for each exceeded limit."""
        numbers = {"limit_memory": (measured.held, "held {} at once", size_text),
                   "limit_leaks": (measured.kept - of_nothing.kept, "did not free {}", size_text),
                   "limit_allocations": (measured.blocks - of_nothing.blocks, "allocated {} blocks", str)}
        lines = []
        for name, allowed in limits:
            number, words, text = numbers[name]
            if number > allowed:
                lines.append(f"{name}: the test {words.format(text(number))} where at most {text(allowed)} "
                             f"{'are' if name == 'limit_allocations' else 'is'} allowed")
        recording = self.config.getoption("allo")
        if lines and recording:
            lines.append(f"allo top {recording} -M alloc_bytes --range '{item.nodeid}..end of {item.nodeid}'")
        return lines

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        lines = item.stash.get(self.problems, None)
        if call.when == "call" and report.passed and lines:
            report.outcome = "failed"
            report.longrepr = "\n".join(lines)


def pytest_addoption(parser):
    group = parser.getgroup("allo", "limits of memory")
    group.addoption("--allo", metavar="FILE",
                    help="record all tests into FILE; messages have the command that shows the lines of a test")


def pytest_configure(config):
    for about in MARKS.values():
        config.addinivalue_line("markers", about)
    plugin = Plugin(config)
    config.pluginmanager.register(plugin, "allo-limits")
    # Workers of pytest-xdist cannot start again.
    if not plugin.runtime and (config.getoption("allo") or config.getoption("numprocesses", None)):
        run_again(config)
