/* show_missing_symbols.c - see show_missing_symbols.h. */
#include "cli/show/show_missing_symbols.h"

#include "analysis/sites/known_code.h"
#include "analysis/sites/ownership.h"
#include "base/defer.h"
#include "cli/debian_packages.h"
#include "profile/naming.h"
#include "profile/offset_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of the program's module whose function `id` has no name; empty: it has one. */
static struct allo_text stripped_module(struct allo_ownership *ownership,
					const struct allo_profile *profile, allo_string_id id)
{
	struct allo_text name = allo_profile_text(profile, id);

	for (size_t i = 1; i < profile->modules.len && name.len > 0; i++) {
		struct allo_text path = allo_profile_text(profile, profile->modules.at[i].path);

		if (allo_is_offset_name(name, path) &&
		    allo_is_own_code(ownership, profile, name, ALLO_TEXT(""), path))
			return path;
	}
	return (struct allo_text){ "", 0 };
}

/* The path of a program or library that is no longer there, and whose function has no name; empty:
 * another row. */
static struct allo_text lost_module(const struct allo_profile *profile,
				    const struct allo_top_row *row)
{
	struct allo_text path = allo_profile_text(profile, row->key.module);
	char *copy;
	bool is_lost;

	if (row->key.function || !allo_text_starts(path, ALLO_TEXT("/")))
		return (struct allo_text){ "", 0 };
	copy = strndup(path.data, path.len);
	is_lost = copy && access(copy, F_OK) != 0;
	free(copy);
	return is_lost ? path : (struct allo_text){ "", 0 };
}

/* Programs that no package has installed were probably built here. */
static const char *command_for(struct allo_report *report, struct allo_text path, const char *root)
{
	struct allo_packaged file = { .path = path };

	allo_debian_packages_find(root, &file, 1);
	if (file.debug_name[0])
		return allo_report_string(report, "apt install %s", file.debug_name);
	if (allo_text_starts(path, ALLO_TEXT("/usr/")))
		return allo_report_string(report, "debuginfod-find debuginfo %.*s", (int)path.len,
					  path.data);
	return "compile it with -g";
}

void allo_report_missing_symbols(struct allo_report *report, const struct allo_profile *profile,
				 const struct allo_top *top, size_t count, const char *root)
{
	ALLO_DEFER(allo_ownership_done) struct allo_ownership ownership = { 0 };
	struct allo_text path = { "", 0 };
	const char *command = "--debug-dir DIR", *what = "was not found";

	for (size_t i = 0; i < count && path.len == 0; i++)
		path = stripped_module(&ownership, profile, top->rows.at[i].key.function);
	for (size_t i = 0; i < count && path.len == 0; i++)
		path = stripped_module(&ownership, profile, top->rows.at[i].via);
	if (path.len > 0) {
		command = command_for(report, path, root);
		what = "is stripped";
	}
	for (size_t i = 0; i < count && path.len == 0 && !root; i++)
		path = lost_module(profile, &top->rows.at[i]);
	if (path.len == 0)
		return;
	allo_report_wrapped(report,
			    allo_report_string(report, "%.*s %s: its functions have no names (%s)",
					       ALLO_TEXT_WHOLE(allo_basename(path)), what, command),
			    0);
	allo_report_object(report, "missing_symbols");
	allo_report_field_text(report, "module", path);
	allo_report_field_string(report, "command", command);
	allo_report_close(report);
}

void allo_report_missing_scripts(struct allo_report *report, const struct allo_profile *profile)
{
	bool is_node = false;

	for (size_t i = 1; i < profile->functions.len; i++) {
		struct allo_text name = allo_judged_name(profile, &profile->functions.at[i]);

		if (allo_is_script_function(name))
			return;
		is_node |= allo_text_equal(name, ALLO_TEXT("node::Start(int, char**)"));
	}
	if (is_node)
		allo_report_wrapped(report,
				    "JavaScript functions have no names: record with "
				    "NODE_OPTIONS=\"--perf-basic-prof "
				    "--interpreted-frames-native-stack\"",
				    0);
}
