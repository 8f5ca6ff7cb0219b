/* test_mapped_recording.c - watch/mapped_recording.h. */
#include "check.h"
#include "scratch.h"

#include "watch/mapped_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char argument[] = "/usr/bin/prog";

/* The head of a recording by this process, which began at `start_ns`. */
static const char *write_head(struct scratch *scratch, const char *name, uint64_t start_ns)
{
	static char slot[ALLO_SLOT_SIZE];
	struct allo_wire_head head = {
		.magic = ALLO_HEAD_MAGIC,
		.version = ALLO_WIRE_VERSION,
		.byte_order = ALLO_BYTE_ORDER,
		.slot_size = ALLO_SLOT_SIZE,
		.pid = (uint32_t)getpid(),
		.first.monotonic_ns = start_ns,
		.program = { sizeof(head), 0 },
		.arguments = { sizeof(head), sizeof(argument) },
		.marks = { .at = ALLO_MARKS_AT, .room = 64 },
	};

	memcpy(slot, &head, sizeof(head));
	memcpy(slot + sizeof(head), argument, sizeof(argument));
	return scratch_write(scratch, name, slot, sizeof(slot));
}

static void *map(const char *path, int kind)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *mapped = mmap(NULL, ALLO_SLOT_SIZE, PROT_READ | PROT_WRITE, kind, fd, 0);

	assert_true(mapped != MAP_FAILED);
	close(fd);
	return mapped;
}

static bool find(struct allo_mapped_recording *found)
{
	return allo_mapped_recording_find(getpid(), found);
}

static void the_last_recording_is_found(void **state)
{
	const char *later = write_head(*state, "later.allo", 2), *earlier;
	struct allo_mapped_recording found;
	void *mapped[2] = { map(later, MAP_SHARED) };

	earlier = write_head(*state, "earlier.allo", 1);
	mapped[1] = map(earlier, MAP_SHARED);
	assert_true(find(&found));
	assert_string_equal(found.file, later);
	assert_string_equal(found.place, later);
	assert_string_equal(found.program, "prog");
	assert_int_equal(found.head.first.monotonic_ns, 2);
	for (int i = 0; i < 2; i++)
		munmap(mapped[i], ALLO_SLOT_SIZE);
	assert_false(find(&found));
}

static void other_mappings_are_no_recordings(void **state)
{
	const char *path = write_head(*state, "x.allo", 1);
	struct allo_mapped_recording found;
	struct allo_wire_head *head = map(path, MAP_PRIVATE);

	assert_false(find(&found));
	munmap(head, ALLO_SLOT_SIZE);
	head = map(path, MAP_SHARED);
	assert_true(find(&found));
	assert_int_equal(found.uid, geteuid());
	head->pid++; /* a parent's recording */
	assert_false(find(&found));
	head->pid--;
	head->magic[0]++;
	assert_false(find(&found));
	munmap(head, ALLO_SLOT_SIZE);
}

/* The name may lead to another file now: a link, or one with the same contents. */
static void a_file_that_was_replaced_is_not_believed(void **state)
{
	const char *path = write_head(*state, "x.allo", 1),
		   *other = write_head(*state, "y.allo", 1);
	struct allo_mapped_recording found;
	void *mapped = map(path, MAP_SHARED);

	assert_int_equal(rename(path, scratch_path(*state, "z.allo")), 0);
	assert_true(find(&found)); /* the kernel knows the new name */
	assert_int_equal(unlink(scratch_path(*state, "z.allo")), 0);
	assert_false(find(&found));
	assert_int_equal(symlink(other, scratch_path(*state, "z.allo (deleted)")), 0);
	assert_false(find(&found));
	munmap(mapped, ALLO_SLOT_SIZE);
}

/* A file system of our own, where the first file has the same inode each time. */
static bool mount_at(const char *folder)
{
	return mount("none", folder, "tmpfs", 0, NULL) == 0;
}

static bool can_mount(const char *folder)
{
	return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount_at(folder);
}

enum { SEEN_BEFORE = 1, SEEN_AFTER = 2, SAME_INODE = 4, NO_MOUNTS = 8 };

static ino_t inode_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* Covers the mapped file by an equal one on another device. */
static int cover(struct scratch *scratch, const char *folder)
{
	struct allo_mapped_recording found;
	const char *path;
	int seen = 0;
	ino_t inode;

	if (!can_mount(folder))
		return NO_MOUNTS;
	path = write_head(scratch, "mounted/x.allo", 1);
	inode = inode_of(path);
	map(path, MAP_SHARED);
	seen |= find(&found) ? SEEN_BEFORE : 0;
	mount_at(folder);
	write_head(scratch, "mounted/x.allo", 1);
	seen |= inode_of(path) == inode ? SAME_INODE : 0;
	seen |= find(&found) ? SEEN_AFTER : 0;
	return seen;
}

static void an_equal_inode_on_another_device_is_another_file(void **state)
{
	const char *folder = scratch_path(*state, "mounted");
	int status;
	pid_t child;

	assert_int_equal(mkdir(folder, 0700), 0);
	child = fork();
	if (child == 0)
		_exit(cover(*state, folder));
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(folder);
	if (WEXITSTATUS(status) == NO_MOUNTS)
		skip();
	assert_int_equal(status, W_EXITCODE(SEEN_BEFORE | SAME_INODE, 0));
}

static void the_first_reason_to_stop_stays(void **state)
{
	const char *path = write_head(*state, "x.allo", 1);
	struct allo_mapped_recording found;
	struct allo_wire_head *head = map(path, MAP_SHARED);

	assert_true(find(&found));
	assert_true(allo_mapped_recording_stop(&found));
	assert_int_equal(head->end, ALLO_END_STOPPED);
	head->end = ALLO_END_FULL;
	assert_true(allo_mapped_recording_stop(&found));
	assert_int_equal(head->end, ALLO_END_FULL);
	munmap(head, ALLO_SLOT_SIZE);
}

static void marks_follow_one_another(void **state)
{
	const char *path = write_head(*state, "x.allo", 1);
	struct allo_mapped_recording found;
	struct allo_wire_head *head = map(path, MAP_SHARED);
	const char *text = (const char *)head + ALLO_MARKS_AT + sizeof(struct allo_wire_mark);

	assert_true(find(&found));
	assert_true(allo_mapped_recording_mark(&found, "warm"));
	assert_int_equal(head->marks.used, 24);
	assert_true(allo_mapped_recording_mark(&found, "12345678"));
	assert_int_equal(head->marks.used, 48);
	assert_string_equal(text, "warm");
	assert_memory_equal(text + 24, "12345678", 9);
	assert_false(allo_mapped_recording_mark(&found, "x"));
	assert_int_equal(errno, ENOSPC);
	munmap(head, ALLO_SLOT_SIZE);
}

static void a_mark_changes_no_other_file(void **state)
{
	const char *path = write_head(*state, "x.allo", 1),
		   *other = write_head(*state, "y.allo", 1);
	struct allo_mapped_recording found;
	struct allo_wire_head *head = map(path, MAP_SHARED);
	struct stat file;

	assert_true(find(&found));
	head->program.at = sizeof(*head) - sizeof(head->marks); /* of an older runtime */
	assert_false(allo_mapped_recording_mark(&found, "x"));
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(truncate(path, sizeof(*head)), 0);
	assert_false(allo_mapped_recording_mark(&found, "x"));
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, sizeof(*head));
	munmap(head, ALLO_SLOT_SIZE);
	assert_int_equal(rename(other, path), 0);
	assert_false(allo_mapped_recording_mark(&found, "x"));
	assert_int_equal(errno, ESTALE);
	assert_false(allo_mapped_recording_stop(&found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(the_last_recording_is_found),
		SCRATCH_TEST(other_mappings_are_no_recordings),
		SCRATCH_TEST(a_file_that_was_replaced_is_not_believed),
		SCRATCH_TEST(an_equal_inode_on_another_device_is_another_file),
		SCRATCH_TEST(the_first_reason_to_stop_stays),
		SCRATCH_TEST(marks_follow_one_another),
		SCRATCH_TEST(a_mark_changes_no_other_file),
	};

	return cmocka_run_group_tests_name("mapped_recording", tests, NULL, NULL);
}
