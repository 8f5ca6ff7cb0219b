/*
 * write_gperftools.c - heap profiles as text, as gperftools, tcmalloc and Go write them.
 *
 *     heap profile: 42: 53888 [2506: 5121536] @ heapprofile
 *     19: 26752 [162: 228096] @ 0x4b3f96 0x4b4253       live, ever allocated, and the stack
 *     #	0x4b3f95	churn	main.c:33
 *
 *     MAPPED_LIBRARIES:
 *     55aea3838000-55aea3839000 r-xp 00001000 00:00 0 /usr/bin/server
 *
 * The text knows a frame by its address alone.  A frame that has no address, or shares the address
 * of another frame, gets a made-up one.  Names are comments in Go's style.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/made_up_address.h"
#include "writers/writer.h"

#include <stdlib.h>

/* The numbers of a line, in its order. */
enum { LIVE_BLOCKS, LIVE_BYTES, ALLOC_BLOCKS, ALLOC_BYTES, NUMBERS };

/* A line: the numbers of one sample. */
struct line {
	int64_t numbers[NUMBERS];
	size_t sample;
};

struct gperftools {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	struct allo_metric_columns live, alloc;
	bool has_alloc;
	struct line *lines; /* the largest first */
	size_t line_count;
	uint64_t *addresses; /* by frame */
	struct allo_map address_map;
};

static void gperftools_done(struct gperftools *g)
{
	free(g->lines);
	free(g->addresses);
	allo_map_done(&g->address_map);
}

/* Numbers. */

/* Chooses the columns.  The metric that the profile prefers stands for live memory, unless it is
 * the memory ever allocated, which stands in brackets. */
static void choose_columns(struct gperftools *g)
{
	static const enum allo_meaning live[] = { ALLO_LIVE_BYTES, ALLO_PEAK_BYTES,
						  ALLO_END_BYTES };
	size_t metric = allo_default_metric(g->profile), alloc;

	g->has_alloc = allo_profile_find_metric(g->profile, ALLO_ALLOC_BYTES, &alloc);
	if (g->has_alloc)
		g->alloc = allo_metric_columns_of(g->profile, alloc);
	for (size_t i = 0; g->has_alloc && metric == alloc && i < sizeof(live) / sizeof(*live); i++)
		allo_profile_find_metric(g->profile, live[i], &metric);
	g->live = allo_metric_columns_of(g->profile, metric);
	/* Events are to their units as blocks are to bytes. */
	if (g->profile->metrics.at[metric].meaning == ALLO_EVENT_UNITS)
		g->live.has_blocks = allo_profile_find_metric(g->profile, ALLO_EVENTS,
							      &g->live.blocks);
}

static int64_t fit(struct gperftools *g, allo_sum value)
{
	if (value >= INT64_MIN && value <= INT64_MAX)
		return (int64_t)value;
	allo_note(&g->w->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return value < 0 ? INT64_MIN : INT64_MAX;
}

/* Puts blocks and bytes into numbers[0] and numbers[1]. */
static void take_numbers(struct gperftools *g, const struct allo_metric_columns *columns,
			 size_t sample, int64_t *numbers)
{
	struct allo_values values = allo_values_of(g->profile, columns, sample);

	numbers[0] = fit(g, values.blocks);
	numbers[1] = fit(g, values.value);
	/* Readers refuse bytes without blocks. */
	if (numbers[0] == 0 && numbers[1] != 0)
		numbers[0] = numbers[1] < 0 ? -1 : 1;
}

/* Only live memory may be negative, in a difference that pprof made. */
static void drop_negative(struct gperftools *g, int64_t *numbers)
{
	if (numbers[0] >= 0 && numbers[1] >= 0)
		return;
	allo_note(&g->w->notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
	numbers[0] = numbers[1] = 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->numbers[LIVE_BYTES] != y->numbers[LIVE_BYTES])
		return x->numbers[LIVE_BYTES] > y->numbers[LIVE_BYTES] ? -1 : 1;
	if (x->numbers[ALLOC_BYTES] != y->numbers[ALLOC_BYTES])
		return x->numbers[ALLOC_BYTES] > y->numbers[ALLOC_BYTES] ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Leaves out samples that hold nothing, as readers do. */
static bool make_lines(struct gperftools *g)
{
	size_t count = allo_profile_sample_count(g->profile);

	g->lines = calloc(count + 1, sizeof(*g->lines));
	if (!g->lines)
		return false;
	if (g->profile->metrics.len == 0)
		return true;
	choose_columns(g);
	for (size_t i = 0; i < count; i++) {
		struct line *line = &g->lines[g->line_count];

		*line = (struct line){ .sample = i };
		take_numbers(g, &g->live, i, &line->numbers[LIVE_BLOCKS]);
		if (g->has_alloc) {
			take_numbers(g, &g->alloc, i, &line->numbers[ALLOC_BLOCKS]);
			drop_negative(g, &line->numbers[ALLOC_BLOCKS]);
		}
		g->line_count += line->numbers[LIVE_BLOCKS] != 0 ||
				 line->numbers[ALLOC_BLOCKS] != 0;
	}
	ALLO_ASSERT(g->line_count <= count);
	qsort(g->lines, g->line_count, sizeof(*g->lines), compare_lines);
	return true;
}

/* Addresses. */

/* Whether no frame so far has the address; false when memory is short, too. */
static bool is_free(struct gperftools *g, uint64_t address)
{
	uint64_t hash = allo_hash_pair(address, 0, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&g->address_map, hash);
	uint32_t frame;

	/* The text has return addresses: one more, so the last address does not fit. */
	if (address == 0 || address == UINT64_MAX || allo_is_made_up_address(address))
		return false;
	while ((frame = allo_map_next(&g->address_map, &probe)) != 0) {
		if (g->profile->frames.at[frame].address == address)
			return false;
	}
	return true;
}

static bool choose_addresses(struct gperftools *g)
{
	g->addresses = calloc(g->profile->frames.len + 1, sizeof(*g->addresses));
	if (!g->addresses)
		return false;
	for (size_t i = 1; i < g->profile->frames.len; i++) {
		uint64_t address = g->profile->frames.at[i].address;

		if (!is_free(g, address)) {
			g->addresses[i] = ALLO_MADE_UP_ADDRESS + i;
			continue;
		}
		g->addresses[i] = address;
		if (!allo_map_put(&g->address_map, allo_hash_pair(address, 0, allo_hash_seed()),
				  (uint32_t)i))
			return false;
	}
	return true;
}

/* Output. */

static void put_numbers(struct allo_output *out, const int64_t numbers[NUMBERS])
{
	allo_output_i64(out, numbers[LIVE_BLOCKS]);
	allo_output_string(out, ": ");
	allo_output_i64(out, numbers[LIVE_BYTES]);
	allo_output_string(out, " [");
	allo_output_i64(out, numbers[ALLOC_BLOCKS]);
	allo_output_string(out, ": ");
	allo_output_i64(out, numbers[ALLOC_BYTES]);
	allo_output_string(out, "] @");
}

/* "#	0x4b3f95	churn	main.c:33" for each call, the innermost first. */
static void put_names(struct gperftools *g, allo_frame_id id)
{
	const struct allo_profile *profile = g->profile;
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_output *out = g->w->out;

	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + i];
		const struct allo_function *function = &profile->functions.at[line->function];
		struct allo_text name = allo_profile_text(profile, function->name);
		struct allo_text file = allo_profile_text(profile, function->file);

		if (name.len == 0)
			continue;
		allo_output_printf(out, "#\t0x%llx\t", (unsigned long long)g->addresses[id]);
		allo_output_printable(out, name);
		/* Readers take the last '+' for the start of an offset, as in main.main+0x55. */
		if (memchr(name.data, '+', name.len))
			allo_output_string(out, "+0x0");
		if (file.len > 0 || line->line > 0) {
			allo_output_byte(out, '\t');
			allo_output_printable(out, file);
			allo_output_printf(out, ":%u", line->line);
		}
		allo_output_byte(out, '\n');
	}
}

static void put_line(struct gperftools *g, const struct line *line)
{
	const struct allo_stack *stacks = g->profile->stacks.at;
	allo_stack_id innermost = g->profile->sample_stacks.at[line->sample];

	put_numbers(g->w->out, line->numbers);
	for (allo_stack_id id = innermost; id != 0; id = stacks[id].parent)
		allo_output_printf(g->w->out, " 0x%llx",
				   (unsigned long long)g->addresses[stacks[id].frame] + 1);
	allo_output_byte(g->w->out, '\n');
	for (allo_stack_id id = innermost; id != 0; id = stacks[id].parent)
		put_names(g, stacks[id].frame);
}

static void put_lines(struct gperftools *g)
{
	allo_sum sums[NUMBERS] = { 0 };
	int64_t totals[NUMBERS];

	for (size_t i = 0; i < g->line_count; i++) {
		for (size_t k = 0; k < NUMBERS; k++)
			sums[k] += g->lines[i].numbers[k];
	}
	for (size_t k = 0; k < NUMBERS; k++)
		totals[k] = fit(g, sums[k]);
	allo_output_string(g->w->out, "heap profile: ");
	put_numbers(g->w->out, totals);
	/* "heapprofile": the numbers are not to be scaled.  Those of a sampled recording are
	 * estimates of everything there was already. */
	allo_output_string(g->w->out, " heapprofile\n");
	for (size_t i = 0; i < g->line_count; i++)
		put_line(g, &g->lines[i]);
}

static void put_modules(struct gperftools *g)
{
	struct allo_output *out = g->w->out;

	allo_output_string(out, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 1; i < g->profile->modules.len; i++) {
		const struct allo_module *module = &g->profile->modules.at[i];

		if (module->limit <= module->start || module->path == 0)
			continue;
		allo_output_printf(
			out, "%llx-%llx r-xp %08llx 00:00 0 ", (unsigned long long)module->start,
			(unsigned long long)module->limit, (unsigned long long)module->offset);
		allo_output_printable(out, allo_profile_text(g->profile, module->path));
		allo_output_byte(out, '\n');
	}
}

static bool write_gperftools(struct allo_write_job *w, const struct allo_profile *profile,
			     struct allo_error *err)
{
	ALLO_DEFER(gperftools_done) struct gperftools g = { .w = w, .profile = profile };

	if (!make_lines(&g) || !choose_addresses(&g))
		return allo_fail_memory(err);
	put_lines(&g);
	put_modules(&g);
	return true;
}

const struct allo_writer allo_write_gperftools = {
	.name = "gperftools",
	.spells_stacks = true,
	.shows_live = true,
	.title = "gperftools' heap profile as text, for pprof and google-pprof",
	.about = "One stack per line, the largest first: live blocks and bytes, the same of all "
		 "memory ever allocated in brackets, and return addresses; at the end the mapped "
		 "modules. Live memory is the metric that -M names first, or the one that the "
		 "profile prefers. Of a comparison the values after the change are written.\n\n"
		 "Names, files and lines are comments, as Go writes them: allo reads them, other "
		 "tools find names by the addresses. A frame without an address, or with that of "
		 "another frame, gets an address from 0x4000000000000000 on, which allo drops "
		 "when it reads the file. Bytes without a known number of blocks count as one "
		 "block.",
	.endings = ".heap",
	.holds = ALLO_HOLDS_MODULES | ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_NEGATIVE,
	.write = write_gperftools,
};
