"""Walks the table of formats: each writer keeps all that its .holds claims."""
import collections
import itertools

from allotest import ALLO, GOLDEN, Test, unsanitized
from profilejson import Profile
from test_massif import REST

# Metrics of DHAT.  DHAT's substitutes for metrics that a profile lacks do not count.
OF_DHAT = {"alloc_bytes", "alloc_blocks", "max_bytes", "max_blocks", "peak_bytes", "peak_blocks",
           "end_bytes", "end_blocks", "lifetime", "read_bytes", "write_bytes", "copy_bytes",
           "copy_blocks", "events", "units"}


def values(profile, form):
    """The sum of each metric, by stack."""
    found = collections.Counter()
    for frames, row, _, _ in profile.samples:
        stack = tuple(call.name for frame in frames for call in frame)
        for metric, value in zip(profile.metrics, row):
            if form != "dhat" or metric.get("meaning") in OF_DHAT:
                found[metric["name"], metric.get("unit"), stack] += value
    return {key: value for key, value in found.items() if value}


def stacks(what):
    """All stacks, with one thing that is known of each call."""
    return lambda profile, form: {tuple(what(call, form) for frame in frames for call in frame)
                                  for frames, _, _, _ in profile.samples}


def module(call, form):
    # Valgrind's frames name the module only if they have no file.
    return None if form in OF_VALGRIND and call.file else call.module


def inlining(profile, form):
    """The number of calls of each frame; Valgrind's formats show it by equal addresses, and traces have calls only."""
    return {tuple(1 if form in OF_CALLS or form in OF_VALGRIND and call.address == 0 else len(frame)
                  for frame in frames for call in frame) for frames, _, _, _ in profile.samples}


def labels(profile, form):
    return collections.Counter((found, tuple(row)) for _, row, found, _ in profile.samples)


def accesses(profile, form):
    return collections.Counter((tuple(call for frame in frames for call in frame), found)
                               for frames, _, _, found in profile.samples if found)


def command(profile, form):
    # massif's is a line.
    text = profile.meta.get("command")
    return text.replace("\t", " ") if text and form == "massif" else text


# By the names that `allo formats` uses.
HELD = {
    "several metrics": values,
    "modules": stacks(module),
    "build ids": stacks(lambda call, form: call.build_id),
    "addresses": stacks(lambda call, form: call.address),
    "files": stacks(lambda call, form: call.file),
    "lines": stacks(lambda call, form: call.line),
    "columns": stacks(lambda call, form: call.column),
    "inlining": inlining,
    "labels": labels,
    "access counts": accesses,
    "the command": command,
    "comments": lambda profile, form: profile.comments,
    "the sampling period": lambda profile, form: [profile.meta.get(key) for key in
                                                  ("period_type", "period_unit", "period")],
    # These have tests of their own.
    "times": lambda profile, form: [],
    "negative values": lambda profile, form: [],
    "the heap over time": lambda profile, form: [],
}

# Forms whose calls are all alike, inlined or not.
OF_CALLS = ("chrome-trace", "spall")

# Formats of Valgrind: they treat modules and inlining alike.
OF_VALGRIND = ("dhat", "massif")

# Comparisons differ, and have their own tests; folded stacks of an empty profile are no file.
SAMPLES = [path for folder in ("dhat", "folded", "pprof")
           for path in sorted(GOLDEN.glob(f"{folder}/*"))
           if path.name not in ("diff.folded", "valgrind-empty.json")
           and not path.name.startswith("from-")]


def cut_names(lines):
    """Spall has 255 bytes for a name: here all that follows on one that is longer is left out, with the name."""
    found = collections.Counter()
    for stack, _, value in (line.rpartition(" ") for line in lines):
        names = itertools.takewhile(lambda name: len(name.encode()) < 250, stack.split(";"))
        found[";".join(names)] += int(value)
    return found


class Holds(Test):
    def profile(self, path):
        return Profile(self.allo("convert", path, "--to", "json"))

    def folded(self, path, *options):
        text = self.allo("convert", path, "--to", "folded", *options)
        return collections.Counter(text.splitlines())

    def test_held_data_comes_back(self):
        formats = [form for form in self.allo_json("formats")["formats"]
                   if form["read"] and form["write"]]
        self.assertLessEqual({"dhat", "folded", "pprof"}, {form["name"] for form in formats})
        for form in formats:
            for sample in SAMPLES:
                self.allo("convert", sample, "--to", form["name"], "-fo", "again")
                before, after = self.profile(sample), self.profile("again")
                with self.subTest(f"{form['name']} of {sample.name}: stacks and one metric"):
                    if form["name"] == "massif":
                        self.compare_large_stacks(sample, before)
                    elif form["name"] == "spall":
                        self.assertEqual(cut_names(self.folded(sample)), cut_names(self.folded("again")))
                    else:
                        self.compare_stacks(sample, before, after)
                for held in form["holds"]:
                    with self.subTest(f"{form['name']} of {sample.name}: {held}"):
                        self.compare(held, before, after, form["name"])

    def compare_stacks(self, sample, before, after):
        # Not every form has a word for the metric that its producer prefers.
        prefers = before.metrics[before.meta.get("default_metric", 0)]["name"]
        known = prefers in (metric["name"] for metric in after.metrics)
        options = ["-M", prefers] if "default_metric" in before.meta and known else []
        self.assertEqual(self.folded(sample, *options), self.folded("again", *options))

    def compare_large_stacks(self, sample, profile):
        """massif leaves out small values, but not from the sum, and takes live memory where it can."""
        names = [metric["name"] for metric in profile.metrics]
        live = "live_bytes" in names and names[profile.meta.get("default_metric", 0)] == "alloc_bytes"
        before, after = ({stack: int(value) for stack, _, value in
                          (line.rpartition(" ") for line in self.folded(path, *options))}
                         for path, options in ((sample, ["-M", "live_bytes"] if live else []), ("again", [])))
        self.assertEqual(sum(after.values()), sum(before.values()))
        large = {stack: value for stack, value in after.items() if REST not in stack}
        self.assertEqual(large, {stack: before[stack] for stack in large})
        least = sum(before.values()) / 100
        self.assertLessEqual({stack for stack, value in before.items() if value >= least}, set(large))

    def compare(self, held, before, after, form):
        if form == "massif" and held != "the command":
            after.samples = [sample for sample in after.samples
                             if REST not in (call.name for frame in sample[0] for call in frame)]
            self.assertLessEqual(set(HELD[held](after, form)), set(HELD[held](before, form)))
            return
        if form == "gperftools":  # a line that holds nothing is left out
            before.samples = [sample for sample in before.samples if any(sample[1])]
        wanted, found = HELD[held](before, form), HELD[held](after, form)
        if form in OF_CALLS and held == "inlining":
            found |= wanted if found and found < wanted else set()  # what holds nothing is not drawn
        if held == "several metrics":
            found = {key: value for key, value in found.items() if key in wanted or form != "dhat"}
        self.assertEqual(found, wanted)

    def test_negative_values_come_back_from_pprof(self):
        self.file("before.folded", "main;a 1000\nmain;b 5\n")
        self.file("after.folded", "main;a 900\nmain;b 28\n")
        self.allo("diff", "before.folded", "after.folded", "-o", "diff.pb.gz")
        self.allo("convert", "diff.pb.gz", "-o", "again.pb.gz")
        self.assertEqual(sorted(row for _, row, _, _ in self.profile("again.pb.gz").samples),
                         [[-100], [23]])

    def test_a_comparison_comes_back_from_folded(self):
        path = GOLDEN / "folded" / "diff.folded"
        self.allo("convert", path, "-o", "again.folded")
        self.assertEqual(self.folded(path), self.folded("again.folded"))
        self.assertEqual([row for _, row, _, _ in self.profile("again.folded").samples],
                         [[1000, 1300], [12, 12], [5, 0], [0, 300]])


class Same(Test):
    @unsanitized  # other tests write the same once
    def written(self, sample, name):
        """The bytes of the output, by file if it is a folder."""
        self.allo("convert", "-qf", sample, "--to", name, "-o", f"out-{name}")
        path = self.tmp / f"out-{name}"
        return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()

    def test_the_same_input_gives_the_same_bytes(self):
        for form in self.allo_json("formats")["formats"]:
            for sample in SAMPLES if form["write"] else []:
                first, second = (self.written(sample, form["name"]) for _ in range(2))
                self.assertEqual(first, second)


class Names(Test):
    def test_a_name_tells_the_form(self):
        path = self.file("in.folded", "main;f 1009\n")
        for name, starts in (("a.json", '{\n  "allotrope": 1'), ("a.dhat.json", '{"dhatFile'),
                             ("a.dhat", '{"dhatFile'), ("dhat.out.17", '{"dhatFile'),
                             ("a.folded", "main;f 1009"), ("dhat.out.17.folded", "main;f 1009"),
                             ("a.collapsed", "main;f 1009"), ("a.csv", "samples,"),
                             ("a.kcg", "# callgrind format"), ("a.callgrind", "# callgrind format"),
                             ("callgrind.out.17", "# callgrind format")):
            self.allo("convert", path, "-o", name)
            self.assertTrue((self.tmp / name).read_text().startswith(starts), name)
            self.allo("convert", path, "-o", name + ".zst")
            self.assertTrue(self.must("zstd", "-dc", name + ".zst").startswith(starts), name)

    def test_a_name_that_tells_nothing_is_refused(self):
        path = self.file("in.folded", "main;f 1009\n")
        for name in ("xdhat.out.1", "json", "dhat.out.", "a.jsonx"):
            self.assertIn("cannot tell the output format from the name", self.allo_fails("convert", path, "-o", name,
                                                                      status=2))
        said = self.run_program(ALLO, "convert", path, "-o", "a.html").stderr.decode()
        self.assertIn("'allo report FILE -o a.html' writes HTML", " ".join(said.split()))
