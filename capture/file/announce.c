/* announce.c - appends lines to ALLO_LIST, or leaves links beside it. */
#include "capture/file/announce.h"
#include "base/assert.h"
#include "capture/file/announce_line.h"
#include "capture/file/file_name.h"
#include "capture/file/recorder.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <allo.h>
#include <string.h>

/* Found when a recording begins: at exit, a sandbox may forbid the call. */
static uint64_t pid_namespace;

static void announce(const char *text, const char *path, const uint64_t *numbers, size_t count)
{
	uint32_t process = allo_process_number();
	struct allo_list_line line;

	allo_list_line_begin(&line, process, pid_namespace);
	allo_list_line_add(&line, text);
	allo_list_line_add_path(&line, path);
	for (size_t i = 0; i < count; i++) {
		allo_list_line_add(&line, " ");
		allo_list_line_add_number(&line, numbers[i]);
	}
	ALLO_ASSERT(line.len + 1 < sizeof(line.text));
	allo_list_line_write(&line, allo_settings.list, process);
}

void allo_announce_begin(void)
{
	if (!allo_settings.list[0])
		return;
	pid_namespace = allo_list_line_pid_namespace();
	announce(allo_settings.has_file ? "" : "counting",
		 allo_settings.has_file ? allo_recorder->path : "", NULL, 0);
}

void allo_announce_failure(int error)
{
	char text[sizeof("failed ") + ALLO_LIST_LINE_NUMBER] = "failed ";
	size_t len = strlen(text);

	if (!allo_settings.list[0])
		return;
	pid_namespace = allo_list_line_pid_namespace();
	len += allo_put_decimal(text + len, 0, (uint64_t)error);
	text[len++] = ' ';
	text[len] = '\0';
	announce(text, allo_settings.program, NULL, 0);
}

void allo_announce_skipped(enum allo_skip skip, const char *path)
{
	static const char *const texts[] = {
#define TEXT(name, word, text) [ALLO_SKIP_##name] = "skipped " word " ",
		ALLO_SKIPS(TEXT)
#undef TEXT
	};

	ALLO_ASSERT(skip != ALLO_SKIP_NONE);
	if (allo_settings.list[0])
		announce(texts[skip], path, NULL, 0);
}

static void announce_allocator(enum allo_allocator_state state, const char *name, const char *path)
{
	static const char *const words[] = {
#define WORD(state, number, word, text) [ALLO_ALLOCATOR_##state] = word,
		ALLO_ALLOCATOR_STATES(WORD)
#undef WORD
	};
	/* Hooks get here, on small stacks too.  One thread at a time does: at the start, or with
	 * the lock of the stacks (metadata_stream.h). */
	static struct allo_list_line line;
	uint32_t process = allo_process_number();

	allo_list_line_begin(&line, process, allo_list_line_pid_namespace());
	allo_list_line_add(&line, "allocator ");
	allo_list_line_add(&line, words[state]);
	allo_list_line_add(&line, " ");
	for (; *name; name++) /* a short one of ours, such as "operator new" */
		line.text[line.len++] = *name == ' ' ? '-' : *name;
	allo_list_line_add(&line, " ");
	ALLO_ASSERT(line.len + PATH_MAX < sizeof(line.text));
	allo_list_line_add_path(&line, path);
	allo_list_line_write(&line, allo_settings.list, process);
}

void allo_announce_allocator(enum allo_allocator_state state, const char *name, const char *path)
{
	if (!allo_settings.list[0])
		return;
	if (strcmp(name, "malloc") != 0)
		announce_allocator(state, name, path);
	else
		allo_announce_skipped(state == ALLO_ALLOCATOR_THREADS   ? ALLO_SKIP_THREADS
				      : state == ALLO_ALLOCATOR_NO_EXEC ? ALLO_SKIP_NO_EXEC
									: ALLO_SKIP_BUILT_IN,
				      path);
}

void allo_announce_hidden(void)
{
	char path[PATH_MAX];
	long len;

	if (!allo_settings.list[0] || allo_is_confined)
		return;
	len = ALLO_SYSCALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	allo_announce_skipped(ALLO_SKIP_ORDER, path);
}

/* Separate, so that absolute paths need no room for the folder. */
static __attribute__((noinline)) void announce_relative(const char *text, const char *path)
{
	char start[PATH_MAX + ALLO_LIST_LINE_NUMBER];
	size_t len = strlen(text);
	long got; /* with the zero at the end */

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	memcpy(start, text, len + 1);
	got = ALLO_SYSCALL2(SYS_getcwd, start + len, PATH_MAX);
	if (got > 0 && start[len] == '/' && (size_t)got + strlen(path) < PATH_MAX) {
		start[len + (size_t)got - 1] = '/';
		start[len + (size_t)got] = '\0';
	} else {
		start[len] = '\0';
	}
	announce(start, path, NULL, 0);
}

void allo_announce_executed(const char *path, bool in_child)
{
	const char *text = in_child ? "starts " : "executes ";

	if (!allo_settings.list[0])
		return;
	if (path[0] == '/')
		announce(text, path, NULL, 0);
	else
		announce_relative(text, path);
}

/* Whether this process itself records.  A child made by vfork() sees its parent's memory. */
static bool is_recording_process(void)
{
	const struct allo_recorder *r = allo_recorder;

	return r && r->state == ALLO_RECORDER_ON && r->head->pid == allo_process_number();
}

void allo_announce_counts(void)
{
	struct allo_heap_stats stats;

	if (!allo_settings.list[0] || allo_settings.has_file || !is_recording_process() ||
	    !allo_get_heap_stats(&stats))
		return;
	announce("counted", "",
		 (uint64_t[]){ stats.total_blocks, stats.total_bytes,
			       (uint64_t)stats.current_blocks, (uint64_t)stats.current_bytes,
			       stats.peak_blocks, stats.peak_bytes },
		 6);
}
