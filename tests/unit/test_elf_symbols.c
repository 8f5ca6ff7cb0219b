/* test_elf_symbols.c - run/elf_symbols.h: the same symbols as the dynamic linker finds. */
#include "base/defer.h"
#include "check.h"
#include "run/elf_symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "malloc", "qsort",        "strtoull",  "environ",
				     "memmem", "no_such_name", "mi_malloc", "" };

enum { NAMES = sizeof(names) / sizeof(*names) };

static void *libc(void)
{
	void *handle = dlopen("libc.so.6", RTLD_LAZY);

	assert_non_null(handle);
	return handle;
}

static const char *libc_path(void)
{
	struct link_map *map = NULL;

	assert_int_equal(dlinfo(libc(), RTLD_DI_LINKMAP, &map), 0);
	return map->l_name;
}

/* A copy of libc that tests change. */
struct copy {
	int fd;
	char *bytes;
	size_t len;
	Elf64_Shdr *hash; /* the section .gnu.hash, in `bytes` */
};

static struct copy copy_libc(void)
{
	ALLO_DEFER(allo_close_fd) int from = open(libc_path(), O_RDONLY | O_CLOEXEC);
	struct copy copy = { .fd = memfd_create("libc", MFD_CLOEXEC) };
	Elf64_Shdr *sections;
	struct stat status;

	assert_int_equal(fstat(from, &status), 0);
	copy.len = (size_t)status.st_size;
	assert_int_equal(ftruncate(copy.fd, status.st_size), 0);
	copy.bytes = mmap(NULL, copy.len, PROT_READ | PROT_WRITE, MAP_SHARED, copy.fd, 0);
	assert_ptr_not_equal(copy.bytes, MAP_FAILED);
	assert_int_equal(allo_elf_read(from, 0, copy.bytes, copy.len), copy.len);
	sections = (Elf64_Shdr *)(copy.bytes + ((Elf64_Ehdr *)copy.bytes)->e_shoff);
	for (int i = 0; i < ((Elf64_Ehdr *)copy.bytes)->e_shnum; i++) {
		if (sections[i].sh_type == SHT_GNU_HASH)
			copy.hash = &sections[i];
	}
	assert_non_null(copy.hash);
	return copy;
}

static void drop_copy(struct copy *copy)
{
	munmap(copy->bytes, copy->len);
	close(copy->fd);
}

static void find(int fd, struct allo_elf_symbol found[NAMES])
{
	memset(found, 0, NAMES * sizeof(*found));
	for (int i = 0; i < NAMES; i++)
		found[i].name = names[i];
	allo_elf_find_symbols(fd, found, NAMES);
}

static void assert_like_linker(int fd)
{
	struct allo_elf_symbol found[NAMES];

	find(fd, found);
	for (int i = 0; i < NAMES - 1; i++)
		assert_int_equal(found[i].is_defined, dlsym(libc(), names[i]) != NULL);
}

static void exports_are_those_of_the_dynamic_linker(void **state)
{
	ALLO_DEFER(allo_close_fd) int fd = open(libc_path(), O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_like_linker(fd);
}

static void a_file_without_a_hash_table_has_the_same(void **state)
{
	ALLO_DEFER(drop_copy) struct copy copy = copy_libc();

	(void)state;
	copy.hash->sh_type = SHT_NULL;
	assert_like_linker(copy.fd);
}

static void imports_are_found_too(void **state)
{
	ALLO_DEFER(allo_close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct allo_elf_symbol found[] = { { .name = "dlsym" }, { .name = "no_such_name" } };

	(void)state;
	allo_elf_find_symbols(fd, found, 2);
	assert_true(found[0].is_there && found[0].is_needed && !found[0].is_defined);
	assert_false(found[1].is_there);
}

/* Chains without an end, buckets behind the section, counts of 2^32 - 1. */
static void a_damaged_hash_table_ends(void **state)
{
	static const uint8_t fillings[] = { 0x00, 0x01, 0x02, 0x7f, 0x80, 0xfe, 0xff };
	ALLO_DEFER(drop_copy) struct copy copy = copy_libc();
	ALLO_DEFER(allo_free_pointer) char *kept = malloc(copy.hash->sh_size);
	char *section = copy.bytes + copy.hash->sh_offset;
	struct allo_elf_symbol found[NAMES];

	(void)state;
	memcpy(kept, section, copy.hash->sh_size);
	for (size_t i = 0; i < sizeof(fillings); i++) {
		for (size_t from = 0; from <= 16; from += 4) {
			memcpy(section, kept, copy.hash->sh_size);
			memset(section + from, fillings[i], copy.hash->sh_size - from);
			find(copy.fd, found);
			assert_false(found[NAMES - 2].is_there);
		}
	}
}

static void a_section_beyond_the_file_is_not_read(void **state)
{
	static const uint64_t wrong[] = { UINT64_MAX, INT64_MAX, 1 };
	ALLO_DEFER(drop_copy) struct copy copy = copy_libc();
	struct allo_elf_symbol found[NAMES];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		copy.hash->sh_size = wrong[i];
		find(copy.fd, found);
		copy.hash->sh_offset = wrong[i];
		find(copy.fd, found);
		assert_false(found[NAMES - 2].is_there);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_are_those_of_the_dynamic_linker),
		cmocka_unit_test(a_file_without_a_hash_table_has_the_same),
		cmocka_unit_test(imports_are_found_too),
		cmocka_unit_test(a_damaged_hash_table_ends),
		cmocka_unit_test(a_section_beyond_the_file_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
