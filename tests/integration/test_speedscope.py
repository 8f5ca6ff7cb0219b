"""The content of speedscope files.  tests/browser checks that speedscope reads them."""
import json

from allotest import GOLDEN, Test


class Speedscope(Test):
    def convert(self, *arguments):
        self.allo("convert", *arguments, "-fo", "test.speedscope.json")
        return json.loads((self.tmp / "test.speedscope.json").read_text())

    @staticmethod
    def listing(file):
        """A line for each stack of each profile: its weight, then callers and callees."""
        def text(frame):
            place = ":".join(str(frame[key]) for key in ("file", "line", "col") if key in frame)
            return frame["name"] + (f" ({place})" if place else "")

        frames = [text(frame) for frame in file["shared"]["frames"]]
        lines = [f"{file.get('name')}, {file['profiles'][file['activeProfileIndex']]['name']}"]
        for profile in file["profiles"]:
            lines.append(f"{profile['name']}: {profile['endValue']} {profile['unit']}")
            lines += [f"  {weight} " + " > ".join(frames[i] for i in stack)
                      for stack, weight in zip(profile["samples"], profile["weights"])]
        return "\n".join(lines) + "\n"

    def test_files_have_not_changed(self):
        for name in ("dhat/valgrind-heap.json", "pprof/go-heap.pb.gz", "pprof/inline-dropframes.pb.gz",
                     "folded/diff.folded"):
            with self.subTest(name):
                path = GOLDEN / name
                self.assert_golden(GOLDEN / "speedscope" / (path.name + ".txt"),
                                   self.listing(self.convert(path)))

    def test_the_structure_follows_the_schema_of_speedscope(self):
        for path in sorted(GOLDEN.glob("dhat/*.json")) + sorted(GOLDEN.glob("pprof/*.pb*")):
            with self.subTest(path.name):
                file = self.convert(path)
                self.assertEqual(file["$schema"],
                                 "https://www.speedscope.app/file-format-schema.json")
                frames = file["shared"]["frames"]
                self.assertEqual(len(frames), len({json.dumps(frame) for frame in frames}))
                self.assertLess(file["activeProfileIndex"], len(file["profiles"]))
                for profile in file["profiles"]:
                    self.assertEqual(len(profile["samples"]), len(profile["weights"]))
                    self.assertTrue(all(weight > 0 for weight in profile["weights"]))
                    self.assertEqual(profile["endValue"], sum(profile["weights"]))
                    self.assertTrue(all(0 <= i < len(frames) for s in profile["samples"] for i in s))

    def test_totals_are_those_of_info(self):
        for name in ("dhat/dhat-rs-heap.json", "pprof/go-allocs.pb.gz"):
            metrics = self.allo_json("info", GOLDEN / name)["metrics"]
            file = self.convert(GOLDEN / name)
            self.assertEqual([profile["endValue"] for profile in file["profiles"]],
                             [metric["sum"] for metric in metrics])

    def test_one_metric_is_one_profile(self):
        file = self.convert(GOLDEN / "dhat" / "valgrind-heap.json", "-M", "end_bytes", "--title", "Leaks")
        self.assertEqual(file["name"], "Leaks")
        self.assertEqual([profile["name"] for profile in file["profiles"]],
                         ["end_bytes: live when recording ended"])
