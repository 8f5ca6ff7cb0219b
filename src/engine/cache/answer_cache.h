/*
 * answer_cache.h - answers about threads and single blocks of a recording, kept in files so that a
 * question is replayed once.
 *
 * The heap cache (replay/heap_cache.h) and the change log (log_cache.h) serve all questions that
 * sums by site answer.  Other answers are cached as they are: a small file in the folder "answers"
 * for each question.  It belongs to one recording and is used under the same conditions as a heap.
 * It is checked like any input.
 */
#ifndef ALLO_ENGINE_ANSWER_CACHE_H
#define ALLO_ENGINE_ANSWER_CACHE_H

#include "base/io/cache_file.h"
#include "engine/source.h"
#include "replay/heap_cache.h"

/* A question about the view of a source. */
struct allo_question {
	struct allo_heap_cache_key key;
	uint64_t hash; /* of all that the answer depends on besides the recording */

	/* Private from here on. */
	const struct allo_recording *recording;
	bool is_cached;
	uint64_t bad_pages; /* known before the replay */
};

/* `about` tells kinds of questions apart. */
struct allo_question allo_question_of(const struct allo_source *source, const char *about);

/* Adds bytes that the answer depends on. */
void allo_question_add(struct allo_question *question, const void *bytes, size_t len);

/* False if the cache does not have the answer. */
bool allo_answer_load(const struct allo_question *question, allo_cache_bytes *answer);

/* Failures are ignored.  An answer from a replay that met damaged parts is not stored. */
void allo_answer_store(const struct allo_question *question, const allo_cache_bytes *answer);

#endif
