/* answer_cache.c - the file of an answer: a struct head, and the bytes of the answer. */
#include "engine/cache/answer_cache.h"

#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define MAGIC "ALLOans1"

static const char kind[] = "answers";

enum {
	FILE_MOST = 16 << 20, /* bytes of one file */
	ALL_MOST = 64 << 20,  /* bytes of all files */
};

struct head {
	struct allo_heap_cache_key key;
	uint64_t question;
	uint64_t hash; /* XXH64 of the answer */
};

static uint64_t bad_pages(const struct allo_recording *recording)
{
	return recording->gaps.damaged_pages + recording->gaps.unread_pages;
}

/* The recording of a window is cached as a whole. */
static bool key_of(struct allo_heap_cache_key *key, const struct allo_source *source)
{
	const struct allo_recording *recording = &source->recording;

	if (!source->replay.use_cache || recording->chunk_events < ALLO_CACHED_EVENTS_LEAST ||
	    !allo_heap_cache_key_of(key, recording, &(struct allo_heap_options){ 0 }))
		return false;
	memcpy(key->magic, MAGIC, sizeof(key->magic));
	return true;
}

void allo_question_add(struct allo_question *question, const void *bytes, size_t len)
{
	question->hash = XXH64(&len, sizeof(len), question->hash);
	if (len > 0)
		question->hash = XXH64(bytes, len, question->hash);
}

struct allo_question allo_question_of(const struct allo_source *source, const char *about)
{
	const struct allo_replay *replay = &source->replay;
	const struct allo_window *window = &replay->window;
	const uint64_t view[] = { window->from_ns, window->to_ns, window->threads != NULL,
				  replay->at, replay->keeps_first };
	struct allo_question question = { .recording = &source->recording,
					  .bad_pages = bad_pages(&source->recording) };

	question.is_cached = key_of(&question.key, source);
	allo_question_add(&question, about, strlen(about));
	allo_question_add(&question, view, sizeof(view));
	if (window->threads)
		allo_question_add(&question, window->threads,
				  source->recording.streams.len * sizeof(*window->threads));
	return question;
}

/* To be freed; NULL if there is no folder for it. */
static char *path_of(const struct allo_question *question)
{
	char name[24];

	snprintf(name, sizeof(name), "%016llx",
		 (unsigned long long)XXH64(&question->key, sizeof(question->key), question->hash));
	return allo_cache_path(kind, name);
}

static struct head head_of(const struct allo_question *question, struct allo_text answer)
{
	return (struct head){ .key = question->key,
			      .question = question->hash,
			      .hash = XXH64(answer.data, answer.len, 0) };
}

bool allo_answer_load(const struct allo_question *question, allo_cache_bytes *answer)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	struct head head;

	path = question->is_cached ? path_of(question) : NULL;
	if (!path)
		return false;
	allo_cache_read(path, FILE_MOST, answer);
	if (answer->len < sizeof(head))
		return false;
	head = head_of(question,
		       (struct allo_text){ answer->at + sizeof(head), answer->len - sizeof(head) });
	if (memcmp(answer->at, &head, sizeof(head)) != 0)
		return false;
	answer->len -= sizeof(head);
	memmove(answer->at, answer->at + sizeof(head), answer->len);
	return true;
}

void allo_answer_store(const struct allo_question *question, const allo_cache_bytes *answer)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	struct head head = head_of(question, (struct allo_text){ answer->at, answer->len });
	allo_cache_bytes bytes = { 0 };

	if (!question->is_cached || bad_pages(question->recording) != question->bad_pages ||
	    answer->len > FILE_MOST - sizeof(head))
		return;
	path = path_of(question);
	if (path && allo_vec_append(&bytes, (char *)&head, sizeof(head)) &&
	    allo_vec_append(&bytes, answer->at, answer->len) &&
	    allo_cache_write(path, bytes.at, bytes.len))
		allo_cache_trim(kind, ALL_MOST);
	allo_vec_done(&bytes);
}
