/* allocator.c - the tables of names. */
#include "analysis/sites/allocator.h"

#include "analysis/sites/rust_names.h"

#define T(literal) ALLO_TEXT_INIT(literal)

/* Full names, without parameter lists. */
static const struct allo_text names[] = {
	T("malloc"),
	T("calloc"),
	T("realloc"),
	T("reallocarray"),
	T("free"),
	T("cfree"),
	T("memalign"),
	T("aligned_alloc"),
	T("posix_memalign"),
	T("valloc"),
	T("pvalloc"),
	T("strdup"),
	T("strndup"),
	T("xmalloc"),
	T("xcalloc"),
	T("xrealloc"),
	T("xstrdup"),
	T("__libc_malloc"),
	T("__libc_calloc"),
	T("__libc_realloc"),
	T("__libc_memalign"),
	T("__libc_valloc"),
	T("__libc_pvalloc"),
	T("__strdup"),
	T("__strndup"),
	T("operator new"),
	T("operator new[]"),
	T("operator delete"),
	T("operator delete[]"),
	T("_Znwm"),
	T("_Znam"),
	T("_Znwj"),
	T("_Znaj"),
	T("malloc_default"),
	T("imalloc"),
	T("je_malloc"),
	T("je_calloc"),
	T("je_realloc"),
	T("tc_malloc"),
	T("tc_calloc"),
	T("tc_realloc"),
	T("tc_new"),
	T("tc_newarray"),
	T("mi_malloc"),
	T("mi_calloc"),
	T("mi_realloc"),
	T("mi_new"),
	T("prof_backtrace"),
	T("prof_backtrace_impl"),
	T("prof_tctx_create"),
	T("__rust_alloc"),
	T("__rust_alloc_zeroed"),
	T("__rust_realloc"),
	T("__rg_alloc"),
	T("__rg_realloc"),
	T("__rg_alloc_zeroed"),
	T("__rdl_alloc"),
	T("__rdl_realloc"),
	T("__rdl_alloc_zeroed"),
	T("_rjem_malloc"),
	T("_rjem_mallocx"),
	T("runtime.mallocgc"),
	/* Called by rheaper's recorder, which keeps its data in a thread local. */
	T("std::thread::local::LocalKey<T>::with"),
	T("std::thread::local::LocalKey<T>::try_with"),
};

/* Name prefixes: modules that contain wrappers only. */
static const struct allo_text prefixes[] = {
	T("alloc::alloc::"),
	T("<alloc::alloc::"),
	T("alloc::raw_vec::"),
	T("<alloc::raw_vec::"),
	T("__rustc::__r"),
	T("<dhat::Alloc as "),
	T("dhat::"),
	T("rheaper::"),
	T("<rheaper::"),
	T("pprof_alloc::"),
	T("<pprof_alloc::"),
	T("allotrope::"),
	T("<allotrope::"),
	T("backtrace::backtrace::"),
	T("<std::alloc::System as "),
	T("std::alloc::"),
	T("std::sys::alloc::"),
	T("__gnu_cxx::new_allocator<"),
	T("std::__new_allocator<"),
	T("std::allocator<"),
	T("std::allocator_traits<"),
	T("std::pmr::"),
	T("tcmalloc::"),
	T("(anonymous namespace)::do_malloc"),
};

/* Path suffixes: files that contain wrappers only. */
static const struct allo_text files[] = {
	T("new_allocator.h"),     T("alloc_traits.h"),     T("bits/allocator.h"),
	T("vg_replace_malloc.c"), T("alloc/src/alloc.rs"), T("alloc/src/raw_vec.rs"),
	T("src/raw_vec/mod.rs"),
};

/* Methods of any global allocator of a Rust program. */
static const struct allo_text global_allocator = ALLO_TEXT_INIT(
	" as core::alloc::global::GlobalAlloc>::");

static bool is_in_table(struct allo_text function, struct allo_text file)
{
	struct allo_text name = function, parameters;

	/* "operator new(unsigned long)" without "(unsigned long)". */
	if (allo_text_cut(function, '(', &name, &parameters) && name.len == 0)
		name = function;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(name, names[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (allo_text_starts(function, prefixes[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (allo_text_ends(file, files[i]))
			return true;
	}
	return allo_text_find(function, global_allocator) != (size_t)-1;
}

bool allo_is_allocator(struct allo_text function, struct allo_text file)
{
	char room[ALLO_PLAIN_NAME_MAX];

	return is_in_table(allo_rust_name_plain(function, room), file);
}
