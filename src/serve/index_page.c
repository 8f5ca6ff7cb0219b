/* index_page.c - see index_page.h. */
#include "serve/index_page.h"

#include "base/defer.h"
#include "base/xml.h"
#include "serve/routes.h"

static void put_process(struct allo_output *out, const struct allo_served_process *process)
{
	allo_output_string(out, "<h2>");
	allo_xml_text(out, allo_text_of(process->program));
	allo_output_printf(out, " (%d)%s</h2>\n<dl>\n", (int)process->pid,
			   allo_served_process_has_ended(process) ? ", which has ended" : "");
	for (const struct allo_route *route = allo_routes; route->path; route++) {
		if (route->about)
			allo_output_printf(out, "<dt><a href=\"%s?pid=%d\">%s</a><dd>%s\n",
					   route->path, (int)process->pid, route->path,
					   route->about);
	}
	allo_output_string(out, "</dl>\n");
}

char *allo_index_page(const struct allo_process_list *processes, size_t *len,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err))
		return NULL;
	allo_output_string(&out, "<!doctype html>\n<meta charset=\"utf-8\">\n"
				 "<title>allo serve</title>\n<style>body{font-family:sans-serif;"
				 "margin:2em}dd{margin-bottom:.5em}</style>\n");
	if (processes->all.len == 0)
		allo_output_string(&out, "<p>No process has the runtime.</p>\n");
	for (size_t i = 0; i < processes->all.len; i++)
		put_process(&out, processes->all.at[i]);
	if (!allo_output_finish(&out, err))
		return NULL;
	return allo_output_take_memory(&out, len, err);
}
