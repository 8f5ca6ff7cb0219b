#!/usr/bin/env python3
"""A day of a busy service under `allo run --ring`, and 200 kills at any moment.

usage: ring.py [--events N] [--size BYTES] [--kills N]

ALLO_BUILD names the build that is tested.  Prints TAP.
"""
import argparse
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from default_signals import reset_signals
import test_ring


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=200_000_000)
    parser.add_argument("--size", type=int, default=256 << 20)
    parser.add_argument("--kills", type=int, default=200)
    return parser.parse_args()


class Day(test_ring.Ring):
    """One thread, whose every event of the last stretch is known; then four threads."""
    FIRST_KILL = 1

    def test_a_day(self):
        for threads in ((), (4,)):
            running = self.start(self.EVENTS, *threads, size=self.SIZE)
            most = self.finish(running, size=self.SIZE, seconds=None)
            self.assert_complete()
            print(f"# {self.EVENTS:,} events of {'four threads' if threads else 'a thread'}: at most {most:,} of "
                  f"{self.SIZE:,} bytes on the disk; all sums are right", flush=True)
            if not threads:
                exact = self.assert_last_stretch(least=self.SIZE // 64)
                print(f"# the last {exact:,} allocations are exact, each with its size", flush=True)


def main():
    reset_signals()
    given = options()
    Day.EVENTS, Day.SIZE, Day.KILLS = given.events, given.size, given.kills
    failures = 0
    for count, name in enumerate(("test_a_day", "test_kills"), 1):
        result = unittest.TestResult()
        unittest.TestSuite([Day(name)]).run(result)
        wrong = result.errors + result.failures
        failures += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {count} - ring: {name}", flush=True)
        for _, text in wrong:
            print("\n".join("# " + line for line in text.splitlines()), flush=True)
    print(f"1..{count}")
    sys.exit(failures > 0)


main()
