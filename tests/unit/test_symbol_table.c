/* test_symbol_table.c - symbols/symbol_table.h, with the symbols of this very program. */
#include "check.h"

#include "base/defer.h"
#include "symbols/elf_file.h"
#include "symbols/symbol_table.h"

#include <link.h>

/* Assembly defines the exact symbols.  The code is never called. */
__asm__(".text\n"
	".globl allo_test_first, __allo_test_first, allo_test_first_too\n"
	".weak allo_test_weak\n"
	".type allo_test_first, @function\n"
	".type __allo_test_first, @function\n"
	".type allo_test_first_too, @function\n"
	".type allo_test_weak, @function\n"
	".type allo_a, @function\n"
	"__allo_test_first: allo_test_first_too: allo_test_first: allo_test_weak: allo_a:\n"
	".skip 16, 0x90\n"
	"allo_test_label:\n"
	".skip 16, 0x90\n"
	".size __allo_test_first, 32\n"
	".size allo_test_first_too, 32\n"
	".size allo_test_first, 32\n"
	".size allo_test_weak, 32\n"
	".size allo_a, 32\n"
	".skip 16, 0x90\n"
	".weak allo_test_calloc\n"
	".globl __allo_test_calloc\n"
	".type allo_test_calloc, @function\n"
	".type __allo_test_calloc, @function\n"
	"__allo_test_calloc: allo_test_calloc: .skip 16, 0x90\n"
	".size __allo_test_calloc, 16\n"
	".size allo_test_calloc, 16\n"
	".type allo_test_unsized, @function\n"
	"allo_test_unsized: .skip 16, 0x90\n"
	".type allo_test_last, @function\n"
	"allo_test_last: .skip 16, 0x90\n"
	".size allo_test_last, 16\n");

extern const char allo_test_first[], allo_test_calloc[];

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the program comes first */
}

/* The symbol at `offset` behind the function that is first above. */
static void assert_symbol(const char *function, uint64_t offset, const char *expected)
{
	ALLO_DEFER(allo_elf_close) struct allo_elf_file file = { 0 };
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	struct allo_error err = { 0 };
	uint64_t bias = 0;
	bool has_table;

	dl_iterate_phdr(take_bias, &bias);
	assert_true(allo_elf_open(&file, NULL, "/proc/self/exe"));
	/* A second place further on, which inherits the names of the first. */
	for (uint64_t i = 0; i < 2; i++) {
		struct allo_spot spot = { .address = (uint64_t)function - bias + offset + i };

		assert_true(allo_vec_append(&spots.spots, &spot, 1));
	}
	assert_true(allo_symbol_table_find(file.elf, SHT_SYMTAB, &spots, &has_table, &err));
	assert_true(has_table);
	for (size_t i = 0; i < 2; i++) {
		if (expected)
			assert_string_equal(spots.spots.at[i].symbol.name, expected);
		else
			assert_null(spots.spots.at[i].symbol.name);
	}
}

static void of_several_names_the_plain_global_one_is_taken(void **state)
{
	(void)state;
	assert_symbol(allo_test_first, 0, "allo_test_first");
	assert_symbol(allo_test_first, 14, "allo_test_first");
}

static void a_label_within_a_function_does_not_count(void **state)
{
	(void)state;
	assert_symbol(allo_test_first, 20, "allo_test_first");
}

static void a_weak_name_is_better_than_one_with_underscores(void **state)
{
	(void)state;
	assert_symbol(allo_test_calloc, 3, "allo_test_calloc");
}

static void what_is_behind_a_function_with_a_size_is_not_its(void **state)
{
	(void)state;
	assert_symbol(allo_test_first, 32, NULL);
}

static void a_function_without_a_size_reaches_to_the_next(void **state)
{
	(void)state;
	assert_symbol(allo_test_calloc, 16, "allo_test_unsized");
	assert_symbol(allo_test_calloc, 30, "allo_test_unsized");
	assert_symbol(allo_test_calloc, 32, "allo_test_last");
}

static void what_is_not_code_has_no_name(void **state)
{
	(void)state;
	assert_symbol((const char *)UINTPTR_MAX, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_several_names_the_plain_global_one_is_taken),
		cmocka_unit_test(a_label_within_a_function_does_not_count),
		cmocka_unit_test(a_weak_name_is_better_than_one_with_underscores),
		cmocka_unit_test(what_is_behind_a_function_with_a_size_is_not_its),
		cmocka_unit_test(a_function_without_a_size_reaches_to_the_next),
		cmocka_unit_test(what_is_not_code_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
