/* test_short_name.c - profile/short_name.h and profile/shown_names.h. */
#include "check.h"

#include "base/defer.h"
#include "profile/short_name.h"
#include "profile/shown_names.h"

#include <stdlib.h>

/* Each short name is also its own short name. */
static void assert_short(const char *full, const char *expected)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer once = { 0 }, twice = { 0 };
	struct allo_text brief = allo_short_name(allo_text_of(full), ALLO_NAME_BRIEF, &once);

	assert_text_equal(brief, expected);
	assert_text_equal(allo_short_name(brief, ALLO_NAME_BRIEF, &twice), expected);
}

static void assert_stays(const char *name)
{
	assert_short(name, name);
}

static void assert_distinct(const char *full, const char *expected)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };

	assert_text_equal(allo_short_name(allo_text_of(full), ALLO_NAME_DISTINCT, &buffer),
			  expected);
}

/* From libstdc++, libclang, libLLVM, node and others, as nm -C prints them. */
static void classes_of_the_standard_library_are_short(void **state)
{
	(void)state;
	assert_short("std::vector<char, std::allocator<char> >::vector(unsigned long, "
		     "std::allocator<char> const&)",
		     "std::vector<char>::vector");
	assert_short(
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">::append(char const*)",
		"std::string::append");
	assert_short(
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">::basic_string(char const*, std::allocator<char> const&)",
		"std::string::string");
	assert_short("std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, "
		     "std::allocator<wchar_t> >::~basic_string()",
		     "std::wstring::~wstring");
	assert_short("void std::__cxx11::basic_string<char, std::char_traits<char>, "
		     "std::allocator<char> >::_M_construct<char*>(char*, char*, "
		     "std::forward_iterator_tag)",
		     "std::string::_M_construct<char*>");
	assert_short("std::__1::basic_string<char, std::__1::char_traits<char>, "
		     "std::__1::allocator<char> >::__grow_by(unsigned long, unsigned long)",
		     "std::string::__grow_by");
	assert_short("std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
		     "<char, std::char_traits<char> >(std::basic_ostream<char, "
		     "std::char_traits<char> >&, std::_Setfill<char>)",
		     "std::operator<< <char>");
	assert_short("std::map<int, Session, std::less<int>, std::allocator<std::pair<int const, "
		     "Session> > >::operator[](int&&)",
		     "std::map<int, Session>::operator[]");
	assert_short("std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, "
		     "std::allocator<std::pair<int const, int> > >::clear()",
		     "std::unordered_map<int, int>::clear");
	assert_short("std::unique_ptr<Shape, std::default_delete<Shape> >::~unique_ptr()",
		     "std::unique_ptr<Shape>::~unique_ptr");
	assert_short("std::queue<int, std::deque<int, std::allocator<int> > >::push(int&&)",
		     "std::queue<int>::push");
	assert_short("std::_V2::generic_category()", "std::generic_category");
	assert_short("std::filesystem::__cxx11::path::_M_append(std::basic_string_view<char, "
		     "std::char_traits<char> >)",
		     "std::filesystem::path::_M_append");
}

static void arguments_that_differ_from_the_default_stay(void **state)
{
	(void)state;
	assert_short("std::set<int, std::greater<int>, std::allocator<int> >::insert(int&&)",
		     "std::set<int, std::greater<int>>::insert");
	assert_short(
		"std::map<int, int, std::less<void>, std::allocator<std::pair<int const, int> > "
		">::find(int const&)",
		"std::map<int, int, std::less<void>>::find");
	assert_short("std::unique_ptr<_IO_FILE, int (*)(_IO_FILE*)>::reset(_IO_FILE*)",
		     "std::unique_ptr<_IO_FILE, int (*)(_IO_FILE*)>::reset");
	assert_short("std::array<int, 4ul>::at(unsigned long)", "std::array<int, 4>::at");
	assert_short("llvm::SmallVector<unsigned int, 8u>::push_back(unsigned int)",
		     "llvm::SmallVector<unsigned int, 8>::push_back");
}

static void long_arguments_are_dots(void **state)
{
	(void)state;
	assert_short("std::__shared_ptr<std::filesystem::__cxx11::_Dir, "
		     "(__gnu_cxx::_Lock_policy)2>::__shared_ptr()",
		     "std::__shared_ptr<std::filesystem::_Dir, ...>::__shared_ptr");
	assert_short("v8::internal::compiler::turboshaft::AssemblerOpInterface<v8::internal::"
		     "compiler::turboshaft::Assembler<v8::internal::compiler::turboshaft::"
		     "reducer_list<v8::internal::compiler::turboshaft::MachineLoweringReducer> > >"
		     "::WordPtrAdd(int)",
		     "v8::internal::compiler::turboshaft::AssemblerOpInterface<...>::WordPtrAdd");
	assert_short(
		"void std::vector<Session, std::allocator<Session> >::_M_realloc_insert<"
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">, int, std::pair<int, int> >(int*)",
		"std::vector<Session>::_M_realloc_insert<std::string, int, ...>");
}

static void return_types_and_parameters_are_left_out(void **state)
{
	(void)state;
	assert_short("parse(char const*)", "parse");
	assert_short("void swap<int>(int&, int&)", "swap<int>");
	assert_short("unsigned long const& std::max<unsigned long>(unsigned long const&, unsigned "
		     "long const&)",
		     "std::max<unsigned long>");
	assert_short("std::enable_if<((sizeof (int))>(4)), int>::type f<int>(int)", "f<int>");
	assert_short("decltype (fp.f({parm#2})) call<A>(A, int)", "call<A>");
	assert_short("decltype(auto) visit<A>(A&&)", "visit<A>");
	assert_short("Shape::area() const &", "Shape::area");
	assert_short("void (*std::set_terminate(void (*)()))()", "std::set_terminate");
	assert_short("non-virtual thunk to Shape::area(int)", "non-virtual thunk to Shape::area");
}

static void operators_keep_their_symbols(void **state)
{
	(void)state;
	assert_short("operator new(unsigned long)", "operator new");
	assert_short("operator new[](unsigned long, std::align_val_t)", "operator new[]");
	assert_short("operator delete(void*)", "operator delete");
	assert_short("Date::operator<(Date const&) const", "Date::operator<");
	assert_short("bool operator< <int>(Box<int> const&, Box<int> const&)", "operator< <int>");
	assert_short("Date::operator<=>(Date const&) const", "Date::operator<=>");
	assert_short("Bits::operator>>=(int)", "Bits::operator>>=");
	assert_short("Iterator<int>::operator->() const", "Iterator<int>::operator->");
	assert_short("Call::operator()(int, char) const", "Call::operator()");
	assert_short("void Call::operator()<int>(int) const", "Call::operator()<int>");
	assert_short("Map::operator[](int)", "Map::operator[]");
	assert_short("a::operator,(a::B, a::C)", "a::operator,");
	assert_short("Date::operator bool() const", "Date::operator bool");
	assert_short("Text::operator std::__cxx11::basic_string<char, std::char_traits<char>, "
		     "std::allocator<char> >() const",
		     "Text::operator std::string");
	assert_short("Text::operator char const*() const", "Text::operator char const*");
	assert_short("operator\"\" _km(long double)", "operator\"\" _km");
	assert_short("std::function<void (int)>::operator()(int) const",
		     "std::function<void (int)>::operator()");
	assert_short("sort<int, &Date::operator< >(int*)", "sort<int, &Date::operator<>");
}

static void lambdas_have_their_function_and_number(void **state)
{
	(void)state;
	assert_short("main::{lambda()#1}::operator()() const", "main::{lambda#1}");
	assert_short("serve(int)::{lambda(auto:1&&)#2}::operator()<int>(int&&) const",
		     "serve::{lambda#2}<int>");
	assert_short(
		"Server::run(int) const::{lambda(int)#1}::operator()(int) const::{lambda()#3}::"
		"operator()() const",
		"Server::run::{lambda#1}::{lambda#3}");
	assert_short(
		"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data "
		"const&)",
		"std::_Function_handler<void (), main::{lambda#1}>::_M_invoke");
	assert_short("main::$_0::operator()(int) const", "main::$_0::operator()");
}

static void anonymous_and_inline_namespaces_are_left_out(void **state)
{
	(void)state;
	assert_short("(anonymous namespace)::parse(int)", "parse");
	assert_short("v8::internal::(anonymous namespace)::Trap::~Trap()",
		     "v8::internal::Trap::~Trap");
	assert_short("std::vector<(anonymous namespace)::Entry>::clear()",
		     "std::vector<Entry>::clear");
	assert_short("fmt::v9::vformat[abi:cxx11](fmt::v9::basic_string_view<char>)",
		     "fmt::vformat");
	assert_short("absl::lts_20220623::Now()", "absl::Now");
	assert_short("config::v3::Listener::Clear()", "config::v3::Listener::Clear");
}

static void marks_of_compilers_are_left_out(void **state)
{
	(void)state;
	assert_short("parse(int) [clone .cold]", "parse");
	assert_short("parse(int) [clone .constprop.0] [clone .isra.0]", "parse");
	assert_short("parse(int) (.llvm.1551647545884888506)", "parse");
	assert_short("std::error_category::default_error_condition[abi:cxx11](int) const",
		     "std::error_category::default_error_condition");
}

static void names_of_rust_have_type_and_method(void **state)
{
	(void)state;
	assert_short("<alloc::vec::Vec<T,A> as core::clone::Clone>::clone", "Vec::clone");
	assert_short("alloc::vec::Vec<T,A>::push_mut", "Vec::push_mut");
	assert_short("<alloc::vec::Vec<u8>>::push", "Vec<u8>::push");
	assert_short("<noal::Cache as core::clone::Clone>::clone", "noal::Cache::clone");
	assert_short("<noal::Cache<noal::Session> as noal::Fill>::fill::{closure#0}",
		     "noal::Cache<noal::Session>::fill::{closure#0}");
	assert_short("hashbrown::raw::RawTable<T,A>::reserve_rehash",
		     "hashbrown::raw::RawTable::reserve_rehash");
	assert_short("std::collections::hash::map::HashMap<K,V,S>::insert", "HashMap::insert");
	assert_short("<T as alloc::string::ToString>::to_string", "ToString::to_string");
	assert_short("<&mut W as core::fmt::Write>::write_str", "Write::write_str");
	assert_short("<[T] as core::fmt::Debug>::fmt", "[T]::fmt");
	assert_short("alloc::slice::<impl [T]>::to_vec", "[T]::to_vec");
	assert_short("core::str::<impl str>::parse", "str::parse");
	assert_short("core::ops::function::impls::<impl core::ops::function::FnMut<A> for &mut F>"
		     "::call_mut",
		     "FnMut::call_mut");
	assert_short("<noal::io::File as std::io::Write>::write", "noal::io::File::write");
	assert_short("noal::store::<impl core::ops::drop::Drop for noal::Cache>::drop",
		     "noal::Cache::drop");
	assert_short("core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
		     "core::ptr::drop_in_place<Vec<u8>>");
	assert_short("<fn() as core::ops::function::FnOnce<()>>::call_once",
		     "FnOnce<()>::call_once");
	assert_short("<(A, alloc::string::String) as noal::Pair>::first", "(A, String)::first");
	assert_short("<dyn core::any::Any + core::marker::Send>::is::<alloc::string::String>",
		     "dyn Any::is<String>");
	assert_short("<alloc::raw_vec::RawVec<indexmap::Bucket<rustc_span::def_id::DefId, "
		     "rustc_span::Span>>>::grow_one",
		     "RawVec<indexmap::Bucket>::grow_one");
}

static void rust_keeps_functions_and_closures(void **state)
{
	(void)state;
	assert_stays("noal::main");
	assert_stays("noal::main::{{closure}}");
	assert_stays("noal::main::{closure#0}");
	assert_stays("core::ptr::drop_in_place");
	assert_stays("std::rt::lang_start_internal");
	assert_short("noal::main::{{closure}}::h0123456789abcdef", "noal::main::{{closure}}");
	assert_short("__rustc[5224e6b81cd82a8f]::__rust_alloc::<u8>", "__rustc::__rust_alloc<u8>");
	assert_short("core::ops::function::FnOnce::call_once{{vtable.shim}}", "FnOnce::call_once");
	assert_short("noal::parse::<noal::Config, 4>", "noal::parse<noal::Config, 4>");
}

static void names_of_other_languages_stay(void **state)
{
	(void)state;
	assert_stays("main");
	assert_stays("__libc_start_main");
	assert_stays("parse.part.0");
	assert_stays("malloc@plt");
	assert_stays("encoding/json.(*Decoder).Decode");
	assert_stays("main.Map[go.shape.int_0]");
	assert_stays("main.main.func1");
	assert_stays("Swift.Array.append(__owned A) -> ()");
	assert_stays("$s4main3FooV3baryyF");
	assert_stays("-[NSString initWithFormat:]");
	assert_stays("py::Session.__init__:grow.py");
	assert_stays("py::<module>:/srv/app (old)/grow.py");
	assert_stays("JS:remember file:///srv/app.js:12:3");
	assert_stays("Lorg/example/Store;::put");
	assert_stays("[CoreLib] System.String::Concat(string,string)[Optimized]");
	assert_stays("std.stdio.writeln!(string).writeln(string)");
}

static void texts_that_are_no_names_stay(void **state)
{
	(void)state;
	assert_stays("");
	assert_stays("???");
	assert_stays("(below main)");
	assert_stays("<main>");
	assert_stays("[self]");
	assert_stays("0x5a3f10 [libfoo.so]");
	assert_stays("malloc (in /usr/lib/libc.so.6)");
	assert_stays("::");
	assert_stays("a::b(");
	assert_stays("a<b>>::c(int)");
	assert_stays("a(b]::c()");
	assert_stays("operator");
}

static void distinct_names_have_parameters_or_traits(void **state)
{
	(void)state;
	assert_distinct("Shape::area(std::__cxx11::basic_string<char, std::char_traits<char>, "
			"std::allocator<char> > const&, int) const",
			"Shape::area(std::string const&, int) const");
	assert_distinct("void f<int>(int*) [clone .cold]", "f<int>(int*)");
	assert_distinct("<alloc::vec::Vec<T> as core::iter::traits::collect::FromIterator<T>>::"
			"from_iter",
			"<Vec as FromIterator>::from_iter");
}

/* Names from files may be anything, also long and deeply nested. */
static void hostile_names_take_linear_time(void **state)
{
	static const char *const patterns[] = { "a<",   "f(", "{",  "operator ", "<T as ", "::",
						"a<b>", ",",  "(*", "a(b)::",    "> ",     "[" };
	enum { SIZE = 100000 };
	char *name = malloc(SIZE + 1);

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
		size_t len = strlen(patterns[i]);

		for (size_t k = 0; k < SIZE; k++)
			name[k] = patterns[i][k % len];
		name[SIZE] = '\0';
		for (int detail = ALLO_NAME_BRIEF; detail <= ALLO_NAME_DISTINCT; detail++)
			allo_short_name((struct allo_text){ name, SIZE },
					(enum allo_name_detail)detail, &buffer);
	}
	free(name);
}

/* Names of a report. */

static void assert_shown(struct allo_shown_names *names, const char *full, const char *expected)
{
	assert_text_equal(allo_shown_names_find(names, allo_text_of(full)), expected);
}

static void overloads_are_shown_with_parameters(void **state)
{
	static const char *const added[] = { "parse(int)", "parse(char)", "load(int)", "parse(int)",
					     "parse(long)" };
	ALLO_DEFER(allo_shown_names_done) struct allo_shown_names names = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		allo_shown_names_add(&names, allo_text_of(added[i]));
	assert_shown(&names, "parse(int)", "parse(int)");
	assert_shown(&names, "parse(char)", "parse(char)");
	assert_shown(&names, "parse(long)", "parse(long)");
	assert_shown(&names, "load(int)", "load");
	assert_shown(&names, "save(int)", "save");
}

static void functions_with_equal_parameters_have_full_names(void **state)
{
	static const char *const added[] = { "parse(int)", "(anonymous namespace)::parse(int)",
					     "parse" };
	ALLO_DEFER(allo_shown_names_done) struct allo_shown_names names = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		allo_shown_names_add(&names, allo_text_of(added[i]));
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		assert_shown(&names, added[i], added[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_of_the_standard_library_are_short),
		cmocka_unit_test(arguments_that_differ_from_the_default_stay),
		cmocka_unit_test(long_arguments_are_dots),
		cmocka_unit_test(return_types_and_parameters_are_left_out),
		cmocka_unit_test(operators_keep_their_symbols),
		cmocka_unit_test(lambdas_have_their_function_and_number),
		cmocka_unit_test(anonymous_and_inline_namespaces_are_left_out),
		cmocka_unit_test(marks_of_compilers_are_left_out),
		cmocka_unit_test(names_of_rust_have_type_and_method),
		cmocka_unit_test(rust_keeps_functions_and_closures),
		cmocka_unit_test(names_of_other_languages_stay),
		cmocka_unit_test(texts_that_are_no_names_stay),
		cmocka_unit_test(distinct_names_have_parameters_or_traits),
		cmocka_unit_test(hostile_names_take_linear_time),
		cmocka_unit_test(overloads_are_shown_with_parameters),
		cmocka_unit_test(functions_with_equal_parameters_have_full_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
