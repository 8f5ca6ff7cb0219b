/* test_unwind.c - capture/stacks/unwind.h: single steps, on a stack of one page between unreadable
 * ones.
 */
#include "check.h"

#include "capture/stacks/unwind.h"

#include <sys/mman.h>

enum { PAGE = 4096, WORDS = PAGE / 8, CODE = 0x400000 };

static uint64_t *stack; /* the page */
static struct allo_stack_bounds bounds;

static int begin(void **state)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	stack = (uint64_t *)(pages + PAGE);
	bounds = (struct allo_stack_bounds){ 0 };
	return pages == MAP_FAILED || mprotect(stack, PAGE, PROT_READ | PROT_WRITE) != 0 ||
			       !allo_stack_bounds_begin(&bounds, (uint64_t)stack)
		       ? -1
		       : 0;
}

static int end(void **state)
{
	(void)state;
	return munmap((char *)stack - PAGE, 3 * PAGE);
}

static uint64_t word(unsigned number)
{
	return (uint64_t)(stack + number);
}

/* A step from a stack pointer and frame pointer, in words of the page. */
static enum allo_unwind_step step(uint32_t rule, unsigned sp, uint64_t fp, struct allo_registers *r)
{
	*r = (struct allo_registers){ .pc = CODE, .sp = word(sp), .fp = fp };
	return allo_unwind_step(r, rule, &bounds);
}

#define assert_registers(r, pc_, sp_, fp_)                                                         \
	do {                                                                                       \
		assert_int_equal((r).pc, pc_);                                                     \
		assert_int_equal((r).sp, sp_);                                                     \
		assert_int_equal((r).fp, fp_);                                                     \
	} while (0)

static void a_caller_s_frame_lies_above_the_stack_pointer(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[14] = 77;
	stack[15] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_SP, 48, -16), 10, 5, &r), ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(16), 77);
}

static void a_standard_frame_lies_at_the_frame_pointer(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[20] = 77;
	stack[21] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_STANDARD, 16, -16), 10, word(20), &r),
			 ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(22), 77);
}

static void a_frame_by_frame_pointer_has_its_offsets(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[22] = 77;
	stack[23] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_FP, 32, -16), 10, word(20), &r), ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(24), 77);
}

#if defined(__x86_64__)
static void a_frame_pointer_that_was_not_saved_stays(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[10] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_SP, 8, 0), 10, 5, &r), ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(11), 5);
}

static void a_realigned_frame_saves_its_cfa(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[15] = word(40);
	stack[20] = 77;
	stack[39] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_DRAP, 0, -40), 10, word(20), &r), ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(40), 77);
}
#endif

static void a_frame_without_a_table_is_guessed_by_its_frame_pointer(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[20] = 77;
	stack[21] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_NONE, 0, 0), 10, word(20), &r), ALLO_STEP_ON);
	assert_registers(r, CODE + 1, word(22), 77);
	assert_int_equal(step(allo_rule(ALLO_RULE_NONE, 0, 0), 10, 0, &r), ALLO_STEP_END);
}

static void the_outermost_frame_is_the_end(void **state)
{
	struct allo_registers r;

	(void)state;
	assert_int_equal(step(allo_rule(ALLO_RULE_END, 0, 0), 10, 0, &r), ALLO_STEP_END);
	assert_int_equal(step(ALLO_RULE_CUT, 10, 0, &r), ALLO_STEP_CUT);
}

static void a_return_to_the_first_page_is_the_end(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[21] = 4095;
	assert_int_equal(step(allo_rule(ALLO_RULE_SP, 32, -16), 18, 0, &r), ALLO_STEP_END);
	assert_int_equal(step(allo_rule(ALLO_RULE_STANDARD, 16, -16), 10, word(20), &r),
			 ALLO_STEP_END);
	assert_int_equal(step(allo_rule(ALLO_RULE_NONE, 0, 0), 10, word(20), &r), ALLO_STEP_END);
}

/* The rules that use the frame pointer, which may have any value. */
static const uint32_t by_fp[] = {
	(uint32_t)ALLO_RULE_STANDARD << 29 | 2 << 14 | 0x3ffe, /* 16, -16 */
	(uint32_t)ALLO_RULE_FP << 29 | 8 << 14 | 0x3ff8,       /* 64, -64 */
	(uint32_t)ALLO_RULE_FP << 29 | 2 << 14 | 0x3ffc,       /* 16, -32 */
	(uint32_t)ALLO_RULE_DRAP << 29 | 0x3ffb,               /* at -40 */
	(uint32_t)ALLO_RULE_NONE << 29,
};

static void any_frame_pointer_is_survived(void **state)
{
	const uint64_t far[] = { 0, 1, 8, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 63, 1ull << 63 };
	struct allo_registers r;

	(void)state;
	for (unsigned i = 0; i < sizeof(by_fp) / sizeof(*by_fp); i++) {
		for (unsigned j = 0; j < sizeof(far) / sizeof(*far); j++)
			assert_int_not_equal(step(by_fp[i], 10, far[j], &r), ALLO_STEP_ON);
		for (uint64_t fp = word(0) - 200; fp < word(WORDS) + 200; fp++)
			step(by_fp[i], 0, fp, &r);
	}
}

static void a_frame_pointer_below_the_stack_pointer_cuts(void **state)
{
	struct allo_registers r;

	(void)state;
	for (unsigned i = 0; i < sizeof(by_fp) / sizeof(*by_fp); i++)
		assert_int_equal(step(by_fp[i], 100, word(20), &r), ALLO_STEP_CUT);
}

static void any_saved_stack_pointer_is_survived(void **state)
{
	struct allo_registers r;

	(void)state;
	for (uint64_t cfa = word(0) - 200; cfa < word(WORDS) + 200; cfa++) {
		stack[15] = cfa;
		step(allo_rule(ALLO_RULE_DRAP, 0, -40), 10, word(20), &r);
	}
}

static void unreadable_frames_cut(void **state)
{
	struct allo_registers r;

	(void)state;
	stack[WORDS - 2] = 77;
	stack[WORDS - 1] = CODE + 1;
	assert_int_equal(step(allo_rule(ALLO_RULE_SP, 16, -16), WORDS - 2, 0, &r), ALLO_STEP_ON);
	assert_int_equal(step(allo_rule(ALLO_RULE_SP, 16, -16), WORDS - 1, 0, &r), ALLO_STEP_CUT);
	assert_int_equal(step(allo_rule(ALLO_RULE_SIGNAL, 0, 0), WORDS - 2, 0, &r), ALLO_STEP_CUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(a_caller_s_frame_lies_above_the_stack_pointer),
		TEST(a_standard_frame_lies_at_the_frame_pointer),
		TEST(a_frame_by_frame_pointer_has_its_offsets),
#if defined(__x86_64__)
		TEST(a_frame_pointer_that_was_not_saved_stays),
		TEST(a_realigned_frame_saves_its_cfa),
#endif
		TEST(a_frame_without_a_table_is_guessed_by_its_frame_pointer),
		TEST(the_outermost_frame_is_the_end),
		TEST(a_return_to_the_first_page_is_the_end),
		TEST(any_frame_pointer_is_survived),
		TEST(a_frame_pointer_below_the_stack_pointer_cuts),
		TEST(any_saved_stack_pointer_is_survived),
		TEST(unreadable_frames_cut),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
