"""A folder of node programs and the packages that they import."""
import shutil


def install(test, source, folder):
    """Copies the programs into a folder of the build.  Packages come from npm, once for each state of
    package-lock.json."""
    folder.mkdir(exist_ok=True)
    for path in source.glob("*.mjs"):
        shutil.copy(path, folder)
    lock = folder / "package-lock.json"
    wanted = source / "package-lock.json"
    installed = folder / "node_modules" / ".package-lock.json"
    if installed.exists() and lock.read_bytes() == wanted.read_bytes():
        return
    shutil.copy(source / "package.json", folder)
    shutil.copy(wanted, folder)
    test.must("npm", "ci", "--prefix", folder, "--silent", "--no-audit", "--no-fund", "--ignore-scripts")
