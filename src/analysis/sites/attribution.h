/*
 * attribution.h - finds the call that is responsible for an allocation: its site.
 *
 * The site is the innermost call that a maintainer would name as the cause.  Calls inside it are
 * passed over: allocators, their wrappers, containers and language runtimes.
 *
 *   - known_code.h knows most of them by name or module.
 *   - wrappers.h detects others by their shape.
 *   - A function of an interpreted program (Python, JavaScript) is the site of all native code that
 *     it calls.  Functions of its standard library are passed over, unless there is no other.
 *   - A function without a name is the site only if no function of its module with a name, such as
 *     an exported one, called it.
 *   - A stack without any other call belongs to its innermost call that is not an allocator's; a
 *     stack of allocator calls belongs to the outermost one.
 *
 * In profiles of other things than memory, such as CPU time, only allocators are passed over.
 */
#ifndef ALLO_ANALYSIS_ATTRIBUTION_H
#define ALLO_ANALYSIS_ATTRIBUTION_H

#include "analysis/sites/known_code.h"
#include "base/assert.h"
#include "profile/profile.h"

enum allo_wrappers {
	ALLO_WRAPPERS_AUTO,  /* pass over known and detected wrappers */
	ALLO_WRAPPERS_KNOWN, /* only known ones */
	ALLO_WRAPPERS_NONE,  /* only allocators */
};

enum { ALLO_ATTRIBUTION_NAMES = 32 };

/* "auto", "known", "none"; NULL ends. */
extern const char *const allo_wrappers_names[];

/* A frame, if it were the innermost one.  It has all that a walk along a stack needs, in few bytes:
 * the frames of a large profile are scattered over memory. */
struct allo_frame_role {
	uint32_t call;         /* of the frame: the one that would be responsible */
	allo_module_id module; /* of the frame */
	uint8_t role;          /* of that call: enum allo_role */
	bool is_main;          /* the frame is of main() */
};

/* Values of the samples that passed a frame. */
struct allo_passed_frame {
	double whole;   /* the site is farther out */
	double inlined; /* the site is the frame; they passed functions inlined into it */
};

/* All zeros with `wrappers` and `names` set is ready for use.  It serves one profile. */
struct allo_attribution {
	enum allo_wrappers wrappers;
	const char *names[ALLO_ATTRIBUTION_NAMES]; /* further wrappers */
	size_t name_count;

	/* Private. */
	ALLO_VEC(uint8_t) functions;    /* roles by function */
	ALLO_VEC(uint8_t) modules;      /* by module */
	ALLO_VEC(bool) detected;        /* by string: functions of this name are wrappers */
	ALLO_VEC(bool) detected_frames; /* by frame without a name: the same */
	ALLO_VEC(struct allo_frame_role) frames;   /* by frame */
	ALLO_VEC(struct allo_passed_frame) passed; /* by frame */
	size_t seen_functions;                     /* in the search for Rust code and scripts */
	bool is_rust, has_scripts, has_learned;
};

void allo_attribution_done(struct allo_attribution *attribution);

/* Forgets the profile, to serve another one.  The settings stay. */
void allo_attribution_restart(struct allo_attribution *attribution);

/* Prepares for the frames of a profile, or of its next portion.  The first call detects wrappers,
 * so it should see all samples or a large portion of them, before any filter. */
bool allo_attribution_learn(struct allo_attribution *attribution,
			    const struct allo_profile *profile, struct allo_error *err);

/* Whether a call of a role is skipped, and worth a mention. */
static inline bool allo_role_is_passed(enum allo_role role)
{
	return role == ALLO_ROLE_WRAPPER || role == ALLO_ROLE_LIBRARY ||
	       role == ALLO_ROLE_SCRIPT_LIBRARY;
}

/* Whether functions of a name are wrappers by their shape. */
static inline bool allo_attribution_detects(const struct allo_attribution *attribution,
					    allo_string_id name)
{
	return name < attribution->detected.len && attribution->detected.at[name];
}

/* Private: the role of a frame that was not asked for before. */
struct allo_frame_role allo_attribution_judge(struct allo_attribution *attribution,
					      const struct allo_profile *profile, allo_frame_id id);

/* The role of a frame.  The frame must be older than the last allo_attribution_learn(). */
static inline struct allo_frame_role allo_attribution_frame(struct allo_attribution *attribution,
							    const struct allo_profile *profile,
							    allo_frame_id id)
{
	struct allo_frame_role *known = &attribution->frames.at[id];

	ALLO_ASSERT(id < attribution->frames.len);
	if (known->role == ALLO_ROLE_NONE)
		*known = allo_attribution_judge(attribution, profile, id);
	return *known;
}

/* The role of one of a frame's calls. */
enum allo_role allo_attribution_call(struct allo_attribution *attribution,
				     const struct allo_profile *profile, allo_frame_id id,
				     uint32_t call);

/* The part of a stack from its site outwards; the site is the call of its innermost frame that
 * allo_attribution_frame() names.  `attribution` may be NULL: then it is the whole stack. */
allo_stack_id allo_attribution_site(struct allo_attribution *attribution,
				    const struct allo_profile *profile, allo_stack_id stack);

/* The responsible call of a site's innermost frame.  `attribution` may be NULL. */
static inline uint32_t allo_attribution_site_call(struct allo_attribution *attribution,
						  const struct allo_profile *profile,
						  allo_stack_id site)
{
	return attribution && site ? allo_attribution_frame(attribution, profile,
							    profile->stacks.at[site].frame)
					     .call
				   : 0;
}

/* Counts a value that passed the calls between a stack's innermost call and its site. */
void allo_attribution_pass(struct allo_attribution *attribution, const struct allo_profile *profile,
			   allo_stack_id stack, allo_stack_id site, double value);

/* The wrappers and libraries that samples have passed. */
enum { ALLO_PASSED_NAMES = 4, ALLO_PASSED_NAME_MAX = 128 };

struct allo_passed_code {
	char names[ALLO_PASSED_NAMES][ALLO_PASSED_NAME_MAX]; /* those with the most values first */
	size_t count;
	size_t others; /* that are not listed */
};

bool allo_attribution_passed(struct allo_attribution *attribution,
			     const struct allo_profile *profile, struct allo_passed_code *passed,
			     struct allo_error *err);

#endif
