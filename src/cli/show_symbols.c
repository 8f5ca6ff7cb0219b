/* show_symbols.c - see show_symbols.h. */
#include "cli/show_symbols.h"

#include "base/defer.h"
#include "cli/table.h"

#include <stdio.h>

/* What strippers leave over may well have been enough. */
static bool lacks_names(const struct allo_module_symbols *module)
{
	return module->source != ALLO_SYMBOLS_NOT_ASKED && module->named < module->frames &&
	       module->source < ALLO_SYMBOLS_NAMES;
}

static bool add_row(struct allo_table *table, const struct allo_profile *profile, allo_module_id id,
		    const struct allo_module_symbols *module, struct allo_error *err)
{
	struct allo_text path = allo_profile_text(profile, profile->modules.at[id].path);
	struct allo_text build_id = allo_profile_text(profile, profile->modules.at[id].build_id);
	const struct allo_text name[] = { ALLO_TEXT_INIT("    "), path };
	const struct allo_text build[] = { ALLO_TEXT_INIT("build-id "), build_id };
	char frames[64];

	snprintf(frames, sizeof(frames), "%zu of %zu frames named", module->named, module->frames);
	return allo_table_join(table, name, 2, err) && allo_table_string(table, frames, err) &&
	       allo_table_string(table, allo_symbol_source_text(module->source), err) &&
	       (build_id.len ? allo_table_join(table, build, 2, err)
			     : allo_table_string(table, "no build-id", err));
}

bool allo_show_symbols(struct allo_output *out, const struct allo_style *style,
		       const struct allo_profile *profile, const struct allo_symbols *symbols,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 4, .is_left = { true, true, true, true } };

	for (size_t i = 1; i < profile->modules.len && i < symbols->modules.len; i++) {
		if (lacks_names(&symbols->modules.at[i]) &&
		    !add_row(&table, profile, (allo_module_id)i, &symbols->modules.at[i], err))
			return false;
	}
	if (table.cells.len > 0)
		allo_output_printf(out, "  %sno symbols%s\n", style->bold, style->reset);
	allo_table_print(&table, out);
	return true;
}

void allo_show_json_symbols(struct allo_json_out *json, const struct allo_profile *profile,
			    const struct allo_symbols *symbols)
{
	allo_json_out_key(json, "symbols");
	allo_json_out_begin(json, '[');
	for (size_t i = 1; i < profile->modules.len && i < symbols->modules.len; i++) {
		const struct allo_module_symbols *module = &symbols->modules.at[i];

		if (module->source == ALLO_SYMBOLS_NOT_ASKED)
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "module",
					  allo_profile_text(profile, profile->modules.at[i].path));
		allo_json_out_member_text(
			json, "build_id",
			allo_profile_text(profile, profile->modules.at[i].build_id));
		allo_json_out_member_text(json, "source",
					  allo_text_of(allo_symbol_source_key(module->source)));
		allo_json_out_member_text(json, "found_build_id",
					  allo_profile_text(profile, module->build_id));
		allo_json_out_member_u64(json, "frames", module->frames);
		allo_json_out_member_u64(json, "named", module->named);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}
