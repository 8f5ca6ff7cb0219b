/* cmd_version.c - allo version. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/version.h"
#include "report/show.h"
#include "writers/writers.h"

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };
static const struct allo_example examples[] = {
	{ "allo version", "which Allotrope this is" },
	{ NULL, NULL },
};

static void print_json(struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 1 };

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "version");
	allo_json_out_string(&json, ALLO_VERSION);
	allo_json_out_key(&json, "reads");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; allo_readers[i]; i++)
		allo_json_out_string(&json, allo_readers[i]->name);
	allo_json_out_end(&json);
	allo_json_out_key(&json, "writes");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; allo_writers[i]; i++)
		allo_json_out_string(&json, allo_writers[i]->name);
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool run_version(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_common *common = options_given;

	(void)files;
	if (!allo_common_open_result(&out, err))
		return false;
	if (common->json)
		print_json(&out);
	else
		allo_output_string(&out, "allo " ALLO_VERSION "\n");
	return allo_output_finish(&out, err);
}

const struct allo_command allo_cmd_version = {
	.name = "version",
	.heading = "Help",
	.summary = "print the version",
	.arguments = "",
	.about = "Prints the version and, with --json, the formats that it knows.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.run = run_version,
};
