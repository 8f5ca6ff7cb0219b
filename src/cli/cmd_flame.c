/* cmd_flame.c - allo flame: draws a flame graph and opens it. */
#include "base/defer.h"
#include "cli/convert_job.h"
#include "profile/naming.h"
#include "report/messages.h"

#include <fcntl.h>
#include <spawn.h>
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

/* "dir/server.1234.allo" becomes "server.1234.svg", to be freed. */
static char *name_output(const char *file)
{
	static const char *const endings[] = { ".gz", ".zst", ".pb", ".allo", ".json", ".pprof" };
	/* A URL may have a query. */
	struct allo_text name = allo_basename((struct allo_text){ file, strcspn(file, "?#") });
	char *output = NULL;

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		if (allo_text_ends(name, allo_text_of(endings[i])))
			name.len -= strlen(endings[i]);
	}
	if (name.len == 0 || strcmp(file, "-") == 0)
		name = ALLO_TEXT("flame");
	return asprintf(&output, "%.*s.svg", ALLO_TEXT_ARG(name)) < 0 ? NULL : output;
}

/* Whether the file is a drawing of ours, which a newer one may replace. */
static bool is_own_drawing(const char *path)
{
	static const char mark[] = "class=\"allo";
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[512];
	ssize_t got = fd < 0 ? 0 : pread(fd, head, sizeof(head), 0);

	return got > 0 && memmem(head, (size_t)got, mark, strlen(mark));
}

static bool has_desktop(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return isatty(STDOUT_FILENO) && ((x && x[0]) || (wayland && wayland[0]));
}

/* Starts the desktop's viewer, which runs on by itself. */
static bool open_window(char *path)
{
	char program[] = "xdg-open", *arguments[] = { program, path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	bool ok;
	pid_t child;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return false;
	}
	ok = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID) == 0;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		ok = ok &&
		     posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0) == 0;
	ok = ok && posix_spawnp(&child, program, &actions, &attributes, arguments, environ) == 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return ok;
}

/* The name is the result if no window shows it. */
static void present(const struct flame *opt, char *path)
{
	if (strcmp(path, "-") == 0)
		return;
	if (!opt->no_open && has_desktop() && open_window(path)) {
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
	char *output = writing.output ? strdup(writing.output) : name_output(files[0]);
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
	.arguments = "FILE...",
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
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_flame,
};
