"""The life of each block of a recording, worked out plainly from `allo events --json`."""
import collections
import json
import struct

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, Test

RAW = GOLDEN / "allo" / "server.raw.allo.zst"
PACKED = GOLDEN / "allo" / "server.allo"
KILLED = GOLDEN / "allo" / "killed.allo"
UTF8 = {**ENVIRONMENT, "LC_ALL": "C.UTF-8"}
PLAIN = {**ENVIRONMENT, "LC_ALL": "C"}
NEVER = 1 << 62


class Block:
    def __init__(self, number, event):
        self.number = number
        self.alloc_ns = self.first_ns = event["ns"]
        self.free_ns = NEVER
        self.size, self.tid, self.stack = event["size"], event["tid"], event["stack"]
        self.free_tid = None
        self.resized = self.resized_on = self.temporary = False

    @property
    def lifetime(self):
        """None where it has not ended: it was never freed, or lives on as another one."""
        return None if self.free_ns == NEVER or self.resized_on else self.free_ns - self.first_ns

    def lives_within(self, start, end):
        return self.alloc_ns < end and (self.free_ns > start or self.alloc_ns >= start)


class Lives:
    """All blocks, in the order of their birth."""

    def __init__(self, events):
        self.events = events
        self.blocks, self.live, self.last = [], {}, {}
        self.frees = collections.Counter()  # by thread
        for event in events:
            self.apply(event)

    def apply(self, event):
        kind, name = event["event"], event.get("block", event.get("pointer"))
        before = None
        if kind == "realloc":
            before = self.end(event, event.get("old_block", event.get("old_pointer")))
            if before:
                before.resized_on = True
        if kind in ("alloc", "realloc"):
            block = Block(len(self.blocks) + 1, event)
            block.resized = kind == "realloc"
            if before:
                block.first_ns = before.first_ns
            self.blocks.append(block)
            self.live[name] = block
            self.last[event["tid"]] = block
        elif kind == "free":
            block = self.end(event, name)
            if block and self.last.get(event["tid"]) is block:
                block.temporary = True

    def end(self, event, name):
        block = self.live.pop(name, None)
        if block:
            block.free_ns, block.free_tid = event["ns"], event["tid"]
            self.frees[event["tid"]] += 1
        return block

    def heap(self):
        """(ns, bytes, blocks) behind each event."""
        held = blocks = 0
        live = {}
        for event in self.events:
            name = event.get("block", event.get("pointer"))
            old = event.get("old_block", event.get("old_pointer")) if event["event"] == "realloc" else name
            if event["event"] in ("free", "realloc") and old in live:
                held -= live.pop(old)
                blocks -= 1
            # The time between the two halves of a realloc counts: the minimum of a step is there.
            yield event["ns"], held, blocks
            if event["event"] in ("alloc", "realloc"):
                live[name] = event["size"]
                held += event["size"]
                blocks += 1
                yield event["ns"], held, blocks


class LivesTest(Test):
    """A test of the output about the blocks of a recording."""

    recorded = 0

    def record(self, *command, options=(), name=None):
        """A recording, in a new file."""
        self.recorded += 1
        path = self.tmp / (name or f"made-{self.recorded}.allo")
        self.must(ALLO, "run", "-q", "-f", *options, "-o", path, "--", *command)
        return path

    def make(self, what, form="packed"):
        path = self.tmp / f"{what}.{form}.allo"
        self.must(BUILD / "tests" / "make_recording", what, form, path)
        return path

    def without_blocks(self):
        """Recordings of frees only, and of nothing at all."""
        head = bytearray(self.make("server", "raw").read_bytes()[:1 << 16])
        struct.pack_into("=QI", head, 72, 1, 0)  # slots and streams: the file is not a part of a longer one
        return (self.record("ls", options=("--min-size", "1T"), name="frees.allo"),
                self.file("head.allo", bytes(head)))

    def cuts(self, form):
        """Beginnings of a recording."""
        data = self.make("server", form).read_bytes()
        for length in range(len(data) // 23, len(data), len(data) // 23):
            yield self.file("cut.allo", data[:length])

    def lives(self, path):
        return Lives([json.loads(line) for line in self.allo("events", "--json", "-q", path).splitlines()])
