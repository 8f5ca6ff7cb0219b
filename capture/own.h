/*
 * own.h - variables that are this library's alone.
 *
 * Without being told so where they are declared, compilers take a detour for those that other
 * libraries might have as well.
 */
#ifndef ALLO_CAPTURE_OWN_H
#define ALLO_CAPTURE_OWN_H

#define ALLO_OWN __attribute__((visibility("hidden")))

#endif
