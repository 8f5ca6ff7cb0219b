"""The page of `allo view` in Chromium and Firefox with the real engine, and the pictures of its views."""
import nodepackages
from viewerpage import ViewerTest


class Engine(ViewerTest):
    def test_pictures(self):
        self.run_node("pictures", browser=nodepackages.browser(self))

    def test_real_engine(self):
        self.run_node("real", browser=nodepackages.browser(self))

    def test_firefox(self):
        self.run_node("firefox", browser=nodepackages.browser(self, "FIREFOX"))
