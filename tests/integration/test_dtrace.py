"""Output of DTrace: read with all its keys, drawn over time, and refused with a reason where it is broken."""
import collections
import random

from allotest import ALLO, GOLDEN, Test
from profilejson import Profile
from spallfile import Trace, own_times

MS = 1000000  # nanoseconds; a sample's, unless --freq says otherwise


def stack(*names):
    """Frames, given with the outermost first, as DTrace prints them: the leaf first."""
    return "".join(f"              {name}\n" for name in reversed(names))


def entry(count, *names, keys=None):
    return (f"{keys}\n" if keys else "\n") + stack(*names) + f" {count:16d}\n"


def integers(*values):
    """Keys of 64, 32 and 64 bits, as timestamp, pid and tid are."""
    return "".join(f" {value:{width}d}" for value, width in zip(values, (16, 8, 16)))


class DTrace(Test):
    def write(self, text):
        return self.file("in.txt", text if isinstance(text, bytes) else "\n" + text)

    def spall(self, text, *options):
        self.allo("convert", self.write(text), "-qfo", "out.spall", "--from", "dtrace", *options)
        return Trace((self.tmp / "out.spall").read_bytes())

    def folded(self, text, *options):
        """{"outermost;innermost": samples}"""
        lines = self.allo("convert", self.write(text), "-q", "--to", "folded", "--from", "dtrace", *options)
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines.splitlines()}

    def samples(self, text, *options):
        """{innermost function: (pid, tid, start, duration)} of samples with times; the last of a name."""
        profile = Profile(self.allo("convert", self.write(text), "-q", "--to", "json", "--from", "dtrace", *options))
        found = {}
        for (frames, *_), raw in zip(profile.samples, profile.json["samples"]):
            thread = profile.json["threads"][raw["thread"]] if raw.get("thread") else {}
            found[frames[0][0].name if frames else ""] = (thread.get("pid", 0), thread.get("tid", 0),
                                                           raw.get("start_ns", 0), raw.get("duration_ns", 0))
        return found

    def labels(self, text, *options):
        profile = Profile(self.allo("convert", self.write(text), "-q", "--to", "json", "--from", "dtrace", *options))
        return {frames[0][0].name: {key: value for key, value, _ in found} for frames, _, found, _ in profile.samples}


class Widths(DTrace):
    """Where dtrace2spall went wrong."""

    def test_each_stack_has_its_own_width(self):
        trace = self.spall(entry(5, "a`A") + entry(3, "a`B"))
        self.assertEqual(trace.thread(), [["a`A", 0, 5 * MS], ["a`B", 5 * MS, 8 * MS]])

    def test_a_prefix_of_the_last_stack_ends_its_deeper_calls(self):
        trace = self.spall(entry(1, "a`main", "a`f", "a`g") + entry(1, "a`main", "a`f") + entry(1, "a`main"))
        self.assertEqual(trace.thread(), [["a`main", 0, 3 * MS], ["a`f", 0, 2 * MS], ["a`g", 0, MS]])

    def test_everything_ends_and_lasts_as_long_as_it_was_counted(self):
        rnd = random.Random(4)
        stacks = [["a`start", *(f"a`f{rnd.randrange(3)}" for _ in range(rnd.randrange(6)))] for _ in range(300)]
        counts = [rnd.randrange(1, 9) for _ in stacks]
        trace = self.spall("".join(entry(count, *names) for names, count in zip(stacks, counts)), "--freq", 500)
        self.assertEqual(trace.begins, trace.ends)
        self.assertEqual(trace.spans[0, 0], (0, sum(counts) * 2 * MS))
        wanted = collections.Counter()
        for names, count in zip(stacks, counts):
            wanted[tuple(names)] += count * 2 * MS
        self.assertEqual(own_times(trace.calls[0, 0]), wanted)

    def test_threads_have_clocks_of_their_own(self):
        trace = self.spall(entry(5, "a`A", keys=f" {7:8d} {70:16d}") + entry(3, "a`B", keys=f" {7:8d} {71:16d}") +
                           entry(2, "a`A", keys=f" {7:8d} {70:16d}"))
        self.assertEqual(trace.thread((7, 70)), [["a`A", 0, 7 * MS]])
        self.assertEqual(trace.thread((7, 71)), [["a`B", 0, 3 * MS]])

    def test_periods_are_whole_nanoseconds_and_do_not_drift(self):
        trace = self.spall("".join(entry(1, f"a`f{i % 2}") for i in range(997)), "--freq", 997)
        calls = trace.thread()
        self.assertEqual(calls[-1][2], 1000 * MS)
        self.assertTrue(all(before[2] == after[1] for before, after in zip(calls, calls[1:])))


class Times(DTrace):
    START = 648497479071750

    def at(self, *samples):
        return "".join(entry(1, "a`main", name, keys=integers(self.START + time, 7, tid)) for time, tid, name in samples)

    def test_time_is_real_and_gaps_are_gaps(self):
        trace = self.spall(self.at((0, 1, "a`f"), (MS, 1, "a`f"), (5 * MS, 1, "a`f"), (6 * MS, 1, "a`g")))
        self.assertEqual(trace.thread((7, 1)), [["a`main", 0, 2 * MS], ["a`f", 0, 2 * MS],
                                                ["a`main", 5 * MS, 7 * MS], ["a`f", 5 * MS, 6 * MS],
                                                ["a`g", 6 * MS, 7 * MS]])

    def test_a_little_late_is_no_gap(self):
        trace = self.spall(self.at((0, 1, "a`f"), (MS + MS // 2, 1, "a`f"), (3 * MS + 1, 1, "a`f")))
        self.assertEqual(trace.thread((7, 1))[:2], [["a`main", 0, 2 * MS + MS // 2], ["a`f", 0, 2 * MS + MS // 2]])

    def test_a_capture_lasts_from_its_first_sample_to_its_last(self):
        trace = self.spall(self.at(*((i * 200000, 1 + i % 3, f"a`f{i % 5}") for i in range(5000))), "--freq", 5000)
        self.assertEqual(min(start for start, _ in trace.spans.values()), 0)
        self.assertEqual(max(end for _, end in trace.spans.values()), 5000 * 200000)
        self.assertEqual(trace.begins, trace.ends)

    def test_the_time_is_found_where_only_the_others_are_named(self):
        text = self.at((0, 1, "a`f"), (4 * MS, 2, "a`f"))
        for fields in ("-,pid,tid", "timestamp,pid,tid", None):
            trace = self.spall(text, *([f"--fields={fields}"] if fields else []))
            self.assertEqual(trace.spans, {(7, 1): (0, MS), (7, 2): (4 * MS, 5 * MS)})
        # Whatever it is, it is not to be looked at.
        self.assertEqual(self.spall(text, "--fields=x,pid,tid").spans, {(7, 1): (0, MS), (7, 2): (0, MS)})

    def test_samples_without_a_time_follow_on_those_that_have_one(self):
        plain = entry(2, "a`plain")
        for text in (plain + self.at((0, 1, "a`f")), self.at((0, 1, "a`f")) + plain):
            trace = self.spall(text)
            self.assertEqual(trace.spans[7, 1], (0, MS))
            start, end = trace.spans[0, 0]
            self.assertEqual(end - start, 2 * MS)
            self.assertLessEqual(start, MS)

    def test_a_file_that_is_not_sorted_is_sorted(self):
        samples = [(i * MS, 1 + i % 2, f"a`f{i % 7}") for i in range(6000)]
        wanted = self.spall(self.at(*samples))
        random.Random(3).shuffle(samples)
        self.assertEqual(self.spall(self.at(*samples), "--fields=timestamp,pid,tid").calls, wanted.calls)

    def test_a_pipe_cannot_be_sorted_and_it_says_so(self):
        text = self.at(*((i * MS, 1, "a`f") for i in range(2000)), (5, 1, "a`f"))
        error = self.allo_fails("convert", "-", "-o", "out.spall", input=text.encode())
        self.assertIn("standard input:8004:1: the sample is earlier than others before it", error)
        self.assertFalse((self.tmp / "out.spall").exists())


class Keys(DTrace):
    def test_they_are_known_by_how_they_look(self):
        rows = [(987654321000 + i, 500 + i % 2, 4000 + i % 3) for i in range(5)]
        text = "".join(entry(1, f"a`f{i}", keys=integers(*row)) for i, row in enumerate(rows))
        self.assertEqual(self.samples(text)["a`f4"], (500, 4001, 4, MS))
        text = "".join(entry(1, f"a`f{i}", keys=f"  {'my program':50s} {i % 2:8d} {77:8d}") for i in range(4))
        self.assertEqual(self.labels(text)["a`f3"], {"execname": "my program", "cpu": 1, "pid": 77})

    def test_they_may_be_named(self):
        text = entry(1, "a`f", keys=f" {3:8d} {9:8d} {12:8d}  {'x y':50s}")
        self.assertEqual(self.labels(text, "--fields=cpu,tid,pid,execname")["a`f"],
                         {"cpu": 3, "tid": 9, "pid": 12, "execname": "x y"})
        self.assertEqual(self.labels(text, "--fields", "-,-,pid,-")["a`f"], {"pid": 12})

    def test_columns_need_not_be_where_dtrace_puts_them(self):
        text = "7 8 sh\n" + stack("a`f") + "1\n"
        self.assertEqual(self.labels(text, "--fields=pid,tid,execname")["a`f"], {"pid": 7, "tid": 8, "execname": "sh"})

    def test_keys_may_follow_the_stack(self):
        text = "\n" + stack("a`main", "a`f") + f"  {'demo app':50s} {4242:8d} {64000:16d}\n"
        self.assertEqual(self.labels(text), {"a`f": {"execname": "demo app", "pid": 4242}})
        self.assertEqual(self.folded(text), {"a`main;a`f": 64000})

    def test_one_number_alone_is_a_key_or_the_count_of_an_empty_stack(self):
        keyed = f" {7334631:16d}\n" + stack("a`f") + f" {3:16d}\n"
        self.assertEqual(self.labels(keyed * 2), {"a`f": {"tid": 7334631}})
        self.assertEqual(self.folded(f" {7334631:16d}\n {3:16d}\n" + keyed), {"[unknown]": 3, "a`f": 3})
        self.assertEqual(self.folded("\n" + f" {2:16d}\n" + entry(5, "a`f")), {"[unknown]": 2, "a`f": 5})
        self.assertEqual(self.folded(entry(5, "a`f") + "\n" + f" {2:16d}\n" + "\n" + f" {4:16d}\n"),
                         {"a`f": 5, "[unknown]": 6})

    def test_a_file_of_single_numbers_has_threads(self):
        text = "".join(entry(1, f"a`f{i}", keys=f" {1000 + i % 3:8d}") for i in range(6))
        self.assertEqual({labels["pid"] for labels in self.labels(text).values()}, {1000, 1001, 1002})

    def test_a_name_may_be_a_number_anywhere_in_the_file(self):
        text = "".join(entry(1, "a`f", keys=f"  {4000000 + i % 7}") for i in range(60000))
        rows = self.allo_json("top", "--by", "label:execname", "--fields=execname", self.write(text))["rows"]
        self.assertEqual({row["name"] for row in rows}, {str(4000000 + i) for i in range(7)})

    def test_processors_are_lines_of_time_where_nothing_else_is_known(self):
        text = "".join(entry(2, "a`f", keys=f" {i % 4:8d}") for i in range(8))
        trace = self.spall(text, "--format-version", 3)
        self.assertEqual(trace.spans, {(0, cpu): (0, 4 * MS) for cpu in range(4)})
        self.assertEqual(trace.thread_names[0, 3], "cpu 3")

    def test_wrong_fields_are_reported(self):
        text = entry(1, "a`f", keys=f" {3:8d} {9:8d}")
        for fields, error in (("pid", "in.txt:2:1: expected 1 field, found 2"),
                              ("pid,tid,cpu", "in.txt:4:1: expected 3 fields, found 2"),
                              ("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16 fields")):
            self.assertIn(error, self.allo_fails("convert", self.write(text), "-o", "a.spall", f"--fields={fields}",
                                                 status=2 if "more" in error else 1))
        text = entry(1, "a`f", keys=f"  {'sh':50s} {9:8d}")
        self.assertIn('in.txt:2:3: expected a number, found "sh"',
                      self.allo_fails("convert", self.write(text), "-o", "a.spall", "--fields=pid,tid"))
        self.assertFalse((self.tmp / "a.spall").exists())


class Frames(DTrace):
    def name(self, text, *options):
        found, = self.folded(entry(1, text), *options)
        return found

    def test_names_are_whole(self):
        for text, name in (("a`main+0x1c", "a`main"), ("a`operator+", "a`operator+"),
                           ("a`operator+(V const&, V)+0x0", "a`operator+(V const&, V)"),
                           ("a`foo::baz(std::function<void (int)>)+0xff", "a`foo::baz(std::function<void (int)>)"),
                           ("a`x`y`z+0x1", "a`x`y`z"), ("a`-[NSThread main]+0x10", "a`-[NSThread main]"),
                           ("a`f+0xZZ", "a`f+0xZZ"), ("java/lang/String.indexOf(II)I", "java/lang/String.indexOf(II)I"),
                           ("7z`main+0x3", "7z`main"), ("0x7fff20341f5e", "0x7fff20341f5e"),
                           ("unix`0xfffffffffb8001d6", "0xfffffffffb8001d6 [unix]")):
            self.assertEqual(self.name(text), name)

    def test_modules_may_be_left_out(self):
        self.assertEqual(self.name("libc.so.1`malloc+0x1c", "--no-modules"), "malloc")

    def test_linkers_names_are_made_readable(self):
        self.assertEqual(self.name("a`_ZN5Shape4growEi+0x1"), "a`Shape::grow(int)")
        self.assertEqual(self.name("a`_RNvCskK7mfDs1mzF_1m4main+0x1"), "a`m::main")
        self.assertEqual(self.name("a`_$LT$T$u20$as$u20$m..Tr$GT$::go::h0123456789abcdef+0x1"), "a`<T as m::Tr>::go")

    def test_lines_may_have_any_length(self):
        name = "a`" + "x" * 3000000
        self.assertEqual(self.folded(entry(1, name) + entry(2, name + "+0x1")), {name: 3})

    def test_lines_may_end_as_in_windows(self):
        self.assertEqual(self.folded(entry(1, "a`main", "a`f").replace("\n", "\r\n")), {"a`main;a`f": 1})

    def test_stacks_may_be_indented_otherwise(self):
        for indent in (0, 1, 2, 3, 4, 10, 20, 70):
            text = entry(1, "a`main", "a`f+0x1").replace(" " * 14 + "a", " " * indent + "a")
            self.assertEqual(self.folded(text), {"a`main;a`f": 1})

    def test_stacks_with_the_indentation_of_keys_are_not_keys(self):
        def narrow(text):
            return text.replace(" " * 14, "  ")

        text = narrow(entry(3, "a`main", "a`operator new(unsigned long)+0x5", "java/lang/String.indexOf(II)I", "a`f+0x1"))
        self.assertEqual(self.folded(text), {"a`main;a`operator new(unsigned long);java/lang/String.indexOf(II)I;a`f": 3})
        self.assertEqual(self.allo_json("info", self.tmp / "in.txt")["format"], "dtrace")
        # Keys before the stack, and aggregations without stacks whose keys are symbols.
        keyed = narrow(entry(4, "a`main", "a`g", keys="  firefox                                                    4242"))
        self.assertEqual(self.folded("  a`malloc                       12\n  a`free                          7\n" + keyed),
                         {"a`main;a`g": 4})
        # A key that is a symbol stays one beside stacks that are indented further.
        self.assertEqual(self.folded(entry(5, "a`main", "a`h", keys="  a`malloc")), {"a`main;a`h": 5})

    def test_rust_names_have_no_hash(self):
        names = ("a`app::main::hd1234567890abcde", "a`<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop::h2ea72f9b332772d5+0x1c",
                 "a`app::run::{{closure}}::h0123456789abcdef+0x4")
        self.assertEqual(self.folded(entry(2, *names)), {
            "a`app::main;a`<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop;a`app::run::{{closure}}": 2})

    def test_the_kernel_is_inside_of_the_program(self):
        kernel, program = stack("unix`thread_start", "unix`idle"), stack("a`main", "libc`read")
        for first, second in ((kernel, program), (program, kernel)):
            text = "\n" + first + "\n" + second + f" {9:16d}\n"
            self.assertEqual(self.folded(text), {"a`main;libc`read;unix`thread_start;unix`idle": 9})
        self.assertEqual(self.folded("\n\n" + program + f" {9:16d}\n"), {"a`main;libc`read": 9})
        self.assertEqual(self.folded("\n" + kernel + "\n" + f" {9:16d}\n"), {"unix`thread_start;unix`idle": 9})

    def test_an_annotation_of_a_helper_is_a_call(self):
        text = "\n" + stack("a`main", "beam`process_main", "libc`memcpy").replace(
            "beam`process_main\n", "beam`process_main\n                [ lists:foldl/3 ]\n") + f" {9:16d}\n"
        self.assertEqual(self.folded(text), {"a`main;beam`process_main;lists:foldl/3;libc`memcpy": 9})


class Noise(DTrace):
    ONE = entry(3, "a`main", "a`f")

    def test_other_lines_are_skipped(self):
        head = "CPU     ID                    FUNCTION:NAME\n  0  89342                         :tick-5s \n\n"
        table = (f"\n  {'demo':50s}\n           value  ------------- Distribution ------------- count    \n"
                 "               8 |                                         0        \n"
                 "              16 |@@@@@@@@@@@@@@@@@@@@                     20       \n\n")
        with_stack = "\n" + stack("a`other") + table.split("\n", 2)[2]
        plain = f"  {'demo':50s} {12:16d}\n  {'genunix`foo':50s} {12:16d}\n"
        for noise in (head, table, with_stack, plain, "Stacks of the program:\n", "CPU FUNCTION\n  0  -> main \n"):
            self.assertEqual(self.folded(noise + self.ONE), {"a`main;a`f": 3}, noise)
            self.assertEqual(self.folded(self.ONE + noise + self.ONE), {"a`main;a`f": 6}, noise)

    def test_messages_may_come_anywhere_and_drops_are_reported(self):
        text = self.ONE.replace("              a`main", "dtrace: 41 aggregation drops on CPU 0\ndtrace: pid 7 has exited\n"
                                                        "              a`main")
        text += "dtrace: [DTRACEDROP_AGGREGATION] 1 aggregation drop on CPU 1\n"
        self.assertEqual(self.folded(text), {"a`main;a`f": 3})
        done = self.run_program(ALLO, "convert", self.write(text), "--to", "folded")
        self.assertIn(b"42 samples were dropped by the tracer", done.stderr)
        self.assertIn(b"in.txt:4:1", done.stderr)

    def test_nothing_and_less_than_nothing_is_left_out(self):
        self.assertEqual(self.folded(entry(0, "a`f") + entry(-5, "a`g") + self.ONE), {"a`main;a`f": 3})

    def test_several_aggregations_may_follow_on_each_other(self):
        text = self.ONE + "\n" + entry(1, "a`g", keys=integers(987654321000, 7, 70)) + \
            "\n" + stack("a`h") + f"  {'sh':50s} {2:16d}\n"
        self.assertEqual(self.folded(text), {"a`main;a`f": 3, "a`g": 1, "a`h": 2})


class Wrong(DTrace):
    def fails(self, text, *options):
        error = self.allo_fails("convert", self.write(text), "-o", "a.spall", "--from", "dtrace", *options)
        self.assertFalse((self.tmp / "a.spall").exists())
        return error

    def test_a_cut_off_output_is_an_error(self):
        text = entry(1, "a`main", "a`f") * 3000
        self.assertIn("in.txt:12001:1: ends in the middle of a stack, before its count", self.fails(text[:-18]))

    def test_another_line_within_a_stack_is_an_error(self):
        text = entry(1, "a`main", "a`f") + "\n" + stack("a`g") + "Segmentation fault\n" + entry(1, "a`h")
        self.assertIn('in.txt:8:1: expected a frame or the count of a stack, found "Segmentation fault"',
                      self.fails(text))

    def test_a_file_without_stacks_is_an_error(self):
        self.assertIn("has no stack with a count", self.fails("int main(void)\n{\n}\n"))
        self.assertIn("has no stack with a count", self.fails("CPU     ID         FUNCTION:NAME\n"))
        self.assertIn("is empty", self.fails(b""))

    def test_a_zero_byte_in_a_name_is_an_error(self):
        self.assertIn("in.txt:7:15: a name holds a NUL byte", self.fails(entry(1, "a`main", "a`f") + "\n" +
                                                                        stack("a`x\0y") + "  1\n"))

    def test_numbers_of_any_size_are_taken(self):
        self.assertEqual(self.folded(entry(1, "a`f").replace(f" {1:16d}", "9" * 30)), {"a`f": 2 ** 64 - 1})
        self.spall(entry(10 ** 19, "a`f") * 3, "--freq", 1)
        self.spall(entry(1, "a`f", keys=f" {-5:16d} {-1:8d}") * 2)


class Others(Test):
    SANITIZED = False  # each is read under them elsewhere

    def test_other_files_are_not_taken_for_it(self):
        for path in sorted(GOLDEN.glob("*/*")):
            if path.parent.name in ("expected", "dtrace") or path.suffix == ".md":
                continue
            done = self.run_program(ALLO, "info", path)
            self.assertNotRegex(done.stdout.decode(errors="replace"), r"   dtrace\n", path.name)
