/*
 * own_file.h - the file that a recording is in: its name, and its descriptor.
 *
 * The name comes when the head is written, where the file system can do that, so that nobody ever
 * finds a file that is no recording yet, however the process ends.
 */
#ifndef ALLO_CAPTURE_OWN_FILE_H
#define ALLO_CAPTURE_OWN_FILE_H

#include "capture/own_recording.h"

/* Makes a file without a name where the recording is to be, and gives it the first name of the
 * pattern that no file has.  False where there is no such thing. */
bool allo_own_file_make(struct allo_recording *r);
bool allo_own_file_name(struct allo_recording *r);

/* Both at once. */
bool allo_own_file_make_named(struct allo_recording *r);

/* Whether the descriptor is still that of the file, or can be again. */
bool allo_own_file_is_open(struct allo_recording *r);

void allo_own_file_close(struct allo_recording *r);

#endif
