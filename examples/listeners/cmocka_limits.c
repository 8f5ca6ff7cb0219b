/* Tests of cmocka with limits on their memory; the last one exceeds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <allotrope/cmocka.h>

#include <stdlib.h>

static char *volatile kept;

static void a_block_is_freed(void **state)
{
	(void)state;
	ALLO_LIMIT_LEAKS(0);
	ALLO_LIMIT_ALLOCATIONS(1);
	kept = malloc(1009);
	free(kept);
}

static void a_block_is_leaked(void **state)
{
	(void)state;
	ALLO_LIMIT_LEAKS(0);
	kept = malloc(1009);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_block_is_freed, allo_cmocka_setup,
						allo_cmocka_teardown),
		cmocka_unit_test_setup_teardown(a_block_is_leaked, allo_cmocka_setup,
						allo_cmocka_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
