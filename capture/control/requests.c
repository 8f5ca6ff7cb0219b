/* requests.c - one function per request. */
#include "capture/control/requests.h"
#include "capture/api/annotations.h"
#include "capture/api/memory_api.h"
#include "capture/control/control.h"
#include "capture/counts.h"
#include "capture/file/file_name.h"
#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/session.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <allo.h>

static void add_number(struct allo_message *answer, const char *key, uint64_t number)
{
	char digits[24];

	digits[allo_put_decimal(digits, 0, number)] = '\0';
	allo_message_add(answer, key, digits);
}

void allo_control_refuse(struct allo_message *answer, const char *why)
{
	allo_message_begin(answer, "error");
	allo_message_add(answer, "why", why);
	allo_message_end(answer);
}

/* Refuses with this thread's last error. */
static void refuse(struct allo_message *answer)
{
	allo_control_refuse(answer, allo_error());
}

static void add_state(struct allo_message *answer, const struct allo_session_status *status)
{
	static const char *const states[] = {
		[ALLO_SESSION_DORMANT] = "dormant",
		[ALLO_SESSION_WAITING] = "waiting",
		[ALLO_SESSION_RECORDING] = "recording",
		[ALLO_SESSION_ENDED] = "ended",
	};

	allo_message_add(answer, "state", states[status->state]);
	if (status->state == ALLO_SESSION_DORMANT)
		return;
	allo_message_add(answer, "mode", allo_settings_mode_name(allo_settings.mode));
	if (allo_settings.rate)
		add_number(answer, "rate", allo_settings.rate);
	add_number(answer, "stats", allo_settings.has_stats);
	add_number(answer, "own", status->is_own);
	if (!status->path)
		return;
	allo_message_add(answer, "file", status->path);
	add_number(answer, "start_ns", status->start_ns);
}

static void answer_status(char *lines, struct allo_message *answer)
{
	struct allo_session_status status = allo_session_status();

	(void)lines;
	allo_message_begin(answer, "ok");
	allo_message_add(answer, "version", ALLO_VERSION);
	add_number(answer, "pid", (uint64_t)ALLO_SYSCALL1(SYS_getpid, 0));
	allo_message_add(answer, "program", allo_settings.program);
	add_state(answer, &status);
	allo_message_end(answer);
}

static void answer_file(const char *file, struct allo_message *answer)
{
	if (!file) {
		refuse(answer);
		return;
	}
	allo_message_begin(answer, "ok");
	if (file[0])
		allo_message_add(answer, "file", file);
	allo_message_end(answer);
}

static void start(char *lines, struct allo_message *answer)
{
	struct allo_start_request request = { 0 };
	const struct {
		const char *key;
		const char **value;
	} keys[] = {
		{ "path", &request.path },
		{ "mode", &request.mode },
		{ "rate", &request.rate },
		{ "min_size", &request.min_size },
		{ "max_file", &request.max_file },
		{ "stack_depth", &request.stack_depth },
		{ "duration_ns", &request.duration_ns },
		{ "stats", &request.stats },
		{ "no_follow", &request.no_follow },
		{ "gathers_children", &request.gathers_children },
	};
	char *line;

	while ((line = allo_message_line(&lines)) != NULL) {
		const char *value = allo_message_value(line);

		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			if (strcmp(line, keys[i].key) == 0)
				*keys[i].value = value;
		}
	}
	answer_file(allo_session_start_whole(&request), answer);
}

static void stop(char *lines, struct allo_message *answer)
{
	(void)lines;
	answer_file(allo_session_stop_whole(), answer);
}

/* The last request to a runtime that `allo attach` has loaded: it becomes idle. */
static void detach(char *lines, struct allo_message *answer)
{
	(void)lines;
	if (!allo_settings.is_late) {
		allo_control_refuse(answer, "the process was started with the runtime");
		return;
	}
	if (allo_session_status().state != ALLO_SESSION_DORMANT)
		allo_session_stop_whole();
	allo_settings_detach();
	allo_control_close();
	allo_message_begin(answer, "ok");
	allo_message_end(answer);
}

static void mark(char *lines, struct allo_message *answer)
{
	char *line = allo_message_line(&lines);
	const char *name = line ? allo_message_value(line) : "";

	if (!name[0] || strcmp(line, "name") != 0)
		allo_control_refuse(answer, "a mark needs a name");
	else if (!allo_session_is_on() || !allo_annotations_mark(name))
		refuse(answer);
	else
		answer_file(allo_recorder->path, answer);
}

static void answer_stats(char *lines, struct allo_message *answer)
{
	struct allo_heap_stats stats;

	(void)lines;
	if (!allo_session_is_on() || !allo_get_heap_stats(&stats)) {
		refuse(answer);
		return;
	}
	allo_message_begin(answer, "ok");
	add_number(answer, "total_blocks", stats.total_blocks);
	add_number(answer, "total_bytes", stats.total_bytes);
	add_number(answer, "live_blocks", (uint64_t)stats.current_blocks);
	add_number(answer, "live_bytes", (uint64_t)stats.current_bytes);
	add_number(answer, "peak_blocks", stats.peak_blocks);
	add_number(answer, "peak_bytes", stats.peak_bytes);
	allo_message_end(answer);
}

static void answer_memory(char *lines, struct allo_message *answer)
{
	(void)lines;
	allo_message_begin(answer, "ok");
	allo_memory_answer(answer);
	allo_message_end(answer);
}

bool allo_control_answer(char *request, bool is_from_within, struct allo_message *answer)
{
	static const struct {
		const char *name;
		void (*answer)(char *lines, struct allo_message *answer);
	} known[] = {
		{ "status", answer_status }, { "start", start }, { "stop", stop },
		{ "detach", detach },        { "mark", mark },   { "stats", answer_stats },
		{ "memory", answer_memory },
	};
	char *lines = request;
	const char *what = allo_message_what(allo_message_line(&lines));

	if (what && is_from_within && strcmp(what, "leave") == 0)
		return false;
	for (size_t i = 0; what && i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(what, known[i].name) == 0) {
			allo_safepoint_init();
			known[i].answer(lines, answer);
			return true;
		}
	}
	allo_control_refuse(answer, what ? "unknown request" : "not a request of version 1");
	return true;
}
