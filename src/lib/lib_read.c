/* lib_read.c - profiles of any format; see allotrope.h. */
#include "base/defer.h"
#include "engine/view_text.h"
#include "lib/lib_common.h"

#include <stdio.h>
#include <stdlib.h>

struct allotrope_profile *allotrope_profile_new(struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	struct allotrope_profile *profile;

	if (err && err->code != ALLOTROPE_OK)
		return NULL;
	profile = calloc(1, sizeof(*profile));
	if (!profile) {
		allo_fail_memory(&failure);
		allo_lib_fail(err, &failure);
	}
	return profile;
}

void allotrope_profile_free(struct allotrope_profile *profile)
{
	if (!profile)
		return;
	allo_profile_done(&profile->data);
	allo_stack_builder_done(&profile->builder);
	allo_ranges_done(&profile->ranges);
	allo_vec_done(&profile->is_new_module);
	allo_vec_done(&profile->frames);
	allo_vec_done(&profile->lines);
	allo_vec_done(&profile->values);
	free(profile);
}

/* The engine shows progress in steps that begin and end; callers of the library see numbers only.
 */
static void ignore_begin(void *context, const char *title, const char *unit)
{
	(void)context;
	(void)title;
	(void)unit;
}

static void ignore_end(void *context)
{
	(void)context;
}

static bool parse_view(const struct allotrope_read_options *options, struct allo_view *view,
		       struct allo_error *err)
{
	*view = (struct allo_view){ .thread = options->thread };
	if (options->range && options->at)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "`range` and `at` exclude each other");
	return (!options->range ||
		allo_view_parse_range(view, allo_text_of(options->range), err)) &&
	       (!options->at || allo_view_parse_instant(view, allo_text_of(options->at), err));
}

bool allo_lib_source_options(const struct allotrope_read_options *options, struct allo_host *host,
			     struct allo_source_options *source, struct allotrope_error *err)
{
	struct allo_symbol_places *places = &source->symbols.places;
	struct allo_error failure = { 0 };

	*source = (struct allo_source_options){ 0 };
	if (!options)
		return true;
	if (!allo_lib_is_clear(options, err))
		return false;
	*host = (struct allo_host){ ignore_begin, options->progress, ignore_end, NULL,
				    options->context };
	source->format = options->from;
	source->no_symbols = options->no_symbols;
	source->no_cache = options->no_cache;
	source->host = options->progress ? host : NULL;
	places->root = options->sysroot;
	places->folders = options->debug_dirs;
	while (options->debug_dirs && options->debug_dirs[places->folder_count])
		places->folder_count++;
	return parse_view(options, &source->view, &failure) || allo_lib_fail(err, &failure);
}

/* Places keep the names that they were given, which are the caller's. */
static void forget_names(struct allo_notes *notes)
{
	for (int n = 0; n < ALLO_NOTES; n++)
		notes->of[n].first.file = NULL;
}

/* Reads a path, or bytes if there is no path. */
static struct allotrope_profile *read_new(const char *path, const struct allo_source_bytes *bytes,
					  const struct allotrope_read_options *options,
					  struct allotrope_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct allo_profile_request request = { .keep_accesses = options && options->keep_accesses,
						.wants_history = options && options->keep_history };
	struct allotrope_profile *profile = allotrope_profile_new(err);
	struct allo_source_options how;
	struct allo_error failure = { 0 };
	struct allo_host host;

	if (profile && allo_lib_source_options(options, &host, &how, err)) {
		if ((path ? allo_source_open(&source, path, &how, &failure)
			  : allo_source_open_bytes(&source, bytes, &how, &failure)) &&
		    allo_source_profile(&source, &request, &profile->data, &failure)) {
			forget_names(&profile->data.notes);
			return profile;
		}
		allo_lib_fail(err, &failure);
	}
	allotrope_profile_free(profile);
	return NULL;
}

struct allotrope_profile *allotrope_read_file(const char *path,
					      const struct allotrope_read_options *options,
					      struct allotrope_error *err)
{
	if (!path) {
		allo_lib_misuse(err, "no file is given to read");
		return NULL;
	}
	/* Only on a command line is this standard input. */
	if (strcmp(path, "-") == 0)
		path = "./-";
	return read_new(path, NULL, options, err);
}

struct allotrope_profile *allotrope_read_fd(int fd, const char *name,
					    const struct allotrope_read_options *options,
					    struct allotrope_error *err)
{
	char made_up[40];

	snprintf(made_up, sizeof(made_up), "file descriptor %d", fd);
	return read_new(NULL,
			&(struct allo_source_bytes){ .name = name ? name : made_up, .fd = fd },
			options, err);
}

struct allotrope_profile *allotrope_read_memory(const void *data, size_t len, const char *name,
						const struct allotrope_read_options *options,
						struct allotrope_error *err)
{
	if (!data && len > 0) {
		allo_lib_misuse(err, "no memory is given to read");
		return NULL;
	}
	return read_new(NULL,
			&(struct allo_source_bytes){ .name = name ? name : "memory",
						     .data = data ? data : "",
						     .len = len },
			options, err);
}

static size_t index_of_note(const struct allo_notes *notes, size_t index)
{
	for (size_t n = 0; n < ALLO_NOTES; n++) {
		if (notes->of[n].count > 0 && index-- == 0)
			return n;
	}
	return ALLO_NOTES;
}

size_t allotrope_note_count(const struct allotrope_profile *profile)
{
	size_t count = 0;

	for (int n = 0; profile && n < ALLO_NOTES; n++)
		count += profile->data.notes.of[n].count > 0;
	return count;
}

bool allotrope_get_note(const struct allotrope_profile *profile, size_t index,
			struct allotrope_note *note)
{
	size_t n = profile ? index_of_note(&profile->data.notes, index) : ALLO_NOTES;

	if (n == ALLO_NOTES || !note)
		return false;
	*note = (struct allotrope_note){
		.name = allo_note_kinds[n].name,
		.text = allo_note_text(&profile->data.notes, (enum allo_note)n),
		.consequence = allo_note_kinds[n].consequence,
		.count = profile->data.notes.of[n].count,
		.line = profile->data.notes.of[n].first.line,
		.byte = profile->data.notes.of[n].first.byte,
		.is_problem = allo_note_kinds[n].is_problem,
	};
	return true;
}
