/* test_exec_target.c - capture/hooks/exec_target.h: files that are not what they seem. */
#include "check.h"
#include "random.h"
#include "scratch.h"

#include "capture/hooks/exec_target.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { SIZE = 1 << 20 };

static enum allo_libc libc;

static void write_program(const char *path, const char *data, size_t len)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

static void ordinary_programs_are_recorded(void **state)
{
	(void)state;
	assert_int_equal(allo_exec_target_check(AT_FDCWD, "/bin/sh", &libc), ALLO_SKIP_NONE);
	assert_int_equal(allo_exec_target_check(AT_FDCWD, "/no/such/file", &libc), ALLO_SKIP_NONE);
	assert_int_equal(allo_exec_target_check(AT_FDCWD, "/", &libc), ALLO_SKIP_NONE);
	assert_int_equal(allo_exec_target_check(AT_FDCWD, "", &libc), ALLO_SKIP_NONE);
	assert_int_equal(allo_exec_target_check_fd(-1, &libc), ALLO_SKIP_NONE);
}

static void libraries_of_sanitizers_are_known(void **state)
{
	(void)state;
	assert_int_equal(allo_exec_target_sanitizer("libasan.so.8"), ALLO_SKIP_ASAN);
	assert_int_equal(allo_exec_target_sanitizer("libclang_rt.tsan-x86_64.so"), ALLO_SKIP_TSAN);
	assert_int_equal(allo_exec_target_sanitizer("libubsan.so.1"), ALLO_SKIP_NONE);
	assert_int_equal(allo_exec_target_sanitizer(""), ALLO_SKIP_NONE);
}

static void scripts_that_lead_nowhere_are_harmless(void **state)
{
	static const char *const texts[] = { "#!", "#! ",   "#!\n/bin/sh", "#!/no/such",
					     "",   "\177E", "#!//",        "echo" };
	struct scratch scratch;
	const char *path;
	char text[400];

	(void)state;
	scratch_init(&scratch);
	path = scratch_path(&scratch, "script");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		write_program(path, texts[i], strlen(texts[i]));
		assert_int_equal(allo_exec_target_check(AT_FDCWD, path, &libc), ALLO_SKIP_NONE);
	}
	/* Its own interpreter. */
	snprintf(text, sizeof(text), "#!%s\n", path);
	write_program(path, text, strlen(text));
	assert_int_equal(allo_exec_target_check(AT_FDCWD, path, &libc), ALLO_SKIP_NONE);
	memset(text, 'a', sizeof(text));
	memcpy(text, "#!/", 3);
	write_program(path, text, sizeof(text));
	assert_int_equal(allo_exec_target_check(AT_FDCWD, path, &libc), ALLO_SKIP_NONE);
	scratch_done(&scratch);
}

/* Each byte of the headers and tables gets another value at some time. */
static void damaged_programs_are_harmless(void **state)
{
	static char data[SIZE], damaged[SIZE];
	FILE *file = fopen("/bin/sh", "re");
	struct scratch scratch;
	uint64_t random = 1;
	const char *path;
	size_t len;

	(void)state;
	assert_non_null(file);
	len = fread(data, 1, sizeof(data), file);
	fclose(file);
	assert_true(len > 4096);
	scratch_init(&scratch);
	path = scratch_path(&scratch, "damaged");
	for (int i = 0; i < 1000; i++) {
		size_t kept = draw(&random, 8) ? len : draw(&random, (uint32_t)len);

		memcpy(damaged, data, len);
		for (int k = 0; k < 4; k++)
			damaged[draw(&random, draw(&random, 2) ? 1024 : (uint32_t)len)] = (char)
				draw(&random, 256);
		write_program(path, damaged, kept);
		allo_exec_target_check(AT_FDCWD, path, &libc);
	}
	scratch_done(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_programs_are_recorded),
		cmocka_unit_test(libraries_of_sanitizers_are_known),
		cmocka_unit_test(scripts_that_lead_nowhere_are_harmless),
		cmocka_unit_test(damaged_programs_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
