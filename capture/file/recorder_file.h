/*
 * recorder_file.h - the file of a recording: creating it under its name, and opening it.
 *
 * Where the file system supports it, the file gets its name after the head is written.  So a file
 * with that name is always a valid recording, however the process ends.
 *
 * No descriptor stays open: programs list, close and count their descriptors.  The file is opened
 * by its path for each operation, and closed before the hook returns.
 */
#ifndef ALLO_CAPTURE_RECORDER_FILE_H
#define ALLO_CAPTURE_RECORDER_FILE_H

#include "capture/file/recorder.h"

/* Creates an unnamed file in the folder of the recording; links it under the first free name of the
 * pattern.  Both return -errno, also where the file system cannot do that; the first returns the
 * descriptor, and the second 0. */
long allo_recorder_file_create_unnamed(struct allo_recorder *r);
long allo_recorder_file_link(struct allo_recorder *r, long unnamed);

/* Creates the file under the first free name of the pattern; returns its descriptor or -errno. */
long allo_recorder_file_create(struct allo_recorder *r);

/* Opens the file, also if it was renamed; returns a descriptor for allo_recorder_file_close, or
 * -errno. */
long allo_recorder_file_open(struct allo_recorder *r);
void allo_recorder_file_close(long fd);

/* In a child made by fork: closes the descriptor of a thread that had the file open meanwhile. */
void allo_recorder_file_forked(void);

/* Moves a descriptor out of the range that programs expect for theirs; returns the new one. */
long allo_fd_move_up(long fd);

/* True if the descriptor refers to this file.  Programs close descriptors that they do not know and
 * get the same number for their own file; and threads may have separate descriptors. */
bool allo_fd_is_file(int fd, dev_t device, ino_t inode);

#endif
