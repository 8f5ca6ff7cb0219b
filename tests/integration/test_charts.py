"""Charts as SVG files: allo timeline -o and allo hist -o."""
import re
import xml.etree.ElementTree

from allotest import ALLO, GOLDEN, Test
from lives import PACKED, RAW, LivesTest
from recordings import built

SVG = "{http://www.w3.org/2000/svg}"
NOTES = GOLDEN / "allo" / "notes.allo"  # with marks
LEFT, WIDE = 88, 860  # of the axis of time, in pixels


def levels(path):
    """The levels of a drawn course: (x, y) where each begins."""
    x, found = 0, []
    for command, numbers in re.findall(r"([MHVZ])([\d. ]*)", path):
        values = [float(number) for number in numbers.split()]
        if command == "M":
            x = values[0]
            found.append((x, values[1]))
        elif command == "H":
            if values[0] < x:
                break  # the way back, below an area
            x = values[0]
        elif command == "V":
            found.append((x, values[0]))
        elif command == "Z":
            break
    return found


def level_at(course, x):
    return [y for start, y in course if start <= x][-1]


class Picture(LivesTest):
    def draw(self, *words):
        self.allo(*words, "-fqo", "chart.svg")
        return xml.etree.ElementTree.parse(self.tmp / "chart.svg").getroot()

    def of_class(self, root, name):
        return [each for each in root.iter() if name in each.get("class", "").split()]

    def text(self, root, name):
        return ["".join(each.itertext()) for each in self.of_class(root, name)]

    def scale(self, root):
        """Pixels to bytes, from the numbers of the scale."""
        factors = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        marks = [(float(each.get("y")) - 4, re.fullmatch(r"([\d.]+) ?([KM]i?B|B)?", each.text))
                 for each in self.of_class(root, "axis") if float(each.get("x")) == LEFT - 8]
        values = [(y, float(found[1]) * factors[found[2] or ""]) for y, found in marks]
        zero = values[0][0]  # of the heap, whose scale comes first
        top, most = [(y, value) for y, value in values if y <= zero][-1]
        return lambda y: (zero - y) / (zero - top) * most


class Timeline(Picture):
    def test_the_curve_is_the_most_of_each_step(self):
        for path in (PACKED, RAW, self.record(built("resizes.c"))):
            root = self.draw("timeline", path)
            found = self.allo_json("timeline", "--steps", "860", path)
            course, value = levels(self.of_class(root, "edge")[0].get("d")), self.scale(root)
            length = found["end_ns"] - found["from_ns"]
            for step in found["steps"]:
                middle = step["start_ns"] + min(found["step_ns"], found["end_ns"] - step["start_ns"]) / 2
                drawn = value(level_at(course, LEFT + WIDE * (middle - found["from_ns"]) / length))
                self.assertAlmostEqual(drawn, step["max_bytes"], delta=found["peak_bytes"] / 500)

    def test_it_says_the_peak_and_the_marks(self):
        root = self.draw("timeline", PACKED)
        self.assertEqual(self.text(root, "point"), ["peak 22.8 KiB at 40.0 us"])
        self.assertIn("peak 22.8 KiB in 25 blocks at 40.0 us, in the end 2.99 KiB in 5 blocks",
                      root.find(f"{SVG}text[@id='subtitle']").text)
        root = self.draw("timeline", NOTES)
        marks = self.allo_json("timeline", NOTES)["marks"]
        self.assertGreater(len(marks), 0)
        tips = "\n".join(self.text(root, "hit"))
        for mark in marks:
            self.assertIn(f"mark {mark['name']}", tips)
        self.assertTrue(self.text(root, "flag")[0].startswith(marks[0]["name"]))

    def test_tooltips_have_the_numbers_of_the_steps(self):
        root = self.draw("timeline", "--steps", "20", PACKED)
        steps = self.allo_json("timeline", "--steps", "20", PACKED)["steps"]
        self.assertEqual(len(self.of_class(root, "hit")), len(steps))
        largest = max(steps, key=lambda step: step["max_bytes"])
        self.assertIn("live bytes: 22.8 KiB at most", self.text(root, "hit")[steps.index(largest)])

    def test_groups_are_stacked_up_to_the_whole(self):
        path = self.record(built("handover.c"))
        root = self.draw("timeline", "--by", "thread", path)
        found = self.allo_json("timeline", "--steps", "860", path)
        areas, value = [levels(area.get("d")) for area in self.of_class(root, "area")], self.scale(root)
        self.assertGreater(len(areas), 2)
        length = found["end_ns"] - found["from_ns"]
        for step in found["steps"][::40]:
            x = LEFT + WIDE * (step["start_ns"] + found["step_ns"] / 2 - found["from_ns"]) / length
            self.assertAlmostEqual(value(level_at(areas[-1], x)), step["end_bytes"], delta=found["peak_bytes"] / 400)
        keys = "".join(self.text(root, "keys"))
        for group in self.allo_json("timeline", "--by", "thread", path)["groups"]:
            self.assertIn(group["name"], keys)

    def test_resident_memory_has_a_line_from_its_first_sample_on(self):
        root = self.draw("timeline", GOLDEN / "allo" / "resident.allo")
        self.assertEqual(len(self.of_class(root, "rss")), 2)  # the line and its key
        self.assertIn("resident memory", "".join(self.text(root, "keys")))
        self.assertEqual(self.of_class(self.draw("timeline", "--of", "blocks", PACKED), "rss"), [])

    def test_large_counts_are_short(self):
        root = self.draw("timeline", "--of", "rate", PACKED)
        scale = [each for each in self.text(root, "axis") if each.endswith("/s")]
        self.assertTrue(scale)
        for each in scale:
            self.assertRegex(each, r"^[\d,.]{1,5}( [kMG])?/s$")

    def test_any_recording_has_a_picture(self):
        for path in [*self.without_blocks(), *list(self.cuts("packed"))[::7]]:
            done = self.run_program(ALLO, "timeline", "-fqo", "chart.svg", path)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 0:
                xml.etree.ElementTree.parse(self.tmp / "chart.svg")


class Histogram(Picture):
    def test_bars_are_the_bins(self):
        root = self.draw("hist", PACKED)
        found = self.allo_json("hist", PACKED)
        tips = self.text(root, "hit")
        bins = found["size"]["bins"] + found["lifetime"]["bins"]
        self.assertEqual(len(tips), len(bins) + (found["lifetime"]["never_blocks"] > 0))
        for tip, each in zip(tips, bins[:len(found["size"]["bins"])]):
            self.assertIn(f"\n{each['blocks']:,} blocks, ", tip)

    def test_the_longest_bar_is_the_largest_bin(self):
        root = self.draw("hist", "--by", "size", PACKED)
        blocks = {float(bar.get("y")): float(bar.get("width")) for bar in self.of_class(root, "g0")}
        bins = [each["blocks"] for each in self.allo_json("hist", PACKED)["size"]["bins"]]
        rows = sorted({float(bar.get("y")) for name in ("g0", "g6") for bar in self.of_class(root, name)})
        top = rows[0]
        for i, count in enumerate(bins):
            width = blocks.get(top + 22 * i, 0)
            self.assertAlmostEqual(width, max(230 * count / max(bins), 1.5 if count else 0), delta=0.1)

    def test_sums_of_stacks_are_called_averages(self):
        root = self.draw("hist", GOLDEN / "dhat" / "valgrind-heap.json")
        self.assertIn("average size", self.text(root, "head"))
        self.assertIn("sums of stacks", root.find(f"{SVG}text[@id='subtitle']").text)


class Files(Test):
    def test_a_picture_needs_no_script_and_no_other_file(self):
        for command in ("timeline", "hist"):
            text = self.allo(command, "-o", "-", PACKED)
            self.assertTrue(text.startswith("<?xml"))
            self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""), r"<script|https?:|href|url\(|onload")
            self.assertIn("prefers-color-scheme: dark", text)

    def test_an_existing_file_stays_unless_forced(self):
        for command in ("timeline", "hist"):
            path = self.file("chart.svg", "mine")
            self.assertIn("exists", self.allo_fails(command, "-o", path, PACKED, status=2))
            self.assertEqual(path.read_text(), "mine")
            self.allo(command, "-fo", path, PACKED)
            self.assertIn("<svg", path.read_text())

    def test_what_does_not_fit_is_refused(self):
        for command in ("timeline", "hist"):
            self.assertIn("is an SVG file", self.allo_fails(command, "-o", "chart.png", PACKED, status=2))
            for form in ("--json", "--csv"):
                self.assertIn("draws a picture", self.allo_fails(command, form, "-o", "chart.svg", PACKED, status=2))
            self.assertFalse((self.tmp / "chart.svg").exists())

    def test_markup_in_names_is_text(self):
        path = self.file("a<b>&\"'\x01.allo", PACKED.read_bytes())
        for words in (["timeline"], ["timeline", "--by", "function"], ["hist"]):
            root = xml.etree.ElementTree.fromstring(self.allo(*words, "-o", "-", path))
            self.assertTrue(root.find(f"{SVG}text[@id='title']").text.endswith("a<b>&\"'\u2401.allo"))

    def test_the_same_recording_gives_the_same_picture(self):
        for words in (["timeline"], ["timeline", "--by", "site"], ["hist"]):
            self.assertEqual(self.allo(*words, "-o", "-", PACKED), self.allo(*words, "-o", "-", PACKED))
