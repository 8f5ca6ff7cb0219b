"""Stacks through code that has no unwind tables: made at run time, or written by hand."""
import platform
import unittest

from recordings import FLAGS, PROGRAMS
from test_capture import Capture


@unittest.skipUnless(platform.machine() == "x86_64", "the code is that of x86-64")
class GeneratedCode(Capture):
    def test_trampolines_of_cpython_are_unwound_without_frame_pointers(self):
        self.must("gcc", "-std=gnu17", *FLAGS, "-fomit-frame-pointer", PROGRAMS / "generated.c", "-o", "generated")
        for count in 1, 7, 250:
            if self.run_program(self.tmp / "generated", count).returncode == 77:
                self.skipTest("the kernel allows no generated code")
            for old in self.tmp.glob("*.allo"):
                old.unlink()
            recording = self.record(self.tmp / "generated", count)
            blocks = [event for event in recording.events if event.kind == "alloc" and event.size == 1009]
            self.assertEqual(len(blocks), 23)
            for event in blocks:
                functions = recording.functions(event.stack)
                self.assertEqual((functions[0], functions.count("between"), functions.count("main")), ("innermost", count, 1))
            self.assertEqual(recording.head.cut_stacks, 0)

    def test_stacks_of_coroutines_are_whole(self):
        self.must("gcc", "-std=gnu17", *FLAGS, PROGRAMS / "coroutine.c", "-o", "coroutine")
        recording = self.record(self.tmp / "coroutine")
        for size, outermost in ((1009, "run_switched"), (1013, "run_context"), (1019, "main")):
            blocks = [event for event in recording.events if event.kind == "alloc" and event.size == size]
            self.assertEqual(len(blocks), 23)
            for event in blocks:
                self.assertEqual(recording.functions(event.stack)[:2], ["use", outermost])
        self.assertEqual(recording.head.cut_stacks, 0)

    def test_a_frame_pointer_leads_from_c_back_to_go(self):
        self.must("gcc", "-std=gnu17", *FLAGS, PROGRAMS / "other_stack.c", "-o", "other_stack")
        recording = self.record(self.tmp / "other_stack")
        blocks = [event for event in recording.events if event.kind == "alloc" and event.size == 1009]
        self.assertEqual(len(blocks), 23)
        for event in blocks:
            functions = recording.functions(event.stack)
            self.assertEqual((functions[0], functions.count("outer"), functions.count("main")), ("innermost", 1, 1), functions)
        self.assertEqual(recording.head.cut_stacks, 0)


del Capture
