#!/usr/bin/env python3
"""Runs the integration tests and prints TAP: main.py [WORD...]     only those whose name holds a word

ALLO_BUILD names the build whose programs are tested.  With the word "sanitized", those tests run that
are worth repeating under the sanitizers: the ones in which our own code does the work.
"""
import pathlib
import sys
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


class Tap(unittest.TestResult):
    count = 0

    def say(self, ok, test, why=None):
        self.count += 1
        print(f"{'ok' if ok else 'not ok'} {self.count} - {test.id()}", flush=True)
        if why:
            text = "".join(traceback.format_exception(*why))
            print("\n".join("# " + line for line in text.splitlines()), flush=True)

    def addSuccess(self, test):
        self.say(True, test)

    def addFailure(self, test, err):
        self.say(False, test, err)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.say(False, subtest, err)

    def addSkip(self, test, reason):
        self.say(False, test, (AssertionError, AssertionError("skipped: " + reason), None))


def each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def is_wanted(test, words):
    if not words:
        return True
    if "sanitized" in words:
        return getattr(test, "SANITIZED", True)
    return any(word in test.id() for word in words)


def main():
    found = unittest.defaultTestLoader.discover(str(HERE), pattern="test_*.py")
    wanted = unittest.TestSuite(test for test in each(found) if is_wanted(test, sys.argv[1:]))
    result = Tap()
    wanted.run(result)
    sys.exit(0 if result.count else 1)


main()
