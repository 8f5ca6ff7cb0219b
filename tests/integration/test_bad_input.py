"""Every bad input gives one line of error with its position, and leaves no output file."""
import gzip
import os
import re
import resource
import signal
import subprocess
import time
import zlib

from allotest import ALLO, ENVIRONMENT, GOLDEN, IS_ROOT, QUOTED_ALLO, SLOW, Test, unsanitized
from inputs import (FOLDED, FUNCTION, LOCATION, PPROF, TYPE, dhat, message, number, sample, strings,
                    varint)

GOOD = {"dhat": dhat(), "folded": FOLDED, "pprof": PPROF}


class BadInput(Test):
    def refused(self, path, *options, status=1, name=None, place=r"(:\d+:\d+|: byte \d+)?", says="",
                hint=None, **run):
        """Both commands must say one line of error, name the file, and leave no output file."""
        before = sorted(self.tmp.iterdir())
        for command in (["convert", path, "--to", "pprof", "-o", "out.pb.gz"], ["info", path]):
            done = self.run_program(ALLO, *command, *options, **run)
            said = done.stderr.decode(errors="replace")
            self.assertEqual(done.returncode, status, said[-2000:])
            lines = said.splitlines()
            self.assertRegex(lines[0], "^allo: error: " + re.escape(str(name or path)) + place + ": ")
            self.assertIn(says, lines[0])
            self.assertEqual(len(lines), 2 if "\n  hint: " in said else 1, said[-2000:])
            if hint:
                self.assertIn(hint, lines[1])
            self.assertEqual(done.stdout, b"")
            self.assertEqual(sorted(self.tmp.iterdir()), before)

    def survives(self, path, *options):
        """May be read or not, but nothing in between."""
        done = self.run_program(ALLO, "convert", path, "--to", "pprof", "-o", "out.pb.gz", *options)
        said = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, (0, 1), said[-2000:])
        self.assertEqual(said.count("allo: error: "), done.returncode, said[-2000:])
        self.assertEqual((self.tmp / "out.pb.gz").exists(), done.returncode == 0)
        (self.tmp / "out.pb.gz").unlink(missing_ok=True)
        return done.returncode == 0


class Damage(BadInput):
    def cuts(self, length):
        return range(0, length, 1 + length // (20 if SLOW else 400))

    def test_a_dhat_file_that_ends_anywhere_is_refused(self):
        whole = dhat()
        for length in list(self.cuts(len(whole)))[1:]:
            with self.subTest(length=length):
                self.refused(self.file("cut", whole[:length]), "--from", "dhat", place=r"(:1:\d+)?")

    def test_a_packed_file_that_ends_anywhere_is_refused(self):
        zstd = self.run_program("zstd", "-c", input=PPROF).stdout
        for whole in (gzip.compress(PPROF), zstd):
            for length in list(self.cuts(len(whole)))[4:]:
                with self.subTest(length=length):
                    self.refused(self.file("cut", whole[:length]), place=r": byte \d+",
                                 says="data ends too early", hint="the file is truncated; create or copy it again")

    def test_other_files_that_end_anywhere_do_no_harm(self):
        for name, whole in (("pprof", PPROF), ("folded", FOLDED)):
            for length in list(self.cuts(len(whole)))[1:]:
                with self.subTest(name, length=length):
                    self.survives(self.file("cut", whole[:length]), "--from", name)

    def test_golden_files_that_end_anywhere_do_no_harm(self):
        for path in sorted(GOLDEN.glob("*/*")):
            whole = path.read_bytes()
            for length in range(1, len(whole), 1 + len(whole) // (3 if SLOW else 9)):
                with self.subTest(path.name, length=length):
                    self.survives(self.file("cut", whole[:length]))

    def test_damaged_packed_data_is_refused(self):
        zstd = bytearray(self.run_program("zstd", "-c", input=PPROF * 50).stdout)
        packed = bytearray(gzip.compress(PPROF * 50, mtime=0))
        for name, data in (("gzip", packed), ("zstd", zstd)):
            for at in (20, len(data) // 2, len(data) - 3):
                damaged = data[:]
                damaged[at] ^= 0x55
                with self.subTest(name, at=at):
                    self.refused(self.file("damaged", bytes(damaged)), place=r": byte \d+",
                                 says=f"{name} data ", hint="again")

    def test_bytes_that_change_anywhere_do_no_harm(self):
        for name, whole in GOOD.items():
            for at in range(0, len(whole), 1 + len(whole) // (5 if SLOW else 40)):
                for byte in (0, 0x22, 0x80, 0xff):
                    changed = whole[:at] + bytes([byte]) + whole[at + 1:]
                    with self.subTest(name, at=at, byte=byte):
                        self.survives(self.file("changed", changed), "--from", name)


class Dhat(BadInput):
    def test_errors_have_a_position(self):
        def points(**values):
            return dhat(points=[{"tb": 1, "tbk": 1, "fs": [1], **values}])

        # The content, the position of the error (None: the whole file), and its message.
        table = [
            (b"", None, "is empty"),
            (b"{}", None, 'has no "dhatFileVersion"'),
            (b"[]", b"[", "expected an object"),
            (dhat(dhatFileVersion=1), 21, "has version 1 of the DHAT format; only version 2 is supported"),
            (dhat(mode=None), None, 'has no "mode"'),
            (dhat(bklt=True), b'{"tb"', 'the program point has no "mbk"'),
            (dhat(mode=7), b"7", "expected a string, found '7'"),
            (dhat(bklt=0), b"0, ", "expected true or false, found '0'"),
            (dhat(pid=-1), b"-1", "from 0 to 18446744073709551615, found -1"),
            (dhat(te=2**64), b"184467", "found 18446744073709551616"),
            (dhat()[:-1] + b', "pid": 2}', b" 2}", 'the key "pid" appears twice'),
            (points(fs=[2]), b'{"tb"', "refers to frame 2, but the frame table has 2"),
            (points(fs=[2**64 - 1]), b'{"tb"', "refers to frame"),
            (points(fs=[-1]), b"-1", "found -1"),
            (points(tb=-1), b"-1", "found -1"),
            (points(tb=2**64), b"184467", f"found {2**64}"),
            (points(tb="1"), b'"1"', "expected a number"),
            (dhat(points=[{"tb": 1, "fs": [1]}]), b'{"tb"', 'has no "tbk"'),
            (dhat(points={}), b"{}", "expected an array"),
            (dhat(frames=[7]), b"7", "expected a string"),
            (dhat(frames={}), b"{}", "expected an array"),
            (dhat().replace(b'"fs"', b'"tb"'), b'"tb": [', 'the key "tb" appears twice'),
            (dhat().replace(b'"fs"', b'\0"fs"'), b"\0", "found byte 0x00"),
            (dhat().replace(b'"cmd"', b'\0"cmd"'), b"\0", "found byte 0x00"),
            (dhat() + b"x", b"x", "expected the end of the file, found 'x'"),
            (dhat().replace(b"[1]}]", b"[1]},]"), b"], \"ftbl", "expected a program point, found ']'"),
            (b'{"x":' + b"[" * 1000000, 6 + 1024, "nested deeper than 1024 levels"),
            (dhat().replace(b'"fs"', b'"x": ' + b"[" * 1000000), b"[" * 1000, "nested deeper than 1024"),
        ]
        for content, where, says in table:
            place = ""
            if where is not None:
                byte = where if isinstance(where, int) else content.rindex(where) + 1
                if where == b"[" * 1000:
                    byte = content.index(where) + 1024 + 1
                place = f":1:{byte}"
            with self.subTest(content[:200]):
                self.refused(self.file("bad", content), "--from", "dhat", place=place, says=says)

    def test_lines_are_counted(self):
        content = dhat().replace(b", ", b",\n").replace(b'"te"', b"te")
        self.refused(self.file("bad", content), place=":10:1", says="a key in quotes, found 't'")
        content = dhat(points=[{"tb": 1, "tbk": 1, "fs": [1]}] * 5).replace(b", ", b",\n")
        content = content.replace(b'"tbk": 1', b'"tbk": x').replace(b'"tbk": x', b'"tbk": 1', 3)
        self.refused(self.file("bad", content), place=":21:8", says="a number, found 'x'")

    def test_a_string_without_an_end_is_refused(self):
        self.refused(self.file("long", b'{"cmd":"' + b"a" * (70 << 20)), "--from", "dhat",
                     place=r":1:\d+", says="a string is longer than 64 MiB")

    def test_invalid_utf8_is_only_noted(self):
        path = self.file("latin", dhat(frames=["[root]", "0x1: f (a.c:1)"]).replace(b" f ", b" \xe9 "))
        done = self.run_program(ALLO, "info", path)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"^note: 1 name is not valid UTF-8 \(first at \S+:1:\d+\)\n$")


class Folded(BadInput):
    def test_errors_have_a_position(self):
        table = [
            (b"", r"", "is empty"),
            (b"main;a 1\nmain;b\n", r":2:1", 'expected "caller;callee count", found "main;b"'),
            (b"main;a 1\n\n# c\nmain;b x\n", r":4:8", 'found "main;b x"'),
            (b"main -1\n", r":1:6", 'found "main -1"'),
            (b"main 18446744073709551616\n", r":1:6", "18446744073709551616"),
            (b"7\n", r":1:1", 'found "7"'),
            (b"main;a 1\nma\0in 2\n", r":2:1", "a name holds a NUL byte"),
        ]
        for content, place, says in table:
            with self.subTest(content):
                self.refused(self.file("bad", content), "--from", "folded", "--strict", place=place, says=says)

    def test_a_line_of_a_comparison_must_have_two_counts(self):
        lines = b"main;a 1 2\n" * 10000 + b"main;b 2\n"  # beyond what tells that it is one
        self.refused(self.file("bad", lines), "--strict", place=r":10001:8",
                     says='expected "caller;callee count count", found "main;b 2"')

    def test_quoted_input_has_no_control_characters(self):
        done = self.run_program(ALLO, "info", "--from", "folded", self.file("bad", b"a\x1b[31m;\rb\n"))
        self.assertIn(b'found "a?[31m;?b"', done.stderr)

    def test_a_line_without_an_end_is_refused(self):
        self.refused(self.file("long", b"a 1\n" + b"a" * (70 << 20)), place=r":2:1",
                     says="larger than 64 MiB")


class Pprof(BadInput):
    def test_errors_have_a_position(self):
        at = len(TYPE) + 1
        table = [
            (b"", r"", "is empty"),
            (b"\0", r": byte 1", "damaged field"),
            (b"\x0a\x05abc", r": byte 1", "damaged field"),
            (TYPE + b"\x08" + b"\xff" * 12, f": byte {at}", "damaged field"),
            (TYPE + sample(), r"", "has no string table"),
            (TYPE + strings(["x"]), f": byte {at + 2}", "does not start with an empty string"),
            (TYPE + strings()[:-1] + b"\x80", r"", ""),  # a changed string is a string
            (TYPE + sample() + strings(), f": byte {at + 2}", "location 1, which does not exist"),
            (TYPE + sample() + LOCATION + strings(), r": byte \d+", "function 1, which does not exist"),
            (TYPE + LOCATION * 2 + FUNCTION + strings(), r": byte \d+", "location 1 appears twice"),
            (TYPE + FUNCTION * 2 + strings(), r": byte \d+", "function 1 appears twice"),
            (TYPE + message(5, number(2, 3)) + strings(), r": byte \d+", "function has the id 0"),
            (TYPE + message(5, number(1, 1), number(2, 99)) + strings(), r": byte \d+",
             "string 99 does not exist, the table has 7"),
            (TYPE + sample((), (5, 6)) + strings(), r": byte \d+",
             "a sample has 2 values, but there are 1 sample types"),
            (sample(()) + strings(), r"", "has samples, but no sample types"),
            (message(1, number(1, 99)) + strings(), r": byte \d+", "string 99 does not exist"),
            (TYPE * 1001 + strings(), r": byte \d+", "more than 1000 sample types"),
            (TYPE + FUNCTION + message(4, number(1, 1), *[message(4, number(1, 1))] * 5000) + strings(),
             r": byte \d+", "more than 4096 lines"),
            (TYPE + strings() + number(13, 99), f": byte {at + len(strings())}", "string 99"),
            (TYPE + strings() + number(14, 99), f": byte {at + len(strings())}", "string 99"),
            ((TYPE + strings() + number(9, 1)) * 2, r": byte \d+", "a second profile follows"),
            (TYPE + number(2, 5) + strings(), f": byte {at}", "damaged field"),
            (TYPE + message(2, b"\x0a\x01\x80") + strings(), r": byte \d+", "damaged list of numbers"),
            (TYPE + message(2, varint(1 << 3 | 3)) + strings(), r": byte \d+", "damaged sample"),
        ]
        for content, place, says in table:
            with self.subTest(content[:60]):
                if says or place:
                    self.refused(self.file("bad", content), "--from", "pprof", place=place, says=says)
                else:
                    self.assertTrue(self.survives(self.file("fine", content), "--from", "pprof"))


class Limits(BadInput):
    """A small file that unpacks to a huge one costs neither memory nor time."""

    MEMORY = 900 << 20

    def limits(self):
        if not SLOW:  # the sanitizer reserves terabytes
            resource.setrlimit(resource.RLIMIT_AS, (self.MEMORY, self.MEMORY))

    def setUp(self):
        """Measures how long this build reads a usual file of 32 MiB, on this machine."""
        super().setUp()
        lines = (32 << 20) // len(FOLDED)
        usual = self.file("usual", FOLDED * lines)
        self.usual_seconds = self.cpu_seconds(lambda: self.must(ALLO, "info", usual))

    def cpu_seconds(self, run):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime

    def refused_soon(self, path, *options, **expected):
        """The limits are 64 MiB to 2 GiB of content: 2 to 64 usual files."""
        seconds = self.cpu_seconds(lambda: self.refused(path, *options, preexec_fn=self.limits, **expected))
        self.assertLess(seconds, 64 * self.usual_seconds)

    def bomb(self, name, piece, start=b""):
        """100 MiB of a piece, packed."""
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        chunk = piece * ((1 << 20) // len(piece))
        packed = packer.compress(start) + b"".join(packer.compress(chunk) for _ in range(100))
        packed += packer.flush()
        self.assertLess(len(packed), 1 << 20)
        return self.file(name, packed)

    @unsanitized  # memory and time are what it looks at
    def test_a_bomb_is_refused(self):
        says = "holds more than 64 MiB once unpacked"
        hint = "unpack it first"
        zeros = self.bomb("zeros.gz", b"\0")
        self.refused_soon(zeros, says="is not a profile of a known format")
        self.refused_soon(zeros, "--from", "folded", says="64 MiB")
        self.refused_soon(zeros, "--from", "dhat", says="expected an object")
        self.refused_soon(zeros, "--from", "pprof", says="damaged field")
        self.refused_soon(self.bomb("lines.gz", b"main;a 1\n"), says=says, hint=hint)
        self.refused_soon(self.bomb("deep.gz", b"a;b;"), "--from", "folded", says="64 MiB")
        self.refused_soon(self.bomb("space.gz", b" ", dhat()[:20]), "--from", "dhat", says=says)
        self.refused_soon(self.bomb("points.gz", b'{"tb":1,"tbk":1,"fs":[]},',
                                    dhat()[:-60].split(b'"pps": [')[0] + b'"pps": ['),
                          says=says, hint=hint)
        self.refused_soon(self.bomb("strings.gz", b"\x32\0", TYPE), says=says, hint=hint)

    @unsanitized  # as above
    def test_a_zstd_bomb_is_refused(self):
        with open(self.tmp / "bomb.zst", "wb") as out:
            subprocess.run(["zstd", "-q", "-c"], input=FOLDED * 4000000, stdout=out, check=True)
        self.refused_soon(self.tmp / "bomb.zst", says="holds more than 64 MiB once unpacked")

    def test_endless_input_is_refused(self):
        self.refused_soon("/dev/zero", says="is not a profile of a known format")
        for name in GOOD:
            self.refused_soon("/dev/zero", "--from", name)

    def test_a_huge_file_without_content_is_refused(self):
        path = self.tmp / "sparse"
        with open(path, "wb") as out:
            out.write(PPROF)
            out.truncate(5 << 30)
        self.refused_soon(path, "--from", "pprof", says="holds more than 2048 MiB")


class Files(BadInput):
    def test_unreadable_files_are_named(self):
        self.refused(self.tmp, says="is a directory, not a profile", place="")
        self.refused("missing", says="cannot open: No such file or directory", place="")
        self.refused("missing/deeper", says="cannot open: No such file or directory", place="")
        self.refused(self.file("empty", b""), says="is empty", place="")
        self.refused(self.file("text", "Dear diary,\n"), says="is not a profile of a known format",
                     hint="'allo formats' lists the formats; --from FORMAT reports the first error in the file", place="")

    def test_a_file_that_may_not_be_read_is_named(self):
        path = self.file("secret", FOLDED)
        path.chmod(0)
        # Even root may not without this capability.
        as_nobody = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] \
            if os.geteuid() == 0 else []
        done = self.run_program(*as_nobody, ALLO, "info", path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.decode(), f"allo: error: {path}: cannot open: Permission denied\n")

    def test_the_wrong_format_is_refused(self):
        for name, content in GOOD.items():
            for other in GOOD:
                if other != name:
                    with self.subTest(name, taken_for=other):
                        self.refused(self.file("file", content), "--from", other)

    def test_an_unknown_format_lists_the_known_ones(self):
        path = self.file("file", FOLDED)
        for option, says in (("--from", r'cannot read the format "nonsense"\n  hint: known formats: '),
                             ("--to", r'cannot write the format "nonsense"\n  hint: known formats: ')):
            done = self.run_program(ALLO, "convert", path, option, "nonsense", "-o", "out.pb.gz")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr.decode(), f"^allo: error: {says}.*pprof")
            self.assertFalse((self.tmp / "out.pb.gz").exists())

    def test_a_fifo_is_read_like_a_file(self):
        fifo = self.tmp / "fifo"
        os.mkfifo(fifo)
        for content in GOOD.values():
            expected = self.allo("info", "--json", self.file("file", content)).replace("file\"", "fifo\"")
            writer = os.fork()
            if writer == 0:
                fifo.write_bytes(content)
                os._exit(0)
            self.assertEqual(self.allo("info", "--json", fifo).replace("file\"", "fifo\""), expected)
            os.waitpid(writer, 0)


class Output(BadInput):
    def convert(self, *arguments, **options):
        return self.run_program(ALLO, "convert", self.tmp / "in", "--to", "pprof", *arguments, **options)

    def setUp(self):
        super().setUp()
        self.file("in", b"".join(b"main;f%d %d\n" % (i, i) for i in range(50000)))

    def test_a_full_disk_is_reported(self):
        done = self.convert("-o", "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(),
                         "^allo: error: /dev/full: cannot write: No space left on device\n  hint: free ")
        with open("/dev/full", "wb") as full:
            for command in (["info", "in"], ["top", "in"], ["tree", "in"], ["help"], ["formats"]):
                done = subprocess.run([ALLO, *command], cwd=self.tmp, stdout=full,
                                      stderr=subprocess.PIPE, env=ENVIRONMENT)
                self.assertEqual(done.returncode, 1, command)
                self.assertIn(b"standard output: cannot write: No space left", done.stderr)

    def test_a_file_that_cannot_grow_is_removed(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        for arguments in (["-o", "out.pb.gz"], ["-o", "out.pb"], ["-o", "old.pb", "-f"]):
            (self.tmp / "old.pb").write_bytes(b"old")
            done = self.convert(*arguments, preexec_fn=limit)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"^allo: error: \S+: cannot write: File too large\n")
            self.assertEqual(sorted(os.listdir(self.tmp)), ["in", "old.pb"])
            self.assertEqual((self.tmp / "old.pb").read_bytes(), b"old")

    def test_a_file_on_a_full_disk_is_removed(self):
        folder = self.tmp / "disk"
        folder.mkdir()
        script = (f"mount -t tmpfs -o size=64k tmpfs disk || exit 77; "
                  f"{QUOTED_ALLO} convert in -o disk/out.pb; status=$?; ls disk; exit $status")
        done = self.run_program("unshare", *([] if IS_ROOT else ["--map-root-user"]), "--mount", "sh", "-c", script)
        if done.returncode == 77 or b"unshare: " in done.stderr:
            # A container may forbid to mount.  /dev/full stands for the disk: nothing may be left beside it, either.
            folder.rmdir()
            done = self.convert("-o", "/dev/full")
            self.assertEqual(sorted(os.listdir(self.tmp)), ["in"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write: No space left on device", done.stderr)
        self.assertEqual(done.stdout, b"")

    def test_a_closed_pipe_is_no_error(self):
        with subprocess.Popen([ALLO, "convert", "in", "--to", "pprof"], cwd=self.tmp, env=ENVIRONMENT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(1)
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(), -signal.SIGPIPE)

    def test_a_closed_output_is_an_error_where_the_signal_is_ignored(self):
        def ignore():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)

        with subprocess.Popen([ALLO, "convert", "in", "--to", "pprof"], cwd=self.tmp, env=ENVIRONMENT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False,
                              preexec_fn=ignore) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(),
                             b"allo: error: standard output: cannot write: Broken pipe\n")
            self.assertEqual(process.wait(), 1)
        done = self.run_program("sh", "-c", f"{QUOTED_ALLO} info in >&-")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output: cannot write: Bad file descriptor", done.stderr)

    def test_existing_files_are_left_alone(self):
        self.file("out.pb.gz", b"mine")
        self.assertEqual(self.convert("-o", "out.pb.gz").returncode, 2)
        self.assertEqual((self.tmp / "out.pb.gz").read_bytes(), b"mine")
        self.assertEqual(self.convert("-o", "missing/out.pb.gz").returncode, 1)
        self.assertEqual(self.convert("-o", self.tmp).returncode, 1)
        self.assertEqual(sorted(os.listdir(self.tmp)), ["in", "out.pb.gz"])
