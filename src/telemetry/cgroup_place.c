/* cgroup_place.c - see cgroup_place.h. */
#include "telemetry/cgroup_place.h"

#include "telemetry/text_buffer.h"

/* Whether a list, separated by commas, has the word. */
static bool has_word(struct allo_text list, struct allo_text word)
{
	struct allo_text piece;

	while (allo_text_next(&list, ',', &piece)) {
		if (allo_text_equal(piece, word))
			return true;
	}
	return false;
}

/* What is too long is as good as not there. */
static void keep(char out[ALLO_CGROUP_PATH], struct allo_text text)
{
	if (text.len >= ALLO_CGROUP_PATH)
		text.len = 0;
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
}

/* "4:memory:/docker/1f0c", or "0::/system.slice/app.service" */
void allo_cgroup_read_group(struct allo_cgroup_place *place, struct allo_text line)
{
	struct allo_text number, controllers, group;

	if (!allo_text_cut(line, ':', &number, &line) ||
	    !allo_text_cut(line, ':', &controllers, &group))
		return;
	if (allo_text_equal(number, ALLO_TEXT("0")) && controllers.len == 0)
		keep(place->v2.group, group);
	else if (has_word(controllers, ALLO_TEXT("memory")))
		keep(place->v1.group, group);
}

/* Mounts. */

static int octal(char c)
{
	return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* Blanks, newlines and backslashes are written as three octal digits. */
static struct allo_text unescape(struct allo_text text, char out[ALLO_CGROUP_PATH])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len && len < ALLO_CGROUP_PATH; len++) {
		const char *at = text.data + i;

		if (at[0] == '\\' && text.len - i >= 4 && octal(at[1]) >= 0 && octal(at[2]) >= 0 &&
		    octal(at[3]) >= 0) {
			out[len] = (char)(octal(at[1]) << 6 | octal(at[2]) << 3 | octal(at[3]));
			i += 4;
		} else {
			out[len] = at[0];
			i++;
		}
	}
	return (struct allo_text){ out, len };
}

/* Without a slash at its end: "/" is the empty path. */
static struct allo_text without_slash(struct allo_text path)
{
	while (path.len > 0 && path.data[path.len - 1] == '/')
		path.len--;
	return path;
}

/* The folder of a group below a mount that shows the hierarchy from `root` on.  Of several mounts
 * the one that shows most counts. */
static void see(struct allo_cgroup_folder *folder, struct allo_text root, struct allo_text point)
{
	struct allo_text below = allo_text_of(folder->group);
	char path[ALLO_CGROUP_PATH];
	struct allo_text_buffer buffer = { path, sizeof(path), 0 };

	/* ".." leads to groups outside of what this process may see. */
	if (below.len == 0 || allo_text_starts(below, ALLO_TEXT("/..")))
		return;
	if (!allo_text_skip(&below, root) || (below.len > 0 && below.data[0] != '/'))
		return;
	below = without_slash(below);
	if (folder->path[0] && strlen(folder->path) - folder->mount_len >= below.len)
		return;
	allo_buffer_text(&buffer, point);
	allo_buffer_text(&buffer, below);
	if (allo_buffer_end(&buffer) >= sizeof(path) || strlen(path) != buffer.len)
		return;
	memcpy(folder->path, path, sizeof(path));
	folder->mount_len = point.len;
}

/* "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory": numbers, the
 * mount's root, where it is, options, more of those or none, a dash, the kind, the device, and the
 * options that tell of controllers. */
void allo_cgroup_read_mount(struct allo_cgroup_place *place, struct allo_text line)
{
	char root_text[ALLO_CGROUP_PATH], point_text[ALLO_CGROUP_PATH];
	struct allo_text root = { 0 }, point = { 0 }, word, kind, device;
	unsigned count = 0;

	while (allo_text_next(&line, ' ', &word) && !allo_text_equal(word, ALLO_TEXT("-"))) {
		if (count == 3)
			root = word;
		else if (count == 4)
			point = word;
		count++;
	}
	if (!allo_text_next(&line, ' ', &kind) || !allo_text_next(&line, ' ', &device))
		return;
	root = without_slash(unescape(root, root_text));
	point = without_slash(unescape(point, point_text));
	if (allo_text_equal(kind, ALLO_TEXT("cgroup2")))
		see(&place->v2, root, point);
	else if (allo_text_equal(kind, ALLO_TEXT("cgroup")) && has_word(line, ALLO_TEXT("memory")))
		see(&place->v1, root, point);
}

static void look_through_mounts(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
				const char *root)
{
	struct allo_text line;

	/* The paths of groups are as we see them, so the mounts have to be ours. */
	if (allo_proc_reader_open_long(reader, root, "/proc/self/mountinfo") != 0)
		return;
	while (allo_proc_reader_next(reader, &line))
		allo_cgroup_read_mount(place, line);
	allo_proc_reader_close(reader);
}

static bool is_there(struct allo_proc_reader *reader, const char *root,
		     const struct allo_cgroup_folder *folder, const char *name)
{
	char path[ALLO_CGROUP_PATH + 32];
	struct allo_text_buffer buffer = { path, sizeof(path), 0 };

	allo_buffer_string(&buffer, folder->path);
	allo_buffer_string(&buffer, name);
	allo_buffer_end(&buffer);
	if (allo_proc_reader_open(reader, root, path) != 0)
		return false;
	allo_proc_reader_close(reader);
	return true;
}

/* Of version 2 a group need not have the controller: its memory is counted in the nearest one above
 * that has.  False if none has. */
static bool go_up_to_counted(struct allo_cgroup_folder *folder, struct allo_proc_reader *reader,
			     const char *root)
{
	while (!is_there(reader, root, folder, "/memory.current")) {
		char *slash = strrchr(folder->path + folder->mount_len, '/');

		if (!slash)
			return false;
		*slash = '\0';
		slash = strrchr(folder->group, '/');
		if (slash)
			*slash = '\0';
	}
	return true;
}

static void choose(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
		   const char *root)
{
	place->why = NULL;
	place->version = place->v1.group[0] ? 1 : 2;
	place->memory = place->v1.group[0] ? place->v1 : place->v2;
	if (!place->memory.group[0])
		place->why = "the process is in no control group";
	else if (!place->memory.path[0])
		place->why = "its control group cannot be seen from here: it is below no mount";
	else if (place->version == 2 && !go_up_to_counted(&place->memory, reader, root))
		place->why = "its control group does not count memory, nor does one above it";
	if (place->why)
		place->version = 0;
}

static bool is_same_group(const struct allo_cgroup_folder *one,
			  const struct allo_cgroup_folder *other)
{
	return strcmp(one->group, other->group) == 0;
}

int allo_cgroup_find(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
		     const char *root, const char *process)
{
	struct allo_cgroup_place found = { 0 };
	char path[64];
	struct allo_text_buffer buffer = { path, sizeof(path), 0 };
	struct allo_text line;
	int why;

	allo_buffer_string(&buffer, process);
	allo_buffer_string(&buffer, "/cgroup");
	allo_buffer_end(&buffer);
	why = allo_proc_reader_open(reader, root, path);
	if (why)
		return why;
	while (allo_proc_reader_next(reader, &line))
		allo_cgroup_read_group(&found, line);
	why = allo_proc_reader_close(reader);
	if (why)
		return why;
	if (place->version > 0 && is_same_group(&found.v1, &place->v1) &&
	    is_same_group(&found.v2, &place->v2))
		return 0;
	look_through_mounts(&found, reader, root);
	choose(&found, reader, root);
	*place = found;
	return 0;
}
