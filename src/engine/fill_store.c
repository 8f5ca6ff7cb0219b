/* fill_store.c - see fill_store.h. */
#include "engine/fill_store.h"

#include "base/defer.h"
#include "base/io/temporary.h"
#include "engine/merged_profile.h"
#include "engine/rows.h"
#include "parquet/parquet_store.h"
#include "sql/database.h"
#include "sql/postgresql_store.h"

#include <unistd.h>

/* Where the rows of a file go. */
struct row_target {
	struct allo_store *store;
	const struct allo_store_request *request;
	struct allo_profile *profile; /* the one that the rows refer to */
	bool drops_samples;           /* when they are stored */
};

static bool check_stacks(const struct allo_store_request *request,
			 const struct allo_profile *profile, struct allo_error *err)
{
	return !request->conversion ||
	       allo_writer_check_stacks(request->conversion->writer, profile, err);
}

/* Rows have the ids of stacks: samples and stacks, which may take more memory than the replay, are
 * not needed for them. */
static void drop_samples(struct allo_profile *profile)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile dropped = { 0 };

	allo_profile_move_samples(profile, &dropped);
}

static bool count(const struct allo_store_request *request, const struct allo_profile *profile,
		  struct allo_error *err)
{
	return !request->conversion || allo_conversion_count(request->conversion, profile, err);
}

static bool begin_rows(void *context, const struct allo_profile *profile,
		       const struct allo_process_info *process, const bool *has_rows,
		       const struct allo_marker *markers, size_t marker_count,
		       struct allo_error *err)
{
	const struct row_target *target = context;
	const struct allo_store_request *request = target->request;

	if (request->conversion)
		allo_conversion_clean(request->conversion, target->profile);
	if (!check_stacks(request, profile, err) || !count(request, profile, err) ||
	    !allo_store_add_profile(target->store, profile, request->attribution, process, has_rows,
				    err) ||
	    !allo_store_add_markers(target->store, markers, marker_count, err))
		return false;
	if (target->drops_samples)
		drop_samples(target->profile);
	return true;
}

static bool take_rows(void *context, const struct allo_allocation *rows, size_t count,
		      struct allo_error *err)
{
	const struct row_target *target = context;

	return allo_store_add_allocations(target->store, rows, count, err);
}

static bool is_selective(const struct allo_store_request *request)
{
	const struct allo_conversion *conversion = request->conversion;

	return conversion &&
	       (conversion->metric_count > 0 || !allo_filter_is_empty(conversion->filter));
}

static bool add_profile(const struct allo_store_request *request, struct allo_profile *profile,
			struct allo_store *store, struct allo_error *err)
{
	/* Before the filter: a function is a wrapper in all views or in none. */
	return allo_attribution_learn(request->attribution, profile, err) &&
	       (!request->conversion ||
		allo_conversion_select(request->conversion, profile, err)) &&
	       check_stacks(request, profile, err) && count(request, profile, err) &&
	       allo_store_add_profile(store, profile, request->attribution, NULL, NULL, err);
}

static bool add_file(struct allo_store_request *request, struct allo_profile *profile,
		     struct allo_store *store, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct row_target target = { .store = store, .request = request, .profile = profile };
	const struct allo_allocation_sink sink = { begin_rows, take_rows, &target };
	const struct allo_profile_request times = { .wants_times = true };

	if (!allo_source_open(&source, request->files[0], request->source, err))
		return false;
	request->has_rows = allo_source_has_rows(&source) && !is_selective(request);
	/* Readers of other formats go on to use the profile. */
	target.drops_samples = source.is_recording;
	if (request->has_rows)
		return allo_source_rows(&source, &sink, profile, err);
	return allo_source_profile(&source, &times, profile, err) &&
	       add_profile(request, profile, store, err);
}

bool allo_store_fill(struct allo_store *store, struct allo_store_request *request,
		     struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_profile_request times = { .wants_times = true };

	if (!request->files[1])
		return add_file(request, profile, store, err);
	return allo_read_merged(request->files, request->source, &times,
				request->conversion ? request->conversion->label : NULL, profile,
				err) &&
	       add_profile(request, profile, store, err);
}

/* Converting. */

static bool fill(struct allo_conversion *conversion, struct allo_store *store,
		 struct allo_profile *profile, struct allo_error *err)
{
	struct allo_store_request request = { .source = conversion->source,
					      .files = conversion->files,
					      .conversion = conversion,
					      .attribution = conversion->attribution };

	if (!allo_store_fill(store, &request, profile, err))
		return false;
	conversion->rows = store->rows;
	conversion->has_rows = request.has_rows;
	conversion->lost = allo_profile_holds(profile) & ~conversion->writer->holds;
	return true;
}

static bool copy_file(int fd, struct allo_output *out, struct allo_error *err)
{
	enum { AT_ONCE = 64 << 10 };
	uint64_t offset = 0;

	for (;;) {
		char *room = allo_output_room(out, AT_ONCE);
		ssize_t got = pread(fd, room, AT_ONCE, (off_t)offset);

		if (got < 0)
			return allo_fail_errno(err, "a temporary file", "read");
		if (got == 0)
			return true;
		allo_output_wrote(out, room + got);
		offset += (uint64_t)got;
	}
}

/* SQLite needs a file: the output's, or a temporary one that is copied to a pipe. */
static bool write_database(struct allo_conversion *conversion, struct allo_output *out,
			   struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_close_fd) int temporary = -1;
	ALLO_DEFER(allo_store_drop) struct allo_store store = { 0 };
	int fd = allo_output_lend(out);

	if (fd < 0)
		fd = temporary = allo_temporary_open();
	if (fd < 0)
		return allo_fail_errno(err, "a temporary file", "create");
	return allo_database_open(&store, fd, conversion->output, err) &&
	       fill(conversion, &store, profile, err) && allo_store_finish(&store, err) &&
	       (temporary < 0 || copy_file(temporary, out, err));
}

static bool write_parquet(struct allo_conversion *conversion, struct allo_profile *profile,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_store_drop) struct allo_store store = { 0 };
	struct allo_output_options options = conversion->output_options;

	options.sources = conversion->files;
	if (!allo_parquet_open(&store, conversion->output, &options, err) ||
	    !fill(conversion, &store, profile, err))
		return false;
	if (conversion->strict && conversion->lost)
		return true; /* the conversion fails, without a folder */
	if (!allo_store_finish(&store, err))
		return false;
	conversion->size = allo_parquet_size(&store);
	return true;
}

static bool write_script(struct allo_conversion *conversion, struct allo_output *out,
			 struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_store_drop) struct allo_store store = { 0 };

	return allo_postgresql_open(&store, out, err) && fill(conversion, &store, profile, err) &&
	       allo_store_finish(&store, err);
}

bool allo_write_store(struct allo_conversion *conversion, struct allo_output *out,
		      struct allo_profile *profile, struct allo_error *err)
{
	return conversion->writer->is_folder   ? write_parquet(conversion, profile, err)
	       : conversion->writer->is_script ? write_script(conversion, out, profile, err)
					       : write_database(conversion, out, profile, err);
}
