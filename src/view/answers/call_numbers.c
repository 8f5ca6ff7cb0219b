#include "view/answers/call_numbers.h"

#include "base/assert.h"
#include "base/hash.h"

void allo_call_numbers_done(struct allo_call_numbers *calls)
{
	allo_vec_done(&calls->at);
	allo_vec_done(&calls->first);
	allo_vec_done(&calls->numbers);
	allo_map_done(&calls->map);
	allo_shown_names_done(&calls->names);
}

static uint64_t hash_of(const struct allo_numbered_call *key)
{
	return allo_hash_pair((uint64_t)key->function << 32 | key->file, key->address,
			      allo_hash_seed());
}

/* The number of an equal call, or 0. */
static uint32_t find(const struct allo_call_numbers *calls, const struct allo_numbered_call *key,
		     uint64_t hash)
{
	struct allo_probe probe = allo_map_probe(&calls->map, hash);
	uint32_t number;

	while ((number = allo_map_next(&calls->map, &probe)) != 0) {
		const struct allo_numbered_call *other = &calls->at.at[number];

		if (other->function == key->function && other->file == key->file &&
		    other->address == key->address)
			return number;
	}
	return 0;
}

static uint32_t add(struct allo_call_numbers *calls, const struct allo_numbered_call *key,
		    struct allo_error *err)
{
	uint64_t hash = hash_of(key);
	uint32_t number = find(calls, key, hash);

	if (number != 0)
		return number;
	if (calls->at.len >= UINT32_MAX)
		return allo_fail_memory(err);
	number = (uint32_t)calls->at.len;
	return allo_vec_add(&calls->at, *key, err) && allo_map_add(&calls->map, hash, number, err)
		       ? number
		       : 0;
}

static struct allo_numbered_call key_of(const struct allo_profile *profile, allo_frame_id id,
					uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_numbered_call key = { .frame = id, .call = call };

	if (line.function) {
		key.function = profile->functions.at[line.function].name;
		key.file = profile->functions.at[line.function].file;
	} else {
		/* The address may be one in the module's file, so the module is part of the key. */
		key.file = frame->module ? profile->modules.at[frame->module].path : 0;
		key.address = frame->address;
	}
	return key;
}

bool allo_call_numbers_cover(struct allo_call_numbers *calls, const struct allo_profile *profile,
			     struct allo_error *err)
{
	if (calls->at.len == 0)
		allo_vec_add(&calls->at, ((struct allo_numbered_call){ 0 }), err);
	for (size_t id = calls->first.len; id < profile->frames.len && !allo_failed(err); id++) {
		uint32_t count = id ? allo_frame_call_count(&profile->frames.at[id]) : 0;

		if (calls->numbers.len + count > UINT32_MAX)
			return allo_fail_memory(err);
		allo_vec_add(&calls->first, (uint32_t)calls->numbers.len, err);
		for (uint32_t call = 0; call < count && !allo_failed(err); call++) {
			struct allo_numbered_call key = key_of(profile, (allo_frame_id)id, call);

			allo_vec_add(&calls->numbers, add(calls, &key, err), err);
		}
	}
	return !allo_failed(err);
}

uint32_t allo_call_numbers_find(const struct allo_call_numbers *calls, allo_string_id function,
				allo_string_id file)
{
	struct allo_numbered_call key = { .function = function, .file = file };

	return function ? find(calls, &key, hash_of(&key)) : 0;
}

/* Names are told apart among all functions of the profile, so all are added first. */
static void add_names(struct allo_call_numbers *calls, const struct allo_profile *profile)
{
	for (size_t i = 1; i < calls->at.len && !calls->has_names; i++) {
		if (calls->at.at[i].function)
			allo_shown_names_add(&calls->names,
					     allo_profile_text(profile, calls->at.at[i].function));
	}
	calls->has_names = true;
}

struct allo_text allo_call_numbers_name(struct allo_call_numbers *calls,
					const struct allo_profile *profile, uint32_t number,
					char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_numbered_call *call = &calls->at.at[number];

	ALLO_ASSERT(number < calls->at.len);
	add_names(calls, profile);
	if (number == 0)
		return ALLO_TEXT("");
	if (call->function)
		return allo_shown_names_find(&calls->names,
					     allo_profile_text(profile, call->function));
	return allo_call_name(profile, &profile->frames.at[call->frame], call->call, scratch);
}

enum allo_call_kind allo_call_numbers_kind(const struct allo_call_numbers *calls,
					   const struct allo_profile *profile,
					   struct allo_attribution *attribution,
					   struct allo_ownership *ownership, uint32_t number)
{
	const struct allo_numbered_call *call = &calls->at.at[number];
	const struct allo_frame *frame = &profile->frames.at[call->frame];

	if (number == 0 || (!call->function && !frame->module))
		return ALLO_CALL_UNKNOWN;
	switch (allo_attribution_call(attribution, profile, call->frame, call->call)) {
	case ALLO_ROLE_STARTUP:
		return ALLO_CALL_STARTUP;
	case ALLO_ROLE_LIBRARY:
	case ALLO_ROLE_WRAPPER:
		return ALLO_CALL_WRAPPER;
	case ALLO_ROLE_ALLOCATOR:
		return ALLO_CALL_ALLOCATOR;
	default:
		return allo_is_own_call(ownership, profile, frame, call->call) ? ALLO_CALL_OWN
									       : ALLO_CALL_LIBRARY;
	}
}
