/* symbols.c - see symbols.h. */
#include "symbols/symbols.h"

#include "base/defer.h"
#include "symbols/elf_file.h"
#include "symbols/function_names.h"
#include "symbols/source_lines.h"
#include "symbols/symbol_table.h"

#include <stdlib.h>

/* A frame without lines. */
struct wanted {
	allo_string_id path, build_id; /* of its module: loaded twice, a file is read once */
	allo_module_id module;
	uint64_t address; /* in the file, once that is known */
	allo_frame_id frame;
};

/* A module's file, and the one with its debug information. */
struct files {
	struct allo_elf_file own, debug;
};

struct naming {
	struct allo_profile *profile;
	struct allo_symbols *symbols;
	const struct allo_progress *progress;
	struct allo_function_names names;
	ALLO_VEC(struct wanted) wanted;
	size_t done;       /* of them: those of earlier files */
	size_t spots_done; /* of the file at hand */
};

static void files_done(struct files *files)
{
	allo_elf_close(&files->own);
	allo_elf_close(&files->debug);
}

static void naming_done(struct naming *naming)
{
	allo_vec_done(&naming->wanted);
	allo_function_names_done(&naming->names);
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
};

const char *allo_symbol_source_text(enum allo_symbol_source source)
{
	return sources[source].text;
}

const char *allo_symbol_source_key(enum allo_symbol_source source)
{
	return sources[source].key;
}

static void tell_progress(const struct naming *naming)
{
	if (naming->progress)
		naming->progress->tell(naming->progress->context, naming->done + naming->spots_done,
				       naming->wanted.len);
}

/* What is wanted. */

static bool wants_name(const struct allo_profile *profile, const struct allo_frame *frame)
{
	return frame->line_count == 0 && frame->address != 0 && frame->module != 0 &&
	       profile->modules.at[frame->module].path != 0;
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

static bool find_wanted(struct naming *naming, struct allo_error *err)
{
	const struct allo_profile *profile = naming->profile;

	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		const struct allo_module *module = &profile->modules.at[frame->module];
		struct wanted wanted = { .module = frame->module,
					 .address = frame->address,
					 .frame = (allo_frame_id)i };

		if (!wants_name(profile, frame))
			continue;
		wanted.path = module->path;
		wanted.build_id = module->build_id;
		if (!allo_vec_append(&naming->wanted, &wanted, 1))
			return allo_fail_memory(err);
		naming->symbols->modules.at[frame->module].frames++;
	}
	sort_wanted(naming->wanted.at, naming->wanted.len);
	return true;
}

/* Files. */

/* Whether a file that was opened is the one that the module was. */
static bool is_same(const struct naming *naming, const struct allo_elf_file *file,
		    const struct allo_build_id *id, enum allo_symbol_source *source)
{
	int64_t start_ns = naming->profile->meta.start_ns;

	*source = ALLO_SYMBOLS_OTHER_BUILD;
	if (id->len > 0 || file->build_id.len > 0)
		return allo_build_id_equal(id, &file->build_id);
	*source = ALLO_SYMBOLS_CHANGED;
	return start_ns == 0 || file->changed_ns <= start_ns;
}

static allo_string_id add_build_id(struct naming *naming, const struct allo_build_id *id,
				   struct allo_error *err)
{
	char hex[2 * ALLO_BUILD_ID_MAX];

	for (size_t i = 0; i < id->len; i++) {
		hex[2 * i] = "0123456789abcdef"[id->bytes[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[id->bytes[i] & 15];
	}
	return allo_profile_add_string(naming->profile, (struct allo_text){ hex, 2 * id->len },
				       err);
}

/* Opens what there is; `facts` says why that is nothing. */
static bool open_files(struct naming *naming, const struct wanted *wanted, struct files *files,
		       struct allo_module_symbols *facts, struct allo_error *err)
{
	struct allo_text path = allo_profile_text(naming->profile, wanted->path);
	struct allo_build_id id = allo_build_id_of(
		allo_profile_text(naming->profile, wanted->build_id));
	ALLO_DEFER(allo_free_pointer) char *own_path = strndup(path.data, path.len);

	if (!own_path)
		return allo_fail_memory(err);
	/* A name without a folder is none of a file: that of the kernel's own library. */
	if (path.data[0] != '/' || !allo_elf_exists(own_path)) {
		facts->source = ALLO_SYMBOLS_NOT_FOUND;
	} else if (!allo_elf_open(&files->own, own_path)) {
		facts->source = ALLO_SYMBOLS_UNREADABLE;
	} else if (!is_same(naming, &files->own, &id, &facts->source)) {
		facts->build_id = add_build_id(naming, &files->own.build_id, err);
		allo_elf_close(&files->own);
	}
	if (!allo_elf_open_debug(&files->debug, &files->own, own_path, &id) && !files->own.elf)
		return !allo_failed(err);
	facts->source = ALLO_SYMBOLS_NONE;
	return !allo_failed(err);
}

/* Spots. */

/* Addresses of the process become addresses of the file. */
static bool translate(struct naming *naming, const struct files *files, struct wanted *wanted,
		      size_t count)
{
	const struct allo_elf_file *file = files->own.elf ? &files->own : &files->debug;
	allo_module_id known = 0;
	uint64_t bias = 0;

	for (size_t i = 0; i < count; i++) {
		const struct allo_module *module = &naming->profile->modules.at[wanted[i].module];

		if (wanted[i].module != known &&
		    !allo_elf_bias(file, module->start, module->offset, &bias))
			return false;
		known = wanted[i].module;
		wanted[i].address -= bias;
	}
	sort_wanted(wanted, count);
	return true;
}

static bool add_spots(struct allo_spots *spots, const struct wanted *wanted, size_t count,
		      struct allo_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct allo_spot spot = { .address = wanted[i].address };

		if (i > 0 && wanted[i].address == wanted[i - 1].address)
			continue;
		if (!allo_vec_append(&spots->spots, &spot, 1))
			return allo_fail_memory(err);
	}
	return true;
}

static bool find_symbols(const struct files *files, struct allo_spots *spots,
			 enum allo_symbol_source *source, struct allo_error *err)
{
	const struct {
		const struct allo_elf_file *file;
		uint32_t type;
		enum allo_symbol_source source;
	} tables[] = {
		{ &files->own, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ &files->debug, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ &files->own, SHT_DYNSYM, ALLO_SYMBOLS_EXPORTED },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		bool has_table = false;

		if (tables[i].file->elf &&
		    !allo_symbol_table_find(tables[i].file->elf, tables[i].type, spots, &has_table,
					    err))
			return false;
		if (has_table && tables[i].source > *source)
			*source = tables[i].source;
	}
	return true;
}

static void tell_spots(void *context, size_t more)
{
	struct naming *naming = context;

	naming->spots_done += more;
	tell_progress(naming);
}

static bool find_lines(struct naming *naming, const struct files *files, struct allo_spots *spots,
		       enum allo_symbol_source *source, struct allo_error *err)
{
	const struct allo_elf_file *both[] = { &files->own, &files->debug };
	struct allo_spot_progress progress = { tell_spots, naming };

	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		if (!both[i]->elf || !allo_has_source_lines(both[i]->elf))
			continue;
		*source = ALLO_SYMBOLS_LINES;
		return allo_source_lines_find(both[i]->elf, spots, naming->profile, &naming->names,
					      &progress, err);
	}
	return true;
}

/* Names. */

static void mark_module(struct allo_module *module, const struct allo_line *lines, size_t count)
{
	module->has_functions = true;
	module->has_lines |= lines->line != 0;
	module->has_files |= lines->line != 0;
	module->has_inlines |= count > 1;
}

static bool name_frame(struct naming *naming, const struct wanted *wanted,
		       const struct allo_spots *spots, const struct allo_spot *spot,
		       struct allo_error *err)
{
	size_t count = spot->line_count;
	struct allo_line line = { 0 };
	const struct allo_line *lines = &line;

	if (count > 0) {
		lines = spots->lines.at + spot->first_line;
	} else {
		if (!spot->symbol.name)
			return true;
		line.function = allo_function_names_add(&naming->names, naming->profile,
							allo_text_of(spot->symbol.name), 0, 0, err);
		if (line.function == 0)
			return false;
		count = 1;
	}
	mark_module(&naming->profile->modules.at[wanted->module], lines, count);
	naming->symbols->modules.at[wanted->module].named++;
	return allo_profile_set_lines(naming->profile, wanted->frame, lines, count, err);
}

/* All frames of one file. */
static bool name_frames(struct naming *naming, struct wanted *wanted, size_t count,
			struct allo_error *err)
{
	ALLO_DEFER(files_done) struct files files = { 0 };
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	struct allo_module_symbols facts = { 0 };
	size_t at = 0;

	if (!open_files(naming, wanted, &files, &facts, err))
		return false;
	if (facts.source >= ALLO_SYMBOLS_NONE && translate(naming, &files, wanted, count)) {
		if (!add_spots(&spots, wanted, count, err) ||
		    !find_symbols(&files, &spots, &facts.source, err) ||
		    !find_lines(naming, &files, &spots, &facts.source, err))
			return false;
		for (size_t i = 0; i < count; i++) {
			at += spots.spots.at[at].address != wanted[i].address;
			if (!name_frame(naming, &wanted[i], &spots, &spots.spots.at[at], err))
				return false;
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct allo_module_symbols *module = &naming->symbols->modules.at[wanted[i].module];

		module->source = facts.source;
		module->build_id = facts.build_id;
	}
	return true;
}

static bool name_all(struct naming *naming, struct allo_error *err)
{
	struct wanted *wanted = naming->wanted.at;
	size_t count;

	for (size_t i = 0; i < naming->wanted.len; i += count) {
		for (count = 1; i + count < naming->wanted.len; count++) {
			if (wanted[i + count].path != wanted[i].path ||
			    wanted[i + count].build_id != wanted[i].build_id)
				break;
		}
		if (!name_frames(naming, wanted + i, count, err))
			return false;
		naming->done = i + count;
		naming->spots_done = 0;
		tell_progress(naming);
	}
	return true;
}

bool allo_symbols_add(struct allo_profile *profile, const struct allo_progress *progress,
		      struct allo_symbols *symbols, struct allo_error *err)
{
	ALLO_DEFER(allo_symbols_done) struct allo_symbols unasked = { 0 };
	ALLO_DEFER(naming_done)
	struct naming naming = { .profile = profile,
				 .symbols = symbols ? symbols : &unasked,
				 .progress = progress };

	if (!allo_vec_cover(&naming.symbols->modules, profile->modules.len + 1))
		return allo_fail_memory(err);
	return find_wanted(&naming, err) && name_all(&naming, err);
}
