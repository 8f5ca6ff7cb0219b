/* pack_recording.c - see pack_recording.h. */
#include "replay/pack_recording.h"

#include "base/defer.h"
#include "base/jobs.h"
#include "base/output.h"
#include "replay/event_columns.h"
#include "replay/heap.h"
#include "replay/packed_trailer.h"
#include "wire/packed.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

enum {
	CHUNK_SIZE = 1 << 20,     /* bytes of blocks that are packed together */
	WORKS = 4,                /* chunks under way at once */
	EVENTS_AT_ONCE = 1 << 17, /* replayed while chunks are packed on other cores */
	/* Measured on recordings of python3, sqlite3 and four threads: it leaves 7, 15 and 1 % less
	 * than level 1 and takes 14, 5 and 21 ns an event instead of 10, 4 and 9.  Level 5 takes
	 * three times as long for another 5, 1 and 1 %. */
	EVENT_LEVEL = 3,
	TABLE_LEVEL = 9, /* of stacks and facts, which are few */
};

/* A chunk while it is packed. */
struct work {
	struct allo_chunk chunk;
	ALLO_VEC(char) blocks;       /* what it is made of */
	struct allo_columns columns; /* the same, if has_columns */
	bool has_columns;
	ZSTD_CCtx *zstd;
	ALLO_VEC(char) packed;
	bool is_packed; /* false: memory was short */
};

/* Pieces that become one chunk. */
struct plan {
	size_t stream, first_piece, piece_count;
	uint64_t ticks;
	bool is_events;
};

struct packing {
	struct allo_recording recording;
	struct allo_output out;
	struct allo_jobs jobs;
	struct work works[WORKS];
	size_t next_work;
	ALLO_VEC(struct plan) plans;
	bool *is_timed; /* by stream; see allo_columns_split() */
	struct allo_piece_bytes piece;
	allo_trailer trailer;
	struct allo_events events;
	struct allo_heap heap;
	bool is_replayed;
};

static void packing_done(struct packing *packing)
{
	allo_jobs_close(&packing->jobs);
	for (size_t i = 0; i < WORKS; i++) {
		struct work *work = &packing->works[i];

		allo_vec_done(&work->blocks);
		allo_vec_done(&work->packed);
		allo_columns_done(&work->columns);
		ZSTD_freeCCtx(work->zstd);
	}
	allo_vec_done(&packing->plans);
	allo_vec_done(&packing->trailer);
	free(packing->is_timed);
	allo_piece_bytes_done(&packing->piece);
	allo_events_close(&packing->events);
	allo_heap_done(&packing->heap);
	allo_output_drop(&packing->out);
	allo_recording_close(&packing->recording);
}

/* Which pieces go together, and in which order. */

static int compare_plans(const void *a, const void *b)
{
	const struct plan *x = a, *y = b;

	if (x->is_events != y->is_events)
		return x->is_events ? 1 : -1;
	if (x->is_events && x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	/* Those of one stream keep their order. */
	return x->first_piece < y->first_piece ? -1 : x->first_piece > y->first_piece;
}

static bool plan_stream(struct packing *packing, size_t index, struct allo_error *err)
{
	const struct allo_stream *stream = &packing->recording.streams.at[index];
	const struct allo_piece *pieces = &packing->recording.pieces.at[stream->first_piece];
	struct plan *plan = NULL;
	size_t size = 0;

	for (size_t i = 0; i < stream->piece_count; i++) {
		bool follows = i > 0 &&
			       pieces[i].sequence == pieces[i - 1].sequence + pieces[i - 1].blocks;

		if (!plan || !follows || size + pieces[i].raw_len > CHUNK_SIZE) {
			plan = allo_vec_push(&packing->plans);
			if (!plan)
				return allo_fail_memory(err);
			*plan = (struct plan){ .stream = index,
					       .first_piece = stream->first_piece + i,
					       .ticks = pieces[i].first_ticks,
					       .is_events = stream->kind == ALLO_STREAM_EVENTS };
			size = 0;
		}
		plan->piece_count++;
		size += pieces[i].raw_len;
	}
	return true;
}

static bool make_plans(struct packing *packing, struct allo_error *err)
{
	for (size_t i = 0; i < packing->recording.streams.len; i++) {
		if (!plan_stream(packing, i, err))
			return false;
	}
	if (packing->plans.len > 0)
		qsort(packing->plans.at, packing->plans.len, sizeof(*packing->plans.at),
		      compare_plans);
	return true;
}

/* Packing, on any core. */

static size_t pack_plain(struct work *work)
{
	size_t made = ZSTD_compressCCtx(work->zstd, work->packed.at, work->packed.cap,
					work->blocks.at, work->blocks.len, TABLE_LEVEL);

	return ZSTD_isError(made) ? 0 : made;
}

static void run_work(void *context)
{
	struct work *work = context;
	struct allo_chunk *chunk = &work->chunk;
	size_t bound = work->has_columns ? allo_columns_bound(&work->columns)
					 : ZSTD_compressBound(work->blocks.len);

	work->is_packed = false;
	work->packed.len = 0;
	if (!work->zstd)
		work->zstd = ZSTD_createCCtx();
	if (!work->zstd || !allo_vec_reserve(&work->packed, bound))
		return;
	work->packed.len = work->has_columns
				   ? allo_columns_pack(&work->columns, work->zstd, EVENT_LEVEL,
						       work->packed.at, work->packed.cap)
				   : pack_plain(work);
	chunk->magic = ALLO_CHUNK_MAGIC;
	chunk->coding = work->has_columns ? ALLO_CODING_COLUMNS : ALLO_CODING_PLAIN;
	chunk->raw_len = (uint32_t)work->blocks.len;
	chunk->packed_len = (uint32_t)work->packed.len;
	chunk->hash = XXH64(work->packed.at, work->packed.len, 0);
	chunk->head_hash = XXH64(chunk, offsetof(struct allo_chunk, head_hash), 0);
	work->is_packed = work->packed.len > 0;
}

/* Reading and writing, on this one. */

/* The chunk's head as its blocks tell. */
static void describe(struct packing *packing, const struct plan *plan, struct allo_chunk *chunk)
{
	const struct allo_piece *first = &packing->recording.pieces.at[plan->first_piece];
	const struct allo_piece *last = first + plan->piece_count - 1;

	*chunk = (struct allo_chunk){
		.kind = first->kind,
		.is_fresh = first->is_fresh,
		.stream = first->stream,
		.sequence = first->sequence,
		.blocks = last->sequence + last->blocks - first->sequence,
		.thread = last->thread,
		.first_ticks = first->first_ticks,
		.dropped = last->dropped,
	};
	memcpy(chunk->name, last->name, sizeof(chunk->name));
}

/* Loads a chunk's blocks; there are none when the first is not there any more. */
static bool load_blocks(struct packing *packing, const struct plan *plan, struct work *work,
			struct allo_error *err)
{
	work->blocks.len = 0;
	describe(packing, plan, &work->chunk);
	for (size_t i = 0; i < plan->piece_count; i++) {
		const struct allo_piece *piece =
			&packing->recording.pieces.at[plan->first_piece + i];

		if (!allo_recording_load(&packing->recording, piece, &packing->piece, err))
			return false;
		if (packing->piece.bytes.len == 0) {
			work->chunk.blocks = piece->sequence - work->chunk.sequence;
			return true;
		}
		if (!allo_vec_append(&work->blocks, packing->piece.bytes.at,
				     packing->piece.bytes.len))
			return allo_fail_memory(err);
	}
	return true;
}

/* Takes the blocks of events apart, if they are as they should be. */
static bool split_blocks(struct packing *packing, const struct plan *plan, struct work *work,
			 struct allo_error *err)
{
	bool is_odd = true;

	work->has_columns = plan->is_events &&
			    allo_columns_split(
				    &work->columns,
				    (struct allo_text){ work->blocks.at, work->blocks.len },
				    &packing->is_timed[plan->stream], &is_odd, err);
	return !allo_failed(err);
}

static uint64_t offset_of(const struct packing *packing)
{
	return packing->out.written + packing->out.used;
}

static bool write_work(struct packing *packing, const struct work *work, struct allo_error *err)
{
	if (!work->is_packed ||
	    !allo_trailer_add_chunk(&packing->trailer, offset_of(packing), &work->chunk))
		return allo_fail_memory(err);
	allo_output_bytes(&packing->out, &work->chunk, sizeof(work->chunk));
	allo_output_bytes(&packing->out, work->packed.at, work->packed.len);
	return true;
}

/* Something that is no stream's, as a chunk of its own. */
static bool write_bytes(struct packing *packing, enum allo_chunk_kind kind, const void *bytes,
			size_t len, struct allo_error *err)
{
	struct work *work = &packing->works[0];

	work->blocks.len = 0;
	work->has_columns = false;
	work->chunk = (struct allo_chunk){ .kind = (uint8_t)kind };
	if (!allo_vec_append(&work->blocks, bytes, len))
		return allo_fail_memory(err);
	run_work(work);
	return write_work(packing, work, err);
}

static bool write_head(struct packing *packing, struct allo_error *err)
{
	struct allo_packed_head head = { .version = ALLO_PACKED_VERSION,
					 .byte_order = ALLO_BYTE_ORDER };

	memcpy(head.magic, ALLO_PACKED_MAGIC, sizeof(head.magic));
	allo_output_bytes(&packing->out, &head, sizeof(head));
	return write_bytes(packing, ALLO_CHUNK_HEAD, packing->recording.head_bytes.data,
			   packing->recording.head_bytes.len, err);
}

static bool write_trailer(struct packing *packing, struct allo_error *err)
{
	struct allo_packed_end end = { 0 };
	struct allo_summary summary;
	allo_trailer trailer = { 0 };
	bool ok;

	allo_heap_end(&packing->heap, allo_recording_duration(&packing->recording));
	allo_summary_of_heap(&summary, &packing->recording, &packing->heap, packing->events.count);
	end.trailer = offset_of(packing);
	memcpy(end.magic, ALLO_PACKED_END_MAGIC, sizeof(end.magic));
	ok = allo_trailer_add_summary(&trailer, &summary) &&
	     allo_vec_append(&trailer, packing->trailer.at, packing->trailer.len);
	if (!ok)
		allo_fail_memory(err);
	else if (trailer.len > ALLO_TRAILER_RAW_MAX)
		ok = allo_fail(err, ALLO_LIMIT,
			       (struct allo_pos){ .file = packing->recording.name },
			       "is too large to be packed");
	else
		ok = write_bytes(packing, ALLO_CHUNK_TRAILER, trailer.at, trailer.len, err);
	allo_vec_done(&trailer);
	allo_output_bytes(&packing->out, &end, sizeof(end));
	return ok;
}

/* All of it. */

/* Replays some events, for the summary, while others are packed. */
static bool replay_some(struct packing *packing, struct allo_error *err)
{
	uint64_t until = packing->events.count + EVENTS_AT_ONCE;
	struct allo_event_span span;

	while (!packing->is_replayed && packing->events.count < until) {
		if (!allo_events_next(&packing->events, &span, err))
			packing->is_replayed = true;
		else if (!allo_heap_apply(&packing->heap, &span, err))
			return false;
	}
	return !allo_failed(err);
}

static bool finish_oldest(struct packing *packing, struct allo_error *err)
{
	const struct work *work = allo_jobs_take(&packing->jobs);

	return !work || write_work(packing, work, err);
}

static bool pack_streams(struct packing *packing, struct allo_error *err)
{
	for (size_t i = 0; i < packing->plans.len; i++) {
		struct work *work = &packing->works[packing->next_work++ % WORKS];

		if (allo_jobs_under_way(&packing->jobs) == WORKS && !finish_oldest(packing, err))
			return false;
		if (!load_blocks(packing, &packing->plans.at[i], work, err) ||
		    !split_blocks(packing, &packing->plans.at[i], work, err))
			return false;
		if (work->blocks.len == 0) {
			packing->next_work--;
			continue;
		}
		allo_jobs_give(&packing->jobs, work);
		if (!replay_some(packing, err))
			return false;
	}
	while (!packing->is_replayed) {
		if (!replay_some(packing, err))
			return false;
	}
	while (allo_jobs_under_way(&packing->jobs) > 0) {
		if (!finish_oldest(packing, err))
			return false;
	}
	return true;
}

bool allo_recording_pack(const char *raw_path, const char *out_path,
			 const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(packing_done) struct packing packing = { .out = { .fd = -1 } };
	struct allo_output_options output = { .replace = true };

	if (!allo_recording_open_file(&packing.recording, raw_path, progress, err) ||
	    !allo_output_open(&packing.out, out_path, &output, err) || !make_plans(&packing, err) ||
	    !allo_heap_init(&packing.heap, &packing.recording, err) ||
	    !allo_events_open(&packing.events, &packing.recording, err))
		return false;
	packing.recording.reads_twice = true; /* to pack, and to replay */
	packing.is_timed = calloc(packing.recording.streams.len + 1, sizeof(*packing.is_timed));
	if (!packing.is_timed)
		return allo_fail_memory(err);
	allo_jobs_open(&packing.jobs, run_work, allo_cpu_count());
	return write_head(&packing, err) && pack_streams(&packing, err) &&
	       write_trailer(&packing, err) && allo_output_finish(&packing.out, err);
}
