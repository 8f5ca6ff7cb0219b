"""The runtime keeps no descriptor open: a recorded program has the same ones as alone."""
import sys

from recordings import CaptureTest, built

# The numbers that a child gets, and those that it finds open, as programs and their test suites check them.
PASS_FDS = """
import os, subprocess, sys
read, write = os.pipe()
null = os.open(os.devnull, os.O_RDWR)
found = subprocess.run([sys.executable, "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"],
                       pass_fds=(read, write, null), stdout=subprocess.PIPE, check=True)
print(read, write, null, found.stdout)
"""


class Descriptors(CaptureTest):
    def both(self, *command):
        """The output of a program, alone and recorded, and the number of its recordings."""
        alone = self.must(*command)
        recorded = self.allo("run", "-q", "-o", "%e.%n.allo", "--", *command)
        for recording in self.tmp.glob("*.allo"):
            self.allo("verify", recording)
        return alone, recorded, len(list(self.tmp.glob("*.allo")))

    def test_none_is_visible(self):
        alone, recorded, count = self.both(built("descriptors.c"), "list")
        self.assertEqual((recorded, count), (alone, 1))

    def test_none_is_missing_at_the_limit(self):
        """Nothing is lost either: not of the program, its second thread, or its child."""
        alone, recorded, count = self.both(built("descriptors.c"), "limit")
        self.assertEqual((recorded, count), (alone, 2))
        events = sorted(self.allo_json("summary", path)["events"] for path in self.tmp.glob("*.allo"))
        self.assertEqual(events[0], 200000)
        self.assertGreaterEqual(events[1], 4 * 200000)

    def test_children_inherit_none(self):
        _, recorded, _ = self.both(built("descriptors.c"), "fork")
        self.assertEqual(recorded, "0 children with other descriptors\n")

    def test_python_passes_the_same_numbers_on(self):
        alone, recorded, _ = self.both(sys.executable, "-c", PASS_FDS)
        self.assertEqual(recorded, alone)
