/* answer_threads.c - the ask "threads": allocations by thread, and who frees whose blocks. */
#include "base/defer.h"
#include "base/hash.h"
#include "view/answers.h"

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

static const char *const counter_names[COUNTERS] = { "alloc_blocks", "alloc_bytes",
						     "live_bytes",   "temporary_blocks",
						     "frees_own",    "frees_other" };

struct row {
	uint32_t stream;
	double counters[COUNTERS];
};

/* Blocks of one thread that another one, or the same, has freed. */
struct cell {
	uint32_t maker, freer;
	double blocks, bytes;
};

struct threads {
	struct allo_dataset *dataset;
	uint64_t from_ns; /* changes before it only count for the live bytes */
	struct allo_weighing weighing;
	ALLO_VEC(uint32_t) row_of; /* by stream: index + 1 */
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

static uint32_t row_of(struct threads *threads, uint32_t stream, struct allo_error *err)
{
	if (!allo_vec_extend(&threads->row_of, (size_t)stream + 1, err))
		return 0;
	if (threads->row_of.at[stream] == 0) {
		if (!allo_vec_add(&threads->rows, ((struct row){ .stream = stream }), err))
			return 0;
		threads->row_of.at[stream] = (uint32_t)threads->rows.len;
	}
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
	if (!allo_vec_add(&threads->cells, ((struct cell){ maker, freer, 0, 0 }), err) ||
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
	threads->rows.at[maker].counters[LIVE_BYTES] -= bytes;
	if (change->ns < threads->from_ns)
		return;
	cell = cell_of(threads, maker, freer, err);
	if (!cell)
		return;
	cell->blocks += blocks;
	cell->bytes += bytes;
	threads->rows.at[freer].counters[maker == freer ? FREES_OWN : FREES_OTHER] += blocks;
	if (change->flags & ALLO_CHANGE_TEMPORARY)
		threads->rows.at[maker].counters[TEMPORARY_BLOCKS] += blocks;
}

static void count_start(struct threads *threads, const struct allo_change *change, double blocks,
			struct allo_error *err)
{
	double *counters, bytes = blocks * (double)change->size;
	uint32_t row = row_of(threads, change->stream, err);

	if (allo_failed(err))
		return;
	counters = threads->rows.at[row].counters;
	counters[LIVE_BYTES] += bytes;
	if (change->ns < threads->from_ns)
		return;
	counters[ALLOC_BLOCKS] += blocks;
	counters[ALLOC_BYTES] += bytes;
}

static bool take_changes(void *context, const struct allo_change *changes, size_t count,
			 struct allo_error *err)
{
	struct threads *threads = context;

	for (size_t i = 0; i < count && !allo_failed(err); i++) {
		double blocks = allo_weigh(&threads->weighing, changes[i].size).weight;

		if (!allo_dataset_shows_change(threads->dataset, &changes[i]))
			continue;
		if (changes[i].flags & ALLO_CHANGE_ENDED)
			count_end(threads, &changes[i], blocks, err);
		else
			count_start(threads, &changes[i], blocks, err);
	}
	return !allo_failed(err);
}

static bool put_rows(const struct threads *threads, struct allo_reply *reply,
		     struct allo_error *err)
{
	const struct allo_recording *recording = threads->dataset->recording;
	ALLO_VEC(uint32_t) ids = { 0 };
	ALLO_VEC(double) values = { 0 };
	ALLO_DEFER(allo_text_column_done) struct allo_text_column names = { 0 };

	for (size_t i = 0; i < threads->rows.len; i++) {
		const struct allo_stream *stream =
			&recording->streams.at[threads->rows.at[i].stream];

		allo_vec_add(&ids, stream->thread, err);
		allo_text_column_add(&names, stream->name, err);
	}
	allo_reply_u32(reply, "id", ids.at, ids.len);
	allo_reply_texts(reply, "name", &names);
	for (size_t c = 0; c < COUNTERS; c++) {
		values.len = 0;
		for (size_t i = 0; i < threads->rows.len; i++)
			allo_vec_add(&values, threads->rows.at[i].counters[c], err);
		allo_reply_f64(reply, counter_names[c], values.at, values.len);
	}
	allo_vec_done(&ids);
	allo_vec_done(&values);
	return !allo_failed(err);
}

static bool put_matrix(const struct threads *threads, struct allo_reply *reply,
		       struct allo_error *err)
{
	ALLO_VEC(uint32_t) makers = { 0 };
	ALLO_VEC(uint32_t) freers = { 0 };
	ALLO_VEC(double) blocks = { 0 };
	ALLO_VEC(double) bytes = { 0 };

	for (size_t i = 0; i < threads->cells.len; i++) {
		allo_vec_add(&makers, threads->cells.at[i].maker, err);
		allo_vec_add(&freers, threads->cells.at[i].freer, err);
		allo_vec_add(&blocks, threads->cells.at[i].blocks, err);
		allo_vec_add(&bytes, threads->cells.at[i].bytes, err);
	}
	allo_reply_u32(reply, "from", makers.at, makers.len);
	allo_reply_u32(reply, "to", freers.at, freers.len);
	allo_reply_f64(reply, "freed_blocks", blocks.at, blocks.len);
	allo_reply_f64(reply, "freed_bytes", bytes.at, bytes.len);
	allo_vec_done(&makers);
	allo_vec_done(&freers);
	allo_vec_done(&blocks);
	allo_vec_done(&bytes);
	return !allo_failed(err);
}

bool allo_answer_threads(struct allo_dataset *dataset, const struct allo_request *request,
			 struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(threads_done)
	struct threads threads = { .dataset = dataset, .from_ns = request->range.from };

	if (!allo_needs_recording(dataset, "threads", err) ||
	    !allo_dataset_show(dataset, request, err))
		return false;
	threads.weighing = allo_weighing_of(dataset->recording);
	return allo_change_log_walk(&dataset->log, 0, request->range.to, take_changes, &threads,
				    err) &&
	       put_rows(&threads, reply, err) && put_matrix(&threads, reply, err);
}
