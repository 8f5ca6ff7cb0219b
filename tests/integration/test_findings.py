"""allo findings: each rule fires on a program with known numbers, and stays silent on a similar one."""
import csv
import io
import json
import pathlib
import re

from allotest import ALLO, ENVIRONMENT, Test
from inputs import dhat, dhat_of_stacks
from recordings import CaptureTest, LIBRARY, PROGRAMS, built


def program():
    # Functions with the same code stay different functions.
    return built("findings.c", "-fno-ipa-icf")


def line_of(text):
    """The line of a text that tests/programs/findings.c has once."""
    lines = (PROGRAMS / "findings.c").read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]


# Case: (rule, severity, function, numbers), and the cases where the rule is silent.
CASES = {
    "leak-growing": ("leak-growing", "high", "leak_on", {"end_bytes": 200 * 1009, "end_blocks": 200}),
    "leak-exit": ("leak-exit", "low", "fill_cache", {"end_bytes": 200 * 1009, "end_blocks": 200}),
    "grow-by-one": ("grow-by-one", "high", "append_line", {
        "reallocs": 999, "step_bytes": 1000, "copied_bytes": 1000 * 999 * 1000 // 2, "longest_chain": 999}),
    "grow-to-same": ("growth-factor", "high", "read_record", {
        "chains": 200, "last_size": 65536, "copied_bytes": 200 * (65536 - 16)}),
    "churn-loop": ("churn-loop", "high", "make_token", {"blocks": 20000, "size": 48}),
    "temp-format": ("temp-format", "high", "make_token", {"blocks": 20000, "least_size": 17, "most_size": 116}),
    "same-size": ("same-size", "medium", "make_token", {"size": 24, "blocks": 120000, "site_blocks": 120000}),
    "tiny": ("tiny", "high", "make_token", {"blocks": 20000}),
    "zero-size": ("zero-size", "low", "make_token", {"blocks": 1200}),
    "cross-thread": ("cross-thread", "medium", "make_message", {"crossed_blocks": 20000, "freed_blocks": 20000}),
    "spike": ("spike", "high", "burst", {"peak_bytes": 17_000_000}),
    "double-buffer": ("double-buffer", "medium", "read_rows", {"peak_bytes": 4_000_000, "other_peak_bytes": 4_000_000}),
    "late-free": ("late-free", "low", "hold", {"bytes": 4_000_000}),
    "startup": ("startup", "low", "hold", {"live_bytes": 32_000_000}),
}
SILENT = {
    "leak-growing": ["leak-exit", "leak-none", "leak-quickly"], "leak-exit": ["leak-growing", "leak-none"],
    "grow-by-one": ["grow-by-factor", "grow-to-same"], "growth-factor": ["grow-to-other", "grow-by-one"],
    "churn-loop": ["batch-same", "temp-format"], "temp-format": ["batch-varied", "churn-loop"],
    "same-size": ["other-sizes", "batch-same"], "tiny": ["same-size"], "zero-size": ["zero-size-rare", "tiny"],
    "cross-thread": ["own-thread"], "spike": ["plateau", "startup"], "double-buffer": ["two-kinds", "spike"],
    "late-free": ["early-free", "plateau"], "startup": ["later"], "fragmentation": ["no-fragmentation"],
    "never-read": ["all-used", "low-use"], "never-written": ["all-used", "never-read"],
    "low-use": ["all-used", "never-written"], "low-access": ["all-used", "never-read"],
    "quality": ["tiny"],
}
ACCESSES = {
    "never-read": ("never-read", "high", "log_entry", {"bytes": 50_000, "blocks": 50}),
    "never-written": ("never-written", "high", "log_entry", {"bytes": 50_000, "blocks": 50}),
    "low-use": ("low-use", "high", "log_entry", {"bytes": 35_000, "of_bytes": 50_000, "blocks": 50}),
    "low-access": ("low-access", "medium", "log_entry", {"bytes": 400_000, "blocks": 50}),
}


class FindingsTest(CaptureTest):
    def recorded(self, case, *options):
        path = self.tmp / f"{case}.allo"
        if not path.exists():
            self.allo("run", "-q", *options, "-o", path, program(), case)
        return path

    def dhat(self, case):
        path = self.tmp / f"{case}.dhat"
        if not path.exists():
            self.must("valgrind", "--tool=dhat", f"--dhat-out-file={path}", program(), case)
        return path

    def findings(self, file, *options):
        return self.allo_json("findings", *options, file)["findings"]

    def call_all_runs_short(self):
        """A run that takes a quarter of a second may take longer than the rule's default on a loaded machine."""
        self.file("allo.conf", "findings.leak-growing.duration = 1000s\n")

    def rules(self, file):
        return [found["rule"] for found in self.findings(file)]

    def assert_found(self, file, rule, severity, function, numbers):
        found = [found for found in self.findings(file) if found["rule"] == rule]
        self.assertEqual(len(found), 1, found)
        found = found[0]
        self.assertEqual((found["severity"], found["name"]), (severity, function))
        self.assertEqual(pathlib.PurePath(found["file"]).name, "findings.c")
        self.assertEqual({name: found["numbers"][name] for name in numbers}, numbers)
        self.assertIn(function, [frame["name"] for frame in found["frames"]])
        self.assertIn("main", [frame["name"] for frame in found["frames"]])
        for text in ("title", "message", "why", "advice"):
            self.assertRegex(found[text], r"\S")
        self.assertEqual(found["show"]["focus"], function)
        self.assertEqual(found["show"]["state"].split("&")[0], f"view={found['show']['view']}")
        self.assertEqual(found["show"]["state"].split("&")[-1], f"f=focus%3Afn%3A%3D{function}")
        return found


class Rules(FindingsTest):
    def test_each_rule_fires_with_the_numbers_of_the_program(self):
        for case, expected in CASES.items():
            with self.subTest(case):
                self.assert_found(self.recorded(case), *expected)

    def test_rules_about_accesses_fire_on_dhat_files(self):
        for case, expected in ACCESSES.items():
            with self.subTest(case):
                self.assert_found(self.dhat(case), *expected)

    def test_each_rule_is_silent_on_a_similar_program(self):
        listed = {rule["id"] for rule in self.allo_json("findings", "--list-rules")["rules"]}
        self.assertEqual(listed, set(SILENT))
        for rule, cases in SILENT.items():
            for case in cases:
                with self.subTest(f"{rule}, {case}"):
                    is_dhat = case in ACCESSES or case == "all-used"
                    if case == "leak-quickly":
                        self.call_all_runs_short()
                    found = self.rules(self.dhat(case) if is_dhat else self.recorded(case))
                    (self.tmp / "allo.conf").unlink(missing_ok=True)
                    self.assertNotIn(rule, found)

    def test_a_short_run_has_no_rates(self):
        self.call_all_runs_short()
        for found in self.findings(self.recorded("leak-quickly")):
            self.assertEqual((found["rule"], found["name"]), ("leak-exit", "leak_on"))
            self.assertNotIn("per second", found["message"])
        self.file("allo.conf", "findings.leak-growing.duration = 100ms\n")
        self.assertEqual(self.rules(self.recorded("leak-quickly")), ["leak-growing"])

    def test_a_leak_that_may_grow_is_no_leak_at_exit_only(self):
        self.call_all_runs_short()
        for case in ("leak-in-a-burst", "leak-quickly", "leak-first"):
            with self.subTest(case):
                found, = [found for found in self.findings(self.recorded(case)) if found["rule"] == "leak-exit"]
                self.assertNotIn("harmless", found["why"])
                if case == "leak-first":
                    self.assertNotIn("may grow", found["message"])
                    continue
                # Blocks of the same tick of the clock are in the same quarter.
                self.assertIn(found["numbers"]["late_blocks"], range(1, 56))
                self.assertIn("from the last quarter of the run: the leak may grow, but the run is too short to be certain",
                              found["message"])
        self.file("allo.conf", "findings.leak-growing.duration = 100ms\nfindings.leak-growing.bytes = 1M\n")
        found, = self.findings(self.recorded("leak-quickly"))
        self.assertIn("the leak may grow, but it is too small to be certain", found["message"])

    def test_texts_are_true_for_the_allocator(self):
        # Its name tells: rules do not depend on what else is in the library.
        library = built("stress_library.c", *LIBRARY, "-DMAKE=make_one", "-DSIZE=16", '-DBEFORE="16"', name="libjemalloc.so")
        linked = built("findings.c", "-fno-ipa-icf", "-Wl,--no-as-needed", library, name="findings-jemalloc")
        for case in ("tiny", "zero-size", "cross-thread"):
            self.allo("run", "-q", "-o", f"jemalloc-{case}.allo", linked, case)
            for path in (self.recorded(case), f"jemalloc-{case}.allo"):
                found = [found for found in self.findings(path) if found["rule"] == case]
                text = json.dumps(found)
                # jemalloc's small blocks have no headers.
                self.assertEqual(len(found), 0 if case == "tiny" and "jemalloc" in str(path) else 1)
                self.assertEqual("glibc" in text, case == "tiny" and bool(found), text)
                self.assertNotIn("arena", text.replace("an arena", ""))

    def test_the_interpreter_decides_about_blocks_of_python(self):
        script = self.file("words.py", "import threading\nkept = []\n"
                           "def build(i):\n    return 'x' * (i % 3000) + str(i)\n"
                           "def fill():\n    kept.extend(bytearray(b'ab') for _ in range(30000))\n"
                           "thread = threading.Thread(target=fill)\nthread.start()\nthread.join()\nkept.clear()\n"
                           "for i in range(40000):\n    build(i)\n")
        self.allo("run", "-q", "-o", "words.allo", "python3", script)
        self.assertGreater(self.allo_json("summary", "words.allo")["allocations"], 70000)
        self.assertLessEqual(set(self.rules("words.allo")), {"leak-exit", "leak-growing", "quality"})

    def test_memory_that_stays_resident(self):
        found = [found for found in self.findings(self.recorded("fragmentation")) if found["rule"] == "fragmentation"]
        self.assertEqual([place["name"] for place in found], ["fill_pages"])
        # 64,000 blocks of 1000 bytes were live, and 2,000 of them stay.
        self.assertGreater(found[0]["saving"]["resident_bytes"], 40_000_000)
        self.assertLess(found[0]["saving"]["resident_bytes"], 72_000_000)

    def test_code_without_names_is_a_problem_of_the_data(self):
        found = self.findings(self.recorded("tiny"), "--no-symbols", "--rule", "quality")
        self.assertEqual([place["rule"] for place in found], ["quality"])
        self.assertIn("100.0% of the blocks belong to code without a name", found[0]["message"])

    def test_the_place_is_the_line_of_the_call(self):
        found = self.findings(self.recorded("leak-growing"))[0]
        first = line_of("static APART void leak_on(int i)")
        self.assertIn(found["line"], range(first, first + 4))
        top = self.allo_json("top", "--by", "site", self.recorded("leak-growing"))["rows"][0]
        self.assertEqual((found["name"], found["file"], found["line"]), (top["name"], top["file"], top["line"]))

    def test_a_range_lies_in_the_run(self):
        path = self.recorded("spike")
        first, last = next(found["show"]["range"] for found in self.findings(path) if found["rule"] == "spike")
        self.assertLess(first, last)
        peak = self.allo_json("summary", path)["peak_ns"]
        self.assertLessEqual(first, peak)
        self.assertLessEqual(peak, last)

    def test_raw_and_packed_recordings_have_the_same_findings(self):
        self.allo("run", "-q", "--raw", "-o", "raw.allo", program(), "grow-by-one")
        packed = self.findings(self.recorded("grow-by-one"))
        raw = self.findings("raw.allo")
        self.assertEqual([found["numbers"] for found in raw], [found["numbers"] for found in packed])

    def test_results_are_the_same_in_every_run(self):
        path = self.recorded("temp-format")
        self.assertEqual(self.allo("findings", path), self.allo("findings", path))

    def test_sampled_recordings_are_not_judged_by_single_blocks(self):
        path = self.recorded("churn-loop", "-m", "sampled", "--rate", "4K")
        found = self.allo_json("findings", path)
        self.assertNotIn("churn-loop", [place["rule"] for place in found["findings"]])
        missing = {rule["rule"]: rule["needs"] for rule in found["not_checked"]}
        self.assertEqual(missing["churn-loop"], ["all allocations, not a sample"])


class Output(FindingsTest):
    def test_the_page(self):
        text = self.allo("findings", self.recorded("grow-by-one"))
        self.assertRegex(text, r"^1 finding: 1 high\n\nhigh  grow-by-one  append_line  findings\.c:\d+\n"
                               r"  found     999 reallocs grew blocks by 1,000 B each and copied up to 476\.4 MiB;\s+"
                               r"one block grew 999 times\n"
                               r"  why       Each realloc may copy")
        self.assertIn("\n  saves     up to 476.4 MiB of copies\n    append_line  findings.c:", text)
        self.assertRegex(text, r"\n  show      allo view --show 'view=\w+&\S*f=focus%3Afn%3A%3Dappend_line' \S+\n")
        self.assertIn("not checked, needs access data (record with 'valgrind --tool=dhat'): never-read, never-written",
                      text)

    def test_nothing_found(self):
        self.assertRegex(self.allo("findings", self.recorded("own-thread")), r"^no findings\n")

    def test_severities_and_rules_are_chosen(self):
        path = self.recorded("startup")
        self.assertEqual(set(self.rules(path)), {"startup", "late-free"})
        self.assertEqual(self.findings(path, "--min", "medium"), [])
        self.assertEqual([found["rule"] for found in self.findings(path, "--rule", "startup")], ["startup"])
        self.assertIn("there is no rule 'none'", self.allo_fails("findings", "--rule", "none", path, status=2))
        self.assertIn("needs a file", self.allo_fails("findings", status=2))

    def test_csv_and_markdown(self):
        path = self.recorded("grow-by-one")
        rows = list(csv.DictReader(io.StringIO(self.allo("findings", "--csv", path))))
        self.assertEqual([(row["rule"], row["function"]) for row in rows], [("grow-by-one", "append_line")])
        text = self.allo("findings", "--markdown", path)
        self.assertRegex(text, r"(?m)^#+ .*grow-by-one")
        self.assertRegex(text, r"(?m)^- .*999 reallocs")

    def test_thresholds_come_from_the_configuration(self):
        path = self.recorded("zero-size-rare")
        self.assertEqual(self.rules(path), [])
        self.file("allo.conf", "findings.zero-size.blocks = 900\n")
        self.assertEqual(self.rules(path), ["zero-size"])
        self.assertIn("findings.zero-size.blocks = 900:", self.allo("findings", "--list-rules"))
        self.file("allo.conf", "findings.zero-size.blocks = 900\nfindings.ignore = zero-size\n")
        self.assertEqual(self.rules(path), [])

    def test_wrong_thresholds_are_refused(self):
        path = self.recorded("tiny")
        for line, message in (("findings.tiny.size = much", 'findings.tiny.size: expected a size such as 64K, found "much"'),
                              ("findings.small.size = 3", 'unknown key "findings.small.size"'),
                              ("findings.ignore = all", 'there is no rule "all"')):
            self.file("allo.conf", f"# thresholds\n{line}\n")
            error = self.allo_fails("findings", path)
            self.assertIn("allo.conf:2:1: ", error)
            self.assertIn(message, error)

    def test_files_with_sums_have_the_rules_for_sums(self):
        path = self.file("heap.json", dhat_of_stacks([(("main", "keep"), 5_000_000)]))
        found = self.allo_json("findings", path)
        checked = {rule["id"] for rule in self.allo_json("findings", "--list-rules")["rules"]} - {
            rule["rule"] for rule in found["not_checked"]}
        self.assertIn("tiny", checked)
        self.assertNotIn("spike", checked)


    def test_the_page_of_the_manual_has_all_rules_and_defaults(self):
        page = (PROGRAMS.parent.parent / "doc" / "findings.md").read_text()
        listed = self.allo("findings", "--list-rules")
        for name, value in re.findall(r"findings\.(\S+) = (.*?): ", listed):
            self.assertIn(f"- `findings.{name}` = {value}: ", page)
        self.assertEqual(re.findall(r"(?m)^### (\S+)$", page),
                         [rule["id"] for rule in self.allo_json("findings", "--list-rules")["rules"]])


class Summary(FindingsTest):
    def test_it_shows_three_findings_of_two_lines(self):
        found = self.findings(self.recorded("fragmentation"))
        text = self.allo("summary", self.recorded("fragmentation"))
        self.assertRegex(text, r"(?m)^findings: 1 medium.*\n  medium  freed memory stays resident  fill_pages  findings\.c:\d+\n"
                               r"          after the peak, ")
        page = self.allo_json("summary", self.recorded("fragmentation"))
        self.assertEqual([(place["rule"], place["message"]) for place in page["findings"]],
                         [(place["rule"], place["message"]) for place in found])

    def test_the_others_are_counted(self):
        """Five sites with two findings each; at most three of a rule count."""
        frames = ["[root]", *(f"0x{number:X}: site{number} (a.c:{number})" for number in range(1, 6))]
        points = [{"tb": size, "tbk": 1, "tl": 1, "mb": size, "mbk": 1, "gb": size, "gbk": 1, "eb": size, "ebk": 1,
                   "rb": 0, "wb": 1, "fs": [number]} for number, size in ((number, number * 100000) for number in range(1, 6))]
        path = self.file("heap.json", dhat(points, frames, bklt=True, bkacc=True, tg=1, tuth=1))
        self.assertEqual(len(self.findings(path)), 6)
        self.assertEqual(len(self.findings(path, "-n", "0")), 10)
        text = self.allo("summary", path)
        self.assertEqual(re.findall(r"(?m)^  (high|medium|low) .*  (site\d)  a\.c:\d$", text),
                         [("high", "site5"), ("high", "site4"), ("high", "site3")])
        self.assertIn("3 more findings: 'allo findings' shows all, with advice", text)

    def test_nothing_is_said_without_findings(self):
        self.assertNotRegex(self.allo("summary", self.recorded("own-thread")), r"(?m)^findings")

    def test_hidden_libraries_change_no_numbers(self):
        path = self.recorded("grow-by-one")
        self.assertEqual([found["numbers"] for found in self.allo_json("summary", "--mine", path)["findings"]],
                         [found["numbers"] for found in self.allo_json("summary", path)["findings"]])


class Kept(FindingsTest):
    """Facts of long recordings are cached."""

    def setUp(self):
        super().setUp()
        self.path = self.tmp / "long.allo"
        self.allo("run", "-q", "-o", self.path, built("churn.c"), 2, 600000)
        self.env = {**ENVIRONMENT, "XDG_CACHE_HOME": str(self.tmp / "cache")}
        self.env.pop("ALLO_NO_CACHE", None)
        self.expected = self.page(ALLO_NO_CACHE="1")

    def page(self, **more):
        return json.loads(self.allo("findings", "--json", self.path, env={**self.env, **more}))

    def kept(self):
        return sorted(self.tmp.glob("cache/allotrope/facts/*"))

    def test_the_second_result_is_that_of_the_first(self):
        self.assertEqual(self.kept(), [])
        for _ in range(3):
            self.assertEqual(self.page(), self.expected)
            self.assertEqual(len(self.kept()), 1)

    def test_damaged_files_are_not_believed(self):
        self.page()
        kept, = self.kept()
        data = kept.read_bytes()
        for damaged in (b"", data[:1000], data[:-1], data + b"x", data[:40000] + b"\xff" * 64 + data[40064:]):
            kept.write_bytes(damaged)
            self.assertEqual(self.page(), self.expected)


class Sarif(FindingsTest):
    """The members that SARIF 2.1.0 requires, and those that code-scanning services need."""

    def sarif(self, path, *options):
        return json.loads(self.allo("findings", "--sarif", *options, path))

    def test_members(self):
        sarif = self.sarif(self.recorded("leak-growing"), "--source-root", PROGRAMS.parent)
        self.assertEqual(sarif["version"], "2.1.0")
        self.assertRegex(sarif["$schema"], r"^https://.*sarif-2\.1\.0\.json$")
        run, = sarif["runs"]
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "Allotrope")
        ids = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(ids), len(set(ids)))
        for rule in driver["rules"]:
            for text in ("shortDescription", "fullDescription", "help"):
                self.assertRegex(rule[text]["text"], r"\S")
        result, = run["results"]
        self.assertEqual(result["ruleId"], "leak-growing")
        self.assertEqual(ids[result["ruleIndex"]], result["ruleId"])
        self.assertEqual(result["level"], "error")
        self.assertIn("never freed", result["message"]["text"])
        place, = result["locations"]
        first = line_of("static APART void leak_on(int i)")
        self.assertEqual(place["physicalLocation"]["artifactLocation"], {"uri": "programs/findings.c"})
        self.assertIn(place["physicalLocation"]["region"]["startLine"], range(first, first + 4))
        self.assertEqual(place["logicalLocations"][0]["fullyQualifiedName"], "leak_on")
        frames = result["stacks"][0]["frames"]
        names = [frame["location"]["logicalLocations"][0]["fullyQualifiedName"] for frame in frames]
        self.assertLess(names.index("leak_on"), names.index("main"))

    def test_uris_are_valid(self):
        for options in ((), ("--source-root", PROGRAMS)):
            text = json.dumps(self.sarif(self.recorded("leak-growing"), *options))
            for uri in re.findall(r'"uri": "([^"]*)"', text):
                self.assertRegex(uri, r"^(file:///)?[-A-Za-z0-9._~/!$&'()*+,;=@%]+$")

    def test_no_findings_are_a_run_without_results(self):
        self.assertEqual(self.sarif(self.recorded("own-thread"))["runs"][0]["results"], [])


class Hostile(Test):
    def test_names_are_escaped(self):
        name = "</script>\x1b[31m\u202e" + "x" * 500
        point = {"tb": 9_000_000, "tbk": 1, "tl": 1, "mb": 9_000_000, "mbk": 1, "gb": 9_000_000, "gbk": 1,
                 "eb": 9_000_000, "ebk": 1, "rb": 0, "wb": 1, "fs": [1, 2]}
        frames = ["[root]", f"0x1: {name} (a b\x1b.c:1)", "0x2: main (a.c:2)"]
        path = self.file("heap.json", dhat([point], frames, bklt=True, bkacc=True, tg=1, tuth=1))
        self.assertEqual([found["rule"] for found in self.allo_json("findings", path)["findings"]],
                         ["never-read", "leak-exit"])
        for options in ((), ("--sarif",), ("--json",), ("--markdown",)):
            self.assertNotIn("\x1b", self.allo("findings", *options, path))
        self.assertIn('"uri":"a%20b%1B.c"', self.allo("findings", "--sarif", path))

    def test_a_file_that_is_no_profile(self):
        done = self.run_program(ALLO, "findings", self.file("x.txt", "nonsense\n"))
        self.assertEqual(done.returncode, 1)
