/* heap_listing.c - see heap_listing.h. */
#include "serve/heap_listing.h"

#include "readers/proc_maps.h"

#include <stdio.h>
#include <stdlib.h>

/* Where the numbers of a line are, in its order. */
enum { LIVE_BLOCKS, LIVE_BYTES, ALLOC_BLOCKS, ALLOC_BYTES, NUMBERS };

struct columns {
	size_t at[NUMBERS];
	bool is_known[NUMBERS];
};

static struct columns columns_of(const struct allo_profile *profile)
{
	static const enum allo_meaning meanings[NUMBERS] = { ALLO_LIVE_BLOCKS, ALLO_LIVE_BYTES,
							     ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES };
	struct columns columns = { 0 };

	for (size_t i = 0; i < NUMBERS; i++)
		columns.is_known[i] = allo_profile_find_metric(profile, meanings[i],
							       &columns.at[i]);
	return columns;
}

static uint64_t value_of(const struct columns *columns, const uint64_t *row, size_t number)
{
	return columns->is_known[number] ? row[columns->at[number]] : 0;
}

static void put_numbers(struct allo_output *out, const uint64_t numbers[NUMBERS])
{
	allo_output_printf(
		out, "%llu: %llu [%llu: %llu] @", (unsigned long long)numbers[LIVE_BLOCKS],
		(unsigned long long)numbers[LIVE_BYTES], (unsigned long long)numbers[ALLOC_BLOCKS],
		(unsigned long long)numbers[ALLOC_BYTES]);
}

static void put_frame(struct allo_output *out, const struct allo_profile *profile,
		      const struct allo_frame *frame)
{
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + i];
		const struct allo_function *function = &profile->functions.at[line->function];
		struct allo_text file = allo_profile_text(profile, function->file);

		allo_output_printf(out, "#\t0x%llx\t", (unsigned long long)frame->address);
		allo_output_printable(out, allo_profile_text(profile, function->name));
		if (file.len > 0) {
			allo_output_string(out, "\t");
			allo_output_printable(out, file);
			allo_output_printf(out, ":%u", line->line);
		}
		allo_output_string(out, "\n");
	}
}

static void put_sample(struct allo_output *out, const struct allo_profile *profile,
		       const struct columns *columns, size_t sample, bool has_names)
{
	allo_stack_id innermost = profile->sample_stacks.at[sample], stack;
	uint64_t numbers[NUMBERS];

	for (size_t i = 0; i < NUMBERS; i++)
		numbers[i] = value_of(columns, allo_profile_row(profile, sample), i);
	put_numbers(out, numbers);
	for (stack = innermost; stack; stack = profile->stacks.at[stack].parent) {
		uint64_t address = profile->frames.at[profile->stacks.at[stack].frame].address;

		/* That of the call, which is the byte in front of where it returns to. */
		if (address != 0)
			allo_output_printf(out, " 0x%llx", (unsigned long long)address + 1);
	}
	allo_output_string(out, "\n");
	for (stack = has_names ? innermost : 0; stack; stack = profile->stacks.at[stack].parent)
		put_frame(out, profile, &profile->frames.at[profile->stacks.at[stack].frame]);
}

/* In the order of what they hold. */

struct ranked {
	uint64_t live, ever;
	size_t sample;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	if (x->ever != y->ever)
		return x->ever > y->ever ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static struct ranked *rank(const struct allo_profile *profile, const struct columns *columns)
{
	size_t count = allo_profile_sample_count(profile);
	struct ranked *ranked = calloc(count + 1, sizeof(*ranked));

	for (size_t i = 0; ranked && i < count; i++) {
		const uint64_t *row = allo_profile_row(profile, i);

		ranked[i] = (struct ranked){ value_of(columns, row, LIVE_BYTES),
					     value_of(columns, row, ALLOC_BYTES), i };
	}
	if (ranked)
		qsort(ranked, count, sizeof(*ranked), compare);
	return ranked;
}

void allo_heap_listing_put(struct allo_output *out, const struct allo_profile *profile,
			   bool has_names)
{
	const struct columns columns = columns_of(profile);
	struct ranked *ranked = rank(profile, &columns);
	uint64_t sums[NUMBERS] = { 0 };

	if (!ranked) {
		allo_output_fail_memory(out);
		return;
	}
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		for (size_t k = 0; k < NUMBERS; k++)
			sums[k] += value_of(&columns, allo_profile_row(profile, i), k);
	}
	allo_output_string(out, "heap profile: ");
	put_numbers(out, sums);
	/* Numbers are of all that there was, also where only some of it was recorded. */
	allo_output_string(out, " heapprofile\n");
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		put_sample(out, profile, &columns, ranked[i].sample, has_names);
	free(ranked);
}

void allo_heap_listing_put_maps(struct allo_output *out, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *file;

	allo_output_string(out, "\nMAPPED_LIBRARIES:\n");
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && (len = getline(&line, &room, file)) > 0) {
		struct allo_text text = { line, (size_t)len };
		struct allo_proc_map map;

		if (allo_proc_map_parse(allo_text_trim(text), &map) && map.is_executable)
			allo_output_text(out, text);
	}
	if (file)
		fclose(file);
	free(line);
}
