"""Recording without libc's function for modules: the runtime's own list, as with musl and before glibc 2.35."""
import collections

import test_capture
from allotest import ENVIRONMENT
from recordings import built, libraries


class ByTheList(test_capture.Capture):
    way = "list"

    def run_program(self, *command, env=None, **options):
        return super().run_program(*command, env={**(env or ENVIRONMENT), "ALLO_MODULES": self.way}, **options)


class Stacks(ByTheList, test_capture.Stacks):
    """All stacks are as with libc's function."""


class Unwinders(ByTheList, test_capture.UnwindersAgree):
    """They are those of libgcc, too."""


class Modules(ByTheList):
    def modules(self, recording):
        """The files of a recording's modules, without versions, with their build ids."""
        recording.path.unlink()
        return {(module.path.rsplit("/", 1)[-1].split(".so")[0], module.build_id) for module in recording.modules}

    def test_modules_are_those_of_libc(self):
        for command in (["/usr/bin/python3", "-c", "import json, ctypes, sqlite3"], [built("entry_points.c")]):
            with self.subTest(command):
                recording = self.record(*command)
                head = recording.head
                self.assertEqual((head.failed_stacks, head.cut_stacks, head.guessed_frames), (0, 0, 0))
                listed = self.modules(recording)
                self.way = "libc"
                self.assertEqual(listed, self.modules(self.record(*command)))
                self.way = "list"

    def test_threads_go_on_while_libraries_come_and_go(self):
        recording = self.record(built("stress_dlopen.c"), *libraries(), 50, 4)
        sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
        self.assertEqual((sizes[2063], sizes[2069]), (250, 250))
        for size, name in ((2063, "make_one"), (2069, "make_two")):
            self.assertEqual({stack[:4] for stack in self.stacks(recording, size)}, {(name, "make", "use", "main")})
        self.must_balance(recording)

    def test_libraries_are_found_at_the_limit_of_descriptors(self):
        """The memory map is read in a helper process then."""
        library, _ = libraries()
        recording = self.record(built("late_library.c"), library)
        self.assertEqual({stack[:3] for stack in self.stacks(recording, 2063)}, {("make_one", "make", "main")})
