/*
 * defer.h - what a scope owns is given back when the scope ends, by whichever return.
 *
 *     ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
 */
#ifndef ALLO_BASE_DEFER_H
#define ALLO_BASE_DEFER_H

/* `done` takes a pointer to the variable; an all-zero variable must be safe to hand to it. */
#define ALLO_DEFER(done) __attribute__((cleanup(done)))

/* For a plain `char *` or the like from malloc(). */
void allo_free_pointer(void *pointer_to_pointer);

/* For a descriptor; -1 is none. */
void allo_close_fd(int *fd);

#endif
