/* make_database.c - see make_database.h. */
#include "cli/make_database.h"

#include "base/defer.h"
#include "base/tar.h"
#include "cli/rheaper_database.h"
#include "replay/block_rows.h"
#include "replay/recording_profile.h"
#include "replay/site_labels.h"
#include "replay/weights.h"
#include "report/messages.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 2048 }; /* few enough to stay in the second-level cache */

/* A recording on its way into a database. */
struct passing {
	struct allo_recording recording;
	/* The part of it that is asked for: a range of time, or a moment. */
	struct allo_window window;
	bool has_moment;
	struct allo_instant moment;
	bool *has_rows;          /* by node, for a part, where not all of them count; or NULL */
	allo_stack_id *stacks;   /* by node */
	allo_thread_id *threads; /* by stream */
	allo_labels_id *labels;  /* by set */
	struct allo_marks marks;
	struct allo_weighing weighing;
	struct allo_database *db;
	size_t count;
	struct allo_sql_row rows[ROWS_AT_ONCE]; /* so many of them are still to be handed on */
};

static void passing_free(struct passing **passing)
{
	if (!*passing)
		return;
	allo_recording_close(&(*passing)->recording);
	free((*passing)->has_rows);
	free((*passing)->stacks);
	free((*passing)->threads);
	free((*passing)->labels);
	allo_marks_done(&(*passing)->marks);
	free(*passing);
}

static bool add_threads(struct passing *passing, struct allo_profile *profile,
			struct allo_error *err)
{
	const struct allo_recording *recording = &passing->recording;

	passing->threads = calloc(recording->streams.len + 1, sizeof(*passing->threads));
	if (!passing->threads)
		return allo_fail_memory(err);
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		struct allo_thread thread = {
			.pid = recording->head.pid,
			.tid = stream->thread,
			.name = allo_profile_add_string(profile, stream->name, err),
		};

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		passing->threads[i] = allo_profile_add_thread(profile, &thread, err);
		if (passing->threads[i] == 0 || allo_failed(err))
			return false;
	}
	return true;
}

static bool add_labels(struct passing *passing, struct allo_profile *profile,
		       struct allo_error *err)
{
	const struct allo_recording *recording = &passing->recording;

	passing->labels = calloc(recording->label_sets.len + 1, sizeof(*passing->labels));
	if (!passing->labels)
		return allo_fail_memory(err);
	/* Allocations have the first of equal sets. */
	for (size_t i = 1; i < recording->label_sets.len; i++) {
		if (allo_recording_same_set(recording, i) != i)
			continue;
		passing->labels[i] = allo_set_labels_add(profile, recording, (uint32_t)i, err);
		if (allo_failed(err))
			return false;
	}
	return true;
}

static bool write_markers(const struct passing *passing, struct allo_error *err)
{
	const struct allo_marks *marks = &passing->marks;
	ALLO_DEFER(allo_free_pointer)
	struct allo_sql_marker *markers = calloc(marks->list.len + 1, sizeof(*markers));

	if (!markers)
		return allo_fail_memory(err);
	for (size_t i = 0; i < marks->list.len; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		markers[i] = (struct allo_sql_marker){ mark->ns, passing->threads[mark->stream],
						       allo_recording_text(&passing->recording,
									   mark->name) };
	}
	return allo_database_add_markers(passing->db, markers, marks->list.len, err);
}

static void fill_row(const struct passing *passing, const struct allo_block_row *from,
		     struct allo_sql_row *row)
{
	*row = (struct allo_sql_row){
		.alloc_ns = from->alloc_ns,
		.first_ns = from->first_ns,
		.free_ns = from->free_ns == ALLO_NEVER ? ALLO_SQL_NEVER : from->free_ns,
		.size = from->size,
		/* A packed recording has names for blocks, and no addresses. */
		.address = passing->recording.is_packed ? 0 : from->pointer,
		.stack = passing->stacks[from->stack],
		.first_stack = passing->stacks[from->first_stack],
		.alloc_thread = passing->threads[from->alloc_stream],
		.free_thread = from->free_stream == ALLO_NO_STREAM
				       ? 0
				       : passing->threads[from->free_stream],
		.labels = passing->labels[from->labels],
		.is_resized = from->flags & ALLO_ROW_RESIZED,
		.is_resized_on = from->flags & ALLO_ROW_RESIZED_ON,
		.is_temporary = from->flags & ALLO_ROW_TEMPORARY,
	};
	if (allo_is_sampled(&passing->weighing))
		row->weight = allo_weigh(&passing->weighing, from->size).weight;
}

static bool hand_on(struct passing *passing, struct allo_error *err)
{
	size_t count = passing->count;

	passing->count = 0;
	return count == 0 || allo_database_add_rows(passing->db, passing->rows, count, err);
}

/* They come a few at a time where threads take turns. */
static bool take_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	struct passing *passing = context;

	for (size_t i = 0; i < count; i++) {
		if (passing->count == ROWS_AT_ONCE && !hand_on(passing, err))
			return false;
		fill_row(passing, &rows[i], &passing->rows[passing->count++]);
	}
	return true;
}

static bool pass_rows(struct passing *passing, allo_take_rows *take, struct allo_error *err)
{
	return passing->has_moment
		       ? allo_block_rows_at(&passing->recording, &passing->moment,
					    passing->window.threads, take, passing, err)
		       : allo_block_rows(&passing->recording, &passing->window, take, passing, err);
}

static bool note_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	const struct passing *passing = context;

	(void)err;
	for (size_t i = 0; i < count; i++)
		passing->has_rows[rows[i].stack] = passing->has_rows[rows[i].first_stack] = true;
	return true;
}

/* Finds out which rows are wanted.  Those of a part may have stacks for which nothing counts: a
 * realloc's first block is of another thread, or was before. */
static bool find_part(struct passing *passing, const struct allo_view *view, struct allo_error *err)
{
	struct allo_recording *recording = &passing->recording;
	struct allo_gaps gaps = recording->gaps;
	bool ok;

	if (!allo_view_is_partial(view))
		return true;
	passing->has_moment = view->at != ALLO_AT_NONE && view->at != ALLO_AT_CHANGE;
	if (passing->has_moment &&
	    !allo_instant_of_view(&passing->moment, recording, view->at, &passing->window, err))
		return false;
	passing->has_rows = calloc(recording->nodes.len, sizeof(*passing->has_rows));
	if (!passing->has_rows)
		return allo_fail_memory(err);
	ok = pass_rows(passing, note_rows, err);
	recording->gaps = gaps; /* they count once, when a profile is made of them */
	return ok;
}

static bool read_recording(struct passing *passing, const struct allo_making *making,
			   struct allo_input *in, struct allo_profile *profile,
			   struct allo_error *err)
{
	struct allo_recording *recording = &passing->recording;
	struct allo_replay replay = { 0 };
	struct allo_view view;

	profile->meta.format = "allo";
	if (!allo_common_view(making->common, &view, err) ||
	    !allo_recording_open(recording, in, err) ||
	    !allo_view_resolve(&view, recording, &replay, err))
		return false;
	recording->leaves_addresses = making->common->no_symbols;
	passing->window = replay.window;
	if (!find_part(passing, &view, err))
		return false;
	replay.nodes = passing->has_rows;
	replay.stacks = &passing->stacks;
	replay.marks = &passing->marks;
	passing->weighing = allo_weighing_of(recording);
	return allo_profile_from_recording(profile, recording, &replay, NULL, err) &&
	       allo_profile_validate(profile, err) &&
	       allo_common_name(making->common, profile, NULL, err) &&
	       add_threads(passing, profile, err) && add_labels(passing, profile, err);
}

/* Which stacks of the profile rows will refer to. */
static bool find_stacks(const struct passing *passing, const struct allo_profile *profile,
			bool **has_rows, struct allo_error *err)
{
	if (!passing->has_rows)
		return true;
	*has_rows = calloc(profile->stacks.len + 1, sizeof(**has_rows));
	if (!*has_rows)
		return allo_fail_memory(err);
	for (size_t i = 1; i < passing->recording.nodes.len; i++)
		(*has_rows)[passing->stacks[i]] |= passing->has_rows[i];
	return true;
}

static bool pass_recording(struct allo_making *making, struct allo_input *in,
			   struct allo_profile *profile, struct allo_database *db,
			   struct allo_error *err)
{
	ALLO_DEFER(passing_free) struct passing *passing = calloc(1, sizeof(*passing));
	ALLO_DEFER(allo_free_pointer) bool *has_rows = NULL;
	struct allo_sql_process process;

	if (!passing)
		return allo_fail_memory(err);
	passing->db = db;
	if (!read_recording(passing, making, in, profile, err) ||
	    !find_stacks(passing, profile, &has_rows, err))
		return false;
	process = (struct allo_sql_process){
		.program = passing->recording.program,
		.folder = passing->recording.folder,
		.host = passing->recording.host,
		.end = allo_text_of(allo_end_name(passing->recording.head.end)),
		.parent_pid = passing->recording.head.parent_pid,
	};
	making->has_rows = true;
	return allo_database_add_profile(db, profile, &process, has_rows, err) &&
	       write_markers(passing, err) && pass_rows(passing, take_rows, err) &&
	       hand_on(passing, err);
}

/* Whether a file has single allocations that are wanted. */
static bool has_rows(const struct allo_making *making, const struct allo_input *in)
{
	const char *from = making->common->from;
	struct allo_text head = { in->next, allo_input_unread(in) };

	return !making->is_selective && (!from || strcmp(from, "allo") == 0) &&
	       allo_recording_probe(head);
}

/* What a database holds of a trace. */
static struct allo_read_options wanted_by(const struct allo_making *making)
{
	return (struct allo_read_options){ .wants_times = true, .watch = making->watch };
}

/* From an input that is open: standard input can be read only once. */
static bool read_one(const struct allo_making *making, struct allo_input *in,
		     struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_reading_done) struct allo_reading reading = { 0 };
	struct allo_read_options wanted = wanted_by(making);

	return allo_reading_init(&reading, making->common, &wanted, err) &&
	       allo_read_input(in, &reading.options, profile, err) &&
	       allo_common_name(making->common, profile, NULL, err);
}

static bool add_profile(const struct allo_making *making, struct allo_profile *profile,
			struct allo_database *db, struct allo_error *err)
{
	return (!making->change || making->change(making->context, profile, err)) &&
	       allo_database_add_profile(db, profile, NULL, NULL, err);
}

/* Of recordings of rheaper all rows can be had, or none. */
static bool wants_rheaper(const struct allo_making *making)
{
	const struct allo_common *common = making->common;

	return !making->is_selective && !common->range && !common->at && !common->thread &&
	       (!common->from || strcmp(common->from, "rheaper") == 0);
}

static bool has_rheaper(const struct allo_making *making, const struct allo_input *in)
{
	return wants_rheaper(making) &&
	       (making->common->from ||
		allo_is_tar((struct allo_text){ in->next, allo_input_unread(in) }));
}

static bool pass_archive(struct allo_making *making, struct allo_input *in,
			 struct allo_profile *profile, struct allo_database *db,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };

	making->has_rows = true;
	return allo_rheaper_open_archive(&files, in, err) &&
	       allo_rheaper_to_database(&files, profile, db, err);
}

static bool pass_directory(struct allo_making *making, const struct allo_progress *progress,
			   struct allo_profile *profile, struct allo_database *db,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	const char *path = making->files[0];

	if (!wants_rheaper(making) || !(making->common->from || allo_rheaper_is_directory(path)))
		return allo_common_read(making->common, path, NULL, profile, err) &&
		       add_profile(making, profile, db, err);
	making->has_rows = true;
	return allo_rheaper_open_directory(&files, path, progress, err) &&
	       allo_rheaper_to_database(&files, profile, db, err);
}

static bool pass_input(struct allo_making *making, const struct allo_progress *progress,
		       struct allo_profile *profile, struct allo_database *db,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };

	if (!allo_input_open_watched(&in, making->files[0], progress, making->watch, err))
		return false;
	if (has_rows(making, &in))
		return pass_recording(making, &in, profile, db, err);
	if (has_rheaper(making, &in))
		return pass_archive(making, &in, profile, db, err);
	return read_one(making, &in, profile, err) && add_profile(making, profile, db, err);
}

static bool pass_file(struct allo_making *making, struct allo_profile *profile,
		      struct allo_database *db, struct allo_error *err)
{
	bool is_directory = allo_is_directory(making->files[0]);
	struct allo_progress_bar bar;
	const struct allo_progress *progress;
	bool ok;

	allo_progress_bar_init(&bar, making->files[0]);
	progress = bar.is_on && !making->common->quiet ? &bar.progress : NULL;
	ok = (is_directory ? pass_directory : pass_input)(making, progress, profile, db, err);
	allo_progress_bar_done(&bar);
	return ok;
}

static bool pass_all(struct allo_making *making, struct allo_profile *profile,
		     struct allo_database *db, struct allo_error *err)
{
	struct allo_read_options wanted = wanted_by(making);

	if (!making->files[1])
		return pass_file(making, profile, db, err);
	return allo_common_read_all(making->common, making->files, &wanted, profile, err) &&
	       add_profile(making, profile, db, err);
}

bool allo_make_database(struct allo_making *making, struct allo_profile *profile, int fd,
			const char *name, struct allo_error *err)
{
	ALLO_DEFER(allo_database_drop) struct allo_database db = { 0 };

	if (!allo_database_create(&db, fd, name, err) ||
	    (making->meta_key && !allo_database_add_meta(&db, making->meta_key,
							 allo_text_of(making->meta_value), err)) ||
	    !pass_all(making, profile, &db, err) || !allo_database_finish(&db, err))
		return false;
	making->rows = db.rows;
	return true;
}
