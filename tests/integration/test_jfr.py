"""Recordings of the JDK's Flight Recorder: real ones, with the numbers that 'jfr print --json' of JDK 17 has, and broken ones."""
import gzip
import json

from allotest import ALLO, GOLDEN, Test

JFR = GOLDEN / "jfr"

# Of tests/golden/jfr: events, bytes, bytes by the innermost function, bytes by class, lines of functions.
NUMBERS = {
    "sample.jfr.gz": (311, 59242344, {"Store.load": 32864792, "java.util.concurrent.ConcurrentHashMap.initTable": 17240904,
                                      "Store.index": 8907112},
                      {"byte[]": 32997496, "java.util.concurrent.ConcurrentHashMap$Node[]": 17240904, "int[]": 8907112}),
    "tlab.jfr.gz": (1639, 43716048, {"Store.load": 33369344, "Store.index": 9195704}, {"byte[]": 33369344, "int[]": 9195704}),
}


class Jfr(Test):
    SAMPLE = gzip.decompress((JFR / "sample.jfr.gz").read_bytes())

    def first_event(self):
        """The offset of the first item that is neither metadata nor constants."""
        at = 68
        while True:
            size, shift, next_at = 0, 0, at
            while self.SAMPLE[next_at] & 128:
                size |= (self.SAMPLE[next_at] & 127) << shift
                shift, next_at = shift + 7, next_at + 1
            size |= self.SAMPLE[next_at] << shift
            if self.SAMPLE[next_at + 1] > 1:
                return at
            at += size

    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}

    def test_numbers_are_those_of_the_jdk(self):
        self.assertEqual({path.name for path in JFR.iterdir()}, set(NUMBERS))
        for name, (events, size, functions, classes) in NUMBERS.items():
            with self.subTest(name):
                self.assertEqual(self.sums(JFR / name), {"samples": events, "alloc_bytes": size})
                for by, expected in (("leaf", functions), ("label:class", classes)):
                    rows = self.allo_json("top", "-n", str(len(expected)), "--by", by, JFR / name)["rows"]
                    self.assertEqual({row["name"]: row["self"] for row in rows}, expected)

    def test_stacks_have_lines(self):
        found = json.loads(self.allo("convert", "-q", "--to", "json", JFR / "sample.jfr.gz"))
        lines = {(found["functions"][line[0]]["name"], line[1]) for frame in found["frames"][1:] for line in frame["lines"]}
        self.assertTrue({("Store.load", 9), ("Store.index", 14), ("java.util.concurrent.ConcurrentHashMap.initTable", 2301)} <= lines)

    def test_chunks_add_up(self):
        path = self.file("two.jfr", self.SAMPLE + self.SAMPLE)
        self.assertEqual(self.sums(path), {"samples": 2 * 311, "alloc_bytes": 2 * 59242344})

    def test_a_recording_that_was_not_stopped_is_read_up_to_the_last_whole_chunk(self):
        for rest in (self.SAMPLE[:5000], self.SAMPLE[:40], self.SAMPLE[:8] + 60 * b"\0"):
            done = self.run_program(ALLO, "info", "--json", self.file("cut.jfr", self.SAMPLE + rest))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"cut.jfr is truncated: the numbers are those of its first ", done.stderr)
            self.assertEqual(json.loads(done.stdout)["metrics"][0]["sum"], 311)

    def test_broken_files_are_refused(self):
        def changed(at, data):
            return self.file("bad.jfr", self.SAMPLE[:at] + data + self.SAMPLE[at + len(data):])

        constants = int.from_bytes(self.SAMPLE[16:24], "big")
        self.assertIn("before 9", self.allo_fails("info", changed(4, b"\0\0")))
        self.assertIn("out of order", self.allo_fails("info", changed(16, (1 << 40).to_bytes(8, "big"))))
        self.assertIn("expected a pool of constants", self.allo_fails("info", changed(16, self.SAMPLE[24:32])))
        self.assertIn("incomplete", self.allo_fails("info", changed(24, (1 << 40).to_bytes(8, "big"))))
        self.assertIn("event does not fit", self.allo_fails("info", changed(self.first_event(), b"\xff\xff\xff\x7f")))
        # Nothing that follows may crash or hang.
        for at in range(constants, constants + 600, 7):
            self.assertIn(self.run_program(ALLO, "info", changed(at, b"\xff\xff")).returncode, (0, 1))
