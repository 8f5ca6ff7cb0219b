/*
 * demangle.h - names of C++, Rust and D as people write them.
 */
#ifndef ALLO_SYMBOLS_DEMANGLE_H
#define ALLO_SYMBOLS_DEMANGLE_H

#include "base/text.h"
#include "base/vec.h"

enum {
	/* Longer ones stay as they are: in mangled and in readable form. */
	ALLO_MANGLED_MAX = 32 << 10,
	ALLO_DEMANGLED_MAX = 64 << 10,
};

/* All zeros is ready for use. */
struct allo_demangler {
	ALLO_VEC(char) mangled, readable;
};

void allo_demangler_done(struct allo_demangler *demangler);

/* Whether a name is one of C++, Rust or D, by its first letters. */
bool allo_is_mangled(struct allo_text name);

/*
 * What people call a function that linkers call `name`.  The marks of copies that compilers make of
 * a function (".cold", ".part.0") and of a symbol's version ("@@GLIBC_2.34") are dropped.  Names of
 * Rust that somebody has taken for C++'s are mended.  What cannot be made readable, or not within
 * the limits above, comes back as it is.  The text lies in `name` or in the demangler, where it
 * stays until the next call.
 */
struct allo_text allo_demangle(struct allo_demangler *demangler, struct allo_text name);

#endif
