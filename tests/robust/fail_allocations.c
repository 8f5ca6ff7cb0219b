/*
 * fail_allocations.c - fails allocations of reading, analysing and writing each file that it is
 * given, with every reader, every view and every writer there is: the first ones of each call
 * stack.
 *
 *     fail_allocations tests/golden/dhat/valgrind-heap.json ...        prints TAP
 *
 * Each run must end in ALLO_NOMEM, or as if nothing had failed: then with the same result, to the
 * byte. And all memory must have been given back.
 */
#include "analysis/diff.h"
#include "analysis/filters/filter.h"
#include "analysis/filters/select.h"
#include "analysis/top.h"
#include "analysis/tree.h"
#include "base/defer.h"
#include "readers/readers.h"
#include "writers/writers.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations. */

static atomic_long made;      /* since counting began */
static atomic_long live;      /* blocks that have not been freed */
static atomic_long first_bad; /* the number of the first allocation to fail; 0: none */
static atomic_bool all_bad;   /* and all after it, too */

/* Call stacks: of all allocations of this process, how often each was seen.  A stack that has no
 * place counts as new. */
enum { DEPTH = 8, STACKS = 1 << 16, OFTEN = 2, MOST_CHOSEN = 1 << 14 };

static struct {
	uint64_t hash;
	unsigned times;
} stacks[STACKS];
static long chosen[MOST_CHOSEN]; /* the numbers of allocations that are to fail */
static size_t chosen_count;
static atomic_bool is_choosing;
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER;

static unsigned times_seen(uint64_t hash)
{
	for (size_t i = 0; i < 64; i++) {
		size_t at = (hash + i) % STACKS;

		if (stacks[at].times == 0)
			stacks[at].hash = hash;
		if (stacks[at].hash == hash)
			return stacks[at].times++;
	}
	return 0;
}

/* Chooses an allocation whose stack is rare. */
static void choose(long number)
{
	static _Thread_local bool is_inside; /* backtrace() may allocate */
	void *frames[DEPTH];
	int depth;

	if (is_inside)
		return;
	is_inside = true;
	depth = backtrace(frames, DEPTH);
	pthread_mutex_lock(&choosing);
	if (times_seen(allo_hash_bytes(frames, (size_t)depth * sizeof(*frames), 0)) < OFTEN &&
	    chosen_count < MOST_CHOSEN)
		chosen[chosen_count++] = number;
	pthread_mutex_unlock(&choosing);
	is_inside = false;
}

static bool must_fail(void)
{
	long number = atomic_fetch_add(&made, 1) + 1, bad = atomic_load(&first_bad);

	if (atomic_load(&is_choosing))
		choose(number);
	if (bad == 0 || number < bad || (number > bad && !atomic_load(&all_bad)))
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *block)
{
	if (block)
		atomic_fetch_add(&live, 1);
	return block;
}

/* A sanitizer has its own allocator, so the linker leads our calls through here.
 * Otherwise these are the program's own malloc() and so on, for all libraries, too. */
#ifdef WRAPPED
#define REAL(name) __real_##name
#define FAKE(name) __wrap_##name
#else
#define REAL(name)           __libc_##name
#define FAKE(name)           name
#define __libc_aligned_alloc __libc_memalign
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *block, size_t size);
void *REAL(aligned_alloc)(size_t align, size_t size);
void REAL(free)(void *block);
void *FAKE(malloc)(size_t size);
void *FAKE(calloc)(size_t count, size_t size);
void *FAKE(realloc)(void *block, size_t size);
void *FAKE(aligned_alloc)(size_t align, size_t size);
void FAKE(free)(void *block);

void *FAKE(malloc)(size_t size)
{
	return must_fail() ? NULL : counted(REAL(malloc)(size));
}

void *FAKE(calloc)(size_t count, size_t size)
{
	return must_fail() ? NULL : counted(REAL(calloc)(count, size));
}

void *FAKE(realloc)(void *block, size_t size)
{
	void *moved;

	if (must_fail())
		return NULL;
	moved = REAL(realloc)(block, size);
	return block ? moved : counted(moved);
}

void *FAKE(aligned_alloc)(size_t align, size_t size)
{
	return must_fail() ? NULL : counted(REAL(aligned_alloc)(align, size));
}

void FAKE(free)(void *block)
{
	if (block)
		atomic_fetch_sub(&live, 1);
	REAL(free)(block);
}

/* The operations. */

struct work {
	const char *path;
	const struct allo_reader *reader;
	const struct allo_writer *writer;
	enum allo_packing packing;
	const struct allo_profile *profile; /* already read, for the operations after reading */
	struct allo_text packed;            /* the file once more */
	uint64_t digest;                    /* of the result */
};

typedef bool (*doing)(struct work *work, struct allo_error *err);

static void digest(struct work *work, const void *data, size_t len)
{
	work->digest = allo_hash_bytes(data, len, work->digest);
}

static bool read_profile(struct work *work, struct allo_profile *profile, struct allo_error *err)
{
	struct allo_read_options options = { .from = work->reader->name,
					     .keep_accesses = true,
					     .wants_history = true,
					     .wants_times = true };

	return allo_read_file(work->path, &options, profile, err);
}

static void digest_samples(struct work *work, const struct allo_profile *profile)
{
	digest(work, profile->sample_stacks.at, profile->sample_stacks.len * sizeof(allo_stack_id));
	digest(work, profile->values.at, profile->values.len * sizeof(uint64_t));
	digest(work, profile->stacks.at, profile->stacks.len * sizeof(struct allo_stack));
}

static bool do_read(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	if (!read_profile(work, &profile, err))
		return false;
	digest_samples(work, &profile);
	return true;
}

static bool do_read_packed(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_read_options options = { .from = work->reader->name,
					     .keep_accesses = true,
					     .by_thread = true,
					     .wants_history = true };

	if (!allo_read_memory("packed", work->packed.data, work->packed.len, &options, &profile,
			      err))
		return false;
	digest_samples(work, &profile);
	return true;
}

/* Reads in portions, through a filter, into a writer that takes them. */
struct passing {
	struct allo_filter filter;
	struct allo_write_job writing;
	const struct allo_writer *writer;
};

static void passing_done(struct passing *passing)
{
	allo_filter_done(&passing->filter);
	passing->writer->drop(&passing->writing);
}

static bool pass(void *context, struct allo_profile *portion, struct allo_error *err)
{
	struct passing *passing = context;

	return allo_filter_apply(&passing->filter, portion, err) &&
	       passing->writer->add(&passing->writing, portion, err);
}

static bool do_pass(struct work *work, struct allo_error *err)
{
	static const struct allo_write_options defaults;
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(passing_done)
	struct passing passing = {
		.filter = { .trim_allocator = true, .trim_startup = true, .stack_depth = 3 },
		.writing = { .out = &out, .options = &defaults },
		.writer = work->writer
	};
	struct allo_drain drain = { pass, &passing };
	struct allo_read_options options = { .from = work->reader->name,
					     .drain = &drain,
					     .wants_times = work->writer->holds &
							    ALLO_HOLDS_TIMES };
	struct allo_output_options output = { .packing = ALLO_PLAIN };

	if (!allo_output_open_memory(&out, &output, err) ||
	    !work->writer->begin(&passing.writing, err) ||
	    !allo_read_file(work->path, &options, &profile, err) ||
	    !pass(&passing, &profile, err) || !work->writer->end(&passing.writing, &profile, err) ||
	    !allo_output_finish(&out, err))
		return false;
	digest(work, allo_output_memory(&out).data, allo_output_memory(&out).len);
	return true;
}

static bool do_write(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .packing = work->packing };

	if (!allo_output_open_memory(&out, &options, err) ||
	    !allo_write(work->writer, work->profile, NULL, &out, NULL, err) ||
	    !allo_output_finish(&out, err))
		return false;
	digest(work, allo_output_memory(&out).data, allo_output_memory(&out).len);
	return true;
}

/* To a file: an unfinished file must be removed. */
static bool do_write_file(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .packing = ALLO_GZIP, .replace = true };

	if (!allo_output_open(&out, "/dev/null", &options, err) ||
	    !allo_write(work->writer, work->profile, NULL, &out, NULL, err) ||
	    !allo_output_finish(&out, err))
		return false;
	work->digest = allo_output_size(&out);
	return true;
}

static bool do_top(struct work *work, struct allo_error *err)
{
	struct allo_metric_columns columns = allo_metric_columns_of(work->profile, 0);

	for (int by = ALLO_BY_FUNCTION; by <= ALLO_BY_ADDRESS; by++) {
		ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
		ALLO_DEFER(allo_top_done)
		struct allo_top top = { .by = (enum allo_by)by, .attribution = &attribution };

		if (!allo_top_add(&top, work->profile, &columns, err))
			return false;
		allo_top_sort(&top, work->profile, ALLO_TOP_BY_TOTAL);
		for (size_t i = 0; i < top.rows.len; i++)
			digest(work, &top.rows.at[i].self.value, sizeof(allo_sum));
	}
	return true;
}

static bool do_tree(struct work *work, struct allo_error *err)
{
	struct allo_metric_columns columns = allo_metric_columns_of(work->profile, 0);

	for (int round = 0; round < 2; round++) {
		ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
		struct allo_tree_options options = { .is_inverted = round == 1 };

		if (!allo_tree_from_profile(&tree, work->profile, &columns, &options, err))
			return false;
		for (size_t i = 0; i < tree.nodes.len; i++)
			digest(work, &tree.nodes.at[i].total.value, sizeof(allo_sum));
	}
	return true;
}

static bool do_merge(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile merged = { 0 };

	if (!allo_profile_merge(&merged, work->profile, err) ||
	    !allo_profile_merge(&merged, work->profile, err) ||
	    !allo_profile_validate(&merged, err))
		return false;
	digest_samples(work, &merged);
	return true;
}

static bool do_diff(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile diff = { 0 };

	if (!allo_diff_profiles(work->profile, work->profile, ALLO_MATCH_FUNCTION, &diff, err) ||
	    !allo_profile_validate(&diff, err))
		return false;
	digest_samples(work, &diff);
	return true;
}

static bool do_filter(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done)
	struct allo_filter filter = { .trim_allocator = true,
				      .trim_startup = true,
				      .stack_depth = 3 };
	ALLO_DEFER(allo_profile_done) struct allo_profile copy = { 0 };

	if (!allo_profile_merge(&copy, work->profile, err) ||
	    !allo_patterns_add(&filter.focus, "ma",
			       err) || /* regcomp() of glibc loses memory itself */
	    !allo_patterns_add(&filter.hide, "std", err) ||
	    !allo_filter_apply(&filter, &copy, err))
		return false;
	digest_samples(work, &copy);
	return true;
}

static bool do_select(struct work *work, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile copy = { 0 };
	const char *name;

	if (!allo_profile_merge(&copy, work->profile, err))
		return false;
	name = allo_profile_text(&copy, copy.metrics.at[copy.metrics.len - 1].name).data;
	if (!allo_select_metrics(&copy, &name, 1, err))
		return false;
	digest_samples(work, &copy);
	return true;
}

/* Failing. */

static unsigned tests, runs;
static char found[4096]; /* said behind the test's result, as TAP has it */

static bool report(bool ok, const struct work *work, const char *what, long number,
		   const char *problem)
{
	size_t used = strlen(found);

	if (!ok)
		snprintf(found + used, sizeof(found) - used,
			 "# as %s%s%s, %s: allocation %ld fails: %s\n", work->reader->name,
			 work->writer ? " to " : "", work->writer ? work->writer->name : "", what,
			 number, problem);
	return ok;
}

/* Does the work with one allocation failing, or all from there on. */
static bool try_once(const struct work *asked, doing what, const char *name, long number,
		     bool and_all_after, const struct allo_error *usual, uint64_t usual_digest)
{
	struct work work = *asked;
	struct allo_error err = { 0 };
	long before = atomic_load(&live);
	bool ok;

	runs++;
	atomic_store(&made, 0);
	atomic_store(&all_bad, and_all_after);
	atomic_store(&first_bad, number);
	ok = what(&work, &err);
	atomic_store(&first_bad, 0);
	if (!report(ok == !allo_failed(&err), &work, name, number, "no reason is given") ||
	    !report(atomic_load(&live) == before, &work, name, number, "memory is lost") ||
	    !report(ok || err.code == ALLO_NOMEM || err.code == usual->code, &work, name, number,
		    err.message))
		return false;
	return report(!ok || work.digest == usual_digest, &work, name, number,
		      "the result is another one");
}

static bool try_all(const struct work *asked, doing what, const char *name)
{
	struct work work = *asked;
	struct allo_error usual = { 0 };

	what(&work, &usual); /* one-time setup happens here */
	work = *asked;
	usual = (struct allo_error){ 0 };
	chosen_count = 0;
	atomic_store(&made, 0);
	atomic_store(&is_choosing, true);
	what(&work, &usual);
	atomic_store(&is_choosing, false);
	for (size_t i = 0; i < chosen_count; i++) {
		if (!try_once(asked, what, name, chosen[i], false, &usual, work.digest) ||
		    !try_once(asked, what, name, chosen[i], true, &usual, work.digest))
			return false;
	}
	return true;
}

static bool try_writers(struct work *work)
{
	bool ok = true;

	for (size_t i = 0; allo_writers[i]; i++) {
		if (allo_writers[i]->takes_rows)
			continue;
		work->writer = allo_writers[i];
		work->packing = ALLO_PLAIN;
		ok = try_all(work, do_write, "writing") && ok;
		ok = try_all(work, do_write_file, "writing a file") && ok;
		if (allo_writers[i]->add)
			ok = try_all(work, do_pass, "passing through") && ok;
	}
	/* Packing does not depend on the content. */
	work->writer = allo_writers[0];
	work->packing = ALLO_GZIP;
	ok = try_all(work, do_write, "gzip") && ok;
	work->packing = ALLO_ZSTD;
	ok = try_all(work, do_write, "zstd") && ok;
	work->writer = NULL;
	return ok;
}

static bool try_analysis(const struct work *work)
{
	bool ok = try_all(work, do_merge, "merge");

	if (work->profile->metrics.len == 0)
		return ok;
	ok = try_all(work, do_top, "top") && ok;
	ok = try_all(work, do_tree, "tree") && ok;
	ok = try_all(work, do_diff, "diff") && ok;
	ok = try_all(work, do_filter, "filter") && ok;
	return try_all(work, do_select, "select") && ok;
}

/* Packs a file into memory. */
static bool pack_file(const char *path, enum allo_packing packing, struct allo_output *out)
{
	struct allo_output_options options = { .packing = packing };
	struct allo_error err = { 0 };
	FILE *file = fopen(path, "rb");
	char bytes[4096];
	size_t len;

	if (!file || !allo_output_open_memory(out, &options, &err))
		return false;
	while ((len = fread(bytes, 1, sizeof(bytes), file)) > 0)
		allo_output_bytes(out, bytes, len);
	fclose(file);
	return allo_output_finish(out, &err);
}

static bool try_reading_packed(struct work *work)
{
	bool ok = true;

	for (int packing = ALLO_GZIP; packing <= ALLO_ZSTD; packing++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

		if (!pack_file(work->path, (enum allo_packing)packing, &out))
			return false;
		work->packed = allo_output_memory(&out);
		ok = try_all(work, do_read_packed, "reading it packed") && ok;
	}
	return ok;
}

static bool try_file(const char *path)
{
	bool ok = true;

	for (size_t i = 0; allo_readers[i]; i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		struct work work = { .path = path, .reader = allo_readers[i], .profile = &profile };
		struct allo_error err = { 0 };

		ok = try_all(&work, do_read, "reading") && ok;
		if (!read_profile(&work, &profile, &err))
			continue;
		ok = try_reading_packed(&work) && ok;
		ok = try_analysis(&work) && ok;
		ok = try_writers(&work) && ok;
	}
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true;

	for (int i = 1; i < argc; i++) {
		bool is_good;

		runs = 0;
		found[0] = '\0';
		is_good = try_file(argv[i]);
		printf("%s %u - %s: every allocation may fail (%u runs)\n%s",
		       is_good ? "ok" : "not ok", ++tests, argv[i], runs, found);
		fflush(stdout);
		ok = ok && is_good;
	}
	return ok && argc > 1 ? 0 : 1;
}
