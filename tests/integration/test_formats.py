"""Every format that `allo formats` lists is described, and tested like the others."""
from allotest import BUILD, GOLDEN, ROOT, Test


class Formats(Test):
    def setUp(self):
        super().setUp()
        self.formats = self.allo_json("formats")["formats"]

    def sections(self):
        """Of the manual's page on formats: a heading to the names below it."""
        found, heading = {}, None
        for line in self.allo("help", "--man", "allo-formats").splitlines():
            if line.startswith(".SH "):
                heading = found.setdefault(line[4:], [])
            elif line.startswith(".SS "):
                heading.append(line[4:].replace("\\-", "-"))
        return found

    def test_the_manual_has_a_section_for_each(self):
        sections = self.sections()
        self.assertEqual(sections["READING"], [f["name"] for f in self.formats if f["read"]])
        self.assertEqual(sections["WRITING"], [f["name"] for f in self.formats if f["write"]])

    def test_each_has_a_page(self):
        pages = sorted(path.stem for path in (ROOT / "doc" / "formats").glob("*.md"))
        self.assertEqual(pages, [f["name"] for f in self.formats])

    def test_every_reader_has_a_fuzzer_and_golden_inputs(self):
        targets = (BUILD / "build.ninja").read_text()
        for name in (f["name"] for f in self.formats if f["read"]):
            self.assertIn(f"\nbuild tests/fuzz_{name}: ", targets)
            self.assertTrue(list((GOLDEN / "expected").glob(f"{name}-*")), name)

    def test_formats_that_are_only_written_are_recognised(self):
        for name in (f["name"] for f in self.formats if not f["read"]):
            for source in ("dhat/valgrind-heap.json", "folded/diff.folded"):
                self.allo("convert", "-qf", "--to", name, GOLDEN / source, "-o", f"written-{name}")
                written = self.tmp / f"written-{name}"
                if written.is_dir():
                    written /= "sample.parquet"
                self.assertIn(f"{written}: has the format {name}, which allo only writes",
                              self.allo_fails("info", written))
            self.assertIn(f"the format {name} is only written",
                          self.allo_fails("info", "--from", name, written, status=2))
        pprof = self.file("a.callgrind", "positions: instr line\nevents: inuse_space(B)\n\nfn=(1) main\n+1 4 8\n")
        self.assertIn("has the format callgrind", self.allo_fails("info", pprof))
        self.assertIn("not a profile of a known format", self.allo_fails("info", self.file("a.json", "{}")))

    def test_every_writer_has_golden_outputs(self):
        for name in (f["name"] for f in self.formats if f["write"]):
            # Those of pprof are texts, decoded by protoc.
            folder = GOLDEN / ("protoc" if name == "pprof" else name)
            written = [path for path in folder.iterdir()
                       if path.name.startswith("from-") or path.suffix == ".txt"]
            self.assertTrue(written, name)
