"""The frames of Rust programs that use the crate: with both schemes of mangled names, optimized and not."""
import re

from allotest import BUILD
from test_rust import CRATE, Crate

# At the inner end of a stack, these say nothing about the program.
ALLOCATOR = re.compile(r"^<?allotrope::|__rust_|__rg_|__rdl_|GlobalAlloc|^<?alloc::(alloc|raw_vec)::")

OWN = re.compile(r"(^|;)<?allotrope::")


class Frames(Crate):
    def stacks(self, *files):
        """The stacks of a profile, outermost frame first."""
        folded = self.allo("convert", "-q", "--to", "folded", "-M", "alloc_bytes", *files)
        return [line.rsplit(" ", 1)[0].split(";") for line in folded.splitlines()]

    def check(self, options, folder, **variables):
        # Old names are an unstable option of new compilers.
        environment = {**self.environment, **variables, "RUSTC_BOOTSTRAP": "1"}
        self.must("cargo", "build", "--quiet", "--manifest-path", CRATE / "Cargo.toml", "--example", "pprof", "--example",
                  "recording", *options, env=environment)
        for name in ("pprof", "recording"):
            self.must(folder / "examples" / name, env=self.environment)
        # Written by the program itself.
        for path in ("heap.pb.gz", "half.pb.gz"):
            stacks = self.stacks(path)
            self.assertTrue(any(re.search(r"\b(pprof|recording)::main", ";".join(stack)) for stack in stacks), stacks)
            for stack in stacks:
                self.assertNotRegex(stack[-1], ALLOCATOR)
                self.assertNotRegex(";".join(stack), OWN)
        # Converted later: the allocator stays, without the recorder.
        for stack in self.stacks("requests.allo"):
            self.assertNotRegex(";".join(stack), OWN)
            self.assertRegex(stack[-1], ALLOCATOR)
        for stack in self.stacks("--trim-allocator", "requests.allo"):
            self.assertNotRegex(stack[-1], ALLOCATOR)

    def test_unoptimized(self):
        self.check([], self.target / "debug")

    def test_optimized_with_old_names(self):
        self.check_scheme("legacy")

    def test_optimized_with_new_names(self):
        self.check_scheme("v0")

    def check_scheme(self, scheme):
        folder = BUILD / f"rust-{scheme}"
        self.check(["--release"], folder / "release", CARGO_TARGET_DIR=str(folder),
                   RUSTFLAGS=f"-Zunstable-options -Csymbol-mangling-version={scheme}")
        symbols = self.must("nm", folder / "release" / "examples" / "pprof")
        self.assertIn("_ZN" if scheme == "legacy" else "_R", symbols)
