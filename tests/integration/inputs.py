"""Inputs made on purpose: small files of each format, put together from parts that can be wrong."""
import json


def dhat(points=None, frames=None, **changes):
    """A DHAT file as bytes; `changes` are values of its keys, None leaves a key out."""
    keys = {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": False, "bkacc": False,
            "tu": "instrs", "Mtu": "Minstr", "cmd": "./app", "pid": 1, "te": 2}
    keys.update(changes)
    keys["pps"] = [{"tb": 8, "tbk": 1, "fs": [1]}] if points is None else points
    keys["ftbl"] = ["[root]", "0x10: main (a.c:1)"] if frames is None else frames
    return json.dumps({key: value for key, value in keys.items() if value is not None}).encode()


def dhat_of_stacks(stacks):
    """A DHAT file of stacks, given as names, the outermost first, and their bytes."""
    frames, points = ["[root]"], []
    for names, count in stacks:
        for name in names:
            frames.append(f"0x{len(frames):X}: {name} (a.c:{len(frames)})")
        stack = list(range(len(frames) - 1, len(frames) - 1 - len(names), -1))
        points.append({"tb": count, "tbk": 1, "fs": stack})
    return dhat(points, frames)


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def numbers(field, values):
    return message(field, *(varint(value) for value in values))


STRINGS = ["", "alloc_space", "bytes", "main", "a.c", "key", "value"]


def strings(table=STRINGS):
    return b"".join(message(6, text.encode()) for text in table)


TYPE = message(1, number(1, 1), number(2, 2))
FUNCTION = message(5, number(1, 1), number(2, 3), number(4, 4))
LOCATION = message(4, number(1, 1), number(3, 16), message(4, number(1, 1), number(2, 9)))


def sample(locations=(1,), values=(5,), *labels):
    return message(2, numbers(1, locations), numbers(2, values), *labels)


PPROF = TYPE + sample() + LOCATION + FUNCTION + strings()
FOLDED = b"main;a;b 3\nmain;a 2\nmain;c 4\n"
