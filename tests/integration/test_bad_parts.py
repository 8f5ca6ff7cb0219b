"""Inputs with a few bad parts: the rest is read, the parts are counted and reported, and --strict refuses them."""
import json
import re
import struct

from allotest import ALLO, GOLDEN, Test

GOOD = "main;a 1\nmain;b 20\nmain;b;c 300\n"


class BadParts(Test):
    def stacks(self, path, *options):
        lines = self.allo("convert", "-q", "--to", "folded", path, *options).splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def notes(self, path, *options):
        """The status of verify, and the counts of its notes by name."""
        done = self.run_program(ALLO, "verify", "--json", path, *options)
        found = json.loads(done.stdout)["notes"]
        return done.returncode, {note["kind"]: note["count"] for note in found}

    def check(self, path, count, place, says, *options, note="bad-part"):
        """A file with bad parts: reported by convert, a reason to fail for verify, refused by --strict."""
        done = self.run_program(ALLO, "convert", path, "-fo", "out.pb.gz", *options)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertRegex(done.stderr.decode(), rf"note: {count} \w.* \(first at {re.escape(f'{path}{place}')}\)\n")
        status, notes = self.notes(path, *options)
        self.assertEqual((status, notes[note]), (3, count))
        said = self.allo_fails("convert", path, "-fo", "strict.pb.gz", "--strict", *options)
        self.assertIn(f"{path}{place}: ", said)
        self.assertIn(says, said)
        self.assertFalse((self.tmp / "strict.pb.gz").exists())


class Folded(BadParts):
    GOOD_STACKS = {"main;a": 1, "main;b": 20, "main;b;c": 300}

    def test_a_bad_line_anywhere_is_skipped(self):
        lines = GOOD.splitlines(keepends=True)
        for bad in ("no count here\n", "main;b -3\n", "main;b 1x\n", "7\n", "main 18446744073709551616\n"):
            for at in range(4):
                with self.subTest(bad=bad, at=at):
                    path = self.file("in.folded", "".join(lines[:at] + [bad] + lines[at:]))
                    self.assertEqual(self.stacks(path), self.GOOD_STACKS)
                    self.check(path, 1, f":{at + 1}:{bad.rstrip().rfind(' ') + 2}", f'found "{bad.rstrip()}"')

    def test_many_bad_lines_are_counted(self):
        path = self.file("in.folded", GOOD * 5000 + "what is this\n" * 1500)
        status, notes = self.notes(path)
        self.assertEqual((status, notes["bad-part"]), (3, 1500))
        self.assertEqual(self.stacks(path)["main;b"], 20 * 5000)

    def test_a_file_of_mostly_bad_lines_is_refused(self):
        for text, line in (("what\nis\n" + "main;a 1\n", 1), (GOOD + "what is\n" * 4, 4), ("x y\n" * 5000, 1)):
            path = self.file("in.folded", text)
            self.assertIn(f"{path}:{line}:", self.allo_fails("info", "--from", "folded", path))

    def test_a_comparison_stays_one(self):
        good = "".join(f"main;f{i} {i} {2 * i}\n" for i in range(1, 101))
        path = self.file("in.folded", good + "no counts\n" + "main;g 7\n" + good)
        metrics = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}
        self.assertEqual(metrics, {"samples_before": 2 * 5050, "samples": 4 * 5050})
        self.check(path, 2, ":101:4", 'expected "caller;callee count count", found "no counts"')

    def test_utf_16_is_read_in_either_byte_order(self):
        text = "main;größe;𝛼 12\nmain;b 3\n"
        for encoding in ("utf-16-le", "utf-16-be", "utf-8"):
            for ending in ("\n", "\r\n"):
                with self.subTest(encoding, ending=ending):
                    path = self.file("in.folded", ("\ufeff" + text.replace("\n", ending)).encode(encoding))
                    self.assertEqual(self.stacks(path), {"main;größe;𝛼": 12, "main;b": 3})
                    self.assertEqual(self.notes(path), (0, {}))

    def test_utf_16_of_any_length_arrives_in_any_pieces(self):
        text = "".join(f"main;f{i % 977};ü{i % 13} {i}\n" for i in range(30000))
        self.file("in.folded", text)
        data = ("\ufeff" + text).encode("utf-16-le")
        self.file("wide.folded", data)
        self.assertEqual(self.stacks("wide.folded"), self.stacks("in.folded"))
        done = self.run_program("sh", "-c", f"(head -c 70001 wide.folded; tail -c +70002 wide.folded) | "
                                            f"'{ALLO}' convert -q --to folded -")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode(), self.allo("convert", "-q", "--to", "folded", "in.folded"))

    def test_half_a_character_of_utf_16_is_replaced(self):
        data = "\ufeffmain;a".encode("utf-16-le") + b"\x00\xd8" + "b 5\nmain;c 6\n".encode("utf-16-le") + b"x"
        self.assertEqual(self.stacks(self.file("in.folded", data)), {"main;a\ufffdb": 5, "main;c": 6})

    def test_other_texts_may_be_utf_16(self):
        dhat = (GOLDEN / "dhat" / "dhat-rs-heap.json")
        path = self.file("in.json", ("\ufeff" + dhat.read_text()).encode("utf-16-le"))
        self.assertEqual(self.stacks(path), self.stacks(dhat))


class Perf(BadParts):
    @staticmethod
    def sample(time, *frames):
        return f"prog 7/8 [001] 12.{time:06d}:  1000 cpu-clock: \n" + "".join(f"\t 1 {name} (/x)\n" for name in frames) + "\n"

    def test_a_bad_stack_is_skipped(self):
        good = self.sample(1, "a", "main") + self.sample(2, "b", "main")
        stacks = {"main;a": 2000, "main;b": 2000}
        head, frames = self.sample(3, "c", "main").split("\n", 1)
        for name, bad, place, more in (
                ("the first frame", f"{head}\nwhat is this\n{frames}", 10, {}),
                ("a line without a sample", "what is this\n\n", 9, {}),
                ("the last frame", f"{head}\n\t 1 c (/x)\nwhat is this\n\n", 11, {"c": 1000})):
            with self.subTest(name):
                path = self.file("in.txt", good + bad + good)
                self.assertEqual(self.stacks(path, "-M", "cpu"), {**stacks, **more})
                self.check(path, 1, f":{place}:1", 'found "what is this"')

    def test_a_file_of_mostly_bad_lines_is_refused(self):
        path = self.file("in.txt", self.sample(1, "a") + "what is this\n" * 3)
        self.assertIn(f"{path}:4:1: expected ", self.allo_fails("info", path))


class Spall(BadParts):
    @staticmethod
    def trace(times):
        """Calls of one thread; each begins and ends at two of the times."""
        events = b"".join(struct.pack("<BQBB", 3, time, 1, 0) + b"f" if i % 2 == 0 else struct.pack("<BQ", 4, time)
                          for i, time in enumerate(times))
        head = struct.pack("<QQdQ", 0x0BADF00D, 3, 1.0, 0)
        return head + struct.pack("<IIIQ", len(events), 8, 7, 0) + events

    def test_events_out_of_order_are_moved(self):
        times = list(range(0, 200000, 10))
        late = range(1001, 19001, 2400)
        for i in late:
            times[i] = times[i - 1] - 5  # ends before it begins
        path = self.file("in.spall", self.trace(times))
        count = len(late)
        self.assertEqual(self.stacks(path), {"f": 10 * (len(times) // 2 - count)})
        self.check(path, count, f": byte {self.place(1001)}", "a call ends at 9995 ns, before", note="late-event")
        self.allo("convert", "-q", path, "-o", "out.spall")
        self.assertEqual(self.notes("out.spall"), (0, {}))

    @staticmethod
    def place(event):
        """The first byte of an event, from 1."""
        return 32 + 20 + (event // 2) * (12 + 9) + (event % 2) * 12 + 1

    def test_a_file_of_mostly_late_events_is_refused(self):
        path = self.file("in.spall", self.trace(range(1000, 0, -1)))
        self.assertIn("before the last event of its thread", self.allo_fails("info", path))


class Recordings(BadParts):
    def test_strict_refuses_a_recording_that_was_cut(self):
        whole = (GOLDEN / "allo" / "server.allo").read_bytes()
        path = self.file("cut.allo", whole[:len(whole) * 2 // 3])
        done = self.run_program(ALLO, "info", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        size = len(whole) * 2 // 3
        self.assertIn(f"note: {path} is truncated: the numbers are those of its first {size:,} bytes\n", done.stderr.decode())
        self.assertIn(f"{path}: byte {size + 1}: 1 file is truncated", self.allo_fails("info", "--strict", path))
        self.allo("info", "--strict", GOLDEN / "allo" / "server.allo")

    def test_a_note_on_one_of_several_files_names_it(self):
        good, cut = GOLDEN / "allo" / "server.allo", (GOLDEN / "allo" / "notes.allo").read_bytes()
        path = self.file("cut.allo", cut[:len(cut) - 20])  # its end, not its events
        for command in (["top"], ["convert", "-fo", "out.pb.gz"]):
            done = self.run_program(ALLO, *command, good, path)
            self.assertIn(f"note: {path} is truncated: the numbers are those of its first {path.stat().st_size:,} bytes\n",
                          done.stderr.decode())
