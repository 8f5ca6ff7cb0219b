/* pack_recording.c - see pack_recording.h. */
#include "replay/packed/pack_recording.h"

#include "base/defer.h"
#include "base/jobs.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/modelled_columns.h"
#include "replay/packed/stored_names.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	TABLE_SIZE = 1 << 20,      /* bytes of stacks and facts that are packed together */
	THREADS_AT_ONCE = 1 << 16, /* the same of threads */
	WORKS = 4,                 /* chunks under way at once */
	COLUMNS_ROOM = 2 * ALLO_EVENTS_AT_ONCE, /* events that a span may become */
	MODELLED_EVENTS = 1 << 17, /* in a chunk: they stay in a cache until they are modelled */
};

/* Events that are modelled, chunk by chunk, whatever core has which. */
struct modelling {
	bool is_wanted; /* known with the first chunk */
	struct allo_column_modeller modeller;
	pthread_mutex_t lock; /* of this: */
	pthread_cond_t changed;
	uint32_t turn; /* the chunk that is the next */
};

/* A chunk of events while it is packed. */
struct work {
	struct modelling *modelling;
	struct allo_chunk chunk;
	struct allo_event_columns columns;
	ZSTD_CCtx *zstd;
	ALLO_VEC(char) packed;
	bool is_packed; /* false: memory was short */
};

struct packing {
	struct allo_recording recording;
	struct allo_chunk_writer chunks;
	struct allo_jobs jobs;
	struct modelling modelling;
	struct work works[WORKS];
	struct work *work; /* that events go into */
	uint32_t given;    /* chunks of events so far */
	uint32_t *threads; /* by stream: their place in the row of threads */
	size_t thread_count;
	struct allo_events events;
	struct allo_live_blocks blocks;
	struct allo_column_state state;
	struct allo_piece_bytes piece;
};

static void packing_done(struct packing *packing)
{
	allo_jobs_close(&packing->jobs);
	for (size_t i = 0; i < WORKS; i++) {
		struct work *work = &packing->works[i];

		allo_event_columns_done(&work->columns);
		allo_vec_done(&work->packed);
		ZSTD_freeCCtx(work->zstd);
	}
	allo_column_modeller_done(&packing->modelling.modeller);
	free(packing->threads);
	allo_events_close(&packing->events);
	allo_live_blocks_done(&packing->blocks);
	allo_column_state_done(&packing->state);
	allo_piece_bytes_done(&packing->piece);
	allo_chunk_writer_done(&packing->chunks);
	allo_recording_close(&packing->recording);
}

/* Head, stacks, facts and threads. */

static bool write_head(struct packing *packing, struct allo_error *err)
{
	const struct allo_text *bytes = &packing->recording.head_bytes;

	allo_chunk_writer_begin(&packing->chunks, ALLO_PACKED_VERSION);
	return allo_chunk_write_plain(&packing->chunks,
				      (struct allo_chunk){ .kind = ALLO_CHUNK_HEAD }, bytes->data,
				      bytes->len, err);
}

/* Blocks that follow each other; how many pieces that were. */
static bool write_blocks(struct packing *packing, const struct allo_piece *pieces, size_t count,
			 size_t *written, struct allo_error *err)
{
	struct allo_chunk chunk = { .kind = pieces->kind,
				    .stream = pieces->stream,
				    .sequence = pieces->sequence };
	ALLO_VEC(char) blocks = { 0 };
	size_t i = 0;
	bool ok = true;

	do {
		ok = allo_recording_load(&packing->recording, &pieces[i], &packing->piece, err);
		if (ok &&
		    !allo_vec_append(&blocks, packing->piece.bytes.at, packing->piece.bytes.len))
			ok = allo_fail_memory(err);
		/* One that is not there any more ends the chunk. */
		if (!ok || packing->piece.bytes.len == 0)
			break;
		chunk.count += pieces[i].blocks;
		i++;
	} while (i < count && pieces[i].sequence == chunk.sequence + chunk.count &&
		 blocks.len + pieces[i].raw_len <= TABLE_SIZE);
	*written = i > 0 ? i : 1;
	ok = ok && (i == 0 ||
		    allo_chunk_write_plain(&packing->chunks, chunk, blocks.at, blocks.len, err));
	allo_vec_done(&blocks);
	return ok;
}

static bool write_tables(struct packing *packing, struct allo_error *err)
{
	const struct allo_recording *recording = &packing->recording;

	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		const struct allo_piece *pieces = &recording->pieces.at[stream->first_piece];
		size_t written;

		if (stream->kind == ALLO_STREAM_EVENTS)
			continue;
		for (size_t at = 0; at < stream->piece_count; at += written) {
			if (!write_blocks(packing, pieces + at, stream->piece_count - at, &written,
					  err))
				return false;
		}
	}
	return true;
}

static bool write_threads(struct packing *packing, struct allo_error *err)
{
	const struct allo_recording *recording = &packing->recording;
	ALLO_VEC(struct allo_packed_thread) threads = { 0 };
	bool ok = true;

	packing->threads = calloc(recording->streams.len + 1, sizeof(*packing->threads));
	if (!packing->threads)
		return allo_fail_memory(err);
	for (size_t i = 0; i < recording->streams.len && ok; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		struct allo_packed_thread thread = { stream->number, stream->thread,
						     stream->dropped, "" };

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		memcpy(thread.name, stream->name.data, stream->name.len);
		packing->threads[i] = (uint32_t)threads.len;
		ok = allo_vec_append(&threads, &thread, 1) || allo_fail_memory(err);
	}
	packing->thread_count = threads.len;
	for (size_t at = 0; at < threads.len && ok; at += THREADS_AT_ONCE) {
		size_t count = threads.len - at;

		if (count > THREADS_AT_ONCE)
			count = THREADS_AT_ONCE;
		ok = allo_chunk_write_plain(
			&packing->chunks,
			(struct allo_chunk){ .kind = ALLO_CHUNK_THREADS, .count = (uint32_t)count },
			&threads.at[at], count * sizeof(*threads.at), err);
	}
	allo_vec_done(&threads);
	return ok;
}

/* Events. */

/* After the chunks before it.  Jobs start in their order, so that each chunk's turn comes. */
static bool model_in_turn(struct work *work)
{
	struct modelling *modelling = work->modelling;
	bool ok;

	pthread_mutex_lock(&modelling->lock);
	while (modelling->turn != work->chunk.sequence)
		pthread_cond_wait(&modelling->changed, &modelling->lock);
	pthread_mutex_unlock(&modelling->lock);
	ok = allo_event_columns_model(&work->columns, &modelling->modeller);
	pthread_mutex_lock(&modelling->lock);
	modelling->turn++;
	pthread_cond_broadcast(&modelling->changed);
	pthread_mutex_unlock(&modelling->lock);
	return ok;
}

/* On any core. */
static void run_work(void *context)
{
	struct work *work = context;
	/* First, and in any case: others wait for it. */
	bool ok = !work->modelling->is_wanted || model_in_turn(work);

	work->is_packed = false;
	work->packed.len = 0;
	if (!work->zstd)
		work->zstd = ZSTD_createCCtx();
	if (!ok || !work->zstd ||
	    !allo_vec_reserve(&work->packed, allo_event_columns_bound(&work->columns)))
		return;
	work->chunk.raw_len = (uint32_t)allo_event_columns_size(&work->columns);
	work->packed.len = allo_event_columns_pack(&work->columns, work->zstd, work->packed.at,
						   work->packed.cap);
	allo_chunk_seal(&work->chunk, work->packed.at, work->packed.len);
	work->is_packed = work->packed.len > 0;
}

static bool finish_oldest(struct packing *packing, struct allo_error *err)
{
	const struct work *work = allo_jobs_take(&packing->jobs);

	if (!work->is_packed)
		return allo_fail_memory(err);
	return allo_chunk_write(&packing->chunks, &work->chunk, work->packed.at, err);
}

static bool begin_work(struct packing *packing, struct allo_error *err)
{
	if (allo_jobs_under_way(&packing->jobs) == WORKS && !finish_oldest(packing, err))
		return false;
	packing->work = &packing->works[packing->given % WORKS];
	allo_event_columns_begin(&packing->work->columns);
	packing->work->columns.threads = packing->threads;
	packing->work->columns.is_for_model = packing->modelling.is_wanted;
	return true;
}

/* With the first columns it is known how all will be packed. */
static bool choose_packing(struct packing *packing, struct allo_error *err)
{
	struct modelling *modelling = &packing->modelling;
	size_t stacks = packing->state.site_count;

	modelling->is_wanted = allo_event_columns_want_model(&packing->work->columns, stacks);
	/* Who replays comes first, unless he would have to wait for the model. */
	packing->jobs.steps_back = !modelling->is_wanted;
	return !modelling->is_wanted ||
	       allo_column_modeller_init(&modelling->modeller, stacks, packing->thread_count, err);
}

static bool give_work(struct packing *packing, struct allo_error *err)
{
	struct work *work = packing->work;

	if (packing->given == 0 && !choose_packing(packing, err))
		return false;
	work->modelling = &packing->modelling;
	work->chunk = (struct allo_chunk){ .kind = ALLO_CHUNK_EVENTS,
					   .sequence = packing->given++,
					   .count = work->columns.count };
	allo_jobs_give(&packing->jobs, work);
	return true;
}

/* Whether a chunk may become too large by a span. */
static bool is_full(const struct packing *packing)
{
	uint32_t most = packing->modelling.is_wanted ? MODELLED_EVENTS : ALLO_COLUMN_EVENTS_MAX;

	return packing->work->columns.count > most - COLUMNS_ROOM;
}

static bool pack_events(struct packing *packing, struct allo_error *err)
{
	struct allo_event_span span;

	if (!begin_work(packing, err))
		return false;
	/* Not before the tables are written: the recording belongs to who reads from now on. */
	allo_events_read_ahead(&packing->events);
	while (allo_events_next(&packing->events, &span, err)) {
		if (is_full(packing)) {
			if (!give_work(packing, err) || !begin_work(packing, err))
				return false;
		}
		if (!allo_event_columns_put(&packing->work->columns, &packing->state,
					    &packing->blocks, &span, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	if (packing->work->columns.count > 0 && !give_work(packing, err))
		return false;
	while (allo_jobs_under_way(&packing->jobs) > 0) {
		if (!finish_oldest(packing, err))
			return false;
	}
	return true;
}

/* The trailer. */

static bool write_trailer(struct packing *packing, struct allo_error *err)
{
	struct allo_recording *recording = &packing->recording;
	struct allo_summary summary;

	allo_live_blocks_end(&packing->blocks);
	recording->gaps.missing_stacks += packing->blocks.missing_stacks;
	allo_summary_of_blocks(&summary, recording, &packing->blocks, packing->events.count);
	return allo_chunk_writer_finish(&packing->chunks, recording->name, &summary,
					&recording->gaps, err);
}

bool allo_recording_pack(const char *raw_path, const char *out_path,
			 const struct allo_progress *progress, struct allo_error *err)
{
	struct allo_output_options output = { .replace = true };

	return allo_recording_pack_named(raw_path, out_path, &output, NULL, progress, err);
}

bool allo_recording_pack_named(const char *raw_path, const char *out_path,
			       const struct allo_output_options *output,
			       const struct allo_name_tables *names,
			       const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(packing_done)
	struct packing packing = { .chunks.out.fd = -1,
				   .modelling = { .lock = PTHREAD_MUTEX_INITIALIZER,
						  .changed = PTHREAD_COND_INITIALIZER } };
	struct allo_recording *recording = &packing.recording;

	if (!allo_recording_open_file(recording, raw_path, progress, err) ||
	    !allo_output_open(&packing.chunks.out, out_path, output, err) ||
	    !allo_live_blocks_init(&packing.blocks, recording, err) ||
	    !allo_column_state_init(&packing.state, recording->nodes.len, err) ||
	    !allo_events_open(&packing.events, recording, err))
		return false;
	allo_jobs_open(&packing.jobs, run_work, allo_cpu_count());
	return write_head(&packing, err) && write_tables(&packing, err) &&
	       write_threads(&packing, err) && pack_events(&packing, err) &&
	       (!names || allo_name_tables_write(names, &packing.chunks, err)) &&
	       write_trailer(&packing, err);
}
