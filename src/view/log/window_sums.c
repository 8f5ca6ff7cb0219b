/*
 * window_sums.c - exact sums of a window without reading all of its changes.
 *
 * Most sums simply add up.  These do not:
 *
 * A site's own maximum: segments have it relative to the site's live bytes before the segment.
 *
 * The peak, the first moment at which the total is largest: each segment has its own.  What the
 * sites hold at that moment is found afterwards.
 *
 * Lifetimes.  A window counts a block only if it was born in it: at its end, or else at the end of
 * the window.  The sum of end - birth over the blocks of a site is the sum of their ends minus the
 * sum of their births, and the births of blocks born in the window are the times of the changes
 * that made them.  So it suffices to know of each ending block whether it is older than the window.
 * realloc moves a birth from one site to another, perhaps that of an older block.
 */
#include "view/log/window_sums.h"

#include "base/defer.h"

#include <stdlib.h>

/* The lifetimes of a site: a sum of times, and the number of live blocks born in the window, whose
 * end is still to be added. */
struct lives {
	__int128 times;
	int64_t blocks;
};

struct window {
	const struct allo_change_log *log;
	struct allo_heap *heap;
	struct allo_log_place from, to;
	uint64_t from_ns;
	uint32_t first; /* position where the window starts, if it does in this segment; or 0 */
	struct lives *lives;    /* by site in the log */
	uint64_t bytes, blocks; /* live now */
	struct allo_log_place peak;
	bool lacks_peak_time; /* it is in a whole segment, whose columns may be packed until then */
	struct allo_window_counts counts;
};

/* Live memory at a place. */

static void move_live(const struct allo_change_log *log, const struct allo_log_segment *segment,
		      uint32_t count, struct allo_site_live *live)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t class = allo_segment_class(segment, i);
		struct allo_site_live *site = &live[segment->class_sites[class]];
		uint64_t size = allo_log_size(log, segment->class_sizes[class]);
		bool is_ended = allo_log_bit(segment->ended, i);

		site->bytes += is_ended ? -size : size;
		site->blocks += is_ended ? UINT32_MAX : 1;
	}
}

static const struct allo_log_state *state_before(const struct allo_change_log *log, size_t segment)
{
	size_t low = 0, high = log->states.len;

	ALLO_ASSERT(high > 0 && log->states.at[0].segment == 0);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (log->states.at[middle].segment <= segment)
			low = middle;
		else
			high = middle;
	}
	return &log->states.at[low];
}

void allo_log_live_at(const struct allo_change_log *log, struct allo_log_place place,
		      struct allo_site_live *live)
{
	bool is_whole = place.at == log->segments.at[place.segment].shape.count;
	size_t segments = place.segment + is_whole;
	const struct allo_log_state *state = state_before(log, segments);

	for (size_t i = 0; i < log->sites.len; i++)
		live[i] = i < state->site_count
				  ? (struct allo_site_live){ state->bytes[i], state->blocks[i] }
				  : (struct allo_site_live){ 0 };
	for (size_t i = state->segment; i < segments; i++) {
		const struct allo_log_segment *segment = &log->segments.at[i];

		for (uint32_t j = 0; j < segment->shape.sums; j++) {
			const struct allo_log_sum *sum = &segment->sums[j];

			live[sum->site].bytes += (uint64_t)sum->bytes;
			live[sum->site].blocks += (uint32_t)sum->blocks;
		}
	}
	if (!is_whole)
		move_live(log, &log->segments.at[place.segment], place.at, live);
}

/* Single changes. */

/* Whether an imported block was born in the window. */
static inline bool is_import_new(const struct window *window, struct allo_log_reader *reader,
				 uint32_t made)
{
	if (made & ALLO_LOG_INHERITS)
		return allo_log_reader_birth(reader) >= window->from_ns;
	return made >= allo_log_number(window->from);
}

/* A birth moves to a site, from another one or from nowhere.  `sign` is -1 to undo that. */
static void move_birth(struct window *window, uint64_t birth_ns, uint32_t from, uint32_t to,
		       int sign)
{
	window->lives[to].times -= sign * (__int128)birth_ns;
	window->lives[to].blocks += sign;
	if (from != ALLO_LOG_NOWHERE) {
		window->lives[from].times += sign * (__int128)birth_ns;
		window->lives[from].blocks -= sign;
	}
}

static inline void begin_life(struct window *window, struct allo_log_reader *reader, uint32_t at,
			      uint32_t site)
{
	const struct allo_log_segment *segment = reader->segment;
	uint32_t row;

	if (!allo_log_reader_inherits(reader, at, &row)) {
		window->lives[site].times -= reader->ns;
		window->lives[site].blocks++;
	} else if (segment->inherited_births[row] >= window->from_ns)
		move_birth(window, segment->inherited_births[row], segment->inherited_from[row],
			   site, 1);
}

static inline void raise_max(struct allo_site *site, uint64_t bytes, uint32_t blocks)
{
	if (bytes > site->max_bytes || (bytes == site->max_bytes && blocks > site->max_blocks)) {
		site->max_bytes = bytes;
		site->max_blocks = blocks;
	}
}

static inline void take_made(struct window *window, struct allo_log_reader *reader, uint32_t at,
			     uint32_t class)
{
	const struct allo_log_segment *segment = reader->segment;
	uint32_t log_site = segment->class_sites[class], number = window->log->sites.at[log_site];
	uint64_t size = allo_log_size(window->log, segment->class_sizes[class]);
	struct allo_site *site = &window->heap->sites[number];

	window->heap->blocks.made[number]++;
	site->alloc_bytes += size;
	site->live_bytes += size;
	site->live_blocks++;
	raise_max(site, site->live_bytes, site->live_blocks);
	begin_life(window, reader, at, log_site);
	window->counts.made++;
	window->counts.made_by_resize += allo_log_bit(segment->resized, at);
	window->bytes += size;
	window->blocks++;
	if (window->bytes > window->heap->blocks.peak_bytes) {
		window->heap->blocks.peak_bytes = window->bytes;
		window->heap->blocks.peak_blocks = window->blocks;
		window->heap->blocks.peak_ns = reader->ns;
		window->peak.at = at + 1;
		window->peak.segment = (size_t)(segment - window->log->segments.at);
		window->lacks_peak_time = false;
	}
}

static inline void take_ended(struct window *window, struct allo_log_reader *reader, uint32_t at)
{
	const struct allo_log_segment *segment = reader->segment;
	bool is_imported = allo_log_bit(segment->imported, at), is_new;
	uint32_t ref = segment->refs[at];
	uint32_t class = is_imported ? segment->import_classes[ref] : segment->refs[at - ref];
	uint32_t log_site = segment->class_sites[class];
	struct allo_site *site = &window->heap->sites[window->log->sites.at[log_site]];
	uint64_t size = allo_log_size(window->log, segment->class_sizes[class]);

	site->live_bytes -= size;
	site->live_blocks--;
	site->temporary_blocks += allo_log_bit(segment->temporary, at);
	window->counts.ended++;
	window->bytes -= size;
	window->blocks--;
	is_new = is_imported ? is_import_new(window, reader, segment->import_made[ref])
			     : at - ref >= window->first;
	if (allo_log_bit(segment->resized, at)) {
		window->counts.ended_by_resize++;
	} else if (is_new) {
		window->lives[log_site].times += reader->ns;
		window->lives[log_site].blocks--;
	}
}

static void take_changes(struct window *window, size_t index, uint32_t from, uint32_t to)
{
	const struct allo_log_segment *segment = &window->log->segments.at[index];
	struct allo_log_reader reader = allo_log_reader_at(segment, from);

	window->first = index == window->from.segment ? window->from.at : 0;
	for (uint32_t i = from; i < to; i++) {
		allo_log_reader_advance(&reader, i);
		if (allo_log_bit(segment->ended, i))
			take_ended(window, &reader, i);
		else
			take_made(window, &reader, i, segment->refs[i]);
	}
}

/* Whole segments. */

/* Finds the positions and times of imported changes, whose rows are in the order of positions. */
struct import_search {
	const struct allo_log_segment *segment;
	uint32_t word, rows; /* rows of the words before */
	uint32_t next_time;
};

static uint32_t find_position(struct import_search *search, uint32_t row)
{
	const uint64_t *words = search->segment->imported;
	uint32_t count;
	uint64_t bits;

	while (search->rows + (count = (uint32_t)__builtin_popcountll(words[search->word])) <=
	       row) {
		search->rows += count;
		search->word++;
	}
	bits = words[search->word];
	for (uint32_t i = search->rows; i < row; i++)
		bits &= bits - 1;
	return search->word * 64 + (uint32_t)__builtin_ctzll(bits);
}

static uint64_t find_time(struct import_search *search, uint32_t at)
{
	const struct allo_log_segment *segment = search->segment;

	while (search->next_time < segment->shape.times &&
	       segment->time_at[search->next_time] <= at)
		search->next_time++;
	return search->next_time > 0 ? allo_segment_time(segment, search->next_time - 1)
				     : segment->first_ns;
}

/* Takes back the ends of blocks that are older than the window. */
static void forget_old_ends(struct window *window, const struct allo_log_segment *segment)
{
	struct import_search search = { .segment = segment };
	struct allo_log_reader reader = { .segment = segment };
	uint32_t from = allo_log_number(window->from);

	for (uint32_t row = 0; row < segment->shape.imports; row++) {
		uint32_t made = segment->import_made[row], at, site;

		/* Nearly all blocks are new, and have no inherited birth: one comparison. */
		if (made - from < ALLO_LOG_INHERITS - from || is_import_new(window, &reader, made))
			continue;
		at = find_position(&search, row);
		if (allo_log_bit(segment->resized, at))
			continue;
		site = segment->class_sites[segment->import_classes[row]];
		window->lives[site].times -= find_time(&search, at);
		window->lives[site].blocks++;
	}
}

/* The same for births that realloc moves. */
static void forget_old_births(struct window *window, const struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < segment->shape.inherited; i++) {
		uint32_t class = segment->refs[segment->inherited_at[i]];

		if (segment->inherited_births[i] < window->from_ns)
			move_birth(window, segment->inherited_births[i], segment->inherited_from[i],
				   segment->class_sites[class], -1);
	}
}

static void add_sum(struct window *window, const struct allo_log_sum *sum, uint64_t first_ns)
{
	uint32_t number = window->log->sites.at[sum->site];
	struct allo_site *site = &window->heap->sites[number];
	struct lives *lives = &window->lives[sum->site];

	window->heap->blocks.made[number] += sum->made;
	site->alloc_bytes += sum->alloc_bytes;
	site->temporary_blocks += sum->temporary;
	if (sum->made > 0)
		raise_max(site, site->live_bytes + (uint64_t)sum->max_bytes,
			  site->live_blocks + (uint32_t)sum->max_blocks);
	site->live_bytes += (uint64_t)sum->bytes;
	site->live_blocks += (uint32_t)sum->blocks;
	/* Each block that is made subtracts a time, and each that ends adds one. */
	lives->times += sum->life - (__int128)first_ns * sum->blocks;
	lives->blocks += sum->blocks;
}

static void take_segment(struct window *window, size_t index)
{
	const struct allo_log_segment *segment = &window->log->segments.at[index];
	struct allo_live_blocks *blocks = &window->heap->blocks;

	if (segment->max_bytes > blocks->peak_bytes && segment->max_after > 0) {
		blocks->peak_bytes = segment->max_bytes;
		blocks->peak_blocks = segment->max_blocks;
		window->peak = (struct allo_log_place){ index, segment->max_after };
		window->lacks_peak_time = true;
	}
	for (uint32_t i = 0; i < segment->shape.sums; i++)
		add_sum(window, &segment->sums[i], segment->first_ns);
	if (window->from_ns > 0) {
		forget_old_ends(window, segment);
		forget_old_births(window, segment);
	}
	window->counts.made += segment->made;
	window->counts.made_by_resize += segment->resizes;
	window->counts.ended += segment->shape.count - segment->made;
	window->counts.ended_by_resize += segment->ended_by_resize;
	window->bytes = segment->end_bytes;
	window->blocks = segment->end_blocks;
}

/* The window. */

/* Sets all sites to what they hold when the window starts. */
static void begin(struct window *window, const struct allo_site_live *live)
{
	struct allo_heap *heap = window->heap;

	heap->peaks = 1;
	window->bytes = window->blocks = 0;
	for (size_t i = 0; i < window->log->sites.len; i++) {
		uint32_t number = window->log->sites.at[i];

		heap->sites[number] = (struct allo_site){ .live_bytes = live[i].bytes,
							  .live_blocks = live[i].blocks,
							  .max_bytes = live[i].bytes,
							  .max_blocks = live[i].blocks };
		heap->blocks.made[number] = 0;
		window->bytes += live[i].bytes;
		window->blocks += live[i].blocks;
	}
	heap->blocks.peak_bytes = window->bytes;
	heap->blocks.peak_blocks = window->blocks;
	heap->blocks.peak_ns = window->from_ns;
	window->peak = window->from;
}

static void take_all(struct window *window)
{
	const struct allo_log_place *from = &window->from, *to = &window->to;

	for (size_t i = from->segment; i <= to->segment; i++) {
		uint32_t count = window->log->segments.at[i].shape.count;
		uint32_t first = i == from->segment ? from->at : 0;
		uint32_t last = i == to->segment ? to->at : count;

		if (first == 0 && last == count)
			take_segment(window, i);
		else
			take_changes(window, i, first, last);
	}
}

static void set_lifetime(struct allo_heap *heap, struct allo_site *site, const struct lives *lives,
			 uint64_t end_ns)
{
	__int128 sum = lives->times + (__int128)lives->blocks * end_ns;

	/* A stored log may have wrong sums. */
	if (sum < 0)
		sum = 0;
	if (sum > UINT64_MAX) {
		sum = UINT64_MAX;
		heap->has_long_lifetimes = true;
	}
	site->lifetime_ns = (uint64_t)sum;
}

static void end(struct window *window, const struct allo_site_live *peak, uint64_t end_ns)
{
	struct allo_heap *heap = window->heap;
	struct allo_live_blocks *blocks = &heap->blocks;

	for (size_t i = 0; i < window->log->sites.len; i++) {
		uint32_t number = window->log->sites.at[i];
		struct allo_site *site = &heap->sites[number];

		blocks->allocations += blocks->made[number];
		site->kept_bytes = peak[i].bytes;
		site->kept_blocks = peak[i].blocks;
		site->of_peak = heap->peaks;
		set_lifetime(heap, site, &window->lives[i], end_ns);
		blocks->total_bytes += site->alloc_bytes;
	}
	blocks->bytes = window->bytes;
	blocks->count = window->blocks;
	if (window->lacks_peak_time)
		blocks->peak_ns = allo_segment_ns(&window->log->segments.at[window->peak.segment],
						  window->peak.at - 1);
}

bool allo_window_sums(const struct allo_change_log *log, const struct allo_heap_options *options,
		      uint64_t end_ns, struct allo_heap *heap, struct allo_window_counts *counts,
		      struct allo_error *err)
{
	size_t count = log->sites.len;
	ALLO_DEFER(allo_free_pointer) struct lives *lives = calloc(count + 1, sizeof(*lives));
	ALLO_DEFER(allo_free_pointer)
	struct allo_site_live *live = calloc(count + 1, sizeof(*live));
	struct window window = { .log = log,
				 .heap = heap,
				 .from = allo_log_find(log, options->window.from_ns),
				 .to = allo_log_end(log, options->window.to_ns),
				 .from_ns = options->window.from_ns,
				 .lives = lives };

	if (!lives || !live)
		return allo_fail_memory(err);
	allo_log_live_at(log, window.from, live);
	begin(&window, live);
	if (options->keeps_before && options->window.from_ns > 0 &&
	    !allo_heap_keep_before(heap, err))
		return false;
	take_all(&window);
	allo_log_live_at(log, window.peak, live);
	end(&window, live, end_ns);
	*counts = window.counts;
	return true;
}
