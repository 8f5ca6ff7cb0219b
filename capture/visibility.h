/*
 * visibility.h - marks variables of the runtime that other modules never see.
 *
 * Without the mark at the declaration, compilers access them through the GOT, since another library
 * might define them too.
 */
#ifndef ALLO_CAPTURE_VISIBILITY_H
#define ALLO_CAPTURE_VISIBILITY_H

#define ALLO_HIDDEN __attribute__((visibility("hidden")))

#endif
