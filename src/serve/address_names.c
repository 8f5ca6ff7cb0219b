/* address_names.c - builds a profile of frames from /proc/PID/maps, and symbolizes it. */
#include "serve/address_names.h"

#include "base/defer.h"
#include "base/io/output.h"
#include "readers/proc_maps.h"
#include "serve/address_list.h"
#include "serve/worker.h"
#include "symbols/elf_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds the files that the process has mapped as modules. */
static bool read_maps(pid_t pid, struct allo_proc_maps *maps, struct allo_profile *profile,
		      struct allo_error *err)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t len;
	bool ok = true;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s: %s", path, strerror(errno));
	while (ok && (len = getline(&line, &room, file)) > 0) {
		struct allo_text text = { line, (size_t)len };

		ok = allo_proc_maps_read(maps, allo_text_trim(text), profile, err);
	}
	free(line);
	fclose(file);
	return ok && allo_proc_maps_add_modules(maps, profile, err);
}

static bool add_frames(const struct allo_address_request *request,
		       const struct allo_proc_maps *maps, struct allo_profile *profile,
		       struct allo_error *err)
{
	struct allo_address_list list = { .rest = request->addresses };
	struct allo_frame frame = { 0 };

	while (allo_address_list_next(&list, &frame.address)) {
		frame.module = allo_proc_maps_find(maps, frame.address);
		if (!allo_profile_add_frame(profile, &frame, NULL, 0, err))
			return false;
	}
	return true;
}

/* Reads the build-id of a module's file.  The file is the mapped one: the kernel marks deleted
 * files. */
static bool find_build(struct allo_profile *profile, struct allo_module *module, const char *root,
		       struct allo_error *err)
{
	struct allo_text path = allo_profile_text(profile, module->path);
	ALLO_DEFER(allo_free_pointer) char *name = strndup(path.data, path.len);
	ALLO_DEFER(allo_elf_close) struct allo_elf_file file = { 0 };
	char hex[ALLO_BUILD_ID_HEX];

	if (!name)
		return allo_fail_memory(err);
	if (name[0] == '/' && allo_elf_open(&file, root, name))
		module->build_id = allo_profile_add_string(
			profile, allo_text_of(allo_build_id_hex(&file.build_id, hex)), err);
	return !allo_failed(err);
}

/* Reads the build-ids of the modules that have frames. */
static bool find_builds(struct allo_profile *profile, const char *root, struct allo_error *err)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		allo_module_id id = profile->frames.at[i].module;

		if (id != 0 && profile->modules.at[id].build_id == 0 &&
		    !find_build(profile, &profile->modules.at[id], root, err))
			return false;
	}
	return true;
}

static void put_names(struct allo_output *out, const struct allo_profile *profile,
		      bool lists_inlined)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		uint32_t count = frame->line_count;

		if (count == 0)
			continue;
		allo_output_printf(out, "0x%llx\t", (unsigned long long)frame->address);
		for (uint32_t k = lists_inlined ? 0 : count - 1; k < count; k++) {
			allo_function_id id = profile->lines.at[frame->first_line + k].function;

			allo_output_printable(
				out, allo_profile_text(profile, profile->functions.at[id].name));
			allo_output_string(out, k + 1 < count ? "--" : "\n");
		}
	}
}

unsigned allo_address_names(const void *task, int fd, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_proc_maps_done) struct allo_proc_maps maps = { 0 };
	const struct allo_address_request *request = task;
	struct allo_symbol_options symbols = *request->symbols;
	char root[ALLO_ROOT_SIZE];

	if (!symbols.places.root)
		symbols.places.root = allo_served_process_root(request->process, root);
	if (!read_maps(request->process->pid, &maps, &profile, err))
		return allo_served_process_has_ended(request->process) ? ALLO_GONE
								       : ALLO_UNAVAILABLE;
	profile.meta.pid = (uint64_t)request->process->pid;
	if (!add_frames(request, &maps, &profile, err) ||
	    !find_builds(&profile, symbols.places.root, err) ||
	    !allo_symbols_add(&profile, &symbols, NULL, NULL, err) ||
	    !allo_output_open_fd(&out, fd, "the reply", &(struct allo_output_options){ 0 }, err))
		return ALLO_BROKEN;
	put_names(&out, &profile, request->lists_inlined);
	return allo_output_finish(&out, err) ? ALLO_DONE : ALLO_BROKEN;
}
