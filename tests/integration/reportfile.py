"""Takes a report of `allo report` apart."""
import base64
import gzip
import html
import re

PART = re.compile(rb'<script type="application/octet-stream;base64" id="([^"]*)"(?: data-name="([^"]*)")?>([^<]*)</script>')


def parts(page):
    """Its engine and files: {id: (name, bytes)}."""
    found = {}
    for name, shown, content in PART.findall(page):
        found[name.decode()] = (html.unescape(shown.decode()), gzip.decompress(base64.b64decode(content)))
    return found


def files(page):
    """Its files, in their order: [(name, bytes)]."""
    return [part for name, part in sorted(parts(page).items()) if name.startswith("allo-file-")]


def plain(page):
    """All text of a report: the page with its files unpacked, but without the engine."""
    return PART.sub(b"", page) + b"".join(name.encode() + content for name, content in files(page))
