/*
 * findings.c - for each rule of 'allo findings' a use of memory that it must report, and a similar
 * one that it must not.  The argument is the name of the case; the table at the end has all.
 */
#include "blocks.h"

#include <pthread.h>
#include <time.h>

static void pause_ms(long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void *kept[200000];

static void free_kept(size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(kept[i]);
}

/* Leaks: 200 blocks of 1009 bytes. */

static APART void leak_on(int i)
{
	kept[i] = held(malloc(1009));
	stay();
}

/* 200 times the pause: more than a second in which the memory rises. */
static void leak_slowly(long ms)
{
	for (int i = 0; i < 200; i++) {
		leak_on(i);
		pause_ms(ms);
	}
}

static void leak_growing(void)
{
	leak_slowly(6);
}

static void leak_quickly(void)
{
	leak_slowly(1);
}

static APART void fill_cache(int i)
{
	kept[i] = held(malloc(1009));
	stay();
}

/* All blocks are from the start, so the memory stays the same. */
static void leak_exit(void)
{
	for (int i = 0; i < 200; i++)
		fill_cache(i);
	pause_ms(200);
}

/* The same; the program is stopped before it goes on, as on a busy machine. */
static void leak_first(void)
{
	for (int i = 0; i < 200; i++)
		fill_cache(i);
	pause_ms(50);
	for (int i = 0; i < 5000; i++)
		free(held(malloc(100)));
}

/* A leak that grows, in a program that is stopped before its last events. */
static void leak_in_a_burst(void)
{
	for (int i = 0; i < 200; i++)
		leak_on(i);
	pause_ms(50);
	free(held(malloc(100)));
}

static APART void keep_until_end(int i)
{
	kept[i] = held(malloc(1009));
	stay();
}

static void leak_none(void)
{
	for (int i = 0; i < 200; i++) {
		keep_until_end(i);
		pause_ms(1);
	}
	free_kept(200);
}

/* Buffers. */

static APART void *append_line(void *buffer, size_t size)
{
	buffer = held(realloc(buffer, size));
	stay();
	return buffer;
}

/* 999 steps of 1000 bytes, which copy 1000 + 2000 + ... + 999000 bytes. */
static void grow_by_one(void)
{
	void *buffer = held(malloc(1000));

	for (size_t size = 2000; size <= 1000000; size += 1000)
		buffer = append_line(buffer, size);
	free(buffer);
}

static APART void *append_more(void *buffer, size_t size)
{
	buffer = held(realloc(buffer, size));
	stay();
	return buffer;
}

static void grow_by_factor(void)
{
	void *buffer = held(malloc(1000));

	for (size_t size = 2000; size <= 64000000; size *= 2)
		buffer = append_more(buffer, size);
	free(buffer);
}

static APART void *read_record(void *buffer, size_t size)
{
	buffer = held(realloc(buffer, size));
	stay();
	return buffer;
}

/* `count` buffers that grow from 16 to 65536 bytes, in 12 steps; with `differ`, many end before. */
static void grow_often(int count, int differ)
{
	for (int i = 0; i < count; i++) {
		void *buffer = held(malloc(16));

		for (size_t size = 32; size <= 65536u >> (differ ? i % 4 : 0); size *= 2)
			buffer = read_record(buffer, size);
		free(buffer);
	}
}

static void grow_to_same(void)
{
	grow_often(200, 0);
}

static void grow_to_other(void)
{
	grow_often(200, 1);
}

/* Loops: 20,000 blocks. */

static APART void *make_token(size_t size)
{
	void *token = held(malloc(size));

	stay();
	return token;
}

static void churn_loop(void)
{
	for (int i = 0; i < 20000; i++)
		free(make_token(48));
}

static void temp_format(void)
{
	for (int i = 0; i < 20000; i++)
		free(make_token(17 + (size_t)i % 100));
}

/* All live at once, so one block could not serve them. */
static void batch_of(size_t size, size_t spread, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kept[i] = make_token(size + i % spread);
	free_kept(count);
}

static void batch_same(void)
{
	batch_of(48, 1, 20000);
}

static void batch_varied(void)
{
	batch_of(17, 100, 20000);
}

/* Sizes. */

static void same_size(void)
{
	batch_of(24, 1, 120000);
}

static void other_sizes(void)
{
	batch_of(24, 50, 120000);
}

static void tiny(void)
{
	batch_of(8, 1, 20000);
}

static void zero_size(void)
{
	batch_of(0, 1, 1200);
}

static void zero_size_rare(void)
{
	batch_of(0, 1, 900);
}

/* Threads. */

static void *free_all(void *nothing)
{
	free_kept(20000);
	return nothing;
}

static APART void make_message(int i)
{
	kept[i] = held(malloc(64));
	stay();
}

static void run_thread(void *(*work)(void *))
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, work, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
}

static void cross_thread(void)
{
	for (int i = 0; i < 20000; i++)
		make_message(i);
	run_thread(free_all);
}

static void *allocate(void *nothing)
{
	free(held(malloc(64)));
	return nothing;
}

static void own_thread(void)
{
	for (int i = 0; i < 20000; i++)
		make_message(i);
	free_kept(20000);
	run_thread(allocate);
}

/* The heap over time. */

static APART void *hold(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

static APART void *burst(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

/* 1 MB for 100 steps, and 16 MB more from step `from` to step `to`, or for a moment. */
static void rise(int from, int to)
{
	void *base = hold(1000000), *more = NULL;

	for (int i = 0; i < 100; i++) {
		if (i == from)
			more = burst(16000000);
		if (i == to)
			free(more);
		pause_ms(5);
	}
	free(base);
}

static void spike(void)
{
	rise(50, 50);
}

static void plateau(void)
{
	rise(20, 80);
}

static APART void *read_rows(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

static APART void *copy_rows(size_t size)
{
	void *block = held(malloc(size));

	stay();
	return block;
}

/* Two sites with 40 blocks each, which grow and shrink together. */
static void two_sites(size_t first, size_t second)
{
	enum { COUNT = 40 };
	void *rows[COUNT], *copies[COUNT];

	for (int i = 0; i < COUNT; i++) {
		rows[i] = read_rows(first);
		copies[i] = copy_rows(second);
		pause_ms(2);
	}
	for (int i = 0; i < COUNT; i++) {
		free(rows[i]);
		free(copies[i]);
		pause_ms(1);
	}
}

static void double_buffer(void)
{
	two_sites(100000, 100000);
}

static void two_kinds(void)
{
	two_sites(100000, 60000);
}

/* 4 MB from the beginning on; `late` is how long they stay, in percent. */
static void stay_for(int late)
{
	void *table = hold(4000000);

	for (int i = 0; i < 100; i++) {
		if (i == late)
			free(table);
		free(burst(100));
		pause_ms(10);
	}
	if (late == 100)
		free(table);
}

static void late_free(void)
{
	stay_for(100);
}

static void early_free(void)
{
	stay_for(50);
}

static void startup(void)
{
	void *table = hold(32000000);

	pause_ms(2000);
	free(table);
}

static void later(void)
{
	void *table;

	free(burst(100));
	pause_ms(600);
	table = hold(32000000);
	pause_ms(600);
	free(table);
}

static APART void fill_pages(int i)
{
	kept[i] = held(malloc(1000));
	memset(kept[i], 1, 1000);
	stay();
}

/* 64 MB of small blocks, all freed but each `stride`-th, which keep their pages. */
static void free_but(int stride)
{
	enum { COUNT = 64000 };

	for (int i = 0; i < COUNT; i++)
		fill_pages(i);
	pause_ms(300);
	for (int i = COUNT - 1; i >= 0; i--) {
		if (i % stride > 0)
			free(kept[i]);
	}
	pause_ms(3000);
	for (int i = 0; i < COUNT; i += stride)
		free(kept[i]);
}

static void fragmentation(void)
{
	free_but(32);
}

static APART void fill_mapping(int i)
{
	kept[i] = held(malloc(1000000));
	memset(kept[i], 1, 1000000);
	stay();
}

/* 64 MB of blocks that malloc maps, and unmaps when they are freed. */
static void no_fragmentation(void)
{
	for (int i = 0; i < 64; i++)
		fill_mapping(i);
	pause_ms(300);
	free_kept(63);
	pause_ms(3000);
	free(kept[63]);
}

/* Accesses, for DHAT.  Blocks are as large that their bytes are counted one by one. */

static APART char *log_entry(size_t size)
{
	char *entry = held(malloc(size));

	stay();
	return entry;
}

/* Writes the first `written` bytes of 50 blocks of 1000 bytes, and reads them if `is_read`. */
static void use_bytes(size_t written, int is_read)
{
	volatile char seen = 0;

	for (int i = 0; i < 50; i++) {
		volatile char *entry = log_entry(1000);

		for (size_t at = 0; at < written; at++)
			entry[at] = 1;
		for (size_t at = 0; at < written && is_read; at++)
			seen = entry[at];
		free((void *)entry);
	}
	(void)seen;
}

static void never_read(void)
{
	use_bytes(1000, 0);
}

static void never_written(void)
{
	use_bytes(0, 0);
}

static void low_use(void)
{
	use_bytes(300, 1);
}

static void all_used(void)
{
	use_bytes(1000, 1);
}

/* One byte of eight, in 50 blocks of 8000 bytes. */
static void low_access(void)
{
	volatile char seen = 0;

	for (int i = 0; i < 50; i++) {
		volatile char *entry = log_entry(8000);

		for (size_t at = 0; at < 8000; at += 8) {
			entry[at] = 1;
			seen = entry[at];
		}
		free((void *)entry);
	}
	(void)seen;
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "leak-growing", leak_growing },
	{ "leak-quickly", leak_quickly },
	{ "leak-exit", leak_exit },
	{ "leak-first", leak_first },
	{ "leak-in-a-burst", leak_in_a_burst },
	{ "leak-none", leak_none },
	{ "grow-by-one", grow_by_one },
	{ "grow-by-factor", grow_by_factor },
	{ "grow-to-same", grow_to_same },
	{ "grow-to-other", grow_to_other },
	{ "churn-loop", churn_loop },
	{ "temp-format", temp_format },
	{ "batch-same", batch_same },
	{ "batch-varied", batch_varied },
	{ "same-size", same_size },
	{ "other-sizes", other_sizes },
	{ "tiny", tiny },
	{ "zero-size", zero_size },
	{ "zero-size-rare", zero_size_rare },
	{ "cross-thread", cross_thread },
	{ "own-thread", own_thread },
	{ "spike", spike },
	{ "plateau", plateau },
	{ "double-buffer", double_buffer },
	{ "two-kinds", two_kinds },
	{ "late-free", late_free },
	{ "early-free", early_free },
	{ "startup", startup },
	{ "later", later },
	{ "fragmentation", fragmentation },
	{ "no-fragmentation", no_fragmentation },
	{ "never-read", never_read },
	{ "never-written", never_written },
	{ "low-use", low_use },
	{ "low-access", low_access },
	{ "all-used", all_used },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: findings CASE\n");
	return 2;
}
