/* rows.c - turns the blocks of a recording into rows that refer to a profile; see rows.h. */
#include "engine/rows.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/site_labels.h"
#include "replay/weights.h"

#include <stdlib.h>

enum { ROWS_AT_ONCE = 2048 }; /* few enough to stay in the second-level cache */

/* Maps the recording's numbers to the profile's ids, and collects rows into batches. */
struct row_maker {
	struct allo_source *source;
	const struct allo_allocation_sink *sink;
	bool *has_rows;          /* by node; NULL for a whole recording, where nodes with rows have
				  * samples anyway */
	allo_stack_id *stacks;   /* by node */
	allo_thread_id *threads; /* by stream */
	allo_labels_id *labels;  /* by set */
	struct allo_marks marks;
	struct allo_weighing weighing;
	size_t count;
	struct allo_allocation batch[ROWS_AT_ONCE];
};

static void maker_free(struct row_maker **maker)
{
	if (!*maker)
		return;
	free((*maker)->has_rows);
	free((*maker)->stacks);
	free((*maker)->threads);
	free((*maker)->labels);
	allo_marks_done(&(*maker)->marks);
	free(*maker);
}

static bool add_threads(struct row_maker *maker, struct allo_profile *profile,
			struct allo_error *err)
{
	const struct allo_recording *recording = &maker->source->recording;

	maker->threads = calloc(recording->streams.len + 1, sizeof(*maker->threads));
	if (!maker->threads)
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
		maker->threads[i] = allo_profile_add_thread(profile, &thread, err);
		if (maker->threads[i] == 0 || allo_failed(err))
			return false;
	}
	return true;
}

static bool add_labels(struct row_maker *maker, struct allo_profile *profile,
		       struct allo_error *err)
{
	const struct allo_recording *recording = &maker->source->recording;

	maker->labels = calloc(recording->label_sets.len + 1, sizeof(*maker->labels));
	if (!maker->labels)
		return allo_fail_memory(err);
	/* Allocations refer to the first of equal sets. */
	for (size_t i = 1; i < recording->label_sets.len; i++) {
		if (allo_recording_same_set(recording, i) != i)
			continue;
		maker->labels[i] = allo_set_labels_add(profile, recording, (uint32_t)i, err);
		if (allo_failed(err))
			return false;
	}
	return true;
}

/* Rows. */

static void fill_row(const struct row_maker *maker, const struct allo_block_row *from,
		     struct allo_allocation *row)
{
	ALLO_ASSERT(from->stack < maker->source->recording.nodes.len &&
		    from->first_stack < maker->source->recording.nodes.len);
	*row = (struct allo_allocation){
		.alloc_ns = from->alloc_ns,
		.first_ns = from->first_ns,
		.free_ns = from->free_ns == ALLO_NEVER ? ALLO_NEVER_FREED : from->free_ns,
		.size = from->size,
		/* A packed recording numbers its blocks and has no addresses. */
		.address = maker->source->recording.is_packed ? 0 : from->pointer,
		.stack = maker->stacks[from->stack],
		.first_stack = maker->stacks[from->first_stack],
		.alloc_thread = maker->threads[from->alloc_stream],
		.free_thread = from->free_stream == ALLO_NO_STREAM
				       ? 0
				       : maker->threads[from->free_stream],
		.labels = maker->labels[from->labels],
		.is_resized = from->flags & ALLO_ROW_RESIZED,
		.is_resized_on = from->flags & ALLO_ROW_RESIZED_ON,
		.is_temporary = from->flags & ALLO_ROW_TEMPORARY,
	};
	if (allo_is_sampled(&maker->weighing))
		row->weight = allo_weigh(&maker->weighing, from->size, from->alloc_ns).weight;
}

static bool flush(struct row_maker *maker, struct allo_error *err)
{
	const struct allo_allocation_sink *sink = maker->sink;
	size_t count = maker->count;

	maker->count = 0;
	return count == 0 || sink->take(sink->context, maker->batch, count, err);
}

/* Replay hands on a few rows at a time where threads alternate; the sink gets full batches. */
static bool take_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	struct row_maker *maker = context;

	for (size_t i = 0; i < count; i++) {
		if (maker->count == ROWS_AT_ONCE && !flush(maker, err))
			return false;
		fill_row(maker, &rows[i], &maker->batch[maker->count++]);
	}
	return true;
}

/* Stacks. */

static bool mark_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	const struct row_maker *maker = context;

	(void)err;
	for (size_t i = 0; i < count; i++)
		maker->has_rows[rows[i].stack] = maker->has_rows[rows[i].first_stack] = true;
	return true;
}

/* Finds the nodes that rows of a part refer to.  Some have no sample in the part: the first block
 * of a realloc may be another thread's, or older. */
static bool find_nodes(struct row_maker *maker, struct allo_error *err)
{
	struct allo_recording *recording = &maker->source->recording;
	struct allo_gaps gaps = recording->gaps;
	bool ok;

	if (!allo_view_is_partial(&maker->source->options.view))
		return true;
	maker->has_rows = calloc(recording->nodes.len, sizeof(*maker->has_rows));
	if (!maker->has_rows)
		return allo_fail_memory(err);
	ok = allo_source_block_rows(maker->source, mark_rows, maker, err);
	recording->gaps = gaps; /* they count once, when the profile is made */
	return ok;
}

/* The same by stack of the profile. */
static bool find_stacks(const struct row_maker *maker, const struct allo_profile *profile,
			bool **has_rows, struct allo_error *err)
{
	if (!maker->has_rows)
		return true;
	*has_rows = calloc(profile->stacks.len + 1, sizeof(**has_rows));
	if (!*has_rows)
		return allo_fail_memory(err);
	for (size_t i = 1; i < maker->source->recording.nodes.len; i++)
		(*has_rows)[maker->stacks[i]] |= maker->has_rows[i];
	return true;
}

static bool make_profile(struct row_maker *maker, struct allo_profile *profile,
			 struct allo_error *err)
{
	struct allo_profile_request request = { .marks = &maker->marks, .stacks = &maker->stacks };

	if (!find_nodes(maker, err))
		return false;
	request.nodes = maker->has_rows;
	return allo_source_profile(maker->source, &request, profile, err) &&
	       add_threads(maker, profile, err) && add_labels(maker, profile, err);
}

static bool begin_sink(const struct row_maker *maker, const struct allo_profile *profile,
		       struct allo_error *err)
{
	const struct allo_recording *recording = &maker->source->recording;
	const struct allo_marks *marks = &maker->marks;
	const struct allo_process_info process = {
		.program = recording->program,
		.folder = recording->folder,
		.host = recording->host,
		.end = allo_text_of(allo_end_name(recording->head.end)),
		.parent_pid = recording->head.parent_pid,
	};
	ALLO_DEFER(allo_free_pointer) bool *has_rows = NULL;
	ALLO_DEFER(allo_free_pointer)
	struct allo_marker *markers = calloc(marks->list.len + 1, sizeof(*markers));

	if (!markers)
		return allo_fail_memory(err);
	for (size_t i = 0; i < marks->list.len; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		ALLO_ASSERT(mark->stream < recording->streams.len);
		markers[i] = (struct allo_marker){ mark->ns, maker->threads[mark->stream],
						   allo_recording_text(recording, mark->name) };
	}
	return find_stacks(maker, profile, &has_rows, err) &&
	       maker->sink->begin(maker->sink->context, profile, &process, has_rows, markers,
				  marks->list.len, err);
}

static bool rows_of_recording(struct allo_source *source, const struct allo_allocation_sink *sink,
			      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(maker_free) struct row_maker *maker = calloc(1, sizeof(*maker));

	if (!maker)
		return allo_fail_memory(err);
	maker->source = source;
	maker->sink = sink;
	maker->weighing = allo_weighing_of(&source->recording);
	if (!make_profile(maker, profile, err) || !begin_sink(maker, profile, err))
		return false;
	allo_recording_free_nodes(&source->recording);
	return allo_source_block_rows(source, take_rows, maker, err) && flush(maker, err);
}

bool allo_source_has_rows(const struct allo_source *source)
{
	return source->is_recording ||
	       (source->reader->has_rows && !allo_view_is_partial(&source->options.view));
}

bool allo_source_rows(struct allo_source *source, const struct allo_allocation_sink *sink,
		      struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_reader *reader = source->reader;
	const struct allo_progress *progress;

	if (source->is_recording)
		return rows_of_recording(source, sink, profile, err);
	profile->meta.format = reader->name;
	if (!source->is_directory)
		return reader->read_rows(&source->in, sink, profile, err);
	progress = allo_host_begin(&source->progress, source->options.host, source->path, NULL);
	return reader->read_directory_rows(source->path, progress, sink, profile, err);
}
