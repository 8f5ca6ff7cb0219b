"""Recipes for CI systems and monitoring: they parse, their commands work, and they name metrics that exist."""
import json
import re

from allotest import ROOT, Test
from pages import PageTest, blocks

SERVICES = ROOT / "examples" / "services"

# Debian's python3, which has python3-yaml.
YAML_TO_JSON = ["/usr/bin/python3", "-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"]


class Recipes(PageTest):
    def yaml(self, text):
        return json.loads(self.must(*YAML_TO_JSON, input=text.encode()))

    def recipe(self, key):
        """The YAML block of the page that has this key."""
        return next(found for _, text in blocks("doc/ci.md", "yaml") if key in (found := self.yaml(text)))

    def run_script(self, lines):
        self.environment["GITHUB_STEP_SUMMARY"] = str(self.tmp / "summary.md")
        for line in lines:
            status, output = self.run_line(f"set -e; {line}")
            self.assertEqual(status, 0, output)

    def test_the_steps_of_the_github_workflow_work(self):
        job = self.recipe("jobs")["jobs"]["memory"]
        steps = [step["run"] for step in job["steps"] if "run" in step]
        self.assertIn("make install", steps[0])
        self.run_script(steps[1:])
        self.assertIn("| ok |", (self.tmp / "summary.md").read_text())
        for pattern in job["steps"][-1]["with"]["path"].split():
            self.assertTrue(list(self.tmp.glob(pattern)), pattern)

    def test_the_script_of_the_gitlab_job_works(self):
        job = self.recipe("memory")["memory"]
        self.run_script(job["script"])
        self.assertIn("<testsuite", (self.tmp / job["artifacts"]["reports"]["junit"]).read_text())

    def test_a_limit_that_is_exceeded_fails_the_job(self):
        script = self.recipe("memory")["memory"]["script"]
        self.run_script(script[:-1])
        self.assertEqual(self.run_line(script[-1].replace("4K", "1"))[0], 3)

    def test_prometheus_accepts_the_scrape_job(self):
        (self.tmp / "prometheus.yml").write_text((SERVICES / "prometheus.yml").read_text())
        (self.tmp / "alerts.yml").write_text((SERVICES / "alerts.yml").read_text())
        self.must("promtool", "check", "config", "--syntax-only", "prometheus.yml")


class Templates(PageTest):
    """The action and the template of examples/ci parse, and their commands work."""
    CI = ROOT / "examples" / "ci"

    def setUp(self):
        super().setUp()
        self.must("cc", "-g", self.CI / "parse_test.c", "-o", "parse_test")
        self.environment |= {"RUNNER_TEMP": str(self.tmp), "GITHUB_WORKSPACE": str(ROOT),
                             "GITHUB_STEP_SUMMARY": str(self.tmp / "summary.md"),
                             "GITHUB_OUTPUT": str(self.tmp / "output")}

    def yaml(self, path):
        return json.loads(self.must(*YAML_TO_JSON, input=path.read_bytes()))

    def run_action(self, **given):
        """Runs the steps of the action; the exit status of the last one, its output, and the action's outputs."""
        action = self.yaml(self.CI / "github" / "action.yml")
        self.assertEqual(action["runs"]["using"], "composite")
        values = {f"inputs.{name}": given.get(name, about.get("default")) for name, about in action["inputs"].items()}

        def filled(text):
            return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda match: values[match[1]], text)

        for step in action["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")
            self.assertNotIn("${{", step["run"], "a name in a branch must not become a command")
            self.environment |= {name: filled(value) for name, value in step["env"].items()}
            self.file("output", "")
            status, output = self.run_line(f"bash -e -o pipefail {self.file('step.sh', step['run'])}")
            for line in (self.tmp / "output").read_text().splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step.get('id')}.outputs.{name}"] = value
            if status:
                break
        return status, output, {name: filled(about["value"]) for name, about in action["outputs"].items()}

    def test_the_action_checks_and_writes_its_outputs(self):
        status, output, outputs = self.run_action(run="./parse_test", limits="--max-peak 4K --max-leaks 0")
        self.assertEqual(status, 0, output)
        self.assertIn("| ok |", (self.tmp / "summary.md").read_text())
        self.allo("verify", "-q", outputs["recording"])
        with open(outputs["sarif"]) as sarif, open(outputs["bench"]) as bench:
            self.assertEqual(json.load(sarif)["runs"][0]["results"], [])
            self.assertEqual([series["name"] for series in json.load(bench)], ["memory: peak_bytes", "memory: end_bytes"])

    def test_the_action_annotates_and_fails(self):
        status, output, _ = self.run_action(run="./parse_test", limits="--max-blocks 1")
        self.assertEqual(status, 3, output)
        self.assertRegex(output, r"::error file=examples/ci/parse_test\.c,line=\d+,title=blocks is exceeded::")
        self.assertIn("FAIL", (self.tmp / "summary.md").read_text())

    def test_the_action_reads_all_processes_and_a_baseline(self):
        self.file("twice.sh", "./parse_test\n./parse_test\n")
        status, output, outputs = self.run_action(run="sh twice.sh", limits="--max-peak 1G")
        self.assertEqual(status, 0, output)
        self.assertTrue(outputs["recording"].endswith(".d"))
        status, output, _ = self.run_action(run="sh twice.sh", limits="--growth 100%", baseline=outputs["recording"])
        self.assertEqual(status, 0, output)

    def test_the_template(self):
        job = self.yaml(self.CI / "gitlab.yml")[".memory"]
        for limits, status in ((job["variables"]["LIMITS"], 0), ("--max-blocks 1", 3)):
            self.environment |= {"RUN": "./parse_test", "LIMITS": limits}
            script = "\n".join(["set -e", *job["script"]])
            done, output = self.run_line(f"sh {self.file('job.sh', script)}")
            self.assertEqual(done, status, output)
            self.assertIn("<testsuite", (self.tmp / job["artifacts"]["reports"]["junit"]).read_text())
            for pattern in job["artifacts"]["paths"]:
                self.assertTrue(list(self.tmp.glob(pattern)), pattern)


class Metrics(Test):
    def metrics(self):
        """The metrics that allo can export, without labels."""
        return set(re.findall(r"^(\w+)", self.allo("mem", "--list"), re.M))

    def check(self, expressions):
        """Every name in the expressions that is not a function or label of PromQL is one of our metrics."""
        named = {name for text in expressions for name in re.findall(r"\b(?:process|allo)_\w+", re.sub(r'"[^"]*"', "", text))}
        self.assertGreater(len(named), 3)
        self.assertLessEqual(named, self.metrics())

    def test_alerts_name_metrics_that_exist(self):
        self.check(re.findall(r"^ +expr: (.*)$", (SERVICES / "alerts.yml").read_text(), re.M))

    def test_the_dashboard_names_metrics_that_exist(self):
        dashboard = json.loads((SERVICES / "dashboard.json").read_text())
        self.check([*(variable["query"] for variable in dashboard["templating"]["list"]),
                    *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])])
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_units_run_commands_that_exist(self):
        """systemd writes % as %%."""
        for name in ("allo-serve.service", "record.conf"):
            words = re.findall(r"^ExecStart=(\S.*)$", (SERVICES / name).read_text(), re.M)[0].split()
            self.assertEqual(words[0], "/usr/local/bin/allo")
            help_text = self.allo("help", words[1])
            for option in (word for word in words[2:] if word.startswith("-")):
                self.assertRegex(help_text, rf"(?m)^ +.*{option}\b", option)
