/*
 * recorder_file.h - the file of a recording: its name and its descriptor.
 *
 * Where the file system supports it, the file gets its name after the head is written.  So a file
 * with that name is always a valid recording, however the process ends.
 */
#ifndef ALLO_CAPTURE_RECORDER_FILE_H
#define ALLO_CAPTURE_RECORDER_FILE_H

#include "capture/recorder.h"

/* Creates an unnamed file in the folder of the recording; links it under the first free name of the
 * pattern.  Both return false where the file system cannot do that. */
bool allo_recorder_file_create_unnamed(struct allo_recorder *r);
bool allo_recorder_file_link(struct allo_recorder *r);

/* Creates the file under the first free name of the pattern. */
bool allo_recorder_file_create(struct allo_recorder *r);

/* Makes sure that the descriptor is that of the file: opens it again if the program closed it. */
bool allo_recorder_file_is_open(struct allo_recorder *r);

void allo_recorder_file_close(struct allo_recorder *r);

/* Moves a descriptor out of the range that programs expect for theirs; returns the new one. */
long allo_fd_move_up(long fd);

/* True if the descriptor refers to this file.  Programs close descriptors that they do not know and
 * get the same number for their own file; and threads may have separate descriptors. */
bool allo_fd_is_file(int fd, dev_t device, ino_t inode);

#endif
