"""A second reader of raw recordings, written from src/wire/ alone: slow, plain and trusting.

It must agree with the program and with allo's reader.
"""
import bisect
import collections
import functools
import pathlib
import struct
import subprocess

SLOT_SIZE = 1 << 16
SLOT_MAGIC = 0x544C5341
PREDICTIONS = 4096
EVENTS, STACKS, FACTS = 1, 2, 3
NOTE, TIMED, FAILED, LOW, UNTIMED, GONE, ESCAPES = 1, 2, 4, 5, 6, 7, 8
LABELS_NOTE, MARK, OWN = 1, 2, 3
GENERATION, GUESSED, CUT, EXACT_PC, FUNCTION = range(1, 6)
MODULE, MODULE_GONE, TEXT, LABELS, INTERPRETED = range(1, 6)
ENDS = ("none", "exit", "stopped", "full", "disk", "lost", "internal", "sandbox", "limit")

Head = collections.namedtuple(
    "Head", "magic version byte_order slot_size arch pid parent_pid start_realtime_ns "
    "first_ticks first_ns last_ticks last_ns slots streams end stack_depth unused min_size "
    "lost_pages guessed_frames failed_stacks cut_stacks checked_stacks different_stacks own_bytes "
    "program_at program_len folder_at folder_len host_at host_len arguments_at arguments_len")
HEAD_FORM = struct.Struct("=8s6I6Q4I8Q8I")

# The resident memory: its place in slot 0, and its form.  A sample is the maximum of a step, in KiB.
Resident = collections.namedtuple("Resident", "own_peak seen_peak largest_ns step_ns parts_ns parts samples")
RESIDENT_PLACE = struct.Struct("=264x2I")
RESIDENT_FORM = struct.Struct("=13Q1024I")
PARTS = ("heap", "mapped", "file", "data", "stack", "shared", "recorder",
         "heap_or_mapped")

Slot = collections.namedtuple(
    "Slot", "magic kind is_sealed is_fresh unused stream sequence thread used from_0 from_1 dropped "
    "name")
SLOT_FORM = struct.Struct("=I4B4I3Q16s")

# `old` is the block that a resize began with; `kind` is alloc, free, resize, failed, mark or own.  A set of labels and
# the text of a mark or of an event of the program's own are numbers.
Event = collections.namedtuple("Event", "ticks stream kind pointer size stack old labels text")
# `interpreted` is the number of an interpreter's function, whose frame has no pc.
Node = collections.namedtuple("Node", "parent pc generation is_cut is_exact interpreted")
Module = collections.namedtuple("Module", "generation bias start end build_id path")


class Cut(Exception):
    """The file ends within a block."""


class Bytes:
    """A block, taken from its front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def __bool__(self):
        return self.at < len(self.data)

    def byte(self):
        self.at += 1
        if self.at > len(self.data):
            raise Cut
        return self.data[self.at - 1]

    def varint(self):
        data, at, value, shift = self.data, self.at, 0, 0
        while at < len(data):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return value
            shift += 7
        raise Cut

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]


def resident_of(slot):
    """The resident memory in the bytes of slot 0; a packed recording has no zeros at their end."""
    at, size = RESIDENT_PLACE.unpack_from(slot)
    if size == 0:
        return None
    numbers = RESIDENT_FORM.unpack(slot[at:at + size].ljust(RESIDENT_FORM.size, b"\0"))
    return Resident(*numbers[:5], dict(zip(PARTS, numbers[5:13])), numbers[13:])


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


class EventReader:
    """The events of one stream, block after block."""

    def __init__(self, stream):
        self.stream, self.events, self.begun = stream, [], None
        self.start_fresh()

    def start_fresh(self):
        self.last_stacks, self.next_stack, self.sizes = ([0] * PREDICTIONS for _ in range(3))
        self.stack, self.is_timed, self.begun, self.labels = 0, False, None, 0

    def pointer_of(self, code):
        self.pointer = (self.pointer + unzigzag(code - 1)) & (1 << 60) - 1
        low, self.low = self.low, 0
        return self.pointer << 4 | low

    def time(self, block):
        if self.is_timed:
            self.ticks += block.varint() << 4

    def add(self, kind, pointer, size=None, stack=None, old=None, text=None):
        self.events.append(Event(self.ticks, self.stream, kind, pointer, size, stack, old, self.labels, text))

    def note(self, block):
        what, number = block.varint(), block.varint()
        if what not in (LABELS_NOTE, MARK, OWN):
            raise ValueError(f"a note of {what}")
        stack, units = (block.varint(), block.varint()) if what == OWN else (None, None)
        self.time(block)
        if what == LABELS_NOTE:
            self.labels = number
        else:
            self.add("mark" if what == MARK else "own", None, units, stack, text=number)

    def number(self, number, block):
        if number & 1 == 0:
            self.ticks += number >> 1 << 6
            return
        if self.begun is not None:
            raise ValueError("a resize begins within another one")
        self.begun = self.pointer_of(number >> 1)
        self.time(block)

    def escape(self, block):
        what = block.varint()
        if what >= ESCAPES:
            self.number(what - ESCAPES, block)
        elif what in (TIMED, UNTIMED):
            self.is_timed = what == TIMED
        elif what == LOW:
            self.low = block.byte()
        elif what == NOTE:
            self.note(block)
        elif what in (FAILED, GONE):
            self.time(block)
            self.add("failed" if what == FAILED else "free", self.begun)
            self.begun = None
        else:
            raise ValueError(f"an escape of {what}")

    def stack_of(self, code):
        return self.last_stacks[code >> 1] if code & 1 else code >> 1

    def alloc(self, first, block):
        code = first >> 3 & 15
        if first & 0x80:
            code |= block.varint() << 4
        pointer = self.pointer_of(code)
        stack = self.next_stack[self.stack % PREDICTIONS] if first & 2 else self.stack_of(block.varint())
        self.next_stack[self.stack % PREDICTIONS] = stack
        self.stack = self.last_stacks[stack % PREDICTIONS] = stack
        size = self.sizes[stack % PREDICTIONS] if first & 4 else block.varint()
        self.sizes[stack % PREDICTIONS] = size if size < 1 << 32 else 0
        self.time(block)
        self.add("alloc" if self.begun is None else "resize", pointer, size, stack, self.begun)
        self.begun = None

    def free(self, first, block):
        code = first >> 1 & 63
        if first & 0x80:
            code |= block.varint() << 6
        pointer = self.pointer_of(code)
        self.time(block)
        self.add("free", pointer)

    def read(self, slot, block):
        if slot.is_fresh:
            self.start_fresh()
        self.ticks, self.pointer, self.low = slot.from_0, slot.from_1, 0
        while block:
            first = block.byte()
            if first == 0:
                self.escape(block)
            elif first & 1:
                self.alloc(first, block)
            else:
                self.free(first, block)


@functools.lru_cache(maxsize=None)
def symbols(path):
    """Addresses and names of the functions in a file, sorted."""
    if not pathlib.Path(path).is_file():
        return [], []
    said = subprocess.run(["nm", "--defined-only", "-C", path], capture_output=True, text=True).stdout
    found = sorted((int(line[:16], 16), line[19:]) for line in said.splitlines()
                   if line[16:19].lower() in (" t ", " w ", " i "))
    return [address for address, _ in found], [name for _, name in found]


class RawRecording:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.data = self.path.read_bytes()
        self.head = Head(*HEAD_FORM.unpack_from(self.data))
        if self.head.magic != b"ALLOraw1":
            raise ValueError(f"{path} is no raw recording")
        self.end = ENDS[self.head.end]
        self.resident = resident_of(self.data[:SLOT_SIZE]) if self.head.program_at >= 280 else None
        self.nodes, self.modules, self.gone = {}, [], []
        self.texts, self.labels, self.interpreted = {}, {0: {}}, {}
        self.streams, self.events, self.dropped = {}, [], 0
        self.begun = []  # blocks of resizes whose outcome is not there: they may be gone or not
        self.find_blocks()
        for number, slots in sorted(self.streams.items()):
            self.read_stream(number, slots)
        self.events.sort(key=lambda event: event.ticks)

    def find_blocks(self):
        streams = collections.defaultdict(dict)
        for at in range(SLOT_SIZE, len(self.data) - SLOT_FORM.size + 1, SLOT_SIZE):
            slot = Slot(*SLOT_FORM.unpack_from(self.data, at))
            if slot.magic != SLOT_MAGIC:
                continue
            old, _ = streams[slot.stream].get(slot.sequence, (None, None))
            # Of two copies the longer one counts, and the tail if they are equal: the other one may have been
            # cut short while it was written.
            if not old or (slot.used, not slot.is_sealed) > (old.used, not old.is_sealed):
                streams[slot.stream][slot.sequence] = (
                    slot, Bytes(self.data[at + SLOT_FORM.size:at + SLOT_FORM.size + slot.used]))
        self.streams = {number: [blocks[i] for i in sorted(blocks)]
                        for number, blocks in streams.items()}

    def read_stream(self, number, slots):
        kind = slots[0][0].kind
        events = EventReader(number)
        for slot, block in slots:
            try:
                if kind == EVENTS:
                    events.read(slot, block)
                elif kind == STACKS:
                    self.read_nodes(slot, block)
                elif kind == FACTS:
                    self.read_facts(block)
            except Cut:
                # Only the end of the file may do that.
                if len(block.data) == slot.used:
                    raise ValueError(f"block {slot.sequence} of stream {number} ends within an event") from None
        self.dropped += slots[-1][0].dropped
        self.events += events.events
        if events.begun is not None:
            self.begun.append(events.begun)

    def read_nodes(self, slot, block):
        number, pc = slot.from_0, slot.from_1
        if number <= 1:
            self.generation = 0
        is_cut = is_exact = is_function = False
        while block:
            up = block.varint()
            if up == 0:
                what = block.byte()
                if what == GENERATION:
                    self.generation = block.varint()
                is_cut |= what == CUT
                is_exact |= what == EXACT_PC
                is_function |= what == FUNCTION
                continue
            function = None
            if is_function:
                function, _ = block.varint(), block.varint()
            else:
                pc = (pc + unzigzag(block.varint())) & (1 << 64) - 1
            self.nodes[number] = Node(number - up, pc, self.generation, is_cut, is_exact, function)
            number += 1
            is_cut = is_exact = is_function = False

    def read_facts(self, block):
        while block:
            what, fact = block.byte(), Bytes(block.take(block.varint()))
            if what == MODULE:
                generation, bias, start, end = (fact.varint() for _ in range(4))
                build_id = fact.take(fact.varint()).hex()
                path = fact.data[fact.at:].decode(errors="replace")
                self.modules.append(Module(generation, bias, start, end, build_id, path))
            elif what == MODULE_GONE:
                self.gone.append((fact.varint(), fact.varint()))
            elif what == TEXT:
                number = fact.varint()
                self.texts[number] = fact.data[fact.at:].decode(errors="replace")
            elif what == LABELS:
                number, parent, key, value = (fact.varint() for _ in range(4))
                self.labels[number] = {**self.labels[parent], self.texts[key]: self.texts[value]}
            elif what == INTERPRETED:
                number, _, _ = (fact.varint() for _ in range(3))
                fact.take(fact.varint())
                self.interpreted[number] = fact.data[fact.at:].decode(errors="replace")

    def thread_names(self):
        """The name of each stream of events; the last one that it had."""
        return {number: slots[-1][0].name.rstrip(b"\0").decode(errors="replace")
                for number, slots in self.streams.items() if slots[0][0].kind == EVENTS}

    def all_names(self):
        """The names of all threads, of which several may have followed each other in a stream."""
        return {slot.name.rstrip(b"\0").decode(errors="replace") for slots in self.streams.values()
                for slot, _ in slots if slot.kind == EVENTS}

    def module_of(self, node):
        found = [module for module in self.modules
                 if module.start <= node.pc < module.end and module.generation <= node.generation]
        return max(found, default=None)

    @functools.lru_cache(maxsize=None)
    def function(self, number):
        node = self.nodes[number]
        if node.interpreted is not None:
            return self.interpreted[node.interpreted]
        module = self.module_of(node)
        if not module:
            return f"{node.pc:#x}"
        addresses, names = symbols(module.path)
        # A return address may lie behind the last instruction of its function.
        at = bisect.bisect(addresses, node.pc - module.bias - (0 if node.is_exact else 1)) - 1
        return names[at] if at >= 0 else module.path

    @functools.lru_cache(maxsize=None)
    def functions(self, stack):
        """The names of a stack's functions, innermost first."""
        found = []
        while stack:
            found.append(self.function(stack))
            stack = self.nodes[stack].parent
        return found

    def outermost(self, stack):
        while self.nodes[stack].parent:
            stack = self.nodes[stack].parent
        return stack

    def totals(self):
        """(allocations, resizes, frees, bytes), as count_preload.c counts them."""
        kinds = collections.Counter(event.kind for event in self.events)
        return (kinds["alloc"], kinds["resize"], kinds["free"],
                sum(event.size for event in self.events if event.kind in ("alloc", "resize")))

    def unbalanced(self):
        """Addresses that were freed more often than allocated, or twice allocated and not freed.

        Whatever the order is in which events of different threads come: an address comes and goes in
        turns, so its sum is 0 or 1.
        """
        sums = collections.Counter()
        for event in self.events:
            if event.kind in ("alloc", "resize"):
                sums[event.pointer] += 1
            if event.kind == "free":
                sums[event.pointer] -= 1
            if event.kind == "resize":
                sums[event.old] -= 1
        return {address: count for address, count in sums.items()
                if count not in (0, 1) and not (count == 2 and address in self.begun)}

    def live(self):
        """Sizes of blocks that were never freed; their order is certain only in programs with one thread."""
        live = {}
        for event in self.events:
            if event.kind == "free":
                live.pop(event.pointer, None)
            elif event.kind == "resize":
                live.pop(event.old, None)
            if event.kind in ("alloc", "resize"):
                live[event.pointer] = event.size
        return sorted(live.values())
