/* listener.c - parses addresses, binds them, and removes stale Unix sockets. */
#include "serve/listener.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/io/stale_socket.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections that wait to be accepted; the kernel may lower it. */
enum { BACKLOG = 512 };

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un path;
	};
	socklen_t len;
	bool is_local;
};

static bool fail_address(const char *where, struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "cannot listen on '%s': not an address", where);
	return allo_hint(err, "try 127.0.0.1:6070, [::1]:6070, 6070 or unix:PATH");
}

static bool take_path(const char *path, struct address *address, struct allo_error *err)
{
	address->path = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!path[0] || strlen(path) >= sizeof(address->path.sun_path))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 path[0] ? "the path of a socket may have at most %zu bytes"
					 : "unix: needs a path of at most %zu bytes",
				 sizeof(address->path.sun_path) - 1);
	strcpy(address->path.sun_path, path);
	address->len = sizeof(address->path);
	address->is_local = true;
	return true;
}

static bool take_host(struct allo_text host, uint16_t port, struct address *address)
{
	char name[64];

	if (host.len >= sizeof(name))
		return false;
	memcpy(name, host.data, host.len);
	name[host.len] = '\0';
	if (host.len == 0 || strcmp(name, "localhost") == 0)
		strcpy(name, "127.0.0.1");
	address->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
	if (inet_pton(AF_INET6, name, &address->v6.sin6_addr) == 1) {
		address->len = sizeof(address->v6);
		address->is_local = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
		return true;
	}
	address->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	address->len = sizeof(address->v4);
	if (inet_pton(AF_INET, name, &address->v4.sin_addr) != 1)
		return false;
	address->is_local = ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return true;
}

static bool parse(const char *where, struct address *address, struct allo_error *err)
{
	struct allo_text text = allo_text_of(where), host = { "", 0 }, port = text;
	uint64_t number;

	if (allo_text_skip(&text, ALLO_TEXT("unix:")))
		return take_path(text.data, address, err);
	allo_text_cut_last(text, ':', &host, &port);
	if (allo_text_starts(host, ALLO_TEXT("[")) && allo_text_ends(host, ALLO_TEXT("]")))
		host = (struct allo_text){ host.data + 1, host.len - 2 };
	else if (allo_text_find(host, ALLO_TEXT(":")) != (size_t)-1)
		return fail_address(where, err);
	if (!allo_text_u64(port, &number) || number > UINT16_MAX ||
	    !take_host(host, htons((uint16_t)number), address))
		return fail_address(where, err);
	return true;
}

bool allo_listener_is_local(const char *where, bool *is_local, struct allo_error *err)
{
	struct address address = { 0 };

	if (!parse(where, &address, err))
		return false;
	*is_local = address.is_local;
	return true;
}

/* Removes the socket of a server that was killed, and no other file. */
static void remove_stale(const struct address *address)
{
	ALLO_DEFER(allo_close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;

	if (fd >= 0 && lstat(address->path.sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	    connect(fd, &address->any, address->len) < 0 && errno == ECONNREFUSED)
		allo_stale_socket_remove(AT_FDCWD, address->path.sun_path, &status);
}

static bool bind_path(struct allo_listener *listener, const struct address *address)
{
	const char *path = address->path.sun_path;
	mode_t mask;
	int result;

	ALLO_ASSERT(strlen(path) < sizeof(listener->path));
	remove_stale(address);
	mask = umask(0177);
	result = bind(listener->fd, &address->any, address->len);
	umask(mask);
	if (result < 0 || lstat(path, &listener->made) < 0)
		return false;
	strcpy(listener->path, path);
	snprintf(listener->url, sizeof(listener->url), "unix:%s", path);
	listener->is_path = true;
	return true;
}

static bool bind_number(struct allo_listener *listener, struct address *address)
{
	const int on = 1;
	char name[INET6_ADDRSTRLEN];
	bool is_v6 = address->any.sa_family == AF_INET6;

	setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener->fd, &address->any, address->len) < 0 ||
	    getsockname(listener->fd, &address->any, &address->len) < 0)
		return false;
	inet_ntop(address->any.sa_family,
		  is_v6 ? (void *)&address->v6.sin6_addr : (void *)&address->v4.sin_addr, name,
		  sizeof(name));
	snprintf(listener->url, sizeof(listener->url), is_v6 ? "http://[%s]:%u" : "http://%s:%u",
		 name, ntohs(is_v6 ? address->v6.sin6_port : address->v4.sin_port));
	return true;
}

bool allo_listener_open(struct allo_listener *listener, const char *where, struct allo_error *err)
{
	struct address address = { 0 };

	*listener = (struct allo_listener){ .fd = -1 };
	if (!parse(where, &address, err))
		return false;
	listener->is_local = address.is_local;
	listener->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 ||
	    !(address.any.sa_family == AF_UNIX ? bind_path(listener, &address)
					       : bind_number(listener, &address)) ||
	    listen(listener->fd, BACKLOG) < 0)
		return allo_fail_errno(err, where, "listen");
	return true;
}

void allo_listener_close(struct allo_listener *listener)
{
	struct stat status;

	allo_close_fd(&listener->fd);
	if (listener->path[0] && lstat(listener->path, &status) == 0 &&
	    status.st_dev == listener->made.st_dev && status.st_ino == listener->made.st_ino)
		unlink(listener->path);
}
