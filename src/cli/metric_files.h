/*
 * metric_files.h - which metrics of a merged profile come from which files.
 */
#ifndef ALLO_CLI_METRIC_FILES_H
#define ALLO_CLI_METRIC_FILES_H

#include "profile/profile.h"

/* Which of the metrics that there were when a file was merged it has. */
struct allo_metric_row {
	size_t first, count; /* in has[] */
};

/* All zeros is ready for use. */
struct allo_metric_files {
	ALLO_VEC(struct allo_metric_row) rows; /* by file */
	ALLO_VEC(bool) has;
};

void allo_metric_files_done(struct allo_metric_files *files);

/* Adds a file's profile, `from`, which has been merged. */
bool allo_metric_files_add(struct allo_metric_files *files, const struct allo_profile *merged,
			   const struct allo_profile *from, struct allo_error *err);

/* Says which metrics are not in all files; `names` are those of the files. */
void allo_metric_files_tell(const struct allo_metric_files *files,
			    const struct allo_profile *merged, char **names);

#endif
