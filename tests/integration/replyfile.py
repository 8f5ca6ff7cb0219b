"""A second decoder of ALLOrep1, the replies of the view engine, written from doc/reply.md alone.

It trusts nothing: padding, offsets and texts are checked, so a reply that it takes is one that a page may read.
"""
import json
import struct

MAGIC = b"ALLOrep1"
NUMBERS = {"u8": ("B", 1), "u32": ("I", 4), "f64": ("d", 8)}


class BadReply(Exception):
    """The bytes are not as the format wants them."""


def must(holds, claim):
    if not holds:
        raise BadReply(claim)


def padded(length):
    return length + -length % 8


class Reply:
    """`head` is the JSON object, `columns` the lists by name.  Both are also items, where one name is not in both."""

    def __init__(self, data):
        must(data[:8] == MAGIC, f"it begins with {data[:20]}")
        length, zero = struct.unpack_from("<2I", data, 8)
        start = 16 + padded(length)
        must(zero == 0 and len(data) >= start, "the head fits")
        must(not any(data[16 + length:start]), "padding is zero")
        self.data = data
        self.head = json.loads(data[16:16 + length].decode("utf-8"), object_pairs_hook=self.object_of)
        must(self.head["v"] == 1, "it is of version 1")
        self.columns, self.end = {}, start
        for column in self.head.get("columns", ()):
            self.take_column(column, start)
        must(self.end == len(data), f"{len(data) - self.end} bytes follow the columns")

    @staticmethod
    def object_of(pairs):
        must(len(dict(pairs)) == len(pairs), f"a member appears twice: {[key for key, _ in pairs]}")
        return dict(pairs)

    def take_column(self, column, start):
        """Columns follow each other, so each begins where the one before it ends."""
        at = start + column["at"]
        must(at == self.end, f"column {column['name']} begins at {at}, not at {self.end}")
        must(column["name"] not in self.columns, f"column {column['name']} appears twice")
        if column["type"] == "text":
            values, end = self.texts(at, column["len"])
        else:
            letter, size = NUMBERS[column["type"]]
            end = at + size * column["len"]
            must(end <= len(self.data), f"column {column['name']} ends within the reply")
            values = list(struct.unpack_from(f"<{column['len']}{letter}", self.data, at))
        self.end = at + padded(end - at)
        must(not any(self.data[end:self.end]), "padding is zero")
        self.columns[column["name"]] = values

    def texts(self, at, count):
        offsets = struct.unpack_from(f"<{count + 1}I", self.data, at)
        first = at + 4 * (count + 1)
        must(offsets[0] == 0 and list(offsets) == sorted(offsets), "offsets ascend from 0")
        must(first + offsets[-1] <= len(self.data), "texts end within the reply")
        return [self.data[first + a:first + b].decode("utf-8") for a, b in zip(offsets, offsets[1:])], first + offsets[-1]

    @property
    def error(self):
        """The members of an error; None if there is none."""
        return self.head.get("error")

    def __getitem__(self, name):
        if name in self.columns and name in self.head:
            raise KeyError(f"{name} is a column and in the head")
        return self.columns[name] if name in self.columns else self.head[name]

    def rows(self, *names):
        """Tuples of these columns."""
        return list(zip(*(self.columns[name] for name in names), strict=True))
