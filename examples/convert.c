/*
 * convert.c - converts a profile to another format.
 *
 *     convert INPUT OUTPUT [FORMAT]      default: by the output's name, as heap.pb.gz
 *     convert                            lists the formats
 */
#include <allotrope.h>

#include <stdio.h>

static void list_formats(void)
{
	struct allotrope_format format;

	for (size_t i = 0; allotrope_get_format(i, &format); i++)
		printf("%-10s %-5s %-6s %s\n", format.name, format.can_read ? "read" : "",
		       format.can_write ? "write" : "", format.title);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	if (total > 0)
		fprintf(stderr, "\r%s: %3.0f%%", (const char *)context,
			100.0 * (double)done / (double)total);
}

int main(int argc, char **argv)
{
	struct allotrope_read_options reading = { .progress = show_progress, .context = argv[1] };
	struct allotrope_write_options writing = { .to = argc > 3 ? argv[3] : NULL };
	struct allotrope_error err = { 0 };
	char why[512];

	if (argc < 3) {
		list_formats();
		return argc == 1 ? 0 : 2;
	}
	writing.replace = true;
	if (allotrope_convert(argv[1], argv[2], &reading, &writing, &err)) {
		fputc('\n', stderr);
		return 0;
	}
	allotrope_error_text(&err, why, sizeof(why));
	fprintf(stderr, "\nconvert: %s\n", why);
	return 1;
}
