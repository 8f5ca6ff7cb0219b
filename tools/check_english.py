#!/usr/bin/env python3
"""Measures how plain the English of comments and documentation is.

usage: check_english.py [PATH...]     words per 1000, for files or folders (default: the whole project)
       check_english.py --list PATH   also prints each line that holds one of the words

Comments of C, Rust, TypeScript, Python, shell and meson files count, and all text of NEWS and of Markdown files outside
code blocks.  Exits with 1 if the project as a whole exceeds a limit.
"""
import os
import pathlib
import re
import sys

# A word, and how often it may occur per 1000 words.  Peers of this project use "what" 0 to 0.9 times.
LIMITS = {
    r"what": 2.0,
    r"whoever|whom|nobody|somebody|anew": 0.3,
    r"as good as|told of|is none\b|by itself|of its own|without it\b": 0.5,
}


def comments_of_c(text):
    return "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S))


def comments_of_script(text):
    docs = re.findall(r'"""(.*?)"""', text, re.S)
    return "\n".join(docs + re.findall(r"^\s*#(?!!)[^\n]*", text, re.M))


def prose_of_markdown(text):
    return re.sub(r"```.*?```|`[^`\n]*`", " ", text, flags=re.S)


EXTRACT = {".c": comments_of_c, ".h": comments_of_c, ".cpp": comments_of_c, ".rs": comments_of_c, ".mjs": comments_of_c,
           ".js": comments_of_c, ".ts": comments_of_c, ".tsx": comments_of_c, ".py": comments_of_script, ".sh": comments_of_script, ".build": comments_of_script,
           ".md": prose_of_markdown, "": prose_of_markdown}

# Folders without text of ours: builds, packages, samples.
SKIPPED = re.compile(r"\..*|build.*|node_modules|dist|target|golden|corpus|__pycache__")


def files(paths):
    for start in map(pathlib.Path, paths or ["."]):
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not SKIPPED.fullmatch(name))
            yield from (pathlib.Path(folder, name) for name in sorted(names) if is_read(pathlib.Path(name)))
        if start.is_file():
            yield start


def is_read(name):
    return name.suffix in EXTRACT if name.suffix else name.name == "NEWS"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--list"]
    lists = "--list" in sys.argv
    words, found = 0, dict.fromkeys(LIMITS, 0)
    for path in files(arguments):
        text = EXTRACT[path.suffix](path.read_text(errors="replace"))
        words += len(re.findall(r"[A-Za-z][A-Za-z'-]*", text))
        for pattern in LIMITS:
            hits = re.findall(rf"^.*\b(?:{pattern})\b.*$", text, re.M | re.I)
            found[pattern] += len(re.findall(rf"\b(?:{pattern})\b", text, re.I))
            if lists:
                print("\n".join(f"{path}: {line.strip()}" for line in hits), end="\n" if hits else "")
    is_plain = True
    for pattern, limit in LIMITS.items():
        rate = 1000 * found[pattern] / max(words, 1)
        is_plain &= rate <= limit
        print(f"{rate:6.2f} per 1000 words (limit {limit}): {pattern}")
    print(f"{words} words")
    sys.exit(0 if is_plain else 1)


main()
