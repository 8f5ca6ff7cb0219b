"""Runs allo, which the wheel installs beside the interpreter: python -m allotrope run ./program"""
import os
import shutil
import sys
import sysconfig


def program():
    """The path of allo; None if there is none."""
    beside = os.path.join(sysconfig.get_path("scripts"), "allo")
    return beside if os.access(beside, os.X_OK) else shutil.which("allo")


def main():
    path = program()
    if not path:
        sys.exit("allotrope: cannot find the program allo: install it, or add its directory to PATH")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
