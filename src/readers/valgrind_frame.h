/*
 * valgrind_frame.h - a frame as Valgrind's tools and the dhat crate print it.
 *
 *     0x109C54: std::vector<int>::push_back(int&&) (vector.h:1203)
 *     0x4E5D2A: CRYPTO_malloc (in /usr/lib/x86_64-linux-gnu/libcrypto.so.3)
 *     0x10c3a1: alloc::alloc::alloc (alloc/src/alloc.rs:98:9)
 */
#ifndef ALLO_READERS_VALGRIND_FRAME_H
#define ALLO_READERS_VALGRIND_FRAME_H

#include "base/text.h"

struct allo_valgrind_frame {
	uint64_t address;
	struct allo_text name;   /* empty when unknown ("???") */
	struct allo_text file;   /* empty when unknown */
	struct allo_text object; /* the program or library; empty when not told */
	uint32_t line, column;   /* 0 when unknown */
};

/* Parts of `text`.  False when it does not start with an address: then all of it is the name. */
bool allo_valgrind_frame_parse(struct allo_text text, struct allo_valgrind_frame *frame);

#endif
