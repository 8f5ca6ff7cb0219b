/*
 * legacy_threads.c - stacks of all threads, by C++ programs, and of goroutines and others, by Go.
 *
 *     --- threadz 1 ---
 *     --- Thread 7ff6c2a39700 (name: main/14748) stack: ---
 *       PC: 0x00bb4f09: helper
 *       0x0040be31: main
 *     --- Thread 7ff6c2238700 (name: worker/14749) stack: ---
 *         [same as previous thread]
 *
 *     goroutine profile: total 5
 *     4 @ 0x43d0f6 0x44e92f
 *     #	0x43d0f5	main.wait+0x15	/app/main.go:12
 */
#include "readers/legacy/legacy_profile.h"

static bool is_thread(struct allo_text line)
{
	return allo_text_starts(line, ALLO_TEXT("--- Thread ")) &&
	       allo_text_find(line, ALLO_TEXT(" stack: ---")) != (size_t)-1;
}

bool allo_legacy_is_threads(struct allo_text line)
{
	return allo_text_starts(line, ALLO_TEXT("--- threadz ")) || is_thread(line);
}

static bool add_stack(struct allo_legacy *legacy, size_t depth, bool is_same,
		      struct allo_error *err)
{
	struct allo_heap_sample sample = { .counts.live.bytes = 1 };

	sample.stack = allo_heap_text_end_stack(&legacy->text, err);
	if (allo_failed(err))
		return false;
	if (!is_same && depth > 0)
		return allo_legacy_add_sample(legacy, &sample, err);
	if (legacy->text.samples.len > 0)
		legacy->text.samples.at[legacy->text.samples.len - 1].counts.live.bytes++;
	return true;
}

/* Reads the addresses of one thread; *line becomes the line after them. */
static bool read_thread(struct allo_legacy *legacy, struct allo_text *line, bool *has_line,
			struct allo_error *err)
{
	bool is_same = false;
	size_t depth = 0;

	allo_heap_text_begin_stack(&legacy->text);
	while ((*has_line = allo_legacy_line(legacy, line, err)) &&
	       !allo_text_starts(*line, ALLO_TEXT("---")) &&
	       !allo_heap_text_is_maps_heading(*line)) {
		is_same |= allo_text_find(*line, ALLO_TEXT("same as previous thread")) !=
			   (size_t)-1;
		if (!allo_legacy_add_addresses(legacy, *line, &depth,
					       ALLO_LEGACY_RETURNS_ABOVE_LEAF, err))
			return false;
	}
	return !allo_failed(err) && add_stack(legacy, depth, is_same, err);
}

static bool add_metric(struct allo_legacy *legacy, struct allo_text name, struct allo_error *err)
{
	return allo_legacy_add_metric(legacy, name, ALLO_TEXT("count"), err) &&
	       allo_legacy_set_period(legacy, name, ALLO_TEXT("count"), 1, err);
}

bool allo_legacy_read_threads(struct allo_legacy *legacy, struct allo_error *err)
{
	struct allo_text line;
	bool has_line = allo_legacy_line(legacy, &line, err);

	if (!add_metric(legacy, ALLO_TEXT("thread"), err))
		return false;
	/* Other text may come before the first stack. */
	while (has_line && !is_thread(line) && !allo_heap_text_is_maps_heading(line))
		has_line = allo_legacy_line(legacy, &line, err);
	while (has_line && is_thread(line)) {
		if (!read_thread(legacy, &line, &has_line, err))
			return false;
	}
	return !allo_failed(err) && allo_legacy_drop_second_leaves(legacy, err) &&
	       (!has_line || allo_legacy_read_rest(legacy, line, err));
}

/* Go's counts. */

/* "goroutine profile: total 5" */
static bool parse_title(struct allo_text line, struct allo_text *name)
{
	static const struct allo_text total = ALLO_TEXT_INIT(" profile: total ");
	size_t at = allo_text_find(line, total);
	uint64_t ignored;

	if (at == (size_t)-1 || at == 0)
		return false;
	*name = (struct allo_text){ line.data, at };
	return !memchr(name->data, ' ', name->len) &&
	       allo_text_u64(allo_text_from(line, at + total.len), &ignored);
}

bool allo_legacy_is_counts(struct allo_text line)
{
	struct allo_text name;

	return parse_title(line, &name);
}

/* "4 @ 0x43d0f6 0x44e92f" */
static bool read_count(struct allo_legacy *legacy, struct allo_text line, struct allo_error *err)
{
	struct allo_heap_sample sample = { 0 };
	struct allo_text rest = line;
	uint64_t count;

	if (!allo_text_take_u64(&rest, &count) || count > INT64_MAX ||
	    !allo_text_skip(&rest, ALLO_TEXT(" @")))
		return allo_legacy_fail_line(legacy, line, "\"COUNT @ 0x...\"", err);
	sample.counts.live.bytes = (int64_t)count;
	sample.stack = allo_heap_text_stack(&legacy->text, rest, err);
	return !allo_failed(err) && allo_legacy_add_sample(legacy, &sample, err);
}

bool allo_legacy_read_counts(struct allo_legacy *legacy, struct allo_error *err)
{
	struct allo_text line, name;

	if (!allo_legacy_line(legacy, &line, err) || !parse_title(line, &name))
		return !allo_failed(err) &&
		       allo_legacy_fail_line(legacy, line, "\"NAME profile: total COUNT\"", err);
	if (!add_metric(legacy, name, err))
		return false;
	while (allo_legacy_line(legacy, &line, err)) {
		if (allo_text_starts(line, ALLO_TEXT("---")) ||
		    allo_heap_text_is_maps_heading(line))
			return allo_legacy_read_rest(legacy, line, err);
		if (!read_count(legacy, line, err))
			return false;
	}
	return !allo_failed(err);
}
