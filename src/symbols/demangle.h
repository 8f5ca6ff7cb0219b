/*
 * demangle.h - readable names of C++, Rust and D functions.
 */
#ifndef ALLO_SYMBOLS_DEMANGLE_H
#define ALLO_SYMBOLS_DEMANGLE_H

#include "profile/profile.h"

enum {
	/* Bytes of a mangled and of a readable name; longer ones stay mangled. */
	ALLO_MANGLED_MAX = 32 << 10,
	ALLO_DEMANGLED_MAX = 64 << 10,
	/* Longer names are cut. */
	ALLO_FUNCTION_NAME_MAX = 1 << 20,
};

/* All zeros is ready for use. */
struct allo_demangler {
	ALLO_VEC(char) mangled, readable;
};

void allo_demangler_done(struct allo_demangler *demangler);

/* Whether a name is mangled by C++, Rust or D, by its first letters. */
bool allo_is_mangled(struct allo_text name);

/*
 * The readable form of a function's linker name.  Drops the suffixes of copies that compilers make
 * (".cold", ".part.0") and of symbol versions ("@@GLIBC_2.34").  Repairs Rust names that another
 * program demangled as C++.  Returns `name` if it cannot be demangled within the limits above.  The
 * text is in `name` or in the demangler, where it stays until the next call.
 */
struct allo_text allo_demangle(struct allo_demangler *demangler, struct allo_text name);

/* Adds functions to one profile by their linker names.  All zeros is ready for use. */
struct allo_function_names {
	struct allo_demangler demangler;
	ALLO_VEC(allo_string_id) readable; /* by string; 0: not demangled yet */
	uint64_t bytes; /* of names so far: those of a hostile file share one long string */
};

void allo_function_names_done(struct allo_function_names *names);

/* Adds the function with the linker name `name`, which must not be empty; 0 when memory is short.
 * After 256 MiB of names further ones are "???", unless inputs are trusted (base/trust.h). */
allo_function_id allo_function_names_add(struct allo_function_names *names,
					 struct allo_profile *profile, struct allo_text name,
					 allo_string_id file, uint32_t start_line,
					 struct allo_error *err);

#endif
