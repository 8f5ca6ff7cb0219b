/*
 * seccomp_filter.h - evaluates a seccomp filter, as the kernel does for each system call.
 */
#ifndef ALLO_CAPTURE_SECCOMP_FILTER_H
#define ALLO_CAPTURE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

/* True if the filter lets the call through.  False for a program that the kernel would refuse. */
bool allo_seccomp_allows(const struct sock_fprog *filter, const struct seccomp_data *call);

#endif
