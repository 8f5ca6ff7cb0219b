"""Makes many small objects, as Python programs do: objects.py ROUNDS

With PYTHONMALLOC=malloc each of them is a separate block.
"""
import json
import re
import sys


class Leaf:
    __slots__ = ("key", "smaller", "larger", "facts")

    def __init__(self, key):
        self.key, self.smaller, self.larger = key, None, None
        self.facts = [key, str(key)]


def grow(root, key):
    """A search tree without balance; returns its root."""
    if root is None:
        return Leaf(key)
    at = root
    while True:
        if key < at.key:
            if at.smaller is None:
                at.smaller = Leaf(key)
                return root
            at = at.smaller
        else:
            if at.larger is None:
                at.larger = Leaf(key)
                return root
            at = at.larger


def height(leaf):
    return 0 if leaf is None else 1 + max(height(leaf.smaller), height(leaf.larger))


def tree(count):
    key, root = 12345, None
    for _ in range(count):
        key = (key * 1103515245 + 12345) & 0x7FFFFFFF
        root = grow(root, key)
    return height(root)


def word_counts(count):
    text = " ".join("w%d" % (i * 7919 % 1009) for i in range(count))
    counts = {}
    for word in re.findall(r"w\d+", text):
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def documents(count):
    made = [{"id": i, "name": "n%d" % i, "tags": [str(tag) for tag in range(i % 7)], "weight": i * 0.5}
            for i in range(count)]
    return len(json.dumps(json.loads(json.dumps(made))))


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main():
    total = 0
    for _ in range(int(sys.argv[1])):
        total += tree(4000) + len(word_counts(8000)) + documents(1500) + fibonacci(15)
        total += sum(len(str(cube)) for cube in [i ** 3 for i in range(10000)])
    print(total)


main()
