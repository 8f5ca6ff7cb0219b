"""The pytest plugin of python/: limits on the memory of tests."""
import os
import re

from allotest import ALLO, ENVIRONMENT, ROOT, Test

HEAD = "import pytest\n\nkept = []\n"

# The system's python3 has pytest (python3-pytest).
PYTHON = "/usr/bin/python3"


class Plugin(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        self.environment = {**{name: value for name, value in ENVIRONMENT.items() if not name.startswith("PYTHON")},
                            "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                            "PATH": f"{self.tmp}/bin:{os.environ['PATH']}"}
        (self.tmp / "bin").mkdir()
        (self.tmp / "bin" / "allo").symlink_to(ALLO)

    def pytest(self, text, *options, status=1):
        """Runs tests; the messages of those that fail, by name, and the output."""
        self.file("test_it.py", HEAD + text)
        done = self.run_program(PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-p", "allotrope.pytest_plugin", "-q",
                                "--strict-markers", *options, "test_it.py", env=self.environment)
        output = done.stdout.decode() + done.stderr.decode()
        self.assertEqual(done.returncode, status, output)
        return dict(re.findall(r"^_+ (test_\w+) _+\n((?:(?![_=]{3}).+\n)*)", output, re.M)), output

    def test_the_most_bytes_held_at_once(self):
        failed, _ = self.pytest('@pytest.mark.limit_memory("1 MB")\ndef test_over(): bytearray(3 << 20)\n'
                                '@pytest.mark.limit_memory("4 MB")\ndef test_under(): bytearray(3 << 20)\n'
                                '@pytest.mark.limit_memory("4 MB")\n'
                                'def test_one_after_the_other():\n    for _ in range(5): bytearray(3 << 20)\n')
        self.assertEqual(failed, {"test_over": "limit_memory: the test held 3.0 MiB at once where at most 1.0 MiB is allowed\n"})

    def test_the_bytes_that_are_not_freed(self):
        failed, _ = self.pytest('@pytest.mark.limit_leaks("100 KB")\ndef test_kept(): kept.append(bytearray(1 << 20))\n'
                                '@pytest.mark.limit_leaks("100 KB")\ndef test_freed(): bytearray(1 << 20)\n'
                                '@pytest.mark.limit_leaks("100 KB")\n'
                                'def test_cycle():\n    cycle = [bytearray(1 << 20)]\n    cycle.append(cycle)\n')
        self.assertEqual(list(failed), ["test_kept"])
        self.assertRegex(failed["test_kept"], r"^limit_leaks: the test did not free (1\.0 M|102\d\.\d K)iB where at most 100\.0 KiB is allowed\n")

    def test_the_number_of_blocks(self):
        """Objects count, although CPython takes them from arenas."""
        failed, _ = self.pytest("@pytest.mark.limit_allocations(100)\ndef test_over(): [object() for _ in [None] * 1009]\n"
                                "@pytest.mark.limit_allocations(1100)\ndef test_under(): [object() for _ in [None] * 1009]\n"
                                "@pytest.mark.limit_allocations(0)\ndef test_nothing(): pass\n")
        self.assertEqual(list(failed), ["test_over"])
        blocks = int(re.match(r"limit_allocations: the test allocated (\d+) blocks where at most 100 are allowed", failed["test_over"])[1])
        self.assertIn(blocks, range(1009, 1100))

    def test_fixtures_and_parameters(self):
        """Fixtures are passed on, and do not count."""
        failed, _ = self.pytest('@pytest.fixture\ndef big(): return bytearray(9 << 20)\n'
                                '@pytest.mark.limit_memory("1 MB")\n@pytest.mark.parametrize("size", [1, 2 << 20])\n'
                                'def test_it(big, size):\n    assert len(big) == 9 << 20\n    bytearray(size)\n', "-rA")
        self.assertEqual(list(failed), [])  # the name below has brackets

    def test_a_parametrized_test_is_named(self):
        _, output = self.pytest('@pytest.mark.limit_memory("1 MB")\n@pytest.mark.parametrize("size", [1, 2 << 20])\n'
                                'def test_it(size): bytearray(size)\n', "-rA")
        self.assertIn("FAILED test_it.py::test_it[2097152]", output)
        self.assertIn("PASSED test_it.py::test_it[1]", output)

    def test_a_test_that_fails_keeps_its_reason(self):
        _, output = self.pytest('@pytest.mark.limit_memory("1 MB")\ndef test_it():\n    bytearray(2 << 20)\n    assert 1 == 2\n')
        self.assertIn("assert 1 == 2", output)
        self.assertNotIn("limit_memory: the test", output)

    def test_an_expected_failure_stays_one(self):
        self.pytest('@pytest.mark.xfail\n@pytest.mark.limit_memory("1 MB")\ndef test_it(): assert False\n', status=0)

    def test_without_limits_nothing_is_recorded(self):
        """allo is not even looked for."""
        (self.tmp / "bin" / "allo").unlink()
        self.environment["PATH"] = "/usr/bin:/bin"
        self.pytest('import os\ndef test_it(): assert "LD_PRELOAD" not in os.environ\n', status=0)

    def test_a_limit_without_allo_is_an_error(self):
        (self.tmp / "bin" / "allo").unlink()
        self.environment["PATH"] = "/usr/bin:/bin"
        _, output = self.pytest('@pytest.mark.limit_memory("1 MB")\ndef test_it(): pass\n', status=4)
        self.assertIn("limits of memory need the program allo, which is not in PATH", output)

    def test_a_runtime_that_does_not_come_is_an_error(self):
        """pytest does not start again and again."""
        (self.tmp / "bin" / "allo").unlink()
        self.file("bin/allo", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n').chmod(0o755)
        _, output = self.pytest('@pytest.mark.limit_memory("1 MB")\ndef test_it(): pass\n', status=4)
        self.assertIn("allo run -q -m counters -- python3 -m pytest", output)

    def test_wrong_limits_are_errors(self):
        for mark in ('limit_memory("much")', "limit_memory()", 'limit_leaks("1 MB", "2 MB")'):
            _, output = self.pytest(f"@pytest.mark.{mark}\ndef test_it(): pass\n", status=4)
            self.assertRegex(output, r"expected (a size|one argument)")

    def test_output_and_status_are_those_of_one_run(self):
        _, output = self.pytest('@pytest.mark.limit_memory("1 MB")\ndef test_it(): print("shown")\ndef test_other(): pass\n',
                                "-s", status=0)
        self.assertEqual(output.count("shown"), 1)
        self.assertIn("2 passed", output)

    def test_a_recording_names_the_lines(self):
        failed, _ = self.pytest('def grow():\n    return bytearray(3 << 20)\n'
                                '@pytest.mark.limit_memory("1 MB")\ndef test_over(): grow()\n', "--allo", "tests.allo")
        command = failed["test_over"].splitlines()[1]
        self.assertEqual(command, "allo top tests.allo -M alloc_bytes --range 'test_it.py::test_over..end of test_it.py::test_over'")
        rows = self.must("sh", "-c", command + " -n 1", env=self.environment)
        self.assertRegex(rows, r"grow +test_it\.py")

    def test_the_example(self):
        done = self.run_program(PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-p", "allotrope.pytest_plugin",
                                ROOT / "examples" / "pytest", env=self.environment)
        self.assertIn(b"3 passed", done.stdout, done.stderr)
