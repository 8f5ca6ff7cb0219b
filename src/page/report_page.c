#include "page/report_page.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/xml.h"
#include "base/io/input.h"
#include "page/page.h"

#include <stdio.h>
#include <string.h>

/* Places in the page: see viewer/src/index.html and viewer/build.mjs. */
static const struct allo_text script_mark = ALLO_TEXT_INIT("<!--allo:script-->\n<script>");
static const struct allo_text script_end = ALLO_TEXT_INIT("</script>");
static const struct allo_text data_mark = ALLO_TEXT_INIT("<!--allo:data-->");
static const struct allo_text connections = ALLO_TEXT_INIT("; connect-src 'self'");

/*
 * Text with 7 bits a character of ASCII: 1.14 bytes a byte, where base64 has 1.33.
 *
 * HTML does not keep NUL and CR, and '<' may end an element.  Each of them is one character with
 * the 7 bits after it: U+0080, U+0100 or U+0180, plus these bits.  If there are none, U+0200 is
 * added. viewer/src/embedded.ts reads it.
 */
static const char not_kept[] = { '\0', '\r', '<' };

struct sevens {
	struct allo_output *out;
	unsigned waiting; /* 1 + index of one that is not kept; 0: none */
};

static void put_two_bytes(struct allo_output *out, unsigned character)
{
	allo_output_byte(out, (char)(0xc0 | character >> 6));
	allo_output_byte(out, (char)(0x80 | (character & 0x3f)));
}

static void put_seven(struct sevens *sevens, unsigned bits)
{
	const char *found;

	if (sevens->waiting) {
		put_two_bytes(sevens->out, sevens->waiting << 7 | bits);
		sevens->waiting = 0;
		return;
	}
	found = memchr(not_kept, (int)bits, sizeof(not_kept));
	if (found)
		sevens->waiting = (unsigned)(found - not_kept) + 1;
	else
		allo_output_byte(sevens->out, (char)bits);
}

static void put_base128(struct allo_output *out, struct allo_text bytes)
{
	struct sevens sevens = { out, 0 };
	unsigned bits = 0, count = 0;

	for (size_t i = 0; i < bytes.len; i++) {
		bits = (bits & 0x7f) << 8 | (unsigned char)bytes.data[i];
		for (count += 8; count >= 7; count -= 7)
			put_seven(&sevens, bits >> (count - 7) & 0x7f);
	}
	if (count > 0)
		put_seven(&sevens, bits << (7 - count) & 0x7f);
	if (sevens.waiting)
		put_two_bytes(out, 0x200 | (unsigned char)not_kept[sevens.waiting - 1]);
}

static bool open_packed(struct allo_output *packed, struct allo_error *err)
{
	return allo_output_open_memory(packed,
				       &(struct allo_output_options){ .packing = ALLO_GZIP }, err);
}

static void begin_element(struct allo_output *out, const char *id)
{
	allo_output_printf(out, "<script type=\"application/octet-stream;base128\" id=\"%s\"", id);
}

static void end_element(struct allo_output *out, struct allo_text packed)
{
	allo_output_string(out, ">");
	put_base128(out, packed);
	allo_output_string(out, "</script>\n");
}

static bool put_part(const struct allo_report_part *part, struct allo_output *out,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output packed = { .fd = -1 };

	if (!open_packed(&packed, err))
		return false;
	allo_output_text(&packed, part->bytes);
	if (!allo_output_finish(&packed, err))
		return false;
	begin_element(out, part->id);
	end_element(out, allo_output_memory(&packed));
	return true;
}

/* A compressed file is stored unpacked: the page then needs to know only one compression. */
static bool put_file(const struct allo_report_file *file, size_t number, struct allo_output *out,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output packed = { .fd = -1 };
	char bytes[32768], id[32];
	size_t count;

	if (!allo_input_open(&in, file->path, NULL, err) || !open_packed(&packed, err))
		return false;
	while ((count = allo_input_take(&in, bytes, sizeof(bytes), err)) > 0)
		allo_output_bytes(&packed, bytes, count);
	if (allo_failed(err) || !allo_output_finish(&packed, err))
		return false;
	snprintf(id, sizeof(id), "allo-file-%zu", number);
	begin_element(out, id);
	allo_output_string(out, " data-name=\"");
	allo_xml_text(out, allo_text_of(file->name));
	allo_output_string(out, "\"");
	end_element(out, allo_output_memory(&packed));
	return true;
}

static bool put_data(const struct allo_report_page *page, struct allo_output *out,
		     struct allo_error *err)
{
	if (page->engine.len > 0) {
		begin_element(out, "allo-engine");
		end_element(out, page->engine);
	}
	for (size_t i = 0; i < page->part_count; i++) {
		if (!put_part(&page->parts[i], out, err))
			return false;
	}
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

/* Cuts the page at its script, which becomes a part like others: boot.ts runs it. */
static struct allo_text take_script(struct allo_text *html, struct allo_text *after)
{
	size_t at = allo_text_find(*html, script_mark), end;
	struct allo_text script;

	ALLO_ASSERT(at != (size_t)-1);
	script = allo_text_from(*html, at + script_mark.len);
	end = allo_text_find(script, script_end);
	ALLO_ASSERT(end != (size_t)-1);
	*after = allo_text_from(script, end + script_end.len);
	html->len = at;
	script.len = end;
	return script;
}

bool allo_report_page_write(const struct allo_report_page *page, struct allo_output *out,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_text packed = allo_page_gzip(), html, rest, after;
	struct allo_report_part script = { .id = "allo-script" };

	if (!allo_input_open_memory(&in, "page", packed.data, packed.len, err) ||
	    !allo_input_all(&in, &html, err))
		return false;
	script.bytes = take_script(&html, &after);
	/* A report makes no connection, so its policy allows none. */
	rest = copy_to(html, connections, out);
	rest = copy_to(rest, data_mark, out);
	if (!put_data(page, out, err) || !put_part(&script, out, err))
		return false;
	allo_output_text(out, rest);
	allo_output_text(out, after);
	return true;
}
