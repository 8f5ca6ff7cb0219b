/*
 * symbols.c - collects the frames without names, resolves them module by module, and stores the
 * names in the profile.
 *
 * Modules are independent of each other, so each is resolved on any core, into a small profile that
 * holds its strings and functions.
 */
#include "symbols/symbols.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/jobs.h"
#include "profile/offset_name.h"
#include "symbols/jit_map.h"
#include "symbols/mini_debug.h"
#include "symbols/name_cache.h"
#include "symbols/source_lines.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One module. */

/* A frame that needs a name. */
struct wanted {
	allo_string_id path, build_id; /* of its module; a file that is loaded twice is read once */
	allo_module_id module;
	uint64_t address; /* in the process; later in the file: see translate() */
	allo_frame_id frame;
};

struct module_names {
	/* In. */
	const struct allo_profile *profile; /* its modules must not change meanwhile */
	const struct allo_symbol_places *places;
	bool has_no_cache;
	struct allo_text path, build_id;
	struct wanted *wanted; /* of one file */
	size_t count;
	struct allo_spot_progress progress;

	/* Out. */
	enum allo_symbol_source source;
	struct allo_build_id other_build; /* build-id of the file, if it differs */
	struct allo_profile names;
	struct allo_spots spots; /* in the order of `wanted`, with lines of `names` */
	bool has_saved;          /* names to the cache */
	struct allo_error err;
};

static void module_names_done(struct module_names *module)
{
	allo_profile_done(&module->names);
	allo_spots_done(&module->spots);
}

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

#define COMPARE(field)                                                                             \
	if (a->field != b->field)                                                                  \
	return a->field < b->field ? -1 : 1
	COMPARE(path);
	COMPARE(build_id);
	COMPARE(address);
	COMPARE(frame);
#undef COMPARE
	return 0;
}

static void sort_wanted(struct wanted *wanted, size_t count)
{
	if (count > 1)
		qsort(wanted, count, sizeof(*wanted), compare_wanted);
}

/* Files. */

/* Whether an open file is the one that was recorded. */
static bool is_same(const struct module_names *module, const struct allo_elf_file *file,
		    const struct allo_build_id *id, enum allo_symbol_source *source)
{
	int64_t start_ns = module->profile->meta.start_ns;

	*source = ALLO_SYMBOLS_OTHER_BUILD;
	if (id->len > 0 || file->build_id.len > 0)
		return allo_build_id_equal(id, &file->build_id);
	*source = ALLO_SYMBOLS_CHANGED;
	return start_ns == 0 || file->changed_ns <= start_ns;
}

/* Opens the module's files; if there are none, module->source says why. */
static bool open_files(struct module_names *module, struct allo_module_files *files,
		       const struct allo_build_id *id)
{
	ALLO_DEFER(allo_free_pointer) char *path = strndup(module->path.data, module->path.len);

	if (!path)
		return allo_fail_memory(&module->err);
	module->source = ALLO_SYMBOLS_NOT_FOUND;
	/* A name without a folder is not a file: [vdso]. */
	if (path[0] != '/')
		return true;
	if (!allo_elf_open(&files->own, module->places->root, path)) {
		if (files->own.is_there)
			module->source = ALLO_SYMBOLS_UNREADABLE;
	} else if (!is_same(module, &files->own, id, &module->source)) {
		module->other_build = files->own.build_id;
		allo_elf_close(&files->own);
	}
	if (!files->own.elf && id->len > 0)
		allo_module_files_open_elsewhere(files, module->places, path, id);
	if (allo_module_files_open_debug(files, module->places, path, id) || files->own.elf)
		module->source = ALLO_SYMBOLS_NONE;
	return true;
}

/* Spots. */

/* Turns addresses of the process into addresses of the file. */
static bool translate(struct module_names *module, const struct allo_module_files *files)
{
	const struct allo_elf_file *file = files->own.elf ? &files->own : &files->debug;

	for (size_t i = 0; i < module->count; i++) {
		struct wanted *wanted = &module->wanted[i];
		const struct allo_module *loaded = &module->profile->modules.at[wanted->module];
		uint64_t bias = loaded->bias;

		if (!loaded->has_bias && !allo_elf_bias(file, loaded->start, loaded->offset, &bias))
			return false;
		wanted->address -= bias;
	}
	sort_wanted(module->wanted, module->count);
	return true;
}

static bool add_spots(struct module_names *module)
{
	for (size_t i = 0; i < module->count; i++) {
		struct allo_spot spot = { .address = module->wanted[i].address };

		if (i > 0 && module->wanted[i].address == module->wanted[i - 1].address)
			continue;
		ALLO_ASSERT(i == 0 || spot.address > module->wanted[i - 1].address);
		if (!allo_vec_append(&module->spots.spots, &spot, 1))
			return allo_fail_memory(&module->err);
	}
	return true;
}

/* `mini` is NULL, or .gnu_debugdata of the module. */
static bool find_symbols(struct module_names *module, const struct allo_module_files *files,
			 Elf *mini)
{
	const struct {
		Elf *elf;
		uint32_t type;
		enum allo_symbol_source source;
	} tables[] = {
		{ files->own.elf, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ files->debug.elf, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ mini, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ files->own.elf, SHT_DYNSYM, ALLO_SYMBOLS_EXPORTED },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		bool has_table = false;

		if (tables[i].elf &&
		    !allo_symbol_table_find(tables[i].elf, tables[i].type, &module->spots,
					    &has_table, &module->err))
			return false;
		if (has_table && tables[i].source > module->source)
			module->source = tables[i].source;
	}
	if (files->own.elf)
		allo_unwind_table_find(files->own.elf, &module->spots);
	return true;
}

static bool find_lines(struct module_names *module, const struct allo_module_files *files,
		       struct allo_function_names *names)
{
	const struct allo_elf_file *both[] = { &files->own, &files->debug };

	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		if (!both[i]->elf || !allo_has_source_lines(both[i]->elf))
			continue;
		module->source = ALLO_SYMBOLS_LINES;
		return allo_source_lines_find(both[i]->elf, both[i]->size, &module->spots,
					      &module->names, names, &module->progress,
					      &module->err);
	}
	return true;
}

/* The name of a function that has no lines; empty: it is not known at all. */
static struct allo_text name_of(const struct module_names *module, const struct allo_symbol *symbol,
				char room[ALLO_OFFSET_NAME_SIZE])
{
	if (symbol->name)
		return allo_text_of(symbol->name);
	if (symbol->start)
		return allo_offset_name(module->path, symbol->start, room);
	return (struct allo_text){ "", 0 };
}

/* Gives spots without lines the names of their symbols, or of their offsets. */
static bool use_symbols(struct module_names *module, struct allo_function_names *names)
{
	struct allo_spots *spots = &module->spots;

	for (size_t i = 0; i < spots->spots.len; i++) {
		struct allo_spot *spot = &spots->spots.at[i];
		char room[ALLO_OFFSET_NAME_SIZE];
		struct allo_text name = name_of(module, &spot->symbol, room);
		struct allo_line line = { 0 };

		if (spot->is_known || spot->line_count > 0 || name.len == 0)
			continue;
		line.function = allo_function_names_add(names, &module->names, name, 0, 0,
							&module->err);
		if (line.function == 0)
			return false;
		ALLO_ASSERT(spots->lines.len <= UINT32_MAX);
		spot->first_line = (uint32_t)spots->lines.len;
		spot->line_count = 1;
		if (spots->lines.len == UINT32_MAX || !allo_vec_append(&spots->lines, &line, 1))
			return allo_fail_memory(&module->err);
	}
	return true;
}

static bool find_names(struct module_names *module, const struct allo_module_files *files)
{
	ALLO_DEFER(allo_function_names_done) struct allo_function_names names = { 0 };
	ALLO_DEFER(allo_unpacked_debug_done) struct allo_unpacked_debug unpacked = { 0 };
	Elf *mini = files->own.elf
			    ? allo_mini_debug_open(&unpacked, files->own.elf, files->own.size)
			    : NULL;

	return find_symbols(module, files, mini) && find_lines(module, files, &names) &&
	       use_symbols(module, &names);
}

static bool are_all_known(const struct allo_spots *spots)
{
	for (size_t i = 0; i < spots->spots.len; i++) {
		if (!spots->spots.at[i].is_known)
			return false;
	}
	return true;
}

/* Finds names in the cache, else in the files. */
static bool find_or_recall(struct module_names *module, const struct allo_module_files *files,
			   const struct allo_build_id *id)
{
	ALLO_DEFER(allo_name_cache_done) struct allo_name_cache cache = { 0 };

	if (module->has_no_cache)
		return find_names(module, files);
	allo_name_cache_open(&cache, files, id);
	if (!allo_name_cache_use(&cache, &module->spots, &module->names, &module->err))
		return false;
	if (are_all_known(&module->spots) && cache.source >= ALLO_SYMBOLS_NONE &&
	    cache.source <= ALLO_SYMBOLS_LINES) {
		module->source = (enum allo_symbol_source)cache.source;
		return true;
	}
	if (!find_names(module, files))
		return false;
	module->has_saved = allo_name_cache_save(&cache, module->source, &module->spots,
						 &module->names, &module->err);
	return !allo_failed(&module->err);
}

static void find_module_names(void *context)
{
	ALLO_DEFER(allo_module_files_close) struct allo_module_files files = { 0 };
	struct module_names *module = context;
	struct allo_build_id id = allo_build_id_of(module->build_id);

	if (open_files(module, &files, &id) && module->source == ALLO_SYMBOLS_NONE &&
	    translate(module, &files) && add_spots(module))
		find_or_recall(module, &files, &id);
}

/* All modules. */

/* Modules in progress at once: each may have the debug information of a large program in memory. */
enum { AT_ONCE = 4 };

struct namer {
	struct allo_profile *profile;
	struct allo_symbols *symbols;
	const struct allo_symbol_options *options;
	const struct allo_progress *progress;
	pthread_t teller; /* the thread that may report progress */
	atomic_size_t done;
	ALLO_VEC(struct wanted) wanted;
	ALLO_VEC(struct module_names) modules;
	struct allo_jobs jobs;
};

static void namer_done(struct namer *namer)
{
	allo_jobs_close(&namer->jobs);
	for (size_t i = 0; i < namer->modules.len; i++)
		module_names_done(&namer->modules.at[i]);
	allo_vec_done(&namer->modules);
	allo_vec_done(&namer->wanted);
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
	[ALLO_SYMBOLS_OTHER_BUILD] = { "other_build", "not the recorded build" },
	[ALLO_SYMBOLS_CHANGED] = { "changed", "changed since the recording" },
	[ALLO_SYMBOLS_NONE] = { "stripped", "stripped" },
	[ALLO_SYMBOLS_EXPORTED] = { "exported", "stripped except for exported functions" },
	[ALLO_SYMBOLS_NAMES] = { "names", "names without lines" },
	[ALLO_SYMBOLS_LINES] = { "lines", "names and lines" },
	[ALLO_SYMBOLS_STORED] = { "stored", "stored names" },
};

const char *allo_symbol_source_text(enum allo_symbol_source source)
{
	return sources[source].text;
}

const char *allo_symbol_source_key(enum allo_symbol_source source)
{
	return sources[source].key;
}

/* Called from any thread. */
static void report_progress(void *context, size_t more)
{
	struct namer *namer = context;
	size_t done = atomic_fetch_add(&namer->done, more) + more;

	if (namer->progress && pthread_equal(pthread_self(), namer->teller))
		namer->progress->tell(namer->progress->context,
				      done < namer->wanted.len ? done : namer->wanted.len,
				      namer->wanted.len);
}

/* Frames that need names. */

static bool can_have_name(const struct allo_profile *profile, const struct allo_frame *frame)
{
	return frame->address != 0 && frame->module != 0 &&
	       profile->modules.at[frame->module].path != 0;
}

static bool find_wanted(struct namer *namer, struct allo_error *err)
{
	const struct allo_profile *profile = namer->profile;

	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		const struct allo_module *module;
		struct allo_module_symbols *facts;
		struct wanted wanted = { .module = frame->module,
					 .address = frame->address,
					 .frame = (allo_frame_id)i };

		if (!can_have_name(profile, frame))
			continue;
		module = &profile->modules.at[frame->module];
		facts = &namer->symbols->modules.at[frame->module];
		facts->frames++;
		if (frame->line_count > 0) {
			facts->source = ALLO_SYMBOLS_STORED;
			facts->stored++;
			facts->named += !allo_call_has_offset_name(profile, frame, 0);
			facts->with_line += profile->lines.at[frame->first_line].line != 0;
			continue;
		}
		wanted.path = module->path;
		wanted.build_id = module->build_id;
		if (!allo_vec_append(&namer->wanted, &wanted, 1))
			return allo_fail_memory(err);
	}
	sort_wanted(namer->wanted.at, namer->wanted.len);
	return true;
}

/* Groups the frames by file. */
static bool find_modules(struct namer *namer, struct allo_error *err)
{
	struct wanted *wanted = namer->wanted.at;
	size_t count;

	for (size_t i = 0; i < namer->wanted.len; i += count) {
		struct module_names *module = allo_vec_push(&namer->modules);

		if (!module)
			return allo_fail_memory(err);
		for (count = 1; i + count < namer->wanted.len; count++) {
			if (wanted[i + count].path != wanted[i].path ||
			    wanted[i + count].build_id != wanted[i].build_id)
				break;
		}
		ALLO_ASSERT(i + count <= namer->wanted.len);
		*module = (struct module_names){
			.profile = namer->profile,
			.places = &namer->options->places,
			.has_no_cache = namer->options->has_no_cache,
			.path = allo_profile_text(namer->profile, wanted[i].path),
			.build_id = allo_profile_text(namer->profile, wanted[i].build_id),
			.wanted = wanted + i,
			.count = count,
			.progress = { report_progress, namer },
		};
	}
	return true;
}

/* Names. */

static allo_string_id move_string(struct namer *namer, const struct module_names *module,
				  allo_string_id string, struct allo_error *err)
{
	return allo_profile_add_string(namer->profile, allo_profile_text(&module->names, string),
				       err);
}

/* Copies a function of a module to the profile; `moved` maps old ids to new ones. */
static allo_function_id move_function(struct namer *namer, const struct module_names *module,
				      allo_function_id function, allo_function_id *moved,
				      struct allo_error *err)
{
	const struct allo_function *own = &module->names.functions.at[function];
	struct allo_function copy = { .start_line = own->start_line };

	if (moved[function] != 0)
		return moved[function];
	copy.name = move_string(namer, module, own->name, err);
	copy.system_name = move_string(namer, module, own->system_name, err);
	copy.file = move_string(namer, module, own->file, err);
	if (!allo_failed(err))
		moved[function] = allo_profile_add_function(namer->profile, &copy, err);
	return moved[function];
}

/* Copies functions in the order of addresses, so that their ids do not depend on where they were
 * found. */
static bool move_lines(struct namer *namer, struct module_names *module,
		       const struct allo_spot *spot, allo_function_id *moved,
		       struct allo_error *err)
{
	struct allo_line *lines = allo_spot_lines(&module->spots, spot);

	for (uint32_t i = 0; i < spot->line_count; i++) {
		lines[i].function = move_function(namer, module, lines[i].function, moved, err);
		if (lines[i].function == 0)
			return false;
	}
	return true;
}

/* Whether a function belongs to the Rust crate, whose allocator is inlined into its caller. */
static bool is_of_crate(const struct allo_profile *profile, allo_function_id function)
{
	struct allo_text name = allo_profile_text(profile, profile->functions.at[function].name);

	allo_text_skip(&name, ALLO_TEXT("<"));
	return allo_text_starts(name, ALLO_TEXT("allotrope::"));
}

/* Whether a function of a frame's module has no name but its offset. */
static bool has_offset(const struct allo_profile *profile, const struct wanted *wanted,
		       allo_function_id function)
{
	return allo_is_offset_name(allo_profile_text(profile, profile->functions.at[function].name),
				   allo_profile_text(profile, wanted->path));
}

static bool name_frame(struct namer *namer, const struct wanted *wanted,
		       const struct allo_line *lines, size_t count, struct allo_error *err)
{
	struct allo_module_symbols *facts = &namer->symbols->modules.at[wanted->module];
	bool is_named;

	if (count == 0)
		return true;
	/* The recorder is not part of the program. */
	while (count > 1 && is_of_crate(namer->profile, lines->function)) {
		lines++;
		count--;
	}
	is_named = !has_offset(namer->profile, wanted, lines->function);
	if (!is_named && namer->options->has_no_offsets)
		return true;
	facts->named += is_named;
	ALLO_ASSERT(facts->named <= facts->frames);
	facts->with_line += lines->line != 0;
	return allo_profile_set_lines(namer->profile, wanted->frame, lines, count, err);
}

static bool name_frames(struct namer *namer, struct module_names *module, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	allo_function_id *moved = calloc(module->names.functions.len + 1, sizeof(*moved));
	const struct allo_spots *spots = &module->spots;
	size_t at = 0;

	if (!moved)
		return allo_fail_memory(err);
	for (size_t i = 0; i < spots->spots.len; i++) {
		if (!move_lines(namer, module, &spots->spots.at[i], moved, err))
			return false;
	}
	for (size_t i = 0; i < module->count && spots->spots.len > 0; i++) {
		const struct wanted *wanted = &module->wanted[i];
		const struct allo_spot *spot;

		at += spots->spots.at[at].address != wanted->address;
		ALLO_ASSERT(at < spots->spots.len);
		spot = &spots->spots.at[at];
		ALLO_ASSERT(spot->address == wanted->address);
		if (!name_frame(namer, wanted, allo_spot_lines(spots, spot), spot->line_count, err))
			return false;
	}
	return true;
}

static bool take_facts(struct namer *namer, const struct module_names *module,
		       struct allo_error *err)
{
	char hex[ALLO_BUILD_ID_HEX];
	allo_string_id other = allo_profile_add_string(
		namer->profile, allo_text_of(allo_build_id_hex(&module->other_build, hex)), err);

	for (size_t i = 0; i < module->count; i++) {
		struct allo_module_symbols *facts =
			&namer->symbols->modules.at[module->wanted[i].module];

		facts->source = module->source;
		facts->build_id = module->source < ALLO_SYMBOLS_NONE ? other : 0;
	}
	return !allo_failed(err);
}

/* Waits for the oldest module in progress and stores its names. */
static bool take_module(struct namer *namer, bool *has_saved, struct allo_error *err)
{
	struct module_names *module = allo_jobs_take(&namer->jobs);

	if (allo_failed(&module->err)) {
		*err = module->err;
		return false;
	}
	*has_saved |= module->has_saved;
	if (!name_frames(namer, module, err) || !take_facts(namer, module, err))
		return false;
	module_names_done(module);
	return true;
}

static bool name_all(struct namer *namer, struct allo_error *err)
{
	bool has_saved = false;
	unsigned cores = allo_cpu_count();

	allo_jobs_open(&namer->jobs, find_module_names, cores > 1 ? cores - 1 : 0);
	for (size_t i = 0; i < namer->modules.len; i++) {
		if (allo_jobs_under_way(&namer->jobs) == AT_ONCE &&
		    !take_module(namer, &has_saved, err))
			return false;
		allo_jobs_give(&namer->jobs, &namer->modules.at[i]);
	}
	while (allo_jobs_under_way(&namer->jobs) > 0) {
		if (!take_module(namer, &has_saved, err))
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
	ALLO_DEFER(namer_done)
	struct namer namer = { .profile = profile,
			       .symbols = symbols ? symbols : &unasked,
			       .options = options,
			       .progress = progress,
			       .teller = pthread_self() };

	if (!allo_vec_cover(&namer.symbols->modules, profile->modules.len + 1))
		return allo_fail_memory(err);
	return find_wanted(&namer, err) && find_modules(&namer, err) && name_all(&namer, err) &&
	       allo_jit_map_use(profile, err);
}
