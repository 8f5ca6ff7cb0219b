/* cmd_info.c - allo info: what is in a file. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show_recording.h"
#include "cli/show_symbols.h"
#include "profile/naming.h"
#include "replay/recording_profile.h"
#include "report/messages.h"
#include "report/show.h"
#include "report/table.h"
#include "writers/writers.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct info {
	struct allo_common common;
};

static const struct allo_option options[] = {
	{ .name = "bytes",
	  .help = "print plain numbers, without units and separators",
	  .offset = offsetof(struct info, common.plain) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Numbers", options };

static const struct allo_option_group *const groups[] = { &group, &allo_printing_group,
							  &allo_symbols_group, &allo_reading_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo info heap.pb.gz", "which program, which numbers, how well named" },
	{ NULL, NULL },
};

/* A profile and, if that is what it was made of, the recording. */
struct contents {
	struct allo_profile profile;
	struct allo_input in;
	struct allo_recording recording;
	struct allo_summary summary;
	struct allo_marks marks;
	struct allo_symbols symbols;
	struct allo_symbol_report report;
	bool is_recording;
};

static void contents_done(struct contents *contents)
{
	allo_profile_done(&contents->profile);
	allo_symbols_done(&contents->symbols);
	allo_symbol_report_done(&contents->report);
	allo_marks_done(&contents->marks);
	allo_recording_close(&contents->recording);
	allo_input_close(&contents->in);
}

static bool read_recording(const struct allo_common *common, struct contents *contents,
			   struct allo_error *err)
{
	struct allo_replay replay = { .marks = &contents->marks };

	contents->profile.meta.format = "allo";
	if (!allo_recording_open(&contents->recording, &contents->in, err))
		return false;
	contents->recording.leaves_addresses = common->no_symbols;
	return allo_profile_from_recording(&contents->profile, &contents->recording, &replay,
					   &contents->summary, err) &&
	       allo_profile_validate(&contents->profile, err);
}

static bool read_contents(const struct allo_common *common, const char *file,
			  struct contents *contents, struct allo_error *err)
{
	struct allo_read_options read_options = { .from = common->from };
	struct allo_input *in = &contents->in;
	struct allo_progress_bar bar;
	bool ok;

	if (allo_is_directory(file))
		return allo_common_read_bare(common, file, NULL, &contents->profile, err);
	allo_progress_bar_init(&bar, file);
	ok = allo_input_open(in, file, bar.is_on && !common->quiet ? &bar.progress : NULL, err);
	if (ok) {
		contents->is_recording = (!common->from || strcmp(common->from, "allo") == 0) &&
					 allo_recording_probe((struct allo_text){
						 in->next, allo_input_unread(in) });
		ok = contents->is_recording
			     ? read_recording(common, contents, err)
			     : allo_read_input(in, &read_options, &contents->profile, err);
	}
	allo_progress_bar_done(&bar);
	return ok;
}

/* What the frames are, and how much is known about them. */
struct quality {
	size_t frames, named, with_line;
	size_t functions; /* that frames refer to */
};

static bool find_quality(struct quality *quality, const struct allo_profile *profile,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	bool *is_seen = calloc(profile->functions.len + 1, sizeof(*is_seen));

	if (!is_seen)
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		const struct allo_line *lines = frame->line_count
							? &profile->lines.at[frame->first_line]
							: NULL;

		quality->frames++;
		quality->named += lines && profile->functions.at[lines->function].name != 0;
		quality->with_line += lines && lines->line != 0;
		for (uint32_t k = 0; k < frame->line_count; k++) {
			quality->functions += !is_seen[lines[k].function];
			is_seen[lines[k].function] = true;
		}
	}
	return true;
}

static size_t count_of(size_t len)
{
	return len ? len - 1 : 0; /* entry 0 stands for none */
}

static const char *format_time(int64_t ns, char out[64])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(out, 64, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		out[0] = '\0';
	return out;
}

/* Text. */

static void put_fact(struct allo_output *out, const struct allo_style *style, const char *name)
{
	allo_output_printf(out, "  %s%-10s%s", style->bold, name, style->reset);
}

static void put_text_fact(struct allo_output *out, const struct allo_style *style, const char *name,
			  struct allo_text text)
{
	put_fact(out, style, name);
	allo_output_printable(out, text);
	allo_output_byte(out, '\n');
}

/* By the profile's clock. */
static const char *format_duration(const struct allo_meta *meta, uint64_t duration,
				   char out[ALLO_NUMBER_SIZE])
{
	bool is_ns = meta->clock == ALLO_CLOCK_NS;

	return allo_format((struct allo_number){ duration, false },
			   is_ns ? ALLO_UNIT_NS : ALLO_UNIT_COUNT, false, out);
}

static void print_time(struct allo_output *out, const struct allo_style *style,
		       const struct allo_meta *meta)
{
	char number[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE], date[64];

	if (!meta->start_ns && !meta->duration)
		return;
	put_fact(out, style, "time");
	if (meta->start_ns)
		allo_output_printf(out, "%s%s", format_time(meta->start_ns, date),
				   meta->duration ? ", " : "");
	if (meta->duration)
		allo_output_printf(out, "%s%s", format_duration(meta, meta->duration, number),
				   meta->clock == ALLO_CLOCK_INSTRUCTIONS ? " instructions" : "");
	if (meta->duration && meta->peak_time)
		allo_output_printf(
			out, "; most was held after %s (%s)",
			format_duration(meta, meta->peak_time, number),
			allo_format_share((double)meta->peak_time, (double)meta->duration, share));
	allo_output_byte(out, '\n');
}

static void print_run(struct allo_output *out, const struct allo_style *style,
		      const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;
	char number[ALLO_NUMBER_SIZE];

	if (meta->command) {
		put_fact(out, style, "program");
		allo_output_printable(out, allo_profile_text(profile, meta->command));
		if (meta->pid)
			allo_output_printf(out, "   (pid %llu)", (unsigned long long)meta->pid);
		allo_output_byte(out, '\n');
	}
	if (meta->producer)
		put_text_fact(out, style, "made by", allo_profile_text(profile, meta->producer));
	print_time(out, style, meta);
	if (meta->period > 1) {
		/* Of a count, what is counted says more. */
		bool is_count = allo_text_equal(allo_profile_text(profile, meta->period_unit),
						ALLO_TEXT("count"));

		put_fact(out, style, "sampled");
		allo_output_printf(out, "one in %s ",
				   allo_format_count((uint64_t)meta->period, number));
		allo_output_printable(out,
				      allo_profile_text(profile, is_count ? meta->period_type
									  : meta->period_unit));
		allo_output_byte(out, '\n');
	}
}

static void print_counts(struct allo_output *out, const struct allo_style *style,
			 const struct allo_profile *profile, const struct quality *quality)
{
	double frames = (double)quality->frames;
	char number[ALLO_NUMBER_SIZE], holds[256];

	put_fact(out, style, "stacks");
	allo_output_printf(out, "%s",
			   allo_format_count(allo_profile_sample_count(profile), number));
	allo_output_printf(out, "   frames %s", allo_format_count(quality->frames, number));
	allo_output_printf(out, "   functions %s", allo_format_count(quality->functions, number));
	allo_output_printf(out, "   modules %s\n",
			   allo_format_count(count_of(profile->modules.len), number));
	if (quality->frames > 0) {
		put_fact(out, style, "names");
		allo_output_printf(out, "%s of frames named, ",
				   allo_format_share((double)quality->named, frames, number));
		allo_output_printf(out, "%s with a line\n",
				   allo_format_share((double)quality->with_line, frames, number));
	}
	allo_holds_names(allo_profile_holds(profile), holds, sizeof(holds));
	put_fact(out, style, "has");
	allo_show_wrapped(out, holds[0] ? holds : "stacks and one metric", 12, 12);
	for (size_t i = 0; i < profile->comments.len; i++)
		put_text_fact(out, style, "comment",
			      allo_profile_text(profile, profile->comments.at[i]));
}

/* What a number means; its unit, where the number does not show it; and whether it is the one that
 * is shown when none is named. */
static void describe_metric(const struct allo_profile *profile, size_t index, char *out,
			    size_t room)
{
	const struct allo_metric *metric = &profile->metrics.at[index];
	struct allo_text unit = allo_profile_text(profile, metric->unit);
	bool is_plain = allo_unit_of(unit) == ALLO_UNIT_COUNT &&
			!allo_text_equal(unit, ALLO_TEXT("count"));

	snprintf(out, room, "%.*s%s%s%s", is_plain ? (int)(unit.len < 80 ? unit.len : 80) : 0,
		 unit.data, is_plain && unit.len ? " " : "",
		 allo_metric_kinds[metric->meaning].about,
		 index == allo_default_metric(profile) ? "  (shown by default)" : "");
}

static bool print_metrics(struct allo_output *out, const struct allo_common *common,
			  const struct allo_profile *profile, struct allo_error *err)
{
	struct allo_style style = allo_common_style(common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 3,
				    .is_left = { true, false, true },
				    .style = { style.bold },
				    .style_end = style.reset };

	for (size_t i = 0; i < profile->metrics.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[i];
		struct allo_text unit = allo_profile_text(profile, metric->unit);
		char name[ALLO_NAME_SCRATCH + 4], scratch[ALLO_NAME_SCRATCH],
			number[ALLO_NUMBER_SIZE], about[200];

		snprintf(name, sizeof(name), "    %.*s",
			 ALLO_TEXT_ARG(allo_metric_name(profile, i, scratch)));
		describe_metric(profile, i, about, sizeof(about));
		if (!allo_table_string(&table, name, err) ||
		    !allo_table_string(
			    &table,
			    allo_format(allo_sum_estimate(allo_metric_sum(profile, i),
							  allo_profile_estimates(profile, i)),
					allo_unit_of(unit), common->plain, number),
			    err) ||
		    !allo_table_string(&table, about, err))
			return false;
	}
	allo_output_printf(out, "  %smetrics%s\n", style.bold, style.reset);
	allo_table_print(&table, out);
	return true;
}

static bool print_text(struct allo_output *out, const struct allo_common *common, const char *file,
		       const struct contents *contents, const struct quality *quality,
		       struct allo_error *err)
{
	const struct allo_profile *profile = &contents->profile;
	struct allo_style style = allo_common_style(common);
	struct allo_text dialect = allo_profile_text(profile, profile->meta.dialect);

	allo_output_string(out, style.bold);
	allo_output_printable(out, allo_text_of(file));
	allo_output_printf(out, "%s   %s%s", style.reset, profile->meta.format,
			   dialect.len ? ", " : "");
	allo_output_printable(out, dialect);
	allo_output_byte(out, '\n');
	print_run(out, &style, profile);
	if (contents->is_recording)
		allo_show_recording(out, &style, &contents->recording, &contents->summary,
				    &contents->marks);
	print_counts(out, &style, profile, quality);
	return allo_show_symbols(out, &style, &contents->report, err) &&
	       print_metrics(out, common, profile, err);
}

/* JSON. */

static void print_json(struct allo_output *out, const char *file, const struct contents *contents,
		       const struct quality *quality)
{
	const struct allo_profile *profile = &contents->profile;
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	const struct allo_meta *meta = &profile->meta;

	allo_show_json_begin_numbers(&json, allo_profile_is_estimated(profile));
	allo_json_out_member_text(&json, "file", allo_text_of(file));
	allo_json_out_member_text(&json, "format", allo_text_of(meta->format));
	allo_json_out_member_text(&json, "dialect", allo_profile_text(profile, meta->dialect));
	allo_json_out_member_text(&json, "command", allo_profile_text(profile, meta->command));
	allo_json_out_member_text(&json, "producer", allo_profile_text(profile, meta->producer));
	allo_json_out_member_u64(&json, "pid", meta->pid);
	allo_json_out_key(&json, "start_ns");
	allo_json_out_i64(&json, meta->start_ns);
	allo_json_out_member_u64(&json,
				 meta->clock == ALLO_CLOCK_INSTRUCTIONS ? "duration_instructions"
									: "duration_ns",
				 meta->duration);
	allo_json_out_member_u64(
		&json, meta->clock == ALLO_CLOCK_INSTRUCTIONS ? "peak_instructions" : "peak_ns",
		meta->peak_time);
	allo_json_out_key(&json, "period");
	allo_json_out_i64(&json, meta->period);
	allo_json_out_member_u64(&json, "stacks", allo_profile_sample_count(profile));
	allo_json_out_member_u64(&json, "frames", quality->frames);
	allo_json_out_member_u64(&json, "frames_named", quality->named);
	allo_json_out_member_u64(&json, "frames_with_line", quality->with_line);
	allo_json_out_member_u64(&json, "functions", quality->functions);
	allo_json_out_member_u64(&json, "modules", count_of(profile->modules.len));
	allo_json_out_key(&json, "comments");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < profile->comments.len; i++)
		allo_json_out_text(&json, allo_profile_text(profile, profile->comments.at[i]));
	allo_json_out_end(&json);
	allo_json_out_key(&json, "metrics");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < profile->metrics.len; i++) {
		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "metric");
		allo_show_json_metric(&json, profile, i);
		allo_json_out_key(&json, "sum");
		allo_show_json_sum(&json, allo_metric_sum(profile, i));
		allo_json_out_key(&json, "default");
		allo_json_out_bool(&json, i == allo_default_metric(profile));
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	if (contents->is_recording) {
		allo_show_json_symbols(&json, &contents->report);
		allo_show_json_recording(&json, &contents->recording, &contents->summary,
					 &contents->marks);
	}
	allo_json_out_end(&json);
}

static bool run_info(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(contents_done) struct contents contents = { .in = { .fd = -1 } };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct info *opt = options_given;
	struct quality quality = { 0 };

	if (!read_contents(&opt->common, files[0], &contents, err) ||
	    !allo_common_name(&opt->common, &contents.profile, &contents.symbols, err) ||
	    !allo_symbol_report_init(&contents.report, &contents.profile, &contents.symbols,
				     opt->common.sysroot, err) ||
	    !find_quality(&quality, &contents.profile, err) ||
	    !allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out, files[0], &contents, &quality);
	else if (!print_text(&out, &opt->common, files[0], &contents, &quality, err))
		return false;
	return allo_common_end(&opt->common, &out, &contents.profile.notes, err);
}

const struct allo_command allo_cmd_info = {
	.name = "info",
	.heading = "Look",
	.summary = "tell what is in a file",
	.arguments = "FILE",
	.about = "Prints which program a profile is of, which metrics it has and what they sum "
		 "up to, and how well its frames are named. Of a recording it also tells how it "
		 "ended, how many events of how many threads it has, what could not be recorded, "
		 "and which programs and libraries lack names or lines for its frames, why, and "
		 "what to install.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct info),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_info,
};
