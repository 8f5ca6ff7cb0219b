/*
 * csv.h - cells of comma-separated values (RFC 4180).
 */
#ifndef ALLO_BASE_CSV_H
#define ALLO_BASE_CSV_H

#include "base/io/output.h"

/*
 * Writes a cell, in quotes if it needs them, with invalid UTF-8 replaced by U+FFFD.  Spreadsheets
 * execute a cell that begins like a formula, and names come from untrusted files: such a cell gets
 * an apostrophe in front, which spreadsheets hide.  Numbers stay as they are.
 */
void allo_csv_put(struct allo_output *out, struct allo_text text);

#endif
