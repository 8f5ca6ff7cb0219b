/* cgroup.c - finds the group of a process among the mounts, and reads its memory files. */
#include "telemetry/cgroup.h"

#include "base/assert.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/text_buffer.h"

/* The group. */

/* Whether a comma-separated list contains the word. */
static bool has_word(struct allo_text list, struct allo_text word)
{
	struct allo_text piece;

	while (allo_text_next(&list, ',', &piece)) {
		if (allo_text_equal(piece, word))
			return true;
	}
	return false;
}

/* A text that does not fit counts as absent. */
static void keep(char out[ALLO_CGROUP_PATH], struct allo_text text)
{
	if (text.len >= ALLO_CGROUP_PATH)
		text.len = 0;
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
}

/* "4:memory:/docker/1f0c" is version 1, "0::/system.slice/app.service" version 2. */
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

/* mountinfo writes blanks, newlines and backslashes as three octal digits. */
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

/* Removes slashes at the end: "/" becomes the empty path. */
static struct allo_text without_slash(struct allo_text path)
{
	while (path.len > 0 && path.data[path.len - 1] == '/')
		path.len--;
	return path;
}

/* Sets the path of a group, if a mount shows it.  `root` is the group at the mount point.  The
 * mount with the longest remaining path wins: it shows the most ancestors. */
static void apply_mount(struct allo_cgroup_folder *folder, struct allo_text root,
			struct allo_text point)
{
	struct allo_text below = allo_text_of(folder->group);
	char path[ALLO_CGROUP_PATH];
	struct allo_text_buffer buffer = { path, sizeof(path), 0 };

	/* ".." means a group outside of this cgroup namespace. */
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

/*
 * "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory": three
 * numbers, root, mount point, options, any number of optional fields, a dash, type, device, and
 * options that name the controllers.
 */
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
		apply_mount(&place->v2, root, point);
	else if (allo_text_equal(kind, ALLO_TEXT("cgroup")) && has_word(line, ALLO_TEXT("memory")))
		apply_mount(&place->v1, root, point);
}

static void read_mounts(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			const char *root)
{
	struct allo_text line;

	/* /proc/PID/cgroup shows paths in our namespace, so our own mounts apply. */
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

/* In version 2 a group may lack the controller: then the nearest ancestor that has it accounts for
 * the memory.  False if no ancestor has it. */
static bool go_up_to_controller(struct allo_cgroup_folder *folder, struct allo_proc_reader *reader,
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
		place->why = "the control group is not visible: no mount shows it";
	else if (place->version == 2 && !go_up_to_controller(&place->memory, reader, root))
		place->why = "neither the control group nor an ancestor has the memory controller";
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
	read_mounts(&found, reader, root);
	choose(&found, reader, root);
	*place = found;
	return 0;
}

/* Files of the group. */

enum { PATH_ROOM = ALLO_CGROUP_PATH + 64 };

/* The path of a file in the folder that the first `len` bytes of the path name. */
static void join(char path[PATH_ROOM], const struct allo_cgroup_folder *folder, size_t len,
		 const char *name)
{
	struct allo_text_buffer buffer = { path, PATH_ROOM, 0 };

	allo_buffer_text(&buffer, (struct allo_text){ folder->path, len });
	allo_buffer_string(&buffer, "/");
	allo_buffer_string(&buffer, name);
	allo_buffer_end(&buffer);
}

static int open_file(struct allo_proc_reader *reader, const char *root,
		     const struct allo_cgroup_folder *folder, const char *name)
{
	char path[PATH_ROOM];

	join(path, folder, strlen(folder->path), name);
	return allo_proc_reader_open(reader, root, path);
}

static int read_number(struct allo_proc_reader *reader, const char *root,
		       const struct allo_cgroup_folder *folder, const char *name, uint64_t *number)
{
	char path[PATH_ROOM];

	join(path, folder, strlen(folder->path), name);
	return allo_proc_reader_number(reader, root, path, number);
}

/* The length of the path of the parent. */
static size_t parent_len(const struct allo_cgroup_folder *folder, size_t len)
{
	ALLO_ASSERT(len >= folder->mount_len);
	while (len > folder->mount_len && folder->path[--len] != '/') {
	}
	return len;
}

/* Version 1 writes "no limit" as the largest number of whole pages. */
static bool is_limit(uint64_t number)
{
	return number < (uint64_t)1 << 62;
}

/* The lowest number in this file of a folder and its ancestors. */
static uint64_t lowest_up(struct allo_proc_reader *reader, const char *root,
			  const struct allo_cgroup_folder *folder, size_t len, const char *name)
{
	uint64_t lowest = ALLO_UNKNOWN, number;
	char path[PATH_ROOM];

	for (;;) {
		join(path, folder, len, name);
		if (allo_proc_reader_number(reader, root, path, &number) == 0 && is_limit(number) &&
		    number < lowest)
			lowest = number;
		if (len <= folder->mount_len)
			return lowest;
		len = parent_len(folder, len);
	}
}

/* Limits of ancestors are read once a minute: there may be many. */
static void read_limits(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			const char *root, const char *const names[ALLO_CGROUP_LIMITS],
			uint64_t limits[ALLO_CGROUP_LIMITS])
{
	const struct allo_cgroup_folder *folder = &place->memory;
	size_t len = strlen(folder->path);
	uint64_t now = allo_clock_ns();
	bool is_old = place->above_ns == 0 || now - place->above_ns > UINT64_C(60) * ALLO_SECOND_NS;

	for (int i = 0; i < ALLO_CGROUP_LIMITS; i++) {
		uint64_t own = ALLO_UNKNOWN;

		if (read_number(reader, root, folder, names[i], &own) != 0 || !is_limit(own))
			own = ALLO_UNKNOWN;
		if (is_old)
			place->above[i] = len > folder->mount_len
						  ? lowest_up(reader, root, folder,
							      parent_len(folder, len), names[i])
						  : ALLO_UNKNOWN;
		limits[i] = own < place->above[i] ? own : place->above[i];
	}
	if (is_old)
		place->above_ns = now;
}

static void name_group(const struct allo_cgroup_place *place, struct allo_cgroup_memory *memory)
{
	struct allo_text_buffer buffer = { memory->path, sizeof(memory->path), 0 };

	memory->version = (uint64_t)place->version;
	allo_buffer_string(&buffer, place->memory.group[0] ? place->memory.group : "/");
	allo_buffer_end(&buffer);
}

static int read_first_usage(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			    const char *root, struct allo_cgroup_memory *memory)
{
	const struct allo_cgroup_folder *folder = &place->memory;
	int why = read_number(reader, root, folder, "memory.usage_in_bytes",
			      &memory->current_bytes);

	if (!why)
		read_number(reader, root, folder, "memory.max_usage_in_bytes", &memory->peak_bytes);
	return why;
}

static int read_second_usage(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			     const char *root, struct allo_cgroup_memory *memory)
{
	static const char *const names[ALLO_CGROUP_LIMITS] = {
		[ALLO_CGROUP_MAX] = "memory.max",
		[ALLO_CGROUP_HIGH] = "memory.high",
		[ALLO_CGROUP_SWAP_MAX] = "memory.swap.max",
	};
	const struct allo_cgroup_folder *folder = &place->memory;
	int why = read_number(reader, root, folder, "memory.current", &memory->current_bytes);
	uint64_t limits[ALLO_CGROUP_LIMITS];

	if (why)
		return why;
	read_number(reader, root, folder, "memory.peak", &memory->peak_bytes);
	read_number(reader, root, folder, "memory.swap.current", &memory->swap_bytes);
	read_number(reader, root, folder, "memory.swap.peak", &memory->swap_peak_bytes);
	read_limits(place, reader, root, names, limits);
	memory->limit_bytes = limits[ALLO_CGROUP_MAX];
	memory->high_bytes = limits[ALLO_CGROUP_HIGH];
	memory->swap_limit_bytes = limits[ALLO_CGROUP_SWAP_MAX];
	return 0;
}

int allo_cgroup_read_usage(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			   const char *root, struct allo_cgroup_memory *memory)
{
	int why = place->version == 1 ? read_first_usage(place, reader, root, memory)
				      : read_second_usage(place, reader, root, memory);

	if (!why)
		name_group(place, memory);
	return why;
}

/* memory.stat */

/* Whether a line counts events; the others are bytes. */
static bool is_counter(struct allo_text name)
{
	static const struct allo_text starts[] = {
		ALLO_TEXT_INIT("pg"),      ALLO_TEXT_INIT("workingset_"), ALLO_TEXT_INIT("thp_"),
		ALLO_TEXT_INIT("swpin"),   ALLO_TEXT_INIT("swpout"),      ALLO_TEXT_INIT("zswpin"),
		ALLO_TEXT_INIT("zswpout"), ALLO_TEXT_INIT("zswpwb"),      ALLO_TEXT_INIT("numa_"),
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (allo_text_starts(name, starts[i]))
			return true;
	}
	return false;
}

static void add_stat(struct allo_cgroup_memory *memory, struct allo_text name, uint64_t value)
{
	struct allo_cgroup_stat *stat = &memory->stats[memory->stat_count];

	ALLO_ASSERT(memory->stat_count <= ALLO_CGROUP_STATS);
	if (memory->stat_count == ALLO_CGROUP_STATS || name.len == 0 ||
	    name.len >= sizeof(stat->name))
		return;
	/* The name becomes the value of a label, and a key of JSON. */
	for (size_t i = 0; i < name.len; i++) {
		if (name.data[i] != '_' && !allo_is_digit(name.data[i]) &&
		    !(name.data[i] >= 'a' && name.data[i] <= 'z'))
			return;
	}
	memcpy(stat->name, name.data, name.len);
	stat->name[name.len] = '\0';
	stat->value = value;
	stat->is_counter = is_counter(name);
	memory->stat_count++;
}

/* The name of version 2. */
static struct allo_text second_name(struct allo_text name)
{
	static const struct {
		struct allo_text first, second;
	} names[] = {
		{ ALLO_TEXT_INIT("cache"), ALLO_TEXT_INIT("file") },
		{ ALLO_TEXT_INIT("rss"), ALLO_TEXT_INIT("anon") },
		{ ALLO_TEXT_INIT("rss_huge"), ALLO_TEXT_INIT("anon_thp") },
		{ ALLO_TEXT_INIT("mapped_file"), ALLO_TEXT_INIT("file_mapped") },
		{ ALLO_TEXT_INIT("dirty"), ALLO_TEXT_INIT("file_dirty") },
		{ ALLO_TEXT_INIT("writeback"), ALLO_TEXT_INIT("file_writeback") },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(name, names[i].first))
			return names[i].second;
	}
	return name;
}

/* In version 1, "total_" lines include descendants, as all lines of version 2 do. */
static void take_first_stat(struct allo_cgroup_memory *memory, struct allo_text name,
			    uint64_t value)
{
	if (allo_text_equal(name, ALLO_TEXT("hierarchical_memory_limit"))) {
		/* The lowest limit up to the root, including ancestors that are not visible. */
		if (is_limit(value))
			memory->limit_bytes = value;
	} else if (allo_text_skip(&name, ALLO_TEXT("total_"))) {
		if (allo_text_equal(name, ALLO_TEXT("swap")))
			memory->swap_bytes = value;
		else
			add_stat(memory, second_name(name), value);
	}
}

void allo_cgroup_take_stats(struct allo_proc_reader *reader, int version,
			    struct allo_cgroup_memory *memory)
{
	struct allo_text line, name, number;
	uint64_t value;

	while (allo_proc_reader_next(reader, &line)) {
		if (!allo_text_cut(line, ' ', &name, &number) || !allo_text_u64(number, &value))
			continue;
		if (version == 1)
			take_first_stat(memory, name, value);
		else
			add_stat(memory, name, value);
	}
}

uint64_t allo_cgroup_stat(const struct allo_cgroup_memory *memory, const char *name)
{
	for (uint32_t i = 0; i < memory->stat_count; i++) {
		if (strcmp(memory->stats[i].name, name) == 0)
			return memory->stats[i].value;
	}
	return ALLO_UNKNOWN;
}

/* As kubelet and cAdvisor compute it. */
static void find_working_set(struct allo_cgroup_memory *memory)
{
	uint64_t inactive = allo_cgroup_stat(memory, "inactive_file");
	uint64_t current = memory->current_bytes;

	if (current != ALLO_UNKNOWN && inactive != ALLO_UNKNOWN)
		memory->working_set_bytes = current > inactive ? current - inactive : 0;
}

int allo_cgroup_read_stat(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			  const char *root, struct allo_cgroup_memory *memory)
{
	int why = open_file(reader, root, &place->memory, "memory.stat");
	uint64_t kernel;

	if (why)
		return why;
	allo_cgroup_take_stats(reader, place->version, memory);
	why = allo_proc_reader_close(reader);
	find_working_set(memory);
	if (place->version == 1 &&
	    read_number(reader, root, &place->memory, "memory.kmem.usage_in_bytes", &kernel) == 0)
		add_stat(memory, ALLO_TEXT("kernel"), kernel);
	return why;
}

/* Events. */

static void take_event(struct allo_cgroup_memory *memory, struct allo_text name, uint64_t count)
{
	const struct {
		struct allo_text name;
		uint64_t *count;
	} events[] = {
		{ ALLO_TEXT("low"), &memory->low_events },
		{ ALLO_TEXT("high"), &memory->high_events },
		{ ALLO_TEXT("max"), &memory->max_events },
		{ ALLO_TEXT("oom"), &memory->oom_events },
		{ ALLO_TEXT("oom_kill"), &memory->oom_kills },
		{ ALLO_TEXT("oom_group_kill"), &memory->oom_group_kills },
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (allo_text_equal(name, events[i].name))
			*events[i].count = count;
	}
}

int allo_cgroup_read_events(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			    const char *root, struct allo_cgroup_memory *memory)
{
	bool is_first = place->version == 1;
	int why = open_file(reader, root, &place->memory,
			    is_first ? "memory.oom_control" : "memory.events");
	struct allo_text line, name, number;
	uint64_t count;

	if (why)
		return why;
	while (allo_proc_reader_next(reader, &line)) {
		if (allo_text_cut(line, ' ', &name, &number) && allo_text_u64(number, &count))
			take_event(memory, name, count);
	}
	why = allo_proc_reader_close(reader);
	if (is_first)
		read_number(reader, root, &place->memory, "memory.failcnt", &memory->max_events);
	return why;
}

/* Pressure. */

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds */
void allo_take_pressure(struct allo_proc_reader *reader, uint64_t *some_ns, uint64_t *full_ns)
{
	struct allo_text line, kind, before, total;
	uint64_t microseconds;

	while (allo_proc_reader_next(reader, &line)) {
		if (!allo_text_cut(line, ' ', &kind, &line) ||
		    !allo_text_cut_last(line, '=', &before, &total) ||
		    !allo_text_ends(before, ALLO_TEXT(" total")) ||
		    !allo_text_u64(total, &microseconds) || microseconds > UINT64_MAX / 1000)
			continue;
		if (allo_text_equal(kind, ALLO_TEXT("some")))
			*some_ns = microseconds * 1000;
		else if (allo_text_equal(kind, ALLO_TEXT("full")))
			*full_ns = microseconds * 1000;
	}
}

int allo_cgroup_read_pressure(const struct allo_cgroup_place *place,
			      struct allo_proc_reader *reader, const char *root,
			      struct allo_cgroup_memory *memory)
{
	int why = open_file(reader, root, &place->v2, "memory.pressure");

	if (why)
		return why;
	allo_take_pressure(reader, &memory->pressure_some_ns, &memory->pressure_full_ns);
	return allo_proc_reader_close(reader);
}
