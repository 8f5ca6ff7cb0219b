// cpp_allotrope.cpp - uses all of include/allotrope.h from C++, by type names without a class key.
//
// Prints one "name value" line for each result.
#include <allotrope.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

static allotrope_error err = {};

static void must(bool ok, const char *what)
{
	char text[1024];

	if (ok)
		return;
	allotrope_error_text(&err, text, sizeof(text));
	std::fprintf(stderr, "%s: %s\n", what, text);
	std::exit(1);
}

static void describe(allotrope_profile *profile)
{
	const allotrope_clock clock = ALLOTROPE_CLOCK_NS;
	allotrope_meta meta;

	must(allotrope_get_meta(profile, &meta), "allotrope_get_meta");
	meta.command = "./demo";
	meta.clock = clock;
	must(allotrope_set_meta(profile, &meta, &err), "allotrope_set_meta");
	must(allotrope_add_comment(profile, "dropped", &err), "allotrope_add_comment");
	allotrope_clear_comments(profile);
	must(allotrope_add_comment(profile, "kept", &err), "allotrope_add_comment");
	std::printf("comments %zu %s\n", allotrope_comment_count(profile),
		    allotrope_get_comment(profile, 0));
}

static allotrope_stack_id add_stack_of_frames(allotrope_profile *profile,
					      allotrope_module_id module)
{
	allotrope_function function = {};
	allotrope_frame frame = {};
	allotrope_line line = {};
	allotrope_function_id function_id;
	allotrope_frame_id frame_id;

	function.name = "parse";
	function.file = "parse.c";
	function_id = allotrope_add_function(profile, &function, &err);
	line.function = function_id;
	line.line = 12;
	frame.address = 0x1010;
	frame.module = module;
	frame_id = allotrope_add_frame(profile, &frame, &line, 1, &err);
	must(allotrope_get_function(profile, function_id, &function), "allotrope_get_function");
	must(allotrope_get_frame(profile, frame_id, &frame), "allotrope_get_frame");
	must(allotrope_get_line(profile, frame_id, 0, &line), "allotrope_get_line");
	std::printf("frame %s:%" PRIu32 " %#" PRIx64 " %zu %zu\n", function.name, line.line,
		    frame.address, allotrope_function_count(profile),
		    allotrope_frame_count(profile));
	return allotrope_add_stack_of_frames(profile, &frame_id, 1, &err);
}

static allotrope_stack_id add_stack_of_calls(allotrope_profile *profile)
{
	allotrope_call calls[2] = {}, got[2];
	allotrope_stack_id stack;

	calls[0].function = "read";
	calls[1].function = "main";
	stack = allotrope_add_stack_of_calls(profile, calls, 2, &err);
	std::printf("calls %zu", allotrope_get_calls(profile, stack, got, 2));
	std::printf(" %s %s\n", got[0].function, got[1].function);
	must(allotrope_stack_frame(profile, allotrope_stack_parent(profile, stack)) != 0, "parent");
	return stack;
}

static void add_sample(allotrope_profile *profile, allotrope_stack_id stack, std::uint64_t bytes,
		       allotrope_labels_id labels)
{
	const std::uint64_t values[] = { bytes, 1 };
	allotrope_sample sample = {};

	sample.values = values;
	sample.value_count = 2;
	sample.stack = stack;
	sample.labels = labels;
	must(allotrope_add_sample(profile, &sample, &err), "allotrope_add_sample");
}

static allotrope_labels_id add_labels(allotrope_profile *profile)
{
	allotrope_label label = {};
	allotrope_labels_id id;

	label.key = "tenant";
	label.text = "blue";
	id = allotrope_add_labels(profile, &label, 1, &err);
	must(allotrope_label_count(profile, id) == 1, "allotrope_label_count");
	must(allotrope_get_label(profile, id, 0, &label), "allotrope_get_label");
	std::printf("label %s=%s\n", label.key, label.text);
	return id;
}

static void add_thread(allotrope_profile *profile)
{
	allotrope_thread thread = {};
	allotrope_thread_id id;

	thread.name = "worker";
	thread.tid = 29;
	id = allotrope_add_thread(profile, &thread, &err);
	must(allotrope_get_thread(profile, id, &thread), "allotrope_get_thread");
	std::printf("thread %s %" PRIu64 " %zu\n", thread.name, thread.tid,
		    allotrope_thread_count(profile));
}

static allotrope_module_id add_module(allotrope_profile *profile)
{
	allotrope_module module = {};
	allotrope_module_id id;

	module.path = "/bin/demo";
	module.start = 0x1000;
	module.limit = 0x2000;
	id = allotrope_add_module(profile, &module, &err);
	must(allotrope_add_names(profile, nullptr, &err), "allotrope_add_names");
	must(allotrope_get_module(profile, id, &module), "allotrope_get_module");
	std::printf("module %s %zu\n", module.path, allotrope_module_count(profile));
	return id;
}

static allotrope_profile *build()
{
	allotrope_profile *profile = allotrope_profile_new(&err);
	const std::uint64_t address = 0x1020;
	allotrope_metric metric;
	allotrope_stack_id by_calls;

	must(profile != nullptr, "allotrope_profile_new");
	describe(profile);
	must(allotrope_add_metric(profile, "alloc_bytes", "bytes", &err) == 0, "first metric");
	must(allotrope_add_metric(profile, "alloc_blocks", "count", &err) == 1, "second metric");
	must(allotrope_get_metric(profile, 0, &metric), "allotrope_get_metric");
	std::printf("metric %s %zu\n", metric.name, allotrope_metric_count(profile));
	add_thread(profile);
	add_sample(profile, add_stack_of_frames(profile, add_module(profile)), 1009, 0);
	by_calls = add_stack_of_calls(profile);
	add_sample(profile, by_calls, 503, add_labels(profile));
	add_sample(profile, allotrope_add_stack_of_addresses(profile, &address, 1, &err), 307, 0);
	must(!err.code, "building");
	return profile;
}

static bool is_large(void *context, const allotrope_profile *profile, std::size_t index)
{
	allotrope_sample sample;

	return allotrope_get_sample(profile, index, &sample) &&
	       sample.values[0] >= *static_cast<std::uint64_t *>(context);
}

static void change(allotrope_profile *profile)
{
	const std::uint64_t values[] = { 2003, 1 };
	const char *const hidden[] = { "main", nullptr }, *const wanted[] = { "alloc_bytes" };
	std::uint64_t least = 400;
	allotrope_filter filter = {};

	must(allotrope_keep_samples(profile, is_large, &least, &err), "allotrope_keep_samples");
	must(allotrope_set_values(profile, 0, values, 2, &err), "allotrope_set_values");
	filter.hide = hidden;
	must(allotrope_apply_filter(profile, &filter, &err), "allotrope_apply_filter");
	must(allotrope_select_metrics(profile, wanted, 1, &err), "allotrope_select_metrics");
	must(allotrope_find_metric(profile, "alloc_bytes", &err) == 0, "allotrope_find_metric");
	must(allotrope_validate(profile, &err), "allotrope_validate");
	must(allotrope_stack_count(profile) >= 2, "allotrope_stack_count");
	std::printf("changed %zu %" PRId64 "\n", allotrope_sample_count(profile),
		    allotrope_sum(profile, 0));
}

static void print_top(const allotrope_profile *profile)
{
	const allotrope_by by = ALLOTROPE_BY_FUNCTION;
	const allotrope_order order = ALLOTROPE_ORDER_TOTAL;
	allotrope_top_options options = {};
	allotrope_row *rows;
	std::size_t count;

	options.by = by;
	options.order = order;
	rows = allotrope_top(profile, &options, &count, &err);
	must(rows != nullptr, "allotrope_top");
	for (std::size_t i = 0; i < count; i++)
		std::printf("top %s %" PRId64 "\n", rows[i].name, rows[i].total);
	allotrope_free(rows);
}

static void read_and_write(const allotrope_profile *profile)
{
	allotrope_write_options writing = {};
	allotrope_read_options reading = {};
	allotrope_profile *read_back;
	std::size_t len;
	char *text;
	int fd;

	writing.to = "folded";
	reading.from = "folded";
	text = allotrope_write_memory(profile, &writing, &len, &err);
	must(text != nullptr, "allotrope_write_memory");
	std::printf("%s", text);
	read_back = allotrope_read_memory(text, len, "memory", &reading, &err);
	must(read_back != nullptr, "allotrope_read_memory");
	allotrope_profile_free(read_back);
	allotrope_free(text);

	must(allotrope_write_file(profile, "cpp.pb.gz", nullptr, &err), "allotrope_write_file");
	must(allotrope_convert("cpp.pb.gz", "cpp.folded", nullptr, &writing, &err), "convert");
	fd = open("cpp.fd", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(allotrope_write_fd(profile, fd, "cpp.fd", &writing, &err), "allotrope_write_fd");
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	read_back = allotrope_read_fd(fd, "cpp.fd", &reading, &err);
	must(read_back != nullptr, "allotrope_read_fd");
	close(fd);
	allotrope_profile_free(read_back);
}

static void combine(const allotrope_profile *profile)
{
	const allotrope_match match = ALLOTROPE_MATCH_FUNCTION;
	allotrope_profile *other = allotrope_read_file("cpp.pb.gz", nullptr, &err), *diff;
	allotrope_note note;

	must(other != nullptr, "allotrope_read_file");
	must(!allotrope_get_note(other, allotrope_note_count(other), &note), "no more notes");
	must(allotrope_merge(other, profile, &err), "allotrope_merge");
	std::printf("merged %" PRId64 "\n", allotrope_sum(other, 0));
	diff = allotrope_diff(profile, other, match, &err);
	must(diff != nullptr, "allotrope_diff");
	std::printf("before %" PRId64 " after %" PRId64 "\n", allotrope_sum(diff, 0),
		    allotrope_sum(diff, 1));
	allotrope_profile_free(diff);
	allotrope_clear_samples(other);
	std::printf("cleared %zu\n", allotrope_sample_count(other));
	allotrope_profile_free(other);
}

static bool count_rows(void *context, const allotrope_profile *profile,
		       const allotrope_allocation *rows, std::size_t count)
{
	(void)profile;
	for (std::size_t i = 0; i < count; i++)
		*static_cast<std::uint64_t *>(context) += rows[i].size;
	return true;
}

static bool count_frees(void *context, const allotrope_profile *profile,
			const allotrope_event *events, std::size_t count)
{
	const allotrope_event_kind counted = ALLOTROPE_EVENT_FREE;

	(void)profile;
	for (std::size_t i = 0; i < count; i++)
		*static_cast<std::uint64_t *>(context) += events[i].kind == counted;
	return true;
}

/* RECORDING names one in the environment. */
static void read_recording()
{
	const char *path = std::getenv("RECORDING");
	allotrope_read_options reading = {};
	std::uint64_t bytes = 0, frees = 0;

	reading.no_symbols = true;
	must(allotrope_read_allocations(path, &reading, count_rows, &bytes, &err), "allocations");
	must(allotrope_read_events(path, &reading, count_frees, &frees, &err), "events");
	std::printf("recording %" PRIu64 " bytes %" PRIu64 " frees\n", bytes, frees);
}

static void fail()
{
	const allotrope_code expected = ALLOTROPE_IO;
	allotrope_error failure = {};
	char text[1024];

	must(allotrope_read_file("missing.folded", nullptr, &failure) == nullptr, "no such file");
	must(failure.code == expected, "the code");
	must(allotrope_error_text(&failure, text, sizeof(text)) < sizeof(text), "the text");
	std::printf("error %s\n", text);
}

static void list_formats()
{
	allotrope_format format;
	std::size_t count = allotrope_format_count();

	for (std::size_t i = 0; i < count; i++) {
		must(allotrope_get_format(i, &format), "allotrope_get_format");
		if (std::strcmp(format.name, "folded") == 0)
			std::printf("format %s %d %d\n", format.name, format.can_read,
				    format.can_write);
	}
}

int main()
{
	allotrope_profile *profile = build();

	std::printf("version %s\n", allotrope_version());
	list_formats();
	change(profile);
	print_top(profile);
	read_and_write(profile);
	combine(profile);
	read_recording();
	fail();
	allotrope_profile_free(profile);
	return 0;
}
