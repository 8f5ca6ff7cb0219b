#!/usr/bin/env python3
"""pyarrow reads the Parquet files of recordings: every row is that of the database, and sums are those of `allo top`.

usage: parquet.py BUILD [TEST...]      with a Python that has pyarrow
"""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ["ALLO_BUILD"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from allotest import ALLO, Test
from recordings import built
import test_parquet


def rows_of(table):
    """Rows as the other readers write them: whole numbers are texts."""
    return [[str(value) if isinstance(value, int) else value for value in row.values()] for row in table.to_pylist()]


class PyArrow(test_parquet.ParquetTest):
    def setUp(self):
        Test.setUp(self)  # without the packages of node

    def check(self, name, *options):
        recording = f"{name}.allo"
        self.allo("run", "-q", *options, "-o", recording, "--", built("boxes.cpp"), 2300, 70, 50)
        folder = self.convert(recording, name)
        tables = {path.stem: pyarrow.parquet.read_table(path) for path in folder.glob("*.parquet")}
        self.assert_rows({table: rows_of(read) for table, read in tables.items()}, name)
        blocks = tables["allocation"]
        size = pyarrow.compute.sum(pyarrow.compute.multiply(blocks["size"], blocks["weight"])).as_py()
        top = self.allo_json("top", "-M", "alloc_bytes", recording)["sum"]
        self.assertAlmostEqual(size, top, delta=0.51)

    def test_every_row(self):
        self.check("exact")

    def test_a_sampled_recording(self):
        self.check("sampled", "-m", "sampled", "--rate", "1K")

    def test_runs_beside_each_other_are_one_table(self):
        (self.tmp / "runs").mkdir()
        for run, boxes in (("old", 50), ("new", 53)):
            self.allo("run", "-q", "-o", f"{run}.allo", built("boxes.cpp"), 2300, 70, boxes)
            self.allo("convert", "-q", f"{run}.allo", "-o", f"runs/run={run}/")
        read = pyarrow.dataset.dataset([str(path) for path in (self.tmp / "runs").glob("*/allocation.parquet")],
                                       partitioning=pyarrow.dataset.partitioning(flavor="hive"),
                                       partition_base_dir=str(self.tmp / "runs"))
        sizes = read.to_table().group_by("run").aggregate([("size", "sum")]).to_pylist()
        self.assertEqual({row["run"]: row["size_sum"] for row in sizes},
                         {run: self.allo_json("top", "-M", "alloc_bytes", f"{run}.allo")["sum"] for run in ("old", "new")})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
