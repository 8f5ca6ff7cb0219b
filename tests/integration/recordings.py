"""Programs under capture: how they are built and recorded."""
import fcntl
import hashlib
import pathlib
import shutil
import struct
import subprocess
import tempfile

from allotest import ALLO, BUILD, ENVIRONMENT, ROOT, RUNTIME, Test, preloadable
from rawrecording import RawRecording

PROGRAMS = ROOT / "tests" / "programs"
FLAGS = ["-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-infinite-recursion", "-pthread"]
LIBRARY = ["-fPIC", "-shared"]

# Programs that do not link parts of a build are the same for all builds.
SHARED = BUILD.with_name("build-programs")


def built(source, *flags, name=None):
    """A program or library from tests/programs, built when it is missing or older than its sources."""
    source = PROGRAMS / source
    parts = [flag for flag in flags if isinstance(flag, pathlib.Path)]
    out = (BUILD / "programs" if parts else SHARED) / (name or source.stem)
    newest = max(path.stat().st_mtime for path in (source, PROGRAMS / "blocks.h", pathlib.Path(__file__), *parts))
    if out.exists() and out.stat().st_mtime >= newest:
        return out
    out.parent.mkdir(exist_ok=True)
    compiler = ["g++", "-std=c++17"] if source.suffix == ".cpp" else ["gcc", "-std=gnu17"]
    # Several tests may want the same one at the same time.
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = pathlib.Path(folder) / out.name
        subprocess.run([*compiler, *FLAGS, source, *flags, "-o", made], check=True)
        made.replace(out)
    return out


def compiled(source, *command):
    """A program or library of one source, whose compiler runs once for all tests and builds.  The command has no "-o".

    It is in a folder of the digest of both, with a copy of the source.  Tests do not change it.
    """
    text = source.read_bytes()
    words = [*map(str, command), source.name]
    folder = SHARED / hashlib.sha256("\0".join(words).encode() + b"\0" + text).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "program").exists():
            (folder / source.name).write_bytes(text)
            subprocess.run([*words, "-o", "made"], cwd=folder, check=True)
            (folder / "made").replace(folder / "program")
    return folder / "program"


def copy_compiled(path, source, *command):
    """The same as a file of a test."""
    return shutil.copy(compiled(source, *command), path)


def preloaded_library(source, *flags):
    """A library from tests/programs for LD_PRELOAD."""
    library = built(source, *LIBRARY, *flags, name=pathlib.Path(source).stem + ".so")
    return preloadable(library.parent, library.name) / library.name


def counter():
    return preloaded_library("count_preload.c")


def counted(prefix, pid):
    """The counts of a process: (allocations, resizes, frees, bytes); None if it did not begin."""
    path = pathlib.Path(f"{prefix}.{pid}")
    data = path.read_bytes() if path.exists() else b""
    return struct.unpack("4Q", data) if data else None


def libraries():
    """Two that differ, and land at the same address when one takes the other's place."""
    return [built("stress_library.c", *LIBRARY, f"-DMAKE=make_{name}", f"-DSIZE={size}",
                  f'-DBEFORE="{before}"', name=f"{name}.so")
            for name, size, before in (("one", 2063, 16), ("two", 2069, 480))]


def preloaded(output, *more, **variables):
    """The environment in which the runtime alone records; other libraries come before it."""
    libraries = [str(path) for path in (*more, RUNTIME)]
    return {**ENVIRONMENT, "LD_PRELOAD": ":".join(libraries), "ALLO_OUTPUT": str(output), **variables}


class CaptureTest(Test):
    """A test that records programs."""

    SANITIZED = False  # the runtime does the work, which is never sanitized

    def record(self, *command, env=None, options=(), status=0):
        """Runs a program under `allo run --raw`; returns its only recording."""
        done = self.run_program(ALLO, "run", "--raw", "-q", "-o", "%e.%p.%n.allo", *options, "--", *command,
                                env=env or ENVIRONMENT)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace")[-3000:])
        self.said = done.stdout.decode(errors="replace")
        found = sorted(self.tmp.glob("*.allo"))
        self.assertEqual(len(found), 1, found)
        self.allo("verify", found[0])
        return RawRecording(found[0])


