/*
 * real.h - pointers to the functions that the hooks replace.
 */
#ifndef ALLO_CAPTURE_REAL_H
#define ALLO_CAPTURE_REAL_H

#include "capture/visibility.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allo_real {
	void *(*malloc)(size_t size);
	void (*free)(void *pointer);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *pointer, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **pointer, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	int (*dlclose)(void *handle);
	void *(*mmap)(void *address, size_t length, int protection, int flags, int fd,
		      off_t offset);
	int (*munmap)(void *address, size_t length);
	void *(*mremap)(void *old, size_t old_length, size_t length, int flags, ...);
	int (*brk)(void *end);
	void *(*sbrk)(intptr_t increment);
	void (*_exit)(int status);
	void (*_Exit)(int status);
	int (*execve)(const char *path, char *const arguments[], char *const environment[]);
	int (*execvpe)(const char *file, char *const arguments[], char *const environment[]);
	int (*fexecve)(int fd, char *const arguments[], char *const environment[]);
	int (*execveat)(int fd, const char *path, char *const arguments[],
			char *const environment[], int flags);
	int (*posix_spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const arguments[],
			   char *const environment[]);
	int (*posix_spawnp)(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			    const posix_spawnattr_t *attributes, char *const arguments[],
			    char *const environment[]);
	int (*sigaction)(int signal, const struct sigaction *action, struct sigaction *before);
	void (*(*signal)(int signal, void (*handler)(int)))(int);
	void (*(*__sysv_signal)(int signal, void (*handler)(int)))(int);
	int (*prctl)(int option, ...);
	int (*chroot)(const char *path);
	int (*setuid)(uid_t user);
	int (*setgid)(gid_t group);
	int (*seteuid)(uid_t user);
	int (*setegid)(gid_t group);
	int (*setreuid)(uid_t real, uid_t effective);
	int (*setregid)(gid_t real, gid_t effective);
	int (*setresuid)(uid_t real, uid_t effective, uid_t saved);
	int (*setresgid)(gid_t real, gid_t effective, gid_t saved);
	int (*setgroups)(size_t count, const gid_t *groups);
	int (*initgroups)(const char *user, gid_t group);
	int (*capset)(void *header, const void *data);
	int (*unshare)(int flags);
	int (*setns)(int fd, int kind);
	long (*syscall)(long number, long a, long b, long c, long d, long e, long f);
};

/* Until the real functions are found, malloc, calloc, realloc and free use a small early heap, and
 * the mapping functions and prctl call the kernel.  brk and sbrk fail, and the other
 * pointers are NULL. */
ALLO_HIDDEN extern struct allo_real allo_real;

/* The early heap; its blocks are never freed. */
enum { ALLO_EARLY_SIZE = 16 << 10 };
ALLO_HIDDEN extern char allo_early[ALLO_EARLY_SIZE];

static inline bool allo_is_early(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)allo_early < ALLO_EARLY_SIZE;
}

/* malloc() behind ours, also if allo_real has another way to it: in the module of the allocator. */
ALLO_HIDDEN extern void *allo_real_malloc_entry;

/* Finds the real functions with dlsym. */
void allo_real_find(void);

/* True if two functions are in the same module. */
bool allo_are_in_one_module(void *one, void *other);

#endif
