/*
 * line_values.h - the cost of each line of a source file.
 */
#ifndef ALLO_VIEW_LINE_VALUES_H
#define ALLO_VIEW_LINE_VALUES_H

#include "view/answers/answers.h"

struct allo_line_value {
	uint64_t line;
	double self, total;
	double before_self, before_total; /* of the base, if the request has one */
};

/* In the order of their lines, each once. */
typedef ALLO_VEC(struct allo_line_value) allo_line_values;

/* Adds up the lines of all functions of the request's file.  Fails if the profile has no such file.
 */
bool allo_line_values_of(allo_line_values *values, struct allo_dataset *dataset,
			 const struct allo_request *request, struct allo_reply *reply,
			 struct allo_error *err);

/* The path of a request's source file.  A comparison knows files by their names only: the first one
 * with this name in either recording. */
struct allo_text allo_line_path(struct allo_dataset *dataset, const char *path);

#endif
