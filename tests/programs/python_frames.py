"""Allocates a block of a distinct size in many kinds of Python calls, and prints what sys._getframe() says there.

A line of output is a size and, for each frame from the innermost one, its function, file and line, as JSON.  Words in the
command: "deep" adds a deep recursion, "threads" runs some calls in four threads, "released" allocates without the GIL, and
"greenlets" switches between stacks.
"""
import contextlib
import ctypes
import functools
import json
import re
import sys
import threading
import weakref

malloc = (ctypes.CDLL if "released" in sys.argv else ctypes.PyDLL)(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
lock = threading.RLock()
if "greenlets" in sys.argv:
    import greenlet
size = 1_000_000
wanted = []


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def check():
    global size
    with lock:
        size += 16
        own = size
    malloc(own); note(own, sys._getframe())


def note(own, frame):
    line, frames = frame.f_lineno, []
    while frame:
        frames.append([name_of(frame.f_code), frame.f_code.co_filename, line or frame.f_lineno])
        frame, line = frame.f_back, None
    wanted.append([own, frames])


def plain(n):
    if n:
        return plain(n - 1)
    check()


class Special:
    def __init__(self):
        check()

    def __getattr__(self, name):
        check()
        return 1

    def __del__(self):
        check()

    def __lt__(self, other):
        check()
        return True

    @property
    def p(self):
        check()
        return 2

    def __iter__(self):
        yield 1
        check()
        yield 2


class Made:
    def __init__(self):
        check()


def generate(n):
    for i in range(n):
        check()
        yield i


def delegate():
    yield from generate(3)


async def outer():
    check()
    await inner()


async def inner():
    check()


@contextlib.contextmanager
def manage():
    check()
    yield
    check()


def handle():
    try:
        1 / 0
    except ZeroDivisionError:
        check()
    finally:
        check()


def wait_inside():
    global size
    while True:
        size += 16  # without a call, which would overwrite frames that are gone
        malloc(size); note(size, sys._getframe())
        yield


def wait_outside():
    yield from wait_inside()


def resume(generator, steps):
    return steps[0](generator, steps[1])


def resume_deep(n, generator):
    """sum() cannot add what the generator yields.  So frames end without having executed another instruction."""
    steps = (sum, 0)
    for _ in range(n):
        steps = (resume, steps)
    try:
        resume(generator, steps)
    except TypeError:
        pass


def hot(n):
    """Often enough that a JIT compiles it."""
    for i in range(n):
        if i % 1000 == 0:
            plain(2)


def visit(n):
    """Goes back to its parent from a depth of n calls, twice."""
    if n:
        return visit(n - 1)
    for _ in range(2):
        check()
        greenlet.getcurrent().parent.switch()
    check()


def visit_all():
    visitors = [greenlet.greenlet(visit) for _ in range(20)]
    for _ in range(3):
        for n, visitor in enumerate(visitors):
            visitor.switch(n)
            plain(n % 5)


def several_lines():
    x = [
        1,
        check(),
        3]
    return (x,
            plain(
                1))


def 函数():
    check()


def éünï():
    check()


def thread(n):
    for i in range(n):
        plain(i % 7)
        list(delegate())


def main():
    for i in range(3):
        plain(i)
    plain(40)
    plain(3)
    special = Special()
    special.other, special.p, list(special)
    del special
    sorted([Special(), Special(), Special()])
    for _ in range(40):  # often enough that the interpreter specializes the call
        Made()
    list(delegate())
    waiting = wait_outside()
    for n in (700, 0, 700, 1, 300, 0):  # its frames stay, while the memory of those that resumed it is given back
        resume_deep(n, waiting)
    [check() for _ in range(2)]
    {check() for _ in range(2)}
    list(map(lambda _: check(), range(2)))
    functools.reduce(lambda a, b: check(), range(3))
    re.sub("a", lambda match: check() or "x", "banana")
    json.loads('{"a": {"b": 1}}', object_hook=lambda d: check() or d)
    json.dumps([object()], default=lambda o: check() or 1)
    with manage():
        plain(2)
    with contextlib.suppress(StopIteration):
        outer().send(None)
    for k in range(300):  # code objects go, and their addresses are used again
        names = {"check": check}
        exec(compile(f"def f{k}():\n    check()\n\n\nf{k}()\n", f"<generated {k}>", "exec"), names)
        eval("check()", names)
    hot(20_000)
    handle()
    函数()
    éünï()
    several_lines()

    class Meta(type):
        def __new__(m, *a):
            check()
            return type.__new__(m, *a)

    class Body(metaclass=Meta):
        check()

    class Weak:
        pass

    weak = Weak()
    reference = weakref.ref(weak, lambda _: check())
    del weak
    if "deep" in sys.argv:  # deeper than the frames that are always read again
        for n in (2000, 1500, 1501, 900, 2000):
            plain(n)
    if "greenlets" in sys.argv:
        visit_all()
    if "threads" in sys.argv:
        threads = [threading.Thread(target=thread, args=(20,)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()


sys.setrecursionlimit(5000)
main()
for one in wanted:
    print(json.dumps(one))
