"""Reports: one HTML file with the page, its engine and data."""
import json
import signal

import reportfile
from allotest import ALLO, GOLDEN, Test
from recordings import CaptureTest


class ReportTest(Test):
    SANITIZED = False  # that build has no engine

    def report(self, *words):
        """Writes a report; returns the page, and what allo said."""
        done = self.run_program(ALLO, "report", *words, "-fo", "report.html")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return (self.tmp / "report.html").read_bytes(), done.stderr.decode()

    def top(self, path):
        """All that `allo top` says about a file, but for its name."""
        found = self.allo_json("top", "-n", "0", path)
        return {key: found[key] for key in ("totals", "rows", "notes") if key in found}

    def embedded(self, page):
        """The paths of a report's files, unpacked."""
        return [self.file(f"embedded-{i}", content) for i, (_, content) in enumerate(reportfile.files(page))]


class Damaged(ReportTest):
    def check(self, path):
        """The report has the numbers that can be read, and the gaps that `allo verify` finds."""
        page, said = self.report(path)
        [copy] = self.embedded(page)
        self.assertEqual(self.top(copy), self.top(path))
        self.assertEqual(self.gaps(copy), self.gaps(path))
        return said

    def gaps(self, path):
        done = self.run_program(ALLO, "verify", "--json", path)
        return {note["kind"]: note["count"] for note in json.loads(done.stdout)["notes"]}

    def test_a_file_may_be_cut_anywhere(self):
        whole = (GOLDEN / "allo" / "shuffled.allo").read_bytes()
        for length in (64, 700, 4000, 9000, len(whole) - 40, len(whole) - 1):
            self.file("cut.allo", whole[:length])
            self.assertRegex(self.check("cut.allo"), r"note: 1 file ends before its recording does")

    def test_any_byte_may_be_damaged(self):
        whole = (GOLDEN / "allo" / "server.allo").read_bytes()
        for at in range(100, len(whole), 61):
            self.file("bad.allo", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            self.check("bad.allo")

    def test_an_intact_recording_has_no_gaps(self):
        path = GOLDEN / "allo" / "server.allo"
        self.assertNotIn("note", self.check(path))
        self.assertEqual(len(self.top(path)["rows"]), 1)


class Killed(CaptureTest, ReportTest):
    def test_a_killed_process_has_a_report(self):
        done = self.run_program(ALLO, "run", "-q", "--raw", "-o", "k.allo", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        page, said = self.report("k.allo")
        [copy] = self.embedded(page)
        self.assertEqual(self.top(copy), self.top("k.allo"))
        self.assertIn("wrote report.html", said)
