/* roster.c - see roster.h. */
#include "serve/roster.h"

#include "base/defer.h"
#include "serve/errand.h"
#include "telemetry/ticking.h"
#include "watch/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a list is good: as long as nobody minds not seeing a process that has just begun. */
#define FRESH_NS (2 * (uint64_t)ALLO_SECOND_NS)

/* A process, on its way from the child that has found it. */
struct listed {
	pid_t pid;
	char program[64];
	char socket[PATH_MAX];
};

static void served_done(struct allo_served *served)
{
	if (served)
		allo_close_fd(&served->pidfd);
	free(served);
}

void allo_roster_done(struct allo_roster *roster)
{
	for (size_t i = 0; i < roster->all.len; i++)
		served_done(roster->all.at[i]);
	allo_vec_done(&roster->all);
}

bool allo_served_has_ended(const struct allo_served *served)
{
	struct pollfd polled = { .fd = served->pidfd, .events = POLLIN };

	return poll(&polled, 1, 0) > 0;
}

const char *allo_served_root(const struct allo_served *served, char path[ALLO_ROOT_SIZE])
{
	struct stat ours, its;

	snprintf(path, ALLO_ROOT_SIZE, "/proc/%d/root", (int)served->pid);
	if (stat("/", &ours) < 0 || stat(path, &its) < 0 ||
	    (ours.st_dev == its.st_dev && ours.st_ino == its.st_ino))
		return NULL;
	return path;
}

/* What it is called, where it does not say so itself. */
static void read_name(pid_t pid, char *name, size_t room)
{
	char path[64];
	ssize_t len = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, name, room - 1);
	allo_close_fd(&fd);
	name[len > 0 ? len - 1 : 0] = '\0';
}

static bool add(struct allo_roster *roster, const struct listed *listed, struct allo_error *err)
{
	struct allo_served *served;

	if (roster->all.len == ALLO_ROSTER_MOST)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
				 "more than %d processes are not served", ALLO_ROSTER_MOST);
	served = calloc(1, sizeof(*served));
	if (!served || !allo_vec_reserve(&roster->all, 1)) {
		free(served);
		return allo_fail_memory(err);
	}
	served->pid = listed->pid;
	served->pidfd = pidfd_open(listed->pid, 0);
	if (served->pidfd < 0) {
		free(served);
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d: %s", (int)listed->pid,
				 strerror(errno));
	}
	memcpy(served->program, listed->program, sizeof(served->program));
	memcpy(served->socket, listed->socket, sizeof(served->socket));
	if (!served->program[0])
		read_name(served->pid, served->program, sizeof(served->program));
	allo_snapshots_init(&served->shots, "", (uint64_t)served->pid);
	roster->all.at[roster->all.len++] = served;
	return true;
}

static struct listed listed_of(const struct allo_watched *watched)
{
	struct listed listed = { .pid = watched->pid };

	snprintf(listed.program, sizeof(listed.program), "%s", watched->program);
	snprintf(listed.socket, sizeof(listed.socket), "%s", watched->socket);
	return listed;
}

static struct allo_served *find(const struct allo_roster *roster, pid_t pid)
{
	for (size_t i = 0; i < roster->all.len; i++) {
		if (roster->all.at[i]->pid == pid)
			return roster->all.at[i];
	}
	return NULL;
}

bool allo_roster_add(struct allo_roster *roster, const char *name, struct allo_error *err)
{
	ALLO_DEFER(allo_watched_list_done) struct allo_watched_list list = { 0 };
	struct allo_error unknown = { 0 };
	struct allo_watched watched;
	struct listed listed = { 0 };
	uint64_t pid;

	if (allo_watched_find(&list, name, &watched, &unknown)) {
		listed = listed_of(&watched);
	} else if (unknown.code == ALLO_USAGE && allo_text_u64(allo_text_of(name), &pid) &&
		   pid > 0 && pid <= INT_MAX) {
		listed.pid = (pid_t)pid;
	} else {
		*err = unknown;
		return false;
	}
	return find(roster, listed.pid) || add(roster, &listed, err);
}

bool allo_roster_is_old(const struct allo_roster *roster)
{
	return roster->is_open &&
	       (roster->listed_ns == 0 || allo_clock_ns() - roster->listed_ns > FRESH_NS);
}

unsigned allo_roster_list(const void *unused, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_watched_list_done) struct allo_watched_list list = { 0 };

	(void)unused;
	if (!allo_watched_list_all(&list, err))
		return ALLO_BROKEN;
	for (size_t i = 0; i < list.all.len && i < ALLO_ROSTER_MOST; i++) {
		struct listed listed = listed_of(&list.all.at[i]);

		if (write(out, &listed, sizeof(listed)) != sizeof(listed)) {
			allo_fail_errno(err, NULL, "list processes");
			return ALLO_BROKEN;
		}
	}
	return ALLO_DONE;
}

/* Those that have ended go. */
static void drop_ended(struct allo_roster *roster)
{
	size_t kept = 0;

	for (size_t i = 0; i < roster->all.len; i++) {
		if (allo_served_has_ended(roster->all.at[i]))
			served_done(roster->all.at[i]);
		else
			roster->all.at[kept++] = roster->all.at[i];
	}
	roster->all.len = kept;
}

bool allo_roster_update(struct allo_roster *roster, int listed_fd, struct allo_error *err)
{
	struct listed listed;

	drop_ended(roster);
	roster->listed_ns = allo_clock_ns();
	for (off_t at = 0; pread(listed_fd, &listed, sizeof(listed), at) == sizeof(listed);
	     at += (off_t)sizeof(listed)) {
		struct allo_error gone = { 0 };

		/* One that has ended since is none any more. */
		if (!find(roster, listed.pid) && roster->all.len < ALLO_ROSTER_MOST &&
		    !add(roster, &listed, &gone) && gone.code == ALLO_NOMEM)
			return allo_fail_memory(err);
	}
	return true;
}

/* The only one of which there is a heap to be seen; NULL if there is none, or several. */
static struct allo_served *only_one(const struct allo_roster *roster)
{
	struct allo_served *only = NULL;

	if (roster->all.len == 1)
		return roster->all.at[0];
	for (size_t i = 0; i < roster->all.len; i++) {
		if (!roster->all.at[i]->socket[0])
			continue;
		if (only)
			return NULL;
		only = roster->all.at[i];
	}
	return only;
}

static unsigned fail_unnamed(const struct allo_roster *roster, struct allo_error *err)
{
	char numbers[128] = "";
	size_t len = 0;

	if (roster->all.len == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "no process has the runtime");
		return ALLO_NOT_FOUND;
	}
	for (size_t i = 0; i < roster->all.len && len < sizeof(numbers) - 16; i++)
		len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%d",
					i > 0 ? ", " : "", (int)roster->all.at[i]->pid);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "there are %zu processes: add ?pid= with one of %s", roster->all.len, numbers);
	return ALLO_BAD_REQUEST;
}

unsigned allo_roster_pick(const struct allo_roster *roster, const char *pid,
			  struct allo_served **served, struct allo_error *err)
{
	uint64_t number;

	if (!pid) {
		*served = only_one(roster);
		if (!*served)
			return fail_unnamed(roster, err);
	} else {
		*served = allo_text_u64(allo_text_of(pid), &number) && number <= INT_MAX
				  ? find(roster, (pid_t)number)
				  : NULL;
		if (!*served) {
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no process '%.20s' here",
				  pid);
			return ALLO_NOT_FOUND;
		}
	}
	if (!allo_served_has_ended(*served))
		return ALLO_DONE;
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", (*served)->program,
		  (int)(*served)->pid);
	return ALLO_GONE;
}
