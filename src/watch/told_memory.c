/* told_memory.c - see told_memory.h. */
#include "watch/told_memory.h"

#include "base/defer.h"
#include "base/text.h"
#include "telemetry/figure_table.h"
#include "telemetry/snapshots.h"
#include "telemetry/ticking.h"
#include "watch/speak.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Only these are a process's to tell: what the kernel says is not changed by what it says. */
static bool is_its_own(const struct allo_figure *figure)
{
	static const char *const groups[] = { "allocator", "heap", "profiler" };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (strcmp(figure->group, groups[i]) == 0)
			return figure->name != NULL;
	}
	return false;
}

static void take_figures(const struct allo_answer *answer, struct allo_memory_snapshot *snapshot)
{
	for (const struct allo_figure *figure = allo_figures; figure->group; figure++) {
		char key[64];
		uint64_t number;

		if (!is_its_own(figure))
			continue;
		snprintf(key, sizeof(key), "%s.%s", figure->group, figure->name);
		if (allo_answer_number(answer, key, &number))
			memcpy((char *)snapshot + figure->offset, &number, sizeof(number));
	}
}

static void take_text(const struct allo_answer *answer, const char *key, char *out, size_t room)
{
	const char *text = allo_answer_text(answer, key);

	snprintf(out, room, "%s", text ? text : "");
}

static void take_answer(const struct allo_answer *answer, struct allo_memory_snapshot *snapshot,
			uint64_t took_ns)
{
	struct allo_allocator_memory *allocator = &snapshot->allocator;
	const char *allocator_why = allo_answer_text(answer, "allocator.why");
	const char *heap_why = allo_answer_text(answer, "heap.why");

	take_figures(answer, snapshot);
	take_text(answer, "allocator.name", allocator->name, sizeof(allocator->name));
	take_text(answer, "allocator.version", allocator->version, sizeof(allocator->version));
	allo_snapshot_add_source(snapshot, "allocator", took_ns,
				 allocator_why ? allocator_why : "");
	allo_snapshot_add_source(snapshot, "heap", took_ns, heap_why ? heap_why : "");
}

void allo_told_memory(const char *socket, struct allo_memory_snapshot *snapshot)
{
	ALLO_DEFER(allo_free_pointer) struct allo_answer *answer = malloc(sizeof(*answer));
	uint64_t begin_ns = allo_clock_ns();
	struct allo_message request;

	allo_message_begin(&request, "memory");
	allo_message_end(&request);
	errno = ENOMEM;
	if (!answer || !allo_speak(socket, &request, ALLO_PATIENCE_MS, answer))
		allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - begin_ns,
					 strerrordesc_np(errno));
	else if (strcmp(answer->what, "ok") != 0)
		allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - begin_ns,
					 "the process does not answer such questions");
	else
		take_answer(answer, snapshot, allo_clock_ns() - begin_ns);
}
