/* cmd_version.c - allo version: the version, its libraries, the formats that it reads and writes.
 */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/version.h"
#include "writers/writers.h"

#include <elfutils/version.h>
#include <libdeflate.h>
#include <sqlite3.h>
#include <stdio.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };
static const struct allo_example examples[] = {
	{ "allo version", "the version of Allotrope" },
	{ NULL, NULL },
};

/* The libraries inside the program.  A fix of one of them needs a new build, unless it is linked
 * dynamically. */
static void describe_libraries(struct allo_report *report)
{
	char elfutils[32], xxhash[32];
	const struct {
		const char *name, *version;
	} libraries[] = {
		{ "elfutils", elfutils },           { "libdeflate", LIBDEFLATE_VERSION_STRING },
		{ "sqlite", sqlite3_libversion() }, { "xxhash", xxhash },
		{ "zlib", zlibVersion() },          { "zstd", ZSTD_versionString() },
	};
	unsigned number = XXH_versionNumber();

	snprintf(elfutils, sizeof(elfutils), "0.%d", _ELFUTILS_VERSION);
	snprintf(xxhash, sizeof(xxhash), "%u.%u.%u", number / 10000, number / 100 % 100,
		 number % 100);
	allo_report_object(report, "libraries");
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		char line[64];

		snprintf(line, sizeof(line), "  %s %s", libraries[i].name, libraries[i].version);
		allo_report_line(report, "%s", line);
		allo_report_field_string(report, libraries[i].name, libraries[i].version);
	}
	allo_report_close(report);
}

static void describe(struct allo_report *report)
{
	allo_report_line(report, "allo " ALLO_VERSION);
	allo_report_field_string(report, "version", ALLO_VERSION);
	describe_libraries(report);
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
	.about =
		"Prints the version, and those of the libraries inside the program. --json adds the "
		"formats that it reads and writes.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.run = run_version,
};
