"""Long names in results: whole in pipes and files, never cut without a mark."""
import xml.etree.ElementTree

from allotest import ALLO, GOLDEN, Test

HEAP = (GOLDEN / "dhat" / "valgrind-heap.json").read_text()
# More than 80 bytes; the 80th is inside a character.
LONG = "q::" + "l" * 76 + "ää" + "ö" * 30


class LongNames(Test):
    def heap(self, *renames):
        text = HEAP
        for old, new in renames:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return self.file("heap.json", text)

    def test_the_calls_inside_the_site_are_whole(self):
        heap = self.heap(("make_node", "first"), ("leak_some", LONG), ('"fs":[1,13,14]', '"fs":[1,2,13,14]'))
        found = self.allo("leaks", "--alloc-fn", LONG, "--alloc-fn", "first", heap)
        self.assertIn(f"    (via {LONG} > first)\n", found)

    def test_a_limit_names_the_whole_function(self):
        limit = [ALLO, "budget", "--max-peak", "1K", "--full-names", self.heap(("main (demo.c", f"{LONG} (demo.c"))]
        self.assertIn(f"mostly {LONG}  demo.c (", self.run_program(*limit).stdout.decode())
        self.run_program(*limit, "--junit", "junit.xml")
        failure = xml.etree.ElementTree.parse(self.tmp / "junit.xml").find(".//failure")
        self.assertIn(f", mostly {LONG}  demo.c (", failure.get("message"))

    def test_the_next_command_names_the_whole_function(self):
        heap = self.heap(("main (demo.c", f"{LONG} (demo.c"))
        self.assertIn(f"allo tree -F '={LONG}' {heap}",
                      [item["command"] for item in self.allo_json("summary", heap)["next"]])

    def test_files_have_the_whole_name_of_their_input(self):
        names = ["l" * 100 + str(number) for number in range(2)]
        for name in names:
            self.file(f"{name}.json", HEAP)
            self.allo("flame", f"{name}.json")
        self.assertEqual({path.name for path in self.tmp.glob("*.svg")}, {f"{name}.svg" for name in names})

    def test_a_missing_source_is_named_whole(self):
        path = "/" + "d" * 90 + "/demo.c"
        done = self.run_program(ALLO, "list", "make_node", self.heap(("demo.c", path)))
        self.assertIn(path, done.stderr.decode())
