/*
 * show_symbols.h - which modules had names for their frames, and what to install for those that had
 * not.
 */
#ifndef ALLO_CLI_SHOW_SYMBOLS_H
#define ALLO_CLI_SHOW_SYMBOLS_H

#include "base/json_write.h"
#include "base/output.h"
#include "cli/debian_packages.h"
#include "report/terminal.h"
#include "symbols/symbols.h"

/* What is told of a module; all zeros is empty. */
struct allo_symbol_report {
	const struct allo_profile *profile;
	const struct allo_symbols *symbols;
	ALLO_VEC(struct allo_packaged) packages; /* by module */
};

void allo_symbol_report_done(struct allo_symbol_report *report);

/* Finds out what modules that lack names or lines belong to; `root` is that of the machine that was
 * recorded, or NULL.  Profile and symbols stay as long. */
bool allo_symbol_report_init(struct allo_symbol_report *report, const struct allo_profile *profile,
			     const struct allo_symbols *symbols, const char *root,
			     struct allo_error *err);

/* Lines of `allo info` about modules that lack names or lines, why, and what helps. */
bool allo_show_symbols(struct allo_output *out, const struct allo_style *style,
		       const struct allo_symbol_report *report, struct allo_error *err);

/* A member "symbols" about all modules. */
void allo_show_json_symbols(struct allo_json_out *json, const struct allo_symbol_report *report);

#endif
