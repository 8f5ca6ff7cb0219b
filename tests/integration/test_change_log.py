"""The change log: the windows that it answers, against replays."""
import json

from allotest import ALLO, BUILD, ENVIRONMENT, SLOW, Test
from recordings import built

# Recordings of programs that never were: see tests/programs/make_recording.c.
KINDS = ["server", "sampled", "killed", "empty", "resident", "notes", "long-notes", "ad-hoc", "shuffled", "many"]
ROUNDS = 3 if SLOW else 25
# Of recordings with a million changes, which are replayed for each window.
FEW = 2 if SLOW else 4


class Windows(Test):
    """All numbers of random windows, timelines and walks through the log are those of replays."""

    def compare(self, path, rounds=ROUNDS, seed=1):
        done = self.run_program(BUILD / "tests" / "compare_log", path, str(rounds), str(seed))
        self.assertEqual(done.returncode, 0, f"{path.name}: {done.stdout[-2000:].decode()}{done.stderr.decode()}")
        self.assertIn(b" 0 differ", done.stdout)

    def test_all_kinds(self):
        for kind in KINDS:
            for seed, form in enumerate(("raw", "packed")):
                path = self.tmp / f"{kind}.{form}.allo"
                self.must(BUILD / "tests" / "make_recording", kind, form, path)
                rounds = FEW if kind == "many" else ROUNDS // 2 + 1
                self.compare(path, rounds, seed * ROUNDS)  # other windows in each form

    def test_recorded_programs(self):
        churn = [built("churn.c"), 3, 20000 if SLOW else 70000]
        for number, command in enumerate([[built("resizes.c")], churn, ["-m", "sampled", *churn]]):
            path = self.tmp / f"{number}.allo"
            self.allo("run", "-q", "-o", path, *command)
            self.compare(path)

    def test_a_heap_that_grows_in_each_segment(self):
        path = self.tmp / "growing.allo"
        self.allo("run", "-q", "-o", path, "python3", "-c", "x = [bytes(100) for i in range(300000)]",
                  env={**ENVIRONMENT, "PYTHONMALLOC": "malloc"})
        self.compare(path, FEW)


class Commands(Test):
    """A command prints the same whether it replays a part of a recording or finds it in the cached log."""

    def setUp(self):
        super().setUp()
        self.recording = self.tmp / "long.allo"
        self.must(BUILD / "tests" / "make_recording", "long-notes", "packed", self.recording)
        self.env = {key: value for key, value in ENVIRONMENT.items() if key != "ALLO_NO_CACHE"}
        self.env["XDG_CACHE_HOME"] = str(self.tmp / "cache")

    def logs(self):
        """The cached logs: bytes by path."""
        return {path: path.read_bytes() for path in (self.tmp / "cache").rglob("replays/*")
                if path.read_bytes().startswith(b"ALLOlog")}

    def output(self, *command):
        return self.must(ALLO, *command, self.recording, env=self.env)

    def check(self, *command):
        expected = self.output(*command, "--no-cache")
        self.assertEqual(self.output(*command), expected, command)
        self.assertEqual(self.output(*command), expected, command)

    def test_parts(self):
        for part in ["--range=5ms..15ms"], ["--range=12ms.."], ["--at=14ms"], ["--range=9ms..11ms", "--thread=worker"]:
            self.check("top", "--json", *part)
            self.check("tree", *part)
        self.assertEqual(len(self.logs()), 1)

    def test_leaks(self):
        self.check("leaks", "--json", "--range=6ms..16ms")

    def test_early_parts_are_replayed(self):
        """Making the log would take longer."""
        self.check("top", "--json", "--range=0..200us")
        self.assertEqual(self.logs(), {})

    def test_damaged_files_are_ignored(self):
        expected = self.output("top", "--json", "--range=5ms..15ms")
        (path, good), = self.logs().items()
        for damaged in good[:-1], good[:100], good[:5000] + b"x" + good[5001:], b"":
            path.write_bytes(damaged)
            self.assertEqual(self.output("top", "--json", "--range=5ms..15ms"), expected)
        self.assertEqual(json.loads(expected), json.loads(self.output("top", "--json", "--range=5ms..15ms")))

    def test_a_log_that_is_too_large_is_not_built_again(self):
        """A file with a head alone says so."""
        question = "top", "--json", "--range=5ms..15ms"
        expected = self.output(*question)
        (path, log), = self.logs().items()
        path.write_bytes(log[:96])
        self.assertEqual(self.output(*question), expected)
        self.assertEqual(path.read_bytes(), log[:96])
