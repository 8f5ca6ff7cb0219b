/* built_in_functions.c - the table, by allocator. */
#include "capture/hooks/built_in_functions.h"

#include <stdbool.h>
#include <string.h>

enum { NONE = ALLO_NO_ARGUMENT };

#define ALLOC(name, size)                                                                          \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_ALLOC, NONE, size, NONE                                \
	}
#define ALLOC_COUNT(name, count, size)                                                             \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_ALLOC, NONE, size, count                               \
	}
#define NEW(name, size)                                                                            \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_NEW, NONE, size, NONE                                  \
	}
#define NEW_COUNT(name, count, size)                                                               \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_NEW, NONE, size, count                                 \
	}
#define TEXT(name)                                                                                 \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_TEXT, NONE, NONE, NONE                                 \
	}
#define STORE(name, place, size)                                                                   \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_STORE, place, size, NONE                               \
	}
#define RESIZE(name, pointer, size)                                                                \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_RESIZE, pointer, size, NONE                            \
	}
#define RESIZE_COUNT(name, p, count, s)                                                            \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_RESIZE, p, s, count                                    \
	}
#define GROW(name, pointer, size, more)                                                            \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_GROW, pointer, size, more                              \
	}
#define FREE(name, pointer)                                                                        \
	{                                                                                          \
		name, PREFIX, ALLO_BUILT_IN_FREE, pointer, NONE, NONE                              \
	}

const struct allo_built_in_function allo_built_in_functions[] = {
/* libc's, BSD's, and jemalloc's further ones. */
#define PREFIX NULL
	ALLOC("malloc", 0),
	ALLOC_COUNT("calloc", 0, 1),
	RESIZE("realloc", 0, 1),
	FREE("free", 0),
	ALLOC("memalign", 1),
	ALLOC("aligned_alloc", 1),
	STORE("posix_memalign", 0, 2),
	ALLOC("valloc", 0),
	ALLOC("pvalloc", 0),
	RESIZE_COUNT("reallocarray", 0, 1, 2),
	RESIZE("reallocf", 0, 1),
	FREE("cfree", 0),
	FREE("vfree", 0),
	FREE("free_sized", 0),
	FREE("free_aligned_sized", 0),
	ALLOC("mallocx", 0),
	RESIZE("rallocx", 0, 1),
	GROW("xallocx", 0, 1, 2),
	FREE("dallocx", 0),
	FREE("sdallocx", 0),
#undef PREFIX

/* mimalloc. */
#define PREFIX "mi_"
	ALLOC("zalloc", 0),
	ALLOC("malloc_small", 0),
	ALLOC("zalloc_small", 0),
	ALLOC_COUNT("mallocn", 0, 1),
	ALLOC("malloc_aligned", 0),
	ALLOC("malloc_aligned_at", 0),
	ALLOC("zalloc_aligned", 0),
	ALLOC("zalloc_aligned_at", 0),
	ALLOC_COUNT("calloc_aligned", 0, 1),
	ALLOC_COUNT("calloc_aligned_at", 0, 1),
	RESIZE("realloc_aligned", 0, 1),
	RESIZE("realloc_aligned_at", 0, 1),
	RESIZE("rezalloc", 0, 1),
	RESIZE("rezalloc_aligned", 0, 1),
	RESIZE("rezalloc_aligned_at", 0, 1),
	RESIZE("expand", 0, 1),
	RESIZE("_expand", 0, 1),
	RESIZE("new_realloc", 0, 1),
	RESIZE_COUNT("new_reallocn", 0, 1, 2),
	RESIZE_COUNT("reallocn", 0, 1, 2),
	RESIZE_COUNT("recalloc", 0, 1, 2),
	RESIZE_COUNT("recalloc_aligned", 0, 1, 2),
	RESIZE_COUNT("recalloc_aligned_at", 0, 1, 2),
	RESIZE_COUNT("aligned_recalloc", 0, 1, 2),
	RESIZE_COUNT("aligned_offset_recalloc", 0, 1, 2),
	TEXT("strdup"),
	TEXT("strndup"),
	TEXT("mbsdup"),
	FREE("free_size", 0),
	FREE("free_aligned", 0),
	FREE("free_size_aligned", 0),
	ALLOC("umalloc", 0),
	ALLOC("umalloc_small", 0),
	ALLOC("umalloc_aligned", 0),
	ALLOC("uzalloc_small", 0),
	ALLOC("uzalloc_aligned", 0),
	ALLOC_COUNT("ucalloc", 0, 1),
	RESIZE("urealloc", 0, 1),
	FREE("ufree", 0),
	NEW("new", 0),
	NEW("new_nothrow", 0),
	NEW("new_aligned", 0),
	NEW("new_aligned_nothrow", 0),
	NEW_COUNT("new_n", 0, 1),
	NEW("heap_alloc_new", 1),
	NEW_COUNT("heap_alloc_new_n", 1, 2),
	ALLOC("heap_malloc", 1),
	ALLOC("heap_zalloc", 1),
	ALLOC("heap_malloc_small", 1),
	ALLOC_COUNT("heap_calloc", 1, 2),
	ALLOC_COUNT("heap_mallocn", 1, 2),
	ALLOC("heap_malloc_aligned", 1),
	ALLOC("heap_malloc_aligned_at", 1),
	ALLOC("heap_zalloc_aligned", 1),
	ALLOC("heap_zalloc_aligned_at", 1),
	ALLOC_COUNT("heap_calloc_aligned", 1, 2),
	ALLOC_COUNT("heap_calloc_aligned_at", 1, 2),
	RESIZE("heap_realloc", 1, 2),
	RESIZE("heap_rezalloc", 1, 2),
	RESIZE("heap_reallocf", 1, 2),
	RESIZE("heap_realloc_aligned", 1, 2),
	RESIZE("heap_realloc_aligned_at", 1, 2),
	RESIZE("heap_rezalloc_aligned", 1, 2),
	RESIZE("heap_rezalloc_aligned_at", 1, 2),
	RESIZE_COUNT("heap_reallocn", 1, 2, 3),
	RESIZE_COUNT("heap_recalloc", 1, 2, 3),
	RESIZE_COUNT("heap_recalloc_aligned", 1, 2, 3),
	TEXT("heap_strdup"),
	TEXT("heap_strndup"),
#undef PREFIX

/* tcmalloc. */
#define PREFIX "tc_"
	ALLOC("malloc_skip_new_handler", 0),
	NEW("new", 0),
	NEW("new_nothrow", 0),
	NEW("newarray", 0),
	NEW("newarray_nothrow", 0),
	NEW("new_aligned", 0),
	NEW("new_aligned_nothrow", 0),
	NEW("newarray_aligned", 0),
	NEW("newarray_aligned_nothrow", 0),
	FREE("delete", 0),
	FREE("delete_nothrow", 0),
	FREE("delete_sized", 0),
	FREE("delete_aligned", 0),
	FREE("delete_aligned_nothrow", 0),
	FREE("delete_sized_aligned", 0),
	FREE("deletearray", 0),
	FREE("deletearray_nothrow", 0),
	FREE("deletearray_sized", 0),
	FREE("deletearray_aligned", 0),
	FREE("deletearray_aligned_nothrow", 0),
	FREE("deletearray_sized_aligned", 0),
#undef PREFIX

/* Firefox: the first argument is an arena. */
#define PREFIX ""
	ALLOC("moz_arena_malloc", 1),
	ALLOC_COUNT("moz_arena_calloc", 1, 2),
	RESIZE("moz_arena_realloc", 1, 2),
	FREE("moz_arena_free", 1),
	ALLOC("moz_arena_memalign", 2),

	/* C++. */
	NEW("_Znwm", 0),
	NEW("_Znam", 0),
	NEW("_ZnwmRKSt9nothrow_t", 0),
	NEW("_ZnamRKSt9nothrow_t", 0),
	NEW("_ZnwmSt11align_val_t", 0),
	NEW("_ZnamSt11align_val_t", 0),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t", 0),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t", 0),
	FREE("_ZdlPv", 0),
	FREE("_ZdaPv", 0),
	FREE("_ZdlPvm", 0),
	FREE("_ZdaPvm", 0),
	FREE("_ZdlPvRKSt9nothrow_t", 0),
	FREE("_ZdaPvRKSt9nothrow_t", 0),
	FREE("_ZdlPvSt11align_val_t", 0),
	FREE("_ZdaPvSt11align_val_t", 0),
	FREE("_ZdlPvmSt11align_val_t", 0),
	FREE("_ZdaPvmSt11align_val_t", 0),
	FREE("_ZdlPvSt11align_val_tRKSt9nothrow_t", 0),
	FREE("_ZdaPvSt11align_val_tRKSt9nothrow_t", 0),
#undef PREFIX
};

const size_t allo_built_in_function_count = sizeof(allo_built_in_functions) /
					    sizeof(*allo_built_in_functions);

const char *const allo_built_in_prefixes[] = {
	"", "_rjem_", "je_", "duckdb_je_", "mi_", "tc_", NULL
};

/* Whether a function of the table may have a prefix of the list. */
static bool has_prefix(const struct allo_built_in_function *function, const char *prefix)
{
	return !function->prefix || strcmp(function->prefix, prefix) == 0;
}

static const struct allo_built_in_function *find(const char *prefix, const char *name)
{
	for (size_t i = 0; i < allo_built_in_function_count; i++) {
		if (strcmp(allo_built_in_functions[i].name, name) == 0 &&
		    has_prefix(&allo_built_in_functions[i], prefix))
			return &allo_built_in_functions[i];
	}
	return NULL;
}

const struct allo_built_in_function *allo_built_in_function_find(const char *symbol,
								 const char **prefix)
{
	const struct allo_built_in_function *function = NULL;

	for (unsigned i = 0; !function && allo_built_in_prefixes[i]; i++) {
		size_t len;

		*prefix = allo_built_in_prefixes[i];
		len = strlen(*prefix);
		if (strncmp(symbol, *prefix, len) == 0)
			function = find(*prefix, symbol + len);
	}
	return function;
}
