/* test_recorded_functions.c - functions of interpreters in the stacks of a recording. */
#include "base/defer.h"
#include "check.h"
#include "profile/naming.h"
#include "recorder.h"
#include "replay/recording/recording_stacks.h"
#include "replay/recording_profile.h"

enum { PYTHON = 0x1000, EXTENSION = 0x8000 };

struct opened {
	struct recorder recorder;
	struct allo_input in;
	struct allo_recording recording;
	struct allo_profile profile;
	allo_stack_id *stacks;
	struct allo_error err;
};

static void opened_done(struct opened *opened)
{
	free(opened->stacks);
	allo_profile_done(&opened->profile);
	allo_recording_close(&opened->recording);
	allo_input_close(&opened->in);
	recorder_done(&opened->recorder);
}

/* main() calls outer(), which calls an extension through the interpreter; that calls inner(), which
 * allocates in the interpreter. */
static void record(struct opened *opened)
{
	struct recorder *recorder = &opened->recorder;
	uint32_t thread;

	recorder_init(recorder);
	recorder_module(recorder, 0, PYTHON, PYTHON + 0x1000, "/usr/bin/python3");
	recorder_module(recorder, 0, EXTENSION, EXTENSION + 0x1000, "/usr/lib/json.so");
	recorder_interpreter(recorder, ALLO_INTERPRETER_SEEN, PYTHON + 0x800);
	recorder_function(recorder, 1, 10, "/srv/app.py", "outer");
	recorder_function(recorder, 2, 20, "/srv/app.py", "Class.inner");
	recorder_node(recorder, 0, PYTHON + 1, 0);
	recorder_function_node(recorder, 1, 1, 11);
	recorder_node(recorder, 2, PYTHON + 2, 0);
	recorder_node(recorder, 3, EXTENSION + 3, 0);
	recorder_node(recorder, 4, PYTHON + 4, 0);
	recorder_function_node(recorder, 5, 2, 22);
	recorder_node(recorder, 6, PYTHON + 5, 0);
	thread = recorder_thread(recorder, 4711, "python3");
	recorder_alloc(recorder, thread, 2000, 0x50000, 100, 7);
}

static void open_stacks(struct opened *opened, bool keeps_interpreter)
{
	opened->in.fd = -1;
	assert_true(allo_input_open_memory(&opened->in, "test.allo", opened->recorder.file,
					   recorder_size(&opened->recorder), &opened->err));
	assert_true(allo_recording_open(&opened->recording, &opened->in, &opened->err));
	opened->recording.keeps_interpreter = keeps_interpreter;
	assert_true(allo_profile_from_stacks(&opened->profile, &opened->recording, &opened->stacks,
					     &opened->err));
}

/* The frame `up` calls outwards of the stack of a node. */
static const struct allo_frame *frame_of(const struct opened *opened, size_t node, unsigned up)
{
	allo_stack_id stack = opened->stacks[node];

	for (; up > 0; up--)
		stack = opened->profile.stacks.at[stack].parent;
	return &opened->profile.frames.at[opened->profile.stacks.at[stack].frame];
}

static void assert_function(const struct opened *opened, const struct allo_frame *frame,
			    const char *name, const char *linkage, uint32_t line)
{
	struct allo_line at = allo_call_line(&opened->profile, frame, 0);
	const struct allo_function *function = &opened->profile.functions.at[at.function];

	assert_int_equal(frame->address, 0);
	assert_int_equal(at.line, line);
	assert_text_equal(allo_profile_text(&opened->profile, function->name), name);
	assert_text_equal(allo_profile_text(&opened->profile, function->system_name), linkage);
	assert_text_equal(allo_profile_text(&opened->profile, function->file), "/srv/app.py");
}

static void frames_of_an_interpreter_have_function_file_and_line(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	record(&opened);
	open_stacks(&opened, false);
	assert_function(&opened, frame_of(&opened, 6, 0), "Class.inner", "py::Class.inner", 22);
	assert_int_equal(opened.profile.functions.at[2].start_line, 20);
}

static void frames_of_the_interpreter_between_functions_are_left_out(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	record(&opened);
	open_stacks(&opened, false);
	assert_int_equal(frame_of(&opened, 7, 0)->address, PYTHON + 4);
	assert_function(&opened, frame_of(&opened, 7, 1), "Class.inner", "py::Class.inner", 22);
	assert_int_equal(frame_of(&opened, 7, 2)->address, EXTENSION + 2);
	assert_function(&opened, frame_of(&opened, 7, 3), "outer", "py::outer", 11);
	assert_int_equal(frame_of(&opened, 7, 4)->address, PYTHON);
	assert_int_equal(opened.profile.stacks.at[opened.stacks[1]].parent, 0);
}

static void they_stay_on_request(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	record(&opened);
	open_stacks(&opened, true);
	assert_int_equal(frame_of(&opened, 7, 2)->address, PYTHON + 3);
	assert_int_equal(frame_of(&opened, 7, 3)->address, EXTENSION + 2);
	assert_int_equal(frame_of(&opened, 7, 4)->address, PYTHON + 1);
}

static void native_frames_inward_of_the_last_function_stay(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	record(&opened);
	open_stacks(&opened, false);
	assert_int_equal(frame_of(&opened, 4, 0)->address, EXTENSION + 2);
	assert_int_equal(frame_of(&opened, 4, 1)->address, PYTHON + 1);
	assert_function(&opened, frame_of(&opened, 4, 2), "outer", "py::outer", 11);
}

static void a_missing_function_is_named_so(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	record(&opened);
	recorder_function_node(&opened.recorder, 6, 9, 1);
	open_stacks(&opened, false);
	assert_text_equal(allo_call_name(&opened.profile, frame_of(&opened, 8, 0), 0,
					 (char[ALLO_NAME_SCRATCH]){ 0 }),
			  "(missing function)");
}

static void an_unknown_version_is_noted(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { .in.fd = -1 };
	struct allo_summary summary;

	(void)state;
	record(&opened);
	recorder_interpreter(&opened.recorder, ALLO_INTERPRETER_UNKNOWN, 0);
	assert_true(allo_input_open_memory(&opened.in, "test.allo", opened.recorder.file,
					   recorder_size(&opened.recorder), &opened.err));
	assert_true(allo_recording_open(&opened.recording, &opened.in, &opened.err));
	assert_true(allo_profile_from_recording(&opened.profile, &opened.recording, NULL, &summary,
						&opened.err));
	assert_int_equal(opened.profile.notes.of[ALLO_NOTE_NO_FUNCTIONS].count, 1);
	assert_text_equal(opened.recording.interpreters.at[1].version, "3.13.1");
}

static void an_allocator_that_is_not_recorded_is_noted(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { .in.fd = -1 };
	struct allo_summary summary;

	(void)state;
	record(&opened);
	recorder_allocator(&opened.recorder, ALLO_ALLOCATOR_THREADS, "/a.so");
	recorder_allocator(&opened.recorder, ALLO_ALLOCATOR_LATE, "/b.so");
	recorder_allocator(&opened.recorder, ALLO_ALLOCATOR_LATE, "/c.so");
	recorder_allocator(&opened.recorder, ALLO_ALLOCATOR_UNPATCHABLE, "/c.so");
	assert_true(allo_input_open_memory(&opened.in, "test.allo", opened.recorder.file,
					   recorder_size(&opened.recorder), &opened.err));
	assert_true(allo_recording_open(&opened.recording, &opened.in, &opened.err));
	assert_true(allo_profile_from_recording(&opened.profile, &opened.recording, NULL, &summary,
						&opened.err));
	assert_int_equal(opened.profile.notes.of[ALLO_NOTE_NO_ALLOCATOR].count, 2);
	assert_int_equal(summary.missing_allocators, 2);
	assert_int_equal(opened.recording.allocators.len, 3);
	assert_text_equal(opened.recording.allocators.at[2].name, "mimalloc");
	assert_text_equal(opened.recording.allocators.at[2].path, "/c.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_an_interpreter_have_function_file_and_line),
		cmocka_unit_test(frames_of_the_interpreter_between_functions_are_left_out),
		cmocka_unit_test(they_stay_on_request),
		cmocka_unit_test(native_frames_inward_of_the_last_function_stay),
		cmocka_unit_test(a_missing_function_is_named_so),
		cmocka_unit_test(an_unknown_version_is_noted),
		cmocka_unit_test(an_allocator_that_is_not_recorded_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
