/* module_files.c - tries the places of module_files.h one after the other. */
#include "symbols/module_files.h"

#include "base/assert.h"
#include "base/defer.h"
#include "symbols/source_lines.h"

#include <elfutils/libdwelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define DEBUG_FOLDER "/usr/lib/debug"

/* The file that is searched. */
struct search {
	const struct allo_symbol_places *places;
	const struct allo_elf_file *own; /* may be empty */
	const char *path, *name;         /* of the module, with and without folders */
	const struct allo_build_id *id;  /* may be empty */
	char hex[ALLO_BUILD_ID_HEX];
	const char *link; /* the name in .gnu_debuglink; NULL: none */
	GElf_Word checksum;
};

void allo_module_files_close(struct allo_module_files *files)
{
	allo_elf_close(&files->own);
	allo_elf_close(&files->debug);
}

static void search_init(struct search *search, const struct allo_symbol_places *places,
			const struct allo_elf_file *own, const char *path,
			const struct allo_build_id *id)
{
	const char *slash = strrchr(path, '/');

	*search = (struct search){ .places = places,
				   .own = own,
				   .path = path,
				   .name = slash ? slash + 1 : path,
				   .id = id };
	ALLO_ASSERT(path[0] == '/');
	allo_build_id_hex(id, search->hex);
	if (own->elf)
		search->link = dwelf_elf_gnu_debuglink(own->elf, &search->checksum);
	if (search->link && (search->link[0] == '\0' || strchr(search->link, '/')))
		search->link = NULL;
}

static bool has_build_id(const struct search *search, const struct allo_elf_file *file)
{
	return search->id->len > 0 && allo_build_id_equal(&file->build_id, search->id);
}

static bool has_checksum(const struct allo_elf_file *debug, uint32_t checksum)
{
	size_t size;
	const char *bytes = elf_rawfile(debug->elf, &size);

	return bytes && crc32_z(crc32(0, NULL, 0), (const Bytef *)bytes, size) == checksum;
}

/* The proof that a file is the module's. */
enum proof {
	BY_BUILD_ID,
	BY_LINK,     /* by checksum, without build-ids */
	BY_CONTENTS, /* by build-id, and it must have debug information or a symbol table */
};

/* A checksum needs the whole file; comparing two build-ids is cheaper. */
static bool is_proven(const struct search *search, const struct allo_elf_file *file,
		      enum proof proof)
{
	GElf_Shdr header;

	if (proof == BY_LINK && (file->build_id.len == 0 || search->own->build_id.len == 0))
		return has_checksum(file, search->checksum);
	if (!has_build_id(search, file))
		return false;
	return proof != BY_CONTENTS || allo_has_source_lines(file->elf) ||
	       allo_elf_section_of_type(file->elf, SHT_SYMTAB, &header);
}

__attribute__((format(printf, 5, 6))) static bool open_at(const struct search *search,
							  struct allo_elf_file *file,
							  enum proof proof, const char *root,
							  const char *format, ...)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&path, format, args);
	va_end(args);
	if (len < 0) {
		path = NULL;
		return false;
	}
	/* A file may name itself as its debug file. */
	if (proof == BY_LINK && strcmp(path, search->path) == 0)
		return false;
	if (!allo_elf_open(file, root, path))
		return false;
	if (is_proven(search, file, proof))
		return true;
	allo_elf_close(file);
	return false;
}

/* The module's folder, for "%.*s". */
#define FOLDER(search) (int)((search)->name - (search)->path), (search)->path

static bool open_in_folder(const struct search *search, struct allo_elf_file *debug,
			   const char *folder)
{
	const char *hex = search->hex;

	if (search->id->len > 1 &&
	    (open_at(search, debug, BY_BUILD_ID, NULL, "%s/.build-id/%.2s/%s.debug", folder, hex,
		     hex + 2) ||
	     open_at(search, debug, BY_BUILD_ID, NULL, "%s/%s/debuginfo", folder, hex)))
		return true;
	if (search->link && (open_at(search, debug, BY_LINK, NULL, "%s%.*s%s", folder,
				     FOLDER(search), search->link) ||
			     open_at(search, debug, BY_LINK, NULL, "%s/%s", folder, search->link)))
		return true;
	return open_at(search, debug, BY_CONTENTS, NULL, "%s%s.debug", folder, search->path) ||
	       open_at(search, debug, BY_CONTENTS, NULL, "%s%s", folder, search->path) ||
	       open_at(search, debug, BY_CONTENTS, NULL, "%s/%s.debug", folder, search->name) ||
	       open_at(search, debug, BY_CONTENTS, NULL, "%s/%s", folder, search->name);
}

static bool open_by_build_id(const struct search *search, struct allo_elf_file *debug,
			     const char *root)
{
	return search->id->len > 1 &&
	       open_at(search, debug, BY_BUILD_ID, root, DEBUG_FOLDER "/.build-id/%.2s/%s.debug",
		       search->hex, search->hex + 2);
}

static bool open_by_link(const struct search *search, struct allo_elf_file *debug)
{
	const char *root = search->places->root;

	return search->link &&
	       (open_at(search, debug, BY_LINK, root, "%.*s%s", FOLDER(search), search->link) ||
		open_at(search, debug, BY_LINK, root, "%.*s.debug/%s", FOLDER(search),
			search->link) ||
		open_at(search, debug, BY_LINK, root, DEBUG_FOLDER "%.*s%s", FOLDER(search),
			search->link));
}

/* Opens a file in the cache of debuginfod's client: "debuginfo" or "executable" of a build-id. */
static bool open_in_cache(const struct search *search, struct allo_elf_file *file, const char *what)
{
	const struct {
		const char *variable, *behind;
	} folders[] = {
		{ "DEBUGINFOD_CACHE_PATH", "" },
		{ "XDG_CACHE_HOME", "/debuginfod_client" },
		{ "HOME", "/.cache/debuginfod_client" },
	};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && search->id->len > 1; i++) {
		const char *folder = getenv(folders[i].variable);

		if (folder && folder[0] == '/' &&
		    open_at(search, file, BY_BUILD_ID, NULL, "%s%s/%s/%s", folder,
			    folders[i].behind, search->hex, what))
			return true;
	}
	return false;
}

bool allo_module_files_open_elsewhere(struct allo_module_files *files,
				      const struct allo_symbol_places *places, const char *path,
				      const struct allo_build_id *id)
{
	struct search search;

	search_init(&search, places, &files->own, path, id);
	for (size_t i = 0; i < places->folder_count; i++) {
		const char *folder = places->folders[i];

		if (open_at(&search, &files->own, BY_BUILD_ID, NULL, "%s%s", folder, path) ||
		    open_at(&search, &files->own, BY_BUILD_ID, NULL, "%s/%s", folder, search.name))
			return true;
	}
	return open_in_cache(&search, &files->own, "executable");
}

bool allo_module_files_open_debug(struct allo_module_files *files,
				  const struct allo_symbol_places *places, const char *path,
				  const struct allo_build_id *id)
{
	struct search search;

	search_init(&search, places, &files->own, path, id);
	for (size_t i = 0; i < places->folder_count; i++) {
		if (open_in_folder(&search, &files->debug, places->folders[i]))
			return true;
	}
	return (places->root && open_by_build_id(&search, &files->debug, places->root)) ||
	       open_by_build_id(&search, &files->debug, NULL) ||
	       open_by_link(&search, &files->debug) ||
	       open_in_cache(&search, &files->debug, "debuginfo");
}
