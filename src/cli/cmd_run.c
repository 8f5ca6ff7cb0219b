/* cmd_run.c - allo run: a program, and a recording of what it allocates. */
#include "base/defer.h"
#include "cli/command.h"
#include "cli/run_report.h"
#include "cli/triggers.h"
#include "report/messages.h"
#include "run/name_pattern.h"
#include "run/preload.h"
#include "run/target.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	const char *output;
	bool force, no_follow, raw, quiet, dormant, no_control;
	const char *control;
	struct allo_list snapshot_on;
	const char *snapshot_keep;
	int mode, unwind;
	unsigned track;
	uint64_t rate, stack_depth, min_size, max_file, delay_ns, duration_ns;
};

static const char *const modes[] = { "exact", "sampled", "events", "counters", NULL };

enum { MODE_COUNTERS = 3 };

static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };
static const char *const tracks[] = { "malloc", "new", "mmap", "brk", NULL };

/* What is tracked when nothing is said: bits of `tracks`. */
enum { TRACK_USUAL = 1 | 2 };

static const struct run defaults = { .output = ALLO_NAME_PATTERN };

/* As env(1), timeout(1) and others have them: a program's own statuses rarely are these. */
enum { STATUS_FAILED = 125, STATUS_UNUSABLE = 126, STATUS_MISSING = 127, STATUS_SIGNAL = 128 };

static int status = STATUS_FAILED;

static const struct allo_option output_options[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "PATTERN",
	  .help = "where recordings go: %e stands for the program, %p for the process, %t for the "
		  "time, %h for the host, %n for a number that is not taken yet, %% for "
		  "a %. Without it: " ALLO_NAME_PATTERN,
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct run, output) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace the output if it exists",
	  .offset = offsetof(struct run, force) },
	{ .name = "raw",
	  .help = "leave recordings as they were written: not packed, much larger, with the "
		  "addresses of blocks, and there at once",
	  .offset = offsetof(struct run, raw) },
	{ .name = "max-file",
	  .argument = "SIZE",
	  .help = "stop recording when a file has grown to this, 500M or 2G, say; the program goes "
		  "on",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct run, max_file) },
	{ .letter = 'q',
	  .name = "quiet",
	  .help = "say nothing but errors on standard error",
	  .offset = offsetof(struct run, quiet) },
	{ .name = NULL },
};
static const struct allo_option_group output_group = { "Recordings", output_options };

static const struct allo_option what_options[] = {
	{ .letter = 'm',
	  .name = "mode",
	  .argument = "MODE",
	  .help = "exact: every allocation and every release; sampled: one allocation for every "
		  "--rate bytes, at random, and its release, for a fraction of the cost; events: "
		  "one in --rate; counters: no recording, only what it would add up to",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct run, mode),
	  .choices = modes },
	{ .name = "rate",
	  .argument = "N",
	  .help = "how much of it is sampled: one allocation for every so many bytes (without it "
		  "512K), or one in so many (1000)",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct run, rate) },
	{ .name = "track",
	  .argument = "LIST",
	  .help = "what counts as an allocation: malloc, new, mmap (with munmap and mremap), brk "
		  "(with sbrk), or several of these, separated by commas. Without it: malloc,new",
	  .kind = ALLO_OPTION_SET,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct run, track),
	  .choices = tracks },
	{ .name = "min-size",
	  .argument = "SIZE",
	  .help = "leave smaller blocks out",
	  .kind = ALLO_OPTION_SIZE,
	  .offset = offsetof(struct run, min_size) },
	{ .name = "stack-depth",
	  .argument = "N",
	  .help = "keep at most so many frames of a stack, the innermost ones; 0, as without it, "
		  "for all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct run, stack_depth) },
	{ .name = "unwind",
	  .argument = "HOW",
	  .help = "how stacks are found: auto, fp (by frame pointers), dwarf (by unwind tables) or "
		  "none",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct run, unwind),
	  .choices = unwinders },
	{ .name = "delay",
	  .argument = "TIME",
	  .help = "begin so long after the start: 10ms, 2.5s, 3m",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct run, delay_ns) },
	{ .name = "duration",
	  .argument = "TIME",
	  .help = "end so long after the beginning; the program goes on",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct run, duration_ns) },
	{ .name = "no-follow",
	  .help = "record the program alone, not the processes that it starts",
	  .offset = offsetof(struct run, no_follow) },
	{ .name = NULL },
};
static const struct allo_option_group what_group = { "What is recorded", what_options };

static const struct allo_option watch_options[] = {
	{ .name = "dormant",
	  .help = "record nothing before 'allo start' says so: until then each allocation is a "
		  "jump longer",
	  .offset = offsetof(struct run, dormant) },
	{ .name = "control",
	  .argument = "PATTERN",
	  .help = "where the socket of each process goes, by which 'allo ps' and the others "
		  "reach it; %p stands for the process, as in -o. Without it: "
		  "$XDG_RUNTIME_DIR/allo/%p.sock, or /tmp/allo-UID/%p.sock",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct run, control) },
	{ .name = "no-control",
	  .help = "no socket, and no thread that waits at it",
	  .offset = offsetof(struct run, no_control) },
	{ .name = "snapshot-on",
	  .argument = "WHAT",
	  .help = "write a profile of what a process holds beside its recording, when it has "
		  "rss=90% of its limit or rss=512M in memory, more than ever before (peak), when "
		  "somebody waits for memory (pressure, pressure=20%), when allo gets a signal "
		  "(signal=USR2), or every=5m; may be given several times",
	  .kind = ALLO_OPTION_LIST,
	  .offset = offsetof(struct run, snapshot_on) },
	{ .name = "snapshot-keep",
	  .argument = "N",
	  .help = "how many of these profiles to keep, the newest (N or newest:N) or those of the "
		  "largest processes (largest:N); 5 without it",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct run, snapshot_keep) },
	{ .name = NULL },
};
static const struct allo_option_group watch_group = { "Watching", watch_options };

static const struct allo_option_group *const groups[] = { &output_group, &what_group, &watch_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo run ./server --port 8080", "record a program and whatever it starts" },
	{ "allo run -o heap.allo -f python3 script.py", "name the recording" },
	{ "allo run -m sampled ./server", "at next to no cost: estimates" },
	{ "allo run --delay 10s --duration 1m ./server", "one minute of it" },
	{ "allo run --dormant ./server", "nothing before 'allo start %server'" },
	{ "allo run --snapshot-on rss=90% ./server", "what it held before it was killed" },
	{ NULL, NULL },
};

static const struct allo_example statuses[] = {
	{ "125", "allo itself failed, or refused to run the program" },
	{ "126", "the program cannot be executed" },
	{ "127", "there is no such program" },
	{ "else", "as the program: if a signal ended it, allo dies of the same signal, which a "
		  "shell shows as 128 and the signal's number" },
	{ NULL, NULL },
};

static void track_list(unsigned track, char out[32])
{
	if (track == 0)
		track = TRACK_USUAL;
	out[0] = '\0';
	for (unsigned i = 0; tracks[i]; i++) {
		if (track & 1u << i)
			strcat(strcat(out, out[0] ? "," : ""), tracks[i]);
	}
}

/* What the library is to know. */
static void set_options(struct allo_environment *environment, const struct run *opt,
			const char *control)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "STACK_DEPTH", opt->stack_depth },
		{ "MIN_SIZE", opt->min_size },
		{ "MAX_FILE", opt->max_file },
		{ "DELAY_NS", opt->delay_ns },
		{ "DURATION_NS", opt->duration_ns },
		{ "FOLLOW", !opt->no_follow },
		{ "RATE", opt->rate },
	};
	char track[32];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		allo_environment_set(environment, "ALLO_%s=%llu", numbers[i].name,
				     (unsigned long long)numbers[i].value);
	track_list(opt->track, track);
	allo_environment_set(environment, "ALLO_TRACK=%s", track);
	allo_environment_set(environment, "ALLO_DORMANT=%d", opt->dormant);
	if (opt->no_control || control)
		allo_environment_set(environment, "ALLO_CONTROL=%s",
				     opt->no_control ? "0" : control);
	allo_environment_set(environment, "ALLO_UNWIND=%s", unwinders[opt->unwind]);
	allo_environment_set(environment, "ALLO_MODE=%s", modes[opt->mode]);
}

/* The name that the program's recording gets, to be freed; NULL when it is not known beforehand. An
 * interpreter is called by the name that the script has for it. */
static char *find_output(const char *pattern, const struct allo_target *target, const char *name,
			 struct allo_error *err)
{
	bool is_script = strcmp(target->path, target->runs) != 0;

	return allo_name_pattern_expand(pattern, is_script ? target->runs : name, err);
}

/* An output whose name is known beforehand must not be there, or goes now. */
static bool clear_output(const struct run *opt, const char *path, struct allo_error *err)
{
	struct allo_pos pos = { .file = opt->output };
	struct stat found;

	if (!path || lstat(path, &found) != 0)
		return true;
	if (!S_ISREG(found.st_mode))
		return allo_fail(err, ALLO_IO, pos, "exists and is no ordinary file");
	if (!opt->force) {
		allo_fail(err, ALLO_IO, pos, "exists; it is not overwritten");
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	return unlink(path) == 0 || allo_fail_errno(err, opt->output, "replace it");
}

static void look(void *triggers, int signal)
{
	allo_triggers_look(triggers, signal);
}

static bool takes_signal(void *triggers, int signal)
{
	return allo_triggers_have_signal(triggers, signal);
}

static void watch(struct allo_launch *program, struct allo_triggers *triggers)
{
	if (triggers->all.len == 0)
		return;
	program->look_ms = ALLO_TRIGGERS_MS;
	program->look = look;
	program->takes_signal = takes_signal;
	program->context = triggers;
}

static bool execute(struct allo_launch *program, const char *name, struct allo_error *err)
{
	if (!allo_launch(program, err))
		return false;
	if (program->exec_error == 0)
		return true;
	status = program->exec_error == ENOENT ? STATUS_MISSING : STATUS_UNUSABLE;
	return allo_fail(err, ALLO_IO, (struct allo_pos){ .file = name }, "cannot be run: %s",
			 strerror(program->exec_error));
}

static bool find_program(struct allo_target *target, const char *name, struct allo_error *err)
{
	if (allo_target_find(target, name, err) && allo_target_check(target, name, err))
		return true;
	if (target->fault == ALLO_TARGET_MISSING)
		status = STATUS_MISSING;
	else if (target->fault == ALLO_TARGET_UNUSABLE)
		status = STATUS_UNUSABLE;
	return false;
}

static bool check(const struct run *opt, struct allo_error *err)
{
	if (opt->mode == MODE_COUNTERS && opt->output != defaults.output)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "counters leave no recording that -o could name");
	if (opt->mode == MODE_COUNTERS && opt->snapshot_on.count > 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "counters leave no recording that snapshots could be of");
	if (opt->no_control && (opt->dormant || opt->control))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "%s makes no sense with --no-control",
				 opt->dormant ? "--dormant" : "--control");
	return true;
}

/* The pattern for sockets, to be freed, if one is given; false at failure. */
static bool find_control(const char *given, char **control, struct allo_error *err)
{
	struct stat found;

	if (!given)
		return true;
	if (stat(given, &found) == 0 && S_ISDIR(found.st_mode)) {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = given }, "is a directory");
		return allo_hint(err, "name the socket as well: %s/%%p.sock", given);
	}
	*control = allo_name_pattern_prepare(given, err);
	return *control != NULL;
}

/* Runs the program to its end and says what came of it. */
static bool record(const struct run *opt, char **words, struct allo_launch *program,
		   struct allo_error *err)
{
	ALLO_DEFER(allo_recordings_close) struct allo_recordings recordings = { 0 };
	ALLO_DEFER(allo_triggers_done) struct allo_triggers triggers = { 0 };
	ALLO_DEFER(allo_environment_done) struct allo_environment environment = { 0 };
	ALLO_DEFER(allo_free_pointer) char *library = NULL, *pattern = NULL, *output = NULL;
	ALLO_DEFER(allo_free_pointer) char *control = NULL;
	struct allo_run_report report = { .name = words[0],
					  .launch = program,
					  .recordings = &recordings,
					  .delay_ns = opt->delay_ns,
					  .is_dormant = opt->dormant,
					  .only_counts = opt->mode == MODE_COUNTERS,
					  .keeps_raw = opt->raw,
					  .is_quiet = opt->quiet };
	struct allo_target target;

	if (!check(opt, err) || !find_program(&target, words[0], err) ||
	    !find_control(opt->control, &control, err))
		return false;
	library = allo_preload_library(err);
	pattern = library ? allo_name_pattern_prepare(opt->output, err) : NULL;
	if (!pattern || !allo_recordings_open(&recordings, err) ||
	    !allo_triggers_init(&triggers, &opt->snapshot_on, opt->snapshot_keep, &recordings, err))
		return false;
	allo_environment_set(&environment, "ALLO_OUTPUT=%s", pattern);
	allo_environment_set(&environment, "ALLO_LIST=%s", recordings.list);
	set_options(&environment, opt, control);
	if (!allo_environment_finish(&environment, library, err))
		return false;
	output = find_output(pattern, &target, words[0], err);
	if (allo_failed(err) || !clear_output(opt, output, err))
		return false;
	report.output = output;
	report.defines_malloc = target.defines_malloc;
	program->path = target.path;
	program->arguments = words;
	program->environment = environment.all.at;
	watch(program, &triggers);
	if (!execute(program, words[0], err))
		return false;
	/* Whoever reads our messages may be gone; the status is still to be told. */
	signal(SIGPIPE, SIG_IGN);
	allo_run_report_end(&report);
	allo_triggers_end(&triggers, opt->quiet);
	allo_run_report_recordings(&report);
	return true;
}

static bool run_run(const void *options_given, char **words, struct allo_error *err)
{
	struct allo_launch program = { 0 };

	allo_launch_guard_files();
	if (!record(options_given, words, &program, err))
		return false;
	if (WIFSIGNALED(program.status)) {
		status = STATUS_SIGNAL + WTERMSIG(program.status);
		allo_launch_die_of(WTERMSIG(program.status));
	} else {
		status = WEXITSTATUS(program.status);
	}
	return true;
}

const struct allo_command allo_cmd_run = {
	.name = "run",
	.alias = "record",
	.heading = "Record",
	.summary = "run a program and record what it allocates",
	.arguments = "PROGRAM [ARGUMENT]...",
	.about = "Runs a program with a library preloaded that records every allocation with its "
		 "stack, and says afterwards what came of it. Input, output, signals and status "
		 "are the program's own. Each process gets a recording of its own; all other "
		 "commands read it. 'allo record' is the same.\n\n"
		 "Options end where the program begins: what follows is the program's. A program "
		 "that cannot be recorded is not run: one that is statically linked, setuid, built "
		 "with a sanitizer, or not made for glibc on this processor.\n\n"
		 "A signal that a process sends to allo is handed on to the program; those of the "
		 "terminal reach it anyway.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct run),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = (size_t)-1,
	.takes_program = true,
	.completes = ALLO_COMPLETE_PROGRAMS,
	.run = run_run,
	.status = &status,
	.statuses = statuses,
};
