/* pack_recording.c - packs chunks on several cores, and writes them in order. */
#include "replay/packed/pack_recording.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/jobs.h"
#include "replay/packed/chunk_writer.h"
#include "replay/packed/modelled_columns.h"
#include "replay/packed/stored_names.h"
#include "replay/ring/earlier.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	TABLE_SIZE = 1 << 20,                   /* bytes of stacks and facts in a chunk */
	THREADS_AT_ONCE = 1 << 16,              /* threads in a chunk */
	WORKS = 4,                              /* chunks that are packed at once */
	COLUMNS_ROOM = 2 * ALLO_EVENTS_AT_ONCE, /* most events that a span may become */
	MODELLED_EVENTS = 1 << 17, /* in a chunk: they stay in the cache until they are modelled */
};

/* Chunks are modelled one after the other, each by the thread that packs it. */
struct model_queue {
	bool is_wanted; /* decided by the first chunk */
	struct allo_column_modeller modeller;
	struct allo_monitor *monitor; /* protects `turn` */
	uint32_t turn;                /* number of the next chunk */
};

/* A chunk of events while it is packed. */
struct work {
	struct model_queue *queue;
	struct allo_chunk chunk;
	struct allo_event_columns columns;
	ZSTD_CCtx *zstd;
	ALLO_VEC(char) packed;
	bool is_packed; /* false if memory was short */
};

struct packer {
	struct allo_recording recording;
	struct allo_chunk_writer chunks;
	struct allo_jobs jobs;
	struct model_queue queue;
	struct work works[WORKS];
	struct work *work; /* that takes the current events */
	uint32_t given;    /* chunks of events so far */
	uint32_t *threads; /* by stream: number of the thread in the packed file */
	size_t thread_count;
	struct allo_events events;
	struct allo_live_blocks blocks;
	struct allo_column_state state;
	struct allo_piece_bytes piece;
};

static void packer_done(struct packer *packer)
{
	allo_jobs_close(&packer->jobs);
	for (size_t i = 0; i < WORKS; i++) {
		struct work *work = &packer->works[i];

		allo_event_columns_done(&work->columns);
		allo_vec_done(&work->packed);
		ZSTD_freeCCtx(work->zstd);
	}
	allo_column_modeller_done(&packer->queue.modeller);
	allo_monitor_free(packer->queue.monitor);
	free(packer->threads);
	allo_events_close(&packer->events);
	allo_live_blocks_done(&packer->blocks);
	allo_column_state_done(&packer->state);
	allo_piece_bytes_done(&packer->piece);
	allo_chunk_writer_done(&packer->chunks);
	allo_recording_close(&packer->recording);
}

/* Head, stacks, facts and threads. */

static bool write_head(struct packer *packer, struct allo_error *err)
{
	const struct allo_text *bytes = &packer->recording.head_bytes;

	allo_chunk_writer_begin(&packer->chunks, packer->recording.earlier ? ALLO_PACKED_WITH_SUMS
									   : ALLO_PACKED_VERSION);
	return allo_chunk_write_plain(&packer->chunks,
				      (struct allo_chunk){ .kind = ALLO_CHUNK_HEAD }, bytes->data,
				      bytes->len, err);
}

/* Writes consecutive pages as a chunk.  `written` is the number of pieces in it. */
static bool write_pages(struct packer *packer, const struct allo_piece *pieces, size_t count,
			size_t *written, struct allo_error *err)
{
	struct allo_chunk chunk = { .kind = pieces->kind,
				    .stream = pieces->stream,
				    .sequence = pieces->sequence };
	ALLO_VEC(char) pages = { 0 };
	size_t i = 0;
	bool ok = true;

	do {
		ok = allo_recording_load(&packer->recording, &pieces[i], &packer->piece, err);
		if (ok && !allo_vec_append(&pages, packer->piece.bytes.at, packer->piece.bytes.len))
			ok = allo_fail_memory(err);
		/* A piece that has vanished ends the chunk. */
		if (!ok || packer->piece.bytes.len == 0)
			break;
		chunk.count += pieces[i].pages;
		i++;
	} while (i < count && pieces[i].sequence == chunk.sequence + chunk.count &&
		 pages.len + pieces[i].raw_len <= TABLE_SIZE);
	*written = i > 0 ? i : 1;
	ok = ok &&
	     (i == 0 || allo_chunk_write_plain(&packer->chunks, chunk, pages.at, pages.len, err));
	allo_vec_done(&pages);
	return ok;
}

static bool write_tables(struct packer *packer, struct allo_error *err)
{
	struct allo_recording *recording = &packer->recording;
	struct allo_gaps known = recording->gaps;

	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		const struct allo_piece *pieces = &recording->pieces.at[stream->first_piece];
		size_t written;

		if (stream->kind == ALLO_STREAM_EVENTS)
			continue;
		for (size_t at = 0; at < stream->piece_count; at += written) {
			if (!write_pages(packer, pieces + at, stream->piece_count - at, &written,
					 err))
				return false;
		}
	}
	/* Opening a packed recording has counted its damaged tables. */
	if (recording->is_packed)
		recording->gaps = known;
	return true;
}

static bool write_threads(struct packer *packer, struct allo_error *err)
{
	const struct allo_recording *recording = &packer->recording;
	ALLO_VEC(struct allo_packed_thread) threads = { 0 };
	bool ok = true;

	packer->threads = calloc(recording->streams.len + 1, sizeof(*packer->threads));
	if (!packer->threads)
		return allo_fail_memory(err);
	for (size_t i = 0; i < recording->streams.len && ok; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];
		struct allo_packed_thread thread = { stream->number, stream->thread,
						     stream->dropped, "" };

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		ALLO_ASSERT(stream->name.len <= sizeof(thread.name));
		memcpy(thread.name, stream->name.data, stream->name.len);
		packer->threads[i] = (uint32_t)threads.len;
		ok = allo_vec_append(&threads, &thread, 1) || allo_fail_memory(err);
	}
	packer->thread_count = threads.len;
	for (size_t at = 0; at < threads.len && ok; at += THREADS_AT_ONCE) {
		size_t count = threads.len - at;

		if (count > THREADS_AT_ONCE)
			count = THREADS_AT_ONCE;
		ok = allo_chunk_write_plain(
			&packer->chunks,
			(struct allo_chunk){ .kind = ALLO_CHUNK_THREADS, .count = (uint32_t)count },
			&threads.at[at], count * sizeof(*threads.at), err);
	}
	allo_vec_done(&threads);
	return ok;
}

/* Sums of a bounded recording.  Kept blocks are among the events, and streams are complete. */
static bool write_sums(struct packer *packer, struct allo_error *err)
{
	const struct allo_earlier *earlier = packer->recording.earlier;
	allo_earlier_bytes bytes = { 0 };
	struct allo_earlier sums;
	size_t part = ALLO_CHUNK_RAW_MAX;
	bool ok;

	if (!earlier)
		return true;
	sums = (struct allo_earlier){ .totals = earlier->totals };
	sums.sites.at = earlier->sites.at;
	sums.sites.len = earlier->sites.len;
	sums.own.at = earlier->own.at;
	sums.own.len = earlier->own.len;
	ok = allo_earlier_write(&sums, &bytes, err);
	for (size_t at = 0; at < bytes.len && ok; at += part) {
		part = bytes.len - at < ALLO_CHUNK_RAW_MAX ? bytes.len - at : ALLO_CHUNK_RAW_MAX;
		ok = allo_chunk_write_plain(
			&packer->chunks,
			(struct allo_chunk){ .kind = ALLO_CHUNK_SUMS,
					     .sequence = (uint32_t)(at / ALLO_CHUNK_RAW_MAX) },
			bytes.at + at, part, err);
	}
	allo_vec_done(&bytes);
	return ok;
}

/* Events. */

/* Waits for the chunks before it.  Jobs start in order, so each chunk gets its turn. */
static bool model_in_turn(struct work *work)
{
	struct model_queue *queue = work->queue;
	bool ok;

	allo_monitor_enter(queue->monitor);
	while (queue->turn != work->chunk.sequence)
		allo_monitor_wait(queue->monitor);
	allo_monitor_leave(queue->monitor);
	ALLO_ASSERT(queue->turn == work->chunk.sequence);
	ok = allo_event_columns_model(&work->columns, &queue->modeller);
	allo_monitor_enter(queue->monitor);
	queue->turn++;
	allo_monitor_wake_all(queue->monitor);
	allo_monitor_leave(queue->monitor);
	return ok;
}

/* Packs a chunk.  Any thread may run it. */
static void run_work(void *context)
{
	struct work *work = context;
	/* First and always: other chunks wait for it. */
	bool ok = !work->queue->is_wanted || model_in_turn(work);

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

static bool finish_oldest(struct packer *packer, struct allo_error *err)
{
	const struct work *work = allo_jobs_take(&packer->jobs);

	if (!work->is_packed)
		return allo_fail_memory(err);
	return allo_chunk_write(&packer->chunks, &work->chunk, work->packed.at, err);
}

static bool begin_work(struct packer *packer, struct allo_error *err)
{
	if (allo_jobs_under_way(&packer->jobs) == WORKS && !finish_oldest(packer, err))
		return false;
	ALLO_ASSERT(allo_jobs_under_way(&packer->jobs) < WORKS);
	packer->work = &packer->works[packer->given % WORKS];
	allo_event_columns_begin(&packer->work->columns);
	packer->work->columns.threads = packer->threads;
	packer->work->columns.is_for_model = packer->queue.is_wanted;
	return true;
}

/* Decides by the first columns whether to model all events. */
static bool choose_packing(struct packer *packer, struct allo_error *err)
{
	struct model_queue *queue = &packer->queue;
	size_t stacks = packer->state.site_count;

	queue->is_wanted = allo_event_columns_want_model(&packer->work->columns, stacks);
	/* The replaying thread has priority, unless it would wait for the model. */
	packer->jobs.steps_back = !queue->is_wanted;
	return !queue->is_wanted ||
	       allo_column_modeller_init(&queue->modeller, stacks, packer->thread_count, err);
}

static bool give_work(struct packer *packer, struct allo_error *err)
{
	struct work *work = packer->work;

	ALLO_ASSERT(work->columns.count > 0 && work->columns.count <= ALLO_COLUMN_EVENTS_MAX);
	if (packer->given == 0 && !choose_packing(packer, err))
		return false;
	work->queue = &packer->queue;
	work->chunk = (struct allo_chunk){ .kind = ALLO_CHUNK_EVENTS,
					   .sequence = packer->given++,
					   .count = work->columns.count };
	allo_jobs_give(&packer->jobs, work);
	return true;
}

/* Whether another span might make the chunk too large. */
static bool is_full(const struct packer *packer)
{
	uint32_t most = packer->queue.is_wanted ? MODELLED_EVENTS : ALLO_COLUMN_EVENTS_MAX;

	return packer->work->columns.count > most - COLUMNS_ROOM;
}

static bool put_span(struct packer *packer, struct allo_event_span *span, struct allo_error *err)
{
	struct allo_event_span part;

	while (allo_live_blocks_cut(&packer->blocks, span, &part)) {
		if (!allo_event_columns_put(&packer->work->columns, &packer->state, &packer->blocks,
					    &part, err))
			return false;
	}
	return true;
}

static bool pack_events(struct packer *packer, struct allo_error *err)
{
	struct allo_event_span span;

	if (!begin_work(packer, err))
		return false;
	/* From here on the recording belongs to the reading thread, so tables are written before.
	 */
	allo_events_read_ahead(&packer->events);
	while (allo_events_next(&packer->events, &span, err)) {
		if (is_full(packer)) {
			if (!give_work(packer, err) || !begin_work(packer, err))
				return false;
		}
		if (!put_span(packer, &span, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	if (packer->work->columns.count > 0 && !give_work(packer, err))
		return false;
	while (allo_jobs_under_way(&packer->jobs) > 0) {
		if (!finish_oldest(packer, err))
			return false;
	}
	return true;
}

/* The trailer. */

static bool write_trailer(struct packer *packer, struct allo_error *err)
{
	struct allo_recording *recording = &packer->recording;
	struct allo_summary summary;

	allo_live_blocks_add_made(&packer->blocks, recording);
	allo_live_blocks_end(&packer->blocks);
	recording->gaps.missing_stacks += packer->blocks.missing_stacks;
	allo_summary_of_blocks(&summary, recording, &packer->blocks,
			       packer->events.count + (recording->earlier
							       ? recording->earlier->totals.events
							       : 0));
	return allo_chunk_writer_finish(&packer->chunks, recording->name, &summary,
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
	ALLO_DEFER(packer_done)
	struct packer packer = { .chunks.out.fd = -1 };
	struct allo_recording *recording = &packer.recording;

	if (!allo_recording_open_file(recording, raw_path, progress, err) ||
	    !allo_output_open(&packer.chunks.out, out_path, output, err) ||
	    !allo_live_blocks_init(&packer.blocks, recording, err) ||
	    !allo_column_state_init(&packer.state, recording->nodes.len, err) ||
	    !allo_events_open(&packer.events, recording, err))
		return false;
	allo_live_blocks_add_totals(&packer.blocks, recording);
	packer.queue.monitor = allo_monitor_new();
	allo_jobs_open(&packer.jobs, run_work, packer.queue.monitor ? allo_cpu_count() : 0);
	return write_head(&packer, err) && write_tables(&packer, err) &&
	       write_threads(&packer, err) && write_sums(&packer, err) &&
	       pack_events(&packer, err) &&
	       (!names || allo_name_tables_write(names, &packer.chunks, err)) &&
	       write_trailer(&packer, err);
}
