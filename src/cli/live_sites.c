/* live_sites.c - see live_sites.h. */
#include "cli/live_sites.h"

#include "analysis/allocator.h"
#include "base/defer.h"
#include "base/hash.h"
#include "profile/naming.h"
#include "replay/recording_stacks.h"

#include <stdlib.h>

void allo_live_sites_done(struct allo_live_sites *sites)
{
	allo_vec_done(&sites->all);
	allo_vec_done(&sites->of_stack);
	allo_map_done(&sites->map);
	allo_arena_done(&sites->arena);
}

/* Names. */

static struct allo_text keep(struct allo_live_sites *sites, struct allo_text text,
			     struct allo_error *err)
{
	const char *kept = allo_arena_copy(&sites->arena, text.data, text.len);

	if (!kept)
		allo_fail_memory(err);
	return (struct allo_text){ kept, text.len };
}

/* The index of a site, + 1; 0 at failure. */
static uint32_t add_site(struct allo_live_sites *sites, struct allo_text name,
			 struct allo_text file, struct allo_error *err)
{
	uint64_t hash = allo_hash_bytes(name.data, name.len,
					allo_hash_bytes(file.data, file.len, allo_hash_seed()));
	struct allo_probe probe = allo_map_probe(&sites->map, hash);
	struct allo_live_site *site;
	uint32_t id;

	while ((id = allo_map_next(&sites->map, &probe)) != 0) {
		if (allo_text_equal(sites->all.at[id - 1].name, name) &&
		    allo_text_equal(sites->all.at[id - 1].file, file))
			return id;
	}
	site = allo_vec_push(&sites->all);
	if (!site) {
		allo_fail_memory(err);
		return 0;
	}
	*site = (struct allo_live_site){ .name = keep(sites, name, err),
					 .file = keep(sites, file, err) };
	id = (uint32_t)sites->all.len;
	if (!allo_map_put(&sites->map, hash, id))
		allo_fail_memory(err);
	return allo_failed(err) ? 0 : id;
}

/* The site of a stack: the innermost call that is no allocator's, or else the innermost. */
static uint32_t site_of(struct allo_live_sites *sites, const struct allo_profile *profile,
			allo_stack_id stack, struct allo_error *err)
{
	struct allo_text name = ALLO_TEXT("(no stack)"), file = ALLO_TEXT("");
	char scratch[2][ALLO_NAME_SCRATCH];
	bool has_any = false;

	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame =
			&profile->frames.at[profile->stacks.at[stack].frame];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			struct allo_text called = allo_call_name(profile, frame, call,
								 scratch[has_any]);
			struct allo_text in = allo_line_file(profile,
							     allo_call_line(profile, frame, call));
			bool is_site = !allo_is_allocator(called, in);

			if (is_site || !has_any) {
				name = called;
				file = allo_basename(in);
			}
			if (is_site)
				return add_site(sites, name, file, err);
			has_any = true;
		}
	}
	return add_site(sites, name, file, err);
}

static bool is_new(const struct allo_live_sites *sites, const struct allo_heap *heap, size_t stack)
{
	return heap->blocks.made[stack] > 0 &&
	       (stack >= sites->of_stack.len || sites->of_stack.at[stack] == 0);
}

/* Names the stacks that have come since the last look. */
static bool name_new(struct allo_live_sites *sites, struct allo_follow *follow,
		     const struct allo_common *common, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { .meta.format = "allo" };
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	size_t count = follow->recording.nodes.len, wanted = 0;
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count + 1, sizeof(*is_wanted));

	if (!is_wanted || !allo_vec_cover(&sites->of_stack, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		is_wanted[i] = is_new(sites, &follow->heap, i);
		wanted += is_wanted[i];
	}
	if (wanted == 0)
		return true;
	if (!allo_recording_add_stacks(&profile, &follow->recording, is_wanted, &stacks, err) ||
	    !allo_common_name(common, &profile, NULL, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_wanted[i])
			continue;
		sites->of_stack.at[i] = site_of(sites, &profile, stacks[i], err);
		if (sites->of_stack.at[i] == 0)
			return false;
	}
	return true;
}

/* Numbers. */

static void add_exact(struct allo_live_site *site, const struct allo_heap *heap, size_t stack)
{
	site->live_bytes += heap->sites[stack].live_bytes;
	site->live_blocks += heap->sites[stack].live_blocks;
	site->alloc_bytes += heap->sites[stack].alloc_bytes;
	site->alloc_blocks += heap->blocks.made[stack];
}

/* Of a sampled recording: what the blocks stand for. */
static void add_weighed(struct allo_live_site *site, const struct allo_weighed_site *weighed)
{
	site->live_bytes += allo_parts_round(weighed->live.bytes);
	site->live_blocks += allo_parts_round(weighed->live.blocks);
	site->alloc_bytes += allo_parts_round(weighed->alloc.bytes);
	site->alloc_blocks += allo_parts_round(weighed->alloc.blocks);
}

bool allo_live_sites_look(struct allo_live_sites *sites, struct allo_follow *follow,
			  const struct allo_common *common, struct allo_error *err)
{
	const struct allo_heap *heap = &follow->heap;

	if (!name_new(sites, follow, common, err))
		return false;
	for (size_t i = 0; i < sites->all.len; i++) {
		struct allo_live_site *site = &sites->all.at[i];

		*site = (struct allo_live_site){ .name = site->name,
						 .file = site->file,
						 .earlier_blocks = site->alloc_blocks };
	}
	for (size_t i = 0; i < sites->of_stack.len; i++) {
		uint32_t id = sites->of_stack.at[i];

		if (id == 0)
			continue;
		if (heap->weighed)
			add_weighed(&sites->all.at[id - 1], &heap->weighed[i]);
		else
			add_exact(&sites->all.at[id - 1], heap, i);
	}
	return true;
}
