/* markdown.h - texts from files and programs, escaped for Markdown. */
#ifndef ALLO_REPORT_MARKDOWN_H
#define ALLO_REPORT_MARKDOWN_H

#include "base/io/output.h"

/* Prints a text; `is_start`: at the start of a line, where more characters have a meaning. */
void allo_markdown_put(struct allo_output *out, struct allo_text text, bool is_start);

#endif
