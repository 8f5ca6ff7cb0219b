#!/usr/bin/env python3
"""Rust programs whose allocator is a crate: tikv-jemallocator and mimalloc.

usage: rust.py BUILD [TEST...]

Every allocation and every free has to be in the recording, with the program's function.
"""
import collections
import os
import pathlib
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
os.environ["ALLO_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from allotest import ALLO, Test
from rawrecording import RawRecording


class Allocators(Test):
    def check(self, feature):
        folder = BUILD / "peers" / "rust"
        shutil.copytree(ROOT / "tests/peers/rust", folder, dirs_exist_ok=True)
        self.must("cargo", "build", "--quiet", "--release", "--features", feature, "--manifest-path", folder / "Cargo.toml")
        said = self.must(ALLO, "run", "-q", "-f", "--raw", "-o", "out.allo", folder / "target/release/allocators")
        wanted = {int(size): (int(blocks), int(kept)) for size, blocks, kept in map(str.split, said.splitlines())}
        recording = RawRecording(self.tmp / "out.allo")
        blocks = collections.Counter(event.size for event in recording.events if event.size in wanted)
        live = {}
        for event in recording.events:
            for pointer in event.pointer, event.old:
                live.pop(pointer, None)
            if event.size:
                live[event.pointer] = event.size
        kept = collections.Counter(live.values())
        self.assertEqual({size: (blocks[size], kept[size]) for size in wanted}, wanted)
        self.must(ALLO, "verify", "out.allo")
        top = self.allo_json("top", "-n", "1", "-M", "end_bytes", "out.allo")["rows"][0]
        self.assertEqual((top["name"], top["self"]), ("allocators::use_all", sum(size * kept for size, (_, kept) in wanted.items())))

    def test_tikv_jemallocator(self):
        self.check("jemalloc")

    def test_mimalloc(self):
        self.check("mimalloc")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
