"""The viewer's engine, engine.wasm, under node: it reads every input as the native core does."""
import json
import re
import sys
import unittest

import nodepackages
from allotest import ALLO, BUILD, ROOT, Test

sys.path.insert(0, str(ROOT / "tests"))
from sample_files import sample_files

SOURCE = ROOT / "tests" / "wasm"
FOLDER = BUILD / "wasm"
ENGINE = BUILD / "src" / "wasm" / "engine.wasm.zst"
TEST_ENGINE = BUILD / "tests" / "engine_test.wasm"
REQUESTS = [json.dumps({"v": 1, "ask": ask}) for ask in (
    "open", "names", "timeline", "tree", "table", "leaks", "sizes", "lifetimes", "heat", "threads", "blocks", "dhat", "generations", "history",
    "nonsense")]
REQUESTS += ['{"v": 1, "ask": "tree", "from": 10000, "to": 500000, "invert": true}',
             '{"v": 1, "ask": "leaks", "filters": ["suppress:main"]}',
             '{"v": 1, "ask": "generations", "from": 1000, "marks": [5000, 20000, 300000, 9000000]}',
             '{"v": 1, "ask": "dhat", "preset": "tiny", "open": [0, 0, 0, 1], "search": "main"}', "{"]
FILES = sorted(str(ROOT / path) for path in sample_files())
SIZE_MOST = 275 * 1000  # bytes, packed by zstd; 262,000 when this was set


def parts(said):
    """Descriptions by file."""
    return dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", said, re.M))


@unittest.skipUnless(ENGINE.exists(), "the build has no engine: a clang for wasm32-wasi is missing, or it is disabled")
class Engine(Test):
    SANITIZED = False  # the engine is the same in all builds

    def setUp(self):
        super().setUp()
        nodepackages.install(self, SOURCE, FOLDER)

    def described(self, *program):
        return parts(self.must(*program, *FILES))

    def test_every_input_is_read_alike(self):
        native = self.described(BUILD / "tests" / "describe_native")
        engine = self.described("node", FOLDER / "describe.mjs", TEST_ENGINE)
        self.assertEqual(sorted(native), FILES)
        for path, description in native.items():
            with self.subTest(path):
                if engine[path] == "not unpacked\n":  # by JavaScript, whose messages are its own
                    self.assertRegex(description, r"^failure .*\n(gzip|zstd) data (is damaged|ends too early)\n")
                else:
                    self.assertEqual(engine[path], description)

    def asked_files(self):
        """All recordings, and a file of each other format."""
        chosen = {}
        for path, text in self.described(BUILD / "tests" / "describe_native").items():
            if path.startswith(str(ROOT / "tests" / "golden")) and text.startswith("format "):
                form = text.split()[1]
                chosen.setdefault(path if form == "allo" else form, path)
        return sorted(chosen.values())

    def test_replies_are_the_same_bytes(self):
        files = self.asked_files()
        self.assertGreaterEqual(len(files), 20)
        for path in files:
            with self.subTest(path):
                native = b"".join(self.run_program(ALLO, "view", "--ask", request, path).stdout for request in REQUESTS)
                engine = self.run_program("node", FOLDER / "ask.mjs", ENGINE, path, path, *REQUESTS).stdout
                self.assertEqual(native.count(b"ALLOrep1"), len(REQUESTS))
                self.assertEqual(native, engine)

    def test_comparisons_are_the_same_bytes(self):
        requests = [json.dumps({"v": 1, "file": 2, "ask": ask, **members}) for ask in (
            "open", "timeline", "tree", "table", "leaks", "sizes", "lifetimes", "heat", "threads", "blocks")
            for members in ({}, {"from": 10000, "to": 500000}, {"base": {"file": 2, "from": 0, "to": 300000}})]
        golden = ROOT / "tests" / "golden"
        pairs = [(golden / "allo" / "notes.allo", golden / "allo" / "server.allo"),
                 (golden / "allo" / "sampled.allo", golden / "allo" / "notes.allo"),
                 (golden / "allo" / "notes.allo", golden / "dhat" / "valgrind-heap.json")]
        for new, old in pairs:
            with self.subTest(f"{new.name} {old.name}"):
                native = b"".join(self.run_program(ALLO, "view", "--ask", request, new, old).stdout
                                  for request in requests)
                engine = self.run_program("node", FOLDER / "ask.mjs", ENGINE, new, new, "--base", old, old,
                                          *requests).stdout
                self.assertEqual(native.count(b"ALLOrep1"), len(requests))
                self.assertEqual(native, engine)

    def test_regular_expressions_match_alike(self):
        """The engine has its own classes of characters."""
        names = [chr(c) for c in range(33, 127) if chr(c) != ";"] + ["Ω", "é", "ß", "İ", "\u2028", "日", "\U0001f600"]
        path = self.file("names.folded", "".join(f"main;x{name} {i + 1}\n" for i, name in enumerate(names)))
        patterns = [f"/^x[[:{name}:]]/" for name in (
            "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit")]
        patterns += ["/^X[a-f]/i", "/^x[k-p]$/i", "/^xÉ/i", "/^x.$/", "/^x[^[:alpha:]]*$/", r"/^x\w/", r"/x\b/"]
        requests = [json.dumps({"v": 1, "ask": "tree", "filters": [f"focus:{pattern}"]}) for pattern in patterns]
        native = [self.run_program(ALLO, "view", "--ask", request, path).stdout for request in requests]
        self.assertGreater(len(set(native)), 10)
        for pattern, request, reply in zip(patterns, requests, native):
            with self.subTest(pattern):
                self.assertEqual(self.run_program("node", FOLDER / "ask.mjs", ENGINE, path, path, request).stdout, reply)

    def test_inputs_of_every_format_are_among_them(self):
        readers = {form["name"] for form in self.allo_json("formats")["formats"] if form["read"]}
        said = self.described(BUILD / "tests" / "describe_native").values()
        read = [text.split()[1] for text in said if text.startswith("format ")]
        self.assertEqual(set(read), readers)
        self.assertGreaterEqual(len(read), 75)

    def test_it_imports_nothing_but_random_numbers_and_zstd(self):
        self.assertEqual(self.must("node", FOLDER / "imports.mjs", ENGINE), "allo.random allo.unpack_zstd\n")

    def test_it_does_not_grow_unnoticed(self):
        self.assertLessEqual(ENGINE.stat().st_size, SIZE_MOST)

    def test_allo_carries_it(self):
        self.assertIn(ENGINE.read_bytes(), ALLO.read_bytes())
