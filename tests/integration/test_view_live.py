"""`allo view PID`: the page's requests about a process while it runs, and after its end."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess

from allotest import ALLO, HANG, wait_until
from recordings import built
from replyfile import Reply
from viewserver import ViewServer
from watching import Obedient, WatchTest, kill

METRICS = ("alloc_bytes", "alloc_blocks", "peak_bytes", "end_bytes", "max_bytes", "lifetime", "temporary_blocks")


class LiveTest(WatchTest):
    def view(self, *words):
        server = ViewServer(self.tmp, *words, **self.env)
        self.addCleanup(server.close)
        return server

    def held(self, server, metric="end_bytes", **members):
        """The values of functions."""
        reply = server.ask("table", metric=metric, most=10000, **members)
        return {name: value for name, value in reply.rows("name", f"self.{metric}") if value}

    def follow_to_end(self, server):
        """The last news of a process that has ended."""
        return wait_until(lambda: not (news := server.ask("live"))["is_running"] and news, "the process has ended")

    def assert_shows(self, server, file, windows):
        """The page shows the finished recording: curve, tables and totals of random ranges."""
        finished = self.view(file)
        opened, of_file = server.ask("open"), finished.ask("open")
        for member in ("duration_ns", "events", "peak", "end", "allocated", "marks", "threads", "notes"):
            self.assertEqual(opened[member], of_file[member], member)
        chance = random.Random(7)
        for _ in range(windows):
            ends = sorted(chance.randrange(opened["duration_ns"]) for _ in range(2))
            window = {"from": ends[0], "to": ends[1] + 1}
            self.assertEqual(server.ask("timeline", steps=40, **window).columns,
                             finished.ask("timeline", steps=40, **window).columns, window)
            members = {"metrics": METRICS, "metric": "alloc_bytes", "by": "site", "most": 100000, **window}
            columns = ["name", "place"] + [f"{kind}.{metric}" for metric in METRICS for kind in ("self", "total")]
            self.assertEqual(sorted(server.ask("table", **members).rows(*columns)),
                             sorted(finished.ask("table", **members).rows(*columns)), window)


class Growth(LiveTest):
    def test_numbers_grow_when_the_page_asks_for_news(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        server = self.view(pid)
        opened = server.ask("open")
        self.assertEqual((opened["growing"], opened["generation"], opened["notes"]), (True, 1, []))
        self.assertEqual(self.held(server), {"get": 23 * 1009})
        program.tell("get 7 501", "brief 1000 64")
        # A page that does not ask for them is frozen.
        self.assertEqual(self.held(server), {"get": 23 * 1009})
        self.assertEqual(server.ask("open")["duration_ns"], opened["duration_ns"])
        news = server.ask("live")
        self.assertTrue(news["is_running"])
        self.assertGreater(news["ns"], opened["duration_ns"])
        self.assertEqual(self.held(server), {"get": 23 * 1009 + 7 * 501})

    def test_growth_since_a_mark_is_that_of_allo_top(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        server = self.view(pid)
        mark = server.ask("live")["ns"]
        program.tell("give 3", "get 7 501", "brief 1000 64")
        server.ask("live")
        reply = server.ask("table", metric="end_bytes", base={"file": 0, "from": 0, "to": mark})
        self.assertIn(("get", 23 * 1009, 20 * 1009 + 7 * 501),
                      reply.rows("name", "before.self.end_bytes", "self.end_bytes"))
        since = {metric: self.held(server, metric, **{"from": mark}) for metric in ("alloc_bytes", "alloc_blocks", "end_bytes")}
        self.assertEqual(since["alloc_bytes"], {"get": 7 * 501, "brief": 64000})
        file = self.processes()[pid]["file"]
        self.assertEqual(program.end(), 0)
        for metric, functions in since.items():
            rows = self.watch_json("top", "-n", "0", "-M", metric, "--range", f"{mark}ns..", file)["rows"]
            self.assertEqual({row["name"]: row["self"] for row in rows if row["self"]}, functions, metric)

    def test_time_goes_on_while_the_program_rests(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        server = self.view(pid)
        moments = [server.ask("live")["ns"] for _ in range(3)]
        self.assertEqual(moments, sorted(set(moments)))
        self.assertEqual(server.ask("timeline", steps=5)["end"][-1], 23 * 1009)

    def test_marks_of_other_processes_appear(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        server = self.view(pid)
        self.watch("mark", pid, "deploy")
        program.tell("get 7 501")
        news = server.ask("live")
        self.assertEqual([mark["name"] for mark in server.ask("open")["marks"]], ["deploy"])
        self.assertEqual((news["generation"], self.held(server)), (1, {"get": 23 * 1009 + 7 * 501}))

    def test_calls_keep_their_numbers(self):
        program, pid = self.recorded()
        program.tell("brief 5 64")
        server = self.view(pid)
        before = server.ask("names").rows("call", "name")
        for step in ("get 23 1009", "give 3", "brief 7 12"):
            program.tell(step)
            self.assertEqual(server.ask("live")["generation"], 1)
            after = server.ask("names").rows("call", "name")
            self.assertEqual(after[:len(before)], before)
            before = after
        self.assertIn("get", dict(before).values())


class Ends(LiveTest):
    def test_the_page_stays_after_the_end(self):
        program, pid = self.recorded()
        program.tell("get 23 1009")
        server = self.view(pid)
        server.ask("open")
        file = self.processes()[pid]["file"]
        program.tell("get 7 501", "brief 3 100")
        self.assertEqual(program.end(), 0)
        self.follow_to_end(server)
        self.assertFalse(server.ask("open")["growing"])
        self.assertEqual(self.held(server), {"get": 23 * 1009 + 7 * 501})
        self.assert_shows(server, file, 3)

    def kill_if_running(self, pid):
        with contextlib.suppress(ProcessLookupError):
            kill(pid)

    def stop(self, pid):
        """The signal alone does not wait until all threads stand still."""
        os.kill(pid, signal.SIGSTOP)
        threads = pathlib.Path(f"/proc/{pid}/task")
        wait_until(lambda: all((thread / "stat").read_text().rsplit(") ", 1)[1][0] == "T" for thread in threads.iterdir()))

    def churns(self, threads):
        """The server of a process that only runs while the page asks, so that its recording stays small, after many
        segments of the log, cut anywhere."""
        child = subprocess.Popen([ALLO, "run", "-q", "--raw", "-o", "churn.allo", built("churn.c"), threads, "20000", "forever"],
                                 stdout=subprocess.PIPE, text=True, cwd=self.tmp, env=self.env)
        self.addCleanup(child.stdout.close)
        pid = int(child.stdout.readline().split()[1])
        self.addCleanup(self.kill_if_running, pid)
        self.stop(pid)
        server = self.view(pid)
        while server.ask("open")["events"] < 200_000:
            os.kill(pid, signal.SIGCONT)
            self.assertEqual(server.ask("live")["generation"], 1)
            self.stop(pid)
        server.ask("live")
        return child, pid, server

    def assert_continued(self, server, metrics):
        """What was added step by step is what a replay of the file finds."""
        finished = self.view("churn.allo")
        for metric in metrics:
            self.assertEqual(self.held(server, metric), self.held(finished, metric), metric)

    def assert_ends(self, child, pid, server):
        os.kill(pid, signal.SIGKILL)
        child.wait(HANG)
        self.follow_to_end(server)
        self.assert_shows(server, "churn.allo", 6)

    def test_a_program_that_runs_all_the_time(self):
        child, pid, server = self.churns("0")
        self.assert_continued(server, ("alloc_bytes", "alloc_blocks", "peak_bytes", "end_bytes", "max_bytes"))
        self.assert_ends(child, pid, server)

    def test_threads_that_run_all_the_time(self):
        """A step ends between two readings of the clock of each thread.  The events up to the second one have the time of
        the first, but are added after those of other threads, so only the end settles their order and with it the peak."""
        child, pid, server = self.churns("3")
        self.assert_continued(server, ("alloc_bytes", "alloc_blocks", "end_bytes"))
        self.assert_ends(child, pid, server)

    def test_a_program_that_executes_another(self):
        """It has another recording: the page starts over."""
        program = Obedient(self, wrapper=("sh", "-c", 'read line && exec "$0"'))
        pid = wait_until(lambda: next(iter(self.processes()), None))
        server = self.view(pid)
        self.assertIn("sh", server.ask("open")["program"]["command"])
        program.child.stdin.write("go\n")
        program.tell("get 23 1009")
        news = wait_until(lambda: (news := server.ask("live"))["generation"] > 1 and news)
        self.assertTrue(news["is_running"])
        self.assertIn("obeys", server.ask("open")["program"]["command"])
        self.assertEqual(self.held(server), {"get": 23 * 1009})

    def test_a_recording_that_is_stopped_stays(self):
        program, pid = self.obedient()
        program.tell("get 23 1009")
        server = self.view(pid)
        server.ask("open")
        self.watch("stop", pid)
        program.tell("get 7 501")
        self.assertTrue(server.ask("live")["is_running"])
        self.assertEqual(self.held(server), {"get": 23 * 1009})


class Names(LiveTest):
    def test_a_process_has_a_number_or_a_name(self):
        program, _ = self.recorded()
        program.tell("get 23 1009")
        self.assertEqual(self.held(self.view("%obeys")), {"get": 23 * 1009})

    def test_one_of_several_processes_is_chosen(self):
        pids = []
        for count in (23, 29):
            program, pid = self.recorded()
            program.tell(f"get {count} 1009")
            pids.append(pid)
        server = self.view("%obeys")
        request = b'{"v":1,"ask":"table","metric":"end_bytes"}'
        for pid, count in zip(pids, (23, 29)):
            status, _, body = server.send(f"/ask?pid={pid}", request)
            self.assertEqual((status, Reply(body)["sum"]), (200, [count * 1009]))
        status, _, body = server.send("/ask", request)
        self.assertEqual(status, 400)
        self.assertIn(str(pids[0]).encode(), body)

    def test_other_processes_are_refused(self):
        for name, reason in ((str(os.getpid()), "does not have the runtime"), ("%nobody-has-this", "nobody-has-this")):
            done = self.run_allo("view", "--no-open", name)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr.decode())
