#include "view/exact_sizes.h"

#include "base/hash.h"

#include <stdlib.h>

void allo_exact_sizes_done(struct allo_exact_sizes *sizes)
{
	allo_vec_done(&sizes->at);
	allo_map_done(&sizes->map);
}

bool allo_exact_sizes_add(struct allo_exact_sizes *sizes, uint64_t size, uint32_t site,
			  double blocks, struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(size, site, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&sizes->map, hash);
	uint32_t id;

	while ((id = allo_map_next(&sizes->map, &probe)) != 0) {
		struct allo_sized_blocks *known = &sizes->at.at[id - 1];

		if (known->size == size && known->site == site) {
			known->blocks += blocks;
			return true;
		}
	}
	return allo_vec_add(&sizes->at, ((struct allo_sized_blocks){ size, site, blocks, 0 }),
			    err) &&
	       allo_map_add(&sizes->map, hash, (uint32_t)sizes->at.len, err);
}

/* Largest first; equal ones by number, so that a reply is the same each time. */
static int compare_blocks(const struct allo_sized_blocks *a, const struct allo_sized_blocks *b)
{
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct allo_sized_blocks *x = a, *y = b;
	int order;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	order = compare_blocks(x, y);
	return order ? order : x->site < y->site ? -1 : x->site > y->site;
}

static int by_blocks(const void *a, const void *b)
{
	const struct allo_sized_blocks *x = a, *y = b;
	int order = compare_blocks(x, y);

	return order ? order : x->size < y->size ? -1 : x->size > y->size;
}

void allo_exact_sizes_sort(struct allo_exact_sizes *sizes)
{
	struct allo_sized_blocks *at = sizes->at.at;
	size_t count = 0;

	if (sizes->at.len == 0)
		return;
	qsort(at, sizes->at.len, sizeof(*at), by_size);
	for (size_t i = 0; i < sizes->at.len; i++) {
		if (count > 0 && at[count - 1].size == at[i].size) {
			at[count - 1].blocks += at[i].blocks;
			continue;
		}
		at[count] = at[i];
		at[count++].site_blocks = at[i].blocks;
	}
	sizes->at.len = count;
	qsort(at, count, sizeof(*at), by_blocks);
}
