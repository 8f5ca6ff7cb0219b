#include "cli/show/picture_file.h"

#include "report/messages.h"

#include <stdio.h>

static bool is_svg(const char *path)
{
	struct allo_text name = allo_text_of(path), ending = ALLO_TEXT(".svg");

	return strcmp(path, "-") == 0 ||
	       (name.len > ending.len &&
		allo_text_equal(allo_text_from(name, name.len - ending.len), ending));
}

bool allo_picture_check(const struct allo_picture_options *options,
			const struct allo_common *common, struct allo_error *err)
{
	if (!options->output)
		return true;
	if (common->csv || common->json || common->markdown) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "-o draws a picture, which --csv, --json and --markdown do not");
		return allo_hint(err, "redirect standard output to a file instead of -o");
	}
	if (is_svg(options->output))
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "-o %s: the picture is an SVG file",
		  options->output);
	return allo_hint(err, "give it a name that ends in .svg");
}

bool allo_picture_open(const struct allo_picture_options *options, char **files,
		       struct allo_output *out, struct allo_error *err)
{
	const struct allo_output_options output = { .replace = options->force, .sources = files };

	return allo_output_open(out, options->output, &output, err);
}

bool allo_picture_finish(const struct allo_picture_options *options,
			 const struct allo_common *common, struct allo_output *out,
			 struct allo_error *err)
{
	char size[ALLO_NUMBER_SIZE];

	if (!allo_output_finish(out, err))
		return false;
	if (!common->quiet && strcmp(options->output, "-") != 0)
		allo_say("wrote %s (%s)", options->output,
			 allo_format_bytes(allo_output_size(out), size));
	return true;
}

struct allo_text allo_picture_title(const char *what, const char *file,
				    char title[ALLO_PICTURE_TEXT_SIZE])
{
	const char *slash = strrchr(file, '/');
	const char *name = slash && slash[1] ? slash + 1 : file;

	if (strcmp(file, "-") == 0)
		name = "standard input";
	snprintf(title, ALLO_PICTURE_TEXT_SIZE, "%s: %s", what, name);
	return allo_text_of(title);
}
