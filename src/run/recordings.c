/*
 * recordings.c - parses the lines of the list, and the links that processes without the list leave
 * beside it.
 */
#include "run/recordings.h"

#include "base/defer.h"
#include "base/text.h"
#include "run/pid_namespace.h"
#include "wire/allocator_state.h"
#include "wire/layout.h"
#include "wire/skip.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WAITS = 10, WAIT_US = 20000 };

static void free_list(struct allo_recordings *recordings)
{
	free(recordings->list);
	recordings->list = NULL;
}

bool allo_recordings_open(struct allo_recordings *recordings, struct allo_error *err)
{
	const char *folder = getenv("TMPDIR");

	*recordings = (struct allo_recordings){ .fd = -1 };
	/* The program may change its directory, so the path must be absolute. */
	if (!folder || folder[0] != '/')
		folder = "/tmp";
	if (asprintf(&recordings->list, "%s/allo-run-XXXXXX", folder) < 0) {
		recordings->list = NULL;
		return allo_fail_memory(err);
	}
	recordings->fd = mkostemp(recordings->list, O_CLOEXEC);
	if (recordings->fd >= 0)
		return true;
	allo_fail_errno(err, folder, "make a temporary file there");
	allo_hint(err, "set TMPDIR to a directory that can be written to");
	free_list(recordings);
	return false;
}

void allo_recordings_close(struct allo_recordings *recordings)
{
	if (recordings->list) {
		unlink(recordings->list);
		close(recordings->fd);
	}
	free_list(recordings);
	allo_vec_done(&recordings->all);
	allo_vec_done(&recordings->skipped);
	allo_vec_done(&recordings->executed);
	allo_vec_done(&recordings->failures);
	allo_arena_done(&recordings->arena);
}

/* The process that wrote a line. */
struct announcer {
	pid_t pid; /* in its own PID namespace */
	uint64_t space;
};

/* False for a process that does not exist, or is a zombie. */
static bool is_running(pid_t pid)
{
	char path[48], line[512] = "", *state;
	FILE *file;

	if (pid == 0 || (kill(pid, 0) != 0 && errno == ESRCH))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno != ENOENT;
	/* "123 (name) S ...": the name may contain anything, even brackets. */
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	state = strrchr(line, ')');
	return !state || !strchr("ZX", state[1] == ' ' ? state[2] : 'S');
}

static bool add_process(struct allo_recordings *recordings, const struct announcer *announcer,
			const char *path)
{
	struct allo_recorded *recording = allo_vec_push(&recordings->all);

	if (!recording)
		return false;
	*recording = (struct allo_recorded){
		.pid = allo_pid_from_namespace(announcer->pid, announcer->space),
		.own_pid = announcer->pid,
		.space = announcer->space,
		.path = path,
	};
	return true;
}

static bool add_recording(struct allo_recordings *recordings, const struct announcer *announcer,
			  struct allo_text path)
{
	const char *copy = allo_arena_copy(&recordings->arena, path.data, path.len);

	return copy && add_process(recordings, announcer, copy);
}

/* Six numbers, of a process that was announced as counting. */
static void set_counts(struct allo_recordings *recordings, const struct announcer *announcer,
		       struct allo_text numbers)
{
	uint64_t read[6] = { 0 };
	struct allo_text number;
	size_t i;

	for (i = 0; i < 6; i++) {
		if (!allo_text_next(&numbers, ' ', &number) || !allo_text_u64(number, &read[i]))
			return;
	}
	for (i = recordings->all.len; i > 0; i--) {
		struct allo_recorded *process = &recordings->all.at[i - 1];

		if (process->own_pid != announcer->pid || process->space != announcer->space ||
		    process->path)
			continue;
		process->has_counted = true;
		process->counted = (struct allo_counted){ read[0], read[1], read[2],
							  read[3], read[4], read[5] };
		return;
	}
}

/* The text for a word of wire/skip.h; NULL if there is no such word. */
static const char *skip_reason(struct allo_text word)
{
	static const struct {
		const char *word, *text;
	} reasons[] = {
#define REASON(name, word, text) { word, text },
		ALLO_SKIPS(REASON)
#undef REASON
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (allo_text_equal(word, allo_text_of(reasons[i].word)))
			return reasons[i].text;
	}
	return NULL;
}

/* `path` is in the arena. */
static bool add_skipped_path(struct allo_recordings *recordings, const char *reason,
			     const char *path)
{
	struct allo_skipped *skipped;

	for (size_t i = 0; i < recordings->skipped.len; i++) {
		skipped = &recordings->skipped.at[i];
		if (skipped->reason == reason && strcmp(path, skipped->path) == 0) {
			skipped->times++;
			return true;
		}
	}
	skipped = allo_vec_push(&recordings->skipped);
	if (skipped)
		*skipped = (struct allo_skipped){ path, reason, 1 };
	return skipped != NULL;
}

/* "REASON PATH" */
static bool add_skipped(struct allo_recordings *recordings, struct allo_text said)
{
	struct allo_text word, path;
	const char *reason, *copy;

	if (!allo_text_cut(said, ' ', &word, &path) || !(reason = skip_reason(word)))
		return true;
	copy = allo_arena_copy(&recordings->arena, path.data, path.len);
	return copy && add_skipped_path(recordings, reason, copy);
}

/* "WORD NAME PATH": an allocator is listed like a program, as "NAME in PATH". */
static bool add_allocator(struct allo_recordings *recordings, struct allo_text said)
{
	static const struct {
		const char *word, *text;
	} reasons[] = {
#define REASON(name, number, word, text) { word, text },
		ALLO_ALLOCATOR_STATES(REASON)
#undef REASON
	};
	struct allo_text word, rest, name, path;
	char listed[PATH_MAX + 64];
	const char *copy;

	if (!allo_text_cut(said, ' ', &word, &rest) || !allo_text_cut(rest, ' ', &name, &path))
		return true;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!allo_text_equal(word, allo_text_of(reasons[i].word)))
			continue;
		snprintf(listed, sizeof(listed), "%.*s in %.*s", ALLO_TEXT_ARG(name),
			 ALLO_TEXT_ARG(path));
		copy = allo_arena_copy(&recordings->arena, listed, strlen(listed));
		return copy && add_skipped_path(recordings, reasons[i].text, copy);
	}
	return true;
}

/* The program that a process has executed, or started.  A file without a path cannot be read. */
static bool add_executed(struct allo_recordings *recordings, struct allo_text path)
{
	struct allo_executed *executed;
	const char *copy;

	if (!allo_text_starts(path, ALLO_TEXT("/")))
		return true;
	for (size_t i = 0; i < recordings->executed.len; i++) {
		executed = &recordings->executed.at[i];
		if (allo_text_equal(path, allo_text_of(executed->path))) {
			executed->times++;
			return true;
		}
	}
	copy = allo_arena_copy(&recordings->arena, path.data, path.len);
	executed = copy ? allo_vec_push(&recordings->executed) : NULL;
	if (executed)
		*executed = (struct allo_executed){ .path = copy, .times = 1 };
	return executed != NULL;
}

static void end_recording(struct allo_recordings *recordings, const struct announcer *announcer)
{
	for (size_t i = recordings->all.len; i > 0; i--) {
		struct allo_recorded *recorded = &recordings->all.at[i - 1];

		if (recorded->own_pid == announcer->pid && recorded->space == announcer->space) {
			recorded->has_executed = true;
			return;
		}
	}
}

static bool parse_announcer(struct allo_text text, struct announcer *announcer)
{
	struct allo_text number, space;
	uint64_t pid;

	if (!allo_text_cut(text, ':', &number, &space) || !allo_text_u64(number, &pid) ||
	    pid == 0 || pid > INT32_MAX || !allo_text_u64(space, &announcer->space))
		return false;
	announcer->pid = (pid_t)pid;
	return true;
}

/* The reason in the words of a user, for errors that are limits of the process. */
static const char *reason_of(uint64_t error)
{
	switch (error) {
	case EFBIG:
		return "its limit for file sizes is below 64 KiB (RLIMIT_FSIZE)";
	case EMFILE:
		return "its limit of open files is 0 (RLIMIT_NOFILE)";
	case ENOMEM:
		return "its limit of memory is reached (RLIMIT_AS, RLIMIT_DATA)";
	case EAGAIN:
		return "its limits of open files and of processes are reached";
	default:
		return strerror((int)error);
	}
}

/* The error and the program of a process. */
static bool add_failure(struct allo_recordings *recordings, pid_t pid, struct allo_text said)
{
	struct allo_unrecorded failure = { .pid = pid };
	struct allo_text number, program;
	uint64_t error;

	if (!allo_text_cut(said, ' ', &number, &program) || !allo_text_u64(number, &error))
		return true;
	failure.program = allo_arena_copy(&recordings->arena, program.data, program.len);
	failure.reason = reason_of(error < INT32_MAX ? error : 0);
	return failure.program && allo_vec_append(&recordings->failures, &failure, 1);
}

/* Parses a line as capture/file/announce.h describes it; ignores others. */
static bool add_line(struct allo_recordings *recordings, struct allo_text line)
{
	struct announcer announcer;
	struct allo_text name, said;

	if (!allo_text_cut(line, ' ', &name, &said) || !parse_announcer(name, &announcer))
		return true;
	if (allo_text_starts(said, ALLO_TEXT("/")))
		return add_recording(recordings, &announcer, said);
	if (allo_text_equal(said, ALLO_TEXT("counting")))
		return add_process(recordings, &announcer, NULL);
	if (allo_text_skip(&said, ALLO_TEXT("skipped ")))
		return add_skipped(recordings, said);
	if (allo_text_skip(&said, ALLO_TEXT("allocator ")))
		return add_allocator(recordings, said);
	if (allo_text_skip(&said, ALLO_TEXT("starts ")))
		return add_executed(recordings, said);
	if (allo_text_skip(&said, ALLO_TEXT("executes "))) {
		end_recording(recordings, &announcer);
		return add_executed(recordings, said);
	}
	if (allo_text_skip(&said, ALLO_TEXT("failed ")))
		return add_failure(recordings, announcer.pid, said);
	if (allo_text_skip(&said, ALLO_TEXT("counted ")))
		set_counts(recordings, &announcer, said);
	return true;
}

static bool is_last_of_process(const struct allo_recordings *recordings, size_t index)
{
	for (size_t i = index + 1; i < recordings->all.len; i++) {
		if (recordings->all.at[i].own_pid == recordings->all.at[index].own_pid &&
		    recordings->all.at[i].space == recordings->all.at[index].space)
			return false;
	}
	return true;
}

/* Sets is_running of all; returns whether any is. */
static bool find_running(struct allo_recordings *recordings)
{
	bool any = false;

	for (size_t i = 0; i < recordings->all.len; i++) {
		struct allo_recorded *recording = &recordings->all.at[i];

		/* A process that executed another program has finished its earlier recording. */
		recording->is_running = is_running(recording->pid) &&
					is_last_of_process(recordings, i);
		any |= recording->is_running;
	}
	return any;
}

/* Takes complete lines only: the last one may be incomplete. */
static bool add_lines(struct allo_recordings *recordings, struct allo_text text,
		      struct allo_error *err)
{
	struct allo_text line;

	while (allo_text_cut(text, '\n', &line, &text)) {
		recordings->done += line.len + 1;
		if (!add_line(recordings, line))
			return allo_fail_memory(err);
	}
	return true;
}

bool allo_recordings_read_more(struct allo_recordings *recordings, struct allo_error *err)
{
	char text[16 << 10];
	uint64_t before;
	ssize_t got;

	do {
		before = recordings->done;
		got = pread(recordings->fd, text, sizeof(text), (off_t)before);
		if (got < 0)
			return allo_fail_errno(err, recordings->list, "read");
		if (!add_lines(recordings, (struct allo_text){ text, (size_t)got }, err))
			return false;
	} while (recordings->done > before);
	return true;
}

static bool is_failure(struct allo_text line)
{
	struct allo_text name, said;

	return allo_text_cut(line, ' ', &name, &said) &&
	       allo_text_starts(said, ALLO_TEXT("failed "));
}

/* Reads a line from a link.  Other users may leave links in a shared folder, too: from them it
 * takes failures only, which name no files. */
static bool read_link(struct allo_recordings *recordings, const char *path)
{
	char text[2 * PATH_MAX];
	struct allo_text line = { text, 0 };
	ssize_t len = readlink(path, text, sizeof(text));
	struct stat link;

	if (len <= 0 || lstat(path, &link) != 0)
		return true;
	line.len = (size_t)len;
	unlink(path);
	if (link.st_uid != geteuid() && !is_failure(line))
		return true;
	return add_line(recordings, line);
}

/* Reads the lines that processes left as links beside the list, and removes the links. */
static bool read_links(struct allo_recordings *recordings, struct allo_error *err)
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };
	bool ok = true;

	snprintf(pattern, sizeof(pattern), "%s.*", recordings->list);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; ok && i < found.gl_pathc; i++)
			ok = read_link(recordings, found.gl_pathv[i]);
	}
	globfree(&found);
	return ok || allo_fail_memory(err);
}

void allo_recordings_cut_hole(const char *path)
{
	struct allo_wire_head head;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat file;

	if (fd < 0)
		return;
	if (fstat(fd, &file) == 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    memcmp(head.magic, ALLO_HEAD_MAGIC, sizeof(head.magic)) == 0 && head.slots > 0 &&
	    head.slots < (uint64_t)file.st_size / ALLO_SLOT_SIZE)
		(void)!ftruncate(fd, (off_t)(head.slots * ALLO_SLOT_SIZE));
	close(fd);
}

bool allo_recordings_read(struct allo_recordings *recordings, struct allo_error *err)
{
	bool ok = allo_recordings_read_more(recordings, err) && read_links(recordings, err);

	/* Children often end a moment after their parent. */
	for (int waits = 0; find_running(recordings) && waits < MAX_WAITS; waits++)
		usleep(WAIT_US);
	return ok;
}
