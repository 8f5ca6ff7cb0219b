/*
 * convert.h - the work of `allo convert` and of the programs that it stands in for.
 */
#ifndef ALLO_CLI_CONVERT_H
#define ALLO_CLI_CONVERT_H

#include "cli/common.h"
#include "writers/writers.h"

struct allo_convert {
	/* In. */
	const struct allo_common *common;
	char **files; /* NULL ends */
	const struct allo_writer *writer;
	const char *output;
	const struct allo_list *metrics; /* to keep; all when empty */
	const char *label; /* a key: samples get a label with the file that they are from */
	struct allo_write_options write_options;
	bool may_replace, fast, strict;
	bool passes_through; /* the input is copied to standard output, too */
	bool counts_frames;  /* those that stacks use, and their functions: it takes time */

	/* Out. */
	bool is_stopped; /* a signal has ended the input */
	int copy_error;  /* errno of what has ended its copy; 0: nothing has */
	uint64_t samples, frames, functions, size;
	uint64_t rows; /* single allocations, if they have a place: */
	bool has_rows;
	char metrics_written[80]; /* "peak_bytes", or "11 metrics" */
	struct allo_notes notes;
	unsigned lost;              /* what the form does not hold */
	allo_sum max_sum, peak_sum; /* of max_bytes and peak_bytes, where there are such */
};

/* Options of commands that write a profile; a command's own begin with them. */
struct allo_convert_options {
	struct allo_common common;
	struct allo_list metrics;
	const char *output, *to;
	bool force;
};

extern const struct allo_option_group allo_convert_group;

/* What these options ask for.  Fails where no form is asked for. */
bool allo_convert_init(struct allo_convert *convert, const struct allo_convert_options *options,
		       char **files, struct allo_error *err);

/* The form that is asked for by name, or by the output's name, either of which may be NULL.  NULL,
 * and a failure, where none is, or where it is not for a terminal. */
const struct allo_writer *allo_convert_writer(const char *to, const char *output,
					      struct allo_error *err);

bool allo_convert(struct allo_convert *convert, struct allo_error *err);

/* Says on standard error what was written and what was lost. */
void allo_convert_report(const struct allo_convert *convert);

/* One line about what a form has no place for (ALLO_HOLDS_...); nothing when it has for all. */
void allo_convert_tell_lost(const struct allo_writer *writer, unsigned lost);

/* One line when summing up each site's maximum says more than was ever held; else nothing. */
void allo_convert_warn_of_max(const struct allo_convert *convert);

#endif
