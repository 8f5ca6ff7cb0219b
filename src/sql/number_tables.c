/* number_tables.c - writes processes, threads, metrics, labels, samples and markers. */
#include "sql/tables.h"

#include "profile/metric_about.h"
#include "profile/naming.h"

static const char *clock_name(enum allo_clock clock)
{
	return clock == ALLO_CLOCK_NS             ? "ns"
	       : clock == ALLO_CLOCK_INSTRUCTIONS ? "instructions"
						  : "";
}

static struct allo_sql_cell text_cell(const struct allo_store *store, allo_string_id id)
{
	return ALLO_CELL_TEXT(allo_profile_text(store->profile, id));
}

static bool write_process(struct allo_store *store, const struct allo_process_info *process,
			  struct allo_error *err)
{
	static const struct allo_process_info unknown;
	const struct allo_meta *meta = &store->profile->meta;

	if (!process)
		process = &unknown;
	return allo_store_add_row(store, ALLO_TABLE_PROCESS,
				  (struct allo_sql_cell[]){
					  ALLO_CELL_NUMBER(1),
					  ALLO_CELL_NUMBER(allo_sql_number(meta->pid)),
					  ALLO_CELL_NUMBER(allo_sql_number(process->parent_pid)),
					  text_cell(store, meta->command),
					  ALLO_CELL_TEXT(process->program),
					  ALLO_CELL_TEXT(process->folder),
					  ALLO_CELL_TEXT(process->host),
					  ALLO_CELL_TEXT(process->end),
					  ALLO_CELL_TEXT(allo_text_of(clock_name(meta->clock))),
					  ALLO_CELL_NUMBER(meta->start_ns),
					  ALLO_CELL_NUMBER(allo_sql_number(meta->duration)),
					  ALLO_CELL_NUMBER(allo_sql_number(meta->peak_time)),
				  },
				  err);
}

static bool write_threads(struct allo_store *store, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;

	for (size_t i = 1; i < profile->threads.len; i++) {
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER((int64_t)i),
			ALLO_CELL_NUMBER(1),
			ALLO_CELL_NUMBER(allo_sql_number(profile->threads.at[i].tid)),
			text_cell(store, profile->threads.at[i].name),
		};

		if (!allo_store_add_row(store, ALLO_TABLE_THREAD, cells, err))
			return false;
	}
	return true;
}

static bool write_metrics(struct allo_store *store, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;

	for (size_t i = 0; i < profile->metrics.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[i];
		const struct allo_metric_kind *kind = &allo_metric_kinds[metric->meaning];
		char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER((int64_t)i + 1),
			ALLO_CELL_TEXT(allo_metric_name(profile, i, scratch)),
			text_cell(store, metric->unit),
			ALLO_CELL_TEXT(allo_text_of(allo_metric_about(profile, i, about))),
			ALLO_CELL_NUMBER(kind->is_additive),
		};

		if (!allo_store_add_row(store, ALLO_TABLE_METRIC, cells, err))
			return false;
	}
	return true;
}

static bool write_labels(struct allo_store *store, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	int64_t id = 0;

	for (size_t i = 1; i < profile->label_sets.len; i++) {
		const struct allo_label_set *set = &profile->label_sets.at[i];

		for (uint32_t k = 0; k < set->count; k++) {
			const struct allo_label *label = &profile->labels.at[set->first + k];
			const struct allo_sql_cell cells[] = {
				ALLO_CELL_NUMBER(++id),          ALLO_CELL_NUMBER((int64_t)i),
				text_cell(store, label->key),    text_cell(store, label->text),
				ALLO_CELL_NUMBER(label->number), text_cell(store, label->unit),
			};

			if (!allo_store_add_row(store, ALLO_TABLE_LABEL, cells, err))
				return false;
		}
	}
	return true;
}

/* Writes one row for each number that is not 0. */
static bool write_sample(struct allo_store *store, size_t sample, int64_t *id,
			 struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	const uint64_t *values = allo_profile_row(profile, sample);
	struct allo_when when = profile->sample_times.len ? profile->sample_times.at[sample]
							  : (struct allo_when){ 0 };

	for (size_t i = 0; i < profile->metrics.len; i++) {
		bool is_signed = profile->metrics.at[i].is_signed;
		int64_t value = is_signed ? (int64_t)values[i] : allo_sql_number(values[i]);
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER(*id + 1),
			ALLO_CELL_NUMBER(store->ids.stacks[profile->sample_stacks.at[sample]]),
			ALLO_CELL_NUMBER((int64_t)i + 1),
			ALLO_CELL_NUMBER(value),
			ALLO_CELL_NUMBER(allo_profile_labels_of(profile, sample)),
			ALLO_CELL_NUMBER(when.thread),
			ALLO_CELL_NUMBER(allo_sql_number(when.start_ns)),
			ALLO_CELL_NUMBER(allo_sql_number(when.duration_ns)),
			ALLO_CELL_REAL(allo_profile_variance(profile, sample, i)),
		};

		if (values[i] == 0)
			continue;
		++*id;
		if (!allo_store_add_row(store, ALLO_TABLE_SAMPLE, cells, err))
			return false;
	}
	return true;
}

static bool write_samples(struct allo_store *store, struct allo_error *err)
{
	int64_t id = 0;

	for (size_t i = 0; i < allo_profile_sample_count(store->profile); i++) {
		if (!write_sample(store, i, &id, err))
			return false;
	}
	return true;
}

bool allo_sql_write_numbers(struct allo_store *store, const struct allo_process_info *process,
			    struct allo_error *err)
{
	return write_process(store, process, err) && write_threads(store, err) &&
	       write_metrics(store, err) && write_labels(store, err) && write_samples(store, err);
}

bool allo_store_add_markers(struct allo_store *store, const struct allo_marker *markers,
			    size_t count, struct allo_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct allo_sql_cell cells[] = {
			ALLO_CELL_NUMBER((int64_t)i + 1),
			ALLO_CELL_NUMBER(1),
			ALLO_CELL_NUMBER(markers[i].thread),
			ALLO_CELL_NUMBER(allo_sql_number(markers[i].ns)),
			ALLO_CELL_TEXT(markers[i].name),
		};

		if (!allo_store_add_row(store, ALLO_TABLE_MARKER, cells, err))
			return false;
	}
	return true;
}
