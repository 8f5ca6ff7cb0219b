/* cgroup_memory.c - see cgroup_memory.h. */
#include "telemetry/cgroup_memory.h"

#include "telemetry/monotonic_clock.h"
#include "telemetry/text_buffer.h"

enum { PATH_ROOM = ALLO_CGROUP_PATH + 64 };

/* A file of the folder that is made of the first `len` bytes of its path. */
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

/* Of the path of the folder above one, which is not a mount's. */
static size_t parent_len(const struct allo_cgroup_folder *folder, size_t len)
{
	while (len > folder->mount_len && folder->path[--len] != '/') {
	}
	return len;
}

/* Version 1 has no word for "no limit": it is the largest number of whole pages. */
static bool is_limit(uint64_t number)
{
	return number < (uint64_t)1 << 62;
}

/* Of a file in the first folder that is a part of the path, or in any above, the least number. */
static uint64_t least_up(struct allo_proc_reader *reader, const char *root,
			 const struct allo_cgroup_folder *folder, size_t len, const char *name)
{
	uint64_t least = ALLO_UNKNOWN, number;
	char path[PATH_ROOM];

	for (;;) {
		join(path, folder, len, name);
		if (allo_proc_reader_number(reader, root, path, &number) == 0 && is_limit(number) &&
		    number < least)
			least = number;
		if (len <= folder->mount_len)
			return least;
		len = parent_len(folder, len);
	}
}

/* The limits of groups above are looked at once a minute: there may be many. */
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
						  ? least_up(reader, root, folder,
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

/* Pages that came and went, in contrast to bytes that are there. */
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

	if (memory->stat_count == ALLO_CGROUP_STATS || name.len == 0 ||
	    name.len >= sizeof(stat->name))
		return;
	/* It becomes a label's value, and a key. */
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

/* What version 1 has another name for. */
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

/* Of version 1, what begins with "total_" is of the groups below, too, as all is in version 2. */
static void take_first_stat(struct allo_cgroup_memory *memory, struct allo_text name,
			    uint64_t value)
{
	if (allo_text_equal(name, ALLO_TEXT("hierarchical_memory_limit"))) {
		/* The least one up to the root, also above what can be seen from here. */
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

/* What kubelet and cAdvisor go by. */
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

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345": microseconds */
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
