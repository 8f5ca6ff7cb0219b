/*
 * entry_points.c - each way to get a block, in a separate function and with a number and size of
 * blocks that nothing else has.
 */
#include "blocks.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

/* C23 has it and newer C libraries do; a profiler that offers it must count it. */
extern void free_sized(void *block, size_t size) __attribute__((weak));

/* Frees a block that must exist; errno does not change. */
static void gone(void *block)
{
	must(held(block) != NULL, "every call succeeds");
	errno = 77;
	free(block);
	must(errno == 77, "free() leaves errno alone");
}

APART static void use_malloc(void)
{
	for (int i = 0; i < 23; i++)
		gone(malloc(1009));
}

APART static void use_calloc(void)
{
	for (int i = 0; i < 19; i++) {
		unsigned char *block = held(calloc(7, 211));

		must_be_filled(block, 7 * 211, 0);
		gone(block);
	}
}

APART static void use_realloc(void)
{
	for (int i = 0; i < 17; i++)
		gone(realloc(NULL, 1013));
}

APART static void use_reallocarray(void)
{
	for (int i = 0; i < 13; i++)
		gone(reallocarray(NULL, 11, 101));
}

APART static void use_aligned_alloc(void)
{
	for (int i = 0; i < 11; i++) {
		void *block = held(aligned_alloc(64, 1088));

		must((uintptr_t)block % 64 == 0, "aligned_alloc() aligns");
		gone(block);
	}
}

APART static void use_posix_memalign(void)
{
	for (int i = 0; i < 29; i++) {
		void *block = NULL;

		must(posix_memalign(&block, 32, 1019) == 0, "posix_memalign() succeeds");
		must((uintptr_t)block % 32 == 0, "posix_memalign() aligns");
		gone(block);
	}
}

APART static void use_memalign(void)
{
	for (int i = 0; i < 31; i++)
		gone(memalign(128, 1021));
}

APART static void use_valloc(void)
{
	for (int i = 0; i < 5; i++)
		gone(valloc(1031));
}

/* musl does not have it. */
APART static void use_pvalloc(void)
{
#ifdef __GLIBC__
	for (int i = 0; i < 3; i++)
		gone(pvalloc(1033));
#endif
}

APART static void use_strdup(const char *text)
{
	for (int i = 0; i < 37; i++)
		gone(strdup(text + 1060 - 1038));
}

APART static void use_strndup(const char *text)
{
	for (int i = 0; i < 41; i++)
		gone(strndup(text, 1048));
}

APART static void use_asprintf(const char *text)
{
	for (int i = 0; i < 43; i++) {
		char *block = NULL;

		must(asprintf(&block, "%.1050s", text) == 1050, "asprintf() succeeds");
		gone(block);
	}
}

/* Moves through sizes and keeps its content. */
APART static void use_resizes(void)
{
	for (int i = 0; i < 9; i++) {
		void *block = filled(2003, i);

		block = held(realloc(block, 200003));
		must_be_filled(block, 2003, i);
		block = held(realloc(block, 307));
		must_be_filled(block, 307, i);
		gone(block);
	}
}

/* In glibc this frees the block and returns nothing; in musl, a block without bytes. */
APART static void use_realloc_to_nothing(void)
{
	for (int i = 0; i < 7; i++) {
		void *left = held(realloc(filled(1061, i), 0));

#ifdef __GLIBC__
		must(left == NULL, "realloc() to 0 bytes frees");
#endif
		free(left);
	}
}

APART static void use_no_bytes(void)
{
	for (int i = 0; i < 6; i++)
		gone(malloc(0));
	for (int i = 0; i < 6; i++)
		free(held(NULL));
}

APART static void use_free_sized(void)
{
	for (int i = 0; i < 3; i++) {
		void *block = filled(1063, i);

		if (free_sized)
			free_sized(block, 1063);
		else
			free(block);
	}
}

APART static void use_usable_size(void)
{
	for (int i = 0; i < 4; i++) {
		void *block = filled(1069, i);

		must(malloc_usable_size(block) >= 1069, "malloc_usable_size() knows our blocks");
		gone(block);
	}
}

APART static void use_leaks(void)
{
	for (int i = 0; i < 8; i++)
		held(malloc(4099));
}

static void must_fail(void *block, const char *what)
{
	must(held(block) == NULL && errno == ENOMEM, what);
	errno = 0;
}

/* None of these gives a block, and the one that was there stays. */
APART static void use_failures(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	char *kept = filled(1087, 'k');
	void *none = NULL;

	errno = 0;
	for (int i = 0; i < 5; i++) {
		must_fail(malloc(huge), "malloc() of too much fails");
		must_fail(calloc(huge, 3), "calloc() notices an overflow");
		must_fail(realloc(held(kept), huge), "realloc() to too much fails");
		must_fail(reallocarray(held(kept), huge, 5), "reallocarray() notices an overflow");
		must_fail(aligned_alloc(64, huge), "aligned_alloc() of too much fails");
		must_fail(memalign(64, huge), "memalign() of too much fails");
		must_fail(valloc(huge), "valloc() of too much fails");
#ifdef __GLIBC__
		must_fail(pvalloc(huge), "pvalloc() of too much fails");
#endif
		must(posix_memalign(&none, 64, huge) == ENOMEM && none == NULL,
		     "posix_memalign() says it with its result");
		must(posix_memalign(&none, 3, 100) == EINVAL && none == NULL,
		     "posix_memalign() refuses a wrong alignment");
	}
	must_be_filled(kept, 1087, 'k');
	gone(kept);
}

int main(void)
{
	char text[1061];

	memset(text, 'x', 1060);
	text[1060] = 0;
	use_malloc();
	use_calloc();
	use_realloc();
	use_reallocarray();
	use_aligned_alloc();
	use_posix_memalign();
	use_memalign();
	use_valloc();
	use_pvalloc();
	use_strdup(text);
	use_strndup(text);
	use_asprintf(text);
	use_resizes();
	use_realloc_to_nothing();
	use_no_bytes();
	use_free_sized();
	use_usable_size();
	use_leaks();
	use_failures();
	return 0;
}
