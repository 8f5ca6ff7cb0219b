/* debian_packages.c - see debian_packages.h. */
#include "cli/debian_packages.h"

#include "base/defer.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/var/lib/dpkg/info"

enum { LIST_MOST = 64 << 20 }; /* bytes; the largest have some */

typedef ALLO_VEC(char) bytes;

/* A list with a newline before it, so that each of its lines lies between two. */
static bool read_list(int folder, const char *name, bytes *list)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat facts;
	ssize_t got;

	list->len = 0;
	if (fd < 0)
		return false;
	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= LIST_MOST &&
	    allo_vec_reserve(list, (size_t)facts.st_size + 1)) {
		list->at[list->len++] = '\n';
		while (list->len < list->cap &&
		       (got = read(fd, list->at + list->len, list->cap - list->len)) > 0)
			list->len += (size_t)got;
	}
	close(fd);
	return list->len > 0;
}

static bool has_line(const bytes *list, struct allo_text line)
{
	struct allo_text rest = { list->at, list->len };
	size_t at;

	while ((at = allo_text_find(rest, line)) != (size_t)-1) {
		if (at > 0 && rest.data[at - 1] == '\n' && at + line.len < rest.len &&
		    rest.data[at + line.len] == '\n')
			return true;
		rest = allo_text_from(rest, at + 1);
	}
	return false;
}

/* A list may have /lib/x where the file is known as /usr/lib/x, and the other way round: one is a
 * link to the other. */
static bool has_file(const bytes *list, struct allo_text path)
{
	struct allo_text shorter = path;
	char longer[4096];
	int len;

	if (has_line(list, path))
		return true;
	if (allo_text_skip(&shorter, ALLO_TEXT("/usr")))
		return has_line(list, shorter);
	len = snprintf(longer, sizeof(longer), "/usr%.*s", (int)path.len, path.data);
	return len > 0 && (size_t)len < sizeof(longer) &&
	       has_line(list, (struct allo_text){ longer, (size_t)len });
}

/* The C library's debug information has a package from before there were rules for the names. */
static void name_package(struct allo_text list, char out[ALLO_PACKAGE_NAME])
{
	struct allo_text name = { list.data, list.len - strlen(".list") }, machine;

	allo_text_cut(name, ':', &name, &machine);
	snprintf(out, ALLO_PACKAGE_NAME, "%.*s-%s", ALLO_TEXT_ARG(name),
		 allo_text_equal(name, ALLO_TEXT("libc6")) ? "dbg" : "dbgsym");
}

static bool wants_any(const struct allo_packaged *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (files[i].debug_name[0] == '\0')
			return true;
	}
	return false;
}

void allo_debian_packages_find(const char *root, struct allo_packaged *files, size_t count)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	const struct dirent *found;
	bytes list = { 0 };
	DIR *folder;

	if (asprintf(&path, "%s" FOLDER, root ? root : "") < 0) {
		path = NULL;
		return;
	}
	folder = count > 0 ? opendir(path) : NULL;
	while (folder && wants_any(files, count) && (found = readdir(folder)) != NULL) {
		struct allo_text name = allo_text_of(found->d_name);

		if (!allo_text_ends(name, ALLO_TEXT(".list")) ||
		    !read_list(dirfd(folder), found->d_name, &list))
			continue;
		for (size_t i = 0; i < count; i++) {
			if (files[i].debug_name[0] == '\0' && has_file(&list, files[i].path))
				name_package(name, files[i].debug_name);
		}
	}
	if (folder)
		closedir(folder);
	allo_vec_done(&list);
}
