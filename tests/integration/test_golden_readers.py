"""What readers make of the golden files, against tests/golden/expected/FORMAT-NAME.json.

With ALLO_GOLDEN=renew the expectations are written anew: see tests/golden/README.md.
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
        found = sorted((GOLDEN / "expected").glob("*.json"))
        readers = {form["name"] for form in self.allo_json("formats")["formats"] if form["read"]}
        split = [(reader, path.name[len(reader) + 1:].removesuffix(".json"), path)
                 for path in found for reader in readers if path.name.startswith(reader + "-")]
        self.assertEqual(({reader for reader, _, _ in split}, len(split)), (readers, len(found)))
        for folder, name, path in split:
            with self.subTest(f"{folder}/{name}"):
                facts = self.facts(GOLDEN / folder / name)
                if os.environ.get("ALLO_GOLDEN") == "renew":
                    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
                expected = json.loads(path.read_text())
                self.assertEqual(facts.get("error"), expected.get("error"))
                self.assertEqual(facts.get("sites"), expected.get("sites"))
                for fact, value in expected.get("info", {}).items():
                    self.assertEqual((fact, facts["info"][fact]), (fact, value))
