/*
 * pack.h - gzip and zstd, on as many cores as there are.
 *
 * gzip comes out as one member, whatever the size: not every program reads a second one.
 */
#ifndef ALLO_BASE_PACK_H
#define ALLO_BASE_PACK_H

#include "base/error.h"
#include "base/output.h"

struct allo_packer;

/* Where packed bytes go. */
typedef void (*allo_packed_sink)(void *context, const void *data, size_t len);

/* NULL when memory is short. */
struct allo_packer *allo_packer_new(enum allo_packing packing, bool fast, allo_packed_sink sink,
				    void *context, struct allo_error *err);

/* Failures stay with the packer until allo_packer_finish(). */
void allo_packer_put(struct allo_packer *packer, const void *data, size_t len);

bool allo_packer_finish(struct allo_packer *packer, struct allo_error *err);

void allo_packer_free(struct allo_packer *packer);

#endif
