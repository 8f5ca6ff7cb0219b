/*
 * portable_copy.h - a copy of a recording that needs no other file: packed, with names.
 *
 * Readable parts of a damaged or cut recording are copied.  The copy says what is missing.
 */
#ifndef ALLO_ENGINE_PORTABLE_COPY_H
#define ALLO_ENGINE_PORTABLE_COPY_H

#include "engine/redactor.h"
#include "engine/source.h"

/* Replaces the file `target`.  `redactor` may be NULL.  `notes` receives the gaps of the recording.
 */
bool allo_portable_copy(const char *path, const char *target,
			const struct allo_source_options *options, struct allo_redactor *redactor,
			struct allo_notes *notes, struct allo_error *err);

/* Writes any other profile with changed texts, in pprof's format. */
bool allo_redacted_profile(const char *path, const char *target,
			   const struct allo_source_options *options,
			   struct allo_redactor *redactor, struct allo_error *err);

#endif
