/*
 * facts_cache.c - the file format of the cache: a struct head, then the sites, the curves and the
 * growths, in the byte order of the machine.
 */
#include "engine/cache/facts_cache.h"

#include "base/defer.h"
#include "base/io/cache_file.h"
#include "replay/heap_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define MAGIC "ALLOfct2"

static const char kind[] = "facts";

enum {
	FILE_MOST = 64 << 20, /* bytes of one file */
	ALL_MOST = 128 << 20, /* bytes of all files */
};

struct head {
	struct allo_heap_cache_key key;
	uint64_t site_count, curve_count, growth_count;
	uint64_t step_ns, steps;
	uint64_t sizes[ALLO_COUNTED_SIZES];
	uint64_t hash; /* XXH64 of all other bytes of the file */
};

static uint64_t hash_of(const struct head *head, const void *rest, size_t len)
{
	return XXH64(rest, len, XXH64(head, offsetof(struct head, hash), 0));
}

static bool key_of(struct allo_heap_cache_key *key, const struct allo_recording *recording,
		   const struct allo_heap_options *options)
{
	if (!allo_heap_cache_key_of(key, recording, options))
		return false;
	memcpy(key->magic, MAGIC, sizeof(key->magic));
	return true;
}

/* To be freed; NULL if there is no folder for it. */
static char *path_of(const struct allo_heap_cache_key *key)
{
	char name[24];

	snprintf(name, sizeof(name), "%016llx", (unsigned long long)XXH64(key, sizeof(*key), 0));
	return allo_cache_path(kind, name);
}

/* Storing. */

static bool store(allo_cache_bytes *bytes, struct head *head, const struct allo_facts *facts)
{
	if (!allo_vec_append(bytes, (char *)head, sizeof(*head)) ||
	    !allo_vec_append(bytes, (char *)facts->sites.at,
			     facts->sites.len * sizeof(*facts->sites.at)) ||
	    !allo_vec_append(bytes, (char *)facts->curves.at,
			     facts->curves.len * sizeof(*facts->curves.at)) ||
	    !allo_vec_append(bytes, (char *)facts->growths.at,
			     facts->growths.len * sizeof(*facts->growths.at)))
		return false;
	head->hash = hash_of(head, bytes->at + sizeof(*head), bytes->len - sizeof(*head));
	memcpy(bytes->at, head, sizeof(*head));
	return bytes->len <= FILE_MOST;
}

static bool is_worth_it(const struct allo_facts *facts)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < facts->sites.len; i++)
		blocks += facts->sites.at[i].blocks;
	return blocks >= ALLO_CACHED_EVENTS_LEAST / 2;
}

void allo_facts_cache_store(const struct allo_facts *facts, const struct allo_recording *recording,
			    const struct allo_heap_options *options)
{
	ALLO_DEFER(allo_free_pointer) struct head *head = calloc(1, sizeof(*head));
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	allo_cache_bytes bytes = { 0 };

	if (!head || !is_worth_it(facts) || !key_of(&head->key, recording, options))
		return;
	path = path_of(&head->key);
	head->site_count = facts->sites.len;
	head->curve_count = facts->curves.len;
	head->growth_count = facts->growths.len;
	head->step_ns = facts->step_ns;
	head->steps = facts->steps;
	memcpy(head->sizes, facts->sizes, sizeof(head->sizes));
	if (path && store(&bytes, head, facts) && allo_cache_write(path, bytes.at, bytes.len))
		allo_cache_trim(kind, ALL_MOST);
	allo_vec_done(&bytes);
}

/* Loading. */

/* Removes an array from the front of the text; NULL if it is too short. */
static const void *take(struct allo_text *text, uint64_t count, size_t size)
{
	const char *at = text->data;

	if (count > text->len / size)
		return NULL;
	*text = allo_text_from(*text, (size_t)count * size);
	return at;
}

static bool are_valid(const struct allo_facts *facts, const struct allo_recording *recording)
{
	if (facts->step_ns == 0 || facts->steps > ALLO_CURVE_STEPS)
		return false;
	for (size_t i = 0; i < facts->curves.len; i++) {
		if (facts->curves.at[i].filled > ALLO_CURVE_STEPS)
			return false;
	}
	for (size_t i = 0; i < facts->sites.len; i++) {
		const struct allo_site_facts *site = &facts->sites.at[i];

		if (site->node >= recording->nodes.len || site->curve > facts->curves.len ||
		    site->growth > facts->growths.len)
			return false;
	}
	return true;
}

bool allo_facts_cache_fill(struct allo_facts *facts, const struct allo_recording *recording,
			   struct allo_text bytes)
{
	ALLO_DEFER(allo_free_pointer) struct head *head = malloc(sizeof(*head));
	const void *start = take(&bytes, 1, sizeof(*head)), *sites, *curves, *growths;

	if (!head || !start)
		return false;
	memcpy(head, start, sizeof(*head));
	sites = take(&bytes, head->site_count, sizeof(*facts->sites.at));
	curves = sites ? take(&bytes, head->curve_count, sizeof(*facts->curves.at)) : NULL;
	growths = curves ? take(&bytes, head->growth_count, sizeof(*facts->growths.at)) : NULL;
	if (!growths || bytes.len > 0 ||
	    !allo_vec_append(&facts->sites, sites, (size_t)head->site_count) ||
	    !allo_vec_append(&facts->curves, curves, (size_t)head->curve_count) ||
	    !allo_vec_append(&facts->growths, growths, (size_t)head->growth_count))
		return false;
	facts->step_ns = head->step_ns;
	facts->steps = head->steps;
	memcpy(facts->sizes, head->sizes, sizeof(facts->sizes));
	return are_valid(facts, recording);
}

static bool is_file_of(const allo_cache_bytes *bytes, const struct allo_heap_cache_key *key)
{
	ALLO_DEFER(allo_free_pointer) struct head *head = malloc(sizeof(*head));

	if (!head || bytes->len < sizeof(*head))
		return false;
	memcpy(head, bytes->at, sizeof(*head));
	return memcmp(&head->key, key, sizeof(*key)) == 0 &&
	       head->hash == hash_of(head, bytes->at + sizeof(*head), bytes->len - sizeof(*head));
}

bool allo_facts_cache_load(struct allo_facts *facts, const struct allo_recording *recording,
			   const struct allo_heap_options *options)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	struct allo_heap_cache_key key;
	allo_cache_bytes bytes = { 0 };
	bool ok;

	if (!key_of(&key, recording, options))
		return false;
	path = path_of(&key);
	if (!path)
		return false;
	allo_cache_read(path, FILE_MOST, &bytes);
	ok = is_file_of(&bytes, &key) &&
	     allo_facts_cache_fill(facts, recording, (struct allo_text){ bytes.at, bytes.len });
	allo_vec_done(&bytes);
	if (!ok) {
		allo_facts_done(facts);
		memset(facts, 0, sizeof(*facts));
	}
	return ok;
}
