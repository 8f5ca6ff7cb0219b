#!/usr/bin/env python3
"""Checks that a header exists only if it has two users; a module with one user belongs into it.

usage: check_headers.py        prints each header that has too few and exits with 1

Users are source files, headers, tests and fuzzers other than the header's own source file.  One user is enough

- if it is a header: then those that include it use both;
- if it is in another folder: the header is how its folder is used;
- if the module has LONG lines or more, or is in ALLOWED, which has the reason.
"""
import collections
import pathlib
import re
import sys

# Such a module is a file worth reading by itself.
LONG = 100

ALLOWED = {
    "src/cli/show/run_limits.h": "cmd_run.c is long, and this is a command within the command",
    "src/wasm/imports.h": "declares what the page's script defines",
    "src/wasm/missing.h": "declares functions that wasi-libc lacks",
    "src/serve/page_view.h": "keeps the requests of the page apart from the loop of all followers",
    "capture/hooks/abandoned_hook.h": "walks the stack of an interrupted hook; thread.c is long already",
    "capture/hooks/probes.h": "notes in assembly, which compilers must not inline",
}


def users_of_headers():
    """By the name in #include: the files with it."""
    users = collections.defaultdict(set)
    for folder in ("src", "capture", "tests", "include"):
        for path in pathlib.Path(folder).rglob("*.[chS]*"):
            if path.suffix in (".c", ".h", ".cpp", ".S"):
                for name in re.findall(r'#include "([^"]+)"', path.read_text(errors="replace")):
                    users[name].add(path)
    return users


def folder_of(path):
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def needs_reason(header, users):
    own = header.with_suffix(".c")
    users = users - {own}
    if len(users) != 1:
        return not users
    user = next(iter(users))
    is_long = own.exists() and own.read_text().count("\n") >= LONG
    return user.suffix != ".h" and folder_of(user) == folder_of(header) and not is_long


def main():
    users = users_of_headers()
    found = {str(header) for folder in ("src", "capture") for header in pathlib.Path(folder).rglob("*.h")
             if needs_reason(header, users[str(header).removeprefix("src/")])}
    for name in sorted(found - set(ALLOWED)):
        print(f"{name}: has one user, into which it belongs; or give a reason in tools/check_headers.py")
    for name in sorted(set(ALLOWED) - found):
        print(f"{name}: needs no reason in tools/check_headers.py any more")
    sys.exit(1 if found != set(ALLOWED) else 0)


main()
