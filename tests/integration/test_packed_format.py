"""What doc/formats/allo.md says of packed recordings is enough to read them: a reader made from it finds the same."""
import itertools
import json

from allotest import BUILD, GOLDEN, Test
from packedrecording import PackedRecording

GOLDENS = ("server", "killed", "notes", "sampled", "ad-hoc", "shuffled")

# Of a recording of a million events: slots have changed hands by then, and sure bits were wrong.
ENOUGH = 150000


class PackedFormat(Test):
    def assert_same_events(self, path, count=None):
        """Compares events, times and all; returns the recording.  `count`: only so many."""
        told = [json.loads(line) for line in self.allo("events", "--json", "-n", count or 0, path).splitlines()]
        recording = PackedRecording(path)
        # allo says nothing of blocks that are retired: the program has done nothing then.
        found = (event for event in recording.events() if event["event"] != "retired")
        pairs = itertools.zip_longest(told, itertools.islice(found, count))
        for i, (theirs, ours) in enumerate(pairs):
            self.assertEqual(theirs, ours and {"v": 1, **ours}, f"event {i} of {path}")
        self.assertTrue(told)
        return recording

    def made(self, what):
        path = self.tmp / f"{what}.allo"
        self.must(BUILD / "tests" / "make_recording", what, "packed", path)
        return path

    def test_recordings_of_all_versions_are_read_by_the_page(self):
        versions = {self.assert_same_events(GOLDEN / "allo" / f"{name}.allo").version for name in GOLDENS}
        self.assertEqual(versions, {2, 3, 4})

    def test_modelled_events_are_read_by_the_page(self):
        for what, count in (("shuffled", None), ("many", ENOUGH)):
            recording = self.assert_same_events(self.made(what), count)
            self.assertTrue(recording.is_modelled, "nothing has been learnt of modelled events")
