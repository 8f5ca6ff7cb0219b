/* number_tables.c - writes processes, threads, metrics, labels and samples. */
#include "sql/tables.h"

#include "base/defer.h"
#include "profile/metric_about.h"
#include "profile/naming.h"

static const char *clock_name(enum allo_clock clock)
{
	return clock == ALLO_CLOCK_NS             ? "ns"
	       : clock == ALLO_CLOCK_INSTRUCTIONS ? "instructions"
						  : "";
}

static bool write_process(const struct allo_sql_tables *tables,
			  const struct allo_process_info *process, struct allo_error *err)
{
	static const struct allo_process_info unknown;
	const struct allo_meta *meta = &tables->profile->meta;
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(
		tables, "insert into process values(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", err);

	if (!insert)
		return false;
	if (!process)
		process = &unknown;
	sqlite3_bind_int64(insert, 1, allo_sqlite_number(meta->pid));
	sqlite3_bind_int64(insert, 2, allo_sqlite_number(process->parent_pid));
	sqlite3_bind_int64(insert, 9, meta->start_ns);
	sqlite3_bind_int64(insert, 10, allo_sqlite_number(meta->duration));
	sqlite3_bind_int64(insert, 11, allo_sqlite_number(meta->peak_time));
	if (!allo_sqlite_bind_text(insert, 3, allo_profile_text(tables->profile, meta->command)) ||
	    !allo_sqlite_bind_text(insert, 4, process->program) ||
	    !allo_sqlite_bind_text(insert, 5, process->folder) ||
	    !allo_sqlite_bind_text(insert, 6, process->host) ||
	    !allo_sqlite_bind_text(insert, 7, process->end) ||
	    !allo_sqlite_bind_text(insert, 8, allo_text_of(clock_name(meta->clock))))
		return allo_fail_memory(err);
	return allo_sql_insert(tables, insert, err);
}

static bool write_threads(const struct allo_sql_tables *tables, struct allo_error *err)
{
	const struct allo_profile *profile = tables->profile;
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(tables, "insert into thread values(?, 1, ?, ?)",
						err);

	for (size_t i = 1; insert && i < profile->threads.len; i++) {
		sqlite3_bind_int64(insert, 1, (int64_t)i);
		sqlite3_bind_int64(insert, 2, allo_sqlite_number(profile->threads.at[i].tid));
		if (!allo_sqlite_bind_text(insert, 3,
					   allo_profile_text(profile, profile->threads.at[i].name)))
			return allo_fail_memory(err);
		if (!allo_sql_insert(tables, insert, err))
			return false;
	}
	return insert;
}

static bool write_metrics(const struct allo_sql_tables *tables, struct allo_error *err)
{
	const struct allo_profile *profile = tables->profile;
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(tables, "insert into metric values(?, ?, ?, ?, ?)",
						err);

	for (size_t i = 0; insert && i < profile->metrics.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[i];
		const struct allo_metric_kind *kind = &allo_metric_kinds[metric->meaning];
		char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

		sqlite3_bind_int64(insert, 1, (int64_t)i + 1);
		sqlite3_bind_int(insert, 5, kind->is_additive);
		if (!allo_sqlite_bind_text(insert, 2, allo_metric_name(profile, i, scratch)) ||
		    !allo_sqlite_bind_text(insert, 3, allo_profile_text(profile, metric->unit)) ||
		    !allo_sqlite_bind_text(insert, 4,
					   allo_text_of(allo_metric_about(profile, i, about))))
			return allo_fail_memory(err);
		if (!allo_sql_insert(tables, insert, err))
			return false;
	}
	return insert;
}

static bool write_labels(const struct allo_sql_tables *tables, struct allo_error *err)
{
	const struct allo_profile *profile = tables->profile;
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(
		tables, "insert into label(labels, name, text, number, unit) values(?, ?, ?, ?, ?)",
		err);

	for (size_t i = 1; insert && i < profile->label_sets.len; i++) {
		const struct allo_label_set *set = &profile->label_sets.at[i];

		for (uint32_t k = 0; k < set->count; k++) {
			const struct allo_label *label = &profile->labels.at[set->first + k];

			sqlite3_bind_int64(insert, 1, (int64_t)i);
			sqlite3_bind_int64(insert, 4, label->number);
			if (!allo_sqlite_bind_text(insert, 2,
						   allo_profile_text(profile, label->key)) ||
			    !allo_sqlite_bind_text(insert, 3,
						   allo_profile_text(profile, label->text)) ||
			    !allo_sqlite_bind_text(insert, 5,
						   allo_profile_text(profile, label->unit)))
				return allo_fail_memory(err);
			if (!allo_sql_insert(tables, insert, err))
				return false;
		}
	}
	return insert;
}

/* Writes one row for each number that is not 0. */
static bool write_sample(const struct allo_sql_tables *tables, sqlite3_stmt *insert, size_t sample,
			 struct allo_error *err)
{
	const struct allo_profile *profile = tables->profile;
	const uint64_t *values = allo_profile_row(profile, sample);
	struct allo_when when = profile->sample_times.len ? profile->sample_times.at[sample]
							  : (struct allo_when){ 0 };

	sqlite3_bind_int64(insert, 1, tables->ids.stacks[profile->sample_stacks.at[sample]]);
	sqlite3_bind_int64(insert, 4, allo_profile_labels_of(profile, sample));
	sqlite3_bind_int64(insert, 5, when.thread);
	sqlite3_bind_int64(insert, 6, allo_sqlite_number(when.start_ns));
	sqlite3_bind_int64(insert, 7, allo_sqlite_number(when.duration_ns));
	for (size_t i = 0; i < profile->metrics.len; i++) {
		bool is_signed = profile->metrics.at[i].is_signed;

		if (values[i] == 0)
			continue;
		sqlite3_bind_int64(insert, 2, (int64_t)i + 1);
		sqlite3_bind_int64(insert, 3,
				   is_signed ? (int64_t)values[i] : allo_sqlite_number(values[i]));
		sqlite3_bind_double(insert, 8, allo_profile_variance(profile, sample, i));
		if (!allo_sql_insert(tables, insert, err))
			return false;
	}
	return true;
}

static bool write_samples(const struct allo_sql_tables *tables, struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(
		tables,
		"insert into sample(stack, metric, value, labels, thread, start_ns, duration_ns, "
		"variance) values(?, ?, ?, ?, ?, ?, ?, ?)",
		err);

	for (size_t i = 0; insert && i < allo_profile_sample_count(tables->profile); i++) {
		if (!write_sample(tables, insert, i, err))
			return false;
	}
	return insert;
}

bool allo_sql_write_numbers(const struct allo_sql_tables *tables,
			    const struct allo_process_info *process, struct allo_error *err)
{
	return write_process(tables, process, err) && write_threads(tables, err) &&
	       write_metrics(tables, err) && write_labels(tables, err) &&
	       write_samples(tables, err);
}

bool allo_sql_write_markers(const struct allo_sql_tables *tables, const struct allo_marker *markers,
			    size_t count, struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(
		tables, "insert into marker(process, thread, ns, name) values(1, ?, ?, ?)", err);

	for (size_t i = 0; insert && i < count; i++) {
		sqlite3_bind_int64(insert, 1, markers[i].thread);
		sqlite3_bind_int64(insert, 2, allo_sqlite_number(markers[i].ns));
		if (!allo_sqlite_bind_text(insert, 3, markers[i].name))
			return allo_fail_memory(err);
		if (!allo_sql_insert(tables, insert, err))
			return false;
	}
	return insert;
}
