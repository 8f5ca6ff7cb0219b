/* test_cgroup.c - telemetry/cgroup.h and cgroup_memory.h, on trees as machines have them. */
#include "check.h"
#include "tree.h"

#include "telemetry/cgroup.h"

#include <errno.h>

#define NO_LIMIT_OF_1 "9223372036854771712\n"

struct found {
	struct allo_proc_reader lines;
	struct allo_cgroup_place place;
	struct allo_cgroup_memory memory;
};

/* All metrics of the group of process 7. */
static void look(const struct tree *tree, struct found *found)
{
	memset(found, 0, sizeof(*found));
	memset(&found->memory, 0xff, sizeof(found->memory));
	found->memory.stat_count = 0;
	assert_int_equal(allo_cgroup_find(&found->place, &found->lines, tree->root, "/proc/7"), 0);
	if (found->place.version == 0)
		return;
	assert_int_equal(
		allo_cgroup_read_usage(&found->place, &found->lines, tree->root, &found->memory),
		0);
	allo_cgroup_read_stat(&found->place, &found->lines, tree->root, &found->memory);
	allo_cgroup_read_events(&found->place, &found->lines, tree->root, &found->memory);
	allo_cgroup_read_pressure(&found->place, &found->lines, tree->root, &found->memory);
}

/* A service of systemd's on a machine with version 2. */
static void add_second(const struct tree *tree)
{
	tree_add(tree, "/proc/7/cgroup", "0::/system.slice/app.service\n");
	tree_add(
		tree, "/proc/self/mountinfo",
		"22 27 0:21 / /proc rw,nosuid shared:14 - proc proc rw\n"
		"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
#define AT "/sys/fs/cgroup/system.slice/app.service/"
	tree_add(tree, AT "memory.current", "104857600\n");
	tree_add(tree, AT "memory.peak", "209715200\n");
	tree_add(tree, AT "memory.max", "max\n");
	tree_add(tree, AT "memory.high", "max\n");
	tree_add(tree, AT "memory.swap.current", "4096\n");
	tree_add(tree, AT "memory.swap.max", "max\n");
	tree_add(tree, AT "memory.swap.peak", "8192\n");
	tree_add(tree, AT "memory.events",
		 "low 1\nhigh 357\nmax 35\noom 2\noom_kill 1\noom_group_kill 0\n");
	tree_add(tree, AT "memory.stat",
		 "anon 50331648\nfile 41943040\nkernel 3145728\nkernel_stack 65536\n"
		 "pagetables 262144\npercpu 1024\nsock 0\nshmem 8192\nzswap 0\nzswapped 0\n"
		 "file_mapped 16384\nanon_thp 2097152\ninactive_anon 1\nactive_anon 2\n"
		 "inactive_file 20971520\nactive_file 20971520\nslab_reclaimable 5\n"
		 "slab_unreclaimable 6\nslab 11\nworkingset_refault_anon 7\n"
		 "workingset_refault_file 8\npgfault 100\npgmajfault 3\nthp_fault_alloc 4\n"
		 "zswpin 5\nswpin_zero 6\nnuma_pages_migrated 9\npgdemote_kswapd 10\n");
	tree_add(tree, AT "memory.pressure",
		 "some avg10=0.12 avg60=0.00 avg300=0.00 total=1234567\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=89\n");
#undef AT
	tree_add(tree, "/sys/fs/cgroup/system.slice/memory.max", "max\n");
}

static void version_2_tells_everything(void **state)
{
	struct found found;

	add_second(*state);
	look(*state, &found);
	assert_int_equal(found.memory.version, 2);
	assert_string_equal(found.memory.path, "/system.slice/app.service");
	assert_int_equal(found.memory.current_bytes, 104857600);
	assert_int_equal(found.memory.peak_bytes, 209715200);
	assert_int_equal(found.memory.working_set_bytes, 104857600 - 20971520);
	assert_int_equal(found.memory.swap_bytes, 4096);
	assert_int_equal(found.memory.swap_peak_bytes, 8192);
	assert_int_equal(found.memory.low_events, 1);
	assert_int_equal(found.memory.high_events, 357);
	assert_int_equal(found.memory.max_events, 35);
	assert_int_equal(found.memory.oom_events, 2);
	assert_int_equal(found.memory.oom_kills, 1);
	assert_int_equal(found.memory.oom_group_kills, 0);
	assert_int_equal(found.memory.pressure_some_ns, 1234567000);
	assert_int_equal(found.memory.pressure_full_ns, 89000);
}

static void no_limit_is_unknown(void **state)
{
	struct found found;

	add_second(*state);
	look(*state, &found);
	assert_true(found.memory.limit_bytes == ALLO_UNKNOWN);
	assert_true(found.memory.high_bytes == ALLO_UNKNOWN);
	assert_true(found.memory.swap_limit_bytes == ALLO_UNKNOWN);
}

static void every_line_of_memory_stat_is_bytes_or_a_counter(void **state)
{
	static const char *const counters[] = {
		"workingset_refault_anon",
		"workingset_refault_file",
		"pgfault",
		"pgmajfault",
		"thp_fault_alloc",
		"zswpin",
		"swpin_zero",
		"numa_pages_migrated",
		"pgdemote_kswapd",
	};
	struct found found;
	unsigned count = 0;

	add_second(*state);
	look(*state, &found);
	assert_int_equal(found.memory.stat_count, 28);
	assert_int_equal(allo_cgroup_stat(&found.memory, "anon_thp"), 2097152);
	assert_true(allo_cgroup_stat(&found.memory, "vmalloc") == ALLO_UNKNOWN);
	for (unsigned i = 0; i < found.memory.stat_count; i++) {
		bool is_expected = false;

		for (size_t k = 0; k < sizeof(counters) / sizeof(*counters); k++)
			is_expected |= strcmp(found.memory.stats[i].name, counters[k]) == 0;
		assert_int_equal(found.memory.stats[i].is_counter, is_expected);
		count += is_expected;
	}
	assert_int_equal(count, sizeof(counters) / sizeof(*counters));
}

static void the_lowest_limit_up_to_the_root_counts(void **state)
{
	struct found found;

	add_second(*state);
	tree_add(*state, "/sys/fs/cgroup/system.slice/app.service/memory.max", "800\n");
	tree_add(*state, "/sys/fs/cgroup/system.slice/memory.max", "600\n");
	tree_add(*state, "/sys/fs/cgroup/system.slice/memory.high", "500\n");
	tree_add(*state, "/sys/fs/cgroup/system.slice/app.service/memory.swap.max", "0\n");
	look(*state, &found);
	assert_int_equal(found.memory.limit_bytes, 600);
	assert_int_equal(found.memory.high_bytes, 500);
	assert_int_equal(found.memory.swap_limit_bytes, 0);
	tree_add(*state, "/sys/fs/cgroup/system.slice/app.service/memory.max", "400\n");
	look(*state, &found);
	assert_int_equal(found.memory.limit_bytes, 400);
}

static void an_old_kernel_has_no_peak(void **state)
{
	const struct tree *tree = *state;
	char path[200];
	struct found found;

	add_second(tree);
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/system.slice/app.service/memory.peak",
		 tree->root);
	assert_int_equal(unlink(path), 0);
	look(tree, &found);
	assert_true(found.memory.peak_bytes == ALLO_UNKNOWN);
	assert_int_equal(found.memory.current_bytes, 104857600);
}

/* A session of a user's: the controller is not handed down as far as the process is. */
static void an_ancestor_may_account_for_the_memory(void **state)
{
	struct found found;

	tree_add(*state, "/proc/7/cgroup", "0::/user.slice/app.slice/term.scope\n");
	tree_add(*state, "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/cg/user.slice/memory.current", "1000\n");
	tree_add(*state, "/cg/user.slice/memory.max", "2000\n");
	tree_add(*state, "/cg/user.slice/app.slice/term.scope/memory.pressure",
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
	look(*state, &found);
	assert_string_equal(found.memory.path, "/user.slice");
	assert_int_equal(found.memory.current_bytes, 1000);
	assert_int_equal(found.memory.limit_bytes, 2000);
	assert_int_equal(found.memory.pressure_some_ns, 5000);
}

static void the_root_of_version_2_counts_nothing(void **state)
{
	struct found found;

	tree_add(*state, "/proc/7/cgroup", "0::/\n");
	tree_add(*state, "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/cg/cgroup.procs", "7\n");
	look(*state, &found);
	assert_int_equal(found.place.version, 0);
	assert_non_null(strstr(found.place.why, "has the memory controller"));
}

/* The container sees itself as the root; limits outside of it are invisible. */
static void a_container_sees_its_own_group_as_the_root(void **state)
{
	struct found found;

	tree_add(*state, "/proc/7/cgroup", "0::/\n");
	tree_add(*state, "/proc/self/mountinfo",
		 "1234 1230 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
	tree_add(*state, "/sys/fs/cgroup/memory.current", "5000\n");
	tree_add(*state, "/sys/fs/cgroup/memory.max", "9000\n");
	look(*state, &found);
	assert_int_equal(found.memory.limit_bytes, 9000);
	assert_string_equal(found.memory.path, "/");
}

/* A pod of Kubernetes's: the container has no limit, the pod has. */
static void a_pod_limits_its_containers(void **state)
{
	struct found found;

#define POD "/kubepods.slice/kubepods-pod1f.slice"
	tree_add(*state, "/proc/7/cgroup", "0::" POD "/cri-containerd-9c.scope\n");
	tree_add(*state, "/proc/self/mountinfo",
		 "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/sys/fs/cgroup" POD "/cri-containerd-9c.scope/memory.current", "100\n");
	tree_add(*state, "/sys/fs/cgroup" POD "/cri-containerd-9c.scope/memory.max", "max\n");
	tree_add(*state, "/sys/fs/cgroup" POD "/memory.max", "536870912\n");
	tree_add(*state, "/sys/fs/cgroup/kubepods.slice/memory.max", "8589934592\n");
#undef POD
	look(*state, &found);
	assert_int_equal(found.memory.limit_bytes, 536870912);
}

/* Version 1, as Docker has it: the process's file has the whole path, the mount begins below. */
static void add_first(const struct tree *tree)
{
	tree_add(tree, "/proc/7/cgroup",
		 "12:pids:/docker/1f0c\n11:cpu,cpuacct:/docker/1f0c\n4:memory:/docker/1f0c\n"
		 "1:name=systemd:/docker/1f0c\n");
	tree_add(tree, "/proc/self/mountinfo",
		 "33 31 0:29 /docker/1f0c /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup "
		 "rw,cpu,cpuacct\n"
		 "35 31 0:32 /docker/1f0c /sys/fs/cgroup/memory ro,nosuid master:7 - cgroup cgroup "
		 "rw,memory\n");
#define AT "/sys/fs/cgroup/memory/"
	tree_add(tree, AT "memory.usage_in_bytes", "30000000\n");
	tree_add(tree, AT "memory.max_usage_in_bytes", "40000000\n");
	tree_add(tree, AT "memory.limit_in_bytes", NO_LIMIT_OF_1);
	tree_add(tree, AT "memory.failcnt", "17\n");
	tree_add(tree, AT "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	tree_add(tree, AT "memory.kmem.usage_in_bytes", "700000\n");
	tree_add(tree, AT "memory.stat",
		 "cache 1\nrss 2\nmapped_file 3\nhierarchical_memory_limit 50000000\n"
		 "hierarchical_memsw_limit 9223372036854771712\ntotal_cache 10000000\n"
		 "total_rss 19000000\ntotal_rss_huge 2097152\ntotal_shmem 5\n"
		 "total_mapped_file 6000\ntotal_dirty 7\ntotal_writeback 8\ntotal_swap 12288\n"
		 "total_pgpgin 100\ntotal_pgfault 200\ntotal_pgmajfault 9\n"
		 "total_inactive_file 4000000\ntotal_active_file 6000000\n");
#undef AT
}

static void version_1_tells_the_same_by_the_names_of_version_2(void **state)
{
	struct found found;

	add_first(*state);
	look(*state, &found);
	assert_int_equal(found.memory.version, 1);
	assert_string_equal(found.memory.path, "/docker/1f0c");
	assert_int_equal(found.memory.current_bytes, 30000000);
	assert_int_equal(found.memory.peak_bytes, 40000000);
	assert_int_equal(found.memory.working_set_bytes, 26000000);
	assert_int_equal(found.memory.limit_bytes, 50000000);
	assert_int_equal(found.memory.swap_bytes, 12288);
	assert_int_equal(found.memory.max_events, 17);
	assert_int_equal(found.memory.oom_kills, 2);
	assert_true(found.memory.oom_events == ALLO_UNKNOWN);
	assert_int_equal(allo_cgroup_stat(&found.memory, "anon"), 19000000);
	assert_int_equal(allo_cgroup_stat(&found.memory, "file"), 10000000);
	assert_int_equal(allo_cgroup_stat(&found.memory, "anon_thp"), 2097152);
	assert_int_equal(allo_cgroup_stat(&found.memory, "file_mapped"), 6000);
	assert_int_equal(allo_cgroup_stat(&found.memory, "pgfault"), 200);
	assert_int_equal(allo_cgroup_stat(&found.memory, "kernel"), 700000);
	assert_true(allo_cgroup_stat(&found.memory, "rss") == ALLO_UNKNOWN);
}

/* Both are there; memory is in version 1, and pressure in version 2 nevertheless. */
static void a_hybrid_counts_memory_in_version_1(void **state)
{
	struct found found;

	tree_add(*state, "/proc/7/cgroup",
		 "9:name=systemd:/\n4:hugetlb,memory:/jobs/a b\n0::/jobs\n");
	tree_add(*state, "/proc/self/mountinfo",
		 "35 31 0:32 / /sys/fs/cgroup/with\\040blank rw - cgroup cgroup rw,hugetlb,memory\n"
		 "41 31 0:38 / /sys/fs/cgroup/unified rw shared:1 master:2 - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/sys/fs/cgroup/with blank/jobs/a b/memory.usage_in_bytes", "77\n");
	tree_add(*state, "/sys/fs/cgroup/unified/jobs/memory.pressure",
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
	tree_add(*state, "/sys/fs/cgroup/unified/jobs/memory.current", "66\n");
	look(*state, &found);
	assert_int_equal(found.memory.version, 1);
	assert_int_equal(found.memory.current_bytes, 77);
	assert_int_equal(found.memory.pressure_some_ns, 3000);
	assert_true(found.memory.limit_bytes == ALLO_UNKNOWN);
}

static void the_mount_that_shows_most_ancestors_wins(void **state)
{
	struct found found;

	tree_add(*state, "/proc/7/cgroup", "0::/a/b\n");
	tree_add(*state, "/proc/self/mountinfo",
		 "50 23 0:26 /a/b /bind rw - cgroup2 cgroup2 rw\n"
		 "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		 "51 23 0:26 /a /other rw - cgroup2 cgroup2 rw\n"
		 "52 23 0:26 /ab /wrong rw - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/sys/fs/cgroup/a/b/memory.current", "5\n");
	tree_add(*state, "/sys/fs/cgroup/a/memory.max", "6\n");
	look(*state, &found);
	assert_string_equal(found.place.v2.path, "/sys/fs/cgroup/a/b");
	assert_int_equal(found.memory.limit_bytes, 6);
}

static void an_invisible_group_gives_a_reason(void **state)
{
	struct found found;

	/* Of a process outside of our container. */
	tree_add(*state, "/proc/7/cgroup", "0::/../other\n");
	tree_add(*state, "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_add(*state, "/other/memory.current", "5\n");
	look(*state, &found);
	assert_int_equal(found.place.version, 0);
	assert_non_null(strstr(found.place.why, "is not visible"));
	tree_add(*state, "/proc/7/cgroup", "");
	look(*state, &found);
	assert_non_null(strstr(found.place.why, "in no control group"));
}

static void a_process_that_moves_is_found_again(void **state)
{
	struct found found;

	add_second(*state);
	look(*state, &found);
	tree_add(*state, "/proc/7/cgroup", "0::/system.slice/other.service\n");
	tree_add(*state, "/sys/fs/cgroup/system.slice/other.service/memory.current", "123\n");
	assert_int_equal(allo_cgroup_find(&found.place, &found.lines,
					  ((const struct tree *)*state)->root, "/proc/7"),
			 0);
	assert_string_equal(found.place.memory.path, "/sys/fs/cgroup/system.slice/other.service");
}

static void a_missing_process_is_an_error(void **state)
{
	const struct tree *tree = *state;
	static struct found found;

	assert_int_equal(allo_cgroup_find(&found.place, &found.lines, tree->root, "/proc/8"),
			 ENOENT);
}

static void a_malformed_number_is_unknown(void **state)
{
	static const char *const wrong[] = { "", "\n", "-1\n", "12x\n", "99999999999999999999\n" };
	struct found found;
	uint64_t number;

	add_second(*state);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tree_add(*state, "/number", wrong[i]);
		assert_int_equal(allo_proc_reader_number(&found.lines,
							 ((const struct tree *)*state)->root,
							 "/number", &number),
				 ENODATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(version_2_tells_everything),
		TREE_TEST(no_limit_is_unknown),
		TREE_TEST(every_line_of_memory_stat_is_bytes_or_a_counter),
		TREE_TEST(the_lowest_limit_up_to_the_root_counts),
		TREE_TEST(an_old_kernel_has_no_peak),
		TREE_TEST(an_ancestor_may_account_for_the_memory),
		TREE_TEST(the_root_of_version_2_counts_nothing),
		TREE_TEST(a_container_sees_its_own_group_as_the_root),
		TREE_TEST(a_pod_limits_its_containers),
		TREE_TEST(version_1_tells_the_same_by_the_names_of_version_2),
		TREE_TEST(a_hybrid_counts_memory_in_version_1),
		TREE_TEST(the_mount_that_shows_most_ancestors_wins),
		TREE_TEST(an_invisible_group_gives_a_reason),
		TREE_TEST(a_process_that_moves_is_found_again),
		TREE_TEST(a_missing_process_is_an_error),
		TREE_TEST(a_malformed_number_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
