#!/usr/bin/env python3
"""Generates the output of DTrace for a sampled program, one record per sample.

usage: gen_dtrace.py OUT.txt SIZE [plain|fields] [SEED]      SIZE: 10M, 100M, 1G ...

The program is made up, with the measures of a real capture of a C++ program of 34 MB: 735 functions, lines of 114
bytes on average, 9000 distinct stacks of 33 frames, 78 at most, of which one has 19 in common with the next.  Records are as `profile-997 { @[timestamp, pid, tid, ustack(100)] = count(); }` with -x aggsortkey prints
them (fields), or those of @[ustack(100)] (plain).  A thread stays near its last stack: seven of ten times
the next one begins at the same root, as calls that begin and end have it.  The same arguments give the same file.
"""
import random
import sys

SYLLABLES = ("Parse", "Stream", "Context", "Frame", "Buffer", "Shape", "Compile", "Object", "Node", "Property", "Atom",
             "Scope", "Token", "Emit", "Source", "Script", "Value", "Handle", "Cache", "Walk", "Visit", "Trace")
MODULES = ("js", "js", "js", "js", "js", "js", "libsystem_kernel.dylib", "libc++.1.dylib", "dyld")
FUNCTIONS, STACKS, DEPTH, THREADS = 735, 9000, 78, 16


def size_of(text):
    return int(float(text[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[text[-1]])


def name_of(rnd):
    def words(least, most):
        return "".join(rnd.choice(SYLLABLES) for _ in range(rnd.randint(least, most)))
    name = f"{words(1, 1).lower()}::{words(1, 3)}"
    if rnd.random() < 0.3:
        name += f"<{words(1, 2)}, {words(1, 2)}<{words(1, 3)}>>"
    name += f"::{words(1, 2)}({words(1, 2)}*, unsigned int"
    for _ in range(rnd.choice((0, 0, 0, 1, 1, 2))):
        name += f", {words(1, 2)}<{words(1, 2)}> const&"
    return name + (") const" if rnd.random() < 0.3 else ")")


class Program:
    """Functions that call each other from fixed places."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.names = [f"{rnd.choice(MODULES)}`{name_of(rnd)}" for _ in range(FUNCTIONS)]
        # Callees have higher numbers mostly, so that stacks go somewhere.
        self.calls = [[(rnd.randrange(FUNCTIONS) if rnd.random() < 0.2 else
                        min(FUNCTIONS - 1, i + rnd.randint(1, 30)), rnd.randrange(4, 0x900, 4))
                       for _ in range(rnd.randint(2, 12))] for i in range(FUNCTIONS)]

    def stack(self):
        rnd, at, lines = self.rnd, 0 if self.rnd.random() < 0.9 else self.rnd.randrange(8), []
        last = min(DEPTH, 4 + int(rnd.gammavariate(4, 7.5))) - 1
        for depth in range(last + 1):
            # From main() on there are few ways, further in many.
            callee, offset = self.calls[at][0] if rnd.random() < 1 - depth / 600 else rnd.choice(self.calls[at])
            if depth == last:
                offset = rnd.randrange(0, 0x900, 4)  # it is anywhere, not at a call
            lines.append(f"              {self.names[at]}+0x{offset:x}\n")
            at = callee
        return lines[::-1]  # the leaf comes first


def main():
    out_path, want = sys.argv[1], size_of(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else "fields"
    rnd = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    program = Program(rnd)
    stacks = [program.stack() for _ in range(STACKS)]
    weights = [rnd.paretovariate(1.2) for _ in stacks]
    by_root = {}
    for number, stack in enumerate(stacks):
        by_root.setdefault(stack[-1], []).append(number)
    texts = ["".join(stack) + f"{1:17d}\n" for stack in stacks]
    threads = [(1000 + i // 4, 100000 + 7 * i) for i in range(THREADS)]
    last, time, written = rnd.choices(range(STACKS), weights, k=THREADS), 81234567890123, 1
    fresh = []
    with open(out_path, "w", buffering=1 << 22) as out:
        out.write("\n")
        while written < want:
            thread = rnd.randrange(THREADS)
            if rnd.random() < 0.7:
                last[thread] = rnd.choice(by_root[stacks[last[thread]][-1]])
            else:
                fresh = fresh or rnd.choices(range(STACKS), weights, k=1000)
                last[thread] = fresh.pop()
            time += rnd.randint(1, 2 * 1003009 // THREADS)
            pid, tid = threads[thread]
            text = (f" {time:16d} {pid:8d} {tid:16d}\n" if kind == "fields" else "\n") + texts[last[thread]]
            out.write(text)
            written += len(text)


main()
