/* metric_files.c - see metric_files.h. */
#include "cli/metric_files.h"

#include "report/messages.h"

#include <stdio.h>

void allo_metric_files_done(struct allo_metric_files *files)
{
	allo_vec_done(&files->rows);
	allo_vec_done(&files->has);
}

bool allo_metric_files_add(struct allo_metric_files *files, const struct allo_profile *merged,
			   const struct allo_profile *from, struct allo_error *err)
{
	struct allo_metric_row row = { files->has.len, merged->metrics.len };

	if (!allo_vec_append(&files->rows, &row, 1) ||
	    !allo_vec_cover(&files->has, row.first + row.count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < from->metrics.len; i++) {
		/* The first file's profile is the one that others are merged into. */
		size_t metric = from == merged ? i : allo_profile_find_like(merged, from, i);

		files->has.at[row.first + metric] = true;
	}
	return true;
}

static bool has(const struct allo_metric_files *files, size_t file, size_t metric)
{
	struct allo_metric_row row = files->rows.at[file];

	return metric < row.count && files->has.at[row.first + metric];
}

static bool is_everywhere(const struct allo_metric_files *files, size_t metric)
{
	for (size_t file = 0; file < files->rows.len; file++) {
		if (!has(files, file, metric))
			return false;
	}
	return true;
}

/* Whether two metrics are in the same files. */
static bool are_together(const struct allo_metric_files *files, size_t a, size_t b)
{
	for (size_t file = 0; file < files->rows.len; file++) {
		if (has(files, file, a) != has(files, file, b))
			return false;
	}
	return true;
}

/* Whether an earlier metric's line has told of this one. */
static bool is_told(const struct allo_metric_files *files, size_t metric)
{
	for (size_t earlier = 0; earlier < metric; earlier++) {
		if (are_together(files, earlier, metric))
			return true;
	}
	return false;
}

/* A list: "a, b, c". */
struct list {
	char text[4000];
	size_t len, count;
};

static void add(struct list *list, struct allo_text item)
{
	int added = snprintf(list->text + list->len, sizeof(list->text) - list->len, "%s%.*s",
			     list->count++ > 0 ? ", " : "", ALLO_TEXT_ARG(item));

	list->len += (size_t)added;
	if (list->len >= sizeof(list->text))
		list->len = sizeof(list->text) - 1;
}

static void tell(const struct allo_metric_files *files, const struct allo_profile *merged,
		 size_t metric, char **names)
{
	struct list metrics = { 0 }, only = { 0 };

	for (size_t m = metric; m < merged->metrics.len; m++) {
		if (!merged->metrics.at[m].is_before && are_together(files, metric, m))
			add(&metrics, allo_profile_text(merged, merged->metrics.at[m].name));
	}
	for (size_t file = 0; file < files->rows.len; file++) {
		if (has(files, file, metric))
			add(&only, allo_text_of(names[file]));
	}
	allo_say_note("%s %s only in %s", metrics.text, metrics.count == 1 ? "is" : "are",
		      only.text);
}

void allo_metric_files_tell(const struct allo_metric_files *files,
			    const struct allo_profile *merged, char **names)
{
	for (size_t metric = 0; metric < merged->metrics.len; metric++) {
		if (!is_everywhere(files, metric) && !is_told(files, metric))
			tell(files, merged, metric, names);
	}
}
