#!/usr/bin/env python3
"""Checks that a name means one thing in src/, capture/ and include/.

usage: check_names.py        prints the offenders and exits with 1

- A struct, union or enum tag of a header is defined once: no other file defines it, not even a .c file.
  Tags that only .c files define are private to these files and may repeat.
- A function that other files can see is defined once: in one .c file, or inline in one header.  Files that replace
  others on a platform (src/wasm/, src/cli/standalone/, *_none.c) do not count.
- A prototype of a function that two headers declare is the same in both.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("src", "capture", "include")

TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?\{")
# Functions begin in the first column; the parameters may span lines.
FUNCTION = re.compile(r"^(?P<head>(?:[A-Za-z_][\w*]*[\s*]+)+?\**)(?P<name>[a-z_]\w*)(?P<parameters>\([^;{}]*?\))"
                      r"(?P<end>\s*\n\{|[^;{}()]*(?:\(\([^;{}]*\)\))?\s*;)", re.M)


def without_comments(text):
    """The text without comments, strings and preprocessor lines; line breaks stay."""
    def blank(match):
        return '""' if match[0][0] == '"' else "\n" * match[0].count("\n") or " "
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: "\n" * match[0].count("\n"), text, flags=re.M)


def sources():
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            yield path, without_comments(path.read_text())


def is_replacement(path):
    return path.parts[:2] == ("src", "wasm") or "standalone" in path.parts or path.stem.endswith("_none")


def prototype(match):
    """As it is written, but for layout, attributes and names of parameters."""
    words = re.findall(r"\w+|[^\w\s]", match["head"] + match["parameters"])
    return [word for word in words if word not in ("extern", "inline")]


def main():
    tags = collections.defaultdict(list)
    defined = collections.defaultdict(set)
    declared = collections.defaultdict(list)
    for path, text in sources():
        for name in set(TAG.findall(text)):
            tags[name].append(path)
        for match in FUNCTION.finditer(text):
            head, is_body = match["head"].split(), match["end"].endswith("{")
            if head[0] in ("return", "else", "typedef", "goto", "case") or match["name"] in ("main", "__attribute__"):
                continue
            if is_body and is_replacement(path):
                continue
            if is_body and ("static" not in head or path.suffix == ".h"):
                defined[match["name"]].add(path)
            elif not is_body and path.suffix == ".h":
                declared[match["name"]].append((path, prototype(match)))

    problems = []
    for name, paths in tags.items():
        if len(paths) > 1 and any(path.suffix == ".h" for path in paths):
            problems.append(f"{name} is the tag of several types: {', '.join(map(str, paths))}")
    for name, paths in defined.items():
        if len(paths) > 1:
            problems.append(f"{name}() is defined in several files: {', '.join(sorted(map(str, paths)))}")
    for name, found in declared.items():
        if any(words != found[0][1] for _, words in found):
            problems.append(f"{name}() is declared differently: {', '.join(str(path) for path, _ in found)}")
    print("\n".join(sorted(problems)), end="\n" if problems else "")
    if not tags or not defined or not declared:
        print("check_names.py: found no names; run it from the top folder")
        problems.append("")
    sys.exit(1 if problems else 0)


main()
