/* heap_text.c - see heap_text.h. */
#include "readers/heap_text.h"

#include "profile/naming.h"

enum { MOST_INLINED = 128 }; /* calls that one address may stand for */

void allo_heap_text_done(struct allo_heap_text *heap)
{
	allo_proc_maps_done(&heap->maps);
	allo_vec_done(&heap->samples);
	allo_vec_done(&heap->addresses);
	allo_map_done(&heap->address_map);
	allo_vec_done(&heap->lines);
	allo_profile_done(&heap->waiting);
	allo_vec_done(&heap->numbers);
	allo_vec_done(&heap->stacks);
	allo_vec_done(&heap->to_make);
	allo_stack_builder_done(&heap->builder);
}

/* Addresses. */

static uint64_t hash_of(const struct allo_heap_text *heap, uint64_t address)
{
	return allo_hash_pair(address, 0, allo_profile_seed(heap->profile));
}

static uint32_t find_address(const struct allo_heap_text *heap, uint64_t address)
{
	struct allo_probe probe = allo_map_probe(&heap->address_map, hash_of(heap, address));
	uint32_t number;

	while ((number = allo_map_next(&heap->address_map, &probe)) != 0) {
		if (heap->addresses.at[number - 1].address == address)
			break;
	}
	return number;
}

/* The number of a new or known address; 0 when memory is short. */
static uint32_t add_address(struct allo_heap_text *heap, uint64_t address, struct allo_error *err)
{
	struct allo_heap_address added = { .address = address };
	uint32_t number = find_address(heap, address);

	if (number != 0)
		return number;
	if (heap->addresses.len >= UINT32_MAX || !allo_vec_append(&heap->addresses, &added, 1) ||
	    !allo_map_put(&heap->address_map, hash_of(heap, address),
			  (uint32_t)heap->addresses.len)) {
		allo_fail_memory(err);
		return 0;
	}
	return (uint32_t)heap->addresses.len;
}

static bool take_address(struct allo_text *rest, uint64_t *address)
{
	return allo_text_skip(rest, ALLO_TEXT("0x")) && allo_text_take_hex(rest, address) &&
	       (rest->len == 0 || allo_is_space(rest->data[0]));
}

allo_stack_id allo_heap_text_stack(struct allo_heap_text *heap, struct allo_text addresses,
				   struct allo_error *err)
{
	struct allo_text rest = allo_text_trim(addresses);

	heap->numbers.len = heap->naming = 0;
	while (rest.len > 0) {
		struct allo_text at = rest;
		uint64_t address;
		uint32_t number;

		if (!take_address(&rest, &address)) {
			allo_fail(err, ALLO_FORMAT, allo_input_pos_at(heap->in, at.data),
				  "expected an address such as 0x5a3f10, found \"%.*s\"",
				  ALLO_TEXT_ARG(at));
			return 0;
		}
		/* A call returns to what is behind it: one byte before is still the call. */
		number = add_address(heap, address ? address - 1 : 0, err);
		if (number == 0)
			return 0;
		if (!allo_vec_append(&heap->numbers, &number, 1)) {
			allo_fail_memory(err);
			return 0;
		}
		rest = allo_text_trim(rest);
	}
	return allo_stack_build(&heap->builder, &heap->waiting, heap->numbers.at, heap->numbers.len,
				err);
}

bool allo_heap_text_wants_name(const struct allo_heap_text *heap, uint64_t address)
{
	uint32_t number = find_address(heap, address), known;

	if (number == 0)
		return false;
	known = heap->addresses.at[number - 1].line_count;
	return known == 0 || (heap->naming == number && known < MOST_INLINED);
}

bool allo_heap_text_name(struct allo_heap_text *heap, uint64_t address,
			 const struct allo_line *line, struct allo_error *err)
{
	uint32_t number = find_address(heap, address);
	struct allo_heap_address *named = &heap->addresses.at[number - 1];

	/* A call that calls itself from the same place is listed twice, but not inlined. */
	for (uint32_t i = 0; i < named->line_count; i++) {
		const struct allo_line *known = &heap->lines.at[named->first_line + i];

		if (known->function == line->function && known->line == line->line)
			return true;
	}
	if (named->line_count == 0)
		named->first_line = (uint32_t)heap->lines.len;
	if (heap->lines.len >= UINT32_MAX || !allo_vec_append(&heap->lines, line, 1))
		return allo_fail_memory(err);
	named->line_count++;
	heap->naming = number;
	return true;
}

/* Mapped files. */

bool allo_heap_text_is_maps_heading(struct allo_text line)
{
	return allo_text_find(line, ALLO_TEXT("MAPPED_LIBRARIES:")) != (size_t)-1 ||
	       allo_text_find(line, ALLO_TEXT("--- Memory map: ---")) != (size_t)-1;
}

bool allo_heap_text_read_maps(struct allo_heap_text *heap, struct allo_error *err)
{
	struct allo_text line;

	while (allo_input_line(heap->in, &line, err)) {
		if (!allo_proc_maps_read(&heap->maps, line, heap->profile, err))
			return false;
	}
	return !allo_failed(err);
}

/* Samples. */

static allo_frame_id frame_of(struct allo_heap_text *heap, uint32_t number, struct allo_error *err)
{
	struct allo_heap_address *at = &heap->addresses.at[number - 1];
	const struct allo_line *lines = at->line_count ? heap->lines.at + at->first_line : NULL;
	struct allo_frame frame = { .address = at->address };

	if (at->frame == 0) {
		frame.module = allo_proc_maps_find(&heap->maps, at->address);
		at->frame = allo_profile_add_frame(heap->profile, &frame, lines, at->line_count,
						   err);
	}
	return at->frame;
}

static bool is_left_out(const struct allo_heap_text *heap, allo_stack_id stack,
			struct allo_text prefix)
{
	const struct allo_heap_address *leaf =
		&heap->addresses.at[heap->waiting.stacks.at[stack].frame - 1];
	allo_module_id module = allo_proc_maps_find(&heap->maps, leaf->address);

	return module != 0 &&
	       allo_text_starts(allo_basename(allo_profile_text(
					heap->profile, heap->profile->modules.at[module].path)),
				prefix);
}

/* The stack without the inner frames that are left out; the outermost stays in any case. */
static allo_stack_id skip_left_out(const struct allo_heap_text *heap, allo_stack_id stack,
				   const char *left_out)
{
	while (left_out && stack != 0 && heap->waiting.stacks.at[stack].parent != 0 &&
	       is_left_out(heap, stack, allo_text_of(left_out)))
		stack = heap->waiting.stacks.at[stack].parent;
	return stack;
}

/* The profile's stack for one that has waited. */
static allo_stack_id stack_of(struct allo_heap_text *heap, allo_stack_id waiting,
			      struct allo_error *err)
{
	heap->to_make.len = 0;
	for (allo_stack_id at = waiting; at != 0 && heap->stacks.at[at] == 0;
	     at = heap->waiting.stacks.at[at].parent) {
		if (!allo_vec_append(&heap->to_make, &at, 1)) {
			allo_fail_memory(err);
			return 0;
		}
	}
	while (heap->to_make.len > 0) {
		allo_stack_id at = heap->to_make.at[--heap->to_make.len];
		struct allo_stack stack = heap->waiting.stacks.at[at];
		allo_frame_id frame = frame_of(heap, stack.frame, err);

		if (frame == 0)
			return 0;
		heap->stacks.at[at] = allo_profile_add_stack(
			heap->profile, heap->stacks.at[stack.parent], frame, err);
		if (heap->stacks.at[at] == 0)
			return 0;
	}
	return heap->stacks.at[waiting];
}

static void mark_signed(struct allo_heap_text *heap)
{
	struct allo_metric *live = &heap->profile->metrics.at[heap->profile->metrics.len - 2];

	for (size_t i = 0; i < heap->samples.len; i++) {
		live[0].is_signed |= heap->samples.at[i].counts.live.blocks < 0;
		live[1].is_signed |= heap->samples.at[i].counts.live.bytes < 0;
	}
}

static bool add_sample(struct allo_heap_text *heap, const struct allo_heap_sample *sample,
		       const char *left_out, struct allo_error *err)
{
	struct allo_profile *profile = heap->profile;
	const uint64_t values[] = {
		(uint64_t)sample->counts.ever.blocks,
		(uint64_t)sample->counts.ever.bytes,
		(uint64_t)sample->counts.live.blocks,
		(uint64_t)sample->counts.live.bytes,
	};
	struct allo_label label = { .number = sample->block_bytes, .is_number = true };
	size_t width = profile->metrics.len;
	allo_labels_id labels = 0;
	allo_stack_id stack;
	uint64_t *row;

	if (sample->block_bytes != 0) {
		label.key = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
		labels = allo_profile_add_labels(profile, &label, 1, err);
	}
	stack = stack_of(heap, skip_left_out(heap, sample->stack, left_out), err);
	row = allo_profile_add_sample(profile, stack, labels, NULL, err);
	if (!row)
		return false;
	for (size_t i = 0; i < width; i++)
		allo_profile_add_value(profile, i, &row[i], values[4 - width + i]);
	return true;
}

bool allo_heap_text_finish(struct allo_heap_text *heap, const char *left_out,
			   struct allo_error *err)
{
	mark_signed(heap);
	if (!allo_proc_maps_add_modules(&heap->maps, heap->profile, err))
		return false;
	if (!allo_vec_cover(&heap->stacks, heap->waiting.stacks.len + 1))
		return allo_fail_memory(err);
	for (size_t i = 0; i < heap->samples.len; i++) {
		if (!add_sample(heap, &heap->samples.at[i], left_out, err))
			return false;
	}
	return true;
}
