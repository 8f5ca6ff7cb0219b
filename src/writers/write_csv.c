/*
 * write_csv.c - comma-separated values (RFC 4180), one row per sample, for spreadsheets and
 * scripts.
 */
#include "base/defer.h"
#include "base/encoding/csv.h"
#include "writers/printable.h"
#include "writers/writer.h"

#include <stdio.h>

struct csv {
	struct allo_output *out;
	const struct allo_profile *profile;
	ALLO_VEC(allo_frame_id) frames; /* of the current row, innermost first */
	struct allo_chars field;
};

static void csv_done(struct csv *csv)
{
	allo_vec_done(&csv->frames);
	allo_vec_done(&csv->field);
}

static void put_next(struct csv *csv, struct allo_text text)
{
	allo_output_byte(csv->out, ',');
	allo_csv_put(csv->out, text);
}

static void put_next_number(struct csv *csv, uint64_t number)
{
	allo_output_byte(csv->out, ',');
	allo_output_u64(csv->out, number);
}

/* Header. */

/* "peak_bytes", or "peak_bytes_before" and "peak_bytes_after" in a comparison. */
static bool put_metric_name(struct csv *csv, size_t metric)
{
	const struct allo_metric *metrics = csv->profile->metrics.at;

	csv->field.len = 0;
	if (!allo_chars_add(&csv->field, allo_profile_text(csv->profile, metrics[metric].name)))
		return false;
	if (metrics[metric].is_before && !allo_chars_add(&csv->field, ALLO_TEXT("_before")))
		return false;
	if (metric > 0 && metrics[metric - 1].is_before &&
	    !allo_chars_add(&csv->field, ALLO_TEXT("_after")))
		return false;
	allo_csv_put(csv->out, allo_chars_text(&csv->field));
	allo_output_byte(csv->out, ',');
	return true;
}

static bool put_header(struct csv *csv)
{
	for (size_t i = 0; i < csv->profile->metrics.len; i++) {
		if (!put_metric_name(csv, i))
			return false;
	}
	allo_output_string(csv->out, "labels,function,file,line,module,address,stack");
	if (csv->profile->sample_times.len > 0)
		allo_output_string(csv->out, ",start_ns,duration_ns,pid,tid,thread");
	allo_output_byte(csv->out, '\n');
	return true;
}

/* Rows. */

static void put_values(struct csv *csv, size_t sample)
{
	const uint64_t *row = allo_profile_row(csv->profile, sample);

	for (size_t i = 0; i < csv->profile->metrics.len; i++) {
		if (csv->profile->metrics.at[i].is_signed)
			allo_output_i64(csv->out, (int64_t)row[i]);
		else
			allo_output_u64(csv->out, row[i]);
		allo_output_byte(csv->out, ',');
	}
}

/* ';' separates labels, so one inside becomes ':'. */
static bool add_part(struct allo_chars *field, struct allo_text text)
{
	size_t start = field->len;

	if (!allo_chars_add(field, text))
		return false;
	for (size_t i = start; i < field->len; i++) {
		if (field->at[i] == ';')
			field->at[i] = ':';
	}
	return true;
}

/* "bytes=64 bytes", "thread=worker" */
static bool add_label(struct allo_chars *field, const struct allo_profile *profile,
		      const struct allo_label *label)
{
	char number[32];

	if (!add_part(field, allo_profile_text(profile, label->key)) ||
	    !allo_chars_add(field, ALLO_TEXT("=")))
		return false;
	if (!label->is_number)
		return add_part(field, allo_profile_text(profile, label->text));
	snprintf(number, sizeof(number), label->unit ? "%lld " : "%lld", (long long)label->number);
	return allo_chars_add(field, allo_text_of(number)) &&
	       add_part(field, allo_profile_text(profile, label->unit));
}

static bool put_labels(struct csv *csv, size_t sample)
{
	const struct allo_profile *profile = csv->profile;
	allo_labels_id labels = allo_profile_labels_of(profile, sample);
	struct allo_label_set set = { 0 };

	if (labels)
		set = profile->label_sets.at[labels];
	csv->field.len = 0;
	for (uint32_t i = 0; i < set.count; i++) {
		if ((i > 0 && !allo_chars_add(&csv->field, ALLO_TEXT(";"))) ||
		    !add_label(&csv->field, profile, &profile->labels.at[set.first + i]))
			return false;
	}
	allo_csv_put(csv->out, allo_chars_text(&csv->field));
	return true;
}

/* Function, file, line, module and address of the innermost call. */
static void put_site(struct csv *csv, const struct allo_frame *frame)
{
	const struct allo_profile *profile = csv->profile;
	struct allo_line line = allo_call_line(profile, frame, 0);
	struct allo_text module = { 0 };
	char scratch[ALLO_NAME_SCRATCH];

	if (frame->module)
		module = allo_profile_text(profile, profile->modules.at[frame->module].path);
	put_next(csv, allo_call_name(profile, frame, 0, scratch));
	put_next(csv, allo_line_file(profile, line));
	allo_output_byte(csv->out, ',');
	if (line.line)
		allo_output_u64(csv->out, line.line);
	put_next(csv, module);
	allo_output_byte(csv->out, ',');
	if (frame->address)
		allo_output_printf(csv->out, "0x%llx", (unsigned long long)frame->address);
}

static bool add_frame(struct csv *csv, const struct allo_frame *frame)
{
	char scratch[ALLO_NAME_SCRATCH];

	for (uint32_t call = allo_frame_call_count(frame); call-- > 0;) {
		struct allo_text name = allo_call_name(csv->profile, frame, call, scratch);

		if ((csv->field.len > 0 && !allo_chars_add(&csv->field, ALLO_TEXT(";"))) ||
		    !allo_chars_add_folded(&csv->field, name))
			return false;
	}
	return true;
}

/* Writes the innermost call, then the whole stack as in folded stacks. */
static bool put_stack(struct csv *csv, allo_stack_id stack)
{
	const struct allo_profile *profile = csv->profile;

	csv->frames.len = 0;
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		if (!allo_vec_append(&csv->frames, &profile->stacks.at[stack].frame, 1))
			return false;
	}
	if (csv->frames.len > 0)
		put_site(csv, &profile->frames.at[csv->frames.at[0]]);
	else
		allo_output_string(csv->out, ",,,,,");
	csv->field.len = 0;
	for (size_t i = csv->frames.len; i-- > 0;) {
		if (!add_frame(csv, &profile->frames.at[csv->frames.at[i]]))
			return false;
	}
	put_next(csv, allo_chars_text(&csv->field));
	return true;
}

static void put_time(struct csv *csv, const struct allo_when *when)
{
	struct allo_thread thread = { 0 };

	if (when->thread)
		thread = csv->profile->threads.at[when->thread];
	put_next_number(csv, when->start_ns);
	put_next_number(csv, when->duration_ns);
	put_next_number(csv, thread.pid);
	put_next_number(csv, thread.tid);
	put_next(csv, allo_profile_text(csv->profile, thread.name));
}

static bool write_csv(struct allo_write_job *w, const struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(csv_done) struct csv csv = { .out = w->out, .profile = profile };

	if (!put_header(&csv))
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		put_values(&csv, i);
		if (!put_labels(&csv, i) || !put_stack(&csv, profile->sample_stacks.at[i]))
			return allo_fail_memory(err);
		if (i < profile->sample_times.len)
			put_time(&csv, &profile->sample_times.at[i]);
		allo_output_byte(w->out, '\n');
	}
	return true;
}

const struct allo_writer allo_write_csv = {
	.name = "csv",
	.spells_stacks = true,
	.title = "comma-separated values, for spreadsheets and scripts",
	.about = "A row of column names, then one row per stack. The columns: each metric (in "
		 "a comparison two, _before and _after); labels as key=value;key=value; "
		 "function, file, line, module and address of the innermost call; the whole "
		 "stack, the outermost caller first, with names separated by semicolons; times "
		 "and threads, if samples have them. Callers keep only their names. Quoting "
		 "follows RFC 4180.",
	.endings = ".csv",
	.marks = { { ",function,file,line,module,address,stack", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_LABELS | ALLO_HOLDS_TIMES | ALLO_HOLDS_NEGATIVE,
	.holds_at_leaf = ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_MODULES |
			 ALLO_HOLDS_ADDRESSES,
	.write = write_csv,
};
