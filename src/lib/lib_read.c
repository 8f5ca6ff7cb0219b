/* lib_read.c - profiles of any format; see allotrope.h. */
#include "lib/lib_common.h"
#include "readers/readers.h"
#include "writers/writers.h"

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

/* Where a profile comes from: the first of these that is set. */
struct source {
	const char *path;
	const void *data;
	size_t len;
	int fd;
	const char *name;
};

static bool read_source(const struct source *source, const struct allo_read_options *options,
			struct allo_profile *profile, struct allo_error *err)
{
	if (source->path)
		return allo_read_file(source->path, options, profile, err);
	if (source->data)
		return allo_read_memory(source->name, source->data, source->len, options, profile,
					err);
	return allo_read_fd(source->fd, source->name, options, profile, err);
}

/* Places keep the names that they were given, which are the caller's. */
static void forget_names(struct allo_notes *notes)
{
	for (int n = 0; n < ALLO_NOTES; n++)
		notes->of[n].first.file = NULL;
}

static bool read_into(struct allotrope_profile *profile, const struct source *source,
		      const struct allotrope_read_options *options, struct allotrope_error *err)
{
	struct allo_progress progress = { options->progress, options->context };
	struct allo_read_options reading = { .from = options->from,
					     .keep_accesses = options->keep_accesses,
					     .wants_history = options->keep_history,
					     .explain_unknown = allo_writer_explain_unknown,
					     .progress = options->progress ? &progress : NULL };
	struct allo_error failure = { 0 };

	if (!allo_lib_is_clear(options, err))
		return false;
	if (!read_source(source, &reading, &profile->data, &failure))
		return allo_lib_fail(err, &failure);
	forget_names(&profile->data.notes);
	return true;
}

static struct allotrope_profile *read_new(const struct source *source,
					  const struct allotrope_read_options *options,
					  struct allotrope_error *err)
{
	static const struct allotrope_read_options defaults;
	struct allotrope_profile *profile = allotrope_profile_new(err);

	if (profile && read_into(profile, source, options ? options : &defaults, err))
		return profile;
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
	return read_new(&(struct source){ .path = path }, options, err);
}

struct allotrope_profile *allotrope_read_fd(int fd, const char *name,
					    const struct allotrope_read_options *options,
					    struct allotrope_error *err)
{
	char made_up[40];

	snprintf(made_up, sizeof(made_up), "file descriptor %d", fd);
	return read_new(&(struct source){ .fd = fd, .name = name ? name : made_up }, options, err);
}

struct allotrope_profile *allotrope_read_memory(const void *data, size_t len, const char *name,
						const struct allotrope_read_options *options,
						struct allotrope_error *err)
{
	if (!data && len > 0) {
		allo_lib_misuse(err, "no memory is given to read");
		return NULL;
	}
	return read_new(&(struct source){ .data = data ? data : "",
					  .len = len,
					  .name = name ? name : "memory" },
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
		.what = allo_note_what(&profile->data.notes, (enum allo_note)n),
		.consequence = allo_note_kinds[n].consequence,
		.count = profile->data.notes.of[n].count,
		.line = profile->data.notes.of[n].first.line,
		.byte = profile->data.notes.of[n].first.byte,
		.is_problem = allo_note_kinds[n].is_problem,
	};
	return true;
}
