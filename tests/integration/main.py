#!/usr/bin/env python3
"""Runs the integration tests and prints TAP: main.py [FILE] [WORD...]     only tests whose names contain a word

ALLO_BUILD names the build to test.  The word "sanitized" selects the tests that are worth repeating with sanitizers:
those in which our own code does the work.
"""
import pathlib
import sys
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from default_signals import reset_signals


class Tap(unittest.TestResult):
    count = failures_count = 0

    def say(self, ok, test, why=None):
        self.count += 1
        self.failures_count += not ok
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
        self.count += 1
        print(f"ok {self.count} - {test.id()} # SKIP {reason}", flush=True)


def each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def is_wanted(test, words):
    if "sanitized" in words:
        method = getattr(test, test._testMethodName, None)
        return getattr(test, "SANITIZED", True) and getattr(method, "SANITIZED", True)
    return not words or any(word in test.id() for word in words)


def main():
    reset_signals()
    words = sys.argv[1:]
    pattern = words.pop(0) if words and words[0].endswith(".py") else "test_*.py"
    found = unittest.defaultTestLoader.discover(str(HERE), pattern=pattern)
    result = Tap()
    unittest.TestSuite(test for test in each(found) if is_wanted(test, words)).run(result)
    sys.exit(1 if result.failures_count else 0)


main()
