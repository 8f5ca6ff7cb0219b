#!/usr/bin/env python3
"""Writes the Debian packages of a build with -Dlinking=shared and --prefix /usr.

usage: make_deb.py BUILD FOLDER [CROSS]

With CROSS, a folder that cross.sh has prepared, the build is for arm64.

allotrope has the program, liballo0 the runtime that it preloads, liballotrope0 the library that reads recordings, and
liballotrope-dev the files to compile with both.  Equal inputs give equal bytes.
"""
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import release

MAINTAINER = "Allotrope contributors <allotrope@example.org>"
REVISION = "0upstream1"

# Name, section, patterns of files below /usr, fields of the control file, one line about it, and more.
PACKAGES = [
    ("allotrope", "devel", ["bin/*", "share/man/man*/*", "share/bash-completion/completions/*", "share/zsh/site-functions/*",
                            "share/fish/vendor_completions.d/*"],
     {"Depends": "liballo0 (= {version}), {needs}", "Recommends": "libmicrohttpd12", "Suggests": "libcurl4"},
     "heap profiler that records every allocation of a program",
     "It shows who holds the memory: as tables, flame graphs and in a browser, and checks limits in tests. It reads recordings of "
     "its own and of DHAT, heaptrack, pprof and others, and converts between them."),
    ("liballo0", "libs", ["lib/*/liballo.so.*", "lib/*/liballo-musl.so.*"], {"Depends": "{needs}"},
     "heap profiler Allotrope - runtime",
     "allo preloads this library into the programs that it records. Programs may also link it, to record a part of themselves "
     "or to assert in tests how much they allocate."),
    ("liballotrope0", "libs", ["lib/*/liballotrope.so.*"], {"Depends": "{needs}"},
     "heap profiler Allotrope - library that reads recordings",
     "It reads, merges, compares and converts heap profiles."),
    ("liballotrope-dev", "libdevel", ["include/*.h", "include/*/*.h", "lib/*/*.so", "lib/*/*.a", "lib/*/pkgconfig/*"],
     {"Depends": "liballo0 (= {version}), liballotrope0 (= {version})"},
     "heap profiler Allotrope - development files",
     "Headers and static libraries of the runtime (allo.h) and of the library that reads recordings (allotrope.h)."),
]

# Names under which allo replaces other programs, and the manual page that describes them.
OTHER_NAMES = {"dhat-pprof": "allo-convert.1.gz", "dtrace2spall": "allo-convert.1.gz", "rheaper": "allo.1.gz"}

# Findings of lintian that are no mistakes, with the reason.
OVERRIDES = {
    "allotrope": """# allo only reads lists of files, to name the package of a program's debug symbols.
allotrope: uses-dpkg-database-directly [usr/bin/allo]
""",
    "liballo0": """# The runtime for musl names no C library: glibc would not find that one.
liballo0: shared-library-lacks-prerequisites [usr/lib/*/liballo-musl.so.0]
""",
}

COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Allotrope

Files: *
Copyright: Allotrope contributors
License: Expat or Apache-2.0

License: Expat
{mit}

License: Apache-2.0
 On Debian systems, the complete text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


class Machine:
    """The one that packages are for: this one, or arm64 with libraries in a folder of cross.sh."""

    def __init__(self, cross=None):
        self.architecture = "arm64" if cross else release.ARCHITECTURE
        self.strip = "aarch64-linux-gnu-strip" if cross else "strip"
        packages = sorted(cross.glob("packages/*")) if cross else []
        self.shlibdeps = ["dpkg-shlibdeps", *(f"-S{path}" for path in packages)]
        self.environment = {**os.environ, "DEB_HOST_ARCH": self.architecture}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def gzip_file(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0))


def wrapped(text, width=76):
    """The long description: lines that begin with a space."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = ""
        line += " " + word
    return "\n".join([*lines, line])


def strip(path, machine):
    """Removes the symbols that nobody needs; a link or a text stays."""
    if path.is_symlink():
        return
    if path.suffix == ".a":
        run(machine.strip, "--strip-debug", "--enable-deterministic-archives", path)
    elif path.read_bytes()[:4] == b"\x7fELF":
        run(machine.strip, "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", path)


def needs_of(root, name, machine):
    """The packages of the shared libraries that the files need."""
    files = [path for path in sorted(root.rglob("*")) if not path.is_symlink() and path.is_file()
             and path.suffix != ".a" and path.read_bytes()[:4] == b"\x7fELF" and "musl" not in path.name]
    if not files:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        control = pathlib.Path(folder, "debian", "control")
        control.parent.mkdir()
        control.write_text(f"Source: allotrope\n\nPackage: {name}\nArchitecture: any\n")
        words = run(*machine.shlibdeps, "-O", *[f"-e{path}" for path in files], cwd=folder, env=machine.environment)
    return words.strip().partition("=")[2]


def copyright_text():
    mit = (release.ROOT / "LICENSE-MIT").read_text().strip()
    return COPYRIGHT.format(mit="\n".join(" " + (line.strip() or ".") for line in mit.splitlines()))


def changelog(version):
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(release.epoch()))
    return f"allotrope ({version}) unstable; urgency=medium\n\n  * Version {release.version()}; see changelog.gz.\n\n -- {MAINTAINER}  {date}\n"


def add_documents(root, name, version):
    folder = root / "usr/share/doc" / name
    folder.mkdir(parents=True)
    (folder / "copyright").write_text(copyright_text())
    gzip_file(folder / "changelog.Debian.gz", changelog(version).encode())
    gzip_file(folder / "changelog.gz", (release.ROOT / "NEWS").read_bytes())
    # A cross build has no runtime for musl.
    if name in OVERRIDES and (name != "liballo0" or any(root.glob("usr/lib/*/liballo-musl.so.*"))):
        place = root / "usr/share/lintian/overrides" / name
        place.parent.mkdir(parents=True)
        place.write_text(OVERRIDES[name])


def add_manual_pages(root):
    folder = root / "usr/share/man/man1"
    if not folder.exists():
        return
    for page in sorted(root.glob("usr/share/man/man*/*")):
        gzip_file(page.with_name(page.name + ".gz"), page.read_bytes())
        page.unlink()
    for name, page in OTHER_NAMES.items():
        (folder / f"{name}.1.gz").symlink_to(page)


def fields_of(root, package, version, machine):
    """The control file."""
    name, section, _, fields, summary, about = package
    kib = sum(-(-path.lstat().st_size // 1024) for path in root.rglob("*") if path.is_file() or path.is_symlink())
    lines = {"Package": name, "Source": "allotrope", "Version": version, "Architecture": machine.architecture,
             "Maintainer": MAINTAINER, "Installed-Size": str(kib), "Section": section, "Priority": "optional",
             **{field: text.format(version=version, needs=needs_of(root, name, machine)) for field, text in fields.items()},
             "Description": f"{summary}\n{wrapped(about)}"}
    if section == "libs":
        lines["Multi-Arch"] = "same"
    order = [field for field in lines if field != "Description"] + ["Description"]
    return "".join(f"{field}: {lines[field]}\n" for field in order)


def add_library_facts(root, name):
    """The file by which dpkg-shlibdeps finds the package of a library, and a trigger of ldconfig."""
    names = [path.name.partition(".so.") for path in sorted(root.glob("usr/lib/*/*.so.[0-9]"))]
    (root / "DEBIAN/shlibs").write_text("".join(f"{library} {number} {name} (>= {release.version()})\n" for library, _, number in names))
    (root / "DEBIAN/triggers").write_text("activate-noawait ldconfig\n")


def add_sums(root):
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts]
    (root / "DEBIAN/md5sums").write_text("".join(
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files))


def set_modes(root):
    """The same modes and times whatever the umask."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        os.utime(path, (release.epoch(), release.epoch()), follow_symlinks=False)


def make(package, installed, folder, version, machine):
    name, section, patterns, *_ = package
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary, "root")
        for path in sorted({path for pattern in patterns for path in (installed / "usr").glob(pattern)}):
            place = root / path.relative_to(installed)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place, follow_symlinks=False)
            strip(place, machine)
        add_manual_pages(root)
        add_documents(root, name, version)
        (root / "DEBIAN").mkdir()
        if section == "libs":
            add_library_facts(root, name)
        (root / "DEBIAN/control").write_text(fields_of(root, package, version, machine))
        add_sums(root)
        set_modes(root)
        path = folder / f"{name}_{version}_{machine.architecture}.deb"
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, path,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch())})
    print(f"wrote {path}")


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    machine = Machine(pathlib.Path(sys.argv[3]).resolve() if sys.argv[3:] else None)
    version = f"{release.version()}-{REVISION}"
    with tempfile.TemporaryDirectory() as temporary:
        run("meson", "install", "-C", build, "--no-rebuild", env={**os.environ, "DESTDIR": temporary})
        for package in PACKAGES:
            make(package, pathlib.Path(temporary), folder, version, machine)


if __name__ == "__main__":
    main()
