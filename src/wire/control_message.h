/*
 * control_message.h - the protocol between `allo` and a process with the runtime.
 *
 * The process listens at a Unix socket, $XDG_RUNTIME_DIR/allo/PID.sock or /tmp/allo-UID/PID.sock.
 * A client connects, sends one request and gets one answer.  Both consist of lines; an empty line
 * ends them:
 *
 *     allo 1 start                     allo 1 ok
 *     path /tmp/heap.%p.allo           file /tmp/heap.4711.allo
 *     mode sampled
 *
 * The first line has the version and the request, or "ok" or "error".  Each other line has a key
 * and a value; in values, a newline is written \n and a backslash \\.  Readers skip unknown keys.
 * An error has the key "why".
 */
#ifndef ALLO_WIRE_CONTROL_MESSAGE_H
#define ALLO_WIRE_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	ALLO_CONTROL_VERSION = 1,
	ALLO_MESSAGE_MAX = 16 << 10, /* bytes of a message */
};

#define ALLO_CONTROL_GREETING "allo 1 "
#define ALLO_CONTROL_FOLDER   "allo"       /* in XDG_RUNTIME_DIR */
#define ALLO_CONTROL_USERS    "/run/user/" /* plus the user id; used without XDG_RUNTIME_DIR */
#define ALLO_CONTROL_COMMON   "/tmp/allo-" /* plus the user id; used if that is not there */
#define ALLO_CONTROL_END      ".sock"

/* A message under construction. */
struct allo_message {
	char at[ALLO_MESSAGE_MAX + 1]; /* ends in a NUL */
	size_t len;
	bool is_cut; /* a part did not fit and is missing */
};

static inline void allo_message_put(struct allo_message *text, const char *bytes, size_t len)
{
	if (len > ALLO_MESSAGE_MAX - text->len) {
		text->is_cut = true;
		return;
	}
	memcpy(text->at + text->len, bytes, len);
	text->len += len;
	text->at[text->len] = '\0';
}

/* Starts a message with its first line: a request, "ok" or "error". */
static inline void allo_message_begin(struct allo_message *text, const char *what)
{
	text->len = 0;
	text->is_cut = false;
	allo_message_put(text, ALLO_CONTROL_GREETING, strlen(ALLO_CONTROL_GREETING));
	allo_message_put(text, what, strlen(what));
	allo_message_put(text, "\n", 1);
}

/* Adds a line with a key and a value. */
static inline void allo_message_add(struct allo_message *text, const char *key, const char *value)
{
	allo_message_put(text, key, strlen(key));
	allo_message_put(text, " ", 1);
	for (;;) {
		size_t plain = strcspn(value, "\\\n");

		allo_message_put(text, value, plain);
		value += plain;
		if (!*value)
			break;
		allo_message_put(text, *value == '\n' ? "\\n" : "\\\\", 2);
		value++;
	}
	allo_message_put(text, "\n", 1);
}

/* Adds the empty line that ends a message. */
static inline void allo_message_end(struct allo_message *text)
{
	allo_message_put(text, "\n", 1);
}

/* Whether the bytes received so far end a message. */
static inline bool allo_message_is_whole(const char *bytes, size_t len)
{
	return len >= 2 && bytes[len - 1] == '\n' && bytes[len - 2] == '\n';
}

/* Cuts the next line off a NUL-terminated message; NULL at its end. */
static inline char *allo_message_line(char **rest)
{
	char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

	if (!end || end == line)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return line;
}

/* The request or the result in the first line; NULL if the version differs. */
static inline char *allo_message_what(char *line)
{
	size_t len = strlen(ALLO_CONTROL_GREETING);

	return line && strncmp(line, ALLO_CONTROL_GREETING, len) == 0 ? line + len : NULL;
}

/* Splits a line in place: the line becomes the key, and the unescaped value is returned. */
static inline char *allo_message_value(char *line)
{
	char *value = line + strcspn(line, " "), *to, *from;

	if (*value)
		*value++ = '\0';
	for (to = from = value; *from; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from;
			if (*from == 'n')
				to[-1] = '\n';
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return value;
}

#endif
