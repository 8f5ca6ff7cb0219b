/* rheaper_threads.c - see rheaper_threads.h. */
#include "readers/rheaper_threads.h"

#include "base/hash.h"

#include <stdlib.h>

enum { FIRST_PLACES = 1 << 10 };

void allo_rheaper_threads_done(struct allo_rheaper_threads *threads)
{
	free(threads->at);
	*threads = (struct allo_rheaper_threads){ 0 };
}

static inline size_t home_of(const struct allo_rheaper_threads *threads, uint64_t address)
{
	return (size_t)(allo_hash_pair(address, 0, threads->seed) >> threads->shift);
}

/* Where an address is, or the free place where it would be. */
static inline struct allo_rheaper_holder *find(const struct allo_rheaper_threads *threads,
					       uint64_t address)
{
	size_t at = home_of(threads, address);

	while (threads->at[at].address != address && threads->at[at].address != 0)
		at = (at + 1) & (threads->places - 1);
	return &threads->at[at];
}

static bool grow(struct allo_rheaper_threads *threads, struct allo_error *err)
{
	struct allo_rheaper_threads larger = {
		.seed = allo_hash_seed(),
		.places = threads->places ? threads->places * 2 : FIRST_PLACES,
		.count = threads->count,
	};

	larger.at = calloc(larger.places, sizeof(*larger.at));
	if (!larger.at)
		return allo_fail_memory(err);
	larger.shift = 64 - (unsigned)__builtin_ctzll(larger.places);
	for (size_t i = 0; i < threads->places; i++) {
		if (threads->at[i].address != 0)
			*find(&larger, threads->at[i].address) = threads->at[i];
	}
	free(threads->at);
	*threads = larger;
	return true;
}

bool allo_rheaper_threads_put(struct allo_rheaper_threads *threads, uint64_t address,
			      uint32_t thread, struct allo_error *err)
{
	/* At most five eighths full. */
	if (threads->count >= threads->places / 8 * 5 && !grow(threads, err))
		return false;
	*find(threads, address) = (struct allo_rheaper_holder){ address, thread };
	threads->count++;
	return true;
}

/* Those behind a place that has become free move up, so that a free place always ends a search. */
static void close_up(struct allo_rheaper_threads *threads, size_t hole)
{
	size_t mask = threads->places - 1, at = hole;

	for (;;) {
		at = (at + 1) & mask;
		if (threads->at[at].address == 0)
			break;
		/* It may move only if its home is not between the hole and itself. */
		if (((at - home_of(threads, threads->at[at].address)) & mask) >=
		    ((at - hole) & mask)) {
			threads->at[hole] = threads->at[at];
			hole = at;
		}
	}
	threads->at[hole].address = 0;
}

uint32_t allo_rheaper_threads_take(struct allo_rheaper_threads *threads, uint64_t address)
{
	struct allo_rheaper_holder *holder;
	uint32_t thread;

	if (threads->places == 0)
		return 0;
	holder = find(threads, address);
	if (holder->address == 0)
		return 0;
	thread = holder->thread;
	close_up(threads, (size_t)(holder - threads->at));
	threads->count--;
	return thread;
}
