/* convert.c - see convert.h. */
#include "engine/convert.h"

#include "analysis/filters/select.h"
#include "base/defer.h"
#include "engine/merged_profile.h"

#include <stdio.h>
#include <sys/stat.h>

/* What was counted, by id. */
struct seen {
	ALLO_VEC(bool) frames, functions;
};

/* One pass over the input. */
struct converter {
	struct allo_conversion *conversion;
	struct allo_write_job job;
	struct seen seen;
};

static void seen_done(struct seen *seen)
{
	allo_vec_done(&seen->frames);
	allo_vec_done(&seen->functions);
}

static void converter_done(struct converter *converter)
{
	const struct allo_writer *writer = converter->conversion->writer;

	seen_done(&converter->seen);
	if (writer->drop)
		writer->drop(&converter->job);
}

/* Counting. */

static void count_functions(struct allo_conversion *conversion, struct seen *seen,
			    const struct allo_profile *profile, const struct allo_frame *frame)
{
	for (uint32_t i = 0; i < frame->line_count; i++) {
		allo_function_id function = profile->lines.at[frame->first_line + i].function;
		bool *is_seen = &seen->functions.at[function];

		conversion->functions += !*is_seen && function != 0;
		*is_seen = true;
	}
}

static bool count_frames(struct allo_conversion *conversion, struct seen *seen,
			 const struct allo_profile *profile, struct allo_error *err)
{
	if (!conversion->counts_frames)
		return true;
	if (!allo_vec_cover(&seen->frames, profile->frames.len) ||
	    !allo_vec_cover(&seen->functions, profile->functions.len + 1))
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->stacks.len; i++) {
		allo_frame_id frame = profile->stacks.at[i].frame;

		if (seen->frames.at[frame])
			continue;
		seen->frames.at[frame] = true;
		conversion->frames++;
		count_functions(conversion, seen, profile, &profile->frames.at[frame]);
	}
	return true;
}

static bool count_samples(struct allo_conversion *conversion, struct seen *seen,
			  const struct allo_profile *profile, struct allo_error *err)
{
	size_t metric;

	conversion->samples += allo_profile_sample_count(profile);
	if (allo_profile_find_metric(profile, ALLO_MAX_BYTES, &metric))
		conversion->max_sum += allo_metric_sum(profile, metric);
	conversion->max_is_inuse |= profile->meta.max_is_inuse &&
				    conversion->writer->names_max_inuse;
	if (allo_profile_find_metric(profile, ALLO_PEAK_BYTES, &metric))
		conversion->peak_sum += allo_metric_sum(profile, metric);
	return count_frames(conversion, seen, profile, err);
}

bool allo_conversion_count(struct allo_conversion *conversion, const struct allo_profile *profile,
			   struct allo_error *err)
{
	ALLO_DEFER(seen_done) struct seen seen = { 0 };

	return count_samples(conversion, &seen, profile, err);
}

/* Reading and writing. */

static bool filter_samples(const struct allo_conversion *conversion, struct allo_profile *profile,
			   struct allo_error *err)
{
	return allo_filter_is_empty(conversion->filter) ||
	       allo_filter_apply(conversion->filter, profile, err);
}

void allo_conversion_clean(const struct allo_conversion *conversion, struct allo_profile *profile)
{
	if (conversion->no_command)
		profile->meta.command = 0;
}

bool allo_conversion_select(struct allo_conversion *conversion, struct allo_profile *profile,
			    struct allo_error *err)
{
	allo_conversion_clean(conversion, profile);
	return filter_samples(conversion, profile, err) &&
	       (conversion->metric_count == 0 ||
		allo_select_metrics(profile, conversion->metrics, conversion->metric_count, err));
}

/* The parts of a profile that the format can hold. */
static struct allo_profile_request request_for(const struct allo_writer *writer)
{
	return (struct allo_profile_request){
		.keep_accesses = writer->holds & ALLO_HOLDS_ACCESSES,
		.by_thread = writer->holds & ALLO_HOLDS_LABELS,
		.wants_history = writer->holds & ALLO_HOLDS_HISTORY,
		.wants_changes = writer->holds & ALLO_HOLDS_CHANGES,
		.wants_times = writer->holds & ALLO_HOLDS_TIMES,
	};
}

static bool write_portion(void *context, struct allo_profile *portion, struct allo_error *err)
{
	struct converter *converter = context;

	allo_conversion_clean(converter->conversion, portion);
	return filter_samples(converter->conversion, portion, err) &&
	       count_samples(converter->conversion, &converter->seen, portion, err) &&
	       allo_writer_check_stacks(converter->conversion->writer, portion, err) &&
	       converter->conversion->writer->add(&converter->job, portion, err);
}

static bool stream(struct converter *converter, struct allo_profile *profile,
		   struct allo_error *err)
{
	const struct allo_conversion *conversion = converter->conversion;
	struct allo_drain drain = { write_portion, converter };
	struct allo_profile_request request = request_for(conversion->writer);

	request.drain = &drain;
	return conversion->writer->begin(&converter->job, err) &&
	       allo_read_profile(conversion->files[0], conversion->source, &request, profile,
				 err) &&
	       write_portion(converter, profile, err) &&
	       conversion->writer->end(&converter->job, profile, err);
}

static bool read_then_write(struct converter *converter, struct allo_profile *profile,
			    struct allo_error *err)
{
	struct allo_conversion *conversion = converter->conversion;
	struct allo_profile_request request = request_for(conversion->writer);

	if (!allo_read_merged(conversion->files, conversion->source, &request, conversion->label,
			      profile, err) ||
	    !allo_conversion_select(conversion, profile, err) ||
	    !count_samples(conversion, &converter->seen, profile, err))
		return false;
	conversion->lost = allo_profile_holds(profile) & ~conversion->writer->holds;
	if (conversion->strict && conversion->lost)
		return true; /* convert_once() fails */
	return allo_write(conversion->writer, profile, &conversion->write_options,
			  converter->job.out, &conversion->notes, err);
}

static bool can_stream(const struct allo_conversion *conversion)
{
	return conversion->writer->add && !conversion->files[1] && conversion->metric_count == 0 &&
	       !conversion->strict && !conversion->label;
}

static bool write_any(struct converter *converter, struct allo_profile *profile, bool is_whole,
		      struct allo_error *err)
{
	struct allo_conversion *conversion = converter->conversion;

	if (conversion->writer->takes_rows)
		return conversion->write_rows(conversion, converter->job.out, profile, err);
	if (can_stream(conversion) && !is_whole)
		return stream(converter, profile, err);
	return read_then_write(converter, profile, err);
}

static bool check_folder(const struct allo_conversion *conversion, struct allo_error *err)
{
	if (!conversion->output_options.fast && !conversion->has_packing &&
	    allo_writer_packing(conversion->writer, conversion->output) == ALLO_PLAIN)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the files of %s have a compression of their own",
		  conversion->writer->name);
	return allo_hint(err, "name the folder *.parquet, without --fast");
}

static bool open_output(const struct allo_conversion *conversion, struct allo_output *out,
			struct allo_error *err)
{
	struct allo_output_options options = conversion->output_options;

	if (conversion->writer->is_folder)
		return check_folder(conversion, err); /* its writer makes it */
	options.sources = conversion->files;
	if (!conversion->has_packing)
		options.packing = allo_writer_packing(conversion->writer, conversion->output);
	if (conversion->output_fd ? !allo_output_open_fd(out, conversion->output_fd,
							 conversion->output, &options, err)
				  : !allo_output_open(out, conversion->output, &options, err))
		return false;
	allo_output_clean_terminal(out);
	return true;
}

static bool fail_lossy(const struct allo_conversion *conversion, struct allo_error *err)
{
	const struct allo_writer *writer = conversion->writer;
	bool has_leaf = (conversion->lost & ~writer->holds_at_leaf) == 0;
	char lost[200];

	allo_holds_names(conversion->lost, lost, sizeof(lost));
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "%s cannot hold %s%s", writer->name, lost,
		  has_leaf ? " of callers" : "");
	return allo_hint(err, "without --strict they are left out");
}

static void name_metrics(struct allo_conversion *conversion, const struct allo_profile *profile)
{
	char *written = conversion->metrics_written;
	size_t count = profile->metrics.len;
	struct allo_text name;

	if (count == 0 || (count > 1 && conversion->writer->holds & ALLO_HOLDS_METRICS)) {
		snprintf(written, sizeof(conversion->metrics_written), "%zu metrics", count);
		return;
	}
	name = allo_profile_text(profile, profile->metrics.at[allo_default_metric(profile)].name);
	snprintf(written, sizeof(conversion->metrics_written), "%.*s", ALLO_TEXT_ARG(name));
}

static bool convert_once(struct allo_conversion *conversion, bool is_whole, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(converter_done)
	struct converter converter = { .conversion = conversion,
				       .job = { .out = &out,
						.options = &conversion->write_options } };

	if (!open_output(conversion, &out, err) || !write_any(&converter, &profile, is_whole, err))
		return false;
	conversion->lost = allo_profile_holds(&profile) & ~conversion->writer->holds;
	if (conversion->strict && conversion->lost)
		return fail_lossy(conversion, err);
	name_metrics(conversion, &profile);
	allo_notes_add(&conversion->notes, &profile.notes);
	allo_notes_add(&conversion->notes, &converter.job.notes);
	if (conversion->writer->is_folder)
		return true;
	if (!allo_output_finish(&out, err))
		return false;
	conversion->size = allo_output_size(&out);
	return true;
}

static bool can_read_again(const char *file)
{
	struct stat st;

	return strcmp(file, "-") != 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode);
}

bool allo_convert(struct allo_conversion *conversion, struct allo_error *err)
{
	struct allo_conversion before = *conversion;

	if (conversion->writer->takes_rows && !conversion->write_rows) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "this library does not write the format %s", conversion->writer->name);
		return allo_hint(err, "'allo convert' does");
	}
	if (!allo_writer_has_version(conversion->writer, conversion->write_options.version, err))
		return false;
	if (convert_once(conversion, false, err))
		return true;
	if (err->code != ALLO_ORDER || !can_read_again(conversion->files[0]))
		return false;
	*conversion = before;
	*err = (struct allo_error){ 0 };
	allo_filter_start_over(conversion->filter);
	if (conversion->start_over)
		conversion->start_over(conversion->context);
	return convert_once(conversion, true, err);
}

const struct allo_writer *allo_choose_writer(const char *to, const char *output,
					     struct allo_error *err)
{
	const struct allo_writer *writer = to       ? allo_writer_find(to, err)
					   : output ? allo_writer_find_by_path(output)
						    : NULL;

	if (writer)
		return writer;
	if (output && strcmp(output, "-") != 0)
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "cannot tell the output format from the name %s", output);
	else
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "cannot tell the output format");
	if (output && allo_text_ends(allo_text_of(output), ALLO_TEXT(".html")))
		allo_hint(err, "'allo report FILE -o %.80s' writes HTML", output);
	allo_hint(err, "pass --to FORMAT ('allo formats' lists them), or name the file *.pb.gz, "
		       "*.svg, ...");
	return NULL;
}
