#include "run/name_pattern.h"

#include "base/defer.h"
#include "base/io/output.h"
#include "profile/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_text(struct allo_output *out, struct allo_error *err)
{
	return allo_output_open_memory(out, &(struct allo_output_options){ 0 }, err);
}

static char *take_text(struct allo_output *out, struct allo_error *err)
{
	size_t len;

	return allo_output_finish(out, err) ? allo_output_take_memory(out, &len, err) : NULL;
}

static bool check_pattern(const char *given, struct allo_error *err)
{
	const char *slash = strrchr(given, '/');

	for (const char *at = strchr(given, '%'); at; at = strchr(at + 2, '%')) {
		if (at[1] == '\0' || !strchr("epthn%", at[1])) {
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				  "the output's name has '%.2s', which stands for nothing", at);
			return allo_hint(err, "%%e is the program, %%p the process, %%t the time, "
					      "%%h the host, %%n a number, %%%% a %%");
		}
		/* The directory is created beforehand, so it must be the same for all processes. */
		if (slash && at < slash && strchr("eptn", at[1])) {
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				  "%.2s cannot be in the name of the output's directory", at);
			return allo_hint(err, "put it behind the last slash");
		}
	}
	return true;
}

/* A text as a part of a pattern. */
static void put_escaped(struct allo_output *out, struct allo_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '%')
			allo_output_byte(out, '%');
		allo_output_byte(out, text.data[i]);
	}
}

/* The current directory as a part of a pattern. */
static bool put_here(struct allo_output *out, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *here = getcwd(NULL, 0);

	if (!here)
		return allo_fail_errno(err, NULL, "find out the current directory");
	put_escaped(out, allo_text_of(here));
	allo_output_byte(out, '/');
	return true;
}

static bool names_directory(const char *given)
{
	struct stat status;
	size_t len = strlen(given);

	return (len > 0 && given[len - 1] == '/') ||
	       (stat(given, &status) == 0 && S_ISDIR(status.st_mode));
}

static char *make_absolute(const char *given, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!open_text(&out, err) || (given[0] != '/' && !put_here(&out, err)))
		return NULL;
	allo_output_string(&out, given);
	if (names_directory(given))
		allo_output_string(&out, "/" ALLO_NAME_PATTERN);
	return take_text(&out, err);
}

static void put_host(struct allo_output *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	allo_output_string(out, host);
}

char *allo_name_pattern_expand(const char *pattern, const char *program, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!open_text(&out, err))
		return NULL;
	for (const char *at = pattern; *at; at++) {
		if (*at != '%') {
			allo_output_byte(&out, *at);
			continue;
		}
		switch (*++at) {
		case 'e':
			allo_output_text(&out, allo_basename(allo_text_of(program)));
			break;
		case 'h':
			put_host(&out);
			break;
		case '%':
			allo_output_byte(&out, '%');
			break;
		default:
			return NULL;
		}
	}
	return take_text(&out, err);
}

/* Creates a directory and its parents; restores `path`. */
static bool make_directories(char *path)
{
	for (char *slash = path; slash;) {
		bool is_there;

		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		is_there = mkdir(path, 0777) == 0 || errno == EEXIST;
		if (slash)
			*slash = '/';
		if (!is_there)
			return false;
	}
	return true;
}

/* Creates a file to find out: permissions are not the only obstacle. */
static bool can_write(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char *path = NULL;

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
	    asprintf(&path, "%s/.allo-XXXXXX", folder) >= 0) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
		free(path);
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool prepare_directory(const char *pattern, const char *given, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *folder = strdup(pattern), *path = NULL;

	if (!folder)
		return allo_fail_memory(err);
	*strrchr(folder, '/') = '\0';
	path = allo_name_pattern_expand(folder[0] ? folder : "/", "", err);
	if (!path)
		return false;
	if (!make_directories(path))
		return allo_fail_errno(err, given, "make the directory of the recordings");
	if (can_write(path))
		return true;
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot write to the directory %s: %s", path,
		  strerror(errno));
	return allo_hint(err, "choose another place with -o");
}

char *allo_name_pattern_prepare(const char *given, struct allo_error *err)
{
	char *pattern;

	if (given[0] == '\0' || strcmp(given, "-") == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a recording needs a file to go to");
		allo_hint(err, "name one with -o; '%s' is the usual name", ALLO_NAME_PATTERN);
		return NULL;
	}
	if (!check_pattern(given, err))
		return NULL;
	pattern = make_absolute(given, err);
	if (pattern && strchr(pattern, '\n')) {
		/* Recordings are listed one a line (capture/file/announce.h). */
		free(pattern);
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "the path of a recording cannot have a line break");
		allo_hint(err, "choose another place with -o");
		return NULL;
	}
	if (pattern && !prepare_directory(pattern, given, err)) {
		free(pattern);
		return NULL;
	}
	return pattern;
}

/* Names of a run. */

bool allo_name_pattern_is_shared(const char *pattern)
{
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%')) {
		if (strchr("eptn", at[1]))
			return true;
	}
	return false;
}

/* "DIRECTORY/PROGRAM.PID.allo", or with the number before the end. */
static char *number_program(const char *pattern, struct allo_text program, pid_t pid,
			    unsigned number, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!open_text(&out, err))
		return NULL;
	allo_output_printf(&out, "%.*s", (int)(strrchr(pattern, '/') + 1 - pattern), pattern);
	put_escaped(&out, program);
	allo_output_printf(&out, ".%d", (int)pid);
	if (number > 1)
		allo_output_printf(&out, ".%u", number);
	allo_output_string(&out, ".allo");
	return take_text(&out, err);
}

char *allo_name_pattern_of_family(const char *pattern, struct allo_error *err)
{
	char *family;

	if (asprintf(&family, "%s%s/%s", pattern, ALLO_FAMILY_END, ALLO_NAME_PATTERN) >= 0)
		return family;
	allo_fail_memory(err);
	return NULL;
}

/* Whether the program's file, or the directory for other processes, exists. */
static bool is_taken(const char *pattern, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	char *file = allo_name_pattern_expand(pattern, "", err), *folder = NULL;
	struct stat status;

	if (!file || asprintf(&folder, "%s" ALLO_FAMILY_END, file) < 0) {
		folder = NULL;
		allo_fail_memory(err);
		return false;
	}
	return lstat(file, &status) == 0 || lstat(folder, &status) == 0;
}

char *allo_name_pattern_of_program(const char *pattern, const char *program, pid_t pid,
				   struct allo_error *err)
{
	enum { LONGEST = 200 }; /* leaves room for the rest within NAME_MAX */
	struct allo_text name = allo_basename(allo_text_of(program));

	if (name.len > LONGEST)
		name.len = LONGEST;
	for (unsigned number = 1;; number++) {
		char *found = number_program(pattern, name, pid, number, err);

		if (!found || !is_taken(found, err))
			return found;
		free(found);
	}
}
