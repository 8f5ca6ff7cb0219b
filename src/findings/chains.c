/* chains.c - open addressing; removing closes the gap, so there are no tombstones. */
#include "findings/chains.h"

#include "base/assert.h"

#include <stdlib.h>

enum { PLACES_FIRST = 256 };

static size_t home_of(const struct allo_chains *chains, uint64_t key)
{
	/* The multiplier is 2^64 divided by the golden ratio. */
	uint64_t hash = (key ^ chains->seed) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 32) & chains->mask;
}

static struct allo_chain *find(const struct allo_chains *chains, uint64_t key)
{
	size_t place = home_of(chains, key);

	/* A free place ends the search. */
	ALLO_ASSERT(key != 0 && chains->count <= chains->mask);
	while (chains->at[place].key != 0 && chains->at[place].key != key)
		place = (place + 1) & chains->mask;
	return &chains->at[place];
}

static bool grow(struct allo_chains *chains)
{
	struct allo_chains larger = { .seed = chains->seed, .count = chains->count };
	size_t places = chains->at ? 2 * (chains->mask + 1) : PLACES_FIRST;

	larger.at = calloc(places, sizeof(*larger.at));
	if (!larger.at)
		return false;
	larger.mask = places - 1;
	for (size_t i = 0; chains->at && i <= chains->mask; i++) {
		if (chains->at[i].key != 0)
			*find(&larger, chains->at[i].key) = chains->at[i];
	}
	free(chains->at);
	*chains = larger;
	return true;
}

bool allo_chains_put(struct allo_chains *chains, uint64_t key, uint32_t steps)
{
	struct allo_chain *chain;

	if (key == 0)
		return true;
	if ((!chains->at || 2 * chains->count > chains->mask) && !grow(chains))
		return false;
	chain = find(chains, key);
	chains->count += chain->key == 0;
	*chain = (struct allo_chain){ key, steps };
	return true;
}

/* Moves the entries behind a freed place, so that searches never meet a gap before their key. */
static void close_gap(struct allo_chains *chains, size_t gap)
{
	size_t place = gap;

	for (;;) {
		size_t home;

		place = (place + 1) & chains->mask;
		if (chains->at[place].key == 0)
			break;
		home = home_of(chains, chains->at[place].key);
		if (((place - home) & chains->mask) >= ((place - gap) & chains->mask)) {
			chains->at[gap] = chains->at[place];
			gap = place;
		}
	}
	chains->at[gap] = (struct allo_chain){ 0 };
}

uint32_t allo_chains_take(struct allo_chains *chains, uint64_t key)
{
	struct allo_chain *chain = chains->at && key != 0 ? find(chains, key) : NULL;
	uint32_t steps;

	if (!chain || chain->key == 0)
		return 0;
	ALLO_ASSERT(chains->count > 0);
	steps = chain->steps;
	chains->count--;
	close_gap(chains, (size_t)(chain - chains->at));
	return steps;
}

void allo_chains_done(struct allo_chains *chains)
{
	free(chains->at);
	*chains = (struct allo_chains){ 0 };
}
