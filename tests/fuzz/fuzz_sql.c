/* fuzz_sql.c - any bytes as a database for `allo sql`: all reports on it. */
#include "base/defer.h"
#include "sql/reports.h"
#include "sql/sql_session.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool begin(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	(void)err;
	*(int *)context = sqlite3_column_count(statement);
	return true;
}

static bool take_row(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	(void)err;
	for (int i = 0; i < *(const int *)context; i++)
		sqlite3_column_text(statement, i);
	return true;
}

static bool end(void *context, struct allo_error *err)
{
	(void)err;
	*(int *)context = 0;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_close_fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	ALLO_DEFER(allo_sql_session_close)
	struct allo_sql_session session = { .name = "fuzz", .timeout_ns = 100000000 };
	struct allo_error err = { 0 };
	char source[64];
	int columns = 0;
	const struct allo_sql_sink sink = { begin, take_row, end, &columns };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    !allo_sql_session_open_fd(&session, fd, &err))
		return 0;
	allo_sql_session_meta(&session, "source", source, sizeof(source));
	for (size_t i = 0; allo_report_names[i]; i++) {
		struct allo_error failure = { 0 };

		if (!allo_sql_query(&session, allo_report_sql(i), allo_report_names[i], &sink,
				    &failure) &&
		    !allo_failed(&failure))
			abort();
	}
	return 0;
}
