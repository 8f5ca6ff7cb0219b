"""The protections of the installed program and libraries, as their ELF headers show them."""
import pathlib
import platform
import re
import unittest

from allotest import ALLO, BUILD, RUNTIME, SLOW, Test

LIBRARY = BUILD / "src" / "lib" / "liballotrope.so"
FILES = {"allo": ALLO, "liballo.so": RUNTIME, "liballotrope.so": LIBRARY}


@unittest.skipIf(SLOW, "sanitized builds have other protections")
class Hardening(Test):
    def readelf(self, path, *options):
        return self.must("readelf", "-W", *options, path)

    def test_addresses_are_random(self):
        for name, path in FILES.items():
            with self.subTest(name):
                self.assertRegex(self.readelf(path, "-h"), r"Type: +DYN")
        self.assertRegex(self.readelf(ALLO, "-d"), r"FLAGS_1\).*PIE")

    def test_relocations_are_read_only(self):
        for name, path in FILES.items():
            with self.subTest(name):
                self.assertIn("GNU_RELRO", self.readelf(path, "-l"))
                self.assertRegex(self.readelf(path, "-d"), r"BIND_NOW|FLAGS_1\).*NOW")

    def test_stacks_are_not_executable(self):
        for name, path in FILES.items():
            with self.subTest(name):
                flags = re.search(r"GNU_STACK .* (R[W ][E ]) ", self.readelf(path, "-l"))
                self.assertIsNotNone(flags)
                self.assertNotIn("E", flags[1])

    def test_readers_check_stacks_and_buffers(self):
        for name in ("allo", "liballotrope.so"):
            with self.subTest(name):
                symbols = self.readelf(FILES[name], "--dyn-syms")
                self.assertIn("__stack_chk_fail", symbols)
                self.assertRegex(symbols, r"__(memcpy|snprintf|vsnprintf|sprintf|read|pread64?)_chk")

    @unittest.skipUnless(platform.machine() == "x86_64", "control-flow protection is a feature of x86")
    def test_functions_are_marked_as_targets_of_calls(self):
        code = self.must("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", ALLO)
        self.assertRegex(code, r"<main>:\n.*endbr64")

    @unittest.skipUnless(platform.machine() == "x86_64", "shadow stacks are a feature of x86")
    def test_the_runtime_is_compiled_for_shadow_stacks(self):
        """One part without the mark would take it from a program that has a shadow stack.  The linked file has the mark
        only if the start files of the compiler have it."""
        self.assertIn("SHSTK", self.readelf(BUILD / "capture" / "allo.o", "-n"))

    def test_the_runtime_needs_nothing_but_libc(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.readelf(RUNTIME, "-d"))
        self.assertTrue(all(pathlib.Path(one).name.startswith(("libc.", "ld-")) for one in needed), needed)


class Libraries(Test):
    def test_the_version_lists_the_libraries_inside(self):
        lines = self.allo("version").splitlines()
        self.assertRegex(lines[0], r"^allo \d")
        found = self.allo_json("version")["libraries"]
        self.assertEqual(set(found), {"elfutils", "libdeflate", "sqlite", "xxhash", "zlib", "zstd"})
        for name, version in found.items():
            self.assertRegex(version, r"^\d+\.\d+")
            self.assertIn(f"  {name} {version}", lines)
