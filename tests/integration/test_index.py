"""Indexes in recordings: allo run --index, allo symbolize --index."""
import json
import struct

import packedfile
from allotest import ALLO, BUILD, Test, unsanitized
from packedrecording import CHUNK, unpacked
from recordings import built
from reportfile import files
from test_symbolize import chunks

EVENTS, INDEX, TRAILER = 19, 21, 17
KINDS = ["server", "sampled", "resident", "notes", "shuffled", "long-notes", "empty"]


def pieces(data):
    """The chunks of a recording: (kind, bytes)."""
    return [(kind, data[at:at + size]) for at, kind, size in chunks(data)]


def joined(data, parts):
    """The recording with other chunks before its trailer, whose numbers stay."""
    trailer = next(piece for kind, piece in pieces(data) if kind == TRAILER)
    raw, at = unpacked(trailer[CHUNK.size:]), 0
    for _ in range(1 + raw[0]):  # the count, and that many varints
        while raw[at] & 0x80:
            at += 1
        at += 1
    body = b"".join(parts)
    entries = b"".join(struct.pack("=Q", offset + 16 - len(packedfile.start())) + header
                       for offset, header in packedfile.index_of(*parts))
    end = packedfile.chunk(TRAILER, raw[:at] + entries)
    return data[:16] + body + end + struct.pack("=Q8s", 16 + len(body), b"ALLOend1")


def has_index(data):
    return any(kind == INDEX for kind, _ in pieces(data))


class IndexTest(Test):
    def made(self, kind="long-notes", name=None):
        path = self.tmp / (name or f"{kind}.allo")
        self.must(BUILD / "tests" / "make_recording", kind, "packed", path)
        return path

    def indexed(self, path, name="indexed.allo"):
        out = self.tmp / name
        self.allo("symbolize", "-qf", "--index", path, "-o", out)
        return out

    def said(self, *command):
        """What a command prints of a recording, without the recording's name and size."""
        done = self.run_program(ALLO, *command)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        lines = done.stdout.decode().replace(str(command[-1]), "FILE").splitlines()
        return [line for line in lines if "_bytes\": " not in line or "file_bytes" not in line]

    def windows(self, path):
        length = self.allo_json("info", path)["duration_ns"]
        return ([], [f"--range={length // 5}ns..{length // 2}ns"], [f"--at={length * 4 // 5}ns"], ["--at=peak"],
                [f"--range={length // 3}ns.."])


class Answers(IndexTest):
    def compare(self, path):
        plain, out = self.tmp / "plain.allo", self.indexed(path)
        self.allo("symbolize", "-qf", path, "-o", plain)
        for window in self.windows(path):
            for command in (["top", "-n0", "--json"], ["tree", "--json"], ["leaks", "--json"]):
                self.assertEqual(self.said(*command, *window, out), self.said(*command, *window, "--no-cache", plain),
                                 (path, command, window))
        for command in (["summary", "--json"], ["hist", "--json"]):
            self.assertEqual(self.said(*command, out), self.said(*command, plain))

    def test_they_are_those_of_a_replay(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.compare(self.made(kind))
        for program in ("handover.c", "resizes.c"):
            path = self.tmp / f"{program}.allo"
            self.allo("run", "-q", "-o", path, built(program))
            self.compare(path)

    def test_views_of_the_page_are_the_same(self):
        plain = self.made("notes")
        out = self.indexed(plain)
        for ask in ({"ask": "tree"}, {"ask": "timeline"}, {"ask": "table", "from": 100, "to": 50000}, {"ask": "leaks"}):
            request = json.dumps({"v": 1, **ask})
            found, expected = (self.must(ALLO, "view", "--ask", request, path) for path in (out, plain))
            self.assertEqual(found, expected, request)

    def test_a_window_reads_no_events(self):
        out = self.indexed(self.made())
        expected = self.said("top", "--json", "--at=14ms", out)
        data = bytearray(out.read_bytes())
        for at, kind, size in list(chunks(data)):
            if kind == EVENTS:
                data[at + size - 5] ^= 0x55
        out.write_bytes(data)
        self.assertEqual(self.said("top", "--json", "--at=14ms", out), expected)
        self.assertNotEqual(self.said("top", "--json", "--at=14ms", "--no-cache", out), expected)
        self.assertIn(b"damaged", self.run_program(ALLO, "verify", out).stdout)


class Ignored(IndexTest):
    """An index that is damaged or of another recording changes no number, and is mentioned."""

    def check(self, out, expected):
        done = self.run_program(ALLO, "top", "--json", "--at=14ms", out)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"stored index is damaged, or of another recording or version", done.stderr)
        self.assertEqual(done.stdout, expected)
        self.assertIn("bad-index", self.run_program(ALLO, "verify", "--json", out).stdout.decode())

    def setUp(self):
        super().setUp()
        self.plain = self.made()
        self.out = self.indexed(self.plain)
        self.expected = self.run_program(ALLO, "top", "--json", "--at=14ms", "--no-cache", self.plain).stdout
        self.data = self.out.read_bytes()

    def test_nothing_is_said_of_a_good_one(self):
        done = self.run_program(ALLO, "top", "--json", "--at=14ms", self.out)
        self.assertEqual((done.stdout, done.stderr), (self.expected, b""))

    def test_damage(self):
        at, _, size = next(found for found in chunks(self.data) if found[1] == INDEX)
        for place in (at + 48, at + 60, at + size // 2, at + size - 1):
            data = bytearray(self.data)
            data[place] ^= 0x55
            self.out.write_bytes(data)
            self.check(self.out, self.expected)

    def test_another_content_with_right_checksums(self):
        parts = pieces(self.data)
        index = unpacked(next(piece for kind, piece in parts if kind == INDEX)[CHUNK.size:])
        changes = {"magic": (0, b"X"), "version": (8, b"\x63"), "recording": (16, bytes([index[16] ^ 1])),
                   "length": (24, bytes([index[24] ^ 1])), "segments": (32, b"\xff\xff\xff\x7f"),
                   "sites": (32 + 64, b"\xff\xff\xff\xff\xff\xff\xff\xff")}
        for what, (at, value) in changes.items():
            with self.subTest(what):
                changed = packedfile.chunk(INDEX, index[:at] + value + index[at + len(value):])
                self.out.write_bytes(joined(self.data, [changed if kind == INDEX else piece
                                                        for kind, piece in parts if kind != TRAILER]))
                self.check(self.out, self.expected)

    def test_the_index_of_another_recording(self):
        other = self.indexed(self.made("notes"), "other.allo").read_bytes()
        foreign = next(piece for kind, piece in pieces(other) if kind == INDEX)
        self.out.write_bytes(joined(self.data, [foreign if kind == INDEX else piece
                                                for kind, piece in pieces(self.data) if kind != TRAILER]))
        self.check(self.out, self.expected)

    def test_part_of_it_is_missing(self):
        index = unpacked(next(piece for kind, piece in pieces(self.data) if kind == INDEX)[CHUNK.size:])
        halves = [packedfile.chunk(INDEX, index[:len(index) // 2]),
                  packedfile.chunk(INDEX, index[len(index) // 2:], sequence=1)]
        rest = [piece for kind, piece in pieces(self.data) if kind not in (INDEX, TRAILER)]
        self.out.write_bytes(joined(self.data, rest + halves))
        done = self.run_program(ALLO, "top", "--json", "--at=14ms", self.out)
        self.assertEqual((done.stdout, done.stderr), (self.expected, b""))
        self.out.write_bytes(joined(self.data, rest + halves[:1]))
        self.check(self.out, self.expected)


class Files(IndexTest):
    def test_info_shows_it(self):
        plain = self.made("notes")
        self.assertNotIn("index_bytes", self.allo_json("info", plain)["recording"])
        self.assertNotIn("index", self.allo("info", plain))
        out = self.indexed(plain)
        size = self.allo_json("info", out)["recording"]["index_bytes"]
        self.assertEqual(size, sum(len(piece) - 48 for kind, piece in pieces(out.read_bytes()) if kind == INDEX))
        self.assertIn("ranges of time need no replay", self.allo("info", out))

    def test_it_stays_when_names_are_stored_again(self):
        out = self.indexed(self.made("notes"))
        before = [piece for kind, piece in pieces(out.read_bytes()) if kind == INDEX]
        self.allo("symbolize", "-q", out)
        self.assertEqual([piece for kind, piece in pieces(out.read_bytes()) if kind == INDEX], before)
        self.assertEqual(self.allo("top", "--at=peak", out).count("note"), 0)
        self.allo("symbolize", "-q", "--index", out)
        self.assertEqual([piece for kind, piece in pieces(out.read_bytes()) if kind == INDEX], before)

    def test_the_file_stays_private(self):
        path = self.made("notes")
        path.chmod(0o600)
        self.allo("symbolize", "-q", "--index", path)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_a_raw_recording_is_packed(self):
        path = self.tmp / "raw.allo"
        self.must(BUILD / "tests" / "make_recording", "server", "raw", path)
        self.allo("symbolize", "-q", "--index", path)
        self.assertTrue(has_index(path.read_bytes()))

    def test_run_stores_it(self):
        path = self.tmp / "true.allo"
        self.allo("run", "-q", "--index", "-o", path, "ls")
        self.assertTrue(has_index(path.read_bytes()))
        self.assertIn("--raw", self.allo_fails("run", "--index", "--raw", "ls", status=125))

    def test_damaged_recordings_get_none(self):
        path = self.made("notes")
        data = bytearray(path.read_bytes())
        at, _, size = next(found for found in chunks(data) if found[1] == EVENTS)
        data[at + size - 3] ^= 0x55
        path.write_bytes(data)
        self.assertIn("damaged", self.allo_fails("symbolize", "--index", path))

    def test_standard_output_gets_none(self):
        self.assertIn("--index needs a file", self.allo_fails("symbolize", "--index", self.made("notes"), "-o", "-", status=2))

    @unsanitized  # these builds have no engine
    def test_reports_do_not_contain_it(self):
        out = self.indexed(self.made("notes"))
        for options in ([], ["--redact", "names,paths,args,host"]):
            page = self.tmp / "report.html"
            self.allo("report", "-qf", *options, out, "-o", page)
            embedded = files(page.read_bytes())[0][1]
            self.assertEqual(embedded[:8], b"ALLOpck1")
            self.assertFalse(has_index(embedded))

    def test_the_page_is_read_with_and_without_it(self):
        """A reader that does not know the kind skips it, as doc/formats/allo.md says."""
        out = self.indexed(self.made("notes"))
        self.assertEqual(self.said("events", "--json", out), self.said("events", "--json", self.tmp / "notes.allo"))
