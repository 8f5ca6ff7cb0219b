/* dhat_points.c - the parser of program points: most of the time of reading DHAT files. */
#include "readers/dhat/dhat_points.h"

#include "base/assert.h"
#include "base/encoding/json_read.h"

#include <stdlib.h>

void allo_dhat_chunk_done(struct allo_dhat_chunk *chunk)
{
	free(chunk->text);
	allo_vec_done(&chunk->points);
	allo_vec_done(&chunk->frames);
	allo_vec_done(&chunk->accesses);
	*chunk = (struct allo_dhat_chunk){ 0 };
}

/*
 * The text ends in a NUL, which cannot be part of a point: loops stop there without a bounds check,
 * and fail() recognises the end of the text.
 */
struct parser {
	struct allo_dhat_chunk *chunk;
	const char *at;
	const char *end;
	struct allo_dhat_point *point;
	struct allo_notes notes; /* of the current point: it may be parsed again later */
	bool has_notes;
};

static void note(struct parser *p, enum allo_note kind, const char *at)
{
	allo_note(&p->notes, kind, (struct allo_pos){ .byte = (uint64_t)(at - p->chunk->text) });
	p->has_notes = true;
}

static bool fail(struct parser *p, const char *expected)
{
	struct allo_dhat_chunk *chunk = p->chunk;
	struct allo_pos pos = { .byte = (uint64_t)(p->at - chunk->text) };
	unsigned char c = (unsigned char)*p->at;

	if (p->at >= p->end) {
		chunk->status = ALLO_DHAT_INSIDE;
		return false;
	}
	chunk->status = ALLO_DHAT_FAILED;
	if (c < 0x20 || c >= 0x7f)
		return allo_fail(&chunk->failure, ALLO_FORMAT, pos,
				 "expected %s, found byte 0x%02x", expected, c);
	return allo_fail(&chunk->failure, ALLO_FORMAT, pos, "expected %s, found '%c'", expected, c);
}

static bool no_memory(struct parser *p)
{
	p->chunk->status = ALLO_DHAT_FAILED;
	return allo_fail_memory(&p->chunk->failure);
}

static bool fail_depth(struct parser *p)
{
	p->chunk->status = ALLO_DHAT_FAILED;
	return allo_fail(&p->chunk->failure, ALLO_LIMIT,
			 (struct allo_pos){ .byte = (uint64_t)(p->at - p->chunk->text) },
			 "nested deeper than %d levels", ALLO_JSON_DEPTH_MAX);
}

static inline void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')
		p->at++;
}

static inline bool take(struct parser *p, char byte, const char *expected)
{
	skip_space(p);
	if (*p->at != byte)
		return fail(p, expected);
	p->at++;
	return true;
}

/* A number with a sign, a fraction, an exponent or more than 19 digits. */
static bool parse_odd_number(struct parser *p, uint64_t *value)
{
	struct allo_text number = { p->at, strspn(p->at, "+-.0123456789Ee") };
	struct allo_pos pos = { .byte = (uint64_t)(p->at - p->chunk->text) };

	if (p->at + number.len >= p->end) {
		p->at = p->end;
		return fail(p, "a number");
	}
	if (number.len == 0 || !(allo_is_digit(number.data[0]) || number.data[0] == '-'))
		return fail(p, "a number");
	if (!allo_json_text_u64(number, value)) {
		p->chunk->status = ALLO_DHAT_FAILED;
		return allo_fail(&p->chunk->failure, ALLO_FORMAT, pos,
				 "expected a number from 0 to 18446744073709551615, found %.*s",
				 ALLO_TEXT_ARG(number));
	}
	if (allo_text_find(number, ALLO_TEXT(".")) != (size_t)-1)
		note(p, ALLO_NOTE_FRACTION, number.data);
	p->at += number.len;
	return true;
}

static inline bool parse_number(struct parser *p, uint64_t *value)
{
	const char *start, *at;
	uint64_t sum = 0;

	skip_space(p);
	start = at = p->at;
	for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++)
		sum = sum * 10 + digit;
	/* Nineteen digits always fit. */
	if (at == start || at - start > 19 || *at == '.' || *at == 'e' || *at == 'E' ||
	    (*start == '0' && at - start > 1))
		return parse_odd_number(p, value);
	p->at = at;
	*value = sum;
	return true;
}

/* At '"'; skips a string without looking at it. */
static bool skip_string(struct parser *p)
{
	for (p->at++; *p->at != '"'; p->at++) {
		if (*p->at == '\\' && p->at + 1 < p->end)
			p->at++;
		else if ((unsigned char)*p->at < 0x20)
			return fail(p, "the end of a string");
	}
	p->at++;
	return true;
}

/* Skips the value of an unknown key: any JSON.  Brackets need not match in kind, only in number. */
static bool skip_value(struct parser *p)
{
	unsigned depth = 0;

	do {
		skip_space(p);
		switch (*p->at) {
		case '{':
		case '[':
			if (++depth > ALLO_JSON_DEPTH_MAX)
				return fail_depth(p);
			p->at++;
			continue;
		case '}':
		case ']':
			if (depth == 0)
				return fail(p, "a value");
			depth--;
			p->at++;
			continue;
		case ',':
		case ':':
			if (depth == 0)
				return fail(p, "a value");
			p->at++;
			continue;
		case '"':
			if (!skip_string(p))
				return false;
			continue;
		default: {
			size_t len = strspn(p->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

			if (len == 0)
				return fail(p, "a value");
			p->at += len;
		}
		}
	} while (depth > 0);
	return true;
}

static bool parse_stack(struct parser *p)
{
	struct allo_dhat_chunk *chunk = p->chunk;
	size_t before = chunk->frames.len;

	skip_space(p);
	if (*p->at == ']') {
		/* Valgrind omits the bracket if it has filtered out all frames. */
		note(p, ALLO_NOTE_FS_BRACKET, p->at);
		p->at++;
		return true;
	}
	if (!take(p, '[', "an array of frame numbers"))
		return false;
	skip_space(p);
	if (*p->at == ']') {
		p->at++;
		return true;
	}
	for (;;) {
		uint64_t frame;
		uint32_t *slot;

		if (!parse_number(p, &frame))
			return false;
		slot = allo_vec_push(&chunk->frames);
		if (!slot)
			return no_memory(p);
		*slot = frame < UINT32_MAX ? (uint32_t)frame : UINT32_MAX;
		if (*p->at != ',') {
			skip_space(p);
			if (*p->at == ']')
				break;
			if (*p->at != ',')
				return fail(p, "',' or ']'");
		}
		p->at++;
	}
	p->at++;
	p->point->frame_count = (uint32_t)(chunk->frames.len - before);
	return true;
}

/* Access counts are most of Valgrind's files.  If they are not wanted, only check that they
 * are not words: take the maximum byte, which vectorises; nothing above '9' is valid here. */
static bool skip_accesses(struct parser *p)
{
	const unsigned char *close;
	unsigned char largest = 0;

	if (!take(p, '[', "an array of access counts"))
		return false;
	close = memchr(p->at, ']', (size_t)(p->end - p->at));
	if (!close) {
		p->at = p->end;
		return fail(p, "']'");
	}
	for (const unsigned char *c = (const unsigned char *)p->at; c < close; c++)
		largest = *c > largest ? *c : largest;
	if (largest > '9')
		return fail(p, "an array of access counts");
	p->at = (const char *)close + 1;
	return true;
}

/* A count, or minus the length of a run, which its count must follow. */
static bool parse_access(struct parser *p, bool is_run)
{
	const char *start = p->at;
	uint64_t number;
	int32_t *slot;

	p->at += is_run;
	if (!parse_number(p, &number))
		return false;
	if (number > INT32_MAX || (is_run && number == 0)) {
		p->at = start;
		return fail(p, "an access count below 2^31");
	}
	slot = allo_vec_push(&p->chunk->accesses);
	if (!slot)
		return no_memory(p);
	*slot = is_run ? -(int32_t)number : (int32_t)number;
	return true;
}

static bool parse_accesses(struct parser *p)
{
	size_t before = p->chunk->accesses.len;
	bool is_run = false;

	if (!take(p, '[', "an array of access counts"))
		return false;
	skip_space(p);
	while (*p->at != ']') {
		if (is_run && *p->at == '-')
			return fail(p, "the access count of a run");
		is_run = *p->at == '-';
		if (!parse_access(p, is_run))
			return false;
		skip_space(p);
		if (*p->at == ']' && !is_run)
			break;
		if (!take(p, ',', is_run ? "',' and the access count of a run" : "',' or ']'"))
			return false;
		skip_space(p);
		if (*p->at == ']')
			return fail(p, "an access count");
	}
	p->at++;
	p->point->access_count = (uint32_t)(p->chunk->accesses.len - before);
	return true;
}

#define KEY2(a, b)    ((unsigned)(a) | (unsigned)(b) << 8)
#define KEY3(a, b, c) (KEY2(a, b) | (unsigned)(c) << 16)

/* The key after the quote at `at`, as KEY2 or KEY3; 0 if it has another length. */
static inline unsigned short_key(const char *at)
{
	const unsigned char *key = (const unsigned char *)at + 1;

	/* The NUL after the text stops this from reading too far. */
	if (key[0] == '\0' || key[1] == '\0')
		return 0;
	if (key[2] == '"')
		return KEY2(key[0], key[1]);
	return key[2] != '\0' && key[3] == '"' ? KEY3(key[0], key[1], key[2]) : 0;
}

static inline int value_of_key(unsigned key)
{
	switch (key) {
	case KEY2('t', 'b'):
		return ALLO_DHAT_TB;
	case KEY3('t', 'b', 'k'):
		return ALLO_DHAT_TBK;
	case KEY2('t', 'l'):
		return ALLO_DHAT_TL;
	case KEY2('m', 'b'):
		return ALLO_DHAT_MB;
	case KEY3('m', 'b', 'k'):
		return ALLO_DHAT_MBK;
	case KEY2('g', 'b'):
		return ALLO_DHAT_GB;
	case KEY3('g', 'b', 'k'):
		return ALLO_DHAT_GBK;
	case KEY2('e', 'b'):
		return ALLO_DHAT_EB;
	case KEY3('e', 'b', 'k'):
		return ALLO_DHAT_EBK;
	case KEY2('r', 'b'):
		return ALLO_DHAT_RB;
	case KEY2('w', 'b'):
		return ALLO_DHAT_WB;
	default:
		return -1;
	}
}

/* Marks a part of the point as present; it must not be already. */
static inline bool mark(struct parser *p, uint32_t bit, const char *key)
{
	if (p->point->present & bit) {
		p->at = key;
		p->chunk->status = ALLO_DHAT_FAILED;
		return allo_fail(&p->chunk->failure, ALLO_FORMAT,
				 (struct allo_pos){ .byte = (uint64_t)(key - p->chunk->text) },
				 "the key %.*s appears twice in one program point",
				 key[3] == '"' ? 4 : 5, key);
	}
	p->point->present |= bit;
	return true;
}

static bool parse_long_member(struct parser *p, unsigned code, const char *key)
{
	switch (code) {
	case KEY2('f', 's'):
		return mark(p, ALLO_DHAT_HAS_FS, key) && parse_stack(p);
	case KEY3('a', 'c', 'c'):
		skip_space(p);
		if (*p->at == 'n') /* null means absent */
			return skip_value(p);
		if (!mark(p, ALLO_DHAT_HAS_ACC, key))
			return false;
		return p->chunk->keep_accesses ? parse_accesses(p) : skip_accesses(p);
	default:
		return skip_value(p);
	}
}

static inline bool parse_member(struct parser *p)
{
	const char *key = p->at;
	unsigned code;
	int value;

	if (*key != '"')
		return fail(p, "a key in quotes");
	code = short_key(key);
	value = value_of_key(code);
	/* An unknown key may contain an escaped quote where it seems to end. */
	if (value >= 0 || code == KEY2('f', 's') || code == KEY3('a', 'c', 'c'))
		p->at += code >> 16 ? 5 : 4;
	else if (!skip_string(p))
		return false;
	if (!take(p, ':', "':'"))
		return false;
	if (value < 0)
		return parse_long_member(p, code, key);
	return mark(p, 1u << value, key) && parse_number(p, &p->point->values[value]);
}

static bool check_complete(struct parser *p)
{
	static const char *const names[] = { "tbk", "tb", "mbk", "mb", "gbk", "gb", "ebk",
					     "eb",  "tl", "rb",  "wb", "acc", "fs" };
	uint32_t missing = p->chunk->required & ~p->point->present;

	if (missing == 0)
		return true;
	p->chunk->status = ALLO_DHAT_FAILED;
	return allo_fail(&p->chunk->failure, ALLO_FORMAT,
			 (struct allo_pos){ .byte = p->point->offset },
			 "the program point has no \"%s\"", names[__builtin_ctz(missing)]);
}

/* At '{'. */
static bool parse_point(struct parser *p)
{
	p->at++;
	skip_space(p);
	while (*p->at != '}') {
		if (!parse_member(p))
			return false;
		skip_space(p);
		if (*p->at == '}')
			break;
		if (*p->at != ',')
			return fail(p, "',' or '}'");
		p->at++;
		skip_space(p);
		if (*p->at == '}')
			return fail(p, "a key in quotes");
	}
	p->at++;
	return check_complete(p);
}

static bool begin_point(struct parser *p)
{
	p->point = allo_vec_push(&p->chunk->points);
	if (!p->point)
		return no_memory(p);
	*p->point = (struct allo_dhat_point){ .offset = (uint32_t)(p->at - p->chunk->text) };
	return true;
}

/* Drops the unfinished point at the end of the text: it will be parsed again, whole. */
static void drop_last_point(struct parser *p, size_t frames, size_t accesses)
{
	ALLO_ASSERT(p->chunk->points.len > 0 && p->chunk->frames.len >= frames);
	p->chunk->points.len--;
	p->chunk->frames.len = frames;
	p->chunk->accesses.len = accesses;
}

static void keep_notes(struct parser *p)
{
	allo_notes_add(&p->chunk->notes, &p->notes);
	p->notes = (struct allo_notes){ 0 };
	p->has_notes = false;
}

/* Parses points and commas up to the end of the text or of the array; returns the end of the last
 * complete one. */
static const char *parse_points(struct parser *p)
{
	struct allo_dhat_chunk *chunk = p->chunk;
	const char *good = p->at;

	chunk->status = ALLO_DHAT_MORE;
	for (bool may_end = chunk->is_first;; may_end = false) {
		size_t frames = chunk->frames.len, accesses = chunk->accesses.len;

		skip_space(p);
		ALLO_ASSERT(p->at <= p->end);
		if (p->at == p->end)
			return p->end;
		if (may_end && *p->at == ']') {
			chunk->status = ALLO_DHAT_ENDED;
			return p->at + 1;
		}
		if (*p->at != '{') {
			fail(p, may_end ? "a program point or ']'" : "a program point");
			return p->at;
		}
		if (!begin_point(p))
			return good;
		if (!parse_point(p)) {
			drop_last_point(p, frames, accesses);
			return good;
		}
		skip_space(p);
		if (*p->at != ']' && *p->at != ',') {
			drop_last_point(p, frames, accesses);
			fail(p, "',' or ']'");
			return good;
		}
		if (p->has_notes)
			keep_notes(p);
		good = ++p->at;
		if (good[-1] == ']') {
			chunk->status = ALLO_DHAT_ENDED;
			return good;
		}
	}
}

void allo_dhat_chunk_parse(void *work)
{
	struct allo_dhat_chunk *chunk = work;
	struct parser p = { .chunk = chunk, .at = chunk->text, .end = chunk->text + chunk->len };

	ALLO_ASSERT(chunk->text[chunk->len] == '\0');
	chunk->points.len = chunk->frames.len = chunk->accesses.len = 0;
	chunk->notes = (struct allo_notes){ 0 };
	chunk->failure = (struct allo_error){ 0 };
	chunk->consumed = (size_t)(parse_points(&p) - chunk->text);
	ALLO_ASSERT(chunk->consumed <= chunk->len);
	chunk->covered = (struct allo_offset){ 0 };
	allo_offset_advance(&chunk->covered, (struct allo_text){ chunk->text, chunk->consumed });
}

struct allo_pos allo_dhat_chunk_pos(const struct allo_dhat_chunk *chunk, struct allo_offset place,
				    size_t offset, const char *file)
{
	if (!chunk->text)
		return (struct allo_pos){ .file = file };
	ALLO_ASSERT(offset <= chunk->len);
	allo_offset_advance(&place, (struct allo_text){ chunk->text, offset });
	return allo_offset_pos(place, file);
}

size_t allo_dhat_guess_border(struct allo_text text)
{
	size_t at = text.len;

	while (at > 0) {
		const char *brace = memrchr(text.data, '{', at);
		size_t i;

		if (!brace)
			break;
		at = i = (size_t)(brace - text.data);
		while (i > 0 && allo_is_space(text.data[i - 1]))
			i--;
		if (i == 0 || text.data[--i] != ',')
			continue;
		while (i > 0 && allo_is_space(text.data[i - 1]))
			i--;
		if (i > 0 && text.data[i - 1] == '}')
			return at;
	}
	return 0;
}
