/* symbols.c - see symbols.h. */
#include "symbols/symbols.h"

#include "base/defer.h"
#include "base/jobs.h"
#include "symbols/jit_map.h"
#include "symbols/name_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Modules under way at once: each may have the debug information of a large program in memory. */
enum { AT_ONCE = 4 };

struct naming {
	struct allo_profile *profile;
	struct allo_symbols *symbols;
	const struct allo_symbol_options *options;
	const struct allo_progress *progress;
	pthread_t teller; /* the thread that may tell of progress */
	atomic_size_t done;
	ALLO_VEC(struct allo_wanted) wanted;
	ALLO_VEC(struct allo_module_names) modules;
	struct allo_jobs jobs;
};

static void naming_done(struct naming *naming)
{
	allo_jobs_close(&naming->jobs);
	for (size_t i = 0; i < naming->modules.len; i++)
		allo_module_names_done(&naming->modules.at[i]);
	allo_vec_done(&naming->modules);
	allo_vec_done(&naming->wanted);
}

void allo_symbols_done(struct allo_symbols *symbols)
{
	allo_vec_done(&symbols->modules);
}

static const struct {
	const char *key, *text;
} sources[] = {
	[ALLO_SYMBOLS_NOT_ASKED] = { "not_asked", "not needed" },
	[ALLO_SYMBOLS_NOT_FOUND] = { "not_found", "not found" },
	[ALLO_SYMBOLS_UNREADABLE] = { "unreadable", "not a readable program or library" },
	[ALLO_SYMBOLS_OTHER_BUILD] = { "other_build", "another build than the one recorded" },
	[ALLO_SYMBOLS_CHANGED] = { "changed", "changed since the recording" },
	[ALLO_SYMBOLS_NONE] = { "stripped", "stripped" },
	[ALLO_SYMBOLS_EXPORTED] = { "exported", "stripped but for what it exports" },
	[ALLO_SYMBOLS_NAMES] = { "names", "names without lines" },
	[ALLO_SYMBOLS_LINES] = { "lines", "names and lines" },
	[ALLO_SYMBOLS_STORED] = { "stored", "names that are stored" },
};

const char *allo_symbol_source_text(enum allo_symbol_source source)
{
	return sources[source].text;
}

const char *allo_symbol_source_key(enum allo_symbol_source source)
{
	return sources[source].key;
}

/* Of whichever module, in whichever thread. */
static void tell_progress(void *context, size_t more)
{
	struct naming *naming = context;
	size_t done = atomic_fetch_add(&naming->done, more) + more;

	if (naming->progress && pthread_equal(pthread_self(), naming->teller))
		naming->progress->tell(naming->progress->context,
				       done < naming->wanted.len ? done : naming->wanted.len,
				       naming->wanted.len);
}

/* What is wanted. */

static bool can_have_name(const struct allo_profile *profile, const struct allo_frame *frame)
{
	return frame->address != 0 && frame->module != 0 &&
	       profile->modules.at[frame->module].path != 0;
}

static bool find_wanted(struct naming *naming, struct allo_error *err)
{
	const struct allo_profile *profile = naming->profile;

	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		const struct allo_module *module;
		struct allo_module_symbols *facts;
		struct allo_wanted wanted = { .module = frame->module,
					      .address = frame->address,
					      .frame = (allo_frame_id)i };

		if (!can_have_name(profile, frame))
			continue;
		module = &profile->modules.at[frame->module];
		facts = &naming->symbols->modules.at[frame->module];
		facts->frames++;
		if (frame->line_count > 0) {
			facts->source = ALLO_SYMBOLS_STORED;
			facts->stored++;
			facts->named++;
			facts->with_line += profile->lines.at[frame->first_line].line != 0;
			continue;
		}
		wanted.path = module->path;
		wanted.build_id = module->build_id;
		if (!allo_vec_append(&naming->wanted, &wanted, 1))
			return allo_fail_memory(err);
	}
	allo_wanted_sort(naming->wanted.at, naming->wanted.len);
	return true;
}

/* One for each file. */
static bool find_modules(struct naming *naming, struct allo_error *err)
{
	struct allo_wanted *wanted = naming->wanted.at;
	size_t count;

	for (size_t i = 0; i < naming->wanted.len; i += count) {
		struct allo_module_names *module = allo_vec_push(&naming->modules);

		if (!module)
			return allo_fail_memory(err);
		for (count = 1; i + count < naming->wanted.len; count++) {
			if (wanted[i + count].path != wanted[i].path ||
			    wanted[i + count].build_id != wanted[i].build_id)
				break;
		}
		*module = (struct allo_module_names){
			.profile = naming->profile,
			.places = &naming->options->places,
			.has_no_cache = naming->options->has_no_cache,
			.path = allo_profile_text(naming->profile, wanted[i].path),
			.build_id = allo_profile_text(naming->profile, wanted[i].build_id),
			.wanted = wanted + i,
			.count = count,
			.progress = { tell_progress, naming },
		};
	}
	return true;
}

/* Names. */

static allo_string_id move_string(struct naming *naming, const struct allo_module_names *module,
				  allo_string_id string, struct allo_error *err)
{
	return allo_profile_add_string(naming->profile, allo_profile_text(&module->names, string),
				       err);
}

/* A module's function in the profile; `moved` is by its id. */
static allo_function_id move_function(struct naming *naming, const struct allo_module_names *module,
				      allo_function_id function, allo_function_id *moved,
				      struct allo_error *err)
{
	const struct allo_function *own = &module->names.functions.at[function];
	struct allo_function copy = { .start_line = own->start_line };

	if (moved[function] != 0)
		return moved[function];
	copy.name = move_string(naming, module, own->name, err);
	copy.system_name = move_string(naming, module, own->system_name, err);
	copy.file = move_string(naming, module, own->file, err);
	if (!allo_failed(err))
		moved[function] = allo_profile_add_function(naming->profile, &copy, err);
	return moved[function];
}

/* Functions come in the order of addresses, wherever they were found. */
static bool move_lines(struct naming *naming, struct allo_module_names *module,
		       const struct allo_spot *spot, allo_function_id *moved,
		       struct allo_error *err)
{
	struct allo_line *lines = allo_spot_lines(&module->spots, spot);

	for (uint32_t i = 0; i < spot->line_count; i++) {
		lines[i].function = move_function(naming, module, lines[i].function, moved, err);
		if (lines[i].function == 0)
			return false;
	}
	return true;
}

static bool name_frame(struct naming *naming, const struct allo_wanted *wanted,
		       const struct allo_line *lines, size_t count, struct allo_error *err)
{
	struct allo_module_symbols *facts = &naming->symbols->modules.at[wanted->module];

	if (count == 0)
		return true;
	facts->named++;
	facts->with_line += lines->line != 0;
	return allo_profile_set_lines(naming->profile, wanted->frame, lines, count, err);
}

static bool name_frames(struct naming *naming, struct allo_module_names *module,
			struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	allo_function_id *moved = calloc(module->names.functions.len + 1, sizeof(*moved));
	const struct allo_spots *spots = &module->spots;
	size_t at = 0;

	if (!moved)
		return allo_fail_memory(err);
	for (size_t i = 0; i < spots->spots.len; i++) {
		if (!move_lines(naming, module, &spots->spots.at[i], moved, err))
			return false;
	}
	for (size_t i = 0; i < module->count && spots->spots.len > 0; i++) {
		const struct allo_wanted *wanted = &module->wanted[i];
		const struct allo_spot *spot;

		at += spots->spots.at[at].address != wanted->address;
		spot = &spots->spots.at[at];
		if (!name_frame(naming, wanted, allo_spot_lines(spots, spot), spot->line_count,
				err))
			return false;
	}
	return true;
}

static bool take_facts(struct naming *naming, const struct allo_module_names *module,
		       struct allo_error *err)
{
	char hex[ALLO_BUILD_ID_HEX];
	allo_string_id other = allo_profile_add_string(
		naming->profile, allo_text_of(allo_build_id_hex(&module->other_build, hex)), err);

	for (size_t i = 0; i < module->count; i++) {
		struct allo_module_symbols *facts =
			&naming->symbols->modules.at[module->wanted[i].module];

		facts->source = module->source;
		facts->build_id = module->source < ALLO_SYMBOLS_NONE ? other : 0;
	}
	return !allo_failed(err);
}

/* What has become of the oldest module that is under way. */
static bool take_module(struct naming *naming, bool *has_saved, struct allo_error *err)
{
	struct allo_module_names *module = allo_jobs_take(&naming->jobs);

	if (allo_failed(&module->err)) {
		*err = module->err;
		return false;
	}
	*has_saved |= module->has_saved;
	if (!name_frames(naming, module, err) || !take_facts(naming, module, err))
		return false;
	allo_module_names_done(module);
	return true;
}

static bool name_all(struct naming *naming, struct allo_error *err)
{
	bool has_saved = false;
	unsigned cores = allo_cpu_count();

	allo_jobs_open(&naming->jobs, allo_module_names_find, cores > 1 ? cores - 1 : 0);
	for (size_t i = 0; i < naming->modules.len; i++) {
		if (allo_jobs_under_way(&naming->jobs) == AT_ONCE &&
		    !take_module(naming, &has_saved, err))
			return false;
		allo_jobs_give(&naming->jobs, &naming->modules.at[i]);
	}
	while (allo_jobs_under_way(&naming->jobs) > 0) {
		if (!take_module(naming, &has_saved, err))
			return false;
	}
	if (has_saved)
		allo_name_cache_trim();
	return true;
}

bool allo_symbols_add(struct allo_profile *profile, const struct allo_symbol_options *options,
		      const struct allo_progress *progress, struct allo_symbols *symbols,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_symbols_done) struct allo_symbols unasked = { 0 };
	ALLO_DEFER(naming_done)
	struct naming naming = { .profile = profile,
				 .symbols = symbols ? symbols : &unasked,
				 .options = options,
				 .progress = progress,
				 .teller = pthread_self() };

	if (!allo_vec_cover(&naming.symbols->modules, profile->modules.len + 1))
		return allo_fail_memory(err);
	return find_wanted(&naming, err) && find_modules(&naming, err) && name_all(&naming, err) &&
	       allo_jit_map_use(profile, err);
}
