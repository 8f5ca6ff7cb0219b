/* output.c - buffering, compressing, and naming a finished file. */
#include "base/io/output.h"

#include "base/assert.h"
#include "base/io/pack.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 128 << 10 }; /* at least twice the limit of allo_output_room() */

static bool is_broken(const struct allo_output *out)
{
	return allo_failed(&out->failure);
}

static void write_fd(struct allo_output *out, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t wrote = write(out->fd, data, len);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			bool is_full = errno == ENOSPC;

			allo_fail_errno(&out->failure, out->name, "write");
			if (is_full)
				allo_hint(&out->failure,
					  "free some space, or write to another disk");
			return;
		}
		data += wrote;
		len -= (size_t)wrote;
	}
}

static void write_bytes(struct allo_output *out, const char *data, size_t len)
{
	if (out->fd >= 0)
		write_fd(out, data, len);
	else
		allo_vec_add_all(&out->memory, data, len, &out->failure);
}

/* Adds a character to cleaned text, or '?' in its place. */
static size_t put_clean(char *to, struct allo_text character)
{
	bool is_kept = allo_utf8_character(character) == character.len &&
		       (!allo_utf8_is_control(character) || character.data[0] == '\n' ||
			character.data[0] == '\t');

	if (!is_kept) {
		*to = '?';
		return 1;
	}
	memcpy(to, character.data, character.len);
	return character.len;
}

static size_t length_by_first_byte(unsigned char first)
{
	return first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Writes text without control characters.  A character may continue in the next portion. */
static void write_clean(struct allo_output *out, const char *data, size_t len)
{
	char clean[4096];
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		struct allo_text cut = { out->character, out->character_len };

		if (cut.len > 0 && ((unsigned char)data[i] & 0xc0) != 0x80) {
			used += put_clean(clean + used, cut);
			out->character_len = 0;
		}
		out->character[out->character_len++] = data[i];
		cut.len = out->character_len;
		if (cut.len == length_by_first_byte((unsigned char)cut.data[0])) {
			used += put_clean(clean + used, cut);
			out->character_len = 0;
		}
		if (used > sizeof(clean) - 2 * sizeof(out->character)) {
			write_bytes(out, clean, used);
			used = 0;
		}
	}
	write_bytes(out, clean, used);
}

/* Writes the final bytes of the file. */
static void send(void *context, const void *data, size_t len)
{
	struct allo_output *out = context;

	if (is_broken(out))
		return;
	if (out->is_cleaned)
		write_clean(out, data, len);
	else
		write_bytes(out, data, len);
	out->sent += len;
}

static void pack_or_send(struct allo_output *out, const void *data, size_t len)
{
	out->written += len;
	if (out->packer)
		allo_packer_put(out->packer, data, len);
	else
		send(out, data, len);
}

void allo_output_flush(struct allo_output *out)
{
	ALLO_ASSERT(out->used <= out->capacity);
	pack_or_send(out, out->buffer, out->used);
	out->used = 0;
}

void allo_output_slow_bytes(struct allo_output *out, const void *data, size_t len)
{
	allo_output_flush(out);
	if (len >= out->capacity) {
		pack_or_send(out, data, len);
		return;
	}
	memcpy(out->buffer, data, len);
	out->used = len;
}

static bool start(struct allo_output *out, const struct allo_output_options *options,
		  struct allo_error *err)
{
	out->buffer = malloc(BUFFER_SIZE);
	if (!out->buffer)
		return allo_fail_memory(err);
	out->capacity = BUFFER_SIZE;
	if (options->packing != ALLO_PLAIN) {
		out->packer = allo_packer_new(options->packing, options->fast, send, out, err);
		if (!out->packer)
			return false;
	}
	return true;
}

static bool find_source(const char *source, struct stat *st)
{
	int result = strcmp(source, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(source, st);

	/* The permissions of a pipe mean nothing. */
	return result == 0 && (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode));
}

unsigned allo_output_mode(char *const *sources)
{
	unsigned mode = 0666;
	struct stat st;

	for (; sources && *sources; sources++) {
		if (!find_source(*sources, &st))
			continue;
		if (!(st.st_mode & S_IRGRP))
			mode &= ~0060u;
		if (!(st.st_mode & S_IROTH))
			mode &= ~0006u;
	}
	return mode;
}

/* Opens an unnamed file in the folder of `target`, so that a crash leaves nothing behind. */
static bool open_unnamed(struct allo_output *out)
{
	char folder[PATH_MAX];
	char *slash;

	if (strlen(out->target) >= sizeof(folder) || access("/proc/self/fd", X_OK) != 0)
		return false;
	strcpy(folder, out->target);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder ? 1 : 0] = '\0';
	out->fd = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, out->mode);
	return out->fd >= 0;
}

static bool make_temporary_name(struct allo_output *out, struct allo_error *err)
{
	if (asprintf(&out->temporary, "%s.%ld.tmp", out->target, (long)getpid()) < 0) {
		out->temporary = NULL;
		return allo_fail_memory(err);
	}
	return true;
}

static bool open_temporary(struct allo_output *out, struct allo_error *err)
{
	bool has_no_folder;

	if (open_unnamed(out))
		return true;
	if (!make_temporary_name(out, err))
		return false;
	/* Removes the leftover of a killed process with the same pid.  O_EXCL does not follow a
	 * link that another user may have put there. */
	unlink(out->temporary);
	out->fd = open(out->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, out->mode);
	if (out->fd >= 0)
		return true;
	has_no_folder = errno == ENOENT;
	allo_fail_errno(err, out->name, "create");
	if (has_no_folder)
		allo_hint(err, "create its folder first");
	free(out->temporary);
	out->temporary = NULL;
	return false;
}

static bool open_new(struct allo_output *out, struct allo_error *err)
{
	struct stat st;

	if (lstat(out->name, &st) == 0) {
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = out->name },
			  "is a link to a file that does not exist");
		return allo_hint(err, "remove the link, or choose another name with -o");
	}
	out->target = strdup(out->name);
	return out->target ? open_temporary(out, err) : allo_fail_memory(err);
}

/* An existing file is replaced when the new one is complete; its permissions stay. */
static bool open_replacement(struct allo_output *out, mode_t mode, struct allo_error *err)
{
	out->target = realpath(out->name, NULL); /* replaces the target of a link, not the link */
	if (!out->target)
		return allo_fail_errno(err, out->name, "open");
	if (!open_temporary(out, err))
		return false;
	return fchmod(out->fd, mode & 0777) == 0 || allo_fail_errno(err, out->name, "create");
}

static bool open_file(struct allo_output *out, struct allo_error *err)
{
	struct stat st;

	if (strcmp(out->name, "-") == 0) {
		out->name = "standard output";
		out->fd = STDOUT_FILENO;
		return true;
	}
	out->owns_fd = true;
	if (out->name[0] == '\0') {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = out->name },
			  "is not the name of an output file");
		return allo_hint(err, "name a file, or - for standard output");
	}
	if (stat(out->name, &st) != 0)
		return open_new(out, err);
	if (!S_ISREG(st.st_mode)) {
		/* A device or a pipe is written directly. */
		out->fd = open(out->name, O_WRONLY | O_CLOEXEC);
		return out->fd >= 0 || allo_fail_errno(err, out->name, "write");
	}
	if (!out->may_replace) {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = out->name },
			  "exists and was not overwritten");
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	return open_replacement(out, st.st_mode, err);
}

bool allo_output_open(struct allo_output *out, const char *path,
		      const struct allo_output_options *options, struct allo_error *err)
{
	*out = (struct allo_output){ .name = path,
				     .fd = -1,
				     .may_replace = options->replace,
				     .mode = allo_output_mode(options->sources) };
	return open_file(out, err) && start(out, options, err);
}

bool allo_output_open_fd(struct allo_output *out, int fd, const char *name,
			 const struct allo_output_options *options, struct allo_error *err)
{
	*out = (struct allo_output){ .name = name, .fd = fd };
	return start(out, options, err);
}

bool allo_output_open_memory(struct allo_output *out, const struct allo_output_options *options,
			     struct allo_error *err)
{
	*out = (struct allo_output){ .name = "memory", .fd = -1 };
	return start(out, options, err);
}

void allo_output_clean_terminal(struct allo_output *out)
{
	out->is_cleaned = out->fd < 0 || isatty(out->fd);
}

/* Gives an unnamed file a name that does not exist yet. */
static bool link_to(const struct allo_output *out, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Replaces a file that appeared in the meantime only with `may_replace`. */
static bool rename_temporary(const struct allo_output *out)
{
	if (!out->may_replace &&
	    renameat2(AT_FDCWD, out->temporary, AT_FDCWD, out->target, RENAME_NOREPLACE) == 0)
		return true;
	/* Some file systems lack RENAME_NOREPLACE. */
	return (out->may_replace || errno == EINVAL) && rename(out->temporary, out->target) == 0;
}

static bool take_name(struct allo_output *out, struct allo_error *err)
{
	if (!out->temporary) {
		if (link_to(out, out->target))
			return true;
		if (errno != EEXIST || !out->may_replace)
			return allo_fail_errno(err, out->name, "create");
		if (!make_temporary_name(out, err))
			return false;
		unlink(out->temporary);
		if (!link_to(out, out->temporary))
			return allo_fail_errno(err, out->name, "create");
	}
	if (!rename_temporary(out))
		return allo_fail_errno(err, out->name, "create");
	free(out->temporary);
	out->temporary = NULL;
	return true;
}

bool allo_output_finish(struct allo_output *out, struct allo_error *err)
{
	struct stat st;

	allo_output_flush(out);
	if (out->packer && !is_broken(out))
		allo_packer_finish(out->packer, &out->failure);
	if (is_broken(out)) {
		if (!allo_failed(err))
			*err = out->failure;
		return false;
	}
	if (out->is_lent && fstat(out->fd, &st) == 0)
		out->sent = (uint64_t)st.st_size;
	if (out->target && !take_name(out, err))
		return false;
	if (out->owns_fd && close(out->fd) != 0) {
		out->fd = -1;
		return allo_fail_errno(err, out->name, "write");
	}
	if (out->owns_fd)
		out->fd = -1;
	return true;
}

struct allo_text allo_output_memory(const struct allo_output *out)
{
	return (struct allo_text){ out->memory.at, out->memory.len };
}

char *allo_output_take_memory(struct allo_output *out, size_t *len, struct allo_error *err)
{
	char *memory;

	if (!allo_vec_add(&out->memory, '\0', err))
		return NULL;
	memory = out->memory.at;
	*len = out->memory.len - 1;
	out->memory.at = NULL;
	out->memory.len = out->memory.cap = 0;
	return memory;
}

int allo_output_lend(struct allo_output *out)
{
	out->is_lent = out->target && !out->packer && out->used == 0 && out->written == 0;
	return out->is_lent ? out->fd : -1;
}

void allo_output_drop(struct allo_output *out)
{
	allo_packer_free(out->packer);
	if (out->owns_fd && out->fd >= 0)
		close(out->fd);
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->target);
	free(out->buffer);
	allo_vec_done(&out->memory);
	*out = (struct allo_output){ .fd = -1 };
}

void allo_output_fail_memory(struct allo_output *out)
{
	allo_fail_memory(&out->failure);
}

void allo_output_u64(struct allo_output *out, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	allo_output_bytes(out, digits + at, sizeof(digits) - at);
}

void allo_output_i64(struct allo_output *out, int64_t number)
{
	if (number < 0)
		allo_output_byte(out, '-');
	allo_output_u64(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void allo_output_vprintf(struct allo_output *out, const char *fmt, va_list args)
{
	char small[512];
	va_list again;
	char *large;
	int len;

	va_copy(again, args);
	len = vsnprintf(small, sizeof(small), fmt, args);
	if (len >= 0 && (size_t)len < sizeof(small)) {
		allo_output_bytes(out, small, (size_t)len);
	} else if (vasprintf(&large, fmt, again) >= 0) {
		allo_output_string(out, large);
		free(large);
	} else {
		allo_output_fail_memory(out);
	}
	va_end(again);
}

void allo_output_printf(struct allo_output *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	allo_output_vprintf(out, fmt, args);
	va_end(args);
}

void allo_output_utf8(struct allo_output *out, struct allo_text text)
{
	for (;;) {
		size_t valid = allo_utf8_valid_prefix(text);

		allo_output_bytes(out, text.data, valid);
		if (valid == text.len)
			return;
		allo_output_string(out, ALLO_UTF8_REPLACEMENT);
		text = allo_text_from(text, valid + 1);
	}
}

void allo_output_printable(struct allo_output *out, struct allo_text text)
{
	size_t plain = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (!allo_utf8_is_control(allo_text_from(text, i)))
			continue;
		allo_output_utf8(out, (struct allo_text){ text.data + plain, i - plain });
		allo_output_byte(out, '?');
		i += allo_utf8_character(allo_text_from(text, i)) > 2 ? 2
		     : (unsigned char)text.data[i] >= 0x80            ? 1
								      : 0;
		plain = i + 1;
	}
	if (plain < text.len)
		allo_output_utf8(out, allo_text_from(text, plain));
}
