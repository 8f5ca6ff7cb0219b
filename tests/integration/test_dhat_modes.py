"""The meaning of a DHAT file's blocks: memory, copies or events."""
from allotest import Test
from inputs import dhat


class Modes(Test):
    def metrics(self, **changes):
        info = self.allo_json("info", self.file("in.json", dhat(**changes)))
        return {metric["metric"]["name"]: (metric["sum"], metric["metric"]["unit"]) for metric in info["metrics"]}

    def test_blocks_of_a_heap_are_memory(self):
        words = {"bu": "byte", "bsu": "bytes", "bksu": "blocks"}
        for mode in ("heap", "rust-heap"):
            for more in ({}, words, {"bsu": "units"}):
                with self.subTest(mode, more=more):
                    self.assertEqual(self.metrics(mode=mode, bklt=False, **more),
                                     {"alloc_blocks": (1, "count"), "alloc_bytes": (8, "bytes")})

    def test_others_are_copies_or_events(self):
        for mode in ("ad-hoc", "rust-ad-hoc"):
            self.assertEqual(self.metrics(mode=mode, bu="row", bsu="rows", bksu="events"),
                             {"events": (1, "count"), "units": (8, "rows")})
        self.assertEqual(list(self.metrics(mode="copy")), ["copy_blocks", "copy_bytes"])
