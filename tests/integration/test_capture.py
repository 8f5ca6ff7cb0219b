"""Recordings of programs with known allocations."""
import collections
import json
import shutil
import subprocess
import time

from allotest import ALLO, ENVIRONMENT, ROOT
from rawrecording import RawRecording
from recordings import CaptureTest, built, counted, counter, libraries, preloaded

# The allocations of each function of entry_points.c: blocks by size.
ENTRY_POINTS = {
    "use_malloc": {1009: 23}, "use_calloc": {1477: 19}, "use_realloc": {1013: 17}, "use_reallocarray": {1111: 13},
    "use_aligned_alloc": {1088: 11}, "use_posix_memalign": {1019: 29}, "use_memalign": {1021: 31},
    "use_valloc": {1031: 5}, "use_pvalloc": {1033: 3}, "use_strdup": {1039: 37}, "use_strndup": {1049: 41},
    "use_resizes": {2003: 9, 200003: 9, 307: 9}, "use_realloc_to_nothing": {1061: 7}, "use_no_bytes": {0: 6},
    "use_free_sized": {1063: 3}, "use_usable_size": {1069: 4}, "use_leaks": {4099: 8}, "use_failures": {1087: 1},
}

# The same of new_delete.cpp; exceptions allocate elsewhere.
NEW_DELETE = {
    "use_new()": {1009: 23}, "use_new_array()": {1013: 19}, "use_new_nothrow()": {1019: 17},
    "use_new_array_nothrow()": {1021: 13}, "use_new_aligned()": {64 * 17: 11},
    "use_new_array_aligned()": {64 * 19: 29}, "use_new_aligned_nothrow()": {64 * 23: 31},
    "use_new_array_aligned_nothrow()": {64 * 29: 37}, "use_delete_sized()": {1031: 82},
    "use_delete_sized_aligned()": {64 * 31: 86}, "use_throwing_constructor()": {1033: 7},
}

# The same of mappings.c, in pages; a mapping that was cut counts as resized, and its second part as new.
MAPPINGS = {
    "use_mmap": {1009: 23}, "use_mmap64": {1013: 7}, "use_files": {1019: 19}, "use_shared": {1021: 13},
    "use_reservations": {1031: 17}, "use_odd_lengths": {1033: 11}, "cut_start": {1039: 5, 1032: 5},
    "cut_end": {1049: 3, 1040: 3}, "cut_middle": {1051: 9, 500: 9, 540: 9},
    "put_over": {1061: 1, 761: 1, 300: 2, 461: 2, 101: 1, 60: 1}, "resize": {1063: 6, 3 * 1063: 6, 53: 6},
    "move_over": {1069: 1, 307: 1, 2: 1, 756: 1, 311: 1}, "move_part": {1087: 1, 100: 1, 937: 1, 60: 1},
    "double_up": {1091: 2, 1093: 2}, "fail": {1097: 1}, "leak": {2003: 5},
}
PAGE = 4096
BREAKS = {"use_break": {1103: 1, 1000: 1, 9: 1}, "use_break_in_bytes": {1: 3}}
ALL = ["--track", "malloc,new,mmap,brk"]

# Debian's jemalloc.
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

# Programs that make the same calls each time.
STEADY = [["entry_points.c"], ["new_delete.cpp"], ["resizes.c"], ["handover.c"], ["churn.c", 0, 50000],
          ["churn.c", 3, 20000], ["stress_threads.c"], ["stress_statics.cpp"], ["stress_longjmp.c"],
          ["stress_fibers.c"], ["stress_frames.c"], ["boxes.cpp", 23, 7, 11]]


def program(source, *arguments):
    return [built(source), *arguments]


class Files(CaptureTest):
    def test_every_file_with_the_name_of_a_recording_is_one(self):
        command = [built("churn.c"), "0", "1000000"]
        number = 0
        # Recordings begin after 1 to 3 ms, or later on a slow machine.
        while number < 100 or not list(self.tmp.iterdir()):
            with subprocess.Popen(command, env=preloaded(self.tmp / f"{number}.allo"), stdout=subprocess.DEVNULL) as child:
                time.sleep(number * 0.00003)
                child.kill()
            number += 1
        found = list(self.tmp.iterdir())
        for path in found:
            RawRecording(path)

    def test_files_that_can_have_no_name_later_on(self):
        """Without /proc."""
        recorded = [f"{name}={value}" for name, value in preloaded(self.tmp / "it.allo").items()]
        for _ in range(2):
            done = self.run_program("unshare", "--map-root-user", "--mount", "sh", "-c",
                                    'mount -t tmpfs none /proc && exec env "$@"', "sh", *recorded,
                                    *program("entry_points.c"))
            self.assertEqual(done.returncode, 0, done.stderr)
        found = sorted(self.tmp.glob("*.allo"))
        self.assertEqual(len(found), 2)
        for path in found:
            self.allo("verify", path)


class Capture(CaptureTest):
    def sizes(self, recording, function):
        """Blocks by size, of those that a function or its callees allocated."""
        return collections.Counter(event.size for event in recording.events
                                   if event.kind in ("alloc", "resize")
                                   and function in recording.functions(event.stack))

    def stacks(self, recording, size):
        """Allocations of a size by the functions on their stacks."""
        return collections.Counter(tuple(recording.functions(event.stack)) for event in recording.events
                                   if event.kind == "alloc" and event.size == size)

    def must_balance(self, recording):
        self.assertEqual(recording.unbalanced(), {})
        self.assertEqual(recording.dropped, 0)
        self.assertEqual(recording.head.lost_pages, 0)
        self.assertEqual(recording.head.failed_stacks, 0)


class KnownCounts(Capture):
    def test_every_entry_point_is_seen_with_its_caller(self):
        recording = self.record(*program("entry_points.c"))
        for function, sizes in ENTRY_POINTS.items():
            with self.subTest(function):
                self.assertEqual(self.sizes(recording, function), sizes)
        # The buffers that it uses on the way are the C library's own affair.
        self.assertEqual(self.sizes(recording, "use_asprintf")[1051], 43)
        self.must_balance(recording)
        self.assertEqual([size for size in recording.live() if size == 4099], [4099] * 8)
        self.assertEqual(len(recording.live()), 8)

    def blocks_of_malloc(self, track):
        recording = self.record(*program("entry_points.c"), options=["--track", track])
        return self.sizes(recording, "use_malloc")[1009]

    def test_malloc_is_recorded_where_it_is_tracked(self):
        self.assertEqual(self.blocks_of_malloc("malloc"), 23)

    def test_malloc_is_not_recorded_where_only_new_is_tracked(self):
        self.assertEqual(self.blocks_of_malloc("new"), 0)

    def test_a_failed_realloc_leaves_the_block_as_it_was(self):
        recording = self.record(*program("entry_points.c"))
        kept, = [event.pointer for event in recording.events if event.size == 1087]
        kinds = [event.kind for event in recording.events if kept in (event.pointer, event.old)]
        began = len(kinds) - 1 - kinds[::-1].index("alloc")
        # Whether an overflow of reallocarray() comes so far as to be tried is left open.
        self.assertEqual((set(kinds[began + 1:-1]), kinds[-1]), ({"failed"}, "free"))

    def test_every_new_and_delete_is_seen_once(self):
        recording = self.record(*program("new_delete.cpp"))
        for function, sizes in NEW_DELETE.items():
            with self.subTest(function):
                found = self.sizes(recording, function)
                self.assertEqual({size: found[size] for size in sizes}, sizes)
                if function != "use_throwing_constructor()":
                    self.assertEqual(len(found), 1)
        self.must_balance(recording)

    def test_resizes_keep_their_block(self):
        recording = self.record(*program("resizes.c"))
        kinds = collections.Counter(event.kind for event in recording.events)
        self.assertEqual(kinds, {"alloc": 13, "resize": 13 * 32, "free": 7})
        grown = collections.Counter({101 + 17 * step: 13 for step in range(1, 32)})
        self.assertEqual(self.sizes(recording, "grow"), grown)
        self.assertEqual(self.sizes(recording, "shrink"), {50: 13})
        self.assertEqual(recording.live(), [50] * 6)
        self.must_balance(recording)

    def test_blocks_belong_to_the_threads_that_made_them(self):
        recording = self.record(*program("handover.c"))
        names = recording.thread_names()
        made, freed = collections.Counter(), collections.Counter()
        owners = {}
        for event in recording.events:
            if event.kind == "alloc" and "make" in recording.functions(event.stack):
                made[names[event.stream], event.size] += 1
                owners[event.pointer] = names[event.stream]
            elif event.kind == "free" and event.pointer in owners:
                freed[owners[event.pointer], names[event.stream]] += 1
        self.assertEqual(made, {(f"maker-{i}", 2003 + i): 23 + i for i in range(4)})
        self.assertEqual(freed, {(f"maker-{i}", f"maker-{(i + 3) % 4}"): 23 + i for i in range(4)})
        self.must_balance(recording)

    def test_blocks_before_and_after_main(self):
        recording = self.record(*program("stress_statics.cpp"))
        for function, sizes in (("before_everything()", {1009: 1}), ("first()", {1013: 1}), ("last()", {2003: 1}),
                                ("at_exit()", {2011: 5})):
            self.assertEqual(self.sizes(recording, function), sizes)
        sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
        self.assertEqual((sizes[1020], sizes[4100]), (23, 7))
        self.must_balance(recording)

    def test_last_words_of_threads(self):
        recording = self.record(*program("stress_tls.cpp"))
        sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
        # 100 threads, and main()'s own.
        self.assertEqual((sizes[1009], sizes[2004], sizes[308]), (101, 101, 100))
        self.assertEqual(self.sizes(recording, "on_key(void*)"), {4099: 200})
        self.must_balance(recording)

    def test_each_short_thread_is_there_with_its_name(self):
        recording = self.record(*program("stress_threads.c"))
        sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
        self.assertEqual(sizes[1009], 1500)
        self.assertEqual({f"short-{i}" for i in range(500)} - recording.all_names(), set())
        self.must_balance(recording)

    def test_nothing_is_missing_however_a_program_ends(self):
        for how, status in (("_exit", 5), ("quick_exit", 5), ("abort", -6), ("segfault", -11), ("kill", -9),
                            ("exit-in-thread", 5), ("return", 3)):
            with self.subTest(how):
                path = self.tmp / f"{how}.allo"
                done = self.run_program(*program("stress_exits.c", how), env=preloaded(path))
                self.assertEqual(done.returncode, status)
                recording = RawRecording(path)
                sizes = collections.Counter(event.size for event in recording.events if event.kind == "alloc")
                self.assertEqual(sizes[1009], 23)
                pointers = {event.pointer for event in recording.events if event.size == 1009}
                freed = [event for event in recording.events if event.kind == "free" and event.pointer in pointers]
                self.assertEqual(len(freed), 7)
                self.assertEqual(recording.unbalanced(), {})

    def test_children_have_recordings_of_their_own(self):
        self.must(*program("stress_fork.c"), env=preloaded(self.tmp / "%p.allo"))
        recordings = [RawRecording(path) for path in self.tmp.glob("*.allo")]
        self.assertEqual(len(recordings), 1 + 40 + 8)
        parents = {recording.head.pid: recording.head.parent_pid for recording in recordings}
        self.assertEqual(len(parents), 49)
        self.assertEqual(sum(parent in parents for parent in parents.values()), 48)
        for recording in recordings:
            own = self.sizes(recording, "in_child")
            self.assertIn(own, ({4099: 7}, {}), recording.path)
            self.assertTrue(set(recording.unbalanced().values()) <= {-1}, recording.path)
        self.assertEqual(sum(self.sizes(recording, "in_child")[4099] for recording in recordings), 40 * 7)


class Mappings(Capture):
    """Memory from the kernel, without an allocator."""

    def mappings(self, recording):
        return [event for event in recording.events if event.pointer & 1]

    def pages(self, recording, function):
        return {size / PAGE: count for size, count in self.sizes(recording, function).items()}

    def must_be_as_known(self, recording, known):
        for function, pages in known.items():
            with self.subTest(function):
                self.assertEqual(self.pages(recording, function), pages)
        self.must_balance(recording)

    def test_every_mapping_is_seen_with_its_caller(self):
        recording = self.record(*program("mappings.c"), options=["--track", "mmap,brk"])
        self.assertEqual(self.mappings(recording), recording.events)
        self.must_be_as_known(recording, {**MAPPINGS, **BREAKS})
        self.assertEqual(recording.live(), [2003 * PAGE] * 5)
        stack, = self.stacks(recording, 1009 * PAGE)
        self.assertEqual(stack[:2], ("use_mmap", "main"))

    def test_threads_that_share_mappings(self):
        recording = self.record(*program("mappings.c"), options=["--track", "mmap"])
        in_threads = collections.Counter(
            event.size / PAGE for event in self.mappings(recording) if event.size
            and "map_and_unmap" in recording.functions(event.stack) and "main" not in recording.functions(event.stack))
        self.assertEqual(in_threads, {3: 600, 5: 600, 2: 1200})
        # Two mappings of 400 pages are unmapped page by page: the first from both ends.
        own = [event for event in self.mappings(recording) if event.stack
               and "use_threads" in recording.functions(event.stack)]
        first, second = [at for at, event in enumerate(own) if event.kind == "alloc" and event.size == 400 * PAGE]
        self.assertEqual(sorted((event.kind, event.size / PAGE) for event in own[first + 1:second]),
                         [("resize", left) for left in range(1, 400)])
        self.must_balance(recording)

    def test_signal_handlers_that_map(self):
        recording = self.record(*program("mappings.c"), options=["--track", "mmap"])
        self.assertEqual(self.pages(recording, "on_timer"), {1109: 100})
        self.must_balance(recording)

    def test_the_output_of_allo_agrees(self):
        for form in ([], ["--raw"]):
            self.must(ALLO, "run", "-q", "-f", *form, "--track", "mmap,brk", "-o", "m.allo", *program("mappings.c"))
            info = self.allo_json("info", "m.allo")
            sums = {metric["metric"]["name"]: metric["sum"] for metric in info["metrics"]}
            self.assertEqual((sums["peak_blocks"], sums["peak_bytes"]), (23, 23 * 1009 * PAGE))
            self.assertEqual((sums["end_blocks"], sums["end_bytes"]), (5, 5 * 2003 * PAGE))
            self.assertEqual((info["recording"]["unknown_frees"], info["recording"]["dropped_events"]), (0, 0))
        # The last one is raw; which parts threads leave when is not the same each time.
        recording = RawRecording(self.tmp / "m.allo")
        self.assertEqual((sums["alloc_blocks"], sums["alloc_bytes"]),
                         (sum(event.kind != "free" for event in recording.events),
                          sum(event.size or 0 for event in recording.events)))

    def test_only_requested_events_are_recorded(self):
        for track, known in (("malloc,new", {}), ("mmap", MAPPINGS), ("brk", BREAKS)):
            with self.subTest(track):
                recording = self.record(*program("mappings.c"), options=["--track", track])
                self.assertEqual({function for function in {**MAPPINGS, **BREAKS} if self.sizes(recording, function)},
                                 set(known))
                self.must_be_as_known(recording, known)
                recording.path.unlink()
        self.assertEqual(self.mappings(self.record(*program("mappings.c"))), [])

    def test_parts_that_are_too_small_are_left_out(self):
        recording = self.record(*program("mappings.c"), options=["--track", "mmap", "--min-size", str(1035 * PAGE)])
        large = {function: {size: count for size, count in sizes.items() if size >= 1035}
                 for function, sizes in MAPPINGS.items()}
        self.must_be_as_known(recording, large)
        self.assertGreaterEqual(min(event.size for event in recording.events if event.size), 1035 * PAGE)
        self.assertEqual(recording.live(), [2003 * PAGE] * 5)

    def test_a_child_has_only_its_own(self):
        self.must(*program("mappings.c", "children"), env=preloaded(self.tmp / "%p.allo", ALLO_TRACK="mmap"))
        found = [[(event.kind, event.size and event.size / PAGE) for event in RawRecording(path).events]
                 for path in self.tmp.glob("*.allo")]
        self.assertEqual(sorted(found), [[("alloc", 1009), ("resize", 1000), ("free", None)],
                                         [("alloc", 1013), ("resize", 1000)]])

    def test_stacks_are_those_of_libgcc(self):
        path = self.tmp / "checked.allo"
        # Loading libgcc with the first mapping would allocate between two calls of sbrk().
        self.must(*program("mappings.c"), env=preloaded(path, "libgcc_s.so.1", ALLO_TRACK="mmap,brk", ALLO_VERIFY_UNWIND="1"))
        head = RawRecording(path).head
        self.assertGreater(head.checked_stacks, 1000)
        # A signal may come within a procedure linkage table: the stack of its handler is cut there.
        self.assertLessEqual(head.different_stacks, 10)

    def test_an_allocators_own_mappings_are_its_blocks(self):
        recording = self.record(*program("mappings.c"), options=ALL, env={**ENVIRONMENT, "LD_PRELOAD": JEMALLOC})
        self.must_be_as_known(recording, {**MAPPINGS, **BREAKS})
        self.assertTrue(any(not event.pointer & 1 for event in recording.events))
        for event in self.mappings(recording):
            if event.stack:
                self.assertNotIn("libjemalloc", recording.functions(event.stack)[0])

    def test_programs_that_we_did_not_write(self):
        repository = self.tmp / "repository"
        shutil.copytree(ROOT / "include", repository)
        self.must("git", "init", "-q", repository)
        self.must("git", "-C", repository, "add", ".")
        self.must("git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "a")
        script = "import mmap, subprocess\nm = mmap.mmap(-1, 1009 * 4096)\nm.resize(2003 * 4096)\n" \
                 "print(len(m), len([str(i) for i in range(100000)]), subprocess.run('true').returncode)\nm.close()"
        for name, command in (
                ("python3", ["/usr/bin/python3", "-c", script]),
                ("sqlite3", ["sqlite3", ":memory:", "pragma mmap_size=9999999; create table t(a); insert into t "
                             "select hex(value) from generate_series(1, 3000); select count(*), max(a) from t;"]),
                ("git", ["git", "-C", str(repository), "log", "--stat"]),
                ("perl", ["perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..3000; print scalar keys %h"]),
                ("bash", ["bash", "-c", "for i in {1..300}; do x=$(echo $i); done; echo $x | cat"])):
            with self.subTest(name):
                (self.tmp / name).mkdir()
                said = self.must(ALLO, "run", "-q", *ALL, "-o", f"{name}/%e.%p.%n.allo", "--", *command)
                self.assertEqual(said, self.must(*command))
                found = sorted((self.tmp / name).glob("*.allo"))
                self.assertTrue(found)
                for path in found[:20]:
                    self.allo("verify", path)
        recording = self.record("/usr/bin/python3", "-c", script, options=[*ALL, "--no-follow"])
        sizes = collections.Counter(event.size / PAGE for event in self.mappings(recording) if event.size)
        self.assertEqual((sizes[1009], sizes[2003]), (1, 1))


class SecondOpinions(Capture):
    def test_totals_are_those_of_a_counter(self):
        for source, *arguments in STEADY:
            with self.subTest(source=source, arguments=arguments):
                counts = self.tmp / "-".join(str(word) for word in (source, *arguments))
                alone = {**ENVIRONMENT, "LD_PRELOAD": str(counter()), "ALLO_TEST_COUNTS": str(counts)}
                self.must(*program(source, *arguments), env=alone)
                path, = self.tmp.glob(f"{counts.name}.*")
                expected = counted(counts, path.suffix[1:])
                self.must(*program(source, *arguments), env=preloaded(self.tmp / "recorded"))
                self.assertEqual(RawRecording(self.tmp / "recorded").totals(), expected)
                (self.tmp / "recorded").unlink()

    def test_totals_of_programs_that_vary_are_those_of_a_counter_in_the_same_process(self):
        script = ("import threading, json\n"
                  "def work():\n"
                  "    for i in range(300): json.loads(json.dumps([{'a': [i] * 50, 'b': str(i) * 9}]))\n"
                  "threads = [threading.Thread(target=work) for _ in range(4)]\n"
                  "for t in threads: t.start()\n"
                  "for t in threads: t.join()\n")
        for name, command in (("python", ["/usr/bin/python3", "-c", script]),
                              ("signals", program("stress_signals.c")),
                              ("exceptions", program("stress_exceptions.cpp")),
                              ("dlopen", program("stress_dlopen.c", *libraries(), 50, 2)),
                              ("perl", ["perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..3000; print scalar keys %h"])):
            with self.subTest(name):
                path = self.tmp / f"{name}.allo"
                self.must(*command, env=preloaded(path, counter(), ALLO_TEST_COUNTS=str(self.tmp / name),
                                                  PYTHONMALLOC="malloc"))
                recording = RawRecording(path)
                self.assertEqual(recording.totals(), counted(self.tmp / name, recording.head.pid))
                self.must_balance(recording)

    def dhat(self, *command):
        """Sums of all allocations, of blocks that were live at the end, and at the peak."""
        self.must("valgrind", "--tool=dhat", "--dhat-out-file=dhat.json", "--run-libc-freeres=no",
                  "--run-cxx-freeres=no", *command)
        points = json.loads((self.tmp / "dhat.json").read_text())["pps"]
        return [sum(point[key] for point in points) for key in ("tb", "tbk", "eb", "ebk", "gb")]

    def test_totals_are_those_of_dhat(self):
        for source, *arguments in (["resizes.c"], ["churn.c", 0, 20000], ["stress_frames.c"], ["stress_longjmp.c"],
                                   ["boxes.cpp", 23, 7, 11]):
            with self.subTest(source=source, arguments=arguments):
                expected = self.dhat(*program(source, *arguments))
                self.must(*program(source, *arguments), env=preloaded(self.tmp / "recorded"))
                recording = RawRecording(self.tmp / "recorded")
                allocations, resizes, _, size = recording.totals()
                live = recording.live()
                self.assertEqual([size, allocations + resizes, sum(live), len(live)], expected[:4])
                # And in allo's output.
                sums = {metric["metric"]["name"]: metric["sum"]
                        for metric in self.allo_json("info", recording.path)["metrics"]}
                self.assertEqual([sums[name] for name in ("alloc_bytes", "alloc_blocks", "end_bytes", "end_blocks",
                                                          "peak_bytes")], expected)
                recording.path.unlink()


class TwoReaders(Capture):
    """allo's reader agrees with the plain reader."""

    def must_agree(self, recording, in_order):
        kinds = {"realloc": "resize", "realloc-failed": "failed"}
        ours = []
        for line in self.allo("events", "--json", recording.path).splitlines():
            event = json.loads(line)
            ours.append((kinds.get(event["event"], event["event"]), event["pointer"], event.get("size"),
                         event.get("stack"), event.get("old_pointer")))
        theirs = [(event.kind, event.pointer, event.size, event.stack, event.old) for event in recording.events]
        if in_order:
            self.assertEqual(ours, theirs)
        self.assertEqual(collections.Counter(ours), collections.Counter(theirs))
        info = self.allo_json("info", recording.path)["recording"]
        allocations, resizes, frees, _ = recording.totals()
        self.assertEqual((info["allocations"], info["reallocs"], info["frees"], info["unknown_frees"]),
                         (allocations + resizes, resizes, frees, 0))

    def test_events_of_one_thread_are_the_same_in_the_same_order(self):
        for source, *arguments in (["entry_points.c"], ["resizes.c"], ["new_delete.cpp"], ["churn.c", 0, 50000]):
            with self.subTest(source):
                self.must(*program(source, *arguments), env=preloaded(self.tmp / source))
                self.must_agree(RawRecording(self.tmp / source), True)

    def test_events_of_many_threads_are_the_same(self):
        for source, *arguments in (["churn.c", 3, 20000], ["stress_threads.c"], ["stress_signals.c"], ["handover.c"]):
            with self.subTest(source):
                self.must(*program(source, *arguments), env=preloaded(self.tmp / source))
                self.must_agree(RawRecording(self.tmp / source), False)


class Stacks(Capture):
    def test_a_stack_goes_from_the_call_to_the_start(self):
        recording = self.record(*program("entry_points.c"))
        stack, = self.stacks(recording, 1009)
        self.assertEqual(stack[:2], ("use_malloc", "main"))
        self.assertEqual(stack[-1], "_start")
        # __libc_start_call_main and __libc_start_main, whose names are not in every libc.so.6.
        self.assertEqual(len(stack), 5)

    def test_frames_of_every_kind(self):
        recording = self.record(*program("stress_frames.c"))
        for size, function in ((1009, "with_alloca"), (1013, "with_array"), (1019, "with_alignment"),
                               (1021, "with_alignment_and_alloca")):
            (stack, count), = self.stacks(recording, size).items()
            self.assertEqual((stack[:3], count), (("allocate", function, "main"), 23))
        (stack, count), = self.stacks(recording, 1031).items()
        self.assertEqual((stack[:4], count), (("allocate", "never_returns", "ends_in_a_call", "main"), 23))
        # Called from two places: two stacks, told apart though all frames lie where they lay.
        places = collections.Counter(event.stack for event in recording.events if event.size == 1033)
        self.assertEqual(sorted(places.values()), [11, 12])

    def test_frames_that_longjmp_left(self):
        recording = self.record(*program("stress_longjmp.c"))
        expected = collections.Counter()
        for number in range(500):
            depth, name, size = ((number % 50, "deeper", 1009) if number % 2 == 0 else
                                 (number % 30, "deeper_and_wider", 1013))
            for frames in range(1, depth + 2):
                expected[size, name, frames] += 1
        found = collections.Counter()
        for size, name in ((1009, "deeper"), (1013, "deeper_and_wider")):
            for stack, count in self.stacks(recording, size).items():
                frames = stack.count(name)
                self.assertEqual(stack[:frames + 2], (*[name] * frames, "jump", "main"))
                found[size, name, frames] += count
        self.assertEqual(found, expected)

    def test_fibers_have_their_own_stacks(self):
        recording = self.record(*program("stress_fibers.c"))
        expected, found = collections.Counter(), collections.Counter()
        for number in (fiber + turn for turn in range(6) for fiber in range(40)):
            for depth in range(number % 12 + 1):
                expected[1009 + depth, number % 12 - depth + 1] += 1
        for size in range(1009, 1009 + 12):
            for stack, count in self.stacks(recording, size).items():
                frames = stack.count("descend")
                self.assertEqual(stack[:frames + 1], (*["descend"] * frames, "run"))
                # Then comes __start_context, by makecontext(), and nothing else.
                self.assertEqual(len(stack), frames + 2)
                found[size, frames] += count
        self.assertEqual(found, expected)

    def test_stacks_go_through_signal_handlers(self):
        recording = self.record(*program("stress_signals.c"))
        for signal, size, handler in ((10, 1009, "on_inner"), (12, 2003, "on_outer")):
            for stack in self.stacks(recording, size + signal):
                self.assertEqual(stack[:2], ("in_handler", handler))
                self.assertIn("main", stack)
        timed = self.stacks(recording, 4099 + 14)
        self.assertGreaterEqual(sum(timed.values()), 40)
        for stack in timed:
            self.assertEqual(stack[:2], ("in_handler", "on_timer"))
            # A thread may be interrupted before it reaches our function; libc starts it.
            self.assertTrue("main" in stack or "libc.so" in stack[-1], stack)

    def test_stacks_deeper_than_asked_for_are_cut_and_say_so(self):
        recording = self.record(*program("stress_recursion.c"), options=["--stack-depth", "50"])
        for event in recording.events:
            if event.size == 1009:
                self.assertEqual(recording.functions(event.stack), ["descend"] * 50)
                self.assertTrue(recording.nodes[recording.outermost(event.stack)].is_cut)

    def test_200000_frames(self):
        recording = self.record(*program("stress_recursion.c"), options=["--stack-depth", "0"])
        depths = {0: 0}
        for number in sorted(recording.nodes):
            depths[number] = depths[recording.nodes[number].parent] + 1
        found = sorted(depths[event.stack] for event in recording.events if event.size == 1009)
        self.assertEqual(len(found), 200)
        self.assertEqual([depth - found[0] for depth in found], [1000 * i for i in range(200)])
        self.assertEqual(recording.functions(max(event.stack for event in recording.events
                                                 if event.size == 1009)).count("descend"), 200000)

    def test_a_library_in_the_place_of_another_one(self):
        recording = self.record(*program("stress_dlopen.c", *libraries(), 100))
        # Otherwise this would be no test.
        self.assertEqual(self.said, "at the same address\n")
        for size, name in ((2063, "make_one"), (2069, "make_two")):
            stacks = self.stacks(recording, size)
            self.assertEqual({stack[:4] for stack in stacks}, {(name, "make", "use", "main")})
            self.assertEqual(sum(stacks.values()), 500)


class UnwindersAgree(Capture):
    """Stacks are those of libgcc's unwinder."""

    def must_agree(self, path, least=1000):
        head = RawRecording(path).head
        self.assertGreaterEqual(head.checked_stacks, least)
        self.assertLessEqual(head.different_stacks / head.checked_stacks, 0.001,
                             f"{head.different_stacks} of {head.checked_stacks} stacks differ")

    def check(self, *command, every=1, least=1000, **variables):
        path = self.tmp / "checked.allo"
        self.must(*command, env=preloaded(path, ALLO_VERIFY_UNWIND=str(every), **variables))
        self.must_agree(path, least)

    def test_python(self):
        self.check("/usr/bin/python3", "-c", "import json, re, argparse, decimal\n"
                   "for i in range(60): json.loads(json.dumps([{'a': [i] * 50, 'b': str(i)}]))",
                   every=20, PYTHONMALLOC="malloc")

    def test_sqlite(self):
        self.check("sqlite3", ":memory:", "create table t(a, b); insert into t select value, hex(value) from "
                   "generate_series(1, 3000); create index i on t(b); select count(*), max(lower(b)) from t "
                   "group by a % 7; select json_object('a', a) from t where b like '%9%' order by b limit 3;",
                   every=3)

    def test_cc1(self):
        functions = "\n".join(f"int f{i}(int *p, int n) {{ int s = {i}; for (int k = 0; k < n; k++) "
                              f"s += p[k] * (k ^ {i * 37 % 101}); return s > {i} ? s : f{max(i - 1, 0)}(p, n - 1); }}"
                              for i in range(40))
        source = self.file("generated.c", functions)
        self.must("gcc", "-O2", "-c", source, env=preloaded(self.tmp / "%e.%p.allo", ALLO_VERIFY_UNWIND="5"))
        path, = self.tmp.glob("cc1.*.allo")
        self.must_agree(path)

    def test_exceptions(self):
        self.check(*program("stress_exceptions.cpp"))

    def test_odd_frames(self):
        self.check(*program("stress_frames.c"), least=100)

    def test_signal_frames(self):
        self.check(*program("stress_signals.c"))

    def test_fibers(self):
        self.check(*program("stress_fibers.c"))
