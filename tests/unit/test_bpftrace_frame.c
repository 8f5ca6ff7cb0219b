/* test_bpftrace_frame.c - readers/bpftrace_frame.h. */
#include "check.h"

#include "readers/bpftrace_frame.h"

static const struct {
	const char *text, *symbol, *file;
	uint32_t line;
	const char *module, *build_id;
	uint64_t address;
	bool is_inlined;
} frames[] = {
	{ "leaf_b+49", "leaf_b", "", 0, "", "", 0, false },
	{ "    main+44\r", "main", "", 0, "", "", 0, false },
	{ "clang::Sema::f(clang::QualType, int)+2", "clang::Sema::f(clang::QualType, int)", "", 0,
	  "", "", 0, false },
	{ "operator+", "operator+", "", 0, "", "", 0, false },
	{ "operator+(A, A)+0", "operator+(A, A)", "", 0, "", "", 0, false },
	{ "0x7f2067994ed2", "", "", 0, "", "", 0x7f2067994ed2, false },
	{ "7f2067994ed2", "", "", 0, "", "", 0x7f2067994ed2, false },
	{ "add", "add", "", 0, "", "", 0, false },
	{ "[inlined] spin@src/work.c:7", "spin", "src/work.c", 7, "", "", 0, true },
	{ "work+31@src/a@b.c:12", "work", "src/a@b.c", 12, "", "", 0, false },
	{ "memcpy@GLIBC_2.14+5", "memcpy@GLIBC_2.14", "", 0, "", "", 0, false },
	{ "memcpy@x:5", "memcpy@x:5", "", 0, "", "", 0, false },
	{ "55eca7a3b219 work+31 (/tmp/a b/busy)", "work", "", 0, "/tmp/a b/busy", "", 0, false },
	{ "55eca7a3b219 f(int)+31 (/x)", "f(int)", "", 0, "/x", "", 0, false },
	{ "55eca7a3b219 [unknown] ([unknown])", "", "", 0, "", "", 0x55eca7a3b219, false },
	{ "55eca7a3b219 [unknown] (/tmp/busy)", "", "", 0, "/tmp/busy", "", 0x55eca7a3b219, false },
	{ "0123456789abcdef0123456789abcdef01234567 0x1219", "", "", 0, "",
	  "0123456789abcdef0123456789abcdef01234567", 0x1219, false },
	{ "<unwind failure>", "<unwind failure>", "", 0, "", "", 0, false },
	{ "", "", "", 0, "", "", 0, false },
	{ "+5", "+5", "", 0, "", "", 0, false },
	{ "[inlined] @:1", "@:1", "", 0, "", "", 0, true },
};

static void frames_are_taken_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct allo_bpftrace_frame frame = allo_bpftrace_parse_frame(
			allo_text_of(frames[i].text));

		assert_text_equal(frame.symbol, frames[i].symbol);
		assert_text_equal(frame.file, frames[i].file);
		assert_int_equal(frame.line, frames[i].line);
		assert_text_equal(frame.module, frames[i].module);
		assert_text_equal(frame.build_id, frames[i].build_id);
		assert_int_equal(frame.address, frames[i].address);
		assert_int_equal(frame.is_inlined, frames[i].is_inlined);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_taken_apart),
	};

	return cmocka_run_group_tests_name("bpftrace_frame", tests, NULL, NULL);
}
