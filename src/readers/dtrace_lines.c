/* dtrace_lines.c - see dtrace_lines.h. */
#include "readers/dtrace_lines.h"

enum {
	USUAL_INDENT = 14, /* of frames */
	NAME_COLUMNS = 50, /* of a string */
	WIDE_COLUMNS = 17, /* of an integer of 64 bits, with the space before it */
};

size_t allo_dtrace_indent(struct allo_text line)
{
	size_t indent = 0;

	while (indent < line.len && (line.data[indent] == ' ' || line.data[indent] == '\t'))
		indent++;
	return indent;
}

/* Takes a word off the front, and the white space before it. */
static bool take_word(struct allo_text *rest, struct allo_text *word)
{
	*rest = allo_text_from(*rest, allo_dtrace_indent(*rest));
	word->data = rest->data;
	word->len = 0;
	while (word->len < rest->len && rest->data[word->len] != ' ' &&
	       rest->data[word->len] != '\t')
		word->len++;
	*rest = allo_text_from(*rest, word->len);
	return word->len > 0;
}

/* Whether a word is a decimal number, perhaps negative; what does not fit is the largest one. */
static bool parse_number(struct allo_text word, struct allo_dtrace_key *key)
{
	struct allo_text digits = word;

	key->is_negative = allo_text_skip(&digits, ALLO_TEXT("-"));
	if (digits.len == 0)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (!allo_is_digit(digits.data[i]))
			return false;
	}
	if (!allo_text_u64(digits, &key->number))
		key->number = UINT64_MAX;
	return true;
}

static bool is_number(struct allo_text word)
{
	struct allo_dtrace_key ignored;

	return parse_number(word, &ignored);
}

static bool is_numbers(struct allo_text text)
{
	struct allo_text word;

	while (take_word(&text, &word)) {
		if (!is_number(word))
			return false;
	}
	return true;
}

bool allo_dtrace_is_plain(struct allo_text text)
{
	uint64_t ignored;

	return memchr(text.data, '`', text.len) ||
	       (allo_text_skip(&text, ALLO_TEXT("0x")) && allo_text_hex(text, &ignored));
}

/* "  3  71232                        :tick-10s", in columns of 3, 6 and 32, or what -F makes of it:
 * "  3  -> main". */
static bool is_probe(struct allo_text line)
{
	struct allo_text rest = line, cpu, id, name;

	if (!take_word(&rest, &cpu) || !is_number(cpu) || !take_word(&rest, &id))
		return false;
	if (allo_text_equal(id, ALLO_TEXT("->")) || allo_text_equal(id, ALLO_TEXT("<-")) ||
	    allo_text_equal(id, ALLO_TEXT("=>")) || allo_text_equal(id, ALLO_TEXT("<=")) ||
	    allo_text_equal(id, ALLO_TEXT("|")))
		return true;
	return is_number(id) && take_word(&rest, &name) && memchr(name.data, ':', name.len) &&
	       allo_dtrace_indent(rest) == rest.len && line.len >= 3 + 1 + 6 + 1 + 32;
}

static bool is_probe_head(struct allo_text line)
{
	struct allo_text word;

	return take_word(&line, &word) && allo_text_equal(word, ALLO_TEXT("CPU")) &&
	       take_word(&line, &word) &&
	       (allo_text_equal(word, ALLO_TEXT("ID")) ||
		allo_text_equal(word, ALLO_TEXT("FUNCTION")));
}

static bool is_annotation(struct allo_text text)
{
	return allo_text_starts(text, ALLO_TEXT("[ ")) && allo_text_ends(text, ALLO_TEXT(" ]"));
}

/* Whether the text that is so far indented is a frame.  One without a module and not an address, as
 * helpers for languages print it, is known by its place alone. */
static bool is_frame(struct allo_text text, size_t indent, size_t usual)
{
	struct allo_text rest = text, word;

	/* Two columns are what keys have that are names, of symbols as well. */
	if (allo_dtrace_is_plain(text))
		return usual ? indent == usual || indent >= ALLO_DTRACE_INDENT : indent != 2;
	return indent == (usual ? usual : USUAL_INDENT) && take_word(&rest, &word) &&
	       !is_number(word);
}

enum allo_dtrace_line allo_dtrace_line_of(struct allo_text line, size_t indent)
{
	size_t own = allo_dtrace_indent(line);
	struct allo_text text = allo_text_from(line, own);

	if (text.len == 0)
		return ALLO_DTRACE_BLANK;
	if (own == 0 && allo_text_starts(text, ALLO_TEXT("dtrace: ")))
		return ALLO_DTRACE_NOTICE;
	if (is_numbers(text))
		return ALLO_DTRACE_NUMBERS;
	if (allo_text_find(text, ALLO_TEXT("------------- Distribution -------------")) !=
	    (size_t)-1)
		return ALLO_DTRACE_TABLE;
	if (is_probe_head(text) || is_probe(line))
		return ALLO_DTRACE_PROBE;
	if (own > (indent ? indent : ALLO_DTRACE_INDENT) && is_annotation(text))
		return ALLO_DTRACE_ANNOTATION;
	return is_frame(text, own, indent) ? ALLO_DTRACE_FRAME : ALLO_DTRACE_WORDS;
}

uint64_t allo_dtrace_drops(struct allo_text notice)
{
	struct allo_dtrace_key number = { 0 };
	struct allo_text rest = notice, word;

	if (!allo_text_skip(&rest, ALLO_TEXT("dtrace: ")) || !take_word(&rest, &word))
		return 0;
	if (word.data[0] == '[' && !take_word(&rest, &word)) /* -x droptags */
		return 0;
	if (allo_text_find(rest, ALLO_TEXT(" drop")) == (size_t)-1 || !parse_number(word, &number))
		return 0;
	return number.number;
}

/* A name goes on until two spaces or the end of its columns. */
static struct allo_text name_at(struct allo_text text)
{
	size_t len = 0;

	while (len < text.len &&
	       !(text.data[len] == ' ' &&
		 (len >= NAME_COLUMNS || len + 1 == text.len || text.data[len + 1] == ' ')))
		len++;
	return (struct allo_text){ text.data, len };
}

size_t allo_dtrace_split(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS])
{
	struct allo_text rest = line, word;
	size_t count = 0;

	while (take_word(&rest, &word)) {
		struct allo_dtrace_key *key = &keys[count++];

		if (count > ALLO_DTRACE_KEYS)
			break;
		*key = (struct allo_dtrace_key){ .text = word };
		key->is_number = parse_number(word, key);
		key->is_wide = (size_t)(word.data + word.len - line.data) == WIDE_COLUMNS;
		if (key->is_number)
			continue;
		rest = (struct allo_text){ word.data, word.len + rest.len };
		key->text = name_at(rest);
		rest = allo_text_from(rest, key->text.len);
	}
	return count;
}

size_t allo_dtrace_split_words(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS])
{
	size_t count = 0;
	struct allo_text word;

	while (take_word(&line, &word)) {
		struct allo_dtrace_key *key = &keys[count++];

		if (count > ALLO_DTRACE_KEYS)
			break;
		*key = (struct allo_dtrace_key){ .text = word };
		key->is_number = parse_number(word, key);
	}
	return count;
}
