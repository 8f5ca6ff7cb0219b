/* snapshot_triggers.c - conditions of `allo run --snapshot-on`, and the snapshots they start. */
#include "run/snapshot_triggers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "engine/convert.h"
#include "replay/recording/recording.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_KEEP = 5 };

/* Options. */

static bool parse_keep(struct allo_snapshot_triggers *triggers, const char *keep,
		       struct allo_error *err)
{
	struct allo_text text = allo_text_of(keep ? keep : "");

	triggers->keep_count = DEFAULT_KEEP;
	if (!keep)
		return true;
	if (allo_text_skip(&text, ALLO_TEXT("largest:")))
		triggers->keeps_largest = true;
	else
		allo_text_skip(&text, ALLO_TEXT("newest:"));
	return (allo_text_u64(text, &triggers->keep_count) && triggers->keep_count > 0) ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			 "--snapshot-keep expects a number, newest:N or largest:N, not '%s'", keep);
}

bool allo_snapshot_triggers_init(struct allo_snapshot_triggers *triggers,
				 const char *const *conditions, size_t count, const char *keep,
				 const struct allo_recordings *recordings, struct allo_error *err)
{
	*triggers = (struct allo_snapshot_triggers){ .recordings = recordings };
	if (count == 0 && keep)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--snapshot-keep needs --snapshot-on");
	if (!parse_keep(triggers, keep, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct allo_trigger *trigger = allo_vec_push(&triggers->all);

		if (!trigger)
			return allo_fail_memory(err);
		if (!allo_trigger_parse(trigger, conditions[i], err))
			return false;
		trigger->next_ns = allo_clock_ns() + trigger->period_ns;
	}
	return true;
}

void allo_snapshot_triggers_done(struct allo_snapshot_triggers *triggers)
{
	for (size_t i = 0; i < triggers->snapshots.len; i++)
		free(triggers->snapshots.at[i].path);
	allo_vec_done(&triggers->snapshots);
	allo_vec_done(&triggers->processes);
	allo_vec_done(&triggers->all);
}

bool allo_snapshot_triggers_have_signal(const struct allo_snapshot_triggers *triggers, int signal)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		if (triggers->all.at[i].kind == ALLO_TRIGGER_SIGNAL &&
		    triggers->all.at[i].signal == signal)
			return true;
	}
	return false;
}

/* Writing snapshots. */

/* A recording that was stopped, or has reached a limit, has no news. */
static bool is_growing(const char *path)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	return allo_recording_open_file(&recording, path, NULL, &err) &&
	       recording.head.end == ALLO_END_NONE;
}

static bool convert(const char *recording, const char *path)
{
	const struct allo_source_options source = { .view = { .at = ALLO_AT_NOW,
							      .of_running = true } };
	struct allo_filter everything = { 0 };
	char *files[] = { (char *)recording, NULL };
	struct allo_error err = { 0 };
	struct allo_conversion conversion = {
		.source = &source,
		.files = files,
		.writer = allo_writer_find("pprof", &err),
		.output = path,
		.filter = &everything,
		.output_options.replace = true,
	};

	return conversion.writer && allo_convert(&conversion, &err);
}

/* The child that writes a snapshot.  If memory is short, the kernel kills it first. */
static _Noreturn void write_snapshot(const char *recording, const char *path)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	sigset_t none;

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	/* The terminal's signals may end the program, but not its last snapshot. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(is_growing(recording) && convert(recording, path) ? 0 : 1);
}

static bool is_busy(const struct allo_snapshot_triggers *triggers, pid_t pid)
{
	for (size_t i = 0; i < triggers->snapshots.len; i++) {
		if (triggers->snapshots.at[i].writer && triggers->snapshots.at[i].of == pid)
			return true;
	}
	return false;
}

/* "server.4711.rss-3.pb.gz", to be freed. */
static char *snapshot_path(const char *recording, const char *word, uint64_t number)
{
	size_t len = strlen(recording), end = strlen(".allo");
	char *path;

	if (len > end && strcmp(recording + len - end, ".allo") == 0)
		len -= end;
	if (asprintf(&path, "%.*s.%s-%llu.pb.gz", (int)len, recording, word,
		     (unsigned long long)number) < 0)
		return NULL;
	return path;
}

/* Starts a snapshot of a process.  False if another one is being written: try again later. */
static bool start_snapshot(struct allo_snapshot_triggers *triggers,
			   const struct allo_triggered_process *process, const char *word,
			   uint64_t bytes)
{
	struct allo_trigger_snapshot *snapshot;
	pid_t writer;
	char *path;

	ALLO_ASSERT(process->recording);
	if (is_busy(triggers, process->pid))
		return false;
	path = snapshot_path(process->recording, word, ++triggers->started);
	snapshot = path ? allo_vec_push(&triggers->snapshots) : NULL;
	writer = snapshot ? fork() : -1;
	if (writer == 0)
		write_snapshot(process->recording, path);
	if (writer > 0) {
		*snapshot = (struct allo_trigger_snapshot){ path, bytes, process->pid, writer };
	} else {
		triggers->snapshots.len -= snapshot != NULL;
		free(path);
	}
	return true;
}

/* Keeping snapshots. */

static void forget_snapshot(struct allo_snapshot_triggers *triggers, size_t at)
{
	ALLO_ASSERT(at < triggers->snapshots.len);
	free(triggers->snapshots.at[at].path);
	triggers->snapshots.len--;
	memmove(&triggers->snapshots.at[at], &triggers->snapshots.at[at + 1],
		(triggers->snapshots.len - at) * sizeof(*triggers->snapshots.at));
}

static size_t count_complete(const struct allo_snapshot_triggers *triggers)
{
	size_t count = 0;

	for (size_t i = 0; i < triggers->snapshots.len; i++)
		count += triggers->snapshots.at[i].writer == 0;
	return count;
}

/* The complete snapshot to remove next: the oldest, or the oldest of the smallest. */
static size_t find_least(const struct allo_snapshot_triggers *triggers)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < triggers->snapshots.len; i++) {
		const struct allo_trigger_snapshot *snapshot = &triggers->snapshots.at[i];

		if (snapshot->writer)
			continue;
		if (least == SIZE_MAX || (triggers->keeps_largest &&
					  snapshot->bytes < triggers->snapshots.at[least].bytes))
			least = i;
	}
	return least;
}

/* Finds the snapshots that are complete, and removes surplus ones.  Waits for all if `is_last`. */
static void collect_snapshots(struct allo_snapshot_triggers *triggers, bool is_last)
{
	for (size_t i = triggers->snapshots.len; i-- > 0;) {
		struct allo_trigger_snapshot *snapshot = &triggers->snapshots.at[i];
		int status = 0;
		pid_t ended = 0;

		if (snapshot->writer == 0)
			continue;
		do {
			ended = waitpid(snapshot->writer, &status, is_last ? 0 : WNOHANG);
		} while (ended < 0 && errno == EINTR);
		if (ended == 0)
			continue;
		snapshot->writer = 0;
		if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			forget_snapshot(triggers, i);
	}
	while (count_complete(triggers) > triggers->keep_count) {
		size_t least = find_least(triggers);

		ALLO_ASSERT(least < triggers->snapshots.len);
		unlink(triggers->snapshots.at[least].path);
		forget_snapshot(triggers, least);
	}
}

/* Checking conditions. */

static struct allo_triggered_process *find_process(struct allo_snapshot_triggers *triggers,
						   pid_t pid)
{
	struct allo_triggered_process *process;

	for (size_t i = 0; i < triggers->processes.len; i++) {
		if (triggers->processes.at[i].pid == pid)
			return &triggers->processes.at[i];
	}
	process = allo_vec_push(&triggers->processes);
	if (process)
		*process = (struct allo_triggered_process){ .pid = pid,
							    .state.since_ns = allo_clock_ns() };
	return process;
}

/* Adds the processes whose recordings have begun since the last check. */
static void find_processes(struct allo_snapshot_triggers *triggers)
{
	const struct allo_recordings *recordings = triggers->recordings;

	ALLO_ASSERT(triggers->recordings_seen <= recordings->all.len);
	for (; triggers->recordings_seen < recordings->all.len; triggers->recordings_seen++) {
		const struct allo_recorded *recorded =
			&recordings->all.at[triggers->recordings_seen];
		struct allo_triggered_process *process;

		if (!recorded->path || recorded->pid == 0)
			continue;
		process = find_process(triggers, recorded->pid);
		if (process)
			process->recording = recorded->path;
	}
}

/* Starts a snapshot for each pending kind of trigger, one after the other. */
static void start_pending(struct allo_snapshot_triggers *triggers,
			  struct allo_triggered_process *process,
			  const struct allo_trigger_look *look)
{
	for (unsigned kind = 0; process->pending >> kind; kind++) {
		if (process->pending >> kind & 1 &&
		    start_snapshot(triggers, process,
				   allo_trigger_name((enum allo_trigger_kind)kind),
				   look->memory.process.rss_bytes))
			process->pending &= ~(1u << kind);
	}
}

static void check_process(struct allo_snapshot_triggers *triggers,
			  struct allo_triggered_process *process,
			  const struct allo_trigger_look *look)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		const struct allo_trigger *trigger = &triggers->all.at[i];

		if (!allo_trigger_is_due(trigger, &process->state, look))
			continue;
		process->state.since_ns = look->now_ns;
		process->pending |= 1u << trigger->kind;
	}
	start_pending(triggers, process, look);
}

static void schedule_next(struct allo_snapshot_triggers *triggers, uint64_t now)
{
	for (size_t i = 0; i < triggers->all.len; i++) {
		if (now >= triggers->all.at[i].next_ns)
			triggers->all.at[i].next_ns = now + triggers->all.at[i].period_ns;
	}
}

/* False if the process has ended. */
static bool read_memory(struct allo_trigger_look *look, pid_t pid)
{
	struct allo_snapshots shots;

	allo_snapshots_init(&shots, "", (uint64_t)pid);
	shots.page_budget_ns = 0;
	return allo_snapshots_take(&shots, 0, &look->memory) &&
	       look->memory.process.rss_bytes != ALLO_UNKNOWN;
}

void allo_snapshot_triggers_check(struct allo_snapshot_triggers *triggers, int signal)
{
	struct allo_trigger_look look = { .now_ns = allo_clock_ns(), .signal = signal };

	if (triggers->all.len == 0)
		return;
	find_processes(triggers);
	collect_snapshots(triggers, false);
	for (size_t i = triggers->processes.len; i-- > 0;) {
		struct allo_triggered_process *process = &triggers->processes.at[i];

		if (read_memory(&look, process->pid))
			check_process(triggers, process, &look);
		else
			*process = triggers->processes.at[--triggers->processes.len];
	}
	schedule_next(triggers, look.now_ns);
}

void allo_snapshot_triggers_end(struct allo_snapshot_triggers *triggers, bool is_quiet)
{
	char size[ALLO_NUMBER_SIZE];

	if (triggers->all.len == 0)
		return;
	collect_snapshots(triggers, true);
	if (is_quiet)
		return;
	if (triggers->snapshots.len == 0)
		allo_say("no snapshot was triggered");
	for (size_t i = 0; i < triggers->snapshots.len; i++) {
		const struct allo_trigger_snapshot *snapshot = &triggers->snapshots.at[i];

		allo_say("snapshot %s, of process %d with %s resident", snapshot->path,
			 (int)snapshot->of, allo_format_bytes(snapshot->bytes, size));
	}
}
