#!/usr/bin/env python3
"""Lists the sample files; as a program, runs a command with all of them: sample_files.py COMMAND..."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sample_files():
    """Inputs that once made a fuzzer fail, inputs that are broken on purpose, and files of other tools."""
    return sorted(str(path.relative_to(ROOT)) for pattern in ("fuzz/corpus/*/*", "golden/*/*")
                  for path in (ROOT / "tests").glob(pattern))


if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    os.execv(program, [program, *sys.argv[2:], *sample_files()])
