"""allo tree --dhat against Valgrind's own viewer: the same nodes, numbers and order, by every sort."""
import json
import re

from allotest import ALLO, GOLDEN, ROOT, SLOW, Test

VIEWER = "/usr/libexec/valgrind/dh_view.js"
STUB = ROOT / "tests" / "integration" / "dh_view_nodes.mjs"

# In the order of the viewer's menu.
SORTS = ["total-bytes", "total-blocks", "tiny", "short-lived", "unused-bytes", "unused-blocks",
         "low-access-bytes", "low-access-blocks", "peak-bytes", "end-bytes", "reads", "high-reads",
         "writes", "high-writes"]

# The viewer's names and ours; the first that a profile has.
FIELDS = {"_totalBytes": ("alloc_bytes", "copy_bytes", "units"),
          "_totalBlocks": ("alloc_blocks", "copy_blocks", "events"),
          "_totalLifetimes": ("lifetime",), "_maxBytes": ("max_bytes",), "_maxBlocks": ("max_blocks",),
          "_atTGmaxBytes": ("peak_bytes",), "_atTGmaxBlocks": ("peak_blocks",),
          "_atTEndBytes": ("end_bytes",), "_atTEndBlocks": ("end_blocks",),
          "_readsBytes": ("read_bytes",), "_writesBytes": ("write_bytes",)}


def numbers(nodes):
    """Our nodes' numbers, from the root, in order."""
    by_id = {}
    for node in nodes:
        above = by_id.get(node.get("parent"))
        by_id[node["id"]] = f"{above}.{node['number']}" if above else "1"
        yield by_id[node["id"]]


def expected(viewer, node, time_scale):
    """A node of the viewer's in our terms."""
    values = {ours: value * (time_scale if field == "_totalLifetimes" else 1)
              for field, names in FIELDS.items() for ours in names
              for value in [node["values"].get(field)] if value is not None}
    frames = [] if node["kind"] == viewer["merged"] else [viewer["ftbl"][i] for i in node["frames"]]
    return {"of": node["of"], "significant": node["significance"] == viewer["self"], "values": values,
            "merged": int(re.match(r"\[(\d+) insignificant]", node["frames"][0])[1])
            if node["kind"] == viewer["merged"] else 0,
            "accesses": node.get("accesses") or [] if node["kind"] == viewer["leaf"] else [],
            "calls": [frame for frame in frames if frame != "[root]"]}


class OfficialViewer(Test):
    SANITIZED = False  # node does the work here

    def compare(self, path):
        viewer = json.loads(self.must("node", STUB, VIEWER, path))
        time_scale = 1000 if b"\xc2\xb5s" in path.read_bytes() else 1  # we count nanoseconds
        self.assertEqual(len(viewer["sorts"]), len(SORTS))
        for sort, shown in zip(SORTS, viewer["sorts"]):
            with self.subTest(file=path.name, sort=sort):
                if shown is None:
                    error = self.allo_fails("tree", "--dhat", "--sort", sort, path, status=2)
                    self.assertIn(f"has no values to sort by {sort}", error)
                else:
                    ours = self.allo_json("tree", "--dhat", "--sort", sort, path)
                    self.compare_nodes(viewer, shown, ours["nodes"], time_scale)

    def compare_nodes(self, viewer, shown, nodes, time_scale):
        # The viewer makes up numbers that the file does not have; maxima are of single points only.
        metrics = {name for node in nodes for name in node["values"]}
        self.assertEqual(len(metrics - {"max_bytes", "max_blocks"}),
                         2 + 5 * viewer["bklt"] + 2 * viewer["bkacc"])
        self.assertEqual([node["pp"] for node in shown], list(numbers(nodes)))
        for theirs, ours in zip(shown, nodes):
            want = expected(viewer, theirs, time_scale)
            self.assertEqual(want["of"], ours["of"], theirs["pp"])
            self.assertEqual(want["significant"], ours["significant"], theirs["pp"])
            self.assertEqual(want["merged"], ours.get("merged", 0), theirs["pp"])
            self.assertEqual({name: value for name, value in want["values"].items() if name in metrics},
                             ours["values"], theirs["pp"])
            self.assertEqual(want["accesses"], [count for length, count in ours.get("accesses", [])
                                                for _ in range(length)], theirs["pp"])
            self.assertEqual(len(want["calls"]), len(ours["calls"]), theirs["pp"])
            for frame, call in zip(want["calls"], ours["calls"]):
                address, name = re.match(r"0x([0-9a-fA-F]+): (.*)", frame).groups()
                self.assertEqual(int(address, 16), call["address"])
                if not name.startswith("???"):
                    self.assertTrue(name.startswith(call["name"]), (name, call))

    def test_golden_files_look_the_same(self):
        for path in sorted((GOLDEN / "dhat").glob("*.json")):
            self.compare(path)

    def test_a_real_program_looks_the_same(self):
        self.must("valgrind", "--tool=dhat", "--num-callers=25", "--dhat-out-file=dhat.out",
                  "perl", "-e", "my %h = map { $_ => [1 .. $_] } 1 .. 100; print scalar keys %h")
        self.compare(self.tmp / "dhat.out")


def point(tbk, tb, frames, **values):
    return {"tb": tb, "tbk": tbk, "fs": frames, **values}


def dhat(points, frames, **more):
    return json.dumps({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": False,
                       "bkacc": False, "tu": "instrs", "Mtu": "Minstr", "cmd": "p", "pid": 1, "te": 1,
                       "pps": points, "ftbl": ["[root]", *frames], **more})


class Text(Test):
    def test_all_data_of_a_point_is_shown(self):
        text = self.allo("tree", "--dhat", GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertIn("./demo   (pid 23928)\n"
                      "ran for 352,477 instructions, held most after 263,968 instructions (74.9%)\n"
                      "sorted by total-blocks; a point is significant from 13.41 blocks (1%)\n", text)
        self.assertIn("""\
│  │  ├─ PP 1.1.1.1/2
│  │  │     total    62.5 KiB (5.0%, 177.3 KiB/Minstr)  1,000 blocks (74.6%, 2,837/Minstr)  avg 64 B
│  │  │              avg lifetime 156,790 instructions (44.5% of the run)
│  │  │     max      62.5 KiB  1,000 blocks  avg 64 B
│  │  │     at peak  62.5 KiB (5.4%)  1,000 blocks (99.8%)  avg 64 B
│  │  │     at end   0 B (0.0%)  0 blocks (0.0%)
│  │  │     reads    125.0 KiB (64.0%, 354.6 KiB/Minstr)  2.00 per byte
│  │  │     writes   11.7 KiB (5.5%, 33.2 KiB/Minstr)  0.19 per byte
│  │  │     by byte  0-7: 12,000  8-11: 11,000  12-63: never
│  │  │     allocated at
│  │  │       #4  0x1093c4  main  demo.c:89
""", text)
        self.assertIn("│  └─ PP 1.1.2/2  3 insignificant, 7 blocks (0.5%)  --min 0 shows all\n", text)

    def test_numbers_stay_within_a_hundred_columns(self):
        for path in sorted((GOLDEN / "dhat").glob("*.json")):
            for line in self.allo("tree", "--dhat", "--min", 0, path).splitlines():
                if "#" not in line:
                    self.assertLessEqual(len(line), 100, line)

    def test_nothing_is_insignificant_with_min_0(self):
        tree = self.allo_json("tree", "--dhat", "--min", 0, GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(sum(node["children"] == 0 for node in tree["nodes"]), 9)
        self.assertFalse([node for node in tree["nodes"] if "merged" in node])

    def test_depth_is_limited_on_request(self):
        text = self.allo("tree", "--dhat", "--depth", 1, GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertEqual(re.findall(r"PP (\S+)", text), ["1/1", "1.1/3", "1.2/3", "1.3/3"])

    def test_points_that_end_where_others_go_on_have_a_node(self):
        path = self.file("prefix.json", dhat([point(3, 30, [1]), point(2, 20, [1, 2])],
                                             ["0x1: f (a.c:1)", "0x2: main (a.c:2)"]))
        nodes = self.allo_json("tree", "--dhat", path)["nodes"]
        self.assertEqual([(len(node["calls"]), node["values"]["alloc_blocks"]) for node in nodes],
                         [(1, 5), (0, 3), (1, 2)])
        self.assertIn("allocated at the calls above, and nowhere further out",
                      self.allo("tree", "--dhat", path))

    def test_any_profile_has_such_a_tree(self):
        text = self.allo("tree", "--dhat", GOLDEN / "pprof" / "go-heap.pb.gz")
        self.assertIn("total    ~3.07 MiB (59.2%)  ~2,650 blocks (95.5%)", text)
        self.assertIn("live     ~55.1 KiB (95.8%)", text)
        self.assertIn("1,300 samples", self.allo("tree", "--dhat", GOLDEN / "folded" / "diff.folded"))

    def test_live_bytes_are_no_total(self):
        path = GOLDEN / "massif" / "valgrind.massif"
        lines = self.allo("tree", "--dhat", path).splitlines()
        self.assertEqual(lines[0], "./demo")  # massif does not know the pid
        self.assertTrue(lines[2].startswith("sorted by peak-bytes; "))
        self.assertEqual(lines[5], "│  at peak  1.12 MiB (100.0%)")  # and no rate: it was not allocated over time
        self.assertNotIn("total", "".join(lines))
        self.assertEqual(self.allo("tree", "--dhat", "--sort", "peak-bytes", path).splitlines(), lines)
        self.assertIn("has no values to sort by", self.allo_fails("tree", "--dhat", "--sort", "total-bytes", path, status=2))
        live = self.file("live.heap", "heap_v2/1\n  t*: 2: 32 [0: 0]\n@ 0x5\n  t*: 2: 32 [0: 0]\n")
        text = self.allo("tree", "--dhat", live)
        self.assertIn("live     32 B (100.0%)  2 blocks (100.0%)  avg 16 B", text)
        self.assertNotIn("total", text)

    def test_merged_points_have_no_maxima(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        self.assertIn(" max ", self.allo("tree", "--dhat", path))
        for more in (["--trim-allocator"], ["--hide", "malloc"], [path]):
            self.assertNotIn(" max ", self.allo("tree", "--dhat", path, *more))

    def test_options_of_the_other_tree_are_refused(self):
        path = GOLDEN / "dhat" / "valgrind-heap.json"
        for arguments in (["--sort", "tiny"], ["--dhat", "-M", "peak"], ["--dhat", "--invert"],
                          ["--dhat", "--by", "line"], ["--dhat", "--sort", "size"]):
            self.allo_fails("tree", *arguments, path, status=2)

    def test_very_deep_trees_take_no_more_room_than_their_nodes(self):
        # Every frame has a side branch, so that the tree is as deep as the stacks.
        depth = 1000 if SLOW else 3000
        frames = [f"0x{i + 1:x}: f{i}" for i in range(depth + 1)]
        points = [point(1, 1, list(range(1, i + 2))) for i in range(depth)]
        points[-1]["tbk"] = depth * 100
        path = self.file("deep.json", dhat(points, frames))
        done = self.run_program(ALLO, "tree", "--dhat", path)
        self.assertEqual(done.returncode, 0)
        self.assertLess(len(done.stdout), 1000 * depth)
        self.assertIn(f"PP 1.({depth - 17} more).1.1".encode(), done.stdout)
        self.assertEqual(len(self.allo_json("tree", "--dhat", "--min", 0, path)["nodes"]),
                         2 * depth - 1)
