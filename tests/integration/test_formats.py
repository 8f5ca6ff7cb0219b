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
                heading.append(line[4:])
        return found

    def test_the_manual_has_a_section_for_each(self):
        sections = self.sections()
        self.assertEqual(sections["READING"], [f["name"] for f in self.formats if f["read"]])
        self.assertEqual(sections["WRITING"], [f["name"] for f in self.formats if f["write"]])

    def test_each_has_a_page(self):
        pages = sorted(path.stem for path in (ROOT / "doc" / "formats").glob("*.md"))
        self.assertEqual(pages, [f["name"] for f in self.formats])

    def test_what_is_read_has_a_fuzzer_and_golden_inputs(self):
        for name in (f["name"] for f in self.formats if f["read"]):
            self.assertTrue((BUILD / "tests" / f"fuzz_{name}").exists(), name)
            self.assertTrue(list((GOLDEN / "expected").glob(f"{name}-*")), name)

    def test_what_is_written_has_golden_outputs(self):
        for name in (f["name"] for f in self.formats if f["write"]):
            # pprof's are texts: what protoc makes of them.
            folder = GOLDEN / ("protoc" if name == "pprof" else name)
            written = [path for path in folder.iterdir()
                       if path.name.startswith("from-") or path.suffix == ".txt"]
            self.assertTrue(written, name)
