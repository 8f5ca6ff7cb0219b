"""Small files that describe enormous results: refused within a limit of memory, and read with --trust."""
import gzip
import json
import resource

import elffile
import packedfile
from allotest import ALLO, SLOW, Test, unsanitized
from packedfile import EVENTS, FACTS, HEAD, STACKS, THREADS

MEMORY = 4 << 30
MIB = 1 << 20
ALLOCATION = 1 | 8 | 16  # its stack and size are as predicted


def limit_memory():
    if not SLOW:  # the sanitizer reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def text_facts(count):
    """Facts of a later version, of 16 bytes each: they are skipped."""
    return (b"\x63\x0e" + bytes(14)) * count


def cpu_seconds_of(run):
    """CPU time of the programs that a function runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class HostileTest(Test):
    def write(self, *chunks, **options):
        return packedfile.write(self.tmp / "bomb.allo", *chunks, **options)

    def start(self, head=None):
        return [head or packedfile.real_head(), packedfile.threads()]

    def refused(self, path, *says, command="top"):
        """Runs a command that must fail and name the file and the next step."""
        done = self.run_program(ALLO, command, path, preexec_fn=limit_memory)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, 1, error)
        for text in (str(path), "--trust", *says):
            self.assertIn(text, error)

    def read(self, path, *options, command="info"):
        return self.allo(command, path, *options, preexec_fn=limit_memory)


class PackedRecordings(HostileTest):
    def test_the_writer_of_this_test_is_right(self):
        chunks = [*self.start(), packedfile.tables(STACKS, b"\x01\x02" * 10),
                  packedfile.events(3, columns={0: bytes([ALLOCATION - 24, ALLOCATION, ALLOCATION]),
                                                1: b"\x01", 2: b"\x64"})]
        path = self.write(*chunks, index=packedfile.index_of(*chunks))
        self.assertEqual(self.read(path, command="events").count("alloc"), 3)
        self.assertEqual(self.read(self.write(*chunks), "-q", command="events").count("alloc"), 3)

    def test_an_index_names_each_chunk_once(self):
        head = packedfile.chunk(HEAD, packedfile.real_head_bytes().ljust(60 * MIB, b"\0"))
        entry = packedfile.index_of(head)[0]
        done = self.run_program(ALLO, "info", self.write(head, index=[entry] * 20000), preexec_fn=limit_memory)
        self.assertIn(b"--trust", done.stderr)

    def test_a_recording_has_one_head_and_one_list_of_threads(self):
        chunks = [*self.start(), *self.start(), packedfile.threads(5)]
        found = self.run_program(ALLO, "verify", self.write(*chunks, index=packedfile.index_of(*chunks)))
        self.assertIn(b"damaged", found.stdout + found.stderr)
        self.assertNotEqual(found.returncode, 0)

    def test_tables_have_a_limit(self):
        for name, piece in (("heads", packedfile.chunk(HEAD, bytes(60 * MIB))),
                            ("threads", packedfile.chunk(THREADS, bytes(60 * MIB))),
                            ("stacks", packedfile.tables(STACKS, b"\x01\x02" * (31 * MIB))),
                            ("facts", packedfile.tables(FACTS, text_facts(2 * MIB), stream=2))):
            for command in ("top", "info", "events"):
                with self.subTest(name=name, command=command):
                    self.refused(self.write(*self.start(), piece), "bytes of tables", command=command)

    def test_many_tables_below_the_limit_are_counted_together(self):
        piece = packedfile.tables(FACTS, text_facts(MIB // 4), stream=2)
        chunks = [*self.start(), *[piece] * 5]
        self.refused(self.write(*chunks), "bytes of tables")
        self.refused(self.write(*chunks, index=packedfile.index_of(*chunks)), "bytes of tables")
        self.read(self.write(*chunks), "--trust")
        self.read(self.write(*chunks[:-2]))

    def test_a_chunk_has_a_million_events_at_most(self):
        path = self.write(*self.start(), *(packedfile.events(60 * MIB, i, {0: bytes([ALLOCATION]) * (60 * MIB)})
                                           for i in range(4)))
        self.assertRegex(self.read(path, "-q"), r"events +0 ")

    def test_events_have_a_limit(self):
        kinds = bytes([ALLOCATION]) * MIB
        one = packedfile.events(MIB, 0, {0: kinds})
        packed = one[packedfile.CHUNK.size:]
        chunks = [packedfile.seal(EVENTS, packed, MIB, sequence=i, count=MIB) for i in range(300)]
        self.assertLess(len(b"".join(chunks)), MIB // 16)
        self.refused(self.write(*self.start(), *chunks), "events")

    @unsanitized  # memory is what it looks at
    def test_live_blocks_have_a_limit(self):
        packed = packedfile.events(MIB, 0, {0: bytes([ALLOCATION]) * MIB})[packedfile.CHUNK.size:]
        chunks = [packedfile.seal(EVENTS, packed, MIB, sequence=i, count=MIB) for i in range(24)]
        self.refused(self.write(*self.start(), *chunks), "live blocks")


class Compressed(HostileTest):
    def test_the_limit_of_a_compressed_recording_is_that_of_its_compressed_size(self):
        chunks = [*self.start(), packedfile.tables(STACKS, b"\x01\x02" * (31 * MIB))]
        path = self.write(*chunks)
        # A chunk of an unknown kind, which takes a megabyte of the file and some bytes of the compressed one.
        filler = packedfile.seal(99, bytes(MIB), 0)
        data = path.read_bytes() + filler
        self.refused(self.file("bomb.allo.gz", gzip.compress(data)), "bytes of tables")

    def test_trust_lifts_the_limit_of_gzip(self):
        path = self.file("large.folded.gz", gzip.compress(b"main;a 1\n" * (8 * MIB)))
        self.refused(path, "64 MiB")
        self.assertIn("8388608", self.allo("top", "--trust", "--bytes", path))


class DebugInformation(HostileTest):
    """A recording of a library whose debug information is hostile."""

    START = 0x1000

    def recording(self, units, lines, addresses):
        library = elffile.write(self.tmp / "library.so", elffile.debug_sections(units, lines))
        found = packedfile.modules((library, 0, 1 << 24), build_id=elffile.BUILD_ID)
        return self.write(packedfile.real_head(), packedfile.stacks(addresses), found, packedfile.threads(),
                          packedfile.one_block_each(len(addresses)))

    def files(self, path):
        """The source files of the profile's functions."""
        profile = json.loads(self.allo("convert", "-q", "--to", "json", "-o", "-", path, preexec_fn=limit_memory))
        return {function["file"] for function in profile["functions"] if function and "file" in function}

    def test_the_lines_of_a_sound_library_are_found(self):
        lines = elffile.line_table([b"folder"], [(b"a.c", 1), (b"b.c", 0)], elffile.sequence(self.START, [1, 2]))
        path = self.recording([elffile.unit(0, self.START, 2)], lines, [self.START, self.START + 1])
        self.assertEqual(self.files(path), {"/src/folder/a.c", "/src/b.c"})

    @unsanitized  # memory is what it looks at
    def test_files_that_share_a_long_folder(self):
        count = 60000
        lines = elffile.line_table([b"x" * 400000], [(b"%d" % i, 1) for i in range(count)],
                                   elffile.sequence(self.START, range(1, 3001)))
        path = self.recording([elffile.unit(0, self.START, 3000)], lines, range(self.START, self.START + 3000))
        self.assertEqual(self.files(path), set())

    @unsanitized  # time is what it looks at
    def test_units_that_share_a_table(self):
        def seconds(count):
            lines = elffile.line_table([b"f"], [(b"%d" % i, 1) for i in range(30000)], b"".join(
                elffile.sequence(self.START + 16 * i, [1]) for i in range(count)))
            units = [elffile.unit(0, self.START + 16 * i, 16) for i in range(count)]
            path = self.recording(units, lines, [self.START + 16 * i for i in range(count)])
            return cpu_seconds_of(lambda: self.allo("top", "-q", path))

        best = min(seconds(3200) / seconds(200) for _ in range(3))
        self.assertLess(best, 8)  # 16 if each unit reads the table

    @unsanitized  # as above
    def test_sequences_that_overlap(self):
        lines = elffile.line_table([b"f"], [(b"a", 1)], (
            b"\0\x09\x02" + elffile.struct.pack("<Q", self.START) + b"\x01\x02" + elffile.uleb(4000) +
            b"\0\x01\x01") * 64000)

        def seconds(addresses):
            path = self.recording([elffile.unit(0, self.START, 4000)], lines,
                                  range(self.START, self.START + addresses))
            return cpu_seconds_of(lambda: self.allo("top", "-q", path))

        best = min(seconds(4000) / seconds(250) for _ in range(3))
        self.assertLess(best, 8)  # 16 if each address looks at all sequences
