/* debug_log.c - formatting without stdio, and a file that the program may have closed. */
#include "capture/debug_log.h"
#include "base/assert.h"
#include "capture/file/file_name.h"
#include "capture/file/recorder_file.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_NAME "allo-debug.%p.log"

unsigned allo_debug_level;

static struct {
	char path[PATH_MAX]; /* absolute */
	int flags;           /* O_NOFOLLOW for the default name, which others could predict */
	int fd;
	dev_t device;
	ino_t inode;
} file;

/* A line, cut at its capacity: the stacks of threads are small. */
struct line {
	size_t len;
	char text[1024];
};

static void add(struct line *line, const char *text, size_t len)
{
	size_t room = sizeof(line->text) - 1 - line->len; /* 1 for the newline */

	ALLO_ASSERT(line->len < sizeof(line->text));
	if (len > room)
		len = room;
	memcpy(line->text + line->len, text, len);
	line->len += len;
}

static void add_text(struct line *line, const char *text)
{
	add(line, text, strlen(text));
}

static void add_decimal(struct line *line, unsigned width, uint64_t value)
{
	char digits[20];

	add(line, digits, allo_put_decimal(digits, width, value));
}

static void add_hex(struct line *line, uint64_t value)
{
	char digits[18] = "0x";
	size_t len = 2;

	for (int shift = 60; shift >= 0; shift -= 4) {
		unsigned digit = (unsigned)(value >> shift) & 15;

		if (digit || len > 2 || shift == 0)
			digits[len++] = "0123456789abcdef"[digit];
	}
	add(line, digits, len);
}

static void add_prefix(struct line *line)
{
	char date[ALLO_DATE_LEN];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	allo_put_date(date, (uint64_t)now.tv_sec);
	add(line, date, sizeof(date));
	add_text(line, ".");
	add_decimal(line, 6, (uint64_t)now.tv_nsec / 1000);
	add_text(line, " ");
	add_decimal(line, 0, (uint64_t)ALLO_SYSCALL1(SYS_getpid, 0));
	add_text(line, ".");
	add_decimal(line, 0, allo_thread_number());
	add_text(line, " ");
}

/* Adds the argument of the conversion at *format, and moves behind the conversion. */
static void add_argument(struct line *line, const char **format, va_list *arguments)
{
	static const struct {
		const char *conversion;
		size_t len;
	} known[] = { { "%s", 2 }, { "%d", 2 }, { "%u", 2 }, { "%lu", 3 }, { "%#lx", 4 } };
	unsigned which = 0;
	int number;

	while (which < 5 && strncmp(*format, known[which].conversion, known[which].len) != 0)
		which++;
	ALLO_ASSERT(which < 5);
	*format += which < 5 ? known[which].len : 1;
	switch (which) {
	case 0:
		add_text(line, va_arg(*arguments, const char *));
		break;
	case 1:
		number = va_arg(*arguments, int);
		if (number < 0)
			add_text(line, "-");
		add_decimal(line, 0, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
		break;
	case 2:
		add_decimal(line, 0, va_arg(*arguments, unsigned));
		break;
	case 3:
		add_decimal(line, 0, va_arg(*arguments, unsigned long));
		break;
	case 4:
		add_hex(line, va_arg(*arguments, unsigned long));
		break;
	}
}

static long open_file(void)
{
	long fd = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, file.path,
				O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | file.flags, 0600);

	return fd < 0 ? fd : allo_fd_move_up(fd);
}

/* The program may have closed the descriptor, and threads may have separate ones.  Then the file is
 * opened for this line only. */
static void write_line(const struct line *line)
{
	bool is_open = allo_fd_is_file(file.fd, file.device, file.inode);
	long fd = is_open ? file.fd : open_file();

	if (fd < 0)
		return;
	ALLO_SYSCALL3(SYS_write, fd, line->text, line->len);
	if (!is_open)
		ALLO_SYSCALL1(SYS_close, fd);
}

void allo_debug_write(const char *format, ...)
{
	struct line line = { 0 };
	va_list arguments;

	if (allo_is_confined)
		return;
	add_prefix(&line);
	va_start(arguments, format);
	while (*format) {
		size_t plain = strcspn(format, "%");

		add(&line, format, plain);
		format += plain;
		if (*format)
			add_argument(&line, &format, &arguments);
	}
	va_end(arguments);
	line.text[line.len++] = '\n';
	write_line(&line);
}

/* Opens "folder/name" and keeps its path. */
static bool open_in(const char *folder, const char *name)
{
	size_t len = strlen(folder), name_len = strlen(name);
	struct stat status;
	long fd;

	if (len == 0 || len + 1 + name_len >= sizeof(file.path))
		return false;
	memcpy(file.path, folder, len);
	file.path[len] = '/';
	memcpy(file.path + len + 1, name, name_len + 1);
	fd = open_file();
	if (fd < 0 || ALLO_SYSCALL2(SYS_fstat, fd, &status) < 0)
		return false;
	file.fd = (int)fd;
	file.device = status.st_dev;
	file.inode = status.st_ino;
	return true;
}

static bool open_default(const char *name)
{
	const char *temporary = allo_settings_variable("TMPDIR");
	char folder[PATH_MAX] = "";

	file.flags = O_NOFOLLOW;
	if (ALLO_SYSCALL2(SYS_getcwd, folder, sizeof(folder)) < 0 || folder[0] != '/')
		folder[0] = '\0';
	return open_in(folder, name) || open_in(temporary ? temporary : "", name) ||
	       open_in("/tmp", name);
}

static bool open_named(const char *name)
{
	char folder[PATH_MAX] = "";

	if (name[0] == '/')
		return open_in("/", name + 1);
	return ALLO_SYSCALL2(SYS_getcwd, folder, sizeof(folder)) > 0 && open_in(folder, name);
}

void allo_debug_init(void)
{
	const char *pattern = allo_settings.debug_file;
	char name[PATH_MAX];

	if (allo_settings.debug_level == 0 ||
	    !allo_file_name(pattern[0] ? pattern : DEFAULT_NAME, 1, name, sizeof(name)))
		return;
	if (pattern[0] ? open_named(name) : open_default(name))
		allo_debug_level = allo_settings.debug_level;
}
