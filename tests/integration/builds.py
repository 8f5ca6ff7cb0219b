"""Builds of the whole project, and the objects that they share."""
import shutil


def lend_objects(lender, build):
    """Gives a build the objects of another one, and ninja's notes on them.  Where the source and the command are the same,
    ninja takes the object; it compiles the others."""
    for folder in ("src", "capture"):
        shutil.copytree(lender / folder, build / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "*.so.?"))
    for name in (".ninja_log", ".ninja_deps"):
        shutil.copy(lender / name, build)
