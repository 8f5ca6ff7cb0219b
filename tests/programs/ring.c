/*
 * ring.c - a busy service for bounded recordings, which counts its own work.
 *
 * ring COUNTERS RECORDING BYTES EVENTS [THREADS]
 *
 * Keeps its counters (struct counters, of each thread) in a mapped file that survives a kill: a
 * counter is updated after the event.  The n-th allocation of a thread has size_of(n) bytes.  The
 * service rests while the recording takes more than BYTES on the disk, so that `allo run` can keep
 * up on any machine.  Without `allo run`, it goes on.  With THREADS, each of these lives for a part
 * of the work and is followed by another one, which frees the blocks of the one before.
 */
#include "blocks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 1 << 10, REST_EVERY = 1 << 14, THREADS_MAX = 8, LIVES = 5 };

struct counters {
	uint64_t allocations, bytes, frees, reallocs, live;
	uint64_t is_done;
};

struct worker {
	struct counters *counters;
	void *blocks[SLOTS];
	uint64_t random, events;
	pthread_t thread;
};

static struct counters *all_counters;
static const char *recording;
static unsigned long most_bytes;
static pid_t first_parent;

static size_t size_of(uint64_t number)
{
	return 16 + (size_t)((uint32_t)(number * 2654435761u) >> 23);
}

static void rest(void)
{
	struct stat file;

	while (getppid() == first_parent && stat(recording, &file) == 0 &&
	       (unsigned long)file.st_blocks * 512 > most_bytes)
		usleep(500);
}

static APART void *allocate_one(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

static APART void *allocate_other(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

static APART void *resize(void *block, size_t size)
{
	block = held(realloc(block, size));
	stay();
	return block;
}

static void step(struct worker *worker)
{
	struct counters *counters = worker->counters;
	void **block;
	size_t size = size_of(counters->allocations);

	worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
	block = &worker->blocks[worker->random >> 33 & (SLOTS - 1)];
	if (!*block) {
		*block = worker->random >> 63 ? allocate_one(size) : allocate_other(size);
		counters->live++;
	} else if (worker->random >> 60 == 0) {
		*block = resize(*block, size);
		counters->reallocs++;
	} else {
		free(*block);
		*block = NULL;
		counters->live--;
		counters->frees++;
		return;
	}
	counters->bytes += size;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	counters->allocations++;
}

static void work(struct worker *worker)
{
	for (uint64_t i = 0; i < worker->events; i++) {
		if (i % REST_EVERY == 0)
			rest();
		step(worker);
	}
}

/* The runtime's functions, if it is there. */
static void (*push_label)(const char *key, const char *value);
static void (*mark)(const char *name);

static void *live(void *given)
{
	struct worker *worker = given;

	if (push_label)
		push_label("kind", worker->random & 1 ? "odd" : "even");
	work(worker);
	return NULL;
}

static void work_with_threads(struct worker *workers, unsigned count, uint64_t events)
{
	for (unsigned life = 0; life < LIVES; life++) {
		for (unsigned i = 0; i < count; i++) {
			workers[i].events = events / count / LIVES;
			must(pthread_create(&workers[i].thread, NULL, live, &workers[i]) == 0,
			     "a thread starts");
		}
		for (unsigned i = 0; i < count; i++)
			pthread_join(workers[i].thread, NULL);
		if (mark)
			mark("life");
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	unsigned threads = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
	uint64_t events = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	int file = argc > 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	must(file >= 0 && threads <= THREADS_MAX, "ring COUNTERS RECORDING BYTES EVENTS [THREADS]");
	must(ftruncate(file, sizeof(*all_counters) * THREADS_MAX) == 0, "the file has room");
	all_counters = mmap(NULL, sizeof(*all_counters) * THREADS_MAX, PROT_READ | PROT_WRITE,
			    MAP_SHARED, file, 0);
	must(all_counters != MAP_FAILED, "the file can be mapped");
	recording = argv[2];
	most_bytes = strtoul(argv[3], NULL, 10);
	first_parent = getppid();
	*(void **)&push_label = dlsym(RTLD_DEFAULT, "allo_label_push");
	*(void **)&mark = dlsym(RTLD_DEFAULT, "allo_mark");
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		workers[i].counters = &all_counters[i];
		workers[i].random = i;
		workers[i].events = events;
	}
	if (threads > 0)
		work_with_threads(workers, threads, events);
	else
		work(&workers[0]);
	all_counters->is_done = 1;
	return 0;
}
