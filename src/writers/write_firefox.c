/*
 * write_firefox.c - the Firefox Profiler's processed profile, version 60.
 *
 * Tables are objects of columns.  Stacks, frames and functions are shared.  Each metric is a
 * thread, because the Firefox Profiler lets its user choose threads.  Blocks over time are another
 * one, the first: of any stretch of time it shows the blocks that were allocated in it and stayed.
 * If samples have times, threads are real threads.  The Firefox Profiler upgrades older files, so
 * one version is enough.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "profile/naming.h"
#include "writers/firefox_tables.h"
#include "writers/timed_rows.h"

#include <stdio.h>

enum { VERSION = 60, GECKO_VERSION = 24, BREAKPAD_ID_SIZE = 34 };

struct firefox {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	struct allo_json_out json;
	struct allo_firefox_tables tables;
	struct allo_timed_rows timed; /* empty if samples have no times */
};

static void firefox_done(struct firefox *f)
{
	allo_firefox_tables_done(&f->tables);
	allo_timed_rows_done(&f->timed);
}

/* Members of the open object. */

static void put_text(struct firefox *f, const char *key, struct allo_text value)
{
	allo_json_out_key(&f->json, key);
	allo_json_out_text(&f->json, value);
}

static void put_string(struct firefox *f, const char *key, const char *value)
{
	put_text(f, key, allo_text_of(value));
}

static void put_number(struct firefox *f, const char *key, uint64_t value)
{
	allo_json_out_key(&f->json, key);
	allo_json_out_u64(&f->json, value);
}

/* Nanoseconds as milliseconds. */
static void put_ms(struct firefox *f, uint64_t ns)
{
	allo_json_out_u64(&f->json, ns / 1000000);
	allo_output_printf(f->w->out, ".%06u", (unsigned)(ns % 1000000));
}

static void put_bool(struct firefox *f, const char *key, bool value)
{
	allo_json_out_key(&f->json, key);
	allo_json_out_bool(&f->json, value);
}

static void put_null(struct firefox *f, const char *key)
{
	allo_json_out_key(&f->json, key);
	allo_json_out_null(&f->json);
}

static void begin(struct firefox *f, const char *key, char bracket)
{
	allo_json_out_key(&f->json, key);
	allo_json_out_begin(&f->json, bracket);
}

static void put_empty_list(struct firefox *f, const char *key)
{
	begin(f, key, '[');
	allo_json_out_end(&f->json);
}

/* A table without rows. */
static void put_empty_columns(struct firefox *f, const char *const *names)
{
	put_number(f, "length", 0);
	for (; *names; names++)
		put_empty_list(f, *names);
}

/* About the profile. */

static void put_categories(struct firefox *f)
{
	begin(f, "categories", '[');
	allo_json_out_begin(&f->json, '{');
	put_string(f, "name", "Other");
	put_string(f, "color", "grey");
	begin(f, "subcategories", '[');
	allo_json_out_string(&f->json, "Other");
	allo_json_out_end(&f->json);
	allo_json_out_end(&f->json);
	allo_json_out_end(&f->json);
}

static struct allo_text command_of(const struct firefox *f)
{
	return allo_profile_text(f->profile, f->profile->meta.command);
}

static struct allo_text product_of(const struct firefox *f)
{
	const char *title = f->w->options->title;
	struct allo_text command = command_of(f);

	if (title)
		return allo_text_of(title);
	if (command.len > 0)
		return command;
	return f->timed.threads.len ? ALLO_TEXT("trace") : ALLO_TEXT("allocation profile");
}

static bool has_blocks(const struct firefox *f)
{
	return f->profile->changes.len > 0;
}

static size_t thread_count(const struct firefox *f)
{
	return f->timed.threads.len ? f->timed.threads.len
				    : has_blocks(f) + f->profile->metrics.len;
}

/* The thread with the most samples. */
static size_t busiest_thread(const struct firefox *f)
{
	size_t busiest = 0;

	for (size_t i = 1; i < f->timed.threads.len; i++) {
		if (f->timed.threads.at[i].count > f->timed.threads.at[busiest].count)
			busiest = i;
	}
	return busiest;
}

static size_t selected_thread(const struct firefox *f)
{
	if (f->timed.threads.len > 0)
		return busiest_thread(f);
	return has_blocks(f) ? 0 : allo_default_metric(f->profile);
}

/* Shows all threads, in our order, and selects the most important one. */
static void put_views(struct firefox *f)
{
	begin(f, "initialVisibleThreads", '[');
	for (size_t i = 0; i < thread_count(f); i++)
		allo_json_out_u64(&f->json, i);
	allo_json_out_end(&f->json);
	begin(f, "initialSelectedThreads", '[');
	if (thread_count(f) > 0)
		allo_json_out_u64(&f->json, selected_thread(f));
	allo_json_out_end(&f->json);
	put_bool(f, "keepProfileThreadOrder", true);
}

/* Writes the visible time range.  By default it would be that of the threads' rows, which have no
 * times here. */
static void put_range(struct firefox *f)
{
	size_t count = f->profile->history.len;
	uint64_t end = count > 0 ? f->profile->history.at[count - 1].time : 0;

	if (end == 0)
		return;
	put_number(f, "profilingStartTime", 0);
	allo_json_out_key(&f->json, "profilingEndTime");
	put_ms(f, end);
}

static void put_meta(struct firefox *f)
{
	begin(f, "meta", '{');
	allo_json_out_key(&f->json, "interval");
	if (f->timed.threads.len > 0 && f->profile->meta.period > 0)
		put_ms(f, (uint64_t)f->profile->meta.period);
	else
		allo_json_out_u64(&f->json, 1);
	allo_json_out_key(&f->json, "startTime");
	allo_json_out_i64(&f->json, f->profile->meta.start_ns / 1000000);
	put_range(f);
	put_number(f, "processType", 0);
	put_text(f, "product", product_of(f));
	put_number(f, "stackwalk", 1);
	put_number(f, "version", GECKO_VERSION);
	put_number(f, "preprocessedProfileVersion", VERSION);
	put_bool(f, "symbolicated", true);
	put_bool(f, "debug", false);
	put_categories(f);
	put_empty_list(f, "markerSchema");
	put_string(f, "importedFrom", "allo " ALLO_VERSION);
	if (command_of(f).len > 0)
		put_text(f, "arguments", command_of(f));
	put_bool(f, "usesOnlyOneStackType", true);
	put_bool(f, "sourceCodeIsNotOnSearchfox", true);
	put_views(f);
	allo_json_out_end(&f->json);
}

/* Modules. */

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Makes a Breakpad id: the first sixteen bytes of a build id, the first eight of them in the order
 * of a little-endian GUID, and a 0. */
static const char *breakpad_id(struct allo_text build_id, char out[BREAKPAD_ID_SIZE])
{
	static const unsigned char order[16] = { 3, 2, 1,  0,  5,  4,  7,  6,
						 8, 9, 10, 11, 12, 13, 14, 15 };
	char *to = out;

	for (size_t i = 0; i < sizeof(order) && build_id.len > 0; i++) {
		size_t digit = 2 * (size_t)order[i];

		*to++ = digit < build_id.len ? upper(build_id.data[digit]) : '0';
		*to++ = digit + 1 < build_id.len ? upper(build_id.data[digit + 1]) : '0';
	}
	if (build_id.len > 0)
		*to++ = '0';
	*to = '\0';
	return out;
}

static void put_lib(struct firefox *f, const struct allo_module *module)
{
	struct allo_text path = allo_profile_text(f->profile, module->path);
	struct allo_text build_id = allo_profile_text(f->profile, module->build_id);
	char id[BREAKPAD_ID_SIZE];

	allo_json_out_begin(&f->json, '{');
	put_string(f, "arch", "");
	put_text(f, "name", allo_basename(path));
	put_text(f, "path", path);
	put_text(f, "debugName", allo_basename(path));
	put_text(f, "debugPath", path);
	put_string(f, "breakpadId", breakpad_id(build_id, id));
	if (build_id.len > 0)
		put_text(f, "codeId", build_id);
	else
		put_null(f, "codeId");
	allo_json_out_end(&f->json);
}

/* Threads. */

/* The samples with a positive value of a metric. */
struct part {
	size_t metric;
	bool is_ns; /* weights are times, written in milliseconds */
};

static bool has_weight(const struct firefox *f, const struct part *part, size_t sample)
{
	return allo_value_of(&f->profile->metrics.at[part->metric],
			     allo_profile_row(f->profile, sample)[part->metric]) > 0;
}

static void put_sample_weight(struct firefox *f, const struct part *part, size_t sample)
{
	uint64_t weight = allo_js_weight(f->w, &f->profile->metrics.at[part->metric],
					 allo_profile_row(f->profile, sample)[part->metric]);

	if (weight == 0)
		return;
	if (part->is_ns)
		put_ms(f, weight);
	else
		allo_json_out_u64(&f->json, weight);
}

static void put_stack(struct firefox *f, allo_stack_id id)
{
	uint32_t stack = allo_firefox_stack(&f->tables, id);

	ALLO_ASSERT(stack == ALLO_FIREFOX_NONE || stack < f->tables.nodes.len);
	if (stack == ALLO_FIREFOX_NONE)
		allo_json_out_null(&f->json);
	else
		allo_json_out_u64(&f->json, stack);
}

static void put_sample_stack(struct firefox *f, const struct part *part, size_t sample)
{
	if (has_weight(f, part, sample))
		put_stack(f, f->profile->sample_stacks.at[sample]);
}

static void put_sample_time(struct firefox *f, const struct part *part, size_t sample)
{
	if (has_weight(f, part, sample))
		allo_json_out_u64(&f->json, 0);
}

/* Gives each row a different address: the Firefox Profiler joins blocks with equal addresses. */
static void put_sample_address(struct firefox *f, const struct part *part, size_t sample)
{
	if (has_weight(f, part, sample))
		allo_json_out_u64(&f->json, sample + 1);
}

static void put_sample_thread(struct firefox *f, const struct part *part, size_t sample)
{
	if (has_weight(f, part, sample))
		allo_json_out_u64(&f->json, part->metric + 1);
}

static void put_column(struct firefox *f, const char *key, const struct part *part,
		       void (*put)(struct firefox *f, const struct part *part, size_t sample))
{
	begin(f, key, '[');
	for (size_t i = 0; i < allo_profile_sample_count(f->profile); i++)
		put(f, part, i);
	allo_json_out_end(&f->json);
}

static void put_rows(struct firefox *f, const struct part *part, const char *weight_type)
{
	uint64_t length = 0;

	for (size_t i = 0; i < allo_profile_sample_count(f->profile); i++)
		length += has_weight(f, part, i);
	put_number(f, "length", length);
	put_column(f, "stack", part, put_sample_stack);
	put_column(f, "time", part, put_sample_time);
	put_column(f, "weight", part, put_sample_weight);
	put_string(f, "weightType", weight_type);
}

/* The samples of a thread that has allocations instead. */
static void put_no_samples(struct firefox *f)
{
	static const char *const columns[] = { "stack", "time", NULL };

	begin(f, "samples", '{');
	put_empty_columns(f, columns);
	put_null(f, "weight");
	put_string(f, "weightType", "samples");
	allo_json_out_end(&f->json);
}

/* Writes bytes as native allocations, other units as samples with weights. */
static void put_samples(struct firefox *f, size_t metric)
{
	enum allo_unit unit = allo_unit_of(
		allo_profile_text(f->profile, f->profile->metrics.at[metric].unit));
	struct part part = { metric, unit == ALLO_UNIT_NS };

	if (unit == ALLO_UNIT_BYTES) {
		put_no_samples(f);
		begin(f, "nativeAllocations", '{');
		put_rows(f, &part, "bytes");
		put_column(f, "memoryAddress", &part, put_sample_address);
		put_column(f, "threadId", &part, put_sample_thread);
	} else {
		begin(f, "samples", '{');
		put_rows(f, &part, unit == ALLO_UNIT_NS ? "tracing-ms" : "samples");
	}
	allo_json_out_end(&f->json);
}

static void put_name(struct firefox *f, size_t index)
{
	const struct allo_metric *metric = &f->profile->metrics.at[index];
	struct allo_text own = allo_profile_text(f->profile, metric->name);
	bool is_after = index > 0 && f->profile->metrics.at[index - 1].is_before;
	char name[128];

	snprintf(name, sizeof(name), "%.*s%s", ALLO_TEXT_ARG(own),
		 metric->is_before ? " before"
		 : is_after        ? " after"
				   : "");
	put_string(f, "name", name);
}

static void put_pid(struct firefox *f, uint64_t number)
{
	char pid[24];

	snprintf(pid, sizeof(pid), "%llu", (unsigned long long)number);
	put_string(f, "pid", pid);
}

static void begin_thread(struct firefox *f)
{
	allo_json_out_begin(&f->json, '{');
	put_string(f, "processType", "default");
	put_number(f, "processStartupTime", 0);
	put_null(f, "processShutdownTime");
	put_number(f, "registerTime", 0);
	put_null(f, "unregisterTime");
	put_empty_list(f, "pausedRanges");
}

static void end_thread(struct firefox *f)
{
	static const char *const markers[] = { "data",  "name",     "startTime", "endTime",
					       "phase", "category", NULL };

	begin(f, "markers", '{');
	put_empty_columns(f, markers);
	allo_json_out_end(&f->json);
	allo_json_out_end(&f->json);
}

static void put_thread(struct firefox *f, size_t metric)
{
	begin_thread(f);
	put_name(f, metric);
	put_bool(f, "isMainThread", true);
	put_text(f, "processName", product_of(f));
	put_pid(f, f->profile->meta.pid);
	put_number(f, "tid", metric + 1);
	put_samples(f, metric);
	end_thread(f);
}

/* Blocks over time. */

static void put_change_stack(struct firefox *f, const struct allo_block_change *change)
{
	put_stack(f, change->stack);
}

static void put_change_time(struct firefox *f, const struct allo_block_change *change)
{
	put_ms(f, change->time);
}

static void put_change_bytes(struct firefox *f, const struct allo_block_change *change)
{
	allo_json_out_i64(&f->json, change->bytes);
}

/* The two changes of a block belong together by their address. */
static void put_change_block(struct firefox *f, const struct allo_block_change *change)
{
	allo_json_out_u64(&f->json, change->block);
}

static void put_change_thread(struct firefox *f, const struct allo_block_change *change)
{
	allo_json_out_u64(&f->json, change->tid);
}

static void put_changes(struct firefox *f, const char *key,
			void (*put)(struct firefox *f, const struct allo_block_change *change))
{
	begin(f, key, '[');
	for (size_t i = 0; i < f->profile->changes.len; i++)
		put(f, &f->profile->changes.at[i]);
	allo_json_out_end(&f->json);
}

static void put_blocks(struct firefox *f)
{
	if (!has_blocks(f))
		return;
	begin_thread(f);
	put_string(f, "name", "blocks over time");
	put_bool(f, "isMainThread", true);
	put_text(f, "processName", product_of(f));
	put_pid(f, f->profile->meta.pid);
	put_number(f, "tid", f->profile->metrics.len + 1);
	put_no_samples(f);
	begin(f, "nativeAllocations", '{');
	put_number(f, "length", f->profile->changes.len);
	put_changes(f, "stack", put_change_stack);
	put_changes(f, "time", put_change_time);
	put_changes(f, "weight", put_change_bytes);
	put_string(f, "weightType", "bytes");
	put_changes(f, "memoryAddress", put_change_block);
	put_changes(f, "threadId", put_change_thread);
	allo_json_out_end(&f->json);
	end_thread(f);
}

/* Threads over time.  A row lasts until the next one: gaps are rows without a stack. */

static void put_row_stack(struct firefox *f, const struct allo_timed_row *row)
{
	put_stack(f, row->sample == ALLO_TIMED_GAP ? 0 : f->profile->sample_stacks.at[row->sample]);
}

static void put_row_time(struct firefox *f, const struct allo_timed_row *row)
{
	put_ms(f, row->start_ns);
}

static void put_row_weight(struct firefox *f, const struct allo_timed_row *row)
{
	size_t metric = allo_default_metric(f->profile);

	allo_json_out_u64(
		&f->json,
		row->sample == ALLO_TIMED_GAP
			? 0
			: allo_js_weight(f->w, &f->profile->metrics.at[metric],
					 allo_profile_row(f->profile, row->sample)[metric]));
}

static void put_row_column(struct firefox *f, const char *key,
			   const struct allo_timed_thread *thread,
			   void (*put)(struct firefox *f, const struct allo_timed_row *row))
{
	begin(f, key, '[');
	for (size_t i = 0; i < thread->count; i++)
		put(f, &f->timed.rows.at[thread->first + i]);
	allo_json_out_end(&f->json);
}

static struct allo_thread thread_of(const struct firefox *f, size_t index)
{
	allo_thread_id id = f->timed.threads.at[index].id;

	return id ? f->profile->threads.at[id] : (struct allo_thread){ 0 };
}

static void put_timed_thread(struct firefox *f, size_t index)
{
	const struct allo_timed_thread *timed = &f->timed.threads.at[index];
	struct allo_thread thread = thread_of(f, index);
	struct allo_text name = allo_profile_text(f->profile, thread.name);
	char number[32], unique[64];

	snprintf(number, sizeof(number), "thread %llu", (unsigned long long)thread.tid);
	/* On some systems threads of two processes can have the same number. */
	snprintf(unique, sizeof(unique), "%llu/%llu", (unsigned long long)thread.pid,
		 (unsigned long long)thread.tid);
	begin_thread(f);
	put_text(f, "name", name.len > 0 ? name : allo_text_of(number));
	put_bool(f, "isMainThread", thread.tid == thread.pid);
	put_text(f, "processName", product_of(f));
	put_pid(f, thread.pid);
	put_string(f, "tid", unique);
	begin(f, "samples", '{');
	put_number(f, "length", timed->count);
	put_row_column(f, "stack", timed, put_row_stack);
	put_row_column(f, "time", timed, put_row_time);
	if (f->profile->metrics.len > 0)
		put_row_column(f, "weight", timed, put_row_weight);
	else
		put_null(f, "weight");
	put_string(f, "weightType", "samples");
	allo_json_out_end(&f->json);
	end_thread(f);
}

static void put_threads(struct firefox *f)
{
	begin(f, "threads", '[');
	if (f->timed.threads.len == 0)
		put_blocks(f);
	for (size_t i = 0; i < f->timed.threads.len; i++)
		put_timed_thread(f, i);
	for (size_t i = 0; f->timed.threads.len == 0 && i < f->profile->metrics.len; i++)
		put_thread(f, i);
	allo_json_out_end(&f->json);
}

/* The memory track.  It has times only: a million instructions count as a millisecond. */

static void put_moment_time(struct firefox *f, size_t index)
{
	put_ms(f, f->profile->history.at[index].time);
}

static uint64_t live_bytes(struct firefox *f, size_t index)
{
	uint64_t bytes = f->profile->history.at[index].live_bytes;

	return bytes > ALLO_JS_NUMBER_MAX ? ALLO_JS_NUMBER_MAX : bytes;
}

/* Writes the difference to the moment before. */
static void put_moment_bytes(struct firefox *f, size_t index)
{
	uint64_t before = index > 0 ? live_bytes(f, index - 1) : 0;

	allo_json_out_i64(&f->json, (int64_t)live_bytes(f, index) - (int64_t)before);
}

static void put_moments(struct firefox *f, const char *key,
			void (*put)(struct firefox *f, size_t index))
{
	begin(f, key, '[');
	for (size_t i = 0; i < f->profile->history.len; i++)
		put(f, i);
	allo_json_out_end(&f->json);
}

/* A counter belongs to a thread; without metrics there are no threads. */
static void put_counters(struct firefox *f)
{
	begin(f, "counters", '[');
	if (f->profile->history.len > 0 && f->profile->metrics.len > 0) {
		allo_json_out_begin(&f->json, '{');
		put_string(f, "name", "malloc");
		put_string(f, "category", "Memory");
		put_string(f, "description", "Live bytes");
		put_pid(f, f->timed.threads.len ? thread_of(f, 0).pid : f->profile->meta.pid);
		put_number(f, "mainThreadIndex", 0);
		begin(f, "samples", '{');
		put_number(f, "length", f->profile->history.len);
		put_moments(f, "time", put_moment_time);
		put_moments(f, "count", put_moment_bytes);
		allo_json_out_end(&f->json);
		allo_json_out_end(&f->json);
	}
	allo_json_out_end(&f->json);
}

static bool write_firefox(struct allo_write_job *w, const struct allo_profile *profile,
			  struct allo_error *err)
{
	ALLO_DEFER(firefox_done)
	struct firefox f = { .w = w,
			     .profile = profile,
			     .json = { .out = w->out, .pretty_depth = 1 } };

	if (!allo_firefox_tables_init(&f.tables, profile, err) ||
	    !allo_timed_rows_init(&f.timed, profile, err))
		return false;
	allo_json_out_begin(&f.json, '{');
	put_meta(&f);
	begin(&f, "libs", '[');
	for (size_t i = 1; i < profile->modules.len; i++)
		put_lib(&f, &profile->modules.at[i]);
	allo_json_out_end(&f.json);
	allo_output_string(w->out, ",\n\"shared\":");
	allo_firefox_put_tables(&f.tables, w->out);
	put_threads(&f);
	put_counters(&f);
	allo_json_out_end(&f.json);
	return true;
}

const struct allo_writer allo_write_firefox = {
	.name = "firefox",
	.title = "for the Firefox Profiler, profiler.firefox.com",
	.about =
		"One thread for each metric, all visible, the preferred one selected; or, for "
		"a trace, the traced threads over time. Bytes become native allocations, "
		"other units samples with weights. Functions have their modules, files and "
		"lines; inlined calls are frames. A comparison becomes two threads, before "
		"and after. The heap over time, if it is known, is the memory track. The blocks of "
		"a recording, as they came and went, are the first thread: select a stretch of "
		"time, and 'Retained Memory' shows the functions whose blocks were allocated in "
		"it and outlived it. Of more than half a million blocks, a sample stands for "
		"all.\n\n"
		"Negative values are left out. The Firefox Profiler counts with doubles, so "
		"values above 2^53 are cut to that. A file name that ends in .gz is packed "
		"with gzip; the Firefox Profiler opens it as well.",
	.endings = ".firefox.json .profile.json",
	.marks = { { "\"preprocessedProfileVersion\"", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_BUILD_IDS |
		 ALLO_HOLDS_ADDRESSES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_TIMES | ALLO_HOLDS_COMMAND | ALLO_HOLDS_HISTORY |
		 ALLO_HOLDS_CHANGES,
	.write = write_firefox,
};
