/*
 * symbols.h - names for the frames of a profile that has only addresses.
 *
 * Names come from the files of the profile's modules on this machine, if they are the same as when
 * the profile was recorded; the build-id tells.  Addresses are those of calls, as in the profile,
 * not return addresses.
 */
#ifndef ALLO_SYMBOLS_SYMBOLS_H
#define ALLO_SYMBOLS_SYMBOLS_H

#include "base/io/input.h"
#include "profile/profile.h"
#include "symbols/module_files.h"

/* The source of a module's names, or the reason why there are none; the best comes last. */
enum allo_symbol_source {
	ALLO_SYMBOLS_NOT_ASKED,   /* no frame needs a name */
	ALLO_SYMBOLS_NOT_FOUND,   /* the file does not exist */
	ALLO_SYMBOLS_UNREADABLE,  /* not a program or library, or no permission */
	ALLO_SYMBOLS_OTHER_BUILD, /* its build-id differs from the module's */
	ALLO_SYMBOLS_CHANGED,     /* without build-ids: it is newer than the profile */
	ALLO_SYMBOLS_NONE,        /* stripped completely */
	ALLO_SYMBOLS_EXPORTED,    /* stripped except for exported functions */
	ALLO_SYMBOLS_NAMES,       /* the full symbol table */
	ALLO_SYMBOLS_LINES,       /* debug information */
	ALLO_SYMBOLS_STORED,      /* all frames have names already */
};

/* A text for people, "not found", and a key for programs, "not_found". */
const char *allo_symbol_source_text(enum allo_symbol_source source);
const char *allo_symbol_source_key(enum allo_symbol_source source);

struct allo_module_symbols {
	enum allo_symbol_source source;
	size_t frames;           /* of the module */
	size_t stored;           /* frames that already had a name */
	size_t named, with_line; /* frames that have a symbol's name, and a line, now */
	allo_string_id build_id; /* of the file, if it is a different build; 0: none */
};

/* Places to search; all zeros: the recorded paths. */
struct allo_symbol_options {
	struct allo_symbol_places places;
	bool has_no_cache;   /* does not read or write the cache of names */
	bool has_no_offsets; /* does not name functions without symbols by their offsets */
};

/* All zeros is empty. */
struct allo_symbols {
	ALLO_VEC(struct allo_module_symbols) modules; /* by id */
};

void allo_symbols_done(struct allo_symbols *symbols);

/*
 * Names all frames that have an address and no lines; functions without symbols by their offsets
 * (profile/offset_name.h).  `symbols`, which may be NULL, gets a report
 * per module.  `progress`, which may be NULL, counts frames.  A missing or different file is not a
 * failure; only lack of memory is.
 */
bool allo_symbols_add(struct allo_profile *profile, const struct allo_symbol_options *options,
		      const struct allo_progress *progress, struct allo_symbols *symbols,
		      struct allo_error *err);

#endif
