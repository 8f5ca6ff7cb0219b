/* mappings.c - the lock, and a sorted array with binary search. */
#include "capture/hooks/mappings.h"
#include "base/assert.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum {
	TRIES_AWAKE = 100,
	TRIES = TRIES_AWAKE + 5000, /* about a second */
	SLEEP_NS = 100000,
};

struct allo_mappings *allo_mappings;
unsigned allo_mappings_tracked = ALLO_TRACK_MMAP | ALLO_TRACK_BRK;

void allo_mappings_init(void)
{
	unsigned tracked = allo_settings.track & (ALLO_TRACK_MMAP | ALLO_TRACK_BRK);

	if (tracked)
		allo_mappings = allo_map_private(sizeof(*allo_mappings));
	allo_mappings_tracked = allo_mappings ? tracked : 0;
}

/* The lock. */

static void set_signals(int how, uint64_t signals, uint64_t *before)
{
	ALLO_SYSCALL4(SYS_rt_sigprocmask, how, &signals, before, sizeof(signals));
}

/* Sleeps after some tries: unlike yielding, that lets a thread of lower priority run. */
static void back_off(unsigned tries)
{
	const struct timespec pause = { .tv_nsec = SLEEP_NS };

	if (tries >= TRIES_AWAKE)
		ALLO_SYSCALL2(SYS_nanosleep, &pause, NULL);
}

bool allo_mappings_lock(struct allo_mappings *mappings, uint64_t *signals)
{
	set_signals(SIG_BLOCK, UINT64_MAX, signals);
	for (unsigned tries = 0; tries < TRIES; tries++) {
		if (!__atomic_exchange_n(&mappings->is_locked, 1, __ATOMIC_ACQUIRE))
			return true;
		back_off(tries);
	}
	set_signals(SIG_SETMASK, *signals, NULL);
	return false;
}

void allo_mappings_unlock(struct allo_mappings *mappings, uint64_t signals)
{
	__atomic_store_n(&mappings->is_locked, 0, __ATOMIC_RELEASE);
	set_signals(SIG_SETMASK, signals, NULL);
}

/* The table. */

/* Index of the first mapping that starts below an address. */
static uint32_t find_below(const struct allo_mappings *mappings, uint64_t address)
{
	uint32_t low = 0, high = mappings->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (mappings->at[middle].start < address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Replaces the mappings in [first, last) by others; there must be room for them. */
static void replace(struct allo_mappings *mappings, uint32_t first, uint32_t last,
		    const struct allo_mapping *others, uint32_t count)
{
	struct allo_mapping *at = mappings->at;

	ALLO_ASSERT(first <= last && last <= mappings->count);
	ALLO_ASSERT(mappings->count - (last - first) + count <= ALLO_MAPPINGS_MAX);
	memmove(&at[first + count], &at[last], (mappings->count - last) * sizeof(*at));
	memcpy(&at[first], others, count * sizeof(*at));
	mappings->count = mappings->count - (last - first) + count;
}

bool allo_mappings_add(struct allo_mappings *mappings, struct allo_mapping mapping)
{
	uint32_t place = find_below(mappings, mapping.end);

	if (mappings->count == ALLO_MAPPINGS_MAX)
		return false;
	ALLO_ASSERT(mapping.start < mapping.end);
	ALLO_ASSERT(place == 0 || mappings->at[place - 1].start >= mapping.end);
	ALLO_ASSERT(place == mappings->count || mappings->at[place].end <= mapping.start);
	replace(mappings, place, place, &mapping, 1);
	return true;
}

/* The part of a mapping between two addresses; empty if it is below `least` bytes. */
static struct allo_mapping part(const struct allo_mapping *whole, uint64_t start, uint64_t end,
				uint64_t least)
{
	if (start >= end || end - start < least)
		start = end;
	return (struct allo_mapping){ start, end, whole->stack };
}

static bool is_empty(const struct allo_mapping *mapping)
{
	return mapping->start == mapping->end;
}

/* The table has room for only one of the two parts. */
static void keep_larger(struct allo_mapping_cut *cut)
{
	if (cut->below.end - cut->below.start < cut->above.end - cut->above.start)
		cut->below.start = cut->below.end;
	else
		cut->above.start = cut->above.end;
}

bool allo_mappings_cut(struct allo_mappings *mappings, uint64_t start, uint64_t end, uint64_t least,
		       allo_mapping_visitor *each, void *context)
{
	uint32_t first = find_below(mappings, end), last = first, kept_count = 0;
	struct allo_mapping kept[2]; /* above the range, and below it */
	bool has_room = true;

	if (start >= end)
		return true;
	for (; last < mappings->count && mappings->at[last].end > start; last++) {
		struct allo_mapping whole = mappings->at[last];
		struct allo_mapping_cut cut = { whole, part(&whole, whole.start, start, least),
						part(&whole, end, whole.end, least) };

		if (mappings->count == ALLO_MAPPINGS_MAX && !is_empty(&cut.below) &&
		    !is_empty(&cut.above)) {
			keep_larger(&cut);
			has_room = false;
		}
		if (!is_empty(&cut.above))
			kept[kept_count++] = cut.above;
		if (!is_empty(&cut.below))
			kept[kept_count++] = cut.below;
		each(context, &cut);
	}
	/* Only the first and the last overlapped mapping have parts left. */
	ALLO_ASSERT(kept_count <= 2);
	replace(mappings, first, last, kept, kept_count);
	return has_room;
}
