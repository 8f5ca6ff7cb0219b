/* follower.c - the child's loop, and the server's side of its socket. */
#include "serve/follower.h"

#include "base/assert.h"
#include "base/defer.h"
#include "serve/page_view.h"
#include "serve/worker.h"
#include "telemetry/monotonic_clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IDLE_MS = 5 * 60 * 1000 };

/* Bytes that all followers together may keep between requests. */
#define MEMORY_MAX ((uint64_t)1 << 30)

/* Packets of the socket. */

/* The text of a request of the page follows, if it is one. */
struct question {
	enum allo_heap_format format;
	bool is_of_all, is_delta;
	uint64_t seconds; /* of the window; 0: there is none */
};

/* With the file of the body as an attached descriptor, if the status is ALLO_DONE. */
struct answer {
	unsigned status;
	uint64_t bytes;
	struct allo_error err; /* without a position: that points into the child's memory */
};

/* The child. */

/* Memory of this process that no file backs. */
static uint64_t used_bytes(void)
{
	unsigned long long size, resident = 0, shared = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%llu %llu %llu", &size, &resident, &shared) != 3)
		resident = shared = 0;
	if (file)
		fclose(file);
	return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static bool send_answer(int socket, struct answer *answer, int out)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (answer->status == ALLO_DONE) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), &out, sizeof(out));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*answer);
}

/* What the child keeps between requests: the first two, or the last.  All zeros: nothing yet. */
struct followed {
	struct allo_followed_profile heap;
	struct allo_followed_profile delta; /* its own: a window must not move its start */
	struct allo_live_dataset page;
};

static bool answer_one(struct followed *followed, const struct allo_heap_request *request,
		       int socket)
{
	ALLO_DEFER(allo_close_fd) int out = memfd_create("allo", MFD_CLOEXEC);
	struct answer answer = { .status = ALLO_BROKEN };

	if (out < 0)
		allo_fail_errno(&answer.err, NULL, "create a file for the reply");
	else if (request->ask.len > 0)
		answer.status = allo_page_view_answer(&followed->page, request, out, &answer.err);
	else
		answer.status = allo_heap_profile_follow(request->is_delta ? &followed->delta
									   : &followed->heap,
							 request, out, &answer.err);
	answer.err.pos = ALLO_NOWHERE;
	answer.bytes = used_bytes();
	return send_answer(socket, &answer, out);
}

/* Waits for a question; false if the child has to end.  `pidfd` -1: not with the process, and not
 * because it is idle. */
static bool wait_for_question(int socket, int pidfd, struct allo_heap_request *request)
{
	struct pollfd polled[] = { { .fd = socket, .events = POLLIN },
				   { .fd = pidfd, .events = POLLIN } };
	static char ask[ALLO_REQUEST_MAX];
	struct question question;
	struct iovec data[] = { { &question, sizeof(question) }, { ask, sizeof(ask) } };
	struct msghdr message = { .msg_iov = data, .msg_iovlen = 2 };
	ssize_t len;
	int ready;

	do {
		ready = poll(polled, 2, pidfd < 0 ? -1 : IDLE_MS);
	} while (ready < 0 && errno == EINTR);
	/* A question that came with the end of the process gets its answer: the process is gone. */
	if (ready <= 0 || !polled[0].revents)
		return false;
	len = recvmsg(socket, &message, 0);
	if (len < (ssize_t)sizeof(question))
		return false;
	request->format = question.format;
	request->is_of_all = question.is_of_all;
	request->is_delta = question.is_delta;
	request->seconds = question.seconds;
	request->ask = (struct allo_text){ ask, (size_t)len - sizeof(question) };
	return true;
}

_Noreturn static void run_child(const struct allo_heap_request *first, int socket)
{
	struct allo_served_process process = *first->process;
	struct allo_heap_request request = { .process = &process,
					     .symbols = first->symbols,
					     .find_more = first->find_more };
	int ends_with = first->ask.len > 0 ? -1 : process.pidfd;
	static struct followed followed;

	while (wait_for_question(socket, ends_with, &request)) {
		if (!answer_one(&followed, &request, socket))
			break;
	}
	_exit(0);
}

/* The server's side. */

void allo_follower_drop(struct allo_follower *follower)
{
	if (follower->pid == 0)
		return;
	kill(follower->pid, SIGKILL);
	while (waitpid(follower->pid, NULL, 0) < 0 && errno == EINTR)
		;
	allo_close_fd(&follower->socket);
	*follower = (struct allo_follower){ 0 };
}

void allo_followers_done(struct allo_followers *followers)
{
	for (size_t i = 0; i < ALLO_FOLLOWERS_MAX; i++)
		allo_follower_drop(&followers->all[i]);
}

static bool start(struct allo_follower *follower, const struct allo_heap_request *request,
		  struct allo_error *err)
{
	pid_t parent = getpid(), pid;
	int sockets[2];

	ALLO_ASSERT(follower->pid == 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return allo_fail_errno(err, NULL, "create a socket");
	pid = fork();
	if (pid == 0) {
		allo_worker_become_child(parent, sockets[1], request->process->pidfd);
		run_child(request, sockets[1]);
	}
	close(sockets[1]);
	if (pid < 0) {
		allo_fail_errno(err, NULL, "start a worker process");
		close(sockets[0]);
		return false;
	}
	*follower = (struct allo_follower){ .pid = pid,
					    .socket = sockets[0],
					    .process = request->process->number };
	return true;
}

/* The idle follower that was unused for longest; NULL if all are busy or unused. */
static struct allo_follower *find_oldest(struct allo_followers *followers)
{
	struct allo_follower *oldest = NULL;

	for (size_t i = 0; i < ALLO_FOLLOWERS_MAX; i++) {
		struct allo_follower *one = &followers->all[i];

		if (one->pid != 0 && one->deadline_ns == 0 &&
		    (!oldest || one->used_ns < oldest->used_ns))
			oldest = one;
	}
	return oldest;
}

static bool has_ended(const struct allo_follower *follower)
{
	struct pollfd polled = { .fd = follower->socket, .events = POLLIN };

	return poll(&polled, 1, 0) != 0;
}

/* The follower of a process, or an unused entry. */
static struct allo_follower *find(struct allo_followers *followers, uint64_t process)
{
	struct allo_follower *unused = NULL;

	for (size_t i = 0; i < ALLO_FOLLOWERS_MAX; i++) {
		struct allo_follower *one = &followers->all[i];

		if (one->pid != 0 && one->process == process) {
			ALLO_ASSERT(one->deadline_ns == 0);
			if (has_ended(one))
				allo_follower_drop(one);
			return one;
		}
		if (one->pid == 0)
			unused = one;
	}
	if (!unused) {
		unused = find_oldest(followers);
		if (unused)
			allo_follower_drop(unused);
	}
	return unused;
}

static bool send_question(int socket, const struct allo_heap_request *request)
{
	struct question question = { .format = request->format,
				     .is_of_all = request->is_of_all,
				     .is_delta = request->is_delta,
				     .seconds = request->seconds };
	struct iovec data[] = { { &question, sizeof(question) },
				{ (char *)request->ask.data, request->ask.len } };
	const struct msghdr message = { .msg_iov = data, .msg_iovlen = 2 };

	return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

struct allo_follower *allo_followers_ask(struct allo_followers *followers,
					 const struct allo_heap_request *request, uint64_t limit_ns,
					 struct allo_error *err)
{
	struct allo_follower *follower = find(followers, request->process->number);

	/* Requests of a lane are answered one at a time. */
	ALLO_ASSERT(follower && request->ask.len <= ALLO_REQUEST_MAX);
	ALLO_ASSERT(followers->are_for_pages == (request->ask.len > 0));
	if (follower->pid == 0 && !start(follower, request, err))
		return NULL;
	if (!send_question(follower->socket, request)) {
		allo_fail_errno(err, NULL, "ask a worker process");
		allo_follower_drop(follower);
		return NULL;
	}
	follower->used_ns = allo_clock_ns();
	follower->deadline_ns = follower->used_ns + request->seconds * ALLO_SECOND_NS + limit_ns;
	return follower;
}

/* Receives an answer and its descriptor, if it has one; false if the follower has ended. */
static bool receive(int socket, struct answer *answer, int *out)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len;

	do {
		len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	if (len != (ssize_t)sizeof(*answer))
		return false;
	if (CMSG_FIRSTHDR(&message))
		memcpy(out, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*out));
	return (answer->status == ALLO_DONE) == (*out >= 0);
}

/* Ends followers until the others are within the bound: also the last one, if it alone exceeds it,
 * unless it is that of a page, which asks again in a moment. */
static void trim(struct allo_followers *followers, const struct allo_follower *last)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ALLO_FOLLOWERS_MAX; i++)
		sum += followers->all[i].bytes;
	while (sum > MEMORY_MAX) {
		struct allo_follower *oldest = find_oldest(followers);

		if (!oldest || (followers->are_for_pages && oldest == last))
			return;
		ALLO_ASSERT(sum >= oldest->bytes);
		sum -= oldest->bytes;
		allo_follower_drop(oldest);
	}
}

unsigned allo_followers_take(struct allo_followers *followers, struct allo_follower *follower,
			     int *out, struct allo_error *err)
{
	bool is_late = allo_clock_ns() >= follower->deadline_ns, was_idle = follower->has_replied;
	struct answer answer;

	ALLO_ASSERT(follower->pid != 0 && follower->deadline_ns != 0);
	*out = -1;
	if (is_late && !has_ended(follower)) {
		allo_follower_drop(follower);
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the request took too long");
		return ALLO_TOO_LATE;
	}
	if (!receive(follower->socket, &answer, out)) {
		allo_close_fd(out);
		allo_follower_drop(follower);
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the worker process ended unexpectedly");
		return was_idle ? 0 : ALLO_BROKEN;
	}
	follower->deadline_ns = 0;
	follower->bytes = answer.bytes;
	follower->has_replied = true;
	*err = answer.err;
	trim(followers, follower);
	return answer.status;
}
