/* answer_threads.c - the ask "threads": allocations by thread, and who frees whose blocks. */
#include "base/defer.h"
#include "base/hash.h"
#include "view/answers/answers.h"

#include <string.h>

/* The counters of a thread. */
enum counter {
	ALLOC_BLOCKS,
	ALLOC_BYTES,
	LIVE_BYTES,
	TEMPORARY_BLOCKS,
	FREES_OWN,
	FREES_OTHER,
	COUNTERS
};

static const char *const counter_names[2][COUNTERS] = {
	{ "before_alloc_blocks", "before_alloc_bytes", "before_live_bytes",
	  "before_temporary_blocks", "before_frees_own", "before_frees_other" },
	{ "alloc_blocks", "alloc_bytes", "live_bytes", "temporary_blocks", "frees_own",
	  "frees_other" },
};

/* A thread; in a comparison of two recordings, of both. */
struct row {
	const struct allo_stream *stream;   /* an example */
	const struct allo_dataset *file[2]; /* the recordings that have it; NULL: not this one */
	double counters[2][COUNTERS];       /* by enum allo_side */
};

/* Blocks of one thread that another one, or the same, has freed. */
struct cell {
	uint32_t maker, freer;
	double blocks[2], bytes[2]; /* by enum allo_side */
};

struct threads {
	struct allo_log_part part; /* changes before it only count for the live bytes */
	enum allo_side side;       /* that is counted */
	struct allo_weighing weighing;
	ALLO_VEC(uint32_t) row_of; /* by stream of the part: index + 1 */
	ALLO_VEC(struct row) rows;
	ALLO_VEC(struct cell) cells;
	struct allo_map map; /* of cells: index + 1 */
};

static void threads_done(struct threads *threads)
{
	allo_vec_done(&threads->row_of);
	allo_vec_done(&threads->rows);
	allo_vec_done(&threads->cells);
	allo_map_done(&threads->map);
}

/* Whether a row of the other side is a thread of this one: the same, or in another recording the
 * first one of its name that has no row yet. */
static bool is_row_of(const struct threads *threads, const struct row *row,
		      const struct allo_stream *stream)
{
	const struct allo_dataset *file = threads->part.file;
	const struct allo_dataset *other = row->file[!threads->side];

	if (!other || row->file[threads->side])
		return false;
	return other == file ? row->stream == stream
			     : allo_text_equal(row->stream->name, stream->name);
}

static bool find_row(struct threads *threads, uint32_t stream_number, struct allo_error *err)
{
	const struct allo_stream *stream =
		&threads->part.file->recording->streams.at[stream_number];
	size_t row = 0;

	while (row < threads->rows.len && !is_row_of(threads, &threads->rows.at[row], stream))
		row++;
	if (row == threads->rows.len &&
	    !allo_vec_add(&threads->rows, ((struct row){ .stream = stream }), err))
		return false;
	threads->rows.at[row].file[threads->side] = threads->part.file;
	threads->row_of.at[stream_number] = (uint32_t)row + 1;
	return true;
}

static uint32_t row_of(struct threads *threads, uint32_t stream, struct allo_error *err)
{
	if (!allo_vec_extend(&threads->row_of, (size_t)stream + 1, err) ||
	    (threads->row_of.at[stream] == 0 && !find_row(threads, stream, err)))
		return 0;
	return threads->row_of.at[stream] - 1;
}

static struct cell *cell_of(struct threads *threads, uint32_t maker, uint32_t freer,
			    struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(maker, freer, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&threads->map, hash);
	uint32_t id;

	while ((id = allo_map_next(&threads->map, &probe)) != 0) {
		struct cell *cell = &threads->cells.at[id - 1];

		if (cell->maker == maker && cell->freer == freer)
			return cell;
	}
	if (!allo_vec_add(&threads->cells, ((struct cell){ .maker = maker, .freer = freer }),
			  err) ||
	    !allo_map_add(&threads->map, hash, (uint32_t)threads->cells.len, err))
		return NULL;
	return &threads->cells.at[threads->cells.len - 1];
}

static void count_end(struct threads *threads, const struct allo_change *change, double blocks,
		      struct allo_error *err)
{
	uint32_t maker = row_of(threads, change->maker, err);
	uint32_t freer = row_of(threads, change->stream, err);
	double bytes = blocks * (double)change->size;
	struct cell *cell;

	if (allo_failed(err))
		return;
	threads->rows.at[maker].counters[threads->side][LIVE_BYTES] -= bytes;
	if (change->ns < threads->part.range.from)
		return;
	cell = cell_of(threads, maker, freer, err);
	if (!cell)
		return;
	cell->blocks[threads->side] += blocks;
	cell->bytes[threads->side] += bytes;
	threads->rows.at[freer].counters[threads->side][maker == freer ? FREES_OWN : FREES_OTHER] +=
		blocks;
	if (change->flags & ALLO_CHANGE_TEMPORARY)
		threads->rows.at[maker].counters[threads->side][TEMPORARY_BLOCKS] += blocks;
}

static void count_start(struct threads *threads, const struct allo_change *change, double blocks,
			struct allo_error *err)
{
	double *counters, bytes = blocks * (double)change->size;
	uint32_t row = row_of(threads, change->stream, err);

	if (allo_failed(err))
		return;
	counters = threads->rows.at[row].counters[threads->side];
	counters[LIVE_BYTES] += bytes;
	if (change->ns < threads->part.range.from)
		return;
	counters[ALLOC_BLOCKS] += blocks;
	counters[ALLOC_BYTES] += bytes;
}

static bool take_changes(void *context, const struct allo_change *changes, size_t count,
			 struct allo_error *err)
{
	struct threads *threads = context;

	for (size_t i = 0; i < count && !allo_failed(err); i++) {
		double blocks =
			allo_weigh(&threads->weighing, changes[i].size, changes[i].birth_ns).weight;

		if (!allo_log_part_shows_change(&threads->part, &changes[i]))
			continue;
		if (changes[i].flags & ALLO_CHANGE_ENDED)
			count_end(threads, &changes[i], blocks, err);
		else
			count_start(threads, &changes[i], blocks, err);
	}
	return !allo_failed(err);
}

static bool put_counter(const struct threads *threads, int side, size_t counter,
			struct allo_reply *reply, struct allo_error *err)
{
	ALLO_VEC(double) values = { 0 };

	for (size_t i = 0; i < threads->rows.len; i++)
		allo_vec_add(&values, threads->rows.at[i].counters[side][counter], err);
	allo_reply_f64(reply, counter_names[side][counter], values.at, values.len);
	allo_vec_done(&values);
	return !allo_failed(err);
}

static bool put_rows(const struct threads *threads, int first_side, struct allo_reply *reply,
		     struct allo_error *err)
{
	ALLO_VEC(uint32_t) ids = { 0 };
	ALLO_DEFER(allo_text_column_done) struct allo_text_column names = { 0 };

	for (size_t i = 0; i < threads->rows.len; i++) {
		allo_vec_add(&ids, threads->rows.at[i].stream->thread, err);
		allo_text_column_add(&names, threads->rows.at[i].stream->name, err);
	}
	allo_reply_u32(reply, "id", ids.at, ids.len);
	allo_reply_texts(reply, "name", &names);
	for (int side = first_side; side <= ALLO_NOW; side++) {
		for (size_t c = 0; c < COUNTERS; c++)
			put_counter(threads, side, c, reply, err);
	}
	allo_vec_done(&ids);
	return !allo_failed(err);
}

static bool put_freed(const struct threads *threads, int side, struct allo_reply *reply,
		      struct allo_error *err)
{
	static const char *const names[2][2] = {
		{ "before_freed_blocks", "before_freed_bytes" },
		{ "freed_blocks", "freed_bytes" },
	};
	ALLO_VEC(double) blocks = { 0 };
	ALLO_VEC(double) bytes = { 0 };

	for (size_t i = 0; i < threads->cells.len; i++) {
		allo_vec_add(&blocks, threads->cells.at[i].blocks[side], err);
		allo_vec_add(&bytes, threads->cells.at[i].bytes[side], err);
	}
	allo_reply_f64(reply, names[side][0], blocks.at, blocks.len);
	allo_reply_f64(reply, names[side][1], bytes.at, bytes.len);
	allo_vec_done(&blocks);
	allo_vec_done(&bytes);
	return !allo_failed(err);
}

static bool put_matrix(const struct threads *threads, int first_side, struct allo_reply *reply,
		       struct allo_error *err)
{
	ALLO_VEC(uint32_t) makers = { 0 };
	ALLO_VEC(uint32_t) freers = { 0 };

	for (size_t i = 0; i < threads->cells.len; i++) {
		allo_vec_add(&makers, threads->cells.at[i].maker, err);
		allo_vec_add(&freers, threads->cells.at[i].freer, err);
	}
	allo_reply_u32(reply, "from", makers.at, makers.len);
	allo_reply_u32(reply, "to", freers.at, freers.len);
	for (int side = first_side; side <= ALLO_NOW; side++)
		put_freed(threads, side, reply, err);
	allo_vec_done(&makers);
	allo_vec_done(&freers);
	return !allo_failed(err);
}

static bool count_side(struct threads *threads, enum allo_side side, struct allo_error *err)
{
	threads->side = side;
	threads->weighing = allo_weighing_of(threads->part.file->recording);
	threads->row_of.len = 0;
	return allo_change_log_walk(&threads->part.file->log, 0, threads->part.range.to,
				    take_changes, threads, err);
}

bool allo_answer_threads(struct allo_dataset *dataset, const struct allo_request *request,
			 struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(threads_done) struct threads threads = { 0 };
	int first_side = ALLO_NOW;

	if (!allo_needs_recording(dataset, "threads", err) ||
	    !allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_part(dataset, request, ALLO_NOW, &threads.part) ||
	    !count_side(&threads, ALLO_NOW, err))
		return false;
	if (allo_dataset_part(dataset, request, ALLO_BEFORE, &threads.part)) {
		first_side = ALLO_BEFORE;
		if (!count_side(&threads, ALLO_BEFORE, err))
			return false;
	}
	return put_rows(&threads, first_side, reply, err) &&
	       put_matrix(&threads, first_side, reply, err);
}
