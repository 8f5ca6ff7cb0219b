/*
 * read_jemalloc.c - jemalloc's heap profiles.
 *
 *     heap_v2/524288                            bytes between samples, on average
 *       t*: 340: 268579 [427: 205955]           all threads: live, and ever allocated
 *       t0: 340: 268579 [427: 205955] main      one thread
 *     @ 0x7f2b962a2630 0x560d37f12188           a stack of return addresses, the leaf first
 *       t*: 1: 1048576 [1: 1048576]             the same for that stack
 *       t0: 1: 1048576 [1: 1048576]
 *
 *     MAPPED_LIBRARIES:
 */
#include "base/defer.h"
#include "readers/heap_text.h"
#include "readers/reader.h"

struct jemalloc {
	struct allo_heap_text heap;
	struct allo_heap_totals totals;
	int64_t rate;
	bool has_ever;       /* the program counted all allocations (opt.prof_accum) */
	bool is_past_header; /* a stack has been read */
	/* The current stack. */
	bool is_open; /* its "t*:" line is still missing */
	allo_stack_id stack;
};

static void jemalloc_done(struct jemalloc *jemalloc)
{
	allo_heap_text_done(&jemalloc->heap);
}

static bool fail_line(const struct jemalloc *jemalloc, struct allo_text line, const char *expected,
		      struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(jemalloc->heap.in, line.data),
			 "expected %s, found \"%.*s\"", expected, ALLO_TEXT_ARG(line));
}

static bool read_header(struct jemalloc *jemalloc, struct allo_error *err)
{
	struct allo_text line, rest;
	uint64_t rate;

	if (!allo_input_line(jemalloc->heap.in, &line, err))
		return allo_fail(err, ALLO_FORMAT,
				 (struct allo_pos){ .file = jemalloc->heap.in->name }, "is empty");
	rest = line;
	if (!allo_text_skip(&rest, ALLO_TEXT("heap_v2/")) ||
	    !allo_text_u64(allo_text_trim(rest), &rate) || rate > INT64_MAX)
		return fail_line(jemalloc, line, "\"heap_v2/RATE\"", err);
	jemalloc->rate = jemalloc->totals.unbiased_rate = (int64_t)rate;
	return true;
}

static bool add_sample(struct jemalloc *jemalloc, const struct allo_site_sums *seen,
		       struct allo_error *err)
{
	struct allo_notes *notes = &jemalloc->heap.profile->notes;
	struct allo_heap_sample sample = {
		.counts.live = allo_unsample(seen->live, jemalloc->rate, notes),
		.counts.ever = allo_unsample(seen->ever, jemalloc->rate, notes),
		.stack = jemalloc->stack,
	};

	allo_heap_totals_add(&jemalloc->totals, seen);
	jemalloc->is_open = false;
	jemalloc->stack = 0;
	jemalloc->has_ever |= sample.counts.ever.blocks != 0;
	if (sample.counts.live.blocks == 0 && sample.counts.ever.blocks == 0)
		return true;
	return allo_vec_append(&jemalloc->heap.samples, &sample, 1) || allo_fail_memory(err);
}

/* "t*: ..." or "t12: ... thread name"; the latter is only checked. */
static bool read_counts(struct jemalloc *jemalloc, struct allo_text line, struct allo_error *err)
{
	struct allo_text rest = allo_text_from(line, 1);
	bool is_all = allo_text_skip(&rest, ALLO_TEXT("*"));
	struct allo_site_sums counts;
	uint64_t thread;

	if ((!is_all && !allo_text_take_u64(&rest, &thread)) ||
	    !allo_text_skip(&rest, ALLO_TEXT(":")) || !allo_site_sums_take(&rest, &counts) ||
	    counts.live.blocks < 0 || counts.live.bytes < 0 || counts.ever.blocks < 0 ||
	    counts.ever.bytes < 0)
		return fail_line(jemalloc, line, "\"t*: BLOCKS: BYTES [BLOCKS: BYTES]\"", err);
	/* Before the first stack it is the sum over all stacks. */
	if (is_all && !jemalloc->is_past_header) {
		jemalloc->totals.is_stated = true;
		jemalloc->totals.stated = counts;
		jemalloc->totals.pos = allo_input_pos_at(jemalloc->heap.in, line.data);
	}
	return !is_all || !jemalloc->is_open || add_sample(jemalloc, &counts, err);
}

/* `next` is the line in place of the missing one. */
static bool check_closed(const struct jemalloc *jemalloc, const char *next, struct allo_error *err)
{
	return !jemalloc->is_open ||
	       allo_fail(err, ALLO_FORMAT, allo_input_pos_at(jemalloc->heap.in, next),
			 "the stack before has no \"t*:\" line");
}

static bool read_line(struct jemalloc *jemalloc, struct allo_text line, struct allo_error *err)
{
	line = allo_text_trim(line);
	if (line.len == 0)
		return true;
	if (line.data[0] == 't')
		return read_counts(jemalloc, line, err);
	if (line.data[0] != '@' && !allo_heap_text_is_maps_heading(line))
		return fail_line(jemalloc, line,
				 "a stack (\"@ 0x...\") or its counts (\"t*: ...\")", err);
	if (!check_closed(jemalloc, line.data, err))
		return false;
	if (line.data[0] != '@')
		return allo_heap_text_read_maps(&jemalloc->heap, err);
	jemalloc->stack = allo_heap_text_stack(&jemalloc->heap, allo_text_from(line, 1), err);
	jemalloc->is_open = jemalloc->is_past_header = true;
	return !allo_failed(err);
}

static bool set_meta(struct jemalloc *jemalloc, struct allo_error *err)
{
	struct allo_profile *profile = jemalloc->heap.profile;
	struct allo_meta *meta = &profile->meta;

	meta->producer = allo_profile_add_string(profile, ALLO_TEXT("jemalloc"), err);
	meta->period_type = allo_profile_add_string(profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
	meta->period = jemalloc->rate;
	return !allo_failed(err) &&
	       (!jemalloc->has_ever ||
		(allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, err) &&
		 allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, err))) &&
	       allo_profile_add_metric(profile, ALLO_LIVE_BLOCKS, NULL, err) &&
	       allo_profile_add_metric(profile, ALLO_LIVE_BYTES, NULL, err);
}

static bool read_jemalloc(struct allo_input *in, const struct allo_read_options *options,
			  struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(jemalloc_done)
	struct jemalloc jemalloc = { .heap = { .in = in, .profile = profile },
				     .totals.has_ever = true };
	struct allo_text line;

	(void)options;
	if (!read_header(&jemalloc, err))
		return false;
	while (allo_input_line(in, &line, err)) {
		if (!read_line(&jemalloc, line, err))
			return false;
	}
	if (allo_failed(err) || !check_closed(&jemalloc, in->next, err))
		return false;
	allo_heap_totals_check(&jemalloc.totals, &profile->notes);
	return set_meta(&jemalloc, err) &&
	       allo_heap_text_finish(&jemalloc.heap, "libjemalloc", err);
}

static enum allo_guess probe_jemalloc(struct allo_text head)
{
	return allo_text_skip(&head, ALLO_TEXT("heap_v2/")) && head.len > 0 &&
			       allo_is_digit(head.data[0])
		       ? ALLO_SURE
		       : ALLO_NO;
}

const struct allo_reader allo_read_jemalloc = {
	.name = "jemalloc",
	.title = "jemalloc heap profiles (prof.dump and similar)",
	.about = "The text format that starts with heap_v2. It holds the samples of "
		 "jemalloc's sampler; the values of each stack are estimated from them, as "
		 "jeprof and pprof do. They give live_blocks and live_bytes, and "
		 "alloc_blocks and alloc_bytes if the program ran with prof_accum:true. "
		 "Threads are added up. Frames of jemalloc's own library at the allocating "
		 "end of stacks are dropped. Frames are addresses in modules; the file has "
		 "no names.",
	.probe = probe_jemalloc,
	.read = read_jemalloc,
};
