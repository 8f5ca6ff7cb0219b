/* control_client.c - one connection per request, with a time limit for all of it. */
#include "watch/control_client.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t allo_control_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A socket's address holds 107 bytes.  A longer path goes through the descriptor of its folder. */
static bool address_of(const char *path, int *folder, struct sockaddr_un *address)
{
	const char *slash = strrchr(path, '/');
	char above[4096];
	int len;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) < sizeof(address->sun_path)) {
		strcpy(address->sun_path, path);
		return true;
	}
	errno = ENAMETOOLONG;
	if (!slash || (size_t)(slash - path) >= sizeof(above))
		return false;
	memcpy(above, path, (size_t)(slash - path));
	above[slash - path] = '\0';
	*folder = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*folder < 0)
		return false;
	len = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", *folder,
		       slash);
	errno = ENAMETOOLONG;
	return len > 0 && (size_t)len < sizeof(address->sun_path);
}

/* Connects.  A full backlog gives EAGAIN: then it tries again until the time limit. */
static int connect_to(const char *path, int64_t until_ms)
{
	ALLO_DEFER(allo_close_fd) int folder = -1;
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct sockaddr_un address;
	int fd, result;

	if (!address_of(path, &folder, &address))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	while ((result = connect(fd, (struct sockaddr *)&address, sizeof(address))) < 0 &&
	       errno == EAGAIN && allo_control_now_ms() < until_ms)
		nanosleep(&pause, NULL);
	if (result == 0)
		return fd;
	if (errno == EAGAIN)
		errno = ETIMEDOUT;
	result = errno;
	close(fd);
	errno = result;
	return -1;
}

static bool wait_for(int fd, short events, int64_t until_ms)
{
	struct pollfd polled = { .fd = fd, .events = events };
	int64_t left;
	int ready;

	do {
		left = until_ms - allo_control_now_ms();
		ready = poll(&polled, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		errno = ETIMEDOUT;
	return ready > 0;
}

static bool send_all(int fd, const struct allo_message *request, int64_t until_ms)
{
	size_t sent = 0;

	ALLO_ASSERT(!request->is_cut && request->len <= ALLO_MESSAGE_MAX);
	while (sent < request->len) {
		ssize_t count = send(fd, request->at + sent, request->len - sent, MSG_NOSIGNAL);

		if (count >= 0)
			sent += (size_t)count;
		else if (errno != EINTR && (errno != EAGAIN || !wait_for(fd, POLLOUT, until_ms)))
			return false;
	}
	return true;
}

/* Receives until the process closes the connection. */
static bool receive_all(int fd, struct allo_message *text, int64_t until_ms)
{
	ssize_t count = 1;

	text->len = 0;
	while (count != 0 && text->len < ALLO_MESSAGE_MAX) {
		if (!wait_for(fd, POLLIN, until_ms))
			return false;
		count = recv(fd, text->at + text->len, ALLO_MESSAGE_MAX - text->len, 0);
		if (count > 0)
			text->len += (size_t)count;
		else if (count < 0 && errno != EINTR && errno != EAGAIN)
			return false;
	}
	ALLO_ASSERT(text->len <= ALLO_MESSAGE_MAX);
	text->at[text->len] = '\0';
	errno = EPROTO;
	return allo_message_is_whole(text->at, text->len);
}

bool allo_control_reply_parse(struct allo_control_reply *reply)
{
	char *rest = reply->text.at, *line;

	ALLO_ASSERT(reply->count == 0);
	reply->what = allo_message_what(allo_message_line(&rest));
	while (reply->what && reply->count < ALLO_CONTROL_REPLY_LINES &&
	       (line = allo_message_line(&rest)) != NULL) {
		reply->lines[reply->count].value = allo_message_value(line);
		reply->lines[reply->count++].key = line;
	}
	errno = EPROTO;
	return reply->what != NULL;
}

static void read_credentials(int fd, struct allo_control_reply *reply)
{
	struct ucred user = { 0 };
	socklen_t len = sizeof(user);

	reply->uid = (uid_t)-1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &len) == 0) {
		reply->pid = user.pid;
		reply->uid = user.uid;
	}
}

int allo_control_send(const char *socket, const struct allo_message *request, int64_t until_ms,
		      struct allo_control_reply *reply)
{
	int fd = connect_to(socket, until_ms);

	*reply = (struct allo_control_reply){ 0 };
	if (fd < 0)
		return -1;
	read_credentials(fd, reply);
	/* A process that refuses the connection may have sent the reason before it closed. */
	if (send_all(fd, request, until_ms) || errno == EPIPE)
		return fd;
	close(fd);
	return -1;
}

bool allo_control_finish(int fd, int64_t until_ms, struct allo_control_reply *reply)
{
	bool ok = receive_all(fd, &reply->text, until_ms) && allo_control_reply_parse(reply);
	int error = errno;

	close(fd);
	errno = error;
	return ok;
}

bool allo_control_ask(const char *socket, const struct allo_message *request, int timeout_ms,
		      struct allo_control_reply *reply)
{
	int64_t until_ms = allo_control_now_ms() + timeout_ms;
	int fd = allo_control_send(socket, request, until_ms, reply);

	return fd >= 0 && allo_control_finish(fd, until_ms, reply);
}

static bool fail_unanswered(const char *socket, const char *name, struct allo_error *err)
{
	if (errno == ECONNREFUSED || errno == ENOENT)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s has ended", name);
	if (errno == ETIMEDOUT) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s does not answer", name);
		return allo_hint(err, "it may be stopped or very busy");
	}
	if (errno == EPROTO || errno == ECONNRESET)
		return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE,
				 "%s sent a malformed reply: is it another version of the runtime?",
				 name);
	return allo_fail_errno(err, socket, "connect to the process");
}

bool allo_control_request(const char *socket, const char *name, const struct allo_message *request,
			  struct allo_control_reply *reply, struct allo_error *err)
{
	const char *why;

	if (request->is_cut)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request is too long");
	if (!allo_control_ask(socket, request, ALLO_CONTROL_TIMEOUT_MS, reply))
		return fail_unanswered(socket, name, err);
	if (strcmp(reply->what, "ok") == 0)
		return true;
	why = allo_control_reply_text(reply, "why");
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s: %s", name,
			 why ? why : "the request was refused");
}

const char *allo_control_reply_text(const struct allo_control_reply *reply, const char *key)
{
	for (size_t i = 0; i < reply->count; i++) {
		if (strcmp(reply->lines[i].key, key) == 0)
			return reply->lines[i].value;
	}
	return NULL;
}

bool allo_control_reply_number(const struct allo_control_reply *reply, const char *key,
			       uint64_t *number)
{
	const char *text = allo_control_reply_text(reply, key);

	*number = 0;
	return text && allo_text_u64(allo_text_of(text), number);
}
