/* show_recording.c - see show_recording.h. */
#include "cli/show/show_recording.h"

#include "base/units.h"
#include "cli/show/show_coverage.h"
#include "cli/show/show_losses.h"
#include "cli/show/show_marks.h"
#include "replay/coverage.h"
#include "replay/packed/stored_index.h"
#include "wire/allocator_state.h"
#include "wire/stacks.h"

#include <math.h>
#include <stdio.h>

static const char *unit_of(const struct allo_wire_sampling *sampling)
{
	return sampling->mode == ALLO_MODE_EVENTS ? "allocations" : "bytes";
}

/* Percentage of the processor time; 0 if that is not known. */
static double spent_percent(const struct allo_wire_overhead *overhead)
{
	return overhead->cpu_ns > 0 ? 100 * (double)overhead->spent_ns / (double)overhead->cpu_ns
				    : 0;
}

/* Percentage by which the estimate of all bytes may be off, in 95 of 100 cases; 0 without any. */
static double error_percent(const struct allo_wire_overhead *overhead)
{
	double percent = 100 * 1.96 * sqrt(overhead->bytes_variance) / overhead->bytes;

	return isfinite(percent) && percent >= 0 ? percent : 0;
}

const char *allo_show_sampled(const struct allo_wire_sampling *sampling,
			      char out[ALLO_SAMPLED_SIZE])
{
	char number[ALLO_NUMBER_SIZE];

	snprintf(out, ALLO_SAMPLED_SIZE, "one in %s %s", allo_format_count(sampling->rate, number),
		 unit_of(sampling));
	return out;
}

const char *allo_show_overhead(const struct allo_summary *summary, char out[ALLO_OVERHEAD_SIZE])
{
	const struct allo_wire_overhead *overhead = &summary->overhead;
	char last[ALLO_NUMBER_SIZE];

	out[0] = '\0';
	if (overhead->limit_ppm > 0)
		snprintf(out, ALLO_OVERHEAD_SIZE,
			 "%.2g%% of processor time, limit %.3g%%; in the end one in %s %s; total "
			 "bytes +/- %.2g%%",
			 spent_percent(overhead), (double)overhead->limit_ppm / 1e4,
			 allo_format_count(overhead->rate, last), unit_of(&summary->sampling),
			 error_percent(overhead));
	return out;
}

static void report_overhead(struct allo_report *report, const struct allo_wire_overhead *overhead)
{
	if (overhead->limit_ppm == 0)
		return;
	allo_report_object(report, "overhead");
	allo_report_field_exact(report, "limit_percent", (double)overhead->limit_ppm / 1e4);
	allo_report_field_exact(report, "percent", spent_percent(overhead));
	allo_report_field_u64(report, "spent_ns", overhead->spent_ns);
	allo_report_field_u64(report, "cpu_ns", overhead->cpu_ns);
	allo_report_field_u64(report, "last_rate", overhead->rate);
	allo_report_field_u64(report, "rate_changes", overhead->changes);
	allo_report_field_exact(report, "error_percent", error_percent(overhead));
	allo_report_close(report);
}

const char *allo_show_seen(const struct allo_wire_sampling *sampling, bool is_plain,
			   char out[ALLO_SEEN_SIZE])
{
	struct allo_number blocks = { .magnitude = sampling->alloc_blocks };
	struct allo_number bytes = { .magnitude = sampling->alloc_bytes };
	struct allo_number freed = { .magnitude = sampling->freed_blocks };
	char count[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE], frees[ALLO_NUMBER_SIZE];

	out[0] = '\0';
	if (sampling->alloc_blocks > 0)
		snprintf(out, ALLO_SEEN_SIZE, "in all %s allocation%s of %s, %s freed",
			 allo_format(blocks, ALLO_UNIT_COUNT, is_plain, count),
			 sampling->alloc_blocks == 1 ? "" : "s",
			 allo_format(bytes, ALLO_UNIT_BYTES, is_plain, size),
			 allo_format(freed, ALLO_UNIT_COUNT, is_plain, frees));
	return out;
}

void allo_report_field_sampling(struct allo_report *report, const struct allo_summary *summary)
{
	const struct allo_wire_sampling *sampling = &summary->sampling;

	if (!allo_summary_is_estimated(summary))
		return;
	allo_report_object(report, "sampling");
	allo_report_field_string(report, "by", unit_of(sampling));
	allo_report_field_u64(report, "rate", sampling->rate);
	allo_report_field_u64(report, "sampled_allocations", summary->recorded_allocations);
	if (sampling->alloc_blocks > 0) {
		allo_report_field_u64(report, "exact_allocations", sampling->alloc_blocks);
		allo_report_field_u64(report, "exact_bytes", sampling->alloc_bytes);
		allo_report_field_u64(report, "exact_frees", sampling->freed_blocks);
	}
	report_overhead(report, &summary->overhead);
	allo_report_close(report);
}

/* "   name 1,234", unless the count is 0. */
static void put_count(struct allo_report *report, const char *name, uint64_t count)
{
	if (count > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, "   %s %s", name,
				allo_report_count(report, count));
}

static void describe_sampled(struct allo_report *report, const struct allo_summary *summary)
{
	char seen[ALLO_SEEN_SIZE], overhead[ALLO_OVERHEAD_SIZE];

	allo_report_fact(report, "events");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s", allo_report_count(report, summary->events));
	put_count(report, "sampled allocations", summary->recorded_allocations);
	put_count(report, "events of its own", summary->own_events);
	put_count(report, "marks", summary->marks);
	put_count(report, "threads", summary->threads);
	allo_report_end_line(report);
	if (allo_show_overhead(summary, overhead)[0]) {
		allo_report_fact(report, "overhead");
		allo_report_wrapped(report, overhead, 12);
	}
	allo_show_seen(&summary->sampling, false, seen);
	if (seen[0] == '\0')
		return;
	allo_report_fact(report, "exactly");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s", seen);
	allo_report_end_line(report);
}

static void describe_events(struct allo_report *report, const struct allo_summary *summary)
{
	allo_report_fact(report, "events");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s", allo_report_count(report, summary->events));
	put_count(report, "allocations", summary->allocations - summary->resizes);
	put_count(report, "frees", summary->frees);
	put_count(report, "reallocs", summary->resizes);
	put_count(report, "failed reallocs", summary->failed_resizes);
	put_count(report, "events of its own", summary->own_events);
	put_count(report, "marks", summary->marks);
	put_count(report, "threads", summary->threads);
	allo_report_end_line(report);
}

static void describe_host(struct allo_report *report, const struct allo_recording *recording)
{
	if (recording->host.len == 0 && recording->folder.len == 0)
		return;
	allo_report_fact(report, "host");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, recording->host);
	if (recording->folder.len > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", in ");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, recording->folder);
	allo_report_end_line(report);
}

static void describe_quality(struct allo_report *report, const struct allo_summary *summary)
{
	allo_report_fact(report, "quality");
	if (summary->recorded_allocations > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN,
				"%s of allocations have their whole stack",
				allo_report_share(report, (double)summary->complete_allocations,
						  (double)summary->recorded_allocations));
	else
		allo_report_put(report, ALLO_STYLE_PLAIN, "no allocations");
	put_count(report, "cut stacks", summary->counts.cut_stacks);
	put_count(report, "failed stacks", summary->counts.failed_stacks);
	put_count(report, "guessed frames", summary->counts.guessed_frames);
	put_count(report, "checked stacks", summary->counts.checked_stacks);
	put_count(report, "different stacks", summary->counts.different_stacks);
	put_count(report, "dropped events", summary->dropped_events);
	put_count(report, "lost pages", summary->lost_pages);
	allo_report_end_line(report);
}

static void describe_coverage(struct allo_report *report, const struct allo_summary *summary)
{
	char coverage[ALLO_COVERAGE_SIZE];

	if (!allo_coverage_text(summary, report->options.is_plain, coverage)[0])
		return;
	allo_report_fact(report, "resident");
	allo_report_wrapped(report, coverage, 12);
}

/* Interpreters. */

static const char *language_name(uint32_t language)
{
	return language == ALLO_LANGUAGE_PYTHON ? "Python" : "language";
}

static const char *state_name(uint32_t state)
{
	return state == ALLO_INTERPRETER_SEEN      ? "recorded"
	       : state == ALLO_INTERPRETER_UNKNOWN ? "unknown version"
						   : "unexpected layout";
}

static void describe_interpreter(struct allo_report *report,
				 const struct allo_recorded_interpreter *interpreter)
{
	bool has_functions = interpreter->state == ALLO_INTERPRETER_SEEN;

	allo_report_fact(report, language_name(interpreter->language));
	allo_report_put_text(report, ALLO_STYLE_PLAIN, interpreter->version);
	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s functions%s%s",
			has_functions ? "with" : "without",
			!interpreter->has_objects ? ""
			: has_functions           ? " and objects"
						  : ", with objects",
			has_functions ? "" : "; not supported: ");
	if (!has_functions)
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s", state_name(interpreter->state),
				interpreter->state == ALLO_INTERPRETER_UNKNOWN &&
						interpreter->language == ALLO_LANGUAGE_PYTHON
					? " (3.10 to 3.15 are)"
					: "");
	allo_report_end_line(report);
}

static void describe_interpreter_fields(struct allo_report *report,
					const struct allo_recording *recording)
{
	if (recording->interpreters.len == 0)
		return;
	allo_report_list(report, "interpreters");
	for (size_t i = 0; i < recording->interpreters.len; i++) {
		const struct allo_recorded_interpreter *interpreter =
			&recording->interpreters.at[i];

		allo_report_object(report, NULL);
		allo_report_field_string(report, "language", language_name(interpreter->language));
		allo_report_field_text(report, "version", interpreter->version);
		allo_report_field_string(report, "functions", state_name(interpreter->state));
		allo_report_field_bool(report, "objects", interpreter->has_objects);
		allo_report_close(report);
	}
	allo_report_close(report);
}

/* Allocators besides libc's. */

static bool is_recorded(const struct allo_recorded_allocator *allocator)
{
	return allocator->state == ALLO_ALLOCATOR_LATE || allocator->state == ALLO_ALLOCATOR_OWN;
}

/* Of a later version, if there is no text. */
static const char *reason_of(const struct allo_recorded_allocator *allocator)
{
	const char *text = allo_allocator_state_text(allocator->state);

	return text ? text : "unknown";
}

static void describe_allocator(struct allo_report *report,
			       const struct allo_recorded_allocator *allocator)
{
	allo_report_fact(report, "allocator");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allocator->name);
	allo_report_put(report, ALLO_STYLE_PLAIN, " in ");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allocator->path);
	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s%s",
			is_recorded(allocator) ? "" : "not recorded: ", reason_of(allocator));
	allo_report_end_line(report);
}

static void describe_allocator_fields(struct allo_report *report,
				      const struct allo_recording *recording)
{
	if (recording->allocators.len == 0)
		return;
	allo_report_list(report, "allocators");
	for (size_t i = 0; i < recording->allocators.len; i++) {
		const struct allo_recorded_allocator *allocator = &recording->allocators.at[i];

		allo_report_object(report, NULL);
		allo_report_field_text(report, "name", allocator->name);
		allo_report_field_text(report, "module", allocator->path);
		allo_report_field_bool(report, "recorded", is_recorded(allocator));
		allo_report_field_string(report, "reason", reason_of(allocator));
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_losses(struct allo_report *report, const struct allo_summary *summary)
{
	struct allo_loss_lines lines;

	allo_show_losses(summary, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		allo_report_fact(report, "missing");
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s", lines.text[i]);
		allo_report_end_line(report);
	}
}

/* The largest error of a gap between two events of a thread that slept in between: of rounding in
 * packed recordings, and of saved time stamps. */
static uint32_t sleep_error_ns(uint32_t step)
{
	return step < 50000 ? step : 50000;
}

/* Some events did without a clock. */
static bool has_saved_times(uint32_t step)
{
	return step != ALLO_TIME_UNKNOWN && step != ALLO_TIME_EXACT && step != sleep_error_ns(step);
}

static void describe_saved_times(struct allo_report *report, const struct allo_wire_head *head)
{
	struct allo_number step = { .magnitude = head->sampling.time_step };
	uint64_t unsure = head->unsure_sleeps;
	char time[ALLO_NUMBER_SIZE], number[ALLO_NUMBER_SIZE];

	allo_format(step, ALLO_UNIT_NS, false, time);
	allo_report_put(report, ALLO_STYLE_PLAIN,
			"times of sleeps within %u us, of computing within %s",
			sleep_error_ns(head->sampling.time_step) / 1000, time);
	if (unsure > 0)
		allo_report_put(
			report, ALLO_STYLE_PLAIN,
			"; %s %s may include up to %s of computing (--time exact avoids it)",
			allo_format_count(unsure, number), unsure == 1 ? "sleep" : "sleeps", time);
}

static void describe_time(struct allo_report *report, const struct allo_wire_head *head)
{
	uint32_t step = head->sampling.time_step;

	allo_report_fact(report, "accuracy");
	if (has_saved_times(step))
		describe_saved_times(report, head);
	else if (step == ALLO_TIME_UNKNOWN)
		allo_report_put(report, ALLO_STYLE_PLAIN, "times of unknown accuracy");
	else if (step == ALLO_TIME_EXACT)
		allo_report_put(report, ALLO_STYLE_PLAIN, "exact times (every event)");
	else
		allo_report_put(report, ALLO_STYLE_PLAIN, "times within %u us", step / 1000);
	allo_report_end_line(report);
}

/* Of a bounded recording: the part with all events. */
static void describe_exact(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_summary *summary)
{
	uint64_t exact_ns = allo_recording_exact_ns(recording), end_ns = summary->duration_ns;
	char from[ALLO_NUMBER_SIZE], length[ALLO_NUMBER_SIZE];

	if (exact_ns == 0)
		return;
	allo_format((struct allo_number){ .magnitude = exact_ns }, ALLO_UNIT_NS, false, from);
	allo_format((struct allo_number){ .magnitude = end_ns > exact_ns ? end_ns - exact_ns : 0 },
		    ALLO_UNIT_NS, false, length);
	allo_report_fact(report, "exact");
	allo_report_put(report, ALLO_STYLE_PLAIN,
			"the last %s, since %s; earlier events are sums, and live blocks", length,
			from);
	allo_report_end_line(report);
}

static void describe_time_fields(struct allo_report *report, const struct allo_wire_head *head)
{
	uint32_t step = head->sampling.time_step;
	bool is_exact = step == ALLO_TIME_EXACT;

	allo_report_object(report, "time");
	allo_report_field_bool(report, "exact", is_exact);
	if (!is_exact && step != ALLO_TIME_UNKNOWN) {
		allo_report_field_u64(report, "sleep_error_ns", sleep_error_ns(step));
		allo_report_field_u64(report, "computing_error_ns", step);
	}
	if (has_saved_times(step))
		allo_report_field_u64(report, "unsure_sleeps", head->unsure_sleeps);
	allo_report_close(report);
}

static void describe_file(struct allo_report *report, const struct allo_recording *recording,
			  const struct allo_summary *summary)
{
	char number[ALLO_NUMBER_SIZE];

	allo_report_fact(report, "file");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s",
			allo_format_bytes(summary->file_bytes, number));
	if (summary->events > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", %.2f bytes an event",
				(double)summary->file_bytes / (double)summary->events);
	if (recording->head.counts.own_bytes > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, "; recording took %s of memory",
				allo_format_bytes(recording->head.counts.own_bytes, number));
	allo_report_end_line(report);
	if (!allo_recording_has_index(recording))
		return;
	allo_report_fact(report, "index");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s: ranges of time need no replay",
			allo_format_bytes(allo_stored_index_size(recording), number));
	allo_report_end_line(report);
}

static void describe_threads(struct allo_report *report, const struct allo_recording *recording)
{
	allo_report_list(report, "threads");
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		allo_report_object(report, NULL);
		allo_report_field_u64(report, "tid", stream->thread);
		allo_report_field_text(report, "name", stream->name);
		allo_report_field_u64(report, "dropped_events", stream->dropped);
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_modules(struct allo_report *report, const struct allo_recording *recording)
{
	allo_report_list(report, "modules");
	for (size_t i = 0; i < recording->modules.len; i++) {
		const struct allo_loaded_module *module = &recording->modules.at[i];

		allo_report_object(report, NULL);
		allo_report_field_text(report, "path", module->path);
		allo_report_field_text(report, "build_id", module->build_id);
		allo_report_field_u64(report, "start", module->start);
		allo_report_field_u64(report, "end", module->end);
		allo_report_field_u64(report, "bias", module->bias);
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_run(struct allo_report *report, const struct allo_recording *recording)
{
	allo_report_field_text(report, "program", recording->program);
	allo_report_list(report, "arguments");
	for (size_t i = 0; i < recording->arguments.len; i++)
		allo_report_field_name(report, NULL, recording->arguments.at[i]);
	allo_report_close(report);
	allo_report_field_text(report, "folder", recording->folder);
	allo_report_field_text(report, "host", recording->host);
	allo_report_field_u64(report, "pid", recording->head.pid);
	allo_report_field_u64(report, "parent_pid", recording->head.parent_pid);
	allo_report_field_u64(report, "min_size", recording->head.min_size);
	allo_report_field_u64(report, "stack_depth", recording->head.stack_depth);
	allo_report_field_string(report, "mode", allo_mode_name(recording->head.sampling.mode));
	allo_report_field_string(report, "end", allo_end_name(recording->head.end));
	describe_time_fields(report, &recording->head);
	if (recording->earlier)
		allo_report_field_u64(report, "exact_ns", allo_recording_exact_ns(recording));
}

static void describe_summary(struct allo_report *report, const struct allo_summary *summary)
{
	allo_report_field_u64(report, "events", summary->events);
	allo_report_field_u64(report, "allocations", summary->allocations);
	allo_report_field_u64(report, "reallocs", summary->resizes);
	allo_report_field_u64(report, "failed_reallocs", summary->failed_resizes);
	allo_report_field_u64(report, "frees", summary->frees);
	if (summary->own_events > 0) {
		allo_report_field_u64(report, "own_events", summary->own_events);
		allo_report_field_u64(report, "own_units", summary->own_units);
	}
	allo_report_field_u64(report, "unknown_frees", summary->unknown_frees);
	allo_report_field_u64(report, "complete_allocations", summary->complete_allocations);
	allo_report_field_u64(report, "cut_stacks", summary->counts.cut_stacks);
	allo_report_field_u64(report, "failed_stacks", summary->counts.failed_stacks);
	allo_report_field_u64(report, "guessed_frames", summary->counts.guessed_frames);
	allo_report_field_u64(report, "checked_stacks", summary->counts.checked_stacks);
	allo_report_field_u64(report, "different_stacks", summary->counts.different_stacks);
	allo_report_field_u64(report, "own_bytes", summary->counts.own_bytes);
	allo_report_field_u64(report, "lost_pages", summary->lost_pages);
	allo_report_field_coverage(report, summary);
	allo_report_field_sampling(report, summary);
}

static void describe_fields(struct allo_report *report, const struct allo_recording *recording,
			    const struct allo_summary *summary, const struct allo_marks *marks)
{
	const struct allo_gaps *gaps = &recording->gaps;

	allo_report_object(report, "recording");
	describe_run(report, recording);
	describe_summary(report, summary);
	allo_report_field_u64(report, "file_bytes", summary->file_bytes);
	if (allo_recording_has_index(recording))
		allo_report_field_u64(report, "index_bytes", allo_stored_index_size(recording));
	allo_report_field_bool(report, "cut", gaps->is_cut);
	allo_report_field_u64(report, "dropped_events", gaps->dropped_events);
	allo_report_field_u64(report, "missing_pages", gaps->missing_pages);
	allo_report_field_u64(report, "missing_streams", gaps->missing_streams);
	allo_report_field_u64(report, "damaged_pages", gaps->damaged_pages);
	allo_report_field_u64(report, "unread_pages", gaps->unread_pages);
	allo_report_field_u64(report, "missing_stacks", gaps->missing_stacks);
	allo_report_field_losses(report, summary);
	allo_report_field_marks(report, recording, marks);
	describe_threads(report, recording);
	describe_modules(report, recording);
	describe_interpreter_fields(report, recording);
	describe_allocator_fields(report, recording);
	allo_report_close(report);
}

void allo_report_recording(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_summary *summary, const struct allo_marks *marks)
{
	describe_fields(report, recording, summary, marks);
	describe_host(report, recording);
	allo_report_fact(report, "ended");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s", allo_end_name(recording->head.end),
			recording->gaps.is_cut ? "; the file is cut" : "");
	allo_report_end_line(report);
	(allo_summary_is_estimated(summary) ? describe_sampled : describe_events)(report, summary);
	if (marks->list.len > 0) {
		allo_report_fact(report, "marks");
		allo_report_put_marks(report, recording, marks);
		allo_report_end_line(report);
	}
	describe_coverage(report, summary);
	for (size_t i = 0; i < recording->interpreters.len; i++)
		describe_interpreter(report, &recording->interpreters.at[i]);
	for (size_t i = 0; i < recording->allocators.len; i++)
		describe_allocator(report, &recording->allocators.at[i]);
	describe_quality(report, summary);
	describe_losses(report, summary);
	describe_time(report, &recording->head);
	describe_exact(report, recording, summary);
	describe_file(report, recording, summary);
}
