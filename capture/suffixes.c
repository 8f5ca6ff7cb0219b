/* suffixes.c - see suffixes.h. */
#include "capture/suffixes.h"

static bool add_word(struct allo_suffix *suffix, uint64_t address)
{
	if (suffix->count == ALLO_SUFFIX_WORDS || address - suffix->sp > UINT32_MAX)
		return false;
	suffix->offsets[suffix->count] = (uint32_t)(address - suffix->sp);
	suffix->values[suffix->count++] = allo_word_at(address);
	return true;
}

void allo_suffix_keep(struct allo_suffix *suffix, const struct allo_memo *memo, uint32_t id,
		      const struct allo_registers *r)
{
	uint32_t innermost = memo->count - 1, joint = memo->joint ? memo->joint - 1 : 0;

	suffix->pc = 0; /* not to be found until it is whole */
	suffix->sp = r->sp;
	suffix->count = 0;
	if (memo->has_signal || joint > UINT16_MAX)
		return;
	for (uint32_t i = innermost; i-- > joint;) {
		const struct allo_frame_pointer *pointer = &memo->pointers[i];

		if (memo->marks[i] & ALLO_HAS_CHECK) {
			if (allo_word_at(pointer->address) != pointer->value ||
			    !add_word(suffix, pointer->address))
				return;
		}
		if (!add_word(suffix, allo_frame_slot(&memo->frames[i])))
			return;
	}
	suffix->joint = (uint16_t)joint;
	suffix->joint_hash = memo->rest[joint].hash;
	suffix->joint_sp = memo->frames[joint].sp;
	suffix->joint_fp = memo->pointers[joint].fp;
	suffix->needs = (memo->marks[innermost] & ALLO_NEEDS_FP ? ALLO_SUFFIX_FP : 0) |
			(memo->marks[joint] & ALLO_NEEDS_FP ? ALLO_SUFFIX_JOINT_FP : 0);
	suffix->fp = r->fp;
	suffix->id = id;
	suffix->pc = r->pc;
}
