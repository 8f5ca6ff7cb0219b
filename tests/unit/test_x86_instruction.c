/* test_x86_instruction.c - capture/patch/x86_instruction.h: compares lengths with objdump's. */
#include "check.h"

#include "capture/patch/x86_instruction.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONGEST = 15 };

/* A line of objdump: "  address:\tbytes\tname operands". */
struct line {
	uint8_t bytes[LONGEST];
	size_t len;
	const char *name;
};

static bool parse(const char *text, struct line *line)
{
	const char *at = strchr(text, '\t');
	int used;
	unsigned byte;

	line->len = 0;
	if (!at)
		return false;
	for (at++; line->len < LONGEST && sscanf(at, "%2x%n", &byte, &used) == 1 && used == 2;
	     at += 3)
		line->bytes[line->len++] = (uint8_t)byte;
	line->name = strchr(at, '\t');
	return line->len > 0 && line->name;
}

/* objdump joins fwait with the next instruction, and shows data as bytes or lone prefixes. */
static bool is_one_instruction(const struct line *line)
{
	struct allo_x86_instruction x;

	if (strstr(line->name, "(bad)") || strstr(line->name, ".byte"))
		return false;
	if (line->bytes[0] == 0x9b && line->len > 1)
		return false;
	return line->len > 1 || allo_x86_decode(line->bytes, 1, &x) ||
	       !strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", line->bytes[0]);
}

/* The number of instructions in a file; all must have objdump's lengths. */
static unsigned long compare(const char *path)
{
	char command[256], text[256];
	unsigned long count = 0, different = 0;
	struct allo_x86_instruction x;
	struct line line;
	FILE *out;

	snprintf(command, sizeof(command), "objdump -d -w '%s'", path);
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(text, sizeof(text), out)) {
		if (!parse(text, &line) || !is_one_instruction(&line))
			continue;
		count++;
		if (allo_x86_decode(line.bytes, line.len, &x) && x.length == line.len)
			continue;
		different++;
		print_message("%s: decoded length %u: %s", path, x.length, text);
	}
	assert_int_equal(pclose(out), 0);
	assert_int_equal(different, 0);
	return count;
}

static void every_instruction_of_libraries_has_the_length_that_objdump_finds(void **state)
{
	static const char *const libraries[] = { "libc.so.6",
						 "libm.so.6",
						 "libstdc++.so.6",
						 "libjemalloc.so.2",
						 "libtcmalloc.so.4",
						 "libmimalloc.so.2",
						 "libtcmalloc_minimal.so.4" };
	unsigned long count = 0;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/lib/x86_64-linux-gnu/%s", libraries[i]);
		if (access(path, R_OK) == 0)
			count += compare(path);
	}
	print_message("%lu instructions\n", count);
	assert_true(count > 300000);
}

static const struct known {
	const char *name;
	uint8_t bytes[LONGEST];
	uint8_t length, relative_at, target_at;
	enum allo_x86_kind kind;
} known[] = {
	{ "ret", { 0xc3 }, 1, 0, 0, ALLO_X86_END },
	{ "repz ret", { 0xf3, 0xc3 }, 2, 0, 0, ALLO_X86_END },
	{ "int3", { 0xcc }, 1, 0, 0, ALLO_X86_END },
	{ "ud2", { 0x0f, 0x0b }, 2, 0, 0, ALLO_X86_END },
	{ "jmp *%rax", { 0xff, 0xe0 }, 2, 0, 0, ALLO_X86_END },
	{ "jmp *4(%rip)", { 0xff, 0x25, 4, 0, 0, 0 }, 6, 2, 0, ALLO_X86_END },
	{ "call *%rax", { 0xff, 0xd0 }, 2, 0, 0, ALLO_X86_CALL },
	{ "call", { 0xe8, 0, 0, 0, 0 }, 5, 0, 1, ALLO_X86_CALL },
	{ "jmp", { 0xe9, 0, 0, 0, 0 }, 5, 0, 1, ALLO_X86_JUMP },
	{ "bnd jmp", { 0xf2, 0xe9, 0, 0, 0, 0 }, 6, 0, 2, ALLO_X86_JUMP },
	{ "jmp short", { 0xeb, 0 }, 2, 0, 1, ALLO_X86_JUMP },
	{ "je short", { 0x74, 0 }, 2, 0, 1, ALLO_X86_BRANCH },
	{ "je", { 0x0f, 0x84, 0, 0, 0, 0 }, 6, 0, 2, ALLO_X86_BRANCH },
	{ "loop", { 0xe2, 0 }, 2, 0, 1, ALLO_X86_LOOP },
	{ "jrcxz", { 0xe3, 0 }, 2, 0, 1, ALLO_X86_LOOP },
	{ "xbegin", { 0xc7, 0xf8, 0, 0, 0, 0 }, 6, 0, 0, ALLO_X86_LOOP },
	{ "cmpb $1,4(%rip)", { 0x80, 0x3d, 4, 0, 0, 0, 1 }, 7, 2, 0, ALLO_X86_PLAIN },
	{ "mov 4(%rip),%rax", { 0x48, 0x8b, 5, 4, 0, 0, 0 }, 7, 3, 0, ALLO_X86_PLAIN },
	{ "mov %fs:0,%rax", { 0x64, 0x48, 0x8b, 4, 0x25, 0, 0, 0, 0 }, 9, 0, 0, ALLO_X86_PLAIN },
	{ "movabs", { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, 0, 0, ALLO_X86_PLAIN },
	{ "mov $1,%ax", { 0x66, 0xb8, 1, 0 }, 4, 0, 0, ALLO_X86_PLAIN },
	{ "testl $1,(%rax)", { 0xf7, 0, 1, 0, 0, 0 }, 6, 0, 0, ALLO_X86_PLAIN },
	{ "negl (%rax)", { 0xf7, 0x18 }, 2, 0, 0, ALLO_X86_PLAIN },
	{ "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, 0, 0, ALLO_X86_PLAIN },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, 0, 0, ALLO_X86_PLAIN },
};

static void instructions_that_depend_on_their_place_are_told_apart(void **state)
{
	struct allo_x86_instruction x;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		print_message("%s\n", known[i].name);
		assert_true(allo_x86_decode(known[i].bytes, LONGEST, &x));
		assert_int_equal(x.length, known[i].length);
		assert_int_equal(x.relative_at, known[i].relative_at);
		assert_int_equal(x.target_at, known[i].target_at);
		assert_int_equal(x.kind, known[i].kind);
	}
}

static void an_instruction_that_is_cut_short_is_not_known(void **state)
{
	struct allo_x86_instruction x;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		for (size_t size = 0; size < known[i].length; size++)
			assert_false(allo_x86_decode(known[i].bytes, size, &x) && x.length > size);
		assert_false(allo_x86_decode(known[i].bytes, 0, &x));
	}
}

static void opcodes_without_meaning_are_not_known(void **state)
{
	static const uint8_t bytes[][LONGEST] = {
		{ 0x06 },
		{ 0x27 },
		{ 0x60 },
		{ 0x82 },
		{ 0x9a },
		{ 0xd4 },
		{ 0xea },
		{ 0x0f, 0x04 },
		{ 0xc4, 0xe9, 0, 0 }, /* VEX with map 9 */
		{ 0xd5, 0, 0x90 },    /* REX2 */
		{ 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		  0x66, 0x66 },
	};
	struct allo_x86_instruction x;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		assert_false(allo_x86_decode(bytes[i], LONGEST, &x));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_of_libraries_has_the_length_that_objdump_finds),
		cmocka_unit_test(instructions_that_depend_on_their_place_are_told_apart),
		cmocka_unit_test(an_instruction_that_is_cut_short_is_not_known),
		cmocka_unit_test(opcodes_without_meaning_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
