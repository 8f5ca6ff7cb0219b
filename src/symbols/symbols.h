/*
 * symbols.h - names for the frames of a profile that has addresses only.
 *
 * Names come from the files that the profile's modules were, as they lie on this machine, if they
 * are still the same: a build-id tells.  Addresses are those of calls, not of returns, as the
 * profile has them.
 */
#ifndef ALLO_SYMBOLS_SYMBOLS_H
#define ALLO_SYMBOLS_SYMBOLS_H

#include "base/input.h"
#include "profile/profile.h"
#include "symbols/module_names.h"

/* For people, "not found", and for programs, "not_found". */
const char *allo_symbol_source_text(enum allo_symbol_source source);
const char *allo_symbol_source_key(enum allo_symbol_source source);

struct allo_module_symbols {
	enum allo_symbol_source source;
	size_t frames;           /* all that it has */
	size_t stored;           /* that had a name before */
	size_t named, with_line; /* that have a name and a line now */
	allo_string_id build_id; /* of the file, when it is another one; 0: it has none */
};

/* Where to look; all zeros is where modules were when they were recorded. */
struct allo_symbol_options {
	struct allo_symbol_places places;
	bool has_no_cache; /* neither uses names that were found before nor keeps them */
};

/* All zeros is empty. */
struct allo_symbols {
	ALLO_VEC(struct allo_module_symbols) modules; /* by id */
};

void allo_symbols_done(struct allo_symbols *symbols);

/*
 * Names all frames that have an address and no lines.  `symbols`, which may be NULL, gets
 * what there was to know; `progress`, which may be NULL too, is told about frames.  Files that are
 * not there or not right are no failure: only lack of memory is.
 */
bool allo_symbols_add(struct allo_profile *profile, const struct allo_symbol_options *options,
		      const struct allo_progress *progress, struct allo_symbols *symbols,
		      struct allo_error *err);

#endif
