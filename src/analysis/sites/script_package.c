/* script_package.c - see script_package.h. */
#include "analysis/sites/script_package.h"

#include "analysis/sites/known_code.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Folders of packages; the last one in a path counts, since packages contain others. */
static const struct allo_text package_folders[] = {
	ALLO_TEXT_INIT("/site-packages/"),
	ALLO_TEXT_INIT("/dist-packages/"),
	ALLO_TEXT_INIT("/node_modules/"),
};

/* Code that is in the interpreter: the beginning of its file's name, and a name for all of it. */
static const struct {
	struct allo_text start, name;
} built_in[] = {
	{ ALLO_TEXT_INIT("<frozen "), ALLO_TEXT_INIT("<frozen>") },
	{ ALLO_TEXT_INIT("node:"), ALLO_TEXT_INIT("Node.js") },
};

static struct allo_text part(struct allo_text text, size_t len)
{
	return (struct allo_text){ text.data, len < text.len ? len : text.len };
}

/* Position behind the last `folder` in `path`; 0: it is not there. */
static size_t behind_last(struct allo_text path, struct allo_text folder)
{
	size_t end = 0, at;

	while ((at = allo_text_find((struct allo_text){ path.data + end, path.len - end },
				    folder)) < path.len - end)
		end += at + folder.len;
	return end;
}

/* Length of the path up to the end of its component at `from`. */
static size_t end_of_component(struct allo_text path, size_t from)
{
	while (from < path.len && path.data[from] != '/')
		from++;
	return from;
}

/* The package in one of the folders above; empty: there is none. */
static struct allo_text installed(struct allo_text path)
{
	size_t from = 0, end;

	for (size_t i = 0; i < COUNT(package_folders); i++) {
		size_t behind = behind_last(path, package_folders[i]);

		from = behind > from ? behind : from;
	}
	if (from == 0)
		return part(path, 0);
	end = end_of_component(path, from);
	/* "@scope/name" */
	if (from < path.len && path.data[from] == '@' && end < path.len)
		end = end_of_component(path, end + 1);
	return part(path, end);
}

static struct allo_text package_of(struct allo_text path)
{
	static const struct allo_text library = ALLO_TEXT_INIT("/lib/python3.");
	struct allo_text found = installed(path), folder, name;
	size_t at = allo_text_find(path, library);

	for (size_t i = 0; i < COUNT(built_in); i++) {
		if (allo_text_starts(path, built_in[i].start))
			return built_in[i].name;
	}
	if (found.len > 0)
		return found;
	if (at < path.len)
		return part(path, end_of_component(path, at + library.len));
	return allo_text_cut_last(path, '/', &folder, &name) && folder.len > 0 ? folder : path;
}

/* Names of perf maps end with the file: "py::parse:/app/app.py", "JS:parse /app/app.js:2:18". */
static struct allo_text file_in_name(struct allo_text name)
{
	struct allo_text before, file = { "", 0 };

	if (allo_text_skip(&name, ALLO_TEXT("py::")))
		return allo_text_cut_last(name, ':', &before, &file) ? file : part(name, 0);
	if (!allo_text_cut_last(name, ' ', &before, &file))
		return part(name, 0);
	for (int i = 0; i < 2; i++) {
		struct allo_text number, path;

		if (allo_text_cut_last(file, ':', &path, &number) && number.len > 0 &&
		    allo_is_digit(number.data[0]))
			file = path;
	}
	return file;
}

struct allo_text allo_script_package(const struct allo_profile *profile, allo_function_id id)
{
	const struct allo_function *function;
	struct allo_text name, file;

	if (id == 0)
		return (struct allo_text){ "", 0 };
	function = &profile->functions.at[id];
	name = allo_judged_name(profile, function);
	file = allo_profile_text(profile, function->file);
	if (!allo_is_script_function(name))
		return (struct allo_text){ "", 0 };
	return package_of(file.len > 0 ? file : file_in_name(name));
}
