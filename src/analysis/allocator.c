/* allocator.c - see allocator.h. */
#include "analysis/allocator.h"

/* Whole names, parameter lists aside. */
static const char *const names[] = {
	"malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "strdup", "strndup", "__libc_malloc", "__libc_calloc",
	"__libc_realloc", "__libc_memalign", "__libc_valloc", "__libc_pvalloc", "__strdup",
	"__strndup", "operator new", "operator new[]", "operator delete", "operator delete[]",
	"_Znwm", "_Znam", "_Znwj", "_Znaj", "malloc_default", "imalloc", "je_malloc", "je_calloc",
	"je_realloc", "tc_malloc", "tc_calloc", "tc_realloc", "tc_new", "tc_newarray", "mi_malloc",
	"mi_calloc", "mi_realloc", "mi_new", "prof_backtrace", "prof_backtrace_impl",
	"prof_tctx_create", "__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rg_alloc",
	"__rg_realloc", "__rg_alloc_zeroed", "__rdl_alloc", "__rdl_realloc", "__rdl_alloc_zeroed",
	"_rjem_malloc", "_rjem_mallocx", "xmalloc", "runtime.mallocgc",
};

/* Beginnings of names: everything below these modules only passes allocations on. */
static const char *const prefixes[] = {
	"alloc::alloc::", "<alloc::alloc::", "alloc::raw_vec::", "<alloc::raw_vec::", "__rustc::__r",
	"<dhat::Alloc as ", "dhat::", "<std::alloc::System as ", "std::alloc::", "std::sys::alloc::",
	"__gnu_cxx::new_allocator<", "std::__new_allocator<", "std::allocator<",
	"std::allocator_traits<", "std::pmr::", "tcmalloc::", "(anonymous namespace)::do_malloc",
};

/* Files whose functions do nothing else, by their ends. */
static const char *const files[] = {
	"new_allocator.h", "alloc_traits.h", "bits/allocator.h", "vg_replace_malloc.c",
	"alloc/src/alloc.rs", "alloc/src/raw_vec.rs", "src/raw_vec/mod.rs",
};

bool allo_is_allocator(struct allo_text function, struct allo_text file)
{
	struct allo_text name = function, parameters;

	/* "operator new(unsigned long)": without "(unsigned long)". */
	if (allo_text_cut(function, '(', &name, &parameters) && name.len == 0)
		name = function;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(name, allo_text_of(names[i])))
			return true;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (allo_text_starts(function, allo_text_of(prefixes[i])))
			return true;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (allo_text_ends(file, allo_text_of(files[i])))
			return true;
	}
	return false;
}
