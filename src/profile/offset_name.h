/*
 * offset_name.h - names for functions of stripped modules: "git+0x1234a0".
 *
 * They have the module's name and the address of the function in the module's file, so they are
 * the same in every run of the same build.
 */
#ifndef ALLO_PROFILE_OFFSET_NAME_H
#define ALLO_PROFILE_OFFSET_NAME_H

#include "profile/profile.h"

/* The name of the function at `start`, in `out`.  Long names of modules are cut. */
enum { ALLO_OFFSET_NAME_SIZE = 112 };
struct allo_text allo_offset_name(struct allo_text module_path, uint64_t start,
				  char out[ALLO_OFFSET_NAME_SIZE]);

/* Whether it is such a name, of a function of this module. */
bool allo_is_offset_name(struct allo_text name, struct allo_text module_path);

/* Whether a call of a frame has such a name. */
bool allo_call_has_offset_name(const struct allo_profile *profile, const struct allo_frame *frame,
			       uint32_t call);

#endif
