/* auto_snapshots.c - see auto_snapshots.h. */
#include "cli/auto_snapshots.h"

#include "base/defer.h"
#include "engine/convert.h"
#include "replay/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void allo_auto_snapshots_done(struct allo_auto_snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->all.len; i++)
		free(snapshots->all.at[i].path);
	allo_vec_done(&snapshots->all);
}

/* Making. */

/* Whether it goes on: once it was stopped, or a limit was reached, there is nothing new in it. */
static bool goes_on(const char *path)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	return allo_recording_open_file(&recording, path, NULL, &err) &&
	       recording.head.end == ALLO_END_NONE;
}

static bool convert(const char *recording, const char *path)
{
	const struct allo_source_options source = { .view.at = ALLO_AT_NOW };
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

/* The process that makes it. */
static _Noreturn void make(const char *recording, const char *path)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	sigset_t none;

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	/* What ends the program need not end this. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(goes_on(recording) && convert(recording, path) ? 0 : 1);
}

static bool is_busy(const struct allo_auto_snapshots *snapshots, pid_t pid)
{
	for (size_t i = 0; i < snapshots->all.len; i++) {
		if (snapshots->all.at[i].maker && snapshots->all.at[i].of == pid)
			return true;
	}
	return false;
}

/* "server.4711.rss-3.pb.gz"; to be freed. */
static char *name_for(const char *recording, const char *word, uint64_t number)
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

bool allo_auto_snapshot(struct allo_auto_snapshots *snapshots, pid_t pid, const char *recording,
			const char *word, uint64_t bytes)
{
	struct allo_auto_snapshot *snapshot;
	pid_t maker;
	char *path;

	if (is_busy(snapshots, pid))
		return false;
	path = name_for(recording, word, ++snapshots->begun);
	snapshot = path ? allo_vec_push(&snapshots->all) : NULL;
	maker = snapshot ? fork() : -1;
	if (maker == 0)
		make(recording, path);
	if (maker > 0) {
		*snapshot = (struct allo_auto_snapshot){ path, bytes, pid, maker };
	} else {
		snapshots->all.len -= snapshot != NULL;
		free(path);
	}
	return true;
}

/* Keeping. */

static void forget(struct allo_auto_snapshots *snapshots, size_t at)
{
	free(snapshots->all.at[at].path);
	snapshots->all.len--;
	memmove(&snapshots->all.at[at], &snapshots->all.at[at + 1],
		(snapshots->all.len - at) * sizeof(*snapshots->all.at));
}

static size_t count_there(const struct allo_auto_snapshots *snapshots)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshots->all.len; i++)
		count += snapshots->all.at[i].maker == 0;
	return count;
}

/* The one that goes first of those that are there: the oldest, or the oldest of the smallest. */
static size_t find_least(const struct allo_auto_snapshots *snapshots)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < snapshots->all.len; i++) {
		const struct allo_auto_snapshot *snapshot = &snapshots->all.at[i];

		if (snapshot->maker)
			continue;
		if (least == SIZE_MAX || (snapshots->keep == ALLO_KEEP_LARGEST &&
					  snapshot->bytes < snapshots->all.at[least].bytes))
			least = i;
	}
	return least;
}

void allo_auto_snapshots_collect(struct allo_auto_snapshots *snapshots, bool is_last)
{
	for (size_t i = snapshots->all.len; i-- > 0;) {
		struct allo_auto_snapshot *snapshot = &snapshots->all.at[i];
		int status = 0;
		pid_t ended = 0;

		if (snapshot->maker == 0)
			continue;
		do {
			ended = waitpid(snapshot->maker, &status, is_last ? 0 : WNOHANG);
		} while (ended < 0 && errno == EINTR);
		if (ended == 0)
			continue;
		snapshot->maker = 0;
		if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			forget(snapshots, i);
	}
	while (count_there(snapshots) > snapshots->keep_count) {
		size_t least = find_least(snapshots);

		unlink(snapshots->all.at[least].path);
		forget(snapshots, least);
	}
}
