"""The debug log of the runtime: ALLO_DEBUG and ALLO_DEBUG_FILE."""
import os
import re
import subprocess

from recordings import CaptureTest, built, libraries, preloaded

LINE = re.compile(r"(\d{8}T\d{6}\.\d{6}) (\d+)\.(\d+) (.+)")
WITHOUT_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer"]


class DebugLog(CaptureTest):
    def run_logged(self, *command, **variables):
        """Runs a program in the test's folder; returns (pid, lines), each line as (time, pid, thread, text)."""
        env = preloaded(self.tmp / "out.%p.allo", **variables)
        with subprocess.Popen([str(word) for word in command], env=env, cwd=self.tmp, stdout=subprocess.DEVNULL) as child:
            self.assertEqual(child.wait(), 0)
        return child.pid, self.lines_of(self.tmp / f"allo-debug.{child.pid}.log")

    def lines_of(self, path):
        lines = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
        self.assertNotIn(None, lines, "a line is not as it should be")
        return [(line[1], int(line[2]), int(line[3]), line[4]) for line in lines]

    def texts(self, *command, **variables):
        pid, lines = self.run_logged(*command, **variables)
        self.assertLessEqual({line[1] for line in lines}, {pid})
        return [line[3] for line in lines]

    def assert_only(self, texts, *beginnings):
        """Each beginning occurs, and no other text does, but for one that depends on the program's pauses."""
        for beginning in beginnings:
            self.assertTrue(any(text.startswith(beginning) for text in texts), (beginning, texts))
        others = [text for text in texts if not text.startswith((*beginnings, "times: "))]
        self.assertEqual(others, [])

    def assert_session(self, path):
        """The file is a whole log of level 1."""
        self.assert_only([line[3] for line in self.lines_of(path)], "start: ", "recording to ", "exit: ")

    def test_there_is_no_file_without_it(self):
        for variables in ({}, {"ALLO_DEBUG": "0"}, {"ALLO_DEBUG": "yes"}, {"ALLO_DEBUG_FILE": "log"}):
            self.run_program(built("entry_points.c"), env=preloaded(self.tmp / "out.allo", **variables))
        self.assertEqual([path.name for path in self.tmp.iterdir() if path.suffix != ".allo"], [])

    def test_level_1_logs_the_session(self):
        texts = self.texts(built("entry_points.c"), ALLO_DEBUG="1")
        self.assert_only(texts, "start: allo ", "recording to ", "exit: recording complete, ")
        self.assertRegex(texts[0], rf"^start: allo \S+, preloaded in entry_points, parent {os.getpid()}, output '.*%p\.allo'$")
        self.assertRegex(texts[1], r"^recording to .*/out\.\d+\.allo, mode exact$")

    def test_level_1_logs_why_recording_stopped(self):
        texts = self.texts(built("churn.c"), "2", "200000", ALLO_DEBUG="1", ALLO_MAX_FILE=str(1 << 20))
        self.assertIn("recording stopped: the size limit of the file is reached", texts)
        texts = self.texts(built("churn.c"), "0", "200000", ALLO_DEBUG="1", ALLO_DURATION_NS="1000000")
        self.assertIn("recording stopped: stopped or its time is over", texts)

    def test_level_1_logs_errors(self):
        texts = self.texts(built("entry_points.c"), ALLO_DEBUG="1", ALLO_OUTPUT=str(self.tmp / "nowhere" / "out.allo"))
        self.assertTrue(any(re.fullmatch(r"error: cannot record to .*/nowhere/out\.allo: errno 2", text) for text in texts),
                        texts)

    def test_level_2_logs_modules_and_streams(self):
        one, two = libraries()
        texts = self.texts(built("stress_dlopen.c"), one, two, "2", ALLO_DEBUG="2")
        self.assert_only(texts, "start: ", "recording to ", "exit: ", "stream ", "module ")
        self.assertIn("stream 1 opened: stacks", texts)
        self.assertIn("stream 2 opened: metadata", texts)
        for library in (one, two):
            found = [text for text in texts if text.startswith(f"module {library} at 0x")]
            self.assertEqual(len(found), 2, texts)
            self.assertTrue(found[0].endswith("with unwind table, with build id"), found)
        self.assertEqual(sum(text.startswith("module unloaded: 0x") for text in texts), 4)
        self.assertTrue(any(text.startswith("module stress_dlopen at 0x") for text in texts), texts)

    def test_level_2_logs_a_stream_per_thread(self):
        texts = self.texts(built("churn.c"), "3", "3000", ALLO_DEBUG="2")
        # The first thread and three others.
        self.assertEqual(sum(text.endswith(" opened: events") for text in texts), 4)

    def test_level_2_logs_forks_in_the_file_of_the_parent(self):
        pid, lines = self.run_logged(built("stress_fork.c"), ALLO_DEBUG="2")
        forks = [(line[1], line[3]) for line in lines if line[3].startswith("fork: ")]
        # 20 children of main() and 20 of a thread; every fifth of them has a child.
        self.assertEqual(len(forks), 48)
        self.assertEqual(sum(text == f"fork: child of {pid}" for _, text in forks), 40)
        self.assertNotIn(pid, [child for child, _ in forks])
        self.assertEqual([path.name for path in self.tmp.glob("*.log")], [f"allo-debug.{pid}.log"])

    def test_level_3_logs_how_addresses_are_unwound(self):
        texts = self.texts(built("entry_points.c"), ALLO_DEBUG="3")
        self.assertTrue(any(re.fullmatch(r"unwind 0x[0-9a-f]+: CFI, from the stack pointer", text) for text in texts))
        self.assertTrue(any(text.startswith("module ") for text in texts))
        self.assertTrue(any(text.startswith("start: ") for text in texts))

    def test_level_3_tells_the_unwinders_apart(self):
        program = built("entry_points.c", *WITHOUT_TABLES, name="entry_points_without_tables")
        for unwinder, wanted in (("auto", "frame pointer, because there is no table"),
                                 ("fp", "frame pointer, as the settings say"),
                                 ("dwarf", "none, the stack is cut here")):
            with self.subTest(unwinder):
                kinds = {text.split(": ", 1)[1] for text in self.texts(program, ALLO_DEBUG="3", ALLO_UNWIND=unwinder)
                         if text.startswith("unwind ")}
                self.assertIn(wanted, kinds)
        self.assertEqual(kinds & {"frame pointer, because there is no table", "frame pointer, as the settings say"}, set())

    def test_levels_above_3_are_as_3(self):
        self.assertTrue(any(text.startswith("unwind ") for text in self.texts(built("entry_points.c"), ALLO_DEBUG="9")))

    def test_the_file_can_be_named(self):
        for name, found in (("log.%e.txt", "log.entry_points.txt"), (str(self.tmp / "whole"), "whole")):
            env = preloaded(self.tmp / "out.%p.allo", ALLO_DEBUG="1", ALLO_DEBUG_FILE=name)
            self.run_program(built("entry_points.c"), env=env)
            self.assert_session(self.tmp / found)

    def test_it_is_written_elsewhere_if_the_folder_is_not_writable(self):
        if os.getuid() == 0:
            folder = "/proc"  # even root cannot create files there
        else:
            folder = self.tmp / "closed"
            folder.mkdir(mode=0o500)
        env = preloaded(self.tmp / "out.%p.allo", ALLO_DEBUG="1", TMPDIR=str(self.tmp))
        with subprocess.Popen([built("entry_points.c")], env=env, cwd=folder, stdout=subprocess.DEVNULL) as child:
            self.assertEqual(child.wait(), 0)
        self.assert_session(self.tmp / f"allo-debug.{child.pid}.log")

    def test_programs_that_close_all_descriptors_keep_their_log(self):
        (self.tmp / "files").mkdir()
        texts = self.texts(built("stress_descriptors.c"), self.tmp / "files", ALLO_DEBUG="2")
        self.assertTrue(any(text.startswith("exit: ") for text in texts), texts)

    def test_times_ascend(self):
        _, lines = self.run_logged(built("entry_points.c"), ALLO_DEBUG="3")
        times = [line[0] for line in lines]
        self.assertEqual(times, sorted(times))
