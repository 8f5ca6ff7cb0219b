/*
 * defer.h - cleanup at the end of a scope, by the compiler's cleanup attribute.
 *
 *     ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
 */
#ifndef ALLO_BASE_DEFER_H
#define ALLO_BASE_DEFER_H

/* Calls `done` with a pointer to the variable at every way out of its scope.  `done` must accept an
 * all-zero variable. */
#define ALLO_DEFER(done) __attribute__((cleanup(done)))

/* Frees a pointer from malloc(). */
void allo_free_pointer(void *pointer_to_pointer);

/* Closes a descriptor; -1 is none. */
void allo_close_fd(int *fd);

#endif
