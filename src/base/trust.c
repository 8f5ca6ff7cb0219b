/* trust.c - see trust.h. */
#include "base/trust.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_bool inputs_are_trusted;

void allo_trust_set(bool are_trusted)
{
	atomic_store_explicit(&inputs_are_trusted, are_trusted, memory_order_relaxed);
}

uint64_t allo_trust_limit(uint64_t input_bytes, uint64_t ratio, uint64_t least)
{
	uint64_t most;

	if (atomic_load_explicit(&inputs_are_trusted, memory_order_relaxed) ||
	    __builtin_mul_overflow(input_bytes, ratio, &most))
		return UINT64_MAX;
	return most > least ? most : least;
}

bool allo_fail_limit(struct allo_error *err, struct allo_pos pos, const char *fmt, ...)
{
	char message[sizeof(err->message)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	allo_fail(err, ALLO_LIMIT, pos, "%s", message);
	return allo_hint(err, "pass --trust if you trust the file");
}
