/* mapped_recording.c - reads /proc/PID/maps, and verifies the files that may be recordings. */
#include "watch/mapped_recording.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/text.h"
#include "telemetry/monotonic_clock.h"
#include "wire/attach_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, LOCK_PAUSE_US = 10000 };

static FILE *open_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

static void close_maps(FILE **maps)
{
	if (*maps)
		fclose(*maps);
}

/* The last number of the line NSpid. */
uint64_t allo_inner_pid(uint64_t pid)
{
	char path[64], line[256];
	uint64_t inner = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/status", (unsigned long long)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		struct allo_text before, last = allo_text_trim(allo_text_of(line));

		if (strncmp(line, "NSpid:", 6) == 0 &&
		    allo_text_cut_last(last, '\t', &before, &last))
			allo_text_u64(last, &inner);
	}
	if (file)
		fclose(file);
	return inner;
}

/* A mapping that may be of a recording. */
struct mapping {
	pid_t pid;          /* of the process */
	uint64_t inner_pid; /* that the head must have; 0: any */
	uint64_t len;
	struct allo_mapped_file identity;
	const char *path;
};

/* Reads "START-END PERMISSIONS OFFSET 08:01 INODE   /path" of /proc/PID/maps.  False if it is not a
 * mapping of a file with these permissions and this offset. */
static bool parse(char *line, const char *permissions, uint64_t offset, struct mapping *mapping)
{
	uint64_t start, end, found_offset;
	char found[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64, &start, &end, found,
		   &found_offset) != 4 ||
	    strcmp(found, permissions) != 0 || found_offset != offset)
		return false;
	mapping->len = end - start;
	mapping->path = strchr(line, '/');
	if (!mapping->path || !allo_mapped_file_parse(line, &mapping->identity))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* The name of the program is that of its first argument, which the runtime reports as well. */
static void read_program(int fd, const struct allo_wire_head *head, char *program, size_t room)
{
	struct allo_wire_text text = head->arguments.len > 0 ? head->arguments : head->program;
	char whole[PATH_MAX];
	size_t most = text.len < sizeof(whole) ? text.len : sizeof(whole) - 1;
	ssize_t len = pread(fd, whole, most, text.at);
	char *slash, *title;

	whole[len > 0 ? len : 0] = '\0';
	title = strstr(whole, ": "); /* servers replace their arguments: "nginx: worker process" */
	if (title)
		*title = '\0';
	slash = strrchr(whole, '/');
	snprintf(program, room, "%.*s", (int)room - 1, slash ? slash + 1 : whole);
}

static bool is_head(const struct allo_wire_head *head, uint64_t inner_pid)
{
	return memcmp(head->magic, ALLO_HEAD_MAGIC, sizeof(head->magic)) == 0 &&
	       head->byte_order == ALLO_BYTE_ORDER && head->slot_size == ALLO_SLOT_SIZE &&
	       head->version <= ALLO_RING_VERSION && (inner_pid == 0 || head->pid == inner_pid);
}

/* Whether a file's contents may be believed: those of the process's user, ours, or root's.  After a
 * process changes its user, its recording still belongs to the earlier one. */
static bool is_trusted(const struct stat *file, uid_t uid)
{
	return S_ISREG(file->st_mode) &&
	       (file->st_uid == uid || file->st_uid == geteuid() || file->st_uid == 0);
}

static bool is_recording(int fd, const struct allo_mapped_recording *found)
{
	struct stat file;

	return fstat(fd, &file) == 0 && is_trusted(&file, found->uid) &&
	       allo_mapped_file_is(&found->identity, fd);
}

/* Opens a path without waiting for a FIFO, and reads the head if it is the mapped file. */
static bool read_head(const struct mapping *mapping, struct allo_mapped_recording *found)
{
	ALLO_DEFER(allo_close_fd)
	int fd = open(found->place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	found->identity = mapping->identity;
	if (fd < 0 || !is_recording(fd, found) ||
	    pread(fd, &found->head, sizeof(found->head), 0) != sizeof(found->head) ||
	    !is_head(&found->head, mapping->inner_pid))
		return false;
	read_program(fd, &found->head, found->program, sizeof(found->program));
	return true;
}

/* The process may be in another mount namespace. */
static bool verify(const struct mapping *mapping, struct allo_mapped_recording *found)
{
	snprintf(found->file, sizeof(found->file), "%s", mapping->path);
	snprintf(found->place, sizeof(found->place), "%s", found->file);
	if (read_head(mapping, found))
		return true;
	snprintf(found->place, sizeof(found->place), "/proc/%d/root%s", (int)mapping->pid,
		 found->file);
	return read_head(mapping, found);
}

static bool read_user(pid_t pid, uid_t *uid)
{
	struct stat status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &status) != 0)
		return false;
	*uid = status.st_uid;
	return true;
}

bool allo_mapped_recording_has_library(pid_t pid)
{
	ALLO_DEFER(close_maps) FILE *maps = open_maps(pid);
	ALLO_DEFER(allo_free_pointer) char *line = NULL;
	bool has_library = false;
	size_t room = 0;

	while (!has_library && maps && getline(&line, &room, maps) > 0)
		has_library = strstr(line, "/liballo.so") || strstr(line, "/liballo-musl.so") ||
			      strstr(line, ALLO_ATTACH_PATH);
	return has_library;
}

/* Whether a mapping is the sign of wire/layout.h: a page of the parent's recording.  That may have
 * been deleted since, when it was packed. */
static bool is_sign(char *line, pid_t pid, uid_t uid)
{
	struct mapping mapping = { .pid = pid };
	struct allo_mapped_recording parent = { .uid = uid };

	return parse(line, "r--s", ALLO_SIGN_OFFSET, &mapping) &&
	       mapping.len == (uint64_t)sysconf(_SC_PAGESIZE) &&
	       (verify(&mapping, &parent) || allo_mapped_recording_has_library(pid));
}

bool allo_mapped_recording_find(pid_t pid, struct allo_mapped_recording *found)
{
	ALLO_DEFER(close_maps) FILE *maps = open_maps(pid);
	ALLO_DEFER(allo_free_pointer) char *line = NULL;
	struct mapping mapping = { .pid = pid };
	struct allo_mapped_recording candidate = { .is_waiting = false };
	bool is_found = false, has_sign = false;
	size_t room = 0;

	if (!maps || !read_user(pid, &candidate.uid))
		return false;
	mapping.inner_pid = allo_inner_pid((uint64_t)pid);
	while (getline(&line, &room, maps) > 0) {
		has_sign = has_sign || is_sign(line, pid, candidate.uid);
		if (!parse(line, "rw-s", 0, &mapping) || !verify(&mapping, &candidate) ||
		    (is_found &&
		     candidate.head.first.monotonic_ns < found->head.first.monotonic_ns))
			continue;
		*found = candidate;
		is_found = true;
	}
	if (!is_found && has_sign)
		*found = (struct allo_mapped_recording){ .uid = candidate.uid, .is_waiting = true };
	return is_found || has_sign;
}

/* Opens the file that was found, to write to it.  Another one may have its name by now. */
static int open_found(const struct allo_mapped_recording *recording)
{
	int fd = open(recording->place, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	/* A process that waits for its first allocation has no file. */
	ALLO_ASSERT(!recording->is_waiting);
	if (fd < 0 || is_recording(fd, recording))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

bool allo_mapped_recording_stop(const struct allo_mapped_recording *recording)
{
	ALLO_DEFER(allo_close_fd) int fd = open_found(recording);
	uint32_t none = ALLO_END_NONE;
	struct allo_wire_head *head;

	if (fd < 0)
		return false;
	head = mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return false;
	/* The process may end the recording at the same time: the first reason stays. */
	__atomic_compare_exchange_n(&head->end, &none, ALLO_END_STOPPED, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	munmap(head, sizeof(*head));
	return true;
}

/* Waits for other writers, but not for a process that never unlocks the file. */
static bool lock(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		usleep(LOCK_PAUSE_US);
	}
	return false;
}

/* Whether the head of the file, which is untrusted, has room for a mark of `size` bytes. */
static bool has_room(int fd, struct allo_wire_head *head, uint32_t size)
{
	const struct allo_wire_marks *marks = &head->marks;
	struct stat file;

	errno = ENOTSUP;
	if (fstat(fd, &file) != 0 || file.st_size < ALLO_SLOT_SIZE ||
	    pread(fd, head, sizeof(*head), 0) != sizeof(*head) ||
	    head->program.at < sizeof(*head) || marks->at < sizeof(*head) ||
	    marks->at > ALLO_SLOT_SIZE || marks->room > ALLO_SLOT_SIZE - marks->at ||
	    marks->used > marks->room)
		return false;
	errno = ENOSPC;
	return size <= marks->room - marks->used;
}

static bool write_at(int fd, const void *bytes, size_t len, uint64_t offset)
{
	ssize_t written = pwrite(fd, bytes, len, (off_t)offset);

	if (written >= 0 && (size_t)written < len)
		errno = ENOSPC;
	return written >= 0 && (size_t)written == len;
}

/* The mark counts once it is whole. */
bool allo_mapped_recording_mark(const struct allo_mapped_recording *recording, const char *name)
{
	struct {
		struct allo_wire_mark mark;
		char text[ALLO_MARK_MAX];
	} bytes = { .mark = { .monotonic_ns = allo_clock_ns(), .len = (uint32_t)strlen(name) } };
	ALLO_DEFER(allo_close_fd) int fd = open_found(recording);
	uint32_t size = allo_wire_mark_size(bytes.mark.len);
	struct allo_wire_head head;

	ALLO_ASSERT(bytes.mark.len > 0 && bytes.mark.len <= ALLO_MARK_MAX);
	ALLO_ASSERT(size <= sizeof(bytes));
	if (fd < 0 || !lock(fd) || !has_room(fd, &head, size))
		return false;
	memcpy(bytes.text, name, bytes.mark.len);
	if (!write_at(fd, &bytes, size, (uint64_t)head.marks.at + head.marks.used))
		return false;
	head.marks.used += size;
	ALLO_ASSERT(head.marks.used <= head.marks.room);
	return write_at(fd, &head.marks.used, sizeof(head.marks.used),
			offsetof(struct allo_wire_head, marks.used));
}
