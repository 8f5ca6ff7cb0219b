/* test_filter.c - analysis/filters/filter.h, against filtering done in the plainest way. */
#include "check.h"
#include "profiles.h"

#include "analysis/filters/filter.h"
#include "analysis/sites/allocator.h"
#include "analysis/sites/startup.h"
#include "base/defer.h"

/* What each filter of a round is made of; NULL: nothing. */
struct asked {
	const char *focus[2], *ignore, *hide, *show;
	bool trim, trim_startup;
	uint64_t depth;
};

static const struct asked rounds[] = {
	{ .focus = { "f1" } },
	{ .focus = { "f1", "=f2" } },
	{ .ignore = "f0" },
	{ .hide = "f1" },
	{ .hide = "mod:m1" },
	{ .show = "/f[12]/" },
	{ .trim = true },
	{ .trim = true, .hide = "f1" },
	{ .trim = true, .focus = { "malloc" }, .show = "/malloc|f[12]/" },
	{ .trim = true, .focus = { "f2" }, .ignore = "file:src/1", .hide = "f0" },
	{ .hide = "/./" },
	{ .trim_startup = true },
	{ .trim_startup = true, .hide = "f1" },
	{ .trim_startup = true, .trim = true, .focus = { "f1" } },
	{ .depth = 2 },
	{ .trim_startup = true, .trim = true, .depth = 1 },
};
enum { ROUNDS = sizeof(rounds) / sizeof(*rounds) };

static void filter_init(struct allo_filter *filter, const struct asked *asked)
{
	struct allo_error err = { 0 };

	for (int i = 0; i < 2; i++) {
		if (asked->focus[i])
			assert_true(allo_patterns_add(&filter->focus, asked->focus[i], &err));
	}
	if (asked->ignore)
		assert_true(allo_patterns_add(&filter->ignore, asked->ignore, &err));
	if (asked->hide)
		assert_true(allo_patterns_add(&filter->hide, asked->hide, &err));
	if (asked->show)
		assert_true(allo_patterns_add(&filter->show, asked->show, &err));
	filter->trim_allocator = asked->trim;
	filter->trim_startup = asked->trim_startup;
	filter->stack_depth = asked->depth;
}

/* The plain way: a sample as a list of frames, each a list of calls, both innermost first. */

struct plain_frame {
	struct allo_frame frame;
	struct allo_line lines[4];
	uint32_t calls; /* of a frame without lines: one */
};

static bool matches(struct allo_patterns *patterns, size_t i, const struct allo_profile *profile,
		    const struct allo_frame *frame, uint32_t call)
{
	return i < patterns->count &&
	       allo_pattern_matches(&patterns->pattern[i], profile, frame, call);
}

static bool is_malloc(const struct allo_profile *profile, const struct plain_frame *frame,
		      uint32_t call)
{
	struct allo_line line = frame->frame.line_count ? frame->lines[call]
							: (struct allo_line){ 0 };

	return line.function &&
	       allo_is_allocator(
		       allo_profile_text(profile, profile->functions.at[line.function].name),
		       allo_line_file(profile, line));
}

/* Takes the allocator's calls off the inner end.  Where nothing else is there, the outermost frame
 * stays. */
static size_t trim(const struct allo_profile *profile, struct plain_frame *frames, size_t count)
{
	struct plain_frame outermost;
	size_t gone = 0;

	if (count == 0)
		return 0;
	outermost = frames[count - 1];
	for (; gone < count; gone++) {
		struct plain_frame *frame = &frames[gone];
		uint32_t off = 0;

		while (off < frame->calls && is_malloc(profile, frame, off))
			off++;
		frame->calls -= off;
		memmove(frame->lines, frame->lines + off, frame->calls * sizeof(*frame->lines));
		if (frame->calls > 0)
			break;
	}
	if (gone == count) {
		frames[0] = outermost;
		return 1;
	}
	memmove(frames, frames + gone, (count - gone) * sizeof(*frames));
	return count - gone;
}

static struct allo_text name_of(const struct allo_profile *profile, const struct plain_frame *frame,
				uint32_t call)
{
	return frame->frame.line_count
		       ? allo_profile_text(profile,
					   profile->functions.at[frame->lines[call].function].name)
		       : ALLO_TEXT("???");
}

/* Takes start-up's calls off the outer end: those up to the innermost border, and what stands at
 * the outer end then.  Where nothing else is there, it stays. */
static size_t trim_startup(const struct allo_profile *profile, struct plain_frame *frames,
			   size_t count)
{
	bool is_outside = true;
	size_t end = count;

	for (size_t i = count; i-- > 0;) {
		uint32_t calls = 0;
		bool has_border = false;

		for (uint32_t k = 0; k < frames[i].calls && !has_border; k++) {
			struct allo_text name = name_of(profile, &frames[i], k);

			has_border = allo_is_startup_border(name);
			if (!has_border && !allo_is_startup(name))
				calls = k + 1;
		}
		if (!is_outside && !has_border)
			continue;
		is_outside = calls == 0;
		if (is_outside)
			continue;
		frames[i].calls = calls;
		end = i + 1;
	}
	return end;
}

/* Adds what becomes of a sample to `to`, which has the tables of `profile`. */
static void filter_plainly(struct allo_filter *filter, const struct allo_profile *profile,
			   size_t sample, struct allo_profile *to)
{
	bool focus[2] = { filter->focus.count < 1, filter->focus.count < 2 }, is_ignored = false;
	struct plain_frame frames[64];
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;
	size_t count = 0;
	uint64_t *row;

	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent) {
		struct plain_frame *kept = &frames[count];

		kept->frame = profile->frames.at[profile->stacks.at[id].frame];
		kept->calls = 0;
		for (uint32_t call = 0; call < allo_frame_call_count(&kept->frame); call++) {
			for (size_t i = 0; i < 2; i++)
				focus[i] |= matches(&filter->focus, i, profile, &kept->frame, call);
			is_ignored |= matches(&filter->ignore, 0, profile, &kept->frame, call);
			if (matches(&filter->hide, 0, profile, &kept->frame, call) ||
			    (filter->show.count &&
			     !matches(&filter->show, 0, profile, &kept->frame, call)))
				continue;
			kept->lines[kept->calls++] = allo_call_line(profile, &kept->frame, call);
		}
		count += kept->calls > 0;
	}
	if (!focus[0] || !focus[1] || is_ignored)
		return;
	if (filter->trim_startup)
		count = trim_startup(profile, frames, count);
	if (filter->trim_allocator)
		count = trim(profile, frames, count);
	if (filter->stack_depth && count > filter->stack_depth)
		count = filter->stack_depth;
	while (count-- > 0) {
		uint32_t lines = frames[count].frame.line_count ? frames[count].calls : 0;

		stack = allo_profile_add_stack(to, stack,
					       allo_profile_add_frame(to, &frames[count].frame,
								      frames[count].lines, lines,
								      &err),
					       &err);
	}
	row = allo_profile_add_sample(to, stack, allo_profile_labels_of(profile, sample), NULL,
				      &err);
	for (size_t m = 0; m < to->metrics.len; m++)
		row[m] += allo_profile_row(profile, sample)[m];
	assert_false(allo_failed(&err));
}

/* The same tables, no samples. */
static void copy_tables(struct allo_profile *to, const struct allo_profile *from)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_merge(to, from, &err));
	allo_profile_clear_samples(to);
}

static const struct shape shape = { .names = 4,
				    .frames = 12,
				    .samples = 40,
				    .depth = 7,
				    .has_labels = true,
				    .has_malloc = true,
				    .has_startup = true };

static void what_is_left_is_what_a_plain_loop_leaves(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 20 * ROUNDS; round++) {
		ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, plain = { 0 };
		struct allo_error err = { 0 };
		uint64_t seed = round;

		draw_profile(&profile, &seed, &shape);
		copy_tables(&plain, &profile);
		filter_init(&filter, &rounds[round % ROUNDS]);
		for (size_t i = 0; i < allo_profile_sample_count(&profile); i++)
			filter_plainly(&filter, &profile, i, &plain);
		assert_true(allo_filter_apply(&filter, &profile, &err));
		assert_true(allo_profile_validate(&profile, &err));
		assert_profiles_equal(&profile, &plain);
	}
}

/* Copies a sample with all that it refers to, in the order in which a reader would meet it. */
static void copy_sample(const struct allo_profile *from, size_t sample, struct allo_profile *to)
{
	allo_frame_id frames[64];
	allo_stack_id stack = 0;
	struct allo_error err = { 0 };
	size_t depth = 0;
	uint64_t *row;

	for (allo_stack_id id = from->sample_stacks.at[sample]; id;
	     id = from->stacks.at[id].parent) {
		struct allo_frame frame = from->frames.at[from->stacks.at[id].frame];
		struct allo_line lines[4];

		for (uint32_t i = 0; i < frame.line_count; i++) {
			struct allo_function function;

			lines[i] = from->lines.at[frame.first_line + i];
			function = from->functions.at[lines[i].function];
			function.name = allo_profile_add_string(
				to, allo_profile_text(from, function.name), &err);
			function.file = allo_profile_add_string(
				to, allo_profile_text(from, function.file), &err);
			lines[i].function = allo_profile_add_function(to, &function, &err);
		}
		if (frame.module) {
			struct allo_module module = from->modules.at[frame.module];

			module.path = allo_profile_add_string(
				to, allo_profile_text(from, module.path), &err);
			frame.module = allo_profile_add_module(to, &module, &err);
		}
		frames[depth++] = allo_profile_add_frame(to, &frame, lines, frame.line_count, &err);
	}
	while (depth-- > 0)
		stack = allo_profile_add_stack(to, stack, frames[depth], &err);
	row = allo_profile_add_sample(to, stack, 0, NULL, &err);
	for (size_t m = 0; m < to->metrics.len; m++)
		row[m] += allo_profile_row(from, sample)[m];
	assert_false(allo_failed(&err));
}

static void portions_are_filtered_as_the_whole_is(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 20 * ROUNDS; round++) {
		ALLO_DEFER(allo_filter_done) struct allo_filter whole = { 0 }, parts = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, portion = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile sum = { 0 };
		struct shape unlabelled = shape;
		struct allo_error err = { 0 };
		uint64_t seed = round;

		unlabelled.has_labels = false;
		draw_profile(&profile, &seed, &unlabelled);
		for (size_t m = 0; m < profile.metrics.len; m++)
			assert_true(allo_profile_add_metric(&portion, profile.metrics.at[m].meaning,
							    NULL, &err));
		filter_init(&whole, &rounds[round % ROUNDS]);
		filter_init(&parts, &rounds[round % ROUNDS]);
		assert_true(allo_profile_merge(&sum, &portion, &err));
		for (size_t i = 0; i < allo_profile_sample_count(&profile); i++) {
			allo_profile_clear_samples(&portion);
			copy_sample(&profile, i, &portion);
			assert_true(allo_filter_apply(&parts, &portion, &err));
			assert_true(allo_profile_merge(&sum, &portion, &err));
		}
		assert_true(allo_filter_apply(&whole, &profile, &err));
		assert_profiles_equal(&profile, &sum);
	}
}

/* The first portion's frame, cut, is the second one's as it stands. */
static void a_part_of_an_earlier_frame_is_judged_like_any_other(void **state)
{
	const struct asked asked[] = { { .trim = true, .focus = { "a" } },
				       { .trim = true, .ignore = "a" } };

	(void)state;
	for (size_t round = 0; round < 2; round++) {
		ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		struct allo_error err = { 0 };
		struct allo_line lines[2];

		filter_init(&filter, &asked[round]);
		for (size_t i = 0; i < 2; i++) {
			struct allo_function function = {
				.name = allo_profile_add_string(
					&profile, i ? ALLO_TEXT("a") : ALLO_TEXT("malloc"), &err)
			};

			lines[i] = (struct allo_line){ .function = allo_profile_add_function(
							       &profile, &function, &err) };
		}
		for (size_t i = 0; i < 2; i++) {
			allo_frame_id frame = allo_profile_add_frame(
				&profile, &(struct allo_frame){ 0 }, lines + i, 2 - i, &err);

			allo_profile_clear_samples(&profile);
			allo_profile_add_sample(&profile,
						allo_profile_add_stack(&profile, 0, frame, &err), 0,
						NULL, &err);
			assert_true(allo_filter_apply(&filter, &profile, &err));
			assert_int_equal(allo_profile_sample_count(&profile), round == 0);
		}
	}
}

static void times_and_access_counts_stay(void **state)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const int32_t runs[] = { 1, 2, 3 };
	struct allo_error err = { 0 };
	allo_frame_id a = allo_profile_add_named_frame(&profile, ALLO_TEXT("a"), &err);
	allo_frame_id b = allo_profile_add_named_frame(&profile, ALLO_TEXT("b"), &err);

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		allo_stack_id stack = allo_profile_add_stack(&profile, 0, i % 2 ? a : b, &err);
		struct allo_when when = { .start_ns = i };

		assert_non_null(allo_profile_add_timed_sample(&profile, stack, 0, &when, &err));
		assert_true(allo_profile_set_accesses(&profile, runs, i % 4, &err));
	}
	assert_true(allo_patterns_add(&filter.focus, "a", &err));
	assert_true(allo_filter_apply(&filter, &profile, &err));
	assert_int_equal(allo_profile_sample_count(&profile), 2);
	assert_int_equal(profile.sample_times.at[1].start_ns, 3);
	assert_int_equal(allo_profile_accesses_of(&profile, 1).count, 3);
}

static allo_stack_id push(struct allo_profile *profile, allo_stack_id caller, struct allo_text name)
{
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(profile, name, &err);

	return allo_profile_add_stack(profile, caller, frame, &err);
}

/* Outermost first; those with a bar in front are start-up's. */
static void startup_is_known_by_its_names(void **state)
{
	static const char *const stacks[][8] = {
		{ "|_start", "|__libc_start_main", "|0x2724a [libc.so.6]", "main",
		  "0x99 [libc.so.6]" },
		{ "|clone3", "|start_thread", "|execute_native_thread_routine",
		  "|std::thread::_State_impl<std::thread::_Invoker<std::tuple<f> > >::_M_run",
		  "|std::__invoke_impl<void, f>", "f" },
		{ "|main", "|std::rt::lang_start",
		  "|std::sys_common::backtrace::__rust_begin_short_backtrace",
		  "|core::ops::function::FnOnce::call_once", "app::main",
		  "core::ops::function::FnOnce::call_once" },
		{ "|start_thread",
		  "|<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
		  "|std::sys::backtrace::__rust_begin_short_backtrace::<f, ()>",
		  "|<app::f as core::ops::function::FnOnce<()>>::call_once", "app::f" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		ALLO_DEFER(allo_filter_done)
		struct allo_filter filter = { .trim_startup = true };
		ALLO_DEFER(allo_profile_done) struct allo_profile whole = { 0 }, own = { 0 };
		struct allo_error err = { 0 };
		allo_stack_id stack = 0, own_stack = 0;

		for (size_t k = 0; k < 8 && stacks[i][k]; k++) {
			bool is_startup = *stacks[i][k] == '|';
			struct allo_text name = allo_text_of(stacks[i][k] + is_startup);

			stack = push(&whole, stack, name);
			if (!is_startup)
				own_stack = push(&own, own_stack, name);
		}
		allo_profile_add_sample(&whole, stack, 0, NULL, &err);
		allo_profile_add_sample(&own, own_stack, 0, NULL, &err);
		assert_true(allo_filter_apply(&filter, &whole, &err));
		assert_profiles_equal(&whole, &own);
	}
}

static void there_is_room_for_16_patterns(void **state)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_filter_is_empty(&filter));
	for (int i = 0; i < ALLO_FILTER_PATTERNS; i++)
		assert_true(allo_patterns_add(&filter.focus, "/x/", &err));
	assert_false(allo_filter_is_empty(&filter));
	assert_false(allo_patterns_add(&filter.focus, "/x/", &err));
	assert_int_equal(err.code, ALLO_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_what_a_plain_loop_leaves),
		cmocka_unit_test(portions_are_filtered_as_the_whole_is),
		cmocka_unit_test(a_part_of_an_earlier_frame_is_judged_like_any_other),
		cmocka_unit_test(times_and_access_counts_stay),
		cmocka_unit_test(startup_is_known_by_its_names),
		cmocka_unit_test(there_is_room_for_16_patterns),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
