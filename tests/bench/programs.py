"""Programs that benchmarks record."""
import pathlib

from goals import made, quietly

WORK = pathlib.Path(__file__).resolve().parent / "workloads"


def built(name, *libraries):
    source = next(WORK.glob(f"{name}.c*"))
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    return made(name, lambda path: quietly(compiler, "-O2", "-g", "-pthread", source, "-o", path, *libraries))
