/* ask.c - the table of asks; each answer adds its columns to a reply. */
#include "view/ask.h"

#include "base/defer.h"

#include <string.h>

/* clang-format off */
static const struct {
	const char *name;
	allo_answer *answer;
} asks[] = {
	{ "open", allo_answer_open },
	{ "names", allo_answer_names },
	{ "timeline", allo_answer_timeline },
	{ "history", allo_answer_history },
	{ "tree", allo_answer_tree },
	{ "dhat", allo_answer_dhat },
	{ "table", allo_answer_table },
	{ "peek", allo_answer_peek },
	{ "search", allo_answer_search },
	{ "leaks", allo_answer_leaks },
	{ "generations", allo_answer_generations },
	{ "stack", allo_answer_stack },
	{ "sizes", allo_answer_sizes },
	{ "lifetimes", allo_answer_lifetimes },
	{ "heat", allo_answer_heat },
	{ "threads", allo_answer_threads },
	{ "blocks", allo_answer_blocks },
	{ "findings", allo_answer_findings },
	{ "lines", allo_answer_lines },
};
/* clang-format on */

static allo_answer *find_answer(const struct allo_asked_files *files, const char *name,
				struct allo_error *err)
{
	allo_answer *more = files->find_more ? files->find_more(name) : NULL;

	if (more)
		return more;
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		if (strcmp(asks[i].name, name) == 0)
			return asks[i].answer;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no ask '%.60s' here", name);
	allo_hint(err, "'allo view FILE' shows source files and runs SQL");
	return NULL;
}

static struct allo_dataset *find_file(const struct allo_asked_files *files, uint64_t index,
				      struct allo_error *err)
{
	if (index < files->count)
		return files->at[index];
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no file %llu: %zu are open",
		  (unsigned long long)index, files->count);
	return NULL;
}

static bool answer(const struct allo_asked_files *files, const struct allo_request *request,
		   struct allo_reply *reply, struct allo_error *err)
{
	allo_answer *find = find_answer(files, request->ask, err);
	struct allo_dataset *dataset = find ? find_file(files, request->range.file, err) : NULL;

	if (!dataset)
		return false;
	if (request->has_base && request->base.file != request->range.file)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "a file is compared with another one when both are opened");
	allo_reply_begin(reply, request->ask);
	return !allo_failed(&reply->err) && find(dataset, request, reply, err);
}

struct allo_text allo_ask(const struct allo_asked_files *files, struct allo_text text,
			  struct allo_reply *reply)
{
	ALLO_DEFER(allo_request_done) struct allo_request request = { 0 };
	struct allo_error err = { 0 };

	if (allo_request_parse(&request, text, &err))
		answer(files, &request, reply, &err);
	return allo_reply_finish(reply, request.ask ? request.ask : "", &err);
}

size_t allo_page_rows(const struct allo_request *request, size_t rows, size_t usual)
{
	size_t rest = request->offset < rows ? rows - (size_t)request->offset : 0;
	uint64_t most = request->most == ALLO_NOT_GIVEN ? usual : request->most;

	return most < rest ? (size_t)most : rest;
}

bool allo_needs_recording(const struct allo_dataset *dataset, const char *data,
			  struct allo_error *err)
{
	if (dataset->recording || dataset->compared[ALLO_NOW].dataset)
		return true;
	if (dataset->is_comparison) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "this comparison has no %s", data);
		return allo_hint(err, "a comparison of two recordings of 'allo run' has them");
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s has no %s", dataset->name, data);
	return allo_hint(err, "recordings of 'allo run' have them");
}
