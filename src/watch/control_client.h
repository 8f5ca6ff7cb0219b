/*
 * speak.h - speaks to a process that has the runtime: see wire/control_message.h.
 */
#ifndef ALLO_WATCH_CONTROL_CLIENT_H
#define ALLO_WATCH_CONTROL_CLIENT_H

#include "base/error.h"
#include "wire/control_message.h"

#include <sys/types.h>

enum { ALLO_CONTROL_REPLY_LINES = 64 }; /* more are not looked at */

/* What a process has said.  Nothing in it is trusted.  It must not be copied. */
struct allo_control_reply {
	const char *what; /* "ok", or "error" */
	struct {
		const char *key, *value;
	} lines[ALLO_CONTROL_REPLY_LINES];
	size_t count;
	pid_t pid; /* who has answered; 0: a process that has no number here */
	uid_t uid;

	/* Private. */
	struct allo_message text;
};

/* How long a process that is asked may take. */
enum { ALLO_CONTROL_TIMEOUT_MS = 3000 };

/* Sends a request and waits for the reply.  False, with errno, when there is nobody at the socket
 * (ECONNREFUSED), nobody answers (ETIMEDOUT), or what is said makes no sense (EPROTO). */
bool allo_control_ask(const char *socket, const struct allo_message *request, int patience_ms,
		      struct allo_control_reply *reply);

/* The same for who only wants to know what came of it: what the process says against it is the
 * failure, and `whom` is what the message calls the process. */
bool allo_control_request(const char *socket, const char *whom, const struct allo_message *request,
			  struct allo_control_reply *reply, struct allo_error *err);

/* A value; NULL when there is none. */
const char *allo_control_reply_text(const struct allo_control_reply *reply, const char *key);

/* A number; false, and 0, when there is none. */
bool allo_control_reply_number(const struct allo_control_reply *reply, const char *key,
			       uint64_t *number);

#endif
