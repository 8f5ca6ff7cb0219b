"""The crate in rust/: its tests, examples and package, built offline."""
import os
import re
import tarfile

from allotest import ALLO, BUILD, ENVIRONMENT, ROOT, Test

CRATE = ROOT / "rust"


class Crate(Test):
    SANITIZED = False  # cargo builds the crate, without our sanitizers

    def setUp(self):
        super().setUp()
        (self.tmp / "bin").mkdir()
        for name in ("allo", "rheaper"):
            (self.tmp / "bin" / name).symlink_to(ALLO)
        # The tests of doc/rust.md share this folder, so the crate is built once.
        self.target = BUILD / "rust"
        # Compiling C without optimization takes a third of the time; other tests run the optimized code.
        self.environment = {**ENVIRONMENT, "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(self.target), "CFLAGS": "-O0",
                            "RUST_BACKTRACE": "0", "TMPDIR": str(self.tmp),
                            "PATH": f"{self.tmp / 'bin'}:{os.environ['PATH']}"}

    def cargo(self, command, *options):
        return self.must("cargo", command, "--manifest-path", CRATE / "Cargo.toml", *options, env=self.environment)


class Sources(Test):
    SANITIZED = False  # reads texts

    def test_its_engine_is_that_of_liballotrope(self):
        of_meson, = re.findall(r"^engine_sources = files\((.*?)\)", (ROOT / "src" / "engine" / "meson.build").read_text(), re.M | re.S)
        of_cargo, = re.findall(r"^const LIBRARY_ENGINE: .*?=\s*&\[(.*?)\];", (CRATE / "build.rs").read_text(), re.M | re.S)
        self.assertEqual(set(re.findall(r'"([^"]+)"', of_cargo)), set(re.findall(r"'([^']+)'", of_meson)))


class OwnTests(Crate):
    def test_they_pass(self):
        output = self.cargo("test", "--tests")
        for name in ("heap", "ad_hoc", "misuse", "sessions", "sampled", "scopes_are_nested", "jemalloc"):
            self.assertIn(f"test {name} ... ok", output)
        self.assertNotIn("a_converted_profile_has_its_values_and_stacks", output)

    def test_those_of_profiles_pass(self):
        output = self.cargo("test", "--features", "profiles", "--lib", "--test", "dhat_pprof", "--test", "stack_profile")
        self.assertEqual(output.count("test the_examples_of_its_readme_work ... ok"), 2)

    def test_the_documentation_examples_run(self):
        passed = re.search(r"test result: ok. (\d+) passed", self.cargo("test", "--doc", "--features", "profiles"))
        self.assertGreater(int(passed.group(1)), 40)


class Examples(Crate):
    def setUp(self):
        super().setUp()
        self.cargo("build", "--quiet", "--examples")

    def run_example(self, name, **variables):
        """Its stdout and its stderr."""
        done = self.run_program(self.target / "debug" / "examples" / name, env={**self.environment, **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def test_heap(self):
        printed, said = self.run_example("heap")
        self.assertEqual(printed, "the last one is 998001\n")
        self.assertEqual(said, "allo: Total:     16,352 bytes in 9 blocks\n"
                               "allo: At t-gmax: 8,192 bytes in 1 blocks\n"
                               "allo: At t-end:  0 bytes in 0 blocks\n"
                               "allo: The data has been saved to dhat-heap.json, "
                               "and is viewable with dhat/dh_view.html\n")
        self.assertIn(": OK, ", self.allo("verify", "dhat-heap.json"))
        self.assertIn("heap::main > heap::squares", self.allo("tree", "dhat-heap.json", "-M", "alloc_bytes"))

    def test_ad_hoc(self):
        self.assertIn("22 units in 3 events", self.run_example("ad_hoc")[1])
        self.assertIn(": OK, ", self.allo("verify", "dhat-ad-hoc.json"))
        self.assertIn("ad_hoc::is_equal", self.allo("top", "dhat-ad-hoc.json"))

    def test_recording(self):
        self.assertEqual(self.run_example("recording"), ("2100 bytes for 2100 in requests.allo\n", ""))
        self.assertIn("500 B", self.allo("top", "-M", "alloc_bytes", "half.pb.gz").splitlines()[0])
        self.assertIn("2.05 KiB", self.allo("top", "-M", "alloc_bytes", "requests.allo").splitlines()[0])

    def test_tracking(self):
        for number, line in enumerate(self.run_example("tracking")[0].splitlines(), 1):
            count, path = line.split(" in ")
            self.must("rheaper", path, f"{number}.db", env=self.environment)
            self.assertEqual(self.must("sqlite3", f"{number}.db", "select count(*) from allocations where size = 1009"),
                             f"{count}\n")

    def test_pprof(self):
        self.assertEqual(self.run_example("pprof")[0], "1000 entries, 100 MB\n")
        self.assertEqual(sorted(path.name for path in self.tmp.iterdir()), ["bin", "heap.pb.gz"])
        self.assertAlmostEqual(self.allo_json("top", "-M", "inuse_space", "heap.pb.gz")["sum"] / 1e8, 1, delta=0.5)

    def test_the_environment_overrides_the_program(self):
        _, said = self.run_example("heap", ALLO_PATH="other.json", ALLO_OPTIONS="--hide squares")
        self.assertIn("saved to other.json", said)
        self.assertNotIn("heap::squares", (self.tmp / "other.json").read_text())


class Package(Crate):
    def test_the_package_contains_all_sources(self):
        self.cargo("package", "--quiet", "--no-verify", "--allow-dirty")
        with tarfile.open(self.target / "package" / "allotrope-0.1.0.crate") as crate:
            found = {name.split("/", 1)[1]: crate.extractfile(name).read() for name in crate.getnames()}
        for folder, pattern in (("capture", "*.[ch]"), ("src/wire", "*.h"), ("include", "allo.h")):
            for path in (ROOT / folder).glob(pattern):
                self.assertEqual(found[f"c/{path.relative_to(ROOT)}"], path.read_bytes())
        for name in ("build.rs", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs", "examples/heap.rs"):
            self.assertEqual(found[name], (CRATE / name).read_bytes())

    def test_the_package_is_clean(self):
        """No warning, and no part of the program, which cannot be linked into others."""
        done = self.run_program("cargo", "package", "--no-verify", "--allow-dirty", "--manifest-path", CRATE / "Cargo.toml",
                                env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"warning", done.stderr)
        with tarfile.open(self.target / "package" / "allotrope-0.1.0.crate") as crate:
            folders = {name.split("/")[3] for name in crate.getnames() if name.split("/")[1:3] == ["c", "src"]}
        self.assertIn("wire", folders)
        self.assertFalse(folders & {"cli", "serve", "run", "attach", "page", "wasm", "report"})

    def copy(self, name, *options):
        self.must("cp", *options, CRATE, name)
        return self.tmp / name

    def check_copy(self, folder, *options, **variables):
        """A compiler that does nothing is enough to see which files are found."""
        environment = {**self.environment, "CARGO_TARGET_DIR": str(self.tmp / "target"), "CC": "true", "AR": "true",
                       "OBJCOPY": "true", **variables}
        return self.run_program("cargo", "check", "--features", "profiles", *options, "--manifest-path",
                                folder / "Cargo.toml", env=environment)

    def assert_builds(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-3000:])

    def test_a_copy_of_the_folder_builds(self):
        """'cp -r' copies links that lead nowhere, and the note about the tree they came from."""
        (CRATE / "c/tree").unlink(missing_ok=True)
        self.assert_builds(self.check_copy(CRATE))
        self.assert_builds(self.check_copy(self.copy("links", "-r")))

    def test_a_copy_without_its_tree_builds_or_says_how(self):
        copy = self.copy("links", "-r")
        (copy / "c/tree").write_text("/nonexistent/tree\n")
        refused = self.check_copy(copy)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Copy the crate with 'cp -rL'", refused.stderr.decode())
        self.assertNotIn("panicked", refused.stderr.decode())
        self.assert_builds(self.check_copy(copy, ALLOTROPE_SOURCE=str(ROOT)))
        files = self.copy("files", "-rL")
        (files / "c/tree").unlink(missing_ok=True)
        self.assert_builds(self.check_copy(files))

    def test_the_package_builds(self):
        """The sources of all features: links lead to folders, and nothing outside of the package is needed."""
        self.cargo("package", "--quiet", "--no-verify", "--allow-dirty")
        with tarfile.open(self.target / "package" / "allotrope-0.1.0.crate") as crate:
            crate.extractall(self.tmp)
        package = self.tmp / "allotrope-0.1.0"
        self.assertFalse((package / "c/tree").exists())
        self.assertEqual([path for path in package.rglob("*") if path.is_symlink()], [])
        self.assert_builds(self.check_copy(package))
        self.must("cargo", "build", "--manifest-path", package / "Cargo.toml",
                  env={**self.environment, "CARGO_TARGET_DIR": str(self.tmp / "target")})

    def test_the_crate_has_no_dependencies(self):
        self.assertEqual(re.findall(r'^name = "(.*)"$', (CRATE / "Cargo.lock").read_text(), re.M), ["allotrope"])
