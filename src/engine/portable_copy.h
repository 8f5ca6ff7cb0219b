/*
 * portable_copy.h - a copy of a recording that needs no other file: packed, with names.
 *
 * Readable parts of a damaged or cut recording are copied.  The copy says what is missing.
 */
#ifndef ALLO_ENGINE_PORTABLE_COPY_H
#define ALLO_ENGINE_PORTABLE_COPY_H

#include "engine/source.h"

/* Replaces the file `target`.  `notes` receives the gaps of the recording. */
bool allo_portable_copy(const char *path, const char *target,
			const struct allo_source_options *options, struct allo_notes *notes,
			struct allo_error *err);

#endif
