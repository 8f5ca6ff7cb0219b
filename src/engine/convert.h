/*
 * convert.h - reads files and writes them in another format.
 *
 * One file that the writer can take in portions is streamed, so memory does not grow with the file.
 * A trace that turns out to be unordered is read a second time, as a whole.
 */
#ifndef ALLO_ENGINE_CONVERT_H
#define ALLO_ENGINE_CONVERT_H

#include "analysis/filters/filter.h"
#include "analysis/sites/attribution.h"
#include "analysis/sum.h"
#include "engine/source.h"
#include "writers/writers.h"

struct allo_conversion;

/* Writes a format that takes rows (writer->takes_rows) from the conversion's files, and calls
 * allo_conversion_count(). */
typedef bool allo_write_rows(struct allo_conversion *conversion, struct allo_output *out,
			     struct allo_profile *profile, struct allo_error *err);

struct allo_conversion {
	/* Input. */
	const struct allo_source_options *source;
	char **files; /* NULL ends */
	const struct allo_writer *writer;
	const char *output;         /* a path, or "-" for standard output */
	int output_fd;              /* in place of the path if it is not 0; stays open */
	struct allo_filter *filter; /* may be empty */
	const char *const *metrics; /* to keep, by name; all if there are none */
	size_t metric_count;
	const char *label; /* a key: each sample gets a label with the name of its file */
	struct allo_attribution *attribution; /* chooses the sites of a database */
	struct allo_write_options write_options;
	struct allo_output_options output_options;
	bool has_packing;   /* .packing is set there; otherwise the output's name decides */
	bool no_command;    /* leave out the command, whose arguments may contain secrets */
	bool strict;        /* fail rather than drop data that the format cannot hold */
	bool counts_frames; /* count frames and functions in use, which takes time */
	allo_write_rows *write_rows; /* NULL: formats that take rows are refused */
	/* The file is read a second time.  May be NULL. */
	void (*start_over)(void *context);
	void *context;

	/* Result. */
	uint64_t samples, frames, functions;
	uint64_t size; /* of the output, in bytes */
	uint64_t rows; /* individual allocations, if the input has them: */
	bool has_rows;
	char metrics_written[80]; /* "peak_bytes", or "11 metrics" */
	struct allo_notes notes;
	unsigned lost;              /* ALLO_HOLDS_... that the format cannot hold */
	allo_sum max_sum, peak_sum; /* of max_bytes and peak_bytes; 0 without them */
	bool max_is_inuse;          /* max_bytes was written as inuse_space */
};

/* The writer by its name or, if `to` is NULL, by the ending of the output's name.  NULL, and a
 * failure, if neither names one. */
const struct allo_writer *allo_choose_writer(const char *to, const char *output,
					     struct allo_error *err);

bool allo_convert(struct allo_conversion *conversion, struct allo_error *err);

/* Removes the command, if the conversion leaves it out. */
void allo_conversion_clean(const struct allo_conversion *conversion, struct allo_profile *profile);

/* Does the same, and applies the conversion's filter and choice of metrics. */
bool allo_conversion_select(struct allo_conversion *conversion, struct allo_profile *profile,
			    struct allo_error *err);

/* Counts the samples and frames of the profile that is written. */
bool allo_conversion_count(struct allo_conversion *conversion, const struct allo_profile *profile,
			   struct allo_error *err);

#endif
