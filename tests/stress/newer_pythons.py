#!/usr/bin/env python3
"""Fetches the CPython interpreters of Debian's unstable distribution.  They run with their own C library and are not installed.

usage: newer_pythons.py FOLDER

Prints the paths of their programs as ALLO_PYTHONS wants them, for tests/integration/test_python.py.
"""
import os
import pathlib
import platform
import re
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1]).resolve()
ROOT = FOLDER / "root"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
OPTIONS = [f"-o{name}={FOLDER / place}" for name, place in (
    ("Dir::Etc::SourceList", "sources.list"), ("Dir::Etc::SourceParts", "none"), ("Dir::State", "state"), ("Dir::State::Status", "status"),
    ("Dir::Cache", "cache"))] + ["-oAPT::Install-Recommends=0", "-oAPT::Sandbox::User=root"]


def said_by(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def mirror():
    """Where the system's own packages come from."""
    places = said_by("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    return next(place for place in places if place.rstrip("/").endswith("/debian"))


def choose():
    """Names of the packages, and of all that they need."""
    names = said_by("apt-cache", *OPTIONS, "pkgnames", "python3").split()
    wanted = [name for name in names if re.fullmatch(r"python3\.\d+", name)]
    planned = said_by("apt-get", *OPTIONS, "-s", "install", *wanted, "python3-greenlet")
    return wanted, re.findall(r"^Inst (\S+)", planned, re.M)


def unpack():
    for name in "bin", "lib", "lib64", "sbin":
        (ROOT / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (ROOT / name).exists():
            (ROOT / name).symlink_to(f"usr/{name}")
    for package in sorted(FOLDER.glob("*.deb")):
        said_by("dpkg-deb", "-x", package, ROOT)
        package.unlink()


def main():
    for name in "state/lists/partial", "cache/archives/partial":
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    (FOLDER / "status").touch()
    (FOLDER / "sources.list").write_text("".join(f"deb [signed-by={KEYS}] {mirror()} {suite} main\n" for suite in ("sid", "experimental")))
    said_by("apt-get", *OPTIONS, "-qq", "update")
    interpreters, packages = choose()
    said_by("apt-get", *OPTIONS, "-qq", "download", *packages, cwd=FOLDER)
    unpack()
    libraries = ROOT / "usr/lib" / f"{platform.machine()}-linux-gnu"
    loader, = [*ROOT.glob("usr/lib*/ld-linux-*.so.*")] or [*libraries.glob("ld-linux-*.so.*")]
    programs = [ROOT / "usr/bin" / name for name in interpreters]
    for program in programs:
        said_by("patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, program)
    print(os.pathsep.join(map(str, programs)))


main()
