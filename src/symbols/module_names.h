/*
 * module_names.h - names for the addresses of one module, on any core.
 *
 * Modules have nothing to do with each other, so each is looked up into a profile of its own, of
 * which only strings and functions are of use.
 */
#ifndef ALLO_SYMBOLS_MODULE_NAMES_H
#define ALLO_SYMBOLS_MODULE_NAMES_H

#include "symbols/function_names.h"
#include "symbols/module_files.h"
#include "symbols/source_lines.h"

/* What a module has to tell; the best last. */
enum allo_symbol_source {
	ALLO_SYMBOLS_NOT_ASKED,   /* no frame wanted a name */
	ALLO_SYMBOLS_NOT_FOUND,   /* there is no such file */
	ALLO_SYMBOLS_UNREADABLE,  /* a file, but not a program or library, or not for us */
	ALLO_SYMBOLS_OTHER_BUILD, /* its build-id is not the one of the module */
	ALLO_SYMBOLS_CHANGED,     /* without build-ids: it has changed since the profile began */
	ALLO_SYMBOLS_NONE,        /* stripped of everything */
	ALLO_SYMBOLS_EXPORTED,    /* stripped but for what it exports */
	ALLO_SYMBOLS_NAMES,       /* all functions */
	ALLO_SYMBOLS_LINES,       /* debug information */
	ALLO_SYMBOLS_STORED,      /* all frames had names before */
};

/* A frame that wants a name. */
struct allo_wanted {
	allo_string_id path, build_id; /* of its module: loaded twice, a file is read once */
	allo_module_id module;
	uint64_t address; /* in the file, once that is known */
	allo_frame_id frame;
};

/* By path, build-id, address and frame. */
void allo_wanted_sort(struct allo_wanted *wanted, size_t count);

struct allo_module_names {
	/* Given. */
	const struct allo_profile *profile; /* whose modules they are: no others may be added */
	const struct allo_symbol_places *places;
	bool has_no_cache;
	struct allo_text path, build_id;
	struct allo_wanted *wanted; /* of one file */
	size_t count;
	struct allo_spot_progress progress;

	/* Found. */
	enum allo_symbol_source source;
	struct allo_build_id other_build; /* of the file, when it is another one */
	struct allo_profile names;
	struct allo_spots spots; /* in the order of `wanted`, with lines of `names` */
	bool has_saved;          /* something to the cache */
	struct allo_error err;
};

void allo_module_names_done(struct allo_module_names *module);

/* A job: sees to it that all spots that can be have lines. */
void allo_module_names_find(void *module);

#endif
