/* test_dhat_chunks.c - readers/dhat/dhat_chunks.h: every point in order, for all sizes of chunks.
 */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "readers/dhat/dhat_chunks.h"

#include <stdio.h>
#include <stdlib.h>

/* Point number n has tb n, and its place in the file is known. */
struct checking {
	const char *text;
	uint64_t next;
};

static bool check_points(void *context, const struct allo_dhat_chunk *block,
			 struct allo_offset place, struct allo_error *err)
{
	struct checking *checking = context;
	size_t frame = 0;

	(void)err;
	for (size_t i = 0; i < block->points.len; i++) {
		const struct allo_dhat_point *point = &block->points.at[i];

		assert_int_equal(point->values[ALLO_DHAT_TB], checking->next);
		assert_int_equal(point->frame_count, checking->next % 4);
		for (uint32_t k = 0; k < point->frame_count; k++)
			assert_int_equal(block->frames.at[frame++], checking->next + k);
		assert_int_equal(checking->text[place.offset + point->offset], '{');
		checking->next++;
	}
	return true;
}

static bool read_blocks(const char *text, size_t len, struct checking *checking,
			struct allo_input *in, struct allo_error *err)
{
	*checking = (struct checking){ .text = text };
	return allo_input_open_memory(in, "memory", text, len, err) &&
	       allo_dhat_read_chunks(&(struct allo_dhat_chunks){ .in = in,
								 .required = ALLO_DHAT_ALWAYS,
								 .take = check_points,
								 .context = checking },
				     err);
}

/* Ways to write points, from Valgrind's to such that every guess goes wrong. */
static char *put_point(char *end, uint64_t n, int way, uint64_t *seed)
{
	static const char *const before[] = { "", "\n ", "\r\n\t" };
	const char *space = before[draw(seed, 3)];

	end += sprintf(end, "%s%s{\"tb\":%llu,\"tbk\":1", n ? "," : "", space,
		       (unsigned long long)n);
	if (way == 1 || (way == 2 && draw(seed, 1000) == 0))
		end += sprintf(end, ",\"x\":[\"},{\",{\"y\":[{},{}]}]");
	if (way == 3 && draw(seed, 1000) == 0) {
		memset(end, ' ', 300000);
		end += 300000;
	}
	end += sprintf(end, ",\"fs\":[");
	for (uint64_t k = 0; k < n % 4; k++)
		end += sprintf(end, "%s%llu", k ? "," : "", (unsigned long long)(n + k));
	if (way == 4)
		end += sprintf(end, "],\"z\":[[[[{},{}]]]]}");
	else
		end += sprintf(end, "]}");
	return end;
}

static void all_points_come_in_order(void **state)
{
	const uint64_t counts[] = { 0, 1, 2, 1000, 60000 };
	char *text = malloc(48 << 20);
	uint64_t seed = 89;

	(void)state;
	for (int way = 0; way < 5; way++) {
		for (size_t i = 0; i < 5; i++) {
			ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
			struct allo_error err = { 0 };
			struct checking checking;
			char *end = text, *behind;
			struct allo_offset place = { 0 };

			for (uint64_t n = 0; n < counts[i]; n++)
				end = put_point(end, n, way, &seed);
			behind = end + sprintf(end, "\n ]");
			end = behind + sprintf(behind, "\n, \"ftbl\":[\"},{\"]}");
			assert_true(read_blocks(text, (size_t)(end - text), &checking, &in, &err));
			assert_int_equal(checking.next, counts[i]);
			/* The rest is still there, at its place. */
			assert_true(allo_input_want(&in, 8, &err));
			assert_memory_equal(in.next, "\n, \"ftbl", 8);
			allo_offset_advance(&place,
					    (struct allo_text){ text, (size_t)(behind - text) });
			assert_int_equal(allo_input_pos(&in).line, place.lines + 1);
			assert_int_equal(allo_input_pos(&in).byte,
					 place.offset - place.line_start + 1);
		}
	}
	free(text);
}

static void a_failure_is_found_at_its_place(void **state)
{
	char *text = malloc(16 << 20), *end = text, *bad;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct allo_offset place = { 0 };
	struct checking checking;
	uint64_t seed = 97;

	(void)state;
	for (uint64_t n = 0; n < 100000; n++)
		end = put_point(end, n, 2, &seed);
	strcpy(end, "]");
	bad = strstr(text, "\"tb\":77777") + 5;
	*bad = '-';
	allo_offset_advance(&place, (struct allo_text){ text, (size_t)(bad - text) });
	assert_false(read_blocks(text, strlen(text), &checking, &in, &err));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_int_equal(err.pos.line, place.lines + 1);
	assert_int_equal(err.pos.byte, place.offset - place.line_start + 1);
	free(text);
}

static void a_cut_off_file_fails_at_its_end(void **state)
{
	char text[4000], *end = text;
	uint64_t seed = 101;

	(void)state;
	for (uint64_t n = 0; n < 20; n++)
		end = put_point(end, n, 1, &seed);
	for (size_t len = 0; len < (size_t)(end - text); len++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
		struct allo_error err = { 0 };
		struct allo_offset place = { 0 };
		struct checking checking;

		assert_false(read_blocks(text, len, &checking, &in, &err));
		assert_int_equal(err.code, ALLO_FORMAT);
		assert_non_null(strstr(err.message, "ends within the program points"));
		allo_offset_advance(&place, (struct allo_text){ text, len });
		assert_int_equal(err.pos.line, place.lines + 1);
		assert_int_equal(err.pos.byte, place.offset - place.line_start + 1);
	}
}

/* A frame table is no program point, however large. */
static void the_text_after_the_array_may_be_huge(void **state)
{
	enum { TABLE = 70 << 20 };
	char *text = malloc(TABLE + 100);
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct checking checking;
	uint64_t seed = 103;
	char *end = put_point(text, 0, 0, &seed);

	(void)state;
	*end++ = ']';
	memset(end, 'x', TABLE);
	assert_true(read_blocks(text, (size_t)(end - text) + TABLE, &checking, &in, &err));
	assert_int_equal(checking.next, 1);
	assert_int_equal(allo_input_unread(&in), TABLE);
	free(text);
}

static void a_point_of_more_than_64_mib_is_refused(void **state)
{
	enum { LARGE = 70 << 20 };
	char *text = malloc(LARGE + 100), *end = text;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	struct allo_error err = { 0 };
	struct checking checking;
	uint64_t seed = 107;

	(void)state;
	for (uint64_t n = 0; n < 3; n++)
		end = put_point(end, n, 0, &seed);
	end += sprintf(end, ",{\"tb\":");
	memset(end, ' ', LARGE);
	assert_false(read_blocks(text, (size_t)(end - text) + LARGE, &checking, &in, &err));
	assert_int_equal(err.code, ALLO_LIMIT);
	assert_int_equal(checking.next, 3);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_points_come_in_order),
		cmocka_unit_test(a_failure_is_found_at_its_place),
		cmocka_unit_test(a_cut_off_file_fails_at_its_end),
		cmocka_unit_test(the_text_after_the_array_may_be_huge),
		cmocka_unit_test(a_point_of_more_than_64_mib_is_refused),
	};

	return cmocka_run_group_tests_name("dhat_chunks", tests, NULL, NULL);
}
