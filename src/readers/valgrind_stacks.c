/* valgrind_stacks.c - parses frames, guesses their modules, and joins inlined calls. */
#include "readers/valgrind_stacks.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* Takes ":digits" off the end. */
static bool take_last_number(struct allo_text *text, uint32_t *number)
{
	struct allo_text before, after;
	uint64_t value;

	if (!allo_text_cut_last(*text, ':', &before, &after) || !allo_text_u64(after, &value))
		return false;
	*text = before;
	*number = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	return true;
}

static bool is_unknown(struct allo_text text)
{
	return allo_text_equal(text, ALLO_TEXT("???"));
}

/* "file:line" or "file:line:column". */
static bool parse_place(struct allo_text place, struct allo_valgrind_frame *frame)
{
	uint32_t last, before_last;

	if (!take_last_number(&place, &last))
		return false;
	if (take_last_number(&place, &before_last)) {
		frame->line = before_last;
		frame->column = last;
	} else {
		frame->line = last;
	}
	if (!is_unknown(place))
		frame->file = place;
	return true;
}

/* Parses the parentheses at the end.  Names contain parentheses themselves, so the last " ("
 * counts, except where that is a part of an object's path: "(in /lib/x.so (deleted))". */
static void parse_name_and_place(struct allo_text rest, struct allo_valgrind_frame *frame)
{
	size_t in = allo_text_find_last(rest, ALLO_TEXT(" (in "));
	size_t open = allo_text_find_last(rest, ALLO_TEXT(" ("));

	frame->name = rest;
	if (open == (size_t)-1 || rest.data[rest.len - 1] != ')')
		return;
	if (open != in &&
	    parse_place((struct allo_text){ rest.data + open + 2, rest.len - open - 3 }, frame)) {
		frame->name.len = open;
	} else if (in != (size_t)-1) {
		struct allo_text object = { rest.data + in + 5, rest.len - in - 6 };

		frame->name.len = in;
		if (!is_unknown(object))
			frame->object = object;
	}
}

bool allo_valgrind_frame_parse(struct allo_text text, struct allo_valgrind_frame *frame)
{
	struct allo_text rest = text;

	*frame = (struct allo_valgrind_frame){ .name = text };
	if (!allo_text_skip(&rest, ALLO_TEXT("0x")) ||
	    !allo_text_take_hex(&rest, &frame->address) ||
	    !allo_text_skip(&rest, ALLO_TEXT(": "))) {
		frame->address = 0;
		return false;
	}
	parse_name_and_place(rest, frame);
	if (is_unknown(frame->name))
		frame->name.len = 0;
	return true;
}

void allo_valgrind_stacks_done(struct allo_valgrind_stacks *stacks)
{
	allo_vec_done(&stacks->entries);
	allo_vec_done(&stacks->addresses);
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

	if (!entry || !allo_vec_append(&stacks->addresses, &parsed->address, 1))
		return allo_fail_memory(err);
	ALLO_ASSERT(stacks->entries.len == stacks->addresses.len);
	*entry = (struct allo_valgrind_entry){
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

/* The address range of an object's frames. */
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

static bool see_object(struct objects *objects, const struct allo_valgrind_stacks *stacks,
		       size_t number, struct allo_error *err)
{
	const struct allo_valgrind_entry *entry = &stacks->entries.at[number];
	const uint64_t page = 4096; /* mappings start and end at multiples of it */
	uint64_t start = stacks->addresses.at[number] & -page, limit;
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
	struct object *furthest = NULL; /* of the ranges before, the one that ends last */

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
		if (stacks->entries.at[i].object != 0 && !see_object(objects, stacks, i, err))
			return false;
	}
	objects->by_address = calloc(objects->seen.len + 1, sizeof(*objects->by_address));
	if (!objects->by_address)
		return allo_fail_memory(err);
	sort_objects(objects);
	return true;
}

/* The object whose range holds an address; NULL if there is none or more than one. */
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
		module.is_guessed = true;
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
	/* All its frames had lines, so none named it. */
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
		/* A frame with a line does not name its object, but may lie between frames that do.
		 */
		const struct object *object = entry->object ? object_of(&objects, entry->object)
							    : object_at(&objects,
									stacks->addresses.at[i]);

		if (object)
			entry->module = object->module;
	}
	return true;
}

/* Runs. */

/* Longer than compilers produce; longer runs in a hostile table would take quadratic time. */
enum { RUN_MAX = 256 };

/* The frame of a run of steps: the innermost line first, address and module of the outermost
 * entry. */
static allo_frame_id make_frame(struct allo_valgrind_stacks *stacks,
				const struct allo_valgrind_step *steps, size_t count,
				struct allo_profile *profile, struct allo_error *err)
{
	struct allo_frame frame = { .address = stacks->addresses.at[steps[0].entry],
				    .module = stacks->entries.at[steps[0].entry].module };

	stacks->lines.len = 0;
	for (size_t i = count; i-- > 0;) {
		const struct allo_line *line = &stacks->entries.at[steps[i].entry].line;

		if (line->function && !allo_vec_append(&stacks->lines, line, 1)) {
			allo_fail_memory(err);
			return 0;
		}
	}
	return allo_profile_add_frame(profile, &frame, stacks->lines.at, stacks->lines.len, err);
}

/* A run of the current stack. */
struct stretch {
	const struct allo_valgrind_step *steps;
	size_t count;
	struct allo_hash128 hash;
};

static allo_frame_id frame_of_run(struct allo_valgrind_stacks *stacks,
				  const struct stretch *stretch, struct allo_profile *profile,
				  struct allo_error *err)
{
	struct allo_probe probe = allo_map_probe(&stacks->run_map, stretch->hash.high);
	struct allo_valgrind_run run = { .hash = stretch->hash.low };
	uint32_t number;

	while ((number = allo_map_next(&stacks->run_map, &probe)) != 0) {
		if (stacks->runs.at[number - 1].hash == run.hash)
			return stacks->runs.at[number - 1].frame;
	}
	run.frame = make_frame(stacks, stretch->steps, stretch->count, profile, err);
	if (run.frame != 0 &&
	    (!allo_vec_append(&stacks->runs, &run, 1) ||
	     !allo_map_put(&stacks->run_map, stretch->hash.high, (uint32_t)stacks->runs.len))) {
		allo_fail_memory(err);
		return 0;
	}
	return run.frame;
}

static inline allo_frame_id frame_of(struct allo_valgrind_stacks *stacks,
				     const struct stretch *stretch, struct allo_profile *profile,
				     struct allo_error *err)
{
	allo_frame_id *alone = &stacks->entries.at[stretch->steps[0].entry].alone;

	if (stretch->count > 1)
		return frame_of_run(stacks, stretch, profile, err);
	if (*alone == 0)
		*alone = make_frame(stacks, stretch->steps, 1, profile, err);
	return *alone;
}

/* Stacks. */

static bool has_entry(const struct allo_valgrind_step *steps, size_t count, uint32_t entry)
{
	for (size_t i = 0; i < count; i++) {
		if (steps[i].entry == entry)
			return true;
	}
	return false;
}

/* The run that begins at a step: the steps at its address, until an entry repeats, which is a
 * recursion.  One pass does everything, since the CPU cannot predict how long a run is. */
static inline struct stretch take_run(struct allo_valgrind_stacks *stacks, size_t at,
				      uint32_t depth, uint64_t seed)
{
	struct allo_valgrind_step *steps = stacks->steps.at + at;
	uint64_t address = stacks->addresses.at[steps[0].entry];
	size_t left = stacks->steps.len - at, most = left < RUN_MAX ? left : RUN_MAX;
	struct stretch run = { .steps = steps, .hash = { seed, ~seed } };
	uint32_t entry = steps[0].entry;
	uint64_t seen = 0; /* bit set of the entries so far: most repetitions are excluded by it */

	if (address == 0)
		most = 1;
	do {
		steps[run.count].run_start = (uint32_t)at;
		steps[run.count].depth = depth;
		run.hash.low = allo_hash_pair(run.hash.low, entry, seed);
		run.hash.high = allo_hash_pair(run.hash.high, entry, ~seed);
		seen |= 1ull << entry % 64;
		if (++run.count == most)
			break;
		entry = steps[run.count].entry;
	} while (stacks->addresses.at[entry] == address &&
		 !(seen >> entry % 64 & 1 && has_entry(steps, run.count, entry)));
	return run;
}

/* Stores the entries; returns how many steps from the root are the same as in the stack before. */
static size_t take_entries(struct allo_valgrind_stacks *stacks, const uint32_t *entries,
			   size_t count, struct allo_error *err)
{
	struct allo_valgrind_step *steps;
	size_t same = 0;

	if (count > stacks->steps.len &&
	    !allo_vec_reserve(&stacks->steps, count - stacks->steps.len)) {
		allo_fail_memory(err);
		return 0;
	}
	steps = stacks->steps.at;
	while (same < count && same < stacks->steps.len &&
	       steps[same].entry == entries[count - 1 - same])
		same++;
	for (size_t i = same; i < count; i++)
		steps[i].entry = entries[count - 1 - i];
	stacks->steps.len = count;
	/* The last of these runs may end differently now. */
	return same > 0 ? steps[same - 1].run_start : 0;
}

allo_stack_id allo_valgrind_stacks_build(struct allo_valgrind_stacks *stacks,
					 const uint32_t *entries, size_t count,
					 struct allo_profile *profile, struct allo_error *err)
{
	size_t at = take_entries(stacks, entries, count, err);
	uint32_t depth = at > 0 ? stacks->steps.at[at].depth : 0;
	uint64_t seed = allo_profile_seed(profile);

	if (allo_failed(err) || count == 0)
		return 0;
	allo_stack_builder_begin_at(&stacks->builder, depth);
	for (; at < count; depth++) {
		struct stretch run = take_run(stacks, at, depth, seed);
		allo_frame_id frame = frame_of(stacks, &run, profile, err);

		ALLO_ASSERT(run.count > 0 && at + run.count <= count);
		if (frame == 0 || !allo_stack_builder_add(&stacks->builder, frame, err)) {
			stacks->steps.len = 0; /* its run information is stale */
			return 0;
		}
		at += run.count;
	}
	return allo_stack_builder_end(&stacks->builder, profile, err);
}
