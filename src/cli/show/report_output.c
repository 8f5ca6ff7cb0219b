#include "cli/show/report_output.h"

#include "base/defer.h"
#include "base/units.h"
#include "cli/output_name.h"
#include "page/html_report.h"
#include "report/messages.h"

#include <stdlib.h>
#include <string.h>

char *allo_report_output_name(const char *output, const char *file)
{
	static char *name; /* errors refer to it until the program ends */

	free(name);
	name = output && *output ? strdup(output)
				 : allo_output_name(file ? file : "-", ".html", "open");
	return name;
}

bool allo_report_beside(const char *file, const char *base, const char *output, bool force,
			bool is_quiet, const struct allo_source_options *reading,
			struct allo_error *err)
{
	const char *const paths[] = { file, base, NULL };
	ALLO_DEFER(allo_free_pointer) char *source = strdup(file);
	char *const sources[] = { source, NULL };
	const char *name = allo_report_output_name(output, file);
	struct allo_html_report report = { .path = name,
					   .force = force,
					   .sources = sources,
					   .max_size = ALLO_HTML_REPORT_SIZE,
					   .reading = reading };
	char size[ALLO_NUMBER_SIZE];

	if (!name || !source)
		return allo_fail_memory(err);
	if (!allo_html_report_write(&report, paths, err))
		return false;
	if (!is_quiet && strcmp(name, "-") != 0)
		allo_say("wrote %s (%s)", name, allo_format_bytes(report.size, size));
	return true;
}
