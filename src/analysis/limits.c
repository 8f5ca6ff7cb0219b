/* limits.c - parses the limits of a budget. */
#include "analysis/budget.h"

#include <math.h>
#include <stdlib.h>

void allo_limits_done(struct allo_limits *limits)
{
	allo_vec_done(&limits->list);
	allo_arena_done(&limits->arena);
}

static bool fail_limit(struct allo_pos pos, const char *expected, struct allo_text found,
		       struct allo_error *err)
{
	allo_fail(err, pos.file ? ALLO_FORMAT : ALLO_USAGE, pos, "expected %s, found \"%.*s\"",
		  expected, ALLO_TEXT_ARG(found));
	return allo_hint(err, "examples of limits: peak <= 50MiB, leaks <= 0, alloc_blocks in "
			      "fn:parse <= 1000, peak growth <= 5%%");
}

static const char *copy(struct allo_limits *limits, struct allo_text text, struct allo_error *err)
{
	const char *copied = allo_arena_copy(&limits->arena, text.data, text.len);

	if (!copied)
		allo_fail_memory(err);
	return copied;
}

static bool parse_percent(struct allo_text text, double *percent)
{
	char number[32], *end;

	if (text.len >= sizeof(number) || text.len == 0 || !allo_is_digit(text.data[0]))
		return false;
	memcpy(number, text.data, text.len);
	number[text.len] = '\0';
	*percent = strtod(number, &end);
	return *end == '\0' && isfinite(*percent);
}

/* A size, also with a blank before its unit, as sizes are printed: "3 MiB". */
static bool parse_size(struct allo_text text, uint64_t *value)
{
	char joined[64];
	size_t blank = allo_text_find(text, ALLO_TEXT(" "));
	struct allo_text unit;

	if (blank == (size_t)-1)
		return allo_parse_bytes(text, value);
	unit = allo_text_trim(allo_text_from(text, blank));
	if (blank + unit.len > sizeof(joined) || unit.len == 0 || allo_is_digit(unit.data[0]))
		return false;
	memcpy(joined, text.data, blank);
	memcpy(joined + blank, unit.data, unit.len);
	return allo_parse_bytes((struct allo_text){ joined, blank + unit.len }, value);
}

static bool parse_value(struct allo_budget_limit *limit, struct allo_text text, struct allo_pos pos,
			struct allo_error *err)
{
	struct allo_text number = text;

	if (allo_text_ends(text, ALLO_TEXT("%"))) {
		if (!limit->is_growth)
			return fail_limit(pos,
					  "a size or a number: percentages are for growth only",
					  text, err);
		limit->is_percent = true;
		number.len--;
		return parse_percent(allo_text_trim(number), &limit->percent) ||
		       fail_limit(pos, "a percentage after \"<=\"", text, err);
	}
	return parse_size(text, &limit->value) ||
	       fail_limit(pos, "a size such as 50MiB, or a number, after \"<=\"", text, err);
}

/* "METRIC [in PATTERN] [growth]" */
static bool parse_subject(struct allo_limits *limits, struct allo_budget_limit *limit,
			  struct allo_text text, struct allo_error *err)
{
	struct allo_text rest = text, metric = text, pattern;
	size_t in;

	limit->name = copy(limits, text, err);
	if (allo_text_ends(rest, ALLO_TEXT(" growth"))) {
		limit->is_growth = true;
		rest.len -= strlen(" growth");
		metric = rest = allo_text_trim(rest);
	}
	in = allo_text_find(rest, ALLO_TEXT(" in "));
	if (in != (size_t)-1) {
		metric = (struct allo_text){ rest.data, in };
		pattern = allo_text_trim(allo_text_from(rest, in + strlen(" in ")));
		limit->pattern = copy(limits, pattern, err);
		if (pattern.len == 0)
			return fail_limit(limit->pos, "a pattern after \"in\"", text, err);
	}
	metric = allo_text_trim(metric);
	limit->metric = copy(limits, metric, err);
	if (metric.len == 0 || memchr(metric.data, ' ', metric.len))
		return fail_limit(limit->pos, "METRIC [in PATTERN] [growth] in front of \"<=\"",
				  text, err);
	return !allo_failed(err);
}

bool allo_limits_add(struct allo_limits *limits, struct allo_text text, struct allo_pos pos,
		     struct allo_error *err)
{
	struct allo_budget_limit limit = { .pos = pos };
	/* The last one, since function names may contain others. */
	size_t at = allo_text_find_last(text, ALLO_TEXT("<="));
	struct allo_text value;

	if (at == (size_t)-1)
		return fail_limit(pos, "a limit with \"<=\"", text, err);
	if (!parse_subject(limits, &limit, allo_text_trim((struct allo_text){ text.data, at }),
			   err))
		return false;
	value = allo_text_trim(allo_text_from(text, at + 2));
	if (pos.file)
		pos.byte += (uint64_t)(value.data - text.data);
	if (!parse_value(&limit, value, pos, err))
		return false;
	return allo_vec_add(&limits->list, limit, err);
}

bool allo_limits_read(struct allo_limits *limits, struct allo_input *in, struct allo_error *err)
{
	struct allo_text line;

	for (uint64_t number = 1; allo_input_line(in, &line, err); number++) {
		struct allo_text limit = allo_text_trim(line);
		struct allo_pos pos = { .file = in->name, .line = number };

		pos.byte = (uint64_t)(limit.data - line.data) + 1;
		if (limit.len > 0 && limit.data[0] != '#' &&
		    !allo_limits_add(limits, limit, pos, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_limits_need_baseline(const struct allo_limits *limits)
{
	for (size_t i = 0; i < limits->list.len; i++) {
		if (limits->list.at[i].is_growth)
			return true;
	}
	return false;
}
