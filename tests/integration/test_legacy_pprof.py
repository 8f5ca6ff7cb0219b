"""Profiles of pprof's older formats, against go tool pprof."""
import random
import struct

from allotest import GOLDEN
from test_heap_text import HeapText

FILES = sorted((GOLDEN / "legacy-pprof").iterdir())

GO = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
)

func wait(lock *sync.Mutex, group *sync.WaitGroup) {
	for i := 0; i < 200; i++ {
		lock.Lock()
		runtime.Gosched()
		lock.Unlock()
	}
	group.Done()
}

func main() {
	var lock sync.Mutex
	var group, held sync.WaitGroup
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	for pprof.Lookup("mutex").Count() == 0 || pprof.Lookup("block").Count() == 0 {
		group.Add(4)
		for i := 0; i < 4; i++ {
			go wait(&lock, &group)
		}
		group.Wait()
	}
	held.Add(1)
	for i := 0; i < 23; i++ {
		go held.Wait()
	}
	for _, name := range []string{"mutex", "block", "goroutine", "threadcreate"} {
		file, _ := os.Create(name + ".txt")
		pprof.Lookup(name).WriteTo(file, 1)
		file.Close()
	}
}
"""


class GoToolPprof(HeapText):
    SANITIZED = False  # go does the work here

    def test_golden_files_are_read_as_by_pprof(self):
        for path in FILES:
            with self.subTest(path.name):
                if path.name == "java.heap":  # pprof does not say that its numbers are estimates
                    self.allo("convert", "-qfo", "ours.pb.gz", path)
                    self.assertEqual(self.raw("ours.pb.gz")["samples"], self.raw(path)["samples"])
                else:
                    self.agree(path, with_mappings=False)

    def test_modules_are_those_of_pprof(self):
        for name in ("cpp64.cpu", "cpp.contention", "cpp.threads"):
            with self.subTest(name):
                self.agree(GOLDEN / "legacy-pprof" / name)

    def test_go_programs_are_read_as_by_pprof(self):
        self.file("main.go", GO)
        self.must("go", "build", "-o", "waits", "main.go")
        self.must("./waits")
        for name in ("mutex", "block", "goroutine"):
            with self.subTest(name):
                self.agree(f"{name}.txt", with_mappings=False)
        self.assertGreater(self.sums("threadcreate.txt")["threadcreate"], 0)
        self.assertGreaterEqual(self.sums("goroutine.txt")["goroutine"], 24)
        self.assertIn("main.main", self.allo("top", "--cum", "-g", "function", "goroutine.txt"))

    def test_random_cpu_profiles_are_read_as_by_pprof(self):
        pick = random.Random(7)
        for words in ("<Q", ">Q", "<I", ">I"):
            with self.subTest(words):
                handlers = [0x9000, 0x9100]
                data = [0, 3, 0, pick.randrange(1, 20000), 0]
                for i in range(200):
                    stack = [pick.randrange(0x1000, 0x1080) for _ in range(pick.randrange(1, 9))]
                    stack[1:1] = handlers if i % 50 else []
                    data += [pick.randrange(1, 9), len(stack), *stack]
                data += [0, 1, 0]
                self.file("in.prof", b"".join(struct.pack(words, word) for word in data) + b"1000-2000 r-xp 0 00:00 0 /a\n")
                self.agree("in.prof", with_mappings=False)


class Files(HeapText):
    def test_each_kind_has_its_metrics(self):
        for name, sums in (("cpp64.cpu", {"samples": 23, "cpu": 230000000}), ("java.cpu", {"samples": 17, "cpu": 170000000}),
                           ("cpp.contention", {"contentions": 3000, "delay": 779682880}),
                           ("java.contention", {"contentions": 600, "delay": 2700}), ("cpp.threads", {"thread": 4}),
                           ("go.goroutine", {"goroutine": 5}), ("java.heap", {"live_blocks": 41786, "live_bytes": 7431905})):
            with self.subTest(name):
                self.assertEqual(self.sums(GOLDEN / "legacy-pprof" / name), sums)

    def test_frames_of_java_and_go_have_names(self):
        stacks = self.allo("convert", "-q", "--to", "folded", GOLDEN / "legacy-pprof" / "java.heap", "-M", "live_blocks")
        self.assertIn("com.example.Main.main;com.example.cache.Cache.load;com.example.cache.Cache.put 74\n", stacks)
        self.assertIn("com.example.Main.main;read 3\n", stacks)
        self.assertIn("main.worker", self.allo("top", "--cum", GOLDEN / "legacy-pprof" / "go.goroutine"))

    def test_broken_files_are_refused_with_the_place(self):
        whole = (GOLDEN / "legacy-pprof" / "cpp64.cpu").read_bytes()
        head = struct.pack("<5Q", 0, 3, 0, 10000, 0)
        for data, says in ((whole[:100], ": byte 101: the file ends in the middle of a stack"),
                           (head + struct.pack("<2Q", 1, 1 << 40), ": byte 41: a stack of 1099511627776 frames"),
                           (b"--- contentionz 1 ---\ncycles/second = x\n", ':2:17: expected a number, found "x"'),
                           (b"--- contentionz 1 ---\nbeans = 4\n", ':2:1: expected an attribute'),
                           (b"--- contention:\n1 2 3\n", ':2:1: expected "CYCLES COUNT @ 0x..."'),
                           (b"--- heapz 1 ---\nresolution = bytes\n", ': has no "format = java"'),
                           (b"--- heapz 1 ---\nformat = java\n5 0 @ 0x1\n", ":3:1: expected a number of blocks above 0"),
                           (b"goroutine profile: total 5\n5 x\n", ':2:1: expected "COUNT @ 0x..."'),
                           (b"goroutine profile: total 5\n5 @ 12\n", ":2:5: expected an address")):
            with self.subTest(says):
                path = self.file("in.prof", data)
                self.assertIn(f"{path}{says}", self.allo_fails("info", path))

    def test_a_file_of_no_kind_is_refused(self):
        path = self.file("in.txt", "heap profile: 1: 2 [1: 2] @ heapprofile\n")
        self.assertIn("expected a CPU, lock, thread or Java profile", self.allo_fails("info", "--from", "legacy-pprof", path))
