"""Inputs that are URLs, from a server on this machine."""
import functools
import http.server
import threading

from allotest import ALLO, ENVIRONMENT, GOLDEN, Test

HEAP = GOLDEN / "pprof" / "go-heap.pb.gz"
RECORDING = GOLDEN / "allo" / "server.allo"


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/pprof/go-heap.pb.gz" if self.path == "/moved" else self.path)
            self.end_headers()
        elif self.path == "/file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
        elif self.path == "/large":
            self.send_response(200)
            self.send_header("Content-Length", str(3 << 30))
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *arguments):
        pass


class Urls(Test):
    SANITIZED = False  # dlopen() of a library that is not sanitized

    def setUp(self):
        super().setUp()
        handler = functools.partial(Handler, directory=str(GOLDEN))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def test_every_command_reads_them(self):
        heap, recording = f"{self.base}/pprof/go-heap.pb.gz", f"{self.base}/allo/server.allo"
        self.assertEqual(self.allo("top", heap), self.allo("top", HEAP))
        self.assertEqual(self.allo("tree", f"{self.base}/moved"), self.allo("tree", HEAP))
        self.assertEqual(self.allo("blocks", recording), self.allo("blocks", RECORDING))
        self.assertEqual(self.allo("sql", recording, "select count(*) from allocation"),
                         self.allo("sql", RECORDING, "select count(*) from allocation"))
        self.assertEqual(self.allo("top", heap, recording), self.allo("top", HEAP, RECORDING))
        self.assertIn("never freed", self.allo(recording))
        self.assertEqual(self.allo("flame", f"{heap}?debug=0"), "go-heap.svg\n")
        self.assertEqual(self.allo("diff", heap, HEAP), self.allo("diff", HEAP, HEAP))

    def test_failures_have_their_reason(self):
        for path, said in (("/missing", "status 404"), ("/moved/on", "redirects"), ("/file", "cannot be fetched")):
            self.assertIn(said, self.allo_fails("top", self.base + path))
        self.assertIn("cannot be fetched: ", self.allo_fails("top", "http://127.0.0.1:1/heap"))
        self.assertIn("cannot open", self.allo_fails("top", "file:///etc/hostname"))

    def test_a_download_has_a_limit(self):
        self.assertIn("is larger than 1.00 GiB", self.allo_fails("top", f"{self.base}/large"))

    def test_credentials_are_not_printed(self):
        done = self.run_program(ALLO, "top", self.base.replace("://", "://user:hunter2@"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("~/.netrc", done.stderr.decode())
        self.assertNotIn("hunter2", done.stderr.decode())

    def test_a_missing_library_is_named(self):
        folder = self.tmp / "libraries"
        folder.mkdir()
        (folder / "libcurl.so.4").write_text("not a library")
        environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": str(folder)}
        done = self.run_program(ALLO, "top", f"{self.base}/pprof/go-heap.pb.gz", env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot load libcurl.so.4", done.stderr.decode())
        self.assertIn("install the package libcurl4", done.stderr.decode())
