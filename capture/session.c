/* session.c - the state machine of recordings: dormant, waiting, recording, ended. */
#include "capture/session.h"
#include "capture/api/last_error.h"
#include "capture/api/spawn_allo.h"
#include "capture/counts.h"
#include "capture/file/file_name.h"
#include "capture/file/own_resident.h"
#include "capture/overhead.h"
#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/sampler.h"
#include "capture/settings.h"
#include "capture/spin.h"
#include "capture/system.h"
#include "telemetry/error_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static bool is_started; /* by allo_start(); inherited by a child made by fork */
static char started_path[PATH_MAX], stopped_path[PATH_MAX];

/* One thread at a time starts or stops.  A child made by fork finds the lock free. */
static void lock(void)
{
	allo_spin_lock(&allo_process->is_controlled);
}

static void unlock(void)
{
	allo_spin_unlock(&allo_process->is_controlled);
}

bool allo_session_try_hold(void)
{
	return allo_process && allo_recorder && allo_spin_try(&allo_process->is_controlled);
}

bool allo_session_hold_within(unsigned ms)
{
	bool is_held = allo_session_try_hold();

	for (unsigned i = 0; !is_held && allo_process && allo_recorder && i < ms; i++) {
		allo_sleep_ns(1000000);
		is_held = allo_session_try_hold();
	}
	return is_held;
}

void allo_session_let_go(void)
{
	unlock();
}

static bool is_ready(void)
{
	allo_process_init();
	if (allo_process && allo_recorder)
		return true;
	return allo_set_error("out of memory: cannot set up the runtime");
}

static bool is_recording(void)
{
	return allo_safepoint_state() != ALLO_SAFEPOINT_SHUT && allo_process_records();
}

/* True in a recording of the whole program, by `allo run` or the environment. */
static bool is_whole(void)
{
	return !is_started && is_recording();
}

bool allo_is_recording(void)
{
	return is_ready() && is_recording();
}

/* Paths. */

/* The folder in which the recording began; its relative path refers to it. */
static struct allo_wire_text start_folder(void)
{
	return allo_recorder->head ? allo_recorder->head->folder : (struct allo_wire_text){ 0 };
}

/* Copies the recording's path, and makes it absolute: the program may change its folder. */
static void copy_absolute(char absolute[PATH_MAX])
{
	const char *path = allo_recorder->path;
	struct allo_wire_text folder = start_folder();
	size_t len = strlen(path), before = 0;

	if (path[0] && path[0] != '/' && folder.len > 0 && folder.len + 1 + len < PATH_MAX) {
		memcpy(absolute, (const char *)allo_recorder->head + folder.at, folder.len);
		absolute[folder.len] = '/';
		before = folder.len + 1;
	}
	memcpy(absolute + before, path, len + 1);
}

/* Whether the program has changed its folder since the recording began. */
static bool has_moved(void)
{
	struct allo_wire_text folder = start_folder();
	char now[PATH_MAX];
	long len = ALLO_SYSCALL2(SYS_getcwd, now, sizeof(now)); /* with the NUL */

	return len != (long)folder.len + 1 ||
	       memcmp(now, (const char *)allo_recorder->head + folder.at, folder.len) != 0;
}

bool allo_session_path(char path[PATH_MAX])
{
	if (!is_ready())
		return false;
	if (!is_recording())
		return allo_set_error("nothing is being recorded");
	copy_absolute(path);
	return true;
}

/* Starting. */

/* A recording that will be converted is written next to the output, with another extension. */
static bool name_recording(void)
{
	size_t len = strlen(allo_settings.output);

	if (strcmp(allo_settings.format, "allo") == 0)
		allo_settings.format[0] = '\0';
	if (!allo_settings.format[0])
		return true;
	if (len + sizeof(ALLO_RECORDING_END) > sizeof(allo_settings.output))
		return false;
	memcpy(allo_settings.output + len, ALLO_RECORDING_END, sizeof(ALLO_RECORDING_END));
	return true;
}

/* Starts the recording that the settings describe. */
static const char *begin(bool is_whole_one)
{
	allo_safepoint_init();
	allo_rules_forget();
	allo_session++;
	if (!allo_process_begin(true)) {
		allo_set_error("cannot record to ", allo_recorder->path, ": ",
			       allo_recorder->failure
				       ? allo_error_text(allo_recorder->failure)
				       : "no room on the disk or within the size limit");
		allo_recorder_end(false);
		return NULL;
	}
	allo_process->events = allo_process->units = 0;
	is_started = !is_whole_one;
	memcpy(started_path, allo_recorder->path, sizeof(started_path));
	allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
	return started_path;
}

static const char *start(const struct allo_config *config)
{
	const char *variable = allo_settings_unknown_word();

	if (variable) {
		allo_set_error(variable, ": unknown value '", allo_settings_variable(variable),
			       "'");
		return NULL;
	}
	if (!allo_settings_apply(config) || !name_recording()) {
		allo_set_error("the path, the format or its options are too long");
		return NULL;
	}
	/* The caller would choose the folder of the file, and a part of its contents. */
	if (allo_settings.has_file && allo_settings_are_secure()) {
		allo_set_error(ALLO_SECURE_ERROR);
		return NULL;
	}
	return begin(false);
}

/* allo_start() in a recording of the whole program only sets a mark. */
static const char *start_within(const struct allo_config *config)
{
	allo_safepoint_init();
	allo_mark("allo_start");
	if (config && (config->has_stats || config->mode == ALLO_COUNTERS) &&
	    !allo_counts_turn(true)) {
		allo_set_error("out of memory: cannot keep statistics");
		return NULL;
	}
	return allo_recorder->path;
}

const char *allo_start(const struct allo_config *config)
{
	const char *path = NULL;

	if (!is_ready())
		return NULL;
	lock();
	if (is_whole()) {
		path = start_within(config);
	} else if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT) {
		path = start(config);
	} else {
		allo_set_error("already recording to ", allo_recorder->path);
	}
	unlock();
	return path;
}

/* Stopping. */

/* Whether a file is the recording of a process that no longer runs. */
static bool is_left_over(const char *path)
{
	struct allo_wire_head head;
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_whole_head;

	if (fd < 0)
		return false;
	is_whole_head = ALLO_SYSCALL3(SYS_read, fd, &head, sizeof(head)) == sizeof(head) &&
			memcmp(head.magic, ALLO_HEAD_MAGIC, sizeof(head.magic)) == 0;
	ALLO_SYSCALL1(SYS_close, fd);
	return is_whole_head && (head.pid == (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0) ||
				 ALLO_SYSCALL2(SYS_kill, head.pid, 0) == -ESRCH);
}

/* The recording has another name than requested if there is a file with that name.  If a killed
 * process left that file, the output still gets the requested name.  `folder` is the length of the
 * start folder in front of a path that was made absolute. */
static void use_requested_name(char path[PATH_MAX], size_t folder)
{
	char requested[PATH_MAX];

	if (!allo_file_name(allo_settings.output, 1, requested + folder, PATH_MAX - folder))
		return;
	memcpy(requested, path, folder);
	if (strcmp(requested, path) != 0 && is_left_over(requested))
		memcpy(path, requested, sizeof(requested));
}

/* Converts the recording to the requested format and deletes it. */
static bool make_format(char path[PATH_MAX], size_t folder)
{
	char recording[PATH_MAX];

	memcpy(recording, path, sizeof(recording));
	use_requested_name(path, folder);
	path[strlen(path) - strlen(ALLO_RECORDING_END)] = '\0';
	if (!allo_spawn_convert(&(struct allo_spawn_request){ .recording = recording,
							      .format = allo_settings.format,
							      .options = allo_settings.options,
							      .made = path }))
		return false;
	ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, recording, 0);
	return true;
}

static void end(void)
{
	bool is_quiet = allo_safepoint_freeze_to_end();

	memcpy(stopped_path, allo_recorder->path, sizeof(stopped_path));
	if (allo_recorder_is_on()) {
		allo_sampler_flush_all();
		allo_overhead_finish();
		allo_recorder_update_clock();
		allo_resident_end();
		allo_recorder_stop(ALLO_END_STOPPED);
	}
	allo_threads_end();
	allo_stacks_end(!is_quiet);
	allo_recorder_end(!is_quiet);
	is_started = false;
	allo_safepoint_shut();
}

static const char *stop(void)
{
	char absolute[PATH_MAX];
	bool is_elsewhere = has_moved();
	size_t folder = 0;

	copy_absolute(absolute);
	end();
	if (is_elsewhere) {
		folder = strlen(absolute) - strlen(stopped_path);
		memcpy(stopped_path, absolute, sizeof(stopped_path));
	}
	if (stopped_path[0] && allo_settings.format[0] && !make_format(stopped_path, folder))
		return NULL;
	return stopped_path;
}

const char *allo_stop(void)
{
	const char *path = NULL;

	if (!is_ready())
		return NULL;
	lock();
	if (is_whole()) {
		allo_mark("allo_stop");
		allo_counts_turn(false);
		path = allo_recorder->path;
	} else if (is_started) {
		path = stop();
	} else {
		allo_set_error("nothing is being recorded");
	}
	unlock();
	return path;
}

/* From outside, by the control thread. */

/* The program holds the lock while it converts a recording. */
static bool lock_soon(void)
{
	return is_ready() &&
	       (allo_session_hold_within(1000) ||
		allo_set_error(
			"the program itself is starting or stopping a recording; try again"));
}

static enum allo_session_state state_of(void)
{
	uint32_t state = __atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE);

	if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT)
		return ALLO_SESSION_DORMANT;
	return state == ALLO_RECORDER_ON    ? ALLO_SESSION_RECORDING
	       : state == ALLO_RECORDER_OFF ? ALLO_SESSION_ENDED
					    : ALLO_SESSION_WAITING;
}

static const char *start_whole(const struct allo_start_request *request)
{
	if (allo_settings_reset(request))
		return begin(true);
	allo_set_error("invalid mode or number, or the path is too long");
	return NULL;
}

const char *allo_session_start_whole(const struct allo_start_request *request)
{
	enum allo_session_state state;
	const char *path = NULL;

	if (!lock_soon())
		return NULL;
	state = state_of();
	if (state == ALLO_SESSION_RECORDING) {
		allo_set_error("already recording", allo_settings.has_file ? " to " : "",
			       allo_recorder->path);
	} else if (state == ALLO_SESSION_WAITING) {
		allo_set_error("a recording is already about to start");
	} else {
		if (state == ALLO_SESSION_ENDED)
			end();
		path = start_whole(request);
	}
	unlock();
	return path;
}

const char *allo_session_stop_whole(void)
{
	const char *path = NULL;

	if (!lock_soon())
		return NULL;
	if (is_started) {
		allo_set_error("the program started this recording and must stop it itself");
	} else if (state_of() == ALLO_SESSION_DORMANT) {
		allo_set_error("nothing is being recorded");
	} else {
		end();
		path = stopped_path;
	}
	unlock();
	return path;
}

bool allo_session_records(void)
{
	return is_ready() && state_of() == ALLO_SESSION_RECORDING;
}

bool allo_session_is_on(void)
{
	return allo_session_records() || allo_set_error("nothing is being recorded");
}

struct allo_session_status allo_session_status(void)
{
	struct allo_session_status status = { 0 };

	if (!lock_soon())
		return status;
	status.state = state_of();
	status.is_own = is_started;
	if (status.state == ALLO_SESSION_RECORDING || status.state == ALLO_SESSION_ENDED) {
		if (allo_settings.has_file && allo_recorder->path[0])
			status.path = allo_recorder->path;
		if (allo_recorder->head)
			status.start_ns = allo_recorder->head->first.monotonic_ns;
	}
	/* A reader that follows the recording learns which events are from before its request. */
	if (status.state == ALLO_SESSION_RECORDING && allo_recorder->head)
		allo_recorder_update_clock();
	unlock();
	return status;
}

void allo_session_exits(void)
{
	if (is_started && allo_settings.format[0])
		allo_stop();
}
