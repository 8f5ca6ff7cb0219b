/* dump.c - writes the recording so far in another format: allo_dump() and its relatives. */
#include "base/assert.h"
#include "capture/api/last_error.h"
#include "capture/api/spawn_allo.h"
#include "capture/file/file_name.h"
#include "capture/session.h"
#include "capture/system.h"
#include <allo.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char signal_pattern[PATH_MAX];
static unsigned signals; /* received so far: %n of the pattern */

bool allo_dump(const char *path)
{
	char recording[PATH_MAX];

	return allo_session_path(recording) &&
	       allo_spawn_convert(&(struct allo_spawn_request){
		       .recording = recording, .made = path, .is_live = true });
}

/* Reads a whole file into memory of malloc(), and appends a NUL. */
static bool read_all(int fd, void **data, size_t *len)
{
	struct stat status;
	size_t got = 0;
	char *bytes;
	ssize_t count = 1;

	if (ALLO_SYSCALL2(SYS_fstat, fd, &status) < 0)
		return allo_set_error("cannot read the converted recording");
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes)
		return allo_set_error("out of memory for the converted recording");
	while (count > 0 && got < (size_t)status.st_size) {
		count = pread(fd, bytes + got, (size_t)status.st_size - got, (off_t)got);
		if (count > 0)
			got += (size_t)count;
	}
	ALLO_ASSERT(got <= (size_t)status.st_size);
	bytes[got] = '\0';
	*data = bytes;
	*len = got;
	return true;
}

bool allo_dump_buffer(const char *format, void **data, size_t *len)
{
	char recording[PATH_MAX];
	bool is_made;
	int fd;

	if (!allo_session_path(recording))
		return false;
	fd = memfd_create("allo", MFD_CLOEXEC);
	if (fd < 0)
		return allo_set_error("cannot create a memory file for the conversion");
	is_made = allo_spawn_convert(
			  &(struct allo_spawn_request){ .recording = recording,
							.format = format ? format : "pprof",
							.output = fd,
							.is_live = true }) &&
		  read_all(fd, data, len);
	close(fd);
	return is_made;
}

/* The signal handler. */
static void dump(int signal)
{
	char path[PATH_MAX], recording[PATH_MAX];

	(void)signal;
	if (allo_session_path(recording) &&
	    allo_file_name(signal_pattern, __atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED), path,
			   sizeof(path)))
		allo_spawn_convert_detached(&(struct allo_spawn_request){
			.recording = recording, .made = path, .is_live = true });
}

bool allo_dump_on_signal(int signal, const char *path)
{
	struct sigaction action = { .sa_handler = dump, .sa_flags = SA_RESTART };
	size_t len = strlen(path);

	if (len >= sizeof(signal_pattern))
		return allo_set_error("the path is too long");
	memcpy(signal_pattern, path, len + 1);
	if (sigaction(signal, &action, NULL) < 0)
		return allo_set_error("cannot install a handler for this signal");
	return true;
}
