/* test_cfi_modules.c - capture/stacks/cfi.h: compares every row of real modules with readelf's
 * output. */
#include "check.h"

#include "capture/stacks/cfi.h"
#include "capture/stacks/rule.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SIGNALS = 64 };

/* A module, mapped as the loader does, but not executable. */
struct module {
	const struct allo_cfi_arch *arch;
	uint8_t *start, *end;
	const uint8_t *header; /* .eh_frame_hdr */
};

static void map_parts(struct module *module, int fd, const Elf64_Phdr *parts, unsigned count)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < count; i++) {
		if (parts[i].p_type == PT_LOAD && parts[i].p_vaddr + parts[i].p_memsz > end)
			end = parts[i].p_vaddr + parts[i].p_memsz;
	}
	module->start = mmap(NULL, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(module->start != MAP_FAILED);
	module->end = module->start + end;
	for (unsigned i = 0; i < count; i++) {
		uint64_t behind = parts[i].p_vaddr % PAGE;

		if (parts[i].p_type == PT_LOAD)
			assert_true(mmap(module->start + parts[i].p_vaddr - behind,
					 parts[i].p_filesz + behind, PROT_READ,
					 MAP_PRIVATE | MAP_FIXED, fd,
					 (off_t)(parts[i].p_offset - behind)) != MAP_FAILED);
		if (parts[i].p_type == PT_GNU_EH_FRAME)
			module->header = module->start + parts[i].p_vaddr;
	}
}

static void map_module(struct module *module, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr parts[32];
	Elf64_Ehdr head;

	*module = (struct module){ 0 };
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
	assert_true(head.e_phnum <= sizeof(parts) / sizeof(*parts));
	assert_int_equal(pread(fd, parts, sizeof(*parts) * head.e_phnum, (off_t)head.e_phoff),
			 sizeof(*parts) * head.e_phnum);
	module->arch = head.e_machine == EM_X86_64 ? &allo_cfi_x86_64 : &allo_cfi_aarch64;
	map_parts(module, fd, parts, head.e_phnum);
	assert_non_null(module->header);
	close(fd);
}

static void unmap_module(struct module *module)
{
	munmap(module->start, (size_t)(module->end - module->start));
}

/* A row of readelf, in its notation: "rsp+16", "c-16", "u" (unspecified or undefined), "exp". */
struct row {
	uint64_t location;
	char cfa[32], fp[32], ra[32];
};

struct reading {
	struct module module;
	unsigned signal_count;
	uint64_t signals[SIGNALS]; /* common entries of signal frames */
	bool is_signal;            /* the entry of the function is one of them */
	uint64_t end;              /* of the function */
	unsigned fp_column, ra_column;
	struct row row; /* the last one; a location of 0: none */
	unsigned compared, followed;
};

/* "c-16" as -16; false for anything else. */
static bool offset_of(const char *text, const char *base, int64_t *offset)
{
	size_t len = strlen(base);

	if (strncmp(text, base, len) != 0 || (text[len] != '+' && text[len] != '-'))
		return false;
	*offset = strtoll(text + len, NULL, 10);
	return true;
}

/* The rule that a row should give. */
static bool is_right(const struct reading *reading, const struct row *row, uint32_t rule)
{
	bool is_x86 = reading->module.arch == &allo_cfi_x86_64;
	int64_t cfa = 0, fp = 0, ra = 0;
	bool is_by_sp = offset_of(row->cfa, is_x86 ? "rsp" : "sp", &cfa);
	bool is_by_fp = !is_by_sp && offset_of(row->cfa, is_x86 ? "rbp" : "x29", &cfa);
	bool has_fp = offset_of(row->fp, "c", &fp);

	if (reading->is_signal)
		return allo_rule_kind(rule) == ALLO_RULE_SIGNAL;
	if (strcmp(row->ra, "u") == 0) /* the end, or still in the link register */
		return allo_rule_kind(rule) == ALLO_RULE_END;
	if (strcmp(row->cfa, "exp") == 0)
		return allo_rule_is_cut(rule) || allo_rule_kind(rule) == ALLO_RULE_DRAP;
	if ((!is_by_sp && !is_by_fp) || (!has_fp && strcmp(row->fp, "u") != 0) ||
	    !offset_of(row->ra, "c", &ra) || (is_x86 ? ra != -8 : !has_fp || ra != fp + 8) ||
	    cfa > ALLO_RULE_CFA_MAX || fp < ALLO_RULE_FP_MIN)
		return allo_rule_is_cut(rule);
	if (is_by_fp && cfa == 16 && fp == -16)
		return rule == allo_rule(ALLO_RULE_STANDARD, 16, -16);
	return rule == allo_rule(is_by_sp ? ALLO_RULE_SP : ALLO_RULE_FP, cfa, fp);
}

/* Compares a row at its first and at its last address. */
static void compare(struct reading *reading, uint64_t next)
{
	struct module *module = &reading->module;
	const struct row *row = &reading->row;
	uint64_t pcs[] = { row->location, next - 1 };

	if (row->location == 0 || next <= row->location)
		return;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t rule = allo_cfi_rule(module->arch, module->header, module->start,
					      module->end,
					      (uint64_t)(uintptr_t)module->start + pcs[i]);

		if (!is_right(reading, row, rule))
			fail_msg("at %lx: %s %s %s is not %x", (unsigned long)pcs[i], row->cfa,
				 row->fp, row->ra, rule);
		reading->followed += allo_rule_kind(rule) != ALLO_RULE_END;
	}
	reading->compared++;
}

static bool is_signal(const struct reading *reading, uint64_t common)
{
	for (unsigned i = 0; i < reading->signal_count; i++) {
		if (reading->signals[i] == common)
			return true;
	}
	return false;
}

/* The first line of an entry. */
static void read_entry(struct reading *reading, const char *line)
{
	const char *common = strstr(line, "FDE cie="), *pc = strstr(line, "pc=");
	const char *augmentation = strstr(line, "CIE \"");

	compare(reading, reading->end);
	reading->row.location = reading->end = 0;
	if (augmentation && strchr(strtok((char *)augmentation + 5, "\""), 'S')) {
		assert_true(reading->signal_count < SIGNALS);
		reading->signals[reading->signal_count++] = strtoull(line, NULL, 16);
	}
	if (!common || !pc)
		return;
	reading->is_signal = is_signal(reading, strtoull(common + 8, NULL, 16));
	reading->end = strtoull(strstr(pc, "..") + 2, NULL, 16);
}

/* The header of the columns. */
static void read_names(struct reading *reading, char *line)
{
	unsigned column = 0;

	reading->fp_column = reading->ra_column = 0;
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"), column++) {
		if (strcmp(word, "rbp") == 0 || strcmp(word, "x29") == 0)
			reading->fp_column = column;
		if (strcmp(word, "ra") == 0)
			reading->ra_column = column;
	}
}

static void read_row(struct reading *reading, char *line)
{
	struct row row = { .location = strtoull(line, NULL, 16), .fp = "u", .ra = "u" };
	unsigned column = 0;

	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"), column++) {
		char *to = NULL;

		if (word[0] == '(') /* the name of the register whose number precedes it */
			column--;
		else if (column == 1)
			to = row.cfa;
		else if (column > 1 && column == reading->fp_column)
			to = row.fp;
		else if (column > 1 && column == reading->ra_column)
			to = row.ra;
		if (to)
			snprintf(to, sizeof(row.cfa), "%s", word);
	}
	compare(reading, row.location);
	reading->row = row;
}

static void assert_module(const char *path)
{
	struct reading reading = { 0 };
	char command[512], line[4096];
	FILE *readelf;

	if (access(path, R_OK) != 0)
		skip();
	map_module(&reading.module, path);
	snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp %s 2> /dev/null",
		 path);
	readelf = popen(command, "r");
	assert_non_null(readelf);
	while (fgets(line, sizeof(line), readelf)) {
		if (strstr(line, "FDE") || strstr(line, "CIE"))
			read_entry(&reading, line);
		else if (strstr(line, "LOC"))
			read_names(&reading, line);
		else if (line[0] == '0' && reading.end && !strstr(line, "ZERO terminator"))
			read_row(&reading, line);
	}
	compare(&reading, reading.end);
	pclose(readelf);
	unmap_module(&reading.module);
	assert_true(reading.compared > 1000);
	assert_true(reading.followed > reading.compared);
	print_message("# %s: %u rows, %u of twice as many addresses lead on\n", path,
		      reading.compared, reading.followed);
}

static void libc_is_read_as_readelf_reads_it(void **state)
{
	Dl_info libc;

	(void)state;
	assert_int_not_equal(dladdr((void *)strtoull, &libc), 0);
	assert_module(libc.dli_fname);
}

static void python_is_read_as_readelf_reads_it(void **state)
{
	(void)state;
	assert_module("/usr/bin/python3");
}

static void libc_for_aarch64_is_read_as_readelf_reads_it(void **state)
{
	(void)state;
	assert_module("/usr/aarch64-linux-gnu/lib/libc.so.6");
}

#if !IS_SANITIZED
/* Slow: it has many rows. */
static void the_c_compiler_is_read_as_readelf_reads_it(void **state)
{
	char path[256] = "";
	FILE *gcc = popen("gcc -print-prog-name=cc1", "r");

	(void)state;
	assert_non_null(gcc);
	if (!fgets(path, sizeof(path), gcc))
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	pclose(gcc);
	assert_module(path);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libc_is_read_as_readelf_reads_it),
		cmocka_unit_test(python_is_read_as_readelf_reads_it),
		cmocka_unit_test(libc_for_aarch64_is_read_as_readelf_reads_it),
#if !IS_SANITIZED
		cmocka_unit_test(the_c_compiler_is_read_as_readelf_reads_it),
#endif
	};

	return cmocka_run_group_tests_name("cfi_modules", tests, NULL, NULL);
}
