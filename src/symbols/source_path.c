/* source_path.c - joins and normalises paths. */
#include "symbols/source_path.h"

#include "base/assert.h"

void allo_source_path_done(struct allo_source_path *path)
{
	allo_vec_done(&path->bytes);
}

/* Removes the last name, unless it is empty or "..". */
static bool go_up(struct allo_source_path *path)
{
	struct allo_text whole = { path->bytes.at, path->bytes.len }, before, last;

	if (!allo_text_cut_last(whole, '/', &before, &last)) {
		before.len = 0;
		last = whole;
	}
	if (last.len == 0 || allo_text_equal(last, ALLO_TEXT("..")))
		return false;
	path->bytes.len = before.len;
	return true;
}

static bool add_names(struct allo_source_path *path, struct allo_text names, bool is_absolute)
{
	struct allo_text name;

	while (allo_text_next(&names, '/', &name)) {
		bool is_up = allo_text_equal(name, ALLO_TEXT(".."));

		if (name.len == 0 || allo_text_equal(name, ALLO_TEXT(".")))
			continue;
		if (is_up && (go_up(path) || is_absolute))
			continue;
		if ((is_absolute || path->bytes.len > 0) && !allo_vec_append(&path->bytes, "/", 1))
			return false;
		if (!allo_vec_append(&path->bytes, name.data, name.len))
			return false;
	}
	return true;
}

bool allo_source_path_join(struct allo_source_path *path, struct allo_text folder,
			   struct allo_text file, struct allo_text *joined)
{
	bool is_whole = allo_text_starts(file, ALLO_TEXT("/"));
	bool is_absolute = is_whole || allo_text_starts(folder, ALLO_TEXT("/"));

	path->bytes.len = 0;
	if ((!is_whole && !add_names(path, folder, is_absolute)) ||
	    !add_names(path, file, is_absolute))
		return false;
	ALLO_ASSERT(path->bytes.len <= folder.len + file.len + 2);
	*joined = (struct allo_text){ path->bytes.at, path->bytes.len };
	return true;
}
