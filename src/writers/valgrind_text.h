/*
 * valgrind_text.h - frames as Valgrind's tools and the dhat crate print them.
 *
 *     0x109C54: std::vector<int>::push_back(int&&) (vector.h:1203)
 *     0x4E5D2A: CRYPTO_malloc (in /usr/lib/x86_64-linux-gnu/libcrypto.so.3)
 *     0x10c3a1: alloc::alloc::alloc (alloc/src/alloc.rs:98:9)
 */
#ifndef ALLO_WRITERS_VALGRIND_TEXT_H
#define ALLO_WRITERS_VALGRIND_TEXT_H

#include "writers/printed.h"

enum allo_frame_style {
	ALLO_FRAME_DHAT,
	ALLO_FRAME_MASSIF, /* never columns: massif-visualizer would take one for the line */
	ALLO_FRAME_CRATE,
};

/* Appends one of a frame's calls; false when memory is short. */
bool allo_chars_add_valgrind_frame(struct allo_chars *out, const struct allo_profile *profile,
				   const struct allo_frame *frame, uint32_t call,
				   enum allo_frame_style style);

#endif
