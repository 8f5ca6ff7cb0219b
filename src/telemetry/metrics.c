/* metrics.c - see metrics.h. */
#include "telemetry/metrics.h"

#include "telemetry/figure_table.h"

const char *allo_metrics_content_type(enum allo_metrics_format form)
{
	switch (form) {
	case ALLO_METRICS_PROMETHEUS:
		return "text/plain; version=0.0.4; charset=utf-8";
	case ALLO_METRICS_OPENMETRICS:
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	case ALLO_METRICS_JSON:
		break;
	}
	return "application/json";
}

/* Both texts. */

struct writing {
	struct allo_draft *draft;
	enum allo_metrics_format form;
	const struct allo_metrics_of *process;
	const struct allo_figure *family; /* its first row */
	bool has_head;
};

/* OpenMetrics names what samples have in common without what says their type. */
static struct allo_text family_name(const struct writing *writing)
{
	const struct allo_figure *family = writing->family;
	struct allo_text name = allo_text_of(family->metric);

	if (writing->form == ALLO_METRICS_OPENMETRICS && family->type == ALLO_COUNTER)
		name.len -= strlen("_total");
	else if (writing->form == ALLO_METRICS_OPENMETRICS && family->type == ALLO_INFO)
		name.len -= strlen("_info");
	return name;
}

static void put_about(const struct writing *writing, const char *what, const char *text)
{
	struct allo_draft *draft = writing->draft;

	allo_draft_string(draft, what);
	allo_draft_text(draft, family_name(writing));
	allo_draft_string(draft, " ");
	allo_draft_string(draft, text);
	allo_draft_string(draft, "\n");
}

static const char *type_name(const struct writing *writing)
{
	switch (writing->family->type) {
	case ALLO_COUNTER:
		return "counter";
	case ALLO_INFO:
		/* The older text knows no such thing. */
		return writing->form == ALLO_METRICS_OPENMETRICS ? "info" : "gauge";
	case ALLO_GAUGE:
		break;
	}
	return "gauge";
}

static void put_unit(const struct writing *writing)
{
	struct allo_text name = family_name(writing);

	if (allo_text_ends(name, ALLO_TEXT("_bytes")))
		put_about(writing, "# UNIT ", "bytes");
	else if (allo_text_ends(name, ALLO_TEXT("_seconds")))
		put_about(writing, "# UNIT ", "seconds");
}

/* Only where there is a sample. */
static void put_head(struct writing *writing)
{
	if (writing->has_head)
		return;
	writing->has_head = true;
	put_about(writing, "# HELP ", writing->family->help);
	put_about(writing, "# TYPE ", type_name(writing));
	if (writing->form == ALLO_METRICS_OPENMETRICS)
		put_unit(writing);
}

/* A sample up to its value; `label` and `more` may be NULL. */
static void begin_sample(struct writing *writing, const char *label, const char *value,
			 const char *more)
{
	struct allo_draft *draft = writing->draft;
	const char *common = writing->process->labels;

	put_head(writing);
	allo_draft_string(draft, writing->family->metric);
	if (common[0] || label) {
		allo_draft_string(draft, "{");
		allo_draft_string(draft, common);
		if (common[0] && label)
			allo_draft_string(draft, ",");
		if (label)
			allo_draft_string(draft, label);
		if (value) {
			allo_draft_string(draft, "=");
			allo_draft_quoted(draft, allo_text_of(value));
		}
		if (more && more[0]) {
			allo_draft_string(draft, ",version=");
			allo_draft_quoted(draft, allo_text_of(more));
		}
		allo_draft_string(draft, "}");
	}
	allo_draft_string(draft, " ");
}

static void end_sample(struct writing *writing, uint64_t number, bool is_time)
{
	if (is_time)
		allo_draft_seconds(writing->draft, number);
	else
		allo_draft_u64(writing->draft, number);
	allo_draft_string(writing->draft, "\n");
}

static void put_number(struct writing *writing, const struct allo_figure *figure)
{
	uint64_t number = allo_figure_of(writing->process->snapshot, figure);

	if (number == ALLO_UNKNOWN)
		return;
	begin_sample(writing, figure->label, NULL, NULL);
	end_sample(writing, number, allo_figure_is_time(figure));
}

static void put_group(struct writing *writing, const struct allo_figure *figure)
{
	const struct allo_cgroup_memory *cgroup = &writing->process->snapshot->cgroup;

	if (cgroup->version == ALLO_UNKNOWN)
		return;
	begin_sample(writing, figure->label, cgroup->version == 1 ? "1" : "2", NULL);
	end_sample(writing, 1, false);
}

static void put_allocator(struct writing *writing, const struct allo_figure *figure)
{
	const struct allo_allocator_memory *allocator = &writing->process->snapshot->allocator;

	if (!allocator->name[0])
		return;
	begin_sample(writing, figure->label, allocator->name, allocator->version);
	end_sample(writing, 1, false);
}

static void put_stats(struct writing *writing, const struct allo_figure *figure)
{
	const struct allo_cgroup_memory *cgroup = &writing->process->snapshot->cgroup;

	for (uint32_t i = 0; i < cgroup->stat_count; i++) {
		const struct allo_cgroup_stat *stat = &cgroup->stats[i];

		if (stat->is_counter != (figure->each == ALLO_EACH_STAT_COUNTER))
			continue;
		begin_sample(writing, figure->label, stat->name, NULL);
		end_sample(writing, stat->value, false);
	}
}

static void put_sources(struct writing *writing, const struct allo_figure *figure)
{
	const struct allo_memory_snapshot *snapshot = writing->process->snapshot;
	bool is_time = figure->each == ALLO_EACH_SOURCE_TIME;

	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		const struct allo_memory_source *source = &snapshot->sources[i];

		if (is_time && source->read_ns == ALLO_UNKNOWN)
			continue;
		begin_sample(writing, figure->label, source->name, NULL);
		end_sample(writing, is_time ? source->read_ns : !source->why[0], is_time);
	}
}

static void put_row(struct writing *writing, const struct allo_figure *figure)
{
	switch (figure->each) {
	case ALLO_EACH_NUMBER:
		put_number(writing, figure);
		break;
	case ALLO_EACH_GROUP:
		put_group(writing, figure);
		break;
	case ALLO_EACH_ALLOCATOR:
		put_allocator(writing, figure);
		break;
	case ALLO_EACH_STAT_BYTES:
	case ALLO_EACH_STAT_COUNTER:
		put_stats(writing, figure);
		break;
	case ALLO_EACH_SOURCE_TIME:
	case ALLO_EACH_SOURCE_STATE:
		put_sources(writing, figure);
		break;
	}
}

static bool is_of_family(const struct allo_figure *figure, const struct allo_figure *family)
{
	return figure->metric && strcmp(figure->metric, family->metric) == 0;
}

void allo_metrics_put(struct allo_draft *draft, enum allo_metrics_format form,
		      const struct allo_metrics_of *processes, size_t count)
{
	const struct allo_figure *family = allo_figures, *next;

	for (; family->group; family = next) {
		struct writing writing = { .draft = draft, .form = form, .family = family };

		next = family + 1;
		if (!family->metric)
			continue;
		while (is_of_family(next, family))
			next++;
		for (size_t i = 0; i < count; i++) {
			writing.process = &processes[i];
			for (const struct allo_figure *row = family; row < next; row++)
				put_row(&writing, row);
		}
	}
	if (form == ALLO_METRICS_OPENMETRICS)
		allo_draft_string(draft, "# EOF\n");
}

/* JSON. */

static void put_key(struct allo_draft *draft, const char *key, bool *is_first)
{
	if (!*is_first)
		allo_draft_string(draft, ",");
	*is_first = false;
	allo_draft_quoted(draft, allo_text_of(key));
	allo_draft_string(draft, ":");
}

static void put_json_number(struct allo_draft *draft, const char *key, uint64_t number,
			    bool *is_first)
{
	if (number == ALLO_UNKNOWN)
		return;
	put_key(draft, key, is_first);
	allo_draft_u64(draft, number);
}

static void put_json_text(struct allo_draft *draft, const char *key, const char *text,
			  bool *is_first)
{
	if (!text[0])
		return;
	put_key(draft, key, is_first);
	allo_draft_quoted(draft, allo_text_of(text));
}

/* What a group has besides numbers. */
static void put_texts(struct allo_draft *draft, const struct allo_memory_snapshot *snapshot,
		      const char *group, bool *is_first)
{
	if (strcmp(group, "cgroup") == 0) {
		put_json_text(draft, "path", snapshot->cgroup.path, is_first);
	} else if (strcmp(group, "allocator") == 0) {
		put_json_text(draft, "name", snapshot->allocator.name, is_first);
		put_json_text(draft, "version", snapshot->allocator.version, is_first);
	}
}

static void put_json_stats(struct allo_draft *draft, const struct allo_cgroup_memory *cgroup,
			   bool *is_first)
{
	bool is_first_stat = true;

	if (cgroup->stat_count == 0)
		return;
	put_key(draft, "stat", is_first);
	allo_draft_string(draft, "{");
	for (uint32_t i = 0; i < cgroup->stat_count; i++)
		put_json_number(draft, cgroup->stats[i].name, cgroup->stats[i].value,
				&is_first_stat);
	allo_draft_string(draft, "}");
}

static void put_json_sources(struct allo_draft *draft, const struct allo_memory_snapshot *snapshot,
			     bool *is_first_member)
{
	put_key(draft, "sources", is_first_member);
	allo_draft_string(draft, "[");
	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		const struct allo_memory_source *source = &snapshot->sources[i];
		bool is_first = true;

		allo_draft_string(draft, i > 0 ? ",{" : "{");
		put_json_text(draft, "name", source->name, &is_first);
		put_json_number(draft, "read_ns", source->read_ns, &is_first);
		put_key(draft, "why", &is_first);
		allo_draft_quoted(draft, allo_text_of(source->why));
		allo_draft_string(draft, "}");
	}
	allo_draft_string(draft, "]");
}

/* All of a group's rows; returns the one behind them. */
static const struct allo_figure *put_json_group(struct allo_draft *draft,
						const struct allo_figure *figure,
						const struct allo_memory_snapshot *snapshot,
						bool *is_first_member)
{
	const char *group = figure->group;
	bool is_first = true;

	put_key(draft, group, is_first_member);
	allo_draft_string(draft, "{");
	put_texts(draft, snapshot, group, &is_first);
	for (; figure->group && strcmp(figure->group, group) == 0; figure++) {
		if (figure->name)
			put_json_number(draft, figure->name, allo_figure_of(snapshot, figure),
					&is_first);
		else if (figure->each == ALLO_EACH_STAT_BYTES)
			put_json_stats(draft, &snapshot->cgroup, &is_first);
	}
	allo_draft_string(draft, "}");
	return figure;
}

void allo_metrics_put_members(struct allo_draft *draft, const struct allo_memory_snapshot *snapshot)
{
	const struct allo_figure *figure = allo_figures;
	bool is_first = true;

	put_json_number(draft, "unix_ns", snapshot->unix_ns, &is_first);
	put_json_number(draft, "pid", snapshot->pid, &is_first);
	while (strcmp(figure->group, "sources") != 0)
		figure = put_json_group(draft, figure, snapshot, &is_first);
	put_json_sources(draft, snapshot, &is_first);
}

void allo_metrics_put_json(struct allo_draft *draft, const struct allo_memory_snapshot *snapshot)
{
	allo_draft_string(draft, "{\"v\":1,");
	allo_metrics_put_members(draft, snapshot);
	allo_draft_string(draft, "}\n");
}
