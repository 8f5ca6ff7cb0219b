"""The stack that the runtime needs in the recorded program; doc/cpp.md states the limits."""
from allotest import ALLO, ENVIRONMENT
from recordings import CaptureTest, built

# Calls through lazily bound functions would save all vector registers on the stack.
BOUND = {**ENVIRONMENT, "LD_BIND_NOW": "1"}


class StackRoom(CaptureTest):
    MOST = {"slow": 1280, "fast": 512, "thread": 1280}  # bytes

    def measured(self, *runner):
        lines = self.must(*runner, built("stack_room.cpp"), env=BOUND).splitlines()
        return {name: [int(word) for word in words] for name, *words in (line.split() for line in lines)}

    def test_hooks_need_little_more_stack_than_the_functions_behind_them(self):
        alone = self.measured()
        for options in ([], ["--track", "malloc,new,mmap"], ["--mode", "sampled", "--rate", "1"]):
            # A rate of one byte samples every block.
            recorded = self.measured(ALLO, "run", "-q", "-f", "-o", "s.allo", *options, "--")
            self.assertEqual(set(recorded), set(alone))
            for name in alone:
                with self.subTest(function=name, options=options):
                    for when, most, bytes_alone, bytes_recorded in zip(self.MOST, self.MOST.values(), alone[name],
                                                                       recorded[name]):
                        self.assertLessEqual(bytes_recorded - bytes_alone, most, when)

    def test_coroutines_with_little_stack_are_recorded(self):
        for size in (4096, 1728):
            self.assertEqual(self.must(built("stack_room.cpp"), size, env=BOUND), "done\n")
            self.assertEqual(self.must(ALLO, "run", "-q", "-f", "-o", "s.allo", "--", built("stack_room.cpp"), size,
                                       env=BOUND), "done\n")
            self.allo("verify", "s.allo")
