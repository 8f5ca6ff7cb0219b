/* test_target.c - run/target.h. */
#include "check.h"
#include "scratch.h"

#include "run/target.h"

#include <elf.h>
#include <sys/stat.h>

#if defined(__x86_64__)
enum { HERE = EM_X86_64, ELSEWHERE = EM_AARCH64 };
#define LINKER "/lib64/ld-linux-x86-64.so.2"
#else
enum { HERE = EM_AARCH64, ELSEWHERE = EM_X86_64 };
#define LINKER "/lib/ld-linux-aarch64.so.1"
#endif

/* A program as small as it can be. */
struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	char linker[64];
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[2];
	char names[32];
};

static struct elf make_elf(const char *linker)
{
	struct elf elf = {
		.head = { .e_type = ET_DYN,
			  .e_machine = HERE,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct elf, segments),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 2,
			  .e_shoff = offsetof(struct elf, sections),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3 },
		.segments = { { .p_type = PT_LOAD },
			      { .p_type = linker ? PT_INTERP : PT_NULL,
				.p_offset = offsetof(struct elf, linker),
				.p_filesz = linker ? strlen(linker) + 1 : 0 } },
		.sections = { { .sh_type = SHT_NULL },
			      { .sh_type = SHT_DYNSYM,
				.sh_offset = offsetof(struct elf, symbols),
				.sh_size = sizeof(elf.symbols),
				.sh_link = 2 },
			      { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct elf, names),
				.sh_size = sizeof(elf.names) } },
		.symbols = { { .st_name = 0 }, { .st_name = 1 } },
	};

	memcpy(elf.head.e_ident, ELFMAG, SELFMAG);
	elf.head.e_ident[EI_CLASS] = ELFCLASS64;
	elf.head.e_ident[EI_DATA] = ELFDATA2LSB;
	elf.head.e_ident[EI_VERSION] = EV_CURRENT;
	if (linker)
		strcpy(elf.linker, linker);
	return elf;
}

static const char *write_program(struct scratch *scratch, const char *name, const void *data,
				 size_t len)
{
	const char *path = scratch_write(scratch, name, data, len);

	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static const char *write_script(struct scratch *scratch, const char *name, const char *text)
{
	return write_program(scratch, name, text, strlen(text));
}

/* The result for a program with this name; the message is in `err`. */
static enum allo_target_fault judge(const char *name, struct allo_target *target,
				    struct allo_error *err)
{
	bool ok;

	*err = (struct allo_error){ 0 };
	ok = allo_target_find(target, name, err) && allo_target_check(target, name, err);
	assert_true(ok == !allo_failed(err));
	assert_true(ok == (target->fault == ALLO_TARGET_FINE));
	return target->fault;
}

static enum allo_target_fault judge_elf(struct scratch *scratch, const struct elf *elf,
					struct allo_error *err)
{
	struct allo_target target;

	return judge(write_program(scratch, "program", elf, sizeof(*elf)), &target, err);
}

static void programs_for_glibc_are_fine(void **state)
{
	struct elf elf = make_elf(LINKER);
	struct allo_error err;

	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_FINE);
	elf.head.e_type = ET_EXEC;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_FINE);
}

static void static_programs_are_refused(void **state)
{
	struct elf elf = make_elf(NULL);
	struct allo_error err;

	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "statically linked"));
	assert_true(err.hint[0] != '\0');
	elf.head.e_type = ET_EXEC;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
}

static void the_dynamic_linker_is_a_program_too(void **state)
{
	struct elf elf = make_elf(NULL);
	struct allo_target target;
	struct allo_error err;
	const char *path = write_program(*state, "ld-linux-x86-64.so.2", &elf, sizeof(elf));

	assert_int_equal(judge(path, &target, &err), ALLO_TARGET_FINE);
}

static void other_machines_are_refused(void **state)
{
	struct elf elf = make_elf(LINKER);
	struct allo_error err;

	elf.head.e_machine = ELSEWHERE;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "is a program for"));
	elf.head.e_machine = 12345;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "number 12345"));
	elf = make_elf(LINKER);
	elf.head.e_ident[EI_DATA] = ELFDATA2MSB;
	elf.head.e_machine = EM_S390 << 8;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "s390x"));
	elf = make_elf(LINKER);
	elf.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "32-bit"));
}

static void other_c_libraries_are_refused(void **state)
{
	struct elf bionic = make_elf("/system/bin/linker64");
	struct allo_error err;

	assert_int_equal(judge_elf(*state, &bionic, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "linker64"));
}

static void a_linker_that_is_not_there_is_named(void **state)
{
	struct elf elf = make_elf("/nowhere/ld-linux-of-ours.so.2");
	struct allo_error err;

	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_MISSING);
	assert_non_null(strstr(err.message, "/nowhere/ld-linux-of-ours.so.2"));
}

static void sanitizers_are_refused(void **state)
{
	struct elf elf = make_elf(LINKER);
	struct allo_error err;

	strcpy(elf.names + 1, "__asan_init");
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "AddressSanitizer"));
	assert_string_equal(err.hint, "build it without -fsanitize=address");
	elf.symbols[1].st_shndx = 1;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
	strcpy(elf.names + 1, "__asan_init_v5");
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_FINE);
}

static void an_allocator_in_the_program_is_noticed(void **state)
{
	struct elf elf = make_elf(LINKER);
	struct allo_target target;
	struct allo_error err;

	strcpy(elf.names + 1, "malloc");
	judge(write_program(*state, "program", &elf, sizeof(elf)), &target, &err);
	assert_int_equal(target.fault, ALLO_TARGET_FINE);
	assert_false(target.defines_malloc);
	elf.symbols[1].st_shndx = 1;
	judge(write_program(*state, "program", &elf, sizeof(elf)), &target, &err);
	assert_int_equal(target.fault, ALLO_TARGET_FINE);
	assert_true(target.defines_malloc);
}

static void damaged_symbols_are_none(void **state)
{
	const struct {
		size_t at, len;
		uint64_t value;
	} damages[] = {
		{ offsetof(struct elf, head.e_shoff), 8, 0 },
		{ offsetof(struct elf, head.e_shoff), 8, UINT64_MAX },
		{ offsetof(struct elf, head.e_shoff), 8, INT64_MAX },
		{ offsetof(struct elf, head.e_shentsize), 2, 8 },
		{ offsetof(struct elf, head.e_shnum), 2, 0 },
		{ offsetof(struct elf, head.e_shnum), 2, UINT16_MAX },
		{ offsetof(struct elf, sections[1].sh_link), 4, 3 },
		{ offsetof(struct elf, sections[1].sh_link), 4, UINT32_MAX },
		{ offsetof(struct elf, sections[1].sh_link), 4, 1 },
		{ offsetof(struct elf, sections[1].sh_offset), 8, UINT64_MAX - 24 },
		{ offsetof(struct elf, sections[1].sh_size), 8, 0 },
		{ offsetof(struct elf, sections[2].sh_offset), 8, UINT64_MAX - 8 },
		{ offsetof(struct elf, sections[2].sh_size), 8, 0 },
		{ offsetof(struct elf, sections[2].sh_size), 8, UINT64_MAX },
		{ offsetof(struct elf, sections[2].sh_size), 8, 200 << 20 },
		{ offsetof(struct elf, symbols[1].st_name), 4, 32 },
		{ offsetof(struct elf, symbols[1].st_name), 4, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		struct elf elf = make_elf(LINKER);
		struct allo_error err;

		strcpy(elf.names + 1, "__asan_init");
		memcpy((char *)&elf + damages[i].at, &damages[i].value, damages[i].len);
		assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_FINE);
	}
}

static void symbols_may_be_more_than_there_are(void **state)
{
	struct elf elf = make_elf(LINKER);
	struct allo_error err;

	strcpy(elf.names + 1, "__asan_init");
	elf.sections[1].sh_size = UINT64_MAX;
	assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_REFUSED);
}

static void damaged_files_are_found_out(void **state)
{
	struct allo_error err;
	struct elf elf;

	const struct {
		size_t at, len;
		uint64_t value;
	} damages[] = {
		{ offsetof(struct elf, head.e_type), 2, ET_REL },
		{ offsetof(struct elf, head.e_type), 2, ET_CORE },
		{ offsetof(struct elf, head.e_phentsize), 2, 0 },
		{ offsetof(struct elf, head.e_phentsize), 2, 32 },
		{ offsetof(struct elf, head.e_phnum), 2, 0 },
		{ offsetof(struct elf, head.e_phnum), 2, UINT16_MAX },
		{ offsetof(struct elf, head.e_phoff), 8, UINT64_MAX },
		{ offsetof(struct elf, head.e_phoff), 8, INT64_MAX },
		{ offsetof(struct elf, head.e_phoff), 8, sizeof(struct elf) },
		{ offsetof(struct elf, segments[1].p_offset), 8, UINT64_MAX - 3 },
		{ offsetof(struct elf, segments[1].p_offset), 8, INT64_MAX },
		{ offsetof(struct elf, segments[1].p_filesz), 8, 0 },
		{ offsetof(struct elf, segments[1].p_filesz), 8, 1 },
		{ offsetof(struct elf, segments[1].p_filesz), 8, 5 }, /* no NUL there */
		{ offsetof(struct elf, segments[1].p_filesz), 8, PATH_MAX + 1 },
		{ offsetof(struct elf, segments[1].p_filesz), 8, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		elf = make_elf(LINKER);
		memcpy((char *)&elf + damages[i].at, &damages[i].value, damages[i].len);
		assert_int_equal(judge_elf(*state, &elf, &err), ALLO_TARGET_UNUSABLE);
	}
}

static void no_part_of_a_program_passes_for_it(void **state)
{
	struct elf elf = make_elf(LINKER);
	size_t whole = offsetof(struct elf, linker) + sizeof(LINKER);
	struct allo_target target;
	struct allo_error err;

	/* Less than the magic number is a script for the shell. */
	for (size_t len = SELFMAG; len < whole; len++) {
		const char *path = write_program(*state, "program", &elf, len);

		assert_int_equal(judge(path, &target, &err), ALLO_TARGET_UNUSABLE);
	}
	assert_int_equal(judge(write_program(*state, "program", &elf, whole), &target, &err),
			 ALLO_TARGET_FINE);
}

static void any_byte_may_be_anything(void **state)
{
	const struct elf whole = make_elf(LINKER);
	const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (size_t i = 0; i < sizeof(whole); i++) {
		for (size_t k = 0; k < sizeof(values); k++) {
			struct elf elf = whole;
			struct allo_error err;

			((unsigned char *)&elf)[i] = values[k];
			judge_elf(*state, &elf, &err);
		}
	}
}

static void scripts_are_their_interpreters(void **state)
{
	struct scratch *scratch = *state;
	struct elf elf = make_elf(NULL);
	struct allo_target target;
	struct allo_error err;
	char line[400];
	const char *path;

	path = write_script(scratch, "a", "#!/bin/sh -e\nexit\n");
	assert_int_equal(judge(path, &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.runs, "/bin/sh");
	assert_string_equal(target.path, path);

	path = write_script(scratch, "b", "#! \t/usr/bin/env\tnosuch");
	assert_int_equal(judge(path, &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.runs, "/usr/bin/env");

	snprintf(line, sizeof(line), "#!%s\n", scratch_path(scratch, "a"));
	assert_int_equal(judge(write_script(scratch, "c", line), &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.runs, "/bin/sh");

	snprintf(line, sizeof(line), "#!%s\n", write_program(scratch, "static", &elf, sizeof(elf)));
	assert_int_equal(judge(write_script(scratch, "d", line), &target, &err),
			 ALLO_TARGET_REFUSED);
	assert_non_null(strstr(err.message, "its interpreter "));
	assert_non_null(strstr(err.message, "/static is statically linked"));
}

static void scripts_without_an_interpreter_are_the_shells(void **state)
{
	static const char *const texts[] = {
		"", "echo\n", "#!", "#!\n", "#! \t\n/bin/cat", "\x7f"
	};
	struct allo_target target;
	struct allo_error err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(judge(write_script(*state, "s", texts[i]), &target, &err),
				 ALLO_TARGET_FINE);
		assert_string_equal(target.runs, "/bin/sh");
	}
}

static void scripts_that_lead_nowhere_are_named(void **state)
{
	struct scratch *scratch = *state;
	struct allo_target target;
	struct allo_error err;
	char line[600];

	assert_int_equal(judge(write_script(scratch, "a", "#!/no/such\n"), &target, &err),
			 ALLO_TARGET_MISSING);
	assert_non_null(strstr(err.message, "its interpreter /no/such does not exist"));
	assert_int_equal(judge(write_script(scratch, "b", "#!/etc/passwd\n"), &target, &err),
			 ALLO_TARGET_UNUSABLE);
	assert_int_equal(judge(write_script(scratch, "c", "#!/tmp\n"), &target, &err),
			 ALLO_TARGET_UNUSABLE);
	snprintf(line, sizeof(line), "#!%s\n", scratch_path(scratch, "d"));
	assert_int_equal(judge(write_script(scratch, "d", line), &target, &err),
			 ALLO_TARGET_UNUSABLE);
	assert_non_null(strstr(err.message, "too many nested scripts"));
	/* The kernel does not see where this one ends. */
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "#!/", 3);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(judge(write_script(scratch, "e", line), &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.runs, "/bin/sh");
}

static void names_are_looked_up_in_path(void **state)
{
	struct scratch *scratch = *state;
	struct allo_target target;
	struct allo_error err;
	char path[400], expected[400];

	write_script(scratch, "found", "#!/bin/sh\n");
	chmod(scratch_write(scratch, "dull", "", 0), 0644);
	snprintf(path, sizeof(path), "/no/such:%s", scratch->folder);
	setenv("PATH", path, true);
	snprintf(expected, sizeof(expected), "%s/found", scratch->folder);
	assert_int_equal(judge("found", &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.path, expected);
	assert_int_equal(judge("lost", &target, &err), ALLO_TARGET_MISSING);
	assert_int_equal(judge("", &target, &err), ALLO_TARGET_MISSING);
	assert_int_equal(judge("dull", &target, &err), ALLO_TARGET_UNUSABLE);
	assert_int_equal(judge("/no/such/found", &target, &err), ALLO_TARGET_MISSING);
	assert_int_equal(judge(scratch_path(scratch, "found/x"), &target, &err),
			 ALLO_TARGET_MISSING);
	assert_int_equal(judge(scratch_path(scratch, "dull"), &target, &err), ALLO_TARGET_UNUSABLE);
	assert_int_equal(judge(scratch->folder, &target, &err), ALLO_TARGET_UNUSABLE);
	unsetenv("PATH");
	assert_int_equal(judge("sh", &target, &err), ALLO_TARGET_FINE);
	assert_string_equal(target.path, "/bin/sh");
}

static void no_folder_in_path_is_the_current_one(void **state)
{
	static const char *const paths[] = { "", ":", "/no/such:", ":/no/such", "/no::/such" };
	struct scratch *scratch = *state;
	struct allo_target target;
	struct allo_error err;

	write_script(scratch, "found", "#!/bin/sh\n");
	assert_int_equal(chdir(scratch->folder), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		setenv("PATH", paths[i], true);
		assert_int_equal(judge("found", &target, &err), ALLO_TARGET_FINE);
		assert_string_equal(target.path, "./found");
	}
	setenv("PATH", "/no/such", true);
	assert_int_equal(judge("found", &target, &err), ALLO_TARGET_MISSING);
	assert_string_equal(err.hint, "to run the one in this directory, write ./found");
	assert_int_equal(chdir("/"), 0);
}

static void names_may_be_longer_than_paths(void **state)
{
	static char name[PATH_MAX + 10];
	struct allo_target target;
	struct allo_error err;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(judge(name, &target, &err), ALLO_TARGET_MISSING);
	name[0] = '/';
	assert_int_equal(judge(name, &target, &err), ALLO_TARGET_UNUSABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(programs_for_glibc_are_fine),
		SCRATCH_TEST(static_programs_are_refused),
		SCRATCH_TEST(the_dynamic_linker_is_a_program_too),
		SCRATCH_TEST(other_machines_are_refused),
		SCRATCH_TEST(other_c_libraries_are_refused),
		SCRATCH_TEST(a_linker_that_is_not_there_is_named),
		SCRATCH_TEST(sanitizers_are_refused),
		SCRATCH_TEST(an_allocator_in_the_program_is_noticed),
		SCRATCH_TEST(damaged_symbols_are_none),
		SCRATCH_TEST(symbols_may_be_more_than_there_are),
		SCRATCH_TEST(damaged_files_are_found_out),
		SCRATCH_TEST(no_part_of_a_program_passes_for_it),
		SCRATCH_TEST(any_byte_may_be_anything),
		SCRATCH_TEST(scripts_are_their_interpreters),
		SCRATCH_TEST(scripts_without_an_interpreter_are_the_shells),
		SCRATCH_TEST(scripts_that_lead_nowhere_are_named),
		SCRATCH_TEST(names_are_looked_up_in_path),
		SCRATCH_TEST(no_folder_in_path_is_the_current_one),
		SCRATCH_TEST(names_may_be_longer_than_paths),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
