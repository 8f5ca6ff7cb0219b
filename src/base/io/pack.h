/*
 * pack.h - gzip and zstd compression on all cores.
 *
 * gzip output is always one member, because some programs ignore further ones.
 */
#ifndef ALLO_BASE_PACK_H
#define ALLO_BASE_PACK_H

#include "base/error.h"
#include "base/io/output.h"

struct allo_packer;

/* Receives compressed bytes. */
typedef void (*allo_packed_sink)(void *context, const void *data, size_t len);

/* NULL when out of memory. */
struct allo_packer *allo_packer_new(enum allo_packing packing, bool fast, allo_packed_sink sink,
				    void *context, struct allo_error *err);

/* Failures latch until allo_packer_finish(). */
void allo_packer_put(struct allo_packer *packer, const void *data, size_t len);

bool allo_packer_finish(struct allo_packer *packer, struct allo_error *err);

void allo_packer_free(struct allo_packer *packer);

#endif
