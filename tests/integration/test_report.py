"""Reports: one HTML file with the page, its engine and data."""
import json
import re
import shutil
import signal
import socket
import subprocess

import packedfile
import replyfile
import reportfile
from allotest import ALLO, ENVIRONMENT, GOLDEN, Test
from inputs import FUNCTION, LOCATION, STRINGS, TYPE, dhat, sample, strings
from recordings import CaptureTest, built


class ReportTest(Test):
    SANITIZED = False  # that build has no engine

    def report(self, *words):
        """Writes a report; returns the page, and what allo said."""
        done = self.run_program(ALLO, "report", *words, "-fo", "report.html")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return (self.tmp / "report.html").read_bytes(), done.stderr.decode()

    def top(self, path):
        """All that `allo top` says about a file, but for its name."""
        found = self.allo_json("top", "-n", "0", path)
        return {key: found[key] for key in ("totals", "rows", "notes") if key in found}

    def embedded(self, page):
        """The paths of a report's files, unpacked."""
        return [self.file(f"embedded-{i}", content) for i, (_, content) in enumerate(reportfile.files(page))]


class Damaged(ReportTest):
    def check(self, path):
        """The report has the numbers that can be read, and the gaps that `allo verify` finds."""
        page, said = self.report(path)
        [copy] = self.embedded(page)
        self.assertEqual(self.top(copy), self.top(path))
        self.assertEqual(self.gaps(copy), self.gaps(path))
        return said

    def gaps(self, path):
        done = self.run_program(ALLO, "verify", "--json", path)
        return {note["kind"]: note["count"] for note in json.loads(done.stdout)["notes"]}

    def test_a_file_may_be_cut_anywhere(self):
        whole = (GOLDEN / "allo" / "shuffled.allo").read_bytes()
        for length in (len(whole) - 300, len(whole) - 40, len(whole) - 1):
            self.file("cut.allo", whole[:length])
            self.assertIn("note: 1 file is truncated", self.check("cut.allo"))

    def test_a_file_without_any_event_is_refused(self):
        whole = (GOLDEN / "allo" / "shuffled.allo").read_bytes()
        for length in (64, 700):
            error = self.allo_fails("report", "-o", "cut.html", self.file("cut.allo", whole[:length]))
            self.assertIn(f"the file ends after {length} bytes: no event can be read", error)
            self.assertFalse((self.tmp / "cut.html").exists())

    def test_any_byte_may_be_damaged(self):
        whole = (GOLDEN / "allo" / "server.allo").read_bytes()
        for at in range(100, len(whole), 61):
            self.file("bad.allo", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            # No place in the copy that the report embeds, which has a temporary name.
            self.assertRegex(self.check("bad.allo"), r"\A(note: [\w ,:]+\n)*allo: wrote ")

    def test_an_unusable_folder_for_the_copy_is_named(self):
        done = self.run_program(ALLO, "report", GOLDEN / "allo" / "server.allo", "-o", "a.html",
                                env={**ENVIRONMENT, "TMPDIR": "/nowhere"})
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"allo: error: /nowhere: cannot write a copy with names there: No such file", done.stderr)

    def test_an_intact_recording_has_no_gaps(self):
        path = GOLDEN / "allo" / "server.allo"
        self.assertNotIn("note", self.check(path))
        self.assertEqual(len(self.top(path)["rows"]), 1)


class Killed(CaptureTest, ReportTest):
    def test_a_killed_process_has_a_report(self):
        done = self.run_program(ALLO, "run", "-q", "--raw", "-o", "k.allo", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        page, said = self.report("k.allo")
        [copy] = self.embedded(page)
        self.assertEqual(self.top(copy), self.top("k.allo"))
        self.assertIn("wrote report.html", said)


class Redaction(CaptureTest, ReportTest):
    ALL = "names,paths,args,host"

    def setUp(self):
        super().setUp()
        program = self.tmp / "home" / "annabell" / "private-service"
        program.parent.mkdir(parents=True)
        shutil.copy(built("service.cpp"), program)
        done = self.run_program(ALLO, "run", "-q", "-o", "service.allo", "--", program, "--token=hunter2")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        host = socket.gethostname().encode()
        self.secrets = {"names": (b"open_session", b"cache", b"make_page"),
                        "paths": (b"private-service", b"service.cpp", b"annabell", str(self.tmp).encode()),
                        "args": (b"hunter2", b"--token"),
                        # A short name of a host is among the bytes of any recording.
                        "host": (host, b"annabell") if len(host) > 4 else (b"annabell",)}

    def redacted(self, path, kinds):
        """The unpacked payload of a report, and the path of its file."""
        page, said = self.report("--redact", kinds, path)
        [(name, content)] = reportfile.files(page)
        self.assertEqual(json.loads(reportfile.parts(page)["allo-contents"][1])["redacted"], kinds.split(","))
        self.assertIn("without ", said)
        return name.encode() + packedfile.contents(content), self.file("copy.allo", content)

    def found(self, payload):
        return {kind for kind, words in self.secrets.items() if any(self.occurs(word, payload) for word in words)}

    def occurs(self, word, payload):
        return re.search(rb"(?<![A-Za-z0-9_])" + re.escape(word) + rb"(?![A-Za-z0-9_])", payload)

    def test_nothing_of_it_is_left_in_the_payload(self):
        whole = packedfile.contents(self.embedded_file(self.report("service.allo")[0]))
        self.assertEqual(self.found(whole), {"names", "paths", "args", "host"})
        payload, _ = self.redacted("service.allo", self.ALL)
        self.assertEqual(self.found(payload), set())

    def test_each_kind_alone(self):
        for kind, words in self.secrets.items():
            payload, _ = self.redacted("service.allo", kind)
            for word in words:
                self.assertIsNone(self.occurs(word, payload), (kind, word))
        payload, _ = self.redacted("service.allo", "args")
        self.assertEqual(self.found(payload), {"names", "paths", "host"})

    def embedded_file(self, page):
        [(_, content)] = reportfile.files(page)
        return content

    def numbers(self, path):
        rows = self.allo_json("top", "-n", "0", path)["rows"]
        return sorted((row["self"], row["total"], row.get("line", 0)) for row in rows)

    def test_the_numbers_stay(self):
        for kinds in ("names", "paths", self.ALL):
            _, copy = self.redacted("service.allo", kinds)
            self.assertEqual(self.numbers(copy), self.numbers("service.allo"))
            self.allo("verify", copy)

    def test_pseudonyms_are_stable(self):
        shutil.copy(self.tmp / "service.allo", self.tmp / "again.allo")
        first, _ = self.redacted("service.allo", self.ALL)
        again, _ = self.redacted("again.allo", self.ALL)
        self.assertEqual(first, again)

    def test_own_code_stays_own_code(self):
        own = [self.allo_json("top", "-n", "0", "--mine", path)["rows"] for path in
               ("service.allo", self.redacted("service.allo", self.ALL)[1])]
        self.assertEqual(*(sorted(row["self"] for row in rows) for rows in own))

    def test_marks_and_labels_are_names(self):
        path = GOLDEN / "allo" / "notes.allo"
        payload, copy = self.redacted(path, "names")
        marks = [self.allo_json("info", file)["recording"]["marks"] for file in (path, copy)]
        self.assertEqual(*([mark["ns"] for mark in found] for found in marks))
        self.assertEqual(len(marks[0]), 3)
        for text in ("upload", "alice", "cache miss", "request", *(mark["name"] for mark in marks[0])):
            self.assertIn(text.encode(), packedfile.contents(path.read_bytes()))
            self.assertIsNone(self.occurs(text.encode(), payload), text)

    def test_other_formats_are_redacted_too(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        names = {row["name"] for row in self.allo_json("top", "-n", "0", path)["rows"]} - {"main"}
        page, said = self.report("--redact", self.ALL, path)
        [(_, content)] = reportfile.files(page)
        self.assertGreater(len(names), 2)
        for name in names:
            if not re.match(r"malloc|calloc|realloc|operator|_|std::|\(below", name):
                self.assertNotIn(name.encode(), content)
        copy = self.file("copy.pb", content)
        self.assertEqual(sorted(row["self"] for row in self.allo_json("top", "-n", "0", copy)["rows"]),
                         sorted(row["self"] for row in self.allo_json("top", "-n", "0", path)["rows"]))
        self.assertIn("the profile", said)


    def test_a_home_without_anything_below_it_names_the_user(self):
        (self.tmp / "home" / "bertram").mkdir(parents=True)
        self.must("sh", "-c", f"cd home/bertram && exec '{ALLO}' run -q -o ../../home.allo ls")
        self.assertIn(b"bertram", packedfile.contents((self.tmp / "home.allo").read_bytes()))
        payload, _ = self.redacted("home.allo", "host")
        self.assertNotIn(b"bertram", payload)

    def test_texts_of_a_profile_are_redacted(self):
        """Units and names of metrics, and libraries whose names only begin like those of C."""
        path = self.file("odd.json", dhat([{"tb": 8, "tbk": 1, "fs": [1]}], ["[root]", "0x10: main (in /usr/lib/libc.so.6.secret_copy)"],
                                          bu="secret_unit", bsu="secret_units", bksu="secret_blocks"))
        page, _ = self.report("--redact", self.ALL, path)
        [(_, content)] = reportfile.files(page)
        self.assertNotIn(b"secret", content)


class Source(CaptureTest, ReportTest):
    def setUp(self):
        super().setUp()
        self.source = self.file("secret.c", "#include <stdlib.h>\n/* far from any function */\n\n\n\n\n"
                                "int main(void)\n{\n\treturn !malloc(1009); /* the leak */\n}\n")
        subprocess.run(["gcc", "-g", "-o", self.tmp / "secret", self.source], check=True)
        done = self.run_program(ALLO, "run", "-q", "-o", "s.allo", "--", self.tmp / "secret")
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_the_lines_of_functions_are_embedded(self):
        page, said = self.report("--with-source", "s.allo")
        lines = json.loads(reportfile.parts(page)["allo-source"][1])
        self.assertEqual(lines[str(self.source)], [[7, "int main(void)", "{", "\treturn !malloc(1009); /* the leak */", "}"]])
        self.assertRegex(said, "and source lines")

    def test_the_lines_of_the_engine_are_those_of_the_source(self):
        def asked(name):
            request = json.dumps({"v": 1, "ask": name, "metric": "alloc_bytes", "path": str(self.source)})
            reply = replyfile.Reply(self.run_program(ALLO, "view", "--ask", request, "s.allo").stdout)
            return list(zip(reply["line"], reply["self"], reply["total"]))
        self.assertEqual(asked("lines"), [(9, 1009, 1009)])
        self.assertEqual([row for row in asked("source") if row[2] > 0], asked("lines"))

    def test_there_is_no_source_text_otherwise(self):
        for options in ((), ("--redact", "args")):
            page, _ = self.report(*options, "s.allo")
            self.assertNotIn("allo-source", reportfile.parts(page))
            everything = page + b"".join(content for _, content in reportfile.parts(page).values())
            self.assertNotIn(b"the leak", everything)

    def test_source_that_is_gone_is_reported(self):
        self.source.unlink()
        _, said = self.report("--with-source", "s.allo")
        self.assertIn("no source file was found", said)

    def test_source_and_redaction_exclude_each_other(self):
        done = self.run_program(ALLO, "report", "--with-source", "--redact", "names", "s.allo", "-o", "r.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--with-source and --redact exclude each other", done.stderr)


class Series(ReportTest):
    """Reports without the recording: stored replies take its place."""
    SANITIZED = True  # these need no engine

    def series(self, *paths):
        page, said = self.report("--max-size", "350K", *paths)
        self.assertRegex(said, "more than 350.0 KiB|built without the engine")
        parts = reportfile.parts(page)
        self.assertEqual(set(parts), {"allo-contents", "allo-replies", "allo-script"})
        self.assertLess(len(page), 350 << 10)
        return list(reportfile.replies(parts["allo-replies"][1]))

    def test_stored_replies_are_those_of_the_engine(self):
        path = GOLDEN / "allo" / "server.allo"
        stored = self.series(path)
        self.assertGreater(len({(json.loads(request).get("from"), json.loads(request).get("to"))
                                for request, _ in stored}), 16)
        for request, reply in stored[::17]:
            if b'"open"' not in request:
                done = self.run_program(ALLO, "view", "--ask", request.decode(), path)
                self.assertEqual(done.stdout, reply, request)

    def test_a_comparison_has_both_files_and_itself(self):
        stored = self.series(GOLDEN / "allo" / "server.allo", GOLDEN / "allo" / "notes.allo")
        self.assertEqual({json.loads(request)["file"] for request, _ in stored}, {0, 1, 2})

    def test_a_metric_may_have_any_name(self):
        names = ["", 'a","b', *STRINGS[2:]]
        stored = self.series(self.file("odd.pb", TYPE + sample() + LOCATION + FUNCTION + strings(names)))
        asked = [json.loads(request) for request, _ in stored]
        self.assertIn('a","b', {request.get("metric") for request in asked})

    def test_a_limit_that_is_too_small_is_refused(self):
        done = self.run_program(ALLO, "report", "--max-size", "10K", GOLDEN / "allo" / "server.allo", "-o", "r.html")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rb"would have .* even without the recording, more than 10.0 KiB")
        self.assertFalse((self.tmp / "r.html").exists())


class Odd(CaptureTest, ReportTest):
    def recorded(self, body, *options):
        source = self.file("odd.c", "#include <stdlib.h>\n#include <unistd.h>\nint main(void) { " + body + " }\n")
        subprocess.run(["gcc", "-O0", "-o", self.tmp / "odd", source], check=True)
        done = self.run_program(ALLO, "run", "-q", *options, "-o", "odd.allo", "--", self.tmp / "odd")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return self.allo_json("info", "odd.allo")["recording"]

    def check(self):
        """Both forms have a report whose numbers are those of the recording."""
        page, _ = self.report("odd.allo")
        [copy] = self.embedded(page)
        self.assertEqual(self.top(copy), self.top("odd.allo"))
        page, _ = self.report("--max-size", "350K", "odd.allo")
        self.assertIn("allo-replies", reportfile.parts(page))

    def test_a_recording_without_events(self):
        self.assertEqual(self.recorded("return !malloc(23);", "--min-size", "1M")["events"], 0)
        self.check()

    def test_a_recording_of_which_everything_was_freed(self):
        self.recorded("for (int i = 0; i < 23; i++) free(malloc(1009)); return 0;")
        [row] = self.allo_json("top", "-n", "0", "--metric", "alloc_bytes", "odd.allo")["rows"][:1]
        self.assertEqual(row["self"], 23 * 1009)
        self.check()


class OneStep(CaptureTest, ReportTest):
    def run_allo(self, *words, status=0):
        done = self.run_program(ALLO, *words)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def numbers(self, page, path):
        [copy] = self.embedded((self.tmp / page).read_bytes())
        self.assertEqual(self.top(copy), self.top(path))

    def test_a_run_writes_a_report(self):
        said = self.run_allo("run", "--report", "-o", "r.allo", "--", built("lives.c"))
        self.assertIn("wrote r.html", said)
        self.numbers("r.html", "r.allo")
        self.assertEqual((self.tmp / "r.html").stat().st_mode & 0o077, 0)

    def test_the_report_of_a_run_has_any_name(self):
        self.run_allo("run", "-q", "--report=page.html", "-o", "r.allo", "--", built("lives.c"))
        self.numbers("page.html", "r.allo")

    def test_a_report_that_cannot_be_written_does_not_change_the_status(self):
        said = self.run_allo("run", "-q", "--report=missing/page.html", "-o", "r.allo", "--", built("lives.c"))
        self.assertIn("missing/page.html", said)

    def test_a_budget_writes_a_report_whether_it_is_kept_or_not(self):
        path = GOLDEN / "allo" / "server.allo"
        for limit, status in (("1G", 0), ("1", 3)):
            self.run_allo("budget", "-f", "--max-peak", limit, "--report", "b.html", path, status=status)
            self.numbers("b.html", path)

    def test_the_baseline_of_a_budget_is_the_base_of_the_report(self):
        base = GOLDEN / "allo" / "notes.allo"
        self.run_allo("budget", "--max-peak", "1G", "--baseline", base, "--report", "b.html",
                      GOLDEN / "allo" / "server.allo")
        names = [name for name, _ in reportfile.files((self.tmp / "b.html").read_bytes())]
        self.assertEqual(names, ["server.allo", "notes.allo"])
