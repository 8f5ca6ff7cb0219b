"""Writes ELF files with debug information of any content."""
import struct

BUILD_ID = bytes(range(1, 21))

# A unit: its lines, its folder, and its addresses; and a function: its name and addresses.
ABBREVIATION = bytes([1, 0x11, 1, 0x10, 0x17, 0x1B, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0,
                      2, 0x2E, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0, 0])


def unit(lines_at, start, size, folder=b"/src"):
    """A unit of DWARF 4 with one function."""
    addresses = struct.pack("<QQ", start, size)
    body = b"\x01" + struct.pack("<I", lines_at) + folder + b"\0" + addresses
    body += b"\x02" + b"function\0" + addresses + b"\0"
    return struct.pack("<IHIB", 7 + len(body), 4, 0, 8) + body


def uleb(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def sequence(start, rows):
    """A sequence of rows, one per byte, with the numbers of their files."""
    code = b"\0\x09\x02" + struct.pack("<Q", start)
    for file in rows:
        code += b"\x04" + uleb(file) + b"\x01\x02\x01"  # set_file, copy, advance_pc by 1
    return code + b"\0\x01\x01"


def line_table(folders, files, code):
    """A line program of DWARF 4.  `files` are names and the numbers of their folders."""
    head = bytes([1, 1, 1, 0xFB, 14, 13]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    head += b"".join(folder + b"\0" for folder in folders) + b"\0"
    head += b"".join(name + b"\0" + uleb(folder) + b"\0\0" for name, folder in files) + b"\0"
    body = struct.pack("<HI", 4, len(head)) + head + code
    return struct.pack("<I", len(body)) + body


def write(path, sections, machine=62):
    """`sections` are names and contents."""
    names = b"\0" + b"".join(name + b"\0" for name, _ in sections) + b".shstrtab\0"
    contents = [*(content for _, content in sections), names]
    at, offsets = 64, []
    for content in contents:
        offsets.append(at)
        at += len(content)
    at = (at + 7) // 8 * 8
    headers, name_at = [bytes(64)], 1
    for i, content in enumerate(contents):
        kind = 3 if i == len(sections) else 7 if sections[i][0].startswith(b".note") else 1
        headers.append(struct.pack("<IIQQQQIIQQ", name_at, kind, 0, 0, offsets[i], len(content), 0, 0,
                                   4 if kind == 7 else 1, 0))
        name_at += len(sections[i][0]) + 1 if i < len(sections) else 0
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 0, at, 0, 64, 56, 0, 64,
                       len(headers), len(headers) - 1)
    data = (head + b"".join(contents)).ljust(at, b"\0") + b"".join(headers)
    path.write_bytes(data)
    return path


def debug_sections(units, lines):
    return [(b".note.gnu.build-id", struct.pack("<III", 4, len(BUILD_ID), 3) + b"GNU\0" + BUILD_ID),
            (b".debug_abbrev", ABBREVIATION), (b".debug_info", b"".join(units)), (b".debug_line", lines)]
