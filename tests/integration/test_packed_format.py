"""doc/formats/allo.md is enough to read packed recordings: a reader written from it finds the same events."""
import itertools
import json

from allotest import BUILD, GOLDEN, Test, unsanitized
from packedrecording import PackedRecording

GOLDENS = ("server", "killed", "notes", "sampled", "ad-hoc", "shuffled")

# Events to compare of a recording of a million: enough for slots to change tags and for wrong sure bits.
ENOUGH = 150000


class PackedFormat(Test):
    def assert_same_events(self, path, count=None):
        """Compares the first `count` events with their times, and returns the recording."""
        told = [json.loads(line) for line in self.allo("events", "--json", "-n", count or 0, path).splitlines()]
        recording = PackedRecording(path)
        # allo does not print retired blocks: they are not actions of the program.
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

    @unsanitized  # Python does the work here
    def test_modelled_events_are_read_by_the_page(self):
        for what, count in (("shuffled", None), ("many", ENOUGH)):
            recording = self.assert_same_events(self.made(what), count)
            self.assertTrue(recording.is_modelled, "nothing has been learnt of modelled events")
