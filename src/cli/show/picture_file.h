/*
 * picture_file.h - the option -o of commands that can draw their result into a file.
 */
#ifndef ALLO_CLI_PICTURE_FILE_H
#define ALLO_CLI_PICTURE_FILE_H

#include "cli/common.h"

/* Command line options. */
struct allo_picture_options {
	const char *output; /* NULL: no picture */
	bool force;
};

#define OPT_PICTURE(field)                                                                         \
	OPT_FILE('o', "output", "FILE", field.output,                                              \
		 "draw into an SVG file, NAME.svg; - is standard output"),                         \
		OPT_FORCE(field.force)

/* Whether the options fit each other. */
bool allo_picture_check(const struct allo_picture_options *options,
			const struct allo_common *common, struct allo_error *err);

/* Opens the file; `files` (NULL ends) are what it is made of. */
bool allo_picture_open(const struct allo_picture_options *options, char **files,
		       struct allo_output *out, struct allo_error *err);

/* Completes it and says so. */
bool allo_picture_finish(const struct allo_picture_options *options,
			 const struct allo_common *common, struct allo_output *out,
			 struct allo_error *err);

/* "Heap over time: server.allo", without the folders of the file. */
enum { ALLO_PICTURE_TEXT_SIZE = 512 };
struct allo_text allo_picture_title(const char *what, const char *file,
				    char title[ALLO_PICTURE_TEXT_SIZE]);

#endif
