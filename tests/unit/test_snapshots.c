/* test_snapshots.c - telemetry/snapshots.h: a process that never was, and this one. */
#include "check.h"
#include "tree.h"

#include "telemetry/snapshots.h"

#include <errno.h>
#include <time.h>

#define STATUS                                                                                        \
	"Name:\tserver\nUmask:\t0022\nState:\tS (sleeping)\nGroups:\t0 4 27 \n"                       \
	"VmPeak:\t  200000 kB\nVmSize:\t  180000 kB\nVmLck:\t       4 kB\nVmPin:\t       8 kB\n"      \
	"VmHWM:\t   90000 kB\nVmRSS:\t   80000 kB\nRssAnon:\t   60000 kB\nRssFile:\t   15000 kB\n"    \
	"RssShmem:\t    5000 kB\nVmData:\t   70000 kB\nVmStk:\t     132 kB\nVmExe:\t     900 kB\n"    \
	"VmLib:\t    2000 kB\nVmPTE:\t     300 kB\nVmSwap:\t      12 kB\nHugetlbPages:\t   2048 kB\n" \
	"Threads:\t5\n"
#define ROLLUP                                                                                     \
	"55d146339000-7ffe59fc8000 ---p 00000000 00:00 0                          [rollup]\n"      \
	"Rss:               80000 kB\nPss:               70000 kB\nPss_Dirty:         50000 kB\n"  \
	"Pss_Anon:          60000 kB\nPss_File:           9000 kB\nPss_Shmem:          1000 kB\n"  \
	"Shared_Clean:       9000 kB\nShared_Dirty:       1000 kB\nPrivate_Clean:      3000 kB\n"  \
	"Private_Dirty:     67000 kB\nReferenced:        80000 kB\nAnonymous:         60000 kB\n"  \
	"KSM:                   0 kB\nLazyFree:           400 kB\nAnonHugePages:      2048 kB\n"

static void add_process(const struct tree *tree)
{
	tree_add(tree, "/proc/7/status", STATUS);
	/* A name may hold anything. */
	tree_add(tree, "/proc/7/stat",
		 "7 (a) b (\n) S 1 7 7 0 -1 4194304 1500 0 23 0 250 50 1 2 20 0 5 0 12345 "
		 "184320000 20000 18446744073709551615 1 2 3\n");
	tree_add(tree, "/proc/7/io",
		 "rchar: 1000\nwchar: 2000\nsyscr: 10\nsyscw: 20\nread_bytes: 4096\n"
		 "write_bytes: 8192\ncancelled_write_bytes: 0\n");
	tree_add(
		tree, "/proc/7/limits",
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max open files            1024                 1048576              files     \n"
		"Max address space         unlimited            unlimited            bytes     \n");
	tree_add(tree, "/proc/7/oom_score", "666\n");
	tree_add(tree, "/proc/7/fd/0", "");
	tree_add(tree, "/proc/7/fd/1", "");
	tree_add(tree, "/proc/7/fd/25", "");
	tree_add(tree, "/proc/7/smaps_rollup", ROLLUP);
	tree_add(tree, "/proc/7/cgroup", "0::/\n");
	tree_add(tree, "/proc/pressure/memory",
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=500\n");
}

static struct allo_snapshots shots;
static struct allo_memory_snapshot snapshot;

static const struct allo_memory_source *source(const char *name)
{
	for (unsigned i = 0; i < snapshot.source_count; i++) {
		if (strcmp(snapshot.sources[i].name, name) == 0)
			return &snapshot.sources[i];
	}
	fail_msg("no source %s", name);
	return NULL;
}

static void all_files_are_read(void **state)
{
	const struct allo_process_memory *process = &snapshot.process;
	const struct tree *tree = *state;
	struct timespec now;

	add_process(tree);
	allo_snapshots_init(&shots, tree->root, 7);
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_int_equal(snapshot.pid, 7);
	assert_int_equal(process->rss_bytes, 80000 << 10);
	assert_int_equal(process->rss_anon_bytes, 60000 << 10);
	assert_int_equal(process->rss_file_bytes, 15000 << 10);
	assert_int_equal(process->rss_shmem_bytes, 5000 << 10);
	assert_int_equal(process->rss_peak_bytes, 90000 << 10);
	assert_int_equal(process->virtual_bytes, 180000 << 10);
	assert_int_equal(process->virtual_peak_bytes, 200000 << 10);
	assert_int_equal(process->swap_bytes, 12 << 10);
	assert_int_equal(process->hugetlb_bytes, 2048 << 10);
	assert_int_equal(process->pagetable_bytes, 300 << 10);
	assert_int_equal(process->minor_faults, 1500);
	assert_int_equal(process->major_faults, 23);
	assert_int_equal(process->cpu_ns, 3000000000);
	assert_int_equal(process->threads, 5);
	assert_int_equal(process->open_files, 3);
	assert_int_equal(process->max_files, 1024);
	assert_true(process->virtual_max_bytes == ALLO_UNKNOWN);
	assert_int_equal(process->read_call_bytes, 1000);
	assert_int_equal(process->write_storage_bytes, 8192);
	assert_int_equal(process->oom_score, 666);
	assert_int_equal(snapshot.system.pressure_some_ns, 1000000);
	assert_int_equal(snapshot.pages.pss_bytes, 70000 << 10);
	assert_int_equal(snapshot.pages.uss_bytes, 70000 << 10);
	assert_int_equal(snapshot.pages.lazyfree_bytes, 400 << 10);
	/* The machine runs for 123.45 s, if that is when the process began. */
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true(process->start_unix_ns / 1000000000 <= (uint64_t)now.tv_sec + 124);
	assert_string_equal(source("status")->why, "");
}

static void missing_lines_are_unknown(void **state)
{
	const struct tree *tree = *state;

	add_process(tree);
	allo_snapshots_init(&shots, tree->root, 7);
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_true(snapshot.pages.file_huge_bytes == ALLO_UNKNOWN);
	assert_true(snapshot.pages.swap_pss_bytes == ALLO_UNKNOWN);
	assert_true(snapshot.allocator.allocated_bytes == ALLO_UNKNOWN);
	assert_true(snapshot.heap.live_bytes == ALLO_UNKNOWN);
	assert_string_equal(snapshot.allocator.name, "");
}

static void a_failed_source_has_a_reason_and_does_not_affect_others(void **state)
{
	const struct tree *tree = *state;

	tree_add(tree, "/proc/7/status", STATUS);
	allo_snapshots_init(&shots, tree->root, 7);
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_string_equal(source("io")->why, "No such file or directory");
	assert_string_equal(source("smaps_rollup")->why, "No such file or directory");
	assert_string_equal(source("cgroup")->why, "No such file or directory");
	assert_non_null(
		strstr(source("cgroup_pressure")->why, "in no visible control group of version 2"));
	assert_true(snapshot.process.read_calls == ALLO_UNKNOWN);
	assert_true(snapshot.pages.pss_bytes == ALLO_UNKNOWN);
	assert_true(snapshot.process.start_unix_ns == ALLO_UNKNOWN);
}

static void a_missing_process_has_no_snapshot(void **state)
{
	const struct tree *tree = *state;

	allo_snapshots_init(&shots, tree->root, 8);
	errno = 0;
	assert_false(allo_snapshots_take(&shots, 0, &snapshot));
	assert_string_equal(source("status")->why, "No such file or directory");
	assert_int_equal(errno, 0);
	/* A thread of the kernel's has no memory. */
	tree_add(tree, "/proc/8/status", "Name:\tkthreadd\nThreads:\t1\n");
	assert_false(allo_snapshots_take(&shots, 0, &snapshot));
}

static void pages_are_walked_only_within_the_budget(void **state)
{
	const struct tree *tree = *state;

	add_process(tree);
	allo_snapshots_init(&shots, tree->root, 7);
	shots.page_budget_ns = 100000; /* 80 MB take some 600 us */
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_true(snapshot.pages.pss_bytes == ALLO_UNKNOWN);
	assert_non_null(strstr(source("smaps_rollup")->why, "would take about 1 ms"));
	/* Unless it is asked for; it is known then, also how long it takes. */
	assert_true(allo_snapshots_take(&shots, ALLO_WALK_PAGES, &snapshot));
	assert_int_equal(snapshot.pages.pss_bytes, 70000 << 10);
	assert_string_equal(source("smaps_rollup")->why, "");
}

static void the_result_of_an_earlier_walk_has_an_age(void **state)
{
	const struct tree *tree = *state;

	add_process(tree);
	allo_snapshots_init(&shots, tree->root, 7);
	assert_true(allo_snapshots_take(&shots, ALLO_WALK_PAGES, &snapshot));
	/* It took long, and is not long ago. */
	shots.walk_ns = 10000000;
	tree_add(tree, "/proc/7/smaps_rollup", "Pss: 1 kB\n");
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_int_equal(snapshot.pages.pss_bytes, 70000 << 10);
	assert_string_equal(source("smaps_rollup")->why, "");
	/* Long ago, but too long to be done again. */
	shots.pages_ns -= 5000000000;
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_int_equal(snapshot.pages.pss_bytes, 70000 << 10);
	assert_true(snapshot.pages.age_ns >= 5000000000);
	assert_non_null(strstr(source("smaps_rollup")->why, "would take about 10 ms"));
	/* And not too long. */
	shots.page_budget_ns = 20000000;
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_int_equal(snapshot.pages.pss_bytes, 1 << 10);
}

static void this_process_is_read(void **state)
{
	const struct allo_process_memory *process = &snapshot.process;

	(void)state;
	allo_snapshots_init(&shots, "", 0);
	assert_true(allo_snapshots_take(&shots, ALLO_WALK_PAGES, &snapshot));
	assert_int_equal(snapshot.pid, getpid());
	assert_int_equal(process->rss_bytes, process->rss_anon_bytes + process->rss_file_bytes +
						     process->rss_shmem_bytes);
	assert_int_equal(process->threads, 1);
	assert_true(process->open_files >= 3 && process->open_files < process->max_files);
	assert_true(snapshot.pages.uss_bytes <= snapshot.pages.pss_bytes);
	assert_true(snapshot.pages.pss_bytes <= snapshot.pages.rss_bytes);
	assert_true(process->start_unix_ns <= snapshot.unix_ns + 20000000);
}

static void the_start_time_is_stable(void **state)
{
	uint64_t start;

	(void)state;
	allo_snapshots_init(&shots, "", 0);
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	start = snapshot.process.start_unix_ns;
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		assert_true(allo_snapshots_take(&shots, 0, &snapshot));
		assert_int_equal(snapshot.process.start_unix_ns, start);
	}
}

/* A line may be longer than the buffer: members of many groups have such. */
static void lines_that_are_too_long_are_skipped(void **state)
{
	static char status[40000];
	const struct tree *tree = *state;

	memset(status, '1', sizeof(status) - 1);
	memcpy(status, "Groups:\t", 8);
	strcpy(status + 30000, "\nVmRSS:\t   80000 kB\n");
	tree_add(tree, "/proc/7/status", status);
	allo_snapshots_init(&shots, tree->root, 7);
	assert_true(allo_snapshots_take(&shots, 0, &snapshot));
	assert_int_equal(snapshot.process.rss_bytes, 80000 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(all_files_are_read),
		TREE_TEST(missing_lines_are_unknown),
		TREE_TEST(a_failed_source_has_a_reason_and_does_not_affect_others),
		TREE_TEST(a_missing_process_has_no_snapshot),
		TREE_TEST(pages_are_walked_only_within_the_budget),
		TREE_TEST(the_result_of_an_earlier_walk_has_an_age),
		cmocka_unit_test(this_process_is_read),
		cmocka_unit_test(the_start_time_is_stable),
		TREE_TEST(lines_that_are_too_long_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
