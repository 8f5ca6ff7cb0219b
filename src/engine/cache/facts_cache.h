/*
 * facts_cache.h - facts for findings, kept in files like the heaps of replay/heap_cache.h.
 *
 * They are in the folder "facts" of the cache.  A file belongs to one recording and is used under
 * the same conditions as a heap.  It is checked like any input.
 */
#ifndef ALLO_ENGINE_FACTS_CACHE_H
#define ALLO_ENGINE_FACTS_CACHE_H

#include "findings/facts.h"

/* False if the cache does not have them. */
bool allo_facts_cache_load(struct allo_facts *facts, const struct allo_recording *recording,
			   const struct allo_heap_options *options);

/* Failures are ignored. */
void allo_facts_cache_store(const struct allo_facts *facts, const struct allo_recording *recording,
			    const struct allo_heap_options *options);

/* Fills facts from the bytes of a file, whose key and checksum are not checked.  For fuzzers. */
bool allo_facts_cache_fill(struct allo_facts *facts, const struct allo_recording *recording,
			   struct allo_text bytes);

#endif
