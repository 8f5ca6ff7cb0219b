/* cmd_serve.c - allo serve: the memory of processes for those who ask over HTTP. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/messages.h"
#include "serve/http_library.h"
#include "serve/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Guessing is hopeless from here on, if nobody has made it up by himself. */
enum { TOKEN_LEAST = 16, TOKEN_MOST = 256 };

struct serve {
	struct allo_common common;
	bool all;
	const char *listen, *token, *token_file;
	struct allo_list hosts;
};

static const struct allo_option options[] = {
	{ .name = "all",
	  .help = "all processes that have the runtime, also those that begin later",
	  .offset = offsetof(struct serve, all) },
	{ .letter = 'l',
	  .name = "listen",
	  .argument = "ADDRESS",
	  .help = "HOST:PORT, where port 0 is any that is free, or unix:PATH; without it "
		  "127.0.0.1:6070",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct serve, listen) },
	{ .name = NULL },
};
static const struct allo_option_group group = { "Serving", options };

static const struct allo_option access_options[] = {
	{ .name = "token",
	  .argument = "TOKEN",
	  .help = "answer only who gives this, of 16 characters or more. Others on the machine can "
		  "see it among the arguments; the variable ALLO_TOKEN is for it, too",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct serve, token) },
	{ .name = "token-file",
	  .argument = "FILE",
	  .help = "the same, on the first line of a file",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct serve, token_file) },
	{ .name = "host",
	  .argument = "NAME",
	  .help = "a name that this address may be asked by, besides numbers and localhost; may be "
		  "given several times",
	  .kind = ALLO_OPTION_LIST,
	  .offset = offsetof(struct serve, hosts) },
	{ .name = NULL },
};
static const struct allo_option_group access_group = { "Who may ask", access_options };

static const struct allo_option_group *const groups[] = { &group, &access_group, &allo_places_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo serve 4711", "one process, on 127.0.0.1:6070" },
	{ "go tool pprof -top http://127.0.0.1:6070/debug/pprof/heap", "what it holds" },
	{ "allo serve --all --listen unix:/run/allo.sock", "for those who may open the path" },
	{ "allo serve --all --listen 0.0.0.0:6070 --token-file /etc/allo.token",
	  "for other machines, by a token" },
	{ NULL, NULL },
};

/* Tokens. */

static bool check_token(const char *token, struct allo_error *err)
{
	size_t len = strlen(token);

	for (size_t i = 0; i < len; i++) {
		if (token[i] <= ' ' || token[i] > '~')
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "a token is made of visible ASCII characters");
	}
	if (len >= TOKEN_LEAST && len < TOKEN_MOST)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a token has %d to %d characters", TOKEN_LEAST,
		  TOKEN_MOST - 1);
	return allo_hint(err, "'openssl rand -hex 16' makes one");
}

static bool read_token(const char *path, char token[TOKEN_MOST], struct allo_error *err)
{
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, token, TOKEN_MOST - 1) : -1;

	if (len < 0)
		return allo_fail_errno(err, path, "read the token");
	token[len] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	return true;
}

/* The token that is asked for; `token` NULL when there is none. */
static bool find_token(const struct serve *opt, char kept[TOKEN_MOST], const char **token,
		       struct allo_error *err)
{
	const char *variable = getenv("ALLO_TOKEN");

	if (opt->token && opt->token_file)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--token and --token-file exclude each other");
	*token = opt->token ? opt->token : variable && variable[0] ? variable : NULL;
	if (opt->token_file) {
		if (!read_token(opt->token_file, kept, err))
			return false;
		*token = kept;
	}
	return !*token || check_token(*token, err);
}

static bool check_address(const char *where, const char *token, struct allo_error *err)
{
	bool is_local;

	if (!allo_listener_is_local(where, &is_local, err))
		return false;
	if (is_local || token)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "other machines get to %s: a token is needed",
		  where);
	return allo_hint(err, "add --token-file FILE, or set ALLO_TOKEN");
}

/* What is said. */

static void tell(const struct allo_http_server *server)
{
	const char *url = server->listener.url;

	for (size_t i = 0; i < server->processes.all.len; i++) {
		const struct allo_served_process *process = server->processes.all.at[i];

		if (!process->socket[0])
			allo_say_note("%s (%d) does not have the runtime: only figures of its "
				      "memory are served, no heap",
				      process->program, (int)process->pid);
	}
	allo_say("serving on %s", url);
	if (server->listener.is_path) {
		allo_say_advice("curl --unix-socket %s http://localhost/metrics",
				url + strlen("unix:"));
		return;
	}
	allo_say_advice("go tool pprof -top %s/debug/pprof/heap", url);
	allo_say_advice("curl %s/metrics", url);
}

static bool fill_processes(struct allo_process_list *processes, const struct serve *opt,
			   char **names, struct allo_error *err)
{
	if (opt->all == (names[0] != NULL))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->all ? "--all and a process exclude each other"
					  : "name a process, or say --all");
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
	const struct allo_symbol_options symbols = {
		.places = { .folders = opt->common.debug_dirs.item,
			    .folder_count = opt->common.debug_dirs.count,
			    .root = opt->common.sysroot },
		.has_no_cache = opt->common.no_cache
	};
	const char *where = opt->listen ? opt->listen : ALLO_SERVE_LISTEN;
	char token[TOKEN_MOST];

	server.symbols = &symbols;
	server.access.hosts = opt->hosts.item;
	server.access.host_count = opt->hosts.count;
	if (!find_token(opt, token, &server.access.token, err) ||
	    !check_address(where, server.access.token, err) ||
	    !fill_processes(&server.processes, opt, names, err) || !allo_http_load(err) ||
	    !allo_listener_open(&server.listener, where, err))
		return false;
	server.access.has_no_host = server.listener.is_path;
	if (!allo_http_server_open(&server, err))
		return false;
	tell(&server);
	return allo_http_server_run(&server, err);
}

const struct allo_command allo_cmd_serve = {
	.name = "serve",
	.heading = "Watch",
	.summary = "answer pprof and Prometheus for processes that run",
	.arguments = "[PID...]",
	.about = "Answers over HTTP what processes have in memory, for the tools that people have "
		 "already. It is a process of its own: those that are watched carry no server, and "
		 "go on as ever when it ends.\n\n"
		 "/debug/pprof/heap and /debug/pprof/allocs are for 'go tool pprof' and all that "
		 "collect from Go programs; ?seconds=N, up to 60, is what happens in that time, "
		 "?debug=1 a text. /pprof/heap is for google-pprof. /metrics is for Prometheus, as "
		 "text or as OpenMetrics, and /memory the same as JSON. POST to /enable and "
		 "/disable begins and ends a recording. Where there are several processes, ?pid=N "
		 "says which one.\n\n"
		 "Heaps are those of processes that are being recorded; figures are told of any "
		 "process. Only this machine gets to the usual address; any other needs a token, "
		 "as 'Authorization: Bearer TOKEN' or as the password in http://allo:TOKEN@HOST. "
		 "Whoever may ask sees names of functions, paths and addresses.\n\n"
		 "PID is the number of a process, the path of its socket, or %NAME for the only "
		 "one of a name. SIGINT and SIGTERM end it.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct serve),
	.files_least = 0,
	.files_most = ALLO_PROCESS_LIST_MAX,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_serve,
};
