"""Profiles that a program makes of itself: in-use values are live memory, as in allo snapshot and allo serve."""
import gzip
import subprocess

from allotest import ALLO, ENVIRONMENT, ROOT, unsanitized
from recordings import RUNTIME, CaptureTest

PROGRAM = r"""
#include <allo.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static char *take(size_t size) { char *p = malloc(size); memset(p, 1, size); return p; }
__attribute__((noinline)) static void brief(void) { for (int i = 0; i < 100; i++) free(take(1 << 20)); }
__attribute__((noinline)) static char *keep(void) { return take(1 << 20); }

int main(void)
{
	struct allo_config config = { .path = "live.allo" };
	char *brief_blocks[100], *kept[5];
	void *data;
	size_t len;
	FILE *out;

	if (!allo_start(&config))
		return 1;
	for (int i = 0; i < 100; i++)
		brief_blocks[i] = take(1 << 20);
	for (int i = 0; i < 100; i++)
		free(brief_blocks[i]);
	brief();
	for (int i = 0; i < 5; i++)
		kept[i] = keep();
	if (!allo_dump("dump.pb.gz") || !allo_dump("dump.heap") || !allo_dump("dump.dhat") || !allo_dump_buffer(NULL, &data, &len)) {
		fprintf(stderr, "%s\n", allo_error());
		return 1;
	}
	out = fopen("buffer.pb.gz", "wb");
	fwrite(data, 1, len, out);
	fclose(out);
	free(data);
	for (int i = 0; i < 5; i++)
		free(kept[i]);
	return !allo_stop();
}
"""
MIB = 1 << 20


class LiveDumps(CaptureTest):
    def run_it(self):
        self.must("gcc", "-O1", "-g", f"-I{ROOT / 'include'}", self.file("self.c", PROGRAM), "-o", "self", RUNTIME,
                  f"-Wl,-rpath,{RUNTIME.parent}")
        done = subprocess.run(["./self"], cwd=self.tmp, env={**ENVIRONMENT, "ALLO_PROGRAM": str(ALLO)},
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def sums(self, path):
        return {metric["metric"]["name"]: metric["sum"] for metric in self.allo_json("info", path)["metrics"]}

    def test_in_use_is_live_memory_and_the_default(self):
        self.run_it()
        for name in ("dump.pb.gz", "buffer.pb.gz"):
            with self.subTest(name):
                sums = self.sums(name)
                self.assertEqual(sorted(sums), ["alloc_blocks", "alloc_bytes", "live_blocks", "live_bytes"])
                self.assertEqual((sums["live_bytes"] // MIB, sums["alloc_bytes"] // MIB), (5, 205))
                self.assertEqual(self.allo_json("top", name)["metric"]["name"], "live_bytes")
        self.assertEqual(self.sums("dump.heap")["live_bytes"] // MIB, 5)
        # DHAT holds all of it.
        sums = self.sums("dump.dhat")
        self.assertEqual([sums[name] // MIB for name in ("alloc_bytes", "max_bytes", "peak_bytes", "end_bytes")],
                         [205, 106, 100, 5])

    @unsanitized
    def test_go_tool_pprof_shows_live_memory(self):
        self.run_it()
        for name in ("dump.pb.gz", "buffer.pb.gz"):
            top = self.must("go", "tool", "pprof", "-symbolize=none", "-top", "-unit=MB", name)
            self.assertIn("Type: inuse_space\n", top)
            self.assertRegex(top, r"accounting for 5(\.\d+)?MB, .* of 5(\.\d+)?MB total")

    def test_a_recording_has_no_in_use_values_in_pprof(self):
        """Only conversions of DHAT files call the maxima of call sites so."""
        self.run_it()
        self.allo("convert", "live.allo", "-qo", "whole.pb.gz")
        self.assertEqual(self.sums("whole.pb.gz"), self.sums("live.allo"))
        self.assertNotIn("note: inuse_space", self.run_program(ALLO, "convert", "-f", "live.allo", "-o", "whole.pb.gz").stderr.decode())
        self.assertNotIn(b"inuse_space", gzip.decompress((self.tmp / "whole.pb.gz").read_bytes()))
        self.allo("convert", "live.allo", "-qo", "whole.dhat")
        self.allo("convert", "whole.dhat", "-qo", "dhat.pb.gz")
        self.assertIn(b"inuse_space", gzip.decompress((self.tmp / "dhat.pb.gz").read_bytes()))
        self.assertEqual(self.sums("dhat.pb.gz")["max_bytes"], self.sums("whole.dhat")["max_bytes"])
