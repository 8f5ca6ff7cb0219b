/*
 * short_name.h - short names of functions, for people.
 *
 *     full name                                                      short name
 *     std::vector<char, std::allocator<char> >::vector(unsigned long)  std::vector<char>::vector
 *     <alloc::vec::Vec<T,A> as core::clone::Clone>::clone              Vec::clone
 *
 * A short C++ name has no parameters, return type, allocators, default template arguments, inline
 * and anonymous namespaces.  A short Rust name has no hashes, bounds, generic parameters and
 * modules of the standard library.  Both keep the function's own name.  Names of other languages
 * and names that cannot be parsed stay as they are.  The short name of a short name is the same.
 */
#ifndef ALLO_PROFILE_SHORT_NAME_H
#define ALLO_PROFILE_SHORT_NAME_H

#include "base/text.h"
#include "base/vec.h"

enum allo_name_detail {
	ALLO_NAME_BRIEF,
	/* For functions whose brief names are equal: with all template arguments, and parameters in
	 * C++, traits in Rust. */
	ALLO_NAME_DISTINCT,
};

/* All zeros is ready for use. */
struct allo_name_buffer {
	ALLO_VEC(char) text;
	bool has_failed; /* memory was short for one of the names */
};

void allo_name_buffer_done(struct allo_name_buffer *buffer);

/* The short form of a demangled name.  The text is `name` itself or in the buffer, where it
 * stays until the next call, with a NUL behind it.  Takes linear time; returns `name` when memory
 * is short, and sets buffer->has_failed. */
struct allo_text allo_short_name(struct allo_text name, enum allo_name_detail detail,
				 struct allo_name_buffer *buffer);

#endif
