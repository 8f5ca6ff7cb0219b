/*
 * ownership.h - tells the program's own code from libraries.
 *
 * By path: a module or source file in a folder of the system, a toolchain or a package manager is a
 * library's; all others are own code.  The executable is always own code, wherever it is installed:
 * its user profiles this program.  So is a library that has its name: libjq.so of jq, libpython3.11
 * of python3, since such an executable contains little more than main().
 */
#ifndef ALLO_ANALYSIS_OWNERSHIP_H
#define ALLO_ANALYSIS_OWNERSHIP_H

#include "profile/profile.h"

/* All zeros is ready for use.  It serves one profile, which may grow. */
struct allo_ownership {
	/* Private. */
	ALLO_VEC(uint8_t) modules;   /* by module: enum verdict */
	ALLO_VEC(uint8_t) functions; /* by function, without its module: the same */
	struct allo_map executables; /* one module for each name of an executable */
	size_t seen_modules;         /* in the search for executables */
};

void allo_ownership_done(struct allo_ownership *ownership);

/* Whether one of a frame's calls is own code. */
bool allo_is_own_call(struct allo_ownership *ownership, const struct allo_profile *profile,
		      const struct allo_frame *frame, uint32_t call);

/* The same for a function, file and module alone; each may be empty. */
bool allo_is_own_code(struct allo_ownership *ownership, const struct allo_profile *profile,
		      struct allo_text function, struct allo_text file, struct allo_text module);

/* Whether a path is that of a library's source file or header. */
bool allo_is_library_file(struct allo_text path);

#endif
