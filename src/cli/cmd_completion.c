/* cmd_completion.c - allo completion: scripts that make a shell complete our options. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/help.h"

static const struct allo_option_group *const groups[] = { NULL };
static const struct allo_example examples[] = {
	{ "source <(allo completion bash)", "in ~/.bashrc" },
	{ "allo completion zsh > ~/.zfunc/_allo", "in a folder of $fpath" },
	{ "allo completion fish > ~/.config/fish/completions/allo.fish", "for fish" },
	{ NULL, NULL },
};

static bool run_completion(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	(void)options_given;
	if (!allo_common_open_result(&out, err))
		return false;
	if (!allo_completion(&out, files[0])) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no completion for '%s'",
			  files[0]);
		return allo_hint(err, "there is for bash, zsh and fish");
	}
	return allo_output_finish(&out, err);
}

const struct allo_command allo_cmd_completion = {
	.name = "completion",
	.heading = "Help",
	.summary = "print a completion script for a shell",
	.arguments = "bash|zsh|fish",
	.about = "Prints a script that makes the shell complete commands, options, formats and "
		 "metrics.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_SHELLS,
	.run = run_completion,
};
