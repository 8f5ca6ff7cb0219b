/*
 * control_client.h - sends requests to the runtime inside a process, through its socket.
 *
 * wire/control_message.h describes the messages.
 */
#ifndef ALLO_WATCH_CONTROL_CLIENT_H
#define ALLO_WATCH_CONTROL_CLIENT_H

#include "base/error.h"
#include "wire/control_message.h"

#include <stdint.h>
#include <sys/types.h>

enum { ALLO_CONTROL_REPLY_LINES = 64 }; /* further lines are ignored */

/* The reply of a process.  Its contents are untrusted.  It must not be copied. */
struct allo_control_reply {
	const char *what; /* "ok" or "error" */
	struct {
		const char *key, *value;
	} lines[ALLO_CONTROL_REPLY_LINES];
	size_t count;
	pid_t pid; /* of the process that replied; 0: it has no pid in our namespace */
	uid_t uid;

	/* Private. */
	struct allo_message text;
};

/* Time limit for a reply. */
enum { ALLO_CONTROL_TIMEOUT_MS = 3000 };

/* Splits reply->text into its lines; false if it is malformed.  For fuzzers. */
bool allo_control_reply_parse(struct allo_control_reply *reply);

/* Sends a request and waits for the reply.  Returns false and sets errno if no process listens
 * (ECONNREFUSED), none replies in time (ETIMEDOUT), or the reply is malformed (EPROTO). */
bool allo_control_ask(const char *socket, const struct allo_message *request, int timeout_ms,
		      struct allo_control_reply *reply);

/*
 * The same in two steps, so that many processes can be asked at once.  The first connects and sends
 * the request; it returns a descriptor, or -1.  The second waits for the reply and closes the
 * descriptor.  `until_ms` is a time of allo_control_now_ms().
 */
int allo_control_send(const char *socket, const struct allo_message *request, int64_t until_ms,
		      struct allo_control_reply *reply);
bool allo_control_finish(int fd, int64_t until_ms, struct allo_control_reply *reply);
int64_t allo_control_now_ms(void);

/* The same, but any reply other than "ok" fails too.  `name` is the name of the process in the
 * error message. */
bool allo_control_request(const char *socket, const char *name, const struct allo_message *request,
			  struct allo_control_reply *reply, struct allo_error *err);

/* The value of a key; NULL if it is absent. */
const char *allo_control_reply_text(const struct allo_control_reply *reply, const char *key);

/* The numeric value of a key; false, and 0, if it is absent or malformed. */
bool allo_control_reply_number(const struct allo_control_reply *reply, const char *key,
			       uint64_t *number);

#endif
