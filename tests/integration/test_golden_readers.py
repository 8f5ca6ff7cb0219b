"""What readers make of the golden files, against what stands beside them in NAME.expected.json.

With ALLO_REFRESH=1 the expectations are written anew: read the difference before you keep it.
"""
import json
import os

from allotest import ALLO, GOLDEN, Test


class GoldenReaders(Test):
    def facts(self, path):
        """All that `allo info` says of a file and the sites in it; or why it cannot be read."""
        done = self.run_program(ALLO, "info", "--json", path)
        if done.returncode:
            error = done.stderr.decode().splitlines()[0]
            return {"error": error.removeprefix("allo: error: ").replace(f"{path}:", "")}
        info = json.loads(done.stdout)
        del info["file"]
        for metric in info["metrics"]:
            metric["metric"] = metric["metric"]["name"]
        top = self.allo_json("top", "--count=0", "--by=site", "--keep-allocator", path)
        return {"info": info, "sites": top["rows"]}

    def test_each_is_read_as_expected(self):
        found = sorted(GOLDEN.glob("*/*.expected.json"))
        self.assertTrue(found)
        for path in found:
            name = path.name.removesuffix(".expected.json")
            with self.subTest(f"{path.parent.name}/{name}"):
                facts = self.facts(path.parent / name)
                if os.environ.get("ALLO_REFRESH"):
                    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
                expected = json.loads(path.read_text())
                self.assertEqual(facts.get("error"), expected.get("error"))
                self.assertEqual(facts.get("sites"), expected.get("sites"))
                for fact, value in expected.get("info", {}).items():
                    self.assertEqual((fact, facts["info"][fact]), (fact, value))
