/* test_peek.c - analysis/peek.h, against sums made in the plainest way. */
#include "check.h"
#include "folded_profile.h"
#include "profiles.h"
#include "tally.h"

#include "analysis/peek.h"
#include "analysis/sites/allocator.h"
#include "base/defer.h"

enum { CALLS = 2000 };

static struct tally tally;

/* A function as a row tells it: name and file, or the module, or the address. */
static void key_of_call(const struct allo_profile *profile, const struct allo_frame *frame,
			uint32_t call, char key[128])
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text name = { "", 0 }, file = allo_line_file(profile, line), module = { "", 0 };

	if (line.function)
		name = allo_profile_text(profile, profile->functions.at[line.function].name);
	else if (frame->module)
		module = allo_profile_text(profile, profile->modules.at[frame->module].path);
	snprintf(key, 128, "%.*s|%.*s|%.*s|%llu", ALLO_TEXT_ARG(name), ALLO_TEXT_ARG(file),
		 ALLO_TEXT_ARG(module),
		 line.function || frame->module ? 0ull : (unsigned long long)frame->address);
}

static void key_of_row(const struct allo_profile *profile, const struct allo_top_row *row,
		       char key[128])
{
	snprintf(key, 128, "%.*s|%.*s|%.*s|%llu",
		 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.function)),
		 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.file)),
		 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.module)),
		 (unsigned long long)row->key.number);
}

/* All calls of a sample, from the innermost on; without the allocator's at the inner end, of which
 * only the outermost is left where there is nothing else. */
static size_t list_calls(const struct allo_profile *profile, size_t sample, bool trims,
			 char calls[CALLS][128])
{
	size_t count = 0, inner = 0;

	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent) {
		const struct allo_frame *frame = &profile->frames.at[profile->stacks.at[id].frame];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			char scratch[ALLO_NAME_SCRATCH];
			struct allo_text name = allo_call_name(profile, frame, call, scratch);

			key_of_call(profile, frame, call, calls[count]);
			inner += inner == count && trims &&
				 allo_is_allocator(name, (struct allo_text){ "", 0 });
			count++;
		}
	}
	if (inner == count && count > 0)
		inner--;
	memmove(calls, calls + inner, (count - inner) * sizeof(*calls));
	return count - inner;
}

/* Once a sample. */
static void count(const char *what, const char *a, const char *b, int64_t value, uint64_t number)
{
	struct tally_row *row;
	char name[300];

	snprintf(name, sizeof(name), "%s %.120s -> %.120s", what, a, b);
	row = tally_row(&tally, name);
	row->total += row->last != number ? value : 0;
	row->last = number;
}

static void count_sample(const struct allo_profile *profile, size_t sample, bool trims,
			 uint64_t number)
{
	static char calls[CALLS][128];
	int64_t value = (int64_t)allo_profile_row(profile, sample)[0];
	size_t length = list_calls(profile, sample, trims, calls);

	for (size_t i = 0; i + 1 < length; i++) {
		if (strcmp(calls[i], calls[i + 1]) != 0)
			count("edge", calls[i + 1], calls[i], value, number);
	}
	if (length > 0)
		count("outermost", calls[length - 1], "", value, number);
}

static int64_t tallied(const char *what, const char *a, const char *b)
{
	char name[300];

	snprintf(name, sizeof(name), "%s %.120s -> %.120s", what, a, b);
	return tally_row(&tally, name)->total;
}

static void assert_match(const struct allo_peek *peek, const struct allo_profile *profile,
			 const struct allo_peek_match *match)
{
	char own[128], other[128];

	key_of_row(profile, &peek->top.rows.at[match->row], own);
	assert_true(match->outermost.value == tallied("outermost", own, ""));
	for (size_t i = 0; i < match->caller_count; i++) {
		const struct allo_peek_edge *edge = &peek->edges.at[match->callers + i];

		key_of_row(profile, &peek->top.rows.at[edge->row], other);
		assert_true(edge->total.value == tallied("edge", other, own));
		assert_true(i == 0 || edge[-1].total.value >= edge->total.value);
	}
	for (size_t i = 0; i < match->callee_count; i++) {
		const struct allo_peek_edge *edge = &peek->edges.at[match->callees + i];

		key_of_row(profile, &peek->top.rows.at[edge->row], other);
		assert_true(edge->total.value == tallied("edge", own, other));
		assert_true(i == 0 || edge[-1].total.value >= edge->total.value);
	}
}

static void check_edges(const struct shape *shape, uint64_t round)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
	ALLO_DEFER(allo_peek_done)
	struct allo_peek peek = { .top = { .attribution = round % 2 ? &attribution : NULL } };
	struct allo_metric_columns columns;
	struct allo_error err = { 0 };
	uint64_t seed = round;
	size_t edges = 0;

	draw_profile(&profile, &seed, shape);
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_pattern_init(&pattern, round % 5 ? "/./" : "fn:f1", &err));
	assert_true(allo_peek_profile(&peek, &profile, &columns, &pattern, &err));
	for (size_t i = 0; i < allo_profile_sample_count(&profile); i++)
		count_sample(&profile, i, round % 2, i + 1);
	for (size_t i = 0; i < peek.matches.len; i++) {
		assert_match(&peek, &profile, &peek.matches.at[i]);
		edges += peek.matches.at[i].caller_count + peek.matches.at[i].callee_count;
	}
	assert_int_equal(edges, peek.edges.len);
	tally_done(&tally);
}

static void edges_are_what_plain_sums_say(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		struct shape shape = { .names = 4,
				       .frames = 10,
				       .samples = 40,
				       .depth = 8,
				       .has_malloc = round % 3,
				       .has_labels = round % 7 == 0 };

		check_edges(&shape, round);
	}
}

static void edges_of_a_recursion_are_what_plain_sums_say(void **state)
{
	(void)state;
	for (uint64_t round = 1; round < 6; round++) {
		struct shape shape = { .names = 4,
				       .samples = 1500,
				       .depth = 400,
				       .has_malloc = round % 3,
				       .is_recursive = true };

		check_edges(&shape, round);
	}
}

static void only_what_matches_is_there_the_heaviest_first(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_peek_done) struct allo_peek peek = { 0 };
	struct allo_error err = { 0 };
	struct allo_metric_columns columns;

	(void)state;
	add_written_stack(&profile, "main;parse;parse_word 10");
	add_written_stack(&profile, "main;parse;parse_line;parse_word 20");
	add_written_stack(&profile, "main;draw 100");
	add_written_stack(&profile, "main;parse_nothing 0");
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_pattern_init(&pattern, "parse", &err));
	assert_true(allo_peek_profile(&peek, &profile, &columns, &pattern, &err));
	assert_int_equal(peek.matches.len, 3);
	assert_true(peek.top.rows.at[peek.matches.at[0].row].total.value == 30);
	assert_true(peek.top.rows.at[peek.matches.at[2].row].total.value == 20);
}

static void a_recursion_is_no_caller_of_itself(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_peek_done) struct allo_peek peek = { 0 };
	struct allo_error err = { 0 };
	struct allo_metric_columns columns;

	(void)state;
	add_written_stack(&profile, "main;walk;walk;walk 10");
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_pattern_init(&pattern, "=walk", &err));
	assert_true(allo_peek_profile(&peek, &profile, &columns, &pattern, &err));
	assert_int_equal(peek.matches.len, 1);
	assert_int_equal(peek.matches.at[0].caller_count, 1);
	assert_int_equal(peek.matches.at[0].callee_count, 0);
	assert_true(peek.edges.at[0].total.value == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_what_plain_sums_say),
		cmocka_unit_test(edges_of_a_recursion_are_what_plain_sums_say),
		cmocka_unit_test(only_what_matches_is_there_the_heaviest_first),
		cmocka_unit_test(a_recursion_is_no_caller_of_itself),
	};

	return cmocka_run_group_tests_name("peek", tests, NULL, NULL);
}
