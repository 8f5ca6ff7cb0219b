#!/usr/bin/env python3
"""Tests Debian packages of arm64 that were built on another machine, in an emulator.

usage: arm64.py BUILD PACKAGES CROSS

BUILD is the build that the packages in PACKAGES are of, CROSS the folder of packaging/cross.sh.  Prints TAP.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMES = ["allotrope", "liballo0", "liballotrope-dev", "liballotrope0"]
LEAKED = 7 * 1009 + 30 * 101 + 3 * 4099  # bytes that tests/programs/leaks.c does not free

build, folder, cross = (pathlib.Path(path).resolve() for path in sys.argv[1:])
packages = [path for name in NAMES for path in sorted(folder.glob(f"{name}_*_arm64.deb"))]


def must(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def unpacked(place):
    for path in packages:
        must("dpkg-deb", "-x", path, place)
    return place / "usr"


def test_there_is_one_package_of_each(_):
    assert [path.name.partition("_")[0] for path in packages] == NAMES, packages


def test_all_programs_and_libraries_are_of_arm64(place):
    usr = unpacked(place)
    files = [path for path in usr.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len({path.resolve() for path in files}) >= 3, files
    for path in files:
        assert "AArch64" in must("readelf", "-h", path), path


def test_the_program_needs_shared_libraries(_):
    """A library that is not found as a shared one would be linked statically."""
    needs = must("dpkg-deb", "-f", packages[0], "Depends")
    for name in ("libc6", "libdeflate0", "libdw1", "libelf1", "libsqlite3-0", "libxxhash0", "libzstd1", "zlib1g"):
        assert f" {name} " in needs, needs


def test_lintian_finds_nothing(_):
    for path in packages:
        said = must("lintian", "--fail-on", "error,warning", *(["--allow-root"] if os.geteuid() == 0 else []), path)
        assert said == "", said


def test_manual_pages_and_completions_are_there(place):
    usr = unpacked(place)
    for program in (usr / "bin").iterdir():
        assert (usr / "share/man/man1" / f"{program.name}.1.gz").resolve().exists(), program
    assert (usr / "share/bash-completion/completions/allo").exists()


def test_no_file_names_the_folder_of_the_source(place):
    for path in unpacked(place).rglob("*"):
        assert path.is_dir() or str(ROOT).encode() not in path.read_bytes(), path


def test_equal_inputs_give_equal_bytes(place):
    environment = {**os.environ, "TZ": "Asia/Tokyo"}
    must(sys.executable, ROOT / "packaging" / "make_deb.py", build, place, cross, umask=0o077, env=environment)
    for path in packages:
        assert path.read_bytes() == (place / path.name).read_bytes(), path


def test_a_program_is_recorded_and_its_recording_read(place):
    usr = unpacked(place)
    libraries = usr / "lib/aarch64-linux-gnu"
    program, output = place / "leaks", place / "leaks.allo"
    must("aarch64-linux-gnu-gcc", "-O1", "-g", f"-I{ROOT}", f"-I{ROOT}/include", ROOT / "tests/programs/leaks.c", "-o", program)
    emulator = ["qemu-aarch64", "-L", cross / "root"]
    # The emulator would preload an inherited library into itself, so 'allo run' cannot start a program here.
    must(*emulator, "-E", f"LD_PRELOAD={libraries}/liballo.so.0", "-E", f"ALLO_OUTPUT={output}", program)
    allo = [*emulator, "-E", f"LD_LIBRARY_PATH={libraries}", usr / "bin/allo"]
    assert json.loads(must(*allo, "leaks", "--json", output))["sum"] == LEAKED


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    failures = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as place:
            try:
                test(pathlib.Path(place))
                print(f"ok {number} - arm64: {name}", flush=True)
            except AssertionError as error:
                failures += 1
                print(f"not ok {number} - arm64: {name}\n# {error}", flush=True)
    sys.exit(failures > 0)


main()
