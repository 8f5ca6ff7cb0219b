"""Heap profiles that are text, by gperftools, tcmalloc, Go and jemalloc, against pprof and jeprof."""
import json
import pathlib
import random
import re

from allotest import ALLO, GOLDEN, Test
from gopprof import raw_text, summed

MAPS = """
MAPPED_LIBRARIES:
55aea3837000-55aea3838000 r--p 00000000 00:00 10960903    /opt/server
55aea3838000-55aea3a38000 r-xp 00001000 00:00 10960903    /opt/server
55aea3a38000-55aea3a3b000 rw-p 00003000 00:00 10960903    /opt/server
7f3e69844000-7f3e6999a000 r-xp 00026000 00:00 332835      /usr/lib/libc.so.6
7f3e6999a000-7f3e699ff000 r-xp 0017c000 00:00 332835      /usr/lib/libc.so.6
7ffd03ad0000-7ffd03ad2000 r-xp 00000000 00:00 0           [vdso]
"""

OTHER_MAPS = """
--- Memory map: ---
  7f3e69844000-7f3e699ff000: /usr/lib/libc.so.6 (@26000) 5a3f10e25a3f10e2
  55aea3838000-55aea3a38000: /opt/server (@1000) 0123456789abcdef
"""


def stacks(raw):
    """The samples, the period and the mappings in the output of `go tool pprof -raw`."""
    head, rest = raw.split("Samples:\n")
    samples, rest = rest.split("Locations\n")
    locations, mappings = (rest + "Mappings\n").split("Mappings\n")[:2]
    address = dict(re.findall(r"^ *(\d+): (0x[0-9a-f]+)", locations, re.M))
    result = []
    for line in samples.splitlines()[1:]:
        sample = re.match(r"^ *(-?\d[-\d ]*): ?([\d ]*)$", line)
        if sample:
            result.append([tuple(map(int, sample[1].split())),
                           tuple(address[number] for number in sample[2].split()), ""])
        else:
            result[-1][2] = line.strip()
    return {"samples": summed(result),
            "period": re.search(r"Period: (\d+)|$", head)[1],
            "mappings": [line.split(": ", 1)[1].rstrip() for line in mappings.splitlines()]}


class HeapText(Test):
    def raw(self, path):
        return stacks(raw_text(self, path))

    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"]
                for metric in self.allo_json("info", path)["metrics"]}

    def agree(self, path, with_mappings=True):
        """pprof reads the same from the file and from our conversion of it."""
        self.allo("convert", "-qfo", "ours.pb.gz", path)
        theirs, ours = self.raw(path), self.raw("ours.pb.gz")
        if not with_mappings:
            del theirs["mappings"], ours["mappings"]
        self.assertEqual(ours, theirs)
        self.assertGreater(len(theirs["samples"]), 0)


    def contradicts(self, path, what):
        """verify reports the sums of the header and of the sites; other commands print a note and go on."""
        done = self.run_program(ALLO, "verify", path)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"1 header contradicts its call sites: it says {what}\n", done.stdout.decode())
        for command in (["info"], ["convert", "--to=csv"]):
            done = self.run_program(ALLO, *command, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"note: 1 header contradicts its call sites: it says {what} (first at ", done.stderr.decode())
        note = json.loads(self.run_program(ALLO, "verify", "--json", path).stdout)["notes"][0]
        self.assertEqual(note["kind"], "totals")
        self.assertEqual(what, f"{note['stated']:,} {note['of']}, they add up to {note['found']:,}")

    def cut(self, path, lines):
        return self.file("cut.heap", "".join(pathlib.Path(path).read_text().splitlines(True)[:lines]))


class Gperftools(HeapText):
    SANITIZED = False  # go does the work here

    def made_up(self, kind, seed, maps=MAPS, has_ever=True):
        """Some hundred lines of every size, with stacks that repeat."""
        pick = random.Random(seed)
        addresses = [pick.randrange(0x55aea3838001, 0x55aea3a38000) for _ in range(40)]
        addresses += [pick.randrange(0x7f3e69844001, 0x7f3e699ff000) for _ in range(40)]
        lines, sums = [], [0, 0, 0, 0]
        for _ in range(300):
            size = int(2 ** pick.uniform(0, 24))
            ever = pick.randrange(1, 1000)
            live = pick.choice([0, ever, pick.randrange(0, ever + 1), -pick.randrange(1, 9)])
            counts = [live, live * size, ever if has_ever else live, (ever if has_ever else live) * size]
            counts = [abs(count) if i > 1 else count for i, count in enumerate(counts)]
            sums = [a + b for a, b in zip(sums, counts)]
            stack = pick.choices(addresses, k=pick.randrange(0, 12))
            lines.append(f"{counts[0]:6}: {counts[1]:8} [{counts[2]:6}: {counts[3]:8}] @"
                         + "".join(f" {address:#x}" for address in stack))
        if not has_ever:
            sums[2:] = sums[:2]
        sums = [abs(value) for value in sums]
        return (f"heap profile: {sums[0]:6}: {sums[1]:8} [{sums[2]:6}: {sums[3]:8}] @ {kind}\n"
                + "\n".join(lines) + "\n" + maps)

    def test_samples_are_those_of_pprof(self):
        for name in ("gperftools.heap", "go-heap-debug1.txt"):
            with self.subTest(name):
                self.agree(GOLDEN / "gperftools" / name, with_mappings=name.endswith(".heap"))

    def test_every_kind_is_unsampled_as_pprof_does_it(self):
        kinds = ("heapprofile", "heap_v2/524288", "heapz_v2/4096", "heap/1048576", "heap/1024",
                 "heap/3", "heap_v2/1", "heap_v2/", "heap_v2", "growth", "growthz", "fragmentation")
        for seed, kind in enumerate(kinds):
            for has_ever in (True, False):
                if kind[0] in "gf" and has_ever:
                    continue
                with self.subTest(kind, has_ever=has_ever):
                    self.agree(self.file("made.heap", self.made_up(kind, seed, MAPS, has_ever)))

    def test_the_short_form_of_maps_is_that_of_pprof(self):
        self.agree(self.file("made.heap", self.made_up("heap_v2/524288", 1, OTHER_MAPS)))

    def test_a_line_without_blocks_but_with_bytes_is_refused(self):
        path = self.file("made.heap", "heap profile: 1: 8 [1: 8] @ heapprofile\n0: 8 [0: 0] @ 0x5\n")
        self.assertIn("made.heap:2:1: 8 bytes in 0 blocks", self.allo_fails("info", path))

    def test_tcmalloc_is_read_as_by_pprof(self):
        source = self.file("tc.cpp", """
            #include <gperftools/heap-profiler.h>
            #include <gperftools/malloc_extension.h>
            #include <cstdio>
            #include <cstdlib>
            #include <string>
            void *keep[4000];
            __attribute__((noinline)) static void *make(size_t n) { return malloc(n); }
            static void save(const char *name, const std::string &text)
            {
                    FILE *file = fopen(name, "w");
                    fwrite(text.data(), 1, text.size(), file);
                    fclose(file);
            }
            int main()
            {
                    HeapProfilerStart("exact");
                    for (int i = 0; i < 23; i++)
                            keep[i] = make(1009);
                    for (int i = 0; i < 17; i++)
                            free(make(5003));
                    HeapProfilerDump("test");
                    HeapProfilerStop();
                    for (int i = 100; i < 4000; i++)
                            keep[i] = make(7001);
                    std::string sampled, growth;
                    MallocExtension::instance()->GetHeapSample(&sampled);
                    save("sampled.heap", sampled);
                    MallocExtension::instance()->GetHeapGrowthStacks(&growth);
                    save("growth.heap", growth);
            }
            """)
        self.must("g++", "-O1", source, "-o", "tc", "-ltcmalloc")
        self.must("env", "TCMALLOC_SAMPLE_PARAMETER=65536", "./tc")
        for path in ("exact.0001.heap", "sampled.heap", "growth.heap"):
            with self.subTest(path):
                self.agree(self.tmp / path)
                self.allo("verify", path)
        self.assertEqual(self.sums("exact.0001.heap"),
                         {"live_blocks": 23, "live_bytes": 23 * 1009,
                          "alloc_blocks": 40, "alloc_bytes": 23 * 1009 + 17 * 5003})
        self.assertEqual(sorted(self.sums("growth.heap")), ["alloc_blocks", "alloc_bytes"])

    def test_mappings_of_gperftools_are_not_in_its_header(self):
        self.allo("verify", self.file("mmap.heap", "heap profile: 1: 8 [1: 8] @ heapprofile\n"
                                      "1: 4096 [1: 4096] @ 0x7\n1: 8 [1: 8] @ 0x5\n"))

    def test_a_header_that_contradicts_its_sites_is_named(self):
        folder = GOLDEN / "gperftools"
        self.contradicts(self.cut(folder / "gperftools.heap", 2), "1,088,576 bytes, they add up to 1,048,576")
        self.contradicts(self.cut(folder / "go-heap-debug1.txt", 2), "53,888 bytes, they add up to 26,752")
        for kind, sites, what in (
                ("heapprofile", "2: 16 [4: 32]", "3 blocks, they add up to 2"),
                ("heapprofile", "3: 16 [3: 24]", "32 allocated bytes, they add up to 24"),
                ("heap_v2/4096", "3: 16 [5: 32]", "4 allocated blocks, they add up to 5"),
                ("growth", "4: 32 [4: 32]", "16 bytes, they add up to 32"),
                ("heap_v2/4096", "-3: -16 [4: 32]", "16 bytes, they add up to -16")):
            with self.subTest(kind, sites=sites):
                self.contradicts(self.file("made.heap", f"heap profile: 3: 16 [4: 32] @ {kind}\n{sites} @ 0x5\n"), what)
        cut = self.cut(folder / "gperftools.heap", 2)
        self.assertIn("2 headers contradict their call sites: the first says 1,088,576 bytes, its sites add up to",
                      self.run_program(ALLO, "convert", "--to=csv", cut, cut).stderr.decode())

    def test_names_come_from_the_comments_of_go(self):
        source = self.file("main.go", "\n".join((
            "package main",
            'import ("os"; "runtime"; "runtime/pprof")',
            "var kept [23][]byte",
            "//go:noinline",
            "func keep(n int) {",
            "    for i := 0; i < 23; i++ { kept[i] = make([]byte, n) }",  # line 6
            "}",
            "func main() {",
            "    runtime.MemProfileRate = 1",
            "    keep(64 << 10)",  # line 10
            "    runtime.GC(); runtime.GC()",
            '    pprof.Lookup("heap").WriteTo(os.Stdout, 1)',
            "}")))
        self.must("go", "build", "-o", "keep", source)
        path = self.file("heap.txt", self.must("./keep"))
        self.agree(path, with_mappings=False)
        rows = self.allo_json("top", "--by=site", path)["rows"]
        row = next(row for row in rows if row["name"] == "main.keep")
        # Newer versions of Go add frames of the allocator, which have no names.
        self.assertEqual((row["line"], row["total"], row["total_blocks"]), (6, 23 << 16, 23))
        self.assertTrue(row["file"].endswith("/main.go"))
        self.assertEqual([row["line"] for row in rows if row["name"] == "main.main"], [10])


class Jemalloc(HeapText):
    SANITIZED = False  # jeprof does the work here

    PROGRAM = """
        #include <jemalloc/jemalloc.h>
        #include <stdlib.h>
        void *keep[23];
        __attribute__((noinline)) static void *make(size_t n) { return malloc(n); }
        int main(int argc, char **argv)
        {
                const char *to = argv[argc - 1];
                for (int i = 0; i < 23; i++)
                        keep[i] = make(1009);
                for (int i = 0; i < 17; i++)
                        free(make(5003));
                return mallctl("prof.dump", NULL, NULL, &to, sizeof(to));
        }
        """

    def record(self, path, **options):
        options = {"prof": "true", "prof_active": "true", **options}
        if not (self.tmp / "je").exists():
            self.must("gcc", "-O1", self.file("je.c", self.PROGRAM), "-o", "je", "-ljemalloc")
        conf = ",".join(f"{name}:{value}" for name, value in options.items())
        self.must("env", f"MALLOC_CONF={conf}", "./je", path)

    def jeprof(self, path, what):
        text = self.must("jeprof", "--text", "--show_bytes", f"--{what}", "./je", path)
        return int(re.match(r"Total: (\d+) ", text)[1])

    def test_all_that_was_allocated_is_counted_when_nothing_is_sampled(self):
        self.record("exact.heap", lg_prof_sample=0, prof_accum="true")
        blocks = {row["self"] for row in self.allo_json("top", "--by=site", "-Mlive_bytes",
                                                         "exact.heap")["rows"]}
        self.assertIn(23 * 1024, blocks)  # jemalloc counts whole size classes
        sums = self.sums("exact.heap")
        self.assertEqual(sums["alloc_blocks"] - sums["live_blocks"], 17)
        self.assertEqual(sums["alloc_bytes"] - sums["live_bytes"], 17 * 5120)

    def test_sums_are_those_of_jeprof(self):
        self.record("exact.heap", lg_prof_sample=0, prof_accum="true")
        self.record("sampled.heap", lg_prof_sample=10, prof_accum="true")
        names = {"inuse_objects": "live_blocks", "inuse_space": "live_bytes",
                 "alloc_objects": "alloc_blocks", "alloc_space": "alloc_bytes"}
        for path in ("exact.heap", "sampled.heap", GOLDEN / "jemalloc" / "jemalloc.heap"):
            sums = self.sums(path)
            for theirs, ours in names.items():
                with self.subTest(f"{path}: {ours}"):
                    # jeprof adds up fractions that we cut off, stack by stack.
                    self.assertAlmostEqual(sums[ours], self.jeprof(path, theirs), delta=10)

    def test_without_prof_accum_only_live_blocks_are_known(self):
        self.record("live.heap", lg_prof_sample=0, prof_accum="false")
        self.assertEqual(sorted(self.sums("live.heap")), ["live_blocks", "live_bytes"])

    def test_stacks_begin_outside_of_jemalloc(self):
        self.record("exact.heap", lg_prof_sample=0)
        modules = {row["name"] for row in self.allo_json("top", "--by=module", "--count=0",
                                                         "exact.heap")["rows"]}
        self.assertIn(str(self.tmp / "je"), modules)
        self.assertFalse([name for name in modules if "jemalloc" in name])


    def test_jemalloc_files_are_valid_until_they_are_cut(self):
        for unbias in ("true", "false"):
            for rate in (0, 4, 10, 12):
                with self.subTest(unbias, rate=rate):
                    self.record("whole.heap", lg_prof_sample=rate, prof_accum="true", prof_unbias=unbias)
                    self.allo("verify", "whole.heap")
                    lines = (self.tmp / "whole.heap").read_text().splitlines()
                    stacks = [i for i, line in enumerate(lines) if line[:1] == "@"]
                    # The sampler may have seen too little of a half to miss it.
                    cut = stacks[len(stacks) // 2 if rate < 10 else 0]
                    self.assertIn("header contradicts its call sites", self.run_program(
                        ALLO, "verify", self.cut(self.tmp / "whole.heap", cut)).stdout.decode())


class JemallocText(HeapText):
    def test_a_header_that_contradicts_its_sites_is_named(self):
        path = GOLDEN / "jemalloc" / "jemalloc.heap"
        self.allo("verify", path)
        for lines, found in ((3, "0"), (6, "1,048,576"), (9, "1,447,608")):
            self.contradicts(self.cut(path, lines),
                             f"1,531,243 bytes (estimated), they add up to {found}")
        exact = "heap_v2/1\n  t*: 9: 900 [0: 0]\n@ 0x5\n  t*: 8: 800 [0: 0]\n"
        self.contradicts(self.file("exact.heap", exact), "900 bytes, they add up to 800")
        most = (1 << 63) - 1
        huge = f"heap_v2/1024\n  t*: {most}: {most} [0: 0]\n@ 0x5\n  t*: 1: 4096 [0: 0]\n"
        self.contradicts(self.file("huge.heap", huge), f"{most:,} bytes (estimated), they add up to 4,172")

    def test_each_stack_is_unsampled_separately(self):
        path = self.file("made.heap", "heap_v2/524288\n"
                         "  t*: 4: 4096 [0: 0]\n  t0: 4: 4096 [0: 0] main thread\n"
                         "@ 0x1001 0x2001\n  t*: 2: 2048 [0: 0]\n  t0: 2: 2048 [0: 0]\n"
                         "@ 0x1002 0x2001\n  t*: 2: 2048 [0: 0]\n  t3: 2: 2048 [0: 0]\n")
        self.assertEqual(self.sums(path), {"live_blocks": 2050, "live_bytes": 2099200})
        self.assertEqual(self.allo_json("info", path)["period"], 524288)

    def test_maps_of_macos_name_the_modules(self):
        path = self.file("made.heap", "heap_v2/1\n  t*: 1: 8 [0: 0]\n"
                         "@ 0x100000100 0x200000100\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n"
                         "0000000200000000-0000000200004000: /usr/lib/libSystem.B.dylib\n"
                         "0000000100000000-0000000100004000: /Users/me/My App\n")
        rows = self.allo_json("top", "--by=address", path)["rows"]
        self.assertEqual({row["name"] for row in rows},
                         {"0x1000000ff [My App]", "0x2000000ff [libSystem.B.dylib]"})

    def test_damage_is_named_with_its_place(self):
        head = "heap_v2/4096\n  t*: 1: 8 [0: 0]\n"
        for text, error in (
                ("heap_v2/x\n", "1:1: expected \"heap_v2/RATE\""),
                (head + "@ 0x1 0x2\n@ 0x3\n", "4:1: the stack before has no \"t*:\" line"),
                (head + "@ 0x1 0x2\n", "the stack before has no \"t*:\" line"),
                (head + "@ 0x1 2\n", "3:7: expected an address"),
                (head + "@ 0x1\n  t*: 1: x [0: 0]\n", "4:3: expected \"t*: BLOCKS: BYTES"),
                (head + "what?\n", "3:1: expected a stack")):
            with self.subTest(text):
                path = self.file("broken.heap", text)
                self.assertIn(error, self.allo_fails("info", "--from=jemalloc", path))
