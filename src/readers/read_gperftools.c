/*
 * read_gperftools.c - heap profiles as text, by gperftools, tcmalloc and Go.
 *
 *     heap profile: 42: 53888 [2506: 5121536] @ heap/1024
 *     19: 26752 [162: 228096] @ 0x4b3f96 0x4b4253       live, ever allocated, and the stack
 *     #	0x4b3f95	main.churn+0x55		demo/main.go:33
 *
 *     MAPPED_LIBRARIES:
 *
 * Lines that start with # are Go's: comments for others, names of the frames for us.
 */
#include "base/defer.h"
#include "readers/heap_text.h"
#include "readers/reader.h"

/* The kinds of profile, named after the @ of the first line. */
struct kind {
	struct allo_text name;
	enum {
		EXACT,
		SAMPLED,
		SAMPLED_TWICE
	} sampling; /* twice: the file gives the rate doubled */
	enum { HEAP, GROWTH, FRAGMENTATION } of;
};

static const struct kind kinds[] = {
	{ ALLO_TEXT_INIT("heapprofile"), EXACT, HEAP },
	{ ALLO_TEXT_INIT("heap_v2"), SAMPLED, HEAP },
	{ ALLO_TEXT_INIT("heapz_v2"), SAMPLED, HEAP },
	{ ALLO_TEXT_INIT("heap"), SAMPLED_TWICE, HEAP },
	{ ALLO_TEXT_INIT("growth"), EXACT, GROWTH },
	{ ALLO_TEXT_INIT("growthz"), EXACT, GROWTH },
	{ ALLO_TEXT_INIT("fragmentation"), EXACT, FRAGMENTATION },
	{ ALLO_TEXT_INIT("fragmentationz"), EXACT, FRAGMENTATION },
};

struct gperftools {
	struct allo_heap_text heap;
	struct allo_heap_totals totals;
	const struct kind *kind;
	int64_t rate;
	bool has_ever; /* the numbers in brackets differ from the live ones */
};

static void gperftools_done(struct gperftools *gperftools)
{
	allo_heap_text_done(&gperftools->heap);
}

static struct allo_pos pos_of(const struct gperftools *gperftools, struct allo_text part)
{
	return allo_input_pos_at(gperftools->heap.in, part.data);
}

/* The first line. */

/* "heap/1024", "heapprofile" */
static bool read_kind(struct gperftools *gperftools, struct allo_text text, struct allo_error *err)
{
	struct allo_text name, rest;
	uint64_t rate = 0;

	allo_text_cut(text, ' ', &text, &rest); /* the rest of the line does not matter */
	name = text;
	if (allo_text_cut(text, '/', &name, &rest) && rest.len > 0 &&
	    (!allo_text_take_u64(&rest, &rate) || rate > INT64_MAX))
		return allo_fail(err, ALLO_FORMAT, pos_of(gperftools, rest),
				 "expected a sampling rate, found \"%.*s\"", ALLO_TEXT_ARG(rest));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (allo_text_equal(name, kinds[i].name))
			gperftools->kind = &kinds[i];
	}
	if (!gperftools->kind) {
		allo_fail(err, ALLO_FORMAT, pos_of(gperftools, name),
			  "\"%.*s\" is not a known kind of heap profile", ALLO_TEXT_ARG(name));
		return allo_hint(err, "known kinds: heapprofile, heap_v2/RATE, heapz_v2/RATE, "
				      "heap/RATE, growth, fragmentation");
	}
	if (gperftools->kind->sampling == EXACT)
		rate = 1;
	gperftools->rate = (int64_t)rate / (gperftools->kind->sampling == SAMPLED_TWICE ? 2 : 1);
	return true;
}

static bool read_header(struct gperftools *gperftools, struct allo_error *err)
{
	struct allo_text line, rest;
	struct allo_site_sums sum;

	if (!allo_input_line(gperftools->heap.in, &line, err))
		return allo_fail(err, ALLO_FORMAT,
				 (struct allo_pos){ .file = gperftools->heap.in->name },
				 "is empty");
	rest = allo_text_trim(line);
	if (!allo_text_skip(&rest, ALLO_TEXT("heap profile:")) || !allo_site_sums_take(&rest, &sum))
		return allo_fail(err, ALLO_FORMAT, pos_of(gperftools, line),
				 "expected \"heap profile: BLOCKS: BYTES [BLOCKS: BYTES] @ KIND\", "
				 "found \"%.*s\"",
				 ALLO_TEXT_ARG(line));
	rest = allo_text_trim(rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("@")))
		return allo_fail(err, ALLO_FORMAT, pos_of(gperftools, rest),
				 "expected \"@\" and the kind of profile, found \"%.*s\"",
				 ALLO_TEXT_ARG(rest));
	if (!read_kind(gperftools, allo_text_trim(rest), err))
		return false;
	/* Allocators that do not count allocations repeat the live numbers or print zeros. */
	gperftools->has_ever = gperftools->kind->of == HEAP &&
			       ((sum.ever.blocks != sum.live.blocks && sum.ever.blocks != 0) ||
				(sum.ever.bytes != sum.live.bytes && sum.ever.bytes != 0));
	gperftools->totals = (struct allo_heap_totals){
		.is_stated = true,
		.stated = sum,
		.pos = pos_of(gperftools, line),
		.has_ever = gperftools->has_ever,
		/* gperftools can be configured to list mappings, too, but does not add them to the
		   totals. */
		.are_more_allowed = gperftools->kind->sampling == EXACT &&
				    gperftools->kind->of == HEAP,
	};
	return true;
}

/* Stacks. */

/* Estimates the true numbers from the sampled ones, and computes the size of one block. */
static bool unsample(struct gperftools *gperftools, struct allo_text line,
		     struct allo_block_sum *counted, int64_t *block_bytes, struct allo_error *err)
{
	if (counted->blocks == 0 && counted->bytes != 0)
		return allo_fail(err, ALLO_FORMAT, pos_of(gperftools, line),
				 "%lld bytes in 0 blocks", (long long)counted->bytes);
	if (counted->blocks != 0)
		*block_bytes = counted->bytes / counted->blocks;
	if (gperftools->kind->sampling != EXACT)
		*counted = allo_unsample(*counted, gperftools->rate,
					 &gperftools->heap.profile->notes);
	return true;
}

static bool is_zero(const struct allo_block_sum *counted)
{
	return counted->blocks == 0 && counted->bytes == 0;
}

static bool read_sample(struct gperftools *gperftools, struct allo_text line,
			struct allo_error *err)
{
	struct allo_heap_sample sample = { 0 };
	struct allo_site_sums *counts = &sample.counts;
	struct allo_text rest = line;

	if (!allo_site_sums_take(&rest, counts) || counts->ever.blocks < 0 ||
	    counts->ever.bytes < 0 || !allo_text_skip(&rest, ALLO_TEXT(" @")))
		return allo_fail(
			err, ALLO_FORMAT, pos_of(gperftools, line),
			"expected \"BLOCKS: BYTES [BLOCKS: BYTES] @ 0x...\", found \"%.*s\"",
			ALLO_TEXT_ARG(line));
	allo_heap_totals_add(&gperftools->totals, counts);
	if (!gperftools->has_ever)
		counts->ever = (struct allo_block_sum){ 0 };
	if (!unsample(gperftools, line, &counts->ever, &sample.block_bytes, err) ||
	    !unsample(gperftools, line, &counts->live, &sample.block_bytes, err))
		return false;
	/* Go lists every stack that ever allocated, nearly all of them with zeros. */
	if (is_zero(&counts->ever) && is_zero(&counts->live))
		return true;
	sample.stack = allo_heap_text_stack(&gperftools->heap, rest, err);
	if (allo_failed(err))
		return false;
	return allo_vec_append(&gperftools->heap.samples, &sample, 1) || allo_fail_memory(err);
}

static bool read_line(struct gperftools *gperftools, struct allo_text line, struct allo_error *err)
{
	line = allo_text_trim(line);
	if (line.len == 0)
		return true;
	if (line.data[0] == '#')
		return allo_heap_text_read_comment(&gperftools->heap, line, err);
	if (allo_heap_text_is_maps_heading(line))
		return allo_heap_text_read_maps(&gperftools->heap, err);
	return read_sample(gperftools, line, err);
}

/* Metadata. */

static bool add_own_metric(struct allo_profile *profile, struct allo_text name,
			   struct allo_text unit, struct allo_error *err)
{
	struct allo_metric metric = { .name = allo_profile_add_string(profile, name, err),
				      .unit = allo_profile_add_string(profile, unit, err) };

	return !allo_failed(err) && allo_profile_add_metric_like(profile, &metric, err);
}

static bool add_metrics(const struct gperftools *gperftools, struct allo_error *err)
{
	struct allo_profile *profile = gperftools->heap.profile;
	bool is_growth = gperftools->kind->of == GROWTH;

	if (gperftools->kind->of == FRAGMENTATION)
		return add_own_metric(profile, ALLO_TEXT("fragmented_blocks"), ALLO_TEXT("count"),
				      err) &&
		       add_own_metric(profile, ALLO_TEXT("fragmented_bytes"), ALLO_TEXT("bytes"),
				      err);
	/* A growth profile counts memory from the system, which is never returned: it is allocated.
	 */
	if (gperftools->has_ever || is_growth) {
		if (!allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, err) ||
		    !allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, err))
			return false;
	}
	return is_growth || (allo_profile_add_metric(profile, ALLO_LIVE_BLOCKS, NULL, err) &&
			     allo_profile_add_metric(profile, ALLO_LIVE_BYTES, NULL, err));
}

static bool set_meta(const struct gperftools *gperftools, struct allo_error *err)
{
	struct allo_profile *profile = gperftools->heap.profile;
	struct allo_meta *meta = &profile->meta;

	meta->dialect = allo_profile_add_string(profile, gperftools->kind->name, err);
	meta->period_type = allo_profile_add_string(profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
	meta->period = gperftools->rate;
	return !allo_failed(err) && add_metrics(gperftools, err);
}

static bool read_gperftools(struct allo_input *in, const struct allo_read_options *options,
			    struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(gperftools_done)
	struct gperftools gperftools = { .heap = { .in = in, .profile = profile } };
	struct allo_text line;

	(void)options;
	if (!read_header(&gperftools, err))
		return false;
	while (allo_input_line(in, &line, err)) {
		if (!read_line(&gperftools, line, err))
			return false;
	}
	if (allo_failed(err))
		return false;
	allo_heap_totals_check(&gperftools.totals, &profile->notes);
	return set_meta(&gperftools, err) && allo_heap_text_finish(&gperftools.heap, NULL, err);
}

static enum allo_guess probe_gperftools(struct allo_text head)
{
	return allo_text_starts(allo_text_trim(head), ALLO_TEXT("heap profile:")) ? ALLO_SURE
										  : ALLO_NO;
}

const struct allo_reader allo_read_gperftools = {
	.name = "gperftools",
	.title = "heap profiles as text: gperftools, tcmalloc, Go",
	.about = "The text format that starts with \"heap profile:\". live_blocks and "
		 "live_bytes count live memory; if the numbers in brackets on the first "
		 "line differ from them, alloc_blocks and alloc_bytes count all "
		 "allocations. Profiles of a sampler (heap_v2, heapz_v2, heap) give "
		 "estimates, the same as pprof's. A growth profile has alloc_blocks and "
		 "alloc_bytes: memory that the allocator got from the system. Frames are "
		 "addresses in modules; in Go's text they have names, files and lines.",
	.probe = probe_gperftools,
	.read = read_gperftools,
};
