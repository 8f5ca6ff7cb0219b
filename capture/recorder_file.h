/*
 * recorder_file.h - the file that a recording is in: its name, and its descriptor.
 *
 * The name comes when the head is written, where the file system can do that, so that nobody ever
 * finds a file that is no recording yet, however the process ends.
 */
#ifndef ALLO_CAPTURE_RECORDER_FILE_H
#define ALLO_CAPTURE_RECORDER_FILE_H

#include "capture/recorder.h"

/* Makes a file without a name where the recording is to be, and gives it the first name of the
 * pattern that no file has.  False where there is no such thing. */
bool allo_recorder_file_create_unnamed(struct allo_recorder *r);
bool allo_recorder_file_link(struct allo_recorder *r);

/* Both at once. */
bool allo_recorder_file_create(struct allo_recorder *r);

/* Whether the descriptor is still that of the file, or can be again. */
bool allo_recorder_file_is_open(struct allo_recorder *r);

void allo_recorder_file_close(struct allo_recorder *r);

#endif
