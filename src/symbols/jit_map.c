/* jit_map.c - finds the map of a process, and names the frames in its ranges. */
#include "symbols/jit_map.h"

#include "base/defer.h"
#include "base/sorted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The process may write the map after the end of the recording. */
#define SLACK_NS INT64_C(10000000000)

/* Bytes of a name whose tier is removed. */
enum { JIT_NAME_MAX = 4096 };

/* A frame outside of all modules. */
struct jit_spot {
	uint64_t address;
	allo_frame_id frame;
	allo_string_id name;
};

typedef ALLO_VEC(struct jit_spot) jit_spots;

static int compare_spots(const void *left, const void *right)
{
	const struct jit_spot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static bool is_jit_spot(const struct allo_frame *frame)
{
	return frame->module == 0 && frame->address != 0 && frame->line_count == 0;
}

static bool find_jit_spots(const struct allo_profile *profile, jit_spots *found,
			   struct allo_error *err)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		struct jit_spot spot = { .address = frame->address, .frame = (allo_frame_id)i };

		if (is_jit_spot(frame) && !allo_vec_append(found, &spot, 1))
			return allo_fail_memory(err);
	}
	if (found->len > 1)
		qsort(found->at, found->len, sizeof(*found->at), compare_spots);
	return true;
}

static bool is_of_process(const struct allo_meta *meta, const struct stat *facts)
{
	int64_t written = facts->st_mtim.tv_sec * INT64_C(1000000000) + facts->st_mtim.tv_nsec;
	uint64_t since = (uint64_t)written - (uint64_t)meta->start_ns;

	return S_ISREG(facts->st_mode) && facts->st_uid == geteuid() && meta->start_ns > 0 &&
	       written >= meta->start_ns && since <= meta->run_ns + SLACK_NS;
}

/* Returns -1 if there is no map of this process, or it belongs to another user. */
static int open_map(const struct allo_meta *meta)
{
	char path[64];
	struct stat facts;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%llu.map", (unsigned long long)meta->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0 || (fstat(fd, &facts) == 0 && is_of_process(meta, &facts)))
		return fd;
	close(fd);
	return -1;
}

static size_t find_first(const jit_spots *all, uint64_t address)
{
	return allo_sorted_below(all->at, all->len, address, address);
}

/* The name of a JavaScript function without its tier: V8 writes "JS:~f" while f is interpreted,
 * "JS:^f" and "JS:+f" for quick compilers, "JS:*f" for the optimizing one.  They are one function.
 * Functions without a name, and the code of a file, are "JS:~ app.js:1:1". */
static struct allo_text without_tier(struct allo_text line, char room[JIT_NAME_MAX])
{
	struct allo_text rest = line, prefix, name = ALLO_TEXT("");
	size_t len;

	if (!allo_text_cut(line, ':', &prefix, &rest) || rest.len < 2 ||
	    !strchr("~^+*", rest.data[0]) || line.len > JIT_NAME_MAX - strlen("(anonymous)") ||
	    !(allo_text_equal(prefix, ALLO_TEXT("JS")) ||
	      allo_text_equal(prefix, ALLO_TEXT("LazyCompile")) ||
	      allo_text_equal(prefix, ALLO_TEXT("Function"))))
		return line;
	if (rest.data[1] == ' ')
		name = ALLO_TEXT("(anonymous)");
	len = prefix.len + 1;
	memcpy(room, line.data, len);
	memcpy(room + len, name.data, name.len);
	memcpy(room + len + name.len, rest.data + 1, rest.len - 1);
	return (struct allo_text){ room, len + name.len + rest.len - 1 };
}

/* Reads a number in hex, with or without "0x". */
static bool take_number(struct allo_text *line, uint64_t *number)
{
	allo_text_skip(line, ALLO_TEXT("0x"));
	return allo_text_take_hex(line, number) && allo_text_skip(line, ALLO_TEXT(" "));
}

/* Reads "7f0123456000 1c0 name"; skips other lines. */
static bool take_line(struct allo_profile *profile, struct allo_text line, jit_spots *all,
		      struct allo_error *err)
{
	char room[JIT_NAME_MAX];
	uint64_t start, size;
	allo_string_id name = 0;

	if (!take_number(&line, &start) || !take_number(&line, &size) || line.len == 0)
		return true;
	for (size_t i = find_first(all, start); i < all->len && all->at[i].address - start < size;
	     i++) {
		if (name == 0)
			name = allo_profile_add_string(profile, without_tier(line, room), err);
		all->at[i].name = name;
	}
	return !allo_failed(err);
}

static bool name_jit_spots(struct allo_profile *profile, const jit_spots *all,
			   struct allo_error *err)
{
	for (size_t i = 0; i < all->len; i++) {
		struct allo_function function = { .name = all->at[i].name };
		struct allo_line line = { 0 };

		if (function.name == 0)
			continue;
		line.function = allo_profile_add_function(profile, &function, err);
		if (line.function == 0 ||
		    !allo_profile_set_lines(profile, all->at[i].frame, &line, 1, err))
			return false;
	}
	return true;
}

/* An unreadable map is ignored. */
static bool take_lines(struct allo_profile *profile, struct allo_input *in, jit_spots *all,
		       struct allo_error *err)
{
	struct allo_error unheard = { 0 };
	struct allo_text line;

	while (allo_input_line(in, &line, &unheard)) {
		if (!take_line(profile, line, all, err))
			return false;
	}
	return name_jit_spots(profile, all, err);
}

bool allo_jit_map_read(struct allo_profile *profile, struct allo_input *in, struct allo_error *err)
{
	jit_spots all = { 0 };
	bool ok = find_jit_spots(profile, &all, err) && take_lines(profile, in, &all, err);

	allo_vec_done(&all);
	return ok;
}

/* Whether any frame is in no module. */
static bool has_jit_spots(const struct allo_profile *profile)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		if (is_jit_spot(&profile->frames.at[i]))
			return true;
	}
	return false;
}

bool allo_jit_map_use(struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_close_fd)
	int fd = profile->meta.pid != 0 && has_jit_spots(profile) ? open_map(&profile->meta) : -1;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error unheard = { 0 };

	if (fd < 0 || !allo_input_open_fd(&in, fd, "perf map", NULL, &unheard))
		return true;
	return allo_jit_map_read(profile, &in, err);
}
