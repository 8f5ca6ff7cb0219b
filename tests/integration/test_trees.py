"""Runs of several processes: their files, the report, and commands that read all of them."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from allotest import ALLO, ENVIRONMENT, IS_ROOT, RUNTIME, Test, wait_until
from replyfile import Reply
from watching import WatchTest

NOBODY = 65534

# 40 blocks of 3001 bytes, half of them never freed; "fork" makes a child that waits for a line without allocating.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **words)
{
	for (int i = 0; i < 40; i++) {
		char *volatile block = malloc(3001);
		if (i % 2)
			free(block);
	}
	if (argc > 1 && strcmp(words[1], "fork") == 0 && fork() == 0) {
		char byte;
		while (read(0, &byte, 1) > 0 && byte != 'g')
			;
		char *volatile block = malloc(5003);
		(void)block;
		while (read(0, &byte, 1) > 0)
			;
		_exit(0);
	}
	if (argc > 1 && strcmp(words[1], "stay") == 0)
		pause();
	return 0;
}
"""
PEAK = 20 * 3001 + 3001  # the last block before it is freed


class Tree(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        self.must("gcc", "-O1", "-g", "-x", "c", self.file("work.c", PROGRAM), "-o", "work")
        (self.tmp / "work.c").unlink()

    def run_allo(self, *words, status=0, **options):
        """What allo says about a run."""
        done = self.run_program(ALLO, "run", *words, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def made(self):
        """The names in the folder, apart from the program."""
        return sorted(path.name for path in self.tmp.iterdir() if path.name != "work")

    def programs(self, folder):
        """The programs that have recordings in a folder, sorted."""
        return sorted(path.name.split(".")[0] for path in (self.tmp / folder).iterdir())


class Files(Tree):
    def test_a_single_recording_is_a_file(self):
        self.assertIn("  allo summary work.", self.run_allo("./work"))
        name, = self.made()
        self.assertRegex(name, r"^work\.\d+\.allo$")

    def test_several_recordings_are_a_directory(self):
        said = self.run_allo("sh", "-c", "./work; ./work; true")
        folder, = self.made()
        self.assertRegex(folder, r"^sh\.\d+\.allo\.d$")
        self.assertEqual(self.programs(folder), ["sh", "work", "work"])
        self.assertRegex(said, rf"(?m)^allo: wrote {re.escape(folder)} \(3 recordings, .*\)$")

    def test_make_and_the_compiler_are_one_directory(self):
        self.file("a.c", "int a(void) { return 1; }\n")
        self.file("b.c", "int b(void) { return 2; }\n")
        self.file("Makefile", "all: a.o b.o\n%.o: %.c\n\tgcc -c $< -o $@\n")
        said = self.run_allo("make", "-j2")
        folder, = [name for name in self.made() if "allo" in name]
        self.assertRegex(folder, r"^make\.\d+\.allo\.d$")
        self.assertEqual({name: self.programs(folder).count(name) for name in ("make", "gcc", "cc1", "as")},
                         {"make": 1, "gcc": 2, "cc1": 2, "as": 2})
        # The largest is named by its program, is the first in the list, and is recommended.
        listed = re.findall(r"(?m)^allo:   peak .*  (\S+) \((\d+)\)$", said)
        rows = self.allo_json("summary", folder)["processes"]
        self.assertEqual(listed[0], (rows[0]["program"], str(rows[0]["pid"])))
        self.assertIn(rows[0]["program"], ("cc1", "as"))
        self.assertIn(f"allo summary {folder}/{listed[0][0]}.{listed[0][1]}.allo ", said)
        self.assertIn(f"allo summary {folder} ", said)

    def test_a_script_that_executes_another_program_is_named_as_it_was_typed(self):
        """As pyenv's shims do."""
        self.file("shim", "#!/usr/bin/env bash\n./work\nexec ./work\n").chmod(0o755)
        self.run_allo("./shim")
        folder, = [name for name in self.made() if name != "shim"]
        self.assertRegex(folder, r"^shim\.\d+\.allo\.d$")
        self.assertEqual(self.programs(folder).count("work"), 2)
        self.assertIn("bash", self.programs(folder))

    def test_pythons_processes_are_one_directory(self):
        # Without the barrier, one worker may do everything before the other one allocates.
        code = ("import multiprocessing as m\nif __name__ == '__main__':\n    begin = m.Barrier(2)\n"
                "    print(m.Pool(2, begin.wait).map(abs, [-1, -2]))\n")
        self.file("pool.py", code)
        self.run_allo("python3", "pool.py")
        folder, = [name for name in self.made() if name.endswith(".d")]
        self.assertEqual([name for name in self.made() if "allo" in name], [folder])
        self.assertEqual(self.programs(folder), ["python3"] * 3)

    def test_the_name_of_o_belongs_to_the_program(self):
        self.run_allo("-o", "my heap.allo", "sh", "-c", "./work; ./work; true")
        self.assertEqual(self.made(), ["my heap.allo", "my heap.allo.d"])
        self.assertEqual(self.programs("my heap.allo.d"), ["work", "work"])
        self.assertEqual(self.allo_json("info", "my heap.allo")["recording"]["arguments"][0], "sh")
        # The directory stands for the whole run.
        self.assertEqual([row["program"] for row in self.allo_json("summary", "my heap.allo.d")["processes"]],
                         ["work", "work", "sh"])

    def test_others_cannot_add_to_a_directory_in_a_shared_folder(self):
        self.tmp.chmod(0o1777)
        self.run_allo("-o", "x.allo", "sh", "-c", "./work; true")
        self.assertEqual((self.tmp / "x.allo.d").stat().st_mode & 0o7777, 0o700)

    def test_a_child_never_gets_the_name_of_a_program_that_recorded_nothing(self):
        """A program with its own allocator starts one that is recorded."""
        self.must("gcc", "-x", "c", "-o", "own", self.file("own.c", "#include <stdlib.h>\n#include <unistd.h>\n"
                  "void *malloc(size_t n) { (void)n; return 0; }\nvoid free(void *p) { (void)p; }\n"
                  "void *calloc(size_t n, size_t m) { (void)n, (void)m; return 0; }\n"
                  "void *realloc(void *p, size_t n) { (void)p, (void)n; return 0; }\n"
                  "#include <sys/wait.h>\n"
                  "int main(void) { if (vfork() == 0) { execl(\"./work\", \"work\", NULL); _exit(1); } wait(0); }\n"))
        said = self.run_allo("-o", "x.allo", "./own")
        self.assertIn("allo: ./own itself was not recorded: it contains an allocator, which the runtime cannot patch", said)
        self.assertFalse((self.tmp / "x.allo").exists())
        self.assertEqual(self.programs("x.allo.d"), ["work"])
        self.assertRegex(said, r"(?m)^allo: work \(\d+\): 40 allocations, ")

    def test_directories_and_patterns_take_all_recordings(self):
        (self.tmp / "there").mkdir()
        for output in ("there", "new/"):
            self.run_allo("-o", output, "sh", "-c", "./work; true")
            self.assertEqual(self.programs(output), ["sh", "work"])
        self.run_allo("-o", "%e.%p.allo", "sh", "-c", "./work; true")
        self.assertEqual(len(list(self.tmp.glob("*.allo"))), 2)

    def test_existing_directories_are_replaced_on_request_only(self):
        command = ("-o", "x.allo", "sh", "-c", "./work; ./work; true")
        self.run_allo(*command)
        (self.tmp / "x.allo").unlink()
        said = self.run_allo(*command, status=125)
        self.assertIn("x.allo: its directory x.allo.d exists and was not overwritten", said)
        self.file("x.allo.d/mine.txt", "")
        self.run_allo("-f", *command)
        self.assertEqual(self.programs("x.allo.d"), ["mine", "work", "work"])

    def test_files_of_earlier_runs_are_never_mixed_with_new_ones(self):
        """In a container, every run may have the same pid."""
        if self.run_program("unshare", "-p", "-f", "--mount-proc", "true").returncode != 0:
            self.skipTest("no PID namespaces here")
        for _ in range(3):
            self.must("unshare", "-p", "-f", "--mount-proc", ALLO, "run", "-q", "sh", "-c", "./work; true")
        folders = self.made()
        self.assertEqual(len(folders), 3, folders)
        for folder in folders:
            self.assertEqual(self.programs(folder), ["sh", "work"])

    def test_a_directory_that_cannot_be_made_is_reported(self):
        folder = self.tmp / "closed"
        folder.mkdir(mode=0o777)
        code = "import os, subprocess\nos.chmod('closed', 0o555)\nsubprocess.run(['./work'])\nos.chmod('closed', 0o777)\n"
        command, env = self.allo_of_a_user(), ENVIRONMENT
        if IS_ROOT:
            os.chown(folder, NOBODY, NOBODY)
            (self.tmp / "work").chmod(0o755)
            shutil.copy(RUNTIME, self.tmp)
            env = {**ENVIRONMENT, "ALLO_LIBRARY": str(self.tmp / RUNTIME.name)}
        done = self.run_program(*command, "run", "-o", "closed/x.allo", "/usr/bin/python3", "-c", code, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"process \d+ \(work\) was not recorded: Permission denied")
        self.assertEqual([path.name for path in folder.iterdir()], ["x.allo"])

    def test_killing_everything_at_any_time_leaves_valid_recordings(self):
        for delay in (0.0, 0.01, 0.03, 0.1, 0.3):
            folder = self.tmp / f"run {delay}"
            folder.mkdir()
            child = subprocess.Popen([ALLO, "run", "sh", "-c", "while :; do ../work; ../work & done"], cwd=folder,
                                     env=ENVIRONMENT, stderr=subprocess.DEVNULL, start_new_session=True)
            wait_until(lambda: list(folder.rglob("*.allo")), "a recording exists")
            time.sleep(delay)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            self.assertLessEqual(len(list(folder.iterdir())), 2)
            files = list(folder.rglob("*.allo"))
            for path in files:
                self.allo("info", path)
            for path in folder.glob("*.d"):
                found = len(self.allo_json("summary", path).get("processes", [0]))
                # A process that is being killed may still complete its file.
                self.assertIn(found, range(len(files), len(list(folder.rglob("*.allo"))) + 1))


class Only(Tree):
    def test_only_the_selected_programs_are_recorded(self):
        for name in ("work", "./work", self.tmp / "work"):
            folder = self.run_allo("--only", name, "sh", "-c", "sh -c './work; true'; ./work; true")
            folder, = self.made()
            self.assertEqual(self.programs(folder), ["work", "work"])
            shutil.rmtree(self.tmp / folder)

    def test_several_names_and_the_name_of_a_script(self):
        self.file("tool", "#!/bin/sh\n./work\n").chmod(0o755)
        self.run_allo("--only", "tool", "--only", "none", "sh", "-c", "./tool; sh -c true; true")
        folder, = self.tmp.glob("*.d")
        self.assertEqual(len(list(folder.iterdir())), 1)
        recorded = self.allo_json("info", *folder.iterdir())["recording"]["arguments"]
        self.assertEqual(recorded[1], "./tool")

    def test_the_selected_program_may_be_the_one_that_is_run(self):
        self.run_allo("--only", "work", "./work")
        self.assertRegex(*self.made(), r"^work\.\d+\.allo$")

    def test_nothing_selected_is_explained(self):
        said = self.run_allo("--only", "wrok", "./work")
        self.assertIn("allo: nothing was recorded: no program of --only made an allocation\n", said)
        self.assertEqual(self.made(), [])


class Sums(Tree):
    def setUp(self):
        super().setUp()
        self.run_allo("-q", "-o", "a.allo", "sh", "-c", "./work; ./work; ./work; true")
        (self.tmp / "a.allo").unlink()

    def test_summary_lists_processes_and_adds_them_up(self):
        found = self.allo_json("summary", "a.allo.d")
        self.assertEqual([(row["program"], row["allocations"], row["peak_bytes"], row["end_bytes"])
                          for row in found["processes"]], [("work", 40, PEAK, 20 * 3001)] * 3)
        tables = {table["name"]: table for table in found["tables"]}
        self.assertEqual((tables["peak"]["sum"], tables["end"]["sum"]), (3 * PEAK, 3 * 20 * 3001))
        text = self.allo("summary", "a.allo.d")
        self.assertIn("3 recordings, 120 allocations, ", text)
        self.assertIn("held at the peak of each process, in sum: ", text)
        self.assertEqual(text.count("  work ("), 3)

    def test_programs_of_the_same_process_and_name_are_told_apart(self):
        """As the cargo of rustup, which executes the real one."""
        self.must("gcc", "-x", "c", "-", "-o", "again", input=b"#include <stdlib.h>\n#include <unistd.h>\n"
                  b"int main(int count, char **words) { char *less[] = { words[0], NULL }; void *volatile b = malloc(5003 * count);\n"
                  b" return b && count > 1 ? execv(words[0], less) : 0; }\n")
        said = self.run_allo("./again", "again")
        names = [path.name for path in self.tmp.glob("again.*")]
        self.assertEqual(len(names), 1, names)  # a directory with both
        for text in (said, self.allo("summary", names[0])):
            self.assertRegex(text, r"9\.77 KiB.*again \(\d+\), first program\n.*4\.89 KiB.*again \(\d+\), second program\n")

    def test_a_server_that_replaces_its_arguments_keeps_its_name(self):
        self.run_allo("-q", "-o", "b.allo", "bash", "-c", "./work; exec -a 'serv: worker /etc/serv.conf' ./work")
        programs = {row["program"] for row in self.allo_json("summary", "b.allo.d")["processes"]}
        self.assertEqual(programs, {"bash", "serv", "work"})

    def test_a_recording_leads_to_the_others_of_its_run(self):
        def runs(path):
            return [row["command"] for row in self.allo_json("summary", path)["next"]
                    if row["about"] == "all processes of the run together"]

        inside = sorted((self.tmp / "a.allo.d").iterdir())
        self.assertEqual(runs(inside[0].relative_to(self.tmp)), ["allo summary a.allo.d"])
        self.assertEqual(runs(inside[0]), [f"allo summary {self.tmp}/a.allo.d"])
        shutil.copy(inside[0], self.tmp / "alone.allo")
        self.assertEqual(runs("alone.allo"), [])
        shutil.copy(inside[0], self.tmp / "a.allo")  # the recording that -o named
        self.assertEqual(runs("a.allo"), ["allo summary a.allo.d"])
        for path in inside[1:]:
            path.unlink()
        (self.tmp / "a.allo").unlink()
        self.assertEqual(runs(inside[0]), [])

    def test_files_and_directories_are_the_same(self):
        files = sorted((self.tmp / "a.allo.d").iterdir())
        self.assertEqual(self.allo_json("summary", *files)["tables"], self.allo_json("summary", "a.allo.d")["tables"])
        for command in ("top", "leaks", "tree"):
            self.assertEqual(self.allo(command, *files), self.allo(command, "a.allo.d"))

    def test_budget_checks_the_sum(self):
        self.allo("budget", "--max-peak", str(3 * PEAK), "a.allo.d")
        done = self.run_program(ALLO, "budget", "--max-peak", str(3 * PEAK - 1), "--junit", "-",
                                *(self.tmp / "a.allo.d").iterdir())
        self.assertEqual(done.returncode, 3)
        self.assertIn(b".allo and 2 more\"", done.stdout)
        self.allo("budget", "--growth", "0%", "--baseline", "a.allo.d", "a.allo.d")

    def test_directories_are_converted_and_compared(self):
        self.allo("convert", "a.allo.d", "-o", "all.pb.gz")
        self.allo("merge", "a.allo.d", "-o", "merged.pb.gz")
        for name in ("all.pb.gz", "merged.pb.gz"):
            self.assertEqual(self.allo_json("leaks", name)["sum"], 3 * 20 * 3001)
        self.assertEqual(self.allo_json("diff", "a.allo.d", "all.pb.gz")["rows"], [])

    def test_a_directory_with_one_recording_is_that_recording(self):
        files = sorted((self.tmp / "a.allo.d").iterdir())
        for path in files[1:]:
            path.unlink()
        for command in ("summary", "timeline", "threads", "hist", "blocks", "leaks"):
            name = f"a.allo.d/{files[0].name}"
            self.assertEqual(self.allo(command, "a.allo.d").replace(name, "a.allo.d"),
                             self.allo(command, name).replace(name, "a.allo.d"))

    def test_commands_for_one_recording_read_the_largest(self):
        largest = self.allo_json("summary", "a.allo.d")["processes"][0]
        commands = [(command, "-q", "{}") for command in ("timeline", "threads", "blocks", "events", "info", "hist", "findings")]
        commands += [("sql", "-q", "{}", "select count(*) from allocation"),
                     ("report", "-q", "-f", "-o", "a.html", "{}")]
        for command in commands:
            printed = [self.must(ALLO, *(word.replace("{}", path) for word in command))
                       for path in ("a.allo.d", largest["file"])]
            self.assertEqual(printed[0].replace(largest["file"], "a.allo.d"),
                             printed[1].replace(largest["file"], "a.allo.d"), command)
        recordings = [process["file"] for process in self.allo_json("summary", "a.allo.d")["processes"]]
        for path, named in (("a.allo.d", sorted(recordings)), (largest["file"], None)):
            reply = Reply(self.run_program(ALLO, "view", "-q", "--ask", '{"v": 1, "ask": "open"}', path).stdout)
            self.assertEqual(reply["file"]["name"], largest["file"])
            self.assertEqual(reply["file"].get("recordings") and sorted(reply["file"]["recordings"]), named)
        said = self.run_program(ALLO, "timeline", "a.allo.d").stderr.decode()
        self.assertRegex(said, rf"note: a\.allo\.d has \d+ recordings: this is the largest, of {largest['program']} "
                               rf"\({largest['pid']}\); 'allo summary a\.allo\.d' lists all\n")
        self.assertIn("has several recordings: this command reads one", self.allo_fails("symbolize", "a.allo.d", status=2))

    def test_other_directories_are_refused(self):
        (self.tmp / "empty").mkdir()
        self.assertIn("empty: is a directory, not a profile", self.allo_fails("summary", "empty"))


class Groups(WatchTest):
    """%NAME, and processes that have not allocated since they were forked."""

    def setUp(self):
        super().setUp()
        self.must("gcc", "-O1", "-g", "-x", "c", self.file("work.c", PROGRAM), "-o", "workers")
        self.name = f"w{self.tmp.name}"  # unlike those of tests that run at the same time
        (self.tmp / "workers").rename(self.tmp / self.name)

    def start(self, *words, options=()):
        child = subprocess.Popen([ALLO, "run", "-q", "--raw", *options, f"./{self.name}", *words], cwd=self.tmp,
                                 env=self.env, stdin=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        self.addCleanup(child.stdin.close)
        return child

    def rows(self):
        return [row for row in self.watch_json("ps")["processes"] if row.get("program") == self.name]

    def wait_for(self, count):
        return wait_until(lambda: (rows := self.rows()) and len(rows) == count
                          and all(row.get("live_bytes") == 20 * 3001 for row in rows) and rows,
                          f"{count} processes are recorded")

    def test_ps_shows_the_live_memory_of_every_mode(self):
        for options in ((), ("-m", "sampled", "--rate", "2"), ("--control", "-m", "counters")):
            child = self.start("stay", options=options)
            rows = wait_until(lambda: [row for row in self.rows() if row.get("live_bytes")], "live memory is known")
            self.assertEqual(len(rows), 1)
            self.assertAlmostEqual(rows[0]["live_bytes"], 20 * 3001, delta=3001)
            self.assertRegex(self.watch("ps"), rf"\n *{rows[0]['pid']}  {self.name} .* ~?(5[5-9]|6[01])\.\d KiB ")
            child.terminate()
            child.wait()

    def test_a_process_with_counters_only_is_listed_by_its_socket(self):
        """Without one, it has neither a recording nor anything else that could be found."""
        for option, count in (("--control", 1), ("--no-command", 0)):
            child = self.start("stay", options=("-m", "counters", option))
            recorded = self.start("stay")  # of the same program, and started later
            wait_until(lambda pid=recorded.pid: len([row for row in self.rows() if row.get("mode") == "exact"]) == 1,
                       "the other process is listed")
            self.assertEqual(len([row for row in self.rows() if row.get("mode") == "counters"]), count)
            for each in (child, recorded):
                each.terminate()
                each.wait()

    def test_an_idle_forked_process_is_listed(self):
        child = self.start("fork")
        row, = wait_until(lambda: [row for row in self.rows() if row["state"] == "waiting"], "it is forked")
        self.assertNotIn("file", row)
        self.assertIn(f"{self.name} ({row['pid']}) has recorded nothing yet", self.watch("stats", str(row["pid"]), status=1))
        # It takes no part: it has neither threads nor descriptors that its program did not open.
        self.assertEqual(os.listdir(f"/proc/{row['pid']}/task"), [str(row["pid"])])
        self.assertFalse([path for path in pathlib.Path(f"/proc/{row['pid']}/fd").iterdir()
                          if "allo" in os.readlink(path).rpartition("/")[2]])
        child.stdin.write(b"g")
        child.stdin.flush()
        row, = wait_until(lambda: [row for row in self.rows() if row.get("live_bytes") == 5003], "it has allocated")
        self.assertEqual(row["state"], "recording")

    def test_a_forked_process_that_will_not_be_recorded_is_not_listed(self):
        self.start("fork", options=("--no-follow",))
        time.sleep(0.3)
        self.assertEqual([row for row in self.rows() if row["state"] == "waiting"], [])

    def test_a_page_of_another_file_is_no_sign(self):
        """The sign of an idle forked process is a page of its parent's recording, 64 KiB behind its start."""
        path = self.tmp / "data"
        path.write_bytes(bytes(2 << 16))
        script = (f"import mmap, sys; file = open({str(path)!r}); "
                  "page = mmap.mmap(file.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ, offset=1 << 16); "
                  "print('mapped', flush=True); sys.stdin.read()")
        other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(other.wait)
        self.addCleanup(other.stdin.close)
        self.addCleanup(other.stdout.close)
        self.assertEqual(other.stdout.readline(), b"mapped\n")
        self.assertNotIn(other.pid, [row["pid"] for row in self.watch_json("ps")["processes"]])

    def test_a_name_may_be_cut_if_one_program_is_meant(self):
        self.start("stay")
        row, = self.wait_for(1)
        for name in (self.name, self.name[:-1]):
            self.assertEqual(self.watch_json("stats", f"%{name}")["pid"], row["pid"])
            self.assertIn(f"process {row['pid']} ", self.watch("mem", f"%{name}"))
        shutil.copy(self.tmp / self.name, self.tmp / f"{self.name}b")
        other = subprocess.Popen([self.tmp / f"{self.name}b", "stay"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        wait_until(lambda: self.name.encode() in pathlib.Path(f"/proc/{other.pid}/cmdline").read_bytes(), "it runs")
        error = self.watch("mem", f"%{self.name[:-1]}", status=2)
        self.assertIn(f"the names of several programs begin with '{self.name[:-1]}'", error)
        self.assertIn(f"%{self.name}b", error)
        self.assertIn(f"process {row['pid']} ", self.watch("mem", f"%{self.name}"))
        self.assertIn("no process is named 'nix-so'", self.watch("mem", "%nix-so", status=2))

    def test_a_group_is_stopped_together(self):
        for _ in range(2):
            self.start("stay")
        rows = self.wait_for(2)
        error = self.watch("stats", f"%{self.name}", status=2)
        self.assertIn(f"2 processes are named '{self.name}'", error)
        self.assertIn(f"give the pid of one: {rows[0]['pid']}, {rows[1]['pid']}", error)
        said = self.watch("stop", f"%{self.name}")
        self.assertEqual(sorted(map(int, re.findall(r"\((\d+)\)", said))), [row["pid"] for row in rows])
