#include "analysis/sites/startup.h"

#include "analysis/sites/rust_names.h"

#define T(literal) ALLO_TEXT_INIT(literal)

static const struct allo_text names[] = {
	T("_start"),
	T("__libc_start_main"),
	T("__libc_start_main_impl"),
	T("__libc_start_call_main"),
	T("(below main)"), /* Valgrind's name for them */
	T("clone"),
	T("clone3"),
	T("__clone"),
	T("__clone3"),
	T("start_thread"),
	T("execute_native_thread_routine"),
	T("core::ops::function::FnOnce::call_once"),
	T("runtime.goexit"),
	T("runtime.main"),
};

/* Name prefixes. */
static const struct allo_text prefixes[] = {
	T("std::thread::_State_impl<"),
	T("std::thread::_Invoker<"),
	T("std::__invoke"),
};

static bool contains(struct allo_text text, struct allo_text part)
{
	return allo_text_find(text, part) < text.len;
}

/* Modules of unnamed frames.  Most systems strip libc; of its functions, only start-up code is
 * called by start-up code alone. */
static bool is_nameless_in_libc(struct allo_text function)
{
	return allo_text_starts(function, ALLO_TEXT("0x")) &&
	       (allo_text_ends(function, ALLO_TEXT(" [libc.so.6]")) ||
		allo_text_ends(function, ALLO_TEXT(" [libpthread.so.0]")));
}

/* Rust's shim around a closure or function pointer:
 * "<alloc::boxed::Box<F> as core::ops::function::FnOnce<A>>::call_once". */
static bool is_call_of_closure(struct allo_text function)
{
	return allo_text_starts(function, ALLO_TEXT("<")) &&
	       contains(function, ALLO_TEXT(" as core::ops::function::FnOnce<")) &&
	       contains(function, ALLO_TEXT("::call_once"));
}

bool allo_is_startup(struct allo_text given)
{
	char room[ALLO_PLAIN_NAME_MAX];
	struct allo_text function = allo_rust_name_plain(given, room);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(function, names[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (allo_text_starts(function, prefixes[i]))
			return true;
	}
	return is_nameless_in_libc(function) || is_call_of_closure(function);
}

bool allo_is_startup_border(struct allo_text function)
{
	/* Rust's backtraces end here in every version; it is never inlined. */
	return contains(function, ALLO_TEXT("::__rust_begin_short_backtrace"));
}
