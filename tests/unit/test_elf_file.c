/* test_elf_file.c - symbols/elf_file.h: files that change while they are read. */
#include "base/defer.h"
#include "scratch.h"
#include "symbols/elf_file.h"
#include "symbols/source_lines.h"
#include "symbols/symbol_table.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* Copies this very program. */
static void copy_program(const char *path)
{
	ALLO_DEFER(allo_close_fd) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ALLO_DEFER(allo_close_fd) int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat status;

	assert_int_equal(fstat(from, &status), 0);
	for (off_t left = status.st_size; left > 0;) {
		ssize_t done = sendfile(to, from, NULL, (size_t)left);

		assert_true(done > 0);
		left -= done;
	}
}

static void tell(void *context, size_t more)
{
	(void)context;
	(void)more;
}

/* The file shrinks after it was opened: its sections are missing then. */
static void a_file_that_shrinks_has_no_names(void **state)
{
	ALLO_DEFER(allo_elf_close) struct allo_elf_file file = { 0 };
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_function_names_done) struct allo_function_names names = { 0 };
	const struct allo_spot_progress progress = { tell, NULL };
	const struct allo_spot spot = { .address = 0x2000 };
	struct allo_error err = { 0 };
	struct scratch scratch;
	bool has_table;

	(void)state;
	scratch_init(&scratch);
	copy_program(scratch_path(&scratch, "program"));
	assert_true(allo_elf_open(&file, NULL, scratch_path(&scratch, "program")));
	assert_true(allo_vec_append(&spots.spots, &spot, 1));
	assert_int_equal(truncate(scratch_path(&scratch, "program"), 64), 0);
	assert_true(allo_symbol_table_find(file.elf, SHT_SYMTAB, &spots, &has_table, &err));
	assert_true(allo_symbol_table_find(file.elf, SHT_DYNSYM, &spots, &has_table, &err));
	assert_true(allo_source_lines_find(file.elf, file.size, &spots, &profile, &names, &progress,
					   &err));
	assert_null(spots.spots.at[0].symbol.name);
	scratch_done(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_file_that_shrinks_has_no_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
