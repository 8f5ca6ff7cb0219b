/* test_read_bpftrace.c - readers/traces/read_bpftrace.c: lines of a stack. */
#include "check.h"

#include "base/defer.h"
#include "readers/readers.h"

#include <stdio.h>

static const struct {
	const char *text, *symbol, *file;
	uint32_t line;
	const char *module, *build_id;
	uint64_t address;
} frames[] = {
	{ "leaf_b+49", "leaf_b", "", 0, "", "", 0 },
	{ "    main+44\r", "main", "", 0, "", "", 0 },
	{ "clang::Sema::f(clang::QualType, int)+2", "clang::Sema::f(clang::QualType, int)", "", 0,
	  "", "", 0 },
	{ "operator+", "operator+", "", 0, "", "", 0 },
	{ "operator+(A, A)+0", "operator+(A, A)", "", 0, "", "", 0 },
	{ "0x7f2067994ed2", "", "", 0, "", "", 0x7f2067994ed2 },
	{ "7f2067994ed2", "", "", 0, "", "", 0x7f2067994ed2 },
	{ "add", "add", "", 0, "", "", 0 },
	{ "work+31@src/a@b.c:12", "work", "src/a@b.c", 12, "", "", 0 },
	{ "memcpy@GLIBC_2.14+5", "memcpy@GLIBC_2.14", "", 0, "", "", 0 },
	{ "memcpy@x:5", "memcpy@x:5", "", 0, "", "", 0 },
	{ "55eca7a3b219 work+31 (/tmp/a b/busy)", "work", "", 0, "/tmp/a b/busy", "", 0 },
	{ "55eca7a3b219 f(int)+31 (/x)", "f(int)", "", 0, "/x", "", 0 },
	{ "55eca7a3b219 [unknown] ([unknown])", "", "", 0, "", "", 0x55eca7a3b219 },
	{ "55eca7a3b219 [unknown] (/tmp/busy)", "", "", 0, "/tmp/busy", "", 0x55eca7a3b219 },
	{ "0123456789abcdef0123456789abcdef01234567 0x1219", "", "", 0, "",
	  "0123456789abcdef0123456789abcdef01234567", 0x1219 },
	{ "<unwind failure>", "<unwind failure>", "", 0, "", "", 0 },
	{ "+5", "+5", "", 0, "", "", 0 },
};

static void read_text(struct allo_profile *profile, const char *text)
{
	struct allo_error err = { 0 };

	assert_true(allo_read_memory("maps", text, strlen(text),
				     &(struct allo_read_options){ .from = "bpftrace" }, profile,
				     &err));
}

static struct allo_text string_of(const struct allo_profile *profile, allo_string_id id)
{
	return allo_profile_text(profile, id);
}

static const struct allo_line *line_of(const struct allo_profile *profile,
				       const struct allo_frame *frame, uint32_t call)
{
	static const struct allo_line none;

	return call < frame->line_count ? &profile->lines.at[frame->first_line + call] : &none;
}

static void frames_are_parsed(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		const struct allo_frame *frame;
		const struct allo_line *line;
		const struct allo_function *function;
		const struct allo_module *module;

		snprintf(text, sizeof(text), "@[\n    %s\n]: 1\n", frames[i].text);
		read_text(&profile, text);
		assert_int_equal(profile.frames.len, 2);
		frame = &profile.frames.at[1];
		line = line_of(&profile, frame, 0);
		function = line->function ? &profile.functions.at[line->function] : NULL;
		module = frame->module ? &profile.modules.at[frame->module] : NULL;
		assert_int_equal(frame->line_count, frames[i].symbol[0] != '\0');
		assert_text_equal(string_of(&profile, function ? function->name : 0),
				  frames[i].symbol);
		assert_text_equal(string_of(&profile, function ? function->file : 0),
				  frames[i].file);
		assert_int_equal(line->line, frames[i].line);
		assert_text_equal(string_of(&profile, module ? module->path : 0), frames[i].module);
		assert_text_equal(string_of(&profile, module ? module->build_id : 0),
				  frames[i].build_id);
		assert_int_equal(frame->address, frames[i].address);
	}
}

static void inlined_calls_are_lines_of_the_next_frame(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_line *line;

	(void)state;
	read_text(&profile, "@[\n    [inlined] spin@src/work.c:7\n    [inlined] @:1\n"
			    "    work+31@src/work.c:12\n]: 1\n");
	assert_int_equal(profile.frames.len, 2);
	assert_int_equal(profile.frames.at[1].line_count, 3);
	line = line_of(&profile, &profile.frames.at[1], 0);
	assert_text_equal(string_of(&profile, profile.functions.at[line->function].name), "spin");
	assert_text_equal(string_of(&profile, profile.functions.at[line->function].file),
			  "src/work.c");
	assert_int_equal(line->line, 7);
	line = line_of(&profile, &profile.frames.at[1], 1);
	assert_text_equal(string_of(&profile, profile.functions.at[line->function].name), "@:1");
	assert_int_equal(line->line, 0);
	line = line_of(&profile, &profile.frames.at[1], 2);
	assert_text_equal(string_of(&profile, profile.functions.at[line->function].name), "work");
	assert_int_equal(line->line, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_parsed),
		cmocka_unit_test(inlined_calls_are_lines_of_the_next_frame),
	};

	return cmocka_run_group_tests_name("read_bpftrace", tests, NULL, NULL);
}
