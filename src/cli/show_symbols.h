/*
 * show_symbols.h - which modules had names for their frames.
 */
#ifndef ALLO_CLI_SHOW_SYMBOLS_H
#define ALLO_CLI_SHOW_SYMBOLS_H

#include "base/json_write.h"
#include "base/output.h"
#include "cli/terminal.h"
#include "symbols/symbols.h"

/* Lines of `allo info` about modules that lack names, and why. */
bool allo_show_symbols(struct allo_output *out, const struct allo_style *style,
		       const struct allo_profile *profile, const struct allo_symbols *symbols,
		       struct allo_error *err);

/* A member "symbols" about all modules. */
void allo_show_json_symbols(struct allo_json_out *json, const struct allo_profile *profile,
			    const struct allo_symbols *symbols);

#endif
