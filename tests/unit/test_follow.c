/* test_follow.c - replay/follow.h, and files that are read while they are written. */
#include "check.h"

#include "base/defer.h"
#include "random.h"
#include "recordings.h"
#include "replay/follow.h"
#include "replay/recording_profile.h"
#include "scratch.h"

#include <fcntl.h>

/* A process that writes its recording step by step. */
struct writer {
	struct recorder recorder;
	struct scratch scratch;
	const char *path;
	int fd;
};

static int set_up(void **state)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	assert_non_null(writer);
	scratch_init(&writer->scratch);
	writer->path = scratch_path(&writer->scratch, "growing.allo");
	writer->fd = open(writer->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(writer->fd >= 0);
	*state = writer;
	return 0;
}

static int tear_down(void **state)
{
	struct writer *writer = *state;

	close(writer->fd);
	recorder_done(&writer->recorder);
	scratch_done(&writer->scratch);
	free(writer);
	return 0;
}

/* Copies the recording so far to the file. */
static void publish(struct writer *writer)
{
	size_t size = recorder_size(&writer->recorder);

	assert_int_equal(pwrite(writer->fd, writer->recorder.file, size, 0), size);
}

static void begin(struct writer *writer)
{
	record_tables(&writer->recorder);
	recorder_head(&writer->recorder)->end = ALLO_END_NONE;
}

/* The heap equals that of a replay of the whole file. */
static void assert_as_replayed(const struct allo_follow *follow, const char *path)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_heap_options everything = { 0 };
	struct allo_error err = { 0 };
	uint64_t events;

	assert_true(allo_recording_open_file(&recording, path, NULL, &err));
	assert_true(allo_heap_replay(&heap, &recording, &everything, &events, &err));
	assert_int_equal(follow->heap.blocks.count, heap.blocks.count);
	assert_int_equal(follow->heap.blocks.bytes, heap.blocks.bytes);
	assert_int_equal(follow->heap.blocks.total_bytes, heap.blocks.total_bytes);
	assert_int_equal(follow->heap.blocks.unknown_frees, heap.blocks.unknown_frees);
	assert_int_equal(follow->heap.blocks.peak_bytes, heap.blocks.peak_bytes);
	assert_int_equal(follow->recording.gaps.damaged_pages, 0);
	assert_true(follow->heap.blocks.stack_count >= heap.blocks.stack_count);
	for (size_t i = 0; i < heap.blocks.stack_count; i++)
		assert_int_equal(follow->heap.sites[i].live_bytes, heap.sites[i].live_bytes);
}

enum { BLOCKS = 64, THREADS_MOST = 6 };

/* Events of threads in time order. */
struct work {
	struct writer *writer;
	uint64_t random, ns;
	uint32_t threads[THREADS_MOST], count, nodes;
	bool is_live[BLOCKS];
};

static void do_something(struct work *work)
{
	struct recorder *recorder = &work->writer->recorder;
	uint32_t block = draw(&work->random, BLOCKS), what = draw(&work->random, 400), thread;

	if (what == 0 && work->count < THREADS_MOST) {
		work->threads[work->count] = recorder_thread(recorder, 100 + work->count, "more");
		recorder_escape(recorder, work->threads[work->count++], ALLO_ESCAPE_TIMED);
	}
	if (what == 1)
		recorder_node(recorder, NODE_MAIN, 0x402000 + 16 * ++work->nodes, 0);
	thread = work->threads[draw(&work->random, work->count)];
	if (what == 2)
		recorder_seal(recorder, thread, true);
	work->ns += 1 + draw(&work->random, 50);
	if (work->is_live[block])
		recorder_free(recorder, thread, work->ns, 0x10000 + 64 * block);
	else
		recorder_alloc(recorder, thread, work->ns, 0x10000 + 64 * block,
			       1 + draw(&work->random, 60),
			       1 + draw(&work->random, NODE_PLUGIN + work->nodes));
	work->is_live[block] = !work->is_live[block];
}

static void each_step_equals_a_whole_replay(void **state)
{
	struct writer *writer = *state;
	struct work work = { .writer = writer, .random = 4711, .ns = 1000 };
	ALLO_DEFER(allo_follow_close) struct allo_follow follow = { 0 };
	struct allo_error err = { 0 };

	begin(writer);
	work.threads[work.count++] = recorder_thread(&writer->recorder, 100, "first");
	recorder_escape(&writer->recorder, work.threads[0], ALLO_ESCAPE_TIMED);
	publish(writer);
	assert_true(allo_follow_open(&follow, writer->path, NULL, &err));
	for (unsigned step = 0; step < 60; step++) {
		for (uint32_t i = draw(&work.random, 300); i > 0; i--)
			do_something(&work);
		publish(writer);
		assert_true(allo_follow_step(&follow, &err));
		assert_as_replayed(&follow, writer->path);
	}
	assert_int_equal(work.count, THREADS_MOST);
	assert_true(work.nodes > 20);
}

/* A tail that moves after it was found. */
static void a_moved_tail_is_read_from_its_new_slot(void **state)
{
	struct writer *writer = *state;
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_heap_options everything = { 0 };
	struct allo_error err = { 0 };
	uint32_t one, two;
	uint64_t events;

	begin(writer);
	one = recorder_thread(&writer->recorder, 100, "one");
	two = recorder_thread(&writer->recorder, 101, "two");
	recorder_alloc(&writer->recorder, one, 2000, 0x1000, 100, NODE_MAIN);
	recorder_alloc(&writer->recorder, two, 2500, 0x2000, 10, NODE_MAIN);
	publish(writer);
	assert_true(allo_recording_open_file(&recording, writer->path, NULL, &err));
	recorder_alloc(&writer->recorder, one, 3000, 0x3000, 1000, NODE_MAIN);
	recorder_seal(&writer->recorder, one, true);
	recorder_alloc(&writer->recorder, one, 4000, 0x4000, 10000, NODE_MAIN);
	recorder_seal(&writer->recorder, two, true);
	publish(writer);
	assert_true(allo_heap_replay(&heap, &recording, &everything, &events, &err));
	/* Events after the refresh are missing. */
	assert_int_equal(heap.blocks.bytes, 110);
	assert_int_equal(recording.gaps.damaged_pages, 0);
}

/* The process has reserved a slot, but not written its header. */
static void a_blank_slot_is_read_again(void **state)
{
	struct writer *writer = *state;
	struct recorder *recorder = &writer->recorder;
	ALLO_DEFER(allo_follow_close) struct allo_follow follow = { 0 };
	struct allo_error err = { 0 };
	static const char none[sizeof(struct allo_wire_slot)];
	static char tail[ALLO_SLOT_SIZE];
	uint32_t thread;
	size_t slot;

	begin(writer);
	thread = recorder_thread(recorder, 100, "one");
	slot = recorder->streams[thread].slot;
	recorder_alloc(recorder, thread, 2000, 0x1000, 100, NODE_MAIN);
	memcpy(tail, recorder_tail(recorder, thread), sizeof(tail));
	recorder_seal(recorder, thread, true);
	publish(writer);
	assert_true(pwrite(writer->fd, tail, sizeof(tail), (off_t)(slot * ALLO_SLOT_SIZE)) > 0);
	assert_true(pwrite(writer->fd, none, sizeof(none),
			   (off_t)((recorder->slots - 1) * ALLO_SLOT_SIZE)) > 0);
	assert_true(allo_follow_open(&follow, writer->path, NULL, &err));
	assert_int_equal(follow.heap.blocks.bytes, 100);
	recorder_alloc(recorder, thread, 3000, 0x2000, 10, NODE_MAIN);
	publish(writer);
	assert_true(allo_follow_step(&follow, &err));
	assert_as_replayed(&follow, writer->path);
	assert_int_equal(follow.heap.blocks.bytes, 110);
}

struct row {
	uint64_t stack, labels, values[4];
};

static int compare_rows(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct row));
}

enum { ROWS_MAX = 32 };

/* The samples of a profile, in an order that does not depend on how they were added.  Labels are
 * told apart by their last string, which is unique in these recordings. */
static size_t take_rows(const struct allo_profile *profile, struct row rows[ROWS_MAX])
{
	size_t count = allo_profile_sample_count(profile);

	assert_int_equal(profile->metrics.len, 4);
	assert_true(count <= ROWS_MAX);
	memset(rows, 0, ROWS_MAX * sizeof(*rows));
	for (size_t i = 0; i < count; i++) {
		allo_labels_id labels = profile->sample_labels.len > 0
						? profile->sample_labels.at[i]
						: 0;

		rows[i].stack = profile->sample_stacks.at[i];
		for (uint32_t k = 0; labels && k < profile->label_sets.at[labels].count; k++) {
			const struct allo_label *label =
				&profile->labels.at[profile->label_sets.at[labels].first + k];
			struct allo_text text = allo_profile_text(profile, label->text);

			for (size_t c = 0; c < text.len; c++)
				rows[i].labels = rows[i].labels * 31 + (uint8_t)text.data[c];
		}
		memcpy(rows[i].values, allo_profile_row(profile, i), sizeof(rows[i].values));
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	return count;
}

/* The profile of the followed heap is that of a replay of the whole file, or of a window. */
static void assert_same_view(struct allo_follow *follow, const char *path,
			     enum allo_view_instant at, uint64_t from_ns)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile whole = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile followed = { 0 };
	const struct allo_replay replay = { .window.from_ns = from_ns, .at = at };
	const struct allo_replay done = { .window.from_ns = from_ns,
					  .at = at,
					  .heap = &follow->heap };
	struct row rows[2][ROWS_MAX];
	struct allo_error err = { 0 };
	size_t count;

	assert_true(allo_recording_open_file(&recording, path, NULL, &err));
	assert_true(allo_profile_from_recording(&whole, &recording, &replay, NULL, &err));
	assert_true(allo_profile_from_recording(&followed, &follow->recording, &done, NULL, &err));
	count = take_rows(&whole, rows[0]);
	assert_int_equal(take_rows(&followed, rows[1]), count);
	assert_memory_equal(rows[0], rows[1], count * sizeof(*rows[0]));
}

static void assert_same_profile(struct allo_follow *follow, const char *path)
{
	assert_same_view(follow, path, ALLO_AT_NOW, 0);
}

/* Three windows, one after the other, of which only the last one begins with labels. */
static void follow_windows(struct writer *writer)
{
	struct recorder *recorder = &writer->recorder;
	ALLO_DEFER(allo_follow_close) struct allo_follow follow = { .by_labels = true };
	struct allo_error err = { 0 };
	uint32_t thread = recorder_thread(recorder, 100, "one");

	recorder_alloc(recorder, thread, 2000, 0x1000, 100, NODE_MAIN);
	recorder_alloc(recorder, thread, 2500, 0x2000, 10, NODE_HANDLE);
	publish(writer);
	assert_true(allo_follow_open(&follow, writer->path, NULL, &err));
	for (uint64_t turn = 1; turn <= 3; turn++) {
		uint64_t from_ns = follow.heap.blocks.last_ns + 1;
		uint64_t ticks = 10000 * turn, block = 0x10000 * turn;

		assert_true(allo_heap_keep_before(&follow.heap, &err));
		if (turn == 2) {
			record_words(recorder);
			recorder_labels(recorder, thread, ticks + 100, LABELS_UPLOAD);
		}
		recorder_alloc(recorder, thread, ticks + 200, block, 1000 * turn, NODE_HANDLE);
		recorder_alloc(recorder, thread, ticks + 300, block + 64, 7, NODE_PLUGIN);
		recorder_free(recorder, thread, ticks + 400, block + 64);
		if (turn == 3)
			recorder_free(recorder, thread, ticks + 500, 0x1000);
		publish(writer);
		assert_true(allo_follow_step(&follow, &err));
		assert_same_view(&follow, writer->path, ALLO_AT_CHANGE, from_ns);
		/* The totals are still there. */
		assert_same_profile(&follow, writer->path);
	}
}

static void a_window_of_a_followed_heap_equals_a_replay(void **state)
{
	begin(*state);
	follow_windows(*state);
}

static void so_does_one_of_a_sampled_recording(void **state)
{
	struct writer *writer = *state;

	begin(writer);
	recorder_head(&writer->recorder)->sampling = (struct allo_wire_sampling){
		.mode = ALLO_MODE_SAMPLED, .rate = 700
	};
	follow_windows(writer);
}

static void labels_may_come_after_the_first_events(void **state)
{
	struct writer *writer = *state;
	struct recorder *recorder = &writer->recorder;
	ALLO_DEFER(allo_follow_close) struct allo_follow follow = { .by_labels = true };
	struct allo_error err = { 0 };
	uint32_t thread;

	begin(writer);
	thread = recorder_thread(recorder, 100, "one");
	recorder_alloc(recorder, thread, 2000, 0x1000, 100, NODE_MAIN);
	recorder_alloc(recorder, thread, 2500, 0x2000, 10, NODE_HANDLE);
	publish(writer);
	assert_true(allo_follow_open(&follow, writer->path, NULL, &err));
	assert_same_profile(&follow, writer->path);
	assert_null(follow.heap.ids);

	record_words(recorder);
	recorder_labels(recorder, thread, 3000, LABELS_UPLOAD);
	recorder_alloc(recorder, thread, 4000, 0x3000, 1000, NODE_HANDLE);
	recorder_free(recorder, thread, 4500, 0x2000);
	publish(writer);
	assert_true(allo_follow_step(&follow, &err));
	assert_same_profile(&follow, writer->path);
	assert_non_null(follow.heap.ids);

	recorder_labels(recorder, thread, 5000, LABELS_DOWNLOAD);
	recorder_alloc(recorder, thread, 6000, 0x4000, 10000, NODE_HANDLE);
	recorder_labels(recorder, thread, 7000, 0);
	recorder_alloc(recorder, thread, 8000, 0x5000, 7, NODE_MAIN);
	publish(writer);
	assert_true(allo_follow_step(&follow, &err));
	assert_same_profile(&follow, writer->path);
	assert_int_equal(follow.heap.blocks.bytes, 100 + 1000 + 10000 + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_step_equals_a_whole_replay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_moved_tail_is_read_from_its_new_slot, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_blank_slot_is_read_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_window_of_a_followed_heap_equals_a_replay, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(so_does_one_of_a_sampled_recording, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(labels_may_come_after_the_first_events, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
