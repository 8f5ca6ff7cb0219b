/* proc_maps.c - parses mappings and joins those of one file into a module. */
#include "readers/proc_maps.h"

#include "base/sorted.h"

#include <stdlib.h>

static bool take_address(struct allo_text *text, uint64_t *address)
{
	allo_text_skip(text, ALLO_TEXT("0x"));
	return allo_text_take_hex(text, address);
}

/* Takes the next word and the spaces around it off the front of *text; empty at the end. */
static struct allo_text take_word(struct allo_text *text)
{
	struct allo_text rest = allo_text_trim(*text), word = rest;

	word.len = 0;
	while (word.len < rest.len && !allo_is_space(rest.data[word.len]))
		word.len++;
	*text = allo_text_trim(allo_text_from(rest, word.len));
	return word;
}

/* "r-xp" */
static bool is_permissions(struct allo_text word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (!memchr("rwxps-", word.data[i], 6))
			return false;
	}
	return word.len >= 3 && word.len <= 5;
}

/* "fe:00" */
static bool is_device(struct allo_text word)
{
	uint64_t number;

	return allo_text_take_hex(&word, &number) && allo_text_skip(&word, ALLO_TEXT(":")) &&
	       allo_text_hex(word, &number);
}

static bool is_build_id(struct allo_text word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (!allo_is_digit(word.data[i]) && (word.data[i] < 'a' || word.data[i] > 'f'))
			return false;
	}
	return word.len >= 8;
}

/* "offset device inode path" */
static bool parse_proc_form(struct allo_text rest, struct allo_proc_map *map)
{
	struct allo_text offset = take_word(&rest), device = take_word(&rest);
	uint64_t inode;

	if (!allo_text_hex(offset, &map->offset) || !is_device(device) ||
	    !allo_text_u64(take_word(&rest), &inode))
		return false;
	map->path = rest;
	return true;
}

/* "path (@offset) build-id"; the last two are optional */
static bool parse_brief_form(struct allo_text rest, struct allo_proc_map *map)
{
	size_t at = allo_text_find_last(rest, ALLO_TEXT(" (@"));
	struct allo_text before, last;

	map->offset = 0;
	map->path = rest;
	if (at != (size_t)-1) {
		struct allo_text offset = allo_text_from(rest, at + 3);

		if (!allo_text_take_hex(&offset, &map->offset) ||
		    !allo_text_skip(&offset, ALLO_TEXT(")")))
			return false;
		map->path.len = at;
		map->build_id = take_word(&offset);
	} else if (allo_text_cut_last(rest, ' ', &before, &last) && is_build_id(last)) {
		map->path = before;
		map->build_id = last;
	}
	map->path = allo_text_trim(map->path);
	return map->path.len > 0;
}

bool allo_proc_map_parse(struct allo_text line, struct allo_proc_map *map)
{
	struct allo_text rest = allo_text_trim(line), after_permissions, word;
	const struct allo_text deleted = ALLO_TEXT(" (deleted)");

	*map = (struct allo_proc_map){ .is_executable = true };
	if (!take_address(&rest, &map->start) || !allo_text_skip(&rest, ALLO_TEXT("-")) ||
	    !take_address(&rest, &map->limit) || map->limit <= map->start)
		return false;
	allo_text_skip(&rest, ALLO_TEXT(":"));
	if (rest.len > 0 && !allo_is_space(rest.data[0]))
		return false;
	after_permissions = rest;
	word = take_word(&after_permissions);
	if (is_permissions(word)) {
		map->is_executable = memchr(word.data, 'x', word.len) != NULL;
		rest = after_permissions;
	}
	rest = allo_text_trim(rest);
	if (!parse_proc_form(rest, map) && !parse_brief_form(rest, map))
		return false;
	if (allo_text_ends(map->path, deleted))
		map->path.len -= deleted.len;
	return true;
}

void allo_proc_maps_done(struct allo_proc_maps *maps)
{
	allo_vec_done(&maps->modules);
	allo_vec_done(&maps->ids);
}

/*
 * Whether one mapping continues another.  Code that was moved to huge pages has no file, and so no
 * offset, in the middle.
 */
static bool goes_on(const struct allo_module *before, const struct allo_module *module)
{
	return before->limit == module->start &&
	       (before->path == module->path || before->path == 0 || module->path == 0) &&
	       (before->build_id == module->build_id || before->build_id == 0 ||
		module->build_id == 0) &&
	       (before->offset == 0 || module->offset == 0 ||
		module->offset - before->offset == before->limit - before->start);
}

bool allo_proc_maps_read(struct allo_proc_maps *maps, struct allo_text line,
			 struct allo_profile *profile, struct allo_error *err)
{
	struct allo_module *last = maps->modules.len ? &maps->modules.at[maps->modules.len - 1]
						     : NULL;
	struct allo_proc_map map;
	struct allo_module module;

	if (!allo_proc_map_parse(line, &map) || !map.is_executable)
		return true;
	module = (struct allo_module){
		.start = map.start,
		.limit = map.limit,
		.offset = map.offset,
		.path = allo_profile_add_string(profile, map.path, err),
		.build_id = allo_profile_add_string(profile, map.build_id, err),
	};
	if (allo_failed(err))
		return false;
	if (!last || !goes_on(last, &module))
		return allo_vec_append(&maps->modules, &module, 1) || allo_fail_memory(err);
	last->limit = module.limit;
	last->path = last->path ? last->path : module.path;
	last->build_id = last->build_id ? last->build_id : module.build_id;
	return true;
}

/* A library's name ends in .so, or in .so and a version. */
static bool is_program(struct allo_text path)
{
	return path.len > 0 && path.data[0] != '[' && !allo_text_ends(path, ALLO_TEXT(".so")) &&
	       !allo_text_ends(path, ALLO_TEXT(".dylib")) &&
	       allo_text_find(path, ALLO_TEXT(".so.")) == (size_t)-1 &&
	       allo_text_find(path, ALLO_TEXT(".so_")) == (size_t)-1;
}

/* pprof takes the first module for the program itself. */
static bool add_program(const struct allo_proc_maps *maps, struct allo_profile *profile,
			struct allo_error *err)
{
	for (size_t i = 0; i < maps->modules.len; i++) {
		const struct allo_module *module = &maps->modules.at[i];

		if (is_program(allo_profile_text(profile, module->path)))
			return allo_profile_add_module(profile, module, err) != 0;
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct allo_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

bool allo_proc_maps_add_modules(struct allo_proc_maps *maps, struct allo_profile *profile,
				struct allo_error *err)
{
	size_t count = maps->modules.len;

	if (count == 0)
		return true;
	if (!add_program(maps, profile, err))
		return false;
	qsort(maps->modules.at, count, sizeof(*maps->modules.at), by_start);
	if (!allo_vec_reserve(&maps->ids, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		maps->ids.at[i] = allo_profile_add_module(profile, &maps->modules.at[i], err);
	maps->ids.len = count;
	return !allo_failed(err);
}

allo_module_id allo_proc_maps_find(const struct allo_proc_maps *maps, uint64_t address)
{
	size_t count = allo_sorted_up_to(maps->modules.at, maps->ids.len, start, address);

	if (count == 0 || address >= maps->modules.at[count - 1].limit)
		return 0;
	return maps->ids.at[count - 1];
}
