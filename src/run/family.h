/*
 * family.h - the files of a run: the recording NAME of the program, and the directory NAME.d with
 * those of all other processes and programs.
 *
 * The runtime creates both where they belong, so that nothing is lost if everything is killed.
 * After the run, they are put in order.
 */
#ifndef ALLO_RUN_FAMILY_H
#define ALLO_RUN_FAMILY_H

#include "run/recordings.h"

/* The directory of the recordings, to be freed; NULL if there is none.  `output` is the path of
 * the program's recording; NULL: a name in the current directory that depends on its pid. */
char *allo_family_find(const struct allo_recordings *recordings, const char *output);

/* Whether a file is directly in a directory. */
bool allo_family_has(const char *family, const char *path);

/* Gives the name `output`, which the first program of a process has, to its last one, `own`: a
 * program such as env(1) executes another one. */
void allo_family_claim(struct allo_recordings *recordings, struct allo_recorded *own,
		       const char *output);

/* Moves the program's recording into the directory, under the name of its program, unless it is
 * still written to. */
void allo_family_gather(struct allo_recordings *recordings, const char *family);

/* Removes the recordings in a directory, and the directory if nothing else is in it. */
void allo_family_remove(const char *family);

#endif
