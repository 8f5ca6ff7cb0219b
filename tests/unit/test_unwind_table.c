/* test_unwind_table.c - symbols/unwind_table.h, with the unwind table of this very program. */
#include "check.h"

#include "base/defer.h"
#include "symbols/elf_file.h"
#include "symbols/unwind_table.h"

#include <link.h>

/* Assembly defines the exact ranges.  The code is never called. */
__asm__(".text\n"
	".globl allo_test_ranges\n"
	"allo_test_ranges:\n"
	".cfi_startproc\n"
	".skip 16, 0x90\n"
	".cfi_endproc\n"
	".skip 16, 0x90\n" /* without an entry */
	".cfi_startproc\n" /* with a common entry that has more data: \"zPLR\" */
	".cfi_personality 0x1b, allo_test_ranges\n"
	".cfi_lsda 0x1b, allo_test_ranges\n"
	".skip 16, 0x90\n"
	".cfi_endproc\n"
	".cfi_startproc simple\n"
	".cfi_signal_frame\n"
	".skip 16, 0x90\n"
	".cfi_endproc\n");

extern const char allo_test_ranges[];

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the program comes first */
}

/* The start of the function at `offset` behind the first; relative to it, or -1 if unknown. */
static int64_t start_of(uint64_t offset, const char *name)
{
	ALLO_DEFER(allo_elf_close) struct allo_elf_file file = { 0 };
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	uint64_t bias = 0, first;
	struct allo_spot spot = { .symbol.name = name };

	dl_iterate_phdr(take_bias, &bias);
	first = (uint64_t)allo_test_ranges - bias;
	spot.address = first + offset;
	assert_true(allo_elf_open(&file, NULL, "/proc/self/exe"));
	assert_true(allo_vec_append(&spots.spots, &spot, 1));
	allo_unwind_table_find(file.elf, &spots);
	spot = spots.spots.at[0];
	return spot.symbol.start ? (int64_t)(spot.symbol.start - first) : -1;
}

static void every_byte_of_a_function_has_its_start(void **state)
{
	(void)state;
	assert_int_equal(start_of(0, NULL), 0);
	assert_int_equal(start_of(15, NULL), 0);
}

static void code_between_functions_has_none(void **state)
{
	(void)state;
	assert_int_equal(start_of(16, NULL), -1);
	assert_int_equal(start_of(31, NULL), -1);
}

static void entries_of_all_kinds_are_read(void **state)
{
	(void)state;
	assert_int_equal(start_of(32, NULL), 32);
	assert_int_equal(start_of(47, NULL), 32);
	assert_int_equal(start_of(48, NULL), 48);
	assert_int_equal(start_of(63, NULL), 48);
}

static void functions_with_names_are_left_alone(void **state)
{
	(void)state;
	assert_int_equal(start_of(0, "name"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_a_function_has_its_start),
		cmocka_unit_test(code_between_functions_has_none),
		cmocka_unit_test(entries_of_all_kinds_are_read),
		cmocka_unit_test(functions_with_names_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
