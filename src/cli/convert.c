/*
 * convert.c - see convert.h.
 *
 * Where one file is read, its format comes in portions and the form takes them, samples pass
 * through without ever being in memory together.  Otherwise the profile is read whole, then
 * written.
 */
#include "cli/convert.h"

#include "analysis/select.h"
#include "base/defer.h"
#include "base/temporary.h"
#include "cli/make_database.h"
#include "cli/watch.h"
#include "report/messages.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(field) offsetof(struct allo_convert_options, field)

static const struct allo_option writing_options[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .help = "where to write; without it, or for -, standard output",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = AT(output) },
	{ .name = "to",
	  .argument = "FORMAT",
	  .help = "the form to write; without it, the output's name decides",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_WRITERS,
	  .offset = AT(to) },
	{ .letter = 'M',
	  .name = "metric",
	  .argument = "NAME",
	  .help = "write this number only; may be given several times. Forms that hold one number "
		  "take the first",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_METRICS,
	  .offset = AT(metrics) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace the output if it exists",
	  .offset = AT(force) },
	{ .name = NULL },
};
const struct allo_option_group allo_convert_group = { "Writing", writing_options };

struct passing {
	struct allo_convert *convert;
	struct allo_watch *watch;
	bool is_whole; /* the profile is read before anything is written */
	struct allo_filter filter;
	struct allo_write_job writing;
	ALLO_VEC(bool) frames_seen, functions_seen; /* by id */
};

static void passing_done(struct passing *passing)
{
	const struct allo_writer *writer = passing->convert->writer;

	allo_filter_done(&passing->filter);
	allo_vec_done(&passing->frames_seen);
	allo_vec_done(&passing->functions_seen);
	if (writer->drop)
		writer->drop(&passing->writing);
}

/* Counts the functions of a frame that has not been seen before. */
static void count_functions(struct passing *passing, const struct allo_profile *profile,
			    const struct allo_frame *frame)
{
	for (uint32_t i = 0; i < frame->line_count; i++) {
		allo_function_id function = profile->lines.at[frame->first_line + i].function;
		bool *is_seen = &passing->functions_seen.at[function];

		passing->convert->functions += !*is_seen && function != 0;
		*is_seen = true;
	}
}

static bool count_frames(struct passing *passing, const struct allo_profile *profile,
			 struct allo_error *err)
{
	if (!passing->convert->counts_frames)
		return true;
	if (!allo_vec_cover(&passing->frames_seen, profile->frames.len) ||
	    !allo_vec_cover(&passing->functions_seen, profile->functions.len + 1))
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->stacks.len; i++) {
		allo_frame_id frame = profile->stacks.at[i].frame;

		if (passing->frames_seen.at[frame])
			continue;
		passing->frames_seen.at[frame] = true;
		passing->convert->frames++;
		count_functions(passing, profile, &profile->frames.at[frame]);
	}
	return true;
}

static bool count_samples(struct passing *passing, const struct allo_profile *profile,
			  struct allo_error *err)
{
	struct allo_convert *convert = passing->convert;
	size_t metric;

	convert->samples += allo_profile_sample_count(profile);
	if (allo_profile_find_metric(profile, ALLO_MAX_BYTES, &metric))
		convert->max_sum += allo_metric_sum(profile, metric);
	if (allo_profile_find_metric(profile, ALLO_PEAK_BYTES, &metric))
		convert->peak_sum += allo_metric_sum(profile, metric);
	return count_frames(passing, profile, err);
}

static bool filter_samples(struct passing *passing, struct allo_profile *profile,
			   struct allo_error *err)
{
	return allo_filter_is_empty(&passing->filter) ||
	       allo_filter_apply(&passing->filter, profile, err);
}

static bool pass_portion(void *context, struct allo_profile *portion, struct allo_error *err)
{
	struct passing *passing = context;

	if (!filter_samples(passing, portion, err) || !count_samples(passing, portion, err))
		return false;
	return passing->convert->writer->add(&passing->writing, portion, err);
}

/* What the form has room for. */
static struct allo_read_options wanted_by(const struct passing *passing)
{
	unsigned holds = passing->convert->writer->holds;

	return (struct allo_read_options){
		.keep_accesses = holds & ALLO_HOLDS_ACCESSES,
		.by_thread = holds & ALLO_HOLDS_LABELS,
		.wants_history = holds & ALLO_HOLDS_HISTORY,
		.wants_times = holds & ALLO_HOLDS_TIMES,
		.watch = &passing->watch->input,
	};
}

/* Reads one file and writes it as it comes. */
static bool pass_through(struct passing *passing, struct allo_profile *profile,
			 struct allo_error *err)
{
	struct allo_convert *convert = passing->convert;
	struct allo_drain drain = { pass_portion, passing };
	struct allo_read_options options = wanted_by(passing);

	options.drain = &drain;
	return convert->writer->begin(&passing->writing, err) &&
	       allo_common_read(convert->common, convert->files[0], &options, profile, err) &&
	       pass_portion(passing, profile, err) &&
	       convert->writer->end(&passing->writing, profile, err);
}

/* What is left of what was read. */
static bool select_samples(void *context, struct allo_profile *profile, struct allo_error *err)
{
	struct passing *passing = context;
	const struct allo_list *metrics = passing->convert->metrics;

	return filter_samples(passing, profile, err) &&
	       (metrics->count == 0 ||
		allo_select_metrics(profile, metrics->item, metrics->count, err));
}

/* Reads everything, then writes it. */
static bool read_then_write(struct passing *passing, struct allo_profile *profile,
			    struct allo_error *err)
{
	struct allo_convert *convert = passing->convert;
	struct allo_read_options options = wanted_by(passing);

	if (!allo_common_read_labelled(convert->common, convert->files, &options, convert->label,
				       profile, err) ||
	    !select_samples(passing, profile, err) || !count_samples(passing, profile, err))
		return false;
	convert->lost = allo_profile_holds(profile) & ~convert->writer->holds;
	if (convert->strict && convert->lost)
		return true; /* told by the caller */
	return allo_write(convert->writer, profile, &convert->write_options, passing->writing.out,
			  &convert->notes, err);
}

static bool copy_file(int fd, struct allo_output *out, struct allo_error *err)
{
	enum { AT_ONCE = 64 << 10 };
	uint64_t offset = 0;

	for (;;) {
		char *room = allo_output_room(out, AT_ONCE);
		ssize_t got = pread(fd, room, AT_ONCE, (off_t)offset);

		if (got < 0)
			return allo_fail_errno(err, "a temporary file", "read");
		if (got == 0)
			return true;
		allo_output_wrote(out, room + got);
		offset += (uint64_t)got;
	}
}

/* A database is made in the file it goes to, or in a temporary one if that is none. */
static bool write_database(struct passing *passing, struct allo_profile *profile,
			   struct allo_error *err)
{
	struct allo_convert *convert = passing->convert;
	struct allo_making making = {
		.common = convert->common,
		.files = convert->files,
		.watch = &passing->watch->input,
		.change = select_samples,
		.context = passing,
		.is_selective = convert->metrics->count > 0 ||
				!allo_filter_is_empty(&passing->filter),
	};
	ALLO_DEFER(allo_close_fd) int temporary = -1;
	int fd = allo_output_lend(passing->writing.out);

	if (fd < 0)
		fd = temporary = allo_temporary_open();
	if (fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	if (!allo_make_database(&making, profile, fd, convert->output, err) ||
	    !count_samples(passing, profile, err))
		return false;
	convert->rows = making.rows;
	convert->has_rows = making.has_rows;
	return temporary < 0 || copy_file(temporary, passing->writing.out, err);
}

static bool write_any(struct passing *passing, struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_convert *convert = passing->convert;

	if (convert->writer->takes_rows)
		return write_database(passing, profile, err);
	if (convert->writer->add && !convert->files[1] && convert->metrics->count == 0 &&
	    !convert->strict && !convert->label && !passing->is_whole)
		return pass_through(passing, profile, err);
	return read_then_write(passing, profile, err);
}

static bool fail_lossy(const struct allo_convert *convert, struct allo_error *err)
{
	char lost[200];

	allo_holds_names(convert->lost, lost, sizeof(lost));
	allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "%s cannot hold %s", convert->writer->name, lost);
	return allo_hint(err, "without --strict they are left out");
}

static void tell_metrics(struct allo_convert *convert, const struct allo_profile *profile)
{
	char *told = convert->metrics_written;
	size_t count = profile->metrics.len;
	struct allo_text name;

	if (count == 0 || (count > 1 && convert->writer->holds & ALLO_HOLDS_METRICS)) {
		snprintf(told, sizeof(convert->metrics_written), "%zu metrics", count);
		return;
	}
	name = allo_profile_text(profile, profile->metrics.at[allo_default_metric(profile)].name);
	snprintf(told, sizeof(convert->metrics_written), "%.*s", ALLO_TEXT_ARG(name));
}

const struct allo_writer *allo_convert_writer(const char *to, const char *output,
					      struct allo_error *err)
{
	const struct allo_writer *writer = to       ? allo_writer_find(to, err)
					   : output ? allo_writer_find_by_path(output)
						    : NULL;

	if (!writer) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s%s%s",
			  output ? "the name " : "the form to write is not told",
			  output ? output : "", output ? " does not tell which form to write" : "");
		allo_hint(err, "add --to FORMAT; 'allo formats' lists them");
		return NULL;
	}
	if (writer->is_binary && (!output || strcmp(output, "-") == 0) && isatty(STDOUT_FILENO)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "%s is binary and not written to a terminal", writer->name);
		allo_hint(err, "name a file with -o");
		return NULL;
	}
	return writer;
}

bool allo_convert_init(struct allo_convert *convert, const struct allo_convert_options *options,
		       char **files, struct allo_error *err)
{
	*convert = (struct allo_convert){
		.common = &options->common,
		.files = files,
		.writer = allo_convert_writer(options->to, options->output, err),
		.output = options->output ? options->output : "-",
		.metrics = &options->metrics,
		.may_replace = options->force,
	};
	return convert->writer != NULL;
}

static bool convert_watched(struct allo_convert *convert, struct allo_watch *watch, bool is_whole,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(passing_done)
	struct passing passing = { .convert = convert,
				   .watch = watch,
				   .is_whole = is_whole,
				   .writing = { .out = &out, .options = &convert->write_options } };
	struct allo_output_options output = {
		.packing = allo_writer_packing(convert->writer, convert->output),
		.fast = convert->fast,
		.replace = convert->may_replace,
	};

	if (!allo_common_filter(convert->common, false, &passing.filter, err) ||
	    !allo_output_open(&out, convert->output, &output, err) ||
	    !write_any(&passing, &profile, err))
		return false;
	convert->lost = allo_profile_holds(&profile) & ~convert->writer->holds;
	if (convert->strict && convert->lost)
		return fail_lossy(convert, err);
	tell_metrics(convert, &profile);
	allo_notes_add(&convert->notes, &profile.notes);
	allo_notes_add(&convert->notes, &passing.writing.notes);
	if (!allo_output_finish(&out, err))
		return false;
	convert->size = allo_output_size(&out);
	allo_common_tell_filter(convert->common, &passing.filter);
	return true;
}

static bool can_be_read_again(const char *file)
{
	struct stat st;

	return strcmp(file, "-") != 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode);
}

/* What cannot be passed on as it comes, since it is not in the order of time, is read whole. */
static bool convert_any(struct allo_convert *convert, struct allo_watch *watch,
			struct allo_error *err)
{
	struct allo_convert before = *convert;

	if (convert_watched(convert, watch, false, err))
		return true;
	if (err->code != ALLO_ORDER || !can_be_read_again(convert->files[0]))
		return false;
	*convert = before;
	*err = (struct allo_error){ 0 };
	allo_watch_again(watch);
	return convert_watched(convert, watch, true, err);
}

static bool check(const struct allo_convert *convert, struct allo_error *err)
{
	if (convert->passes_through && strcmp(convert->output, "-") == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "the input is copied to standard output, and so would be the profile");
		return allo_hint(err, "name a file with -o");
	}
	return allo_writer_has_version(convert->writer, convert->write_options.version, err);
}

bool allo_convert(struct allo_convert *convert, struct allo_error *err)
{
	/* Until the file is there: a second signal must not take it away again. */
	ALLO_DEFER(allo_watch_end)
	struct allo_watch watch = { .fd = -1,
				    .copies = convert->passes_through,
				    .is_quiet = convert->common->quiet };

	if (!check(convert, err) || !allo_watch_begin(&watch, convert->files, err) ||
	    !convert_any(convert, &watch, err))
		return false;
	convert->is_stopped = watch.is_stopped;
	convert->copy_error = watch.copy_error;
	return true;
}

void allo_convert_warn_of_max(const struct allo_convert *convert)
{
	char max[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];

	if (convert->max_sum == 0 || convert->max_sum == convert->peak_sum ||
	    strcmp(convert->writer->name, "pprof") != 0)
		return;
	allo_say_note(
		"inuse_space adds up each site's own maximum, %s; the program held at most %s: "
		"see peak_space",
		allo_format_bytes(allo_sum_number(convert->max_sum).magnitude, max),
		allo_format_bytes(allo_sum_number(convert->peak_sum).magnitude, peak));
}

void allo_convert_tell_lost(const struct allo_writer *writer, unsigned lost)
{
	char names[200];

	if (lost == 0)
		return;
	allo_holds_names(lost, names, sizeof(names));
	allo_say_note("%s cannot hold %s; left out", writer->name, names);
}

/* ", 1,234 allocations", where there could be some. */
static const char *format_rows(const struct allo_convert *convert, char out[64])
{
	char number[ALLO_NUMBER_SIZE];

	out[0] = '\0';
	if (convert->has_rows)
		snprintf(out, 64, ", %s allocation%s", allo_format_count(convert->rows, number),
			 convert->rows == 1 ? "" : "s");
	return out;
}

void allo_convert_report(const struct allo_convert *convert)
{
	char size[ALLO_NUMBER_SIZE], samples[ALLO_NUMBER_SIZE], rows[64];

	if (strcmp(convert->output, "-") != 0)
		allo_say("wrote %s (%s): %s stack%s, %s%s", convert->output,
			 allo_format_bytes(convert->size, size),
			 allo_format_count(convert->samples, samples),
			 convert->samples == 1 ? "" : "s", convert->metrics_written,
			 format_rows(convert, rows));
	if (convert->is_stopped)
		allo_say_note("a signal has ended the input: it may have had more to say");
	if (convert->copy_error != 0 && convert->copy_error != EPIPE)
		allo_say_note("the copy of the input on standard output is not complete: %s",
			      strerror(convert->copy_error));
	allo_say_notes(&convert->notes);
	allo_convert_warn_of_max(convert);
	allo_convert_tell_lost(convert->writer, convert->lost);
}
