/* source_name.c - the file, or the folder and the file. */
#include "profile/source_name.h"

static bool is_in_each_package(struct allo_text name)
{
	return allo_text_equal(name, ALLO_TEXT("__init__.py")) ||
	       allo_text_equal(name, ALLO_TEXT("__main__.py"));
}

struct allo_text allo_source_name(struct allo_text path)
{
	struct allo_text folders, above, name, folder;

	if (!allo_text_cut_last(path, '/', &folders, &name))
		return path;
	if (folders.len == 0 || !is_in_each_package(name))
		return name;
	if (!allo_text_cut_last(folders, '/', &above, &folder))
		return path;
	return (struct allo_text){ folder.data, folder.len + 1 + name.len };
}
