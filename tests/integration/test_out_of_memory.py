"""Commands whose allocations fail, one after the other: an error that says so, or no difference at all."""
import gzip

from allotest import ALLO, BUILD, ENVIRONMENT, GOLDEN, Test


class OutOfMemory(Test):
    SANITIZED = False  # the sanitizer's allocator cannot be replaced

    def setUp(self):
        super().setUp()
        self.library = self.tmp / "fail_nth.so"  # LD_PRELOAD is split at spaces
        self.library.symlink_to(BUILD / "tests" / "fail_nth.so")

    def run_failing(self, nth, *arguments):
        env = {**ENVIRONMENT, "LD_PRELOAD": str(self.library),
               "ALLO_FAIL_NTH": str(nth), "ALLO_FAIL_COUNT": str(self.tmp / "count")}
        return self.run_program(ALLO, *arguments, env=env)

    def try_all(self, *arguments, status=0):
        usual = self.run_failing(0, *arguments)
        self.assertEqual(usual.returncode, status, usual.stderr)
        count = int((self.tmp / "count").read_text())
        (self.tmp / "count").unlink()
        files = {path.name: path.read_bytes() for path in self.tmp.iterdir()}
        numbers = sorted({*range(1, min(count, 12)), *range(12, count + 1, 1 + count // 25)})
        for nth in numbers:
            for after in ("", "+"):
                for path in self.tmp.iterdir():
                    if path.name == "out.pb.gz":
                        path.unlink()
                done = self.run_failing(f"{nth}{after}", *arguments)
                (self.tmp / "count").unlink(missing_ok=True)
                left = {path.name: path.read_bytes() for path in self.tmp.iterdir()}
                with self.subTest(arguments, nth=nth, after=after):
                    if done.returncode == status:
                        self.assertEqual(done.stdout, usual.stdout)
                        self.assertEqual(left, files)
                    else:
                        self.assertEqual(done.returncode, 1, done.stderr)
                        self.assertIn(b"memory", done.stderr)
                        self.assertNotIn("out.pb.gz", left)
                        self.assertEqual({**left, "out.pb.gz": 0}, {**files, "out.pb.gz": 0})

    def test_looking_at_a_file(self):
        heap, go = GOLDEN / "dhat" / "valgrind-heap.json", GOLDEN / "pprof" / "go-heap.pb.gz"
        self.try_all("info", heap)
        self.try_all("info", go, "--json")
        self.try_all("top", heap, "--by", "site", "-F", "main")
        self.try_all("tree", heap, "--min", "0")
        self.try_all("tree", go, "--json", "--invert")
        self.try_all("verify", GOLDEN / "dhat" / "valgrind-quirks.json")
        self.try_all("peek", "main", heap, "--csv")
        self.try_all("list", "make_node", heap, "--source-dir", GOLDEN)
        self.try_all("leaks", heap, "--suppressions", self.file("x.supp", "leak:make_node\n"))
        self.try_all("leaks", GOLDEN / "allo" / "server.allo", "--csv")
        self.try_all("budget", heap, "--max-peak", "1K", "--growth", "0", "--baseline", heap, status=3)
        self.try_all("sql", heap, "--report", "functions")

    def test_looking_into_a_recording(self):
        server = GOLDEN / "allo" / "server.allo"
        self.try_all("summary", server)
        self.try_all("timeline", server)
        self.try_all("threads", server)
        self.try_all("blocks", server, "-F", "server")
        self.try_all("hist", server, "--at", "peak")

    def test_making_another_file(self):
        heap, go = GOLDEN / "dhat" / "valgrind-heap.json", GOLDEN / "pprof" / "go-heap.pb.gz"
        packed = self.file("heap.json.gz", gzip.compress(heap.read_bytes(), mtime=0))
        self.try_all("convert", packed, "-o", "out.pb.gz")
        self.try_all("convert", heap, go, "-o", "out.pb.gz", "-M", "alloc_bytes", "--hide", "main")
        self.try_all("diff", go, go, "-o", "out.pb.gz")
        self.try_all("merge", "--label", "file", heap, go, "-o", "out.pb.gz")
        self.try_all("convert", GOLDEN / "allo" / "server.allo", "--to", "sqlite")
        self.try_all("diff", heap, heap, "--as", "tree")

    def test_commands_that_need_no_file(self):
        self.try_all("formats")
        self.try_all("help", "convert")
        self.try_all("completion", "zsh")
        self.try_all("nonsense", status=2)
