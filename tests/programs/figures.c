/* Queries of a program about its own memory: figures NAME prints them, or the error. */
#include <allo.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 5000, SIZE = 1009, ROOM = 1 << 17 };

static void *blocks[BLOCKS];
static char text[ROOM];
static int is_over;

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "not so: %s (%s)\n", what, allo_error());
	exit(1);
}

static void start(void)
{
	struct allo_config config = { .mode = ALLO_COUNTERS };

	must(allo_start(&config) != NULL, "statistics are kept");
}

/* A half of them is free again. */
static void fill(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(SIZE), 1, SIZE);
	for (int i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
}

static void print(enum allo_metrics_format format, unsigned walks)
{
	size_t len = allo_metrics_as(format, walks, text, sizeof(text));

	must(len > 0 && len < sizeof(text) && strlen(text) == len, "all of it fits");
	fputs(text, stdout);
}

/* Nothing is allocated, errno is as it was, and figures that do not fit are counted. */
static void check_manners(void)
{
	static struct allo_memory_snapshot snapshot;
	size_t len;

	errno = 77;
	ALLO_ASSERT_NO_ALLOCS
	{
		must(allo_get_memory_snapshot(&snapshot), "there is a snapshot");
		allo_metrics_text(text, sizeof(text));
		allo_metrics_as(ALLO_METRICS_JSON, ALLO_WALK_PAGES, text, sizeof(text));
	}
	must(errno == 77, "errno is kept");
	must(snapshot.pid == (uint64_t)getpid(), "it is of this process");
	must(snapshot.allocator.allocated_bytes == ALLO_UNKNOWN, "nothing was walked through");
	len = allo_metrics_text(text, 100);
	must(len > 1000 && strlen(text) == 99, "what does not fit is counted");
	must(allo_metrics_text(NULL, 0) > 1000, "there need not be any room");
}

static void check_child(void)
{
	static struct allo_memory_snapshot before, after;
	int status;

	must(allo_get_memory_snapshot_walked(&before, ALLO_WALK_PAGES), "the parent's");
	if (fork() == 0) {
		must(allo_get_memory_snapshot(&after), "the child's");
		must(after.pid == (uint64_t)getpid() && after.pid != before.pid,
		     "it is the child's");
		must(after.process.start_unix_ns >= before.process.start_unix_ns, "it began later");
		must(after.process.threads == 1, "it has one thread");
		exit(0);
	}
	wait(&status);
	must(status == 0, "the child is content");
}

static void *ask(void *given)
{
	struct allo_memory_snapshot *snapshot = malloc(sizeof(*snapshot));

	(void)given;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		must(allo_get_memory_snapshot(snapshot), "there is a snapshot");
		must(snapshot->heap.live_bytes == ALLO_UNKNOWN ||
			     snapshot->heap.live_bytes < 100 << 20,
		     "the heap is what it is");
		free(malloc(100));
	}
	free(snapshot);
	return NULL;
}

/* Figures are asked for while recordings begin and end. */
static void check_threads(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, ask, NULL);
	for (int i = 0; i < 50; i++) {
		start();
		free(malloc(10));
		must(allo_stop() != NULL, "it ends");
	}
	is_over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "threads") == 0) {
		check_threads();
		return 0;
	}
	start();
	fill();
	if (strcmp(what, "prometheus") == 0)
		print(ALLO_METRICS_PROMETHEUS, 0);
	else if (strcmp(what, "openmetrics") == 0)
		print(ALLO_METRICS_OPENMETRICS, 0);
	else if (strcmp(what, "json") == 0)
		print(ALLO_METRICS_JSON, ALLO_WALK_PAGES | ALLO_WALK_ARENAS);
	else if (strcmp(what, "manners") == 0)
		check_manners();
	else
		check_child();
	return 0;
}
