#!/usr/bin/env python3
"""Writes a wheel of Python with the standalone allo, so that 'uvx allotrope' and 'pipx run allotrope' work.

usage: make_wheel.py ALLO FOLDER

It has allo as a script, the module allotrope, and the plugin of pytest.  Equal inputs give equal bytes.
"""
import base64
import hashlib
import pathlib
import platform
import sys
import time
import zipfile

import release

# The program is static, and carries a runtime for glibc (2.28 and later) and one for musl.
TAGS = {
    "x86_64": ["manylinux_2_28_x86_64", "musllinux_1_1_x86_64"],
    "aarch64": ["manylinux_2_28_aarch64", "musllinux_1_1_aarch64"],
}

METADATA = """Metadata-Version: 2.1
Name: allotrope
Version: {version}
Summary: {summary}
License: MIT OR Apache-2.0
Classifier: Framework :: Pytest
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.7
Provides-Extra: pytest
Requires-Dist: pytest (>=7.0) ; extra == 'pytest'
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: make_wheel.py ({version})
Root-Is-Purelib: false
{tags}"""

ENTRY_POINTS = """[console_scripts]
allotrope = allotrope.__main__:main

[pytest11]
allotrope = allotrope.pytest_plugin
"""


def files_of(allo, version, tags):
    """The files of the wheel but its list: name, mode and bytes."""
    info = f"allotrope-{version}.dist-info"
    for path in sorted((release.ROOT / "python" / "allotrope").glob("*.py")):
        yield f"allotrope/{path.name}", 0o644, path.read_bytes()
    yield f"allotrope-{version}.data/scripts/allo", 0o755, allo.read_bytes()
    yield f"{info}/METADATA", 0o644, METADATA.format(version=version, summary=release.SUMMARY,
                                                      readme=(release.ROOT / "python" / "README.md").read_text()).encode()
    yield f"{info}/WHEEL", 0o644, WHEEL.format(version=version, tags="".join(f"Tag: py3-none-{tag}\n" for tag in tags)).encode()
    yield f"{info}/entry_points.txt", 0o644, ENTRY_POINTS.encode()
    for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT"):
        yield f"{info}/{name}", 0o644, (release.ROOT / name).read_bytes()


def record_line(name, data):
    """A line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main():
    allo, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version, tags = release.version(), TAGS[platform.machine()]
    path = folder / f"allotrope-{version}-py3-none-{'.'.join(tags)}.whl"
    # A zip file has no dates before 1980.
    date = time.gmtime(max(release.epoch(), 315532800))[:6]
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, mode, data):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            wheel.writestr(entry, data)

        for name, mode, data in files_of(allo, version, tags):
            add(name, mode, data)
            record += record_line(name, data)
        name = f"allotrope-{version}.dist-info/RECORD"
        add(name, 0o644, f"{record}{name},,\n".encode())
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
