/*
 * top.c - prints the ten functions with the highest values.
 *
 *     top FILE [METRIC]
 */
#include <allotrope.h>

#include <inttypes.h>
#include <stdio.h>

static bool print_top(const struct allotrope_profile *profile, const char *name,
		      struct allotrope_error *err)
{
	struct allotrope_top_options options = { .metric = name, .most = 10 };
	struct allotrope_metric metric;
	struct allotrope_row *rows;
	size_t count;
	int index = allotrope_find_metric(profile, name, err);

	rows = allotrope_top(profile, &options, &count, err);
	if (!rows)
		return false;
	allotrope_get_metric(profile, (size_t)index, &metric);
	printf("%s: %" PRId64 " %s, %s\n", metric.name, allotrope_sum(profile, (size_t)index),
	       metric.unit, metric.about);
	for (size_t i = 0; i < count; i++)
		printf("%12" PRId64 " %12" PRId64 "  %s %s\n", rows[i].self, rows[i].total,
		       rows[i].name, rows[i].file);
	allotrope_free(rows);
	return true;
}

int main(int argc, char **argv)
{
	struct allotrope_error err = { 0 };
	struct allotrope_profile *profile;
	char why[512];

	if (argc < 2) {
		fprintf(stderr, "usage: top FILE [METRIC]\n");
		return 2;
	}
	/* `err` keeps the first failure and later calls do nothing, so one check is enough. */
	profile = allotrope_read_file(argv[1], NULL, &err);
	if (!print_top(profile, argv[2], &err)) {
		allotrope_error_text(&err, why, sizeof(why));
		fprintf(stderr, "top: %s\n", why);
	}
	allotrope_profile_free(profile);
	return err.code == ALLOTROPE_OK ? 0 : 1;
}
