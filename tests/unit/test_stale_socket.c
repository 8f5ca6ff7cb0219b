/* test_stale_socket.c - base/io/stale_socket.h. */
#include "check.h"
#include "scratch.h"

#include "base/io/stale_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A socket with a name; its descriptor. */
static int listening_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static bool can_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool ok;

	strcpy(address.sun_path, path);
	ok = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return ok;
}

static struct stat seen_at(const char *path)
{
	struct stat seen;

	assert_int_equal(lstat(path, &seen), 0);
	return seen;
}

static void one_that_was_left_behind_goes(void **state)
{
	const char *path = scratch_path(*state, "left.sock");
	struct stat seen;

	close(listening_at(path));
	seen = seen_at(path);
	assert_false(can_connect(path));
	allo_stale_socket_remove(AT_FDCWD, path, &seen);
	assert_int_equal(scratch_count(*state), 0);
	allo_stale_socket_remove(AT_FDCWD, path, &seen); /* another process was faster */
	assert_int_equal(scratch_count(*state), 0);
}

static void one_that_has_taken_its_place_stays(void **state)
{
	const char *path = scratch_path(*state, "taken.sock");
	const char *hidden = scratch_path(*state, "new");
	struct stat seen;
	int fd;

	close(listening_at(path));
	seen = seen_at(path);
	fd = listening_at(hidden);
	assert_int_equal(rename(hidden, path), 0);
	allo_stale_socket_remove(AT_FDCWD, path, &seen);
	assert_true(can_connect(path));
	assert_int_equal(scratch_count(*state), 1);
	close(fd);
}

static void what_is_no_socket_stays(void **state)
{
	const char *path = scratch_write(*state, "text.sock", "text", 4);
	struct stat seen = seen_at(path);

	allo_stale_socket_remove(AT_FDCWD, path, &seen);
	assert_int_equal(scratch_count(*state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(one_that_was_left_behind_goes),
		SCRATCH_TEST(one_that_has_taken_its_place_stays),
		SCRATCH_TEST(what_is_no_socket_stays),
	};

	return cmocka_run_group_tests_name("stale_socket", tests, NULL, NULL);
}
