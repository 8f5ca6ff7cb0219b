/* calls.c - interns calls by function, line, module and frame. */
#include "writers/calls.h"

#include "base/assert.h"

void allo_calls_done(struct allo_calls *calls)
{
	allo_vec_done(&calls->calls);
	allo_map_done(&calls->map);
	allo_vec_done(&calls->numbers);
	allo_vec_done(&calls->first_calls);
}

static struct allo_call_key call_of(const struct allo_calls *calls,
				    const struct allo_profile *profile, allo_frame_id id,
				    uint32_t index)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_call_key call = { .line = allo_call_line(profile, frame, index) };

	if (call.line.function == 0 || profile->functions.at[call.line.function].name == 0)
		call.frame = id; /* named by its address */
	if (allo_line_file(profile, call.line).len == 0)
		call.module = frame->module;
	if (!calls->by_line)
		call.line.line = call.line.column = 0;
	return call;
}

static bool is_same(const struct allo_call_key *a, const struct allo_call_key *b)
{
	return a->line.function == b->line.function && a->line.line == b->line.line &&
	       a->line.column == b->line.column && a->module == b->module && a->frame == b->frame;
}

static bool number_call(struct allo_calls *calls, struct allo_call_key call)
{
	uint64_t hash = allo_hash_pair((uint64_t)call.line.function << 32 |
					       (call.frame ^ call.module),
				       (uint64_t)call.line.line << 32 | call.line.column, 0);
	struct allo_probe probe = allo_map_probe(&calls->map, hash);
	uint32_t number;

	while ((number = allo_map_next(&calls->map, &probe)) != 0) {
		if (is_same(&calls->calls.at[number - 1], &call))
			break;
	}
	if (number == 0) {
		if (!allo_vec_append(&calls->calls, &call, 1))
			return false;
		number = (uint32_t)calls->calls.len;
		if (!allo_map_put(&calls->map, hash, number))
			return false;
	}
	number--;
	return allo_vec_append(&calls->numbers, &number, 1);
}

bool allo_calls_cover(struct allo_calls *calls, const struct allo_profile *profile)
{
	for (size_t i = calls->first_calls.len; i < profile->frames.len; i++) {
		uint32_t count = i ? allo_frame_call_count(&profile->frames.at[i]) : 0;

		if (!allo_vec_append(&calls->first_calls, &calls->numbers.len, 1))
			return false;
		for (uint32_t call = 0; call < count; call++) {
			if (!number_call(calls, call_of(calls, profile, (allo_frame_id)i, call)))
				return false;
		}
	}
	return true;
}

struct allo_text allo_calls_name(const struct allo_calls *calls, const struct allo_profile *profile,
				 uint32_t number, char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_call_key *call = &calls->calls.at[number];

	ALLO_ASSERT(number < calls->calls.len);
	if (call->frame)
		return allo_call_name(profile, &profile->frames.at[call->frame], 0, scratch);
	return allo_profile_text(profile, profile->functions.at[call->line.function].name);
}
