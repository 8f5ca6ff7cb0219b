"""A folder of node programs, the packages that they import, and the browser that they drive."""
import fcntl
import os
import shutil

# By the variable that names it to the programs.  Ubuntu packages none of them; its CI machines have both.
BROWSERS = {"CHROMIUM": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
            "FIREFOX": ("firefox-esr", "firefox")}


def browser(test, variable="CHROMIUM"):
    """The variable with the path of a browser."""
    names = BROWSERS[variable]
    found = os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)
    if not found:
        test.skipTest(f"no browser: install {names[0]}, or set {variable}")
    return {variable: found}


def install(test, source, folder):
    """Copies the programs into a folder of the build.  Packages come from npm, once for each state of
    package-lock.json.  Tests that share a folder wait for each other."""
    folder.mkdir(exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_and_install(test, source, folder)


def copy_and_install(test, source, folder):
    for path in source.glob("*.mjs"):
        if not (folder / path.name).exists() or (folder / path.name).read_bytes() != path.read_bytes():
            shutil.copy(path, folder)
    lock = folder / "package-lock.json"
    wanted = source / "package-lock.json"
    installed = folder / "node_modules" / ".package-lock.json"
    if installed.exists() and lock.read_bytes() == wanted.read_bytes():
        return
    shutil.copy(source / "package.json", folder)
    shutil.copy(wanted, folder)
    test.must("npm", "ci", "--prefix", folder, "--silent", "--no-audit", "--no-fund", "--ignore-scripts")
