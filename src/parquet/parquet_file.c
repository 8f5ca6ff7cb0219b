/* parquet_file.c - puts row groups together, and describes them at the end of the file. */
#include "parquet/parquet_file.h"

#include "base/assert.h"
#include "base/defer.h"
#include "parquet/thrift.h"

static const char magic[] = "PAR1";

enum {
	MAGIC_SIZE = 4,
	FORMAT_VERSION = 2,

	REQUIRED = 0, /* repetition of a column */
	OPTIONAL = 1,
	CONVERTED_UTF8 = 0,
	CODEC_ZSTD = 6,
};

static void send(struct allo_parquet_file *file, const void *data, size_t len)
{
	allo_output_bytes(file->out, data, len);
	file->size += len;
}

void allo_parquet_file_begin(struct allo_parquet_file *file, struct allo_output *out,
			     const struct allo_parquet_column *columns, size_t column_count)
{
	*file = (struct allo_parquet_file){ .out = out,
					    .columns = columns,
					    .column_count = column_count };
	send(file, magic, MAGIC_SIZE);
}

bool allo_parquet_file_add(struct allo_parquet_file *file, const struct allo_row_group *group,
			   struct allo_error *err)
{
	const struct allo_parquet_group place = { .start = file->size, .rows = group->all_rows };

	ALLO_ASSERT(group->column_count == file->column_count);
	if (group->is_lost)
		return allo_fail_memory(err);
	if (group->is_continued)
		return true;
	file->rows += group->all_rows;
	send(file, group->bytes.at, group->bytes.len);
	return allo_vec_add(&file->groups, place, err) &&
	       allo_vec_add_all(&file->chunks, group->chunks, group->column_count, err);
}

/* The description. */

static void put_column(struct allo_bytes *bytes, const struct allo_parquet_column *column)
{
	struct allo_thrift element = allo_thrift_begin(bytes), logical, string;

	allo_thrift_i32(&element, 1, column->type);
	allo_thrift_i32(&element, 3, column->may_be_null ? OPTIONAL : REQUIRED);
	allo_thrift_text(&element, 4, allo_text_of(column->name));
	if (column->type == ALLO_PARQUET_TEXT) {
		allo_thrift_i32(&element, 6, CONVERTED_UTF8);
		logical = allo_thrift_struct(&element, 10);
		string = allo_thrift_struct(&logical, 1);
		allo_thrift_end(&string);
		allo_thrift_end(&logical);
	}
	allo_thrift_end(&element);
}

static void put_schema(struct allo_thrift *meta, const struct allo_parquet_file *file)
{
	struct allo_thrift root;

	allo_thrift_list(meta, 2, ALLO_THRIFT_STRUCT, file->column_count + 1);
	root = allo_thrift_begin(meta->bytes);
	allo_thrift_text(&root, 4, ALLO_TEXT("schema"));
	allo_thrift_i32(&root, 5, (int32_t)file->column_count);
	allo_thrift_end(&root);
	for (size_t i = 0; i < file->column_count; i++)
		put_column(meta->bytes, &file->columns[i]);
}

/* Values in the encoding PLAIN, little-endian. */
static struct allo_text plain(enum allo_parquet_type type, const int64_t *number)
{
	return (struct allo_text){ (const char *)number, type == ALLO_PARQUET_INT32 ? 4 : 8 };
}

static void put_statistics(struct allo_thrift *chunk, const struct allo_parquet_column *column,
			   const struct allo_column_chunk *found)
{
	struct allo_thrift statistics = allo_thrift_struct(chunk, 12);

	allo_thrift_i64(&statistics, 3, (int64_t)found->null_count);
	if (found->has_range) {
		allo_thrift_text(&statistics, 5, plain(column->type, &found->most));
		allo_thrift_text(&statistics, 6, plain(column->type, &found->least));
	}
	allo_thrift_end(&statistics);
}

static void put_encodings(struct allo_thrift *chunk, const struct allo_column_chunk *found)
{
	bool has_both = found->has_plain && found->encoding != ALLO_ENCODED_PLAIN;

	allo_thrift_list(chunk, 2, ALLO_THRIFT_I32, has_both ? 3 : 2);
	allo_bytes_put_zigzag(chunk->bytes, ALLO_ENCODED_RUNS);
	allo_bytes_put_zigzag(chunk->bytes, found->encoding);
	if (has_both)
		allo_bytes_put_zigzag(chunk->bytes, ALLO_ENCODED_PLAIN);
}

static void put_chunk(struct allo_bytes *bytes, const struct allo_parquet_column *column,
		      const struct allo_column_chunk *found, const struct allo_parquet_group *group)
{
	struct allo_thrift chunk = allo_thrift_begin(bytes), meta;

	allo_thrift_i64(&chunk, 2, 0); /* the description is here, and not at the chunk */
	meta = allo_thrift_struct(&chunk, 3);
	allo_thrift_i32(&meta, 1, column->type);
	put_encodings(&meta, found);
	allo_thrift_list(&meta, 3, ALLO_THRIFT_BINARY, 1);
	allo_thrift_item(&meta, allo_text_of(column->name));
	allo_thrift_i32(&meta, 4, CODEC_ZSTD);
	allo_thrift_i64(&meta, 5, (int64_t)group->rows);
	allo_thrift_i64(&meta, 6, (int64_t)found->unpacked);
	allo_thrift_i64(&meta, 7, (int64_t)found->packed);
	allo_thrift_i64(&meta, 9, (int64_t)(group->start + found->data_start));
	if (found->encoding == ALLO_ENCODED_DICTIONARY)
		allo_thrift_i64(&meta, 11, (int64_t)(group->start + found->start));
	put_statistics(&meta, column, found);
	allo_thrift_end(&meta);
	allo_thrift_end(&chunk);
}

static void put_group(struct allo_bytes *bytes, const struct allo_parquet_file *file, size_t index)
{
	const struct allo_parquet_group *group = &file->groups.at[index];
	const struct allo_column_chunk *chunks = &file->chunks.at[index * file->column_count];
	struct allo_thrift row_group = allo_thrift_begin(bytes);
	size_t packed = 0, unpacked = 0;

	allo_thrift_list(&row_group, 1, ALLO_THRIFT_STRUCT, file->column_count);
	for (size_t i = 0; i < file->column_count; i++) {
		put_chunk(bytes, &file->columns[i], &chunks[i], group);
		packed += chunks[i].packed;
		unpacked += chunks[i].unpacked;
	}
	allo_thrift_i64(&row_group, 2, (int64_t)unpacked);
	allo_thrift_i64(&row_group, 3, (int64_t)group->rows);
	allo_thrift_i64(&row_group, 5, (int64_t)group->start);
	allo_thrift_i64(&row_group, 6, (int64_t)packed);
	allo_thrift_end(&row_group);
}

static void put_facts(struct allo_thrift *meta, const struct allo_parquet_fact *facts, size_t count)
{
	if (count == 0)
		return;
	allo_thrift_list(meta, 5, ALLO_THRIFT_STRUCT, count);
	for (size_t i = 0; i < count; i++) {
		struct allo_thrift pair = allo_thrift_begin(meta->bytes);

		allo_thrift_text(&pair, 1, facts[i].key);
		allo_thrift_text(&pair, 2, facts[i].value);
		allo_thrift_end(&pair);
	}
}

/* Readers ignore ranges without an order: that of the type. */
static void put_orders(struct allo_thrift *meta, size_t count)
{
	allo_thrift_list(meta, 7, ALLO_THRIFT_STRUCT, count);
	for (size_t i = 0; i < count; i++) {
		struct allo_thrift order = allo_thrift_begin(meta->bytes), type;

		type = allo_thrift_struct(&order, 1);
		allo_thrift_end(&type);
		allo_thrift_end(&order);
	}
}

bool allo_parquet_file_end(struct allo_parquet_file *file, const struct allo_parquet_fact *facts,
			   size_t fact_count, struct allo_error *err)
{
	ALLO_DEFER(allo_bytes_done) struct allo_bytes bytes = { 0 };
	struct allo_thrift meta = allo_thrift_begin(&bytes);
	uint32_t len;

	allo_thrift_i32(&meta, 1, FORMAT_VERSION);
	put_schema(&meta, file);
	allo_thrift_i64(&meta, 3, (int64_t)file->rows);
	allo_thrift_list(&meta, 4, ALLO_THRIFT_STRUCT, file->groups.len);
	for (size_t i = 0; i < file->groups.len; i++)
		put_group(&bytes, file, i);
	put_facts(&meta, facts, fact_count);
	allo_thrift_text(&meta, 6, ALLO_TEXT("allotrope version " ALLO_VERSION));
	put_orders(&meta, file->column_count);
	allo_thrift_end(&meta);
	if (bytes.is_lost)
		return allo_fail_memory(err);
	len = (uint32_t)bytes.len;
	send(file, bytes.at, bytes.len);
	send(file, &len, sizeof(len));
	send(file, magic, MAGIC_SIZE);
	return true;
}

void allo_parquet_file_done(struct allo_parquet_file *file)
{
	allo_vec_done(&file->groups);
	allo_vec_done(&file->chunks);
}
