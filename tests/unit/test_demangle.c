/* test_demangle.c - symbols/demangle.h. */
#include "check.h"

#include "base/defer.h"
#include "symbols/demangle.h"

#include <stdio.h>

static void assert_reads(const char *name, const char *expected)
{
	ALLO_DEFER(allo_demangler_done) struct allo_demangler demangler = { 0 };

	assert_text_equal(allo_demangle(&demangler, allo_text_of(name)), expected);
}

static void names_of_c_stay(void **state)
{
	(void)state;
	assert_reads("main", "main");
	assert_reads("i", "i"); /* also the type int, if it were mangled */
	assert_reads("_start", "_start");
	assert_reads("_Zebra", "_Zebra");
	assert_reads("_Rest", "_Rest");
	assert_reads("_Double", "_Double");
}

static void names_of_cpp_are_readable(void **state)
{
	(void)state;
	assert_reads("_Znwm", "operator new(unsigned long)");
	assert_reads("_ZN5Shape4growEi", "Shape::grow(int)");
	assert_reads("_ZNSt6vectorIiSaIiEE9push_backEOi",
		     "std::vector<int, std::allocator<int> >::push_back(int&&)");
}

static void both_manners_of_rust_are_readable(void **state)
{
	(void)state;
	assert_reads("_RNvCskK7mfDs1mzF_1m4main", "m::main");
	assert_reads("_RINvCskK7mfDs1mzF_1m5outerNCNvB2_4main0EB2_",
		     "m::outer::<m::main::{closure#0}>");
	assert_reads("_ZN64_$LT$m..Foo$LT$alloc..vec..Vec$LT$T$GT$$GT$$u20$as$u20$m..Tr$GT$2go"
		     "17h6e3369a0cfdee2c9E",
		     "<m::Foo<alloc::vec::Vec<T>> as m::Tr>::go");
}

/* Programs that take Rust's older names for C++'s stop half way, DTrace among them. */
static void rust_that_was_taken_for_cpp_is_mended(void **state)
{
	(void)state;
	assert_reads("_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::"
		     "h2ea72f9b332772d5",
		     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
	assert_reads("std::panicking::try::do_call::h08ca64c12e8a9bb0 (.llvm.15516475458848885060)",
		     "std::panicking::try::do_call");
	assert_reads("std::panicking::try::do_call::h08ca64c12e8a9bb0.llvm.15516475458848885060",
		     "std::panicking::try::do_call");
	assert_reads("app::hash::habc", "app::hash::habc");
	assert_reads("app::hash::h1111111111111111", "app::hash::h1111111111111111");
	assert_reads("::h08ca64c12e8a9bb0", "::h08ca64c12e8a9bb0");
}

static void rust_that_is_readable_loses_its_hash(void **state)
{
	(void)state;
	assert_reads("foo::bar::h0123456789abcdef", "foo::bar");
	assert_reads("<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop::h2ea72f9b332772d5",
		     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
	assert_reads("app::main::{{closure}}::h2ea72f9b332772d5", "app::main::{{closure}}");
	assert_reads("core::ops::function::FnOnce::call_once{{vtable.shim}}::h2ea72f9b332772d5",
		     "core::ops::function::FnOnce::call_once{{vtable.shim}}");
}

static void names_of_d_are_readable(void **state)
{
	(void)state;
	assert_reads("_D3app4mainFZv", "app.main()");
}

static void copies_have_the_name_of_their_function(void **state)
{
	(void)state;
	assert_reads("parse.cold", "parse");
	assert_reads("parse.constprop.0.isra.0", "parse");
	assert_reads("parse.part.12", "parse");
	assert_reads("parse.lto_priv.0", "parse");
	assert_reads("_ZN5Shape4growEi.cold", "Shape::grow(int)");
	assert_reads("_RNvCskK7mfDs1mzF_1m4main.llvm.123456", "m::main");
	assert_reads("main.partial", "main.partial");
	assert_reads("main.main.func1", "main.main.func1");
	assert_reads(".cold", ".cold");
}

static void versions_are_dropped(void **state)
{
	(void)state;
	assert_reads("memcpy@@GLIBC_2.14", "memcpy");
	assert_reads("memcpy@GLIBC_2.2.5", "memcpy");
	assert_reads("@odd", "@odd");
}

/* Each parameter is a pair of the one before: a few letters more, twice as long to read. */
static void a_name_that_would_be_endless_stays(void **state)
{
	char name[1024];
	int len = sprintf(name, "_Z1f1PIiiE");
	ALLO_DEFER(allo_demangler_done) struct allo_demangler demangler = { 0 };
	struct allo_text found;

	(void)state;
	len += sprintf(name + len, "S_IS0_S0_E");
	for (int i = 1; i < 36; i++)
		len += sprintf(name + len, "S_IS%c_S%c_E",
			       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
			       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	found = allo_demangle(&demangler, (struct allo_text){ name, (size_t)len });
	assert_text_equal(found, name);
	assert_text_equal(allo_demangle(&demangler, ALLO_TEXT("_Z1fi")), "f(int)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_c_stay),
		cmocka_unit_test(names_of_cpp_are_readable),
		cmocka_unit_test(both_manners_of_rust_are_readable),
		cmocka_unit_test(rust_that_was_taken_for_cpp_is_mended),
		cmocka_unit_test(rust_that_is_readable_loses_its_hash),
		cmocka_unit_test(names_of_d_are_readable),
		cmocka_unit_test(copies_have_the_name_of_their_function),
		cmocka_unit_test(versions_are_dropped),
		cmocka_unit_test(a_name_that_would_be_endless_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
