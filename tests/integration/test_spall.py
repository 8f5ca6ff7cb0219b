"""Spall files, by a reader that is as strict as Spall's web viewer."""
import re
import struct

from allotest import GOLDEN, Test
from spallfile import Trace, own_times

DTRACE = GOLDEN / "dtrace"


class Spall(Test):
    def spall(self, path, *options):
        self.allo("convert", path, "-qfo", "out.spall", *options)
        return Trace((self.tmp / "out.spall").read_bytes())


class Files(Spall):
    def test_both_versions_say_the_same(self):
        for path in sorted(DTRACE.iterdir()):
            one, three = self.spall(path), self.spall(path, "--format-version", 3)
            self.assertEqual((one.version, three.version), (1, 3))
            self.assertEqual(one.calls, three.calls)
            self.assertEqual(one.begins, one.ends)
            self.assertTrue(one.calls)

    def test_they_have_not_changed(self):
        for name, *options in (("macos-timestamp-pid-tid-ustack.txt",),
                               ("illumos-exec-pid-stack-ustack.txt", "--format-version", "3"),
                               ("freebsd-multi-aggregation.txt", "--freq", "997", "--no-modules")):
            self.assert_golden(GOLDEN / "spall" / (name.removesuffix(".txt") + ".spall.txt"),
                               self.spall(DTRACE / name, *options).text())

    def test_the_header_is_that_of_the_version(self):
        path = DTRACE / "macos-ustack-only.txt"
        self.spall(path)
        self.assertEqual((self.tmp / "out.spall").read_bytes()[:32],
                         struct.pack("<QQdQ", 0x0BADF00D, 1, 0.001, 0))
        self.spall(path, "--format-version", 3)
        self.assertEqual((self.tmp / "out.spall").read_bytes()[:32], struct.pack("<QQdQ", 0x0BADF00D, 3, 1.0, 0))

    def test_other_versions_are_refused(self):
        path = DTRACE / "macos-ustack-only.txt"
        self.assertIn("spall has no version 2", self.allo_fails("convert", path, "-o", "a.spall", "--format-version", 2,
                                                                status=2))
        self.assertIn("folded has no version 1", self.allo_fails("convert", path, "-o", "a.folded", "--format-version", 1,
                                                                 status=2))
        self.assertEqual(list(self.tmp.iterdir()), [])


class Names(Spall):
    def names(self, name, *options):
        path = self.file("in.txt", b"\n\n              " + name + b"+0x1c\n                1\n")
        calls, = self.spall(path, *options).calls.values()
        return calls[0].name

    def test_long_ones_end_at_255_bytes_between_characters(self):
        self.assertEqual(self.names(b"a`" + b"x" * 1000), "a`" + "x" * 253)
        self.assertEqual(self.names(b"a`" + "é".encode() * 1000), "a`" + "é" * 126)
        self.assertEqual(self.names(b"a`x" + "é".encode() * 1000), "a`x" + "é" * 126)
        self.assertEqual(self.names(b"a`x" + "\U0001f600".encode() * 1000, "--format-version", "3"),
                         "a`x" + "\U0001f600" * 63)

    def test_invalid_utf8_is_replaced(self):
        self.assertEqual(self.names(b"a`x\xff\xfey"), "a`x\ufffd\ufffdy")
        self.assertEqual(self.names(b"a`" + b"\xff" * 300), "a`" + "\ufffd" * 84)

    def test_threads_have_names_in_version_3(self):
        path = self.file("in.txt", "".join(
            f"  {name:50s} {pid:8d} {tid:8d}\n              a`main\n                1\n"
            for name, pid, tid in (("mdb", 7, 70), ("mdb", 7, 71), ("bash", 8, 80))))
        trace = self.spall(path, "--format-version", 3)
        self.assertEqual(trace.process_names, {7: "mdb", 8: "bash"})
        self.assertEqual(trace.thread_names, {(7, 70): "mdb", (7, 71): "mdb", (8, 80): "bash"})


class HeapProfiles(Spall):
    """Stacks without times are as wide as their values."""

    def check(self, path, metric):
        trace = self.spall(path, "-M", metric)
        (thread, calls), = trace.calls.items()
        self.assertEqual(thread, (0, 0))
        wanted = {}
        for line in self.allo("convert", "-q", path, "--to", "folded", "-M", metric).splitlines():
            stack, _, value = line.rpartition(" ")
            # Folded stacks have other rules for names, and Spall limits their length.
            key = tuple(name[:255] for name in re.sub(r"_$", "", stack).split(";"))
            wanted[key] = wanted.get(key, 0) + int(value)
        if "[unknown]" in dict.fromkeys(stack[0] for stack in wanted):
            wanted = {stack: value for stack, value in wanted.items() if stack != ("[unknown]",)}
        self.assertEqual(own_times(calls), wanted)
        self.assertEqual(trace.spans[thread][0], 0)

    def test_widths_are_bytes(self):
        self.check(GOLDEN / "dhat" / "valgrind-heap.json", "alloc_bytes")
        self.check(GOLDEN / "pprof" / "go-heap.pb.gz", "alloc_bytes")
        self.check(GOLDEN / "dhat" / "dhat-rs-heap.json", "peak_blocks")

    def test_the_widest_comes_first(self):
        path = self.file("a.folded", "main;a 5\nmain;b 30\nmain 2\nother;x 1\n")
        self.assertEqual(self.spall(path).thread(), [["main", 0, 37], ["b", 0, 30], ["a", 30, 35], ["other", 37, 38],
                                                     ["x", 37, 38]])
