"""Recordings of memray: real ones, with the numbers that memray 1.20 itself prints of them, and files made by hand."""
from allotest import ALLO, GOLDEN, Test
from memrayfile import END, FREE, MALLOC, MMAP, MUNMAP, Events, code, head, moment, pop, push, thread, varint

MEMRAY = GOLDEN / "memray"

# allocations and bytes: of "memray stats"; blocks and bytes of "memray transform csv", without and with --leaks
NUMBERS = {
    "app.bin": ((298, 12991387), (110, 2759865), (82, 1493092)),
    "aggregated.bin": (None, (110, 2759865), (81, 1492732)),
    "native.bin": ((241, 2019456), (140, 1698210), (138, 125346)),
    "killed.bin.gz": ((123, 278410), (61, 99543), (61, 99543)),
    "python39.bin": ((211, 12794840), (72, 2706138), (45, 1455749)),
    "python310.bin": ((520, 14546319), (84, 2716604), (56, 1465935)),
}


class Memray(Test):
    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}

    def stacks(self, path, metric="alloc_bytes", *options):
        lines = self.allo("convert", "-q", "--to", "folded", "-M", metric, *options, path).splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def lines(self, path):
        """Bytes by the line that allocated them."""
        found = {}
        for row in self.allo_json("top", "--by", "site", "-n", "0", "--wrappers=none", "-M", "alloc_bytes", path)["rows"]:
            line = f"{row.get('file')}:{row.get('line')}"
            found[line] = found.get(line, 0) + row["self"]
        return found

    def made(self, *records, **facts):
        return self.file("made.bin", head(**facts) + b"".join(records))

    def test_numbers_are_memrays(self):
        self.assertEqual({path.name for path in MEMRAY.iterdir()}, set(NUMBERS))
        for name, numbers in NUMBERS.items():
            with self.subTest(name):
                sums = self.sums(MEMRAY / name)
                found = [(sums.get(f"{metric}_blocks"), sums.get(f"{metric}_bytes")) for metric in ("alloc", "peak", "end")]
                self.assertEqual(found, [pair or (None, None) for pair in numbers])

    def test_lines_are_those_of_the_program(self):
        for name in ("app.bin", "python39.bin", "python310.bin"):
            found = {line: size for line, size in self.lines(MEMRAY / name).items() if "app.py" in line}
            with self.subTest(name):
                # temp() makes 100 objects of 100,000 bytes and more; fill() is called with 50,000 and with 20,000
                self.assertEqual({line: size for line, size in found.items() if size > 1000000},
                                 {"app.py:6": sum(100000 + i + 1 for i in range(100)),
                                  "app.py:3": sum(50000 + i + 1 for i in range(50)) + sum(20000 + i + 1 for i in range(10))})

    def test_frames_of_memray_itself_are_left_out_of_the_main_thread(self):
        for name, metric in (("app.bin", "peak_bytes"), ("aggregated.bin", "peak_bytes")):
            roots = {stack.split(";")[0] for stack in self.stacks(MEMRAY / name, metric)}
            self.assertEqual(roots - {"[unknown]"}, {"_run_tracker", "_bootstrap"}, name)

    def test_a_killed_program_is_noted(self):
        done = self.run_program(ALLO, "info", MEMRAY / "killed.bin.gz")
        self.assertRegex(done.stderr.decode(), r"killed\.bin\.gz is truncated: the numbers are those of its first [\d,]+ bytes\n")
        self.assertEqual(self.stacks(MEMRAY / "killed.bin.gz", "end_bytes")[
            "_run_tracker;run_path;_run_module_code;_run_code;<module>;<listcomp>"], sum(3000 + i + 1 for i in range(20)))

    def test_threads_have_stacks_of_their_own(self):
        event = Events()
        path = self.made(code(1, "main"), code(2, "f"), code(3, "worker"), push(1), push(2), event(MALLOC, 0x1000, 10), thread(2),
                         push(3), event(MALLOC, 0x2000, 200), thread(1), pop(), event(MALLOC, 0x3000, 3000), thread(2),
                         event(FREE, 0x1000), pop(), event(MALLOC, 0x1000, 40000), END)
        self.assertEqual(self.stacks(path), {"main;f": 10, "worker": 200, "main": 3000, "[unknown]": 40000})
        self.assertEqual(self.stacks(path, "end_bytes"), {"worker": 200, "main": 3000, "[unknown]": 40000})

    def test_skipped_frames_come_and_go(self):
        event = Events()
        path = self.made(code(1, "memray"), code(2, "main"), push(1), push(1), push(2), event(MALLOC, 0x1000, 1), pop(2),
                         event(MALLOC, 0x2000, 20), push(1), push(2), event(MALLOC, 0x3000, 300), END, skipped=2)
        self.assertEqual(self.stacks(path), {"main": 301, "[unknown]": 20})

    def test_functions_of_any_version_have_lines(self):
        event = Events()
        # After two instructions of two bytes the line grows by 2.  3.10 counts instructions, the others count bytes.
        tables = {0x03090000: (b"\4\2", 4), 0x030A0000: (b"\4\0\4\2", 2), 0x030B0000: (b"\xe9\0" + b"\xe9\4", 4)}
        for python, (lines, offset) in tables.items():
            path = self.made(code(1, "f", line_step=7, lines=lines), push(1, 0), event(MALLOC, 0x1000, 1), pop(), push(1, offset),
                             event(MALLOC, 0x2000, 20), END, python=python)
            self.assertEqual(self.lines(path), {"app.py:7": 1, "app.py:9": 20}, hex(python))
            event = Events()

    def mapped(self, *events):
        """Live bytes after mmap and munmap, and all bytes ever live."""
        event = Events()
        records = [event(*arguments) for arguments in events]
        sums = self.sums(self.made(code(1, "f"), push(1), *records, END))
        return sums["end_bytes"], sums["end_blocks"], sums["peak_bytes"]

    def test_mappings_end_in_parts(self):
        page = 4096
        whole = (MMAP, 0x100000, 10 * page)
        self.assertEqual(self.mapped(whole), (10 * page, 1, 10 * page))
        self.assertEqual(self.mapped(whole, (MUNMAP, 0x100000, 10 * page)), (0, 0, 10 * page))
        self.assertEqual(self.mapped(whole, (MUNMAP, 0x100000, 3 * page)), (7 * page, 1, 10 * page))
        self.assertEqual(self.mapped(whole, (MUNMAP, 0x100000 + 8 * page, 9 * page)), (8 * page, 1, 10 * page))
        self.assertEqual(self.mapped(whole, (MUNMAP, 0x100000 + 4 * page, page)), (9 * page, 2, 10 * page))
        self.assertEqual(self.mapped(whole, (MUNMAP, 0x100000 + 4 * page, page), (MUNMAP, 0x100000, 10 * page)), (0, 0, 10 * page))
        self.assertEqual(self.mapped(whole, (MMAP, 0x100000 + 9 * page, 2 * page)), (11 * page, 2, 11 * page))
        self.assertEqual(self.mapped(whole, (FREE, 0x100000), (MUNMAP, 0x900000, page)), (10 * page, 1, 10 * page))
        ones = [(MMAP, (2 + i) << 20, page) for i in range(5000)]
        self.assertEqual(self.mapped(*ones), (5000 * page, 5000, 5000 * page))
        ends = [(MUNMAP, address, size) for _, address, size in ones]
        self.assertEqual(self.mapped(*ones, *ends), (0, 0, 5000 * page))
        self.assertEqual(self.mapped(*ones, *reversed(ends)), (0, 0, 5000 * page))

    def test_times_are_those_of_memrays_samples(self):
        event = Events()
        path = self.made(code(1, "f"), push(1), event(MALLOC, 0x1000, 8), moment(500), event(MALLOC, 0x2000, 9), moment(1500),
                         event(FREE, 0x1000), event(FREE, 0x2000), END)
        self.assertEqual(self.sums(path)["lifetime"], 2500 * 10**6)
        info = self.allo_json("info", path)
        self.assertEqual((info["pid"], info["command"], info["duration_ns"]), (4711, "app.py", 2 * 10**9))

    def test_a_truncated_file_is_read_up_to_its_end(self):
        event = Events()
        data = self.made(code(1, "f"), push(1), event(MALLOC, 0x1000, 8), event(MALLOC, 0x2000, 90), END).read_bytes()
        start = len(head())
        for size in range(start, len(data)):
            done = self.run_program(ALLO, "info", "--json", self.file("cut.bin", data[:size]))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"cut.bin is truncated: the numbers are those of its first ", done.stderr)
        for size in range(7, start):
            self.assertRegex(self.allo_fails("info", self.file("cut.bin", data[:size])), "the head is incomplete|not known")

    def test_bad_files_are_refused(self):
        event = Events()
        for records, why in (([pop()], "leaves more functions than it entered"), ([push(3)], "unknown function"),
                             ([code(1, "f"), push(1, 1 << 40)], "too far away"),
                             ([b"\x0b"], "unknown kind"), ([code(1, "f"), b"\x80\x80" + 12 * b"\xff"], "an allocation is of an unknown kind"),
                             ([b"\x0e" + 11 * b"\xff"], "more than 64 bits"),
                             ([b"\x0e\1f\0f\0\0" + varint(1 << 40)], "table of lines is too long"),
                             ([b"\7lib\0\2" + 8 * b"\0" + b"\1" + 9 * b"\0"], "lacks segments")):
            self.assertIn(why, self.allo_fails("info", self.made(*records, END)))
        for records, why in (([b"\3\0\0"], "before its parts"), ([b"\4\0\1\0\0"], "unknown function"), ([code(1, "f"), b"\4\7\1\0\0"], "out of order"),
                             ([b"\2" + 24 * b"\0" + b"\7" + 47 * b"\0"], "unknown stack")):
            self.assertIn(why, self.allo_fails("info", self.made(*records, b"\x0f", layout=1)))
        self.assertIn("layout of the file is not known", self.allo_fails("info", self.made(END, layout=2)))
        self.assertIn("version 11 of memray's format is not known", self.allo_fails("info", self.made(END, version=11)))
        self.assertIn("version 99", self.allo_fails("info", self.made(END, version=99)))
        self.assertEqual(self.sums(self.made(event(MALLOC, 0x1000, 5), END, version=12))["alloc_bytes"], 5)


class Lz4(Test):
    """LZ4 frames, made by the command lz4."""

    def test_every_kind_of_frame_is_unpacked(self):
        plain = (GOLDEN / "dhat" / "valgrind-cpp.json").read_bytes()
        large = self.file("large.folded", b"".join(b"main;f%d;g%d %d\n" % (i % 7000, i * i % 997, i) for i in range(400000)))
        for source, content in ((self.file("small.json", plain), plain), (large, large.read_bytes())):
            expected = self.allo("convert", "-q", "--to", "json", source)
            for options in ("", "-9", "-B4", "-B4 -BD", "-B5 -BD -9", "-BX", "--no-frame-crc", "--content-size", "-B7 -BD --content-size -BX"):
                with self.subTest(f"{source.name} {options}"):
                    self.must("lz4", "-qf", *options.split(), source, "packed.lz4")
                    self.assertEqual(self.allo("convert", "-q", "--to", "json", "packed.lz4"), expected)
        self.must("sh", "-c", "head -c 100000 large.folded | lz4 -c > two.lz4; tail -c +100001 large.folded | lz4 -c >> two.lz4")
        self.assertEqual(self.allo("convert", "-q", "--to", "json", "two.lz4"), expected)

    def test_damage_is_told(self):
        source = self.file("in.folded", b"".join(b"main;function_%d 1\n" % (i % 50) for i in range(5000)))
        self.must("lz4", "-qf", source, "packed.lz4")
        packed = (self.tmp / "packed.lz4").read_bytes()
        for size in (5, 7, 9, 40, len(packed) // 2, len(packed) - 1):
            self.assertIn("ends too early", self.allo_fails("info", self.file("cut.lz4", packed[:size])))
        for change in (b"\xff", b"\x60"):
            self.assertIn("is damaged", self.allo_fails("info", self.file("bad.lz4", packed[:4] + change + packed[5:])))
