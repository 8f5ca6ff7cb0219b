"""allo ps, start, stop, mark, stats: controlling processes while they run."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

from allotest import ALLO, BUILD, HANG, IS_ROOT, ROOT, wait_until
from recordings import RUNTIME, built
from watching import Obedient, WatchTest, descriptors_of, kill, threads_of

NOBODY = 65534


class Listing(WatchTest):
    def test_processes_are_listed_with_their_state(self):
        _, dormant = self.obedient("--dormant")
        program, recorded = self.recorded("-m", "sampled", "--rate", "4096")
        program.tell("get 10 1009")
        found = self.processes()
        self.assertEqual(set(found), {dormant, recorded})
        self.assertEqual({key: found[dormant].get(key) for key in ("program", "state", "mode", "file")},
                         {"program": "obeys", "state": "dormant", "mode": None, "file": None})
        self.assertEqual({key: found[recorded].get(key) for key in ("state", "mode", "rate", "file", "by_program")},
                         {"state": "recording", "mode": "sampled", "rate": 4096, "by_program": False,
                          "file": str(self.tmp / f"obeys.{recorded}.1.allo")})
        self.assertGreater(found[recorded]["duration_ns"], 0)
        table = self.watch("ps")
        self.assertRegex(table, rf"(?m)^ *{dormant} +obeys +dormant +- +- +- +-$")
        self.assertIn(f"{recorded},obeys,recording,sampled,", self.watch("ps", "--csv"))

    def test_only_its_user_can_look_into_the_folder(self):
        _, pid = self.obedient()
        path, = self.sockets()
        self.assertEqual(path, self.runtime / "allo" / f"{pid}.sock")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)

    def test_a_process_removes_its_socket_at_exit(self):
        for last in ([], ["leave"]):
            program, _ = self.obedient()
            program.tell(*last)
            self.assertEqual(program.end(), 7 if last else 0)
            self.assertEqual(self.sockets(), [])
        self.assertEqual(list((self.runtime / "allo").iterdir()), [])

    def test_the_socket_of_a_killed_process_is_removed(self):
        _, pid = self.obedient()
        path, = self.sockets()
        kill(pid)
        wait_until(lambda: self.ask_status(path) is None, "nobody answers")
        self.assertTrue(path.exists())
        self.assertEqual(self.processes(), {})
        self.assertFalse(path.exists())

    def ask_status(self, path):
        try:
            return self.ask(path, b"allo 1 status\n\n")
        except OSError:
            return None

    def test_short_programs_have_no_socket(self):
        done = self.run_allo("run", "-q", "--control", "sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.sockets(), [])

    def test_the_socket_can_be_moved_or_disabled(self):
        program = Obedient(self, "--socket", self.tmp / "here" / "%e.sock")
        path = self.tmp / "here" / "obeys.sock"
        wait_until(path.exists, "the socket is where it was asked for")
        self.assertIn("stopped obeys", self.watch("stop", path))
        self.assertEqual(program.end(), 0)
        self.assertFalse(path.exists())
        for env, threads in (({}, 1), ({"ALLO_CONTROL": "0"}, 1), ({"ALLO_CONTROL": "1"}, 2)):
            program = Obedient(self, env=env)
            self.assertEqual(program.tell("threads"), [f"{threads} threads"])
        wait_until(self.sockets, "the last one has a socket")

    def test_a_zygote_that_counts_its_threads_counts_one(self):
        program = Obedient(self, "--control", words=["--type=zygote"])
        self.assertEqual(program.tell("get 1 1", "threads"), ["1 threads"])
        self.assertEqual(self.sockets(), [])

    def test_a_folder_of_another_user_is_not_used(self):
        (self.tmp / "elsewhere").mkdir(mode=0o700)
        (self.runtime / "allo").symlink_to(self.tmp / "elsewhere")
        program = Obedient(self, "--control")
        program.tell("get 1 1")
        found = wait_until(lambda: [process for process in self.watch_json("ps")["processes"]
                                    if "socket" in process and str(self.tmp) in process.get("file", "")],
                           "it has a socket somewhere else")
        self.assertRegex(found[0]["socket"], r"^/tmp/allo-\d+/\d+\.sock$")
        self.assertEqual(program.end(), 0)
        self.assertEqual(list((self.tmp / "elsewhere").iterdir()), [])

    def test_a_name_that_is_no_process_is_an_error(self):
        for name, what in (("999999999", "no process '999999999' has the runtime"), ("x", "is not a process"),
                           ("%nothing", "no process 'nothing' has the runtime"), ("./x", "not the socket of a process"),
                           (str(ALLO), "not the socket of a process")):
            error = self.allo_fails("stop", name, status=2 if "has the runtime" in what or "is not a p" in what else 1,
                                    env=self.env)
            self.assertIn(what, error)
        self.obedient("--dormant")
        self.obedient("--dormant")
        self.assertRegex(self.allo_fails("stats", "%obeys", status=2, env=self.env),
                         r"\d+ processes are named 'obeys'")


class Names(WatchTest):
    def sleeper(self, title):
        """A process with a title, of a program that no other process runs; its pid."""
        name = f"napper{os.getpid()}"
        if not (self.tmp / name).exists():
            shutil.copy(shutil.which("sleep"), self.tmp / name)
        process = subprocess.Popen(["bash", "-c", f'exec -a "$0" ./{name} 600', f"{name} {title}"], cwd=self.tmp)
        self.addCleanup(process.wait, HANG)
        self.addCleanup(process.kill)
        wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text().strip() == name)
        return name, process.pid

    def test_a_title_is_not_part_of_the_name(self):
        """As redis-server has one, with a slash if it listens on a Unix socket."""
        name, pid = self.sleeper("unixsocket:/tmp/x/socket")
        self.assertEqual(self.allo_json("mem", f"%{name}")["pid"], pid)
        self.assertEqual(self.allo_json("mem", f"%{name[:-1]}")["pid"], pid)
        self.sleeper("*:6379")
        self.assertIn(f"2 processes are named '{name}'", self.allo_fails("mem", f"%{name}", status=2))


    def named(self):
        """A recorded process of a program that no other one runs: a running one, and its name."""
        name = f"stacker{os.getpid()}"
        if not (self.tmp / name).exists():
            shutil.copy(built("obeys.c"), self.tmp / name)
        process = Obedient(self, command=[ALLO, "run", "-q", "-o", self.tmp / "%e.%p.allo", self.tmp / name])
        process.tell("get 23 1009")
        return process, name

    def test_commands_read_the_recording_of_a_process(self):
        process, name = self.named()
        for command in ("summary", "top", "tree", "leaks", "info", "timeline", "hist", "verify"):
            self.assertNotEqual(self.must(ALLO, command, f"%{name}", env=self.env), "", command)
        found = json.loads(self.must(ALLO, "leaks", "--json", f"%{name[:-1]}", env=self.env))
        self.assertEqual((found["sum"], found["sum_blocks"]), (23 * 1009, 23))
        self.assertIn("never freed", self.must(ALLO, f"%{name}", env=self.env))
        self.must(ALLO, "flame", "-o", "a.svg", f"%{name}", env=self.env)
        self.assertIn("get", (self.tmp / "a.svg").read_text())
        self.assertIn("no process 'nosuch' has the runtime", self.allo_fails("top", "%nosuch", status=2, env=self.env))
        (self.tmp / "%file.folded").write_text("main;parse 4096\n")
        self.assertIn("parse", self.must(ALLO, "top", "%file.folded", env=self.env))

    def test_several_processes_of_a_name_are_added_up(self):
        processes = [self.named() for _ in range(2)]
        name = processes[0][1]
        found = json.loads(self.must(ALLO, "leaks", "--json", f"%{name}", env=self.env))
        self.assertEqual((found["sum"], found["sum_blocks"]), (2 * 23 * 1009, 2 * 23))
        self.assertIn(f"2 processes are named '{name}'", self.allo_fails("hist", f"%{name}", status=2, env=self.env))


class Recording(WatchTest):
    def test_a_dormant_process_is_recorded_between_start_and_stop(self):
        program, pid = self.obedient("--dormant")
        program.tell("get 5 500", "brief 7 700")
        self.assertEqual(list(self.tmp.glob("*.allo")), [])
        path = self.tmp / f"obeys.{pid}.1.allo"
        self.assertEqual(self.watch("start", pid), f"recording obeys ({pid}) to {path}\n")
        program.tell("get 23 1009", "brief 31 2003", "give 3")
        self.assertEqual(self.watch("stop", pid), f"stopped obeys ({pid}): {path}\n")
        program.tell("get 11 1100")
        sums = self.sums(path)
        self.assertEqual((sums["alloc_blocks"], sums["alloc_bytes"]), (54, 23 * 1009 + 31 * 2003))
        self.assertEqual((sums["end_blocks"], sums["end_bytes"]), (20, 20 * 1009))
        self.assertEqual(self.watch_json("info", path)["recording"]["end"], "stopped")
        # Neither earlier blocks nor their frees are recorded.
        second = self.watch_json("start", pid)["processes"][0]["file"]
        self.assertEqual(second, str(self.tmp / f"obeys.{pid}.2.allo"))
        program.tell("give 30", "get 2 77")
        self.assertEqual(program.end(), 0)
        self.assertEqual(self.sums(second)["alloc_bytes"], 154)
        for recording in (path, second):
            self.watch("verify", recording)

    def test_options_of_start_take_effect(self):
        program, pid = self.obedient("--dormant")
        out = self.tmp / "there" / "x.%p.allo"
        self.watch("start", pid, "-o", out, "-m", "exact", "--min-size", "1000", "--stack-depth", "3", "--stats", "-q")
        program.tell("get 4 999", "get 6 1001")
        recording = self.watch_json("info", self.tmp / "there" / f"x.{pid}.allo")["recording"]
        self.assertEqual((recording["min_size"], recording["stack_depth"], recording["allocations"]), (1000, 3, 6))
        self.assertEqual(self.watch_json("stats", pid)["from"], "process")
        self.assertEqual(self.watch_json("stats", pid)["live_bytes"], 6 * 1001)
        self.watch("stop", pid)
        self.watch("start", pid, "--duration", "50ms")
        program.tell("get 1 10")
        wait_until(lambda: program.tell("get 1 10") == [] and self.processes()[pid]["state"] == "ended", "it has ended")
        self.watch("start", pid, "--max-file", "1M")  # a recording that has ended is no obstacle
        self.watch("stop", pid)
        self.assertIn("no room on the disk or within the size limit", self.watch("start", pid, "--max-file", "64K", status=1))
        for option, value in (("--mode", "x"), ("--rate", "many")):
            self.allo_fails("start", str(pid), option, value, status=2, env=self.env)

    def test_invalid_requests_give_a_reason(self):
        program, pid = self.obedient("--dormant")
        self.assertIn(f"obeys ({pid}): nothing is being recorded", self.watch("stop", pid, status=1))
        self.assertIn("nothing is being recorded", self.watch("mark", pid, "x", status=1))
        self.assertIn("is not being recorded", self.watch("stats", pid, status=1))
        (self.tmp / "gone").mkdir()
        program.tell(f"folder {self.tmp / 'gone'}")
        (self.tmp / "gone").rmdir()
        answer = self.ask(self.sockets()[0], b"allo 1 start\npath /no/such/folder/x.allo\n\n")
        self.assertIn("why cannot record to /no/such/folder/x.allo: No such file or directory\n", answer)
        self.assertIn("error", self.ask(self.sockets()[0], b"allo 1 start\npath x.allo\n\n"))
        self.watch("start", pid)
        self.assertIn("already recording to /", self.watch("start", pid, status=1))
        self.assertEqual(program.end(), 0)

    def test_a_recording_that_the_program_started_is_left_alone(self):
        inside = built("inside.c", f"-I{ROOT / 'include'}", RUNTIME, f"-Wl,-rpath,{BUILD / 'capture'}", name="inside")
        child = subprocess.Popen([inside, "waits", "own.allo"], cwd=self.tmp, env={**self.env, "ALLO_CONTROL": "1"},
                                 stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdin.close)
        wait_until(lambda: (self.processes().get(child.pid) or {}).get("state") == "recording", "it records")
        self.assertTrue(self.processes()[child.pid]["by_program"])
        self.assertIn("the program started this recording and must stop it itself", self.watch("stop", child.pid, status=1))
        child.stdin.write(b"\n")
        child.stdin.flush()
        wait_until(lambda: self.processes()[child.pid]["state"] == "dormant", "it has stopped")
        # A program that links the runtime can be recorded too.
        self.watch("start", child.pid, "-o", self.tmp / "whole.allo")
        child.stdin.write(b"\n")
        child.stdin.close()
        self.assertEqual(child.wait(HANG), 0)
        self.assertGreater(self.sums(self.tmp / "whole.allo")["alloc_blocks"], 0)

    def test_marks_are_where_they_were_put(self):
        program, pid = self.obedient("--dormant")
        self.watch("start", pid)
        self.watch("mark", pid, "before anything")
        program.tell("get 3 300")
        self.watch("mark", pid, "one\nline")
        program.tell("get 5 500")
        self.watch("mark", pid, "two")
        program.tell("get 7 700")
        path = self.tmp / f"obeys.{pid}.1.allo"
        marks = [event["name"] for event in map(json.loads,
                                                self.watch("events", "--json", path).splitlines())
                 if event["event"] == "mark"]
        self.assertEqual(marks, ["before anything", "one\nline", "two"])
        top = self.watch_json("top", "--range", "one\nline..two", "-M", "total", path)
        self.assertEqual(top["sum"], 2500)
        # Marks create no thread.
        self.assertEqual(len(self.watch_json("info", path)["recording"]["threads"]), 1)

    def test_statistics_are_those_of_the_recording(self):
        program, pid = self.obedient(command=[ALLO, "run", "-q", "--control", "-m", "counters", built("obeys.c")])
        program.tell("get 23 1009", "give 4")
        counted = self.watch_json("stats", pid)
        self.watch("stop", pid)
        self.watch("start", pid, "-m", "exact")
        program.tell("get 23 1009", "give 4")
        recorded = self.watch_json("stats", pid)
        self.assertEqual((counted["from"], recorded["from"]), ("process", "recording"))
        self.assertEqual({key: recorded[key] for key in ("live_blocks", "live_bytes", "alloc_blocks", "peak_bytes")},
                         {"live_blocks": 19, "live_bytes": 19 * 1009, "alloc_blocks": 23, "peak_bytes": 23 * 1009})
        self.assertGreaterEqual(counted["live_bytes"], recorded["live_bytes"])
        self.assertRegex(self.watch("stats", pid), r"live +18\.7 KiB in 19 blocks\npeak +22\.7 KiB in 23 blocks\n")

    def test_a_process_that_waits_for_its_delay_reports_it(self):
        _, pid = self.obedient("--delay", "1h")
        self.assertEqual(self.processes()[pid]["state"], "waiting")
        self.assertIn("a recording is already about to start", self.watch("start", pid, status=1))
        self.assertIn("has recorded nothing yet", self.watch("stats", pid, status=1))
        self.watch("stop", pid)
        self.watch("start", pid)

    def test_allo_run_lists_the_recordings(self):
        program = Obedient(self, command=[ALLO, "run", "--dormant", "-o", self.tmp / "x.allo", built("obeys.c")])
        pid = int(wait_until(self.sockets, "there is a socket")[0].stem)
        for _ in range(2):
            self.watch("start", pid)
            program.tell("get 3 33")
            self.watch("stop", pid)
        self.watch("start", pid, "-m", "counters")
        program.child.stdin.close()
        said = program.child.stderr.read()
        self.assertIn("note: the recording ends before the program: --duration is over, or it was stopped", said)
        # A stopped recording keeps its name.
        self.assertRegex(said, r"wrote x\.allo .*\n.*wrote x\.allo\.d \(1 recording, ")
        self.assertTrue((self.tmp / "x.allo.d" / f"obeys.{pid}.allo").exists())
        self.assertEqual(self.sums(self.tmp / "x.allo")["alloc_bytes"], 99)
        never = Obedient(self, command=[ALLO, "run", "--dormant", built("obeys.c")])
        never.child.stdin.close()
        self.assertIn("nothing was recorded: 'allo start' was not used\n", never.child.stderr.read())


class Json(WatchTest):
    def test_the_json_is_as_documented(self):
        text = (ROOT / "doc" / "json.md").read_text()
        examples = dict(re.findall(r"^## allo (.*?)\n\n```json\n(.*?)^```", text, re.M | re.S))
        program, pid = self.obedient("--dormant")
        self.watch("start", pid, "--stats", "-m", "sampled", "--rate", "2", "-q")
        program.tell("get 100 1009")
        for command, options in (("ps", []), ("mark", [pid, "here"]), ("stats", [pid]), ("live", [pid, "--once"]),
                                 ("stop", [pid]), ("start", [pid])):
            found, described = self.watch_json(command, *options), json.loads(examples[command])
            if command == "ps":
                found["processes"] = [process for process in found["processes"] if process["pid"] == pid]
            if command == "live":
                # One page has no growth, and nothing is selected.
                for name in ("growth_bytes", "selected_blocks", "selected_bytes"):
                    del described[name]
                del described["estimated"], found["estimated"], described["sites"][0]["growth_bytes"]
            self.assertEqual(list(found), list(described), command)
            for key, value in found.items():
                if isinstance(value, list) and key != "skipped":
                    self.assertEqual(set(value[0]), set(described[key][0]), command)


class All(WatchTest):
    """All processes of a user without other processes; tests in parallel have some."""

    def setUp(self):
        super().setUp()
        self.tmp.chmod(0o755)
        for folder in (self.runtime, self.tmp / "out"):
            folder.mkdir(exist_ok=True)
            if IS_ROOT:
                os.chown(folder, NOBODY, NOBODY)
        for program in (ALLO, RUNTIME, built("obeys.c")):
            shutil.copy(program, self.tmp / program.name)
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT else {}
        self.env["ALLO_LIBRARY"] = str(self.tmp / RUNTIME.name)

    def run_allo(self, *arguments, **options):
        return self.run_program(self.tmp / "allo", *arguments, env=self.env, **self.user)

    def test_all_selects_every_process(self):
        if not IS_ROOT:
            self.skipTest("only root can run processes of another user")
        self.assertIn("no process is dormant", self.watch("start", "all", status=1))
        programs = [Obedient(self, command=[self.tmp / "allo", "run", "-q", "--dormant", "-o",
                                            self.tmp / "out" / "%p.allo", self.tmp / "obeys"], **self.user)
                    for _ in range(2)]
        wait_until(lambda: len(self.processes()) == 2, "both are there")
        self.assertEqual(len(self.watch("start", "all").splitlines()), 2)
        for program in programs:
            program.tell("get 1 1")
        self.assertEqual(len(self.watch_json("mark", "all", "here")["processes"]), 2)
        self.assertEqual(self.watch("stop", "all", "-q"), "")
        self.assertIn("no process is recording", self.watch("stop", "all", status=1))


class Surroundings(WatchTest):
    def test_children_have_their_own_sockets(self):
        for options in ([], ["--dormant"]):
            program, parent = self.obedient(*options)
            program.tell("get 3 300", "child", "get 2 200")
            child = wait_until(lambda: set(self.processes()) - {parent}, "the child has a socket").pop()
            if options:
                self.watch("start", child)
                self.assertEqual(self.processes()[parent]["state"], "dormant")
            program.tell("get 11 1100")
            self.assertEqual(self.watch_json("stats", child)["live_bytes"], 12100 + (0 if options else 400))
            self.assertEqual(program.end(), 0)
            self.assertEqual(self.sockets(), [])
        program, parent = self.obedient("--no-follow", "--dormant")
        program.tell("child")
        time.sleep(0.05)
        self.assertEqual(set(self.processes()), {parent})

    def test_another_program_in_the_same_process(self):
        def called(name):
            return [pid for pid, process in self.processes().items() if process.get("program") == name]
        program = Obedient(self, "--dormant", wrapper=("sh", "-c", 'read line; exec "$0"'))
        shell = wait_until(lambda: called("sh"), "there is a shell")
        program.child.stdin.write("go\n")
        self.assertEqual(wait_until(lambda: called("obeys"), "it is another program"), shell)
        pid, = shell
        self.watch("start", pid)
        program.tell("get 4 44")
        self.assertEqual(self.watch_json("stats", pid)["live_bytes"], 176)

    def test_the_runtime_uses_no_descriptors_or_folders_of_the_program(self):
        program, pid = self.obedient("--dormant")
        before = descriptors_of(pid)
        self.assertEqual(program.tell("threads"), ["2 threads"])
        program.tell("close")
        for _ in range(20):
            self.watch("start", pid, "-q")
            program.tell("get 2 22", "folder /", f"folder {self.tmp}")
            self.watch("stop", pid, "-q")
        self.assertLessEqual(len(descriptors_of(pid)), len(before))
        self.assertEqual(threads_of(pid), 2)
        self.watch("start", pid)
        program.tell("folder /", "get 200 2222", "brief 100000 10")
        self.assertEqual(self.watch_json("stats", pid)["live_bytes"], 200 * 2222)
        self.assertEqual(program.end(), 0)
        for path in self.tmp.glob("*.allo"):
            self.watch("verify", path)

    def test_the_socket_follows_a_change_of_user(self):
        if not IS_ROOT:
            self.skipTest("only root can run processes of another user")
        self.tmp.chmod(0o777)
        program, pid = self.obedient("--dormant")
        program.tell(f"user {NOBODY}")
        wait_until(lambda: self.run_allo("start", pid).returncode == 0, "it has a socket again")
        users = {re.search(r"^Uid:\t(\d+)\t(\d+)", open(f"/proc/{pid}/task/{task}/status").read(), re.M).groups()
                 for task in os.listdir(f"/proc/{pid}/task")}
        self.assertEqual(users, {(str(NOBODY), str(NOBODY))})
        program.tell("get 5 55")
        self.assertEqual((self.tmp / f"obeys.{pid}.1.allo").stat().st_uid, NOBODY)
        self.assertEqual(self.watch_json("stats", pid)["live_bytes"], 275)

    def test_a_process_in_a_namespace(self):
        plain = Obedient(self, command=[built("obeys.c")])
        expected = plain.tell("apart")
        program, pid = self.obedient("--dormant")
        self.assertEqual(program.tell("apart"), expected)
        wait_until(lambda: self.sockets() and self.processes().get(pid), "it answers again")
        self.assertEqual(program.tell("threads"), ["2 threads"])


class Strangers(WatchTest):
    """Requests on the socket, valid and invalid."""

    def test_malformed_requests(self):
        program, pid = self.obedient()
        program.tell("get 1 1")
        path, = self.sockets()
        no_request, no_such = "not a request of version 1", "unknown request"
        for request, why in ((b"\n\n", no_request), (b"GET / HTTP/1.1\r\n\n\n", no_request),
                             (b"allo 2 status\n\n", no_request), (b"allo 1 fly\n\n", no_such),
                             (b"allo 1 leave\n\n", no_such), (b"allo 1 mark\n\n", "a mark needs a name"),
                             (b"allo 1 mark\nname\n\n", "a mark needs a name"), (b"\0\n\n", no_request),
                             (b"allo 1 start\nmode odd\n\n", "already recording"),
                             (b"x" * (1 << 20), "the request is too long")):
            answer = self.ask(path, request)
            # A client that still sends when the reply comes may miss it.
            if answer is not None or len(request) < 16384:
                self.assertEqual(answer, f"allo 1 error\nwhy {answer[17:-2]}\n\n", request)
                self.assertIn(why, answer)
        self.assertIn("allo 1 ok\n", self.ask(path, b"allo 1 status\nunknown key\n\n"))
        self.assertEqual(program.tell("get 1 1"), [])

    def test_idle_clients_do_not_block_others(self):
        program, pid = self.obedient()
        program.tell("get 1 1")
        path, = self.sockets()
        waiting = []
        for number in range(40):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.setblocking(False)
            try:
                connection.connect(str(path))
                connection.send(b"allo 1 sta"[:number % 10])
            except OSError:
                pass  # the backlog is full
            waiting.append(connection)
        wait_until(lambda: self.run_allo("mark", pid, "x").returncode == 0, "it is heard")
        self.assertEqual(program.tell("get 3 33", "threads"), ["2 threads"])
        self.assertEqual(program.end(), 0)

    def test_another_user_is_refused(self):
        if not IS_ROOT:
            return self.check_unknown_user()
        program, _ = self.obedient()
        program.tell("get 1 1")
        path, = self.sockets()
        for folder in (self.tmp, self.runtime, path.parent):
            folder.chmod(0o777)
        asks = ("import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX)\n"
                "try: s.connect(sys.argv[1])\nexcept PermissionError: sys.exit('denied')\n"
                "try: s.sendall(b'allo 1 stop\\n\\n')\nexcept BrokenPipeError: pass\nprint(s.recv(9999).decode())")
        done = self.run_program("/usr/bin/python3", "-c", asks, path)
        self.assertEqual(done.stderr, b"denied\n")
        path.chmod(0o777)
        said = self.must("/usr/bin/python3", "-c", asks, path)
        self.assertIn("only the user of the process and root may connect", said)
        # Now the socket is not trusted.
        self.assertEqual([process.get("socket") for process in self.processes().values()], [None])
        for folder in (self.runtime, path.parent):
            folder.chmod(0o700)
        self.assertEqual([process["socket"] for process in self.processes().values()], [str(path)])

    def check_unknown_user(self):
        """Only root can ask as another user.  Here the process cannot find out its own user: a seccomp filter refuses
        geteuid(2)."""
        number = {"x86_64": 107, "aarch64": 175}[os.uname().machine]
        hides = ("import ctypes, os, struct, sys\n"
                 "steps = ((0x20, 0, 0, 0), (0x15, 0, 1, %d), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000))\n"
                 "code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))\n"
                 "program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(code)))\n"
                 "prctl = ctypes.CDLL(None, use_errno=True).prctl\n"
                 "assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()\n"
                 "os.execv(sys.argv[1], sys.argv[1:])" % number)
        program = Obedient(self, "--socket", self.tmp / "here" / "%e.sock", wrapper=("/usr/bin/python3", "-c", hides))
        program.tell("get 1 1")
        path = self.tmp / "here" / "obeys.sock"
        wait_until(path.exists, "it has a socket")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            with contextlib.suppress(BrokenPipeError):  # it may reply at once and close
                connection.sendall(b"allo 1 stop\n\n")
            self.assertIn(b"only the user of the process and root may connect", connection.recv(9999))

    def test_a_process_that_does_not_answer(self):
        program, pid = self.obedient("--dormant")
        os.kill(pid, signal.SIGSTOP)
        self.assertEqual(self.processes()[pid]["state"], "silent")
        self.assertIn("does not answer", self.watch("start", pid, status=1))
        os.kill(pid, signal.SIGCONT)
        self.watch("start", pid)
        self.assertEqual(program.end(), 0)

    def test_a_process_that_sends_garbage(self):
        path = self.tmp / "odd.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            server.settimeout(HANG)
            for answer in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"allo 1 ok\nfile \x1b[31m\n" + b"x" * 99999):
                child = subprocess.Popen([ALLO, "stop", path], env=self.env, stderr=subprocess.PIPE)
                connection, _ = server.accept()
                with connection:
                    connection.recv(9999)
                    try:
                        connection.sendall(answer)
                    except BrokenPipeError:
                        pass
                # The first request is "status", which had no reply; the second is the command itself.
                try:
                    connection, _ = server.accept()
                    connection.close()
                finally:
                    error = child.communicate(timeout=HANG)[1].decode()
                self.assertEqual(child.returncode, 1, error)
                self.assertRegex(error, r"^allo: error: process \(\d+\) sent a malformed reply: "
                                        r"is it another version of the runtime\?\n$")
