"""The same input gives the same bytes: in every process, on any number of cores, whichever way it comes."""
import gzip
import json
import os
import shutil

from allotest import ALLO, GOLDEN, SLOW, Test
from inputs import dhat


def large_dhat():
    """Several blocks, which several cores may parse, and several portions."""
    points = [{"tb": i, "tbk": 1, "fs": [1 + i % 7, 8 + i % 11, 20 + i % 301, 400 + i % 997]}
              for i in range(40000)]
    frames = ["[root]"] + [f"0x{i:x}: f{i % 900} (file{i % 40}.c:{i})" for i in range(1, 1500)]
    return dhat(points=points, frames=frames)


def large_folded():
    return "".join(f"main;f{i % 7};g{i % 1013};h{i % 10007} {i}\n" for i in range(60000)).encode()


# They write all that a profile contains: one of a profile that is read in portions, one of a whole profile.
WRITERS = ("pprof", "json")


class Determinism(Test):
    SANITIZED = False  # what sanitizers look for does not depend on how often a file is read
    known = {}

    def setUp(self):
        super().setUp()
        formats = self.allo_json("formats")["formats"]
        self.readers = [f["name"] for f in formats if f["read"]]
        # test_parquet.py compares folders.
        self.writers = [f["name"] for f in formats if f["write"] and not f.get("folder")]

    def inputs(self):
        """Two golden files of each format, and two files that are too large for one block or portion."""
        for reader in self.readers:
            profiles = [path for path in sorted((GOLDEN / reader).iterdir())
                        if self.run_program(ALLO, "info", path).returncode == 0]
            yield from profiles[:1 if SLOW else 2]
        yield self.file("large.json", large_dhat())
        yield self.file("large.folded", large_folded())

    def results(self, path, *options, writers=None, before=(), **run):
        """The output of every writer and view for a file."""
        made = {}
        for writer in writers or self.writers:
            made[writer] = ["convert", "-q", path, "--to", writer]
        for view in (["top", "-n", "0"], ["tree", "--min", "0", "--json"], ["info", "--json"]):
            made[view[0]] = [*view, path]
        for name, arguments in made.items():
            done = self.run_program(*before, ALLO, *arguments, *options, **run)
            self.assertEqual(done.returncode, 0, f"{arguments} {done.stderr[-1000:]}")
            made[name] = done.stdout
        # The output contains the name of the file.
        made["info"] = {**json.loads(made["info"]), "file": None}
        return made

    def usual(self, path):
        """The same of a file as it is, made once for all tests."""
        content = path.read_bytes()
        if content not in self.known:
            self.known[content] = self.results(path)
        return self.known[content]

    def same(self, found, expected, path):
        """As assertEqual, which would take minutes to print how megabytes differ."""
        self.assertGreater(len(found), len(WRITERS))
        self.assertEqual([name for name in found if found[name] != expected[name]], [], path)

    def read(self, path, *options, **run):
        """The results for one way to read a file: writers do not know it, so a few of them show all that was read."""
        return self.results(path, *options, writers=WRITERS, **run)

    def test_every_process_writes_the_same_bytes(self):
        for path in self.inputs():
            self.same(self.results(path), self.usual(path), path)  # each with other seeds of its hashes

    def test_one_core_and_two_write_the_same(self):
        two = sorted(os.sched_getaffinity(0))[:2]
        for path in (self.file("large.json", large_dhat()), self.file("large.folded", large_folded()),
                     GOLDEN / "pprof" / "go-heap.pb.gz"):
            results = [self.results(path, before=["taskset", "-c", cores])
                       for cores in (str(two[0]), ",".join(map(str, two)))]
            self.same(results[0], results[1], path)

    def test_a_pipe_and_a_file_give_the_same(self):
        for path in self.inputs():
            self.same(self.read("-", input=path.read_bytes()), self.usual(path), path)

    def test_packing_makes_no_difference(self):
        for path in self.inputs():
            plain = path.read_bytes()
            if plain[:2] == b"\x1f\x8b":
                plain = gzip.decompress(plain)
            elif plain[:4] == b"\x28\xb5\x2f\xfd":
                plain = self.run_program("zstd", "-dc", path).stdout
            elif plain[:4] == b"\x04\x22\x4d\x18":
                plain = self.run_program("lz4", "-dc", path).stdout
            expected = self.usual(self.file("plain", plain))
            self.same(self.read(self.file("packed.gz", gzip.compress(plain))), expected, path)
            self.must("zstd", "-q", "-f", "plain", "-o", "packed.zst")
            self.same(self.read(self.tmp / "packed.zst"), expected, path)

    def test_naming_the_format_makes_no_difference(self):
        for path in self.inputs():
            name = self.allo_json("info", path)["format"]
            self.same(self.read(path, "--from", name), self.usual(path), path)

    def test_the_name_of_a_file_makes_no_difference(self):
        for path in self.inputs():
            other = self.tmp / "other.svg"
            shutil.copy(path, other)
            self.same(self.read(other), self.usual(path), path)

    def test_packed_files_are_the_same_every_time(self):
        path = self.file("large.folded", large_folded())
        for name in ("out.pb.gz", "out.pb.zst"):
            made = set()
            for _ in range(3):
                self.allo("convert", "-q", "-f", path, "-o", name)
                made.add((self.tmp / name).read_bytes())
            self.assertEqual(len(made), 1, name)
