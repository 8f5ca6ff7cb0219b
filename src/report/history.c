/* history.c - see history.h. */
#include "report/history.h"

#include "base/assert.h"

static void halve(struct allo_history *history)
{
	size_t half = 0;

	for (size_t i = 0; i < history->count; i += 2) {
		uint64_t first = history->values[i];
		uint64_t second = i + 1 < history->count ? history->values[i + 1] : 0;

		history->values[half++] = first > second ? first : second;
	}
	history->count = half;
	history->step_ns *= 2;
}

/* The step of the last time; makes room for it. */
static size_t last_step(struct allo_history *history)
{
	uint64_t elapsed = history->end_ns - history->start_ns;

	while (elapsed / history->step_ns >= ALLO_HISTORY_MOST)
		halve(history);
	return (size_t)(elapsed / history->step_ns);
}

void allo_history_add(struct allo_history *history, uint64_t ns, uint64_t value)
{
	size_t step;

	ALLO_ASSERT(history->step_ns > 0 && ns >= history->end_ns);
	if (history->count == 0) {
		history->start_ns = ns;
		history->least = history->most = value;
	}
	history->end_ns = ns;
	history->least = value < history->least ? value : history->least;
	history->most = value > history->most ? value : history->most;
	step = last_step(history);
	for (; history->count <= step; history->count++)
		history->values[history->count] = history->count == step
							  ? value
							  : history->values[history->count - 1];
	if (history->values[step] < value)
		history->values[step] = value;
}
