/* cmd_flame.c - allo flame: draws a flame graph and opens it. */
#include "base/defer.h"
#include "cli/convert_job.h"
#include "cli/desktop.h"
#include "cli/output_name.h"
#include "report/messages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct flame {
	struct allo_convert_options writing;
	const char *title;
	bool no_open;
};

#define AT(field) offsetof(struct flame, field)
static const struct allo_option options[] = {
	OPT_FILE(
		'o', "output", "FILE", writing.output,
		"output file; - is standard output (default: the name of the input with the ending "
		".svg, in the current directory)"),
	OPT_NAMES('M', "metric", "NAME", writing.metrics, METRICS,
		  "metric to draw (default: bytes live at the peak, else at the end, else all "
		  "allocated bytes)"),
	OPT_TEXT(0, "title", "TEXT", title, "title of the drawing"),
	OPT_FLAG(0, "no-open", no_open, "print the name of the file, and open no window"),
	OPT_FORCE(writing.force),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Drawing", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_view_group,
	&allo_filter_group,
	&allo_site_group,
	&allo_symbols_group,
	&allo_trace_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo flame server.allo", "draw server.svg and open it" },
	{ "allo flame -M end -o leaks.svg server.allo", "only memory that was never freed" },
	{ "allo flame --range load..serve server.allo", "the time between two marks" },
	{ NULL, NULL },
};

/* Whether the file is a drawing of ours, which a newer one may replace. */
static bool is_own_drawing(const char *path)
{
	static const char mark[] = "class=\"allo";
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[512];
	ssize_t got = fd < 0 ? 0 : pread(fd, head, sizeof(head), 0);

	return got > 0 && memmem(head, (size_t)got, mark, strlen(mark));
}

/* The name is the result if no window shows it. */
static void present(const struct flame *opt, char *path)
{
	if (strcmp(path, "-") == 0)
		return;
	if (!opt->no_open && allo_has_desktop() && allo_open_window(path)) {
		if (!opt->writing.common.quiet)
			allo_say("opened %s", path);
	} else {
		printf("%s\n", path);
	}
}

static bool run_flame(const void *options_given, char **files, struct allo_error *err)
{
	const struct flame *opt = options_given;
	struct allo_convert_options writing = opt->writing;
	ALLO_DEFER(allo_free_pointer)
	char *output = writing.output ? strdup(writing.output)
				      : allo_output_name(files[0], ".svg", "flame");
	struct allo_convert_job job;

	if (!output)
		return allo_fail_memory(err);
	writing.to = "svg";
	writing.force |= !writing.output && is_own_drawing(output);
	writing.output = output;
	writing.common.trim_allocator = true; /* --keep-allocator wins */
	if (!allo_convert_job_init(&job, &writing, files, err))
		return false;
	job.conversion.write_options.title = opt->title;
	if (!allo_convert_job_run(&job, err))
		return allo_common_keep_error(err);
	if (!writing.common.quiet)
		allo_say_notes(&job.conversion.notes);
	present(opt, output);
	return true;
}

const struct allo_command allo_cmd_flame = {
	.name = "flame",
	.heading = "Look",
	.summary = "draw a flame graph and open it",
	.arguments = "[FILE...]",
	.about =
		"Draws the stacks of a profile as a flame graph: an SVG file for a browser, with "
		"search, zoom and numbers. On a desktop, xdg-open opens it if standard output is a "
		"terminal; otherwise the name of the file is printed. Several files are added up.\n\n"
		"A drawing that the command made before is replaced; for any other file, add -f. "
		"Allocator frames are removed from the inner end of stacks; --keep-allocator keeps "
		"them. 'allo convert -o FILE.svg' writes the same with all frames.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct flame),
	.finds_newest = true,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_flame,
};
