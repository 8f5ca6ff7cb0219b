/* suffix_cache.c - filling an entry. */
#include "capture/stacks/suffix_cache.h"
#include "base/assert.h"

static bool add_word(struct allo_suffix *suffix, uint64_t address)
{
	if (suffix->count == ALLO_SUFFIX_WORDS || address - suffix->sp > UINT32_MAX)
		return false;
	suffix->offsets[suffix->count] = (uint32_t)(address - suffix->sp);
	suffix->values[suffix->count++] = allo_word_at(address);
	return true;
}

void allo_suffix_keep(struct allo_suffix *suffix, const struct allo_stack_cache *cache, uint32_t id,
		      const struct allo_registers *r)
{
	uint32_t innermost = cache->count - 1, joint = cache->joint ? cache->joint - 1 : 0;

	suffix->pc = 0; /* invalid until it is complete */
	suffix->sp = r->sp;
	suffix->count = 0;
	if (cache->has_signal || joint > UINT16_MAX)
		return;
	ALLO_ASSERT(cache->count > 0 && joint <= innermost);
	for (uint32_t i = innermost; i-- > joint;) {
		if (!add_word(suffix, allo_frame_slot(&cache->frames[i])))
			return;
	}
	for (uint32_t i = cache->check_count; i > 0 && cache->checks[i - 1].frame >= joint; i--) {
		const struct allo_frame_check *check = &cache->checks[i - 1];

		if (allo_word_at(check->address) != check->value ||
		    !add_word(suffix, check->address))
			return;
	}
	suffix->joint = (uint16_t)joint;
	suffix->joint_hash = cache->rest[joint].hash;
	suffix->joint_sp = cache->frames[joint].sp;
	suffix->joint_fp = cache->fps[joint];
	suffix->needs = (cache->needs_fp[innermost] ? ALLO_SUFFIX_FP : 0) |
			(cache->needs_fp[joint] ? ALLO_SUFFIX_JOINT_FP : 0);
	suffix->fp = r->fp;
	suffix->id = id;
	suffix->pc = r->pc;
}
