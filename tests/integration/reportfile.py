"""Takes a report of `allo report` apart."""
import gzip
import html
import re

PART = re.compile(rb'<script type="application/octet-stream;base128" id="([^"]*)"(?: data-name="([^"]*)")?>([^<]*)</script>')


def decoded(content):
    """The bytes of a text with 7 bits a character."""
    codes = [ord(character) for character in content.decode()]
    sevens = (seven for code in codes for seven in ([code] if not 0x80 <= code < 0x200 else [b"\0\r<"[(code >> 7) - 1], code]))
    bits = "".join(f"{seven & 0x7f:07b}" for seven in sevens)
    size = len(bits) // 8
    return int(bits[:8 * size], 2).to_bytes(size, "big")


def parts(page):
    """Its engine, as it is packed, script and files: {id: (name, bytes)}."""
    found = {}
    for name, shown, content in PART.findall(page):
        packed = decoded(content)
        found[name.decode()] = (html.unescape(shown.decode()), packed if name == b"allo-engine" else gzip.decompress(packed))
    return found


def files(page):
    """Its files, in their order: [(name, bytes)]."""
    return [part for name, part in sorted(parts(page).items()) if name.startswith("allo-file-")]


def replies(part):
    """The requests and replies of a report without recording: (request, reply)."""
    at, found = 0, []
    while at < len(part):
        size = int.from_bytes(part[at:at + 4], "little")
        found.append(part[at + 4:at + 4 + size])
        at += 4 + size
    return zip(found[::2], found[1::2])
