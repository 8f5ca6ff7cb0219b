"""Reads Spall's files, versions 1 and 3, as strictly as its web viewer does, and more so.

Written from the description of the format; shares nothing with what it checks.
"""
import collections
import struct

MAGIC = 0x0BADF00D
Trace = collections.namedtuple("Trace", "version tick_ns events processes threads")


class Invalid(Exception):
    pass


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def take(self, form):
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise Invalid(f"cut at byte {self.at}")
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return found

    def text(self, length):
        if self.at + length > len(self.data):
            raise Invalid(f"cut at byte {self.at}")
        found = self.data[self.at:self.at + length]
        self.at += length
        return found.decode()  # must be UTF-8


def flat_events(cursor):
    while cursor.more():
        kind, = cursor.take("B")
        if kind == 3:
            _, pid, tid, time, name, args = cursor.take("BIIdBB")
            yield (pid, tid), ("B", time, cursor.text(name), cursor.text(args))
        elif kind == 4:
            pid, tid, time = cursor.take("IId")
            yield (pid, tid), ("E", time)
        else:
            raise Invalid(f"event {kind} before byte {cursor.at}")


def buffered_events(cursor, processes, threads):
    while cursor.more():
        size, tid, pid, _ = cursor.take("IIIQ")
        if size > 10 * 1024 * 1024 - 52 or cursor.at + size > len(cursor.data):
            raise Invalid(f"a buffer of {size} bytes")
        buffer = Cursor(cursor.data[cursor.at:cursor.at + size])
        cursor.at += size
        while buffer.more():
            kind, = buffer.take("B")
            if kind == 3:
                time, name, args = buffer.take("QBB")
                yield (pid, tid), ("B", time, buffer.text(name), buffer.text(args))
            elif kind == 4:
                yield (pid, tid), ("E", *buffer.take("Q"))
            elif kind in (8, 9):
                length, = buffer.take("B")
                (processes if kind == 8 else threads)[pid if kind == 8 else (pid, tid)] = buffer.text(length)
            else:
                raise Invalid(f"event {kind}")


def decode(data):
    """{(pid, tid): [("B", ns, name, args) or ("E", ns), ...]}, each thread's calls begun and ended in turn, in the
    order of time."""
    cursor = Cursor(data)
    magic, version, unit, zero = cursor.take("QQdQ")
    if magic != MAGIC or version not in (1, 3) or not unit > 0 or zero != 0:
        raise Invalid(f"head {magic:x} {version} {unit} {zero}")
    tick_ns = unit * 1000 if version == 1 else unit
    processes, threads, found = {}, {}, collections.defaultdict(list)
    events = flat_events(cursor) if version == 1 else buffered_events(cursor, processes, threads)
    depth, latest = collections.Counter(), collections.Counter()
    for thread, (kind, time, *rest) in events:
        if time != int(time):
            raise Invalid(f"{time} ticks: the viewer cuts fractions off")
        if time < latest[thread]:
            raise Invalid(f"{thread} goes back to {time} from {latest[thread]}")
        latest[thread] = time
        depth[thread] += 1 if kind == "B" else -1
        if depth[thread] < 0:
            raise Invalid(f"{thread} ends what it has not begun, at {time}")
        found[thread].append((kind, round(time * tick_ns), *rest))
    if any(depth.values()):
        raise Invalid(f"calls that do not end: {dict(depth)}")
    return Trace(version, tick_ns, dict(found), processes, threads)


def widths(events):
    """How long each stack of names was by itself, of one thread's events."""
    found, stack, now = collections.Counter(), [], None
    for kind, time, *rest in events:
        if stack:
            found[tuple(stack)] += time - now
        now = time
        if kind == "B":
            stack.append(rest[0])
        else:
            stack.pop()
    return +found
