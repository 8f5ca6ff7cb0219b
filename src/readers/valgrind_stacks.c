/* valgrind_stacks.c - see valgrind_stacks.h. */
#include "readers/valgrind_stacks.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* Calls that one address may stand for: many times what compilers make.  Each further one costs as
 * much as all before it. */
enum { MOST_INLINED = 128 };

void allo_valgrind_stacks_done(struct allo_valgrind_stacks *stacks)
{
	allo_vec_done(&stacks->entries);
	allo_vec_done(&stacks->inlines);
	allo_vec_done(&stacks->steps);
	allo_map_done(&stacks->inline_map);
	allo_stack_builder_done(&stacks->builder);
}

bool allo_valgrind_stacks_add(struct allo_valgrind_stacks *stacks,
			      const struct allo_valgrind_frame *parsed,
			      struct allo_profile *profile, struct allo_error *err)
{
	struct allo_valgrind_entry *entry = allo_vec_push(&stacks->entries);

	if (!entry)
		return allo_fail_memory(err);
	*entry = (struct allo_valgrind_entry){
		.address = parsed->address,
		.line = { .line = parsed->line, .column = parsed->column },
		.object = allo_profile_add_string(profile, parsed->object, err),
	};
	if (parsed->name.len > 0 || parsed->file.len > 0)
		entry->line.function = allo_profile_add_function(
			profile,
			&(struct allo_function){
				.name = allo_profile_add_string(profile, parsed->name, err),
				.file = allo_profile_add_string(profile, parsed->file, err),
			},
			err);
	return !allo_failed(err);
}

/* Where the frames of one object were seen. */
struct object {
	allo_string_id path;
	uint64_t start, limit;
	allo_module_id module;
	bool is_apart; /* no other object's range overlaps it */
};

struct objects {
	ALLO_VEC(struct object) seen; /* in order of first appearance */
	uint32_t *of_string;          /* by string id: index in `seen` + 1 */
	struct object **by_address;
};

static void objects_done(struct objects *objects)
{
	allo_vec_done(&objects->seen);
	free(objects->of_string);
	free(objects->by_address);
}

static struct object *object_of(const struct objects *objects, allo_string_id path)
{
	uint32_t number = objects->of_string[path];

	return number ? &objects->seen.at[number - 1] : NULL;
}

static bool see_object(struct objects *objects, const struct allo_valgrind_entry *entry,
		       struct allo_error *err)
{
	const uint64_t page = 4096; /* mappings start and end at multiples of it */
	uint64_t start = entry->address & -page, limit = start + page;
	struct object *object = object_of(objects, entry->object);

	if (!object) {
		object = allo_vec_push(&objects->seen);
		if (!object)
			return allo_fail_memory(err);
		*object = (struct object){ .path = entry->object, .start = start, .limit = limit };
		objects->of_string[entry->object] = (uint32_t)objects->seen.len;
	}
	if (start < object->start)
		object->start = start;
	if (limit > object->limit)
		object->limit = limit;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct object *const *x = a, *const *y = b;

	return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

static void sort_objects(struct objects *objects)
{
	size_t count = objects->seen.len;

	for (size_t i = 0; i < count; i++)
		objects->by_address[i] = &objects->seen.at[i];
	qsort(objects->by_address, count, sizeof(*objects->by_address), by_start);
	for (size_t i = 0; i < count; i++) {
		struct object *object = objects->by_address[i];
		struct object *before = i > 0 ? objects->by_address[i - 1] : NULL;

		object->is_apart = true;
		if (before && object->start < before->limit)
			object->is_apart = before->is_apart = false;
	}
}

static bool see_objects(struct objects *objects, const struct allo_valgrind_stacks *stacks,
			const struct allo_profile *profile, struct allo_error *err)
{
	objects->of_string = calloc(profile->strings.len + 1, sizeof(*objects->of_string));
	if (!objects->of_string)
		return allo_fail_memory(err);
	for (size_t i = 0; i < stacks->entries.len; i++) {
		if (stacks->entries.at[i].object != 0 &&
		    !see_object(objects, &stacks->entries.at[i], err))
			return false;
	}
	objects->by_address = calloc(objects->seen.len + 1, sizeof(*objects->by_address));
	if (!objects->by_address)
		return allo_fail_memory(err);
	sort_objects(objects);
	return true;
}

/* The object whose range holds an address; NULL when that is none, or not certain. */
static const struct object *object_at(const struct objects *objects, uint64_t address)
{
	size_t low = 0, high = objects->seen.len;
	const struct object *object;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (objects->by_address[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	object = objects->by_address[low - 1];
	return object->is_apart && address < object->limit ? object : NULL;
}

static bool add_module(struct allo_profile *profile, struct object *object, struct allo_error *err)
{
	struct allo_module module = { .path = object->path,
				      .has_functions = true,
				      .has_files = true,
				      .has_lines = true,
				      .has_inlines = true };

	if (object->is_apart) {
		module.start = object->start;
		module.limit = object->limit;
	}
	object->module = allo_profile_add_module(profile, &module, err);
	return object->module != 0;
}

/* pprof takes the first module for the program itself. */
static bool add_program(struct allo_profile *profile, struct objects *objects,
			struct allo_text command, struct allo_error *err)
{
	struct allo_text program = command, arguments;
	struct object unseen = { 0 };

	allo_text_cut(command, ' ', &program, &arguments);
	for (size_t i = 0; i < objects->seen.len; i++) {
		struct allo_text path = allo_profile_text(profile, objects->seen.at[i].path);

		if (allo_text_equal(allo_basename(path), allo_basename(program)))
			return add_module(profile, &objects->seen.at[i], err);
	}
	/* Its frames all had lines, so that none named it. */
	unseen.path = allo_profile_add_string(profile, program, err);
	return unseen.path == 0 ? !allo_failed(err) : add_module(profile, &unseen, err);
}

bool allo_valgrind_stacks_find_modules(struct allo_valgrind_stacks *stacks,
				       struct allo_profile *profile, struct allo_text command,
				       struct allo_error *err)
{
	ALLO_DEFER(objects_done) struct objects objects = { 0 };

	if (!see_objects(&objects, stacks, profile, err) ||
	    !add_program(profile, &objects, command, err))
		return false;
	for (size_t i = 0; i < objects.seen.len; i++) {
		if (objects.seen.at[i].module == 0 &&
		    !add_module(profile, &objects.seen.at[i], err))
			return false;
	}
	for (size_t i = 0; i < stacks->entries.len; i++) {
		struct allo_valgrind_entry *entry = &stacks->entries.at[i];
		/* A frame with a line does not name its object, but may lie among others that do. */
		const struct object *object = entry->object ? object_of(&objects, entry->object)
							    : object_at(&objects, entry->address);

		if (object)
			entry->module = object->module;
	}
	return true;
}

static allo_frame_id frame_alone(struct allo_valgrind_entry *entry, struct allo_profile *profile,
				 struct allo_error *err)
{
	if (entry->frame == 0) {
		struct allo_frame frame = { .address = entry->address, .module = entry->module };

		entry->frame = allo_profile_add_frame(profile, &frame, &entry->line,
						      entry->line.function ? 1 : 0, err);
	}
	return entry->frame;
}

/* The frame `outer` with the entry's line put inside, that is in front. */
static allo_frame_id make_inline(const struct allo_valgrind_entry *entry, allo_frame_id outer,
				 struct allo_profile *profile, struct allo_error *err)
{
	struct allo_frame frame = profile->frames.at[outer];
	ALLO_VEC(struct allo_line) lines = { 0 };
	allo_frame_id id = 0;

	if (entry->line.function == 0)
		return outer;
	if (allo_vec_append(&lines, &entry->line, 1) &&
	    allo_vec_append(&lines, profile->lines.at + frame.first_line, frame.line_count))
		id = allo_profile_add_frame(profile, &frame, lines.at, lines.len, err);
	else
		allo_fail_memory(err);
	allo_vec_done(&lines);
	return id;
}

static allo_frame_id find_inline(struct allo_valgrind_stacks *stacks, allo_frame_id outer,
				 uint32_t entry, struct allo_profile *profile,
				 struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(outer, entry, profile->seed);
	struct allo_probe probe = allo_map_probe(&stacks->inline_map, hash);
	struct allo_valgrind_inline *made;
	uint32_t number;

	while ((number = allo_map_next(&stacks->inline_map, &probe)) != 0) {
		made = &stacks->inlines.at[number - 1];
		if (made->outer == outer && made->entry == entry)
			return made->inner_and_outer;
	}
	made = allo_vec_push(&stacks->inlines);
	if (!made || !allo_map_put(&stacks->inline_map, hash, (uint32_t)stacks->inlines.len)) {
		allo_fail_memory(err);
		return 0;
	}
	*made = (struct allo_valgrind_inline){ .outer = outer, .entry = entry };
	made->inner_and_outer = make_inline(&stacks->entries.at[entry], outer, profile, err);
	return made->inner_and_outer;
}

static inline allo_frame_id frame_with_inline(struct allo_valgrind_stacks *stacks,
					      allo_frame_id outer, uint32_t number,
					      struct allo_profile *profile, struct allo_error *err)
{
	struct allo_valgrind_entry *entry = &stacks->entries.at[number];

	/* An address has one chain of inlined calls, so it is nearly always the same as before. */
	if (entry->outer != outer) {
		entry->inlined = find_inline(stacks, outer, number, profile, err);
		entry->outer = outer;
	}
	return entry->inlined;
}

/* Whether the next step was inlined into the last one: it has its address, and has not occurred
 * since that address began (then it would be a recursion). */
static bool is_inlined(const struct allo_valgrind_stacks *stacks,
		       const struct allo_valgrind_step *next)
{
	const struct allo_valgrind_step *steps = stacks->steps.at;
	size_t i = stacks->steps.len;

	if (next->address == 0 || steps[i - 1].address != next->address)
		return false;
	for (int lines = 0; i-- > 0 && steps[i].address == next->address; lines++) {
		if (steps[i].entry == next->entry || lines == MOST_INLINED)
			return false;
	}
	return true;
}

static bool add_step(struct allo_valgrind_stacks *stacks, uint32_t entry,
		     struct allo_profile *profile, struct allo_error *err)
{
	struct allo_valgrind_step step = { .address = stacks->entries.at[entry].address,
					   .entry = entry };
	size_t count = stacks->steps.len;

	step.is_inlined = count > 0 && is_inlined(stacks, &step);
	if (step.is_inlined)
		step.run = frame_with_inline(stacks, stacks->steps.at[count - 1].run, entry,
					     profile, err);
	else
		step.run = frame_alone(&stacks->entries.at[entry], profile, err);
	if (allo_failed(err))
		return false;
	return allo_vec_append(&stacks->steps, &step, 1) || allo_fail_memory(err);
}

allo_stack_id allo_valgrind_stacks_build(struct allo_valgrind_stacks *stacks,
					 const uint32_t *entries, size_t count,
					 struct allo_profile *profile, struct allo_error *err)
{
	size_t same = 0;

	/* Neighbours in a file share their root side: what was found for the last one stays. */
	while (same < count && same < stacks->steps.len &&
	       stacks->steps.at[same].entry == entries[count - 1 - same])
		same++;
	stacks->steps.len = same;
	for (size_t i = count - same; i-- > 0;) {
		if (!add_step(stacks, entries[i], profile, err))
			return 0;
	}
	allo_stack_builder_begin(&stacks->builder);
	for (size_t i = 0; i < count; i++) {
		bool goes_on = i + 1 < count && stacks->steps.at[i + 1].is_inlined;

		if (!goes_on &&
		    !allo_stack_builder_add(&stacks->builder, stacks->steps.at[i].run, err))
			return 0;
	}
	return allo_stack_builder_end(&stacks->builder, profile, err);
}
