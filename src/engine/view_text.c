/* view_text.c - see view_text.h. */
#include "engine/view_text.h"

#include "base/units.h"

static bool cut_at_dots(struct allo_text text, struct allo_text *before, struct allo_text *after)
{
	const char *dots = text.len > 0 ? memmem(text.data, text.len, "..", 2) : NULL;

	if (!dots)
		return false;
	*before = (struct allo_text){ text.data, (size_t)(dots - text.data) };
	*after = (struct allo_text){ dots + 2, text.len - before->len - 2 };
	return true;
}

/* A text that is not a time is the name of a mark, which the recording resolves. */
static void parse_time(struct allo_text text, uint64_t *ns, struct allo_text *mark)
{
	if (text.len > 0 && !allo_parse_ns(text, ns))
		*mark = text;
}

bool allo_view_parse_range(struct allo_view *view, struct allo_text text, struct allo_error *err)
{
	struct allo_text from, to;

	if (!cut_at_dots(text, &from, &to))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--range takes two times such as 2s..5s, 300ms.. or ..1m, not "
				 "'%.*s'",
				 ALLO_TEXT_ARG(text));
	parse_time(from, &view->from_ns, &view->from_mark);
	parse_time(to, &view->to_ns, &view->to_mark);
	if (to.len > 0 && view->to_mark.len == 0 && view->from_mark.len == 0 &&
	    view->to_ns <= view->from_ns)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--range '%.*s' ends before it begins", ALLO_TEXT_ARG(text));
	return true;
}

bool allo_view_parse_instant(struct allo_view *view, struct allo_text text, struct allo_error *err)
{
	uint64_t ns = 0;

	view->at = ALLO_AT_END;
	if (allo_text_equal(text, ALLO_TEXT("peak"))) {
		view->at = ALLO_AT_PEAK;
		return true;
	}
	if (allo_text_equal(text, ALLO_TEXT("end")))
		return true;
	if (text.len == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "'' is no instant: peak, end, a mark, or a time such as 2.5s is");
	parse_time(text, &ns, &view->to_mark);
	if (view->to_mark.len == 0)
		view->to_ns = ns + (ns < UINT64_MAX); /* with what happens just then */
	return true;
}

bool allo_view_parse_instants(struct allo_view *first, struct allo_view *second,
			      struct allo_text text, struct allo_error *err)
{
	struct allo_text before, after;

	if (!cut_at_dots(text, &before, &after))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--between takes two instants such as 2s..end or 1m..peak, not "
				 "'%.*s'",
				 ALLO_TEXT_ARG(text));
	return allo_view_parse_instant(first, before, err) &&
	       allo_view_parse_instant(second, after, err);
}
