/*
 * merged_profile.h - several files as one profile.
 */
#ifndef ALLO_ENGINE_MERGED_PROFILE_H
#define ALLO_ENGINE_MERGED_PROFILE_H

#include "engine/source.h"

/* Reads and merges all files (NULL ends).  With a label key, each sample gets a label whose value
 * is the file's name.  Notes to the host which metrics some files lack. */
bool allo_read_merged(char **files, const struct allo_source_options *options,
		      const struct allo_profile_request *request, const char *label_key,
		      struct allo_profile *profile, struct allo_error *err);

#endif
