"""C++ programs use all of include/allo.h and include/allotrope.h, by type names without `struct`."""
import re
import subprocess

from allotest import ALLO, BUILD, ENVIRONMENT, HANG, ROOT, Test
from rawrecording import RawRecording

RECORDING = ROOT / "tests" / "golden" / "allo" / "server.allo"
PROGRAMS = ROOT / "tests" / "programs"
STANDARDS = ("11", "20")
# The macros call these.
CALLED_BY_MACROS = {"allo_limited_begin", "allo_limited_end", "allo_assert_begin", "allo_assert_failed"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def declared(header):
    """The functions and the named types of a header."""
    text = without_comments((ROOT / "include" / header).read_text())
    text = re.sub(r"^#define.*?[^\\]$", "", text, flags=re.M | re.S)
    functions = set(re.findall(r"^(?!typedef)[^\n]*?\b(allo\w*)\(", text, re.M))
    types = set(re.findall(r"^(?:struct|enum) (\w+)", text, re.M))
    return functions - CALLED_BY_MACROS, types


class Cpp(Test):
    SANITIZED = False  # a sanitized build leaves these programs out

    def run_cpp(self, name):
        """The lines that a program prints, the same with each standard."""
        printed = []
        for standard in STANDARDS:
            folder = self.tmp / standard
            folder.mkdir()
            done = subprocess.run([BUILD / "tests" / f"{name}_{standard}"], cwd=folder, timeout=HANG, text=True,
                                  env={**ENVIRONMENT, "ALLO_PROGRAM": str(ALLO), "RECORDING": str(RECORDING)},
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            printed.append(done.stdout.splitlines())
        self.assertEqual(printed[0], printed[1])
        return printed[0]

    def assert_uses_all(self, header, program, unnamed=frozenset()):
        text = without_comments((PROGRAMS / program).read_text())
        self.assertNotRegex(text, r"\b(struct|enum|union)\b")
        functions, types = declared(header)
        self.assertGreater(len(functions), 25)
        self.assertEqual(functions & types, set(), "a function hides a type of the same name")
        for name in functions:
            self.assertRegex(text, rf"\b{name}\(")
        for name in types - unnamed:
            self.assertRegex(text, rf"\b{name}\b(?!\()")

    def test_the_runtime(self):
        self.assert_uses_all("allo.h", "cpp_allo.cpp", unnamed={"allo_limit", "allo_limited"})
        self.assertEqual(self.run_cpp("cpp_allo"), [
            "since 24 23710 23 23207 24 23710",  # 23 blocks of 1009 bytes and one of 503, now free
            "within 1 503 1 503 1 503",
            "scoped 1 503 0 0 1 503",
            "thread_blocks 24",
            "events 2 13",
            "failed   seen: 1402 bytes held, allocations: 2, of 1402 bytes in all",
            "is_recording 0",
            "stopped no: nothing is being recorded",
            "allocator glibc",
        ])
        for standard in STANDARDS:
            recorded = [event.size for event in RawRecording(self.tmp / standard / "cpp.allo").events
                        if event.kind == "alloc"]
            self.assertEqual({size: recorded.count(size) for size in (1009, 503, 307)},
                             {1009: 28, 503: 1, 307: 1})
            for name in ("so_far.folded", "signal.folded"):
                self.assertIn("record", (self.tmp / standard / name).read_text())

    def test_the_library(self):
        self.assert_uses_all("allotrope.h", "cpp_allotrope.cpp")
        printed = self.run_cpp("cpp_allotrope")
        self.assertRegex(printed[7], r"^version \d+\.\d+\.\d+$")
        self.assertEqual(printed[:7] + printed[8:], [
            "comments 1 kept",
            "metric alloc_bytes 2",
            "thread worker 29 1",
            "module /bin/demo 1",
            "frame parse:12 0x1010 1 1",
            "calls 2 read main",
            "label tenant=blue",
            "format folded 1 1",
            "changed 2 2506",
            "top parse 2003",
            "top read 503",
            "parse 2003",
            "read 503",
            "merged 5012",
            "before 2506 after 5012",
            "cleared 0",
            "recording 23443 bytes 21 frees",  # as 'allo summary' counts
            "error missing.folded: cannot open: No such file or directory",
        ])
        for standard in STANDARDS:
            for name in ("cpp.folded", "cpp.fd"):
                self.assertEqual((self.tmp / standard / name).read_text(), "parse 2003\nread 503\n")
