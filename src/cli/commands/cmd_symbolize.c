/* cmd_symbolize.c - allo symbolize: stores the names of its frames in a recording. */
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "engine/make_index.h"
#include "engine/store_names.h"
#include "report/messages.h"

struct symbolize {
	struct allo_common common;
	const char *output;
	bool force, index;
};

#define AT(field) offsetof(struct symbolize, field)
static const struct allo_option options[] = {
	OPT_FILE('o', "output", "FILE", output,
		 "file for the recording with names (default: replace the input)"),
	OPT_FLAG('f', "force", force, "replace the file that -o names if it exists"),
	OPT_FLAG(
		0, "index", index,
		"store an index as well, about two bytes per event: any range of time is then shown at "
		"once, also on other machines"),
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
	{ "allo symbolize --index server.allo",
	  "before somebody else explores it with allo view or --range" },
	{ NULL, NULL },
};

static bool add_index(const struct symbolize *opt, const char *file, struct allo_error *err)
{
	ALLO_DEFER(allo_host_end) struct allo_host_progress shown = { 0 };
	char text[ALLO_NUMBER_SIZE];
	uint64_t size;

	if (!allo_store_index(
		    file,
		    allo_host_begin(&shown, allo_common_host(&opt->common), "changes", "events"),
		    &size, err))
		return false;
	if (!opt->common.quiet)
		allo_say("stored an index of %s", allo_format_bytes(size, text));
	return true;
}

static bool run_symbolize(const void *options_given, char **files, struct allo_error *err)
{
	const struct symbolize *opt = options_given;
	const char *file = allo_common_only_file(files[0], err);
	const char *target = opt->output ? opt->output : file;
	struct allo_output_options output = { .replace = !opt->output || opt->force,
					      .sources = files };
	char all[ALLO_NUMBER_SIZE], named[ALLO_NUMBER_SIZE], lines[ALLO_NUMBER_SIZE];
	struct allo_stored_frames stored;
	struct allo_source_options source;

	if (!file)
		return false;
	if (strcmp(file, "-") == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "a recording is read twice: name a file instead of '-'");
	if (opt->index && strcmp(target, "-") == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--index needs a file: standard output cannot be completed");
	if (!allo_common_source(&opt->common, &source, err) ||
	    !allo_store_names(file, target, &source, &output, &stored, err))
		return false;
	if (!opt->common.quiet)
		allo_say("wrote %s: %s of %s frame%s named, %s with a line", target,
			 allo_format_count(stored.named, named), allo_format_count(stored.all, all),
			 stored.all == 1 ? "" : "s", allo_format_count(stored.with_line, lines));
	if (!opt->common.quiet && stored.named < stored.all)
		allo_say_advice("allo info %s    which programs and libraries lack names", target);
	return !opt->index || add_index(opt, target, err);
}

const struct allo_command allo_cmd_symbolize = {
	.name = "symbolize",
	.heading = "Transform",
	.summary = "store function names in a recording",
	.arguments = "FILE",
	.about =
		"Looks up the functions, lines and inlined calls of all frames of a recording and "
		"stores them in it. The recording then reads the same on other machines, and "
		"after the programs and libraries have been replaced. Only names of its frames "
		"are stored. Names stored earlier stay where nothing better is found.\n\n"
		"The recording is replaced when the new one is complete, unless -o names another "
		"file. A raw recording is packed as well.\n\n"
		"--index stores a log of all changes of the heap, from which commands and allo view "
		"answer any range of time without a replay. It stays when names are stored again.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct symbolize),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_symbolize,
};
