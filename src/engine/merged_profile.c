/* merged_profile.c - merges profiles and tracks which file has which metric. */
#include "engine/merged_profile.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdio.h>

/* The metrics of one file: flags for those that existed when the file was merged. */
struct file_metrics {
	size_t first, count; /* in has[] */
};

struct metric_table {
	ALLO_VEC(struct file_metrics) files;
	ALLO_VEC(bool) has;
};

static void table_done(struct metric_table *table)
{
	allo_vec_done(&table->files);
	allo_vec_done(&table->has);
}

/* Adds the profile of a file, `from`, after it was merged. */
static bool add_file(struct metric_table *table, const struct allo_profile *merged,
		     const struct allo_profile *from, struct allo_error *err)
{
	struct file_metrics file = { table->has.len, merged->metrics.len };

	if (!allo_vec_append(&table->files, &file, 1) ||
	    !allo_vec_cover(&table->has, file.first + file.count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < from->metrics.len; i++) {
		/* The first file's profile is the one that the others are merged into. */
		size_t metric = from == merged ? i : allo_profile_find_like(merged, from, i);

		ALLO_ASSERT(metric < file.count);
		table->has.at[file.first + metric] = true;
	}
	return true;
}

static bool has(const struct metric_table *table, size_t file, size_t metric)
{
	struct file_metrics metrics = table->files.at[file];

	ALLO_ASSERT(file < table->files.len && metrics.first + metrics.count <= table->has.len);
	return metric < metrics.count && table->has.at[metrics.first + metric];
}

static bool is_in_all(const struct metric_table *table, size_t metric)
{
	for (size_t file = 0; file < table->files.len; file++) {
		if (!has(table, file, metric))
			return false;
	}
	return true;
}

static bool are_in_same_files(const struct metric_table *table, size_t a, size_t b)
{
	for (size_t file = 0; file < table->files.len; file++) {
		if (has(table, file, a) != has(table, file, b))
			return false;
	}
	return true;
}

/* Metrics of the same files share one note, that of the first metric. */
static bool is_noted(const struct metric_table *table, size_t metric)
{
	for (size_t earlier = 0; earlier < metric; earlier++) {
		if (are_in_same_files(table, earlier, metric))
			return true;
	}
	return false;
}

/* "a, b, c" */
struct list {
	char text[2000];
	size_t len, count;
};

static void add_item(struct list *list, struct allo_text item)
{
	int added = snprintf(list->text + list->len, sizeof(list->text) - list->len, "%s%.*s",
			     list->count++ > 0 ? ", " : "", ALLO_TEXT_ARG(item));

	list->len += (size_t)added;
	if (list->len >= sizeof(list->text))
		list->len = sizeof(list->text) - 1;
}

static void note_metric(const struct metric_table *table, const struct allo_profile *merged,
			size_t metric, char **names, const struct allo_host *host)
{
	struct list metrics = { 0 }, files = { 0 };

	for (size_t m = metric; m < merged->metrics.len; m++) {
		if (!merged->metrics.at[m].is_before && are_in_same_files(table, metric, m))
			add_item(&metrics, allo_profile_text(merged, merged->metrics.at[m].name));
	}
	for (size_t file = 0; file < table->files.len; file++) {
		if (has(table, file, metric))
			add_item(&files, allo_text_of(names[file]));
	}
	allo_host_note(host, "%s %s only in %s", metrics.text, metrics.count == 1 ? "is" : "are",
		       files.text);
}

static void note_missing(const struct metric_table *table, const struct allo_profile *merged,
			 char **names, const struct allo_host *host)
{
	for (size_t metric = 0; metric < merged->metrics.len; metric++) {
		if (!is_in_all(table, metric) && !is_noted(table, metric))
			note_metric(table, merged, metric, names, host);
	}
}

static bool merge_file(const char *file, const struct allo_source_options *options,
		       const struct allo_profile_request *request, const char *label_key,
		       struct allo_profile *profile, struct metric_table *table,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile next = { 0 };

	if (!allo_read_profile(file, options, request, &next, err))
		return false;
	return (label_key ? allo_profile_merge_labelled(profile, &next, allo_text_of(label_key),
							allo_text_of(file), err)
			  : allo_profile_merge(profile, &next, err)) &&
	       add_file(table, profile, &next, err);
}

bool allo_read_merged(char **files, const struct allo_source_options *options,
		      const struct allo_profile_request *request, const char *label_key,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(table_done) struct metric_table table = { 0 };
	char **rest = files;

	/* Without labels the first file need not be copied. */
	if (!label_key && (!allo_read_profile(*rest++, options, request, profile, err) ||
			   !add_file(&table, profile, profile, err)))
		return false;
	profile->notes.are_merged = files[0] && files[1];
	for (; *rest; rest++) {
		if (!merge_file(*rest, options, request, label_key, profile, &table, err))
			return false;
	}
	note_missing(&table, profile, files, options->host);
	return true;
}
