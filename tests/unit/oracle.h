/*
 * oracle.h - a simple model of a program and its heap, as a reference for tests of the replay.
 *
 * It is slow and obvious: every question goes through all blocks, and blocks know the events that
 * made and ended them.
 */
#ifndef ALLO_TESTS_ORACLE_H
#define ALLO_TESTS_ORACLE_H

#include "check.h"
#include "random.h"
#include "recordings.h"
#include "replay/recording/recording.h"

enum {
	ORACLE_EVENTS = 400,
	ORACLE_THREADS = 3,
	ORACLE_STACKS = 4, /* of record_tables(); 0 for none */
	ORACLE_PLACES = 40,
	ORACLE_NEVER = -1,
	ORACLE_TICK = 16, /* a recording has no finer times */
};

enum oracle_kind { ORACLE_ALLOC, ORACLE_FREE, ORACLE_RESIZE, ORACLE_FAIL, ORACLE_STRAY };

struct oracle_event {
	enum oracle_kind kind;
	uint64_t ns; /* all different */
	unsigned thread;
};

struct oracle_block {
	uint64_t pointer, size;
	unsigned stack, first_stack, thread;
	int born, ended; /* events */
	int first;       /* event that made the first block of its chain */
	bool resized_on;
};

struct oracle {
	struct oracle_event events[ORACLE_EVENTS];
	struct oracle_block blocks[ORACLE_EVENTS];
	int event_count, block_count;
};

/* A part of the recording. */
struct oracle_part {
	uint64_t from, to; /* 0 for no end */
	int thread;        /* ORACLE_NEVER for all */
	bool by_first;     /* blocks belong to the stack of the first block of their chain */
};

static inline int oracle_live_at(const struct oracle *oracle, uint64_t pointer)
{
	for (int i = 0; i < oracle->block_count; i++) {
		if (oracle->blocks[i].pointer == pointer && oracle->blocks[i].ended == ORACLE_NEVER)
			return i;
	}
	return ORACLE_NEVER;
}

static inline void oracle_add_block(struct oracle *oracle, unsigned thread, uint64_t pointer,
				    uint64_t size, unsigned stack)
{
	int event = oracle->event_count;

	oracle->blocks[oracle->block_count++] = (struct oracle_block){
		.pointer = pointer,
		.size = size,
		.stack = stack,
		.first_stack = stack,
		.thread = thread,
		.born = event,
		.ended = ORACLE_NEVER,
		.first = event,
	};
}

/* Events: each goes to the recording and to the model. */
static inline void oracle_step(struct oracle *oracle, struct recorder *recorder,
			       const uint32_t *streams, uint64_t *seed, uint64_t ns)
{
	uint64_t ticks = ns + 1000, pointer = 0x7f0000000010 + draw(seed, ORACLE_PLACES) * 112;
	uint64_t moved = draw(seed, 2) ? pointer : 0x7e0000000010 + ns * 128;
	uint64_t size = draw(seed, 1000);
	unsigned thread = draw(seed, ORACLE_THREADS), stack = 1 + draw(seed, ORACLE_STACKS);
	int live = oracle_live_at(oracle, pointer);
	enum oracle_kind kind = live == ORACLE_NEVER ? draw(seed, 20) ? ORACLE_ALLOC : ORACLE_STRAY
				: draw(seed, 3)      ? ORACLE_FREE
				: draw(seed, 4)      ? ORACLE_RESIZE
						     : ORACLE_FAIL;

	if (kind == ORACLE_ALLOC) {
		recorder_alloc(recorder, streams[thread], ticks, pointer, size, stack);
		oracle_add_block(oracle, thread, pointer, size, stack);
	} else if (kind == ORACLE_FREE || kind == ORACLE_STRAY) {
		recorder_free(recorder, streams[thread], ticks, pointer);
		if (kind == ORACLE_FREE)
			oracle->blocks[live].ended = oracle->event_count;
	} else {
		recorder_resize(recorder, streams[thread], ticks, pointer);
		if (kind == ORACLE_FAIL) {
			recorder_resized(recorder, streams[thread], ticks, ALLO_ESCAPE_FAILED);
		} else {
			struct oracle_block *old = &oracle->blocks[live], *block;

			recorder_alloc(recorder, streams[thread], ticks, moved, size, stack);
			old->ended = oracle->event_count;
			old->resized_on = true;
			oracle_add_block(oracle, thread, moved, size, stack);
			block = &oracle->blocks[oracle->block_count - 1];
			block->first = old->first;
			block->first_stack = old->first_stack;
		}
	}
	oracle->events[oracle->event_count++] = (struct oracle_event){ kind, ns, thread };
}

/* A program with threads, reallocs, frees of unknown blocks, and addresses that other threads reuse
 * within nanoseconds. */
static inline void oracle_record(struct oracle *oracle, struct recorder *recorder, uint64_t seed)
{
	uint32_t streams[ORACLE_THREADS];
	uint64_t ns = 64 * ORACLE_TICK;

	*oracle = (struct oracle){ 0 };
	record_tables(recorder);
	for (unsigned i = 0; i < ORACLE_THREADS; i++) {
		streams[i] = recorder_thread(recorder, 500 + i, "worker");
		recorder_escape(recorder, streams[i], ALLO_ESCAPE_TIMED);
	}
	while (oracle->event_count < ORACLE_EVENTS) {
		ns += ORACLE_TICK * (1 + (draw(&seed, 4) ? draw(&seed, 4) : draw(&seed, 300)));
		oracle_step(oracle, recorder, streams, &seed, ns);
	}
}

/* The recording of a program, in memory. */
struct opened {
	struct oracle oracle;
	struct recorder recorder;
	struct allo_input in;
	struct allo_recording recording;
};

static inline void opened_done(struct opened *opened)
{
	allo_recording_close(&opened->recording);
	allo_input_close(&opened->in);
	recorder_done(&opened->recorder);
}

/* Opens the recording. */
static inline void open_recorded(struct opened *opened)
{
	struct allo_error err = { 0 };

	allo_input_open_memory(&opened->in, "memory", opened->recorder.file,
			       recorder_size(&opened->recorder), &err);
	assert_true(allo_recording_open(&opened->recording, &opened->in, &err));
}

static inline void open_round(struct opened *opened, uint64_t seed)
{
	*opened = (struct opened){ 0 };
	oracle_record(&opened->oracle, &opened->recorder, seed);
	open_recorded(opened);
}

/* Questions. */

static inline bool oracle_is_inside(const struct oracle *oracle, const struct oracle_part *part,
				    int event)
{
	uint64_t ns = oracle->events[event].ns;

	return ns >= part->from && (part->to == 0 || ns < part->to);
}

static inline bool oracle_is_wanted(const struct oracle_part *part,
				    const struct oracle_block *block)
{
	return part->thread == ORACLE_NEVER || (unsigned)part->thread == block->thread;
}

static inline unsigned oracle_stack(const struct oracle_part *part,
				    const struct oracle_block *block)
{
	return part->by_first ? block->first_stack : block->stack;
}

/* Live memory after an event, of one stack, or of all for 0. */
static inline uint64_t oracle_live(const struct oracle *oracle, const struct oracle_part *part,
				   int event, unsigned stack, uint64_t *blocks)
{
	uint64_t bytes = 0;

	*blocks = 0;
	for (int i = 0; i < oracle->block_count; i++) {
		const struct oracle_block *block = &oracle->blocks[i];

		if (block->born > event ||
		    (block->ended != ORACLE_NEVER && block->ended <= event) ||
		    !oracle_is_wanted(part, block) ||
		    (stack != 0 && oracle_stack(part, block) != stack))
			continue;
		bytes += block->size;
		++*blocks;
	}
	return bytes;
}

/* The last event before the part, and the last event of the part. */
static inline void oracle_borders(const struct oracle *oracle, const struct oracle_part *part,
				  int *before, int *last)
{
	*before = *last = -1;
	for (int i = 0; i < oracle->event_count; i++) {
		if (oracle->events[i].ns < part->from)
			*before = *last = i;
		else if (oracle_is_inside(oracle, part, i))
			*last = i;
	}
}

/* The first event after which most bytes were live, of one stack, or of all for 0. */
static inline int oracle_fullest(const struct oracle *oracle, const struct oracle_part *part,
				 unsigned stack, bool by_blocks)
{
	int before, last, best;
	uint64_t most, most_blocks;

	oracle_borders(oracle, part, &before, &last);
	best = before;
	most = oracle_live(oracle, part, before, stack, &most_blocks);
	for (int i = before + 1; i <= last; i++) {
		uint64_t blocks, bytes = oracle_live(oracle, part, i, stack, &blocks);

		if (bytes > most || (by_blocks && bytes == most && blocks > most_blocks)) {
			most = bytes;
			most_blocks = blocks;
			best = i;
		}
	}
	return best;
}

/* Whether its thread frees a block before its next allocation. */
static inline bool oracle_is_temporary(const struct oracle *oracle,
				       const struct oracle_block *block)
{
	unsigned thread;

	if (block->ended == ORACLE_NEVER || block->resized_on)
		return false;
	thread = oracle->events[block->ended].thread;
	if (thread != block->thread)
		return false;
	for (int i = block->born + 1; i < block->ended; i++) {
		enum oracle_kind kind = oracle->events[i].kind;

		if (oracle->events[i].thread == thread &&
		    (kind == ORACLE_ALLOC || kind == ORACLE_RESIZE))
			return false;
	}
	return true;
}

#endif
