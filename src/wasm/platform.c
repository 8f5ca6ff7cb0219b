/*
 * platform.c - takes the place of the core's files that need an operating system.
 *
 * The engine has no files, no clock and no threads.  It reads bytes that JavaScript gives it.
 */
#include "base/hash.h"
#include "base/huge_alloc.h"
#include "base/io/pack.h"
#include "base/io/temporary.h"
#include "base/io/unpack_method.h"
#include "base/io/zstd_frame.h"
#include "replay/heap_cache.h"
#include "wasm/imports.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t allo_hash_seed(void)
{
	static uint64_t seed;

	if (seed == 0)
		seed = allo_import_random() | 1;
	return seed;
}

void *allo_huge_alloc(size_t size)
{
	enum { CACHE_LINE = 64 };

	if (size > SIZE_MAX - CACHE_LINE)
		return NULL;
	return aligned_alloc(CACHE_LINE, (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
}

int allo_temporary_open(void)
{
	errno = ENOSYS;
	return -1;
}

/* zstd. */

/* JavaScript's decompressor keeps its own memory; this is only an address that is not NULL. */
static char no_memory;

struct allo_zstd_unpacker *allo_zstd_unpacker_new(void)
{
	return (struct allo_zstd_unpacker *)&no_memory;
}

void allo_zstd_unpacker_free(struct allo_zstd_unpacker *unpacker)
{
	(void)unpacker;
}

bool allo_zstd_unpack_frame(struct allo_zstd_unpacker *unpacker, struct allo_text packed, void *out,
			    size_t len)
{
	(void)unpacker;
	return allo_import_unpack_zstd(packed.data, packed.len, out, len) != 0;
}

/* Files that are compressed as a whole: JavaScript unpacks them before the engine sees them.  The
 * browser's own decompressor for gzip is asynchronous, so that no import can call it. */

static void *open_unsupported(void)
{
	return &no_memory;
}

static void close_unsupported(void *state)
{
	(void)state;
}

static struct allo_unpacked unpack_unsupported(void *state, struct allo_text *packed, char *out,
					       size_t room)
{
	(void)state;
	(void)packed;
	(void)out;
	(void)room;
	return (struct allo_unpacked){ .problem = ALLO_UNPACK_UNSUPPORTED };
}

const struct allo_unpack_method allo_unpack_gzip = { "gzip", open_unsupported, close_unsupported,
						     unpack_unsupported };
const struct allo_unpack_method allo_unpack_zstd = { "zstd", open_unsupported, close_unsupported,
						     unpack_unsupported };

char *allo_gunzip_whole(struct allo_text packed, size_t most, size_t *len)
{
	(void)packed;
	(void)most;
	(void)len;
	return NULL;
}

/* Output is to memory, and never compressed. */

pid_t getpid(void)
{
	return 0;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	(void)from_folder;
	(void)from;
	(void)to_folder;
	(void)to;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

struct allo_packer *allo_packer_new(enum allo_packing packing, bool fast, allo_packed_sink sink,
				    void *context, struct allo_error *err)
{
	(void)packing;
	(void)fast;
	(void)sink;
	(void)context;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "output cannot be compressed here");
	return NULL;
}

void allo_packer_put(struct allo_packer *packer, const void *data, size_t len)
{
	(void)packer;
	(void)data;
	(void)len;
}

bool allo_packer_finish(struct allo_packer *packer, struct allo_error *err)
{
	(void)packer;
	(void)err;
	return true;
}

void allo_packer_free(struct allo_packer *packer)
{
	(void)packer;
}

/* There is no cache. */

bool allo_heap_cache_load(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, uint64_t *event_count,
			  struct allo_error *err)
{
	(void)heap;
	(void)recording;
	(void)options;
	(void)event_count;
	(void)err;
	return false;
}

void allo_heap_cache_store(const struct allo_heap *heap, const struct allo_recording *recording,
			   const struct allo_heap_options *options, uint64_t event_count)
{
	(void)heap;
	(void)recording;
	(void)options;
	(void)event_count;
}
