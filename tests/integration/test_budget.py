"""allo budget: limits, statuses, and reports that whatever runs tests can read."""
import json
import re
import struct
import xml.etree.ElementTree

from allotest import ALLO, GOLDEN, Test
from rawrecording import EVENTS, SLOT_MAGIC, SLOT_SIZE
from recordings import CaptureTest, built

HEAP, CPP = GOLDEN / "dhat" / "valgrind-heap.json", GOLDEN / "dhat" / "valgrind-cpp.json"


class Budget(Test):
    def budget(self, *arguments, status=0):
        done = self.run_program(ALLO, "budget", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def sum_of(self, metric, *arguments):
        return self.allo_json("top", "-M", metric, "-n", 1, *arguments, HEAP)["sum"]

    def test_each_option_is_a_limit(self):
        for option, metric in (("--max-peak", "peak_bytes"), ("--max-total", "alloc_bytes"),
                               ("--max-blocks", "alloc_blocks"), ("--max-leaks", "end_bytes")):
            value = self.sum_of(metric)
            self.assertIn("the limit is kept\n", self.budget(option, value, HEAP))
            text = self.budget(option, value - 1, HEAP, status=3)
            self.assertRegex(text, r"^FAIL  \w+ .* limit .*  1( B)? over")
            self.assertIn("1 of 1 limit exceeded\n", text)

    def test_functions_have_limits_of_their_own(self):
        value = self.sum_of("alloc_bytes", "-F", "fn:make_node")
        self.assertGreater(value, 0)
        self.budget("--in", f"fn:make_node={value}", HEAP)
        self.budget("--in", f"fn:make_node={value - 1}", HEAP, status=3)
        blocks = self.sum_of("alloc_blocks", "-F", "fn:make_node")
        self.budget("--limit", f"alloc_blocks in fn:make_node <= {blocks}", HEAP)
        self.budget("--limit", f"alloc_blocks in fn:make_node <= {blocks - 1}", HEAP, status=3)

    def test_a_pattern_that_matches_nothing_is_told(self):
        """Else a renamed function would disable its limit."""
        for pattern, nearest in (("fn:make_ndoe", "make_node"), ("=make_nod", "make_node"), ("fn:quite_another", None),
                                 ("/nothing$/", None), ("file:make_nod", None)):
            name = f"leaks in {pattern}"
            done = self.run_program(ALLO, "budget", "--limit", f"{name} <= 1K", HEAP)
            self.assertEqual(done.returncode, 0, done.stderr)
            meant = f": did you mean '{nearest}'?" if nearest else ""
            self.assertEqual(done.stderr.decode(), f"note: nothing in {HEAP} matches '{pattern}', so '{name}' checks nothing{meant}\n")
            limit = json.loads(self.budget("-q", "--json", "--limit", f"{name} <= 1K", HEAP))["limits"][0]
            self.assertEqual((limit["ok"], limit["matches_nothing"], limit.get("nearest")), (True, True, nearest))
        # A function that frees all it allocates matches, though its leaks are 0.
        done = self.run_program(ALLO, "budget", "--json", "--limit", "leaks in fn:make_node <= 1G", "--limit", "peak <= 1G", HEAP)
        self.assertEqual(done.stderr, b"")
        self.assertEqual([limit.get("matches_nothing") for limit in json.loads(done.stdout)["limits"]], [False, None])

    def test_a_file_of_limits(self):
        limits = self.file("budget.txt", "# for the demo\n\npeak <= 2MiB\nleaks <= 0\nblocks <= 1e6\n"
                                         "alloc_bytes in nothing <= 0\n")
        text = self.budget("-c", limits, HEAP, status=3)
        self.assertEqual([line.split()[:2] for line in text.splitlines()],
                         [["ok", "peak"], ["FAIL", "leaks"], ["ok", "blocks"], ["ok", "alloc_bytes"], ["1", "of"]])
        self.assertRegex(text, r"FAIL  leaks +4\.88 KiB  limit 0 B +4\.88 KiB over, mostly \S+  demo\.c \(")
        found = json.loads(self.budget("--json", "-c", limits, HEAP, status=3))
        self.assertFalse(found["ok"])
        self.assertEqual([limit["ok"] for limit in found["limits"]], [True, False, True, True])
        self.assertEqual(found["limits"][0]["allowed"], 2 << 20)

    def test_growth_is_measured_against_a_baseline(self):
        self.allo("convert", "-q", HEAP, HEAP, "-o", "twice.pb.gz")
        self.assertIn("all 4 limits are kept", self.budget("--growth", "0", "--baseline", HEAP, HEAP))
        text = self.budget("--growth", "99%", "--baseline", HEAP, "twice.pb.gz", status=3)
        self.assertIn("4 of 4 limits exceeded", text)
        self.assertRegex(text, r"FAIL  peak growth +\+100\.0%  limit 99%  2\.25 MiB now, 1\.12 MiB before, mostly main")
        self.budget("--growth", "100%", "--baseline", HEAP, "twice.pb.gz")
        peak = self.sum_of("peak_bytes")
        self.budget("--limit", f"peak growth <= {peak}", "--baseline", HEAP, "twice.pb.gz")
        self.budget("--limit", f"peak growth <= {peak - 1}", "--baseline", HEAP, "twice.pb.gz", status=3)
        self.budget("--limit", "peak in fn:nothing growth <= 0%", "--baseline", HEAP, "twice.pb.gz")

    def test_growth_belongs_to_a_function_whose_file_was_renamed(self):
        """make_node and build_list move to another file; the leak of one of them grows."""
        heap = json.loads(HEAP.read_text())
        grown = json.loads(HEAP.read_text().replace("demo.c", "renamed.c"))
        most = max(range(len(heap["pps"])), key=lambda i: heap["pps"][i]["gb"])
        grown["pps"][most]["gb"] += 100000
        base, now = self.file("base.json", json.dumps(heap)), self.file("now.json", json.dumps(grown))
        found = json.loads(self.budget("--json", "--limit", "peak growth <= 0", "--baseline", base, now, status=3))
        self.assertEqual(found["limits"][0]["mostly_value"], 100000)
        self.assertEqual(found["limits"][0]["mostly_file"], "renamed.c")
        rows = self.allo_json("diff", "-n0", base, now)["rows"]
        self.assertEqual([row["change"] for row in rows], [100000])

    def test_a_function_never_has_more_than_the_whole_growth(self):
        heap = json.loads(HEAP.read_text())
        low, high = sorted(range(len(heap["pps"])), key=lambda i: heap["pps"][i]["gb"])[-2:]
        base = self.file("base.json", json.dumps(heap))
        heap["pps"][high]["gb"] += 100000
        heap["pps"][low]["gb"] -= 900
        now = self.file("now.json", json.dumps(heap))
        found = json.loads(self.budget("--json", "--limit", "peak growth <= 0", "--baseline", base, now, status=3))
        self.assertEqual(found["limits"][0]["mostly_value"], 100000)
        self.assertIn("others shrank)", self.budget("--limit", "peak growth <= 0", "--baseline", base, now, status=3))

    def test_a_renamed_function_is_no_growth(self):
        """A function and all of its blocks get another name; another function grows by 500 bytes."""
        heap = HEAP.read_text()
        base, now = json.loads(heap), json.loads(heap.replace("make_node", "new_node"))
        names = [" ".join(base["ftbl"][frame] for frame in point["fs"]) for point in base["pps"]]
        other = max((i for i, name in enumerate(names) if "make_node" not in name), key=lambda i: base["pps"][i]["gb"])
        renamed = sum(point["gb"] for point, name in zip(base["pps"], names) if "make_node" in name)
        self.assertGreater(renamed, 500)
        now["pps"][other]["gb"] += 500
        base, now = self.file("base.json", json.dumps(base)), self.file("now.json", json.dumps(now))
        limit = json.loads(self.budget("--json", "--limit", "peak growth <= 0", "--baseline", base, now, status=3))["limits"][0]
        self.assertEqual(limit["mostly_value"], 500)
        self.assertNotIn("new_node", limit["mostly"])
        self.assertNotIn("others shrank", self.budget("--limit", "peak growth <= 0", "--baseline", base, now, status=3))

    def test_growth_from_nothing_is_too_much(self):
        base = self.tmp / "empty.pb.gz"
        self.allo("convert", "-q", HEAP, "-I", "/./", "-o", base)
        text = self.budget("--limit", "peak growth <= 1000000%", "--baseline", base, HEAP, status=3)
        self.assertIn("from nothing", text)
        found = json.loads(self.budget("--limit", "peak growth <= 5%", "--baseline", base, HEAP, "--json", status=3))
        self.assertIsNone(found["limits"][0]["growth_percent"])

    def test_invalid_limits_are_refused(self):
        for arguments, word in (([], "no limit to check"), (["--max-peak", "much"], "expected a size"),
                                (["--limit", "peak"], "<="), (["--limit", "max <= 5"], "does not add up"),
                                (["--limit", "nonsense <= 5"], "no metric"), (["--in", "5"], "PATTERN=SIZE"),
                                (["--growth", "5%"], "baseline"), (["--limit", "peak growth <= 1"], "baseline"),
                                (["--limit", "peak in /(/ <= 5"], "not valid"),
                                (["--max-peak", "5", "--junit", "-", "--json"], "only one")):
            self.assertIn(word, self.allo_fails("budget", *arguments, HEAP, status=2))
        bad = self.file("bad.txt", "peak <= 5\npeak >= 5\n")
        self.assertIn("bad.txt:2:1: expected a limit", self.allo_fails("budget", "-c", bad, HEAP))
        other = self.file("other.txt", "\nnosuch <= 5\n")
        self.assertIn("other.txt:2:1: there is no metric", self.allo_fails("budget", "-c", other, HEAP, status=2))

    def test_suppressed_leaks_do_not_count(self):
        supp = self.file("x.supp", "leak:demo.c\n")
        self.assertIn("ok  leaks", self.budget("--max-leaks", 0, "--suppressions", supp, HEAP))
        peak = self.sum_of("peak_bytes")
        self.budget("--max-peak", peak - 1, "--suppressions", supp, HEAP, status=3)

    def test_plain_numbers(self):
        self.assertRegex(self.budget("--max-peak", "2M", "--bytes", HEAP), r"^ok  peak  \d+  limit 2097152\n")


class Reports(Test):
    ODD = 'a<b>&"c"|`d`*_[x](y)\x01\x1b\u00e9\n'

    def test_junit_is_valid_xml(self):
        odd = self.file("odd.folded", 'main;a<b>&"c"|`d`]]>\x01\x1b\u00e9 5\n')
        done = self.run_program(ALLO, "budget", "--limit", "samples <= 4", "--limit", 'samples in a<b>&"c" <= 4',
                                "--limit", "samples <= 5", "--junit", "out.xml", odd)
        self.assertEqual(done.returncode, 3, done.stderr)
        root = xml.etree.ElementTree.parse(self.tmp / "out.xml").getroot()
        self.assertEqual((root.tag, root.get("tests"), root.get("failures")), ("testsuites", "3", "2"))
        suite = root.find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("3", "2", "0"))
        cases = suite.findall("testcase")
        self.assertEqual([case.get("name") for case in cases],
                         ["samples <= 4", 'samples in a<b>&"c" <= 4', "samples <= 5"])
        self.assertEqual([len(case.findall("failure")) for case in cases], [1, 1, 0])
        self.assertIn('5 where at most 4 is allowed: 1 over, mostly a<b>&"c"|`d`]]>',
                      cases[0].find("failure").get("message"))
        self.assertEqual(cases[0].get("classname"), str(odd))

    def test_markdown_is_a_table_for_all_names(self):
        odd = self.file("odd.folded", "main;" + self.ODD.strip() + " 5\n")
        text = self.run_program(ALLO, "budget", "--limit", "samples <= 4", "--markdown", "-", odd).stdout.decode()
        self.assertTrue(text.startswith("### allo budget: 1 of 1 limit exceeded\n"))
        row = [line for line in text.splitlines() if "FAIL" in line][0]
        unescaped = row.replace("\\\\", "")
        self.assertEqual(unescaped.count("|") - unescaped.count("\\|"), 6)
        for character in "<>`*[]_":
            self.assertEqual(row.replace("**FAIL**", "").count(character),
                             row.replace("**FAIL**", "").count("\\" + character), character)
        self.assertNotIn("\x1b", row)

    def test_files_are_replaced_only_if_forced(self):
        kept = self.file("kept.xml", "precious")
        for option in ("--junit", "--markdown"):
            self.assertIn("exists", self.allo_fails("budget", "--max-peak", "1G", option, kept, HEAP, status=2))
            self.assertEqual(kept.read_text(), "precious")
        self.allo("budget", "--max-peak", "1G", "--junit", kept, "-f", HEAP)
        xml.etree.ElementTree.parse(kept)

    def test_only_one_format_is_printed(self):
        for option in ("--junit", "--markdown"):
            text = self.allo("budget", "--max-peak", "1G", option, "-", HEAP)
            self.assertNotIn("ok    ", text)
        xml.etree.ElementTree.fromstring(self.allo("budget", "--max-peak", "1G", "--junit", "-", HEAP))


class Recordings(CaptureTest):
    def test_counts_of_a_recording_are_exact(self):
        self.allo("run", "-q", "-o", "a.allo", built("leaks.c"))
        left = 7 * 1009 + 30 * 101 + 3 * 4099
        for limits, status in ((["--max-leaks", left, "--max-blocks", 40 + 31 * 50], 0),
                               (["--max-leaks", left - 1], 3), (["--max-blocks", 40 + 31 * 50 - 1], 3),
                               (["--limit", "alloc_blocks in fn:=borrow <= 1550"], 0),
                               (["--limit", "alloc_blocks in fn:=borrow <= 1549"], 3)):
            done = self.run_program(ALLO, "budget", *limits, "a.allo")
            self.assertEqual(done.returncode, status, (limits, done.stdout))


class Services(CaptureTest):
    """Annotations, SARIF and series of numbers, for services around CI."""
    SOURCE = """#include <stdlib.h>

char *volatile kept;

__attribute__((noinline)) static void keep(void)
{
    for (int i = 0; i < 7; i++)
        kept = malloc(1009);
    kept = malloc(53);
}

__attribute__((noinline)) static void borrow(void)
{
    for (int i = 0; i < 23; i++) {
        kept = malloc(101);
        free(kept);
    }
}

int main(void)
{
    borrow();
    keep();
    return 0;
}
"""
    LEAKED = 7 * 1009 + 53

    def setUp(self):
        super().setUp()
        (self.tmp / "src").mkdir()
        self.file("src/leaks.c", self.SOURCE)
        self.must("cc", "-g", "-O1", "-fno-builtin", self.tmp / "src" / "leaks.c", "-o", "leaks")
        self.allo("run", "-q", "-o", "leaks.4711.allo", "./leaks")

    def budget(self, *options, status=3):
        done = self.run_program(ALLO, "budget", *options, "leaks.4711.allo")
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def line_of(self, text):
        return next(i for i, line in enumerate(self.SOURCE.splitlines(), 1) if text in line)

    def annotations(self, *options, **more):
        return re.findall(r"^::error (.*?)::(.*)$", self.budget("--github", *options, **more).stderr.decode(), re.M)

    def test_annotations_name_the_line_relative_to_the_root(self):
        line = self.line_of("malloc(1009)")
        for root, file in ((".", "src/leaks.c"), ("src", "leaks.c")):
            (place, message), = self.annotations("--max-leaks", 0, "--source-root", root)
            self.assertEqual(place, f"file={file},line={line},title=leaks is exceeded")
            self.assertRegex(message, r"^leaks of leaks\.4711\.allo: .* where at most 0 B is allowed: .* mostly keep ")
        mostly = json.loads(self.budget("--max-leaks", 0, "--json").stdout)["limits"][0]
        self.assertEqual((mostly["mostly_path"], mostly["mostly_line"]), (str(self.tmp / "src" / "leaks.c"), line))

    def test_a_file_outside_the_root_is_not_annotated(self):
        (self.tmp / "other").mkdir()
        (place, _), = self.annotations("--max-leaks", 0, "--source-root", "other")
        self.assertEqual(place, "title=leaks is exceeded")

    def test_a_limit_in_a_function_names_a_line_of_its_callees(self):
        (place, _), = self.annotations("--limit", "alloc_blocks in fn:=borrow <= 5")
        self.assertIn(f",line={self.line_of('malloc(101)')},", place)

    def test_a_root_of_another_machine(self):
        """The paths of the recording need not exist here."""
        heap = self.file("heap.json", HEAP.read_text().replace("(demo.c", "(/build/elsewhere/src/demo.c"))
        done = self.run_program(ALLO, "budget", "--max-leaks", 0, "--github", "--source-root", "/build/elsewhere/", heap)
        self.assertIn("::error file=src/demo.c,line=72,title=leaks", done.stderr.decode())
        self.assertIn("find the directory", self.allo_fails("budget", "--max-leaks", 0, "--source-root", "nowhere", heap))

    def test_without_a_place_the_limit_is_the_place(self):
        folded = self.file("a.folded", "main;parse 5\n")
        self.file("limits.txt", "# small\nsamples <= 4\n")
        for options, place in ((("-c", "limits.txt"), "file=limits.txt,line=2,"), (("--limit", "samples <= 4"), "")):
            done = self.run_program(ALLO, "budget", *options, "--github", folded)
            self.assertIn(f"::error {place}title=samples is exceeded::samples of ", done.stderr.decode())

    def test_annotations_are_escaped(self):
        odd = self.file("odd.folded", "main;a%,:b\x01 5\n")
        done = self.run_program(ALLO, "budget", "--limit", "samples in a%,:b <= 4", "--github", odd)
        line, = [line for line in done.stderr.decode().splitlines() if line.startswith("::error")]
        self.assertIn("title=samples in a%25%2C%3Ab is exceeded::samples in a%25,:b of ", line)
        self.assertNotIn("\x01", line)

    def test_kept_limits_have_no_annotation(self):
        self.assertEqual(self.annotations("--max-leaks", "1G", status=0), [])

    def test_annotations_leave_standard_output_to_the_report(self):
        done = self.budget("--max-leaks", 0, "--github", "--markdown", "-")
        self.assertTrue(done.stdout.startswith(b"### allo budget"))
        self.assertNotIn(b"::error", done.stdout)

    def test_growth_names_the_line_that_grew(self):
        heap = json.loads(HEAP.read_text())
        low = min(range(len(heap["pps"])), key=lambda i: heap["pps"][i]["gb"])
        heap["pps"][low]["gb"] += 5000
        now = self.file("now.json", json.dumps(heap))
        done = self.run_program(ALLO, "budget", "--limit", "peak growth <= 0", "--baseline", HEAP, "--json", now)
        mostly = json.loads(done.stdout)["limits"][0]
        frames = " ".join(heap["ftbl"][frame] for frame in heap["pps"][low]["fs"])
        self.assertIn(f"{mostly['mostly']} (demo.c:{mostly['mostly_line']})", frames)

    def sarif(self, *options):
        self.budget("--sarif", "budget.sarif", *options)
        return json.loads((self.tmp / "budget.sarif").read_text())

    def test_sarif(self):
        """The members that SARIF 2.1.0 requires, and those that code-scanning services need."""
        sarif = self.sarif("--max-leaks", 0, "--max-blocks", 5, "--max-peak", "1G", "--limit", "blocks <= 6")
        self.assertEqual(sarif["version"], "2.1.0")
        self.assertRegex(sarif["$schema"], r"^https://.*sarif-2\.1\.0\.json$")
        run, = sarif["runs"]
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "Allotrope")
        ids = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(sorted(ids), ["blocks", "incomplete", "leaks", "peak"])
        self.assertEqual([result["ruleId"] for result in run["results"]], ["blocks", "leaks", "blocks"])
        for result in run["results"]:
            self.assertEqual(ids[result["ruleIndex"]], result["ruleId"])
            self.assertEqual(result["level"], "error")
            self.assertIn(" where at most ", result["message"]["text"])
            place, = result["locations"]
            name, text = ("keep", "1009") if result["ruleId"] == "leaks" else ("borrow", "101")
            self.assertEqual(place["logicalLocations"][0]["fullyQualifiedName"], name)
            self.assertEqual(place["physicalLocation"], {"artifactLocation": {"uri": "src/leaks.c"},
                                                         "region": {"startLine": self.line_of(f"malloc({text})")}})

    def test_sarif_of_an_incomplete_input(self):
        data = (self.tmp / "leaks.4711.allo").read_bytes()
        self.file("leaks.4711.allo", data[:-20])  # its end, not its events
        run, = self.sarif("--max-peak", "1G")["runs"]
        result, = run["results"]
        self.assertEqual(run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"], "incomplete")
        self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"], {"uri": "leaks.4711.allo"})

    def test_each_result_is_in_a_file(self):
        """GitHub refuses all results if one of them has no physical location: the input takes its place."""
        folded = self.file("a.folded", "main;parse 5\n")
        self.run_program(ALLO, "budget", "--limit", "samples <= 4", "--sarif", "a.sarif", folded)
        result, = json.loads((self.tmp / "a.sarif").read_text())["runs"][0]["results"]
        place, = result["locations"]
        self.assertEqual(place["physicalLocation"], {"artifactLocation": {"uri": "a.folded"}, "region": {"startLine": 1}})
        self.assertEqual(place["logicalLocations"][0]["fullyQualifiedName"], "parse")

    def test_series_for_github_action_benchmark(self):
        """An array of name, unit and value; no run changes the names."""
        done = self.budget("--max-leaks", 0, "--max-blocks", 5, "--limit", "blocks <= 6", "--limit",
                           "alloc_blocks in fn:=borrow <= 5", "--bench", "-")
        self.assertEqual(json.loads(done.stdout), [
            {"name": "leaks: alloc_blocks", "unit": "count", "value": 31},
            {"name": "leaks: end_bytes", "unit": "bytes", "value": self.LEAKED},
            {"name": "leaks in fn:=borrow: alloc_blocks", "unit": "count", "value": 23}])

    def test_series_for_bencher(self):
        self.budget("--max-leaks", 0, "--limit", "alloc_blocks in fn:=borrow <= 5", "--bencher", "numbers.json")
        self.assertEqual(json.loads((self.tmp / "numbers.json").read_text()), {
            "leaks": {"end-bytes": {"value": self.LEAKED}}, "leaks in fn:=borrow": {"alloc-blocks": {"value": 23}}})

    def test_only_one_is_printed_and_files_are_kept(self):
        self.assertIn("only one", self.allo_fails("budget", "--max-peak", "5", "--sarif", "-", "--bench", "-", HEAP, status=2))
        kept = self.file("kept.json", "precious")
        for option in ("--sarif", "--bench", "--bencher"):
            self.assertIn("exists", self.allo_fails("budget", "--max-peak", "1G", option, kept, HEAP, status=2))
            self.assertEqual(kept.read_text(), "precious")


class Incomplete(CaptureTest):
    """A test must not pass because events are missing."""

    def setUp(self):
        super().setUp()
        program = [built("churn.c"), "3", "20000"]  # a part of its events is read from a part of the raw file
        self.allo("run", "-q", "-o", "packed.allo", "--", *program)
        self.allo("run", "-q", "--raw", "-o", "raw.allo", "--", *program)
        self.file("all.supp", "leak:*\n")
        self.gates = {"budget": ["budget", "--max-peak", "1G", "--limit", "total <= 1G"],
                      "leaks": ["leaks", "--exit-code", "--suppressions", "all.supp"]}

    def cut(self, name):
        data = (self.tmp / name).read_bytes()
        cut = self.file(f"cut-{name}", data[:-20] if name == "packed.allo" else data[:len(data) * 3 // 4])
        self.assertEqual(self.run_program(ALLO, "verify", cut).returncode, 3)
        return cut

    def test_a_complete_recording_passes(self):
        for gate in self.gates.values():
            for name in ("packed.allo", "raw.allo"):
                self.allo(*gate, name)

    def test_a_truncated_one_fails(self):
        for gate in self.gates.values():
            for name in ("packed.allo", "raw.allo"):
                done = self.run_program(ALLO, *gate, self.cut(name))
                self.assertEqual(done.returncode, 3, (gate, name, done.stderr))
                self.assertIn("is incomplete, so the check has failed", done.stderr.decode())
                self.assertNotIn("kept", done.stdout.decode())
                self.allo(*gate, "--allow-incomplete", self.cut(name))

    def test_one_without_any_event_fails(self):
        cut = self.file("cut.allo", (self.tmp / "packed.allo").read_bytes()[:200])
        for gate in self.gates.values():
            for options in ([], ["--allow-incomplete"]):
                self.assertIn("the file ends after 200 bytes: no event can be read", self.allo_fails(*gate, *options, cut))

    def test_a_truncated_baseline_fails(self):
        done = self.run_program(ALLO, "budget", "--limit", "blocks growth <= 1000000", "--baseline",
                                self.cut("raw.allo"), "packed.allo")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("incomplete", done.stderr.decode())

    def test_reports_fail_too(self):
        path = self.cut("packed.allo")
        done = self.run_program(ALLO, *self.gates["budget"], "--json", path)
        found = json.loads(done.stdout)
        self.assertEqual((found["ok"], found["complete"], found["exceeded"]), (False, False, 0))
        done = self.run_program(ALLO, *self.gates["budget"], "--junit", "-", path)
        suite = xml.etree.ElementTree.fromstring(done.stdout)[0]
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "1"))
        self.assertEqual(len(suite.findall("testcase/failure")), 1)

    def test_one_with_lost_events_fails(self):
        path = self.tmp / "raw.allo"
        lossy = bytearray(path.read_bytes())
        at = next(at for at in range(0, len(lossy), SLOT_SIZE)
                  if struct.unpack_from("=IB", lossy, at) == (SLOT_MAGIC, EVENTS))
        struct.pack_into("=Q", lossy, at + 40, 5)  # allo_wire_slot.dropped
        path.write_bytes(lossy)
        self.assertIn("5 events could not be recorded", self.run_program(ALLO, "verify", path).stdout.decode())
        for gate in self.gates.values():
            self.assertEqual(self.run_program(ALLO, *gate, path).returncode, 3)
