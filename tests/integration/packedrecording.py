"""A second reader of the events of packed recordings, written from doc/formats/allo.md alone: slow, plain and trusting.

It must agree with allo's reader: then the page is enough to write a reader.
"""
import bisect
import collections
import math
import pathlib
import struct
import subprocess

from rawrecording import Bytes, resident_of, unzigzag

CHUNK = struct.Struct("=8I2Q")
BLOCK = struct.Struct("=I4B4I3Q16s")
FACTS, HEAD, TRAILER, THREADS, EVENTS = 3, 16, 17, 18, 19
COLUMNS = {2: 12, 3: 14, 4: 16, 5: 16}
FREE, ALLOC, REALLOC, FAILED, RETIRED, LABELS, MARK, OWN = range(8)
NAMES = ("free", "alloc", "realloc", "realloc-failed", "retired", None, "mark", "event")
ENDING, MAKING = (FREE, REALLOC, FAILED, RETIRED), (ALLOC, REALLOC)
MOST = (1 << 64) - 1
SURE, UNSURE_AGAIN, EVEN = 64960, 61440, 32768
GROUP, KEPT_GROUPS = 512, 128


def unpacked(frame):
    return subprocess.run(["zstd", "-dc"], input=frame, stdout=subprocess.PIPE, check=True).stdout if frame else b""


class Columns:
    """Events as columns 0 to 6 have them."""

    def __init__(self):
        self.next_new, self.next_end, self.sizes, self.made, self.ended = (collections.Counter() for _ in range(5))
        self.last_new = self.last_end = 0

    def start(self, columns):
        self.kinds, self.stacks, self.new_sizes, self.end_stacks, *self.codes = columns[:7]

    def event(self):
        """The kind of an event, the block that ends, and the new block with its size."""
        kind = self.kinds.byte()
        what = kind & 7
        old = self.ended_block(kind & 32) if what in ENDING and not kind & 64 else None
        return what, old, *(self.new_block(kind & 8, kind & 16) if what in MAKING else (None, None))

    def ended_block(self, is_predicted):
        stack = self.next_end[self.last_end] if is_predicted else self.end_stacks.varint()
        self.next_end[self.last_end] = self.last_end = stack
        code = self.codes[0].byte()
        if code == 255:
            code = self.codes[1].byte() + 256 * self.codes[2].varint()
        self.ended[stack] = (self.ended[stack] + 1 + unzigzag(code)) % (1 << 32)
        return stack, self.ended[stack]

    def new_block(self, is_stack_predicted, is_size_predicted):
        stack = self.next_new[self.last_new] if is_stack_predicted else self.stacks.varint()
        self.next_new[self.last_new] = self.last_new = stack
        if not is_size_predicted:
            self.sizes[stack] = self.new_sizes.varint()
        self.made[stack] += 1
        return (stack, self.made[stack]), self.sizes[stack]


class Coder:
    """Bits and numbers of one chunk, from columns 14 and 15.  A chance is an entry of a list, as it changes."""

    def __init__(self, coded, sure):
        self.data, self.at, self.sure = coded.data, 0, sure
        self.range, self.value = MOST, self.take(8)
        self.ones = self.next_ones()

    def take(self, count):
        self.at += count
        return int.from_bytes(self.data[self.at - count:self.at].ljust(count, b"\0"), "big")

    def next_ones(self):
        return self.sure.varint() if self.sure else math.inf

    def narrow(self, below, part):
        self.value, self.range = self.value - below, part
        while self.range < 1 << 32:
            self.range, self.value = self.range << 32, self.value << 32 | self.take(4)

    def sure_bit(self, chances, i):
        if self.ones:
            self.ones -= 1
            return True
        self.ones, chances[i] = self.next_ones(), UNSURE_AGAIN
        return False

    def bit(self, chances, i=0):
        if chances[i] > SURE:
            return self.sure_bit(chances, i)
        part = (self.range >> 16) * chances[i]
        if self.value < part:
            chances[i] += (65471 - chances[i]) // 32
            self.narrow(0, part)
            return True
        chances[i] -= (chances[i] - 64) // 32
        self.narrow(part, self.range - part)
        return False

    def even(self, count):
        part = self.range // count
        number = min(self.value // part, count - 1)
        self.narrow(part * number, part)
        return number

    def long(self, chances):
        length = next((i for i in range(64) if not self.bit(chances, i)), 64)
        number, left = min(length, 1), length - 1
        while left > 0:
            count = min(left, 16)
            number, left = number << count | self.even(1 << count), left - count
        return number


class Slots:
    """Symbols that came last behind the same history, and the chances of long numbers for those that did not."""

    def __init__(self, long_chances):
        self.slots, self.long_chances = {}, long_chances  # by number: tag, symbols, their chances

    def slot(self, x):
        mixed = x * 0xBF58476D1CE4E5B9 & MOST
        number, tag = mixed >> 48, mixed >> 8 & 0xFFFFFFFF | 1
        if self.slots.get(number, (None,))[0] != tag:
            self.slots[number] = (tag, [], [])
        return self.slots[number]

    @staticmethod
    def known(coder, slot):
        _, symbols, chances = slot
        return next((symbol for i, symbol in enumerate(symbols) if coder.bit(chances, i)), None)

    @staticmethod
    def learn(slot, symbol):
        _, symbols, chances = slot
        at = min(len(symbols), 2)
        symbols[at:], chances[at:] = [symbol], [EVEN]

    def symbol(self, coder, x, y):
        first = self.slot(x)
        symbol = self.known(coder, first)
        if symbol is not None:
            return symbol
        # Where both have one number but not one tag, this creates a new one and drops the statistics of the old.
        second = self.slot(y)
        symbol = self.known(coder, second)
        if symbol is None:
            symbol = coder.long(self.long_chances)
            self.learn(second, symbol)
        if first is not second:
            self.learn(first, symbol)
        return symbol


def pair(x, y):
    return ((x * 0x9E3779B97F4A7C15 & MOST ^ x >> 32) + y) & MOST


class Stack:
    """Which of a stack's blocks are live, of those that are kept, and the chances of which one ends."""

    def __init__(self):
        self.made = self.ended = self.size = 0
        self.live = []
        self.is_kept, self.is_next, self.is_same_way, self.is_back = [SURE + 1], [EVEN], [EVEN], [EVEN] * 8
        self.halves = {False: [EVEN] * 8, True: [EVEN] * 8}

    def add(self):
        self.made += 1
        self.live.append(self.made)
        if self.made % GROUP == 0:
            del self.live[:bisect.bisect_left(self.live, self.made - (KEPT_GROUPS - 1) * GROUP)]
        return self.made


class Model:
    """Events as columns 14 and 15 have them."""

    def __init__(self):
        self.path = self.last = self.last_size = 0
        self.long_events, self.long_sizes, self.long_numbers = ([EVEN] * 64 for _ in range(3))
        self.events, self.sizes = Slots(self.long_events), Slots(self.long_sizes)
        self.stacks, self.way = collections.defaultdict(Stack), (False, 0)

    def start(self, columns):
        self.coder = Coder(*columns[14:16])

    def event(self):
        """The kind of an event, the block that ends, and the new block with its size."""
        self.last = symbol = self.events.symbol(self.coder, self.path, self.last)
        self.path = (self.path << 16 ^ symbol * 0x9E3779B1) & MOST
        what, is_unknown, stack = symbol - 1 & 7, symbol - 1 & 8, symbol - 1 >> 4
        what = {0: ALLOC, 1: FREE}.get(what, what)
        old = (stack, self.ended_block(self.stacks[stack], what)) if what in ENDING and not is_unknown else None
        if what == REALLOC:
            stack = self.events.symbol(self.coder, pair(symbol, MOST), MOST) - 1
        return what, old, *(self.new_block(stack) if what in MAKING else (None, None))

    def new_block(self, number):
        stack = self.stacks[number]
        sizes = (stack.size & 0xFFFFFFFF) << 32 | self.last_size & 0xFFFFFFFF
        size = self.sizes.symbol(self.coder, pair(sizes, number), number) - 1
        if size == (1 << 32) - 2:
            size = self.coder.long(self.long_sizes)
        stack.size = self.last_size = size
        return (number, stack.add()), size

    def ended_block(self, stack, what):
        if not stack.live or not self.coder.bit(stack.is_kept):
            return stack.made - self.coder.long(self.long_numbers)
        at = self.place(stack)
        number = stack.live[at]
        if what != FAILED:
            del stack.live[at]
            stack.ended = number
        return number

    def place(self, stack):
        """The index of the block among those that are live."""
        smaller = bisect.bisect(stack.live, stack.ended)
        counts = {True: smaller, False: len(stack.live) - smaller}
        if counts[False] and self.coder.bit(stack.is_next):
            return smaller
        is_back, passed = self.way
        if counts[is_back] <= passed or not self.coder.bit(stack.is_same_way):
            is_back = not counts[False]
            if counts[True] and counts[False]:
                is_back = self.coder.bit(stack.is_back, 8 * smaller // len(stack.live))
            passed = self.passed(counts[is_back], stack.halves[is_back])
        self.way = is_back, passed
        return smaller - 1 - passed if is_back else smaller + passed

    def passed(self, count, chances):
        for i in range(8):
            if count <= 1:
                break
            half = count // 2
            if not self.coder.bit(chances, i):
                return half + self.coder.even(count - half)
            count = half
        return self.coder.even(count)


class PackedRecording:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.version = struct.unpack_from("=8sI", self.data)[1]
        self.threads, self.texts, self.labels = [], {}, {0: {}}
        self.columns, self.model = Columns(), Model()
        self.ns = self.thread = 0
        self.labels_of, self.is_modelled = collections.Counter(), False

    def chunks(self):
        """Kind, count and packed bytes of each, up to the trailer."""
        at = 16
        while True:
            _, kind, _, _, count, _, size, *_ = CHUNK.unpack_from(self.data, at)
            if kind == TRAILER:
                return
            at += CHUNK.size + size
            yield kind, count, self.data[at - size:at]

    def resident(self):
        """The resident memory of the process, as rawrecording.py has it."""
        return resident_of(next(unpacked(packed) for kind, _, packed in self.chunks() if kind == HEAD))

    def events(self):
        for kind, count, packed in self.chunks():
            if kind == THREADS:
                self.threads += [thread for _, thread, _, _ in struct.iter_unpack("=IIQ16s", unpacked(packed))]
            elif kind == FACTS:
                self.read_blocks(Bytes(unpacked(packed)))
            elif kind == EVENTS:
                yield from self.chunk_events(count, Bytes(packed))

    def read_blocks(self, blocks):
        while blocks:
            used = BLOCK.unpack(blocks.take(BLOCK.size))[8]
            self.read_facts(Bytes(blocks.take(used)))

    def read_facts(self, facts):
        while facts:
            what, rest = facts.byte(), Bytes(facts.take(facts.varint()))
            if what == 3:
                self.texts.setdefault(rest.varint(), rest.data[rest.at:].decode())
            elif what == 4:
                number, outer, key, value = (rest.varint() for _ in range(4))
                self.labels.setdefault(number, {**self.labels[outer], self.texts[key]: self.texts[value]})

    def chunk_events(self, count, packed):
        lengths = [(packed.varint(), packed.varint()) for _ in range(COLUMNS[self.version])]
        columns = [Bytes(unpacked(packed.take(length))) for _, length in lengths]
        self.is_modelled = not columns[0]
        source = self.model if self.is_modelled else self.columns
        source.start(columns)
        times, threads = changes(columns[7]), changes(columns[10])
        next_time, next_thread = next(times), next(threads)
        for i in range(count):
            if i == next_time:
                self.ns, next_time = self.ns + passed_ns(*columns[8:10]), next(times)
            if i == next_thread:
                self.thread, next_thread = columns[11].varint(), next(threads)
            event = self.event(columns, *source.event())
            if event:
                yield {"ns": self.ns, "tid": self.threads[self.thread], **event}

    def event(self, columns, what, old, new, size):
        """An event as `allo events --json` has it; nothing where only labels change."""
        if what == LABELS:
            self.labels_of[self.thread] = columns[12].varint()
            return None
        event = {"event": NAMES[what]}
        if what == MARK:
            event["name"] = self.texts.get(columns[13].varint())
        elif what == OWN:
            name, event["stack"], event["units"] = (columns[13].varint() for _ in range(3))
            event.update({"name": self.texts[name]} if name else {})
        elif what in MAKING:
            event.update(block="%d:%d" % new, stack=new[0], size=size)
        if what in ENDING:
            event["old_block" if what == REALLOC else "block"] = "%d:%d" % old if old else None
        labels = self.labels[self.labels_of[self.thread]]
        return {**event, "labels": labels} if labels else event


def changes(gaps):
    """The indices of the events at which something changes, and then none."""
    at = 0
    while gaps:
        at += gaps.varint()
        yield at
    yield None


def passed_ns(times, long_times):
    byte = times.byte()
    if byte == 255:
        return long_times.varint() * 1024
    return byte if byte < 8 else (4 + byte % 4) << (byte // 4 - 1)
