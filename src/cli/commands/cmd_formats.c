/* cmd_formats.c - allo formats: the input and output formats. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "writers/writers.h"

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };

static const struct allo_example examples[] = {
	{ "allo formats", "all formats, and the data that each can hold" },
	{ NULL, NULL },
};

static const struct allo_reader *reader_named(const char *name)
{
	for (size_t i = 0; allo_readers[i]; i++) {
		if (strcmp(allo_readers[i]->name, name) == 0)
			return allo_readers[i];
	}
	return NULL;
}

static const struct allo_writer *writer_named(const char *name)
{
	for (size_t i = 0; allo_writers[i]; i++) {
		if (strcmp(allo_writers[i]->name, name) == 0)
			return allo_writers[i];
	}
	return NULL;
}

/* The next name of the two tables, which are sorted; each name once.  NULL at the end. */
static const char *next_name(size_t *reader, size_t *writer)
{
	const char *r = allo_readers[*reader] ? allo_readers[*reader]->name : NULL;
	const char *w = allo_writers[*writer] ? allo_writers[*writer]->name : NULL;
	int order = !r ? 1 : !w ? -1 : strcmp(r, w);

	*reader += r && order <= 0;
	*writer += w && order >= 0;
	return order <= 0 ? r : w;
}

enum { NAME, READ, WRITE, TITLE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[NAME] = { "format", NULL, "name", ALLO_CELL_TEXT, .is_bold = true },
	[READ] = { "read", NULL, NULL, ALLO_CELL_TEXT },
	[WRITE] = { "write", NULL, NULL, ALLO_CELL_TEXT },
	[TITLE] = { "what it is", NULL, "title", ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table table = { "formats", columns, COLUMNS };

/* A JSON list of the words of a text. */
static void list_words(struct allo_report *report, const char *name, const char *text, char between)
{
	struct allo_text rest = allo_text_of(text), word;

	allo_report_list(report, name);
	while (rest.len > 0 && allo_text_next(&rest, between, &word))
		allo_report_field_name(report, NULL, allo_text_trim(word));
	allo_report_close(report);
}

static void describe_format(struct allo_report *report, const char *name)
{
	const struct allo_reader *reader = reader_named(name);
	const struct allo_writer *writer = writer_named(name);
	char holds[256] = "";

	ALLO_ASSERT(reader || writer);
	allo_report_row(report);
	allo_cell_string(report, NAME, name);
	allo_cell_string(report, READ, reader ? "yes" : "no");
	allo_cell_string(report, WRITE, writer ? "yes" : "no");
	allo_cell_string(report, TITLE, writer ? writer->title : reader->title);
	allo_report_field_bool(report, "read", reader);
	allo_report_field_bool(report, "write", writer);
	if (writer && writer->is_folder)
		allo_report_field_bool(report, "folder", true);
	list_words(report, "endings", writer ? writer->endings : "", ' ');
	if (writer)
		allo_holds_names(writer->holds, holds, sizeof(holds));
	list_words(report, "holds", holds, ',');
}

enum { INDENT = 12 };

static void describe_writer(struct allo_report *report, const struct allo_writer *writer)
{
	size_t name_len = strlen(writer->name);
	char holds[256];

	allo_holds_names(writer->holds, holds, sizeof(holds));
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", writer->name);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%*s  %s",
			name_len < INDENT - 2 ? (int)(INDENT - 2 - name_len) : 0, "",
			writer->endings);
	allo_report_end_line(report);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%*s", INDENT, "");
	allo_report_wrapped(report, holds[0] ? holds : "nothing else", INDENT);
}

static void describe(struct allo_report *report)
{
	size_t reader = 0, writer = 0;
	const char *name;

	allo_report_table(report, &table);
	while ((name = next_name(&reader, &writer)) != NULL)
		describe_format(report, name);
	allo_report_end_table(report);
	allo_report_blank(report);
	allo_report_line(report, "Output formats: file name endings, and the data that they hold "
				 "besides stacks and one metric");
	for (size_t i = 0; allo_writers[i]; i++)
		describe_writer(report, allo_writers[i]);
}

static bool run_formats(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = options_given;

	(void)files;
	if (!allo_common_report(common, &report, false, err))
		return false;
	allo_report_json_lines(&report, 3);
	describe(&report);
	return allo_common_finish(common, &report, NULL, err);
}

const struct allo_command allo_cmd_formats = {
	.name = "formats",
	.heading = "Transform",
	.summary = "list the input and output formats",
	.arguments = "",
	.about = "Lists all formats. 'allo convert -o' chooses the output format by the ending of "
		 "the file name; inputs are recognised by their content, not by their name. "
		 "allo-formats(7) describes each format.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.run = run_formats,
};
