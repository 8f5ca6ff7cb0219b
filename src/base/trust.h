/*
 * trust.h - limits of memory and work for inputs that may be hostile.
 *
 * A small file can describe a large result.  Readers limit the result to a multiple of the size of
 * their input; doc/limits.md lists these limits.  `--trust` lifts them for the whole process.
 */
#ifndef ALLO_BASE_TRUST_H
#define ALLO_BASE_TRUST_H

#include "base/error.h"

/* Lifts all limits, or sets them again.  Call it before the first input is opened. */
void allo_trust_set(bool are_trusted);

/* The larger one of `least` and `ratio` times `input_bytes`; UINT64_MAX with --trust. */
uint64_t allo_trust_limit(uint64_t input_bytes, uint64_t ratio, uint64_t least);

/* Records that an input exceeds a limit, with --trust as the next step.  Returns false. */
bool allo_fail_limit(struct allo_error *err, struct allo_pos pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
