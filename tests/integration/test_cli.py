"""The command line: options, help, exit statuses, streams, colours, pager."""
import gzip
import json
import os
import re
import signal
import subprocess

from allotest import ALLO, ENVIRONMENT, GOLDEN, ROOT, Test, unsanitized
from terminal import on_terminal

HEAP = GOLDEN / "dhat" / "valgrind-heap.json"
RECORDING = GOLDEN / "allo" / "server.allo"
REPEATED = json.loads(HEAP.read_text())
REPEATED["pps"].append(REPEATED["pps"][0])

# How each command that prints JSON is called.
JSON = [["info", HEAP], ["top", HEAP], ["tree", HEAP], ["tree", "--dhat", HEAP], ["diff", HEAP, HEAP],
        ["diff", "--as", "tree", HEAP, HEAP], ["verify", HEAP], ["formats"], ["version"],
        ["events", "-n1", RECORDING], ["peek", "main", HEAP], ["list", "main", HEAP],
        ["leaks", RECORDING], ["findings", HEAP],
        ["budget", "--max-peak", "1G", HEAP],
        ["merge", "--json", "-fo", "merged.pb.gz", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json"],
        ["sql", HEAP, "select function, peak_bytes from site"],
        ["summary", RECORDING], ["timeline", RECORDING], ["threads", RECORDING],
        ["blocks", "-n1", RECORDING], ["hist", RECORDING], ["mem", os.getpid()], ["ps"]]

# Commands that need a process: test_watch.py and test_live.py test them.
OF_PROCESSES = {"attach", "detach", "live", "mark", "ps", "start", "stats", "stop"}

# How each command that prints a result is called.
RESULTS = JSON + [["help"], ["help", "tree"], ["help", "--man"], ["completion", "bash"],
                  ["convert", HEAP, "--to", "pprof"]]


def command_names(test):
    """From the list of commands."""
    return re.findall(r"^  ([a-z]+) +\S", test.allo("help").split("Usage:")[1], re.M)


def options_in_help(test, command):
    """{name: (letter, argument)} as --help has them."""
    found = re.findall(r"^  (?:-(\w), |    )--([a-z-]+)(?: ([A-Z=]+))?", test.allo("help", command), re.M)
    return {name: (letter, argument) for letter, name, argument in found}


class Options(Test):
    def test_the_man_page_begins_with_recording(self):
        page = self.allo("help", "--man")
        self.assertIn(".SH NAME\nallo \\- record and analyze the heap of programs\n", page)
        self.assertIn(".SH DESCRIPTION\nRecords every allocation of a program", page)

    def test_every_command_is_known_everywhere(self):
        commands = command_names(self)
        self.assertIn("tree", commands)
        page = self.allo("help", "--man")
        for command in commands:
            self.assertIn(f"\\fBallo\\-{command}\\fR(1)", page)
            self.assertRegex(self.allo(command, "--help"), rf"Usage: allo {command} ")

    def test_every_option_is_known_everywhere(self):
        shells = {shell: self.allo("completion", shell) for shell in ("bash", "zsh", "fish")}
        for command in command_names(self):
            options = options_in_help(self, command)
            self.assertIn("help", options)
            page = self.allo("help", "--man", command).replace("\\-", "-")
            bash = re.search(rf"^\t{command}\)\n(.*?)^\t\tfi ;;$", shells["bash"], re.M | re.S)[1]
            zsh = re.search(rf"^\t{command}\)\n(.*?) ;;$", shells["zsh"], re.M | re.S)[1]
            self.assertEqual(set(re.findall(r"--([a-z-]+)", re.search(r'-W "(-.*)"', bash)[1])),
                             set(options), command)
            self.assertEqual(set(re.findall(r"'\*?--([a-z-]+)", zsh)), set(options), command)
            self.assertEqual(set(re.findall(rf"^complete .*_from {command}' -l (\S+)", shells["fish"],
                                            re.M)), set(options), command)
            self.assertEqual(set(re.findall(r"^(?:\\fB-\w\\fR, )?\\fB--([a-z-]+)\\fR", page, re.M)),
                             set(options), command)
            for name, (letter, argument) in options.items():
                self.assertTrue(not letter or f"\\fB-{letter}\\fR, \\fB--{name}\\fR" in page)
                self.assertTrue(not argument or f"--{name}\\fR \\fI{argument}\\fR" in page)

    def test_no_option_is_there_twice(self):
        for command in command_names(self):
            names = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", self.allo(command, "--help"), re.M)
            self.assertEqual(len(names), len(set(names)), command)

    @unsanitized  # hundreds of processes that parse a word each
    def test_the_parser_knows_every_option(self):
        # An invalid token, for the one command that would not end.
        environment = {**ENVIRONMENT, "ALLO_TOKEN": "short"}
        for command in command_names(self):
            for name, (letter, argument) in options_in_help(self, command).items():
                for option in [f"--{name}"] + ([f"-{letter}"] if letter else []):
                    done = self.run_program(ALLO, command, option, env=environment)
                    self.assertNotIn(b"unknown option", done.stderr, (command, option))
                    self.assertEqual(b"needs an argument: " in done.stderr, bool(argument), (command, option))

    def test_values_are_taken_in_all_usual_forms(self):
        for arguments in (["-n", "3"], ["-n3"], ["--count", "3"], ["--count=3"]):
            self.assertEqual(len(self.allo_json("top", *arguments, HEAP)["rows"]), 3)

    def test_both_ends_of_stacks_can_be_taken_off(self):
        path = self.file("ends.folded", "_start;__libc_start_main;main;a;b;malloc 5\n"
                                        "clone;start_thread;worker;a;b 3\n")
        for options, expected in (
                (["--trim-startup"], "main;a;b;malloc 5\nworker;a;b 3\n"),
                (["--trim-startup", "--trim-allocator"], "main;a;b 5\nworker;a;b 3\n"),
                (["--stack-depth", "3"], "a;b;malloc 5\nworker;a;b 3\n"),
                (["--stack-depth", "2", "--trim-allocator"], "a;b 8\n")):
            self.assertEqual(self.allo("convert", "-q", "--to", "folded", *options, path), expected)

    def test_an_unknown_command_or_option_gets_a_suggestion(self):
        for arguments, meant in ((["tpo"], "allo top"), (["help", "convrt"], "allo convert"),
                                 (["top", "--foucs", "x", HEAP], "--focus"),
                                 (["top", "--by", "fuction", HEAP], "function"),
                                 (["tree", "--dhat", "--sort", "short-live", HEAP], "short-lived"),
                                 (["summ"], "allo summary"),
                                 # Not --max-peak, which is as many edits away.
                                 (["budget", "--max-leak", "0", HEAP], "--max-leaks"),
                                 (["budget", "--max-leka", "0", HEAP], "--max-leaks"),
                                 (["budget", "--max-b", "0", HEAP], "--max-blocks"),
                                 (["timeline", "--stpes", "3", HEAP], "--steps")):
            done = self.run_program(ALLO, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
            self.assertIn(f"  hint: did you mean '{meant}'?\n", done.stderr.decode())
        done = self.run_program(ALLO, "run", "--max-leak", "20K", "true")
        self.assertIn("did you mean '--max-leaks'?", done.stderr.decode())
        self.assertIn("no command 'frobnicate'", self.allo_fails("frobnicate", status=2))
        self.assertIn("unknown option '--frobnicate'", self.allo_fails("--frobnicate", status=2))
        self.assertIn("unknown option '-z'", self.allo_fails("top", "-z", HEAP, status=2))

    def test_commands_of_other_tools_lead_to_ours(self):
        for words, meant in ((["gui", "web", "open"], "'allo view FILE'"), (["flamegraph"], "'allo flame FILE'"),
                             (["overview", "stat"], "'allo summary FILE'"), (["massif"], "'allo timeline FILE'"),
                             (["dhat"], "'allo tree --dhat FILE'"),
                             (["html"], "'allo report FILE'"), (["heap", "table"], "'allo top FILE'"),
                             (["transform"], "'allo convert FILE"), (["parse"], "'allo events FILE'"),
                             (["heaptrack_print"], "'allo run PROGRAM'")):
            for word in words:
                done = self.run_program(ALLO, word)
                self.assertEqual((done.returncode, done.stdout), (2, b""), word)
                self.assertRegex(done.stderr.decode(), f"(?m)^  hint: .*{meant}", word)

    def test_options_of_other_tools_lead_to_ours(self):
        for arguments, meant in ((["top", "-cum", HEAP], "--cum"), (["top", "-inuse_space", HEAP], "-M live"),
                                 (["top", "-diff_base=old.pb.gz", HEAP], "allo diff BEFORE AFTER"),
                                 (["top", "-http=:8080", HEAP], "allo flame FILE"),
                                 (["convert", "-focus=main", HEAP], "-F PATTERN"),
                                 (["top", "-tagfocus=thread=1", HEAP], "-L KEY=VALUE"),
                                 (["run", "-p", "1"], "allo mem PID"), (["tree", "--threshold=1", HEAP], "--min"),
                                 (["run", "--pages-as-heap=yes", "true"], "--track mmap,brk"),
                                 (["top", "-l", HEAP], "allo leaks FILE"), (["top", "-T", HEAP], "-M temporary"),
                                 (["top", "-a", HEAP], "-M blocks"), (["run", "-a", "heap"], "allo summary FILE"),
                                 (["top", "-d", HEAP], "allo diff"), (["run", "-d", "true"], "gdb --args PROGRAM"),
                                 (["run", "-r", "true"], "only records"), (["run", "--record-only", "true"], "only records"),
                                 (["run", "--max-snapshots=9", "true"], "--steps N"),
                                 (["run", "--detailed-freq=1", "true"], "--at TIME"),
                                 (["run", "--depth=9", "true"], "--stack-depth N"),
                                 (["run", "--peak-inaccuracy=0", "true"], "peaks are exact"),
                                 (["run", "--native", "true"], "always recorded"),
                                 (["tree", "--leaks", HEAP], "allo leaks FILE"),
                                 (["run", "--live", "true"], "allo live PROCESS"),
                                 (["peek", "--wrappers=none", "main", HEAP], "wrappers included"),
                                 (["peek", "--alloc-fn", "f", "main", HEAP], "wrappers included")):
            done = self.run_program(ALLO, *arguments)
            self.assertEqual((done.returncode, done.stdout), (125 if arguments[0] == "run" else 2, b""), arguments)
            self.assertRegex(done.stderr.decode(), "unknown option '--?[a-zT_-]+' for")
            self.assertRegex(done.stderr.decode(), f"(?m)^  hint: .*{meant}")

    def test_a_file_alone_is_summarized(self):
        self.assertEqual(self.allo(RECORDING), self.allo("summary", RECORDING))
        self.assertEqual(self.allo(RECORDING, "-n", "1"), self.allo("summary", "-n", "1", RECORDING))
        (self.tmp / "recording").symlink_to(RECORDING)
        self.assertIn("never freed", self.allo("recording"))
        for name in ("missing.allo", "massif.out.1"):
            self.assertIn(f"{name}: cannot open", self.allo_fails(name))
            self.assertIn("neither a file nor a command", self.run_program(ALLO, name).stderr.decode())
        self.assertIn("hint: it is a file: 'allo summary FILE'", self.run_program(ALLO, "stats", "recording").stderr.decode())
        for program in (ALLO, self.file("program", b"\177ELF\nmain;draw 3\n")):
            done = self.run_program(ALLO, program)
            self.assertRegex(done.stderr.decode(), r"not a profile of a known format\n  hint: .*'allo run PROGRAM'")

    def test_metrics_go_by_their_usual_names(self):
        for name, metric in (("leaked", "end_bytes"), ("leaks", "end_bytes"), ("live", "end_bytes"),
                             ("inuse_space", "end_bytes"), ("alloc_space", "alloc_bytes"), ("alloc", "alloc_bytes"),
                             ("total", "alloc_bytes"), ("temporary", "temporary_blocks"), ("peak", "peak_bytes")):
            self.assertEqual(self.allo_json("top", "-M", name, RECORDING)["metric"]["name"], metric, name)
        heap = self.file("go.pb.gz", (GOLDEN / "pprof" / "go-heap.pb.gz").read_bytes())
        for name in ("leaks", "live", "inuse_space"):
            self.assertEqual(self.allo_json("top", "-M", name, heap)["metric"]["name"], "live_bytes", name)
        self.assertIn("no metric", self.allo_fails("top", "-M", "live_bytes", RECORDING, status=2))

    def test_help_begins_with_the_purpose(self):
        text = self.allo("help")
        self.assertRegex(text, "\\Aallo is a heap profiler")
        self.assertIn("flame", text)

    def test_options_of_traces_come_after_those_of_heaps(self):
        for command in ("top", "tree", "convert"):
            text = self.allo("help", command)
            self.assertLess(text.index("\nFilters\n"), text.index("\nTraces\n"), command)

    def test_commands_of_a_kind_stand_together(self):
        headings = [line for line in self.allo("--help").splitlines() if re.fullmatch(r"[A-Z][a-z]+", line)]
        self.assertIn("Look", headings)
        self.assertEqual(len(headings), len(set(headings)))

    def test_help_fits_eighty_columns(self):
        for command in command_names(self):
            for line in self.allo("help", command).splitlines():
                # An example is one line, however long.
                self.assertTrue(len(line) <= 80 or line.startswith("  allo "), line)
        self.assertLessEqual(max(map(len, self.allo("help").splitlines())), 80)


class Statuses(Test):
    def test_0_done(self):
        for arguments in RESULTS:
            self.allo(*arguments)

    def test_1_could_not(self):
        self.assertIn("No such file", self.allo_fails("top", "nosuch", status=1))
        bad = self.file("bad", b"\0\1\2")
        self.assertIn("bad: is not a profile", self.allo_fails("top", bad, status=1))
        cut = self.file("cut.json", HEAP.read_bytes()[:1000])
        self.assertRegex(self.allo_fails("info", cut, status=1), r"cut\.json:\d+:\d+: ")

    def test_2_makes_no_sense(self):
        for arguments in (["top"], ["top", "--count", "x", HEAP], ["top", "--count"], ["diff", HEAP],
                          ["info", HEAP, HEAP], ["completion", "tcsh"], ["convert", HEAP],
                          ["tree", "--min", "101", HEAP], ["top", "--json=yes", HEAP],
                          ["verify", "--repair", HEAP], ["verify", "-o", "x", HEAP],
                          ["top", "-M", "nosuch", HEAP], ["top", "--csv", "--json", HEAP]):
            self.allo_fails(*arguments, status=2)

    def test_3_does_not_hold(self):
        cut = self.file("cut.json", HEAP.read_bytes()[:1000])
        repeated = self.file("repeated.json", json.dumps(REPEATED))
        for arguments in (["verify", cut], ["verify", repeated], ["verify", "--json", cut],
                          ["diff", "--exit-code", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json"],
                          ["leaks", "--exit-code", HEAP], ["budget", "--max-peak", "1K", HEAP]):
            self.assertEqual(self.run_program(ALLO, *arguments).returncode, 3, arguments)

    def test_an_error_is_said_once(self):
        for arguments in (["verify", "nosuch"], ["top", "nosuch"], ["verify", self.file("bad", "{}")]):
            done = self.run_program(ALLO, *arguments)
            self.assertEqual(done.stderr.count(b"error:"), 1, done.stderr)


class Streams(Test):
    def test_results_go_to_standard_output_and_nothing_else_does(self):
        for arguments in RESULTS:
            done = self.run_program(ALLO, *arguments, "-q" if "-q" in self.allo("help", arguments[0])
                                    else "--")
            self.assertTrue(done.stdout, arguments)
            self.assertEqual(done.stderr, b"", arguments)

    def test_messages_go_to_standard_error(self):
        odd = self.file("odd.json", HEAP.read_bytes().replace(b": main (", b": m\xffain ("))
        for arguments in (["info"], ["top"], ["tree"], ["tree", "--dhat"],
                          ["convert", "-o", "x.pb.gz", "-f"]):
            loud = self.run_program(ALLO, *arguments, odd)
            quiet = self.run_program(ALLO, *arguments, "--quiet", odd)
            self.assertIn(b"not valid UTF-8", loud.stderr, arguments)
            self.assertEqual(quiet.stderr, b"", arguments)
            self.assertEqual(loud.stdout, quiet.stdout)
            self.assertNotIn(b"note", loud.stdout)

    def test_minus_is_standard_input_and_output(self):
        packed = self.run_program(ALLO, "convert", "-q", "-", "--to", "pprof", "-o", "-",
                                  input=HEAP.read_bytes()).stdout
        self.assertTrue(gzip.decompress(packed))
        text = self.allo("top", "--json", "-M", "peak", "-", input=packed)
        self.assertEqual(json.loads(text), self.allo_json("top", HEAP))

    def test_a_reader_that_leaves_early_is_no_news(self):
        for arguments in (["formats"], ["tree", "--dhat", HEAP], ["completion", "zsh"],
                          ["convert", HEAP, "--to", "pprof"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([ALLO, *arguments], stdout=writer, stderr=subprocess.PIPE,
                                  env=ENVIRONMENT)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""), arguments)

    def test_a_full_disk_is_noticed(self):
        with open("/dev/full", "w") as full:
            for arguments in (["top", HEAP], ["formats"], ["convert", HEAP, "--to", "pprof"]):
                done = subprocess.run([ALLO, *arguments], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"No space left on device", done.stderr)

    def test_an_existing_file_stays_unless_forced(self):
        kept = self.file("kept.pb.gz", "precious")
        for arguments in (["convert", HEAP, "-o", kept], ["diff", HEAP, HEAP, "-o", kept]):
            self.assertIn("exists and was not overwritten", self.allo_fails(*arguments, status=2))
            self.assertEqual(kept.read_text(), "precious")
        self.allo("convert", HEAP, "-f", "-o", kept)
        self.assertNotEqual(kept.read_bytes(), b"precious")

    def test_json_parses_and_has_its_version_first(self):
        for arguments in JSON:
            text = self.allo(*arguments, "--json")
            self.assertEqual(next(iter(json.loads(text).items())), ("v", 1), arguments)
            self.assertTrue(text.endswith("}\n"))
        for command in command_names(self):
            if "json" in options_in_help(self, command):
                self.assertIn(command, OF_PROCESSES | {arguments[0] for arguments in JSON})

    def test_json_is_as_it_is_described(self):
        text = (ROOT / "doc" / "json.md").read_text()
        examples = dict(re.findall(r"^## allo (.*?)\n\n```json\n(.*?)^```", text, re.M | re.S))
        repeated = self.file("repeated.json", json.dumps(REPEATED))
        files = {"diff": [HEAP, GOLDEN / "dhat" / "valgrind-cpp.json"], "verify": [repeated],
                 "formats": [], "version": [], "events": ["-n1", RECORDING], "peek": ["=make_node", HEAP],
                 "list": ["=make_node", HEAP], "leaks": [RECORDING], "budget": ["--max-peak", "1M", HEAP],
                 "merge": ["-o", "both.pb.gz", HEAP, GOLDEN / "dhat" / "valgrind-cpp.json"],
                 "sql": [HEAP, "select function, peak_bytes from site"],
                 "summary": [RECORDING], "timeline": [RECORDING], "threads": [RECORDING],
                 "blocks": ["-n1", RECORDING], "hist": [RECORDING], "mem": [os.getpid()]}
        self.assertEqual({title.split()[0] for title in examples},
                         OF_PROCESSES | {arguments[0] for arguments in JSON})
        for title, example in examples.items():
            command, *options = title.split()
            if command in OF_PROCESSES:
                continue
            done = self.run_program(ALLO, command, *options, "--json", *files.get(command, [HEAP]))
            found, described = json.loads(done.stdout), json.loads(example)
            self.assertEqual(list(found), list(described), title)
            for key, value in found.items():
                if isinstance(value, list) and value and isinstance(value[0], dict):
                    names = {name for item in value for name in item}
                    self.assertEqual(names, {name for item in described[key] for name in item}, title)

    def test_json_of_odd_names_parses(self):
        odd = self.file("odd.folded", b'a"b\\c;\x01\x7f\xff\xc3\xa9;</script> 5\n')
        names = [row["name"] for row in self.allo_json("top", odd)["rows"]]
        self.assertEqual(sorted(names), sorted(['a"b\\c', "\x01\x7f\ufffd\xe9", "</script>"]))


class Colors(Test):
    def colored(self, *options, terminal=False, **env):
        arguments = ["top", *options, HEAP]
        if terminal:
            text = on_terminal(ALLO, *arguments, env={"NO_COLOR": "", "TERM": "xterm", **env})[1]
        else:
            text = self.allo(*arguments, env={**ENVIRONMENT, **env})
        return "\033[" in text

    def test_only_a_terminal_gets_colors(self):
        self.assertTrue(self.colored(terminal=True))
        self.assertFalse(self.colored())
        self.assertFalse(self.colored(terminal=True, TERM="dumb"))

    def test_the_environment_decides_before_the_terminal(self):
        self.assertFalse(self.colored(terminal=True, NO_COLOR="1"))
        self.assertTrue(self.colored(FORCE_COLOR="1"))
        self.assertTrue(self.colored(CLICOLOR_FORCE="1"))
        self.assertFalse(self.colored(FORCE_COLOR="1", NO_COLOR="1"))

    def test_the_option_decides_before_the_environment(self):
        self.assertTrue(self.colored("--color=always", NO_COLOR="1"))
        self.assertFalse(self.colored("--color", "never", FORCE_COLOR="1"))
        self.assertFalse(self.colored("--color=never", terminal=True))


class OnATerminal(Test):
    ENV = {"NO_COLOR": "1", "TERM": "xterm", "PAGER": "cat"}
    LONG = "std::" + "detail::" * 30 + "Map::insert_or_assign"

    def lines(self, *arguments, columns=80, **env):
        status, text = on_terminal(ALLO, *arguments, columns=columns, env={**self.ENV, **env})
        self.assertEqual(status, 0, text)
        return text.splitlines()

    def test_long_names_are_cut_in_the_middle_on_a_terminal_only(self):
        path = self.file("long.folded", f"main;{self.LONG} 5\nmain;other 3\n")
        for arguments in (["top", path], ["tree", path], ["tree", "--invert", path],
                          ["tree", "--dhat", path]):
            for columns in (80, 120):
                lines = self.lines(*arguments, columns=columns)
                self.assertEqual(max(map(len, lines)), columns, arguments)
                cut = next(line for line in lines if "…" in line)
                self.assertRegex(cut, r" std::detail::.*….*::Map::insert_or_assign")
            self.assertIn(self.LONG, "\n".join(self.lines(*arguments, "--full-names")))
            self.assertIn(self.LONG, self.allo(*arguments))

    def test_no_name_is_too_long_to_be_piped_whole(self):
        name = "n" * 100000
        path = self.file("huge.folded", f"main;{name} 5\n")
        for arguments in (["top"], ["tree"], ["tree", "--dhat"], ["top", "--csv"]):
            self.assertIn(name, self.allo(*arguments, path))

    def test_a_chain_that_does_not_fit_shows_fewer_calls(self):
        path = self.file("chain.folded", ";".join(f"function_number_{i}" for i in range(9)) + " 5\n")
        line = self.lines("tree", path)[-1]
        self.assertLessEqual(len(line), 80)
        self.assertRegex(line, r"functio\S+_0 > functio\S+_1 > \.\.\. > functio\S+_8  \(9 frames\)$")
        self.assertIn("functi...ber_0 > ... > functi...ber_8",
                      self.lines("tree", "--ascii", path, columns=60)[-1])

    def test_names_from_a_file_cannot_move_the_cursor(self):
        path = self.file("evil.folded", b"main\x1b[2J;\x07bell\xc2\x9b1m 5\n")
        for arguments in (["top"], ["tree"], ["tree", "--dhat"]):
            text = self.allo(*arguments, path)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        evil = json.loads((GOLDEN / "dhat" / "valgrind-adhoc.json").read_text())
        for key in ("mode", "verb", "bsu", "cmd", "tu"):
            evil[key] += "\x1b[31m\x9b"
        path = self.file("evil.json", json.dumps(evil))
        for arguments in (["info"], ["top"], ["tree"], ["tree", "--dhat"], ["tree", "--dhat", "--min", 99],
                          ["diff", path], ["verify"]):
            self.assertNotRegex(self.allo(*arguments, path), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        said = self.run_program(ALLO, "top", "--from", "folded", path).stderr.decode()
        self.assertNotRegex(said, "[\x00-\x09\x0b-\x1f\x7f]")

    def test_a_pager_shows_output_that_does_not_fit_the_screen(self):
        pager = "sed 's/^/paged: /'"
        status, text = on_terminal(ALLO, "tree", "--dhat", HEAP, rows=20,
                                   env={**self.ENV, "PAGER": pager})
        self.assertEqual(status, 0)
        self.assertEqual([line[7:] for line in text.splitlines()],
                         self.allo("tree", "--dhat", HEAP, env={**ENVIRONMENT, "COLUMNS": "80"})
                         .splitlines())
        self.assertTrue(all(line.startswith("paged: ") for line in text.splitlines()))

    def test_there_is_no_pager_for_less_or_where_it_is_not_wanted(self):
        pager = "sed 's/^/paged: /'"
        for arguments, rows, env in ((["top", HEAP], 24, {"PAGER": pager}),
                                     (["tree", "--dhat", "--no-pager", HEAP], 10, {"PAGER": pager}),
                                     (["tree", "--dhat", HEAP], 10, {"PAGER": "cat"}),
                                     (["tree", "--dhat", HEAP], 10, {"PAGER": ""}),
                                     (["tree", "--dhat", HEAP], 10, {"PAGER": pager, "TERM": "dumb"}),
                                     (["help", "tree"], 10, {"PAGER": pager})):
            status, text = on_terminal(ALLO, *arguments, rows=rows, env={**self.ENV, **env})
            self.assertEqual(status, 0)
            self.assertNotIn("paged: ", text)
        self.assertNotIn("paged: ", self.allo("tree", "--dhat", HEAP,
                                              env={**ENVIRONMENT, "PAGER": pager}))

    def test_output_that_just_fits_is_not_paged(self):
        lines = len(self.allo("formats").splitlines())
        for rows, is_paged in ((lines, True), (lines + 1, False)):
            text = on_terminal(ALLO, "formats", columns=200, rows=rows,
                               env={**self.ENV, "PAGER": "echo paged; cat"})[1]
            self.assertEqual("paged" in text, is_paged)

    def test_a_pager_that_is_left_early_is_no_failure(self):
        big = self.file("big.folded", "".join(f"main;f{i} 5\n" for i in range(20000)))
        status, text = on_terminal(ALLO, "top", "-n0", big, env={**self.ENV, "PAGER": "head -n 1"})
        self.assertEqual(status, 0)
        self.assertEqual(text, "samples: 100,000, measured\n")

    def test_a_pager_that_is_not_there_does_not_hide_the_result(self):
        status, text = on_terminal(ALLO, "tree", "--dhat", HEAP, rows=10,
                                   env={**self.ENV, "PAGER": "no-such-pager"})
        self.assertEqual(status, 0)
        self.assertIn("PP 1.1.1.1/2", text)

    def test_less_is_the_pager_when_none_is_named(self):
        folder = self.tmp / "bin"
        folder.mkdir()
        self.file("bin/less", '#!/bin/sh\necho "less $*, LESS=$LESS"; cat\n').chmod(0o755)
        path = f"{folder}:{ENVIRONMENT['PATH']}"
        command = ["env", "-u", "PAGER", "-u", "LESS", f"PATH={path}", ALLO, "tree", "--dhat", HEAP]
        text = on_terminal(*command, rows=10, env={"NO_COLOR": "1", "TERM": "xterm"})[1]
        self.assertTrue(text.startswith("less -FRX, LESS=FRX\n"), text[:100])
