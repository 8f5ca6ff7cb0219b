"""The statistics of glibc's malloc as metrics, on request: allo mem --metrics --walk and allo serve ?walk=arenas."""
import contextlib
import json
import re
import subprocess
import types

from allotest import ENVIRONMENT, HANG
from recordings import built
from service import Server
from test_memory import JEMALLOC, MemoryTest

GAUGES = {"allo_allocator_allocated_bytes", "allo_allocator_arenas", "allo_allocator_block_map_bytes",
          "allo_allocator_free_bytes", "allo_allocator_mapped_bytes", "allo_allocator_mapped_peak_bytes",
          "process_heap_bytes"}


def gauges(text):
    """The numbers about the allocator, by name and label."""
    lines = re.findall(r"^((?:allo_allocator_|process_heap)\S+) (\d+)$", text, re.M)
    return {name: int(number) for name, number in lines if not name.startswith("allo_allocator_info")}


class Gauges(MemoryTest):
    SANITIZED = False  # the process under test is not ours

    @contextlib.contextmanager
    def holding(self, *preload):
        """Starts tests/programs/gauges.c; returns its pid."""
        process = subprocess.Popen([built("gauges.c")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**ENVIRONMENT, "LD_PRELOAD": ":".join(map(str, preload))})
        try:
            self.system, self.free, self.mapped = map(int, process.stdout.readline().split())
            yield process.pid
        finally:
            process.stdin.close()
            process.wait(HANG)
            process.stdout.close()

    def check(self, text):
        """They are exactly those that glibc reports about itself."""
        found = gauges(text)
        self.assertEqual({name.split("{")[0] for name in found}, GAUGES)
        self.assertEqual(found["allo_allocator_mapped_bytes"], self.system + self.mapped)
        self.assertEqual(found["process_heap_bytes"], self.system + self.mapped)
        self.assertEqual(found["allo_allocator_block_map_bytes"], self.mapped)
        self.assertEqual(found['allo_allocator_free_bytes{kind="lists"}'], self.free)
        self.assertEqual(found["allo_allocator_allocated_bytes"], self.system + self.mapped - self.free)
        self.assertGreaterEqual(found["allo_allocator_mapped_peak_bytes"], self.system)
        self.assertEqual(found["allo_allocator_arenas"], 2)
        self.assertEqual(len(re.findall(r'^allo_telemetry_source_up\{source="allocator"\} 1$', text, re.M)), 1)

    def test_allo_mem_has_them_on_request(self):
        with self.holding() as pid:
            self.assertEqual(gauges(self.allo("mem", "--metrics", pid)), {})
            walked = self.allo("mem", "--metrics", "--walk", pid)
            self.check(walked)
            self.check_prometheus(walked)
            openmetrics = self.allo("mem", "--openmetrics", "--walk", pid)
            self.check(openmetrics)
            self.check_openmetrics(openmetrics)

    def test_the_table_needs_no_option_for_it(self):
        self.assertIn("--walk is for --metrics", self.allo_fails("mem", "--walk", "1", status=2))

    def test_allo_serve_has_them_on_request(self):
        with self.holding() as pid:
            server = Server(types.SimpleNamespace(tmp=self.tmp, environment=ENVIRONMENT), pid)
            try:
                self.assertEqual(gauges(server.ask("/metrics")[2].decode()), {})
                self.check(server.ask("/metrics?walk=arenas")[2].decode())
                memory = json.loads(server.ask("/memory?walk=arenas")[2])
                self.assertEqual(memory["allocator"]["free_list_bytes"], self.free)
                status, _, said = server.ask("/metrics?walk=pages")
                self.assertEqual(status, 400)
                self.assertIn("walk is arenas, not 'pages'", said.decode())
            finally:
                server.close()

    def test_another_allocator_does_not_get_the_numbers_of_glibc(self):
        with self.running(preload=[JEMALLOC]) as pid:
            text = self.allo("mem", "--metrics", "--walk", pid)
        self.assertEqual(gauges(text), {})
        self.assertIn('allo_allocator_info{allocator="jemalloc"', text)
