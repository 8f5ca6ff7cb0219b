/*
 * recordings.h - synthetic recordings for tests of readers.
 */
#ifndef ALLO_TESTS_RECORDINGS_H
#define ALLO_TESTS_RECORDINGS_H

#include "random.h"
#include "recorder.h"
#include "wire/resident_samples.h"

/* A server: main calls handle and log; the stack of log is cut, and a library is loaded later. */
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
 * Two threads and one event of each kind.  handle allocates 23 blocks of 1009 bytes, of which
 * thread 2 frees 20.  log allocates one of 64, resized to 128 and to 32; another realloc fails. The
 * plugin allocates one of 7, which realloc frees.  One block has no stack and an odd address.
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

/* The same recording, but sampled. */
static inline void record_sampled(struct recorder *recorder)
{
	record_server(recorder);
	recorder_head(recorder)->sampling = (struct allo_wire_sampling){
		ALLO_MODE_SAMPLED, 0, 4096, 120, 130000, 90
	};
}

/* The first, with the resident memory of its process, which was largest `largest_ns` after the
 * start. */
static inline void record_resident(struct recorder *recorder, uint64_t largest_ns)
{
	enum { AT = 60000, MIB = 1 << 20 };
	struct allo_wire_resident resident = { .step_ns = ALLO_RESIDENT_STEP_NS, .parts_ns = 1 };
	struct allo_wire_head *head;

	record_server(recorder);
	head = recorder_head(recorder);
	allo_resident_add(&resident, largest_ns, 3 * MIB, 3 * MIB);
	resident.parts[ALLO_RESIDENT_MAPPED] = MIB;
	resident.parts[ALLO_RESIDENT_FILES] = 2 * MIB;
	head->resident = (struct allo_wire_text){ AT, sizeof(resident) };
	memcpy((char *)head + AT, &resident, sizeof(resident));
}

/* The first, but the process was killed while it sealed a page, and another page is lost. */
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

/* Labels, marks and events of the program. */
enum {
	TEXT_REQUEST = 1, /* a key */
	TEXT_UPLOAD,      /* two values of the key */
	TEXT_DOWNLOAD,
	TEXT_USER, /* another key */
	TEXT_ALICE,
	TEXT_LOAD, /* name of a mark */
	TEXT_SERVE,
	TEXT_MISS, /* name of an event */
	LABELS_UPLOAD = 1,
	LABELS_ALICE, /* uploads */
	LABELS_DOWNLOAD,
	LABELS_CHANGED, /* an upload inside a download: the inner label counts */
};

static inline void record_words(struct recorder *recorder)
{
	static const char *const texts[] = { "request", "upload", "download", "user",
					     "alice",   "load",   "serve",    "cache miss" };

	for (uint64_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		recorder_noted_text(recorder, i + 1, texts[i]);
	recorder_noted_set(recorder, LABELS_UPLOAD, 0, TEXT_REQUEST, TEXT_UPLOAD);
	recorder_noted_set(recorder, LABELS_ALICE, LABELS_UPLOAD, TEXT_USER, TEXT_ALICE);
	recorder_noted_set(recorder, LABELS_DOWNLOAD, 0, TEXT_REQUEST, TEXT_DOWNLOAD);
	recorder_noted_set(recorder, LABELS_CHANGED, LABELS_DOWNLOAD, TEXT_REQUEST, TEXT_UPLOAD);
}

/*
 * Two threads with labels, marks and events of the program.  handle allocates 7 blocks of 1009
 * bytes for uploads, of which 2 are freed; 5 of 307 for uploads of Alice; 3 of 2003 for downloads,
 * with two events of 17 units; and one of 53 for an upload inside a download, which log resizes to
 * 61 without labels.  Without labels main allocates 101 bytes, and log reports an unnamed event of
 * 5 units.
 */
static inline void record_notes(struct recorder *recorder)
{
	uint32_t one, two;

	record_tables(recorder);
	record_words(recorder);
	one = recorder_thread(recorder, 4711, "server");
	recorder_mark(recorder, one, 2000, TEXT_LOAD);
	recorder_alloc(recorder, one, 3000, 0x50000, 101, NODE_MAIN);
	two = recorder_thread(recorder, 4712, "worker");
	recorder_escape(recorder, one, ALLO_ESCAPE_TIMED);
	recorder_escape(recorder, two, ALLO_ESCAPE_TIMED);
	recorder_labels(recorder, two, 10000, LABELS_UPLOAD);
	for (uint64_t i = 0; i < 7; i++)
		recorder_alloc(recorder, two, 11000 + 1000 * i, 0x60000 + 0x400 * i, 1009,
			       NODE_HANDLE);
	recorder_labels(recorder, one, 15500, LABELS_DOWNLOAD);
	for (uint64_t i = 0; i < 3; i++)
		recorder_alloc(recorder, one, 16500 + 1000 * i, 0x70000 + 0x800 * i, 2003,
			       NODE_HANDLE);
	recorder_labels(recorder, two, 20000, LABELS_ALICE);
	for (uint64_t i = 0; i < 5; i++)
		recorder_alloc(recorder, two, 21000 + 1000 * i, 0x80000 + 0x140 * i, 307,
			       NODE_HANDLE);
	recorder_own_event(recorder, one, 30000, TEXT_MISS, NODE_HANDLE, 17);
	recorder_own_event(recorder, one, 31000, TEXT_MISS, NODE_HANDLE, 17);
	recorder_labels(recorder, one, 32000, LABELS_CHANGED);
	recorder_alloc(recorder, one, 33000, 0x90000, 53, NODE_HANDLE);
	recorder_labels(recorder, one, 34000, 0);
	recorder_labels(recorder, two, 35000, 0);
	recorder_mark(recorder, one, 40000, TEXT_SERVE);
	recorder_own_event(recorder, one, 41000, 0, NODE_LOG, 5);
	recorder_resize(recorder, one, 42000, 0x90000);
	recorder_alloc(recorder, one, 43000, 0x90000, 61, NODE_LOG);
	recorder_free(recorder, two, 50000, 0x60000);
	recorder_free(recorder, two, 51000, 0x60400);
	recorder_mark(recorder, one, 60000, TEXT_SERVE);
}

/* A recording that has only events of the program. */
static inline void record_ad_hoc(struct recorder *recorder)
{
	uint32_t thread;

	record_tables(recorder);
	recorder_head(recorder)->sampling.mode = ALLO_MODE_AD_HOC;
	recorder_noted_text(recorder, 1, "cache miss");
	thread = recorder_thread(recorder, 4711, "server");
	for (uint64_t i = 0; i < 23; i++)
		recorder_own_event(recorder, thread, 2000 + 1000 * i, 0, NODE_HANDLE, 1009);
	recorder_own_event(recorder, thread, 30000, 1, NODE_LOG, 64);
}

/* Many events, some of them labels, marks and events of the program. */
static inline void record_long_notes(struct recorder *recorder, uint64_t rounds)
{
	uint32_t stream[2];

	record_tables(recorder);
	record_words(recorder);
	for (uint32_t i = 0; i < 2; i++) {
		stream[i] = recorder_thread(recorder, 4711 + i, i == 0 ? "server" : "worker");
		recorder_escape(recorder, stream[i], ALLO_ESCAPE_TIMED);
	}
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t ticks = 2000 + 32 * i, pointer = 0x7f1234560000 + i % 5000 * 112;
		uint32_t by = stream[i % 2];

		if (i % 1000 < 2)
			recorder_labels(recorder, by, ticks, i / 1000 % 5);
		if (i % 100000 == 0)
			recorder_mark(recorder, by, ticks, i == 0 ? TEXT_LOAD : TEXT_SERVE);
		if (i % 5000 == 7)
			recorder_own_event(recorder, by, ticks, i % 10000 == 7 ? TEXT_MISS : 0,
					   NODE_HANDLE, i);
		if (i >= 5000)
			recorder_free(recorder, by, ticks, pointer);
		recorder_alloc(recorder, by, ticks + 16, pointer, 1 + i % 97,
			       (uint32_t)(NODE_MAIN + i % 4));
	}
}

/* Many events, so that there are many pages; addresses are like those of an allocator. */
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

/* handle allocates 5003 blocks of 1009 bytes, of which 4996 end in random order.  Each is followed
 * by short-lived blocks of log.  The worker frees every fifth.  All other kinds of events occur now
 * and then. */
static inline void record_shuffled(struct recorder *recorder)
{
	enum { BLOCKS = 5003, KEPT = 7, SHORT = 6 };
	uint64_t order[BLOCKS], seed = 1, ticks = 2000;
	uint32_t one, two;

	record_tables(recorder);
	one = recorder_thread(recorder, 4711, "server");
	two = recorder_thread(recorder, 4712, "worker");
	recorder_escape(recorder, one, ALLO_ESCAPE_TIMED);
	recorder_escape(recorder, two, ALLO_ESCAPE_TIMED);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t other = draw(&seed, i + 1);

		order[i] = order[other];
		order[other] = i;
		recorder_alloc(recorder, one, ticks += 16, 0x600000 + 1024 * (uint64_t)i, 1009,
			       NODE_HANDLE);
	}
	for (uint32_t i = 0; i < BLOCKS - KEPT; i++) {
		recorder_free(recorder, i % 5 ? one : two, ticks += 16, 0x600000 + 1024 * order[i]);
		for (uint64_t k = 0; k < SHORT; k++) {
			recorder_alloc(recorder, one, ticks += 16, 0x50000, 64, NODE_LOG);
			recorder_free(recorder, one, ticks += 16, 0x50000);
		}
		if (i % 100)
			continue;
		recorder_alloc(recorder, one, ticks += 16, 0x50000, 5000000000, NODE_LOG);
		recorder_resize(recorder, one, ticks += 16, 0x50000);
		recorder_alloc(recorder, one, ticks += 16, 0x51000, 128, NODE_PLUGIN);
		recorder_resize(recorder, one, ticks += 16, 0x51000);
		recorder_resized(recorder, one, ticks += 16, ALLO_ESCAPE_FAILED);
		/* Freed late, and freed again. */
		recorder_alloc(recorder, two, ticks += 16, 0x51000, 32, NODE_LOG);
		recorder_free(recorder, one, ticks += 16, 0x51000);
		recorder_free(recorder, two, ticks += 16, 0x51000);
		recorder_free(recorder, two, ticks += 16, 0x51000);
	}
}

#endif
