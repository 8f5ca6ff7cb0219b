/* name_table.c - writing and reading symbol tables. */
#include "profile/name_table.h"

#include "base/assert.h"
#include "base/encoding/protobuf.h"

/* Writing. */

void allo_name_writer_done(struct allo_name_writer *writer)
{
	allo_vec_done(&writer->strings);
	allo_vec_done(&writer->functions);
	allo_vec_done(&writer->rows);
	allo_vec_done(&writer->string_numbers);
	allo_vec_done(&writer->function_numbers);
}

static bool put_number(allo_name_bytes *out, uint64_t number)
{
	char bytes[ALLO_VARINT_MAX];

	return allo_vec_append(out, bytes, (size_t)(allo_put_varint(bytes, number) - bytes));
}

static bool put_text(allo_name_bytes *out, struct allo_text text)
{
	return put_number(out, text.len) && allo_vec_append(out, text.data, text.len);
}

static bool number_string(struct allo_name_writer *writer, allo_string_id id, uint32_t *number)
{
	*number = 0;
	if (id == 0)
		return true;
	if (!allo_vec_cover(&writer->string_numbers, writer->profile->strings.len))
		return false;
	*number = writer->string_numbers.at[id];
	if (*number != 0)
		return true;
	*number = writer->string_numbers.at[id] = ++writer->string_count;
	return put_text(&writer->strings, allo_profile_text(writer->profile, id));
}

static bool number_function(struct allo_name_writer *writer, allo_function_id id, uint32_t *number)
{
	const struct allo_function *function = &writer->profile->functions.at[id];
	uint32_t name, system_name, file;

	if (!allo_vec_cover(&writer->function_numbers, writer->profile->functions.len))
		return false;
	*number = writer->function_numbers.at[id];
	if (*number != 0)
		return true;
	*number = writer->function_numbers.at[id] = ++writer->function_count;
	return number_string(writer, function->name, &name) &&
	       number_string(writer, function->system_name, &system_name) &&
	       number_string(writer, function->file, &file) &&
	       put_number(&writer->functions, name) &&
	       put_number(&writer->functions, system_name) &&
	       put_number(&writer->functions, file) &&
	       put_number(&writer->functions, function->start_line);
}

bool allo_name_writer_add(struct allo_name_writer *writer, uint64_t address,
			  const struct allo_line *lines, size_t count, struct allo_error *err)
{
	if (!put_number(&writer->rows, address - writer->last) || !put_number(&writer->rows, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t function;

		if (!number_function(writer, lines[i].function, &function) ||
		    !put_number(&writer->rows, function) ||
		    !put_number(&writer->rows, lines[i].line) ||
		    !put_number(&writer->rows, lines[i].column))
			return allo_fail_memory(err);
	}
	writer->last = address;
	writer->row_count++;
	return true;
}

size_t allo_name_writer_size(const struct allo_name_writer *writer)
{
	return writer->strings.len + writer->functions.len + writer->rows.len;
}

bool allo_name_writer_finish(struct allo_name_writer *writer, allo_name_bytes *out,
			     struct allo_error *err)
{
	bool ok = put_text(out, writer->path) && put_text(out, writer->build_id) &&
		  put_number(out, writer->string_count) &&
		  allo_vec_append(out, writer->strings.at, writer->strings.len) &&
		  put_number(out, writer->function_count) &&
		  allo_vec_append(out, writer->functions.at, writer->functions.len) &&
		  put_number(out, writer->row_count) &&
		  allo_vec_append(out, writer->rows.at, writer->rows.len);

	writer->strings.len = writer->functions.len = writer->rows.len = 0;
	writer->string_count = writer->function_count = writer->row_count = 0;
	writer->string_numbers.len = writer->function_numbers.len = 0;
	writer->last = 0;
	return ok || allo_fail_memory(err);
}

/* Reading. */

void allo_name_reader_done(struct allo_name_reader *reader)
{
	allo_vec_done(&reader->strings);
	allo_vec_done(&reader->functions);
	allo_vec_done(&reader->string_ids);
	allo_vec_done(&reader->function_ids);
	allo_vec_done(&reader->lines);
}

static bool take_text(struct allo_text *bytes, struct allo_text *text)
{
	uint64_t len;

	if (!allo_take_varint(bytes, &len) || len > bytes->len)
		return false;
	*text = (struct allo_text){ bytes->data, (size_t)len };
	*bytes = allo_text_from(*bytes, (size_t)len);
	return true;
}

static bool take_small(struct allo_text *bytes, uint64_t most, uint32_t *number)
{
	uint64_t value;

	if (!allo_take_varint(bytes, &value) || value > most || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* A count of entries, each of which has at least one byte. */
static bool take_count(struct allo_text *bytes, uint32_t *count)
{
	return take_small(bytes, UINT32_MAX - 1, count) && *count <= bytes->len;
}

static bool take_strings(struct allo_name_reader *reader, struct allo_text *bytes,
			 struct allo_error *err)
{
	uint32_t count;

	if (!take_count(bytes, &count))
		return false;
	if (!allo_vec_cover(&reader->strings, (size_t)count + 1) ||
	    !allo_vec_cover(&reader->string_ids, (size_t)count + 1))
		return allo_fail_memory(err);
	for (uint32_t i = 1; i <= count; i++) {
		if (!take_text(bytes, &reader->strings.at[i]))
			return false;
	}
	return true;
}

static bool take_functions(struct allo_name_reader *reader, struct allo_text *bytes,
			   struct allo_error *err)
{
	uint64_t last = reader->strings.len - 1;
	uint32_t count;

	if (!take_count(bytes, &count))
		return false;
	if (!allo_vec_cover(&reader->functions, (size_t)count + 1) ||
	    !allo_vec_cover(&reader->function_ids, (size_t)count + 1))
		return allo_fail_memory(err);
	for (uint32_t i = 1; i <= count; i++) {
		struct allo_function *function = &reader->functions.at[i];

		if (!take_small(bytes, last, &function->name) ||
		    !take_small(bytes, last, &function->system_name) ||
		    !take_small(bytes, last, &function->file) ||
		    !take_small(bytes, UINT32_MAX, &function->start_line) ||
		    reader->strings.at[function->name].len == 0)
			return false;
	}
	return true;
}

bool allo_name_reader_open(struct allo_name_reader *reader, struct allo_profile *profile,
			   struct allo_text bytes, struct allo_error *err)
{
	uint32_t rows;

	*reader = (struct allo_name_reader){ .profile = profile };
	if (!take_text(&bytes, &reader->path) || !take_text(&bytes, &reader->build_id) ||
	    !take_strings(reader, &bytes, err) || !take_functions(reader, &bytes, err) ||
	    !take_count(&bytes, &rows))
		return false;
	reader->rows = bytes;
	reader->rows_left = rows;
	return true;
}

static bool take_line(struct allo_name_reader *reader, struct allo_text *bytes,
		      struct allo_line *line)
{
	return take_small(bytes, reader->functions.len - 1, &line->function) &&
	       line->function != 0 && take_small(bytes, UINT32_MAX, &line->line) &&
	       take_small(bytes, UINT32_MAX, &line->column);
}

bool allo_name_reader_next(struct allo_name_reader *reader, struct allo_name_row *row,
			   struct allo_error *err)
{
	struct allo_text bytes = reader->rows;
	uint64_t more;
	uint32_t count;

	if (reader->rows_left == 0 || !allo_take_varint(&bytes, &more) ||
	    !take_count(&bytes, &count) || more > UINT64_MAX - reader->last)
		return false;
	reader->lines.len = 0;
	if (!allo_vec_cover(&reader->lines, count))
		return allo_fail_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		if (!take_line(reader, &bytes, &reader->lines.at[i]))
			return false;
	}
	row->address = reader->last += more;
	row->line_count = count;
	reader->rows = bytes;
	reader->rows_left--;
	return true;
}

static allo_string_id take_string(struct allo_name_reader *reader, uint32_t number,
				  struct allo_error *err)
{
	allo_string_id *id = &reader->string_ids.at[number];

	if (*id == 0)
		*id = allo_profile_add_string(reader->profile, reader->strings.at[number], err);
	return *id;
}

static allo_function_id take_function(struct allo_name_reader *reader, uint32_t number,
				      struct allo_error *err)
{
	const struct allo_function *function = &reader->functions.at[number];
	allo_function_id *id = &reader->function_ids.at[number];
	struct allo_function own = { .start_line = function->start_line };

	if (*id != 0)
		return *id;
	own.name = take_string(reader, function->name, err);
	own.system_name = take_string(reader, function->system_name, err);
	own.file = take_string(reader, function->file, err);
	if (!allo_failed(err))
		*id = allo_profile_add_function(reader->profile, &own, err);
	return *id;
}

const struct allo_line *allo_name_reader_take(struct allo_name_reader *reader,
					      struct allo_error *err)
{
	for (size_t i = 0; i < reader->lines.len; i++) {
		struct allo_line *line = &reader->lines.at[i];

		line->function = take_function(reader, line->function, err);
		if (line->function == 0)
			return NULL;
	}
	return reader->lines.at;
}
