/*
 * input_files.h - directories of recordings, as 'allo run' makes them, in place of their files.
 *
 * NAME.d has the recordings of a run, except that of the program itself if that is NAME beside it.
 * Both belong to the run.
 */
#ifndef ALLO_ENGINE_INPUT_FILES_H
#define ALLO_ENGINE_INPUT_FILES_H

#include "base/arena.h"
#include "base/error.h"

/* Copies a list of files (NULL ends), and replaces each directory that has recordings by these,
 * sorted by name.  The arena owns the result.  NULL on failure. */
char **allo_input_files(char *const *files, struct allo_arena *arena, struct allo_error *err);

#endif
