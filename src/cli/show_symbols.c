/* show_symbols.c - see show_symbols.h. */
#include "cli/show_symbols.h"

#include "base/defer.h"
#include "report/table.h"

#include <stdio.h>

enum lack { LACKS_NOTHING, LACKS_LINES, LACKS_NAMES };

void allo_symbol_report_done(struct allo_symbol_report *report)
{
	allo_vec_done(&report->packages);
}

/* What strippers leave over may well have been enough.  Debug information may be that of a library
 * that was linked in, and assembly code seldom has any. */
static enum lack lack_of(const struct allo_module_symbols *module)
{
	bool has_few_lines = module->with_line < module->frames / 2;

	if (module->source == ALLO_SYMBOLS_NOT_ASKED || module->source == ALLO_SYMBOLS_STORED)
		return LACKS_NOTHING;
	if (module->named < module->frames && module->source < ALLO_SYMBOLS_NAMES)
		return LACKS_NAMES;
	return (module->with_line < module->frames && module->source < ALLO_SYMBOLS_LINES) ||
			       has_few_lines
		       ? LACKS_LINES
		       : LACKS_NOTHING;
}

static const char *reason_of(const struct allo_module_symbols *module)
{
	return module->source == ALLO_SYMBOLS_LINES ? "lines of a part only"
						    : allo_symbol_source_text(module->source);
}

static size_t module_count(const struct allo_symbol_report *report)
{
	return report->symbols->modules.len < report->profile->modules.len
		       ? report->symbols->modules.len
		       : report->profile->modules.len;
}

static struct allo_text path_of(const struct allo_symbol_report *report, size_t module)
{
	return allo_profile_text(report->profile, report->profile->modules.at[module].path);
}

static struct allo_text build_id_of(const struct allo_symbol_report *report, size_t module)
{
	return allo_profile_text(report->profile, report->profile->modules.at[module].build_id);
}

bool allo_symbol_report_init(struct allo_symbol_report *report, const struct allo_profile *profile,
			     const struct allo_symbols *symbols, const char *root,
			     struct allo_error *err)
{
	ALLO_VEC(struct allo_packaged) wanted = { 0 };
	ALLO_VEC(size_t) modules = { 0 };
	bool ok;

	*report = (struct allo_symbol_report){ .profile = profile, .symbols = symbols };
	ok = allo_vec_cover(&report->packages, module_count(report));
	for (size_t i = 1; i < module_count(report) && ok; i++) {
		struct allo_packaged file = { .path = path_of(report, i) };

		if (lack_of(&symbols->modules.at[i]) != LACKS_NOTHING)
			ok = allo_vec_append(&wanted, &file, 1) && allo_vec_append(&modules, &i, 1);
	}
	if (ok)
		allo_debian_packages_find(root, wanted.at, wanted.len);
	for (size_t i = 0; i < wanted.len && ok; i++)
		report->packages.at[modules.at[i]] = wanted.at[i];
	allo_vec_done(&wanted);
	allo_vec_done(&modules);
	return ok || allo_fail_memory(err);
}

/* Text. */

static bool add_row(struct allo_table *table, const struct allo_symbol_report *report, size_t id,
		    struct allo_error *err)
{
	const struct allo_module_symbols *module = &report->symbols->modules.at[id];
	const struct allo_text name[] = { ALLO_TEXT_INIT("    "), path_of(report, id) };
	const struct allo_text build[] = { ALLO_TEXT_INIT("build-id "), build_id_of(report, id) };
	char frames[96];

	snprintf(frames, sizeof(frames), "%zu of %zu frames named, %zu with a line", module->named,
		 module->frames, module->with_line);
	return allo_table_join(table, name, 2, err) && allo_table_string(table, frames, err) &&
	       allo_table_string(table, reason_of(module), err) &&
	       (build[1].len ? allo_table_join(table, build, 2, err)
			     : allo_table_string(table, "no build-id", err));
}

static bool show_lack(struct allo_output *out, const struct allo_style *style,
		      const struct allo_symbol_report *report, enum lack lack,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 4, .is_left = { true, true, true, true } };

	for (size_t i = 1; i < module_count(report); i++) {
		if (lack_of(&report->symbols->modules.at[i]) == lack &&
		    !add_row(&table, report, i, err))
			return false;
	}
	if (table.cells.len > 0)
		allo_output_printf(out, "  %s%s%s\n", style->bold,
				   lack == LACKS_NAMES ? "no symbols" : "no lines", style->reset);
	allo_table_print(&table, out);
	return true;
}

/* What would help a module: the package with its debug information; else whoever has it by its
 * build-id; else whoever has built it. */
static bool add_advice(struct allo_table *table, const struct allo_symbol_report *report, size_t id,
		       struct allo_error *err)
{
	const char *package = report->packages.at[id].debug_name;
	struct allo_text build_id = build_id_of(report, id);
	const struct allo_text install[] = { ALLO_TEXT_INIT("    apt install "),
					     allo_text_of(package) };
	const struct allo_text fetch[] = { ALLO_TEXT_INIT("    debuginfod-find debuginfo "),
					   build_id };
	const struct allo_text name[] = { ALLO_TEXT_INIT("for "), path_of(report, id) };
	bool ok;

	if (package[0] != '\0')
		ok = allo_table_join(table, install, 2, err);
	else if (build_id.len > 0)
		ok = allo_table_join(table, fetch, 2, err);
	else
		ok = allo_table_string(table, "    compile with -g, do not strip", err);
	return ok && allo_table_join(table, name, 2, err);
}

static bool show_advice(struct allo_output *out, const struct allo_style *style,
			const struct allo_symbol_report *report, struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 2, .is_left = { true, true } };

	for (size_t i = 1; i < module_count(report); i++) {
		if (lack_of(&report->symbols->modules.at[i]) != LACKS_NOTHING &&
		    !add_advice(&table, report, i, err))
			return false;
	}
	if (table.cells.len > 0)
		allo_output_printf(out,
				   "  %sto have them%s, or --debug-dir or --sysroot with what is "
				   "elsewhere\n",
				   style->bold, style->reset);
	allo_table_print(&table, out);
	return true;
}

bool allo_show_symbols(struct allo_output *out, const struct allo_style *style,
		       const struct allo_symbol_report *report, struct allo_error *err)
{
	return show_lack(out, style, report, LACKS_NAMES, err) &&
	       show_lack(out, style, report, LACKS_LINES, err) &&
	       show_advice(out, style, report, err);
}

/* JSON. */

void allo_show_json_symbols(struct allo_json_out *json, const struct allo_symbol_report *report)
{
	allo_json_out_key(json, "symbols");
	allo_json_out_begin(json, '[');
	for (size_t i = 1; i < module_count(report); i++) {
		const struct allo_module_symbols *module = &report->symbols->modules.at[i];

		if (module->source == ALLO_SYMBOLS_NOT_ASKED)
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "module", path_of(report, i));
		allo_json_out_member_text(json, "build_id", build_id_of(report, i));
		allo_json_out_member_text(json, "source",
					  allo_text_of(allo_symbol_source_key(module->source)));
		allo_json_out_member_text(json, "found_build_id",
					  allo_profile_text(report->profile, module->build_id));
		allo_json_out_member_u64(json, "frames", module->frames);
		allo_json_out_member_u64(json, "named", module->named);
		allo_json_out_member_u64(json, "with_line", module->with_line);
		allo_json_out_member_u64(json, "stored", module->stored);
		allo_json_out_member_text(json, "install",
					  allo_text_of(report->packages.at[i].debug_name));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}
