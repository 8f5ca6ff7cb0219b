#!/usr/bin/env python3
"""Scales a real DHAT file up to a wanted size, with stacks as distinct as in real files.

usage: gen_dhat.py REAL.json OUT.json SIZE [SEED]      SIZE: 10M, 100M, 1G ...

New program points are made by splicing two real stacks at a frame that both have, so that every call
is one that was really seen, in stretches of neighbours that share their root side as real files have
them, in one of K copies of the program.  K grows with the square root of the scale: a copy has its own
addresses and function names, so the frame table grows too, but slower than the points, as it does
between small and large real files.  Values are the real ones, four in ten times a factor.  The layout
is the writer's own: many lines and access counts as Valgrind has them, or one line a point.  Every
stack differs from every other.  The same arguments give the same file.
"""
import json
import random
import re
import sys

VALUES = ("tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb")
FRAME = re.compile(r"^0x([0-9A-Fa-f]+): (.*)$", re.S)


def size_of(text):
    return int(float(text[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[text[-1]])


def frame_of_copy(copy, text):
    match = FRAME.match(text)
    if copy == 0 or not match:
        return text
    name, separator, place = match.group(2).partition(" (")
    if name != "???" and not name.startswith("(below"):
        name = f"{name}.m{copy}"
    return f"0x{int(match.group(1), 16) + copy * 0x1000000:X}: {name}{separator}{place}"


class Stacks:
    """Endless stacks, each different, and the real point that each takes its values from."""

    def __init__(self, points, frame_count, copies, rnd):
        self.points, self.frame_count, self.copies, self.rnd = points, frame_count, copies, rnd
        self.seen, self.left = set(), 0
        self.places = {}  # frame -> [(point, depth)]
        for i, point in enumerate(points):
            for depth, frame in enumerate(point["fs"]):
                self.places.setdefault(frame, []).append((i, depth))

    def begin_stretch(self):
        rnd = self.rnd
        self.left = 1 + int(rnd.expovariate(1 / 150))
        self.at = rnd.randrange(len(self.points))
        self.leaf_copy, self.root_copy = rnd.randrange(self.copies), rnd.randrange(self.copies)
        self.shared, self.donors = rnd.randrange(1, 12), {}

    def splice(self, stack):
        cut = max(0, len(stack) - self.shared)
        if stack[cut] not in self.donors:
            self.donors[stack[cut]] = self.rnd.choice(self.places[stack[cut]])
        donor, depth = self.donors[stack[cut]]
        return ([frame + self.leaf_copy * self.frame_count for frame in stack[:cut]] +
                [frame + self.root_copy * self.frame_count for frame in self.points[donor]["fs"][depth:]])

    def __iter__(self):
        while True:
            if self.left == 0:
                self.begin_stretch()
            self.left -= 1
            point = self.points[self.at]
            self.at = (self.at + 1) % len(self.points)
            stack = self.splice(point["fs"])
            if hash(tuple(stack)) in self.seen:
                # The same way again: a recursion of one of its frames makes it a new one.
                where = self.rnd.randrange(len(stack))
                stack[where:where] = [stack[where]] * self.rnd.randint(1, 6)
                if hash(tuple(stack)) in self.seen:
                    continue
            self.seen.add(hash(tuple(stack)))
            yield point, stack


def as_valgrind(values, point, stack):
    v = {key: values.get(key, 0) for key in VALUES}
    accesses = f'  ,"acc":[{",".join(map(str, point["acc"]))}]\n' if "acc" in point else ""
    return (f'{{"tb":{v["tb"]},"tbk":{v["tbk"]}\n  ,"tl":{v["tl"]}\n  ,"mb":{v["mb"]},"mbk":{v["mbk"]}\n'
            f'  ,"gb":{v["gb"]},"gbk":{v["gbk"]}\n  ,"eb":{v["eb"]},"ebk":{v["ebk"]}\n'
            f'  ,"rb":{v["rb"]},"wb":{v["wb"]}\n{accesses}  ,"fs":[{stack}]\n  }}')


def as_one_line(values, _point, stack):
    return "{" + ",".join(f'"{key}":{value}' for key, value in values.items()) + f',"fs":[{stack}]}}'


def main():
    source, out_path, want = sys.argv[1], sys.argv[2], size_of(sys.argv[3])
    rnd = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    text = open(source).read()
    dhat = json.loads(text)
    points, frames = [point for point in dhat["pps"] if point["fs"]], dhat["ftbl"]
    copies = max(1, round(max(1.0, want / len(text)) ** 0.5))
    layout = as_valgrind if dhat["mode"] == "heap" else as_one_line
    keys = [key for key in VALUES if key in points[0]]
    table_size = sum(len(json.dumps(frame)) + 6 for frame in frames) * copies
    room, count = want - table_size - 400, 0
    with open(out_path, "w", buffering=1 << 22) as out:
        head = {key: value for key, value in dhat.items() if key not in ("pps", "ftbl")}
        out.write("{" + "\n,".join(json.dumps({key: value}, separators=(",", ":"))[1:-1]
                                   for key, value in head.items()) + '\n,"pps":\n [')
        for point, stack in Stacks(points, len(frames), copies, rnd):
            factor = 1.0 if rnd.random() < 0.6 else 2.0 ** rnd.uniform(-2, 6)
            values = {key: max(1, int(point[key] * factor)) if point[key] else 0 for key in keys}
            written = layout(values, point, ",".join(map(str, stack)))
            out.write(("\n ," if count else "") + written)
            room -= len(written) + 3
            count += 1
            if room <= 0:
                break
        out.write('\n ]\n,"ftbl":\n [')
        out.write("\n ,".join(json.dumps(frame_of_copy(copy, frame))
                              for copy in range(copies) for frame in frames))
        out.write("\n ]\n}\n")
    print(f"{out_path}: {count} points, {copies * len(frames)} frames in {copies} copies")


main()
