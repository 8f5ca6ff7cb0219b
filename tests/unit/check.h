/*
 * check.h - included first by every unit test.
 *
 * The name of a test is its claim; one claim, one test.
 */
#ifndef ALLO_TESTS_CHECK_H
#define ALLO_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* An allo_text that holds exactly this string. */
#define assert_text_equal(text, string)                                                            \
	do {                                                                                       \
		struct allo_text text_ = (text);                                                   \
		assert_int_equal(text_.len, strlen(string));                                       \
		assert_memory_equal(text_.data, (string), text_.len);                              \
	} while (0)

#endif
