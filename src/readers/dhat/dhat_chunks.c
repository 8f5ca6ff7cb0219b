/*
 * dhat_chunks.c - cuts the array of program points into chunks and hands them to jobs.
 *
 * Every chunk but the last ends at a guessed border.  A chunk that parses up to its very end
 * proves the guess, since it began at a proven border.  After a wrong guess, the rest of the file
 * is parsed serially, without guessing.
 */
#include "readers/dhat/dhat_chunks.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/jobs.h"

#include <stdlib.h>

enum {
	CHUNK_SIZE = 1 << 20,
	CHUNKS_MAX = 4, /* parsed at the same time */
};

typedef ALLO_VEC(char) bytes;

struct chunks {
	const struct allo_dhat_chunks *asked;
	struct allo_jobs jobs;
	struct allo_dhat_chunk
		chunk[CHUNKS_MAX]; /* number n of the file is chunk[n % CHUNKS_MAX] */
	size_t filled, taken;
	bytes rest;               /* bytes that belong to no chunk yet */
	struct allo_offset place; /* of the oldest chunk */
	bool at_end;              /* of the input */
	bool is_serial;           /* a guess was wrong: guess no more */
	bool is_stuck;            /* the last chunk was shorter than a point */
	bool has_started;         /* a point has been read */
};

static void chunks_done(struct chunks *chunks)
{
	while (allo_jobs_take(&chunks->jobs))
		;
	allo_jobs_close(&chunks->jobs);
	for (size_t i = 0; i < CHUNKS_MAX; i++)
		allo_dhat_chunk_done(&chunks->chunk[i]);
	allo_vec_done(&chunks->rest);
}

/* Grows the chunk's buffer to `room` bytes and a NUL. */
static bool make_room(struct allo_dhat_chunk *chunk, size_t room, struct allo_error *err)
{
	char *text;

	if (room <= chunk->room)
		return true;
	text = realloc(chunk->text, room + 1);
	if (!text)
		return allo_fail_memory(err);
	chunk->text = text;
	chunk->room = room;
	return true;
}

static bool fill_text(struct chunks *chunks, struct allo_dhat_chunk *chunk, struct allo_error *err)
{
	while (chunk->len < chunk->room && !chunks->at_end) {
		size_t got = allo_input_take(chunks->asked->in, chunk->text + chunk->len,
					     chunk->room - chunk->len, err);

		chunk->len += got;
		chunks->at_end = got == 0;
	}
	return !allo_failed(err);
}

static bool fail_too_long(const struct chunks *chunks, struct allo_error *err)
{
	return allo_fail(err, ALLO_LIMIT, allo_offset_pos(chunks->place, chunks->asked->in->name),
			 "a program point is larger than %d MiB", ALLO_PIECE_MAX >> 20);
}

/* Fills the next chunk up to the end of a point, as far as can be guessed; the bytes after it stay
 * in `rest`. */
static bool fill_chunk(struct chunks *chunks, struct allo_dhat_chunk *chunk, struct allo_error *err)
{
	size_t rest = chunks->rest.len;
	size_t more = chunks->is_stuck && rest > CHUNK_SIZE ? rest : CHUNK_SIZE;
	size_t border = 0;

	if (!make_room(chunk, chunks->is_serial ? rest + more : CHUNK_SIZE, err) ||
	    !make_room(chunk, rest, err))
		return false;
	if (rest > 0)
		memcpy(chunk->text, chunks->rest.at, rest);
	chunk->len = rest;
	chunks->rest.len = 0;
	for (;;) {
		if (!fill_text(chunks, chunk, err))
			return false;
		if (chunks->at_end || chunks->is_serial)
			break;
		border = allo_dhat_guess_border((struct allo_text){ chunk->text, chunk->len });
		if (border > 0)
			break;
		if (chunk->room >= ALLO_PIECE_MAX) {
			/* Either one huge point, or the array has ended already: parsing will show.
			 */
			chunks->is_serial = true;
			break;
		}
		if (!make_room(chunk, chunk->room * 2, err))
			return false;
	}
	ALLO_ASSERT(chunk->len <= chunk->room && border <= chunk->len);
	if (border > 0) {
		if (!allo_vec_append(&chunks->rest, chunk->text + border, chunk->len - border))
			return allo_fail_memory(err);
		chunk->len = border;
	}
	chunk->text[chunk->len] = '\0';
	return true;
}

static bool give_chunk(struct chunks *chunks, struct allo_error *err)
{
	struct allo_dhat_chunk *chunk = &chunks->chunk[chunks->filled % CHUNKS_MAX];

	/* The chunk that had this slot before has been taken. */
	ALLO_ASSERT(chunks->filled - chunks->taken < CHUNKS_MAX);
	if (!fill_chunk(chunks, chunk, err))
		return false;
	chunk->is_first = chunks->filled == 0 || (chunks->is_serial && !chunks->has_started);
	chunk->keep_accesses = chunks->asked->keep_accesses;
	chunk->required = chunks->asked->required;
	chunks->filled++;
	allo_jobs_give(&chunks->jobs, chunk);
	return true;
}

/* Moves all bytes after the consumed part of `chunk` to `rest`, including those of later chunks. */
static bool gather_rest(struct chunks *chunks, const struct allo_dhat_chunk *chunk,
			struct allo_error *err)
{
	const struct allo_dhat_chunk *later;
	bytes all = { 0 };
	bool ok = allo_vec_append(&all, chunk->text + chunk->consumed,
				  chunk->len - chunk->consumed);

	while ((later = allo_jobs_take(&chunks->jobs)) != NULL) {
		ok = ok && allo_vec_append(&all, later->text, later->len);
		chunks->taken++;
	}
	ok = ok && allo_vec_append(&all, chunks->rest.at, chunks->rest.len);
	allo_vec_done(&chunks->rest);
	chunks->rest = all;
	return ok || allo_fail_memory(err);
}

static struct allo_pos pos_in(const struct chunks *chunks, const struct allo_dhat_chunk *chunk,
			      size_t offset)
{
	return allo_dhat_chunk_pos(chunk, chunks->place, offset, chunks->asked->in->name);
}

static bool fail_chunk(const struct chunks *chunks, const struct allo_dhat_chunk *chunk,
		       struct allo_error *err)
{
	if (!allo_failed(err)) {
		*err = chunk->failure;
		err->pos = pos_in(chunks, chunk, (size_t)chunk->failure.pos.byte);
	}
	return false;
}

static bool fail_cut_off(const struct chunks *chunks, const struct allo_dhat_chunk *chunk,
			 struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos_in(chunks, chunk, chunk->len),
		  "the file ends within the program points");
	return allo_hint(err, "the file was cut off, or is still being written");
}

/* Returns the bytes after the array to the input. */
static bool finish_chunks(struct chunks *chunks, const struct allo_dhat_chunk *chunk,
			  struct allo_error *err)
{
	if (!gather_rest(chunks, chunk, err))
		return false;
	allo_offset_add(&chunks->place, chunk->covered);
	return allo_input_give_back(chunks->asked->in,
				    (struct allo_text){ chunks->rest.at, chunks->rest.len },
				    chunks->place, err);
}

/* Takes the oldest chunk; sets `is_over` if it ends the array. */
static bool take_chunk(struct chunks *chunks, bool *is_over, struct allo_error *err)
{
	struct allo_dhat_chunk *chunk = allo_jobs_take(&chunks->jobs);

	ALLO_ASSERT(chunk && chunks->taken < chunks->filled);
	chunks->taken++;
	if (chunk->status == ALLO_DHAT_FAILED)
		return fail_chunk(chunks, chunk, err);
	if (!chunks->asked->take(chunks->asked->context, chunk, chunks->place, err))
		return false;
	chunks->has_started |= chunk->points.len > 0;
	*is_over = chunk->status == ALLO_DHAT_ENDED;
	if (*is_over)
		return finish_chunks(chunks, chunk, err);
	if (chunk->status == ALLO_DHAT_INSIDE || (chunks->at_end && chunk->consumed == 0)) {
		/* The guessed border was inside a point: stop guessing. */
		if (!gather_rest(chunks, chunk, err))
			return false;
		if (chunk->consumed == 0 && chunk->len > ALLO_PIECE_MAX)
			return fail_too_long(chunks, err);
		if (chunks->at_end && chunks->is_serial && chunk->consumed == 0)
			return fail_cut_off(chunks, chunk, err);
		chunks->is_serial = true;
		chunks->is_stuck = chunk->consumed == 0;
	}
	allo_offset_add(&chunks->place, chunk->covered);
	return true;
}

bool allo_dhat_read_chunks(const struct allo_dhat_chunks *asked, struct allo_error *err)
{
	ALLO_DEFER(chunks_done)
	struct chunks chunks = { .asked = asked, .place = allo_input_offset(asked->in) };
	bool is_over = false;

	allo_jobs_open(&chunks.jobs, allo_dhat_chunk_parse, allo_cpu_count() - 1);
	while (!is_over) {
		size_t most = chunks.is_serial ? 1 : CHUNKS_MAX;

		while (chunks.filled - chunks.taken < most &&
		       (chunks.filled == chunks.taken || !chunks.at_end)) {
			if (!give_chunk(&chunks, err))
				return false;
		}
		if (!take_chunk(&chunks, &is_over, err))
			return false;
	}
	return true;
}
