/*
 * sandbox.h - recording in a program that restricts itself: seccomp filters, chroot, setuid.
 *
 * A seccomp filter may kill the program at a system call that it does not expect, such as ours.  So
 * the filter is evaluated for the calls of the runtime before it is installed.  If it refuses one,
 * the runtime makes no system call any more: events go to a part of the file that was mapped
 * before, and the recording ends when that is full.  Filters that are installed without libc's
 * prctl() and syscall() are not seen.
 */
#ifndef ALLO_CAPTURE_SANDBOX_H
#define ALLO_CAPTURE_SANDBOX_H

#include <stdbool.h>

/* Before the program makes a system call by which it may restrict itself: a filter, prctl(), or one
 * that changes its access to files.  Returns true if the runtime makes no more system calls.  Call
 * allo_sandbox_failed if the call then fails. */
bool allo_sandbox_prepare(long number, long a, long b, long c);
void allo_sandbox_failed(void);

/* In a child that cannot be recorded in the sandbox: counts it in the recording of its parent. */
void allo_sandbox_count_child(void);

#endif
