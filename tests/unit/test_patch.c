/* test_patch.c - capture/patch/patch.h: which functions of real libraries can be patched. */
#include "check.h"

#include "capture/patch/machine.h"
#include "capture/stacks/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The functions that recording needs. */
static const char *const needed[] = { "malloc",   "calloc",        "realloc",        "free",
				      "memalign", "aligned_alloc", "posix_memalign", "valloc",
				      "pvalloc",  "_Znwm",         "_Znam",          "_ZdlPv",
				      "_ZdaPv" };

struct counts {
	unsigned functions, patched;
};

static void never_called(void)
{
	abort();
}

static bool is_needed(const char *name)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		if (strcmp(name, needed[i]) == 0)
			return true;
	}
	return false;
}

/* Prepares patches of all functions that a library exports; applies none. */
static struct counts prepare_all(const char *library, bool has_needed)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *original;
	struct link_map *map;
	struct counts counts = { 0 };
	char command[4200], line[4096], name[2048];
	unsigned long address, size;
	FILE *out;

	if (!handle)
		return counts;
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	snprintf(command, sizeof(command), "nm -D --defined-only -S '%s'", map->l_name);
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		struct allo_patch patch;
		char kind;

		if (sscanf(line, "%lx %lx %c %2047s", &address, &size, &kind, name) != 4 ||
		    !strchr("TW", kind))
			continue;
		name[strcspn(name, "@")] = '\0';
		counts.functions++;
		if (allo_patch_prepare(&patch, (void *)(map->l_addr + address), size,
				       (void *)never_called, &original)) {
			assert_memory_equal((void *)patch.entry, patch.old_bytes, patch.length);
			counts.patched++;
		} else if (has_needed && is_needed(name)) {
			fail_msg("%s of %s: %s", name, library,
				 allo_patch_refusal_text(patch.refusal));
		}
	}
	assert_int_equal(pclose(out), 0);
	print_message("%s: %u of %u functions can be patched\n", library, counts.patched,
		      counts.functions);
	return counts;
}

static void most_functions_of_libraries_can_be_patched_and_all_that_allocate(void **state)
{
	static const struct {
		const char *name;
		bool has_needed;
	} libraries[] = {
		{ "libc.so.6", true },        { "libstdc++.so.6", true },   { "libm.so.6", false },
		{ "libmimalloc.so.2", true }, { "libtcmalloc.so.4", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		struct counts counts = prepare_all(libraries[i].name, libraries[i].has_needed);

		assert_true(counts.patched >= counts.functions * 80 / 100);
	}
}

/* In a child: no mprotect() with PROT_EXEC. */
static void forbid_executable_memory(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static void without_executable_memory_a_function_stays_as_it_is(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		struct allo_patch patch;
		void *original;

		if (!allo_patch_prepare(&patch, (void *)getpid, 0, (void *)never_called, &original))
			_exit(1);
		forbid_executable_memory();
		if (allo_patch_seal())
			_exit(2);
		if (allo_patch_apply(&patch) || patch.refusal != ALLO_PATCH_NO_EXEC)
			_exit(3);
		_exit(getpid() > 0 ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no seccomp filters here */
	assert_int_equal(status, 0);
}

static void data_is_no_code(void **state)
{
	static const uint8_t code[64] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 };
	struct allo_patch patch;
	uint8_t *heap = malloc(64);
	void *original;

	(void)state;
	memcpy(heap, code, sizeof(code));
	assert_false(
		allo_patch_prepare(&patch, code, sizeof(code), (void *)never_called, &original));
	assert_int_equal(patch.refusal, ALLO_PATCH_UNKNOWN);
	assert_false(
		allo_patch_prepare(&patch, heap, sizeof(code), (void *)never_called, &original));
	assert_int_equal(patch.refusal, ALLO_PATCH_UNKNOWN);
	free(heap);
}

/* Moves the first instruction of `words`, which end with ret, to an address far away. */
static enum allo_patch_refusal move_arm64(const uint32_t words[4], uint32_t moved[16])
{
	struct allo_patch_code code = { (const uint8_t *)words, 16, 0x10000 };

	memset(moved, 0, 64);
	return allo_machine_arm64.move(&code, (uint8_t *)moved, 0x4000000);
}

enum {
	RET = 0xd65f03c0u,
	NOP = 0xd503201fu,
	WAY = 0x58000050u, /* ldr x16, literal behind the next instruction */
	BR_X16 = 0xd61f0200u
};

static void an_instruction_for_arm64_is_moved_with_a_way_back(void **state)
{
	uint32_t moved[16];
	uint64_t back;

	(void)state;
	assert_int_equal(move_arm64((uint32_t[]){ 0xa9bf7bfd, NOP, NOP, RET }, moved),
			 ALLO_PATCH_FINE);
	assert_int_equal(moved[0], 0xa9bf7bfd); /* stp x29, x30, [sp, #-16]! */
	assert_int_equal(moved[1], WAY);
	assert_int_equal(moved[2], BR_X16);
	memcpy(&back, &moved[3], sizeof(back));
	assert_int_equal(back, 0x10004);
}

static void an_address_of_arm64_code_becomes_an_absolute_one(void **state)
{
	uint32_t moved[16];
	uint64_t value;

	(void)state;
	/* adrp x1, 0x12000: two pages further */
	assert_int_equal(move_arm64((uint32_t[]){ 0xd0000001, NOP, NOP, RET }, moved),
			 ALLO_PATCH_FINE);
	assert_int_equal(moved[0], 0x580000c1); /* ldr x1, 24 bytes further */
	memcpy(&value, &moved[6], sizeof(value));
	assert_int_equal(value, 0x12000);
	/* adr x1, 0x0fffc */
	assert_int_equal(move_arm64((uint32_t[]){ 0x10ffffe1, NOP, NOP, RET }, moved),
			 ALLO_PATCH_FINE);
	memcpy(&value, &moved[6], sizeof(value));
	assert_int_equal(value, 0x0fffc);
}

static void functions_for_arm64_that_call_end_or_repeat_at_once_are_refused(void **state)
{
	uint32_t moved[16];

	(void)state;
	assert_int_equal(move_arm64((uint32_t[]){ 0x94000004, NOP, NOP, RET }, moved),
			 ALLO_PATCH_CALL); /* bl */
	assert_int_equal(move_arm64((uint32_t[]){ 0xd63f0000, NOP, NOP, RET }, moved),
			 ALLO_PATCH_CALL); /* blr x0 */
	assert_int_equal(move_arm64((uint32_t[]){ RET, NOP, NOP, RET }, moved), ALLO_PATCH_END);
	assert_int_equal(move_arm64((uint32_t[]){ 0xd61f0000, NOP, NOP, RET }, moved),
			 ALLO_PATCH_END); /* br x0 */
	assert_int_equal(move_arm64((uint32_t[]){ NOP, NOP, 0xb5ffffc0, RET }, moved),
			 ALLO_PATCH_BRANCH); /* cbnz x0, to the start */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_functions_of_libraries_can_be_patched_and_all_that_allocate),
		cmocka_unit_test(without_executable_memory_a_function_stays_as_it_is),
		cmocka_unit_test(data_is_no_code),
		cmocka_unit_test(an_instruction_for_arm64_is_moved_with_a_way_back),
		cmocka_unit_test(an_address_of_arm64_code_becomes_an_absolute_one),
		cmocka_unit_test(functions_for_arm64_that_call_end_or_repeat_at_once_are_refused),
	};

	allo_modules_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
