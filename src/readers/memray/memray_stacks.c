/* memray_stacks.c - functions, frames and threads; lines of instructions. */
#include "readers/memray/memray_stacks.h"

#include "base/assert.h"
#include "base/hash.h"
#include "wire/python_lines.h"

/* Tables are searched from their beginning.  Real files stay below a tenth of this; in others,
 * further instructions have no line. */
#define LINE_BYTES_MOST ((uint64_t)1 << 30)

void allo_memray_stacks_done(struct allo_memray_stacks *stacks)
{
	for (size_t i = 0; i < stacks->threads.len; i++)
		allo_vec_done(&stacks->threads.at[i].levels);
	allo_vec_done(&stacks->threads);
	allo_vec_done(&stacks->codes);
	allo_vec_done(&stacks->places);
	allo_map_done(&stacks->code_map);
	allo_map_done(&stacks->place_map);
	allo_map_done(&stacks->thread_map);
	allo_arena_done(&stacks->arena);
}

static uint64_t hash_of(const struct allo_memray_stacks *stacks, uint64_t a, uint64_t b)
{
	return allo_hash_pair(a, b, allo_profile_seed(stacks->profile));
}

/* Functions. */

static uint32_t find_code(const struct allo_memray_stacks *stacks, uint64_t id)
{
	struct allo_probe probe = allo_map_probe(&stacks->code_map, hash_of(stacks, id, 0));
	uint32_t number;

	while ((number = allo_map_next(&stacks->code_map, &probe)) != 0) {
		if (stacks->codes.at[number - 1].id == id)
			return number;
	}
	return 0;
}

bool allo_memray_add_code(struct allo_memray_stacks *stacks, uint64_t id, struct allo_text name,
			  struct allo_text file, uint32_t first_line, struct allo_text lines,
			  struct allo_error *err)
{
	struct allo_profile *profile = stacks->profile;
	const char *copy = allo_arena_copy(&stacks->arena, lines.data, lines.len);
	struct allo_function function = { .name = allo_profile_add_string(profile, name, err),
					  .file = allo_profile_add_string(profile, file, err),
					  .start_line = first_line };
	struct allo_memray_code code = { .id = id,
					 .function = allo_profile_add_function(profile, &function,
									       err),
					 .first_line = first_line,
					 .lines = { copy, lines.len } };

	if (!copy)
		return allo_fail_memory(err);
	allo_vec_add(&stacks->codes, code, err);
	return !allo_failed(err) && (allo_map_put(&stacks->code_map, hash_of(stacks, id, 0),
						  (uint32_t)stacks->codes.len) ||
				     allo_fail_memory(err));
}

/* Before 3.10: pairs of a step of the offset and a step of the line, after it. */
static uint32_t line_in_old_pairs(struct allo_text pairs, uint32_t line, int64_t offset)
{
	int64_t at = 0;

	for (size_t i = 0; i + 1 < pairs.len; i += 2) {
		at += (unsigned char)pairs.data[i];
		if (at > offset)
			break;
		line += (uint32_t)(int8_t)pairs.data[i + 1];
	}
	return line;
}

/* The offset counts bytes of code, but in 3.10 instructions of two bytes. */
static uint32_t line_of(struct allo_memray_stacks *stacks, const struct allo_memray_code *code,
			int64_t offset)
{
	const uint8_t *start = (const uint8_t *)code->lines.data;
	struct allo_python_lines table = { start, start + code->lines.len };

	stacks->line_bytes += code->lines.len;
	if (stacks->line_bytes > LINE_BYTES_MOST)
		return 0;
	if (stacks->python >= ALLO_MEMRAY_PYTHON_3_11)
		return allo_python_line_in_table(table, code->first_line, offset / 2);
	if (stacks->python >= ALLO_MEMRAY_PYTHON_3_10)
		return allo_python_line_in_pairs(table, code->first_line, 2 * offset);
	return line_in_old_pairs(code->lines, code->first_line, offset);
}

/* Frames. */

static allo_frame_id add_place(struct allo_memray_stacks *stacks, uint64_t hash, uint32_t code,
			       int64_t offset, struct allo_error *err)
{
	const struct allo_memray_code *found = &stacks->codes.at[code - 1];
	struct allo_line line = { .function = found->function,
				  .line = line_of(stacks, found, offset) };
	struct allo_frame frame = { 0 };
	struct allo_memray_place place = { code, offset, 0 };

	place.frame = allo_profile_add_frame(stacks->profile, &frame, &line, 1, err);
	allo_vec_add(&stacks->places, place, err);
	if (!allo_failed(err) &&
	    !allo_map_put(&stacks->place_map, hash, (uint32_t)stacks->places.len))
		allo_fail_memory(err);
	return allo_failed(err) ? 0 : place.frame;
}

allo_frame_id allo_memray_frame(struct allo_memray_stacks *stacks, uint64_t id, int64_t offset,
				struct allo_error *err)
{
	uint32_t code = find_code(stacks, id), number;
	uint64_t hash = hash_of(stacks, (uint64_t)offset, code);
	struct allo_probe probe = allo_map_probe(&stacks->place_map, hash);

	if (code == 0)
		return 0;
	while ((number = allo_map_next(&stacks->place_map, &probe)) != 0) {
		const struct allo_memray_place *place = &stacks->places.at[number - 1];

		if (place->code == code && place->offset == offset)
			return place->frame;
	}
	return add_place(stacks, hash, code, offset, err);
}

/* Threads. */

uint32_t allo_memray_thread(struct allo_memray_stacks *stacks, uint64_t id, struct allo_error *err)
{
	uint64_t hash = hash_of(stacks, id, 0);
	struct allo_probe probe = allo_map_probe(&stacks->thread_map, hash);
	uint32_t number;

	while ((number = allo_map_next(&stacks->thread_map, &probe)) != 0) {
		if (stacks->threads.at[number - 1].id == id)
			return number - 1;
	}
	allo_vec_add(&stacks->threads, ((struct allo_memray_thread){ .id = id }), err);
	if (!allo_failed(err) &&
	    !allo_map_put(&stacks->thread_map, hash, (uint32_t)stacks->threads.len))
		allo_fail_memory(err);
	return allo_failed(err) ? UINT32_MAX : (uint32_t)stacks->threads.len - 1;
}

bool allo_memray_push(struct allo_memray_stacks *stacks, uint32_t number, allo_frame_id frame,
		      struct allo_error *err)
{
	struct allo_memray_thread *thread = &stacks->threads.at[number];

	ALLO_ASSERT(number < stacks->threads.len);
	if (thread->depth++ < thread->skipped)
		return true;
	return allo_vec_add(&thread->levels, ((struct allo_memray_level){ frame, 0 }), err);
}

bool allo_memray_pop(struct allo_memray_stacks *stacks, uint32_t number, uint64_t count)
{
	struct allo_memray_thread *thread = &stacks->threads.at[number];

	ALLO_ASSERT(number < stacks->threads.len);
	if (count > thread->depth)
		return false;
	thread->depth -= count;
	if (thread->levels.len > 0)
		thread->levels.len = thread->depth > thread->skipped
					     ? (size_t)(thread->depth - thread->skipped)
					     : 0;
	return true;
}

allo_stack_id allo_memray_stack(struct allo_memray_stacks *stacks, uint32_t number,
				struct allo_error *err)
{
	struct allo_memray_thread *thread = &stacks->threads.at[number];
	size_t known = thread->levels.len;
	allo_stack_id stack;

	while (known > 0 && thread->levels.at[known - 1].stack == 0)
		known--;
	stack = known > 0 ? thread->levels.at[known - 1].stack : 0;
	for (; known < thread->levels.len && !allo_failed(err); known++) {
		struct allo_memray_level *level = &thread->levels.at[known];

		stack = level->stack = allo_profile_add_stack(stacks->profile, stack, level->frame,
							      err);
	}
	return allo_failed(err) ? 0 : stack;
}
