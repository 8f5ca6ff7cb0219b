/* test_dhat_points.c - readers/dhat/dhat_points.h: the same points, wherever a block is cut. */
#include "check.h"

#include "base/defer.h"
#include "readers/dhat/dhat_points.h"

#include <stdlib.h>

/* Takes a copy of exactly these bytes and parses it. */
static void parse(struct allo_dhat_chunk *block, const char *text, size_t len, bool is_first)
{
	*block = (struct allo_dhat_chunk){ .len = len,
					   .is_first = is_first,
					   .keep_accesses = true,
					   .required = ALLO_DHAT_ALWAYS };
	block->text = malloc(len + 1);
	memcpy(block->text, text, len);
	block->text[len] = '\0';
	allo_dhat_chunk_parse(block);
}

static void values_frames_and_counts_are_taken(void **state)
{
	const char text[] =
		" {\"tb\":1,\"tbk\":2,\"tl\":3,\"mb\":4,\"mbk\":5,\"gb\":6,\"gbk\":7,\"eb\":8,"
		"\"ebk\":9,\"rb\":10,\"wb\":18446744073709551615,"
		"\"acc\":[-8,12000,3],\"fs\":[7,8,9]}\n"
		" ,{ \"fs\" : [ ] , \"tbk\" : 1e3 , \"tb\" : 2.5 } ] ,\"ftbl\":";
	const uint64_t first[] = { 2, 1, 5, 4, 7, 6, 9, 8, 3, 10, UINT64_MAX };
	const uint32_t frames[] = { 7, 8, 9 };
	const int32_t accesses[] = { -8, 12000, 3 };
	ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;

	(void)state;
	parse(&block, text, strlen(text), true);
	assert_int_equal(block.status, ALLO_DHAT_ENDED);
	assert_string_equal(block.text + block.consumed, " ,\"ftbl\":");
	assert_int_equal(block.covered.lines, 1);
	assert_int_equal(block.points.len, 2);
	assert_memory_equal(block.points.at[0].values, first, sizeof(first));
	assert_int_equal(block.points.at[0].frame_count, 3);
	assert_int_equal(block.frames.len, 3);
	assert_memory_equal(block.frames.at, frames, sizeof(frames));
	assert_int_equal(block.points.at[0].access_count, 3);
	assert_memory_equal(block.accesses.at, accesses, sizeof(accesses));
	assert_int_equal(block.points.at[1].values[ALLO_DHAT_TB], 3);
	assert_int_equal(block.points.at[1].values[ALLO_DHAT_TBK], 1000);
	assert_int_equal(block.notes.of[ALLO_NOTE_FRACTION].count, 1);
	assert_int_equal(block.points.at[1].present,
			 1 << ALLO_DHAT_TB | 1 << ALLO_DHAT_TBK | ALLO_DHAT_HAS_FS);
}

/* Cuts. */

/* Points with all that may be in the way: strings and values of unknown keys that look like
 * borders, escapes, odd numbers, Valgrind's missing bracket. */
static const char tricky[] =
	"{\"tb\":10,\"tbk\":1,\"fs\":[1,2,3]},\n"
	"{\"tb\":11,\"x\":\"},{\\\"tb\\\":\",\"tbk\":1,\"fs\":[1]} ,\n\t"
	"{\"tb\":12,\"y\":{\"z\":[{},{\"tb\":1},{}],\"w\":null},\"tbk\":1,\"fs\":[]},"
	"{\"tb\":1.5e1,\"tbk\":1,\"acc\":[-3,7,0,65535],\"fs\":[4294967295,0]},"
	"{\"tb\":14,\"tbk\":1,\"fs\":]},\r\n"
	"{\"\\\\\":\"\\\\\",\"x\\\"\":1,\"xy\\\"z\":2,\"tbk\":100000000000000000000e-20,\"tb\":15,\"fs\":[5]},"
	"{\"tb\":16,\"tbk\":1,\"acc\":null,\"fs\":[ 6 , 7 ]}\n"
	"]\n,\"ftbl\":[\"[root]\",\"},{\"]}";

static void assert_points_equal(const struct allo_dhat_chunk *whole, size_t *point, size_t *frame,
				size_t *access, const struct allo_dhat_chunk *part)
{
	for (size_t i = 0; i < part->points.len; i++) {
		const struct allo_dhat_point *a = &whole->points.at[*point + i];
		const struct allo_dhat_point *b = &part->points.at[i];

		assert_memory_equal(a->values, b->values, sizeof(a->values));
		assert_int_equal(a->frame_count, b->frame_count);
		assert_int_equal(a->access_count, b->access_count);
		assert_int_equal(a->present, b->present);
	}
	if (part->frames.len > 0)
		assert_memory_equal(whole->frames.at + *frame, part->frames.at,
				    part->frames.len * sizeof(*part->frames.at));
	if (part->accesses.len > 0)
		assert_memory_equal(whole->accesses.at + *access, part->accesses.at,
				    part->accesses.len * sizeof(*part->accesses.at));
	*point += part->points.len;
	*frame += part->frames.len;
	*access += part->accesses.len;
}

static void a_cut_anywhere_gives_the_same_points(void **state)
{
	ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk whole;
	size_t len = strlen(tricky);

	(void)state;
	parse(&whole, tricky, len, true);
	assert_int_equal(whole.status, ALLO_DHAT_ENDED);
	assert_int_equal(whole.points.len, 7);
	for (size_t cut = 0; cut < whole.consumed; cut++) {
		ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk first, second;
		size_t point = 0, frame = 0, access = 0;
		struct allo_offset sum;

		parse(&first, tricky, cut, true);
		assert_true(first.status == ALLO_DHAT_MORE || first.status == ALLO_DHAT_INSIDE);
		parse(&second, tricky + first.consumed, len - first.consumed,
		      first.points.len == 0);
		assert_int_equal(second.status, ALLO_DHAT_ENDED);
		assert_int_equal(first.consumed + second.consumed, whole.consumed);
		assert_points_equal(&whole, &point, &frame, &access, &first);
		assert_points_equal(&whole, &point, &frame, &access, &second);
		assert_int_equal(point, whole.points.len);
		for (int n = 0; n < ALLO_NOTES; n++)
			assert_int_equal(first.notes.of[n].count + second.notes.of[n].count,
					 whole.notes.of[n].count);
		sum = first.covered;
		allo_offset_add(&sum, second.covered);
		assert_memory_equal(&sum, &whole.covered, sizeof(sum));
	}
}

/* Failures. */

static void errors_have_a_position(void **state)
{
	const struct {
		const char *text;
		size_t offset;
		const char *message;
	} table[] = {
		{ "x", 0, "a program point or ']'" },
		{ "{\"tb\":1,\"tbk\":1,\"fs\":[1]},]", 26, "a program point, found ']'" },
		{ "{\"tb\":1,\"tbk\":1,\"fs\":[1]} {", 26, "',' or ']'" },
		{ "{\"tb\":-1,\"tbk\":1,\"fs\":[1]}]", 6, "from 0 to 18446744073709551615" },
		{ "{\"tb\":18446744073709551616,", 6, "from 0 to 18446744073709551615" },
		{ "{\"tb\":1.2.3,\"tbk\":1,\"fs\":[1]}]", 6, "found 1.2.3" },
		{ "{\"tb\":010,\"tbk\":1,\"fs\":[1]}]", 6, "found 010" },
		{ "{\"tb\":\"1\",\"tbk\":1,\"fs\":[1]}]", 6, "a number, found '\"'" },
		{ "{\"tb\":1,\"tb\":2,", 8, "the key \"tb\" appears twice" },
		{ "{\"tbk\":1,\"tbk\":2,", 9, "the key \"tbk\" appears twice" },
		{ "{\"fs\":[1],\"fs\":[2],", 10, "the key \"fs\" appears twice" },
		{ "{\"acc\":[1],\"acc\":[2],", 11, "the key \"acc\" appears twice" },
		{ "{\"tb\":1,\"tbk\":1}]", 0, "the program point has no \"fs\"" },
		{ "{\"fs\":[1],\"tbk\":1}]", 0, "the program point has no \"tb\"" },
		{ "{\"tb\":1,}", 8, "a key in quotes" },
		{ "{tb:1}", 1, "a key in quotes" },
		{ "{\"tb\" 1}", 6, "':'" },
		{ "{\"tb\":1 \"tbk\":1}", 8, "',' or '}'" },
		{ "{\"fs\":{}", 6, "an array of frame numbers" },
		{ "{\"fs\":[1 2]", 9, "',' or ']'" },
		{ "{\"fs\":[,1]", 7, "a number" },
		{ "{\"fs\":[1,]", 9, "a number" },
		{ "{\"fs\":[-1]", 7, "from 0 to 18446744073709551615" },
		{ "{\"acc\":{}", 7, "an array of access counts" },
		{ "{\"acc\":[-3]", 10, "the access count of a run" },
		{ "{\"acc\":[-3,-4,5]", 11, "the access count of a run" },
		{ "{\"acc\":[-0,5]", 8, "an access count below 2^31" },
		{ "{\"acc\":[2147483648]", 8, "an access count below 2^31" },
		{ "{\"acc\":[1,]", 10, "an access count" },
		{ "{\"acc\":[1 2]", 10, "',' or ']'" },
		{ "{\"x\":\"a\nb\"}", 7, "the end of a string" },
		{ "{\"x\":}", 5, "a value" },
		{ "{\"x\":,", 5, "a value" },
		{ "{\"x\":\x01", 5, "a value, found byte 0x01" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;

		parse(&block, table[i].text, strlen(table[i].text), true);
		assert_int_equal(block.status, ALLO_DHAT_FAILED);
		assert_int_equal(block.failure.code, ALLO_FORMAT);
		assert_non_null(strstr(block.failure.message, table[i].message));
		assert_int_equal(block.failure.pos.byte, table[i].offset);
	}
}

static void a_nul_is_no_end(void **state)
{
	const char text[] = "{\"tb\":1\0,\"tbk\":1,\"fs\":[1]}]";
	ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;

	(void)state;
	parse(&block, text, sizeof(text) - 1, true);
	assert_int_equal(block.status, ALLO_DHAT_FAILED);
	assert_int_equal(block.failure.pos.byte, 7);
}

static void nesting_has_an_end(void **state)
{
	ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;
	static char text[1000000];

	(void)state;
	memset(text, '[', sizeof(text));
	memcpy(text, "{\"x\":", 5);
	parse(&block, text, sizeof(text), true);
	assert_int_equal(block.status, ALLO_DHAT_FAILED);
}

static void unwanted_access_counts_are_only_scanned(void **state)
{
	const char *good = "{\"acc\":[-8,12000, 3],\"tb\":1,\"tbk\":1,\"fs\":[]}]";
	const char *bad = "{\"acc\":[-8,x],\"tb\":1,\"tbk\":1,\"fs\":[]}]";

	(void)state;
	for (int i = 0; i < 2; i++) {
		ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;

		parse(&block, i ? bad : good, strlen(i ? bad : good), true);
		block.keep_accesses = false;
		allo_dhat_chunk_parse(&block);
		assert_int_equal(block.status, i ? ALLO_DHAT_FAILED : ALLO_DHAT_ENDED);
		assert_int_equal(block.accesses.len, 0);
	}
}

/* Borders and places. */

static void the_last_border_is_guessed(void **state)
{
	const struct {
		const char *text;
		size_t border;
	} table[] = {
		{ "", 0 },
		{ "{\"tb\":1}", 0 },
		{ "{\"tb\":1},{", 9 },
		{ "{},{},{}", 6 },
		{ "{} , \n {\"x\":[{", 7 },
		{ "{},{}]", 3 },
		{ "},{", 2 },
		{ ",{", 0 },
		{ "x,{}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(allo_dhat_guess_border(allo_text_of(table[i].text)),
				 table[i].border);
}

static void places_count_on_from_that_of_the_block(void **state)
{
	ALLO_DEFER(allo_dhat_chunk_done) struct allo_dhat_chunk block;
	const struct allo_offset place = { .offset = 1000, .lines = 41, .line_start = 990 };
	const struct allo_dhat_chunk gone = { 0 };
	struct allo_pos pos;

	(void)state;
	parse(&block, "{}\n,{", 5, true);
	pos = allo_dhat_chunk_pos(&block, place, 1, "f");
	assert_int_equal(pos.line, 42);
	assert_int_equal(pos.byte, 12);
	pos = allo_dhat_chunk_pos(&block, place, 4, "f");
	assert_int_equal(pos.line, 43);
	assert_int_equal(pos.byte, 2);
	assert_int_equal(allo_dhat_chunk_pos(&gone, place, 4, "f").line, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_frames_and_counts_are_taken),
		cmocka_unit_test(a_cut_anywhere_gives_the_same_points),
		cmocka_unit_test(errors_have_a_position),
		cmocka_unit_test(a_nul_is_no_end),
		cmocka_unit_test(nesting_has_an_end),
		cmocka_unit_test(unwanted_access_counts_are_only_scanned),
		cmocka_unit_test(the_last_border_is_guessed),
		cmocka_unit_test(places_count_on_from_that_of_the_block),
	};

	return cmocka_run_group_tests_name("dhat_points", tests, NULL, NULL);
}
