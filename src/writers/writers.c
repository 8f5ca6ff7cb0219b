/* writers.c - the table of writers, and the search in it by name, path and content. */
#include "writers/writers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct allo_writer allo_write_callgrind;
extern const struct allo_writer allo_write_chrome_trace;
extern const struct allo_writer allo_write_csv;
extern const struct allo_writer allo_write_dhat;
extern const struct allo_writer allo_write_firefox;
extern const struct allo_writer allo_write_folded;
extern const struct allo_writer allo_write_gperftools;
extern const struct allo_writer allo_write_json;
extern const struct allo_writer allo_write_massif;
extern const struct allo_writer allo_write_parquet;
extern const struct allo_writer allo_write_postgresql;
extern const struct allo_writer allo_write_pprof;
extern const struct allo_writer allo_write_spall;
extern const struct allo_writer allo_write_speedscope;
extern const struct allo_writer allo_write_sqlite;
extern const struct allo_writer allo_write_svg;

const struct allo_writer *const allo_writers[] = {
	&allo_write_callgrind,
	&allo_write_chrome_trace,
	&allo_write_csv,
	&allo_write_dhat,
	&allo_write_firefox,
	&allo_write_folded,
	&allo_write_gperftools,
	&allo_write_json,
	&allo_write_massif,
	&allo_write_parquet,
	&allo_write_postgresql,
	&allo_write_pprof,
	&allo_write_spall,
	&allo_write_speedscope,
	&allo_write_sqlite,
	&allo_write_svg,
	NULL,
};

const struct allo_writer *allo_writer_find(const char *name, struct allo_error *err)
{
	char names[160] = "";
	size_t used = 0;

	for (size_t i = 0; allo_writers[i]; i++) {
		if (strcmp(allo_writers[i]->name, name) == 0)
			return allo_writers[i];
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 i ? ", " : "", allo_writers[i]->name);
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "cannot write the format \"%s\"", name);
	allo_hint(err, "known formats: %s", names);
	return NULL;
}

/* How well a file's name fits a writer; 0: not at all. */
static size_t match(const struct allo_writer *writer, struct allo_text path)
{
	struct allo_text endings = allo_text_of(writer->endings), ending;
	struct allo_text name = allo_basename(path);
	size_t best = 0;

	while (allo_text_next(&endings, ' ', &ending)) {
		bool is_start = ending.data[ending.len - 1] == '*';
		/* Any ending beats a start: "dhat.out.1.pb.gz" is pprof's. */
		size_t score = is_start ? 1 : ending.len;

		ending.len -= is_start;
		if (name.len > ending.len && score > best &&
		    (is_start ? allo_text_starts(name, ending) : allo_text_ends(name, ending)))
			best = score;
	}
	return best;
}

const struct allo_writer *allo_writer_find_by_path(const char *path)
{
	struct allo_text whole = allo_text_of(path), unpacked;
	const struct allo_writer *best = NULL;
	size_t best_score = 0;

	while (allo_text_ends(whole, ALLO_TEXT("/"))) /* a folder */
		whole.len--;
	unpacked = whole;
	if (allo_text_ends(whole, ALLO_TEXT(".gz")))
		unpacked.len -= 3;
	else if (allo_text_ends(whole, ALLO_TEXT(".zst")))
		unpacked.len -= 4;
	/* The longest ending wins: "heap.dhat.json" is DHAT's, not plain JSON. */
	for (size_t i = 0; allo_writers[i]; i++) {
		size_t score = match(allo_writers[i], whole);

		if (score == 0)
			score = match(allo_writers[i], unpacked);
		if (score > best_score) {
			best = allo_writers[i];
			best_score = score;
		}
	}
	return best;
}

static bool contains(struct allo_text head, const char *text)
{
	return !text || allo_text_find(head, allo_text_of(text)) != (size_t)-1;
}

const struct allo_writer *allo_writer_find_by_content(struct allo_text head)
{
	for (size_t i = 0; allo_writers[i]; i++) {
		for (size_t k = 0; k < ALLO_FILE_MARKS; k++) {
			const struct allo_file_mark *mark = &allo_writers[i]->marks[k];

			if (mark->text && contains(head, mark->text) &&
			    contains(head, mark->second))
				return allo_writers[i];
		}
	}
	return NULL;
}

void allo_writer_explain_unknown(const char *file, const char *from, struct allo_text head,
				 struct allo_error *err)
{
	const struct allo_writer *writer;

	for (size_t i = 0; from && allo_writers[i]; i++) {
		if (strcmp(allo_writers[i]->name, from) == 0)
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the format %s is only written",
				  from);
	}
	writer = from ? NULL : allo_writer_find_by_content(head);
	if (!writer)
		return;
	allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = file },
		  "has the format %s, which allo only writes", writer->name);
	if (writer->is_folder)
		allo_hint(err, "query it with DuckDB: duckdb -init duckdb.sql, in its folder");
	else if (writer->is_script)
		allo_hint(err, "run it with 'psql -d DATABASE -f %s'", file);
	else if (writer->takes_rows)
		allo_hint(err, "query it with 'allo sql'");
}

bool allo_writer_has_version(const struct allo_writer *writer, uint64_t version,
			     struct allo_error *err)
{
	struct allo_text rest = allo_text_of(writer->versions ? writer->versions : ""), known;
	uint64_t number;

	if (version == 0)
		return true;
	while (allo_text_next(&rest, ' ', &known)) {
		if (allo_text_u64(known, &number) && number == version)
			return true;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s has no version %llu", writer->name,
		  (unsigned long long)version);
	return allo_hint(
		err, writer->versions ? "known versions: %s" : "this format has only one version",
		writer->versions);
}

enum allo_packing allo_writer_packing(const struct allo_writer *writer, const char *path)
{
	struct allo_text name = allo_text_of(path);

	if (allo_text_ends(name, ALLO_TEXT(".gz")))
		return ALLO_GZIP;
	if (allo_text_ends(name, ALLO_TEXT(".zst")))
		return ALLO_ZSTD;
	return writer->is_packed && !allo_text_ends(name, ALLO_TEXT(".pb")) ? ALLO_GZIP
									    : ALLO_PLAIN;
}

enum {
	SPELLED_FRAMES = 1 << 26, /* always allowed: half a gigabyte of short names */
	SPELLED_RATIO = 256,      /* frames for each stack and sample of the profile */
};

/* The number of frames of all samples' stacks; 0 when out of memory. */
static uint64_t count_spelled_frames(const struct allo_profile *profile)
{
	ALLO_DEFER(allo_free_pointer)
	uint32_t *depths = calloc(profile->stacks.len + 1, sizeof(*depths));
	uint64_t sum = 0;

	for (size_t i = 1; depths && i < profile->stacks.len; i++)
		depths[i] = depths[profile->stacks.at[i].parent] + 1;
	for (size_t i = 0; depths && i < allo_profile_sample_count(profile); i++)
		sum += depths[profile->sample_stacks.at[i]];
	return sum;
}

bool allo_writer_check_stacks(const struct allo_writer *writer, const struct allo_profile *profile,
			      struct allo_error *err)
{
	uint64_t entries = profile->stacks.len + allo_profile_sample_count(profile);
	uint64_t frames = writer->spells_stacks ? count_spelled_frames(profile) : 0;

	if (frames <= SPELLED_FRAMES || frames / SPELLED_RATIO <= entries)
		return true;
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
		  "%s repeats the callers of every stack: the deep recursion in this profile "
		  "becomes %llu frames",
		  writer->name, (unsigned long long)frames);
	return allo_hint(err, "--stack-depth 1000 keeps the innermost frames; json, firefox, svg, "
			      "sqlite and callgrind hold deep stacks");
}

bool allo_write(const struct allo_writer *writer, const struct allo_profile *profile,
		const struct allo_write_options *options, struct allo_output *out,
		struct allo_notes *notes, struct allo_error *err)
{
	static const struct allo_write_options defaults;
	struct allo_write_job w = { .out = out, .options = options ? options : &defaults };
	bool ok;

	ALLO_ASSERT(!writer->takes_rows);
	if (!allo_writer_check_stacks(writer, profile, err))
		return false;
	if (writer->write) {
		ok = writer->write(&w, profile, err);
	} else {
		ok = writer->begin(&w, err) && writer->add(&w, profile, err) &&
		     writer->end(&w, profile, err);
		writer->drop(&w);
	}
	if (notes)
		allo_notes_add(notes, &w.notes);
	return ok;
}

/* Capabilities: data that profiles have and formats may lack. */

static unsigned capabilities_of_code(const struct allo_profile *profile)
{
	unsigned holds = 0;

	for (size_t i = 1; i < profile->modules.len; i++) {
		holds |= ALLO_HOLDS_MODULES;
		if (profile->modules.at[i].build_id)
			holds |= ALLO_HOLDS_BUILD_IDS;
	}
	for (size_t i = 1; i < profile->functions.len; i++) {
		if (profile->functions.at[i].file)
			holds |= ALLO_HOLDS_FILES;
	}
	for (size_t i = 0; i < profile->lines.len; i++) {
		if (profile->lines.at[i].line)
			holds |= ALLO_HOLDS_LINES;
		if (profile->lines.at[i].column)
			holds |= ALLO_HOLDS_COLUMNS;
	}
	for (size_t i = 1; i < profile->frames.len; i++) {
		if (profile->frames.at[i].address)
			holds |= ALLO_HOLDS_ADDRESSES;
		if (profile->frames.at[i].line_count > 1)
			holds |= ALLO_HOLDS_INLINES;
	}
	return holds;
}

unsigned allo_profile_holds(const struct allo_profile *profile)
{
	unsigned holds = capabilities_of_code(profile);

	if (profile->metrics.len > 1 && !profile->metrics.at[0].is_before)
		holds |= ALLO_HOLDS_METRICS;
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (profile->metrics.at[i].is_signed)
			holds |= ALLO_HOLDS_NEGATIVE;
	}
	if (profile->label_sets.len > 1)
		holds |= ALLO_HOLDS_LABELS;
	if (profile->sample_times.len > 0)
		holds |= ALLO_HOLDS_TIMES;
	if (profile->sample_accesses.len > 0 || profile->meta.has_unread_accesses)
		holds |= ALLO_HOLDS_ACCESSES;
	if (profile->meta.command)
		holds |= ALLO_HOLDS_COMMAND;
	if (profile->comments.len > 0)
		holds |= ALLO_HOLDS_COMMENTS;
	/* A period of 1 means that nothing was sampled. */
	if (profile->meta.period > 1)
		holds |= ALLO_HOLDS_PERIOD;
	if (profile->history.len > 0)
		holds |= ALLO_HOLDS_HISTORY;
	if (profile->changes.len > 0)
		holds |= ALLO_HOLDS_CHANGES;
	return holds;
}

void allo_holds_names(unsigned holds, char *out, size_t room)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ ALLO_HOLDS_METRICS, "several metrics" },
		{ ALLO_HOLDS_MODULES, "modules" },
		{ ALLO_HOLDS_BUILD_IDS, "build ids" },
		{ ALLO_HOLDS_ADDRESSES, "addresses" },
		{ ALLO_HOLDS_FILES, "files" },
		{ ALLO_HOLDS_LINES, "lines" },
		{ ALLO_HOLDS_COLUMNS, "columns" },
		{ ALLO_HOLDS_INLINES, "inlining" },
		{ ALLO_HOLDS_LABELS, "labels" },
		{ ALLO_HOLDS_TIMES, "times" },
		{ ALLO_HOLDS_ACCESSES, "access counts" },
		{ ALLO_HOLDS_COMMAND, "the command" },
		{ ALLO_HOLDS_COMMENTS, "comments" },
		{ ALLO_HOLDS_PERIOD, "the sampling period" },
		{ ALLO_HOLDS_NEGATIVE, "negative values" },
		{ ALLO_HOLDS_HISTORY, "the heap over time" },
		{ ALLO_HOLDS_CHANGES, "blocks over time" },
	};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if ((holds & names[i].bit) && used < room)
			used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "",
						 names[i].name);
	}
}

/* Helpers of writers. */

uint64_t allo_js_weight(struct allo_write_job *w, const struct allo_metric *metric, uint64_t value)
{
	if (metric->is_signed && (int64_t)value < 0) {
		allo_note(&w->notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
		return 0;
	}
	if (value > ALLO_JS_NUMBER_MAX) {
		allo_note(&w->notes, ALLO_NOTE_ABOVE_2_53, ALLO_NOWHERE);
		return ALLO_JS_NUMBER_MAX;
	}
	return value;
}
