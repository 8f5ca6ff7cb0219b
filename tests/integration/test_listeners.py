"""Limits on the memory of single tests, with the listeners of include/allotrope/ for GoogleTest, Catch2 and cmocka."""
import re

from allotest import ALLO, ENVIRONMENT, ROOT, RUNTIME
from recordings import CaptureTest

SOURCES = ROOT / "examples" / "listeners"
STRICT = ("-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include")


class Listeners(CaptureTest):
    def run_tests(self, compiler, source, *libraries):
        """Compiles an example of tests and runs it, which fails; its output."""
        self.must(compiler, *STRICT, source, "-o", "tests", RUNTIME, *libraries)
        done = self.run_program("./tests", env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(RUNTIME.parent)})
        self.assertGreater(done.returncode, 0)
        return done.stdout.decode() + done.stderr.decode()

    def line_of(self, source, text):
        return next(i for i, line in enumerate(source.read_text().splitlines(), 1) if text in line)

    def test_googletest(self):
        source = SOURCES / "gtest_limits.cpp"
        said = self.run_tests("g++", source, "-lgtest")
        failed = dict(re.findall(r"^.*:(\d+): Failure\nFailed\n(.*)$", said, re.M))
        self.assertEqual(failed, {
            str(self.line_of(source, "OneIsLeaked")): "the test did not free 1009 bytes where at most 0 are allowed",
            str(self.line_of(source, "ManyAreHeld")): f"the test held {3 << 20} bytes at once where at most {1 << 20} are allowed"})
        self.assertIn("[  PASSED  ] 2 tests.", said)

    def test_catch2(self):
        said = self.run_tests("g++", SOURCES / "catch2_limits.cpp")
        self.assertEqual(re.findall(r"explicitly with message:\n  (.*)", said),
                         ["the test did not free 1009 bytes where at most 0 are allowed",
                          f"the test held {3 << 20} bytes at once where at most {1 << 20} are allowed"])
        self.assertIn("test cases: 3 | 1 passed | 2 failed", said)

    def test_cmocka(self):
        said = self.run_tests("cc", SOURCES / "cmocka_limits.c", "-lcmocka")
        self.assertIn("[       OK ] a_block_is_freed", said)
        self.assertIn("the test did not free 1009 bytes where at most 0 are allowed", said)
        self.assertRegex(said, r"\[  (ERROR |FAILED)  +\] a_block_is_leaked")

    def program(self, body):
        """A program of cmocka with two tests, of which the second does nothing."""
        example = (SOURCES / "cmocka_limits.c").read_text()
        start, end = example.index("static void a_block_is_freed"), example.index("int main(void)")
        return self.file("tests.c", example[:start] + "static void a_block_is_freed(void **state)\n{\n\t(void)state;\n" + body +
                         "}\n\nstatic void a_block_is_leaked(void **state)\n{\n\t(void)state;\n\tALLO_LIMIT_ALLOCATIONS(0);\n"
                         "\tkept = NULL;\n}\n\n" + example[end:])

    def test_a_failed_assertion_leaves_no_limit_behind(self):
        """cmocka leaves the test by longjmp()."""
        said = self.run_tests("cc", self.program("\tALLO_LIMIT_LEAKS(0);\n\tkept = malloc(101);\n\tassert_true(kept == NULL);\n"), "-lcmocka")
        self.assertIn("[  FAILED  ] a_block_is_freed", said)
        self.assertIn("[       OK ] a_block_is_leaked", said)

    def test_all_limits_are_named(self):
        said = self.run_tests("cc", self.program("\tALLO_LIMIT_LEAKS(7);\n\tALLO_LIMIT_ALLOCATIONS(0);\n\tALLO_LIMIT_MEMORY(5);\n"
                                                 "\tkept = malloc(101);\n"), "-lcmocka")
        self.assertIn("the test held 101 bytes at once where at most 5 are allowed; the test did not free 101 bytes where at most 7 "
                      "are allowed; the test allocated 1 blocks where at most 0 are allowed", said)

    def test_a_test_that_cannot_be_measured_fails(self):
        """Under 'allo run' without statistics."""
        self.must("cc", *STRICT, SOURCES / "cmocka_limits.c", "-o", "tests", RUNTIME, "-lcmocka")
        environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": str(RUNTIME.parent)}
        for variables, failures in (({}, 2), ({"ALLO_STATS": "1"}, 1)):
            done = self.run_program(ALLO, "run", "-q", "-f", "-o", "out.allo", "./tests", env={**environment, **variables})
            self.assertEqual(done.stderr.decode().count("cannot be measured"), 2 if failures == 2 else 0, done.stderr)
            self.assertEqual(done.returncode, failures)
