/* valgrind_stacks.c - see valgrind_stacks.h. */
#include "readers/valgrind_stacks.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_valgrind_stacks_done(struct allo_valgrind_stacks *stacks)
{
	allo_vec_done(&stacks->entries);
	allo_vec_done(&stacks->runs);
	allo_vec_done(&stacks->steps);
	allo_vec_done(&stacks->lines);
	allo_map_done(&stacks->run_map);
	allo_stack_builder_done(&stacks->builder);
	*stacks = (struct allo_valgrind_stacks){ 0 };
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
	uint64_t start = entry->address & -page, limit;
	struct object *object = object_of(objects, entry->object);

	if (__builtin_add_overflow(start, page, &limit))
		limit = UINT64_MAX;
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
	struct object *furthest = NULL; /* of those before, the one that ends last */

	for (size_t i = 0; i < count; i++)
		objects->by_address[i] = &objects->seen.at[i];
	qsort(objects->by_address, count, sizeof(*objects->by_address), by_start);
	for (size_t i = 0; i < count; i++) {
		struct object *object = objects->by_address[i];

		object->is_apart = !furthest || object->start >= furthest->limit;
		if (!object->is_apart)
			furthest->is_apart = false;
		if (!furthest || object->limit > furthest->limit)
			furthest = object;
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
		/* A frame with a line does not name its object, but may lie among frames that do.
		 */
		const struct object *object = entry->object ? object_of(&objects, entry->object)
							    : object_at(&objects, entry->address);

		if (object)
			entry->module = object->module;
	}
	return true;
}

/* Runs. */

/* Longer than any compiler's; a table made to have longer ones would take quadratic time. */
enum { RUN_MAX = 256 };

/* A run that is not there yet; 0 when memory is short. */
static uint32_t append_run(struct allo_valgrind_stacks *stacks, uint32_t outer, uint32_t entry,
			   struct allo_error *err)
{
	struct allo_valgrind_run run = { .outer = outer, .entry = entry, .length = 1 };
	struct allo_valgrind_run none = { 0 };

	if (outer)
		run.length += stacks->runs.at[outer].length;
	if ((stacks->runs.len == 0 && !allo_vec_append(&stacks->runs, &none, 1)) ||
	    stacks->runs.len >= UINT32_MAX || !allo_vec_append(&stacks->runs, &run, 1)) {
		allo_fail_memory(err);
		return 0;
	}
	return (uint32_t)stacks->runs.len - 1;
}

static uint32_t run_alone(struct allo_valgrind_stacks *stacks, uint32_t entry,
			  struct allo_error *err)
{
	if (stacks->entries.at[entry].alone == 0)
		stacks->entries.at[entry].alone = append_run(stacks, 0, entry, err);
	return stacks->entries.at[entry].alone;
}

static uint32_t find_inlined(struct allo_valgrind_stacks *stacks, uint32_t outer, uint32_t entry,
			     struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(outer, entry, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&stacks->run_map, hash);
	uint32_t run;

	while ((run = allo_map_next(&stacks->run_map, &probe)) != 0) {
		if (stacks->runs.at[run].outer == outer && stacks->runs.at[run].entry == entry)
			return run;
	}
	run = append_run(stacks, outer, entry, err);
	if (run != 0 && !allo_map_put(&stacks->run_map, hash, run))
		allo_fail_memory(err);
	return run;
}

/* The frame of a run: the innermost line first, address and module of the outermost entry. */
static allo_frame_id make_frame(struct allo_valgrind_stacks *stacks, uint32_t run,
				struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_valgrind_entry *entry = NULL;
	struct allo_frame frame = { 0 };

	stacks->lines.len = 0;
	for (; run != 0; run = stacks->runs.at[run].outer) {
		entry = &stacks->entries.at[stacks->runs.at[run].entry];
		if (entry->line.function && !allo_vec_append(&stacks->lines, &entry->line, 1)) {
			allo_fail_memory(err);
			return 0;
		}
	}
	frame.address = entry->address;
	frame.module = entry->module;
	return allo_profile_add_frame(profile, &frame, stacks->lines.at, stacks->lines.len, err);
}

static inline allo_frame_id frame_of(struct allo_valgrind_stacks *stacks, uint32_t run,
				     struct allo_profile *profile, struct allo_error *err)
{
	if (stacks->runs.at[run].frame == 0)
		stacks->runs.at[run].frame = make_frame(stacks, run, profile, err);
	return stacks->runs.at[run].frame;
}

/* Stacks. */

/* Whether an entry at the address of the last step was inlined into it: the run that goes on there
 * does not have it yet (then it would be a recursion). */
static bool is_inlined(const struct allo_valgrind_stacks *stacks, uint32_t entry)
{
	const struct allo_valgrind_step *step = &stacks->steps.at[stacks->steps.len - 1];

	if (stacks->runs.at[step->run].length >= RUN_MAX)
		return false;
	for (; step->entry != entry; step--) {
		if (!step->is_inlined)
			return true;
	}
	return false;
}

/* There must be room for it. */
static bool add_step(struct allo_valgrind_stacks *stacks, uint32_t number, struct allo_error *err)
{
	struct allo_valgrind_entry *entry = &stacks->entries.at[number];
	struct allo_valgrind_step step = { .address = entry->address, .entry = number };
	struct allo_valgrind_step last = { 0 };

	if (stacks->steps.len > 0)
		last = stacks->steps.at[stacks->steps.len - 1];
	if (step.address != 0 && step.address == last.address) {
		/* An address has one chain of inlined calls, so it is nearly always the same as
		 * before. */
		if (entry->outer != last.run && is_inlined(stacks, number)) {
			entry->inlined = find_inlined(stacks, last.run, number, err);
			entry->outer = last.run;
		}
		step.is_inlined = entry->outer == last.run;
	}
	step.run = step.is_inlined ? entry->inlined : run_alone(stacks, number, err);
	stacks->steps.at[stacks->steps.len++] = step;
	return step.run != 0;
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
	if (!allo_vec_reserve(&stacks->steps, count - same)) {
		allo_fail_memory(err);
		return 0;
	}
	for (size_t i = count - same; i-- > 0;) {
		if (!add_step(stacks, entries[i], err))
			return 0;
	}
	allo_stack_builder_begin(&stacks->builder);
	for (size_t i = 0; i < count; i++) {
		allo_frame_id frame;

		if (i + 1 < count && stacks->steps.at[i + 1].is_inlined)
			continue; /* the run goes on */
		frame = frame_of(stacks, stacks->steps.at[i].run, profile, err);
		if (frame == 0 || !allo_stack_builder_add(&stacks->builder, frame, err))
			return 0;
	}
	return allo_stack_builder_end(&stacks->builder, profile, err);
}
