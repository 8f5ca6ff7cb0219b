/* folded_stacks.c - lookups are batched, so that memory is fetched before it is needed. */
#include "readers/folded_stacks.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <stdlib.h>

enum {
	AHEAD = 8,         /* prefixes of a new text that are prefetched */
	STATES_FIRST = 64, /* texts of up to 2 KiB: longer ones are not prefetched */
};

/* A prefix of a text. */
struct beginning {
	struct allo_hash128 hash;
	size_t len;
};

/* The longest prefixes of a text, starting with the text itself; only that if it is probably known.
 */
struct ahead {
	struct beginning at[AHEAD];
	size_t count;
	size_t known; /* the first that may be in the map */
};

bool allo_folded_stacks_init(struct allo_folded_stacks *stacks, struct allo_error *err)
{
	allo_text_ids_init(&stacks->names);
	stacks->sign_count = 1;
	stacks->signs = calloc(stacks->sign_count, 1);
	return (stacks->signs && allo_vec_reserve(&stacks->states, STATES_FIRST) &&
		allo_vec_cover(&stacks->checks, 1)) ||
	       allo_fail_memory(err);
}

void allo_folded_stacks_done(struct allo_folded_stacks *stacks)
{
	allo_map_done(&stacks->text_map);
	free(stacks->signs);
	allo_vec_done(&stacks->checks);
	allo_text_ids_done(&stacks->names);
	allo_vec_done(&stacks->frames);
	allo_vec_done(&stacks->states);
	allo_vec_done(&stacks->plain);
}

/* Names. */

/* The position of a name in the input.  The name is new: no name before it is equal. */
static struct allo_pos pos_of(const struct allo_folded_stacks *stacks, struct allo_text name)
{
	struct allo_text rest = stacks->original, at;

	while (allo_text_next(&rest, ';', &at)) {
		if (allo_text_equal(at, name))
			return allo_input_pos_at(stacks->in, at.data);
	}
	return allo_input_pos_at(stacks->in, name.data);
}

/* A position costs counting the lines before it: only the first is looked up. */
static void note_bad_utf8(struct allo_folded_stacks *stacks, struct allo_text name)
{
	struct allo_notes *notes = &stacks->profile->notes;
	bool is_first = notes->of[ALLO_NOTE_BAD_UTF8].count == 0;

	allo_note(notes, ALLO_NOTE_BAD_UTF8, is_first ? pos_of(stacks, name) : ALLO_NOWHERE);
}

static allo_frame_id add_name(struct allo_folded_stacks *stacks, struct allo_text name,
			      struct allo_hash128 hash, struct allo_error *err)
{
	allo_frame_id frame = allo_profile_add_named_frame(stacks->profile, name, err);

	if (frame == 0)
		return 0;
	if (memchr(name.data, '\0', name.len)) {
		allo_fail(err, ALLO_FORMAT, pos_of(stacks, name), "a name holds a NUL byte");
		return 0;
	}
	if (!allo_utf8_is_valid(name))
		note_bad_utf8(stacks, name);
	if (!allo_text_ids_put(&stacks->names, hash, frame)) {
		allo_fail_memory(err);
		return 0;
	}
	return frame;
}

static allo_frame_id frame_of(struct allo_folded_stacks *stacks, struct allo_text name,
			      struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&stacks->names, name);
	allo_frame_id frame = allo_text_ids_find(&stacks->names, hash);

	return frame ? frame : add_name(stacks, name, hash, err);
}

/* Texts. */

static allo_stack_id find(const struct allo_folded_stacks *stacks, struct allo_hash128 hash)
{
	struct allo_probe probe = allo_map_probe(&stacks->text_map, hash.high);
	allo_stack_id id;

	while ((id = allo_map_next(&stacks->text_map, &probe)) != 0) {
		if (stacks->checks.at[id] == hash.low)
			break;
	}
	return id;
}

static unsigned char *sign_of(const struct allo_folded_stacks *stacks, struct allo_hash128 hash)
{
	return &stacks->signs[(uint32_t)(hash.high >> 32) & stacks->text_map.mask];
}

static unsigned char sign_bit(struct allo_hash128 hash)
{
	return (unsigned char)(1u << (hash.high >> 61));
}

/* Whether the map may hold a text. */
static bool has_sign(const struct allo_folded_stacks *stacks, struct allo_hash128 hash)
{
	return *sign_of(stacks, hash) & sign_bit(hash);
}

/* Rebuilds the filter after the map has grown. */
static bool renew_signs(struct allo_folded_stacks *stacks)
{
	size_t count = (size_t)stacks->text_map.mask + 1;

	free(stacks->signs);
	stacks->signs = calloc(count, 1);
	stacks->sign_count = stacks->signs ? count : 0;
	for (size_t i = 0; i < stacks->sign_count; i++) {
		struct allo_hash128 hash = { .high = stacks->text_map.slots[i] };

		if ((uint32_t)hash.high != 0)
			*sign_of(stacks, hash) |= sign_bit(hash);
	}
	return stacks->signs;
}

static bool put(struct allo_folded_stacks *stacks, struct allo_hash128 hash, allo_stack_id id,
		struct allo_error *err)
{
	if (!allo_map_put(&stacks->text_map, hash.high, id) ||
	    (stacks->sign_count != (size_t)stacks->text_map.mask + 1 && !renew_signs(stacks)))
		return allo_fail_memory(err);
	*sign_of(stacks, hash) |= sign_bit(hash);
	return true;
}

/* The first candidate for a hash, without comparing it. */
static allo_stack_id guess(const struct allo_folded_stacks *stacks, struct allo_hash128 hash)
{
	struct allo_probe probe = allo_map_probe(&stacks->text_map, hash.high);

	return allo_map_next(&stacks->text_map, &probe);
}

/* The length of the text of the caller; false if there is an empty name. */
static bool cut_leaf(struct allo_text text, size_t *len)
{
	const char *separator = memrchr(text.data, ';', *len);
	size_t rest = separator ? (size_t)(separator - text.data) : 0;

	if (separator && (rest == 0 || rest + 1 == *len))
		return false;
	*len = rest;
	return true;
}

static struct allo_hash128 hash_beginning(const struct allo_folded_stacks *stacks,
					  struct allo_text text, size_t len)
{
	return allo_hasher_hash_beginning(&stacks->names.hasher, stacks->states.at, text.data, len);
}

/* Prefetches the memory that adding a new text needs.  In a large file, waiting for memory is most
 * of the work. */
static void look_ahead(struct allo_folded_stacks *stacks, const struct allo_folded_text *text,
		       struct ahead *ahead)
{
	size_t len = text->text.len;

	ahead->count = 0;
	if (len == 0 || allo_hash_states(len) > stacks->states.cap)
		return;
	ahead->at[ahead->count++] = (struct beginning){ text->hash, len };
	if (has_sign(stacks, text->hash))
		return;
	allo_hasher_walk(&stacks->names.hasher, text->text.data, len, stacks->states.at);
	while (ahead->count < AHEAD && cut_leaf(text->text, &len) && len > 0) {
		struct allo_hash128 hash = hash_beginning(stacks, text->text, len);

		__builtin_prefetch(sign_of(stacks, hash));
		ahead->at[ahead->count++] = (struct beginning){ hash, len };
	}
}

/* Also prefetch the longest prefix that may be known. */
static void look_further(const struct allo_folded_stacks *stacks, struct ahead *ahead)
{
	size_t i = 0;

	while (i < ahead->count && !has_sign(stacks, ahead->at[i].hash))
		i++;
	ahead->known = i;
	if (i < ahead->count)
		allo_map_fetch(&stacks->text_map, ahead->at[i].hash.high);
}

/* And the slot of the shortest prefix that is probably new. */
static void look_beyond(const struct allo_folded_stacks *stacks, const struct ahead *ahead)
{
	size_t i = ahead->known;
	allo_stack_id id;

	if (i == ahead->count)
		return;
	id = guess(stacks, ahead->at[i].hash);
	while (i > 0 && id + 1 < stacks->checks.len &&
	       stacks->checks.at[id + 1] == ahead->at[i - 1].hash.low) {
		id++;
		i--;
	}
	if (i > 0)
		allo_map_fetch(&stacks->text_map, ahead->at[i - 1].hash.high);
}

/* A walk along the prefixes of a text. */
struct search {
	struct allo_text text;
	const struct ahead *ahead;
	bool has_states;     /* of this text */
	struct beginning at; /* the current prefix */
	size_t left;         /* names after it */
};

static bool need_states(struct allo_folded_stacks *stacks, struct search *search,
			struct allo_error *err)
{
	if (search->has_states)
		return true;
	stacks->states.len = 0;
	if (!allo_vec_reserve(&stacks->states, allo_hash_states(search->text.len)))
		return allo_fail_memory(err);
	allo_hasher_walk(&stacks->names.hasher, search->text.data, search->text.len,
			 stacks->states.at);
	search->has_states = true;
	return true;
}

/* Steps back by one name; false if that is empty, and when memory is short. */
static bool step_back(struct allo_folded_stacks *stacks, struct search *search,
		      struct allo_error *err)
{
	if (++search->left < search->ahead->count) {
		search->at = search->ahead->at[search->left];
		return true;
	}
	if (!cut_leaf(search->text, &search->at.len) || !need_states(stacks, search, err))
		return false;
	search->at.hash = hash_beginning(stacks, search->text, search->at.len);
	return true;
}

/* Steps forward again by one name. */
static struct beginning step_on(const struct allo_folded_stacks *stacks,
				const struct search *search)
{
	size_t first = search->at.len > 0 ? search->at.len + 1 : 0, len;
	const char *end;

	if (search->left <= search->ahead->count)
		return search->ahead->at[search->left - 1];
	end = memchr(search->text.data + first, ';', search->text.len - first);
	len = end ? (size_t)(end - search->text.data) : search->text.len;
	return (struct beginning){ hash_beginning(stacks, search->text, len), len };
}

/* Walks from a known stack to those added right after it, as far as they match the text. */
static allo_stack_id follow(const struct allo_folded_stacks *stacks, struct search *search,
			    allo_stack_id id)
{
	while (search->left > 0 && id + 1 < stacks->checks.len) {
		struct beginning next = step_on(stacks, search);

		if (stacks->checks.at[id + 1] != next.hash.low)
			break;
		search->at = next;
		search->left--;
		id++;
	}
	return id;
}

/* Adds stacks for the remaining names; returns the last one. */
static allo_stack_id append(struct allo_folded_stacks *stacks, struct search *search,
			    allo_stack_id parent, struct allo_error *err)
{
	size_t count = search->left;

	stacks->frames.len = 0;
	if (!allo_vec_reserve(&stacks->frames, count) ||
	    !allo_vec_reserve(&stacks->checks, count)) {
		allo_fail_memory(err);
		return 0;
	}
	for (; search->left > 0; search->left--) {
		size_t first = search->at.len > 0 ? search->at.len + 1 : 0;
		struct allo_text name;
		allo_frame_id frame;

		search->at = step_on(stacks, search);
		name = (struct allo_text){ search->text.data + first, search->at.len - first };
		frame = frame_of(stacks, name, err);
		if (frame == 0)
			return 0;
		/* The others are found by walking from the first. */
		if (search->left == count &&
		    !put(stacks, search->at.hash, (allo_stack_id)stacks->checks.len, err))
			return 0;
		stacks->checks.at[stacks->checks.len++] = search->at.hash.low;
		stacks->frames.at[stacks->frames.len++] = frame;
	}
	return allo_profile_append_stacks(stacks->profile, parent, stacks->frames.at, count, err);
}

static bool add_text(struct allo_folded_stacks *stacks, struct allo_folded_text *text,
		     const struct ahead *ahead, struct allo_error *err);

/* A text without its empty names. */
static bool add_plain(struct allo_folded_stacks *stacks, struct allo_folded_text *text,
		      struct allo_error *err)
{
	struct allo_text rest = text->text, name;
	struct allo_folded_text plain = { 0 };
	bool ok;

	stacks->plain.len = 0;
	if (!allo_vec_reserve(&stacks->plain, rest.len))
		return allo_fail_memory(err);
	while (allo_text_next(&rest, ';', &name)) {
		if (name.len == 0)
			continue;
		if (stacks->plain.len > 0)
			stacks->plain.at[stacks->plain.len++] = ';';
		memcpy(stacks->plain.at + stacks->plain.len, name.data, name.len);
		stacks->plain.len += name.len;
	}
	ALLO_ASSERT(stacks->plain.len <= text->text.len);
	stacks->original = text->text;
	plain.text = (struct allo_text){ stacks->plain.at, stacks->plain.len };
	plain.hash = allo_folded_stacks_hash(stacks, plain.text);
	ok = add_text(stacks, &plain, &(struct ahead){ .count = 0 }, err);
	stacks->original = (struct allo_text){ 0 };
	text->stack = plain.stack;
	return ok;
}

static bool add_text(struct allo_folded_stacks *stacks, struct allo_folded_text *text,
		     const struct ahead *ahead, struct allo_error *err)
{
	struct search search = { .text = text->text,
				 .ahead = ahead,
				 .at = { text->hash, text->text.len } };
	allo_stack_id known = 0;

	while (search.at.len > 0 &&
	       (!has_sign(stacks, search.at.hash) || (known = find(stacks, search.at.hash)) == 0)) {
		if (!step_back(stacks, &search, err))
			return !allo_failed(err) && add_plain(stacks, text, err);
	}
	text->stack = known;
	if (search.left == 0)
		return true;
	text->stack = follow(stacks, &search, known);
	if (search.left == 0) /* seen for the second time: enter it into the map */
		return put(stacks, text->hash, text->stack, err);
	text->stack = append(stacks, &search, text->stack, err);
	return text->stack != 0;
}

bool allo_folded_stacks_add(struct allo_folded_stacks *stacks, struct allo_folded_text *texts,
			    size_t count, struct allo_error *err)
{
	struct ahead ahead[ALLO_FOLDED_TOGETHER];

	ALLO_ASSERT(count <= ALLO_FOLDED_TOGETHER);
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(sign_of(stacks, texts[i].hash));
	for (size_t i = 0; i < count; i++)
		look_ahead(stacks, &texts[i], &ahead[i]);
	for (size_t i = 0; i < count; i++)
		look_further(stacks, &ahead[i]);
	for (size_t i = 0; i < count; i++) {
		if (ahead[i].known < ahead[i].count)
			__builtin_prefetch(
				&stacks->checks
					 .at[guess(stacks, ahead[i].at[ahead[i].known].hash)]);
	}
	for (size_t i = 0; i < count; i++)
		look_beyond(stacks, &ahead[i]);
	for (size_t i = 0; i < count; i++) {
		if (!add_text(stacks, &texts[i], &ahead[i], err))
			return false;
	}
	return true;
}
