/* show_missing_symbols.c - see show_missing_symbols.h. */
#include "cli/show_missing_symbols.h"

#include "analysis/ownership.h"
#include "base/defer.h"
#include "cli/debian_packages.h"
#include "profile/naming.h"
#include "profile/offset_name.h"

/* The path of the program's module whose function has no name; empty: it has one. */
static struct allo_text stripped_module(struct allo_ownership *ownership,
					const struct allo_profile *profile,
					const struct allo_top_row *row)
{
	struct allo_text name = allo_profile_text(profile, row->key.function);

	for (size_t i = 1; i < profile->modules.len && name.len > 0; i++) {
		struct allo_text path = allo_profile_text(profile, profile->modules.at[i].path);

		if (allo_is_offset_name(name, path) &&
		    allo_is_own_code(ownership, profile, name, ALLO_TEXT(""), path))
			return path;
	}
	return (struct allo_text){ "", 0 };
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
	const char *command;

	for (size_t i = 0; i < count && path.len == 0; i++)
		path = stripped_module(&ownership, profile, &top->rows.at[i]);
	if (path.len == 0)
		return;
	command = command_for(report, path, root);
	allo_report_put_cut(report,
			    allo_text_of(allo_report_string(
				    report, "%.*s is stripped: its functions have no names (%s)",
				    ALLO_TEXT_ARG(allo_basename(path)), command)),
			    report->options.max_width);
	allo_report_end_line(report);
	allo_report_object(report, "missing_symbols");
	allo_report_field_text(report, "module", path);
	allo_report_field_string(report, "command", command);
	allo_report_close(report);
}
