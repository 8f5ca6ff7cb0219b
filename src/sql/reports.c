/* reports.c - the table of reports. */
#include "sql/reports.h"

/* Each is a file in reports/; the build embeds it. */
#define REPORTS(each)                                                                              \
	each(functions) each(growth) each(leaks) each(lifetimes) each(modules) each(reallocs)      \
		each(sites) each(sizes) each(temporary) each(threads) each(timeline)

#define DECLARE(name) extern const char allo_report_##name[];
REPORTS(DECLARE)

#define NAME(name) #name,
const char *const allo_report_names[] = { REPORTS(NAME) NULL };

#define TEXT(name) allo_report_##name,
static const char *const texts[] = { REPORTS(TEXT) };

const char *allo_report_sql(size_t index)
{
	return texts[index];
}

struct allo_text allo_report_title(size_t index)
{
	struct allo_text text = allo_text_of(texts[index]), line;

	allo_text_next(&text, '\n', &line);
	allo_text_skip(&line, ALLO_TEXT("-- "));
	return line;
}
