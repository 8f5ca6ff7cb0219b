/* test_ledger.c - ledger/ledger.h, on this process. */
#include "check.h"

#include "ledger/ledger.h"

#include <unistd.h>

/* Live bytes of a recording, of a process whose allocator reports nothing. */
static void make(struct allo_ledger *ledger, uint64_t live_bytes)
{
	struct allo_ledger_facts facts = { .allocator = "jemalloc",
					   .live_bytes = live_bytes,
					   .live_blocks = 1,
					   .has_earlier = true };
	struct allo_other_memory memory;
	struct allo_vmas vmas = { 0 };
	struct allo_error err = { 0 };

	allo_other_memory_open(&memory, (uint64_t)getpid());
	assert_true(allo_vmas_read(&vmas, "", (uint64_t)getpid(), &err));
	assert_true(allo_ledger_make(ledger, &vmas, &memory, &facts, &err));
	allo_vmas_done(&vmas);
	allo_other_memory_close(&memory);
}

static void a_note_on_rounding_comes_with_its_row(void **state)
{
	struct allo_ledger ledger;

	(void)state;
	make(&ledger, 1);
	assert_int_equal(ledger.rows[ALLO_PART_LIVE].bytes, 1);
	assert_int_equal(ledger.rows[ALLO_PART_ROUNDING].bytes, 0);
	for (size_t i = 0; i < ALLO_LEDGER_NOTES && ledger.notes[i]; i++)
		assert_null(strstr(ledger.notes[i], "rounding"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_on_rounding_comes_with_its_row),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
