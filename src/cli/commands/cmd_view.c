/* cmd_view.c - allo view: shows files in the browser. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/desktop.h"
#include "engine/open_dataset.h"
#include "page/native_answers.h"
#include "report/messages.h"
#include "serve/http_library.h"
#include "serve/server.h"
#include "view/ask.h"
#include "view/compare.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ALLO on the keys of a telephone. */
enum { FIRST_PORT = 2556, PORTS = 20 };

enum { STATE_MOST = 8192 }; /* bytes of --show */

struct view {
	struct allo_common common;
	const char *ask, *listen, *show;
	bool no_open;
};

#define AT(field) offsetof(struct view, field)
static const struct allo_option options[] = {
	OPT_TEXT('l', "listen", "ADDRESS", listen,
		 "HOST:PORT of this machine, port 0 for any free port (default: 127.0.0.1:2556, or "
		 "the next free port)"),
	OPT_FLAG(0, "no-open", no_open, "print the address, and open no window"),
	OPT_TEXT(0, "show", "STATE", show,
		 "open the page in this state: the part of one of its addresses after the #, as "
		 "'allo findings' prints it"),
	OPT_TEXT(0, "ask", "REQUEST", ask,
		 "answer one request of the page (doc/reply.md), write the reply to "
		 "standard output, and exit"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "View", options };

static const struct allo_option_group *const groups[] = {
	&group, &allo_symbols_group, &allo_trace_group, &allo_reading_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo view server.allo", "explore a recording in the browser" },
	{ "allo view", "the same for the newest recording in this folder" },
	{ "allo view dhat.out.1234", "the same for a profile of another tool" },
	{ "allo view new.allo old.allo", "compare two recordings" },
	{ "allo view 4711", "follow a running process: the curve grows" },
	{ "allo view %redis-server", "the same, by its name" },
	{ "allo view --show view=leaks server.allo", "open the page at its leaks" },
	{ "allo view --no-open server.allo", "print the address, for a browser elsewhere" },
	{ NULL, NULL },
};

/* The files of the command line, opened. */
struct files {
	struct allo_opened_file *opened;
	size_t count;
	struct allo_dataset **datasets; /* of the files, and of the comparison */
	size_t dataset_count;
	struct allo_dataset comparison; /* of two files */
};

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		allo_opened_file_close(&files->opened[i]);
	allo_dataset_done(&files->comparison);
	free(files->opened);
	free(files->datasets);
}

/* The second of two files is the base of a comparison. */
static bool compare(struct files *files, struct allo_error *err)
{
	if (files->count != 2)
		return true;
	files->comparison.name = files->datasets[0]->name;
	files->datasets[files->dataset_count++] = &files->comparison;
	return allo_dataset_compare(&files->comparison, files->datasets[1], files->datasets[0],
				    err);
}

/* The page of one of several recordings leads to the others. */
static bool name_others(struct allo_dataset *dataset, char *given, struct allo_error *err)
{
	char **all = allo_common_files((char *const[]){ given, NULL }, err);

	if (all && all[1])
		dataset->recordings = all;
	return all != NULL;
}

static bool open_files(struct files *files, const struct allo_common *common, char **paths,
		       struct allo_error *err)
{
	struct allo_source_options source;
	size_t count = 0;

	while (paths[count])
		count++;
	files->opened = calloc(count + 1, sizeof(*files->opened));
	files->datasets = calloc(count + 2, sizeof(*files->datasets));
	if (!files->opened || !files->datasets)
		return allo_fail_memory(err);
	if (!allo_common_source(common, &source, err))
		return false;
	for (; files->count < count; files->count++) {
		struct allo_opened_file *file = &files->opened[files->count];
		const char *path = allo_common_one_file(common, paths[files->count], err);

		files->datasets[files->count] = &file->dataset;
		if (!path || !allo_opened_file_open(file, path, &source, err) ||
		    !name_others(&file->dataset, paths[files->count], err)) {
			allo_opened_file_close(file);
			return false;
		}
	}
	files->dataset_count = count;
	return compare(files, err);
}

/* Answers one request. */
static bool answer(const struct files *files, const char *request, struct allo_error *err)
{
	ALLO_DEFER(allo_reply_done) struct allo_reply reply = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_asked_files asked = { files->datasets, files->dataset_count,
						allo_native_answer_find };
	struct allo_text bytes = allo_ask(&asked, allo_text_of(request), &reply);

	if (bytes.len == 0)
		return allo_fail_memory(err);
	if (!allo_output_open(&out, "-", &(struct allo_output_options){ 0 }, err))
		return false;
	allo_output_text(&out, bytes);
	return allo_output_finish(&out, err);
}

/* Processes. */

/* Whether an argument names a process, and not a file. */
static bool is_process(const char *name)
{
	struct stat status;
	uint64_t pid;

	if (stat(name, &status) == 0)
		return S_ISSOCK(status.st_mode);
	return name[0] == '%' || allo_text_u64(allo_text_of(name), &pid);
}

static bool add_processes(struct allo_process_list *processes, const struct view *opt, char **names,
			  struct allo_error *err)
{
	const struct allo_served_process *first;

	if (opt->ask || names[1])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 opt->ask ? "--ask needs a file, not a process"
					  : "a process is viewed alone: name one process or files");
	if (!allo_process_list_add(processes, names[0], err))
		return false;
	first = processes->all.at[0];
	if (first->has_runtime)
		return true;
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) does not have the runtime", first->program,
		  (int)first->pid);
	return allo_hint(err, "'allo attach %d' loads it, and 'allo run' starts programs with it",
			 (int)first->pid);
}

/* Serves the page. */

/* Listens on the given address, or on the first free port. */
static bool listen_on(struct allo_listener *listener, const char *where, struct allo_error *err)
{
	bool is_local;
	char address[32];

	if (where) {
		if (!allo_listener_is_local(where, &is_local, err))
			return false;
		return is_local
			       ? allo_listener_open(listener, where, err)
			       : allo_fail(
					 err, ALLO_USAGE, ALLO_NOWHERE,
					 "%s is open to other machines, and the page is for this one",
					 where);
	}
	for (int i = 0; i < PORTS; i++) {
		*err = (struct allo_error){ 0 };
		snprintf(address, sizeof(address), "127.0.0.1:%d", FIRST_PORT + i);
		if (allo_listener_open(listener, address, err))
			return true;
	}
	return false;
}

/* Over SSH, the browser is on another machine. */
static void print_tunnel(const char *url)
{
	const char *port = strrchr(url, ':');
	char host[256] = "HOST";

	if (!getenv("SSH_CONNECTION") || !port)
		return;
	gethostname(host, sizeof(host) - 1);
	allo_say_advice("ssh -L %d:127.0.0.1:%d %s     on your machine, for this address",
			atoi(port + 1), atoi(port + 1), host);
}

static void present(const struct view *opt, const struct allo_http_server *server)
{
	char url[sizeof(server->listener.url) + ALLO_TOKEN_SIZE + 16 + STATE_MOST];

	snprintf(url, sizeof(url), "%s/view#k=%s%s%s", server->listener.url, server->access.token,
		 opt->show ? "&" : "", opt->show ? opt->show : "");
	if (!opt->no_open && allo_has_desktop() && allo_open_window(url))
		allo_say("opened %s", url);
	else
		allo_say("open %s", url);
	print_tunnel(server->listener.url);
	if (!opt->common.quiet)
		allo_say("Ctrl-C ends the viewer");
}

static bool serve(const struct view *opt, struct allo_http_server *server,
		  char token[ALLO_TOKEN_SIZE], struct allo_error *err)
{
	server->symbols = allo_common_symbols(&opt->common);
	server->access.token = token;
	if (!allo_access_make_token(token, err) ||
	    !listen_on(&server->listener, opt->listen, err) || !allo_http_server_open(server, err))
		return false;
	present(opt, server);
	return allo_http_server_run(server, err);
}

static bool view_process(const struct view *opt, char **names, struct allo_error *err)
{
	ALLO_DEFER(allo_http_server_close) struct allo_http_server server = { .listener.fd = -1 };
	char token[ALLO_TOKEN_SIZE];

	server.find_more = allo_native_answer_find;
	return add_processes(&server.processes, opt, names, err) && serve(opt, &server, token, err);
}

static bool view_files(const struct view *opt, char **paths, struct allo_error *err)
{
	ALLO_DEFER(files_done) struct files files = { 0 };
	ALLO_DEFER(allo_http_server_close) struct allo_http_server server = { .listener.fd = -1 };
	char token[ALLO_TOKEN_SIZE];
	struct allo_asked_files asked;

	if (!open_files(&files, &opt->common, paths, err))
		return false;
	if (opt->ask)
		return answer(&files, opt->ask, err);
	asked = (struct allo_asked_files){ files.datasets, files.dataset_count,
					   allo_native_answer_find };
	server.viewed = &asked;
	return serve(opt, &server, token, err);
}

/* The state becomes a part of an address. */
static bool check_state(const char *state, struct allo_error *err)
{
	size_t len = state ? strlen(state) : 0;

	if (len >= STATE_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--show has more than %d bytes",
				 STATE_MOST - 1);
	for (size_t i = 0; i < len; i++) {
		if (state[i] <= ' ' || state[i] > '~' || strchr("\"'<>\\`#", state[i]))
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "--show is not a part of an address: byte %zu must be "
					 "escaped",
					 i + 1);
	}
	return true;
}

static bool run_view(const void *options_given, char **names, struct allo_error *err)
{
	const struct view *opt = options_given;

	if (!check_state(opt->show, err) || (!opt->ask && !allo_http_load(err)))
		return false;
	return is_process(names[0]) ? view_process(opt, names, err) : view_files(opt, names, err);
}

const struct allo_command allo_cmd_view = {
	.name = "view",
	.heading = "Look",
	.summary = "explore files and running processes in the browser",
	.arguments = "[FILE [BASE] | PID]",
	.about =
		"Opens a recording or a profile of any readable format in the browser: flame graph, "
		"table, tree, leaks, sizes and lifetimes. A recording has an exact time axis: "
		"select any range of it, and all views show that range.\n\n"
		"PID shows the recording of a running process while it grows: a process id, the path "
		"of its socket, or %NAME for the processes with that name (a unique beginning is "
		"enough). Space freezes the page, 'g' sets a mark, and 'G' shows the growth "
		"since the mark. The process is not changed, and the page stays after its end.\n\n"
		"The page comes from this program and loads nothing from elsewhere. It is "
		"reachable from this machine only, with the random token in the printed address. "
		"SIGINT (Ctrl-C) and SIGTERM end the viewer.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct view),
	.finds_newest = true,
	.files_least = 0,
	.files_most = 2,
	.completes = ALLO_COMPLETE_FILES,
	.takes_processes = true,
	.run = run_view,
};
