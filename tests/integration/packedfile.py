"""Writes packed recordings with valid checksums and any content, from doc/formats/allo.md alone."""
import pathlib
import struct
import subprocess

from allotest import GOLDEN
from packedrecording import CHUNK, unpacked

STACKS, FACTS, HEAD, TRAILER, THREADS, EVENTS, NAMES = 2, 3, 16, 17, 18, 19, 20
CHUNK_MAGIC, SLOT_MAGIC = 0x4B484341, 0x544C5341
SLOT_ROOM = (1 << 16) - 64
COLUMNS = 16
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MASK = (1 << 64) - 1


def rotate(x, count):
    return (x << count | x >> 64 - count) & MASK


def mixed(lane, word):
    return rotate(lane + word * PRIMES[1] & MASK, 31) * PRIMES[0] & MASK


def xxh64(data):
    """XXH64 with seed 0."""
    at = 0
    if len(data) < 32:
        value = PRIMES[4]
    else:
        lanes = [PRIMES[0] + PRIMES[1] & MASK, PRIMES[1], 0, -PRIMES[0] & MASK]
        while at + 32 <= len(data):
            lanes = [mixed(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        value = sum(rotate(lane, count) for lane, count in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = ((value ^ mixed(0, lane)) * PRIMES[0] + PRIMES[3]) & MASK
    value = value + len(data) & MASK
    for size, form in ((8, "<Q"), (4, "<I"), (1, "<B")):
        while at + size <= len(data):
            word = struct.unpack_from(form, data, at)[0]
            if size == 8:
                value = (rotate(value ^ mixed(0, word), 27) * PRIMES[0] + PRIMES[3]) & MASK
            elif size == 4:
                value = (rotate(value ^ word * PRIMES[0] & MASK, 23) * PRIMES[1] + PRIMES[2]) & MASK
            else:
                value = rotate(value ^ word * PRIMES[4] & MASK, 11) * PRIMES[0] & MASK
            at += size
    value = (value ^ value >> 33) * PRIMES[1] & MASK
    value = (value ^ value >> 29) * PRIMES[2] & MASK
    return value ^ value >> 32


def zstd(data):
    return subprocess.run(["zstd", "-c", "-q"], input=data, stdout=subprocess.PIPE, check=True).stdout


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def seal(kind, packed, raw_len, stream=0, sequence=0, count=1):
    """The header of a chunk, and the chunk."""
    start = struct.pack("=8IQ", CHUNK_MAGIC, kind, stream, sequence, count, raw_len, len(packed), 0, xxh64(packed))
    return start + struct.pack("=Q", xxh64(start)) + packed


def chunk(kind, raw, **fields):
    return seal(kind, zstd(raw), len(raw), **fields)


def pages(kind, stream, body):
    """A body as slots, and their number.  `body` holds whole records of a size that divides a slot's room."""
    out, count = [], 0
    for at in range(0, len(body), SLOT_ROOM):
        part = body[at:at + SLOT_ROOM]
        out.append(struct.pack("=I4B4I3Q16s", SLOT_MAGIC, kind, 1, 1, 0, stream, count, 0, len(part), 1, 0, 0, b""))
        out.append(part)
        count += 1
    return b"".join(out), count


def tables(kind, body, stream=1):
    raw, count = pages(kind, stream, body)
    return chunk(kind, raw, stream=stream, count=count)


def events(count, sequence=0, columns=None):
    """A chunk of events.  `columns` are the columns that are not empty, by number."""
    columns = [(columns or {}).get(i, b"") for i in range(COLUMNS)]
    frames = [zstd(column) if column else b"" for column in columns]
    lengths = b"".join(varint(len(column)) + varint(len(frame)) for column, frame in zip(columns, frames))
    return seal(EVENTS, lengths + b"".join(frames), sum(map(len, columns)), sequence=sequence, count=count)


def threads(count=1):
    return chunk(THREADS, b"".join(struct.pack("=IIQ16s", i + 1, i + 1, 0, b"main") for i in range(count)),
                 count=count)


def real_head():
    """The chunk with the head of a real recording."""
    data = (GOLDEN / "allo/server.allo").read_bytes()
    _, kind, _, _, _, _, size, *_ = CHUNK.unpack_from(data, 16)
    assert kind == HEAD
    return data[16:16 + CHUNK.size + size]


def real_head_bytes():
    return unpacked(real_head()[CHUNK.size:])


def start(version=4):
    return struct.pack("=8sII", b"ALLOpck1", version, 0x01020304)


def write(path, *chunks, index=None):
    """Writes a recording.  `index` is a list of (offset, header) for its trailer; None: it has no trailer."""
    data = start() + b"".join(chunks)
    if index is not None:
        numbers = varint(37) + bytes(37)
        entries = b"".join(struct.pack("=Q", offset) + header for offset, header in index)
        at = len(data)
        data += chunk(TRAILER, numbers + entries) + struct.pack("=Q8s", at, b"ALLOend1")
    path = pathlib.Path(path)
    path.write_bytes(data)
    return path


def index_of(*chunks):
    """The entries of the index of these chunks."""
    entries, at = [], len(start())
    for piece in chunks:
        entries.append((at, piece[:CHUNK.size]))
        at += len(piece)
    return entries


def zigzag(number):
    return number << 1 ^ -1 if number < 0 else number << 1


def modules(*found, build_id=b""):
    """A chunk of facts: modules with a path, a start and an end, as mapped at their addresses."""
    body = b""
    for path, first, end in found:
        fact = varint(0) + varint(0) + varint(first) + varint(end) + varint(len(build_id)) + build_id
        fact += str(path).encode()
        body += b"\x01" + varint(len(fact)) + fact
    return tables(FACTS, body, stream=2)


def stacks(addresses):
    """A chunk of stacks of one frame each; their numbers start at 1."""
    body, last = b"", 0
    for number, address in enumerate(addresses, 1):
        body += varint(number) + varint(zigzag(address + 1 - last))
        last = address + 1
    assert len(body) <= SLOT_ROOM
    return tables(STACKS, body)


def one_block_each(count):
    """A chunk with an allocation of 100 bytes of each stack."""
    return events(count, columns={0: b"\x01" * count, 1: b"".join(varint(i + 1) for i in range(count)),
                                  2: varint(100) * count})


def contents(packed):
    """All bytes of a packed recording, unpacked: each chunk header, then its content."""
    at, out = 16, [packed[:16]]
    while at + CHUNK.size <= len(packed) - 16:
        _, kind, _, _, _, _, size, _, _, _ = CHUNK.unpack_from(packed, at)
        body = packed[at + CHUNK.size:at + CHUNK.size + size]
        out += [packed[at:at + CHUNK.size], body if kind == EVENTS else unpacked(body)]
        at += CHUNK.size + size
    return b"".join(out)
