"""Flame graphs as files: their boxes, and a size that stays small for every profile.  How they look
and behave in a browser is tests/browser's business."""
import json
import os
import re
import xml.etree.ElementTree

from allotest import ALLO, ENVIRONMENT, GOLDEN, Test, wait_until
from terminal import on_terminal

HEAP = GOLDEN / "dhat" / "valgrind-heap.json"
SVG = "{http://www.w3.org/2000/svg}"


class Flame(Test):
    """allo flame."""

    def flame(self, *arguments, **options):
        return self.allo("flame", *arguments, **options)

    def test_the_drawing_has_the_name_of_the_profile(self):
        self.assertEqual(self.flame(HEAP), "valgrind-heap.svg\n")
        text = (self.tmp / "valgrind-heap.svg").read_text()
        self.assertIn("<svg", text)
        self.assertNotIn(">malloc<", text)
        self.assertEqual(self.flame(HEAP, "-M", "end"), "valgrind-heap.svg\n")
        self.assertNotEqual((self.tmp / "valgrind-heap.svg").read_text(), text)
        self.assertEqual(self.flame("-", input=HEAP.read_bytes()), "flame.svg\n")
        self.assertIn("<svg", self.flame(HEAP, "-o", "-"))

    def test_a_foreign_file_stays_unless_forced(self):
        path = self.file("valgrind-heap.svg", "<svg>mine</svg>")
        self.assertIn("exists", self.allo_fails("flame", HEAP, status=2))
        self.assertEqual(path.read_text(), "<svg>mine</svg>")
        self.flame("-f", HEAP)
        self.assertNotIn("mine", path.read_text())

    def test_a_desktop_opens_it(self):
        """xdg-open runs if there is a display and the output is a terminal."""
        opener = self.file("xdg-open", '#!/bin/sh\nprintf %s "$1" > opened.tmp && mv opened.tmp opened\n')
        opener.chmod(0o755)
        environment = {"PATH": f"{self.tmp}:{os.environ['PATH']}", "DISPLAY": ":7", "WAYLAND_DISPLAY": ""}
        status, text = on_terminal(ALLO, "flame", HEAP, env=environment, cwd=self.tmp)
        self.assertEqual((status, text.strip()), (0, "allo: opened valgrind-heap.svg"))
        wait_until((self.tmp / "opened").exists)
        self.assertEqual((self.tmp / "opened").read_text(), "valgrind-heap.svg")
        for more in ({"DISPLAY": ""}, {"PATH": "/nowhere"}):
            _, text = on_terminal(ALLO, "flame", HEAP, env={**environment, **more}, cwd=self.tmp)
            self.assertEqual(text.strip(), "valgrind-heap.svg")
        self.assertEqual(self.flame(HEAP, env={**ENVIRONMENT, **environment}), "valgrind-heap.svg\n")


class Svg(Test):
    def draw(self, *arguments):
        self.allo("convert", *arguments, "-fo", "flame.svg")
        return self.tmp / "flame.svg"

    def boxes(self, path):
        graph = xml.etree.ElementTree.parse(path).getroot().find(f"{SVG}svg[@id='graph']")
        return graph.findall(f"{SVG}rect")

    def listing(self, path):
        """All that the picture says, as text: one line a box, indented like the calls."""
        root = xml.etree.ElementTree.parse(path).getroot()
        lines = [root.find(f"{SVG}text[@id='{name}']").text for name in ("title", "subtitle")]
        for box in self.boxes(path):
            title = " | ".join(box.find(f"{SVG}title").text.split("\n"))
            indent = "  " * (int(box.get("y")) // 18)
            lines.append(f"{indent}{box.get('x')} +{box.get('width')} [{box.get('class')}] {title}")
        foot = root.find(f"{SVG}svg[@id='foot']")
        lines += [" ".join("".join(text.itertext()).split()) for text in foot.findall(f"{SVG}text")]
        return re.sub(r"Drawn by allo [0-9.]+\.$", "Drawn by allo.", "\n".join(lines)) + "\n"

    def test_pictures_have_not_changed(self):
        for name in ("dhat/valgrind-heap.json", "dhat/dhat-rs-heap.json", "pprof/go-heap.pb.gz",
                     "pprof/inline-dropframes.pb.gz", "folded/diff.folded"):
            with self.subTest(name):
                path = GOLDEN / name
                self.assert_golden(GOLDEN / "svg" / (path.name + ".txt"), self.listing(self.draw(path)))

    def test_the_first_metric_asked_for_is_drawn(self):
        listing = self.listing(self.draw(GOLDEN / "dhat" / "valgrind-heap.json", "-M", "end_bytes"))
        self.assertIn("Live when recording ended: ./demo\n"
                      "end_bytes: 5,000 bytes (4.88 KiB), live when recording ended\n", listing)

    def test_labels_are_short_and_tooltips_have_full_names(self):
        full = "std::vector<char, std::allocator<char> >::vector(unsigned long)"
        path = self.draw(self.file("names.folded", f"main;{full} 5\n"))
        box = self.boxes(path)[2]
        self.assertEqual(box.get("data-n"), "std::vector<char>::vector")
        self.assertEqual(box.find(f"{SVG}title").text.split("\n")[0], full)
        labels = [text.text for text in xml.etree.ElementTree.parse(path).getroot().iter(f"{SVG}text")]
        self.assertIn("std::vector<char>::vector", labels)

    def test_a_long_command_leaves_the_metric_in_the_title(self):
        dhat = (GOLDEN / "dhat" / "valgrind-heap.json").read_text().replace("./demo", "./demo" + " --option" * 200)
        title = self.listing(self.draw(self.file("long.json", dhat))).splitlines()[0]
        self.assertTrue(title.startswith("Live at the program's peak: ./demo --option"), title)

    def test_a_maximum_of_each_site_is_said_not_to_add_up(self):
        listing = self.listing(self.draw(GOLDEN / "dhat" / "valgrind-heap.json", "-M", "max_bytes"))
        self.assertIn("sums may be more than was ever held at once", listing)

    def test_narrow_boxes_are_left_out_and_still_count(self):
        stacks = "".join(f"main;small{i} 1\n" for i in range(20000))
        path = self.draw(self.file("many.folded", "main;large 100000\n" + stacks))
        boxes = [box.find(f"{SVG}title").text.split("\n") for box in self.boxes(path)]
        self.assertEqual([box[0] for box in boxes], ["all", "main", "large"])
        self.assertEqual(boxes[1][1], "120,000")
        self.assertIn("Calls too narrow to be seen are left out", self.listing(path))

    def test_a_million_frames_deep_is_drawn_as_far_as_anybody_scrolls(self):
        stack = ";".join(f"f{i % 7}" for i in range(1000000))
        path = self.draw("--from", "folded", self.file("deep.folded", stack + " 5\n"))
        self.assertEqual(len(self.boxes(path)), 1001)
        self.assertLess(path.stat().st_size, 500_000)
        self.assertIn("Calls more than 1000 deep are left out", self.listing(path))

    def test_files_stay_small_for_all_names(self):
        # Ten thousand boxes of 0.12 pixels each in three rows, with names of 2,000 bytes.
        stacks = "".join(f"a{i}{'a' * 2000};b{i}{'b' * 2000};c{i}{'c' * 2000} 1\n"
                         for i in range(10000))
        path = self.draw(self.file("wide.folded", stacks))
        self.assertLess(path.stat().st_size, 6_000_000)
        self.assertGreater(len(self.boxes(path)), 1000)

    def test_each_other_metric_takes_a_sixth_of_the_file_at_most(self):
        for path, metric in ((GOLDEN / "dhat" / "valgrind-cpp.json", "peak_bytes"),
                             (GOLDEN / "allo" / "server.allo", "peak_bytes"), (self.varied(), "peak_bytes")):
            alone = self.draw(path, "-M", metric).stat().st_size
            self.assertNotIn('id="metrics"', (self.tmp / "flame.svg").read_text())
            text = self.draw(path).read_text()
            count = text.count("<metric ")
            self.assertGreater(count, 2)
            self.assertLess(len(text.encode()) - alone, alone * count / 6, path)

    def varied(self):
        """A profile of 3,000 stacks, with numbers that say little about each other."""
        points = [{"tb": 7919 * i % 10007 + 1, "tbk": 1, "tl": 1, "mb": 1, "mbk": 1, "gb": 31 * i % 997 + 1, "gbk": 1,
                   "eb": i * i % 13 * 10, "ebk": 1 if i * i % 13 else 0, "fs": [i + 1, 3001 + i % 60, 3100]}
                  for i in range(3000)]
        frames = ["[root]"] + [f"0x{i:X}: function_{i} (file_{i % 50}.c:{i})" for i in range(1, 3101)]
        return self.file("varied.json", json.dumps({
            "dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs",
            "Mtu": "Minstr", "tuth": 500, "cmd": "./varied", "pid": 1, "te": 100, "tg": 50, "pps": points, "ftbl": frames}))

    def test_lists_of_metrics_stay_small_for_all_names(self):
        points = [{"tb": 10, "tbk": 1, "tl": 1, "mb": 10, "mbk": 1, "gb": 10 if i % 2 else 0, "gbk": i % 2,
                   "eb": 0 if i % 2 else 10, "ebk": 1 - i % 2, "fs": [i + 1]} for i in range(8000)]
        frames = ["[root]"] + [f"0x{i:X}: {'n' * 1500}{i} (x.c:1)" for i in range(1, 8001)]
        path = self.draw(self.file("names.json", json.dumps({
            "dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs",
            "Mtu": "Minstr", "tuth": 500, "cmd": "./names", "pid": 1, "te": 100, "tg": 50, "pps": points, "ftbl": frames})))
        self.assertLess(path.stat().st_size, 12_000_000)

    def test_markup_in_names_is_text(self):
        path = self.draw(self.file("odd.folded", b"a<b>&\"c'd\x01\xff]]> 5\n"))
        self.assertEqual(self.boxes(path)[1].find(f"{SVG}title").text.split("\n")[0],
                         "a<b>&\"c'd\u2401\ufffd]]>")

    def test_the_same_profile_gives_the_same_file(self):
        first = self.draw(GOLDEN / "pprof" / "go-allocs.pb.gz").read_bytes()
        self.assertEqual(self.draw(GOLDEN / "pprof" / "go-allocs.pb.gz").read_bytes(), first)
