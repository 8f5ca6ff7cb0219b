"""The second run of a command takes its answer from the caches: it reads no event of the recording."""
import json
import pathlib
import re
import subprocess
import tempfile

from allotest import ALLO, BUILD, ENVIRONMENT, SLOW, Test

# Commands that do not read a recording, or read it only while a program writes it.
NOT_READING = {"run", "attach", "detach", "ps", "start", "stop", "mark", "stats", "snapshot", "live", "serve", "mem", "formats",
               "completion", "help", "version"}

# Single blocks and events are not cached, and a check reads all; see doc/architecture.md.
EXCEPTIONS = {
    "verify": [["verify", "FILE"]],
    "blocks": [["blocks", "FILE"], ["blocks", "--live", "FILE"]],
    "events": [["events", "FILE"]],
}

# Questions about the first blocks and events, whose answers need no others.
FIRST = [["events", "-n", "5", "FILE"], ["events", "-n", "5", "--json", "FILE"],
         ["blocks", "-n", "5", "--sort", "end", "--json", "FILE"],
         ["blocks", "-n", "5", "--sort", "end", "--csv", "FILE"]]

# The arguments of each other command.  All run twice.
QUESTIONS = {
    "info": [["info", "FILE"]],
    "summary": [["summary", "FILE"]],
    "findings": [["findings", "FILE"]],
    "top": [["top", "FILE"], ["top", "--range", "8ms..", "FILE"], ["top", "--range", "serve..", "FILE"],
            ["top", "--realloc", "first", "FILE"]],
    "tree": [["tree", "FILE"], ["tree", "--at", "15ms", "FILE"]],
    "flame": [["flame", "FILE"]],
    "peek": [["peek", ".", "FILE"]],
    "list": [["list", ".", "FILE"]],
    "leaks": [["leaks", "FILE"], ["leaks", "--range", "8ms..", "FILE"]],
    "timeline": [["timeline", "FILE"], ["timeline", "--csv", "FILE"], ["timeline", "--json", "--steps", "1001", "FILE"],
                 ["timeline", "--of", "rate", "--range", "8ms..12ms", "FILE"],
                 ["timeline", "--by", "function", "FILE"], ["timeline", "--by", "site", "--json", "FILE"],
                 ["timeline", "--by", "thread", "--range", "8ms..", "FILE"],
                 ["timeline", "--by", "label:phase", "-n", "2", "--csv", "FILE"]],
    "threads": [["threads", "FILE"], ["threads", "--json", "--range", "8ms..12ms", "FILE"]],
    "hist": [["hist", "FILE"], ["hist", "--json", "--by", "size", "--bins", "16,64,1K", "FILE"],
             ["hist", "--at", "peak", "FILE"], ["hist", "--live", "FILE"], ["hist", "--size", "..100", "FILE"],
             ["hist", "--focus", "1", "FILE"], ["hist", "--range", "8ms..12ms", "FILE"]],
    "sql": [["sql", "FILE", "select count(*) from allocation"]],
    "diff": [["diff", "FILE", "FILE"]],
    "budget": [["budget", "--max-peak", "1G", "FILE"]],
    "convert": [["convert", "-f", "--to", form, "-o", "OUT", "FILE"] for form in ("pprof", "folded", "massif", "dhat")],
    "merge": [["merge", "-f", "--to", "pprof", "-o", "OUT", "FILE", "FILE"]],
    "symbolize": [["symbolize", "-f", "-o", "OUT", "FILE"]],
    "report": [["report", "-f", "-o", "OUT", "FILE"],
               ["report", "-f", "--max-size", "300K", "-o", "OUT", "FILE"]],
}

# Tested by test_view.py, which speaks to its server.
SERVERS = {"view"}


def questions():
    """All; with sanitizers one of each command, as reading the recording takes them ten times as long.  test_summary.py
    and the fuzzers of cached files look at the same code."""
    return [question for asked in QUESTIONS.values() for question in (asked[:1] if SLOW else asked)]


class SecondRuns(Test):
    @classmethod
    def setUpClass(cls):
        """The recording is the same for all; the cache is not."""
        folder = tempfile.TemporaryDirectory(prefix="allo-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.long = pathlib.Path(folder.name) / "long.allo"
        subprocess.run([BUILD / "tests" / "make_recording", "long-notes", "packed", cls.long], check=True)

    def setUp(self):
        super().setUp()
        self.recording = self.long
        self.env = {key: value for key, value in ENVIRONMENT.items() if key != "ALLO_NO_CACHE"}
        self.env |= {"XDG_CACHE_HOME": str(self.tmp / "cache"), "ALLO_COUNT_EVENTS": "1"}

    def ask(self, question, **more):
        """The output of a command, and the number of events that it read."""
        words = [{"FILE": self.recording, "OUT": self.tmp / "out"}.get(word, word) for word in question]
        done = self.run_program(ALLO, *words, env=self.env | more)
        self.assertIn(done.returncode, (0, 3), (question, done.stderr.decode()))
        written = (self.tmp / "out").read_bytes() if "OUT" in question else b""
        return done.stdout + written, int(re.search(rb"note: read (\d+) events", done.stderr)[1])

    def test_the_table_is_complete(self):
        names = set(re.findall(r"^  ([a-z]+)  ", self.allo("help"), re.M))
        self.assertEqual(names - NOT_READING - SERVERS, set(QUESTIONS) | set(EXCEPTIONS))

    def test_the_second_run_reads_no_event(self):
        """And both have the answer of a replay."""
        for question in questions():
            with self.subTest(" ".join(question)):
                first, _ = self.ask(question)
                second, events = self.ask(question)
                self.assertEqual(events, 0)
                self.assertEqual(second, first)
                self.assertEqual(self.ask(question, ALLO_NO_CACHE="1")[0], first)

    def test_a_heap_that_grows(self):
        """Its peak rises in each segment of the change log."""
        self.recording = self.tmp / "growing.allo"
        self.allo("run", "-q", "-o", self.recording, "python3", "-c", "x = [bytes(100) for i in range(600000)]",
                  env=ENVIRONMENT | {"PYTHONMALLOC": "malloc"})
        end = json.loads(self.allo("timeline", "--json", self.recording))["end_ns"]
        question = ["top", "--json", "--range", f"..{end * 9 // 10}ns", "FILE"]
        expected = self.ask(question, ALLO_NO_CACHE="1")[0]
        self.ask(question)
        self.assertEqual(self.ask(question), (expected, 0))

    def test_finer_steps_than_the_cached_ones_are_replayed(self):
        question = ["timeline", "--json", "--steps", "100000", "FILE"]
        self.assertEqual(self.ask(["timeline", "FILE"])[1], 1196324)
        self.assertEqual(self.ask(question)[0], self.ask(question, ALLO_NO_CACHE="1")[0])
        self.assertEqual(self.ask(question)[1], 0)

    def test_damaged_answers_are_ignored(self):
        for question in ["threads", "FILE"], ["hist", "FILE"], ["timeline", "--by", "thread", "FILE"]:
            expected, _ = self.ask(question)
            path, = (self.tmp / "cache").rglob("answers/*")
            good = path.read_bytes()
            for damaged in good[:-1], good[:50], good[:-20] + b"x" + good[-19:], b"":
                path.write_bytes(damaged)
                self.assertEqual(self.ask(question)[0], expected, question)
            path.unlink()

    def test_reading_stops_after_the_last_row(self):
        for question in FIRST:
            few, events = self.ask(question)
            self.assertLess(events, 10000, question)
            all_rows, _ = self.ask([word if word != "5" else "20" for word in question])
            self.assertTrue(all_rows.startswith(few), question)

    def test_single_blocks_are_replayed(self):
        for question in sum(EXCEPTIONS.values(), []):
            self.ask(question)
            self.assertGreater(self.ask(question)[1], 0, question)
