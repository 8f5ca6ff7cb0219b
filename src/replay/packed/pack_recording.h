/*
 * pack_recording.h - packs a raw recording, to a tenth to a fiftieth of its size.
 */
#ifndef ALLO_REPLAY_PACK_RECORDING_H
#define ALLO_REPLAY_PACK_RECORDING_H

#include "base/error.h"
#include "base/io/input.h"
#include "base/io/output.h"

/* Packs a raw recording.  The output appears when it is complete and replaces a file of that name;
 * the raw recording stays.  `progress` may be NULL. */
bool allo_recording_pack(const char *raw_path, const char *out_path,
			 const struct allo_progress *progress, struct allo_error *err);

struct allo_name_tables;

/* The same, and stores names of frames (see stored_names.h).  `names` may be NULL.  A packed
 * recording is packed again, without its damaged parts. */
bool allo_recording_pack_named(const char *raw_path, const char *out_path,
			       const struct allo_output_options *output,
			       const struct allo_name_tables *names,
			       const struct allo_progress *progress, struct allo_error *err);

#endif
