/* test_loaded_symbol.c - capture/hooks/loaded_symbol.h: finds what dlsym() finds. */
#include "check.h"

#include "capture/hooks/loaded_symbol.h"

#include <dlfcn.h>

static void functions_are_those_of_dlsym(void **state)
{
	/* Several have an older version as well, and some are in libraries of their own before
	 * glibc 2.34. */
	static const char *const names[] = {
		"malloc",         "free",
		"calloc",         "realloc",
		"posix_memalign", "dlsym",
		"dlopen",         "dlclose",
		"posix_spawn",    "pthread_key_create",
		"mmap",           "sbrk",
		"sigaction",      "pthread_setspecific",
		"fexecve",        "setns",
		"execveat",       "_exit",
		"syscall",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_ptr_equal(allo_loaded_symbol(names[i]), dlsym(RTLD_NEXT, names[i]));
}

static void variables_are_those_of_dlsym(void **state)
{
	(void)state;
	assert_ptr_equal(allo_loaded_symbol("__rseq_offset"), dlsym(RTLD_NEXT, "__rseq_offset"));
}

static void names_that_do_not_exist_are_not_found(void **state)
{
	(void)state;
	assert_null(allo_loaded_symbol("no_such_function_anywhere"));
	assert_null(allo_loaded_symbol(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_of_dlsym),
		cmocka_unit_test(variables_are_those_of_dlsym),
		cmocka_unit_test(names_that_do_not_exist_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
