/* test_chart.c - report/chart.h. */
#include "report/chart.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "check.h"
#include "random.h"

enum { STEPS = 300, LINES_MOST = 64 };

static uint64_t values[STEPS];

/* A picture, taken apart into lines. */
struct drawn {
	struct allo_output out;
	struct allo_text lines[LINES_MOST];
	size_t count;
};

static void drawn_done(struct drawn *drawn)
{
	allo_output_drop(&drawn->out);
}

static void draw_chart(struct drawn *drawn, const struct allo_chart *chart)
{
	struct allo_output_options plain = { 0 };
	struct allo_error err = { 0 };
	struct allo_text rest;

	*drawn = (struct drawn){ 0 };
	assert_true(allo_output_open_memory(&drawn->out, &plain, &err));
	allo_chart_draw(chart, &drawn->out);
	assert_true(allo_output_finish(&drawn->out, &err));
	rest = allo_output_memory(&drawn->out);
	assert_true(rest.len > 0 && rest.data[rest.len - 1] == '\n');
	rest.len--;
	while (allo_text_next(&rest, '\n', &drawn->lines[drawn->count]))
		assert_true(++drawn->count < LINES_MOST);
}

static struct allo_chart chart_of(size_t count, size_t columns, size_t rows, bool is_ascii)
{
	return (struct allo_chart){
		.values = values,
		.count = count,
		.step_ns = 1000000,
		.end_ns = count * 1000000,
		.unit = ALLO_UNIT_BYTES,
		.unit_end = "",
		.mark_ns = count * 500000,
		.mark = "peak 1.00 KiB at 3.00 s",
		.columns = columns,
		.rows = rows,
		.is_ascii = is_ascii,
		.style = allo_style_of(false),
	};
}

static void assert_it_fits(const struct allo_chart *chart)
{
	ALLO_DEFER(drawn_done) struct drawn drawn;
	size_t widest = 0;

	draw_chart(&drawn, chart);
	for (size_t i = 0; i < drawn.count; i++) {
		size_t width = allo_utf8_columns(drawn.lines[i]);

		assert_true(allo_utf8_is_valid(drawn.lines[i]));
		widest = width > widest ? width : widest;
	}
	/* Only where there is room for nothing but numbers may it be wider. */
	assert_true(widest <= chart->columns || chart->columns < 30);
}

static void any_width_is_kept_to(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < STEPS; i++)
		values[i] = draw(&seed, 1 << 30);
	for (size_t columns = 20; columns <= 200; columns++) {
		for (size_t count = 1; count <= STEPS; count = count * 2 + 1) {
			struct allo_chart chart = chart_of(count, columns, 1 + columns % 12,
							   columns % 2);

			assert_it_fits(&chart);
			chart.mark_ns = chart.end_ns;
			assert_it_fits(&chart);
			chart.mark_ns = 0;
			chart.is_plain = true;
			assert_it_fits(&chart);
		}
	}
}

static void rows_are_as_many_as_asked_for(void **state)
{
	(void)state;
	values[0] = 5;
	for (size_t rows = 1; rows < 20; rows++) {
		ALLO_DEFER(drawn_done) struct drawn drawn;
		struct allo_chart chart = chart_of(1, 80, rows, true);

		draw_chart(&drawn, &chart);
		assert_int_equal(drawn.count, 1 + rows + 2); /* the mark; floor and times */
	}
}

static void nothing_is_drawn_empty(void **state)
{
	static const size_t counts[] = { 0, 1, 40 };

	(void)state;
	memset(values, 0, sizeof(values));
	for (size_t i = 0; i < 3; i++) {
		ALLO_DEFER(drawn_done) struct drawn drawn;
		struct allo_chart chart = chart_of(counts[i], 60, 3, true);

		draw_chart(&drawn, &chart);
		assert_int_equal(drawn.count, 3 + 2); /* no mark */
		for (size_t k = 0; k < 3; k++)
			assert_null(memchr(drawn.lines[k].data, '#', drawn.lines[k].len));
	}
}

static void one_step_fills_the_picture(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn;
	struct allo_chart chart = chart_of(1, 40, 2, true);
	size_t full = 0;

	(void)state;
	values[0] = 1024;
	chart.end_ns = 0; /* even if it took no time */
	chart.mark = NULL;
	draw_chart(&drawn, &chart);
	assert_int_equal(drawn.count, 2 + 2);
	for (size_t i = 0; i < drawn.lines[0].len; i++)
		full += drawn.lines[0].data[i] == '#';
	assert_int_equal(full, 40 - strlen("1.00 KiB") - 2);
}

static void huge_values_are_drawn(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn;
	struct allo_chart chart = chart_of(4, 60, 4, true);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		values[i] = UINT64_MAX / 4 * i;
	values[3] = UINT64_MAX;
	chart.step_ns = UINT64_MAX / 4;
	chart.end_ns = UINT64_MAX;
	chart.mark_ns = UINT64_MAX;
	draw_chart(&drawn, &chart);
	assert_int_equal(drawn.count, 1 + 4 + 2);
	assert_true(memchr(drawn.lines[1].data, '#', drawn.lines[1].len) != NULL);
}

static void the_mark_points_at_its_column(void **state)
{
	(void)state;
	memset(values, 0, sizeof(values));
	for (size_t at = 0; at < STEPS; at += 7) {
		ALLO_DEFER(drawn_done) struct drawn drawn;
		struct allo_chart chart = chart_of(STEPS, 2 + 2 + STEPS, 1, true);
		const char *mark, *bar;

		values[at] = 9;
		chart.unit = ALLO_UNIT_COUNT;
		chart.columns = 1 + 2 + STEPS; /* a column a step */
		chart.mark_ns = at * chart.step_ns;
		draw_chart(&drawn, &chart);
		mark = memchr(drawn.lines[0].data, 'v', drawn.lines[0].len);
		bar = memchr(drawn.lines[1].data, '#', drawn.lines[1].len);
		assert_non_null(mark);
		assert_non_null(bar);
		assert_int_equal(mark - drawn.lines[0].data, bar - drawn.lines[1].data);
		values[at] = 0;
	}
}

static void no_maximum_is_lost_between_columns(void **state)
{
	uint64_t columns[200], seed = 11;

	(void)state;
	for (int round = 0; round < 200; round++) {
		size_t count = 1 + draw(&seed, STEPS), width = 1 + draw(&seed, 200);
		struct allo_chart chart = chart_of(count, 0, 1, false);
		uint64_t most = 0, found = 0;

		for (size_t i = 0; i < count; i++) {
			values[i] = draw(&seed, 1000);
			most = values[i] > most ? values[i] : most;
		}
		/* The last step may be shorter. */
		chart.end_ns -= draw(&seed, (uint32_t)chart.step_ns);
		allo_chart_columns(&chart, width, columns);
		for (size_t i = 0; i < width; i++)
			found = columns[i] > found ? columns[i] : found;
		assert_int_equal(found, most);
	}
}

static size_t bar_columns(uint64_t value, uint64_t most, size_t columns, bool is_ascii)
{
	char bar[4 * 30 + 1];

	assert_true(columns <= 30);
	return allo_utf8_columns(allo_text_of(allo_chart_bar(bar, value, most, columns, is_ascii)));
}

static void bars_are_in_proportion(void **state)
{
	(void)state;
	for (int is_ascii = 0; is_ascii < 2; is_ascii++) {
		assert_int_equal(bar_columns(0, 100, 30, is_ascii), 0);
		assert_int_equal(bar_columns(0, 0, 30, is_ascii), 0);
		assert_int_equal(bar_columns(1, 1000000, 30, is_ascii), 1);
		assert_int_equal(bar_columns(50, 100, 30, is_ascii), 15);
		assert_int_equal(bar_columns(100, 100, 30, is_ascii), 30);
		assert_int_equal(bar_columns(UINT64_MAX, UINT64_MAX, 30, is_ascii), 30);
		assert_int_equal(bar_columns(200, 100, 30, is_ascii), 30);
	}
}

/* A row of a spark line, in static storage until the next call. */
static const char *spark_row(const struct allo_spark *spark, size_t row)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	static char text[256];

	assert_true(allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, &err));
	allo_spark_draw(spark, row, &out);
	assert_true(allo_output_finish(&out, &err));
	assert_true(allo_output_memory(&out).len < sizeof(text));
	memcpy(text, allo_output_memory(&out).data, allo_output_memory(&out).len);
	text[allo_output_memory(&out).len] = '\0';
	return text;
}

static void sparks_rise_from_the_lowest_character(void **state)
{
	struct allo_spark spark = { (const uint64_t[]){ 100, 102, 104, 107 }, 4, 100, 107, 6, 1 };

	(void)state;
	assert_string_equal(spark_row(&spark, 0), "▁▃▅█  ");
	spark.is_ascii = true;
	assert_string_equal(spark_row(&spark, 0), ".:##  ");
	spark.rows = 2;
	assert_string_equal(spark_row(&spark, 0), "  .#  ");
	assert_string_equal(spark_row(&spark, 1), ".###  ");
}

static void sparks_of_many_values_keep_each_maximum(void **state)
{
	const struct allo_spark spark = { (const uint64_t[]){ 1, 8, 1, 1, 1, 8 }, 6, 1, 8, 3, 1 };

	(void)state;
	assert_string_equal(spark_row(&spark, 0), "█▁█");
}

static void sparks_of_equal_values_are_flat(void **state)
{
	const struct allo_spark spark = { (const uint64_t[]){ 5, 5 }, 2, 5, 5, 2, 1 };
	const struct allo_spark empty = { .columns = 3, .rows = 1 };

	(void)state;
	assert_string_equal(spark_row(&spark, 0), "▁▁");
	assert_string_equal(spark_row(&empty, 0), "   ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_width_is_kept_to),
		cmocka_unit_test(rows_are_as_many_as_asked_for),
		cmocka_unit_test(nothing_is_drawn_empty),
		cmocka_unit_test(one_step_fills_the_picture),
		cmocka_unit_test(huge_values_are_drawn),
		cmocka_unit_test(the_mark_points_at_its_column),
		cmocka_unit_test(no_maximum_is_lost_between_columns),
		cmocka_unit_test(bars_are_in_proportion),
		cmocka_unit_test(sparks_rise_from_the_lowest_character),
		cmocka_unit_test(sparks_of_many_values_keep_each_maximum),
		cmocka_unit_test(sparks_of_equal_values_are_flat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
