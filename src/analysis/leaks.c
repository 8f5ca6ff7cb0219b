/* leaks.c - the tenth of the run in which each leaked block was born, and leaks by stack. */
#include "analysis/leaks.h"

#include "analysis/same_stacks.h"
#include "analysis/sites/runtime_memory.h"
#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>

/* Births. */

static const struct allo_births no_births = { .first_ns = UINT64_MAX };

void allo_birth_table_done(struct allo_birth_table *table)
{
	allo_vec_done(&table->numbers);
	allo_vec_done(&table->births);
}

/* The tenth of the run that a time is in; earlier times are in the first. */
static size_t tenth_of(const struct allo_birth_table *table, uint64_t ns)
{
	uint64_t since = ns > table->from_ns ? ns - table->from_ns : 0;

	if (since >= table->duration_ns)
		return table->duration_ns ? ALLO_TENTHS - 1 : 0;
	return (size_t)((unsigned __int128)since * ALLO_TENTHS / table->duration_ns);
}

/* The tenth of the allocations that a time is in, as a bit; 0 unless the run is short. */
static unsigned tenth_of_events(const struct allo_birth_table *table, uint64_t ns)
{
	unsigned tenth = 0;

	if (table->part_ns[ALLO_TENTHS - 2] == 0)
		return 0;
	while (tenth < ALLO_TENTHS - 1 && ns >= table->part_ns[tenth])
		tenth++;
	return 1u << tenth;
}

/* The births of a stack, added if it has none; NULL when out of memory. */
static struct allo_births *births_of(struct allo_birth_table *table, allo_stack_id stack)
{
	if (!allo_vec_cover(&table->numbers, (size_t)stack + 1))
		return NULL;
	if (table->numbers.at[stack] == 0) {
		if (!allo_vec_append(&table->births, &no_births, 1))
			return NULL;
		table->numbers.at[stack] = (uint32_t)table->births.len;
	}
	ALLO_ASSERT(table->numbers.at[stack] <= table->births.len);
	return &table->births.at[table->numbers.at[stack] - 1];
}

bool allo_birth_table_add(struct allo_birth_table *table, allo_stack_id stack, uint64_t ns,
			  struct allo_error *err)
{
	struct allo_births *births = births_of(table, stack);

	if (!births)
		return allo_fail_memory(err);
	if (ns < births->first_ns)
		births->first_ns = ns;
	if (ns > births->last_ns)
		births->last_ns = ns;
	births->blocks[tenth_of(table, ns)]++;
	births->tenths |= tenth_of_events(table, ns);
	return true;
}

bool allo_birth_table_limit(struct allo_birth_table *table, const struct allo_profile *profile,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	bool *is_there = calloc(profile->stacks.len + table->numbers.len + 1, sizeof(*is_there));

	if (!is_there)
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		is_there[profile->sample_stacks.at[i]] = true;
	for (size_t i = 0; i < table->numbers.len; i++) {
		if (!is_there[i])
			table->numbers.at[i] = 0;
	}
	return true;
}

static void add_births(struct allo_births *to, const struct allo_births *more)
{
	if (more->first_ns < to->first_ns)
		to->first_ns = more->first_ns;
	if (more->last_ns > to->last_ns)
		to->last_ns = more->last_ns;
	for (size_t i = 0; i < ALLO_TENTHS; i++)
		to->blocks[i] += more->blocks[i];
	to->tenths |= more->tenths;
}

bool allo_birth_table_move(struct allo_birth_table *table, const allo_stack_id *became,
			   size_t count, struct allo_error *err)
{
	struct allo_birth_table moved = *table;
	bool ok = true;

	memset(&moved.numbers, 0, sizeof(moved.numbers));
	memset(&moved.births, 0, sizeof(moved.births));
	for (size_t i = 0; i < count && i < table->numbers.len && ok; i++) {
		struct allo_births *to;

		if (table->numbers.at[i] == 0 || became[i] == UINT32_MAX)
			continue;
		to = births_of(&moved, became[i]);
		ok = to != NULL;
		if (ok)
			add_births(to, &table->births.at[table->numbers.at[i] - 1]);
	}
	allo_birth_table_done(table);
	*table = moved;
	return ok || allo_fail_memory(err);
}

const struct allo_births *allo_birth_table_find(const struct allo_birth_table *table,
						allo_stack_id stack)
{
	if (stack >= table->numbers.len || table->numbers.at[stack] == 0)
		return NULL;
	return &table->births.at[table->numbers.at[stack] - 1];
}

const char *const allo_leak_kind_names[] = { "start", "growing", "later", "runtime", NULL };

enum allo_leak_kind allo_births_kind(const struct allo_births *births)
{
	const unsigned last_three = 7u << (ALLO_TENTHS - 3);
	size_t tenths = 0, late = 0;

	if (__builtin_popcount(births->tenths) >= 3 && births->tenths & last_three)
		return ALLO_LEAK_GROWING;

	for (size_t i = 0; i < ALLO_TENTHS; i++) {
		tenths += births->blocks[i] > 0;
		late += i >= ALLO_TENTHS - 3 && births->blocks[i] > 0;
	}
	if (tenths == 1 && births->blocks[0] > 0)
		return ALLO_LEAK_START;
	return tenths >= 3 && late > 0 ? ALLO_LEAK_GROWING : ALLO_LEAK_LATER;
}

/* Leaks. */

void allo_leaks_done(struct allo_leaks *leaks)
{
	allo_vec_done(&leaks->list);
}

static int compare(const void *a, const void *b)
{
	const struct allo_leak *x = a, *y = b;
	int order = (x->kind == ALLO_LEAK_RUNTIME) - (y->kind == ALLO_LEAK_RUNTIME);

	if (order == 0)
		order = (x->values.value < y->values.value) - (x->values.value > y->values.value);
	if (order == 0)
		order = (x->values.blocks < y->values.blocks) -
			(x->values.blocks > y->values.blocks);
	return order ? order : (x->stack > y->stack) - (x->stack < y->stack);
}

/* State of the search for leaks. */
struct finder {
	struct allo_leaks *leaks;
	const struct allo_birth_table *births; /* may be NULL */
	allo_stack_id *same;                   /* by stack, see same_stacks.h */
	uint32_t *numbers;                     /* by stack: index of its leak + 1 */
	bool *has_births;                      /* by stack: they are counted already */
};

static void finder_done(struct finder *finder)
{
	free(finder->same);
	free(finder->numbers);
	free(finder->has_births);
}

/* Adds the births once per stack, which may have several samples with different labels. */
static void add_births_of(struct finder *finder, struct allo_leak *leak, allo_stack_id stack)
{
	const struct allo_births *births = finder->births
						   ? allo_birth_table_find(finder->births, stack)
						   : NULL;

	if (!births || finder->has_births[stack])
		return;
	finder->has_births[stack] = true;
	leak->has_births = true;
	add_births(&leak->births, births);
}

static bool add_sample(struct finder *finder, allo_stack_id stack, const struct allo_values *values)
{
	struct allo_leaks *leaks = finder->leaks;
	struct allo_leak leak = { .stack = finder->same[stack], .births = no_births };
	uint32_t *number = &finder->numbers[leak.stack];

	if (values->value == 0 && values->blocks == 0)
		return true;
	if (*number == 0) {
		if (!allo_vec_append(&leaks->list, &leak, 1))
			return false;
		*number = (uint32_t)leaks->list.len;
	}
	allo_values_add(&leaks->list.at[*number - 1].values, values);
	allo_values_add(&leaks->sum, values);
	add_births_of(finder, &leaks->list.at[*number - 1], stack);
	return true;
}

static enum allo_leak_kind kind_of(const struct allo_profile *profile, const struct allo_leak *leak)
{
	return allo_is_runtime_memory(profile, leak->stack) ? ALLO_LEAK_RUNTIME
							    : allo_births_kind(&leak->births);
}

static void add_runtime(struct allo_leaks *leaks, const struct allo_leak *leak)
{
	allo_values_add(&leaks->runtime, &leak->values);
	leaks->runtime_count++;
}

struct allo_values allo_leaks_own(const struct allo_leaks *leaks)
{
	struct allo_values own = leaks->sum;

	allo_values_subtract(&own, &leaks->runtime);
	return own;
}

double allo_leak_growth(const struct allo_leak *leak, uint64_t duration_ns)
{
	/* With x = 0 to 9, the slope is the sum of (x - 4.5) * y over that of (x - 4.5)^2, 82.5. */
	double covariance = 0, gained = 0;

	for (int i = 0; i < ALLO_TENTHS; i++) {
		gained += (double)leak->births.blocks[i];
		covariance += (2 * i - 9) * gained;
	}
	if (gained == 0 || duration_ns == 0)
		return 0;
	return covariance / 165 * ((double)leak->values.value / gained) /
	       ((double)duration_ns / (ALLO_TENTHS * 1e9));
}

bool allo_leaks_of(struct allo_leaks *leaks, const struct allo_profile *profile,
		   const struct allo_metric_columns *columns, const struct allo_birth_table *births,
		   struct allo_error *err)
{
	ALLO_DEFER(finder_done)
	struct finder finder = {
		.leaks = leaks,
		.births = births,
		.same = allo_same_stacks(profile, err),
		.numbers = calloc(profile->stacks.len + 1, sizeof(*finder.numbers)),
		.has_births = calloc(profile->stacks.len + 1, sizeof(*finder.has_births)),
	};

	if (!finder.same || !finder.numbers || !finder.has_births)
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, columns, i);

		if (!add_sample(&finder, profile->sample_stacks.at[i], &values))
			return allo_fail_memory(err);
	}
	for (size_t i = 0; i < leaks->list.len; i++) {
		struct allo_leak *leak = &leaks->list.at[i];

		leak->kind = kind_of(profile, leak);
		if (leak->kind == ALLO_LEAK_RUNTIME)
			add_runtime(leaks, leak);
		if (leak->has_births)
			leak->growth = allo_leak_growth(leak, births->duration_ns);
	}
	if (leaks->list.len > 0)
		qsort(leaks->list.at, leaks->list.len, sizeof(*leaks->list.at), compare);
	return true;
}

void allo_leaks_keep(struct allo_leaks *leaks, unsigned kinds)
{
	size_t kept = 0;

	leaks->sum = leaks->runtime = (struct allo_values){ 0 };
	leaks->runtime_count = 0;
	for (size_t i = 0; i < leaks->list.len; i++) {
		const struct allo_leak *leak = &leaks->list.at[i];

		if (!leak->has_births || !(kinds >> leak->kind & 1))
			continue;
		allo_values_add(&leaks->sum, &leak->values);
		if (leak->kind == ALLO_LEAK_RUNTIME)
			add_runtime(leaks, leak);
		leaks->list.at[kept++] = *leak;
	}
	leaks->list.len = kept;
}

bool allo_find_leak_metric(const struct allo_profile *profile, size_t *metric,
			   struct allo_error *err)
{
	if (allo_profile_find_metric(profile, ALLO_END_BYTES, metric) ||
	    allo_profile_find_metric(profile, ALLO_LIVE_BYTES, metric) ||
	    allo_profile_find_metric(profile, ALLO_END_BLOCKS, metric) ||
	    allo_profile_find_metric(profile, ALLO_LIVE_BLOCKS, metric))
		return true;
	allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE, "the profile has no leak data");
	return allo_hint(err, "'allo info FILE' lists its metrics; 'allo run' records leaks");
}
