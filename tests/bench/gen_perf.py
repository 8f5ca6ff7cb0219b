#!/usr/bin/env python3
"""Converts the output of DTrace to the output of `perf script`: gen_perf.py DTRACE.txt OUT.txt

The stacks, times and threads are those of gen_dtrace.py; each frame gets an address, as it has in perf's lines.
"""
import sys
import zlib


def frames_of(stack, known):
    for frame in stack:
        line = known.get(frame)
        if line is None:
            module, _, symbol = frame.partition("`")
            address = 0x7f0000000000 + zlib.crc32(frame.encode())
            line = known[frame] = f"\t{address:16x} {symbol} (/usr/lib/{module})\n"
        yield line


def main():
    known, stack, head = {}, [], ""
    with open(sys.argv[1]) as source, open(sys.argv[2], "w", buffering=1 << 22) as out:
        for line in source:
            if "`" in line:
                stack.append(line.strip())
            elif len(words := line.split()) == 3:
                time, pid, tid = map(int, words)
                head = f"server {pid}/{tid} [{tid % 8:03d}] {time // 10**9:5d}.{time // 1000 % 10**6:06d}:    1003009 cpu-clock: \n"
            elif words:
                out.write(head + "".join(frames_of(stack, known)) + "\n")
                stack = []


main()
