/* readers.c - the table of formats that can be read; see readers.h. */
#include "readers/readers.h"

#include "base/defer.h"
#include "replay/view.h"

#include <stdio.h>
#include <sys/stat.h>

extern const struct allo_reader allo_read_allo;
extern const struct allo_reader allo_read_bpftrace;
extern const struct allo_reader allo_read_chrome_trace;
extern const struct allo_reader allo_read_dhat;
extern const struct allo_reader allo_read_dtrace;
extern const struct allo_reader allo_read_folded;
extern const struct allo_reader allo_read_gperftools;
extern const struct allo_reader allo_read_heaptrack;
extern const struct allo_reader allo_read_jemalloc;
extern const struct allo_reader allo_read_massif;
extern const struct allo_reader allo_read_perf;
extern const struct allo_reader allo_read_pprof;
extern const struct allo_reader allo_read_rheaper;
extern const struct allo_reader allo_read_spall;

const struct allo_reader *const allo_readers[] = {
	&allo_read_allo,       &allo_read_bpftrace,  &allo_read_chrome_trace,
	&allo_read_dhat,       &allo_read_dtrace,    &allo_read_folded,
	&allo_read_gperftools, &allo_read_heaptrack, &allo_read_jemalloc,
	&allo_read_massif,     &allo_read_perf,      &allo_read_pprof,
	&allo_read_rheaper,    &allo_read_spall,     NULL,
};

/* Forms that are only written, and what stands near the beginning of such a file. */
static const struct written_only {
	const char *name;
	struct allo_text mark, second_mark; /* the latter may be empty */
} written_only[] = {
	{ "callgrind", ALLO_TEXT_INIT("# callgrind format"), ALLO_TEXT_INIT("") },
	{ "callgrind", ALLO_TEXT_INIT("events:"), ALLO_TEXT_INIT("\nfn=") }, /* as pprof has it */
	{ "csv", ALLO_TEXT_INIT(",function,file,line,module,address,stack"), ALLO_TEXT_INIT("") },
	{ "firefox", ALLO_TEXT_INIT("\"preprocessedProfileVersion\""), ALLO_TEXT_INIT("") },
	{ "json", ALLO_TEXT_INIT("\"allotrope\": 1"), ALLO_TEXT_INIT("") },
	{ "speedscope", ALLO_TEXT_INIT("www.speedscope.app/file-format-schema.json"),
	  ALLO_TEXT_INIT("") },
	{ "sqlite", ALLO_TEXT_INIT("SQLite format 3"), ALLO_TEXT_INIT("") },
	{ "svg", ALLO_TEXT_INIT("<svg"), ALLO_TEXT_INIT("") },
	{ NULL, { 0 }, { 0 } },
};

static bool contains(struct allo_text text, struct allo_text mark)
{
	return allo_text_find(text, mark) != (size_t)-1;
}

/* The name of the form that a file has, of those that are only written; NULL: of none. */
static const char *find_written_only(struct allo_text head)
{
	const struct written_only *form = written_only;

	while (form->name && !(contains(head, form->mark) && contains(head, form->second_mark)))
		form++;
	return form->name;
}

static bool is_written_only(const char *name)
{
	const struct written_only *form = written_only;

	while (form->name && strcmp(form->name, name) != 0)
		form++;
	return form->name;
}

/* "dhat, folded, pprof" */
static void list_names(char *out, size_t room)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; allo_readers[i] && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s", i ? ", " : "",
					 allo_readers[i]->name);
}

const struct allo_reader *allo_reader_find(const char *name, struct allo_error *err)
{
	char names[160];

	for (size_t i = 0; allo_readers[i]; i++) {
		if (strcmp(allo_readers[i]->name, name) == 0)
			return allo_readers[i];
	}
	list_names(names, sizeof(names));
	if (is_written_only(name))
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the format %s is only written", name);
	else
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no format \"%s\" to read", name);
	allo_hint(err, "known are: %s", names);
	return NULL;
}

/* The reader that is most sure; the first of equals. */
static const struct allo_reader *find_by_content(struct allo_input *in, struct allo_error *err)
{
	struct allo_text head = { in->next, allo_input_unread(in) };
	const struct allo_reader *best = NULL;
	enum allo_guess best_guess = ALLO_NO;
	const char *unread;
	char names[160];

	/* More may have come with it, but what is found out must not depend on that. */
	if (head.len > ALLO_HEAD_SIZE)
		head.len = ALLO_HEAD_SIZE;
	for (size_t i = 0; allo_readers[i]; i++) {
		enum allo_guess guess = allo_readers[i]->probe(head);

		if (guess > best_guess) {
			best = allo_readers[i];
			best_guess = guess;
		}
	}
	if (best)
		return best;
	list_names(names, sizeof(names));
	unread = find_written_only(head);
	if (unread) {
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
			  "has the format %s, which allo only writes", unread);
		if (strcmp(unread, "sqlite") == 0)
			allo_hint(err, "'allo sql' asks it");
		else
			allo_hint(err, "known are: %s", names);
	} else {
		allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
			  "is not a profile of a known format");
		allo_hint(err, "known are: %s; naming one with --from tells what is wrong with it",
			  names);
	}
	return NULL;
}

bool allo_reader_drain(const struct allo_read_options *options, struct allo_profile *profile,
		       struct allo_stack_builder *builder, struct allo_error *err)
{
	if (!options->drain || allo_profile_sample_count(profile) < ALLO_PORTION_SAMPLES)
		return true;
	if (!options->drain->take(options->drain->context, profile, err))
		return false;
	allo_profile_clear_samples(profile);
	allo_stack_builder_forget(builder);
	return true;
}

/* A part of what has no parts. */
static bool fail_view(const char *file, const struct allo_reader *reader, struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file },
		  "is %s, which cannot be read in parts", reader->title);
	return allo_hint(err, "recordings that 'allo run' makes can");
}

static void begin_profile(struct allo_profile *profile, const struct allo_reader *reader,
			  const struct allo_read_options *options)
{
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
	if (allo_input_unread(in) == 0)
		return allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = in->name },
				 "is empty");
	reader = options->from ? allo_reader_find(options->from, err) : find_by_content(in, err);
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

/* The format that is asked for, or the one that the directory has. */
static const struct allo_reader *find_directory_reader(const char *path, const char *from,
						       struct allo_error *err)
{
	const struct allo_reader *reader = from ? allo_reader_find(from, err) : NULL;
	struct allo_pos pos = { .file = path };

	if (from && (!reader || reader->read_directory))
		return reader;
	if (from) {
		allo_fail(err, ALLO_USAGE, pos,
			  "is a directory, which no profile of the format %s is", from);
		return NULL;
	}
	for (size_t i = 0; allo_readers[i]; i++) {
		if (allo_readers[i]->read_directory && allo_readers[i]->probe_directory(path))
			return allo_readers[i];
	}
	allo_fail(err, ALLO_IO, pos, "is a directory, not a profile");
	allo_hint(err, "of directories, recordings of rheaper can be read: those with events/ and "
		       "backtraces/ in them");
	return NULL;
}

static bool read_directory(const char *path, const struct allo_read_options *options,
			   struct allo_profile *profile, struct allo_error *err)
{
	static const struct allo_read_options defaults;
	const struct allo_reader *reader;

	if (!options)
		options = &defaults;
	reader = find_directory_reader(path, options->from, err);
	if (!reader)
		return false;
	if (options->view && allo_view_is_partial(options->view) && !reader->has_views)
		return fail_view(path, reader, err);
	begin_profile(profile, reader, options);
	return reader->read_directory(path, options, profile, err) &&
	       allo_profile_validate(profile, err);
}

/* All together. */

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
