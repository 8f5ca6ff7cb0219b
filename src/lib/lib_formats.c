/* lib_formats.c - the formats that can be read and written; see allotrope.h. */
#include "lib/lib_common.h"
#include "readers/readers.h"
#include "writers/writers.h"

/* Both tables are sorted: one format after the other, each once, with what there is of it. */
static bool next_format(size_t *reader, size_t *writer, struct allotrope_format *format)
{
	const struct allo_reader *r = allo_readers[*reader];
	const struct allo_writer *w;
	int order;

	/* These are the program's alone. */
	while (allo_writers[*writer] && allo_writers[*writer]->takes_rows)
		++*writer;
	w = allo_writers[*writer];
	order = !r ? 1 : !w ? -1 : strcmp(r->name, w->name);

	*format = (struct allotrope_format){ .can_read = r && order <= 0,
					     .can_write = w && order >= 0 };
	if (!format->can_read && !format->can_write)
		return false;
	*reader += format->can_read;
	*writer += format->can_write;
	format->name = format->can_read ? r->name : w->name;
	format->title = format->can_write ? w->title : r->title;
	format->endings = format->can_write ? w->endings : "";
	return true;
}

size_t allotrope_format_count(void)
{
	struct allotrope_format format;
	size_t reader = 0, writer = 0, count = 0;

	while (next_format(&reader, &writer, &format))
		count++;
	return count;
}

bool allotrope_get_format(size_t index, struct allotrope_format *format)
{
	size_t reader = 0, writer = 0;

	if (!format)
		return false;
	while (next_format(&reader, &writer, format)) {
		if (index-- == 0)
			return true;
	}
	return false;
}
