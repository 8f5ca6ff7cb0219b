"""Large inputs: twice the size takes twice the time, and memory only where it must."""
import os
import random
import subprocess

from allotest import ALLO, ENVIRONMENT, SLOW, Test, unsanitized
from inputs import FUNCTION, LOCATION, TYPE, dhat, message, number, numbers, sample, strings

SCALE = 10 if SLOW else 1


def deep_folded(depth):
    return b";".join(b"f%d" % (i % 1000) for i in range(depth)) + b" 7\nmain;f 1\n"


def functions_and_locations(count):
    """Functions named like the strings behind those that `strings` has, and a location for each."""
    functions = b"".join(message(5, number(1, i), number(2, 6 + i)) for i in range(1, count + 1))
    locations = b"".join(message(4, number(1, i), number(3, 16 * i), message(4, number(1, i)))
                         for i in range(1, count + 1))
    return functions + locations + strings() + b"".join(message(6, b"f%d" % i) for i in range(count))


def deep_pprof(depth):
    return (TYPE + sample([1 + i % 1000 for i in range(depth)], [7]) + sample([1], [1])
            + functions_and_locations(1000))


def wide_pprof(samples):
    chance = random.Random(1)
    parts = [TYPE]
    for i in range(samples):
        parts.append(sample([chance.randrange(1, 1001) for _ in range(10)], [i]))
    return b"".join(parts) + functions_and_locations(1000)


def points(count, extra=""):
    chance = random.Random(2)
    counts = ",".join(str(i * 7 % 300) for i in range(64))
    for i in range(count):
        stack = ",".join(str(chance.randrange(1, 2000)) for _ in range(12))
        yield (f'{{"tb":{i},"tbk":1,"tl":{i},"mb":1,"mbk":1,"gb":1,"gbk":1,"eb":0,"ebk":0,"rb":{i},'
               f'"wb":{i},{extra}"acc":[{counts}],"fs":[{stack}]}}')


def large_dhat(count, extra="", address="0x{:X}"):
    frames = ["[root]"] + [address.format(4096 + i * 16) + f": name_{i} (file.c:{i})"
                           for i in range(1, 2000)]
    whole = dhat(points=["POINTS"], frames=frames, bklt=True, bkacc=True, tuth=1, tg=1)
    return whole.replace(b'"POINTS"', ",\n".join(points(count, extra)).encode())


def one_address(entries):
    """All frames at one address, as if each were inlined into the next."""
    return dhat(points=[{"tb": 1, "tbk": 1, "fs": list(range(1, entries))}],
                frames=["[root]"] + [f"0x10: f{i} (a.c:{i})" for i in range(1, entries)])


def odd_lines(count):
    """Every line has something to note."""
    return b"".join(b"main;\xff%d 1.5\n" % i for i in range(count))


def many_labels(count):
    """One stack, over and over, each time with another label."""
    label = [message(3, number(1, 5), number(3, i + 1)) for i in range(count)]
    return TYPE + b"".join(sample((1,), (1,), text) for text in label) + LOCATION + FUNCTION + strings()


def large_ids(count):
    """Locations with numbers that no table of that size could have."""
    ids = [(i + 1) * 0x9e3779b97f4a7c15 % 2**64 for i in range(count)]
    return (TYPE + b"".join(message(4, number(1, i), message(4, number(1, 1))) for i in ids)
            + b"".join(message(2, numbers(1, [i]), numbers(2, [1])) for i in ids) + FUNCTION + strings())


class Large(Test):
    def setUp(self):
        super().setUp()
        self.contents = {}
        self.writers = [f["name"] for f in self.allo_json("formats")["formats"] if f["write"]]

    def measure(self, *arguments):
        """CPU seconds and KiB of memory that a command took, by time(1): the numbers of wait4() would
        count the pages of this interpreter."""
        done = self.run_program("/usr/bin/time", "-q", "-f", "%U %S %M", "-o", self.tmp / "figures", ALLO,
                                *arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stderr[-2000:]}")
        user, system, memory = (self.tmp / "figures").read_text().split()
        return float(user) + float(system), int(memory)

    def made(self, name, make, size):
        """A file; nothing is made twice in a row."""
        if self.contents.get(name) != (make, size):
            self.contents[name] = make, size
            self.file(name, make(size))
        return self.tmp / name

    def grows_linearly(self, make, size, *commands):
        size //= SCALE
        for command in commands:
            with self.subTest(make.__name__, command=command):
                for attempt in range(3):  # others use the machine, too
                    many, memory = self.measure(*command, self.made("large", make, 2 * size))
                    if many < 0.1:
                        break
                    few, _ = self.measure(*command, self.made("small", make, size))
                    if many / few < 3:
                        break
                else:
                    self.fail(f"{few:.3f} s, then {many:.3f} s for twice the size")
                self.assertLess(memory, 1 << 20, "KiB")

    def converts_linearly(self, make, size):
        """All writers.  SQLite takes ten times as long as the others, and is measured with less."""
        for writer in sorted(self.writers, key=lambda name: name != "sqlite"):
            self.grows_linearly(make, size // 4 if writer == "sqlite" else size,
                                ["convert", "-q", "-f", "-o", f"out-{writer}", "--to", writer])

    @unsanitized  # time and memory are what it looks at
    def test_half_a_million_frames_deep(self):
        views = [["top", "--by", "site", "--json"], ["tree", "--json", "--min", "0"],
                 ["tree", "--invert", "--json", "--depth", "5"], ["info"], ["diff", "large"],
                 ["convert", "-q", "-f", "-o", "out.pb", "--trim-allocator", "--hide", "f7"]]
        self.converts_linearly(deep_folded, 250000)
        for make in (deep_folded, deep_pprof):
            self.grows_linearly(make, 250000, ["top"], ["tree"], ["convert", "-q", "-f", "-o", "out.json"])
            for view in views:
                _, memory = self.measure(*view, "large")
                self.assertLess(memory, 1 << 20, "KiB")

    def test_a_dhat_file_of_20_mb(self):
        self.converts_linearly(large_dhat, 26000)
        self.grows_linearly(large_dhat, 26000, ["top"])
        self.assertGreater((self.tmp / "large").stat().st_size, 20e6 / SCALE)
        # Points of a file are streamed: only the frame table stays in memory.
        _, memory = self.measure("convert", "-q", "-f", "large", "-o", "out.pb.gz")
        self.assertLess(memory, (500 if SLOW else 40) << 10, "KiB")
        self.measure("verify", "large")

    @unsanitized  # as above
    def test_a_pprof_file_of_100000_samples(self):
        self.converts_linearly(wide_pprof, 50000)
        self.grows_linearly(wide_pprof, 50000, ["top"])
        self.measure("tree", "large")

    def test_files_made_to_be_slow(self):
        pprof = ["convert", "-q", "-f", "-o", "out.pb"]
        self.grows_linearly(odd_lines, 50000, pprof)
        self.grows_linearly(one_address, 50000, pprof, ["top"], ["tree"])
        self.grows_linearly(many_labels, 30000, pprof, ["top"])
        self.grows_linearly(large_ids, 30000, pprof)

        def borders_everywhere(count):
            return large_dhat(count, extra='"x":["},{","},{",{"y":[{},{}]}],')

        self.grows_linearly(borders_everywhere, 5000, pprof)

        def spaces(count):
            return dhat().replace(b'"pps"', b" " * count + b'"pps"')

        self.grows_linearly(spaces, 20 << 20, pprof)

    def test_a_pipe_that_gives_little_at_a_time(self):
        """A line of megabytes that comes in pieces of kilobytes is looked through once."""
        content = deep_folded(2000000 // SCALE)
        with subprocess.Popen([ALLO, "info", "--json", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, env=ENVIRONMENT) as process:
            for at in range(0, len(content), 4096):
                os.write(process.stdin.fileno(), content[at:at + 4096])
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        at_once, _ = self.measure("info", "--json", self.file("deep.folded", content))
        # Looking through the line for each of its thousands of pieces would take thousands of times as long.
        self.assertLess(usage.ru_utime + usage.ru_stime, 50 * max(at_once, 0.01))
