/* metrics.c - walks the table of metrics once per format. */
#include "telemetry/metrics.h"

#include "base/assert.h"
#include "telemetry/metric_table.h"

const char *allo_metrics_content_type(enum allo_metrics_format format)
{
	switch (format) {
	case ALLO_METRICS_PROMETHEUS:
		return "text/plain; version=0.0.4; charset=utf-8";
	case ALLO_METRICS_OPENMETRICS:
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	case ALLO_METRICS_JSON:
		break;
	}
	return "application/json";
}

/* Prometheus and OpenMetrics. */

struct writer {
	struct allo_text_buffer *buffer;
	enum allo_metrics_format format;
	const struct allo_metrics_of *process;
	const struct allo_memory_metric *family; /* the first row of the current name */
	bool has_head;
};

/* OpenMetrics declares counters and infos without their suffix. */
static struct allo_text family_name(const struct writer *writer)
{
	const struct allo_memory_metric *family = writer->family;
	struct allo_text name = allo_text_of(family->prometheus);

	if (writer->format == ALLO_METRICS_OPENMETRICS && family->type == ALLO_COUNTER)
		name.len -= strlen("_total");
	else if (writer->format == ALLO_METRICS_OPENMETRICS && family->type == ALLO_INFO)
		name.len -= strlen("_info");
	return name;
}

static void put_comment(const struct writer *writer, const char *what, const char *text)
{
	struct allo_text_buffer *buffer = writer->buffer;

	allo_buffer_string(buffer, what);
	allo_buffer_text(buffer, family_name(writer));
	allo_buffer_string(buffer, " ");
	allo_buffer_string(buffer, text);
	allo_buffer_string(buffer, "\n");
}

static const char *type_name(const struct writer *writer)
{
	switch (writer->family->type) {
	case ALLO_COUNTER:
		return "counter";
	case ALLO_INFO:
		/* Prometheus text has no type "info". */
		return writer->format == ALLO_METRICS_OPENMETRICS ? "info" : "gauge";
	case ALLO_GAUGE:
		break;
	}
	return "gauge";
}

static void put_unit(const struct writer *writer)
{
	struct allo_text name = family_name(writer);

	if (allo_text_ends(name, ALLO_TEXT("_bytes")))
		put_comment(writer, "# UNIT ", "bytes");
	else if (allo_text_ends(name, ALLO_TEXT("_seconds")))
		put_comment(writer, "# UNIT ", "seconds");
}

/* Written before the first sample of a name; names without samples have no head. */
static void put_head(struct writer *writer)
{
	if (writer->has_head)
		return;
	writer->has_head = true;
	put_comment(writer, "# HELP ", writer->family->help);
	put_comment(writer, "# TYPE ", type_name(writer));
	if (writer->format == ALLO_METRICS_OPENMETRICS)
		put_unit(writer);
}

/* Writes a sample up to its value.  `label`, its `value` and the version `more` may be NULL. */
static void begin_sample(struct writer *writer, const char *label, const char *value,
			 const char *more)
{
	struct allo_text_buffer *buffer = writer->buffer;
	const char *common = writer->process->labels;

	put_head(writer);
	allo_buffer_string(buffer, writer->family->prometheus);
	if (common[0] || label) {
		allo_buffer_string(buffer, "{");
		allo_buffer_string(buffer, common);
		if (common[0] && label)
			allo_buffer_string(buffer, ",");
		if (label)
			allo_buffer_string(buffer, label);
		if (value) {
			allo_buffer_string(buffer, "=");
			allo_buffer_quoted(buffer, allo_text_of(value));
		}
		if (more && more[0]) {
			allo_buffer_string(buffer, ",version=");
			allo_buffer_quoted(buffer, allo_text_of(more));
		}
		allo_buffer_string(buffer, "}");
	}
	allo_buffer_string(buffer, " ");
}

static void end_sample(struct writer *writer, uint64_t number, bool is_time)
{
	if (is_time)
		allo_buffer_seconds(writer->buffer, number);
	else
		allo_buffer_u64(writer->buffer, number);
	allo_buffer_string(writer->buffer, "\n");
}

static void put_number(struct writer *writer, const struct allo_memory_metric *metric)
{
	uint64_t number = allo_memory_metric_value(writer->process->snapshot, metric);

	if (number == ALLO_UNKNOWN)
		return;
	begin_sample(writer, metric->label, NULL, NULL);
	end_sample(writer, number, allo_memory_metric_is_time(metric));
}

static void put_group(struct writer *writer, const struct allo_memory_metric *metric)
{
	const struct allo_cgroup_memory *cgroup = &writer->process->snapshot->cgroup;

	if (cgroup->version == ALLO_UNKNOWN)
		return;
	begin_sample(writer, metric->label, cgroup->version == 1 ? "1" : "2", NULL);
	end_sample(writer, 1, false);
}

static void put_allocator(struct writer *writer, const struct allo_memory_metric *metric)
{
	const struct allo_allocator_memory *allocator = &writer->process->snapshot->allocator;

	if (!allocator->name[0])
		return;
	begin_sample(writer, metric->label, allocator->name, allocator->version);
	end_sample(writer, 1, false);
}

static void put_stats(struct writer *writer, const struct allo_memory_metric *metric)
{
	const struct allo_cgroup_memory *cgroup = &writer->process->snapshot->cgroup;

	for (uint32_t i = 0; i < cgroup->stat_count; i++) {
		const struct allo_cgroup_stat *stat = &cgroup->stats[i];

		if (stat->is_counter != (metric->each == ALLO_EACH_STAT_COUNTER))
			continue;
		begin_sample(writer, metric->label, stat->name, NULL);
		end_sample(writer, stat->value, false);
	}
}

static void put_sources(struct writer *writer, const struct allo_memory_metric *metric)
{
	const struct allo_memory_snapshot *snapshot = writer->process->snapshot;
	bool is_time = metric->each == ALLO_EACH_SOURCE_TIME;

	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		const struct allo_memory_source *source = &snapshot->sources[i];

		if (is_time && source->read_ns == ALLO_UNKNOWN)
			continue;
		begin_sample(writer, metric->label, source->name, NULL);
		end_sample(writer, is_time ? source->read_ns : !source->why[0], is_time);
	}
}

static void put_row(struct writer *writer, const struct allo_memory_metric *metric)
{
	switch (metric->each) {
	case ALLO_EACH_NUMBER:
		put_number(writer, metric);
		break;
	case ALLO_EACH_GROUP:
		put_group(writer, metric);
		break;
	case ALLO_EACH_ALLOCATOR:
		put_allocator(writer, metric);
		break;
	case ALLO_EACH_STAT_BYTES:
	case ALLO_EACH_STAT_COUNTER:
		put_stats(writer, metric);
		break;
	case ALLO_EACH_SOURCE_TIME:
	case ALLO_EACH_SOURCE_STATE:
		put_sources(writer, metric);
		break;
	}
}

static bool is_of_family(const struct allo_memory_metric *metric,
			 const struct allo_memory_metric *family)
{
	return metric->prometheus && strcmp(metric->prometheus, family->prometheus) == 0;
}

void allo_metrics_put(struct allo_text_buffer *buffer, enum allo_metrics_format format,
		      const struct allo_metrics_of *processes, size_t count)
{
	const struct allo_memory_metric *family = allo_memory_metrics, *next;

	for (; family->group; family = next) {
		struct writer writer = { .buffer = buffer, .format = format, .family = family };

		next = family + 1;
		if (!family->prometheus)
			continue;
		ALLO_ASSERT(family->help);
		while (is_of_family(next, family))
			next++;
		for (size_t i = 0; i < count; i++) {
			writer.process = &processes[i];
			for (const struct allo_memory_metric *row = family; row < next; row++)
				put_row(&writer, row);
		}
	}
	if (format == ALLO_METRICS_OPENMETRICS)
		allo_buffer_string(buffer, "# EOF\n");
}

/* JSON. */

static void put_key(struct allo_text_buffer *buffer, const char *key, bool *is_first)
{
	if (!*is_first)
		allo_buffer_string(buffer, ",");
	*is_first = false;
	allo_buffer_quoted(buffer, allo_text_of(key));
	allo_buffer_string(buffer, ":");
}

static void put_json_number(struct allo_text_buffer *buffer, const char *key, uint64_t number,
			    bool *is_first)
{
	if (number == ALLO_UNKNOWN)
		return;
	put_key(buffer, key, is_first);
	allo_buffer_u64(buffer, number);
}

static void put_json_text(struct allo_text_buffer *buffer, const char *key, const char *text,
			  bool *is_first)
{
	if (!text[0])
		return;
	put_key(buffer, key, is_first);
	allo_buffer_quoted(buffer, allo_text_of(text));
}

/* The members of a group that are texts. */
static void put_texts(struct allo_text_buffer *buffer, const struct allo_memory_snapshot *snapshot,
		      const char *group, bool *is_first)
{
	if (strcmp(group, "cgroup") == 0) {
		put_json_text(buffer, "path", snapshot->cgroup.path, is_first);
	} else if (strcmp(group, "allocator") == 0) {
		put_json_text(buffer, "name", snapshot->allocator.name, is_first);
		put_json_text(buffer, "version", snapshot->allocator.version, is_first);
	}
}

static void put_json_stats(struct allo_text_buffer *buffer, const struct allo_cgroup_memory *cgroup,
			   bool *is_first)
{
	bool is_first_stat = true;

	if (cgroup->stat_count == 0)
		return;
	put_key(buffer, "stat", is_first);
	allo_buffer_string(buffer, "{");
	for (uint32_t i = 0; i < cgroup->stat_count; i++)
		put_json_number(buffer, cgroup->stats[i].name, cgroup->stats[i].value,
				&is_first_stat);
	allo_buffer_string(buffer, "}");
}

static void put_json_sources(struct allo_text_buffer *buffer,
			     const struct allo_memory_snapshot *snapshot, bool *is_first_member)
{
	put_key(buffer, "sources", is_first_member);
	allo_buffer_string(buffer, "[");
	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		const struct allo_memory_source *source = &snapshot->sources[i];
		bool is_first = true;

		allo_buffer_string(buffer, i > 0 ? ",{" : "{");
		put_json_text(buffer, "name", source->name, &is_first);
		put_json_number(buffer, "read_ns", source->read_ns, &is_first);
		put_key(buffer, "why", &is_first);
		allo_buffer_quoted(buffer, allo_text_of(source->why));
		allo_buffer_string(buffer, "}");
	}
	allo_buffer_string(buffer, "]");
}

/* Writes the rows of a group; returns the row after them. */
static const struct allo_memory_metric *put_json_group(struct allo_text_buffer *buffer,
						       const struct allo_memory_metric *metric,
						       const struct allo_memory_snapshot *snapshot,
						       bool *is_first_member)
{
	const char *group = metric->group;
	bool is_first = true;

	put_key(buffer, group, is_first_member);
	allo_buffer_string(buffer, "{");
	put_texts(buffer, snapshot, group, &is_first);
	for (; metric->group && strcmp(metric->group, group) == 0; metric++) {
		if (metric->name)
			put_json_number(buffer, metric->name,
					allo_memory_metric_value(snapshot, metric), &is_first);
		else if (metric->each == ALLO_EACH_STAT_BYTES)
			put_json_stats(buffer, &snapshot->cgroup, &is_first);
	}
	allo_buffer_string(buffer, "}");
	return metric;
}

void allo_metrics_put_members(struct allo_text_buffer *buffer,
			      const struct allo_memory_snapshot *snapshot)
{
	const struct allo_memory_metric *metric = allo_memory_metrics;
	bool is_first = true;

	put_json_number(buffer, "unix_ns", snapshot->unix_ns, &is_first);
	put_json_number(buffer, "pid", snapshot->pid, &is_first);
	while (strcmp(metric->group, "sources") != 0)
		metric = put_json_group(buffer, metric, snapshot, &is_first);
	put_json_sources(buffer, snapshot, &is_first);
}

void allo_metrics_put_json(struct allo_text_buffer *buffer,
			   const struct allo_memory_snapshot *snapshot)
{
	allo_buffer_string(buffer, "{\"v\":1,");
	allo_metrics_put_members(buffer, snapshot);
	allo_buffer_string(buffer, "}\n");
}
