/*
 * legacy_profile.h - the common part of the profiles that pprof read before profile.proto.
 *
 * They are lists of addresses with one or two numbers, as text or in binary.  readers/heap_text.h
 * holds the stacks until the mapped files or the names at the end of the file are known.
 */
#ifndef ALLO_READERS_LEGACY_PROFILE_H
#define ALLO_READERS_LEGACY_PROFILE_H

#include "readers/heap_text.h"
#include "readers/reader.h"

/* Set `in` and `profile` of `text`, leave the rest zero. */
struct allo_legacy {
	struct allo_heap_text text;
};

void allo_legacy_done(struct allo_legacy *legacy);

/* Addresses of a stack are those of calls, or return addresses behind calls. */
enum allo_legacy_addresses {
	ALLO_LEGACY_CALLS,
	ALLO_LEGACY_RETURNS,
	ALLO_LEGACY_RETURNS_ABOVE_LEAF, /* the leaf is where a signal stopped the program */
};

/* Adds an address to the current stack; `depth` is 0 for the leaf. */
bool allo_legacy_add_address(struct allo_legacy *legacy, uint64_t address, size_t depth,
			     enum allo_legacy_addresses kind, struct allo_error *err);

/* Adds all addresses of a line, "0x12 0x34", and counts them in *depth; other text is ignored, as
 * in pprof. */
bool allo_legacy_add_addresses(struct allo_legacy *legacy, struct allo_text line, size_t *depth,
			       enum allo_legacy_addresses kind, struct allo_error *err);

/* The number of the address that called the leaf of a sample; 0: none. */
uint32_t allo_legacy_caller(const struct allo_legacy *legacy,
			    const struct allo_heap_sample *sample);

/* Drops the frame of that address from the sample's stack. */
bool allo_legacy_drop_caller(struct allo_legacy *legacy, struct allo_heap_sample *sample,
			     struct allo_error *err);

/* Drops callers that are the leaf again: a signal handler finds it both in the signal's own data
 * and on the stack. */
bool allo_legacy_drop_second_leaves(struct allo_legacy *legacy, struct allo_error *err);

/* Adds a sample.  With one metric, its value is in the place of live bytes. */
bool allo_legacy_add_sample(struct allo_legacy *legacy, const struct allo_heap_sample *sample,
			    struct allo_error *err);

/* Adds a metric of the producer, or one of ours if `name` is pprof's name for it. */
bool allo_legacy_add_metric(struct allo_legacy *legacy, struct allo_text name,
			    struct allo_text unit, struct allo_error *err);

/* Sets the period, of type `name`. */
bool allo_legacy_set_period(struct allo_legacy *legacy, struct allo_text name,
			    struct allo_text unit, int64_t period, struct allo_error *err);

/* The product, limited to int64_t and noted if it does not fit. */
int64_t allo_legacy_times(struct allo_legacy *legacy, int64_t a, int64_t b);

/* A line that is neither blank nor a comment, trimmed; false at the end and at failure.  Comments
 * of Go name frames. */
bool allo_legacy_line(struct allo_legacy *legacy, struct allo_text *line, struct allo_error *err);

/* Skips further sections and reads the mapped files; `line` is the current line. */
bool allo_legacy_read_rest(struct allo_legacy *legacy, struct allo_text line,
			   struct allo_error *err);

/* Reads names, "0x12 com.example.Cache.put (Cache.java:12)", up to the end; `line` is the first. */
bool allo_legacy_read_java_names(struct allo_legacy *legacy, struct allo_text line,
				 struct allo_error *err);

bool allo_legacy_fail_line(struct allo_legacy *legacy, struct allo_text line, const char *expected,
			   struct allo_error *err);

/* The kinds of profile.  Each recognises the head of a file, and reads a file without adding its
 * samples to the profile. */
bool allo_legacy_is_cpu(struct allo_text head);
bool allo_legacy_read_cpu(struct allo_legacy *legacy, struct allo_error *err);

bool allo_legacy_is_contention(struct allo_text line);
bool allo_legacy_read_contention(struct allo_legacy *legacy, struct allo_error *err);

bool allo_legacy_is_threads(struct allo_text line);
bool allo_legacy_read_threads(struct allo_legacy *legacy, struct allo_error *err);

bool allo_legacy_is_counts(struct allo_text line);
bool allo_legacy_read_counts(struct allo_legacy *legacy, struct allo_error *err);

#endif
