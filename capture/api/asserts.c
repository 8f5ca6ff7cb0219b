/* asserts.c - the functions behind the assertion macros of allo.h. */
#include "capture/session.h"
#include <allo.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static allo_assert_handler *handler;

void allo_set_assert_handler(allo_assert_handler *given)
{
	__atomic_store_n(&handler, given, __ATOMIC_RELEASE);
}

/* Stops the recording first, so the message is not a part of it. */
static void fail(const char *file, int line, const char *what, const char *seen)
{
	allo_assert_handler *called = __atomic_load_n(&handler, __ATOMIC_ACQUIRE);
	const char *path = allo_stop();
	char message[1024];

	snprintf(message, sizeof(message), "allo: %s:%d: assertion failed: %s%s%s%s%s", file, line,
		 what, seen[0] ? "\n  " : "", seen, path && path[0] ? "\n  recorded in " : "",
		 path && path[0] ? path : "");
	if (called) {
		called(message);
		return;
	}
	fprintf(stderr, "%s\n", message);
	abort();
}

bool allo_assert_begin(const char *file, int line, const char *condition,
		       struct allo_heap_stats *stats)
{
	if (allo_get_heap_stats(stats))
		return true;
	fail(file, line, condition, allo_error());
	return false;
}

void allo_assert_failed(const char *file, int line, const char *condition,
			const struct allo_heap_stats *stats)
{
	char seen[400];

	snprintf(seen, sizeof(seen),
		 "seen: total_bytes %" PRIu64 ", total_blocks %" PRIu64 ", peak_bytes %" PRIu64
		 ", peak_blocks %" PRIu64 ", current_bytes %" PRId64 ", current_blocks %" PRId64,
		 stats->total_bytes, stats->total_blocks, stats->peak_bytes, stats->peak_blocks,
		 stats->current_bytes, stats->current_blocks);
	fail(file, line, condition, seen);
}

struct allo_limited allo_limited_begin(const char *file, int line, enum allo_limit limit,
				       uint64_t allowed)
{
	struct allo_limited limited = {
		.file = file, .line = line, .limit = limit, .allowed = allowed, .is_open = true
	};

	limited.is_checked = allo_scope_begin(&limited.scope);
	if (!limited.is_checked)
		fail(file, line, "limits need statistics", allo_error());
	return limited;
}

static void check_limit(const struct allo_limited *limited, const struct allo_heap_stats *stats)
{
	bool is_held = limited->limit == ALLO_LIMIT_HELD;
	uint64_t found = is_held ? stats->peak_bytes : stats->total_blocks;
	char what[200], seen[200];

	if (found <= limited->allowed)
		return;
	if (is_held)
		snprintf(what, sizeof(what), "at most %" PRIu64 " bytes held", limited->allowed);
	else
		snprintf(what, sizeof(what), "no allocations");
	snprintf(seen, sizeof(seen),
		 "seen: %" PRIu64 " bytes held, allocations: %" PRIu64 ", of %" PRIu64
		 " bytes in all",
		 stats->peak_bytes, stats->total_blocks, stats->total_bytes);
	fail(limited->file, limited->line, what, seen);
}

void allo_limited_end(struct allo_limited *limited)
{
	struct allo_heap_stats stats;
	bool is_open = limited->is_open;

	limited->is_open = false;
	if (is_open && limited->is_checked && allo_scope_end(&limited->scope, &stats))
		check_limit(limited, &stats);
}
