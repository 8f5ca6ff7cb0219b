"""Recordings of rheaper, whole and damaged."""
import gzip
import json
import os
import random
import re
import resource
import tarfile

from allotest import ALLO, BUILD, GOLDEN, ROOT, SLOW
from profilejson import Profile
from rheaperfiles import (EVENT, MAX, METRICS, Heap, Recording, Rheaper, example, frame, golden, named,
                          random_recording, small)


class Sums(Rheaper):
    def test_sums_match_the_events(self):
        path = self.write(small())
        self.assertEqual(self.totals(path), {
            ("app::main", "app::site_7"): dict(zip(METRICS, (2, 1020, 1, 1009, 0, 0, 1, 11, 200, 0))),
            ("app::main", "app::site_8"): dict(zip(METRICS, (2, 69636, 2, 69636, 2, 69636, 1, 4099, 500, 1)))})
        self.assertEqual(self.notes(path, status=0), {})
        info = self.allo_json("info", path)
        self.assertEqual([info[key] for key in ("format", "producer", "start_ns", "duration_ns", "peak_ns", "stacks")],
                         ["rheaper", "rheaper", 1700000000 * 10**9, 600, 400, 2])

    def test_random_events_are_added_up_as_by_hand(self):
        for seed in range(10 if SLOW else 60):
            recording = random_recording(seed)
            path = self.write(recording, f"rip-{seed}")
            heap = Heap(recording)
            with self.subTest(seed=seed):
                self.assertEqual(self.totals(path), self.expected(recording))
                found = self.notes(path)
                self.assertEqual((found.get("unseen-block", 0), found.get("reused-address", 0)),
                                 (heap.unseen, heap.reused - heap.late))
                self.assertEqual(self.profile(path).meta.get("peak_time", 0), heap.peak_ns)

    def test_golden_recordings_are_up_to_date(self):
        made = golden()
        self.assertEqual({path.name for path in (GOLDEN / "rheaper").iterdir()}, set(made))
        for name, data in made.items():
            if os.environ.get("ALLO_GOLDEN") == "renew":
                (GOLDEN / "rheaper" / name).write_bytes(data)
            self.assertEqual((GOLDEN / "rheaper" / name).read_bytes(), data, name)

    def test_the_example_is_up_to_date(self):
        folder = ROOT / "examples" / "rip-1700000000"
        if os.environ.get("ALLO_GOLDEN") == "renew":
            example().write(folder)
        found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*")}
        self.assertEqual(found, example().files())

    def test_the_free_of_another_thread_may_come_late(self):
        """The address is allocated again before its free is written down: the free is the old block's."""
        recording = named(Recording(2), 1, 2)
        recording.alloc(0x1000, 10, 1)
        recording.alloc(0x1000, 20, 2, thread=1)
        recording.free(0x1000)
        path = self.write(recording)
        totals = self.totals(path)
        self.assertEqual(totals["app::main", "app::site_1"]["end_blocks"], 0)
        self.assertEqual(totals["app::main", "app::site_2"]["end_blocks"], 1)
        self.assertEqual(self.notes(path, status=0), {})

    def test_an_address_that_comes_again_without_a_free_ends_the_older_block(self):
        recording = named(Recording(), 1, 2)
        recording.alloc(0x1000, 10, 1)
        recording.alloc(0x1000, 20, 2)
        path = self.write(recording)
        totals = self.totals(path)
        self.assertEqual(totals["app::main", "app::site_1"]["end_blocks"], 0)
        self.assertEqual(totals["app::main", "app::site_1"]["lifetime"], 100)
        self.assertEqual(self.notes(path, status=3), {"reused-address": 1})

    def test_numbers_need_not_fit_63_bits(self):
        recording = named(Recording(), MAX)
        recording.alloc(MAX, MAX, MAX)
        path = self.write(recording)
        self.assertEqual(self.totals(path)["app::main", f"app::site_{MAX}"]["end_bytes"], MAX)
        recording.alloc(0x1000, 1, MAX)
        self.assertEqual(self.notes(self.write(recording), status=3), {"saturated": 1})

    def test_times_do_not_go_back(self):
        """An event gets its number first and its time then."""
        recording = named(Recording(2), 1)
        recording.alloc(0x1000, 10, 1, after=1000)
        recording.free(0x1000, thread=1, after=-300)
        self.assertEqual(self.totals(self.write(recording))["app::main", "app::site_1"]["lifetime"], 0)


class Stacks(Rheaper):
    def test_backtraces_of_all_files_are_one_table(self):
        recording = Recording()
        recording.backtrace(1, frame("a"), file=0)
        recording.backtrace(2, frame("b"), file=3)
        recording.backtrace(1, frame("a"), file=3)
        recording.alloc(0x10, 1, 1)
        recording.alloc(0x20, 2, 2)
        path = self.write(recording)
        self.assertEqual(set(self.totals(path)), {("a",), ("b",)})
        self.assertEqual(self.notes(path, status=0), {})

    def test_equal_frames_are_one_stack_despite_their_ids(self):
        recording = Recording()
        for number in (1, 2):
            recording.backtrace(number, frame(f"a::h{number:016x}"))
            recording.alloc(0x10, 10, number)
            recording.free(0x10)
        totals = self.totals(self.write(recording))
        self.assertEqual((len(totals), totals["a",]["alloc_blocks"], totals["a",]["max_bytes"]), (1, 2, 10))

    def test_the_same_id_with_other_frames_is_noted(self):
        recording = Recording()
        recording.backtrace(1, frame("first"))
        recording.backtrace(1, frame("second"), file=1)
        recording.alloc(0x10, 1, 1)
        path = self.write(recording)
        self.assertEqual(set(self.totals(path)), {("first",)})
        self.assertEqual(self.notes(path, status=3), {"clashing-backtrace": 1})

    def test_names_are_without_their_hashes(self):
        recording = Recording()
        names_given = ["a::b::h0123456789abcdef", "a::h0123456789abcde", "h0123456789abcdef", "a::h0123456789abcdeg", "a"]
        recording.backtrace(1, *(frame(name) for name in names_given))
        recording.alloc(0x10, 1, 1)
        (stack,) = self.totals(self.write(recording))
        self.assertEqual(stack[::-1], ("a::b", *names_given[1:]))

    def test_frames_may_lack_anything(self):
        recording = Recording()
        recording.backtraces["bt-0"] = [
            b'{"id":1,"more":[{}],"frames":[null,{"file":null,"lineno":null,"sym_name":"f"},{"sym_name":"g"},'
            b'{"file":"x.rs","lineno":5},{"lineno":99999999999,"sym_name":"h","file":"y.rs","x":1}]}', b"", b"  "]
        recording.alloc(0x10, 1, 1)
        path = self.write(recording)
        frames = self.profile(path).samples[0][0]
        self.assertEqual([(call.name, call.file, call.line) for (call,) in frames],
                         [(None, None, 0), ("f", None, 0), ("g", None, 0), (None, "x.rs", 5), ("h", "y.rs", 0)])
        self.assertEqual(self.notes(path, status=0), {"null-frame": 1})

    def test_backtraces_may_be_missing(self):
        recording = small()
        recording.backtraces = {}
        path = self.write(recording)
        totals = self.totals(path)
        self.assertEqual(totals[()]["alloc_bytes"], 1020 + 69636)
        self.assertEqual(self.notes(path, status=3), {"missing-stacks": 4})
        (path / "backtraces").rmdir()
        self.assertEqual(self.totals(path), totals)

    def test_the_profilers_own_frames_are_the_allocators(self):
        """As rheaper's README shows them."""
        own = ["backtrace::backtrace::libunwind::trace::h313fcf731c1ed43a",
               "<rheaper::alloc::Allocator<A> as core::alloc::global::GlobalAlloc>::alloc::{{closure}}::hd945306712c35cdc",
               "rheaper::alloc::with_local::{{closure}}::{{closure}}::{{closure}}::{{closure}}::h984dd2b94bca5c66",
               "rheaper::alloc::TrackerGuard::with::h2f7bcd4120d6efa7",
               "std::thread::local::LocalKey<T>::try_with::hff003d76feecb4a9",
               "rheaper::alloc::untracked::{{closure}}::hc0fb5ce1fd3deaf9",
               "std::thread::local::LocalKey<T>::with::hcab5ce8347c6de7c",
               "<rheaper::alloc::Allocator<A> as core::alloc::global::GlobalAlloc>::alloc::h0123456789abcdef",
               "__rust_alloc", "alloc::alloc::alloc::h0123456789abcdef", "alloc::raw_vec::RawVec<T,A>::grow::h0123456789abcdef"]
        recording = Recording()
        recording.backtrace(1, *(frame(name) for name in (*own, "app::read::h0123456789abcdef", "app::main")))
        recording.alloc(0x10, 77, 1)
        path = self.write(recording)
        rows = self.allo_json("top", path)["rows"]
        self.assertEqual([(row["name"], row["self"]) for row in rows if row["self"]], [("app::read", 77)])
        self.assertIn("rheaper::alloc::TrackerGuard::with", self.allo("top", "-n", "0", "--keep-allocator", path))


class Places(Rheaper):
    def test_the_directory_that_it_is_in_will_do(self):
        path = self.write(small(), "tmp/rip-1700000000")
        for name in ("tmp/rip-1700000000", "tmp/rip-1700000000/", "tmp", "tmp/"):
            self.assertEqual(self.totals(name), self.totals(path))
        self.assertEqual(self.allo_json("info", "tmp"), {**self.allo_json("info", path), "file": "tmp"})
        self.write(small(), "tmp/rip-1700000001")
        done = self.run_program(ALLO, "top", "tmp")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode(), "allo: error: tmp: holds 2 recordings\n"
                         "  hint: name one of them; the newest is rip-1700000001\n")

    def test_archives_are_read_as_the_directory_is(self):
        recording = small()
        recording.tails = {"events/events-ThreadId(2)": b"torn", "backtraces/bt-0": b"{"}
        path = self.write(recording)
        totals, notes = self.totals(path), self.notes(path, status=3)
        self.assertEqual(notes, {"cut": 2})
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            for name in ("rip-1700000000", "." + "/long" * 40 + "/rip-1700000000", "ünï/" * 30 + "rip-1"):
                archive = recording.tar(name, format=form)
                with self.subTest(form=form, name=name):
                    for data in (archive, gzip.compress(archive)):
                        file = self.file("a.tar", data)
                        self.assertEqual(self.totals(file), totals)
                        self.assertEqual(self.notes(file), notes)
        self.must("tar", "cf", "system.tar", path.name)
        self.assertEqual(self.totals("system.tar"), totals)
        done = self.run_program(ALLO, "convert", "--to", "json", "-", input=recording.tar())
        self.assertEqual(json.loads(done.stdout)["samples"], self.profile(path).json["samples"])

    def test_an_archive_of_something_else_is_refused(self):
        self.file("x", "x")
        self.must("tar", "cf", "other.tar", "x")
        self.assertIn("other.tar: has no events", self.allo_fails("info", "other.tar"))
        for name in ("rip-1", "rip-2"):
            self.write(small(), name)
        self.must("tar", "cf", "both.tar", "rip-1", "rip-2")
        self.assertIn('holds several recordings: "rip-1/" and "rip-2/"', self.allo_fails("info", "both.tar", status=2))

    def test_other_directories_are_refused(self):
        (self.tmp / "empty").mkdir()
        (self.tmp / "rip-1" / "events").mkdir(parents=True)
        self.assertIn("empty: is a directory, not a profile", self.allo_fails("info", "empty"))
        self.assertIn("empty: is a directory without a rheaper recording",
                      self.allo_fails("info", "--from", "rheaper", "empty"))
        self.assertIn("rip-1: has no events", self.allo_fails("info", "rip-1"))
        self.assertIn("rip-1: is a directory; the format dhat is a single file",
                      self.allo_fails("info", "--from", "dhat", "rip-1", status=2))
        self.assertIn("is a directory", self.allo_fails("events", "rip-1"))

    def test_other_kinds_of_files_are_refused(self):
        path = self.write(small())
        os.mkfifo(path / "events" / "events-fifo")
        self.assertIn("rip-1700000000/events/events-fifo: is not a file", self.allo_fails("info", path))
        (path / "events" / "events-fifo").unlink()
        (path / "events" / "events-gone").symlink_to("nowhere")
        self.assertIn("events/events-gone: cannot open: No such file", self.allo_fails("info", path))
        (path / "events" / "events-gone").unlink()
        (path / "events" / "other").mkdir()
        (path / "backtraces" / "core").write_bytes(b"\0")
        (path / "events" / "events-ThreadId(2)").rename(self.tmp / "elsewhere")
        (path / "events" / "events-ThreadId(2)").symlink_to(self.tmp / "elsewhere")
        self.assertEqual(self.totals(path), self.expected(small()))

    def test_there_may_be_more_files_than_can_be_open(self):
        recording = named(Recording(1000), 1, 2)
        chance = random.Random(1)
        for i in range(5000):
            recording.alloc(0x1000 + i, i, 1 + i % 2, thread=chance.randrange(1000))
        path = self.write(recording)
        profile = Profile(self.must(ALLO, "convert", "-q", "--to", "json", path, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (16, 16))))
        self.assertEqual(profile.sum("alloc_bytes"), sum(range(5000)))


class Large(Rheaper):
    EVENTS = 30000 if SLOW else 400000

    def make(self, threads):
        made = self.must(BUILD / "tests" / "make_rheaper", "rip-1", self.EVENTS, threads)
        return self.tmp / "rip-1", json.loads(made)

    def test_sums_match_those_of_rheaper(self):
        for threads in (1, 4, 64):
            path, made = self.make(threads)
            profile = self.profile(path)
            self.assertEqual({name: profile.sum(name) for name in made}, made)
            self.assertEqual(set(self.notes(path, status=0)), {"null-frame"})

    def test_memory_does_not_grow_with_events(self):
        if not SLOW:
            path, _ = self.make(4)
            self.must("/usr/bin/time", "-q", "-f", "%M", "-o", "memory", "--", ALLO, "top", path)
            self.assertGreater(sum(file.stat().st_size for file in path.glob("events/*")), 19_000_000)
            self.assertLess(int((self.tmp / "memory").read_text()), 16_000)


class Damage(Rheaper):
    def test_a_file_of_events_may_end_anywhere(self):
        recording = small()
        path = self.write(recording)
        name = "events-ThreadId(1)"
        whole = (path / "events" / name).read_bytes()
        for length in range(0, len(whole), 7 if SLOW else 1):
            (path / "events" / name).write_bytes(whole[:length])
            left = small()
            left.events[name] = left.events[name][:length // EVENT.size]
            with self.subTest(length=length):
                self.assertEqual(self.totals(path), self.expected(left))
                found = self.notes(path)
                self.assertEqual(found.get("cut", 0), int(length % EVENT.size > 0))

    def test_a_file_of_backtraces_may_end_anywhere(self):
        recording = small()
        path = self.write(recording)
        whole = (path / "backtraces" / "bt-0").read_bytes()
        first = whole.index(b"\n")
        for length in range(0, len(whole), 11 if SLOW else 1):
            (path / "backtraces" / "bt-0").write_bytes(whole[:length])
            found = self.notes(path)
            with self.subTest(length=length):
                lines = (length >= first) + (length >= len(whole) - 1)
                self.assertEqual(found.get("missing-stacks", 0), 4 - 2 * lines)
                is_torn = length not in (0, first, first + 1, len(whole) - 1)
                self.assertEqual(found.get("cut", 0), int(is_torn))

    def test_an_archive_may_end_anywhere(self):
        whole = small().tar()
        for length in range(512, len(whole), 4001 if SLOW else 101):
            done = self.run_program(ALLO, "verify", self.file("cut.tar", whole[:length]))
            self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_odd_events_are_noted_with_their_position(self):
        def noted(change):
            recording = named(Recording(), 1)
            for i in range(1, 5):
                recording.alloc(0x10 * i, 1, 1)
            change(recording)
            return self.run_program(ALLO, "info", self.write(recording, "rip-1")).stderr.decode()

        def tag(recording):
            event = recording.events["events-ThreadId(1)"][2]
            recording.events["events-ThreadId(1)"][2] = event._replace(tag=7)

        for change, says in (
                (tag, "1 event has an unknown type or no address and was skipped (first at rip-1/events/"
                      "events-ThreadId(1): byte 99)"),
                (lambda r: r.alloc(0, 5, 1), "1 event has an unknown type or no address"),
                (lambda r: r.alloc(0x90, 5, 1, number=9), "5 events are missing, according to the event numbers"),
                (lambda r: r.alloc(0x90, 5, 1, number=2), "1 event number is lower than an earlier one"),
                (lambda r: r.free(0x90), "1 free of a block whose allocation was not recorded (first at "
                                         "rip-1/events/events-ThreadId(1): byte 197)"),
                (lambda r: r.alloc(0x10, 5, 1), "1 block was allocated at the address of a live one"),
                (lambda r: r.alloc(0x90, 5, 2), "1 allocation has a stack that is not in the file"),
                (lambda r: r.tails.update({"events/events-ThreadId(1)": b"\1" * 48}),
                 "rip-1/events/events-ThreadId(1) is truncated: the numbers are those of its first 196 bytes")):
            self.assertIn(f"note: {says}", noted(change).replace(f"{self.tmp}/", ""))

    def test_a_line_that_is_no_backtrace_is_named_with_its_place(self):
        for line, byte, says in (
                (b'{"frames":[],"id":x}', 19, "expected a number, found 'x'"),
                (b'{"frames":[]}', 1, 'the backtrace has no "id"'),
                (b'{"id":5}', 1, 'the backtrace has no "frames"'),
                (b'{"id":5,"id":5,"frames":[]}', 14, 'the key "id" appears twice'),
                (b'{"id":5,"frames":{}}', 18, "expected an array"),
                (b'{"id":5,"frames":[7]}', 19, "expected an object"),
                (b'{"id":-5,"frames":[]}', 7, "found -5"),
                (b'{"id":5,"frames":[{"lineno":"x"}]}', 29, "expected a number"),
                (b'{"id":5,"frames":[]} {}', 22, "expected the end"),
                (b'\0', 1, "found byte 0x00")):
            recording = small()
            recording.backtraces["bt-0"].insert(1, line)
            path = self.write(recording, "rip-1")
            with self.subTest(line):
                said = self.allo_fails("info", path)
                self.assertRegex(said, rf"rip-1/backtraces/bt-0:2:{byte}: .*{re.escape(says)}")
        recording.backtraces["bt-0"][1] = b'"' + b"a" * (65 << 20)
        self.assertIn("bt-0:2:1: a line is longer than 64 MiB", self.allo_fails("info", self.write(recording, "rip-1")))


class Commands(Rheaper):
    def test_all_that_take_profiles_take_it(self):
        path = self.write(small())
        self.assertIn("app::site_8", self.allo("tree", path))
        self.assertIn("rheaper profile of 2 stacks", self.allo("verify", path))
        self.assertEqual(self.allo_json("diff", path, path)["rows"], [])
        for ending in (".pb.gz", ".svg", ".folded", ".csv"):
            self.allo("convert", path, "-o", f"out{ending}")
        self.assertEqual(self.profile(path, path).sum("alloc_bytes"), 2 * (1020 + 69636))
        self.assertEqual(self.allo_json("info", "out.pb.gz")["stacks"], 2)
