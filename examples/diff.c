/*
 * diff.c - prints the ten largest changes between two profiles.
 *
 *     diff BASE NEW [METRIC]
 */
#include <allotrope.h>

#include <inttypes.h>
#include <stdio.h>

static bool print_changes(const struct allotrope_profile *diff, const char *metric,
			  struct allotrope_error *err)
{
	struct allotrope_top_options options = { .metric = metric,
						 .order = ALLOTROPE_ORDER_CHANGE,
						 .most = 10 };
	struct allotrope_row *rows;
	size_t count;

	rows = allotrope_top(diff, &options, &count, err);
	if (!rows)
		return false;
	for (size_t i = 0; i < count; i++) {
		int64_t change = rows[i].self - rows[i].self_before;

		if (change != 0)
			printf("%+12" PRId64 "  %s %s\n", change, rows[i].name, rows[i].file);
	}
	allotrope_free(rows);
	return true;
}

int main(int argc, char **argv)
{
	struct allotrope_error err = { 0 };
	struct allotrope_profile *base, *changed, *diff;
	char why[512];

	if (argc < 3) {
		fprintf(stderr, "usage: diff BASE NEW [METRIC]\n");
		return 2;
	}
	base = allotrope_read_file(argv[1], NULL, &err);
	changed = allotrope_read_file(argv[2], NULL, &err);
	/* The formats may differ, but the profiles must share a metric. */
	diff = allotrope_diff(base, changed, ALLOTROPE_MATCH_FUNCTION, &err);
	if (!print_changes(diff, argv[3], &err)) {
		allotrope_error_text(&err, why, sizeof(why));
		fprintf(stderr, "diff: %s\n", why);
	}
	allotrope_profile_free(diff);
	allotrope_profile_free(changed);
	allotrope_profile_free(base);
	return err.code == ALLOTROPE_OK ? 0 : 1;
}
