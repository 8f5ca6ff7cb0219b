/* inside.c - programs that link the runtime and use allo.h: one for each word.  Their output goes
 * to standard error, which has no buffer to allocate. */
#include "blocks.h"

#include <allo.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *must_start(const struct allo_config *config)
{
	const char *path = allo_start(config);

	if (!path) {
		fprintf(stderr, "cannot start: %s\n", allo_error());
		exit(1);
	}
	return path;
}

static const char *must_stop(void)
{
	const char *path = allo_stop();

	if (!path) {
		fprintf(stderr, "cannot stop: %s\n", allo_error());
		exit(1);
	}
	return path;
}

static void say_stats(const char *what, const struct allo_heap_stats *stats)
{
	fprintf(stderr,
		"%s: total %" PRIu64 "/%" PRIu64 " current %" PRId64 "/%" PRId64 " peak %" PRIu64
		"/%" PRIu64 "\n",
		what, stats->total_blocks, stats->total_bytes, stats->current_blocks,
		stats->current_bytes, stats->peak_blocks, stats->peak_bytes);
}

static void say_heap(const char *what)
{
	struct allo_heap_stats stats;

	if (allo_get_heap_stats(&stats))
		say_stats(what, &stats);
	else
		fprintf(stderr, "%s: %s\n", what, allo_error());
}

static void *volatile kept;

static void *got(size_t size)
{
	return held(malloc(size));
}

static void use(size_t size)
{
	free(got(size));
}

static void *grown(void *block, size_t size)
{
	kept = realloc(block, size);
	return kept;
}

/* As in the tests of the dhat crate. */
static int heap(char **arguments)
{
	struct allo_config config = { .path = arguments[0],
				      .format = arguments[1],
				      .has_stats = true };
	void *before[4], *block, *larger;

	config.options = config.format ? "--realloc=first" : NULL;
	for (int i = 0; i < 4; i++)
		before[i] = got(16);
	must_start(&config);
	free(before[0]);
	before[1] = grown(before[1], 32);
	block = got(1000);
	larger = grown(got(200), 400);
	free(block);
	for (int i = 0; i < 10; i++)
		use(1);
	say_heap("end");
	fprintf(stderr, "%s\n", must_stop());
	free(larger);
	return 0;
}

static int ad_hoc(char **arguments)
{
	struct allo_config config = { .path = arguments[0],
				      .format = arguments[1],
				      .mode = ALLO_AD_HOC };
	struct allo_event_stats stats;

	allo_event(17);
	must_start(&config);
	allo_event(100);
	use(5000);
	for (uint64_t weight = 1; weight <= 3; weight++)
		allo_event(weight);
	allo_get_event_stats(&stats);
	fprintf(stderr, "%" PRIu64 " events %" PRIu64 " units\n", stats.total_events,
		stats.total_units);
	fprintf(stderr, "%s\n", must_stop());
	allo_event(17);
	return 0;
}

/* Threads that live through several recordings. */

enum { THREADS = 8, ROUNDS = 3 };

static pthread_barrier_t turn;

static void *live_through(void *given)
{
	size_t number = (size_t)given;

	for (int round = 0; round < ROUNDS; round++) {
		use(31); /* in the pause */
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		for (size_t i = 0; i < 100 + number; i++)
			use(1009 + number);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static int restarts(char **arguments)
{
	struct allo_config config = { .path = arguments[0], .has_stats = true };
	pthread_t threads[THREADS];

	pthread_barrier_init(&turn, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, live_through, (void *)i);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&turn);
		must_start(&config);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		say_heap("round");
		fprintf(stderr, "%s\n", must_stop());
		pthread_barrier_wait(&turn);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Starting and stopping while threads allocate all the time. */

static volatile bool is_over;

static void *allocate(void *given)
{
	void *blocks[64] = { NULL };

	(void)given;
	for (unsigned i = 0; !is_over; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = got(i % 500);
	}
	for (unsigned i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

static int storm(char **arguments)
{
	struct allo_config config = { .path = arguments[0], .has_stats = true };
	int rounds = atoi(arguments[1]);
	struct allo_heap_stats stats = { 0 }, later;
	pthread_t threads[THREADS];

	if (arguments[2])
		config.mode = (enum allo_mode)atoi(arguments[2]);
	config.rate = config.mode == ALLO_SAMPLED ? 1000 : 10;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	for (int round = 0; round < rounds; round++) {
		must_start(&config);
		usleep((useconds_t)(rand() % 3000));
		allo_get_heap_stats(&stats);
		usleep((useconds_t)(rand() % 1000));
		allo_get_heap_stats(&later);
		if (later.total_blocks < stats.total_blocks ||
		    later.peak_bytes < stats.peak_bytes ||
		    (int64_t)stats.peak_bytes < stats.current_bytes || stats.current_blocks < 0 ||
		    stats.current_blocks > 64 * THREADS) {
			say_stats("wrong", &stats);
			say_stats("then", &later);
		}
		must_stop();
	}
	is_over = true;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Blocks that another thread frees. */

enum { ROOM = 4096 };

static void *volatile ring[ROOM];

static void *consume(void *given)
{
	size_t count = *(size_t *)given;

	for (size_t i = 0; i < count; i++) {
		void *block;

		while (!(block = __atomic_load_n(&ring[i % ROOM], __ATOMIC_ACQUIRE))) {
		}
		__atomic_store_n(&ring[i % ROOM], NULL, __ATOMIC_RELEASE);
		free(block);
	}
	return NULL;
}

static int handover(char **arguments)
{
	struct allo_config config = { .path = arguments[0], .has_stats = true };
	size_t count = strtoull(arguments[1], NULL, 10);
	pthread_t thread;

	pthread_create(&thread, NULL, consume, &count);
	must_start(&config);
	for (size_t i = 0; i < count; i++) {
		void *block = got(16 + i % 1000);

		while (__atomic_load_n(&ring[i % ROOM], __ATOMIC_ACQUIRE)) {
		}
		__atomic_store_n(&ring[i % ROOM], block, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	say_heap("handed over");
	fprintf(stderr, "%s\n", must_stop());
	return 0;
}

/* Statistics of threads and scopes. */

static void *allocate_beside(void *given)
{
	use(77777);
	pthread_barrier_wait(given);
	while (!is_over)
		use(77777);
	return NULL;
}

static int scopes(char **arguments)
{
	struct allo_config config = { .mode = ALLO_COUNTERS };
	struct allo_scope outer, inner;
	struct allo_heap_stats stats, before;
	void *block, *other;
	pthread_t thread;

	(void)arguments;
	fprintf(stderr, "path '%s'\n", must_start(&config));
	allo_get_heap_stats(&before);
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, allocate_beside, &turn);
	pthread_barrier_wait(&turn);
	allo_scope_begin(&outer);
	block = got(1000);
	allo_scope_begin(&inner);
	other = got(300);
	use(50);
	free(other);
	allo_scope_end(&inner, &stats);
	say_stats("inner", &stats);
	free(block);
	kept = got(10);
	allo_scope_end(&outer, &stats);
	say_stats("outer", &stats);
	allo_get_heap_stats_since(&before, &stats);
	fprintf(stderr, "more than the thread's: %d\n", stats.total_blocks > 4);
	is_over = true;
	pthread_join(thread, NULL);
	fprintf(stderr, "path '%s'\n", must_stop());
	return 0;
}

/* Assertions. */

static void print_message(const char *message)
{
	fprintf(stderr, "handled: %s\n", message);
}

static int limits(char **arguments)
{
	struct allo_config config = { .path = arguments[0], .has_stats = true };

	must_start(&config);
	ALLO_ASSERT_NO_ALLOCS
	{
		kept = NULL;
	}
	ALLO_ASSERT_MAX_BYTES(1000)
	{
		use(1000);
		use(900);
	}
	for (int i = 0; i < 2; i++) {
		ALLO_ASSERT_NO_ALLOCS
		{
			if (i == 0)
				continue;
		}
	}
	ALLO_ASSERT_HEAP(stats.total_bytes == 1900 && stats.current_blocks == 0);
	fprintf(stderr, "quiet\n");
	allo_set_assert_handler(print_message);
	if (strcmp(arguments[1], "bytes") == 0)
		ALLO_ASSERT_MAX_BYTES(1000) use(1001);
	if (strcmp(arguments[1], "condition") == 0)
		ALLO_ASSERT_HEAP(stats.peak_bytes < 100);
	allo_set_assert_handler(NULL);
	if (strcmp(arguments[1], "allocs") == 0)
		ALLO_ASSERT_NO_ALLOCS use(5);
	return 0;
}

/* Annotations of a program. */

static void *have_label(void *given)
{
	allo_label_push("worker", given);
	use(401);
	allo_label_pop();
	use(403);
	return NULL;
}

static int labels(char **arguments)
{
	struct allo_config config = { .path = arguments[0] };
	uint32_t pool = allo_heap("pool"), arena = allo_heap("arena");
	char memory[64];
	pthread_t thread;

	allo_label_push("phase", "before"); /* still there when recording starts */
	must_start(&config);
	use(101);
	allo_label_push("phase", "load");
	allo_label_push("user", "ann");
	use(103);
	allo_label_pop();
	use(107);
	allo_mark("loaded");
	allo_label_pop();
	allo_label_pop();
	allo_label_pop(); /* one too many */
	use(109);
	pthread_create(&thread, NULL, have_label, "one");
	pthread_join(thread, NULL);
	allo_on_alloc(pool, memory, 16);
	allo_on_alloc(arena, memory, 24); /* the same address */
	allo_on_alloc(0, memory + 32, 5);
	allo_on_free(pool, memory);
	allo_on_realloc_begin(arena, memory);
	use(113);
	allo_on_realloc_end(arena, memory + 8, 48);
	allo_event_named("request", 7);
	allo_mark("done");
	fprintf(stderr, "%s\n", must_stop());
	return 0;
}

/* The recording so far. */

static int dumps(char **arguments)
{
	struct allo_config config = { .path = "live.allo" };
	void *data = NULL;
	size_t len = 0;

	(void)arguments;
	if (allo_dump("early.folded") || allo_dump_buffer(NULL, &data, &len))
		return 1;
	fprintf(stderr, "%s\n", allo_error());
	must_start(&config);
	kept = got(1009);
	if (!allo_dump("first.folded") || !allo_dump_buffer("folded", &data, &len)) {
		fprintf(stderr, "%s\n", allo_error());
		return 1;
	}
	fwrite(data, 1, len, stderr);
	free(data);
	kept = got(2003);
	if (!allo_dump_on_signal(SIGUSR2, "signal.%n.folded"))
		return 1;
	raise(SIGUSR2);
	raise(SIGUSR2);
	must_stop();
	for (int i = 0; i < 500 && access("signal.2.folded", R_OK) < 0; i++)
		usleep(10000);
	return 0;
}

/* Ways to end without stopping. */

static void *exit_in_thread(void *given)
{
	(void)given;
	kept = got(1013);
	exit(7);
}

static int ends(char **arguments)
{
	struct allo_config config = { .path = arguments[0], .format = arguments[2] };
	pthread_t thread;

	must_start(&config);
	kept = got(1009);
	if (strcmp(arguments[1], "thread") == 0) {
		pthread_create(&thread, NULL, exit_in_thread, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(arguments[1], "fork") == 0 && fork() == 0) {
		kept = got(1013);
		exit(0);
	}
	if (strcmp(arguments[1], "abort") == 0)
		abort();
	if (strcmp(arguments[1], "kill") == 0)
		raise(SIGKILL);
	wait(NULL);
	return 0;
}

static void *restart_all_the_time(void *config)
{
	for (;;) {
		allo_start(config);
		allo_stop();
		usleep(200);
	}
	return config;
}

static void end_by(void (*leave)(int), const struct allo_config *config, unsigned delay_us)
{
	pthread_t thread;

	must_start(config); /* the first one takes far longer than the others */
	must_stop();
	if (pthread_create(&thread, NULL, restart_all_the_time, (void *)config) != 0)
		_exit(1);
	usleep(delay_us);
	leave(0);
}

/* Processes that end while a thread starts and stops recordings. */
static int ends_while_restarting(char **arguments)
{
	struct allo_config config = { .path = arguments[0] };
	int failed = 0;

	for (unsigned i = 0; i < 300; i++) {
		int status = 1;

		if (fork() == 0)
			end_by(i % 2 ? _exit : exit, &config, i * 7);
		wait(&status);
		failed += status != 0;
	}
	fprintf(stderr, "%d failed\n", failed);
	return 0;
}

static int misuse(char **arguments)
{
	struct allo_config nowhere = { .path = "/no/such/folder/x.allo" };
	struct allo_config config = { .path = arguments[0] };

	bool is_stopped = allo_stop() != NULL;

	fprintf(stderr, "%s, %s\n", is_stopped ? "?" : allo_error(), allo_error());
	fprintf(stderr, "%s\n", allo_start(&nowhere) ? "?" : allo_error());
	must_start(&config);
	fprintf(stderr, "%s\n", allo_start(&config) ? "?" : allo_error());
	say_heap("stats");
	must_stop();
	must_start(NULL);
	fprintf(stderr, "%s\n", must_stop());
	return 0;
}

/* Sampled: stacks of mixed sizes, so many of each. */
static int samples(char **arguments)
{
	struct allo_config config = { .path = arguments[0],
				      .mode = (enum allo_mode)atoi(arguments[1]),
				      .rate = strtoull(arguments[2], NULL, 10) };
	static void *live[20000];

	must_start(&config);
	for (int i = 0; i < 200000; i++) {
		static const size_t sizes[] = { 16, 700, 5000, 40000 };
		void **place = &live[i / 10];

		free(i % 10 == 0 ? NULL : *place);
		*place = got(sizes[(i / 10) % 4]);
	}
	for (int i = 0; i < 10000; i++)
		free(live[i]);
	fprintf(stderr, "%s\n", must_stop());
	return 0;
}

/* Records until a line comes, and goes on until another line comes. */
static int waits(char **arguments)
{
	struct allo_config config = { .path = arguments[0] };

	must_start(&config);
	free(got(100));
	getchar();
	must_stop();
	getchar();
	free(got(200));
	return 0;
}

int main(int count, char **arguments)
{
	static const struct {
		const char *word;
		int (*run)(char **arguments);
	} words[] = {
		{ "ad-hoc", ad_hoc },     { "dumps", dumps },
		{ "ends", ends },         { "ends-while-restarting", ends_while_restarting },
		{ "handover", handover }, { "heap", heap },
		{ "labels", labels },     { "limits", limits },
		{ "misuse", misuse },     { "restarts", restarts },
		{ "samples", samples },   { "scopes", scopes },
		{ "storm", storm },       { "waits", waits },
	};

	for (size_t i = 0; count > 1 && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(arguments[1], words[i].word) == 0)
			return words[i].run(arguments + 2);
	}
	return 2;
}
