/*
 * patch.h - makes functions jump to replacements at their entry.
 *
 * Symbols of preloaded libraries do not come before those that a program has linked itself to: its
 * own malloc, calls within a library, pointers that were taken before.  There the first bytes of
 * the function become a jump.  The instructions that were there are moved to a trampoline, and end
 * with a jump to the rest: calling that is calling the original.
 *
 * Prepare all patches, seal, then apply each; or let another process that has stopped all threads
 * write `new_bytes` to `entry`.  A thread may stand within the bytes that change only then: it has
 * entry < pc < entry + length, and must be stepped out.  One thread at a time may call these
 * functions.
 */
#ifndef ALLO_CAPTURE_PATCH_H
#define ALLO_CAPTURE_PATCH_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a function is left alone. */
enum allo_patch_refusal {
	ALLO_PATCH_FINE,
	ALLO_PATCH_CALL,    /* a call among the first instructions: it would return to the copy */
	ALLO_PATCH_LOOP,    /* a branch that cannot reach far */
	ALLO_PATCH_END,     /* the function ends before the jump would */
	ALLO_PATCH_BRANCH,  /* the function branches back into its first instructions */
	ALLO_PATCH_UNKNOWN, /* an instruction that is not known, or not in a module's code */
	ALLO_PATCH_LANDING, /* indirect calls need the first instruction where it is */
	ALLO_PATCH_FAR,     /* no free memory near, or the instructions refer to distant data */
	ALLO_PATCH_LEAF,    /* callers may know which registers it leaves alone */
	ALLO_PATCH_NO_EXEC, /* the process may not make memory executable, or change code */
	ALLO_PATCH_REFUSALS
};

enum { ALLO_PATCH_MAX = 8 };

struct allo_patch {
	uint64_t entry;  /* the first byte to change: behind jumps and landing instructions */
	uint32_t length; /* number of bytes */
	enum allo_patch_refusal refusal;
	uint8_t old_bytes[ALLO_PATCH_MAX], new_bytes[ALLO_PATCH_MAX];
};

/* The function that is reached from `function` by direct jumps: linkers and compilers make
 * functions that only jump.  Patch each of these once, under whatever name. */
const void *allo_patch_target(const void *function);

/* Makes a trampoline; *original then calls the function as it was, once sealed.  `size` is the size
 * of the function, or 0 if that is not known.  Writes nothing to the function.  False, with a
 * refusal, if the function cannot be patched safely. */
bool allo_patch_prepare(struct allo_patch *patch, const void *function, size_t size,
			void *replacement, void **original);

/* The same; the replacement gets `context` as its sixth argument, so one can serve many functions
 * that have at most five. */
bool allo_patch_prepare_with(struct allo_patch *patch, const void *function, size_t size,
			     void *replacement, void *context, void **original);

/*
 * Whether the callers of a function expect it to change any register that functions may change.
 * Compilers know better of a function in the same source: its callers keep values in registers that
 * it does not use, and do not align the stack for it (gcc's -fipa-ra).  A replacement would destroy
 * them.  Nothing is known of a function that calls code of other libraries.
 */
bool allo_patch_may_change_registers(const void *function);

/* Makes all prepared trampolines executable.  False if that is not allowed: forget the patches. */
bool allo_patch_seal(void);

/* Writes the jump, in this process, which must have no other thread. */
bool allo_patch_apply(struct allo_patch *patch);

/* Writes the old bytes back, under the same condition.  The trampoline stays. */
bool allo_patch_undo(struct allo_patch *patch);

/* A phrase for messages: "calls another function at once". */
const char *allo_patch_refusal_text(enum allo_patch_refusal refusal);

#endif
