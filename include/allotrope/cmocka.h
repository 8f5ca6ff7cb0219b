/*
 * cmocka.h - fails tests of cmocka that need more memory than allowed.
 *
 *     const struct CMUnitTest tests[] = {
 *             cmocka_unit_test_setup_teardown(test, allo_cmocka_setup, allo_cmocka_teardown),
 *     };
 *
 * Setup and teardown functions of yours may call these two. Include it after <cmocka.h>.
 * test_memory.h describes the limits.
 */
#ifndef ALLOTROPE_CMOCKA_H
#define ALLOTROPE_CMOCKA_H

#include <allotrope/test_memory.h>

static inline int allo_cmocka_setup(void **state)
{
	(void)state;
	allo_test_begin();
	return 0;
}

static inline int allo_cmocka_teardown(void **state)
{
	char message[512];

	(void)state;
	if (allo_test_is_kept(message, sizeof(message)))
		return 0;
	print_error("%s\n", message);
	return -1;
}

#endif
