"""Shared by the packaging scripts: the version, the time of the release, and the names of this machine."""
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

SUMMARY = "heap profiler that records every allocation of a program"

# Of the processor, as Debian, OCI and Go call it.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def version():
    return re.search(r"^ *version: '(.*)',", (ROOT / "meson.build").read_text(), re.M)[1]


def epoch():
    """Seconds: $SOURCE_DATE_EPOCH, or the time of the commit, or of NEWS in an archive without git."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else int((ROOT / "NEWS").stat().st_mtime)
