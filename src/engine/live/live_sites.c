/* live_sites.c - names, filters and groups the stacks of a heap, and adds up their numbers. */
#include "engine/live/live_sites.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/hash.h"
#include "engine/live/followed_profile.h"
#include "profile/naming.h"
#include "profile/source_name.h"
#include "replay/recording/recording_stacks.h"

#include <stdlib.h>

/* Rows. */

static uint64_t key_of(const struct allo_live_sum *sum, enum allo_live_sort sort)
{
	switch (sort) {
	case ALLO_LIVE_BY_BLOCKS:
		return sum->live_blocks;
	case ALLO_LIVE_BY_RATE:
		return sum->alloc_blocks - sum->earlier_blocks;
	case ALLO_LIVE_BY_GROWTH: /* the offset keeps the order of negative numbers */
		return (uint64_t)allo_live_growth(sum) + ((uint64_t)1 << 63);
	default:
		return sum->live_bytes;
	}
}

int allo_live_row_compare(const struct allo_live_row *a, const struct allo_live_row *b,
			  enum allo_live_sort sort)
{
	uint64_t first = key_of(&a->sum, sort), second = key_of(&b->sum, sort);
	int order;

	if (first != second)
		return first > second ? -1 : 1;
	if (a->sum.live_bytes != b->sum.live_bytes)
		return a->sum.live_bytes > b->sum.live_bytes ? -1 : 1;
	order = allo_text_compare(a->name, b->name);
	if (order == 0)
		order = allo_text_compare(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static struct allo_text keep(struct allo_live_sites *sites, struct allo_text text,
			     struct allo_error *err)
{
	const char *kept = allo_arena_copy(&sites->arena, text.data, text.len);

	if (!kept)
		allo_fail_memory(err);
	return (struct allo_text){ kept, text.len };
}

static uint64_t hash_text(struct allo_text text, uint64_t seed)
{
	return allo_hash_bytes(text.data, text.len, seed);
}

static struct allo_live_row name_row(struct allo_live_sites *sites, const struct allo_top_row *row,
				     struct allo_error *err)
{
	const struct allo_profile *profile = &sites->profile;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name = keep(sites, allo_top_name(&sites->top, profile, row, scratch), err);
	struct allo_text file = allo_profile_text(profile, row->key.file);
	struct allo_text module = allo_profile_text(profile, row->key.module);
	bool has_line = sites->by == ALLO_BY_SITE && row->key.function;
	uint64_t id = hash_text(name, hash_text(file, hash_text(module, allo_hash_seed())));

	return (struct allo_live_row){
		.name = name,
		.file = sites->by == ALLO_BY_FILE ? ALLO_TEXT("") : allo_source_name(file),
		.line = has_line ? row->key.number : 0,
		.is_own = sites->own_rows.at[row - sites->top.rows.at],
		.id = allo_hash_pair(id, row->key.number, allo_hash_seed())
	};
}

/* The rows of the grouped stacks.  The first one is for memory without a stack. */
static bool name_rows(struct allo_live_sites *sites, struct allo_error *err)
{
	struct allo_live_row none = { .name = ALLO_TEXT("(no stack)"),
				      .file = ALLO_TEXT(""),
				      .id = 1 };

	sites->rows.len = 0;
	if (!allo_vec_add(&sites->rows, none, err))
		return false;
	for (size_t i = 0; i < sites->top.rows.len; i++)
		allo_vec_add(&sites->rows, name_row(sites, &sites->top.rows.at[i], err), err);
	return !allo_failed(err);
}

/* Stacks. */

static bool has_allocated(const struct allo_live_heap *heap, size_t stack)
{
	return heap->follow.heap.blocks.made[stack] > 0;
}

static bool has_new_stacks(const struct allo_live_sites *sites, const struct allo_live_heap *heap)
{
	size_t count = allo_live_heap_stack_count(heap);

	for (size_t i = 0; i < count; i++) {
		if (has_allocated(heap, i) &&
		    (i >= sites->row_of_stack.len || sites->row_of_stack.at[i] == 0))
			return true;
	}
	return false;
}

static void drop_groups(struct allo_live_sites *sites)
{
	allo_attribution_restart(&sites->attribution);
	allo_ownership_done(&sites->ownership);
	sites->ownership = (struct allo_ownership){ 0 };
	sites->own_rows.len = 0;
	allo_profile_done(&sites->profile);
	sites->profile = (struct allo_profile){ .meta.has_addresses = true };
	free(sites->stacks);
	sites->stacks = NULL;
	sites->row_of_stack.len = 0;
	allo_top_done(&sites->top);
	sites->top = (struct allo_top){ .by = sites->by };
	allo_arena_done(&sites->arena);
	sites->arena = (struct allo_arena){ 0 };
	allo_filter_start_over(&sites->filter);
	sites->filter.tells_stacks = true;
}

/* Adds the stacks that have allocated to the profile, with their names. */
static bool name_stacks(struct allo_live_sites *sites, const struct allo_live_heap *heap,
			struct allo_error *err)
{
	size_t count = allo_live_heap_stack_count(heap);
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count + 1, sizeof(*is_wanted));

	if (!is_wanted)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		is_wanted[i] = has_allocated(heap, i);
	return allo_recording_add_stacks(&sites->profile, &heap->follow.recording, is_wanted,
					 &sites->stacks, err) &&
	       allo_add_names_once(&sites->names, &heap->options, &sites->profile, err);
}

/* Detects wrappers by the sizes that they allocate. */
static bool learn_wrappers(struct allo_live_sites *sites, const struct allo_live_heap *heap,
			   struct allo_error *err)
{
	struct allo_profile *profile = &sites->profile;
	size_t count = allo_live_heap_stack_count(heap);

	if (!allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, err) ||
	    !allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, err))
		return false;
	for (size_t i = 0; i < count && sites->has_attribution; i++) {
		struct allo_live_sum sum = allo_live_heap_stack(heap, i);

		if (has_allocated(heap, i) &&
		    !allo_profile_add_values(
			    profile, sites->stacks[i], 0,
			    (const uint64_t[]){ sum.alloc_blocks, sum.alloc_bytes }, err))
			return false;
	}
	return !sites->has_attribution || allo_attribution_learn(&sites->attribution, profile, err);
}

static bool filter_stacks(struct allo_live_sites *sites, size_t count, struct allo_error *err)
{
	if (!allo_filter_apply(&sites->filter, &sites->profile, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		ALLO_ASSERT(sites->stacks[i] < sites->filter.became.len);
		sites->stacks[i] = sites->filter.became.at[sites->stacks[i]];
	}
	return true;
}

/* The row of a stack's site, from which on its callers count. */
static bool add_to_row(struct allo_live_sites *sites, const struct allo_live_heap *heap,
		       size_t stack, struct allo_error *err)
{
	struct allo_attribution *attribution = sites->has_attribution ? &sites->attribution : NULL;
	const struct allo_profile *profile = &sites->profile;
	allo_stack_id kept = sites->stacks[stack], site;
	const struct allo_top_call *found;
	allo_frame_id frame;
	uint32_t call;

	if (kept == UINT32_MAX || kept == 0) {
		sites->row_of_stack.at[stack] = kept ? UINT32_MAX : 1;
		return true;
	}
	site = allo_attribution_site(attribution, profile, kept);
	frame = profile->stacks.at[site].frame;
	call = allo_attribution_site_call(attribution, profile, site);
	found = allo_top_look_up(&sites->top, profile, frame, call);
	if (!found || !allo_vec_cover(&sites->own_rows, sites->top.rows.len))
		return allo_fail_memory(err);
	sites->own_rows.at[found->row - 1] = allo_is_own_call(&sites->ownership, profile,
							      &profile->frames.at[frame], call);
	if (attribution)
		allo_attribution_pass(attribution, profile, kept, site,
				      (double)allo_live_heap_stack(heap, stack).alloc_bytes);
	sites->stacks[stack] = site;
	sites->row_of_stack.at[stack] = found->row + 1; /* after the row without a stack */
	return true;
}

static bool group(struct allo_live_sites *sites, const struct allo_live_heap *heap,
		  struct allo_error *err)
{
	size_t count = allo_live_heap_stack_count(heap);

	drop_groups(sites);
	sites->groupings++;
	if (!name_stacks(sites, heap, err) || !learn_wrappers(sites, heap, err) ||
	    !filter_stacks(sites, count, err) ||
	    (sites->has_attribution &&
	     !allo_attribution_learn(&sites->attribution, &sites->profile, err)) ||
	    !allo_top_cover(&sites->top, &sites->profile, err) ||
	    !allo_vec_extend(&sites->row_of_stack, count, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (has_allocated(heap, i) && !add_to_row(sites, heap, i, err))
			return false;
	}
	return name_rows(sites, err);
}

/* Numbers. */

static void add_up(struct allo_live_sites *sites, const struct allo_live_heap *heap)
{
	sites->sum = (struct allo_live_sum){ 0 };
	for (size_t i = 0; i < sites->rows.len; i++)
		sites->rows.at[i].sum = (struct allo_live_sum){ 0 };
	for (size_t i = 0; i < sites->row_of_stack.len; i++) {
		uint32_t row = sites->row_of_stack.at[i];
		struct allo_live_sum sum;

		if (row == 0 || row == UINT32_MAX)
			continue;
		sum = allo_live_heap_stack(heap, i);
		allo_live_sum_add(&sites->rows.at[row - 1].sum, &sum);
		allo_live_sum_add(&sites->sum, &sum);
	}
}

bool allo_live_sites_update(struct allo_live_sites *sites, const struct allo_live_heap *heap,
			    struct allo_error *err)
{
	bool is_current = sites->is_grouped && sites->recording == heap->recordings &&
			  !has_new_stacks(sites, heap);

	if (!heap->file)
		return true;
	sites->recording = heap->recordings;
	sites->is_grouped = is_current || group(sites, heap, err);
	if (sites->is_grouped)
		add_up(sites, heap);
	return sites->is_grouped;
}

void allo_live_sites_regroup(struct allo_live_sites *sites)
{
	sites->is_grouped = false;
}

void allo_live_sites_done(struct allo_live_sites *sites)
{
	drop_groups(sites);
	allo_attribution_done(&sites->attribution);
	allo_vec_done(&sites->rows);
	allo_vec_done(&sites->row_of_stack);
	allo_vec_done(&sites->own_rows);
	allo_filter_done(&sites->filter);
	allo_frame_names_done(&sites->names);
}
