/* fetch.c - loads libcurl, and writes the download to an unnamed file. */
#include "engine/fetch.h"

#include "base/io/temporary.h"
#include "base/trust.h"
#include "base/units.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The part of <curl/curl.h> that we use.  Its numbers are stable since version 7.16 (2006), so the
 * header is not needed to build. */
enum {
	OPTION_TIMEOUT = 13,
	OPTION_LOW_SPEED_LIMIT = 19,
	OPTION_LOW_SPEED_TIME = 20,
	OPTION_FAIL_ON_ERROR = 45,
	OPTION_NETRC = 51,
	OPTION_FOLLOW_LOCATION = 52,
	OPTION_MAX_REDIRECTIONS = 68,
	OPTION_CONNECT_TIMEOUT = 78,
	OPTION_NO_SIGNAL = 99,
	OPTION_PROTOCOLS = 181,
	OPTION_REDIRECTION_PROTOCOLS = 182,
	OPTION_WRITE_DATA = 10001,
	OPTION_URL = 10002,
	OPTION_USER_AGENT = 10018,
	OPTION_WRITE_FUNCTION = 20011,
	OPTION_MAX_FILE_SIZE = 30117,
	INFO_RESPONSE_CODE = 0x200002,
	PROTOCOL_HTTP = 1,
	PROTOCOL_HTTPS = 2,
	GLOBAL_DEFAULT = 3,
	NETRC_OPTIONAL = 1,
	RESULT_HTTP_ERROR = 22,
	RESULT_TOO_LARGE = 63,
};

static const char library_name[] = "libcurl.so.4";

struct curl {
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *handle, int option, ...);
	int (*easy_perform)(void *handle);
	int (*easy_getinfo)(void *handle, int info, ...);
	const char *(*easy_strerror)(int result);
	void (*easy_cleanup)(void *handle);
};

static bool load(struct curl *curl, struct allo_error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} calls[] = {
		{ "curl_global_init", offsetof(struct curl, global_init) },
		{ "curl_easy_init", offsetof(struct curl, easy_init) },
		{ "curl_easy_setopt", offsetof(struct curl, easy_setopt) },
		{ "curl_easy_perform", offsetof(struct curl, easy_perform) },
		{ "curl_easy_getinfo", offsetof(struct curl, easy_getinfo) },
		{ "curl_easy_strerror", offsetof(struct curl, easy_strerror) },
		{ "curl_easy_cleanup", offsetof(struct curl, easy_cleanup) },
	};
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot load %s, which reads URLs",
			  library_name);
		return allo_hint(err, "on Debian, install the package libcurl4; or download the "
				      "file and name it");
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *call = dlsym(library, calls[i].name);

		if (!call)
			return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s lacks %s", library_name,
					 calls[i].name);
		*(void **)((char *)curl + calls[i].offset) = call;
	}
	return curl->global_init(GLOBAL_DEFAULT) == 0 ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s does not start", library_name);
}

/* A download in progress. */
struct download {
	int fd;
	uint64_t size, most;
	int error; /* errno of a failed write */
};

/* For libcurl: takes bytes, and returns their number. */
static size_t take(const char *bytes, size_t size, size_t count, void *context)
{
	struct download *download = context;
	size_t left = size * count;

	download->size += left;
	if (download->size > download->most)
		return 0;
	while (left > 0) {
		ssize_t written = write(download->fd, bytes, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			download->error = errno;
			return 0;
		}
		bytes += written;
		left -= (size_t)written;
	}
	return size * count;
}

static void set_options(const struct curl *curl, void *handle, const char *url,
			struct download *download)
{
	static const struct {
		int option;
		long value;
	} options[] = {
		{ OPTION_NO_SIGNAL, 1 },
		{ OPTION_FAIL_ON_ERROR, 1 },
		{ OPTION_FOLLOW_LOCATION, 1 },
		{ OPTION_MAX_REDIRECTIONS, 5 },
		{ OPTION_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS },
		{ OPTION_REDIRECTION_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS },
		{ OPTION_NETRC, NETRC_OPTIONAL },
		{ OPTION_CONNECT_TIMEOUT, 15 },
		/* A profile of the next 30 seconds begins to arrive after them. */
		{ OPTION_LOW_SPEED_LIMIT, 1 },
		{ OPTION_LOW_SPEED_TIME, 120 },
		{ OPTION_TIMEOUT, 900 },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		curl->easy_setopt(handle, options[i].option, options[i].value);
	/* If the server states the size; 0 is no limit. */
	curl->easy_setopt(handle, OPTION_MAX_FILE_SIZE,
			  download->most < INT64_MAX ? (long long)download->most : 0LL);
	curl->easy_setopt(handle, OPTION_URL, url);
	curl->easy_setopt(handle, OPTION_USER_AGENT, "allo/" ALLO_VERSION);
	curl->easy_setopt(handle, OPTION_WRITE_FUNCTION, take);
	curl->easy_setopt(handle, OPTION_WRITE_DATA, download);
}

static bool perform(const struct curl *curl, void *handle, const char *url,
		    const struct download *download, struct allo_error *err)
{
	struct allo_pos pos = { .file = url };
	char most[ALLO_NUMBER_SIZE];
	int result = curl->easy_perform(handle);
	long code = 0;

	if (result == 0)
		return true;
	curl->easy_getinfo(handle, INFO_RESPONSE_CODE, &code);
	if (download->error != 0)
		return allo_fail(err, ALLO_IO, pos, "cannot store the download: %s",
				 strerror(download->error));
	if (download->size > download->most || result == RESULT_TOO_LARGE)
		return allo_fail_limit(err, pos, "is larger than %s",
				       allo_format_bytes(download->most, most));
	if (result == RESULT_HTTP_ERROR)
		return allo_fail(err, ALLO_IO, pos, "the server answers with status %ld", code);
	return allo_fail(err, ALLO_IO, pos, "cannot be fetched: %s", curl->easy_strerror(result));
}

static bool has_credentials(const char *url)
{
	const char *host = strstr(url, "://") + 3;

	return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

static bool download_to(int fd, const char *url, struct allo_error *err)
{
	struct download download = { .fd = fd, .most = allo_trust_limit(0, 0, 1 << 30) };
	struct curl curl;
	void *handle;
	bool ok;

	if (!load(&curl, err))
		return false;
	handle = curl.easy_init();
	if (!handle)
		return allo_fail_memory(err);
	set_options(&curl, handle, url, &download);
	ok = perform(&curl, handle, url, &download, err);
	curl.easy_cleanup(handle);
	return ok && (lseek(fd, 0, SEEK_SET) == 0 || allo_fail_errno(err, url, "read it"));
}

int allo_fetch(const char *url, struct allo_error *err)
{
	int fd;

	if (has_credentials(url)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the URL contains a user or a password");
		allo_hint(err, "put them into ~/.netrc, which is used: other users see arguments");
		return -1;
	}
	fd = allo_temporary_open();
	if (fd < 0) {
		allo_fail_errno(err, "a temporary file", "create");
		return -1;
	}
	if (download_to(fd, url, err))
		return fd;
	close(fd);
	return -1;
}
