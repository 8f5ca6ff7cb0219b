/* cmd_serve.c - allo serve: serves the memory of processes over HTTP. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/messages.h"
#include "serve/http_library.h"
#include "serve/server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOKEN_MIN = ALLO_TOKEN_BYTES, TOKEN_SIZE = 256 };

struct serve {
	struct allo_common common;
	bool all, no_token;
	const char *listen, *token, *token_file;
	struct allo_list hosts;
};

#define AT(field) offsetof(struct serve, field)
static const struct allo_option options[] = {
	OPT_FLAG(0, "all", all,
		 "serve all processes that have the runtime, also ones that start later"),
	OPT_TEXT('l', "listen", "ADDRESS", listen,
		 "HOST:PORT (port 0 for any free port), or unix:PATH (default: 127.0.0.1:6070)"),
	OPT_END,
};

static const struct allo_option access_options[] = {
	OPT_TEXT(
		0, "token", "TOKEN", token,
		"require this token, of at least 16 characters (default: a random one, which is printed). "
		"Other users of the machine can see it among the arguments: use a file, or the "
		"environment variable ALLO_TOKEN, instead"),
	OPT_FILE(0, "token-file", "FILE", token_file,
		 "require the token on the first line of a file"),
	OPT_FLAG(0, "no-token", no_token,
		 "let all users of this machine read heaps and metrics; nobody can start or stop "
		 "recordings"),
	OPT_LIST(0, "host", "NAME", hosts,
		 "accept this host name in requests, besides IP addresses and localhost; may be "
		 "repeated"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Server", options };
static const struct allo_option_group access_group = { "Access", access_options };

static const struct allo_option_group *const groups[] = { &group, &access_group, &allo_places_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo serve 4711", "one process, on 127.0.0.1:6070" },
	{ "go tool pprof -top http://allo:TOKEN@127.0.0.1:6070/debug/pprof/heap",
	  "its live heap, with the token that 'allo serve' prints" },
	{ "allo serve --all --listen unix:/run/allo.sock", "for users that may open the socket" },
	{ "allo serve --all --listen 0.0.0.0:6070 --token-file /etc/allo.token",
	  "for other machines, with a token" },
	{ NULL, NULL },
};

/* Tokens. */

static bool check_token(const char *token, struct allo_error *err)
{
	size_t len = strlen(token);

	for (size_t i = 0; i < len; i++) {
		if (token[i] <= ' ' || token[i] > '~')
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "a token must have only visible ASCII characters");
	}
	if (len >= TOKEN_MIN && len < TOKEN_SIZE)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a token must have %d to %d characters", TOKEN_MIN,
		  TOKEN_SIZE - 1);
	return allo_hint(err, "'openssl rand -hex 16' makes one");
}

static bool read_token(const char *path, char token[TOKEN_SIZE], struct allo_error *err)
{
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, token, TOKEN_SIZE - 1) : -1;

	if (len < 0)
		return allo_fail_errno(err, path, "read the token");
	token[len] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	return true;
}

static bool check_token_options(const struct serve *opt, struct allo_error *err)
{
	if (opt->token && opt->token_file)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--token and --token-file exclude each other");
	if (opt->no_token && (opt->token || opt->token_file))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--no-token and %s exclude each other",
				 opt->token ? "--token" : "--token-file");
	return true;
}

/* Sets `token` to the one of the options or the environment; NULL: there is none. */
static bool find_token(const struct serve *opt, char kept[TOKEN_SIZE], const char **token,
		       struct allo_error *err)
{
	const char *variable = opt->no_token ? NULL : getenv("ALLO_TOKEN");

	if (!check_token_options(opt, err))
		return false;
	*token = opt->token ? opt->token : variable && variable[0] ? variable : NULL;
	if (opt->token_file) {
		if (!read_token(opt->token_file, kept, err))
			return false;
		*token = kept;
	}
	return !*token || check_token(*token, err);
}

static bool check_address(const char *where, bool has_no_token, struct allo_error *err)
{
	bool is_local;

	if (!allo_listener_is_local(where, &is_local, err))
		return false;
	if (is_local || !has_no_token)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s is open to other machines: a token is needed",
		  where);
	return allo_hint(err, "remove --no-token");
}

/* `token` is the one that was made for this server; NULL: none. */
static void print_start(const struct allo_http_server *server, const char *token)
{
	const char *host = server->listener.url + strlen("http://");
	char url[sizeof(server->listener.url) + TOKEN_SIZE + 16];

	if (token)
		snprintf(url, sizeof(url), "http://allo:%s@%s", token, host);
	else
		snprintf(url, sizeof(url), "%s", server->listener.url);

	for (size_t i = 0; i < server->processes.all.len; i++) {
		const struct allo_served_process *process = server->processes.all.at[i];

		if (!process->has_runtime)
			allo_say_note(
				"%s (%d) does not have the runtime: its metrics are served, but "
				"no heap ('allo attach %d' loads it)",
				process->program, (int)process->pid, (int)process->pid);
	}
	allo_say("serving on %s", url);
	if (server->listener.is_path) {
		allo_say_advice("curl --unix-socket %s http://localhost/metrics",
				url + strlen("unix:"));
		return;
	}
	allo_say_advice("go tool pprof -top %s/debug/pprof/heap", url);
	if (token)
		allo_say_advice("%s/view#k=%s     in a browser", server->listener.url, token);
	allo_say_advice("curl %s/metrics", url);
}

static bool fill_processes(struct allo_process_list *processes, const struct serve *opt,
			   char **names, struct allo_error *err)
{
	if (opt->all == (names[0] != NULL))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->all ? "--all and a process exclude each other"
					  : "name a process, or use --all");
	processes->is_open = opt->all;
	for (size_t i = 0; names[i]; i++) {
		if (!allo_process_list_add(processes, names[i], err))
			return false;
	}
	return true;
}

static bool run_serve(const void *options_given, char **names, struct allo_error *err)
{
	ALLO_DEFER(allo_http_server_close) struct allo_http_server server = { .listener.fd = -1 };
	const struct serve *opt = options_given;
	const char *where = opt->listen ? opt->listen : ALLO_SERVE_LISTEN;
	char token[TOKEN_SIZE];
	bool has_made_token = false;

	server.symbols = allo_common_symbols(&opt->common);
	server.access.hosts = opt->hosts.item;
	server.access.host_count = opt->hosts.count;
	if (!find_token(opt, token, &server.access.token, err) ||
	    !check_address(where, opt->no_token, err) ||
	    !fill_processes(&server.processes, opt, names, err) || !allo_http_load(err) ||
	    !allo_listener_open(&server.listener, where, err))
		return false;
	server.access.has_no_host = server.listener.is_path;
	/* A Unix socket is for its user alone. */
	if (!server.access.token && !opt->no_token && !server.listener.is_path) {
		if (!allo_access_make_token(token, err))
			return false;
		server.access.token = token;
		has_made_token = true;
	}
	if (!allo_http_server_open(&server, err))
		return false;
	print_start(&server, has_made_token ? token : NULL);
	return allo_http_server_run(&server, err);
}

const struct allo_command allo_cmd_serve = {
	.name = "serve",
	.heading = "Watch",
	.summary = "serve the heaps and metrics of running processes over HTTP",
	.arguments = "[PID...]",
	.about =
		"Serves heap profiles and memory metrics of running processes over HTTP, for pprof, "
		"Prometheus and similar tools. The server is a separate process: the served processes "
		"are not changed, and continue when it ends.\n\n"
		"/debug/pprof/heap and /debug/pprof/allocs are for 'go tool pprof' and collectors of "
		"Go profiles; ?seconds=N (up to 60) covers the next N seconds, ?debug=1 is text. "
		"/pprof/heap is for google-pprof. /metrics is for Prometheus, as text or OpenMetrics; "
		"/memory has the same as JSON. /view is the page of 'allo view' for a process. POST to "
		"/enable and /disable starts and stops a recording. With several processes, ?pid=N selects one.\n\n"
		"Heaps need a process that is being recorded; metrics work for any process. The "
		"default address is reachable from this machine only. Clients send a token, as "
		"'Authorization: Bearer TOKEN' or as the password in http://allo:TOKEN@HOST: the one "
		"that is given, or else the random one in the printed addresses. Clients see names of "
		"functions, paths and addresses.\n\n"
		"PID is a process id, the path of its socket, or %NAME for all processes with that "
		"name (a unique beginning is enough). SIGINT and SIGTERM end the server.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct serve),
	.files_least = 0,
	.files_most = ALLO_PROCESS_LIST_MAX,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_serve,
};
