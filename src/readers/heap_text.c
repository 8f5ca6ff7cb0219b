/* heap_text.c - counts, totals, addresses and mapped files of textual heap profiles. */
#include "readers/heap_text.h"

#include "profile/made_up_address.h"
#include "profile/naming.h"

#include <math.h>

static void skip_spaces(struct allo_text *text)
{
	while (text->len > 0 && (text->data[0] == ' ' || text->data[0] == '\t'))
		*text = allo_text_from(*text, 1);
}

static bool take_number(struct allo_text *text, int64_t *number)
{
	uint64_t magnitude;
	bool is_negative;

	skip_spaces(text);
	is_negative = allo_text_skip(text, ALLO_TEXT("-"));
	if (!allo_text_take_u64(text, &magnitude) || magnitude > INT64_MAX)
		return false;
	*number = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

static bool take_pair(struct allo_text *text, struct allo_block_sum *pair)
{
	return take_number(text, &pair->blocks) && allo_text_skip(text, ALLO_TEXT(":")) &&
	       take_number(text, &pair->bytes);
}

bool allo_site_sums_take(struct allo_text *text, struct allo_site_sums *counts)
{
	struct allo_text rest = *text;

	if (!take_pair(&rest, &counts->live))
		return false;
	skip_spaces(&rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("[")) || !take_pair(&rest, &counts->ever))
		return false;
	skip_spaces(&rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("]")))
		return false;
	*text = rest;
	return true;
}

static int64_t whole(double number, struct allo_notes *notes)
{
	/* 2^63, which a double can hold and an int64_t cannot. */
	const double too_large = 9223372036854775808.0;

	if (number < too_large && number > -too_large)
		return (int64_t)number;
	allo_note(notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return number > 0 ? INT64_MAX : -INT64_MAX;
}

struct allo_block_sum allo_unsample(struct allo_block_sum seen, int64_t rate,
				    struct allo_notes *notes)
{
	double blocks = (double)seen.blocks, bytes = (double)seen.bytes, scale;

	if (seen.blocks == 0 || seen.bytes == 0)
		return (struct allo_block_sum){ 0 };
	if (rate <= 1)
		return seen;
	/* Not expm1(), which is more precise: users compare our numbers with pprof's. */
	scale = 1 / (1 - exp(-(bytes / blocks) / (double)rate));
	return (struct allo_block_sum){ whole(blocks * scale, notes), whole(bytes * scale, notes) };
}

/* Wraps on overflow, as the programs that write the headers do. */
static void add(struct allo_block_sum *sum, const struct allo_block_sum *more)
{
	(void)__builtin_add_overflow(sum->blocks, more->blocks, &sum->blocks);
	(void)__builtin_add_overflow(sum->bytes, more->bytes, &sum->bytes);
}

/* The estimated bytes for these samples, with `rounded` added to both numbers: half a block and
 * half a byte more or less are lost by rounding. */
static double estimate(const struct allo_block_sum *seen, double rounded, int64_t rate)
{
	double blocks = (double)seen->blocks + rounded, bytes = (double)seen->bytes + rounded;

	if (seen->blocks <= 0 || seen->bytes <= 0)
		return 0;
	return bytes / -expm1(-bytes / blocks / (double)rate);
}

static void add_estimate(struct allo_heap_estimate *sum, const struct allo_block_sum *site,
			 int64_t rate)
{
	double off = (estimate(site, 0.5, rate) - estimate(site, -0.5, rate)) / 2;

	sum->bytes += estimate(site, 0, rate);
	sum->off += off;
	sum->off_squared += off * off;
}

void allo_heap_totals_add(struct allo_heap_totals *totals, const struct allo_site_sums *site)
{
	add(&totals->found.live, &site->live);
	add(&totals->found.ever, &site->ever);
	if (totals->unbiased_rate > 0) {
		add_estimate(&totals->live, &site->live, totals->unbiased_rate);
		add_estimate(&totals->ever, &site->ever, totals->unbiased_rate);
	}
}

/* Whether the header and the sites contradict each other.
 *
 * Since 5.3 jemalloc estimates every site by the sizes of its single blocks, and prints the two
 * numbers from which the usual formula gives the same estimate again.  It does the same for the
 * header.  So printed numbers do not add up, but estimates do, within rounding: one block instead
 * of 1.4 is a lot.  Older versions print their samples, which add up. */
static bool is_far_off(const struct allo_block_sum *stated, const struct allo_heap_estimate *found,
		       int64_t rate)
{
	/* Random rounding errors partly cancel out: allow seven standard deviations, and 3 % for
	 * systematic errors.  jemalloc's files stay well within that. */
	double usual = 4 * sqrt(found->off_squared) + found->bytes / 32;
	double off = fmin(found->off, usual) +
		     found->bytes / 1e9; /* plus the rounding of doubles */

	return found->bytes + off < estimate(stated, -0.5, rate) ||
	       found->bytes - off > estimate(stated, 0.5, rate);
}

static int64_t rounded_down(double bytes)
{
	return bytes < (double)INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static bool differs(const struct allo_heap_totals *totals, int64_t stated, int64_t found)
{
	return totals->are_more_allowed ? found < stated : found != stated;
}

static bool check(const struct allo_heap_totals *totals, const struct allo_block_sum *stated,
		  const struct allo_block_sum *found, const struct allo_heap_estimate *estimated,
		  const char *const names[3], struct allo_notes *notes)
{
	int64_t rate = totals->unbiased_rate;
	bool bytes_differ = differs(totals, stated->bytes, found->bytes);

	if (!bytes_differ && !differs(totals, stated->blocks, found->blocks))
		return true;
	if (rate > 0 && !is_far_off(stated, estimated, rate))
		return true;
	if (rate > 1)
		allo_note_totals(notes, totals->pos, names[2],
				 rounded_down(estimate(stated, 0, rate)),
				 rounded_down(estimated->bytes));
	else if (bytes_differ)
		allo_note_totals(notes, totals->pos, names[0], stated->bytes, found->bytes);
	else
		allo_note_totals(notes, totals->pos, names[1], stated->blocks, found->blocks);
	return false;
}

void allo_heap_totals_check(const struct allo_heap_totals *totals, struct allo_notes *notes)
{
	static const char *const live[] = { "bytes", "blocks", "bytes (estimated)" };
	static const char *const ever[] = { "allocated bytes", "allocated blocks",
					    "allocated bytes (estimated)" };

	if (totals->is_stated &&
	    check(totals, &totals->stated.live, &totals->found.live, &totals->live, live, notes) &&
	    totals->has_ever)
		check(totals, &totals->stated.ever, &totals->found.ever, &totals->ever, ever,
		      notes);
}

enum { MOST_INLINED = 128 }; /* inlined calls at one address */

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

void allo_heap_text_begin_stack(struct allo_heap_text *heap)
{
	heap->numbers.len = heap->naming = 0;
}

bool allo_heap_text_add_address(struct allo_heap_text *heap, uint64_t address,
				struct allo_error *err)
{
	uint32_t number = add_address(heap, address, err);

	return number != 0 && allo_vec_add(&heap->numbers, number, err);
}

allo_stack_id allo_heap_text_end_stack(struct allo_heap_text *heap, struct allo_error *err)
{
	return allo_stack_build(&heap->builder, &heap->waiting, heap->numbers.at, heap->numbers.len,
				err);
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

	allo_heap_text_begin_stack(heap);
	while (rest.len > 0) {
		struct allo_text at = rest;
		uint64_t address;

		if (!take_address(&rest, &address)) {
			allo_fail(err, ALLO_FORMAT, allo_input_pos_at(heap->in, at.data),
				  "expected an address such as 0x5a3f10, found \"%.*s\"",
				  ALLO_TEXT_ARG(at));
			return 0;
		}
		/* A return address is after the call: one byte before it is inside the call. */
		if (!allo_heap_text_add_address(heap, address ? address - 1 : 0, err))
			return 0;
		rest = allo_text_trim(rest);
	}
	return allo_heap_text_end_stack(heap, err);
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

	/* Recursion from one call site lists an address twice, but is not inlining. */
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

/* The next column; columns are separated by one or more tabs. */
static struct allo_text take_column(struct allo_text *rest)
{
	struct allo_text column = { 0 };

	while (column.len == 0 && allo_text_next(rest, '\t', &column))
		;
	return column;
}

bool allo_heap_text_read_comment(struct allo_heap_text *heap, struct allo_text text,
				 struct allo_error *err)
{
	struct allo_text rest = allo_text_from(text, 1), address = take_column(&rest);
	struct allo_text name = take_column(&rest), place = take_column(&rest), after;
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	uint64_t at, number;

	if (!allo_text_skip(&address, ALLO_TEXT("0x")) || !allo_text_hex(address, &at) ||
	    name.len == 0 || !allo_heap_text_wants_name(heap, at))
		return true;
	allo_text_cut_last(name, '+', &name, &after);
	if (allo_text_cut_last(place, ':', &place, &after) && allo_text_u64(after, &number) &&
	    number <= UINT32_MAX)
		line.line = (uint32_t)number;
	function.name = allo_profile_add_string(heap->profile, name, err);
	function.file = allo_profile_add_string(heap->profile, place, err);
	line.function = allo_profile_add_function(heap->profile, &function, err);
	return !allo_failed(err) && allo_heap_text_name(heap, at, &line, err);
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
		if (allo_is_made_up_address(at->address) ||
		    (heap->drops_addresses && at->line_count > 0))
			frame.address = 0;
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

/* The stack without its dropped inner frames; the outermost frame always stays. */
static allo_stack_id skip_left_out(const struct allo_heap_text *heap, allo_stack_id stack,
				   const char *left_out)
{
	while (left_out && stack != 0 && heap->waiting.stacks.at[stack].parent != 0 &&
	       is_left_out(heap, stack, allo_text_of(left_out)))
		stack = heap->waiting.stacks.at[stack].parent;
	return stack;
}

/* The profile's stack for a stack of `waiting`. */
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
	size_t width = heap->profile->metrics.len;
	struct allo_metric *live;

	if (width < 2) /* a count is never negative */
		return;
	live = &heap->profile->metrics.at[width - 2];
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
