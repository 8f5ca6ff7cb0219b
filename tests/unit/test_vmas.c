/* test_vmas.c - ledger/vmas.h, and the parts of ledger.h for mappings. */
#include "check.h"

#include "base/defer.h"
#include "ledger/ledger.h"

#define SMAPS                                                                                           \
	"55aea3838000-55aea3839000 r--p 00000000 fe:00 10960903                   /usr/bin/server\n"    \
	"Size:                  4 kB\nRss:                   4 kB\nPss:                   4 kB\n"       \
	"Anonymous:             0 kB\nVmFlags: rd mr mw me sd \n"                                       \
	"55aea3839000-55aea3849000 r-xp 00001000 fe:00 10960903                   /usr/bin/server\n"    \
	"Rss:                  64 kB\nAnonymous:             0 kB\nVmFlags: rd ex \n"                   \
	"55aea384a000-55aea384b000 rw-p 00012000 fe:00 10960903                   /usr/bin/server\n"    \
	"Rss:                   4 kB\nAnonymous:             4 kB\nVmFlags: rd wr \n"                   \
	"55aea384b000-55aea3860000 rw-p 00000000 00:00 0 \n"                                            \
	"Rss:                  20 kB\nAnonymous:            20 kB\nVmFlags: rd wr \n"                   \
	"55aea4000000-55aea4021000 rw-p 00000000 00:00 0                          [heap]\n"             \
	"Rss:                 100 kB\nAnonymous:           100 kB\nSwap:                 16 kB\n"       \
	"7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"                                            \
	"Rss:                   0 kB\n"                                                                 \
	"7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n"                                            \
	"Rss:                   8 kB\nAnonymous:             8 kB\nVmFlags: rd wr \n"                   \
	"7f0001000000-7f0001100000 rw-p 00000000 00:00 0 \n"                                            \
	"Rss:                1024 kB\nVmFlags: rd wr mr mw me nr wf \n"                                 \
	"7f0002000000-7f0002010000 rw-s 00000000 fe:00 77                         /tmp/a b.allo\n"      \
	"Rss:                  64 kB\n"                                                                 \
	"7f0003000000-7f0003010000 rw-s 00000000 00:01 77                         /memfd:x (deleted)\n" \
	"Rss:                  12 kB\n"                                                                 \
	"7f0004000000-7f0004010000 rw-s 00000000 00:1a 78                         /run/shared\n"        \
	"Rss:                  16 kB\n"                                                                 \
	"7f0005000000-7f0005001000 r-xp 00000000 00:00 0                          [vdso]\n"             \
	"Rss:                   4 kB\n"                                                                 \
	"7f0006000000-7f0006001000 rw-p 00000000 00:00 0                          [anon:cache]\n"       \
	"Rss:                   4 kB\n"                                                                 \
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"            \
	"Rss:                  28 kB\n"

static void take(struct allo_vmas *vmas, const char *mounts, const char *smaps)
{
	static struct allo_proc_reader lines;
	struct allo_error err = { 0 };

	allo_proc_reader_open_memory(&lines, allo_text_of(mounts));
	assert_true(allo_vmas_take_mounts(vmas, &lines, &err));
	allo_proc_reader_open_memory(&lines, allo_text_of(smaps));
	assert_true(allo_vmas_take(vmas, &lines, &err));
}

#define MOUNTS                                                                                     \
	"22 27 0:21 / /proc rw - proc proc rw\n23 27 0:26 / /run rw shared:5 - tmpfs tmpfs rw\n"

static void every_mapping_has_a_part(void **state)
{
	static const enum allo_ledger_part expected[] = {
		ALLO_PART_FILES,       ALLO_PART_CODE,     ALLO_PART_FILES,
		ALLO_PART_DATA,        ALLO_PART_HEAP,     ALLO_PART_UNEXPLAINED,
		ALLO_PART_UNEXPLAINED, ALLO_PART_PROFILER, ALLO_PART_PROFILER,
		ALLO_PART_SHARED,      ALLO_PART_SHARED,   ALLO_PART_KERNEL,
		ALLO_PART_UNEXPLAINED, ALLO_PART_STACKS,
	};
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };

	(void)state;
	take(&vmas, MOUNTS, SMAPS);
	assert_int_equal(vmas.all.len, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < vmas.all.len; i++)
		assert_int_equal(allo_ledger_part_of(&vmas.all.at[i], true), expected[i]);
	assert_int_equal(vmas.rss, (4 + 64 + 4 + 20 + 100 + 8 + 1024 + 64 + 12 + 16 + 4 + 4 + 28)
					   << 10);
	assert_int_equal(vmas.all.at[4].swap, 16 << 10);
}

static void memory_like_the_runtimes_counts_only_with_the_runtime(void **state)
{
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };

	(void)state;
	take(&vmas, "", SMAPS);
	assert_true(allo_ledger_has_profiler(&vmas));
	assert_text_equal(allo_ledger_recording(&vmas), "/tmp/a b.allo");
	assert_int_equal(allo_ledger_part_of(&vmas.all.at[7], false), ALLO_PART_UNEXPLAINED);
	/* Without mounts it is not known that this is memory. */
	assert_int_equal(allo_ledger_part_of(&vmas.all.at[10], false), ALLO_PART_FILES);
}

static void variables_of_the_runtime_are_its_own(void **state)
{
	static const char smaps[] =
		"7f0000000000-7f0000001000 rw-p 00001000 08:01 7    /usr/lib/libother.so\n"
		"7f0000001000-7f0000002000 rw-p 00000000 00:00 0 \n"
		"7f0001000000-7f0001001000 rw-p 00001000 08:01 9    /usr/lib/liballo.so.0.1.0\n"
		"7f0001001000-7f0001010000 rw-p 00000000 00:00 0 \n";
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };

	(void)state;
	take(&vmas, MOUNTS, smaps);
	assert_int_equal(allo_ledger_part_of(&vmas.all.at[1], true), ALLO_PART_DATA);
	assert_int_equal(allo_ledger_part_of(&vmas.all.at[3], true), ALLO_PART_PROFILER);
}

static void addresses_are_found(void **state)
{
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };

	(void)state;
	take(&vmas, "", SMAPS);
	assert_null(allo_vmas_find(&vmas, 0x1000));
	assert_null(allo_vmas_find(&vmas, UINT64_MAX));
	assert_null(allo_vmas_find(&vmas, 0x55aea4021000));
	assert_ptr_equal(allo_vmas_find(&vmas, 0x55aea4020fff), &vmas.all.at[4]);
	assert_ptr_equal(allo_vmas_find(&vmas, 0x55aea4000000), &vmas.all.at[4]);
	assert_true(allo_vma_has_prefix(&vmas.all.at[0], "serv"));
	assert_false(allo_vma_has_prefix(&vmas.all.at[0], "usr"));
}

static void malformed_lines_are_skipped(void **state)
{
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };

	(void)state;
	take(&vmas, "x\n- tmpfs\n1 2 :: / / - tmpfs\n",
	     "Rss: 4 kB\nVmFlags: wf\nnonsense\n2000-1000 rw-p 0 00:00 0\n"
	     "1000-2000 rw-p 00000000 00:00 0 \nRss: x kB\nRss: 4 kB\n"
	     "1800-3000 rw-p 00000000 00:00 0 \n"
	     "3000-4000 rw 00000000 00:00 0 \n5000-6000 rw-p 00000000 0000 0\n");
	assert_int_equal(vmas.all.len, 1);
	assert_int_equal(vmas.rss, 4096);
	assert_int_equal(vmas.memory_devices.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mapping_has_a_part),
		cmocka_unit_test(memory_like_the_runtimes_counts_only_with_the_runtime),
		cmocka_unit_test(variables_of_the_runtime_are_its_own),
		cmocka_unit_test(addresses_are_found),
		cmocka_unit_test(malformed_lines_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
