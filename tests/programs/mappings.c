/*
 * mappings.c - memory from the kernel, each way in a separate function and with numbers of pages
 * that nothing else has.  It holds most at the end of the first loop in use_mmap().
 *     mappings [children]
 */
#include "blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, EITHER = PROT_READ | PROT_WRITE };

static size_t page;

static char *mapped(char *at, size_t length, int protection, int flags, int file)
{
	char *start = mmap(at, length, protection, flags, file, 0);

	must(start != MAP_FAILED, "mmap() succeeds");
	return start;
}

static char *pages(size_t count)
{
	return mapped(NULL, count * page, EITHER, PRIVATE, -1);
}

static void unmap(char *start, size_t first, size_t count)
{
	errno = 77;
	must(munmap(start + first * page, count * page) == 0, "munmap() succeeds");
	must(errno == 77, "munmap() leaves errno alone");
}

static char *remapped(char *start, size_t old, size_t count, int flags, char *to)
{
	char *moved = mremap(start, old * page, count * page, flags, to);

	must(moved != MAP_FAILED, "mremap() succeeds");
	return moved;
}

APART static void use_mmap(void)
{
	char *all[23];

	for (int i = 0; i < 23; i++) {
		all[i] = pages(1009);
		memset(all[i], i, page);
	}
	for (int i = 0; i < 23; i++) {
		must_be_filled(all[i], page, i);
		unmap(all[i], 0, 1009);
	}
}

APART static void use_mmap64(void)
{
	for (int i = 0; i < 7; i++) {
		char *start = mmap64(NULL, 1013 * page, EITHER, PRIVATE, -1, 0);

		must(start != MAP_FAILED, "mmap64() succeeds");
		unmap(start, 0, 1013);
	}
}

APART static void use_files(void)
{
	int file = open("/proc/self/exe", O_RDONLY);

	for (int i = 0; i < 19; i++)
		unmap(mapped(NULL, 1019 * page, PROT_READ, MAP_PRIVATE, file), 0, 1019);
	close(file);
}

APART static void use_shared(void)
{
	for (int i = 0; i < 13; i++)
		unmap(mapped(NULL, 1021 * page, EITHER, MAP_SHARED | MAP_ANONYMOUS, -1), 0, 1021);
}

APART static void use_reservations(void)
{
	for (int i = 0; i < 17; i++)
		unmap(mapped(NULL, 1031 * page, PROT_NONE, PRIVATE, -1), 0, 1031);
}

/* A page that is asked for in part is got as a whole. */
APART static void use_odd_lengths(void)
{
	for (int i = 0; i < 11; i++)
		must(munmap(mapped(NULL, 1033 * page - 100, EITHER, PRIVATE, -1),
			    1033 * page - 200) == 0,
		     "munmap() succeeds");
}

APART static void cut_start(void)
{
	for (int i = 0; i < 5; i++) {
		char *start = pages(1039);

		unmap(start, 0, 7);
		unmap(start, 7, 1032);
	}
}

APART static void cut_end(void)
{
	for (int i = 0; i < 3; i++) {
		char *start = pages(1049);

		unmap(start, 1040, 9);
		unmap(start, 0, 1040);
	}
}

/* The rest is taken in one go, over the hole. */
APART static void cut_middle(void)
{
	for (int i = 0; i < 9; i++) {
		char *start = pages(1051);

		unmap(start, 500, 11);
		unmap(start, 0, 1051);
	}
}

/* Three mappings take the place of one, and then one call takes parts of the outer two. */
APART static void put_over(void)
{
	char *start = pages(1061);

	for (size_t i = 0; i < 3; i++)
		mapped(start + i * 300 * page, (i < 2 ? 300 : 461) * page, EITHER,
		       PRIVATE | MAP_FIXED, -1);
	unmap(start, 101, 900);
	unmap(start, 0, 1061);
}

/* Grows wherever there is room, and shrinks. */
APART static void resize(void)
{
	for (int i = 0; i < 6; i++) {
		char *start = pages(1063);

		memset(start, i, page);
		start = remapped(start, 1063, 3 * 1063, MREMAP_MAYMOVE, NULL);
		start = remapped(start, 3 * 1063, 53, 0, NULL);
		must_be_filled(start, page, i);
		unmap(start, 0, 53);
	}
}

APART static void move_over(void)
{
	char *to = pages(1069), *from = pages(307);

	memset(from, 7, page);
	must(remapped(from, 307, 311, MREMAP_MAYMOVE | MREMAP_FIXED, to + 2 * page) ==
		     to + 2 * page,
	     "mremap() goes where it is told");
	must_be_filled(to + 2 * page, page, 7);
	unmap(to, 0, 1069);
}

APART static void move_part(void)
{
	char *start = pages(1087);
	char *moved = remapped(start + 100 * page, 50, 60, MREMAP_MAYMOVE, NULL);

	unmap(moved, 0, 60);
	unmap(start, 0, 1087);
}

#ifndef EMULATED /* by qemu, which can do neither */
/* A second mapping of the same pages, or one in place of another. */
APART static void double_up(void)
{
	char *start = mapped(NULL, 1091 * page, EITHER, MAP_SHARED | MAP_ANONYMOUS, -1);
	char *other = remapped(start, 0, 1091, MREMAP_MAYMOVE, NULL);

	unmap(start, 0, 1091);
	unmap(other, 0, 1091);
	start = pages(1093);
	other = remapped(start, 1093, 1093, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	unmap(start, 0, 1093);
	unmap(other, 0, 1093);
}
#else
static void double_up(void)
{
}
#endif

/* None of these changes anything. */
APART static void fail(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	char *start = pages(1097);

	must(mmap(NULL, huge, EITHER, PRIVATE, -1, 0) == MAP_FAILED && errno == ENOMEM,
	     "mmap() of too much fails");
	must(mmap(NULL, 0, EITHER, PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL,
	     "mmap() of nothing fails");
	must(munmap(start + 1, page) == -1 && errno == EINVAL, "munmap() wants whole pages");
	must(munmap(start, 0) == -1 && errno == EINVAL, "munmap() of nothing fails");
	must(mremap(start, 500 * page, 600 * page, 0) == MAP_FAILED && errno == ENOMEM,
	     "mremap() finds no room");
	must(sbrk((intptr_t)huge) == (void *)-1 && errno == ENOMEM, "sbrk() of too much fails");
	must(brk((void *)(uintptr_t)huge) == -1 && errno == ENOMEM, "brk() too high fails");
	must(brk(NULL) == 0, "brk() of nothing does nothing");
	unmap(start, 0, 1097);
}

/* Nothing else may be allocated meanwhile. */
APART static void use_break(void)
{
	char *start = sbrk(0);

	must(sbrk((intptr_t)(1103 * page)) == start, "sbrk() gives what is there");
	memset(start, 1, 1103 * page);
	sbrk(-(intptr_t)(103 * page));
	must(brk(start + 1009 * page) == 0, "brk() goes up");
	must(brk(start) == 0, "brk() goes down");
}

/* Pages come by the first byte of them. */
APART static void use_break_in_bytes(void)
{
	char *start = sbrk(0);

	for (size_t i = 0; i < 3 * page / 64; i++)
		sbrk(64);
	must(brk(start) == 0, "brk() goes down");
}

static char *shared;

static void *unmap_upwards(void *argument)
{
	for (size_t i = 0; i < 200; i++)
		unmap(shared, i, 1);
	return argument;
}

static void *unmap_downwards(void *argument)
{
	for (size_t i = 399; i >= 200; i--)
		unmap(shared, i, 1);
	return argument;
}

static void *unmap_every_fourth(void *argument)
{
	for (size_t i = (size_t)argument; i < 400; i += 4)
		unmap(shared, i, 1);
	return argument;
}

/* All get the same addresses again and again. */
static void *map_and_unmap(void *argument)
{
	for (int i = 0; i < 300; i++) {
		char *start = pages(3);

		start = remapped(start, 3, 5, MREMAP_MAYMOVE, NULL);
		unmap(start, 2, 1);
		unmap(start, 0, 2);
		unmap(start, 3, 2);
	}
	return argument;
}

static void run_threads(void *(*const bodies[4])(void *))
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		must(pthread_create(&threads[i], NULL, bodies[i], (void *)i) == 0,
		     "a thread starts");
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Two from both ends of one mapping, while two have their own; then four from all over one. */
APART static void use_threads(void)
{
	void *(*const ends[])(void *) = { unmap_upwards, unmap_downwards, map_and_unmap,
					  map_and_unmap };
	void *(*const all_over[])(void *) = { unmap_every_fourth, unmap_every_fourth,
					      unmap_every_fourth, unmap_every_fourth };

	shared = pages(400);
	run_threads(ends);
	shared = pages(400);
	run_threads(all_over);
}

static volatile int handled;

static void on_timer(int signal)
{
	(void)signal;
	if (handled == 100)
		return;
	handled++;
	unmap(pages(1109), 0, 1109);
}

/* Handlers that come while the same is done outside of them. */
APART static void use_signals(void)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 100)
		map_and_unmap(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
}

APART static void leak(void)
{
	for (int i = 0; i < 5; i++)
		held(pages(2003));
}

static void must_end_well(pid_t child)
{
	int status = -1;

	must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child ends well");
}

/* A child that unmaps the pages of its parent, and makes a mapping. */
APART static void use_child(char *inherited)
{
	pid_t child = fork();

	if (child == 0) {
		unmap(inherited, 500, 1);
		unmap(inherited, 0, 1009);
		unmap(pages(1013), 0, 13);
		_exit(0);
	}
	must_end_well(child);
}

/* One that shares its parent's memory: pages that it unmaps are gone for both. */
APART static void use_borrowing_child(char *shared)
{
	pid_t child = vfork();

	if (child == 0) {
		unmap(shared, 1000, 9);
		_exit(0);
	}
	must_end_well(child);
}

static int use_children(void)
{
	char *start = pages(1009);

	use_child(start);
	use_borrowing_child(start);
	unmap(start, 0, 1000);
	return 0;
}

int main(int argc, char **argv)
{
	(void)argv;
	page = (size_t)getpagesize();
	if (argc > 1)
		return use_children();
	use_break();
	use_break_in_bytes();
	use_mmap();
	use_mmap64();
	use_files();
	use_shared();
	use_reservations();
	use_odd_lengths();
	cut_start();
	cut_end();
	cut_middle();
	put_over();
	resize();
	move_over();
	move_part();
	double_up();
	fail();
	use_signals();
	leak();
	use_threads();
	return 0;
}
