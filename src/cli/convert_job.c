#include "cli/convert_job.h"

#include "base/defer.h"
#include "engine/fill_store.h"
#include "parquet/parquet_store.h"
#include "report/messages.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define AT(field) offsetof(struct allo_convert_options, field)

static const struct allo_option writing_options[] = {
	OPT_FILE('o', "output", "FILE", output, "output file (default: -, standard output)"),
	OPT_NAME(0, "to", "FORMAT", to, WRITERS,
		 "output format (default: by the ending of the output's name)"),
	OPT_NAMES(
		'M', "metric", "NAME", metrics, METRICS,
		"metric to write (default: all; may be repeated). Formats for a single metric take "
		"the first"),
	OPT_FORCE(force),
	OPT_END,
};
const struct allo_option_group allo_convert_group = { "Writing", writing_options };

const struct allo_writer *allo_convert_writer(const char *to, const char *output,
					      struct allo_error *err)
{
	const struct allo_writer *writer = allo_choose_writer(to, output, err);

	if (writer && writer->is_folder && (!output || strcmp(output, "-") == 0)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "%s is a folder of files: it is not written to standard output",
			  writer->name);
		allo_hint(err, "name the folder with -o");
		return NULL;
	}
	if (writer && writer->is_binary && (!output || strcmp(output, "-") == 0) &&
	    isatty(STDOUT_FILENO)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "%s is binary: it is not written to a terminal", writer->name);
		allo_hint(err, "name a file with -o");
		return NULL;
	}
	return writer;
}

bool allo_convert_job_init(struct allo_convert_job *job, const struct allo_convert_options *options,
			   char **files, struct allo_error *err)
{
	*job = (struct allo_convert_job){
		.common = &options->common,
		.conversion = {
			.files = allo_common_files(files, err),
			.writer = allo_convert_writer(options->to, options->output, err),
			.output = options->output ? options->output : "-",
			.metrics = (const char *const *)options->metrics.item,
			.metric_count = options->metrics.count,
			.output_options.replace = options->force,
		},
	};
	return job->conversion.files && job->conversion.writer;
}

static void start_over(void *context)
{
	allo_input_signals_again(context);
}

bool allo_convert_job_run(struct allo_convert_job *job, struct allo_error *err)
{
	struct allo_conversion *conversion = &job->conversion;
	/* Signals stay caught until the output has its name: a second one must not remove it. */
	ALLO_DEFER(allo_inputs_end)
	struct allo_inputs inputs = { .signals = { .fd = -1, .copies = job->passes_through } };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };

	if (job->passes_through && strcmp(conversion->output, "-") == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "the copy of the input and the profile cannot both go to standard "
			  "output");
		return allo_hint(err, "name a file with -o");
	}
	conversion->source = &inputs.source;
	conversion->filter = &filter;
	conversion->attribution = conversion->write_options.attribution = &attribution;
	conversion->write_rows = allo_write_store;
	conversion->start_over = start_over;
	conversion->context = &inputs.signals;
	if (!allo_inputs_begin(&inputs, job->common, conversion->files, err) ||
	    !allo_common_filter(job->common, false, &filter, err) ||
	    !allo_common_attribution(job->common, &attribution, err) ||
	    !allo_convert(conversion, err))
		return false;
	job->is_stopped = inputs.signals.is_stopped;
	job->copy_error = inputs.signals.copy_error;
	allo_common_tell_filter(job->common, &filter);
	return true;
}

void allo_note_max(const struct allo_conversion *conversion)
{
	char max[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];

	if (conversion->max_sum == 0 || conversion->max_sum == conversion->peak_sum ||
	    !conversion->max_is_inuse)
		return;
	allo_say_note("inuse_space is the sum of each site's own maximum, %s; the program held at "
		      "most %s: see peak_space",
		      allo_format_bytes(allo_sum_number(conversion->max_sum).magnitude, max),
		      allo_format_bytes(allo_sum_number(conversion->peak_sum).magnitude, peak));
}

void allo_note_lost(const struct allo_writer *writer, unsigned lost)
{
	unsigned at_leaf = lost & writer->holds_at_leaf, everywhere = lost & ~writer->holds_at_leaf;
	char names[200];

	allo_holds_names(at_leaf, names, sizeof(names));
	if (at_leaf)
		allo_say_note("%s holds %s of the innermost call only", writer->name, names);
	allo_holds_names(everywhere, names, sizeof(names));
	if (everywhere)
		allo_say_note("%s cannot hold %s; left out", writer->name, names);
}

/* ", 1,234 allocations" for formats that hold them */
static const char *format_rows(const struct allo_conversion *conversion, char out[64])
{
	char number[ALLO_NUMBER_SIZE];

	out[0] = '\0';
	if (conversion->has_rows)
		snprintf(out, 64, ", %s allocation%s", allo_format_count(conversion->rows, number),
			 conversion->rows == 1 ? "" : "s");
	return out;
}

/* Tells the command that queries a folder, or all runs beside it. */
static void say_command(const struct allo_conversion *conversion)
{
	struct allo_text folder = allo_text_of(conversion->output), runs;

	while (folder.len > 1 && allo_text_ends(folder, ALLO_TEXT("/")))
		folder.len--;
	runs = allo_parquet_runs_folder(conversion->output);
	if (runs.len > 0)
		allo_say("query all runs with 'duckdb -init %.*s/duckdb.sql'", ALLO_TEXT_ARG(runs));
	else
		allo_say("query it with 'duckdb -init %.*s/duckdb.sql'", ALLO_TEXT_ARG(folder));
}

void allo_convert_job_report(const struct allo_convert_job *job)
{
	const struct allo_conversion *conversion = &job->conversion;
	char size[ALLO_NUMBER_SIZE], samples[ALLO_NUMBER_SIZE], rows[64];

	if (strcmp(conversion->output, "-") != 0)
		allo_say("wrote %s (%s): %s stack%s, %s%s", conversion->output,
			 allo_format_bytes(conversion->size, size),
			 allo_format_count(conversion->samples, samples),
			 conversion->samples == 1 ? "" : "s", conversion->metrics_written,
			 format_rows(conversion, rows));
	if (conversion->writer->is_folder)
		say_command(conversion);
	if (job->is_stopped)
		allo_say_note("a signal ended the input: it may be incomplete");
	if (job->copy_error != 0 && job->copy_error != EPIPE)
		allo_say_note("the copy of the input on standard output is incomplete: %s",
			      strerror(job->copy_error));
	allo_say_notes(&conversion->notes);
	allo_note_max(conversion);
	allo_note_lost(conversion->writer, conversion->lost);
}
