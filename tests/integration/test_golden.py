"""What we write, against files that were looked at: see tests/golden/README.md."""
import collections
import csv
import io
import json
import os

from allotest import GOLDEN, ROOT, Test, unpacked

INPUTS = ["dhat/valgrind-cpp.json", "dhat/dhat-rs-heap.json", "pprof/go-heap.pb.gz",
          "folded/diff.folded"]


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def lines(text):
    return collections.Counter(text.splitlines())


def without_creator(text):
    return [line for line in text.splitlines() if not line.startswith(("creator: ", "desc: allo"))]


def trace_events(text):
    return json.loads(text)["traceEvents"]


# By form: the ending, and what a text means in it.
FORMS = {"callgrind": (".callgrind", without_creator), "chrome-trace": (".trace.json", trace_events), "csv": (".csv", rows),
         "dhat": (".dhat", json.loads), "folded": (".folded", lines), "gperftools": (".heap", str.splitlines),
         "json": (".json", json.loads), "massif": (".massif", without_creator)}


class Golden(Test):
    def compare(self, golden, text, meaning=str):
        if os.environ.get("ALLO_GOLDEN") == "renew":
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text, newline="")
        self.assertEqual(meaning(text), meaning(golden.read_text()))

    def test_pprof_is_written_as_it_was(self):
        """By what protoc makes of it: packing may change."""
        for name in INPUTS:
            folder, file = name.split("/")
            golden = GOLDEN / "protoc" / f"from-{folder}-{file.split('.')[0]}.txt"
            with self.subTest(golden.name):
                self.allo("convert", GOLDEN / name, "-fo", "out.pb.gz")
                self.compare(golden, self.must(
                    "protoc", f"--proto_path={ROOT / 'tests' / 'integration'}", "--decode=Profile",
                    "pprof_messages.proto", input=unpacked(self.tmp / "out.pb.gz")))

    def test_forms_are_written_as_they_were(self):
        for name in INPUTS:
            for form, (ending, meaning) in FORMS.items():
                folder, file = name.split("/")
                golden = GOLDEN / form / f"from-{folder}-{file.split('.')[0]}{ending}"
                with self.subTest(str(golden.relative_to(GOLDEN))):
                    text = self.allo("convert", GOLDEN / name, "--to", form)
                    self.compare(golden, text, meaning)
