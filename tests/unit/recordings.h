/*
 * recordings.h - recordings of programs that never were, for tests of what reads them.
 */
#ifndef ALLO_TESTS_RECORDINGS_H
#define ALLO_TESTS_RECORDINGS_H

#include "random.h"
#include "recorder.h"

/* A server: main calls handle and log; log's stack is cut, and a library comes later. */
enum { NODE_MAIN = 1, NODE_HANDLE, NODE_LOG, NODE_PLUGIN };

static inline void record_tables(struct recorder *recorder)
{
	recorder_init(recorder);
	recorder_module(recorder, 0, 0x400000, 0x420000, "/usr/bin/server");
	recorder_module(recorder, 0, 0x7f0000000000, 0x7f0000200000, "/lib/libc.so.6");
	recorder_node(recorder, 0, 0x401016, 0);
	recorder_node(recorder, NODE_MAIN, 0x401230, 0);
	recorder_node(recorder, 0, 0x401450, ALLO_STACK_CUT);
	recorder_module(recorder, 1, 0x7f0000300000, 0x7f0000310000, "/lib/plugin.so");
	recorder_generation(recorder, 1);
	recorder_node(recorder, NODE_HANDLE, 0x7f0000301000, ALLO_STACK_EXACT_PC);
}

/*
 * Two threads and one of everything.  In all 23 blocks of 1009 bytes by handle, of which thread 2
 * frees 20; one of 64 by log, resized to 128 and to 32, where one more realloc fails; one of 7 by
 * the plugin, resized away to nothing; one without a stack and at an odd address.
 */
static inline void record_server(struct recorder *recorder)
{
	uint32_t one, two;

	record_tables(recorder);
	one = recorder_thread(recorder, 4711, "server");
	recorder_alloc(recorder, one, 2000, 0x50008, 5, 0);
	recorder_alloc(recorder, one, 3000, 0x51000, 64, NODE_LOG);
	two = recorder_thread(recorder, 4712, "worker");
	recorder_escape(recorder, one, ALLO_ESCAPE_TIMED);
	recorder_escape(recorder, two, ALLO_ESCAPE_TIMED);
	for (uint64_t i = 0; i < 23; i++)
		recorder_alloc(recorder, one, 10000 + 1000 * i, 0x60000 + 1040 * i, 1009,
			       NODE_HANDLE);
	recorder_resize(recorder, one, 40000, 0x51000);
	recorder_alloc(recorder, one, 41000, 0x52000, 128, NODE_LOG);
	for (uint64_t i = 0; i < 20; i++)
		recorder_free(recorder, two, 50000 + 1000 * i, 0x60000 + 1040 * i);
	recorder_resize(recorder, one, 80000, 0x52000);
	recorder_alloc(recorder, one, 81000, 0x52000, 32, NODE_LOG);
	recorder_resize(recorder, one, 82000, 0x52000);
	recorder_resized(recorder, one, 83000, ALLO_ESCAPE_FAILED);
	recorder_alloc(recorder, two, 90000, 0x53000, 7, NODE_PLUGIN);
	recorder_resize(recorder, two, 91000, 0x53000);
	recorder_resized(recorder, two, 92000, ALLO_ESCAPE_GONE);
}

/* The same, but the process was killed while it sealed a block, and another one was lost. */
static inline void record_killed(struct recorder *recorder)
{
	size_t lost;

	record_server(recorder);
	recorder_head(recorder)->end = ALLO_END_NONE;
	lost = recorder->slots;
	recorder_seal(recorder, 4, true);
	memset(recorder->file + lost * ALLO_SLOT_SIZE, 0, ALLO_SLOT_SIZE);
	recorder_free(recorder, 4, 95000, 0x50008);
	recorder_tail(recorder, 4)->dropped = 3;
	recorder_seal(recorder, 3, false);
}

/* Many events, so that there are many blocks; with addresses as allocators give them. */
static inline void record_many(struct recorder *recorder, uint32_t threads, uint64_t events)
{
	enum { BLOCKS = 5000 };
	uint32_t stream[RECORDER_STREAMS];
	uint64_t seed = 1;
	uint64_t *live = calloc(BLOCKS, sizeof(*live));

	if (!live)
		abort();
	record_tables(recorder);
	for (uint32_t i = 0; i < threads; i++) {
		stream[i] = recorder_thread(recorder, 100 + i, "");
		if (threads > 1)
			recorder_escape(recorder, stream[i], ALLO_ESCAPE_TIMED);
	}
	for (uint64_t i = 0; i < events; i++) {
		uint64_t ticks = 2000 + 16 * i, place = draw(&seed, BLOCKS);
		uint32_t by = stream[draw(&seed, threads)];
		uint64_t pointer = 0x7f1234560000 + place * 112;

		if (live[place])
			recorder_free(recorder, by, ticks, pointer);
		else
			recorder_alloc(recorder, by, ticks, pointer, draw(&seed, 100),
				       1 + draw(&seed, 4));
		live[place] = !live[place];
	}
	free(live);
}

#endif
