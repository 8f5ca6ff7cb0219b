"""Writes recordings in memray's format, record by record."""
import struct

from inputs import varint

PYMALLOC_FREE, FREE, MALLOC, MMAP, MUNMAP = 1, 5, 6, 14, 15


def text(value):
    return value.encode() + b"\0"


def signed(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def head(version=13, python=0x030B0000, native=0, layout=0, skipped=0):
    paths = text("/usr/lib/python3") + text("") + text("") if version >= 13 else b""
    return (b"memray\0" + struct.pack("<iiBB4Q", version, python, native, layout, 0, 0, 1000, 3000) + text("app.py") +
            struct.pack("<iQQ", 4711, 1, skipped) + b"\1\0\0" + paths)


def code(number, name, file="app.py", line_step=0, lines=b"\xa8\1"):
    """A function; by default all of its instructions are in its first line."""
    return b"\x0e" + varint(number) + text(name) + text(file) + signed(line_step) + varint(len(lines)) + lines


def push(number, offset=0):
    return b"\x40" + varint(number) + signed(offset)


def pop(count=1):
    return bytes([0x10 | count - 1])


def thread(number):
    return b"\x0c" + struct.pack("<Q", number)


def moment(ms, resident=0):
    return b"\2" + varint(resident) + varint(ms)


class Events:
    """Records of allocations, whose addresses are differences, or places among the recent ones."""

    def __init__(self):
        self.last, self.recent = 0, []

    def __call__(self, allocator, address, size=None):
        if address in self.recent:
            place, more = self.recent.index(address), b""
        else:
            place, more = 15, signed((address >> 3) - self.last)
            self.last = address >> 3
            self.recent = [address, *self.recent[:14]]
        token = bytes([0x80 | place << 3 | (allocator if allocator < 8 else 0)])
        return (token + more + (bytes([allocator]) if allocator >= 8 else b"") +
                (varint(size) if allocator not in (FREE, PYMALLOC_FREE) else b""))


END = b"\1"
