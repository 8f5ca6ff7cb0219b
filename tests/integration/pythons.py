"""The CPython interpreters on this machine: the system's, those of pyenv, and those that ALLO_PYTHONS names."""
import functools
import os
import pathlib
import subprocess

VERSIONS = (10, 11, 12, 13, 14, 15)


def version_of(path):
    """"3.12.1", or "3.14.7t" without GIL, of a CPython whose functions allo knows, else None."""
    done = subprocess.run([path, "-c", "import sys; print(sys.implementation.name, "
                           "'%d.%d.%d' % sys.version_info[:3] + sys.abiflags)"], capture_output=True, text=True)
    name, _, version = done.stdout.strip().partition(" ")
    return version if name == "cpython" and version.startswith("3.") and int(version.split(".")[1]) in VERSIONS else None


@functools.cache
def interpreters():
    """Paths by version."""
    named = filter(None, os.environ.get("ALLO_PYTHONS", "").split(":"))
    places = [*map(pathlib.Path, named), pathlib.Path("/usr/bin/python3"), *pathlib.Path("/usr/local/bin").glob("python3.[0-9]*"),
              *sorted((pathlib.Path.home() / ".pyenv/versions").glob("3.*/bin/python3"))]
    found = {}
    for place in places:
        if place.exists() and not place.name.endswith("-config"):
            version = version_of(place)
            if version and version not in found:
                found[version] = str(place.resolve())
    return found
