"""%NAME for several processes of one name: allo live adds them up, allo serve serves each."""
import os
import re
import shutil

from allotest import ALLO
from recordings import built
from service import Server
from watching import Obedient, WatchTest


class Groups(WatchTest):
    def setUp(self):
        super().setUp()
        # Other tests may run the program at the same time.
        self.name = f"group{os.getpid()}"
        shutil.copy(built("obeys.c"), self.tmp / self.name)
        for commands in (["get 23 1009"], ["get 7 1009", "brief 5 50"]):
            Obedient(self, command=[ALLO, "run", "-q", "--raw", "-o", self.tmp / "%e.%p.%n.allo",
                                    self.tmp / self.name]).tell(*commands)

    def live(self, *options):
        return self.watch_json("live", "--once", *options, f"%{self.name}")

    def test_each_process_has_a_row_and_sites_are_summed(self):
        found = self.live()
        rows = found["processes"]
        self.assertEqual({(row["live_blocks"], row["live_bytes"]) for row in rows}, {(23, 23 * 1009), (7, 7 * 1009)})
        self.assertEqual(len({row["pid"] for row in rows}), 2)
        self.assertEqual((found["live_blocks"], found["live_bytes"]), (30, 30 * 1009))
        sites = {row["function"]: row for row in found["sites"]}
        self.assertEqual((sites["get"]["live_blocks"], sites["get"]["alloc_blocks"]), (30, 30))

    def test_the_page(self):
        text = self.watch("live", "--once", f"%{self.name}")
        self.assertRegex(text, rf"^{self.name}: 2 processes, live 29\.6 KiB in 30 blocks\n\n +live  blocks +allocs/s  process\n"
                               rf"( *[\d.]+ KiB +\d+ +[\d,]+  {self.name} \(\d+\)\n){{2}}\n")
        self.assertRegex(text, r"\n *29\.6 KiB +100\.0% +30 +[\d,]+  get\b")

    def test_filters_apply_to_all(self):
        self.assertNotIn("get", {row["function"] for row in self.live("--focus", "brief")["sites"]})
        self.assertEqual({row["function"] for row in self.live("--focus", "get")["sites"]}, {"get"})

    def test_a_server_has_metrics_and_heaps_of_each(self):
        live = {row["pid"]: row["live_bytes"] for row in self.live()["processes"]}
        server = Server(self, f"%{self.name}")
        self.addCleanup(server.close)
        metrics = server.ask("/metrics")[2].decode()
        self.assertEqual({int(pid) for pid in re.findall(rf'pid="(\d+)",program="{self.name}"', metrics)}, set(live))
        for pid, held in live.items():
            status, _, body = server.ask(f"/debug/pprof/heap?debug=1&pid={pid}")
            self.assertEqual(status, 200, body)
            self.assertTrue(body.startswith(f"heap profile: {held // 1009}: {held} [".encode()), body[:80])
        self.assertEqual(server.status("/debug/pprof/heap"), 400)  # it does not guess which one is meant
