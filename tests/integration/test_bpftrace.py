"""Maps that bpftrace prints: of a real program, as text and as JSON, and broken texts."""
import json
import subprocess

from allotest import ALLO, GOLDEN, Test
from spallfile import Trace, own_times
from test_perf import PROGRAM, folded

# All that can be asked for a stack, and how many samples there were.
SCRIPT = """profile:hz:997 /pid == %d/ { @[ustack, comm, tid] = count(); @both[kstack, ustack] = count(); @p[ustack(perf)] = count();
@n = count(); @h[comm] = hist(nsecs); @bytes[ustack] = sum(3); @s[ustack] = stats(5); }
interval:ms:%d { printf("half\\n@[ not a map\\n"); exit(); }"""


class Capture(Test):
    SANITIZED = False

    def capture(self, *options):
        """The output of bpftrace for a running program; None where the kernel forbids it."""
        self.file("spin.c", PROGRAM.replace("SPIN(0.3)", "SPIN(20)").replace("SPIN(0.1)", "SPIN(20)"))
        self.must("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "spin.c", "-o", "spin it")
        program = subprocess.Popen([self.tmp / "spin it"])
        try:
            done = self.run_program("bpftrace", *options, "-e", SCRIPT % (program.pid, 400))
        finally:
            program.kill()
            program.wait()
        text = done.stdout.decode()
        if done.returncode or "heavy" not in text:
            print("# bpftrace cannot look at programs here: what another machine has seen is looked at")
            return None
        return text

    def check(self, path, count, has_program):
        metrics = {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}
        for name, times in (("samples", 1), ("both", 1), ("p", 1), ("bytes", 3), ("s", 5)):
            if name in metrics:
                self.assertEqual(metrics[name], times * count, name)
        self.assertIn("samples", metrics)
        if has_program:
            stacks = folded(self.allo("convert", path, "--to", "folded"))
            self.assertGreater(sum(value for stack, value in stacks.items() if "worker;heavy" in stack), count / 20)
            self.assertGreater(sum(value for stack, value in stacks.items() if "main;light" in stack), count / 20)

    def test_text_adds_up_to_the_counts(self):
        text = self.capture()
        if text is None:
            self.check(GOLDEN / "bpftrace" / "maps.txt", 174, False)
            return
        count = int(text.split("\n@n: ")[1].split("\n")[0])
        path = self.file("maps.txt", text)
        self.check(path, count, True)
        names = {tuple(label.split("=")) for row in self.allo("convert", path, "--to", "csv").splitlines()
                 for label in row.split(",")[5].split(";") if "=" in label}
        self.assertIn(("key1", "pool 7/8 9.5:"), names)
        for form in self.allo_json("formats")["formats"]:
            if form["write"]:
                self.allo("convert", path, "--to", form["name"], "-fo", f"out-{form['name']}")

    def test_json_adds_up_to_the_counts(self):
        text = self.capture("-f", "json")
        if text is None:
            self.check(GOLDEN / "bpftrace" / "maps.json", 83, False)
            return
        count = next(data["data"]["@n"] for data in map(json.loads, filter(None, text.splitlines()))
                     if data["type"] == "map" and "@n" in data["data"])
        self.check(self.file("maps.json", text), count, True)


class Text(Test):
    def stacks(self, text, *options):
        return folded(self.allo("convert", "--from", "bpftrace", self.file("in.txt", text), "--to", "folded", *options))

    def test_text_and_json_are_equal(self):
        text = ("@[\n    a+1\n    main+2\n, x, 7]: 3\n@[\n    b+1\n, y, 8]: 4\n@k[]: 5\n@k[\n    c\n]: 6\n@z[]: 7\n")
        as_json = "".join(json.dumps({"type": "map", "data": data}) + "\n" for data in (
            {"@": {"\n    a+1\n    main+2\n,x,7": 3, "\n    b+1\n,y,8": 4}}, {"@k": {"": 5, "\n    c\n": 6}},
            {"@z": {"": 7}}, {"@n": 1}))
        for metric, expected in (("samples", {"main;a": 3, "b": 4}), ("k", {"[unknown]": 5, "c": 6})):
            self.assertEqual(self.stacks(text, "-M", metric), expected)
            self.assertEqual(self.stacks(as_json, "-M", metric), expected)

    def labels(self, text, *options):
        path = self.file("in.txt", text)
        profile = json.loads(self.allo("convert", "--from", "bpftrace", path, "--to", "json", *options))
        return [{label["key"]: label.get("text", label.get("number")) for label in labels}
                for labels in profile["label_sets"][1:]]

    def test_other_keys_are_labels(self):
        text = "@[x, \n    a+1\n, 7, \n    b+2\n, a, b]: 4]: 3\n"
        self.assertEqual(self.stacks(text), {"b;a": 3})
        self.assertEqual(self.labels(text), [{"key1": "x", "key2": 7, "key3": "a", "key4": "b]: 4"}])
        self.assertEqual(self.labels(text, "--fields", "comm,-,tid"), [{"comm": "x", "tid": "a", "key4": "b]: 4"}])

    def test_all_kinds_of_frames(self):
        text = ("@[\n    [inlined] spin@a.h:7\n    [inlined] turn@a.h:12\n    leaf+12@b.c:3\n    0x7f2067994ed2\n    _ZN3foo3barEv+4\n"
                "\t55eca7a3b219 [unknown] (/tmp/busy)\n    %s 0x12\n]: 1\n" % ("ab" * 20))
        stack, = self.stacks(text)
        self.assertEqual(stack, "0x12;0x55eca7a3b219 [busy];foo::bar();0x7f2067994ed2;leaf;turn;spin")
        profile = json.loads(self.allo("convert", self.tmp / "in.txt", "--to", "json"))
        self.assertEqual([[line[1] for line in frame.get("lines", ())] for frame in profile["frames"][1:]],
                         [[7, 12, 3], [], [0], [], []])
        self.assertIn({"build_id": "ab" * 20}, [{"build_id": module["build_id"]} for module in profile["modules"][1:]
                                                if "build_id" in module])

    def test_spaces_at_line_ends_may_be_gone(self):
        text = "@[, \n    a+1\n, \n    b+2\n, x]: 3\n"
        self.assertEqual(self.stacks(text), {"b;a": 3})
        self.assertEqual(self.stacks(text.replace(" \n", "\n")), {"b;a": 3})
        self.assertEqual(self.labels(text.replace(" \n", "\n")), [{"key1": "x"}])

    def test_a_map_that_is_printed_again_is_added_up(self):
        self.assertEqual(self.stacks("@[\n    a+1\n]: 3\n\n@[\n    a+1\n]: 4\n"), {"a": 7})

    def test_messages_within_a_stack_are_ignored(self):
        self.assertEqual(self.stacks("@[\n    a+1\nERROR: failed to look up stack id 7\n    b+2\n]: 3\nLost 5 events\n"), {"b;a": 3})

    def test_times_are_drawn_by_counts(self):
        self.allo("convert", self.file("in.txt", "@[\n    a\n    main\n]: 3\n@[\n    b\n    main\n]: 5\n"), "-o", "a.spall")
        calls, = Trace((self.tmp / "a.spall").read_bytes()).calls.values()
        self.assertEqual(own_times(calls), {("main", "b"): 5, ("main", "a"): 3})

    def test_broken_files_are_refused(self):
        good = "@[\n    a+1\n]: 3\n"
        for text, place, says in ((good + "@[\n    a+1\n", ":4:1", "ends within this entry"),
                                  (good + "@x[\n    a+1\nwhat\n", ":6:1", "expected a frame or the end of a map's entry"),
                                  ("@x: 5\n", "", "no map with stacks"),
                                  ('{"type": "map", "data": {"@": {"\\n    a\\n": 1', ":1:", "found the end of the file"),
                                  ('{"type": "map", "data": {"@": {"\\n    a\\n": 1}}}\nnothing', ":2:1", "expected an object")):
            with self.subTest(says):
                path = self.file("in.txt", text)
                said = self.allo_fails("convert", "--from", "bpftrace", path, "-o", "out.pb.gz")
                self.assertIn(f"in.txt{place}", said)
                self.assertIn(says, said)
                self.assertFalse((self.tmp / "out.pb.gz").exists())

    def test_values_that_do_not_add_up_are_left_out(self):
        text = "@[\n    a\n]: 3\n@[\n    b\n]: -3\n@[\n    c\n]: \n[8K, 16K)    174 |@@@@|\n\n@[\n    d\n]: count 2, average 5, total 10\n"
        self.assertEqual(self.stacks(text), {"a": 3, "d": 10})
        self.assertEqual(self.run_program(ALLO, "verify", self.tmp / "in.txt").returncode, 0)
