/*
 * visibility.h - variables that are this library's alone.
 *
 * Without being told so where they are declared, compilers take a detour for those that other
 * libraries might have as well.
 */
#ifndef ALLO_CAPTURE_VISIBILITY_H
#define ALLO_CAPTURE_VISIBILITY_H

#define ALLO_HIDDEN __attribute__((visibility("hidden")))

#endif
