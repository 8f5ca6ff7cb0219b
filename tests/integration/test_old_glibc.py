"""liballo.so can be loaded by glibc 2.28 and later: it refers to no newer function."""
import re

import test_aarch64
from allotest import BUILD, Test

OLDEST = (2, 28)


class Versions(Test):
    SANITIZED = False

    def newer(self, library):
        """Symbols of a library with a version that glibc 2.28 does not have."""
        symbols = self.must("readelf", "-W", "--dyn-syms", library)
        found = {name: tuple(map(int, version.split("."))) for name, version in
                 re.findall(r" UND (\w+)@GLIBC_([0-9.]+)", symbols)}
        self.assertGreater(len(found), 30)
        self.assertIn("memcpy", found)
        return {name: version for name, version in found.items() if version > OLDEST}

    def test_the_runtime_needs_no_newer_glibc(self):
        self.assertEqual(self.newer(BUILD / "capture" / "liballo.so.0"), {})

    def test_nor_does_it_on_aarch64(self):
        self.assertEqual(self.newer(test_aarch64.runtime()), {})

    def test_relocations_are_of_kinds_that_it_knows(self):
        """glibc 2.36 is the first that knows DT_RELR."""
        for library in (BUILD / "capture" / "liballo.so.0", test_aarch64.runtime()):
            self.assertNotIn("RELR", self.must("readelf", "-W", "-d", library))

