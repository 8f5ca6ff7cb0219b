/* test_module_list.c - capture/stacks/modules.h with the list: against the dynamic linker. */
#include "check.h"

#include "capture/stacks/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libBrokenLocale.so.1" /* a small one of glibc */

enum { PAGE = 4096, LOOKS = 300000 };

static int use_list(void **state)
{
	(void)state;
	setenv("ALLO_MODULES", "list", 1);
	allo_modules_init();
	return 0;
}

/* The code of a module; 0 if it has none. */
static uint64_t code_of(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	}
	return 0;
}

static int compare(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t address = code_of(info), end = 0, header = 0;
	unsigned *compared = context;
	struct allo_code_module module;

	(void)size;
	assert_true(allo_module_find(address, &module));
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD)
			end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
		if (part->p_type == PT_GNU_EH_FRAME)
			header = info->dlpi_addr + part->p_vaddr;
	}
	assert_int_equal(module.bias, info->dlpi_addr);
	assert_int_equal(module.end, end);
	assert_true(module.start <= address);
	assert_int_equal((uint64_t)(uintptr_t)module.unwind_header, header);
	assert_int_equal(module.is_program, info->dlpi_name[0] == '\0');
	++*compared;
	return 0;
}

static void modules_are_those_of_the_dynamic_linker(void **state)
{
	unsigned compared = 0;

	(void)state;
	dl_iterate_phdr(compare, &compared);
	assert_true(compared >= 4);
}

static void a_module_has_the_path_that_it_was_loaded_from(void **state)
{
	char path[PATH_MAX], whole[PATH_MAX], shown[PATH_MAX];
	struct allo_code_module module;
	size_t len;
	Dl_info info;

	(void)state;
	assert_int_not_equal(dladdr((void *)dlopen, &info), 0);
	assert_true(allo_module_find((uint64_t)(uintptr_t)dlopen, &module));
	len = allo_module_path(&module, path, sizeof(path));
	assert_int_equal(len, strlen(path));
	assert_non_null(realpath(info.dli_fname, whole));
	assert_non_null(realpath(path, shown));
	assert_string_equal(shown, whole);
}

/* A function of a library, and the library. */
static uint64_t open_library(void **library)
{
	*library = dlopen(LIBRARY, RTLD_NOW);
	if (!*library)
		skip();
	return (uint64_t)(uintptr_t)dlsym(*library, "__ctype_get_mb_cur_max");
}

static void a_library_is_found_after_dlopen_and_not_after_dlclose(void **state)
{
	struct allo_code_module module, again;
	char path[PATH_MAX];
	uint64_t function;
	void *library;

	(void)state;
	function = open_library(&library);
	assert_int_not_equal(function, 0);
	assert_true(allo_module_find(function, &module));
	assert_true(allo_module_path(&module, path, sizeof(path)) > 0);
	assert_non_null(strstr(path, "libBrokenLocale"));
	assert_true(allo_module_is_loaded(module.start, module.identity));
	assert_int_equal(dlclose(library), 0);
	/* Even if nobody says so: libc closes its own libraries by other ways. */
	assert_false(allo_module_is_loaded(module.start, module.identity));
	allo_modules_closed();
	assert_false(allo_module_find(function, &again));
}

static atomic_bool is_over;

/* As dlclose() and dlopen() of another thread do it with a whole library. */
static void *hide_and_show(void *page)
{
	while (!is_over) {
		mprotect(page, PAGE, PROT_NONE);
		mprotect(page, PAGE, PROT_READ);
	}
	return NULL;
}

static void headers_may_go_while_they_are_read(void **state)
{
	struct allo_code_module module;
	pthread_t thread;
	void *library;

	(void)state;
	assert_true(allo_module_find(open_library(&library), &module));
	is_over = false;
	assert_int_equal(pthread_create(&thread, NULL, hide_and_show, (void *)module.start), 0);
	for (int i = 0; i < LOOKS; i++)
		allo_module_is_loaded(module.start, module.identity);
	is_over = true;
	pthread_join(thread, NULL);
	assert_true(allo_module_is_loaded(module.start, module.identity));
	dlclose(library);
}

/* The same while the module is looked up for the first time. */
static void headers_may_go_while_a_module_is_found(void **state)
{
	struct allo_code_module module;
	pthread_t thread;
	uint64_t function;
	void *library;

	(void)state;
	function = open_library(&library);
	assert_true(allo_module_find(function, &module));
	is_over = false;
	assert_int_equal(pthread_create(&thread, NULL, hide_and_show, (void *)module.start), 0);
	for (int i = 0; i < LOOKS / 100; i++) {
		allo_modules_closed();
		if (allo_module_find(function, &module))
			assert_in_range(function, module.start, module.end - 1);
	}
	is_over = true;
	pthread_join(thread, NULL);
	dlclose(library);
}

/* Refuses the call by which the headers are copied. */
static bool refuse_copies(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* 0 if libraries come and go as ever; 2 if there are no filters here. */
static int use_without_copies(void)
{
	struct allo_code_module module, again;
	uint64_t function;
	void *library;

	if (!refuse_copies())
		return 2;
	function = open_library(&library);
	if (!allo_module_find(function, &module) ||
	    !allo_module_is_loaded(module.start, module.identity))
		return 1;
	dlclose(library);
	return allo_module_is_loaded(module.start, module.identity) ||
	       allo_module_find(function, &again);
}

static void a_filter_may_refuse_copies(void **state)
{
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0)
		_exit(use_without_copies());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void generated_code_is_in_no_module(void **state)
{
	struct allo_code_module module;
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(code != MAP_FAILED);
	for (int i = 0; i < 1000; i++)
		assert_false(
			allo_module_find((uint64_t)(uintptr_t)code + 16 * (unsigned)i, &module));
	munmap(code, PAGE);
}

static void data_are_in_no_module_that_has_no_code_there(void **state)
{
	struct allo_code_module module;
	int here;

	(void)state;
	assert_false(allo_module_find((uint64_t)(uintptr_t)&here, &module));
	assert_false(allo_module_find(0, &module));
	assert_false(allo_module_find(UINT64_MAX, &module));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_are_those_of_the_dynamic_linker),
		cmocka_unit_test(a_module_has_the_path_that_it_was_loaded_from),
		cmocka_unit_test(a_library_is_found_after_dlopen_and_not_after_dlclose),
		cmocka_unit_test(a_filter_may_refuse_copies),
		cmocka_unit_test(headers_may_go_while_they_are_read),
		cmocka_unit_test(headers_may_go_while_a_module_is_found),
		cmocka_unit_test(generated_code_is_in_no_module),
		cmocka_unit_test(data_are_in_no_module_that_has_no_code_there),
	};

	return cmocka_run_group_tests(tests, use_list, NULL);
}
