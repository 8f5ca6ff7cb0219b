/* show_recording.c - see show_recording.h. */
#include "cli/show_recording.h"

#include "base/units.h"
#include "cli/show_marks.h"

#include <stdio.h>

static void put_name(struct allo_output *out, const struct allo_style *style, const char *name)
{
	allo_output_printf(out, "  %s%-10s%s", style->bold, name, style->reset);
}

/* "   name 1,234", unless there is none. */
static void put_count(struct allo_output *out, const char *name, uint64_t count)
{
	char number[ALLO_NUMBER_SIZE];

	if (count > 0)
		allo_output_printf(out, "   %s %s", name, allo_format_count(count, number));
}

const char *allo_show_sampled(const struct allo_wire_sampling *sampling,
			      char out[ALLO_SAMPLED_SIZE])
{
	char number[ALLO_NUMBER_SIZE];

	snprintf(out, ALLO_SAMPLED_SIZE, "one in %s %s", allo_format_count(sampling->rate, number),
		 sampling->mode == ALLO_MODE_EVENTS ? "allocations" : "bytes");
	return out;
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

/* What is in a sampled recording, and what there was. */
static void put_sampling(struct allo_output *out, const struct allo_style *style,
			 const struct allo_summary *summary)
{
	char number[ALLO_NUMBER_SIZE], seen[ALLO_SEEN_SIZE];

	put_name(out, style, "events");
	allo_output_printf(out, "%s", allo_format_count(summary->events, number));
	put_count(out, "sampled allocations", summary->recorded_allocations);
	put_count(out, "events of its own", summary->own_events);
	put_count(out, "marks", summary->marks);
	put_count(out, "threads", summary->threads);
	allo_show_seen(&summary->sampling, false, seen);
	if (seen[0] != '\0') {
		allo_output_byte(out, '\n');
		put_name(out, style, "exactly");
		allo_output_string(out, seen);
	}
	allo_output_byte(out, '\n');
}

static void put_events(struct allo_output *out, const struct allo_style *style,
		       const struct allo_summary *summary)
{
	char number[ALLO_NUMBER_SIZE];

	put_name(out, style, "events");
	allo_output_printf(out, "%s", allo_format_count(summary->events, number));
	put_count(out, "allocations", summary->allocations - summary->resizes);
	put_count(out, "frees", summary->frees);
	put_count(out, "reallocs", summary->resizes);
	put_count(out, "failed reallocs", summary->failed_resizes);
	put_count(out, "events of its own", summary->own_events);
	put_count(out, "marks", summary->marks);
	put_count(out, "threads", summary->threads);
	allo_output_byte(out, '\n');
}

static void put_place(struct allo_output *out, const struct allo_style *style,
		      const struct allo_recording *recording)
{
	if (recording->host.len == 0 && recording->folder.len == 0)
		return;
	put_name(out, style, "host");
	allo_output_printable(out, recording->host);
	if (recording->folder.len > 0)
		allo_output_string(out, ", in ");
	allo_output_printable(out, recording->folder);
	allo_output_byte(out, '\n');
}

static void put_quality(struct allo_output *out, const struct allo_style *style,
			const struct allo_summary *summary)
{
	char share[ALLO_NUMBER_SIZE];

	put_name(out, style, "quality");
	if (summary->recorded_allocations > 0)
		allo_output_printf(out, "%s of allocations have their whole stack",
				   allo_format_share((double)summary->complete_allocations,
						     (double)summary->recorded_allocations, share));
	else
		allo_output_string(out, "no allocations");
	put_count(out, "cut stacks", summary->counts.cut_stacks);
	put_count(out, "failed stacks", summary->counts.failed_stacks);
	put_count(out, "guessed frames", summary->counts.guessed_frames);
	put_count(out, "checked stacks", summary->counts.checked_stacks);
	put_count(out, "different stacks", summary->counts.different_stacks);
	put_count(out, "dropped events", summary->dropped_events);
	put_count(out, "lost blocks", summary->lost_pages);
	allo_output_byte(out, '\n');
}

void allo_show_recording(struct allo_output *out, const struct allo_style *style,
			 const struct allo_recording *recording, const struct allo_summary *summary,
			 const struct allo_marks *marks)
{
	char number[ALLO_NUMBER_SIZE];

	put_place(out, style, recording);
	put_name(out, style, "ended");
	allo_output_printf(out, "%s%s\n", allo_end_name(recording->head.end),
			   recording->gaps.is_cut ? "; the file is cut" : "");
	(allo_summary_is_estimated(summary) ? put_sampling : put_events)(out, style, summary);
	if (marks->list.len > 0) {
		put_name(out, style, "marks");
		allo_show_marks(out, recording, marks, false);
	}
	put_quality(out, style, summary);
	put_name(out, style, "file");
	allo_output_printf(out, "%s", allo_format_bytes(recording->size, number));
	if (summary->events > 0)
		allo_output_printf(out, ", %.2f bytes an event",
				   (double)recording->size / (double)summary->events);
	if (recording->head.counts.own_bytes > 0)
		allo_output_printf(out, "; recording took %s of memory",
				   allo_format_bytes(recording->head.counts.own_bytes, number));
	allo_output_byte(out, '\n');
}

/* JSON. */

static void put_threads(struct allo_json_out *json, const struct allo_recording *recording)
{
	allo_json_out_key(json, "threads");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < recording->streams.len; i++) {
		const struct allo_stream *stream = &recording->streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS)
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "tid", stream->thread);
		allo_json_out_member_text(json, "name", stream->name);
		allo_json_out_member_u64(json, "dropped_events", stream->dropped);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_modules(struct allo_json_out *json, const struct allo_recording *recording)
{
	allo_json_out_key(json, "modules");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < recording->modules.len; i++) {
		const struct allo_loaded_module *module = &recording->modules.at[i];

		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "path", module->path);
		allo_json_out_member_text(json, "build_id", module->build_id);
		allo_json_out_member_u64(json, "start", module->start);
		allo_json_out_member_u64(json, "end", module->end);
		allo_json_out_member_u64(json, "bias", module->bias);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

void allo_show_json_sampling(struct allo_json_out *json, const struct allo_summary *summary)
{
	const struct allo_wire_sampling *sampling = &summary->sampling;

	if (!allo_summary_is_estimated(summary))
		return;
	allo_json_out_key(json, "sampling");
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "by");
	allo_json_out_string(json, sampling->mode == ALLO_MODE_EVENTS ? "allocations" : "bytes");
	allo_json_out_member_u64(json, "rate", sampling->rate);
	allo_json_out_member_u64(json, "sampled_allocations", summary->recorded_allocations);
	if (sampling->alloc_blocks > 0) {
		allo_json_out_member_u64(json, "exact_allocations", sampling->alloc_blocks);
		allo_json_out_member_u64(json, "exact_bytes", sampling->alloc_bytes);
		allo_json_out_member_u64(json, "exact_frees", sampling->freed_blocks);
	}
	allo_json_out_end(json);
}

static void put_run(struct allo_json_out *json, const struct allo_recording *recording)
{
	allo_json_out_member_text(json, "program", recording->program);
	allo_json_out_key(json, "arguments");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < recording->arguments.len; i++)
		allo_json_out_text(json, recording->arguments.at[i]);
	allo_json_out_end(json);
	allo_json_out_member_text(json, "folder", recording->folder);
	allo_json_out_member_text(json, "host", recording->host);
	allo_json_out_member_u64(json, "pid", recording->head.pid);
	allo_json_out_member_u64(json, "parent_pid", recording->head.parent_pid);
	allo_json_out_member_u64(json, "min_size", recording->head.min_size);
	allo_json_out_member_u64(json, "stack_depth", recording->head.stack_depth);
	allo_json_out_key(json, "mode");
	allo_json_out_string(json, allo_mode_name(recording->head.sampling.mode));
	allo_json_out_key(json, "end");
	allo_json_out_string(json, allo_end_name(recording->head.end));
}

static void put_summary(struct allo_json_out *json, const struct allo_summary *summary)
{
	allo_json_out_member_u64(json, "events", summary->events);
	allo_json_out_member_u64(json, "allocations", summary->allocations);
	allo_json_out_member_u64(json, "reallocs", summary->resizes);
	allo_json_out_member_u64(json, "failed_reallocs", summary->failed_resizes);
	allo_json_out_member_u64(json, "frees", summary->frees);
	if (summary->own_events > 0) {
		allo_json_out_member_u64(json, "own_events", summary->own_events);
		allo_json_out_member_u64(json, "own_units", summary->own_units);
	}
	allo_json_out_member_u64(json, "unknown_frees", summary->unknown_frees);
	allo_json_out_member_u64(json, "complete_allocations", summary->complete_allocations);
	allo_json_out_member_u64(json, "cut_stacks", summary->counts.cut_stacks);
	allo_json_out_member_u64(json, "failed_stacks", summary->counts.failed_stacks);
	allo_json_out_member_u64(json, "guessed_frames", summary->counts.guessed_frames);
	allo_json_out_member_u64(json, "checked_stacks", summary->counts.checked_stacks);
	allo_json_out_member_u64(json, "different_stacks", summary->counts.different_stacks);
	allo_json_out_member_u64(json, "own_bytes", summary->counts.own_bytes);
	allo_json_out_member_u64(json, "lost_blocks", summary->lost_pages);
	allo_show_json_sampling(json, summary);
}

void allo_show_json_recording(struct allo_json_out *json, const struct allo_recording *recording,
			      const struct allo_summary *summary, const struct allo_marks *marks)
{
	const struct allo_gaps *gaps = &recording->gaps;

	allo_json_out_key(json, "recording");
	allo_json_out_begin(json, '{');
	put_run(json, recording);
	put_summary(json, summary);
	allo_json_out_member_u64(json, "file_bytes", recording->size);
	allo_json_out_key(json, "cut");
	allo_json_out_bool(json, gaps->is_cut);
	allo_json_out_member_u64(json, "dropped_events", gaps->dropped_events);
	allo_json_out_member_u64(json, "missing_blocks", gaps->missing_pages);
	allo_json_out_member_u64(json, "missing_streams", gaps->missing_streams);
	allo_json_out_member_u64(json, "damaged_blocks", gaps->damaged_pages);
	allo_json_out_member_u64(json, "unread_blocks", gaps->unread_pages);
	allo_json_out_member_u64(json, "missing_stacks", gaps->missing_stacks);
	allo_show_json_marks(json, recording, marks);
	put_threads(json, recording);
	put_modules(json, recording);
	allo_json_out_end(json);
}

void allo_report_field_sampling(struct allo_report *report, const struct allo_summary *summary)
{
	const struct allo_wire_sampling *sampling = &summary->sampling;

	if (!allo_summary_is_estimated(summary))
		return;
	allo_report_object(report, "sampling");
	allo_report_field_string(report, "by",
				 sampling->mode == ALLO_MODE_EVENTS ? "allocations" : "bytes");
	allo_report_field_u64(report, "rate", sampling->rate);
	allo_report_field_u64(report, "sampled_allocations", summary->recorded_allocations);
	if (sampling->alloc_blocks > 0) {
		allo_report_field_u64(report, "exact_allocations", sampling->alloc_blocks);
		allo_report_field_u64(report, "exact_bytes", sampling->alloc_bytes);
		allo_report_field_u64(report, "exact_frees", sampling->freed_blocks);
	}
	allo_report_close(report);
}
