/* vmas.c - parsers for smaps, maps and mountinfo. */
#include "ledger/vmas.h"

#include "base/assert.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/process_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void allo_vmas_done(struct allo_vmas *vmas)
{
	allo_vec_done(&vmas->all);
	allo_vec_done(&vmas->memory_devices);
	allo_arena_done(&vmas->arena);
}

struct allo_vma *allo_vmas_find(const struct allo_vmas *vmas, uint64_t address)
{
	size_t low = 0, high = vmas->all.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (vmas->all.at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < vmas->all.len && vmas->all.at[low].start <= address ? &vmas->all.at[low]
									 : NULL;
}

bool allo_vma_has_prefix(const struct allo_vma *vma, const char *start)
{
	struct allo_text folder, name = vma->name;

	allo_text_cut_last(vma->name, '/', &folder, &name);
	return allo_text_starts(name, allo_text_of(start));
}

/* Mounts. */

/* "8:1", or "08:01" in hex. */
static bool take_device(struct allo_text text, char separator, uint64_t *device, bool is_hex)
{
	struct allo_text major, minor;
	uint64_t high, low;

	if (!allo_text_cut(text, separator, &major, &minor))
		return false;
	if (is_hex ? !allo_text_hex(major, &high) || !allo_text_hex(minor, &low)
		   : !allo_text_u64(major, &high) || !allo_text_u64(minor, &low))
		return false;
	*device = high << 32 | (low & UINT32_MAX);
	return true;
}

/* "30 23 0:26 / /dev/shm rw shared:4 - tmpfs tmpfs rw": the device is the third word. */
static bool take_mount(struct allo_vmas *vmas, struct allo_text line, struct allo_error *err)
{
	struct allo_text word;
	uint64_t device = 0;
	bool has_device = false;

	for (unsigned count = 0; allo_text_next(&line, ' ', &word); count++) {
		if (count == 2)
			has_device = take_device(word, ':', &device, false);
		if (allo_text_equal(word, ALLO_TEXT("-")))
			break;
	}
	if (!allo_text_next(&line, ' ', &word) || !allo_text_equal(word, ALLO_TEXT("tmpfs")) ||
	    !has_device || allo_vec_append(&vmas->memory_devices, &device, 1))
		return true;
	return allo_fail_memory(err);
}

bool allo_vmas_take_mounts(struct allo_vmas *vmas, struct allo_proc_reader *reader,
			   struct allo_error *err)
{
	struct allo_text line;

	while (allo_proc_reader_next(reader, &line)) {
		if (!take_mount(vmas, line, err))
			return false;
	}
	return true;
}

/* Mappings. */

static bool is_on_memory_device(const struct allo_vmas *vmas, uint64_t device)
{
	for (size_t i = 0; i < vmas->memory_devices.len; i++) {
		if (vmas->memory_devices.at[i] == device)
			return true;
	}
	return false;
}

/* Names that the kernel gives to shared memory without a visible mount. */
static bool is_memory_name(struct allo_text name)
{
	return allo_text_starts(name, ALLO_TEXT("/memfd:")) ||
	       allo_text_starts(name, ALLO_TEXT("/SYSV")) ||
	       allo_text_starts(name, ALLO_TEXT("/dev/shm/")) ||
	       allo_text_starts(name, ALLO_TEXT("/dev/zero (deleted)")) ||
	       allo_text_starts(name, ALLO_TEXT("[anon_shmem"));
}

static enum allo_vma_kind kind_of(const struct allo_vmas *vmas, const struct allo_vma *vma)
{
	struct allo_text name = vma->name;

	if (allo_text_equal(name, ALLO_TEXT("[heap]")))
		return ALLO_VMA_BREAK;
	if (allo_text_equal(name, ALLO_TEXT("[stack]")))
		return ALLO_VMA_STACK;
	if (is_memory_name(name) || (name.len > 0 && is_on_memory_device(vmas, vma->device)))
		return ALLO_VMA_SHMEM;
	if (name.len == 0 || allo_text_starts(name, ALLO_TEXT("[anon")))
		return ALLO_VMA_ANON;
	if (name.data[0] == '[')
		return ALLO_VMA_KERNEL;
	return ALLO_VMA_FILE;
}

/* "7f3a2c000000-7f3a2c021000 rw-p 00000000 00:00 0    [heap]": range, rights, offset, device,
 * inode, name. */
static bool take_range(struct allo_vma *vma, struct allo_text *line)
{
	return allo_text_take_hex(line, &vma->start) && allo_text_skip(line, ALLO_TEXT("-")) &&
	       allo_text_take_hex(line, &vma->end) && allo_text_skip(line, ALLO_TEXT(" ")) &&
	       vma->start < vma->end;
}

static bool take_head(struct allo_vmas *vmas, struct allo_text line, struct allo_vma *vma)
{
	struct allo_text rights, offset, device, number;

	*vma = (struct allo_vma){ 0 };
	if (!take_range(vma, &line) || !allo_text_next(&line, ' ', &rights) || rights.len != 4 ||
	    !allo_text_next(&line, ' ', &offset) || !allo_text_next(&line, ' ', &device) ||
	    !take_device(device, ':', &vma->device, true) || !allo_text_next(&line, ' ', &number))
		return false;
	vma->is_readable = rights.data[0] == 'r';
	vma->is_writable = rights.data[1] == 'w';
	vma->is_executable = rights.data[2] == 'x';
	vma->is_shared = rights.data[3] == 's';
	vma->name = allo_text_trim(line);
	vma->kind = kind_of(vmas, vma);
	return true;
}

static bool add_head(struct allo_vmas *vmas, struct allo_vma *vma, struct allo_error *err)
{
	const struct allo_vma *before = vmas->all.len ? &vmas->all.at[vmas->all.len - 1] : NULL;
	char *name = allo_arena_copy(&vmas->arena, vma->name.data, vma->name.len);

	if (!name)
		return allo_fail_memory(err);
	ALLO_ASSERT(!before || before->end <= vma->start);
	vma->name.data = name;
	vma->is_data = before && before->end == vma->start && vma->kind == ALLO_VMA_ANON &&
		       vma->name.len == 0 && before->kind == ALLO_VMA_FILE && before->is_writable &&
		       !before->is_shared;
	return allo_vec_append(&vmas->all, vma, 1) || allo_fail_memory(err);
}

static void take_flags(struct allo_vma *vma, struct allo_text flags)
{
	struct allo_text flag;

	while (allo_text_next(&flags, ' ', &flag)) {
		if (allo_text_equal(flag, ALLO_TEXT("wf")))
			vma->is_wiped = true;
		else if (allo_text_equal(flag, ALLO_TEXT("nr")))
			vma->is_unreserved = true;
	}
}

static void take_number(struct allo_vma *vma, struct allo_text key, uint64_t kilobytes)
{
	uint64_t bytes = kilobytes << 10;

	if (allo_text_equal(key, ALLO_TEXT("Rss")))
		vma->rss = bytes;
	else if (allo_text_equal(key, ALLO_TEXT("Pss")))
		vma->pss = bytes;
	else if (allo_text_equal(key, ALLO_TEXT("Anonymous")))
		vma->anonymous = bytes;
	else if (allo_text_equal(key, ALLO_TEXT("Swap")))
		vma->swap = bytes;
}

bool allo_vmas_take(struct allo_vmas *vmas, struct allo_proc_reader *reader, struct allo_error *err)
{
	struct allo_text line, key;
	struct allo_vma head;
	uint64_t number;

	while (allo_proc_reader_next(reader, &line)) {
		struct allo_vma *last = vmas->all.len ? &vmas->all.at[vmas->all.len - 1] : NULL;

		/* Keys begin with a capital letter; addresses are in lower-case hex. */
		if (line.len > 0 && line.data[0] >= 'A' && line.data[0] <= 'Z') {
			if (last && allo_text_skip(&line, ALLO_TEXT("VmFlags:")))
				take_flags(last, line);
			else if (last && allo_take_number_line(line, &key, &number))
				take_number(last, key, number);
		} else if (take_head(vmas, line, &head) && (!last || last->end <= head.start)) {
			if (!add_head(vmas, &head, err))
				return false;
		}
	}
	for (size_t i = 0; i < vmas->all.len; i++)
		vmas->rss += vmas->all.at[i].rss;
	return true;
}

static bool fail_to_read(const char *path, int why, struct allo_error *err)
{
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot read %s: %s", path, strerror(why));
	if (why != EACCES && why != EPERM)
		return false;
	/* In a container, root may lack the right to read other users' processes. */
	if (geteuid() == 0)
		return allo_hint(err, "root needs the capability CAP_SYS_PTRACE to read it: docker "
				      "run --cap-add SYS_PTRACE");
	return allo_hint(err, "only the user of the process and root may read it");
}

/* Without mountinfo, files on tmpfs count as ordinary files. */
static bool read_mounts(struct allo_vmas *vmas, struct allo_proc_reader *reader, const char *root,
			uint64_t pid, struct allo_error *err)
{
	char path[64];
	bool ok;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/mountinfo", pid);
	if (allo_proc_reader_open_long(reader, root, path) != 0)
		return true;
	ok = allo_vmas_take_mounts(vmas, reader, err);
	allo_proc_reader_close(reader);
	return ok;
}

static bool read_file(struct allo_vmas *vmas, const char *root, uint64_t pid, const char *name,
		      struct allo_error *err)
{
	struct allo_proc_reader *reader = ALLO_ARENA_NEW(&vmas->arena, 1, struct allo_proc_reader);
	uint64_t begin_ns = allo_clock_ns();
	char path[64];
	int why;
	bool ok;

	if (!reader)
		return allo_fail_memory(err);
	if (!read_mounts(vmas, reader, root, pid, err))
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/%s", pid, name);
	why = allo_proc_reader_open_long(reader, root, path);
	if (why)
		return fail_to_read(path, why, err);
	ok = allo_vmas_take(vmas, reader, err);
	why = allo_proc_reader_close(reader);
	vmas->read_ns = allo_clock_ns() - begin_ns;
	return ok && (!why || fail_to_read(path, why, err));
}

bool allo_vmas_read(struct allo_vmas *vmas, const char *root, uint64_t pid, struct allo_error *err)
{
	return read_file(vmas, root, pid, "smaps", err);
}

bool allo_vmas_read_names(struct allo_vmas *vmas, const char *root, uint64_t pid,
			  struct allo_error *err)
{
	return read_file(vmas, root, pid, "maps", err);
}
