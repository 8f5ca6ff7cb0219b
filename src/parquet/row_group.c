/* row_group.c - collects rows by column, and encodes each column as one page. */
#include "parquet/row_group.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "parquet/thrift.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	ZSTD_LEVEL = 3, /* 6 makes files 3 to 5 % smaller, and takes 2.5 times as long */
	/* In a group with several pages, whose indexes are large: 2 % less of the file. */
	ZSTD_LEVEL_OF_INDEXES = 6,

	/* Types of pages. */
	DATA_PAGE = 0,
	DICTIONARY_PAGE = 2,
};

/* A column of the group that is being encoded. */
struct column_pages {
	bool is_begun; /* a page had values, so the encoding is chosen */
	struct allo_column_chunk chunk;
	struct allo_number_dictionary dictionary;
	struct allo_bytes bytes; /* of data pages */
};

struct allo_row_packer {
	ZSTD_CCtx *zstd;
	struct allo_bytes page;
	size_t rows; /* of the group so far */
	struct column_pages columns[ALLO_PARQUET_COLUMNS];
	bool is_lost; /* out of memory */
};

struct allo_row_packer *allo_row_packer_new(void)
{
	struct allo_row_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	if (!packer->zstd) {
		free(packer);
		return NULL;
	}
	return packer;
}

void allo_row_packer_free(struct allo_row_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->zstd);
	allo_bytes_done(&packer->page);
	for (size_t i = 0; i < ALLO_PARQUET_COLUMNS; i++) {
		allo_number_dictionary_done(&packer->columns[i].dictionary);
		allo_bytes_done(&packer->columns[i].bytes);
	}
	free(packer);
}

struct allo_row_group *allo_row_group_new(struct allo_row_packer *packer)
{
	struct allo_row_group *group = calloc(1, sizeof(*group));

	if (group)
		group->packer = packer;
	return group;
}

void allo_row_group_free(struct allo_row_group *group)
{
	if (!group)
		return;
	for (size_t i = 0; i < ALLO_PARQUET_COLUMNS; i++) {
		allo_vec_done(&group->values[i].numbers);
		allo_vec_done(&group->values[i].is_there);
		allo_number_dictionary_done(&group->values[i].dictionary);
		allo_bytes_done(&group->values[i].text);
	}
	allo_bytes_done(&group->bytes);
	free(group);
}

void allo_row_group_begin(struct allo_row_group *group, const struct allo_parquet_column *columns,
			  size_t column_count)
{
	ALLO_ASSERT(column_count <= ALLO_PARQUET_COLUMNS);
	group->columns = columns;
	group->column_count = column_count;
	group->rows = group->bytes.len = 0;
	group->is_continued = false;
	for (size_t i = 0; i < column_count; i++) {
		struct allo_column_values *values = &group->values[i];

		values->count = values->numbers.len = values->is_there.len = values->text.len = 0;
		values->dictionary.values.len = values->dictionary.indexes.len = 0;
		values->is_varied = values->has_nulls = values->has_values = false;
		values->has_dictionary = false;
	}
}

/* Collecting. */

static bool are_all(const int64_t *numbers, size_t count, int64_t number)
{
	uint64_t differences = 0;

	for (size_t i = 0; i < count; i++)
		differences |= (uint64_t)numbers[i] ^ (uint64_t)number;
	return differences == 0;
}

static bool begin_varying(struct allo_column_values *values)
{
	if (!allo_vec_reserve(&values->numbers, values->count))
		return false;
	for (size_t i = 0; i < values->count; i++)
		values->numbers.at[i] = values->first;
	values->numbers.len = values->count;
	return values->is_varied = true;
}

bool allo_column_add_numbers(struct allo_column_values *values, const int64_t *numbers,
			     size_t count)
{
	if (count == 0)
		return true;
	if (values->count == 0)
		values->first = numbers[0];
	values->has_values = true;
	if (!values->is_varied) {
		if (are_all(numbers, count, values->first)) {
			values->count += count;
			return true;
		}
		if (!begin_varying(values))
			return false;
	}
	values->count += count;
	return allo_vec_append(&values->numbers, numbers, count);
}

/* Nulls are not in the values: a byte for each row says which there are, unless all are alike. */
bool allo_column_add_optional(struct allo_column_values *values, size_t row,
			      const uint8_t *is_there, size_t count, const int64_t *numbers,
			      size_t number_count)
{
	bool is_mixed, had_values = values->has_values;

	values->has_nulls |= number_count < count;
	values->has_values |= number_count > 0;
	is_mixed = values->has_nulls && values->has_values;
	if (is_mixed && values->is_there.len == 0) {
		if (!allo_vec_cover(&values->is_there, row))
			return false;
		if (row > 0)
			memset(values->is_there.at, had_values, row);
	}
	return (!is_mixed || allo_vec_append(&values->is_there, is_there, count)) &&
	       allo_column_add_numbers(values, numbers, number_count);
}

static void put_valid(struct allo_bytes *bytes, struct allo_text text)
{
	for (;;) {
		size_t valid = allo_utf8_valid_prefix(text);
		const char *nul = memchr(text.data, '\0', valid);

		if (nul)
			valid = (size_t)(nul - text.data);
		allo_bytes_put(bytes, text.data, valid);
		if (valid == text.len)
			return;
		allo_bytes_put(bytes, ALLO_UTF8_REPLACEMENT, strlen(ALLO_UTF8_REPLACEMENT));
		text = allo_text_from(text, valid + 1);
	}
}

/* Texts are UTF-8 without NUL, as in SQLite. */
bool allo_column_add_text(struct allo_column_values *values, struct allo_text text)
{
	size_t start = values->text.len;
	uint32_t len = 0;

	allo_bytes_put(&values->text, &len, sizeof(len));
	if (text.len > 0)
		put_valid(&values->text, text);
	if (values->text.is_lost)
		return false;
	len = (uint32_t)(values->text.len - start - sizeof(len));
	memcpy(values->text.at + start, &len, sizeof(len));
	values->count++;
	return true;
}

/* Encoding. */

static void put_plain(struct allo_bytes *bytes, enum allo_parquet_type type, const int64_t *numbers,
		      size_t count)
{
	unsigned char *to;

	if (type != ALLO_PARQUET_INT32) {
		allo_bytes_put(bytes, numbers, count * sizeof(*numbers));
		return;
	}
	to = allo_bytes_room(bytes, count * sizeof(int32_t));
	if (!to)
		return;
	for (size_t i = 0; i < count; i++) {
		int32_t number = (int32_t)numbers[i];

		memcpy(to + i * sizeof(number), &number, sizeof(number));
	}
	bytes->len += count * sizeof(int32_t);
}

static void put_page_header(struct allo_bytes *bytes, int type, size_t values,
			    enum allo_encoding encoding, size_t unpacked, size_t packed)
{
	struct allo_thrift header = allo_thrift_begin(bytes), page;

	allo_thrift_i32(&header, 1, type);
	allo_thrift_i32(&header, 2, (int32_t)unpacked);
	allo_thrift_i32(&header, 3, (int32_t)packed);
	page = allo_thrift_struct(&header, type == DATA_PAGE ? 5 : 7);
	allo_thrift_i32(&page, 1, (int32_t)values);
	allo_thrift_i32(&page, 2, encoding);
	if (type == DATA_PAGE) {
		allo_thrift_i32(&page, 3, ALLO_ENCODED_RUNS); /* of definition levels */
		allo_thrift_i32(&page, 4, ALLO_ENCODED_RUNS); /* of repetition levels: none */
	}
	allo_thrift_end(&page);
	allo_thrift_end(&header);
}

static void set_level(struct allo_row_packer *packer, int level)
{
	ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, level);
}

/* Packs the page that was encoded. */
static void put_page(struct allo_row_packer *packer, struct allo_bytes *to,
		     struct allo_column_chunk *chunk, int type, size_t values,
		     enum allo_encoding encoding)
{
	const struct allo_bytes *page = &packer->page;
	size_t bound = ZSTD_compressBound(page->len), header_at = to->len, len, head;
	unsigned char *body;

	/* The header has the packed size, and at most 64 bytes: pack behind it, and close up. */
	enum { HEADER_MOST = 64 };
	if (page->is_lost || !allo_bytes_room(to, HEADER_MOST + bound)) {
		packer->is_lost = true;
		return;
	}
	body = to->at + header_at + HEADER_MOST;
	len = ZSTD_compress2(packer->zstd, body, bound, page->at, page->len);
	if (ZSTD_isError(len)) {
		packer->is_lost = true;
		return;
	}
	put_page_header(to, type, values, encoding, page->len, len);
	head = to->len - header_at;
	ALLO_ASSERT(head <= HEADER_MOST);
	memmove(to->at + header_at + head, body, len);
	to->len += len;
	chunk->has_plain |= encoding == ALLO_ENCODED_PLAIN;
	chunk->unpacked += head + page->len;
	chunk->packed += head + len;
}

static bool is_less(enum allo_parquet_type type, int64_t a, int64_t b)
{
	double x, y;

	if (type != ALLO_PARQUET_DOUBLE)
		return a < b;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return x < y;
}

static bool is_nan(enum allo_parquet_type type, int64_t number)
{
	return type == ALLO_PARQUET_DOUBLE && !is_less(type, number, number) &&
	       ((uint64_t)number & INT64_MAX) > UINT64_C(0x7ff) << 52;
}

/* Readers skip groups by it.  NaN has no place in a range. */
static void widen_range(struct allo_column_chunk *chunk, enum allo_parquet_type type,
			const int64_t *numbers, size_t count, bool is_first)
{
	if (is_first) {
		chunk->least = chunk->most = numbers[0];
		chunk->has_range = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (is_less(type, numbers[i], chunk->least))
			chunk->least = numbers[i];
		if (is_less(type, chunk->most, numbers[i]))
			chunk->most = numbers[i];
		if (type == ALLO_PARQUET_DOUBLE && is_nan(type, numbers[i]))
			chunk->has_range = false;
	}
}

/* The first page chooses between a dictionary and the numbers, for all pages of the group. */
static bool may_index(const struct column_pages *pages, const struct allo_column_values *values,
		      bool is_steady)
{
	if (pages->is_begun)
		return pages->chunk.encoding == ALLO_ENCODED_DICTIONARY;
	if (values->has_dictionary)
		return values->dictionary.values.len <= values->count / 2 + 1;
	return !is_steady;
}

/* The indexes of the page's values: one if they are all the same.  NULL: take the numbers. */
static const uint32_t *find_indexes(struct column_pages *pages,
				    const struct allo_column_values *values, bool is_steady)
{
	size_t most = pages->is_begun ? SIZE_MAX : values->count / 2 + 1;

	if (!may_index(pages, values, is_steady))
		return NULL;
	if (values->has_dictionary)
		return values->dictionary.indexes.at;
	if (!allo_number_dictionary_fill(&pages->dictionary,
					 values->is_varied ? values->numbers.at : &values->first,
					 values->is_varied ? values->count : 1, most))
		return NULL;
	return pages->dictionary.indexes.at;
}

/* Writes the numbers in place of a constant, or of indexes. */
static bool spell_out(const struct column_pages *pages, struct allo_column_values *values)
{
	const struct allo_number_dictionary *dictionary = &pages->dictionary;

	if (!values->has_dictionary)
		return values->is_varied || begin_varying(values);
	if (!allo_vec_reserve(&values->numbers, values->count))
		return false;
	for (size_t i = 0; i < values->count; i++)
		values->numbers.at[i] = dictionary->values.at[values->dictionary.indexes.at[i]];
	values->numbers.len = values->count;
	return true;
}

/* Wide indexes take whole bytes: zstd then finds sequences of stacks and sizes that come again. */
static unsigned index_width(size_t distinct)
{
	unsigned width = allo_bits_of(distinct - 1);

	return width > 8 ? (width + 7) / 8 * 8 : width;
}

static void encode_indexes(const struct column_pages *pages,
			   const struct allo_column_values *values, const uint32_t *indexes,
			   struct allo_bytes *page)
{
	unsigned width = index_width(pages->dictionary.values.len);

	allo_bytes_put_byte(page, (unsigned char)width);
	if (values->is_varied || values->has_dictionary)
		allo_encode_runs(page, indexes, values->count, width);
	else
		allo_encode_run(page, indexes[0], values->count, width);
}

static enum allo_encoding encode_numbers(struct allo_row_group *group,
					 const struct allo_parquet_column *column,
					 struct allo_column_values *values,
					 struct column_pages *pages)
{
	struct allo_row_packer *packer = group->packer;
	/* A constant is one value in a dictionary, unless differences may come in the next page. */
	bool is_steady = column->is_steady && (values->is_varied || group->is_continued);
	const uint32_t *indexes;

	if (values->has_dictionary &&
	    !allo_vec_append(&pages->dictionary.values, values->dictionary.values.at,
			     values->dictionary.values.len)) {
		packer->is_lost = true;
		return ALLO_ENCODED_PLAIN;
	}
	indexes = find_indexes(pages, values, is_steady);
	if (indexes) {
		encode_indexes(pages, values, indexes, &packer->page);
		return ALLO_ENCODED_DICTIONARY;
	}
	if ((pages->is_begun && pages->chunk.encoding == ALLO_ENCODED_DICTIONARY) ||
	    !spell_out(pages, values)) {
		packer->is_lost = true;
		return ALLO_ENCODED_PLAIN;
	}
	widen_range(&pages->chunk, column->type, values->numbers.at, values->count,
		    !pages->is_begun);
	if (column->type == ALLO_PARQUET_DOUBLE) {
		put_plain(&packer->page, column->type, values->numbers.at, values->count);
		return ALLO_ENCODED_PLAIN;
	}
	allo_encode_deltas(&packer->page, values->numbers.at, values->count);
	return ALLO_ENCODED_DELTA;
}

static int level_of(const struct allo_row_group *group, enum allo_encoding encoding)
{
	bool has_several = group->is_continued || group->packer->rows > group->rows;

	return has_several && encoding == ALLO_ENCODED_DICTIONARY ? ZSTD_LEVEL_OF_INDEXES
								  : ZSTD_LEVEL;
}

/* Nulls need no encoding, and do not choose one. */
static void encode_page(struct allo_row_group *group, size_t index)
{
	const struct allo_parquet_column *column = &group->columns[index];
	struct allo_column_values *values = &group->values[index];
	struct column_pages *pages = &group->packer->columns[index];
	struct allo_bytes *page = &group->packer->page;
	enum allo_encoding encoding = ALLO_ENCODED_PLAIN;

	ALLO_ASSERT(column->may_be_null || group->rows == values->count);
	pages->chunk.null_count += group->rows - values->count;
	page->len = 0;
	if (column->may_be_null)
		allo_encode_presence(page, values->is_there.len ? values->is_there.at : NULL,
				     values->has_values, group->rows);
	if (column->type == ALLO_PARQUET_TEXT) {
		allo_bytes_put(page, values->text.at, values->text.len);
	} else if (values->count > 0) {
		encoding = encode_numbers(group, column, values, pages);
		pages->chunk.encoding = encoding;
		pages->is_begun = true;
	}
	set_level(group->packer, level_of(group, encoding));
	put_page(group->packer, &pages->bytes, &pages->chunk, DATA_PAGE, group->rows, encoding);
}

/* The whole group. */

static void begin_pages(struct allo_row_packer *packer, size_t column_count)
{
	for (size_t i = 0; i < column_count; i++) {
		struct column_pages *pages = &packer->columns[i];

		pages->is_begun = false;
		pages->chunk = (struct allo_column_chunk){ .encoding = ALLO_ENCODED_PLAIN };
		pages->bytes.len = 0;
		allo_number_dictionary_clear(&pages->dictionary);
	}
}

static void end_pages(struct allo_row_group *group, size_t index)
{
	struct allo_row_packer *packer = group->packer;
	struct column_pages *pages = &packer->columns[index];
	const struct allo_number_dictionary *dictionary = &pages->dictionary;
	enum allo_parquet_type type = group->columns[index].type;

	pages->chunk.start = group->bytes.len;
	if (pages->chunk.encoding == ALLO_ENCODED_DICTIONARY) {
		packer->page.len = 0;
		put_plain(&packer->page, type, dictionary->values.at, dictionary->values.len);
		put_page(packer, &group->bytes, &pages->chunk, DICTIONARY_PAGE,
			 dictionary->values.len, ALLO_ENCODED_PLAIN);
		widen_range(&pages->chunk, type, dictionary->values.at, dictionary->values.len,
			    true);
	}
	pages->chunk.data_start = group->bytes.len;
	allo_bytes_put(&group->bytes, pages->bytes.at, pages->bytes.len);
	group->chunks[index] = pages->chunk;
}

void allo_row_group_encode(void *work)
{
	struct allo_row_group *group = work;
	struct allo_row_packer *packer = group->packer;

	if (packer->rows == 0)
		begin_pages(packer, group->column_count);
	packer->rows += group->rows;
	ALLO_ASSERT(packer->rows > 0);
	for (size_t i = 0; i < group->column_count && group->rows > 0 && !packer->is_lost; i++)
		encode_page(group, i);
	if (!group->is_continued) {
		set_level(packer, ZSTD_LEVEL);
		for (size_t i = 0; i < group->column_count && !packer->is_lost; i++)
			end_pages(group, i);
		group->all_rows = packer->rows;
		packer->rows = 0;
	}
	group->is_lost = packer->is_lost |= group->bytes.is_lost;
}
