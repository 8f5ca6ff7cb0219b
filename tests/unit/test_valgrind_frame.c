/* test_valgrind_frame.c - readers/valgrind_stacks.h. */
#include "check.h"

#include "readers/valgrind_stacks.h"

#include <stdlib.h>

static const struct {
	const char *text;
	uint64_t address;
	const char *name, *file, *object;
	uint32_t line, column;
} frames[] = {
	/* Valgrind. */
	{ "0x109C54: main (demo.c:20)", 0x109c54, "main", "demo.c", "", 20, 0 },
	{ "0x4E5D2A: CRYPTO_malloc (in /usr/lib/x86_64-linux-gnu/libcrypto.so.3)", 0x4e5d2a,
	  "CRYPTO_malloc", "", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 0, 0 },
	{ "0x109C54: std::vector<int, std::allocator<int> >::push_back(int&&) (vector.h:1203)",
	  0x109c54, "std::vector<int, std::allocator<int> >::push_back(int&&)", "vector.h", "",
	  1203, 0 },
	{ "0x1: Cache<int, (anonymous namespace)::Blob>::operator()(std::string const&) (c.h:7)", 1,
	  "Cache<int, (anonymous namespace)::Blob>::operator()(std::string const&)", "c.h", "", 7,
	  0 },
	{ "0x1: (anonymous namespace)::f(int) (in /x)", 1, "(anonymous namespace)::f(int)", "",
	  "/x", 0, 0 },
	{ "0x1: operator new(unsigned long) (in "
	  "/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so)",
	  1, "operator new(unsigned long)", "",
	  "/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so", 0, 0 },
	{ "0x4A3: (below main) (libc_start_call_main.h:58)", 0x4a3, "(below main)",
	  "libc_start_call_main.h", "", 58, 0 },
	{ "0x4A3: (below main)", 0x4a3, "(below main)", "", "", 0, 0 },
	{ "0x4801234: ???", 0x4801234, "", "", "", 0, 0 },
	{ "0x4801234: ??? (in /lib/x.so)", 0x4801234, "", "", "/lib/x.so", 0, 0 },
	{ "0x4801234: f (in ??"
	  "?)",
	  0x4801234, "f", "", "", 0, 0 },
	{ "0x1: f (in /tmp/lib x (deleted))", 1, "f", "", "/tmp/lib x (deleted)", 0, 0 },
	{ "0x1: f(int) (in /opt/a (b) c/lib.so (deleted))", 1, "f(int)", "",
	  "/opt/a (b) c/lib.so (deleted)", 0, 0 },
	{ "0x1: pthread_create@@GLIBC_2.34 (pthread_create.c:648)", 1, "pthread_create@@GLIBC_2.34",
	  "pthread_create.c", "", 648, 0 },
	{ "0x1: f (/home/me/src/demo.c:3)", 1, "f", "/home/me/src/demo.c", "", 3, 0 },
	{ "0x1: f (C:/src/a b/demo.c:3)", 1, "f", "C:/src/a b/demo.c", "", 3, 0 },
	/* The dhat crate. */
	{ "0x10c3a1: alloc::alloc::alloc (alloc/src/alloc.rs:98:9)", 0x10c3a1,
	  "alloc::alloc::alloc", "alloc/src/alloc.rs", "", 98, 9 },
	{ "0xffffffffffffffff: ??? (???:0:0)", UINT64_MAX, "", "", "", 0, 0 },
	{ "0x1: <alloc::boxed::Box<dyn Fn(), A> as core::ops::Fn<()>>::call (src/boxed.rs:1:2)", 1,
	  "<alloc::boxed::Box<dyn Fn(), A> as core::ops::Fn<()>>::call", "src/boxed.rs", "", 1, 2 },
	{ "0x1: core::ops::function::FnOnce::call_once{{vtable.shim}} (D:\\a\\f.rs:250:5)", 1,
	  "core::ops::function::FnOnce::call_once{{vtable.shim}}", "D:\\a\\f.rs", "", 250, 5 },
	/* Nasty ones. */
	{ "0x1: f (int)", 1, "f (int)", "", "", 0, 0 },
	{ "0x1: f ()", 1, "f ()", "", "", 0, 0 },
	{ "0x1: f (a:b:c)", 1, "f (a:b:c)", "", "", 0, 0 },
	{ "0x1: f (x.c:99999999999)", 1, "f", "x.c", "", UINT32_MAX, 0 },
	{ "0x1: f (x.c:99999999999999999999999999)", 1, "f (x.c:99999999999999999999999999)", "",
	  "", 0, 0 },
	{ "0x1: f (:5)", 1, "f", "", "", 5, 0 },
	{ "0x1: f (x.c:5", 1, "f (x.c:5", "", "", 0, 0 },
	{ "0x1: (x.c:5)", 1, "(x.c:5)", "", "", 0, 0 },
	{ "0x1:  (x.c:5)", 1, "", "x.c", "", 5, 0 },
	{ "0x1: f (in )", 1, "f", "", "", 0, 0 },
	{ "0x1: )", 1, ")", "", "", 0, 0 },
	{ "0x1: ", 1, "", "", "", 0, 0 },
	{ "0x1: f (x.c:1:2:3)", 1, "f", "x.c:1", "", 2, 3 },
	{ "0x1: \xff\xfe (\xc3.c:1)", 1, "\xff\xfe", "\xc3.c", "", 1, 0 },
	{ "0x1: f (in /a) g (b.c:4)", 1, "f (in /a) g", "b.c", "", 4, 0 },
};

static void frames_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct allo_valgrind_frame frame;

		assert_true(allo_valgrind_frame_parse(allo_text_of(frames[i].text), &frame));
		assert_true(frame.address == frames[i].address);
		assert_text_equal(frame.name, frames[i].name);
		assert_text_equal(frame.file, frames[i].file);
		assert_text_equal(frame.object, frames[i].object);
		assert_int_equal(frame.line, frames[i].line);
		assert_int_equal(frame.column, frames[i].column);
	}
}

static void text_without_an_address_is_a_name(void **state)
{
	const char *odd[] = { "[root]",  "main",           "",        "0x: f (a.c:1)",
			      "0x1 f",   "0x1:f",          "1234: f", "0x11112222333344445: f",
			      " 0x1: f", "0X1: f (a.c:1)", "0x1",     "0x1:" };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct allo_valgrind_frame frame;

		assert_false(allo_valgrind_frame_parse(allo_text_of(odd[i]), &frame));
		assert_text_equal(frame.name, odd[i]);
		assert_int_equal(frame.address, 0);
		assert_int_equal(frame.file.len + frame.object.len + frame.line, 0);
	}
}

/* Every part of every frame: nothing is read beyond the end. */
static void cut_off_text_is_harmless(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		for (size_t len = 0; len <= strlen(frames[i].text); len++) {
			char *copy = malloc(len + 1); /* not one byte more than counts */
			struct allo_valgrind_frame frame;

			memcpy(copy + 1, frames[i].text, len);
			allo_valgrind_frame_parse((struct allo_text){ copy + 1, len }, &frame);
			assert_true(frame.name.len <= len);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_parsed),
		cmocka_unit_test(text_without_an_address_is_a_name),
		cmocka_unit_test(cut_off_text_is_harmless),
	};

	return cmocka_run_group_tests_name("valgrind_frame", tests, NULL, NULL);
}
