/*
 * report_output.h - names HTML reports, and writes them for commands with another purpose.
 */
#ifndef ALLO_CLI_REPORT_OUTPUT_H
#define ALLO_CLI_REPORT_OUTPUT_H

#include "engine/source.h"

/* `output` or, if it is NULL or empty, the name of the file with the ending .html; without a file,
 * "open.html".  Valid until the next call; NULL when out of memory. */
char *allo_report_output_name(const char *output, const char *file);

/* Writes a plain report for a command that has another purpose, and says so on standard error.
 * `output` as above. */
bool allo_report_beside(const char *file, const char *base, const char *output, bool force,
			bool is_quiet, const struct allo_source_options *reading,
			struct allo_error *err);

#endif
