"""Every command on the pages of doc/ works and prints the output that the page shows."""
from allotest import ROOT
from pages import PageTest, blocks


class Pages(PageTest):
    def test_c_and_cpp(self):
        self.follow("doc/cpp.md")

    def test_built_in_allocators(self):
        self.follow("doc/built-in.md")

    def test_inside(self):
        self.follow("doc/inside.md")

    def test_rust(self):
        self.follow("doc/rust.md")

    def test_python(self):
        self.follow("doc/python.md")

    def test_node(self):
        self.follow("doc/node.md")

    def test_services(self):
        self.follow("doc/services.md")

    def test_ci(self):
        self.follow("doc/ci.md")

    def test_findings(self):
        self.follow("doc/findings.md")

    def test_sql(self):
        self.follow("doc/sql.md")

    def test_engines(self):
        self.follow("doc/engines.md")

    def test_view(self):
        self.follow("doc/view.md")

    def test_conversion(self):
        self.follow("doc/convert.md")

    def test_each_page_with_commands_has_a_test(self):
        tests = (ROOT / "tests" / "integration" / "test_pages.py").read_text()
        for path in sorted((ROOT / "doc").glob("**/*.md")):
            page = str(path.relative_to(ROOT))
            if blocks(page, "console"):
                self.assertIn(f'follow("{page}")', tests)
