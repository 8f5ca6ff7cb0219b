/* test_report.c - report/report.h: one description in four formats. */
#include "report/report.h"

#include "base/defer.h"
#include "check.h"
#include "report/show.h"

#include <stdio.h>
#include <string.h>

enum { NAME, FILE_NAME, LINE, BYTES, SHARE, HIDDEN, COLUMNS };

struct row {
	uint64_t bytes, hidden;
};

static const struct allo_column columns[COLUMNS] = {
	[NAME] = { "function", "function", "name", ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", "file", ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", "line", ALLO_CELL_ID },
	[BYTES] = { "held", "max_bytes", "max_bytes", ALLO_CELL_BYTES,
		    ALLO_COLUMN_AT(struct row, bytes) },
	[SHARE] = { "share", "share%", NULL, ALLO_CELL_SHARE },
	[HIDDEN] = { "hidden", "hidden", "hidden", ALLO_CELL_COUNT,
		     ALLO_COLUMN_AT(struct row, hidden) },
};

static const struct allo_report_table table = { "rows", columns, COLUMNS };
static const struct allo_report_table needs_rows = { "rows", columns, COLUMNS, .needs_rows = true };

static void describe_row(struct allo_report *report, const char *name, const char *file,
			 uint64_t line, uint64_t bytes)
{
	allo_report_row(report);
	allo_cell_place(report, NAME, allo_text_of(name), allo_text_of(file), line);
	allo_report_numbers(report, &(struct row){ bytes, 7 });
	allo_cell_share(report, SHARE, (double)bytes, 4096);
	allo_report_list(report, "calls");
	allo_report_field_u64(report, NULL, 1);
	allo_report_field_u64(report, NULL, 2);
	allo_report_close(report);
}

static void describe_table(struct allo_report *report)
{
	allo_report_heading(report);
	allo_report_line(report, "%s in %s", allo_report_bytes(report, 4096),
			 allo_report_counted(report, 1002, "block"));
	allo_report_field_sum(report, "sum", -4096);
	allo_report_table(report, &table);
	allo_report_hide(report, HIDDEN);
	describe_row(report, "a,\"b\"", "/src/x.c", 12, 3072);
	describe_row(report, "v<int*> | w", "", 0, 1024);
	allo_report_end_table(report);
	allo_report_note(report, "%s", allo_report_counted(report, 1, "more row"));
}

/* In static storage, until the next call. */
static const char *print(void (*describe)(struct allo_report *report),
			 struct allo_report_options options)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	static char text[4096];

	if (!options.style.reset)
		options.style = allo_style_of(false);
	assert_true(allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, &err));
	allo_report_begin(&report, &options, &out);
	describe(&report);
	allo_report_end(&report);
	assert_true(allo_output_finish(&out, &err));
	snprintf(text, sizeof(text), "%.*s", (int)allo_output_memory(&out).len,
		 allo_output_memory(&out).data);
	return text;
}

static const char *print_as(void (*describe)(struct allo_report *report),
			    enum allo_report_format format)
{
	return print(describe, (struct allo_report_options){ .format = format });
}

static void text_has_titles_and_units(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_table, ALLO_REPORT_TEXT),
			    "4.00 KiB in 1,002 blocks\n"
			    "function           held  share\n"
			    "a,\"b\"  x.c:12  3.00 KiB  75.0%\n"
			    "v<int*> | w    1.00 KiB  25.0%\n"
			    "1 more row\n");
}

static void describe_styles(struct allo_report *report)
{
	allo_report_table(report, &table);
	allo_report_hide(report, HIDDEN);
	describe_row(report, "grown", "", 0, 3072);
	allo_cell_style(report, BYTES, ALLO_STYLE_RED);
	describe_row(report, "other", "", 0, 1024);
	allo_report_end_table(report);
}

static void a_style_is_that_of_one_cell(void **state)
{
	const struct allo_report_options colored = { .style = allo_style_of(true) };

	(void)state;
	assert_string_equal(print(describe_styles, colored),
			    "function      held  share\n"
			    "grown     \033[31m3.00 KiB\033[0m  75.0%\n"
			    "other     1.00 KiB  25.0%\n");
	assert_null(strchr(print_as(describe_styles, ALLO_REPORT_TEXT), '\033'));
}

static void csv_has_names_and_plain_numbers(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_table, ALLO_REPORT_CSV),
			    "function,file,line,max_bytes,share%\r\n"
			    "\"a,\"\"b\"\"\",/src/x.c,12,3072,75.0000\r\n"
			    "v<int*> | w,,,1024,25.0000\r\n");
}

static void json_has_fields_and_nested_lists(void **state)
{
	(void)state;
	assert_string_equal(
		print_as(describe_table, ALLO_REPORT_JSON),
		"{\"v\":1,\"sum\":-4096,\"rows\":["
		"{\"name\":\"a,\\\"b\\\"\",\"file\":\"/src/x.c\",\"line\":12,\"max_bytes\":3072,"
		"\"calls\":[1,2]},"
		"{\"name\":\"v<int*> | w\",\"max_bytes\":1024,\"calls\":[1,2]}]}\n");
}

static void markdown_has_a_pipe_table(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_table, ALLO_REPORT_MARKDOWN),
			    "### 4.00 KiB in 1,002 blocks\n"
			    "\n"
			    "| function | held | share |\n"
			    "| :--- | ---: | ---: |\n"
			    "| a,\"b\"  x.c:12 | 3.00 KiB | 75.0% |\n"
			    "| v\\<int\\*\\> \\| w | 1.00 KiB | 25.0% |\n"
			    "\n"
			    "- 1 more row\n");
}

static void estimates_are_marked_for_people_only(void **state)
{
	struct allo_report_options options = { .is_estimated = true, .is_plain = true };

	(void)state;
	assert_non_null(strstr(print(describe_table, options), "~3072"));
	assert_non_null(strstr(print(describe_table, options), "\nv<int*> | w    ~1024  25.0%\n"));
	options.format = ALLO_REPORT_CSV;
	assert_null(strchr(print(describe_table, options), '~'));
	options.format = ALLO_REPORT_JSON;
	assert_null(strchr(print(describe_table, options), '~'));
	assert_non_null(strstr(print(describe_table, options), "{\"v\":1,\"estimated\":true,"));
}

static void describe_two_tables(struct allo_report *report)
{
	for (uint64_t i = 0; i < 2; i++) {
		allo_report_object(report, i == 0 ? "first" : "second");
		allo_report_table(report, &table);
		allo_report_row(report);
		allo_cell_u64(report, BYTES, i);
		allo_report_end_table(report);
		allo_report_close(report);
	}
}

static void tables_of_the_same_columns_are_one_in_csv(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_two_tables, ALLO_REPORT_CSV),
			    "function,file,line,max_bytes,share%,hidden\r\n,,,0,,\r\n,,,1,,\r\n");
	assert_string_equal(print_as(describe_two_tables, ALLO_REPORT_JSON),
			    "{\"v\":1,\"first\":{\"rows\":[{\"max_bytes\":0}]},"
			    "\"second\":{\"rows\":[{\"max_bytes\":1}]}}\n");
}

static void describe_empty(struct allo_report *report)
{
	allo_report_table(report, &needs_rows);
	allo_report_end_table(report);
}

static void empty_tables_may_have_no_titles(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_empty, ALLO_REPORT_TEXT), "");
	assert_string_equal(print_as(describe_empty, ALLO_REPORT_MARKDOWN), "");
	assert_string_equal(print_as(describe_empty, ALLO_REPORT_CSV),
			    "function,file,line,max_bytes,share%,hidden\r\n");
	assert_string_equal(print_as(describe_empty, ALLO_REPORT_JSON), "{\"v\":1,\"rows\":[]}\n");
}

static void describe_lines(struct allo_report *report)
{
	struct allo_output *drawing;

	allo_report_line(report, "# no_heading, _no emphasis_");
	allo_report_fact(report, "program");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, ALLO_TEXT("a\033b"));
	allo_report_end_line(report);
	allo_report_fact(report, "time");
	allo_report_put(report, ALLO_STYLE_BOLD, "%d s", 5);
	allo_report_end_line(report);
	drawing = allo_report_drawing(report);
	if (drawing)
		allo_output_string(drawing, "  *_|\n");
	allo_report_blank(report);
	allo_report_line(report, "    end");
}

static void lines_keep_their_characters(void **state)
{
	(void)state;
	assert_string_equal(print_as(describe_lines, ALLO_REPORT_TEXT),
			    "# no_heading, _no emphasis_\n"
			    "  program   a?b\n"
			    "  time      5 s\n"
			    "  *_|\n"
			    "\n"
			    "    end\n");
	assert_string_equal(print_as(describe_lines, ALLO_REPORT_MARKDOWN),
			    "\\# no_heading, \\_no emphasis\\_\n"
			    "\n"
			    "- **program** a?b\n"
			    "- **time** **5 s**\n"
			    "\n"
			    "````\n"
			    "  *_|\n"
			    "````\n"
			    "\n"
			    "end\n");
	assert_string_equal(print_as(describe_lines, ALLO_REPORT_CSV), "");
	assert_string_equal(print_as(describe_lines, ALLO_REPORT_JSON), "{\"v\":1}\n");
}

static void assert_cut(const char *name, size_t room, const char *expected)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };

	assert_true(allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, &err));
	allo_show_cut(&out, allo_text_of(name), room, true);
	assert_true(allo_output_finish(&out, &err));
	assert_int_equal(allo_output_memory(&out).len, strlen(expected));
	assert_memory_equal(allo_output_memory(&out).data, expected, strlen(expected));
}

static void a_cut_name_keeps_its_method_and_a_cut_chain_its_site(void **state)
{
	(void)state;
	assert_cut("std::map<int, std::string>::insert  map.h:12", 33,
		   "std::map<int, ...insert  map.h:12");
	assert_cut("Session::remember > std::vector<int>::push_back", 40,
		   "Session::remember > std::vec...push_back");
	assert_cut("main > std::thread::thread<main()::<lambda()> >  app.cpp", 30,
		   "main > ...thread<m...  app.cpp");
	/* Templates have arrows, too. */
	assert_cut("grow<std::vector<int> > (long)", 20, "grow<std:...> (long)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_titles_and_units),
		cmocka_unit_test(a_style_is_that_of_one_cell),
		cmocka_unit_test(csv_has_names_and_plain_numbers),
		cmocka_unit_test(json_has_fields_and_nested_lists),
		cmocka_unit_test(markdown_has_a_pipe_table),
		cmocka_unit_test(estimates_are_marked_for_people_only),
		cmocka_unit_test(tables_of_the_same_columns_are_one_in_csv),
		cmocka_unit_test(empty_tables_may_have_no_titles),
		cmocka_unit_test(lines_keep_their_characters),
		cmocka_unit_test(a_cut_name_keeps_its_method_and_a_cut_chain_its_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
