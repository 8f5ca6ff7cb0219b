#include "page/report_page.h"

#include "base/defer.h"
#include "base/input.h"
#include "base/xml.h"
#include "page/page.h"

/* Places in the page: see viewer/src/index.html and viewer/build.mjs. */
static const struct allo_text data_mark = ALLO_TEXT_INIT("<!--allo:data-->");
static const struct allo_text connections = ALLO_TEXT_INIT("; connect-src 'self'");

static void put_base64(struct allo_output *out, struct allo_text bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = (const unsigned char *)bytes.data;

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		unsigned group = (unsigned)at[i] << 16 | (left > 1 ? at[i + 1] << 8 : 0) |
				 (left > 2 ? at[i + 2] : 0);
		const char text[4] = { digits[group >> 18], digits[group >> 12 & 63],
				       left > 1 ? digits[group >> 6 & 63] : '=',
				       left > 2 ? digits[group & 63] : '=' };

		allo_output_bytes(out, text, sizeof(text));
	}
}

/* A compressed file is stored unpacked: the page then needs to know only one compression. */
static bool put_file(const struct allo_report_file *file, size_t number, struct allo_output *out,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output packed = { .fd = -1 };
	char bytes[32768];
	size_t count;

	if (!allo_input_open(&in, file->path, NULL, err) ||
	    !allo_output_open_memory(&packed, &(struct allo_output_options){ .packing = ALLO_GZIP },
				     err))
		return false;
	while ((count = allo_input_take(&in, bytes, sizeof(bytes), err)) > 0)
		allo_output_bytes(&packed, bytes, count);
	if (allo_failed(err) || !allo_output_finish(&packed, err))
		return false;
	allo_output_printf(out,
			   "<script type=\"application/octet-stream;base64\" "
			   "id=\"allo-file-%zu\" data-name=\"",
			   number);
	allo_xml_text(out, allo_text_of(file->name));
	allo_output_string(out, "\">");
	put_base64(out, allo_output_memory(&packed));
	allo_output_string(out, "</script>\n");
	return true;
}

static bool put_data(const struct allo_report_page *page, struct allo_output *out,
		     struct allo_error *err)
{
	allo_output_string(out,
			   "<script type=\"application/octet-stream;base64\" id=\"allo-engine\">");
	put_base64(out, page->engine);
	allo_output_string(out, "</script>\n");
	for (size_t i = 0; i < page->file_count; i++) {
		if (!put_file(&page->files[i], i, out, err))
			return false;
	}
	return true;
}

/* Copies the text up to a mark, and returns the rest after it. */
static struct allo_text copy_to(struct allo_text text, struct allo_text mark,
				struct allo_output *out)
{
	size_t at = allo_text_find(text, mark);

	if (at == (size_t)-1)
		return text;
	allo_output_text(out, (struct allo_text){ text.data, at });
	return allo_text_from(text, at + mark.len);
}

bool allo_report_page_write(const struct allo_report_page *page, struct allo_output *out,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_text packed = allo_page_gzip(), html, rest;

	if (!allo_input_open_memory(&in, "page", packed.data, packed.len, err) ||
	    !allo_input_all(&in, &html, err))
		return false;
	/* A report makes no connection, so its policy allows none. */
	rest = copy_to(html, connections, out);
	rest = copy_to(rest, data_mark, out);
	if (!put_data(page, out, err))
		return false;
	allo_output_text(out, rest);
	return true;
}
