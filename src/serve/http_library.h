/*
 * http_library.h - libmicrohttpd, loaded at run time.
 *
 * It depends on ten other libraries.  Linking it would slow the start of every command, and only
 * `allo serve` uses it.
 */
#ifndef ALLO_SERVE_HTTP_LIBRARY_H
#define ALLO_SERVE_HTTP_LIBRARY_H

#include "base/error.h"

#include <microhttpd.h>

#define ALLO_HTTP_CALLS(CALL)                                                                      \
	CALL(add_response_header)                                                                  \
	CALL(basic_auth_get_username_password)                                                     \
	CALL(create_response_from_buffer)                                                          \
	CALL(create_response_from_fd64)                                                            \
	CALL(destroy_response)                                                                     \
	CALL(free)                                                                                 \
	CALL(get_connection_info)                                                                  \
	CALL(get_connection_values_n)                                                              \
	CALL(get_daemon_info)                                                                      \
	CALL(get_timeout)                                                                          \
	CALL(lookup_connection_value)                                                              \
	CALL(queue_response)                                                                       \
	CALL(resume_connection)                                                                    \
	CALL(run)                                                                                  \
	CALL(start_daemon)                                                                         \
	CALL(stop_daemon)                                                                          \
	CALL(suspend_connection)

/* allo_http.run is MHD_run, and so on; all NULL until allo_http_load(). */
#define ALLO_HTTP_POINTER(name) __typeof__(MHD_##name) *name;
struct allo_http {
	ALLO_HTTP_CALLS(ALLO_HTTP_POINTER)
};
#undef ALLO_HTTP_POINTER

extern struct allo_http allo_http;

bool allo_http_load(struct allo_error *err);

#endif
