"""A new format or command takes exactly the edits that doc/architecture.md lists: a file, and a line in two lists."""
import json
import pathlib
import re
import shutil

from allotest import BUILD, ENVIRONMENT, ROOT, Test
from builds import lend_objects

READER = """\
/* read_dummy.c - a format for this test: the first line is "dummy", each other line is a name and bytes. */
#include "readers/reader.h"

static bool read_dummy(struct allo_input *in, const struct allo_read_options *options,
		       struct allo_profile *profile, struct allo_error *err)
{
	struct allo_text line, name, number;
	uint64_t bytes, *row;

	(void)options;
	if (!allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, err))
		return false;
	while (allo_input_line(in, &line, err)) {
		if (!allo_text_cut_last(line, ' ', &name, &number) || !allo_text_u64(number, &bytes))
			continue;
		row = allo_profile_add_sample(profile, allo_profile_add_stack(profile, 0,
			allo_profile_add_named_frame(profile, name, err), err), 0, NULL, err);
		if (!row)
			return false;
		row[0] += bytes;
	}
	return !allo_failed(err);
}

static enum allo_guess probe_dummy(struct allo_text head)
{
	return allo_text_starts(head, ALLO_TEXT("dummy\\n")) ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_dummy = {
	.name = "dummy",
	.title = "names and bytes",
	.about = "Read by a test.",
	.probe = probe_dummy,
	.read = read_dummy,
};
"""

WRITER = """\
/* write_dummy.c - a format for this test: the number of samples. */
#include "writers/writer.h"

static bool write_dummy(struct allo_write_job *w, const struct allo_profile *profile,
			struct allo_error *err)
{
	(void)err;
	allo_output_string(w->out, "dummy\\nsamples ");
	allo_output_u64(w->out, profile->sample_stacks.len);
	allo_output_string(w->out, "\\n");
	return true;
}

const struct allo_writer allo_write_dummy = {
	.name = "dummy",
	.title = "the number of samples",
	.about = "Written by a test.",
	.endings = ".dummy",
	.write = write_dummy,
};
"""

COMMAND = """\
/* cmd_dummy.c - allo dummy. */
#include "base/defer.h"
#include "cli/common.h"

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };
static const struct allo_example examples[] = { { "allo dummy", "an example" }, { NULL, NULL } };

static bool run_dummy(const void *options, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	(void)options;
	(void)files;
	if (!allo_common_open_result(&out, err))
		return false;
	allo_output_string(&out, "the dummy has run\\n");
	return allo_output_finish(&out, err);
}

const struct allo_command allo_cmd_dummy = {
	.name = "dummy",
	.heading = "Help",
	.summary = "serve a test",
	.arguments = "",
	.about = "Serves a test.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.run = run_dummy,
};
"""


class Additions(Test):
    SANITIZED = False  # building does the work here

    # Each kind of addition: its folder, its file, the file with the table, and the type of an entry.
    KINDS = [("src/readers", "read_dummy.c", READER, "readers.c", "allo_reader"),
             ("src/writers", "write_dummy.c", WRITER, "writers.c", "allo_writer"),
             ("src/cli", "commands/cmd_dummy.c", COMMAND, "commands.c", "allo_command")]

    def copy_tree(self):
        tree = self.tmp / "tree"
        tree.mkdir()
        for name in ("meson.build", "meson_options.txt", "capture", "doc", "include", "src", "tests", "tools", "viewer"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("golden", "corpus", "node_modules"))
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, tree / name)
        return tree

    def configure(self, tree):
        """Configures a build of the tree like the one under test, and gives it the objects of that, so that only the
        additions and the tables are compiled."""
        build = tree / "build"
        # Tests are configured for the list of targets; they are not built.
        self.must("meson", "setup", build, tree, "-Dtests=true", "-Dwerror=true", "-Dassertions=true",
                  "-Dviewer_engine=disabled", env={**ENVIRONMENT, "CC": "gcc"})
        lend_objects(BUILD, build)
        return build

    def insert(self, path, pattern, text):
        """Inserts text before the first match."""
        before = path.read_text()
        place = re.search(pattern, before, re.M)
        self.assertIsNotNone(place, f"no {pattern} in {path}")
        path.write_text(before[:place.start()] + text + before[place.start():])

    def add(self, tree):
        for folder, name, content, table, kind in self.KINDS:
            symbol = f"allo_{pathlib.Path(name).stem}"
            (tree / folder / name).write_text(content)
            self.insert(tree / folder / table, rf"^extern const struct {kind}\b", f"extern const struct {kind} {symbol};\n")
            self.insert(tree / folder / table, r"^\t&allo_", f"\t&{symbol},\n")
            self.insert(tree / folder / "meson.build", r"^  '", f"  '{name}',\n")

    def test_the_page_lists_these_edits(self):
        page = (ROOT / "doc" / "architecture.md").read_text()
        bullets = dict(re.findall(r"^- \*\*An? ([a-z ]+)\*\*: (.*?)(?=^- \*\*|^`)", page, re.M | re.S))
        for kind, (folder, name, _, table, entry) in zip(("input format", "output format", "command"), self.KINDS):
            words = set(re.findall(r"`([^`]+)`", bullets[kind]))
            self.assertLessEqual({f"{folder}/{name.replace('dummy', 'NAME')}", f"{folder}/{table}", f"{folder}/meson.build",
                                  f"struct {entry}"}, words)
        # The tables of tests that a command belongs in are where the page says, and demand it.
        for table, path in (("JSON", "test_cli.py"), ("OF_PROCESSES", "test_cli.py"), ("COMMANDS", "test_markdown.py")):
            self.assertRegex(bullets["command"], rf"(?s)`{table}`.*`tests/integration/{path}`|`{path}`.*`{table}`|"
                                                 rf"`tests/integration/{path}`.*`{table}`")
            self.assertRegex((ROOT / "tests" / "integration" / path).read_text(), rf"(?m)^{table} = ")

    def test_a_format_and_a_command_need_no_other_edit(self):
        tree = self.copy_tree()
        self.add(tree)
        build = self.configure(tree)
        targets = {target["name"] for target in json.loads(self.must("meson", "introspect", build, "--targets"))}
        self.assertLessEqual({"fuzz_dummy", "allo-dummy.1"}, targets)
        done = self.run_program("ninja", "-C", build, "src/allo", "doc/allo-dummy.1")
        self.assertEqual(done.returncode, 0, done.stdout.decode()[-3000:])
        allo = build / "src" / "allo"

        formats = {row["name"]: row for row in json.loads(self.must(allo, "formats", "--json"))["formats"]}
        self.assertTrue(formats["dummy"]["read"] and formats["dummy"]["write"])
        self.assertRegex(self.must(allo, "formats"), r"(?m)^ *dummy ")
        manual = self.must(allo, "help", "--man", "allo-formats")
        self.assertIn("Read by a test.", manual)
        self.assertIn("Written by a test.", manual)

        self.file("in.txt", "dummy\nmain 1009\nother 23\n")
        self.assertIn("main 1009\n", self.must(allo, "convert", "-q", "in.txt", "--to", "folded"))
        self.must(allo, "convert", "-q", "in.txt", "-o", "out.dummy")
        self.assertEqual((self.tmp / "out.dummy").read_text(), "dummy\nsamples 2\n")

        self.assertEqual(self.must(allo, "dummy"), "the dummy has run\n")
        self.assertRegex(self.must(allo, "help"), r"(?m)^  dummy +serve a test$")
        self.assertIn("Serves a test.", (build / "doc" / "allo-dummy.1").read_text())
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("dummy", self.must(allo, "completion", shell))
