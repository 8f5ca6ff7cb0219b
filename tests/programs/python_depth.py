"""Recurses, and keeps a block at each level: python_depth.py DEPTH"""
import sys

kept = []


def down(level):
    kept.append(bytes(600))
    if level:
        down(level - 1)


sys.setrecursionlimit(1_000_000)
down(int(sys.argv[1]))
print(len(kept))
