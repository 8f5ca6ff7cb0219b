/*
 * pack_recording.h - the form in which a recording is kept: some ten to fifty times smaller than
 * raw.
 */
#ifndef ALLO_REPLAY_PACK_RECORDING_H
#define ALLO_REPLAY_PACK_RECORDING_H

#include "base/error.h"
#include "base/input.h"
#include "base/output.h"

/* Packs a raw recording into a file that appears when it is complete and replaces what there was of
 * that name; the raw one stays.  `progress` may be NULL. */
bool allo_recording_pack(const char *raw_path, const char *out_path,
			 const struct allo_progress *progress, struct allo_error *err);

struct allo_name_tables;

/* The same, with names of its frames in it (see stored_names.h), which may be NULL. */
bool allo_recording_pack_named(const char *raw_path, const char *out_path,
			       const struct allo_output_options *output,
			       const struct allo_name_tables *names,
			       const struct allo_progress *progress, struct allo_error *err);

#endif
