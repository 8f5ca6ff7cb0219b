/* test_metrics.c - telemetry/metrics.h and the table behind it. */
#include "check.h"

#include "telemetry/metric_table.h"
#include "telemetry/metrics.h"
#include "telemetry/snapshots.h"

#include <stdio.h>

static struct allo_memory_snapshot snapshot;
static char text[1 << 17];

static const char *in_form(enum allo_metrics_format form, const char *labels)
{
	const struct allo_metrics_of process = { &snapshot, labels };
	struct allo_text_buffer buffer = { text, sizeof(text), 0 };

	if (form == ALLO_METRICS_JSON)
		allo_metrics_put_json(&buffer, &snapshot);
	else
		allo_metrics_put(&buffer, form, &process, 1);
	assert_true(allo_buffer_end(&buffer) < sizeof(text));
	return text;
}

static int begin(void **state)
{
	(void)state;
	allo_snapshot_init(&snapshot);
	return 0;
}

static void unknown_metrics_are_omitted(void **state)
{
	(void)state;
	assert_string_equal(in_form(ALLO_METRICS_PROMETHEUS, ""), "");
	assert_string_equal(in_form(ALLO_METRICS_OPENMETRICS, ""), "# EOF\n");
	assert_string_equal(
		in_form(ALLO_METRICS_JSON, ""),
		"{\"v\":1,\"process\":{},\"pages\":{},\"cgroup\":{},\"system\":{},\"allocator\":{}"
		",\"heap\":{},\"profiler\":{},\"sources\":[]}\n");
}

static void a_counter_has_its_suffix_once(void **state)
{
	(void)state;
	snapshot.process.cpu_ns = 1250000000;
	assert_string_equal(in_form(ALLO_METRICS_PROMETHEUS, ""),
			    "# HELP process_cpu_seconds_total User and system CPU time.\n"
			    "# TYPE process_cpu_seconds_total counter\n"
			    "process_cpu_seconds_total 1.25\n");
	assert_string_equal(in_form(ALLO_METRICS_OPENMETRICS, ""),
			    "# HELP process_cpu_seconds User and system CPU time.\n"
			    "# TYPE process_cpu_seconds counter\n"
			    "# UNIT process_cpu_seconds seconds\n"
			    "process_cpu_seconds_total 1.25\n"
			    "# EOF\n");
}

static void an_info_has_its_suffix_once(void **state)
{
	(void)state;
	strcpy(snapshot.allocator.name, "jemalloc");
	strcpy(snapshot.allocator.version, "5.3.0-\"x\\");
	assert_string_equal(
		in_form(ALLO_METRICS_PROMETHEUS, ""),
		"# HELP allo_allocator_info The allocator behind malloc.\n"
		"# TYPE allo_allocator_info gauge\n"
		"allo_allocator_info{allocator=\"jemalloc\",version=\"5.3.0-\\\"x\\\\\"} 1\n");
	assert_string_equal(
		in_form(ALLO_METRICS_OPENMETRICS, ""),
		"# HELP allo_allocator The allocator behind malloc.\n"
		"# TYPE allo_allocator info\n"
		"allo_allocator_info{allocator=\"jemalloc\",version=\"5.3.0-\\\"x\\\\\"} 1\n"
		"# EOF\n");
}

static void several_processes_share_a_head(void **state)
{
	static struct allo_memory_snapshot other;
	const struct allo_metrics_of processes[] = { { &snapshot, "pid=\"7\"" },
						     { &other, "pid=\"8\"" } };
	struct allo_text_buffer buffer = { text, sizeof(text), 0 };

	(void)state;
	allo_snapshot_init(&other);
	snapshot.process.threads = 3;
	snapshot.process.minor_faults = 10;
	other.process.minor_faults = 20;
	other.process.major_faults = 0;
	allo_metrics_put(&buffer, ALLO_METRICS_PROMETHEUS, processes, 2);
	allo_buffer_end(&buffer);
	assert_string_equal(
		text,
		"# HELP process_threads Number of threads.\n# TYPE process_threads gauge\n"
		"process_threads{pid=\"7\"} 3\n"
		"# HELP allo_process_page_faults_total Page faults: minor, and major (with a read "
		"from disk).\n"
		"# TYPE allo_process_page_faults_total counter\n"
		"allo_process_page_faults_total{pid=\"7\",kind=\"minor\"} 10\n"
		"allo_process_page_faults_total{pid=\"8\",kind=\"minor\"} 20\n"
		"allo_process_page_faults_total{pid=\"8\",kind=\"major\"} 0\n");
}

static void lines_of_memory_stat_are_bytes_or_counters(void **state)
{
	(void)state;
	snapshot.cgroup.stat_count = 2;
	snapshot.cgroup.stats[0] = (struct allo_cgroup_stat){ "anon", 4096, false };
	snapshot.cgroup.stats[1] = (struct allo_cgroup_stat){ "pgfault", 7, true };
	in_form(ALLO_METRICS_OPENMETRICS, "");
	assert_non_null(strstr(text, "\nallo_cgroup_memory_bytes{type=\"anon\"} 4096\n"));
	assert_non_null(strstr(text, "\nallo_cgroup_memory_stat_total{type=\"pgfault\"} 7\n"));
	assert_non_null(strstr(text, "# TYPE allo_cgroup_memory_stat counter\n"));
}

static void a_failed_source_is_down(void **state)
{
	(void)state;
	allo_snapshot_add_source(&snapshot, "io", 1500, "Permission denied");
	allo_snapshot_add_source(&snapshot, "stat", 2000, "");
	in_form(ALLO_METRICS_PROMETHEUS, "");
	assert_non_null(strstr(text, "\nallo_telemetry_read_seconds{source=\"io\"} 0.0000015\n"));
	assert_non_null(strstr(text, "\nallo_telemetry_source_up{source=\"io\"} 0\n"));
	assert_non_null(strstr(text, "\nallo_telemetry_source_up{source=\"stat\"} 1\n"));
	assert_non_null(strstr(in_form(ALLO_METRICS_JSON, ""),
			       "{\"name\":\"io\",\"read_ns\":1500,\"why\":\"Permission denied\"}"));
}

static bool is_in(const struct allo_memory_metric *metric, const char *word)
{
	return metric->prometheus && strstr(metric->prometheus, word);
}

/* Rules that both text formats require. */
static void the_table_is_in_order(void **state)
{
	(void)state;
	for (const struct allo_memory_metric *metric = allo_memory_metrics; metric->group;
	     metric++) {
		bool is_first = metric->prometheus &&
				(metric == allo_memory_metrics || !metric[-1].prometheus ||
				 strcmp(metric[-1].prometheus, metric->prometheus) != 0);
		size_t len = metric->prometheus ? strlen(metric->prometheus) : 0;

		if (!metric->prometheus)
			continue;
		assert_int_equal(is_first, metric->help != NULL);
		assert_int_equal(metric->type == ALLO_COUNTER,
				 len > 6 && strcmp(metric->prometheus + len - 6, "_total") == 0);
		assert_int_equal(metric->type == ALLO_INFO,
				 len > 5 && strcmp(metric->prometheus + len - 5, "_info") == 0);
		/* The unit is in the name. */
		if (metric->name && strstr(metric->name, "_bytes"))
			assert_true(is_in(metric, "_bytes"));
		if (allo_memory_metric_is_time(metric))
			assert_true(is_in(metric, "_seconds"));
		/* No name comes again further down. */
		for (const struct allo_memory_metric *other = metric + 1; is_first && other->group;
		     other++) {
			const char *before = other[-1].prometheus;

			if (other->prometheus && strcmp(other->prometheus, metric->prometheus) == 0)
				assert_true(before && strcmp(before, metric->prometheus) == 0);
		}
	}
}

/* One number for each field: a row that is missing would go unnoticed. */
static void every_field_is_in_the_table_once(void **state)
{
	static const size_t parts[][2] = {
#define PART(name)                                                                                 \
	{ offsetof(struct allo_memory_snapshot, name),                                             \
	  offsetof(struct allo_memory_snapshot, name.reserved) }
		PART(process),
		PART(pages),
		PART(system),
		PART(heap),
		PART(profiler),
		{ offsetof(struct allo_memory_snapshot, allocator.allocated_bytes),
		  offsetof(struct allo_memory_snapshot, allocator.reserved) },
		{ offsetof(struct allo_memory_snapshot, cgroup.current_bytes),
		  offsetof(struct allo_memory_snapshot, cgroup.reserved) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		for (size_t at = parts[i][0]; at < parts[i][1]; at += sizeof(uint64_t)) {
			unsigned count = 0;

			for (const struct allo_memory_metric *row = allo_memory_metrics; row->group;
			     row++)
				count += row->name && row->offset == at;
			assert_int_equal(count, 1);
		}
	}
}

static void text_that_does_not_fit_is_counted(void **state)
{
	struct allo_text_buffer buffer = { text, 8, 0 };

	(void)state;
	memset(text, 'x', 16);
	allo_buffer_string(&buffer, "abcdef");
	allo_buffer_u64(&buffer, 12345);
	assert_int_equal(allo_buffer_end(&buffer), 11);
	assert_string_equal(text, "abcdef1");
	assert_int_equal(text[8], 'x');
	buffer = (struct allo_text_buffer){ NULL, 0, 0 };
	allo_buffer_string(&buffer, "abc");
	assert_int_equal(allo_buffer_end(&buffer), 3);
}

static void times_are_seconds_without_trailing_zeros(void **state)
{
	static const struct {
		uint64_t ns;
		const char *seconds;
	} times[] = {
		{ 0, "0" },
		{ 1, "0.000000001" },
		{ 1500000000, "1.5" },
		{ 3000000000, "3" },
		{ UINT64_MAX - 1, "18446744073.709551614" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct allo_text_buffer buffer = { text, sizeof(text), 0 };

		allo_buffer_seconds(&buffer, times[i].ns);
		allo_buffer_end(&buffer);
		assert_string_equal(text, times[i].seconds);
	}
}

static void strings_are_quoted_and_made_valid(void **state)
{
	struct allo_text_buffer buffer = { text, sizeof(text), 0 };

	(void)state;
	allo_buffer_quoted(&buffer, ALLO_TEXT("a\"b\\c\nd\te\xff\xc3\xa4"));
	allo_buffer_end(&buffer);
	assert_string_equal(text, "\"a\\\"b\\\\c\\nd?e\xef\xbf\xbd\xc3\xa4\"");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_metrics_are_omitted),
		TEST(a_counter_has_its_suffix_once),
		TEST(an_info_has_its_suffix_once),
		TEST(several_processes_share_a_head),
		TEST(lines_of_memory_stat_are_bytes_or_counters),
		TEST(a_failed_source_is_down),
		TEST(the_table_is_in_order),
		TEST(every_field_is_in_the_table_once),
		TEST(text_that_does_not_fit_is_counted),
		TEST(times_are_seconds_without_trailing_zeros),
		TEST(strings_are_quoted_and_made_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
