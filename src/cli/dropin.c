/* dropin.c - see dropin.h. */
#include "cli/dropin.h"

#include "cli/convert.h"
#include "cli/messages.h"

#include <stdio.h>

static const char usage[] =
	"Usage: dhat-pprof [INPUT [OUTPUT]]\n"
	"\n"
	"Converts a DHAT profile to pprof's format. INPUT is dhat-heap.json and OUTPUT\n"
	"dhat-heap.pb.gz unless told otherwise; - is standard input or output.\n"
	"\n"
	"This is allo(1), which does more: see 'allo help convert'.\n";

bool allo_dropin_dhat_pprof(char **arguments, struct allo_error *err)
{
	char usual_input[] = "dhat-heap.json";
	char *files[] = { arguments[0] ? arguments[0] : usual_input, NULL };
	const char *output = arguments[0] && arguments[1] ? arguments[1] : "dhat-heap.pb.gz";
	struct allo_common common = { .from = "dhat" };
	struct allo_list all = { .count = 0 };
	struct allo_convert convert = {
		.common = &common,
		.files = files,
		.writer = allo_writer_find("pprof", err),
		.output = output,
		.metrics = &all,
		.may_replace = true,
		.counts_frames = true,
	};
	/* Where the profile itself goes to standard output, messages must not. */
	FILE *to = strcmp(output, "-") == 0 ? stderr : stdout;

	if (arguments[0] &&
	    (strcmp(arguments[0], "-h") == 0 || strcmp(arguments[0], "--help") == 0)) {
		fputs(usage, stdout);
		return true;
	}
	fprintf(to, "Reading DHAT profile from: %s\n", files[0]);
	fflush(to); /* an error comes behind it */
	if (!allo_convert(&convert, err))
		return false;
	fprintf(to,
		"Generated pprof profile with:\n  %llu samples\n  %llu locations\n  %llu "
		"functions\n",
		(unsigned long long)convert.samples, (unsigned long long)convert.frames,
		(unsigned long long)convert.functions);
	fprintf(to,
		"Wrote pprof profile to: %s\n\nView it with:\n  go tool pprof -top %s\n"
		"  go tool pprof -http=:8080 %s\n",
		output, output, output);
	fflush(to);
	allo_say_notes(&convert.notes);
	allo_convert_warn_of_max(&convert);
	return true;
}
