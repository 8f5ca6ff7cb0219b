"""Spall files as the web viewer reads them: written from the format's description, sharing nothing with the writer.

It refuses the files that the viewer refuses, and files that the viewer tolerates but a writer should not make.
"""
import collections
import struct

MAGIC = 0x0BADF00D
CHUNK = 10 << 20  # what the viewer loads at once: a buffer has to fit in

Call = collections.namedtuple("Call", "name start end depth")


class Trace:
    """Calls by thread, {(pid, tid): [Call]} in the order of their beginnings; times in nanoseconds."""

    def __init__(self, data):
        self.calls, self.thread_names, self.process_names = {}, {}, {}
        self.begins, self.ends = collections.Counter(), collections.Counter()
        self._open, self._now = {}, {}
        magic, self.version, self.unit, zero = struct.unpack_from("<QQdQ", data)
        assert magic == MAGIC and zero == 0 and self.unit > 0, data[:32]
        body = memoryview(data)[32:]
        {1: self._read_v1, 3: self._read_v3}[self.version](body)
        for thread, stack in self._open.items():
            assert not stack, f"{len(stack)} calls of {thread} never end"
        self.spans = {thread: (min(call.start for call in calls), max(call.end for call in calls))
                      for thread, calls in self.calls.items()}

    def _ns(self, ticks):
        assert ticks == int(ticks), f"the viewer cuts {ticks} to a whole number"
        # Microseconds a tick in version 1, nanoseconds in the other.
        return round(ticks * self.unit * (1000 if self.version == 1 else 1))

    def _begin(self, thread, ticks, name):
        time, text = self._ns(ticks), bytes(name).decode()  # which must be UTF-8
        assert time >= self._now.get(thread, 0), f"{text} of {thread} travels in time"
        self._now[thread] = time
        stack = self._open.setdefault(thread, [])
        assert len(stack) < 65535
        calls = self.calls.setdefault(thread, [])
        stack.append(len(calls))
        calls.append(Call(text, time, None, len(stack)))
        self.begins[thread] += 1

    def _end(self, thread, ticks):
        time = self._ns(ticks)
        assert self._open.get(thread), f"{thread} ends what has not begun"
        index = self._open[thread].pop()
        call = self.calls[thread][index]
        assert time >= call.start and time >= self._now[thread], f"{call} ends before it begins"
        self._now[thread] = time
        self.calls[thread][index] = call._replace(end=time)
        self.ends[thread] += 1

    def _read_v1(self, data):
        at = 0
        while at < len(data):
            if data[at] == 3:
                _, category, pid, tid, time, length, more = struct.unpack_from("<BBIIdBB", data, at)
                assert category == 0
                self._begin((pid, tid), time, data[at + 20:at + 20 + length])
                at += 20 + length + more
            elif data[at] == 4:
                _, pid, tid, time = struct.unpack_from("<BIId", data, at)
                self._end((pid, tid), time)
                at += 17
            else:
                raise AssertionError(f"an event of kind {data[at]} is a fatal error")
        assert at == len(data)

    def _read_v3(self, data):
        at = 0
        while at < len(data):
            size, tid, pid, _ = struct.unpack_from("<IIIQ", data, at)
            at += 20
            assert 0 < size <= CHUNK - 20 - 32 and at + size <= len(data)
            self._read_buffer((pid, tid), data[at:at + size])
            at += size

    def _read_buffer(self, thread, data):
        at = 0
        while at < len(data):
            if data[at] == 3:
                _, time, length, more = struct.unpack_from("<BQBB", data, at)
                self._begin(thread, time, data[at + 11:at + 11 + length])
                at += 11 + length + more
            elif data[at] == 4:
                self._end(thread, struct.unpack_from("<BQ", data, at)[1])
                at += 9
            elif data[at] in (8, 9):
                name = bytes(data[at + 2:at + 2 + data[at + 1]]).decode()
                if data[at] == 8:
                    self.process_names[thread[0]] = name
                else:
                    self.thread_names[thread] = name
                at += 2 + data[at + 1]
            else:
                raise AssertionError(f"an event of kind {data[at]} is a fatal error")
        assert at == len(data)

    def thread(self, thread=(0, 0)):
        """The calls of a thread as [name, start, end] in the order of their beginnings."""
        return [[call.name, call.start, call.end] for call in self.calls.get(thread, [])]

    def text(self):
        """All of it, to be looked at."""
        lines = [f"version {self.version}, {self.unit} a tick"]
        for thread in sorted(self.calls):
            lines.append("process {} {}, thread {} {}".format(
                thread[0], self.process_names.get(thread[0], "-"), thread[1], self.thread_names.get(thread, "-")))
            lines += [f"{'  ' * call.depth}{call.name}  {call.start}..{call.end}" for call in self.calls[thread]]
        return "\n".join(lines) + "\n"


def own_times(calls):
    """How long each stack of names was the innermost: {(outermost, ..., innermost): ns}."""
    found, path = collections.Counter(), []
    for call in calls:
        del path[call.depth - 1:]
        path.append(call.name)
        found[tuple(path)] += call.end - call.start
        if len(path) > 1:
            found[tuple(path[:-1])] -= call.end - call.start
    return {stack: time for stack, time in found.items() if time}
