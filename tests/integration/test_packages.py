"""Packages: each is installed into a clean root, where allo records a program; equal inputs give equal bytes."""
import atexit
import base64
import csv
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest
import urllib.request
import zipfile

from allotest import BUILD, ENVIRONMENT, HANG, IS_ROOT, ROOT, Test, wait_for_text
from builds import lend_objects
from recordings import built

PACKAGING = ROOT / "packaging"
EPOCH = "1700000000"

# The bytes that tests/programs/leaks.c does not free.
LEAKED = 7 * 1009 + 30 * 101 + 3 * 4099

# With the options of the build under test, builds for packages take its objects.  The scripts strip all programs and libraries,
# so packages have no debug information either way.
OPTIONS = ["-Ddebug=true", "-Dassertions=true", "-Dwerror=true"]

# The system's python3 has venv and pytest (python3-venv, python3-pytest).
PYTHON = "/usr/bin/python3"


@functools.cache
def build_of(linking):
    """The folder of a build for packages, which is kept for the next run.  Both kinds differ in little but their linking."""
    folder = BUILD.with_name(f"{BUILD.name}-{linking}")
    if not folder.exists():
        lend_objects(BUILD if linking == "standalone" else build_of("standalone"), folder)
    done = subprocess.run(["sh", str(PACKAGING / "build.sh"), linking, str(folder), *OPTIONS], capture_output=True, text=True,
                          env={**ENVIRONMENT, "CC": "gcc"}, timeout=HANG)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return folder


def standalone():
    return build_of("standalone") / "allo"


@functools.cache
def kept_folder():
    """A folder for what several tests read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="allo-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


class PackageTest(Test):
    SANITIZED = False

    def setUp(self):
        super().setUp()
        # Standard output of tools that describe files must not depend on the language.
        self.environment = {**ENVIRONMENT, "SOURCE_DATE_EPOCH": EPOCH, "LC_ALL": "C.UTF-8"}
        before = self.runtime_folders()
        self.addCleanup(lambda: [shutil.rmtree(path) for path in self.runtime_folders() - before])

    def runtime_folders(self):
        """Into which a standalone allo has written its runtime, outside of caches."""
        return {path for parent in ("/run", "/tmp", "/dev/shm") for path in pathlib.Path(parent).glob("allotrope-*-*")
                if path.stat().st_uid == os.geteuid()} | {path for path in pathlib.Path("/run").glob("allotrope-*") if IS_ROOT}

    def folder(self, name):
        path = self.tmp / name
        path.mkdir(mode=0o755)
        return path

    def make(self, script, *arguments, umask=0o022, **environment):
        """Runs a packaging script, which writes into a new folder."""
        folder = self.folder(f"out{len(list(self.tmp.glob('out*')))}")
        self.must(PYTHON, PACKAGING / script, *arguments, folder, env={**self.environment, **environment}, umask=umask)
        return folder

    def made(self, script, *arguments):
        """The folder of the files that a packaging script writes; it runs once for all tests, which do not change them."""
        folder = kept_folder() / script
        if not folder.exists():
            self.make(script, *arguments, umask=0o022, TZ="UTC").rename(folder)
        return folder

    def check_same(self, script, *arguments):
        """The files of two runs, of different users, in different time zones, are equal."""
        first = self.made(script, *arguments)
        second = self.make(script, *arguments, umask=0o077, TZ="Asia/Tokyo")
        names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
        self.assertGreater(len(names), 0)
        self.assertEqual(names, sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file()))
        for name in names:
            self.assertEqual((first / name).read_bytes(), (second / name).read_bytes(), name)

    def clean_root(self, *programs):
        """A root folder with the leaking program, and the libraries that it and the programs need."""
        root = self.folder("root")
        for name in ("bin", "tmp", "proc"):
            (root / name).mkdir()
        (root / "tmp").chmod(0o777)
        shutil.copy(built("leaks.c"), root / "bin" / "leaks")
        for program in (root / "bin" / "leaks", *programs):
            for library in re.findall(r"(/\S+) \(0x", self.must("ldd", program)):
                place = root / library.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, place)
        return root

    def inside(self, root, *command, status=0):
        """Runs a command in a root folder; its output."""
        words = ["unshare", *([] if IS_ROOT else ["--map-root-user"]), "--mount", "--pid", "--fork", f"--root={root}", "--wd=/tmp"]
        for more in (["--mount-proc=/proc"], []):  # containers may refuse to mount /proc
            done = self.run_program(*words, *more, *command, env={"PATH": "/bin:/usr/bin"})
            if not done.stderr.startswith(b"unshare: "):
                break
        else:
            self.skipTest(f"unshare is not permitted: {done.stderr.decode()}")
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode() + done.stderr.decode()

    def check_records(self, root, allo):
        said = self.inside(root, allo, "run", "-o", "/tmp/leaks.allo", "--", "/bin/leaks")
        self.assertIn("1,590 allocations", said)
        self.assertEqual(json.loads(self.inside(root, allo, "leaks", "--json", "/tmp/leaks.allo"))["sum"], LEAKED)
        self.inside(root, allo, "budget", "--max-leaks", LEAKED - 1, "/tmp/leaks.allo", status=3)


class Standalone(PackageTest):
    def test_it_needs_no_library(self):
        self.assertNotRegex(self.must("readelf", "-W", "-d", "-l", standalone()), r"NEEDED|INTERP")

    def test_it_does_not_depend_on_the_folder_of_the_source(self):
        self.assertNotIn(str(ROOT).encode(), standalone().read_bytes())

    def test_it_records_in_a_clean_root(self):
        root = self.clean_root()
        shutil.copy(standalone(), root / "bin" / "allo")
        self.check_records(root, "/bin/allo")

    def run_at(self, home, **environment):
        """Records a program, with its runtime in the cache below a folder; the path of the runtime that was preloaded."""
        program = self.folder("bin") if not (self.tmp / "bin").exists() else self.tmp / "bin"
        shutil.copy(standalone(), program / "allo")
        plain = {name: value for name, value in ENVIRONMENT.items() if name not in ("ALLO_NO_CACHE", "ALLO_LIBRARY")}
        done = self.run_program(program / "allo", "run", "-q", "-f", "-o", "out.allo", "--", "sh", "-c", 'echo "$LD_PRELOAD"',
                                env={**plain, "XDG_CACHE_HOME": str(home), **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.decode().strip())

    @unittest.skipIf(IS_ROOT, "root's runtime is in /run")
    def test_the_runtime_is_in_the_cache_of_the_user(self):
        home = self.folder("cache")
        first = self.run_at(home)
        self.assertTrue(first.is_relative_to(home), first)
        self.assertEqual(self.run_at(home), first)

    def test_a_runtime_that_was_changed_is_replaced(self):
        path = self.run_at(self.folder("cache"))
        kept = path.read_bytes()
        path.write_bytes(b"changed")
        self.assertEqual(self.run_at(self.tmp / "cache"), path)
        self.assertEqual(path.read_bytes(), kept)

    def test_a_folder_that_others_can_change_is_not_used(self):
        path = self.run_at(self.folder("cache"))
        self.addCleanup(path.parent.chmod, 0o755)
        path.parent.chmod(0o777)
        other = self.run_at(self.tmp / "cache")
        self.assertNotEqual(other.parent, path.parent)
        self.assertEqual(other.parent.stat().st_mode & 0o022, 0)

    def test_other_users_can_read_the_runtime_of_root(self):
        """Programs give up root's rights and execute others."""
        if not IS_ROOT:
            self.skipTest("only root can become another user")
        path = self.run_at(self.folder("cache"), HOME="/root")
        self.must("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "cat", path)

    def test_the_runtime_beside_allo_comes_first(self):
        (self.folder("bin") / "liballo.so.0").write_bytes((BUILD / "capture" / "liballo.so.0").read_bytes())
        self.assertEqual(self.run_at(self.folder("cache")), self.tmp / "bin" / "liballo.so.0")

    def test_libraries_that_others_load_are_inside(self):
        """libmicrohttpd answers, and libcurl is named as missing."""
        with open(self.tmp / "serve.log", "wb") as log:
            server = subprocess.Popen([standalone(), "serve", "--all", "--listen", "127.0.0.1:0", "--no-token"], cwd=self.tmp,
                                      stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        said = wait_for_text(self.tmp / "serve.log", r"serving on (\S+)\n", server)
        with urllib.request.urlopen(f"{said[1]}/metrics", timeout=HANG) as answer:
            self.assertEqual(answer.status, 200)
        done = self.run_program(standalone(), "top", "http://127.0.0.1:9/x")
        self.assertIn(b"cannot load libcurl", done.stderr)


class Debian(PackageTest):
    NAMES = ["allotrope", "liballo0", "liballotrope-dev", "liballotrope0"]

    def packages(self):
        return sorted(self.made("make_deb.py", build_of("shared")).glob("*.deb"))

    def test_equal_inputs_give_equal_bytes(self):
        self.check_same("make_deb.py", build_of("shared"))

    def test_they_do_not_depend_on_the_folder_of_the_source(self):
        for path in self.packages():
            self.must("dpkg-deb", "-x", path, self.tmp / "installed")
        files = [path for path in (self.tmp / "installed").rglob("*") if path.is_file()]
        self.assertGreater(len(files), 50)
        self.assertEqual([path for path in files if str(ROOT).encode() in path.read_bytes()], [])

    def test_lintian_finds_nothing(self):
        packages = self.packages()
        self.assertEqual([path.name.partition("_")[0] for path in packages], self.NAMES)
        for path in packages:
            done = self.run_program("lintian", "--fail-on", "error,warning", *(["--allow-root"] if IS_ROOT else []), path)
            self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)

    def test_allo_records_where_they_are_installed(self):
        packages = self.packages()
        root = self.clean_root(build_of("shared") / "src" / "allo")
        for name in ("updates", "info"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text("")
        as_root = [] if IS_ROOT else ["unshare", "--map-root-user"]
        self.must(*as_root, "dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--log=/dev/null", "-i", *packages)
        self.check_records(root, "/usr/bin/allo")
        installed = self.must("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Package} ${Status}\n")
        self.assertEqual(installed.splitlines(), [f"{name} install ok installed" for name in self.NAMES])

    def test_programs_compile_with_the_development_package(self):
        for path in self.packages():
            self.must("dpkg-deb", "-x", path, self.tmp / "installed")
        library, = (self.tmp / "installed/usr/lib").iterdir()
        self.file("x.c", '#include <allo.h>\n#include <allotrope.h>\nint main(void) { allo_mark("x"); return !allotrope_version(); }\n')
        self.must("cc", f"-I{self.tmp}/installed/usr/include", "x.c", "-o", "x", f"-L{library}", "-lallo", "-lallotrope")
        self.must("./x", env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(library)})

    def test_pages_of_the_manual_are_there(self):
        path, *_ = self.packages()
        self.must("dpkg-deb", "-x", path, self.tmp / "installed")
        folder = self.tmp / "installed/usr/share/man/man1"
        for program in (self.tmp / "installed/usr/bin").iterdir():
            self.assertTrue((folder / f"{program.name}.1.gz").resolve().exists(), program.name)


class Cross(PackageTest):
    """Debian packages of arm64: 'make deb-arm64' builds them and tests/packages/arm64.py tests them, which takes minutes."""

    APT = """#!/bin/sh
echo "$*" >> {folder}/called
[ "$1" = download ] || exit {status}
grep -q '^Dir::State "{folder}/cross/apt/state";' "$APT_CONFIG" && grep -q '^APT::Architecture "arm64";' "$APT_CONFIG" || exit 1
shift
for name; do cp {folder}/x.deb "${{name}}_1_arm64.deb"; done
"""

    def prepare(self, status=0):
        """With an apt that downloads the same package for each name."""
        root = self.folder(f"x{status}")
        for name, text in (("DEBIAN/control", "Package: x\nVersion: 1\nArchitecture: arm64\nMaintainer: x <x@example.org>\nDescription: x\n"),
                           ("usr/lib/aarch64-linux-gnu/pkgconfig/libmicrohttpd.pc", "Name: x\nRequires.private: gnutls\n")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.must("dpkg-deb", "--root-owner-group", "--build", root, self.tmp / "x.deb")
        (self.tmp / "bin").mkdir(exist_ok=True)
        self.file("bin/apt-get", self.APT.format(folder=self.tmp, status=status)).chmod(0o755)
        return self.run_program("sh", PACKAGING / "cross.sh", self.tmp / "cross",
                                env={**self.environment, "PATH": f"{self.tmp}/bin:{self.environment['PATH']}"})

    def test_libraries_come_from_an_apt_of_its_own(self):
        for _ in range(2):  # the second time it does nothing
            done = self.prepare()
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
            shutil.rmtree(self.tmp / "x0")
        called = (self.tmp / "called").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in called], ["update", "download"])
        cross = self.tmp / "cross"
        self.assertEqual(sorted(path.name for path in cross.iterdir()), ["cross.ini", "packages", "root"])
        self.assertEqual(sorted(path.name for path in (cross / "packages").iterdir()), sorted(called[1].split()[1:]))
        self.assertTrue((cross / "packages" / "libdw1" / "DEBIAN" / "control").exists())
        self.assertEqual((cross / "root/usr/lib/aarch64-linux-gnu/pkgconfig/libmicrohttpd.pc").read_text(), "Name: x\n")

    def test_a_failed_download_is_tried_again(self):
        done = self.prepare(status=100)
        self.assertEqual(done.returncode, 1)
        self.assertFalse((self.tmp / "cross" / "cross.ini").exists())
        self.assertEqual(self.prepare().returncode, 0)


class Wheel(PackageTest):
    def test_equal_inputs_give_equal_bytes(self):
        self.check_same("make_wheel.py", standalone())

    def test_the_list_of_files_is_right(self):
        """RECORD names each file, with its digest and size."""
        wheel, = self.made("make_wheel.py", standalone()).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            name, = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
            listed = {line[0]: line[1:] for line in csv.reader(archive.read(name).decode().splitlines())}
            self.assertEqual(listed.pop(name), ["", ""])
            self.assertEqual(set(listed), set(archive.namelist()) - {name})
            for file, (digest, size) in listed.items():
                data = archive.read(file)
                found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                self.assertEqual((digest, size), (f"sha256={found}", str(len(data))))

    def venv(self):
        """The variables of an environment with the wheel, and with the system's pytest."""
        folder = kept_folder() / "venv"
        if not folder.exists():
            wheel, = self.made("make_wheel.py", standalone()).glob("*.whl")
            self.must(PYTHON, "-m", "venv", "--system-site-packages", folder)
            self.must(folder / "bin" / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
        return {**self.environment, "PATH": f"{folder}/bin:/usr/bin:/bin"}

    def test_its_programs_record(self):
        environment = self.venv()
        for i, command in enumerate((["allo"], ["allotrope"], ["python", "-m", "allotrope"])):
            self.must(*command, "run", "-q", "-o", f"{i}.allo", "--", built("leaks.c"), env=environment)
            found = self.must("allo", "leaks", "--json", f"{i}.allo", env=environment)
            self.assertEqual(json.loads(found)["sum"], LEAKED)

    def test_pytest_has_the_marks(self):
        environment = self.venv()
        self.file("test_it.py", 'import pytest\n@pytest.mark.limit_memory("1 MB")\ndef test_it(): bytearray(2 << 20)\n')
        done = self.run_program("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "test_it.py",
                                env=environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"limit_memory: the test held 2.0 MiB at once", done.stdout)


class Image(PackageTest):
    def test_equal_inputs_give_equal_bytes(self):
        self.check_same("make_image.py", standalone())

    def test_allo_records_where_it_is_unpacked(self):
        """Unpacked as the specification of OCI images says: each blob has its digest."""
        folder = self.made("make_image.py", standalone())
        layout, = (path for path in folder.iterdir() if path.is_dir())

        def blob(descriptor):
            algorithm, _, digest = descriptor["digest"].partition(":")
            data = (layout / "blobs" / algorithm / digest).read_bytes()
            self.assertEqual((hashlib.sha256(data).hexdigest(), len(data)), (digest, descriptor["size"]))
            return data

        self.assertEqual(json.loads((layout / "oci-layout").read_text())["imageLayoutVersion"], "1.0.0")
        index = json.loads((layout / "index.json").read_text())
        entry, = index["manifests"]
        manifest = json.loads(blob(entry))
        config = json.loads(blob(manifest["config"]))
        self.assertEqual((config["os"], config["architecture"]), (entry["platform"]["os"], entry["platform"]["architecture"]))
        layer, = manifest["layers"]
        (self.tmp / "layer.tar.gz").write_bytes(blob(layer))
        plain = self.must("sh", "-c", "gzip -dc layer.tar.gz | sha256sum").split()[0]
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{plain}"])
        root = self.clean_root()
        self.must("tar", "-xzf", "layer.tar.gz", "-C", root)
        self.check_records(root, config["config"]["Entrypoint"][0])

    def test_the_archive_has_the_same_files(self):
        folder = self.made("make_image.py", standalone())
        layout, = (path for path in folder.iterdir() if path.is_dir())
        with tarfile.open(f"{layout}.tar") as archive:
            found = {entry.name: archive.extractfile(entry).read() for entry in archive}
        self.assertEqual(found, {str(path.relative_to(layout)): path.read_bytes() for path in layout.rglob("*") if path.is_file()})


class Source(PackageTest):
    def test_equal_commits_give_equal_archives(self):
        if not (ROOT / ".git").exists():
            self.skipTest("this tree is such an archive")
        found = set()
        for zone, umask in (("UTC", 0o022), ("Asia/Tokyo", 0o077)):
            folder = self.folder(zone.replace("/", "-"))
            self.must("make", "-s", "-C", ROOT, "dist", f"PACKAGES={folder}", umask=umask,
                      env={**self.environment, "TZ": zone, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                           "GIT_CONFIG_VALUE_0": str(ROOT)})
            archive, = folder.glob("*.tar.gz")
            found.add(hashlib.sha256(archive.read_bytes()).hexdigest())
            self.assertEqual((folder / f"{archive.name}.sha256").read_text(), f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")
        self.assertEqual(len(found), 1)
