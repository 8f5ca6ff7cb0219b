/* cmd_version.c - allo version: the version, and the formats that it reads and writes. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/version.h"
#include "writers/writers.h"

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };
static const struct allo_example examples[] = {
	{ "allo version", "the version of Allotrope" },
	{ NULL, NULL },
};

static void describe(struct allo_report *report)
{
	allo_report_line(report, "allo " ALLO_VERSION);
	allo_report_field_string(report, "version", ALLO_VERSION);
	allo_report_list(report, "reads");
	for (size_t i = 0; allo_readers[i]; i++)
		allo_report_field_string(report, NULL, allo_readers[i]->name);
	allo_report_close(report);
	allo_report_list(report, "writes");
	for (size_t i = 0; allo_writers[i]; i++)
		allo_report_field_string(report, NULL, allo_writers[i]->name);
	allo_report_close(report);
}

static bool run_version(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = options_given;

	(void)files;
	if (!allo_common_report(common, &report, false, err))
		return false;
	allo_report_json_lines(&report, 1);
	describe(&report);
	return allo_common_finish(common, &report, NULL, err);
}

const struct allo_command allo_cmd_version = {
	.name = "version",
	.heading = "Help",
	.summary = "print the version",
	.arguments = "",
	.about = "Prints the version. --json adds the formats that it reads and writes.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.run = run_version,
};
