/* cmd_symbolize.c - allo symbolize: stores the names of its frames in a recording. */
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "replay/packed/stored_names.h"
#include "replay/recording_stacks.h"
#include "report/messages.h"

struct symbolize {
	struct allo_common common;
	const char *output;
	bool force;
};

#define AT(field) offsetof(struct symbolize, field)
static const struct allo_option options[] = {
	OPT_FILE('o', "output", "FILE", output,
		 "file for the recording with names (default: replace the input)"),
	OPT_FLAG('f', "force", force, "replace the file that -o names if it exists"),
	OPT_TRUST(common.trust),
	OPT_QUIET(common.quiet),
	OPT_END,
};

static const struct allo_option_group group = { "Output", options };

static const struct allo_option_group *const groups[] = { &group, &allo_places_group, NULL };

static const struct allo_example examples[] = {
	{ "allo symbolize server.allo", "before you send it to another machine" },
	{ "allo symbolize --debug-dir ~/symbols server.allo",
	  "with debug files from another directory" },
	{ "allo symbolize --sysroot /srv/rootfs box.allo -o named.allo",
	  "a recording of a container, with its root file system" },
	{ NULL, NULL },
};

/* The recorded program may still write to a raw file: it must keep its name. */
static bool check_place(const struct symbolize *opt, const struct allo_recording *recording,
			struct allo_error *err)
{
	if (opt->output || recording->is_packed || recording->head.end != ALLO_END_NONE)
		return true;
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = recording->name },
		  "is not closed: the program may still write to it");
	return allo_hint(err, "name another file with -o");
}

/* Stored names with lines stay.  Others are looked up again, and stay if nothing is found. */
static bool find_names(struct allo_source *source, struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	struct allo_recording *recording = &source->recording;

	recording->leaves_addresses = true;
	profile->meta.has_addresses = source->reader->has_addresses;
	return allo_profile_from_stacks(profile, recording, &stacks, err) &&
	       allo_stored_names_use(recording, profile, ALLO_STORED_WITH_LINES, err) &&
	       allo_add_names(&source->options, profile, NULL, err) &&
	       allo_stored_names_use(recording, profile, ALLO_STORED_ALL, err);
}

static bool make_tables(const struct symbolize *opt, const char *file,
			struct allo_name_tables *tables, size_t *frames, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	bool ok = allo_common_open_recording(&opt->common, file, "frames without names", &source,
					     err) &&
		  check_place(opt, &source.recording, err) && find_names(&source, &profile, err) &&
		  allo_name_tables_of(tables, &profile, err);

	*frames = profile.frames.len > 0 ? profile.frames.len - 1 : 0;
	return ok;
}

static bool run_symbolize(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_name_tables_done) struct allo_name_tables tables = { 0 };
	const struct symbolize *opt = options_given;
	const char *target = opt->output ? opt->output : files[0];
	struct allo_output_options output = { .replace = !opt->output || opt->force,
					      .sources = files };
	char all[ALLO_NUMBER_SIZE], named[ALLO_NUMBER_SIZE], lines[ALLO_NUMBER_SIZE];
	size_t frames;

	if (strcmp(files[0], "-") == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "a recording is read twice: name a file instead of '-'");
	if (!make_tables(opt, files[0], &tables, &frames, err) ||
	    !allo_recording_store_names(files[0], target, &output, &tables, NULL, err))
		return false;
	if (!opt->common.quiet)
		allo_say("wrote %s: %s of %s frame%s named, %s with a line", target,
			 allo_format_count(tables.frames, named), allo_format_count(frames, all),
			 frames == 1 ? "" : "s", allo_format_count(tables.with_line, lines));
	if (!opt->common.quiet && tables.frames < frames)
		allo_say_advice("allo info %s    which programs and libraries lack names", target);
	return true;
}

const struct allo_command allo_cmd_symbolize = {
	.name = "symbolize",
	.heading = "Transform",
	.summary = "store function names in a recording",
	.arguments = "FILE",
	.about = "Looks up the functions, lines and inlined calls of all frames of a recording and "
		 "stores them in it. The recording then reads the same on other machines, and "
		 "after the programs and libraries have been replaced. Only names of its frames "
		 "are stored. Names stored earlier stay where nothing better is found.\n\n"
		 "The recording is replaced when the new one is complete, unless -o names another "
		 "file. A raw recording is packed as well.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct symbolize),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_symbolize,
};
