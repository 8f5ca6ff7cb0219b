/* function_names.c - scans names of C++ functions; brackets hide their contents. */
#include "analysis/sites/function_names.h"

#define ANONYMOUS ALLO_TEXT("(anonymous namespace)")
#define OPERATOR  ALLO_TEXT("operator")

static bool is_in_word(char c)
{
	return allo_is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the word "operator" begins at `at`: its name may hold brackets and spaces. */
static bool is_operator(struct allo_text name, size_t at)
{
	struct allo_text rest = allo_text_from(name, at);

	return allo_text_starts(rest, OPERATOR) && (at == 0 || !is_in_word(name.data[at - 1])) &&
	       (rest.len == OPERATOR.len || !is_in_word(rest.data[OPERATOR.len]));
}

/* The position after the brackets that open at `at`. */
static size_t skip_brackets(struct allo_text name, size_t at)
{
	size_t depth = 0;

	for (; at < name.len; at++) {
		char c = name.data[at];

		if (c == '<' || c == '(' || c == '{' || c == '[')
			depth++;
		/* "->" closes nothing. */
		else if ((c == '>' && name.data[at - 1] != '-') || c == ')' || c == '}' || c == ']')
			depth--;
		if (depth == 0)
			return at + 1;
	}
	return at;
}

/* The end of an operator's name, whose first letter is at `at`: "operator()", "operator new[]". */
static size_t skip_operator(struct allo_text name, size_t at)
{
	at += OPERATOR.len;
	if (allo_text_starts(allo_text_from(name, at), ALLO_TEXT("()")))
		at += 2;
	while (at < name.len && name.data[at] != '(')
		at++;
	return at;
}

struct allo_text allo_qualified_name(struct allo_text function)
{
	size_t start = 0, at = 0;

	while (at < function.len) {
		char c = function.data[at];

		if (is_operator(function, at)) {
			at = skip_operator(function, at);
			break;
		}
		if (allo_text_starts(allo_text_from(function, at), ANONYMOUS)) {
			at += ANONYMOUS.len;
		} else if (c == '(' && at > start) {
			break;
		} else if (c == '<' || c == '(' || c == '{' || c == '[') {
			at = skip_brackets(function, at);
		} else {
			at++;
			if (c == ' ')
				start = at;
		}
	}
	return (struct allo_text){ function.data + start, at - start };
}
