/*
 * branch.h - restricts the samples that a dataset shows to a branch of the tree, or to one
 * function.
 */
#ifndef ALLO_VIEW_BRANCH_H
#define ALLO_VIEW_BRANCH_H

#include "view/dataset.h"

/*
 * Applies `root` and `pivot` of a request after allo_dataset_show().
 *
 * `root` keeps the samples whose stacks begin with these calls, from the outermost on.  `pivot`
 * keeps the samples that pass a function, and of their stacks only its callees or, with `invert`,
 * only its callers.
 */
bool allo_branch_select(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_error *err);

#endif
