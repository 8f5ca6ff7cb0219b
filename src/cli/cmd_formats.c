/* cmd_formats.c - allo formats: what can be read and written. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/show.h"
#include "report/table.h"
#include "writers/writers.h"

struct formats {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_printing_group, NULL };

static const struct allo_example examples[] = {
	{ "allo formats", "what goes in, what comes out, and what each form can hold" },
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

/* Both tables are sorted: their names in one list, each once.  NULL at the end. */
static const char *next_name(size_t *reader, size_t *writer)
{
	const char *r = allo_readers[*reader] ? allo_readers[*reader]->name : NULL;
	const char *w = allo_writers[*writer] ? allo_writers[*writer]->name : NULL;
	int order = !r ? 1 : !w ? -1 : strcmp(r, w);

	*reader += r && order <= 0;
	*writer += w && order >= 0;
	return order <= 0 ? r : w;
}

enum { INDENT = 12 };

static bool print_text(struct allo_output *out, const struct allo_style *style,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 4,
				    .is_left = { true, true, true, true },
				    .style = { style->bold },
				    .style_end = style->reset };
	size_t r = 0, w = 0;
	const char *name;

	allo_table_string(&table, "format", err);
	allo_table_string(&table, "read", err);
	allo_table_string(&table, "write", err);
	allo_table_string(&table, "what it is", err);
	while ((name = next_name(&r, &w)) != NULL) {
		const struct allo_reader *reader = reader_named(name);
		const struct allo_writer *writer = writer_named(name);

		allo_table_string(&table, name, err);
		allo_table_string(&table, reader ? "yes" : "no", err);
		allo_table_string(&table, writer ? "yes" : "no", err);
		allo_table_string(&table, writer ? writer->title : reader->title, err);
	}
	if (allo_failed(err))
		return false;
	allo_table_print(&table, out);
	allo_output_string(out, "\nWhat is written: names of files, and what is held beside stacks "
				"and one metric\n");
	for (size_t i = 0; allo_writers[i]; i++) {
		const struct allo_writer *writer = allo_writers[i];
		char holds[256];

		allo_holds_names(writer->holds, holds, sizeof(holds));
		allo_output_printf(out, "%s%-10s%s  %s\n%*s", style->bold, writer->name,
				   style->reset, writer->endings, INDENT, "");
		allo_show_wrapped(out, holds[0] ? holds : "no more than that", INDENT, INDENT);
	}
	return true;
}

static void print_json(struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 3 };
	size_t r = 0, w = 0;
	const char *name;

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "formats");
	allo_json_out_begin(&json, '[');
	while ((name = next_name(&r, &w)) != NULL) {
		const struct allo_reader *reader = reader_named(name);
		const struct allo_writer *writer = writer_named(name);
		struct allo_text rest, word;
		char holds[256] = "";

		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "name");
		allo_json_out_string(&json, name);
		allo_json_out_key(&json, "title");
		allo_json_out_string(&json, writer ? writer->title : reader->title);
		allo_json_out_key(&json, "read");
		allo_json_out_bool(&json, reader);
		allo_json_out_key(&json, "write");
		allo_json_out_bool(&json, writer);
		allo_json_out_key(&json, "endings");
		allo_json_out_begin(&json, '[');
		rest = allo_text_of(writer ? writer->endings : "");
		while (rest.len > 0 && allo_text_next(&rest, ' ', &word))
			allo_json_out_text(&json, word);
		allo_json_out_end(&json);
		if (writer)
			allo_holds_names(writer->holds, holds, sizeof(holds));
		allo_json_out_key(&json, "holds");
		allo_json_out_begin(&json, '[');
		for (rest = allo_text_of(holds); rest.len > 0 && allo_text_next(&rest, ',', &word);)
			allo_json_out_text(&json, allo_text_trim(word));
		allo_json_out_end(&json);
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool run_formats(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct formats *opt = options_given;
	struct allo_style style = allo_common_style(&opt->common);

	(void)files;
	if (!allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out);
	else if (!print_text(&out, &style, err))
		return false;
	return allo_common_end(&opt->common, &out, NULL, err);
}

const struct allo_command allo_cmd_formats = {
	.name = "formats",
	.heading = "Transform",
	.summary = "list what can be read and written",
	.arguments = "",
	.about = "Lists all formats, with the file name endings by which 'allo convert -o' "
		 "recognises them. Inputs are recognised by their content, whatever they are "
		 "called. allo-formats(7) describes each.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct formats),
	.run = run_formats,
};
