"""The runtime on aarch64: built by a cross compiler, run by an emulator."""
import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

from allotest import ENVIRONMENT, ROOT
from rawrecording import RawRecording
from recordings import FLAGS, LIBRARY, PROGRAMS
from test_capture import BREAKS, ENTRY_POINTS, MAPPINGS, PAGE, Capture

SYSTEM = "/usr/aarch64-linux-gnu"
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="allo-aarch64-"))  # not in BUILD: LD_PRELOAD is split at spaces
atexit.register(shutil.rmtree, FOLDER)
# As in capture/meson.build.
WRAPPED = re.search(r"capture_newer = \[(.*?)\]", (ROOT / "capture" / "meson.build").read_text())[1]
WRAPS = [f"-Wl,--wrap={name}" for name in re.findall(r"\w+", WRAPPED)]
RUNTIME = ["-std=gnu17", *(flag for flag in FLAGS if flag != "-g"), "-fPIC", "-Wno-missing-field-initializers", "-fvisibility=hidden",
           "-ftls-model=initial-exec", "-fno-stack-protector", "-fno-builtin-malloc", "-fno-builtin-calloc",
           "-fno-builtin-realloc", f"-I{ROOT}", f"-I{ROOT}/src", f"-I{ROOT}/include", '-DALLO_VERSION="0"']
LINKED = ["-pthread", "-Wl,-z,nodelete,-z,now,--no-undefined", *WRAPS]


def compiled(name, sources, *flags):
    out = FOLDER / name
    subprocess.run(["aarch64-linux-gnu-gcc", *flags, *sources, "-o", out], check=True)
    return out


def sources():
    """Of the runtime."""
    return sorted([*(path for path in (ROOT / "capture").rglob("*.c") if path.name != "relaunch.c"),
                   *(ROOT / "src" / "telemetry").glob("*.c"), *(ROOT / "src" / "base" / name for name in ("text.c", "utf8.c"))])


@functools.lru_cache(maxsize=None)
def objects(*flags):
    """Of the runtime."""
    folder = FOLDER / f"objects{''.join(flags)}"
    folder.mkdir()
    subprocess.run(["aarch64-linux-gnu-gcc", "-c", *RUNTIME, *flags, *sources()], check=True, cwd=folder)
    return sorted(folder.iterdir())


@functools.lru_cache(maxsize=None)
def runtime(*flags):
    return compiled(f"liballo{''.join(flags)}.so", objects(*flags), *LIBRARY, *LINKED)


class Aarch64(Capture):
    def record(self, program, *flags, library=(), track="malloc,new"):
        """Runs a program of tests/programs, built so, on a processor that signs return addresses."""
        built = compiled(program, [PROGRAMS / f"{program}.c"], "-std=gnu17", *FLAGS, *flags)
        output = self.tmp / f"{len(list(self.tmp.iterdir()))}.allo"
        self.must("qemu-aarch64", "-cpu", "max", "-L", SYSTEM, "-E", f"LD_PRELOAD={runtime(*library)}",
                  "-E", f"ALLO_OUTPUT={output}", "-E", "ALLO_VERIFY_UNWIND=1", built,
                  env={**ENVIRONMENT, "ALLO_TRACK": track})
        return RawRecording(output)

    def must_be_whole(self, recording):
        """No stack is cut, guessed or other than libgcc's."""
        head = recording.head
        self.assertEqual((head.arch, recording.end, recording.dropped), (2, "exit", 0))
        self.assertEqual((head.failed_stacks, head.cut_stacks, head.guessed_frames), (0, 0, 0))
        self.assertGreater(head.checked_stacks, 100)
        self.assertEqual(head.different_stacks, 0)

    def test_every_entry_point_is_seen_with_its_caller(self):
        recording = self.record("entry_points")
        self.must_be_whole(recording)
        for function, sizes in ENTRY_POINTS.items():
            with self.subTest(function):
                self.assertEqual(self.sizes(recording, function), sizes)

    def test_frames_of_all_kinds_are_followed(self):
        self.must_be_whole(self.record("stress_frames"))

    def test_fibers_have_their_own_stacks(self):
        self.must_be_whole(self.record("stress_fibers"))

    def test_threads_are_recorded(self):
        self.must_be_whole(self.record("stress_threads"))

    def test_signed_return_addresses_are_read(self):
        self.must_be_whole(self.record("stress_frames", "-mbranch-protection=pac-ret"))

    def test_a_runtime_may_sign_its_own(self):
        # Compiled in two thirds of the time; all other tests run the optimized code.
        recording = self.record("entry_points", library=("-mbranch-protection=pac-ret", "-O1"))
        self.must_be_whole(recording)
        self.assertEqual(self.sizes(recording, "use_malloc"), ENTRY_POINTS["use_malloc"])

    def test_functions_are_patched_at_their_entry(self):
        built = compiled("patched", [PROGRAMS / "patched.c", *objects()], *RUNTIME, *LINKED)
        for processor in "max", "cortex-a72":  # with and without checks of indirect calls
            out = self.must("qemu-aarch64", "-cpu", processor, "-L", SYSTEM, built)
            self.assertIn("with_literal: patched", out)
            self.assertIn("busy: patched", out)

    def test_mappings_are_recorded(self):
        recording = self.record("mappings", "-DEMULATED", track="mmap,brk")
        self.assertEqual((recording.end, recording.dropped, recording.unbalanced()), ("exit", 0, {}))
        for function, pages in {**MAPPINGS, **BREAKS, "double_up": {}}.items():
            with self.subTest(function):
                self.assertEqual({size / PAGE: count for size, count in self.sizes(recording, function).items()}, pages)
