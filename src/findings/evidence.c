/* evidence.c - adds up samples, and then facts, by site. */
#include "findings/evidence.h"

#include "analysis/accesses.h"
#include "analysis/sites/runtime_memory.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

const struct allo_data_kind allo_data_kinds[ALLO_DATA_KINDS] = {
	{ ALLO_DATA_ALLOCATIONS, "allocated blocks and bytes", "record with 'allo run PROGRAM'" },
	{ ALLO_DATA_END, "memory that was never freed", "record with 'allo run PROGRAM'" },
	{ ALLO_DATA_EVENTS, "single allocations", "record with 'allo run PROGRAM'" },
	{ ALLO_DATA_EXACT, "all allocations, not a sample", "record without '-m sampled'" },
	{ ALLO_DATA_THREADS, "several threads", "the program has one" },
	{ ALLO_DATA_READS, "access data", "record with 'valgrind --tool=dhat'" },
	{ ALLO_DATA_BYTE_COUNTS, "access counts of blocks of up to 1024 bytes",
	  "record with 'valgrind --tool=dhat'" },
	{ ALLO_DATA_RESIDENT, "resident memory over time",
	  "record some seconds with 'allo run PROGRAM'" },
};

/* The profile's columns for the fields of a site. */

static const struct {
	enum allo_meaning meaning;
	size_t offset;
} fields[] = {
#define FIELD(meaning, field)                                                                      \
	{                                                                                          \
		meaning, offsetof(struct allo_evidence_site, field)                                \
	}
	FIELD(ALLO_ALLOC_BLOCKS, alloc_blocks),
	FIELD(ALLO_ALLOC_BYTES, alloc_bytes),
	FIELD(ALLO_PEAK_BLOCKS, peak_blocks),
	FIELD(ALLO_PEAK_BYTES, peak_bytes),
	FIELD(ALLO_END_BLOCKS, end_blocks),
	FIELD(ALLO_END_BYTES, end_bytes),
	FIELD(ALLO_TEMPORARY_BLOCKS, temporary_blocks),
	FIELD(ALLO_READ_BYTES, read_bytes),
	FIELD(ALLO_WRITE_BYTES, write_bytes),
#undef FIELD
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

static uint64_t *field_of(struct allo_evidence_site *site, size_t field)
{
	return (uint64_t *)((char *)site + fields[field].offset);
}

/* Adds without overflow: the sums of hostile files may not fit. */
static void add(uint64_t *to, uint64_t more)
{
	if (__builtin_add_overflow(*to, more, to))
		*to = UINT64_MAX;
}

struct columns {
	size_t metric[FIELDS];
	bool has[FIELDS];
};

static struct columns find_columns(const struct allo_profile *profile)
{
	struct columns columns = { 0 };

	for (size_t i = 0; i < FIELDS; i++)
		columns.has[i] = allo_profile_find_metric(profile, fields[i].meaning,
							  &columns.metric[i]);
	return columns;
}

/* The sample's values as those of a site. */
static struct allo_evidence_site values_of(const struct allo_profile *profile,
					   const struct columns *columns, size_t sample)
{
	const uint64_t *row = allo_profile_row(profile, sample);
	struct allo_evidence_site values = { 0 };

	for (size_t i = 0; i < FIELDS; i++) {
		size_t metric = columns->metric[i];

		/* Negative values of differences count as nothing. */
		if (columns->has[i] && allo_value_of(&profile->metrics.at[metric], row[metric]) > 0)
			*field_of(&values, i) = row[metric];
	}
	return values;
}

/* Sites. */

/* The site of a stack, or NULL if memory is short; an empty stack has none. */
static struct allo_evidence_site *site_of(struct allo_evidence *evidence, allo_stack_id stack,
					  struct allo_error *err)
{
	const struct allo_profile *profile = evidence->in.profile;
	struct allo_attribution *attribution = evidence->in.attribution;
	allo_stack_id outer = allo_attribution_site(attribution, profile, stack);
	allo_frame_id frame = profile->stacks.at[outer].frame;
	uint32_t call = allo_attribution_site_call(attribution, profile, outer);
	const struct allo_top_call *entry = allo_top_look_up(&evidence->top, profile, frame, call);
	size_t before = evidence->sites.len;

	if (!entry || !allo_vec_cover(&evidence->sites, entry->row)) {
		allo_fail_memory(err);
		return NULL;
	}
	if (evidence->sites.len > before) {
		struct allo_evidence_site *site = &evidence->sites.at[entry->row - 1];

		site->key = evidence->top.rows.at[entry->row - 1].key;
		site->role = attribution ? allo_attribution_call(attribution, profile, frame, call)
					 : ALLO_ROLE_CODE;
	}
	return &evidence->sites.at[entry->row - 1];
}

/* Bytes behind the last one that was accessed, of a stack whose blocks all have the same size. */
static uint64_t untouched_tail(const struct allo_profile *profile, size_t sample, uint64_t *size)
{
	struct allo_accesses runs = allo_profile_accesses_of(profile, sample);
	struct allo_access_run run;
	uint64_t tail = 0;

	*size = 0;
	while (allo_access_run_next(profile, &runs, &run)) {
		tail = run.count == 0 ? tail + run.length : 0;
		*size += run.length;
	}
	return tail;
}

static void add_accesses(struct allo_evidence *evidence, struct allo_evidence_site *site,
			 const struct allo_evidence_site *values, size_t sample)
{
	uint64_t size, tail = untouched_tail(evidence->in.profile, sample, &size);

	if (evidence->data & ALLO_DATA_READS && values->read_bytes == 0 &&
	    values->write_bytes > 0) {
		add(&site->unread_blocks, values->alloc_blocks);
		add(&site->unread_bytes, values->alloc_bytes);
	}
	if (evidence->data & ALLO_DATA_READS && values->write_bytes == 0) {
		add(&site->unwritten_blocks, values->alloc_blocks);
		add(&site->unwritten_bytes, values->alloc_bytes);
	}
	if (size == 0)
		return;
	add(&site->counted_bytes, values->alloc_bytes);
	if (tail > 0) {
		add(&site->untouched_blocks, values->alloc_blocks);
		add(&site->untouched_bytes,
		    (uint64_t)((double)values->alloc_bytes * (double)tail / (double)size));
	}
}

static bool add_sample(struct allo_evidence *evidence, const struct columns *columns, size_t sample,
		       struct allo_error *err)
{
	struct allo_evidence_site values = values_of(evidence->in.profile, columns, sample), *site;
	allo_stack_id stack = evidence->in.profile->sample_stacks.at[sample];

	/* Memory that these libraries keep is no leak. */
	if (values.end_bytes > 0 && allo_is_runtime_memory(evidence->in.profile, stack))
		values.end_bytes = values.end_blocks = 0;
	for (size_t i = 0; i < FIELDS; i++)
		add(field_of(&evidence->sum, i), *field_of(&values, i));
	if (stack == 0)
		return true;
	site = site_of(evidence, stack, err);
	if (!site)
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		add(field_of(site, i), *field_of(&values, i));
	if (!site->stack || values.alloc_bytes > site->stack_bytes) {
		site->stack = stack;
		site->stack_bytes = values.alloc_bytes;
	}
	if (values.end_bytes > site->end_stack_bytes) {
		site->end_stack = stack;
		site->end_stack_bytes = values.end_bytes;
	}
	if (!site->key.function)
		add(&evidence->unnamed_blocks, values.alloc_blocks);
	add_accesses(evidence, site, &values, sample);
	return true;
}

/* Facts. */

static bool add_curve(struct allo_evidence *evidence, struct allo_evidence_site *site,
		      const struct allo_curve *more, struct allo_error *err)
{
	struct allo_curve *sum = (struct allo_curve *)site->curve;

	if (!sum)
		sum = ALLO_ARENA_NEW(&evidence->arena, 1, struct allo_curve);
	if (!sum)
		return allo_fail_memory(err);
	allo_curve_add(sum, more);
	site->curve = sum;
	return true;
}

static bool add_growth(struct allo_evidence *evidence, struct allo_evidence_site *site,
		       const struct allo_growth_facts *more, struct allo_error *err)
{
	struct allo_growth_facts *sum = (struct allo_growth_facts *)site->growth;

	if (!sum)
		sum = ALLO_ARENA_NEW(&evidence->arena, 1, struct allo_growth_facts);
	if (!sum)
		return allo_fail_memory(err);
	allo_growth_facts_add(sum, more);
	site->growth = sum;
	return true;
}

static bool add_facts(struct allo_evidence *evidence, struct allo_error *err)
{
	const struct allo_facts *facts = evidence->in.facts;

	for (size_t i = 0; facts && i < facts->sites.len; i++) {
		const struct allo_site_facts *more = &facts->sites.at[i];
		allo_stack_id stack = evidence->in.stacks[more->node];
		struct allo_evidence_site *site;

		if (more->blocks == 0)
			continue;
		allo_site_facts_add(&evidence->sum.facts, more);
		if (stack == 0)
			continue;
		site = site_of(evidence, stack, err);
		if (!site)
			return false;
		allo_site_facts_add(&site->facts, more);
		if ((more->curve > 0 &&
		     !add_curve(evidence, site, &facts->curves.at[more->curve - 1], err)) ||
		    (more->growth > 0 &&
		     !add_growth(evidence, site, &facts->growths.at[more->growth - 1], err)))
			return false;
	}
	return true;
}

/* The kinds of data that the input has. */
static unsigned data_of(const struct allo_evidence_input *in)
{
	const struct columns columns = find_columns(in->profile);
	bool is_estimated = allo_profile_is_estimated(in->profile);
	unsigned data = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		if (!columns.has[i])
			continue;
		if (fields[i].meaning == ALLO_ALLOC_BLOCKS)
			data |= ALLO_DATA_ALLOCATIONS;
		else if (fields[i].meaning == ALLO_END_BYTES)
			data |= ALLO_DATA_END;
		else if (fields[i].meaning == ALLO_READ_BYTES)
			data |= ALLO_DATA_READS;
	}
	if (in->profile->sample_accesses.len > 0)
		data |= ALLO_DATA_BYTE_COUNTS;
	if (in->facts)
		data |= ALLO_DATA_EVENTS | (is_estimated ? 0 : ALLO_DATA_EXACT);
	if (in->summary && in->summary->threads > 1)
		data |= ALLO_DATA_THREADS;
	if (in->resident)
		data |= ALLO_DATA_RESIDENT;
	return data;
}

static const struct {
	struct allo_text name; /* a part of the name of its library */
	enum allo_allocator allocator;
} allocators[] = {
	{ ALLO_TEXT_INIT("jemalloc"), ALLO_ALLOCATOR_SIZE_CLASSES },
	{ ALLO_TEXT_INIT("tcmalloc"), ALLO_ALLOCATOR_SIZE_CLASSES },
	{ ALLO_TEXT_INIT("mimalloc"), ALLO_ALLOCATOR_SIZE_CLASSES },
	{ ALLO_TEXT_INIT("ld-musl-"), ALLO_ALLOCATOR_MUSL },
};
enum { ALLOCATORS = sizeof(allocators) / sizeof(*allocators) };

/* The program's own, or the first of the table that is loaded: a program for musl may have
 * jemalloc, too. */
static enum allo_allocator allocator_of(const struct allo_profile *profile,
					const struct allo_summary *summary)
{
	if (summary && summary->has_own_allocator)
		return ALLO_ALLOCATOR_SIZE_CLASSES;
	for (size_t i = 0; i < ALLOCATORS; i++) {
		for (size_t k = 0; k < profile->modules.len; k++) {
			struct allo_text path = allo_profile_text(profile,
								  profile->modules.at[k].path);

			if (allo_text_find(allo_basename(path), allocators[i].name) < path.len)
				return allocators[i].allocator;
		}
	}
	return ALLO_ALLOCATOR_GLIBC;
}

bool allo_evidence_of(struct allo_evidence *evidence, const struct allo_evidence_input *input,
		      struct allo_error *err)
{
	const struct allo_profile *profile = input->profile;
	const struct columns columns = find_columns(profile);

	*evidence = (struct allo_evidence){ .in = *input, .data = data_of(input) };
	evidence->allocator = allocator_of(profile, input->summary);
	evidence->top.by = ALLO_BY_SITE;
	evidence->top.attribution = input->attribution;
	evidence->duration_ns = profile->meta.clock == ALLO_CLOCK_NS ? profile->meta.duration : 0;
	evidence->peak_ns = profile->meta.clock == ALLO_CLOCK_NS ? profile->meta.peak_time : 0;
	if (!allo_top_cover(&evidence->top, profile, err))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (!add_sample(evidence, &columns, i, err))
			return false;
	}
	return add_facts(evidence, err);
}

void allo_evidence_done(struct allo_evidence *evidence)
{
	allo_vec_done(&evidence->sites);
	allo_top_done(&evidence->top);
	allo_arena_done(&evidence->arena);
}
