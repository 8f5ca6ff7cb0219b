/* readers.c - the table of input formats; finds the reader of a file and runs it. */
#include "readers/readers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/view.h"

#include <stdio.h>
#include <sys/stat.h>

extern const struct allo_reader allo_read_bpftrace;
extern const struct allo_reader allo_read_chrome_trace;
extern const struct allo_reader allo_read_dhat;
extern const struct allo_reader allo_read_dtrace;
extern const struct allo_reader allo_read_folded;
extern const struct allo_reader allo_read_gperftools;
extern const struct allo_reader allo_read_heaptrack;
extern const struct allo_reader allo_read_jemalloc;
extern const struct allo_reader allo_read_jfr;
extern const struct allo_reader allo_read_legacy_pprof;
extern const struct allo_reader allo_read_massif;
extern const struct allo_reader allo_read_memray;
extern const struct allo_reader allo_read_perf;
extern const struct allo_reader allo_read_pprof;
extern const struct allo_reader allo_read_rheaper;
extern const struct allo_reader allo_read_spall;
extern const struct allo_reader allo_read_v8;

/* One to a line. */
/* clang-format off */
const struct allo_reader *const allo_readers[] = {
	&allo_read_allo,
	&allo_read_bpftrace,
	&allo_read_chrome_trace,
	&allo_read_dhat,
	&allo_read_dtrace,
	&allo_read_folded,
	&allo_read_gperftools,
	&allo_read_heaptrack,
	&allo_read_jemalloc,
	&allo_read_jfr,
	&allo_read_legacy_pprof,
	&allo_read_massif,
	&allo_read_memray,
	&allo_read_perf,
	&allo_read_pprof,
	&allo_read_rheaper,
	&allo_read_spall,
	&allo_read_v8,
	NULL,
};
/* clang-format on */

/* "dhat, folded, pprof" */
static void list_names(char *out, size_t room)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; allo_readers[i] && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s", i ? ", " : "",
					 allo_readers[i]->name);
}

static bool is_program(struct allo_text head)
{
	return allo_text_starts(head, ALLO_TEXT("\177ELF"));
}

/* Reports an unknown format, with the caller's explanation if it has one. */
static void fail_unknown(const char *file, struct allo_text head,
			 const struct allo_read_options *options, struct allo_error *err)
{
	const char *from = options->from;
	char names[200];

	list_names(names, sizeof(names));
	if (options->explain_unknown)
		options->explain_unknown(file, from, head, err);
	if (allo_failed(err)) {
		allo_hint(err, "known formats: %s", names);
	} else if (from) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "cannot read the format \"%s\"", from);
		allo_hint(err, "known formats: %s", names);
	} else {
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = file },
			  "is not a profile of a known format");
		if (is_program(head))
			allo_hint(err, "it is a program or a library; 'allo run PROGRAM' records "
				       "one");
		allo_hint(err, "'allo formats' lists the formats; --from FORMAT reports the first "
			       "error in the file");
	}
}

static const struct allo_reader *find_by_name(const char *file,
					      const struct allo_read_options *options,
					      struct allo_error *err)
{
	for (size_t i = 0; allo_readers[i]; i++) {
		if (strcmp(allo_readers[i]->name, options->from) == 0)
			return allo_readers[i];
	}
	fail_unknown(file, (struct allo_text){ 0 }, options, err);
	return NULL;
}

/* The reader that is most sure; the first of equals. */
static const struct allo_reader *find_by_content(struct allo_input *in,
						 const struct allo_read_options *options,
						 struct allo_error *err)
{
	struct allo_text head = { in->next, allo_input_unread(in) };
	const struct allo_reader *best = NULL;
	enum allo_guess best_guess = ALLO_NO;

	/* The window may hold more, but the verdict must not depend on how the input arrives. */
	if (head.len > ALLO_HEAD_SIZE)
		head.len = ALLO_HEAD_SIZE;
	ALLO_ASSERT(head.len > 0);
	/* Some bytes of a program look like lines of a text format. */
	for (size_t i = 0; allo_readers[i] && !is_program(head); i++) {
		enum allo_guess guess = allo_readers[i]->probe(head);

		if (guess > best_guess) {
			best = allo_readers[i];
			best_guess = guess;
		}
	}
	if (!best)
		fail_unknown(in->name, head, options, err);
	return best;
}

static size_t portion_size(const struct allo_drain *drain)
{
	return drain->samples ? *drain->samples : ALLO_PORTION_SAMPLES;
}

bool allo_reader_drain(const struct allo_read_options *options, struct allo_profile *profile,
		       struct allo_stack_builder *builder, struct allo_error *err)
{
	if (!options->drain || allo_profile_sample_count(profile) < portion_size(options->drain))
		return true;
	if (!options->drain->take(options->drain->context, profile, err))
		return false;
	allo_profile_clear_samples(profile);
	allo_stack_builder_forget(builder);
	return true;
}

bool allo_bad_parts_check(const struct allo_bad_parts *skipped, uint64_t good,
			  struct allo_error *err)
{
	if (skipped->count <= good)
		return true;
	if (!allo_failed(err))
		*err = skipped->first;
	return false;
}

bool allo_reader_skip(const struct allo_read_options *options, struct allo_bad_parts *skipped,
		      uint64_t good, enum allo_note note, struct allo_notes *notes,
		      struct allo_error *err)
{
	enum { ALWAYS = 1000 };

	ALLO_ASSERT(allo_failed(&skipped->first));
	allo_note(notes, note, skipped->count++ == 0 ? skipped->first.pos : ALLO_NOWHERE);
	if (options->is_strict)
		return allo_bad_parts_check(skipped, 0, err);
	return skipped->count <= ALWAYS || allo_bad_parts_check(skipped, good, err);
}

const struct allo_reader *allo_reader_for_input(struct allo_input *in,
						const struct allo_read_options *options,
						struct allo_error *err)
{
	if (allo_input_unread(in) == 0) {
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name }, "is empty");
		return NULL;
	}
	return options->from ? find_by_name(in->name, options, err)
			     : find_by_content(in, options, err);
}

static bool fail_view(const char *file, const struct allo_reader *reader, struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file },
		  "has the format %s, which cannot be read in parts", reader->name);
	return allo_hint(err, "only recordings of 'allo run' have parts");
}

static void begin_profile(struct allo_profile *profile, const struct allo_reader *reader,
			  const struct allo_read_options *options)
{
	ALLO_ASSERT(allo_profile_sample_count(profile) == 0 && profile->metrics.len == 0);
	profile->meta.format = reader->name;
	profile->meta.has_addresses = reader->has_addresses;
	profile->is_portion = options->drain != NULL;
}

bool allo_read_input(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err)
{
	static const struct allo_read_options defaults;
	const struct allo_reader *reader;

	if (!options)
		options = &defaults;
	reader = allo_reader_for_input(in, options, err);
	if (!reader)
		return false;
	if (options->view && allo_view_is_partial(options->view) && !reader->has_views)
		return fail_view(in->name, reader, err);
	if (reader->is_binary)
		allo_input_set_binary(in);
	begin_profile(profile, reader, options);
	return reader->read(in, options, profile, err) && allo_profile_validate(profile, err);
}

/* Directories. */

bool allo_is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const struct allo_reader *allo_reader_for_directory(const char *path,
						    const struct allo_read_options *options,
						    struct allo_error *err)
{
	const struct allo_reader *reader = NULL;
	struct allo_pos pos = { .file = path };

	if (options->from) {
		reader = find_by_name(path, options, err);
		if (!reader || reader->read_directory)
			return reader;
		allo_fail(err, ALLO_USAGE, pos, "is a directory; the format %s is a single file",
			  options->from);
		return NULL;
	}
	for (size_t i = 0; allo_readers[i]; i++) {
		if (allo_readers[i]->read_directory && allo_readers[i]->probe_directory(path))
			return allo_readers[i];
	}
	allo_fail(err, ALLO_IO, pos, "is a directory, not a profile");
	allo_hint(err, "a directory must have recordings (*.allo) of 'allo run', or events/ and "
		       "backtraces/ of rheaper");
	return NULL;
}

static bool read_directory(const char *path, const struct allo_read_options *options,
			   struct allo_profile *profile, struct allo_error *err)
{
	static const struct allo_read_options defaults;
	const struct allo_reader *reader;

	if (!options)
		options = &defaults;
	reader = allo_reader_for_directory(path, options, err);
	if (!reader)
		return false;
	if (options->view && allo_view_is_partial(options->view) && !reader->has_views)
		return fail_view(path, reader, err);
	begin_profile(profile, reader, options);
	return reader->read_directory(path, options, profile, err) &&
	       allo_profile_validate(profile, err);
}

bool allo_read_file(const char *path, const struct allo_read_options *options,
		    struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };

	if (allo_is_directory(path))
		return read_directory(path, options, profile, err);
	return allo_input_open_watched(&in, path, options ? options->progress : NULL,
				       options ? options->watch : NULL, err) &&
	       allo_read_input(&in, options, profile, err);
}

bool allo_read_fd(int fd, const char *name, const struct allo_read_options *options,
		  struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };

	return allo_input_open_fd(&in, fd, name, options ? options->progress : NULL, err) &&
	       allo_read_input(&in, options, profile, err);
}

bool allo_read_memory(const char *name, const void *data, size_t len,
		      const struct allo_read_options *options, struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };

	return allo_input_open_memory(&in, name, data, len, err) &&
	       allo_read_input(&in, options, profile, err);
}
