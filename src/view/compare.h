/*
 * compare.h - compares two files: a dataset whose metrics have the values of both.
 */
#ifndef ALLO_VIEW_COMPARE_H
#define ALLO_VIEW_COMPARE_H

#include "view/dataset.h"

/* Makes a dataset out of two, which stay open as long.  Functions are matched by name and file.  Of
 * two recordings, a range is of both, from the start of each. */
bool allo_dataset_compare(struct allo_dataset *comparison, struct allo_dataset *base,
			  struct allo_dataset *changed, struct allo_error *err);

#endif
