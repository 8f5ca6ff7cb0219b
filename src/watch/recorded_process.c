/* recorded_process.c - searches the folders of sockets, and /proc, for recorded processes. */
#include "watch/recorded_process.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/stale_socket.h"
#include "base/text.h"
#include "watch/control_client.h"
#include "watch/mapped_recording.h"
#include "watch/program_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LISTING_TIMEOUT_MS = 1000, /* for all processes of a user */
	ASKED_AT_ONCE = 256,
};

void allo_recorded_processes_done(struct allo_recorded_processes *list)
{
	for (size_t i = 0; i < list->files.len; i++)
		close(list->files.at[i]);
	allo_vec_done(&list->files);
	allo_vec_done(&list->all);
	allo_arena_done(&list->arena);
}

static const char *keep(struct allo_recorded_processes *list, const char *text,
			struct allo_error *err)
{
	const char *kept = allo_arena_copy(&list->arena, text ? text : "",
					   strlen(text ? text : ""));

	if (!kept)
		allo_fail_memory(err);
	return kept;
}

static uint64_t number_of(const struct allo_control_reply *reply, const char *key)
{
	uint64_t number;

	allo_control_reply_number(reply, key, &number);
	return number;
}

/* `reply` NULL: the process did not reply. */
static bool fill(struct allo_recorded_processes *list, struct allo_recorded_process *process,
		 const struct allo_control_reply *reply, struct allo_error *err)
{
	static const struct allo_control_reply nothing;
	const struct {
		const char *key;
		const char **text;
	} texts[] = {
		{ "program", &process->program }, { "version", &process->version },
		{ "state", &process->state },     { "mode", &process->mode },
		{ "file", &process->file },
	};

	process->is_silent = !reply;
	if (!reply)
		reply = &nothing;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		*texts[i].text = keep(list, allo_control_reply_text(reply, texts[i].key), err);
		if (!*texts[i].text)
			return false;
	}
	process->rate = number_of(reply, "rate");
	process->start_ns = number_of(reply, "start_ns");
	process->is_own = number_of(reply, "own") != 0;
	process->has_stats = number_of(reply, "stats") != 0;
	return true;
}

/* Whose reply counts: this user's processes', and for root anybody's. */
static bool is_ours(uid_t uid)
{
	return geteuid() == 0 || uid == geteuid() || uid == 0;
}

enum found { NOT_FOUND, FOUND, FAILED };

/* Takes the status that a process has replied with, or not. */
static enum found take_status(struct allo_recorded_processes *list, const char *socket,
			      const struct allo_control_reply *reply, bool has_replied,
			      struct allo_recorded_process *process, struct allo_error *err)
{
	if (!has_replied && (reply->pid == 0 || reply->uid == (uid_t)-1))
		return NOT_FOUND;
	if (!is_ours(reply->uid))
		return NOT_FOUND;
	*process = (struct allo_recorded_process){ .pid = reply->pid, .uid = reply->uid };
	if (process->pid == 0)
		process->pid = (pid_t)number_of(reply, "pid");
	process->socket = keep(list, socket, err);
	return process->socket && fill(list, process, has_replied ? reply : NULL, err) ? FOUND
										       : FAILED;
}

/* Asks the process at a socket for its status. */
static enum found ask_status(struct allo_recorded_processes *list, const char *socket,
			     int timeout_ms, struct allo_recorded_process *process,
			     struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	struct allo_message status;
	bool has_replied;

	if (!reply) {
		allo_fail_memory(err);
		return FAILED;
	}
	allo_message_begin(&status, "status");
	allo_message_end(&status);
	has_replied = allo_control_ask(socket, &status, timeout_ms, reply) &&
		      strcmp(reply->what, "ok") == 0;
	return take_status(list, socket, reply, has_replied, process, err);
}

/* Processes without a socket. */

static const char *mode_name(uint32_t mode)
{
	static const char *const names[] = {
		[ALLO_MODE_EXACT] = "exact",
		[ALLO_MODE_SAMPLED] = "sampled",
		[ALLO_MODE_EVENTS] = "events",
		[ALLO_MODE_AD_HOC] = "ad-hoc",
	};

	return mode < sizeof(names) / sizeof(*names) ? names[mode] : "";
}

static bool fill_mapped(struct allo_recorded_processes *list, struct allo_recorded_process *process,
			const struct allo_mapped_recording *mapped, struct allo_error *err)
{
	const struct allo_wire_head *head = &mapped->head;

	process->socket = process->version = "";
	process->program = keep(list, mapped->program, err);
	process->state = head->end == ALLO_END_NONE ? "recording" : "ended";
	process->mode = mode_name(head->sampling.mode);
	process->file = keep(list, mapped->file, err);
	process->place = strcmp(mapped->file, mapped->place) == 0 ? process->file
								  : keep(list, mapped->place, err);
	process->rate = head->sampling.rate;
	process->start_ns = head->first.monotonic_ns;
	return process->program && process->file && process->place;
}

/* A forked process that has not allocated yet. */
static bool fill_waiting(struct allo_recorded_processes *list,
			 struct allo_recorded_process *process, struct allo_error *err)
{
	char name[ALLO_PROGRAM_NAME_SIZE];

	allo_program_name_read(process->pid, name);
	process->socket = process->version = process->mode = process->file = "";
	process->state = "waiting";
	process->program = keep(list, name, err);
	return process->program;
}

/* Finds a process by the recording that it maps, or by its sign. */
static enum found find_mapped(struct allo_recorded_processes *list, pid_t pid,
			      struct allo_recorded_process *process, struct allo_error *err)
{
	struct allo_mapped_recording mapped;

	if (!allo_mapped_recording_find(pid, &mapped) || !is_ours(mapped.uid))
		return NOT_FOUND;
	*process = (struct allo_recorded_process){ .pid = pid, .uid = mapped.uid };
	if (mapped.is_waiting)
		return fill_waiting(list, process, err) ? FOUND : FAILED;
	return fill_mapped(list, process, &mapped, err) ? FOUND : FAILED;
}

static const struct allo_recorded_process *listed(const struct allo_recorded_processes *list,
						  size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (list->all.at[i].pid == pid)
			return &list->all.at[i];
	}
	return NULL;
}

/* Folders. */

/* Whether only its user can write to a folder. */
static bool is_trusted(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (status.st_mode & 077) == 0 && is_ours(status.st_uid);
}

/* Processes that have been asked and have not replied yet. */
struct asked {
	struct {
		char socket[PATH_MAX];
		int fd;
		pid_t pid;
		uid_t uid;
	} at[ASKED_AT_ONCE];
	size_t count;
	int64_t until_ms; /* for all of a folder: those that do not reply delay others only once */
	struct allo_control_reply reply;
};

/* Whether a process is among those that have been asked, or has replied. */
static bool is_known(const struct allo_recorded_processes *list, const struct asked *asked,
		     pid_t pid)
{
	bool is_known = false;

	for (size_t i = 0; i < asked->count && pid != 0; i++)
		is_known |= asked->at[i].pid == pid;
	for (size_t i = 0; i < list->all.len && pid != 0; i++)
		is_known |= list->all.at[i].pid == pid;
	return is_known;
}

static void ask_socket(const struct allo_recorded_processes *list, struct asked *asked, int folder,
		       const char *path, const char *name)
{
	char *socket = asked->at[asked->count].socket;
	struct allo_message request;
	struct stat status;
	int fd;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
	    snprintf(socket, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
		return;
	allo_message_begin(&request, "status");
	allo_message_end(&request);
	fd = allo_control_send(socket, &request, asked->until_ms, &asked->reply);
	if (fd < 0) {
		if (errno == ECONNREFUSED)
			allo_stale_socket_remove(folder, name, &status);
		return;
	}
	/* A process has one socket. */
	if (is_known(list, asked, asked->reply.pid)) {
		close(fd);
		return;
	}
	asked->at[asked->count].fd = fd;
	asked->at[asked->count].pid = asked->reply.pid;
	asked->at[asked->count++].uid = asked->reply.uid;
}

/* Takes the replies.  Even on failure, all descriptors are closed. */
static bool take_replies(struct allo_recorded_processes *list, struct asked *asked,
			 struct allo_error *err)
{
	for (size_t i = 0; i < asked->count; i++) {
		struct allo_control_reply *reply = &asked->reply;
		struct allo_recorded_process process;
		bool has_replied;

		*reply = (struct allo_control_reply){ .pid = asked->at[i].pid,
						      .uid = asked->at[i].uid };
		has_replied = allo_control_finish(asked->at[i].fd, asked->until_ms, reply) &&
			      strcmp(reply->what, "ok") == 0;
		if (!allo_failed(err) && take_status(list, asked->at[i].socket, reply, has_replied,
						     &process, err) == FOUND)
			allo_vec_add(&list->all, process, err);
	}
	asked->count = 0;
	return !allo_failed(err);
}

static bool take_folder(struct allo_recorded_processes *list, const char *path,
			struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct asked *asked = malloc(sizeof(*asked));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = asked && fd >= 0 && is_trusted(fd) ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool ok = true;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return asked || allo_fail_memory(err);
	}
	asked->count = 0;
	asked->until_ms = allo_control_now_ms() + LISTING_TIMEOUT_MS;
	while (ok && (entry = readdir(folder)) != NULL) {
		struct allo_text name = allo_text_of(entry->d_name);

		if (entry->d_name[0] != '.' && allo_text_ends(name, ALLO_TEXT(ALLO_CONTROL_END)))
			ask_socket(list, asked, dirfd(folder), path, entry->d_name);
		if (asked->count == ASKED_AT_ONCE)
			ok = take_replies(list, asked, err);
	}
	closedir(folder);
	return take_replies(list, asked, err) && ok;
}

/* Whether a folder "/tmp/allo-1000" belongs to user 1000: each user has one. */
static bool is_of_its_user(const char *path)
{
	struct stat status;
	uint64_t uid;

	return lstat(path, &status) == 0 &&
	       allo_text_u64(allo_text_of(path + strlen(ALLO_CONTROL_COMMON)), &uid) &&
	       status.st_uid == uid;
}

/* Lists the folders that match a pattern, and for which `is_right` (NULL: any) is true. */
static bool take_folders(struct allo_recorded_processes *list, const char *pattern,
			 bool (*is_right)(const char *path), struct allo_error *err)
{
	glob_t found = { 0 };
	bool ok = true;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && ok; i++) {
			if (!is_right || is_right(found.gl_pathv[i]))
				ok = take_folder(list, found.gl_pathv[i], err);
		}
	}
	globfree(&found);
	return ok;
}

/* The folder of XDG_RUNTIME_DIR, or the one that it usually names. */
static bool user_folder(char path[PATH_MAX])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (!runtime || !runtime[0])
		return snprintf(path, PATH_MAX, ALLO_CONTROL_USERS "%u", (unsigned)geteuid()) > 0;
	return runtime[0] == '/' && snprintf(path, PATH_MAX, "%s", runtime) < PATH_MAX;
}

/* Our folder below it. */
static bool runtime_folder(char path[PATH_MAX])
{
	size_t len;

	if (!user_folder(path))
		return false;
	len = strlen(path);
	return snprintf(path + len, PATH_MAX - len, "/" ALLO_CONTROL_FOLDER) <
	       (int)(PATH_MAX - len);
}

static bool is_private(const struct stat *status)
{
	return S_ISDIR(status->st_mode) && (status->st_mode & 077) == 0 &&
	       status->st_uid == geteuid();
}

const char *allo_control_folder_obstacle(char path[PATH_MAX])
{
	struct stat status;

	if (user_folder(path) && stat(path, &status) == 0 && is_private(&status))
		return NULL;
	snprintf(path, PATH_MAX, ALLO_CONTROL_COMMON "%u", (unsigned)geteuid());
	if (lstat(path, &status) != 0 || is_private(&status))
		return NULL;
	return status.st_uid != geteuid() ? "belongs to another user"
					  : "is not a private folder (mode 0700)";
}

static int compare(const void *a, const void *b)
{
	const struct allo_recorded_process *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : strcmp(x->socket, y->socket);
}

/* Sorts by pid, and drops duplicates: two paths may lead to one folder. */
static void sort(struct allo_recorded_processes *list)
{
	size_t kept = 0;

	if (list->all.len > 0)
		qsort(list->all.at, list->all.len, sizeof(*list->all.at), compare);
	for (size_t i = 0; i < list->all.len; i++) {
		if (kept == 0 || compare(&list->all.at[kept - 1], &list->all.at[i]) != 0)
			list->all.at[kept++] = list->all.at[i];
	}
	ALLO_ASSERT(kept <= list->all.len);
	list->all.len = kept;
}

/* Adds the processes that have a socket. */
static bool take_sockets(struct allo_recorded_processes *list, struct allo_error *err)
{
	char path[PATH_MAX];
	bool ok;

	if (runtime_folder(path) && !take_folder(list, path, err))
		return false;
	if (geteuid() == 0) {
		ok = take_folders(list, ALLO_CONTROL_COMMON "[0-9]*", is_of_its_user, err) &&
		     take_folders(list, "/run/user/*/" ALLO_CONTROL_FOLDER, NULL, err);
	} else {
		snprintf(path, sizeof(path), ALLO_CONTROL_COMMON "%u", (unsigned)geteuid());
		ok = take_folder(list, path, err);
	}
	sort(list);
	return ok;
}

/* Finding one. */

static bool find_at(struct allo_recorded_processes *list, const char *socket,
		    struct allo_recorded_process *process, struct allo_error *err)
{
	struct stat status;
	bool is_socket = stat(socket, &status) == 0 && S_ISSOCK(status.st_mode);
	enum found found = NOT_FOUND;

	errno = 0;
	if (is_socket)
		found = ask_status(list, socket, ALLO_CONTROL_TIMEOUT_MS, process, err);
	if (found == NOT_FOUND)
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = socket },
			  errno == ECONNREFUSED ? "the process of this socket has ended"
						: "not the socket of a process with the runtime");
	return found == FOUND;
}

static bool is_process(const char *path, const char *below, uint64_t pid, uint64_t inner,
		       struct allo_recorded_processes *list, struct allo_recorded_process *process,
		       struct allo_error *err)
{
	char socket[PATH_MAX];

	if (snprintf(socket, sizeof(socket), "%s%s/%llu" ALLO_CONTROL_END, below, path,
		     (unsigned long long)inner) >= (int)sizeof(socket))
		return false;
	if (ask_status(list, socket, ALLO_CONTROL_TIMEOUT_MS, process, err) != FOUND)
		return false;
	/* A process of another container may have the same pid. */
	return process->pid == (pid_t)pid || pid != inner;
}

/* Searches our folders, and those in the file system of the process. */
static bool find_in_folders(struct allo_recorded_processes *list, uint64_t pid,
			    struct allo_recorded_process *process, struct allo_error *err)
{
	char path[PATH_MAX], common[64], root[64], proc[64];
	uint64_t inner = allo_inner_pid(pid);
	struct stat status;

	if (runtime_folder(path) && is_process(path, "", pid, pid, list, process, err))
		return true;
	snprintf(proc, sizeof(proc), "/proc/%llu", (unsigned long long)pid);
	if (allo_failed(err) || stat(proc, &status) != 0)
		return false;
	snprintf(common, sizeof(common), ALLO_CONTROL_COMMON "%u", (unsigned)status.st_uid);
	snprintf(root, sizeof(root), "/proc/%llu/root", (unsigned long long)pid);
	return is_process(common, "", pid, pid, list, process, err) ||
	       (!allo_failed(err) && is_process(common, root, pid, inner, list, process, err));
}

/* Finds a process that has no socket in our folders: by its recording, or by a socket in the file
 * system of its container. */
static enum found find_hidden(struct allo_recorded_processes *list, pid_t pid,
			      struct allo_recorded_process *process, struct allo_error *err)
{
	enum found found = find_mapped(list, pid, process, err);

	if (found != NOT_FOUND || !allo_mapped_recording_has_library(pid))
		return found;
	return find_in_folders(list, (uint64_t)pid, process, err) ? FOUND : NOT_FOUND;
}

/* Adds the processes that have no socket in our folders. */
static bool take_mapped(struct allo_recorded_processes *list, struct allo_error *err)
{
	size_t with_sockets = list->all.len;
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && !allo_failed(err) && (entry = readdir(folder)) != NULL) {
		struct allo_recorded_process process;
		uint64_t pid;

		if (allo_text_u64(allo_text_of(entry->d_name), &pid) && pid <= INT_MAX &&
		    !listed(list, with_sockets, (pid_t)pid) &&
		    find_hidden(list, (pid_t)pid, &process, err) == FOUND)
			allo_vec_add(&list->all, process, err);
	}
	if (folder)
		closedir(folder);
	return !allo_failed(err);
}

bool allo_recorded_processes_list(struct allo_recorded_processes *list, struct allo_error *err)
{
	if (!take_sockets(list, err) || !take_mapped(list, err))
		return false;
	sort(list);
	return true;
}

static bool fail_unknown(const char *name, struct allo_error *err)
{
	if (allo_failed(err))
		return false;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "no process '%s' has the runtime", name);
	return allo_hint(err, "'allo ps' lists processes that have it; 'allo run' starts one");
}

static bool find_number(struct allo_recorded_processes *list, const char *name, uint64_t pid,
			struct allo_recorded_process *process, struct allo_error *err)
{
	const struct allo_recorded_process *found;

	if (find_in_folders(list, pid, process, err))
		return true;
	/* A process that changed its user or environment may have its socket anywhere. */
	if (allo_failed(err) || !take_sockets(list, err))
		return false;
	found = listed(list, list->all.len, (pid_t)pid);
	if (found) {
		*process = *found;
		return true;
	}
	if (find_mapped(list, (pid_t)pid, process, err) == FOUND)
		return true;
	if (allo_failed(err) || !allo_mapped_recording_has_library((pid_t)pid))
		return fail_unknown(name, err);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "process '%s' has the runtime, but neither a recording nor a control socket",
		  name);
	return allo_hint(err,
			 "after 'allo detach', 'allo attach %d' records it again; a program of "
			 "'allo run' needs --control",
			 (int)pid);
}

/* The processes of a list with their names, to be freed. */
static struct allo_named_process *names_of(const struct allo_recorded_processes *list,
					   struct allo_error *err)
{
	struct allo_named_process *names = calloc(list->all.len + 1, sizeof(*names));

	for (size_t i = 0; names && i < list->all.len; i++)
		names[i] = (struct allo_named_process){ list->all.at[i].pid,
							list->all.at[i].program };
	if (!names)
		allo_fail_memory(err);
	return names;
}

/* Lists the processes of a program only. */
static bool list_program(struct allo_recorded_processes *list, const char *wanted,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_named_process *names = NULL;
	const char *program;
	size_t kept = 0;

	if (!allo_recorded_processes_list(list, err) || !(names = names_of(list, err)))
		return false;
	program = allo_program_name_select(names, list->all.len, wanted, err);
	if (!program)
		return fail_unknown(wanted, err);
	for (size_t i = 0; i < list->all.len; i++) {
		if (strcmp(list->all.at[i].program, program) == 0)
			list->all.at[kept++] = list->all.at[i];
	}
	list->all.len = kept;
	return true;
}

static bool find_program(struct allo_recorded_processes *list, const char *wanted,
			 struct allo_recorded_process *process, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_named_process *names = NULL;

	if (!list_program(list, wanted, err) || !(names = names_of(list, err)))
		return false;
	*process = list->all.at[0];
	return list->all.len == 1 ||
	       allo_program_name_fail_several(names, list->all.len, process->program, err);
}

bool allo_recorded_processes_find(struct allo_recorded_processes *list, const char *name,
				  struct allo_error *err)
{
	struct allo_recorded_process process;

	ALLO_ASSERT(list->all.len == 0);
	if (name[0] == '%')
		return list_program(list, name + 1, err);
	if (!allo_recorded_process_find(list, name, &process, err))
		return false;
	list->all.len = 0;
	allo_vec_add(&list->all, process, err);
	return !allo_failed(err);
}

bool allo_recorded_process_find(struct allo_recorded_processes *list, const char *name,
				struct allo_recorded_process *process, struct allo_error *err)
{
	uint64_t pid;

	if (name[0] == '%')
		return find_program(list, name + 1, process, err);
	if (strchr(name, '/'))
		return find_at(list, name, process, err);
	if (allo_text_u64(allo_text_of(name), &pid) && pid > 0 && pid <= INT_MAX)
		return find_number(list, name, pid, process, err);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'%s' is not a process", name);
	if (access(name, F_OK) == 0)
		return allo_hint(err, "it is a file: 'allo summary FILE' prints an overview");
	return allo_hint(err, "give a pid, the path of a socket, or %%NAME");
}

bool allo_recorded_process_find_again(struct allo_recorded_processes *list,
				      const struct allo_recorded_process *before,
				      struct allo_recorded_process *process, struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	if (before->socket[0])
		return find_at(list, before->socket, process, err);
	if (find_mapped(list, before->pid, process, err) == FOUND)
		return true;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the recording of %s has ended",
			 allo_recorded_process_name(before, name));
}

const char *allo_recorded_process_name(const struct allo_recorded_process *process,
				       char out[ALLO_RECORDED_PROCESS_NAME_SIZE])
{
	snprintf(out, ALLO_RECORDED_PROCESS_NAME_SIZE, "%.64s (%d)",
		 process->program[0] ? process->program : "process", (int)process->pid);
	return out;
}

bool allo_recorded_process_has_socket(const struct allo_recorded_process *process,
				      struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	if (process->socket[0])
		return true;
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s has no control socket",
		  allo_recorded_process_name(process, name));
	return allo_hint(err, "start the program with 'allo run --control', or with "
			      "ALLO_CONTROL=1 if it links the runtime");
}

/* Finds the recording of a process without a control socket, unless it has ended. */
static bool find_ongoing(const struct allo_recorded_process *process,
			 struct allo_mapped_recording *mapped, struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	return (allo_mapped_recording_find(process->pid, mapped) && !mapped->is_waiting &&
		mapped->head.end == ALLO_END_NONE) ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s: nothing is being recorded",
			 allo_recorded_process_name(process, name));
}

bool allo_recorded_process_stop(const struct allo_recorded_process *process, struct allo_error *err)
{
	struct allo_mapped_recording mapped;

	if (!find_ongoing(process, &mapped, err))
		return false;
	return allo_mapped_recording_stop(&mapped) ||
	       allo_fail_errno(err, process->file, "stop the recording");
}

static bool mark_outside(const struct allo_recorded_process *process, const char *name,
			 struct allo_error *err)
{
	char called[ALLO_RECORDED_PROCESS_NAME_SIZE];
	struct allo_mapped_recording mapped;
	size_t len = strlen(name);

	if (len == 0 || len > ALLO_MARK_MAX)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "a mark needs a name of at most %d bytes", ALLO_MARK_MAX);
	if (!find_ongoing(process, &mapped, err))
		return false;
	if (allo_mapped_recording_mark(&mapped, name))
		return true;
	if (errno == ENOSPC)
		return allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = process->file },
				 "has no room for more marks of %s",
				 allo_recorded_process_name(process, called));
	return allo_fail_errno(err, process->file, "add the mark");
}

bool allo_recorded_process_mark(const struct allo_recorded_process *process, const char *name,
				struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	char called[ALLO_RECORDED_PROCESS_NAME_SIZE];
	struct allo_message request;

	if (!process->socket[0])
		return mark_outside(process, name, err);
	if (!reply)
		return allo_fail_memory(err);
	allo_message_begin(&request, "mark");
	allo_message_add(&request, "name", name);
	allo_message_end(&request);
	return allo_control_request(process->socket, allo_recorded_process_name(process, called),
				    &request, reply, err);
}

bool allo_recorded_process_has_file(const struct allo_recorded_process *process,
				    struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];
	allo_recorded_process_name(process, name);

	if (process->is_silent)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s does not answer", name);
	if (process->file[0])
		return true;
	if (strcmp(process->state, "waiting") == 0)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
				 "%s has recorded nothing yet: it has not allocated", name);
	if (strcmp(process->mode, "counters") == 0) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s only counts: there is no recording",
			  name);
		return allo_hint(err, "'allo stats %d' shows the counts", (int)process->pid);
	}
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s is not being recorded", name);
	return allo_hint(err, "'allo start %d' starts a recording", (int)process->pid);
}

const char *allo_recorded_process_file(struct allo_recorded_processes *list,
				       const struct allo_recorded_process *process)
{
	char path[2 * PATH_MAX];

	if (process->place)
		return process->place;
	if (access(process->file, F_OK) == 0)
		return process->file;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process->pid, process->file);
	if (access(path, F_OK) != 0)
		return process->file;
	return allo_arena_copy(&list->arena, path, strlen(path));
}
