"""allo snapshot, allo live and allo run --snapshot-on: the heap of a running process."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import termios
import time
import urllib.request

from allotest import ALLO, GOLDEN, HANG, has_signal, wait_until
from recordings import built
from terminal import Terminal
from watching import Obedient, WatchTest, kill


class Snapshots(WatchTest):
    def by_function(self, path, metric):
        rows = self.watch_json("top", "-n", "0", "-M", metric, path)["rows"]
        return {row["name"]: row["self"] for row in rows if row["self"]}

    def snapshot(self, *arguments):
        return self.watch("snapshot", "-q", "-f", *arguments)

    def test_live_memory_and_all_allocations(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50", "give 3")
        self.snapshot(pid, "-o", "heap.pb.gz")
        info = self.watch_json("info", "heap.pb.gz")
        self.assertEqual([row["metric"]["name"] for row in info["metrics"]],
                         ["alloc_blocks", "alloc_bytes", "live_blocks", "live_bytes"])
        self.assertEqual([row["default"] for row in info["metrics"]], [False, False, False, True])
        self.assertEqual(self.by_function("heap.pb.gz", "live_bytes"), {"get": 20 * 1009})
        self.assertEqual(self.by_function("heap.pb.gz", "alloc_blocks"), {"get": 23, "brief": 5})
        top = self.must("go", "tool", "pprof", "-sample_index=inuse_space", "-unit=B", "-top", "heap.pb.gz")
        self.assertRegex(top, r"(?m)^ *20180B +100% .* get( \(inline\))?$")
        # The process continues, and so do its numbers.
        program.tell("give 20", "get 2 77")
        self.assertIn("get 154", self.snapshot(pid, "--to", "folded", "-M", "live"))
        self.snapshot(pid, "-o", "heap.db")
        self.assertEqual(self.must("sqlite3", "heap.db", "select count(*), sum(size) from allocation"), "2|154\n")
        self.assertIn("wrote all.svg (", self.run_allo("snapshot", pid, "-o", "all.svg").stderr.decode())

    def test_a_window(self):
        program, pid = self.obedient()
        program.tell("get 100 1009", "brief 1000 10")
        self.window(pid, lambda: program.tell("give 40", "brief 7 70"))
        self.assertEqual(self.by_function("delta.pb.gz", "alloc_bytes"), {"brief": 490})
        self.assertEqual(self.by_function("delta.pb.gz", "live_bytes"), {"get": -40 * 1009})
        self.assertEqual(self.by_function("delta.pb.gz", "live_blocks"), {"get": -40})

    def test_sampled_recordings_give_estimates(self):
        program, pid = self.obedient("-m", "sampled", "--rate", "2048")
        program.tell("get 4000 1009", "brief 2000 1009")
        self.snapshot(pid, "-o", "heap.pb.gz")
        self.assertAlmostEqual(self.sums("heap.pb.gz")["live_bytes"], 4000 * 1009, delta=4000 * 100)
        self.assertAlmostEqual(self.sums("heap.pb.gz")["alloc_bytes"], 6000 * 1009, delta=6000 * 100)
        self.window(pid, lambda: program.tell("give 2000"))
        self.assertAlmostEqual(self.sums("delta.pb.gz")["live_bytes"], -2000 * 1009, delta=2000 * 150)
        self.assertEqual(self.sums("delta.pb.gz")["alloc_bytes"], 0)

    def test_a_process_without_a_recording_is_refused(self):
        program, pid = self.obedient("--dormant")
        self.assertIn("is not being recorded", self.watch("snapshot", pid, "-o", "x.pb.gz", status=1))
        self.watch("start", pid, "-m", "counters")
        program.tell("get 1 1")
        self.assertIn("only counts: there is no recording", self.watch("snapshot", pid, "-o", "x.pb.gz", status=1))
        self.assertIn("cannot tell the output format", self.watch("snapshot", pid, status=2))
        self.assertFalse((self.tmp / "x.pb.gz").exists())

    def test_a_snapshot_of_a_busy_process_is_consistent(self):
        child = subprocess.Popen([ALLO, "run", "-q", "--raw", "-o", "x.allo", built("churn.c"), "3", "20000", "forever"],
                                 cwd=self.tmp, env=self.env, stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        pid = wait_until(self.processes, "it is there").popitem()[0]
        self.addCleanup(kill, pid)
        for _ in range(2):
            self.watch("snapshot", pid, "-f", "-o", "x.pb.gz")
            recording = self.watch_json("info", "x.allo")["recording"]
            lacking = {key: recording[key] for key in ("missing_pages", "damaged_pages", "unread_pages")}
            self.assertEqual(set(lacking.values()), {0}, lacking)


class Live(WatchTest):
    def test_one_look_agrees_with_the_statistics(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50", "give 3")
        look = json.loads(self.watch("live", pid, "--once", "--json"))
        stats = self.watch_json("stats", pid)
        for key in ("live_blocks", "live_bytes", "alloc_blocks", "alloc_bytes", "peak_bytes"):
            self.assertEqual(look[key], stats[key])
        self.assertEqual({site["function"]: (site["live_bytes"], site["alloc_blocks"]) for site in look["sites"]},
                         {"get": (20180, 23), "brief": (0, 5)})
        self.assertGreater(look["rss_bytes"], look["live_bytes"])

    def looks(self, target, *options):
        """An `allo live` that prints continuously, and a function that returns its next output."""
        child = subprocess.Popen([ALLO, "live", "--json", "--interval", "100ms", *options, str(target)], cwd=self.tmp,
                                 env=self.env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child, lambda: json.loads(child.stdout.readline())

    def until(self, look, **expected):
        end = time.monotonic() + HANG
        while any((found := look())[key] != value for key, value in expected.items()):
            self.assertLess(time.monotonic(), end, (found, expected))
        return found

    def test_later_looks_continue_from_earlier_ones(self):
        program, pid = self.obedient("--dormant")
        self.watch("start", pid)
        program.tell("get 10 1000")
        child, look = self.looks(pid)
        self.until(look, live_bytes=10000, alloc_blocks=10)
        # More than one chunk of the file, and new stacks.
        program.tell("brief 200000 20", "get 5 3000")
        found = self.until(look, live_bytes=25000, alloc_blocks=200015)
        self.assertEqual(found["sites"][0]["function"], "get")
        program.tell("give 15")
        self.until(look, live_blocks=0, alloc_blocks=200015, peak_bytes=25000)
        # A new recording begins at zero; without a recording `allo live` ends.
        self.watch("stop", pid)
        self.assertEqual(child.wait(HANG), 0)
        self.watch("start", pid)
        program.tell("get 2 50")
        child, look = self.looks(pid)
        self.until(look, live_bytes=100)
        self.assertEqual(program.end(), 0)
        self.assertEqual(child.wait(HANG), 0)

    def test_many_threads_are_followed_exactly(self):
        program = subprocess.Popen([ALLO, "run", "-q", "--raw", "-o", "x.allo", built("churn.c"), "4", "300000"],
                                   cwd=self.tmp, env=self.env, stdout=subprocess.DEVNULL)
        path = self.tmp / "x.allo"
        wait_until(lambda: path.exists() and path.stat().st_size >= 4 << 16, "it records")
        child, look = self.looks(path)
        looks = [look()]
        self.assertEqual(program.wait(HANG), 0)
        looks.extend(json.loads(line) for line in child.stdout)
        self.assertGreater(len(looks), 1)
        expected = {key: value for key, value in self.sums(path).items()}
        self.assertEqual((looks[-1]["live_blocks"], looks[-1]["live_bytes"], looks[-1]["alloc_bytes"]),
                         (expected["end_blocks"], expected["end_bytes"], expected["alloc_bytes"]))

    def test_without_a_terminal_one_table_follows_the_other(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        child = subprocess.Popen([ALLO, "live", "--interval", "100ms", "-n", "1", str(pid)], cwd=self.tmp, env=self.env,
                                 stdout=subprocess.PIPE, text=True)
        lines = []
        while sum(line.startswith("live ") for line in lines) < 3:
            lines.append(child.stdout.readline())
        self.assertEqual(program.end(), 0)
        said = "".join(lines) + child.communicate(timeout=HANG)[0]
        self.assertEqual(child.returncode, 0)
        self.assertGreater(len(re.findall(r"^live  22\.7 KiB in 23 blocks   peak 22\.7 KiB   rss ", said, re.M)), 1)
        self.assertIn("\n22.7 KiB  100.0%      23 ", said)
        self.assertNotIn("\033", said)

    def test_counters_have_no_functions(self):
        program, pid = self.obedient("--dormant")
        self.watch("start", pid, "-m", "counters")
        program.tell("get 7 70")
        self.assertRegex(self.watch("live", pid, "--once"), r"live  490 B in 7 blocks .*\n.*\n"
                         r"the process keeps counts only: its sites are not recorded\n")

    def test_inputs_that_cannot_be_followed(self):
        self.assertIn("is not being recorded", self.watch("live", self.obedient("--dormant")[1], status=1))
        self.assertIn("the recording has ended, and does not grow",
                      self.watch("live", GOLDEN / "allo" / "server.allo", status=2))
        self.assertIn("--interval must be at least 100ms", self.watch("live", "1", "--interval", "1ms", status=2))


class Filters(WatchTest):
    """Filters and groups without a terminal."""

    def once(self, pid, *options):
        return json.loads(self.watch("live", pid, "--once", "--json", *options))

    def rows(self, pid, *options):
        return {row["function"]: row["live_bytes"] for row in self.once(pid, *options)["sites"]}

    def test_stacks_are_selected_as_in_top(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        self.assertEqual(self.rows(pid, "--focus", "=get"), {"get": 23207})
        self.assertEqual(self.rows(pid, "--ignore", "=get"), {"brief": 0})
        self.assertEqual(self.rows(pid, "--hide", "=get", "-F", "=get"), {"obey": 23207})
        self.assertEqual(self.rows(pid, "--show", "=main"), {"main": 23207})
        self.assertEqual(self.rows(pid, "--alloc-fn", "get", "-F", "=get"), {"obey": 23207})
        self.assertEqual(self.once(pid, "--alloc-fn", "get")["skipped"], ["get"])
        page = self.once(pid, "--focus", "=brief")
        self.assertEqual((page["live_bytes"], page["selected_bytes"], page["selected_blocks"]), (23207, 0, 0))
        self.assertNotIn("selected_bytes", self.once(pid))
        self.assertRegex(self.watch("live", pid, "--once", "-F", "=get"),
                         r"\nonly  22\.7 KiB \(100\.0%\)   --focus =get\n")
        self.assertIn("not valid", self.watch("live", pid, "--once", "-F", "/(/", status=2))

    def test_rows_are_grouped_as_in_top(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        self.watch("snapshot", pid, "-q", "-o", "heap.pb.gz")
        for by in ("site", "file", "module"):
            expected = {(row["name"], row.get("line")): row["self"]
                        for row in self.watch_json("top", "--by", by, "-M", "live", "heap.pb.gz")["rows"] if row["self"]}
            found = {(row["function"], row.get("line")): row["live_bytes"]
                     for row in self.once(pid, "--by", by)["sites"] if row["live_bytes"]}
            self.assertEqual(found, expected)

    def test_growth_counts_from_the_first_page(self):
        program, pid = self.recorded()
        program.tell("get 10 1000")
        child = subprocess.Popen([ALLO, "live", "--json", "--interval", "100ms", str(pid)], cwd=self.tmp, env=self.env,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        first = json.loads(child.stdout.readline())
        self.assertEqual((first["growth_bytes"], first["sites"][0]["growth_bytes"]), (0, 0))
        program.tell("give 3", "brief 1 1")
        while (page := json.loads(child.stdout.readline()))["alloc_blocks"] < 11:
            pass
        self.assertEqual((page["growth_bytes"], page["sites"][0]["growth_bytes"]), (-3000, -3000))


class Screens(WatchTest):
    LEFT = "\033[?7h\033[?25h\033[?1049l"

    def screen(self, pid, *options, columns=80, rows=24, env=None):
        terminal = Terminal([ALLO, "live", "--interval", "100ms", *options, str(pid)], cwd=self.tmp, columns=columns,
                            rows=rows, env={**self.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
        self.before = termios.tcgetattr(terminal.fd)
        terminal.until("^ *live .*growth")
        return terminal

    def assert_restored(self, terminal):
        """The terminal is restored."""
        fd = os.dup(terminal.fd)
        self.addCleanup(os.close, fd)
        said = terminal.finish()
        self.assertIn(self.LEFT, said[-200:])
        self.assertEqual(termios.tcgetattr(fd)[3], self.before[3])
        return said

    def quit(self, terminal):
        terminal.type("q")
        self.assert_restored(terminal)
        self.assertEqual(terminal.status, 0)

    def test_a_pause_and_marks(self):
        program, pid = self.obedient()
        program.tell("get 23 1009", "brief 5 50")
        terminal = self.screen(pid)
        terminal.type("m")
        terminal.until("^marked this moment of the recording as live-1$")
        terminal.type(" ")
        terminal.until("^paused")
        program.tell("get 1 1")
        terminal.type("r")
        terminal.until(r"\[r rate\]")
        self.assertIn("in 23 blocks", terminal.page())
        terminal.type(" ")
        terminal.until("in 24 blocks")
        self.quit(terminal)
        self.assertIn("live-1", self.watch("events", self.tmp / f"obeys.{pid}.1.allo"))

    def test_a_paused_screen_does_not_wake_up(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        terminal = self.screen(pid)
        terminal.type(" ")
        terminal.until("^paused")

        def switches():
            status = pathlib.Path(f"/proc/{terminal.pid}/status").read_text()
            return "State:\tS" in status and re.findall(r"ctxt_switches:\t(\d+)", status)

        before = wait_until(switches, "it sleeps")
        time.sleep(0.5)
        self.assertEqual(switches(), before)
        self.quit(terminal)

    def test_growth_since_a_mark_is_red_and_shrinkage_green(self):
        program, pid = self.recorded()
        program.tell("get 10 1024")
        terminal = self.screen(pid)
        program.tell("get 5 1024")
        terminal.until(r"^15\.0 KiB  100\.0% +15  \+5\.00 KiB .* get  obeys\.c$")
        self.assertRegex(terminal.drawn(), r"\033\[31m\+5\.00 KiB\033\[0m")
        terminal.type("g")
        terminal.until("growth counts from now on")
        terminal.until(r"^15\.0 KiB  100\.0% +15 +0 B ")
        program.tell("give 12")
        terminal.until(r"^3\.00 KiB  100\.0% +3  -12\.0 KiB ")
        self.assertRegex(terminal.drawn(), r"\033\[32m-12\.0 KiB\033\[0m")
        terminal.until(r"^grew  -12\.0 KiB in \d+ s$")
        # A site that holds nothing any more still shows how much it has given back.
        program.tell("give 3")
        terminal.until(r"^ +0 B .* -15\.0 KiB .* get ")
        self.quit(terminal)

    def test_the_history_has_its_extremes(self):
        program, pid = self.recorded()
        program.tell("get 10 1024")
        terminal = self.screen(pid)
        program.tell("get 20 1024")
        terminal.until("^past  ▁+█+ +10\\.0 KiB to 30\\.0 KiB$")
        self.quit(terminal)
        terminal = self.screen(pid, "--ascii")
        program.tell("give 20")
        terminal.until(r"^past  #+\.+ +10\.0 KiB to 30\.0 KiB$")
        self.quit(terminal)

    def test_enter_shows_callers_and_escape_goes_back(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        terminal = self.screen(pid)
        terminal.until("get  obeys.c$")
        terminal.type("\r")
        terminal.until(r"^only  22\.7 KiB \(100\.0%\)   callers of get$")
        terminal.until(r"^22\.7 KiB  100\.0% +23 .* get  obeys\.c:\d+\n +obey  obeys\.c:\d+\n +main  obeys\.c:\d+$")
        # Own code is bold, libc is not.
        self.assertRegex(terminal.drawn(), r"\033\[1mmain  obeys\.c")
        self.assertNotRegex(terminal.drawn(), r"\033\[1m_*(libc_)?start")
        terminal.type("\033")
        terminal.until("get  obeys.c$")
        self.assertNotIn("callers of", terminal.page())
        self.quit(terminal)

    def test_a_filter_and_hidden_functions(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        terminal = self.screen(pid)
        terminal.until("get  obeys.c$")
        terminal.type("/nothing\r")
        terminal.until("^no stack matches$")
        terminal.type("/" + 7 * "\177" + "/(/\r")
        terminal.until("is not valid")
        terminal.type("\033")
        terminal.until("get  obeys.c$")
        terminal.type("h")
        terminal.until(r"^22\.7 KiB .* obey  obeys\.c$")
        terminal.until(r"^only .* --hide fn:=get$")
        terminal.type("u")
        terminal.until("get  obeys.c$")
        self.quit(terminal)

    def test_keys_sort_and_scroll(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        terminal = self.screen(pid, "--show", "/^(main|obey|get|brief)$/", "--by", "site", rows=10)
        terminal.until(r"\[l live\]")
        terminal.type("\033[C\033[C")
        terminal.until(r"\[w growth\]")
        terminal.type("b")
        terminal.until(r"\[b blocks\]")
        terminal.type("\033[F\033[B\033[5~\033[H")
        terminal.type("?")
        terminal.until("^any key goes back$")
        terminal.type("x")
        terminal.until(r"\[b blocks\]")
        self.quit(terminal)

    def test_a_snapshot_has_the_numbers_of_the_screen(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50", "give 3")
        terminal = self.screen(pid)
        for number in (1, 2):
            terminal.type("s")
            path = self.tmp / terminal.until(rf"^wrote (obeys\.{pid}-{number}\.pb\.gz)$")[1]
            self.assertEqual(self.sums(path), {"alloc_blocks": 28, "alloc_bytes": 23457, "live_blocks": 20,
                                               "live_bytes": 20180})
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.quit(terminal)

    def test_the_screen_follows_the_size_of_the_terminal(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        terminal = self.screen(pid)
        terminal.until("allocs/s  site$")
        terminal.resize(45, 8)
        terminal.until(r"^ *live +growth  site$")
        self.assertLessEqual(len(terminal.page().splitlines()), 8)
        terminal.resize(200, 50)
        terminal.until("^past .{195}$")
        terminal.until(r"^22\.7 KiB  100\.0% ")
        self.assertLessEqual(max(map(len, terminal.page().splitlines())), 200)
        self.quit(terminal)

    def test_names_cannot_control_the_terminal(self):
        evil = self.tmp / "a\033]0;owned\a\033[35mb"
        shutil.copy(built("obeys.c"), evil)
        program = Obedient(self, command=[ALLO, "run", "-q", "--raw", "-o", f"{evil}.allo", evil])
        program.tell("get 23 1009")
        terminal = self.screen(f"{evil}.allo")
        terminal.until("get  ")
        terminal.type("/\033")
        terminal.type("/x\x9b35m\r")
        terminal.until("^no stack matches$")
        terminal.type("\033q")
        said = self.assert_restored(terminal)
        self.assertIn("owned", said)
        self.assertNotIn("\033]0;", said)
        self.assertNotIn("\033[35m", said)
        self.assertNotIn("\x9b", said)

    def test_signals_leave_the_terminal_as_it_was(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGHUP):
            terminal = self.screen(pid)
            os.kill(terminal.pid, number)
            self.assert_restored(terminal)
            self.assertEqual(terminal.status, -number)

    def test_it_can_be_stopped_and_continued(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        terminal = self.screen(pid)
        terminal.said = b""
        os.kill(terminal.pid, signal.SIGTSTP)
        terminal.wait_for(self.LEFT)
        # The process group is orphaned here, so the kernel does not stop it.
        terminal.wait_for("\033[?1049h")
        terminal.until("in 23 blocks")
        # SIGSTOP cannot be handled; the shell changes the terminal meanwhile.
        os.kill(terminal.pid, signal.SIGSTOP)
        wait_until(lambda: "State:\tT" in pathlib.Path(f"/proc/{terminal.pid}/status").read_text(), "it has stopped")
        terminal.said = b""
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_for("\033[?1049h")
        terminal.until("in 23 blocks")
        self.quit(terminal)

    def test_the_last_state_stays_when_the_process_ends(self):
        program, pid = self.recorded()
        program.tell("get 23 1009", "brief 5 50")
        for size in ({"columns": 40, "rows": 6}, {}):
            terminal = self.screen(pid, **size)
            terminal.until("22.7 KiB")
            if not size:
                kill(pid)
                terminal.until("^the recording has ended: this is its last state")
                terminal.until(r"^22\.7 KiB  100\.0% +23 .* get ")
                terminal.type("\r")
                terminal.until("callers of get")
            terminal.type("q")
            said = self.assert_restored(terminal)
            self.assertEqual("allo: the recording has ended" in said, not size)
            self.assertEqual(terminal.status, 0)


class Triggers(WatchTest):
    def triggered(self, *options):
        return self.recorded("-o", self.tmp / "x.allo", *options)

    def kept(self):
        return sorted(self.tmp.glob("x.*.pb.gz"), key=lambda path: int(re.search(r"-(\d+)\.", path.name)[1]))

    def runner(self, program):
        return program.child.pid

    def test_a_snapshot_before_the_process_is_killed(self):
        program, pid = self.triggered("--snapshot-on", "rss=20M")
        program.tell("get 10 1009")
        time.sleep(0.5)
        self.assertEqual(self.kept(), [])
        program.tell("get 40 1000000")
        wait_until(self.kept, "there is a snapshot")
        kill(pid)
        self.assertEqual(program.end(), -signal.SIGKILL)
        self.assertGreater(self.sums(self.kept()[-1])["live_bytes"], 20 << 20)
        self.assertRegex(self.kept()[0].name, r"^x\.rss-\d+\.pb\.gz$")

    def test_a_signal_requests_a_snapshot_and_does_not_reach_the_program(self):
        program, pid = self.triggered("--snapshot-on", "signal=USR2", "--snapshot-keep", "2")
        for number in range(1, 5):
            program.tell("get 1 1000")
            os.kill(self.runner(program), signal.SIGUSR2)
            wait_until(lambda: any(f"-{number}." in path.name for path in self.kept()), "there is a snapshot")
        self.assertEqual(program.end(), 0)
        self.assertEqual([path.name for path in self.kept()], ["x.signal-3.pb.gz", "x.signal-4.pb.gz"])
        self.assertEqual(self.sums(self.kept()[1])["live_bytes"], 4000)

    def test_the_largest_are_kept(self):
        program, pid = self.triggered("--snapshot-on", "signal=USR1", "--snapshot-keep", "largest:1")
        for number, line in enumerate(("get 1 1000", "get 20 1000000", "give 21"), 1):
            program.tell(line)
            os.kill(self.runner(program), signal.SIGUSR1)
            if number < 3:
                wait_until(lambda: any(f"-{number}." in path.name for path in self.kept()), "there is a snapshot")
            else:  # the third is not kept
                wait_until(lambda: not has_signal(self.runner(program), "ShdPnd", signal.SIGUSR1), "it has the signal")
        self.assertEqual(program.end(), 0)
        self.assertEqual([self.sums(path)["live_bytes"] for path in self.kept()], [20001000])

    def test_time_and_peaks(self):
        program, pid = self.triggered("--snapshot-on", "every=1s", "--snapshot-on", "peak")
        program.tell("get 10 1000000")
        wait_until(lambda: {"every", "peak"} <= {path.name.split(".")[1].split("-")[0] for path in self.kept()},
                   "there are snapshots of both")
        program.child.stdin.close()
        self.assertEqual(program.child.wait(HANG), 0)

    def test_no_snapshot_without_a_recording(self):
        done = self.run_allo("run", "--dormant", "--snapshot-on", "every=1s", "--snapshot-on", "pressure=99%", "true")
        self.assertIn(b"no snapshot was triggered\n", done.stderr)

    def test_invalid_triggers(self):
        for options, error in ((["--snapshot-on", "rss"], "does not accept 'rss'"),
                               (["--snapshot-on", "rss=0"], "does not accept"),
                               (["--snapshot-on", "rss=101%"], "does not accept"),
                               (["--snapshot-on", "peak=3"], "does not accept"),
                               (["--snapshot-on", "signal=KILL"], "does not accept"),
                               (["--snapshot-on", "every=10ms"], "does not accept"),
                               (["--snapshot-on", "peak", "--snapshot-keep", "0"], "expects a number"),
                               (["--snapshot-keep", "3"], "needs --snapshot-on"),
                               (["-m", "counters", "--snapshot-on", "peak"], "makes no recording"),
                               (["--socket", str(self.tmp)], "is a directory")):
            self.assertIn(error, self.allo_fails("run", *options, "true", status=125, env=self.env))


class Services(WatchTest):
    """Third-party programs."""

    def port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def browse(self, pid, talk, port):
        """A person looks at the server and finds the code that fills it, not a wrapper of malloc."""
        terminal = Terminal([ALLO, "live", "--interval", "100ms", str(pid)], cwd=self.tmp,
                            env={**self.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        terminal.until("^ *live .*growth")
        terminal.type("gw")
        self.must("redis-benchmark", "-p", port, "-q", "-n", "20000", "-r", "100000", "-d", "1000", "-t", "set")
        terminal.until(r"^ *~\d+\.\d+ MiB +\d+\.\d% +~[\d,]+ +~\+\d+\.\d+ MiB +~[\d,]+  createStringObject$")
        terminal.type("/createString\r\r")
        terminal.until("callers of createStringObject")
        terminal.until("^ +processMultibulkBuffer$")
        terminal.type("q")
        terminal.finish()
        self.assertEqual(terminal.status, 0)
        self.must(*talk, "flushall")

    def test_a_server_is_watched(self):
        port = str(self.port())
        server = subprocess.Popen([ALLO, "run", "-q", "--dormant", "-o", "%e.%p.allo", "redis-server", "--port", port,
                                   "--save", "", "--daemonize", "no"], cwd=self.tmp, env=self.env,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.kill)
        pid = int(wait_until(self.sockets, "it is there")[0].stem)
        talk = ["redis-cli", "-p", port]
        wait_until(lambda: subprocess.run([*talk, "ping"], capture_output=True).stdout == b"PONG\n", "it answers")
        self.watch("start", pid, "-m", "sampled", "--rate", "16K")
        self.must("redis-benchmark", "-p", port, "-q", "-n", "20000", "-r", "100000", "-d", "1000", "-t", "set")
        self.watch("mark", pid, "filled")
        self.watch("snapshot", pid, "-q", "-o", "full.pb.gz")
        self.assertGreater(self.sums("full.pb.gz")["live_bytes"], 10 << 20)
        self.window(pid, lambda: self.must(*talk, "flushall"))
        self.assertLess(self.sums("delta.pb.gz")["live_bytes"], -(10 << 20))
        look = json.loads(self.watch("live", pid, "--once", "--json"))
        self.assertLess(look["live_bytes"], 5 << 20)
        self.browse(pid, talk, port)
        self.watch("stop", pid)
        self.must(*talk, "shutdown", "nosave")
        self.assertEqual(server.wait(HANG), 0)
        self.assertEqual(self.sockets(), [])
        self.watch("verify", f"redis-server.{pid}.allo")

    def test_workers_that_give_up_their_rights(self):
        for folder in (self.tmp, self.tmp / "out"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
        port = self.port()
        temporary = "".join(f"{kind}_temp_path {self.tmp}/{kind};" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.file("nginx.conf", f"daemon off; worker_processes 2; pid {self.tmp}/pid; error_log {self.tmp}/errors;\n"
                  f"events {{}}\nhttp {{ access_log off; {temporary}\n"
                  f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 fine; }} }} }}\n")
        server = subprocess.Popen([ALLO, "run", "-q", "--dormant", "-o", self.tmp / "out" / "%e.%p.allo", "nginx", "-c",
                                   self.tmp / "nginx.conf"], cwd=self.tmp, env=self.env, stderr=subprocess.DEVNULL)
        wait_until(lambda: (self.tmp / "pid").exists() and (self.tmp / "pid").read_text(), "it has begun")
        main = int((self.tmp / "pid").read_text())
        workers = wait_until(lambda: found if len(found := [
            process["pid"] for process in self.watch_json("ps")["processes"]
            if self.parent_of(process["pid"]) == main]) == 2 else None,
            "its workers are there")
        for worker in workers:
            self.watch("start", worker, "-q")
        for _ in range(20):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
                self.assertEqual(page.read(), b"fine")
        held = [self.watch_json("stats", worker)["alloc_bytes"] for worker in workers]
        self.assertGreater(sum(held), 0)
        os.kill(main, signal.SIGQUIT)
        self.assertEqual(server.wait(HANG), 0)
