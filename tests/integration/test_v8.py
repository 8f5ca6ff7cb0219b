"""Heap profiles of V8, made by node and by hand."""
import json

from allotest import GOLDEN, Test

PROGRAM = """
class Store { constructor() { this.rows = []; } add(row) { this.rows.push({ row, text: `row ${row}` }); } }
const store = globalThis.store = new Store();
function fill(count) { for (let i = 0; i < count; i++) store.add(i); }
fill(50000);
"""


def node(name, size, *children, url="", line=-1, column=-1):
    return {"callFrame": {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": column},
            "selfSize": size, "id": 1, "children": list(children)}


def total(tree):
    return tree["selfSize"] + sum(map(total, tree["children"]))


class V8(Test):
    def stacks(self, path):
        lines = self.allo("convert", "-q", "--to", "folded", path).splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def write(self, head, **more):
        return self.file("in.heapprofile", json.dumps({"head": head, "samples": [], **more}))

    def test_a_tree_becomes_stacks(self):
        path = self.write(node("(root)", 7, node("main", 0, node("", 20, url="a.js", line=0, column=4), node("f", 300)),
                               node("(V8 API)", 4000)))
        self.assertEqual(self.stacks(path), {"[unknown]": 7, "main;(anonymous)": 20, "main;f": 300, "(V8 API)": 4000})
        self.assertEqual(self.allo_json("info", path)["format"], "v8")
        found = json.loads(self.allo("convert", path, "--to", "json"))
        self.assertIn([1, 5], [line[1:3] for frame in found["frames"][1:] for line in frame["lines"]])

    def test_keys_may_come_in_any_order(self):
        inner = {"children": [], "extra": [1, {"x": []}], "selfSize": 5, "callFrame": {"url": "", "functionName": "in"}}
        outer = {"id": 9, "children": [inner, inner], "callFrame": {"functionName": "out"}, "selfSize": 1}
        self.assertEqual(self.stacks(self.write({"selfSize": 0, "children": [outer], "callFrame": {"functionName": "(root)"}})),
                         {"out": 1, "out;in": 10})

    def test_stacks_may_be_as_deep_as_v8_makes_them(self):
        tree = node("leaf", 9)
        for i in range(127):
            tree = node(f"f{i}", 0, tree)
        stack, = self.stacks(self.write(node("(root)", 0, tree)))
        self.assertEqual(len(stack.split(";")), 128)

    def test_node_writes_such_files(self):
        self.file("app.js", PROGRAM)
        self.must("node", "--heap-prof", "--heap-prof-name=app.heapprofile", "--heap-prof-interval=4096", "app.js")
        tree = json.loads((self.tmp / "app.heapprofile").read_text())["head"]
        self.assertEqual(sum(self.stacks("app.heapprofile").values()), total(tree))
        rows = self.allo_json("top", "--cum", "--count=0", "app.heapprofile")["rows"]
        self.assertTrue({"fill", "add"} <= {row["name"] for row in rows})

    def test_the_golden_file_adds_up(self):
        path = GOLDEN / "v8" / "node.heapprofile"
        self.assertEqual(self.allo_json("info", path)["metrics"][0]["sum"], total(json.loads(path.read_text())["head"]))

    def test_broken_files_are_refused(self):
        for text, says in (('{"samples": []}', 'has no "head"'), ('{"head": {"selfSize": -1}}', ":1:"),
                           ('{"head": {"selfSize": 1, "children": [', ":1:"), ('{"head": {}, "head": {}}', "two heads"),
                           ('{"head": ' + '{"children": [' * 600, "nested deeper than 1024 levels")):
            with self.subTest(text[:40]):
                self.assertIn(says, self.allo_fails("info", "--from", "v8", self.file("in.heapprofile", text)))
