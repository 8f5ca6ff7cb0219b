#include "profile/name_scan.h"

#include "base/assert.h"

void allo_name_put(struct allo_shortener *w, struct allo_text text)
{
	w->has_failed |= !allo_vec_append(&w->out->text, text.data, text.len);
}

void allo_name_put_part(struct allo_shortener *w, size_t from, size_t to)
{
	ALLO_ASSERT(from <= to && to <= w->in.len);
	allo_name_put(w, allo_name_slice(w->in, from, to));
}

bool allo_name_is_among(struct allo_text name, const struct allo_text *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (allo_text_equal(name, names[i]))
			return true;
	}
	return false;
}

bool allo_is_name_char(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$' || (unsigned char)c >= 0x80;
}

size_t allo_name_identifier_end(struct allo_text name, size_t at)
{
	while (at < name.len && allo_is_name_char(name.data[at]))
		at++;
	return at;
}

/* Operators of C++. */

static const struct allo_text symbols[] = {
	ALLO_TEXT_INIT("()"),  ALLO_TEXT_INIT("[]"),  ALLO_TEXT_INIT("->*"), ALLO_TEXT_INIT("->"),
	ALLO_TEXT_INIT("<=>"), ALLO_TEXT_INIT("<<="), ALLO_TEXT_INIT(">>="), ALLO_TEXT_INIT("<<"),
	ALLO_TEXT_INIT(">>"),  ALLO_TEXT_INIT("<="),  ALLO_TEXT_INIT(">="),  ALLO_TEXT_INIT("=="),
	ALLO_TEXT_INIT("!="),  ALLO_TEXT_INIT("&&"),  ALLO_TEXT_INIT("||"),  ALLO_TEXT_INIT("++"),
	ALLO_TEXT_INIT("--"),  ALLO_TEXT_INIT("+="),  ALLO_TEXT_INIT("-="),  ALLO_TEXT_INIT("*="),
	ALLO_TEXT_INIT("/="),  ALLO_TEXT_INIT("%="),  ALLO_TEXT_INIT("^="),  ALLO_TEXT_INIT("&="),
	ALLO_TEXT_INIT("|="),  ALLO_TEXT_INIT("<"),   ALLO_TEXT_INIT(">"),   ALLO_TEXT_INIT("="),
	ALLO_TEXT_INIT("+"),   ALLO_TEXT_INIT("-"),   ALLO_TEXT_INIT("*"),   ALLO_TEXT_INIT("/"),
	ALLO_TEXT_INIT("%"),   ALLO_TEXT_INIT("^"),   ALLO_TEXT_INIT("&"),   ALLO_TEXT_INIT("|"),
	ALLO_TEXT_INIT("~"),   ALLO_TEXT_INIT("!"),   ALLO_TEXT_INIT(","),
};

static const struct allo_text words[] = {
	ALLO_TEXT_INIT(" new[]"),  ALLO_TEXT_INIT(" delete[]"), ALLO_TEXT_INIT(" new"),
	ALLO_TEXT_INIT(" delete"), ALLO_TEXT_INIT(" co_await"),
};

static size_t find_among(struct allo_text name, size_t at, const struct allo_text *texts,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (allo_name_has(name, at, texts[i]))
			return at + texts[i].len;
	}
	return 0;
}

/* The end of "operator""_s" and "operator"" _s". */
static size_t literal_end(struct allo_text name, size_t at)
{
	if (!allo_name_has(name, at, ALLO_TEXT("\"\"")))
		return 0;
	at += 2;
	return allo_name_identifier_end(name,
					allo_name_has(name, at, ALLO_TEXT(" ")) ? at + 1 : at);
}

/* The position after the word "operator"; 0: another word is at `at`. */
static size_t operator_word_end(struct allo_text name, size_t at)
{
	size_t end = at + strlen("operator");

	if (!allo_name_has(name, at, ALLO_TEXT("operator")) || end == name.len ||
	    allo_is_name_char(name.data[end]) || (at > 0 && allo_is_name_char(name.data[at - 1])))
		return 0;
	return end;
}

/* The end of an operator that does not convert; 0: none is at `at`. */
static size_t operator_symbol_end(struct allo_text name, size_t at)
{
	size_t symbol = operator_word_end(name, at), end;

	if (symbol == 0)
		return 0;
	end = find_among(name, symbol, symbols, sizeof(symbols) / sizeof(*symbols));
	if (end == 0)
		end = find_among(name, symbol, words, sizeof(words) / sizeof(*words));
	return end ? end : literal_end(name, symbol);
}

/* Brackets. */

enum { NESTING_MOST = 200 };

struct nesting {
	char closers[NESTING_MOST];
	size_t depth;
};

static char closer_of(char c)
{
	switch (c) {
	case '(':
		return ')';
	case '[':
		return ']';
	case '{':
		return '}';
	case '<':
		return '>';
	default:
		return '\0';
	}
}

/* The end of "->", and of "<", "<<" or "<=" between two operands, "(4)<(8)"; `at`: none. */
static size_t skip_comparison(struct allo_text name, size_t at)
{
	if (allo_name_has(name, at, ALLO_TEXT("->")))
		return at + 2;
	if (name.data[at] != '<' || at == 0 || name.data[at - 1] != ')' ||
	    allo_text_ends((struct allo_text){ name.data, at }, ALLO_TEXT("operator()")))
		return at;
	while (at < name.len && (name.data[at] == '<' || name.data[at] == '='))
		at++;
	return at;
}

/* Moves over one character, an operator or a comparison.  0: a bracket does not match. */
static size_t step(struct allo_text name, size_t at, struct nesting *open)
{
	char c = name.data[at], closer = closer_of(c);
	size_t next = skip_comparison(name, at);

	if (next == at && c == 'o')
		next = operator_symbol_end(name, at);
	if (next > at)
		return next;
	if (closer) {
		if (open->depth == NESTING_MOST)
			return 0;
		open->closers[open->depth++] = closer;
	} else if (c == ')' || c == ']' || c == '}' || c == '>') {
		char expected = open->depth ? open->closers[open->depth - 1] : '\0';

		if (c == expected)
			open->depth--;
		else if (c != '>') /* otherwise "greater than", inside of parentheses */
			return 0;
	}
	return at + 1;
}

size_t allo_name_group_end(struct allo_text name, size_t at)
{
	struct nesting open = { .depth = 0 };

	do {
		at = step(name, at, &open);
	} while (at > 0 && at < name.len && open.depth > 0);
	return open.depth == 0 ? at : 0;
}

size_t allo_name_find(struct allo_text name, size_t at, size_t to, struct allo_text separator)
{
	struct nesting open = { .depth = 0 };

	while (at < to) {
		if (open.depth == 0 && allo_name_has(name, at, separator))
			return at;
		at = step(name, at, &open);
		if (at == 0)
			break;
	}
	return to;
}

/* Conversions. */

/* The end of the type that a conversion operator returns: its parameters, or the end of the
 * arguments that it is one of. */
static size_t conversion_end(struct allo_text name, size_t at)
{
	while (at < name.len && !strchr(",>)]}", name.data[at])) {
		size_t end = closer_of(name.data[at]) ? allo_name_group_end(name, at) : at + 1;

		if (end == 0)
			return name.len;
		/* "operator void (*)(int)()" returns a pointer to a function. */
		if (name.data[at] == '(' && !(end < name.len && name.data[end] == '('))
			return at;
		at = end;
	}
	return at;
}

size_t allo_name_operator_end(struct allo_text name, size_t at)
{
	size_t end = operator_symbol_end(name, at), word = operator_word_end(name, at);

	if (end > 0 || word == 0 || name.data[word] != ' ')
		return end;
	return conversion_end(name, word + 1);
}
