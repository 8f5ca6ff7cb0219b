/*
 * content_ids.c - hashes entries and resolves collisions.
 *
 * Entries with equal contents (a library that was loaded twice) share one id.  Different entries
 * with the same hash, by chance or by malice, get different ids.
 */
#include "profile/content_ids.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>

/* The input of a hash: little-endian numbers and texts in a fixed order. */
struct key {
	ALLO_VEC(char) bytes;
	struct allo_error *err;
};

static void key_done(struct key *key)
{
	allo_vec_done(&key->bytes);
}

static void put_bytes(struct key *key, const void *data, size_t len)
{
	allo_vec_add_all(&key->bytes, data, len, key->err);
}

static void put_number(struct key *key, uint64_t number)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	put_bytes(key, bytes, sizeof(bytes));
}

/* The length comes first, so that "ab", "c" differs from "a", "bc". */
static void put_text(struct key *key, struct allo_text text)
{
	put_number(key, text.len);
	put_bytes(key, text.data, text.len);
}

/* The seed separates kinds of ids.  Changing it changes the ids. */
static int64_t id_of(const void *data, size_t len, uint64_t seed)
{
	uint64_t hash = allo_hash_bytes(data, len, seed) & INT64_MAX;

	return hash ? (int64_t)hash : 1;
}

int64_t allo_content_call_id(int64_t id, uint32_t call)
{
	unsigned char bytes[12];

	if (call == 0)
		return id;
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)((uint64_t)id >> (8 * i));
	for (int i = 0; i < 4; i++)
		bytes[8 + i] = (unsigned char)(call >> (8 * i));
	return id_of(bytes, sizeof(bytes), 1);
}

int64_t allo_content_name_id(struct allo_text name)
{
	return id_of(name.data, name.len, 2);
}

/* Whether the frame is in a module whose address range is known. */
static bool has_place(const struct allo_profile *profile, const struct allo_frame *frame)
{
	const struct allo_module *module;

	if (frame->module == 0)
		return false;
	module = &profile->modules.at[frame->module];
	return !module->is_guessed && frame->address >= module->start &&
	       frame->address < module->limit;
}

uint64_t allo_module_offset(const struct allo_profile *profile, const struct allo_frame *frame)
{
	const struct allo_module *module;

	if (!has_place(profile, frame))
		return frame->address;
	module = &profile->modules.at[frame->module];
	return frame->address - module->start + module->offset;
}

/* One table of the profile and the ids of its entries. */
struct table {
	const struct allo_profile *profile;
	const struct allo_content_ids *ids;
	int64_t *made;       /* ids by the profile's ids */
	uint32_t *firsts;    /* the first entry with the same id; may be NULL */
	struct allo_map map; /* the first entry with each id */
	uint64_t seed;
	bool (*is_equal)(const struct table *table, size_t a, size_t b);
};

/* The id of an entry with this hash: the hash, or the next free id after a collision. */
static int64_t settle(struct table *table, size_t entry, int64_t id, struct allo_error *err)
{
	for (;;) {
		uint64_t hash = allo_hash_pair((uint64_t)id, 0, table->seed);
		struct allo_probe probe = allo_map_probe(&table->map, hash);
		size_t other = 0;

		while ((other = allo_map_next(&table->map, &probe)) != 0 &&
		       table->made[other] != id)
			;
		if (other == 0)
			return allo_map_add(&table->map, hash, (uint32_t)entry, err) ? id : 0;
		if (table->is_equal(table, other, entry)) {
			if (table->firsts)
				table->firsts[entry] = (uint32_t)other;
			return id;
		}
		id = allo_content_call_id(id, UINT32_MAX);
	}
}

/* Modules: by build id, or else by path. */

static struct allo_text module_name(const struct allo_profile *profile, size_t id)
{
	const struct allo_module *module = &profile->modules.at[id];

	return allo_profile_text(profile, module->build_id ? module->build_id : module->path);
}

static bool are_modules_equal(const struct table *table, size_t a, size_t b)
{
	return allo_text_equal(module_name(table->profile, a), module_name(table->profile, b));
}

static void put_module(struct key *key, const struct table *table, size_t id)
{
	put_text(key, module_name(table->profile, id));
}

/* Functions: by all their fields. */

static bool are_functions_equal(const struct table *table, size_t a, size_t b)
{
	const struct allo_function *functions = table->profile->functions.at;

	return functions[a].name == functions[b].name && functions[a].file == functions[b].file &&
	       functions[a].system_name == functions[b].system_name &&
	       functions[a].start_line == functions[b].start_line;
}

static void put_function(struct key *key, const struct table *table, size_t id)
{
	const struct allo_function *function = &table->profile->functions.at[id];

	put_text(key, allo_profile_text(table->profile, function->name));
	put_text(key, allo_profile_text(table->profile, function->system_name));
	put_text(key, allo_profile_text(table->profile, function->file));
	put_number(key, function->start_line);
}

/* Frames: by their offset in a module, or else by their names. */

static int64_t module_id(const struct table *table, const struct allo_frame *frame)
{
	return frame->module ? table->ids->modules[frame->module] : 0;
}

static bool are_lines_equal(const struct allo_profile *profile, const struct allo_frame *a,
			    const struct allo_frame *b)
{
	const struct allo_line *lines = profile->lines.at;

	if (a->line_count != b->line_count)
		return false;
	for (uint32_t i = 0; i < a->line_count; i++) {
		if (lines[a->first_line + i].function != lines[b->first_line + i].function ||
		    lines[a->first_line + i].line != lines[b->first_line + i].line ||
		    lines[a->first_line + i].column != lines[b->first_line + i].column)
			return false;
	}
	return true;
}

static bool are_frames_equal(const struct table *table, size_t a, size_t b)
{
	const struct allo_frame *frames = table->profile->frames.at;
	bool is_placed = has_place(table->profile, &frames[a]);

	if (module_id(table, &frames[a]) != module_id(table, &frames[b]) ||
	    is_placed != has_place(table->profile, &frames[b]) ||
	    !are_lines_equal(table->profile, &frames[a], &frames[b]))
		return false;
	if (!is_placed && frames[a].line_count > 0)
		return true;
	return allo_module_offset(table->profile, &frames[a]) ==
	       allo_module_offset(table->profile, &frames[b]);
}

static void put_frame(struct key *key, const struct table *table, size_t id)
{
	const struct allo_frame *frame = &table->profile->frames.at[id];
	bool is_placed = has_place(table->profile, frame);

	put_number(key, (uint64_t)module_id(table, frame));
	/* An address outside of modules counts only when the frame has no name. */
	if (is_placed || frame->line_count == 0) {
		put_number(key, allo_module_offset(table->profile, frame));
		return;
	}
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &table->profile->lines.at[frame->first_line + i];

		put_number(key,
			   line->function ? (uint64_t)table->ids->functions[line->function] : 0);
		put_number(key, line->line);
		put_number(key, line->column);
	}
}

/* Stacks: by the ids of the caller's stack and of the frame. */

static int64_t frame_of(const struct table *table, size_t id)
{
	return table->ids->frames[table->profile->stacks.at[id].frame];
}

static int64_t parent_of(const struct table *table, size_t id)
{
	return table->made[table->profile->stacks.at[id].parent];
}

static bool are_stacks_equal(const struct table *table, size_t a, size_t b)
{
	return frame_of(table, a) == frame_of(table, b) &&
	       parent_of(table, a) == parent_of(table, b);
}

static void put_stack(struct key *key, const struct table *table, size_t id)
{
	put_number(key, (uint64_t)parent_of(table, id));
	put_number(key, (uint64_t)frame_of(table, id));
}

static bool make_ids(const struct allo_profile *profile, const struct allo_content_ids *ids,
		     size_t count, bool (*is_equal)(const struct table *table, size_t a, size_t b),
		     void (*put)(struct key *key, const struct table *table, size_t id),
		     int64_t **made, uint32_t *firsts, struct allo_error *err)
{
	ALLO_DEFER(key_done) struct key key = { .err = err };
	struct table table = { .profile = profile,
			       .ids = ids,
			       .firsts = firsts,
			       .is_equal = is_equal,
			       .seed = allo_hash_seed() };

	*made = table.made = calloc(count + 1, sizeof(**made));
	if (!table.made)
		return allo_fail_memory(err);
	for (size_t i = 1; i < count && !allo_failed(err); i++) {
		key.bytes.len = 0;
		if (firsts)
			firsts[i] = (uint32_t)i;
		put(&key, &table, i);
		table.made[i] = settle(&table, i, id_of(key.bytes.at, key.bytes.len, 0), err);
		ALLO_ASSERT(table.made[i] > 0 || allo_failed(err));
	}
	allo_map_done(&table.map);
	return !allo_failed(err);
}

bool allo_content_ids_init(struct allo_content_ids *ids, const struct allo_profile *profile,
			   struct allo_error *err)
{
	*ids = (struct allo_content_ids){ .stack_count = profile->stacks.len + 1 };
	ids->first_stacks = calloc(profile->stacks.len + 1, sizeof(*ids->first_stacks));
	if (!ids->first_stacks)
		return allo_fail_memory(err);
	return make_ids(profile, ids, profile->modules.len, are_modules_equal, put_module,
			&ids->modules, NULL, err) &&
	       make_ids(profile, ids, profile->functions.len, are_functions_equal, put_function,
			&ids->functions, NULL, err) &&
	       make_ids(profile, ids, profile->frames.len, are_frames_equal, put_frame,
			&ids->frames, NULL, err) &&
	       make_ids(profile, ids, profile->stacks.len, are_stacks_equal, put_stack,
			&ids->stacks, ids->first_stacks, err);
}

void allo_content_ids_done(struct allo_content_ids *ids)
{
	free(ids->modules);
	free(ids->functions);
	free(ids->frames);
	free(ids->stacks);
	free(ids->first_stacks);
	*ids = (struct allo_content_ids){ 0 };
}
