/* attribution.c - roles of functions, modules and frames, each judged once; then sites. */
#include "analysis/sites/attribution.h"

#include "analysis/sites/function_names.h"
#include "analysis/sites/wrappers.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "profile/offset_name.h"
#include "profile/short_name.h"

#include <stdio.h>
#include <stdlib.h>

const char *const allo_wrappers_names[] = { "auto", "known", "none", NULL };

/* Frames to look through for the site.  A hostile file may have stacks of a million frames that
 * are all passed. */
enum { LOOK_MAX = 256 };

void allo_attribution_done(struct allo_attribution *attribution)
{
	allo_vec_done(&attribution->functions);
	allo_vec_done(&attribution->modules);
	allo_vec_done(&attribution->detected);
	allo_vec_done(&attribution->detected_frames);
	allo_vec_done(&attribution->frames);
	allo_vec_done(&attribution->passed);
}

void allo_attribution_restart(struct allo_attribution *attribution)
{
	struct allo_attribution fresh = { .wrappers = attribution->wrappers,
					  .name_count = attribution->name_count };

	memcpy(fresh.names, attribution->names, sizeof(fresh.names));
	allo_attribution_done(attribution);
	*attribution = fresh;
}

/* Functions and modules. */

/* The user may know the full name, the name without parameters, or the one in tables. */
static bool is_named_wrapper(const struct allo_attribution *attribution, struct allo_text name)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	struct allo_text qualified = allo_qualified_name(name), brief = name;

	if (attribution->name_count > 0)
		brief = allo_short_name(name, ALLO_NAME_BRIEF, &buffer);
	for (size_t i = 0; i < attribution->name_count; i++) {
		struct allo_text wanted = allo_text_of(attribution->names[i]);

		if (allo_text_equal(name, wanted) || allo_text_equal(qualified, wanted) ||
		    allo_text_equal(brief, wanted))
			return true;
	}
	return false;
}

/* `module` is the path of the function's module, or empty. */
static enum allo_role judge_function(const struct allo_attribution *attribution,
				     const struct allo_profile *profile, allo_function_id id,
				     struct allo_text module)
{
	const struct allo_function *function = &profile->functions.at[id];
	struct allo_text name = allo_judged_name(profile, function);
	enum allo_role role = allo_known_function(name, allo_profile_text(profile, function->file),
						  attribution->is_rust)
				      .role;

	if (role == ALLO_ROLE_CODE && (is_named_wrapper(attribution, name) ||
				       allo_attribution_detects(attribution, function->name)))
		return ALLO_ROLE_WRAPPER;
	if (attribution->wrappers == ALLO_WRAPPERS_NONE && role != ALLO_ROLE_ALLOCATOR)
		return ALLO_ROLE_CODE;
	return allo_is_offset_name(name, module) ? ALLO_ROLE_NAMELESS : role;
}

static enum allo_role function_role(struct allo_attribution *attribution,
				    const struct allo_profile *profile, allo_function_id id,
				    allo_module_id module)
{
	uint8_t *role = &attribution->functions.at[id];

	if (*role == ALLO_ROLE_NONE)
		*role = (uint8_t)judge_function(
			attribution, profile, id,
			module ? allo_profile_text(profile, profile->modules.at[module].path)
			       : ALLO_TEXT(""));
	return *role;
}

static enum allo_role module_role(struct allo_attribution *attribution,
				  const struct allo_profile *profile, allo_module_id id)
{
	struct allo_text path = allo_profile_text(profile, profile->modules.at[id].path);
	uint8_t *role = &attribution->modules.at[id];

	if (*role == ALLO_ROLE_NONE && attribution->wrappers == ALLO_WRAPPERS_NONE)
		*role = ALLO_ROLE_CODE;
	else if (*role == ALLO_ROLE_NONE)
		*role = (uint8_t)allo_known_module(path).role;
	return *role;
}

enum allo_role allo_attribution_call(struct allo_attribution *attribution,
				     const struct allo_profile *profile, allo_frame_id id,
				     uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	allo_function_id function = allo_call_line(profile, frame, call).function;
	enum allo_role role = ALLO_ROLE_NAMELESS, of_module = ALLO_ROLE_CODE;

	ALLO_ASSERT(function < attribution->functions.len || function == 0);
	if (function && profile->functions.at[function].name)
		role = function_role(attribution, profile, function, frame->module);
	else if (attribution->wrappers == ALLO_WRAPPERS_NONE)
		role = ALLO_ROLE_CODE;
	else if (id < attribution->detected_frames.len && attribution->detected_frames.at[id])
		role = ALLO_ROLE_WRAPPER;
	if (frame->module)
		of_module = module_role(attribution, profile, frame->module);
	return of_module == ALLO_ROLE_LIBRARY && role <= ALLO_ROLE_NAMELESS ? of_module : role;
}

/* Frames. */

/* Which of two calls of a frame is rather responsible; the inner one among equals. */
static unsigned rank_of(enum allo_role role)
{
	switch (role) {
	case ALLO_ROLE_SCRIPT:
		return 3;
	case ALLO_ROLE_CODE:
	case ALLO_ROLE_NAMELESS:
		return 2;
	case ALLO_ROLE_ALLOCATOR:
		return 0;
	default:
		return 1;
	}
}

static bool is_main(const struct allo_profile *profile, const struct allo_frame *frame)
{
	char scratch[ALLO_NAME_SCRATCH];

	return allo_text_equal(
		allo_call_name(profile, frame, allo_frame_call_count(frame) - 1, scratch),
		ALLO_TEXT("main"));
}

struct allo_frame_role allo_attribution_judge(struct allo_attribution *attribution,
					      const struct allo_profile *profile, allo_frame_id id)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	uint32_t count = allo_frame_call_count(frame);
	struct allo_frame_role best = { .call = count - 1,
					.module = frame->module,
					.role = ALLO_ROLE_ALLOCATOR,
					.is_main = is_main(profile, frame) };

	for (uint32_t call = 0; call < count; call++) {
		enum allo_role role = allo_attribution_call(attribution, profile, id, call);

		if (rank_of(role) > rank_of((enum allo_role)best.role)) {
			best.call = call;
			best.role = (uint8_t)role;
		}
	}
	return best;
}

/* Sites. */

/* The stacks that a walk from the innermost frame has found. */
struct walk {
	allo_stack_id site;
	allo_stack_id nameless;         /* the innermost function without a name */
	allo_module_id nameless_module; /* its module */
	allo_stack_id other;            /* the innermost call that is not an allocator's */
	allo_stack_id script_library;   /* the innermost function of an interpreter's own library */
	allo_stack_id outermost;        /* so far */
};

/* A function with a name, behind one without: it is responsible if it is of the same module.  But
 * main() calls everything, so the address says more. */
static allo_stack_id named_or_nameless(const struct walk *walk, allo_stack_id stack,
				       struct allo_frame_role frame)
{
	if (!walk->nameless || (frame.module == walk->nameless_module && !frame.is_main))
		return stack;
	return walk->nameless;
}

static void take_frame(struct walk *walk, allo_stack_id stack, struct allo_frame_role frame)
{
	walk->outermost = stack;
	if (frame.role == ALLO_ROLE_ALLOCATOR)
		return;
	if (!walk->other)
		walk->other = stack;
	if (frame.role == ALLO_ROLE_CODE) {
		walk->site = named_or_nameless(walk, stack, frame);
	} else if (frame.role == ALLO_ROLE_NAMELESS && !walk->nameless) {
		walk->nameless = stack;
		walk->nameless_module = frame.module;
	} else if (walk->nameless && frame.module != walk->nameless_module) {
		walk->site = walk->nameless;
	}
}

allo_stack_id allo_attribution_site(struct allo_attribution *attribution,
				    const struct allo_profile *profile, allo_stack_id stack)
{
	struct walk walk = { 0 };

	if (!attribution)
		return stack;
	for (unsigned i = 0; stack != 0 && i < LOOK_MAX; i++) {
		struct allo_frame_role frame = allo_attribution_frame(
			attribution, profile, profile->stacks.at[stack].frame);

		if (frame.role == ALLO_ROLE_SCRIPT)
			return stack;
		if (frame.role == ALLO_ROLE_SCRIPT_LIBRARY && !walk.script_library)
			walk.script_library = stack;
		if (!walk.site)
			take_frame(&walk, stack, frame);
		if (walk.site && !attribution->has_scripts)
			break;
		stack = profile->stacks.at[stack].parent;
	}
	if (walk.script_library)
		return walk.script_library;
	if (walk.site || walk.nameless)
		return walk.site ? walk.site : walk.nameless;
	return walk.other ? walk.other : walk.outermost;
}

/* Passed code. */

void allo_attribution_pass(struct allo_attribution *attribution, const struct allo_profile *profile,
			   allo_stack_id stack, allo_stack_id site, double value)
{
	ALLO_ASSERT(attribution->passed.len >= profile->frames.len);
	for (; stack != site; stack = profile->stacks.at[stack].parent)
		attribution->passed.at[profile->stacks.at[stack].frame].whole += value;
	if (site)
		attribution->passed.at[profile->stacks.at[site].frame].inlined += value;
}

/* A name in the list of passed code. */
struct passed_name {
	struct allo_text name; /* in the profile, or of a library */
	double value;
};

struct passed_names {
	ALLO_VEC(struct passed_name) list;
	struct allo_map map;
	struct allo_arena arena;
	struct allo_name_buffer buffer;
};

static void passed_names_done(struct passed_names *names)
{
	allo_vec_done(&names->list);
	allo_map_done(&names->map);
	allo_arena_done(&names->arena);
	allo_name_buffer_done(&names->buffer);
}

static bool add_name(struct passed_names *names, struct allo_text name, double value,
		     struct allo_error *err)
{
	uint64_t hash = allo_hash_bytes(name.data, name.len, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&names->map, hash);
	struct passed_name added = { .value = value };
	uint32_t number;

	while ((number = allo_map_next(&names->map, &probe)) != 0) {
		if (allo_text_equal(names->list.at[number - 1].name, name)) {
			names->list.at[number - 1].value += value;
			return true;
		}
	}
	added.name = (struct allo_text){ allo_arena_copy(&names->arena, name.data, name.len),
					 name.len };
	if (!added.name.data)
		return allo_fail_memory(err);
	return allo_vec_add(&names->list, added, err) &&
	       allo_map_add(&names->map, hash, (uint32_t)names->list.len, err);
}

/* The library that a call belongs to; NULL: it is a single function. */
static const char *library_of(const struct allo_attribution *attribution,
			      const struct allo_profile *profile, const struct allo_frame *frame,
			      uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_known_code known = { 0 };

	if (line.function)
		known = allo_known_function(
			allo_judged_name(profile, &profile->functions.at[line.function]),
			allo_line_file(profile, line), attribution->is_rust);
	if (!known.library && frame->module)
		known = allo_known_module(
			allo_profile_text(profile, profile->modules.at[frame->module].path));
	return known.library;
}

static bool add_calls(struct passed_names *names, struct allo_attribution *attribution,
		      const struct allo_profile *profile, allo_frame_id id, struct allo_error *err)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	const struct allo_passed_frame *passed = &attribution->passed.at[id];
	uint32_t inlined = allo_attribution_frame(attribution, profile, id).call;

	for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
		enum allo_role role = allo_attribution_call(attribution, profile, id, call);
		double value = passed->whole + (call < inlined ? passed->inlined : 0);
		char scratch[ALLO_NAME_SCRATCH];
		const char *library;

		if (value == 0 || !allo_role_is_passed(role))
			continue;
		library = library_of(attribution, profile, frame, call);
		if (!add_name(
			    names,
			    library ? allo_text_of(library)
				    : allo_short_name(allo_call_name(profile, frame, call, scratch),
						      ALLO_NAME_BRIEF, &names->buffer),
			    value, err))
			return false;
	}
	return true;
}

static int compare_names(const void *a, const void *b)
{
	const struct passed_name *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return allo_text_compare(x->name, y->name);
}

bool allo_attribution_passed(struct allo_attribution *attribution,
			     const struct allo_profile *profile, struct allo_passed_code *passed,
			     struct allo_error *err)
{
	ALLO_DEFER(passed_names_done) struct passed_names names = { 0 };

	*passed = (struct allo_passed_code){ 0 };
	for (size_t i = 1; i < attribution->passed.len; i++) {
		if (!add_calls(&names, attribution, profile, (allo_frame_id)i, err))
			return false;
	}
	if (names.buffer.has_failed)
		return allo_fail_memory(err);
	if (names.list.len > 0)
		qsort(names.list.at, names.list.len, sizeof(*names.list.at), compare_names);
	for (; passed->count < names.list.len && passed->count < ALLO_PASSED_NAMES; passed->count++)
		snprintf(passed->names[passed->count], ALLO_PASSED_NAME_MAX, "%.*s",
			 ALLO_TEXT_ARG(names.list.at[passed->count].name));
	passed->others = names.list.len - passed->count;
	return true;
}

/* Preparation. */

static void look_at_functions(struct allo_attribution *attribution,
			      const struct allo_profile *profile)
{
	for (; attribution->seen_functions < profile->functions.len;
	     attribution->seen_functions++) {
		const struct allo_function *function =
			&profile->functions.at[attribution->seen_functions];
		struct allo_text name = allo_judged_name(profile, function);
		struct allo_text file = allo_profile_text(profile, function->file);

		attribution->is_rust |= allo_is_rust_function(name, file);
		attribution->has_scripts |= allo_is_script_function(name);
	}
}

/* Whether a profile is about memory.  CPU time belongs to the function that spends it. */
static bool has_memory(const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		enum allo_meaning meaning = profile->metrics.at[i].meaning;

		if (meaning >= ALLO_ALLOC_BLOCKS && meaning <= ALLO_COPY_BYTES)
			return true;
	}
	return false;
}

bool allo_attribution_learn(struct allo_attribution *attribution,
			    const struct allo_profile *profile, struct allo_error *err)
{
	bool is_first = !attribution->has_learned;

	attribution->has_learned = true;
	if (is_first && attribution->wrappers == ALLO_WRAPPERS_AUTO && !has_memory(profile))
		attribution->wrappers = ALLO_WRAPPERS_NONE;
	if (attribution->wrappers != ALLO_WRAPPERS_NONE)
		look_at_functions(attribution, profile);
	if (!allo_vec_extend(&attribution->functions, profile->functions.len, err) ||
	    !allo_vec_extend(&attribution->modules, profile->modules.len, err) ||
	    !allo_vec_extend(&attribution->frames, profile->frames.len, err) ||
	    !allo_vec_extend(&attribution->passed, profile->frames.len, err))
		return false;
	return !is_first || attribution->wrappers != ALLO_WRAPPERS_AUTO ||
	       allo_wrappers_find(attribution, profile, err);
}
