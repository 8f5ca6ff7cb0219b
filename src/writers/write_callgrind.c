/*
 * write_callgrind.c - Callgrind's profile format, for KCachegrind and callgrind_annotate.
 *
 * Samples are added up to a call graph as they come, so that the file does not grow with the number
 * of stacks.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/metric_about.h"
#include "writers/call_graph.h"
#include "writers/printable.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* Numbers for names: the first mention writes the name, later ones only the number. */
struct names {
	ALLO_VEC(uint32_t) number; /* by string; 0: not written yet */
	uint32_t used;
};

struct callgrind {
	struct allo_call_graph graph;
	struct names files, objects;
	bool has_objects;
	ALLO_VEC(bool) is_named; /* by function */
	ALLO_VEC(size_t) events; /* metrics, in the order of the file */
	struct allo_chars text;
};

static void drop_callgrind(struct allo_write_job *w)
{
	struct callgrind *callgrind = w->state;

	if (!callgrind)
		return;
	allo_call_graph_done(&callgrind->graph);
	allo_vec_done(&callgrind->files.number);
	allo_vec_done(&callgrind->objects.number);
	allo_vec_done(&callgrind->is_named);
	allo_vec_done(&callgrind->events);
	allo_vec_done(&callgrind->text);
	free(callgrind);
	w->state = NULL;
}

static bool begin_callgrind(struct allo_write_job *w, struct allo_error *err)
{
	w->state = calloc(1, sizeof(struct callgrind));
	return w->state || allo_fail_memory(err);
}

static bool add_callgrind(struct allo_write_job *w, const struct allo_profile *portion,
			  struct allo_error *err)
{
	struct callgrind *callgrind = w->state;

	return allo_call_graph_add(&callgrind->graph, portion, &w->notes, err);
}

/* Writes a text on one line. */
static bool put_line_text(struct allo_write_job *w, struct allo_text text)
{
	struct callgrind *callgrind = w->state;

	callgrind->text.len = 0;
	if (!allo_chars_add(&callgrind->text, text.len > 0 ? text : ALLO_TEXT("???")))
		return false;
	allo_chars_make_line(&callgrind->text);
	allo_output_utf8(w->out, allo_chars_text(&callgrind->text));
	return true;
}

/* Header. */

/* Makes a short name of letters and digits: "alloc_bytes" becomes AllocBytes. */
static bool make_short_name(struct allo_chars *out, struct allo_text name, bool is_before)
{
	bool is_start = true;

	out->len = 0;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		bool is_small = c >= 'a' && c <= 'z', is_capital = c >= 'A' && c <= 'Z';
		char kept = (char)(is_small && is_start ? c - 'a' + 'A' : c);

		is_start = !is_small && !is_capital && !allo_is_digit(c);
		if (!is_start && (out->len > 0 || !allo_is_digit(c)) &&
		    !allo_vec_append(out, &kept, 1))
			return false;
	}
	if (out->len == 0 && !allo_chars_add(out, ALLO_TEXT("Value")))
		return false;
	return !is_before || allo_chars_add(out, ALLO_TEXT("Before"));
}

/* Appends a number until the name differs from all others. */
static bool make_unique(struct allo_chars *name, struct allo_profile *used, size_t number,
			struct allo_error *err)
{
	char digits[24];
	size_t before;

	snprintf(digits, sizeof(digits), "%zu", number);
	for (;;) {
		before = used->strings.len;
		allo_profile_add_string(used, allo_chars_text(name), err);
		if (allo_failed(err) || used->strings.len > before)
			return !allo_failed(err);
		if (!allo_chars_add(name, allo_text_of(digits)))
			return allo_fail_memory(err);
	}
}

/* Puts the default metric first: viewers start with it. */
static bool order_events(struct callgrind *callgrind, const struct allo_profile *profile)
{
	size_t first = allo_default_metric(profile);

	for (size_t i = 0; i < profile->metrics.len; i++) {
		size_t metric = i == 0 ? first : i <= first ? i - 1 : i;

		if (!allo_vec_append(&callgrind->events, &metric, 1))
			return false;
	}
	return true;
}

/* event: AllocBytes : alloc_bytes (bytes), ever allocated */
static bool put_event(struct allo_write_job *w, const struct allo_profile *profile, size_t metric)
{
	struct callgrind *callgrind = w->state;
	const struct allo_metric *m = &profile->metrics.at[metric];
	const struct allo_metric_kind *kind = &allo_metric_kinds[m->meaning];
	char about[ALLO_ABOUT_SIZE];

	allo_output_string(w->out, "event: ");
	allo_output_text(w->out, allo_chars_text(&callgrind->text));
	allo_output_string(w->out, " : ");
	if (!put_line_text(w, allo_profile_text(profile, m->name)))
		return false;
	if (m->is_before)
		allo_output_string(w->out, " before");
	allo_output_string(w->out, " (");
	if (!put_line_text(w, allo_profile_text(profile, m->unit)))
		return false;
	allo_output_byte(w->out, ')');
	if (m->meaning != ALLO_MEANS_OTHER)
		allo_output_printf(w->out, ", %s", allo_metric_about(profile, metric, about));
	allo_output_string(w->out, kind->is_additive ? "\n" : "; sums mean nothing\n");
	return true;
}

static bool put_events(struct allo_write_job *w, const struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile names = { 0 };
	struct callgrind *callgrind = w->state;

	for (size_t i = 0; i < callgrind->events.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[callgrind->events.at[i]];

		if (!make_short_name(&callgrind->text, allo_profile_text(profile, metric->name),
				     metric->is_before))
			return allo_fail_memory(err);
		if (!make_unique(&callgrind->text, &names, i, err))
			return false;
		if (!put_event(w, profile, callgrind->events.at[i]))
			return allo_fail_memory(err);
	}
	allo_output_string(w->out, "events:");
	/* The line must not be empty, even without metrics. */
	if (callgrind->events.len == 0)
		allo_output_string(w->out, " Value");
	for (size_t i = 1; i < names.strings.len; i++) {
		allo_output_byte(w->out, ' ');
		allo_output_text(w->out, names.strings.at[i]);
	}
	allo_output_byte(w->out, '\n');
	return true;
}

/* Writes values in the order of the events, each after a space. */
static void put_values(struct allo_write_job *w, const uint64_t *values)
{
	struct callgrind *callgrind = w->state;

	for (size_t i = 0; i < callgrind->events.len; i++) {
		allo_output_byte(w->out, ' ');
		allo_output_u64(w->out, values[callgrind->events.at[i]]);
	}
	allo_output_byte(w->out, '\n');
}

static bool put_header(struct allo_write_job *w, const struct allo_profile *profile,
		       struct allo_error *err)
{
	struct callgrind *callgrind = w->state;
	const struct allo_meta *meta = &profile->meta;

	allo_output_string(w->out,
			   "# callgrind format\nversion: 1\ncreator: allo-" ALLO_VERSION "\n");
	if (meta->pid)
		allo_output_printf(w->out, "pid: %llu\n", (unsigned long long)meta->pid);
	if (meta->command) {
		allo_output_string(w->out, "cmd: ");
		if (!put_line_text(w, allo_profile_text(profile, meta->command)))
			return allo_fail_memory(err);
		allo_output_byte(w->out, '\n');
	}
	allo_output_string(w->out, "positions: line\n");
	if (!put_events(w, profile, err))
		return false;
	allo_output_string(w->out, "summary:");
	put_values(w, callgrind->graph.sums.at);
	return true;
}

/* Body. */

/* fl=(3) demo.c */
static bool put_name(struct allo_write_job *w, const char *key, struct names *names,
		     const struct allo_profile *profile, allo_string_id string)
{
	uint32_t *number;

	if (!allo_vec_cover(&names->number, (size_t)string + 1))
		return false;
	number = &names->number.at[string];
	if (*number != 0) {
		allo_output_printf(w->out, "%s(%lu)\n", key, (unsigned long)*number);
		return true;
	}
	*number = ++names->used;
	allo_output_printf(w->out, "%s(%lu) ", key, (unsigned long)*number);
	if (!put_line_text(w, allo_profile_text(profile, string)))
		return false;
	allo_output_byte(w->out, '\n');
	return true;
}

static struct allo_text name_of(const struct allo_profile *profile,
				const struct allo_graph_function *function,
				char scratch[ALLO_NAME_SCRATCH])
{
	if (function->frame == 0)
		return ALLO_TEXT("[root]");
	return allo_call_name(profile, &profile->frames.at[function->frame], function->call,
			      scratch);
}

/* Writes the object, the file and the function; `keys` are their keywords. */
static bool put_function(struct allo_write_job *w, const struct allo_profile *profile,
			 uint32_t number, const char *const keys[3])
{
	struct callgrind *callgrind = w->state;
	const struct allo_graph_function *function = &callgrind->graph.functions.at[number - 1];
	char scratch[ALLO_NAME_SCRATCH];
	bool *is_named = &callgrind->is_named.at[number - 1];

	ALLO_ASSERT(number > 0 && number <= callgrind->is_named.len);
	if (callgrind->has_objects &&
	    !put_name(w, keys[0], &callgrind->objects, profile, function->key.object))
		return false;
	if (!put_name(w, keys[1], &callgrind->files, profile, function->key.file))
		return false;
	allo_output_printf(w->out, "%s(%lu)", keys[2], (unsigned long)number);
	if (!*is_named) {
		allo_output_byte(w->out, ' ');
		if (!put_line_text(w, name_of(profile, function, scratch)))
			return false;
	}
	*is_named = true;
	allo_output_byte(w->out, '\n');
	return true;
}

static bool put_cost(struct allo_write_job *w, const struct allo_profile *profile, size_t index)
{
	static const char *const keys[] = { "cob=", "cfi=", "cfn=" };
	struct allo_call_graph *graph = &((struct callgrind *)w->state)->graph;
	const struct allo_graph_cost *cost = &graph->costs.at[index];

	ALLO_ASSERT((index + 1) * profile->metrics.len <= graph->values.len);
	if (cost->callee) {
		if (!put_function(w, profile, cost->callee, keys))
			return false;
		/* callgrind_annotate ignores the costs after a count of 0. */
		allo_output_printf(w->out, "calls=%llu %lu\n",
				   (unsigned long long)(cost->calls ? cost->calls : 1),
				   (unsigned long)graph->functions.at[cost->callee - 1].start_line);
	}
	allo_output_u64(w->out, cost->line);
	put_values(w, graph->values.at + index * profile->metrics.len);
	return true;
}

/* By function; own costs before those of calls. */
static int compare_costs(const void *a, const void *b, void *context)
{
	const struct allo_call_graph *graph = context;
	const uint32_t *x = a, *y = b;
	const struct allo_graph_cost *x_cost = &graph->costs.at[*x], *y_cost = &graph->costs.at[*y];

	if (x_cost->function != y_cost->function)
		return x_cost->function < y_cost->function ? -1 : 1;
	if ((x_cost->callee == 0) != (y_cost->callee == 0))
		return x_cost->callee == 0 ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static bool put_body(struct allo_write_job *w, const struct allo_profile *profile)
{
	static const char *const keys[] = { "ob=", "fl=", "fn=" };
	struct callgrind *callgrind = w->state;
	struct allo_call_graph *graph = &callgrind->graph;
	ALLO_DEFER(allo_free_pointer)
	uint32_t *order = malloc((graph->costs.len + 1) * sizeof(*order));
	uint32_t function = 0;

	if (!order || !allo_vec_cover(&callgrind->is_named, graph->functions.len))
		return false;
	for (size_t i = 0; i < graph->costs.len; i++)
		order[i] = (uint32_t)i;
	for (size_t i = 0; i < graph->functions.len; i++)
		callgrind->has_objects |= graph->functions.at[i].key.object != 0;
	qsort_r(order, graph->costs.len, sizeof(*order), compare_costs, graph);
	for (size_t i = 0; i < graph->costs.len; i++) {
		if (graph->costs.at[order[i]].function != function) {
			function = graph->costs.at[order[i]].function;
			allo_output_byte(w->out, '\n');
			if (!put_function(w, profile, function, keys))
				return false;
		}
		if (!put_cost(w, profile, order[i]))
			return false;
	}
	return true;
}

static bool end_callgrind(struct allo_write_job *w, const struct allo_profile *profile,
			  struct allo_error *err)
{
	struct callgrind *callgrind = w->state;

	if (!order_events(callgrind, profile))
		return allo_fail_memory(err);
	if (!put_header(w, profile, err))
		return false;
	if (!put_body(w, profile))
		return allo_fail_memory(err);
	allo_output_string(w->out, "\ntotals:");
	put_values(w, callgrind->graph.sums.at);
	return true;
}

const struct allo_writer allo_write_callgrind = {
	.name = "callgrind",
	.title = "Callgrind, for KCachegrind and callgrind_annotate",
	.about = "Functions with their own cost and the cost of each of their calls, added up "
		 "over all stacks. Each metric is an event; the preferred metric comes first. "
		 "An inlined call is a call. A function gets the cost of a sample once, "
		 "however often it is on the stack, so that inclusive costs never exceed the "
		 "cost that passes through it. [root] calls the outermost functions. The "
		 "number of calls is the number of blocks, if it is known. Whole stacks are "
		 "lost.",
	.endings = ".callgrind .kcg callgrind.out.*",
	.marks = { { "# callgrind format", NULL },
		   { "events:", "\nfn=" } }, /* the second is pprof's */
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_MODULES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES |
		 ALLO_HOLDS_COMMAND,
	.begin = begin_callgrind,
	.add = add_callgrind,
	.end = end_callgrind,
	.drop = drop_callgrind,
};
