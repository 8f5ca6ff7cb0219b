/* session.c - the state machine of recordings: dormant, waiting, recording, ended. */
#include "capture/session.h"
#include "capture/counts.h"
#include "capture/last_error.h"
#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/sampler.h"
#include "capture/settings.h"
#include "capture/spawn_allo.h"
#include "capture/spin.h"
#include "capture/system.h"

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

const char *allo_session_path(void)
{
	if (!is_ready())
		return NULL;
	if (is_recording())
		return allo_recorder->path;
	allo_set_error("nothing is being recorded");
	return NULL;
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
				       ? strerrordesc_np(allo_recorder->failure)
				       : "no room on the disk or within the size limit");
		allo_recorder_end(false);
		return NULL;
	}
	if (is_whole_one)
		allo_recorder_release_file();
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

/* Converts the recording to the requested format and deletes it. */
static bool make_format(char *path)
{
	char recording[PATH_MAX];

	memcpy(recording, path, sizeof(recording));
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
		allo_recorder_update_clock();
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
	end();
	if (stopped_path[0] && allo_settings.format[0] && !make_format(stopped_path))
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

/* Waits a second at most: the program holds the lock while it converts a recording. */
static bool lock_soon(void)
{
	enum { SLEEP_NS = 1000000, TRIES = 1000 };

	if (!is_ready())
		return false;
	for (unsigned i = 0; i < TRIES; i++) {
		if (allo_spin_try(&allo_process->is_controlled))
			return true;
		allo_sleep_ns(SLEEP_NS);
	}
	return allo_set_error("the program itself is starting or stopping a recording; try again");
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
