/* run_limits.c - calls 'allo budget' with the recordings of the run. */
#include "cli/show/run_limits.h"

#include "base/defer.h"
#include "cli/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool allo_run_limits_exist(const struct allo_run_limits *limits)
{
	return limits->peak != ALLO_NO_LIMIT || limits->total != ALLO_NO_LIMIT ||
	       limits->blocks != ALLO_NO_LIMIT || limits->leaks != ALLO_NO_LIMIT;
}

/* The command line of 'allo budget'. */
typedef ALLO_VEC(char *) word_list;

static bool add_word(word_list *words, const char *word, struct allo_error *err)
{
	char *argument = (char *)word; /* the parser only moves the pointers */

	return allo_vec_add(words, argument, err);
}

static bool add_limit(word_list *words, const char *option, uint64_t value, char text[24],
		      struct allo_error *err)
{
	if (value == ALLO_NO_LIMIT)
		return true;
	snprintf(text, 24, "%llu", (unsigned long long)value);
	return add_word(words, option, err) && add_word(words, text, err);
}

static bool add_recordings(word_list *words, const struct allo_run_job *job, struct allo_error *err)
{
	size_t before = words->len;

	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const char *path = job->recordings.all.at[i].path;

		if (path && !add_word(words, path, err))
			return false;
	}
	return words->len > before ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "the limits are not checked: there is no recording");
}

/* Standard output is the program's, so the result goes to standard error. */
static bool run_budget(char **words, struct allo_error *err)
{
	const struct allo_command *budget = allo_command_find("budget");
	ALLO_DEFER(allo_free_pointer) void *options = calloc(1, budget->options_size + 1);

	if (!options)
		return allo_fail_memory(err);
	if (budget->defaults)
		memcpy(options, budget->defaults, budget->options_size);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return allo_fail_errno(err, "standard error", "write to it");
	return allo_options_parse(budget, words, options, err) && budget->run(options, words, err);
}

bool allo_run_limits_check(const struct allo_run_limits *limits, const struct allo_run_job *job,
			   struct allo_error *err)
{
	char numbers[4][24];
	word_list words = { 0 };
	bool ok = add_limit(&words, "--max-peak", limits->peak, numbers[0], err) &&
		  add_limit(&words, "--max-total", limits->total, numbers[1], err) &&
		  add_limit(&words, "--max-blocks", limits->blocks, numbers[2], err) &&
		  add_limit(&words, "--max-leaks", limits->leaks, numbers[3], err) &&
		  add_word(&words, "--no-pager", err) && add_word(&words, "--", err) &&
		  add_recordings(&words, job, err) && add_word(&words, NULL, err) &&
		  run_budget(words.at, err);

	allo_vec_done(&words);
	return allo_common_keep_error(err) && ok; /* the paths are the job's */
}
