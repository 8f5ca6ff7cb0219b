"""The page of `allo view`: its unit tests, and its tests in Chromium with a plain engine."""
import nodepackages
from viewerpage import ViewerTest


class Viewer(ViewerTest):
    def test_units(self):
        self.run_node()

    def test_browser(self):
        self.run_node("browser", browser=nodepackages.browser(self))

    def test_types(self):
        self.must(self.folder / "node_modules" / ".bin" / "tsc", "--noEmit", "-p", self.folder)
