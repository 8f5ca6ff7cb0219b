/* short_cpp.c - short names of C++ functions, from the names that demanglers print. */
#include "profile/name_scan.h"

#include "base/assert.h"

/* The parts of a full name: "[thunk to ][return type ]qualified::name[(parameters)][ const]". */
struct parts {
	size_t prefix;         /* end of "non-virtual thunk to " */
	size_t start, end;     /* of the qualified name */
	size_t parameters_end; /* 0: the name has none */
	bool has_spaces;       /* the text before `start` may be a return type */
	bool is_local;         /* a function is part of the qualified name */
};

static const struct allo_text anonymous_names[] = {
	ALLO_TEXT_INIT("(anonymous namespace)"),
	ALLO_TEXT_INIT("{anonymous}"),
};

/* The end of an anonymous namespace; `at`: none. */
static size_t skip_anonymous(struct allo_text name, size_t at)
{
	for (size_t i = 0; i < sizeof(anonymous_names) / sizeof(*anonymous_names); i++) {
		if (allo_name_has(name, at, anonymous_names[i]))
			return at + anonymous_names[i].len;
	}
	return at;
}

static size_t skip_qualifiers(struct allo_text name, size_t at)
{
	static const struct allo_text qualifiers[] = {
		ALLO_TEXT_INIT(" const"), ALLO_TEXT_INIT(" volatile"), ALLO_TEXT_INIT(" noexcept"),
		ALLO_TEXT_INIT(" &&"),    ALLO_TEXT_INIT(" &"),
	};
	size_t before;

	do {
		before = at;
		for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++) {
			if (allo_name_has(name, at, qualifiers[i]))
				at += qualifiers[i].len;
		}
	} while (at != before);
	return at;
}

/* The end of the parameters of a function that a local name begins with, "f(int) const" in
 * "f(int) const::{lambda()#1}"; `at`: there are none. */
static size_t skip_local_parameters(struct allo_text name, size_t at, size_t to)
{
	size_t end = at < to && name.data[at] == '(' ? allo_name_group_end(name, at) : 0;

	if (end == 0)
		return at;
	end = skip_qualifiers(name, end);
	return end < to && allo_name_has(name, end, ALLO_TEXT("::")) ? end : at;
}

/* Finding the parts. */

/* Whether the parentheses at `at` belong to "decltype(...)". */
static bool is_decltype(struct allo_text name, size_t at)
{
	struct allo_text before = { name.data, at };

	if (before.len > 0 && before.data[before.len - 1] == ' ')
		before.len--;
	return allo_text_ends(before, ALLO_TEXT("decltype"));
}

/* The end of the words that demanglers put before the name of a function that another one has
 * made. */
static size_t skip_prefix(struct allo_text name)
{
	static const struct allo_text prefixes[] = {
		ALLO_TEXT_INIT("non-virtual thunk to "),
		ALLO_TEXT_INIT("virtual thunk to "),
		ALLO_TEXT_INIT("covariant return thunk to "),
		ALLO_TEXT_INIT("TLS init function for "),
		ALLO_TEXT_INIT("TLS wrapper function for "),
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (allo_text_starts(name, prefixes[i]))
			return prefixes[i].len;
	}
	return 0;
}

/* Moves over parentheses.  0: the name is not C++; name.len: its parameters are found. */
static size_t note_parentheses(struct parts *parts, struct allo_text name, size_t at)
{
	size_t end = allo_name_group_end(name, at),
	       local = skip_local_parameters(name, at, name.len);

	if (end == 0)
		return 0;
	if (is_decltype(name, at))
		return end;
	if (at == parts->start) /* nothing has parameters */
		return 0;
	if (local > at) {
		parts->is_local = true;
		return local;
	}
	parts->end = at;
	parts->parameters_end = end;
	return name.len;
}

/* Moves over a character, a group or an operator, outside of brackets; 0: as above. */
static size_t note_part(struct parts *parts, struct allo_text name, size_t at)
{
	size_t anonymous = skip_anonymous(name, at),
	       operator_end = allo_name_operator_end(name, at);
	char c = name.data[at];

	if (anonymous > at)
		return anonymous;
	if (operator_end > at)
		return operator_end;
	if (c == '(')
		return note_parentheses(parts, name, at);
	if (c == '<' || c == '{' || c == '[')
		return allo_name_group_end(name, at);
	if (c == ' ') {
		if (parts->is_local)
			return 0;
		if (!allo_name_has(name, at, ALLO_TEXT(" <"))) { /* as in "operator< <int>" */
			parts->has_spaces = true;
			parts->start = at + 1;
		}
		return at + 1;
	}
	if (c == ':')
		return allo_name_has(name, at, ALLO_TEXT("::")) ? at + 2 : 0;
	return allo_is_name_char(c) || c == '~' || c == '*' || c == '&' || c == '\'' ? at + 1 : 0;
}

static bool find_parts(struct parts *parts, struct allo_text name)
{
	size_t at = skip_prefix(name);

	*parts = (struct parts){ .prefix = at, .start = at, .end = name.len };
	while (at < name.len) {
		at = note_part(parts, name, at);
		if (at == 0)
			return false;
	}
	/* Without parameters, spaces are not those of a return type: "0x5a3f10 [libfoo.so]". */
	return parts->start < parts->end && (parts->parameters_end > 0 || !parts->has_spaces);
}

/* "void (*f(int))(char)" returns a pointer to a function: the name is inside of parentheses. */
static struct allo_text unwrap_pointer(struct allo_text name)
{
	size_t open = allo_name_find(name, 0, name.len, ALLO_TEXT(" (*")), end;

	if (open == name.len || allo_name_find(name, 0, name.len, ALLO_TEXT("(")) != open + 1)
		return name;
	end = allo_name_group_end(name, open + 1);
	if (end == 0 || !allo_name_has(name, end, ALLO_TEXT("(")))
		return name;
	return allo_name_slice(name, open + 3, end - 1);
}

/* The name without "[clone .cold]" and "(.llvm.42)" at its end. */
static struct allo_text without_clones(struct allo_text name)
{
	static const struct allo_text marks[] = { ALLO_TEXT_INIT(" [clone ."),
						  ALLO_TEXT_INIT(" (.") };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t at = allo_text_find(name, marks[i]);

		if (at != (size_t)-1)
			name.len = at;
	}
	return name;
}

/* Template arguments. */

static void put_types(struct allo_shortener *w, size_t at, size_t to);

/* The name of a type of std without its namespaces: "allocator<char>"; empty: another one. */
static struct allo_text name_in_std(struct allo_text type)
{
	static const struct allo_text inlines[] = { ALLO_TEXT_INIT("__1::"),
						    ALLO_TEXT_INIT("__ndk1::"),
						    ALLO_TEXT_INIT("__Cr::"),
						    ALLO_TEXT_INIT("__cxx11::") };

	if (!allo_text_skip(&type, ALLO_TEXT("std::")))
		return (struct allo_text){ "", 0 };
	for (size_t i = 0; i < sizeof(inlines) / sizeof(*inlines); i++)
		allo_text_skip(&type, inlines[i]);
	return type;
}

/* Whether the rest of "less<Key>" or "deque<T, std::allocator<T> >" begins with that argument. */
static bool begins_with(struct allo_text rest, struct allo_text argument)
{
	return allo_text_skip(&rest, argument) && rest.len > 0 &&
	       (rest.data[0] == '>' || rest.data[0] == ',' || rest.data[0] == ' ');
}

/* Whether an argument of a template is its default, or one that says nothing. */
static bool is_default(struct allo_text template, struct allo_text argument, struct allo_text first)
{
	static const struct {
		struct allo_text template, argument; /* an empty template is any */
	} defaults[] = {
		{ ALLO_TEXT_INIT(""), ALLO_TEXT_INIT("less<") },
		{ ALLO_TEXT_INIT(""), ALLO_TEXT_INIT("hash<") },
		{ ALLO_TEXT_INIT(""), ALLO_TEXT_INIT("equal_to<") },
		{ ALLO_TEXT_INIT(""), ALLO_TEXT_INIT("default_delete<") },
		{ ALLO_TEXT_INIT("queue"), ALLO_TEXT_INIT("deque<") },
		{ ALLO_TEXT_INIT("stack"), ALLO_TEXT_INIT("deque<") },
		{ ALLO_TEXT_INIT("priority_queue"), ALLO_TEXT_INIT("vector<") },
	};
	struct allo_text type = name_in_std(argument);

	if (allo_text_starts(type, ALLO_TEXT("allocator<")) ||
	    allo_text_starts(type, ALLO_TEXT("char_traits<")))
		return true;
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		struct allo_text rest = type;

		if ((defaults[i].template.len == 0 ||
		     allo_text_equal(defaults[i].template, template)) &&
		    allo_text_skip(&rest, defaults[i].argument) && begins_with(rest, first))
			return true;
	}
	return false;
}

/* Writes the arguments; those after the first `most` bytes are "...". */
static void put_argument_list(struct allo_shortener *w, struct allo_text template, size_t at,
			      size_t to, size_t most)
{
	struct allo_text first = { NULL, 0 };
	size_t start_mark = allo_name_mark(w), fitting = start_mark;

	while (at < to) {
		size_t comma = allo_name_find(w->in, at, to, ALLO_TEXT(","));
		struct allo_text argument = allo_text_trim(allo_name_slice(w->in, at, comma));
		size_t start = (size_t)(argument.data - w->in.data);

		at = comma + 1;
		if (first.data && is_default(template, argument, first))
			continue;
		if (allo_name_mark(w) - start_mark + strlen(", ...") <= most)
			fitting = allo_name_mark(w);
		if (first.data)
			allo_name_put(w, ALLO_TEXT(", "));
		else
			first = argument;
		put_types(w, start, start + argument.len);
	}
	if (w->detail != ALLO_NAME_BRIEF || allo_name_mark(w) - start_mark <= most)
		return;
	allo_name_cut(w, fitting);
	allo_name_put(w, fitting > start_mark ? ALLO_TEXT(", ...") : ALLO_TEXT("..."));
}

/* Writes the arguments in brackets from `open` to `close`. */
static void put_arguments(struct allo_shortener *w, struct allo_text template, size_t open,
			  size_t close, size_t most)
{
	if (w->depth == ALLO_NAME_DEPTH) {
		allo_name_put(w, ALLO_TEXT("<...>"));
		return;
	}
	w->depth++;
	allo_name_put(w, ALLO_TEXT("<"));
	put_argument_list(w, template, open + 1, close - 1, most);
	allo_name_put(w, ALLO_TEXT(">"));
	w->depth--;
}

/* Qualified names. */

/* A qualified name that is being written. */
struct path {
	size_t mark; /* where it begins in the output */
	size_t at, to;
	bool is_function;       /* it ends with the function's own name */
	struct allo_text basic; /* "basic_string", if it begins with that class */
	const char *letter;     /* of its alias: "w" in std::wstring */
};

/* `before`: the qualified name so far. */
static bool is_inline_namespace(struct allo_text name, struct allo_text before)
{
	static const struct allo_text names[] = {
		ALLO_TEXT_INIT("__cxx11"), ALLO_TEXT_INIT("__1"),       ALLO_TEXT_INIT("__ndk1"),
		ALLO_TEXT_INIT("__Cr"),    ALLO_TEXT_INIT("_V2"),       ALLO_TEXT_INIT("__8"),
		ALLO_TEXT_INIT("__u"),     ALLO_TEXT_INIT("__cxx1998"),
	};

	if (allo_name_is_among(name, names, sizeof(names) / sizeof(*names)))
		return true;
	if (allo_text_ends(before, ALLO_TEXT("fmt::")))
		return name.len > 1 && name.data[0] == 'v' && allo_is_digit(name.data[1]);
	return allo_text_starts(name, ALLO_TEXT("lts_2")) ||
	       allo_text_starts(name, ALLO_TEXT("json_abi_"));
}

/* Replaces "std::basic_string<char>" by "std::string". */
static void put_alias(struct allo_shortener *w, struct path *path, struct allo_text name)
{
	static const struct {
		struct allo_text arguments;
		const char *letter;
	} kinds[] = {
		{ ALLO_TEXT_INIT("<char>"), "" },        { ALLO_TEXT_INIT("<wchar_t>"), "w" },
		{ ALLO_TEXT_INIT("<char8_t>"), "u8" },   { ALLO_TEXT_INIT("<char16_t>"), "u16" },
		{ ALLO_TEXT_INIT("<char32_t>"), "u32" },
	};
	struct allo_text written = allo_name_since(w, path->mark), rest = name;

	if (!allo_text_skip(&rest, ALLO_TEXT("basic_")) ||
	    !allo_text_skip(&written, ALLO_TEXT("std::")) || !allo_text_skip(&written, name))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!allo_text_equal(written, kinds[i].arguments))
			continue;
		path->basic = name;
		path->letter = kinds[i].letter;
		allo_name_cut(w, path->mark);
		allo_name_put(w, ALLO_TEXT("std::"));
		allo_name_put(w, allo_text_of(path->letter));
		allo_name_put(w, rest);
		return;
	}
}

/* An identifier; constructors have the alias of their class: "std::string::string". */
static void put_identifier(struct allo_shortener *w, const struct path *path, struct allo_text name)
{
	if (path->basic.len == 0 || !allo_text_equal(name, path->basic)) {
		allo_name_put(w, name);
		return;
	}
	allo_name_put(w, allo_text_of(path->letter));
	allo_name_put(w, allo_text_from(name, strlen("basic_")));
}

/* "{lambda(int)#1}" as "{lambda#1}", also as its call operator; other braces as they are. */
static void put_braces(struct allo_shortener *w, struct path *path)
{
	size_t end = allo_name_group_end(w->in, path->at), number;
	struct allo_text word = ALLO_TEXT("{lambda");

	if (allo_name_has(w->in, path->at, word)) {
		number = allo_name_find(w->in, path->at + word.len, end, ALLO_TEXT("#"));
		allo_name_put(w, word);
		allo_name_put_part(w, number < end ? number : end - 1, end);
		while (allo_name_has(w->in, end, ALLO_TEXT("::operator()")))
			end += strlen("::operator()");
	} else {
		allo_name_put_part(w, path->at, end);
	}
	path->at = end;
}

static void put_operator(struct allo_shortener *w, struct path *path, size_t end)
{
	size_t type = path->at + strlen("operator ");
	bool converts = allo_name_has(w->in, path->at, ALLO_TEXT("operator ")) && type < end;

	if (converts && w->depth < ALLO_NAME_DEPTH) {
		w->depth++;
		allo_name_put_part(w, path->at, type);
		put_types(w, type, end);
		w->depth--;
	} else {
		allo_name_put_part(w, path->at, end);
	}
	path->at = end;
	if (allo_name_has(w->in, end, ALLO_TEXT(" <")) && end + 1 < path->to) {
		allo_name_put(w, ALLO_TEXT(" "));
		path->at++;
	}
}

static void skip_abi(const struct allo_shortener *w, struct path *path)
{
	while (allo_name_has(w->in, path->at, ALLO_TEXT("[abi:"))) {
		size_t end = allo_name_group_end(w->in, path->at);

		path->at = end ? end : path->to;
	}
}

/* The name of a namespace, class or function, without its template arguments. */
static void put_own_name(struct allo_shortener *w, struct path *path)
{
	size_t operator_end = allo_name_operator_end(w->in, path->at), end;
	char c = w->in.data[path->at];

	if (c == '{' && allo_name_group_end(w->in, path->at) > 0) {
		put_braces(w, path);
	} else if (operator_end > path->at) {
		put_operator(w, path, operator_end);
	} else {
		if (!allo_is_name_char(c)) /* '~', or a quote around 'lambda' */
			allo_name_put_part(w, path->at, path->at + 1), path->at++;
		end = allo_name_identifier_end(w->in, path->at);
		put_identifier(w, path, allo_name_slice(w->in, path->at, end));
		path->at = end;
	}
	skip_abi(w, path);
}

static void put_component(struct allo_shortener *w, struct path *path)
{
	size_t start = path->at, mark = allo_name_mark(w), close;
	struct allo_text name;

	put_own_name(w, path);
	name = allo_name_slice(w->in, start, path->at);
	if (allo_name_has(w->in, path->at, ALLO_TEXT("::")) &&
	    is_inline_namespace(name, allo_name_between(w, path->mark, mark))) {
		allo_name_cut(w, mark);
		return;
	}
	close = path->at < path->to && w->in.data[path->at] == '<'
			? allo_name_group_end(w->in, path->at)
			: 0;
	if (close == 0 || close > path->to)
		return;
	put_arguments(w, name, path->at, close,
		      w->depth > 0 || (path->is_function && close == path->to)
			      ? ALLO_NAME_INNER_ARGUMENTS
			      : ALLO_NAME_ARGUMENTS);
	path->at = close;
	put_alias(w, path, name);
	skip_abi(w, path);
}

/* Returns where the name ends. */
static size_t put_path(struct allo_shortener *w, size_t at, size_t to, bool is_function)
{
	struct path path = { .mark = allo_name_mark(w),
			     .at = at,
			     .to = to,
			     .is_function = is_function,
			     .letter = "" };

	while (path.at < to) {
		size_t mark = allo_name_mark(w), anonymous = skip_anonymous(w->in, path.at);

		if (anonymous > path.at && allo_name_has(w->in, anonymous, ALLO_TEXT("::")))
			path.at = anonymous;
		else
			put_component(w, &path);
		path.at = skip_local_parameters(w->in, path.at, to);
		if (!allo_name_has(w->in, path.at, ALLO_TEXT("::")))
			break;
		path.at += 2;
		if (allo_name_mark(w) > mark)
			allo_name_put(w, ALLO_TEXT("::"));
	}
	return path.at;
}

/* Types. */

static bool begins_path(const struct allo_shortener *w, size_t at)
{
	char c = w->in.data[at];

	return (allo_is_name_char(c) && !allo_is_digit(c)) || c == '~' || c == '{' ||
	       skip_anonymous(w->in, at) > at;
}

/* "4ul" is 4. */
static size_t put_number(struct allo_shortener *w, size_t at)
{
	size_t end = at, suffix;

	while (end < w->in.len && allo_is_digit(w->in.data[end]))
		end++;
	allo_name_put_part(w, at, end);
	for (suffix = end; suffix < w->in.len && strchr("ulUL", w->in.data[suffix]);)
		suffix++;
	return suffix < w->in.len && allo_is_name_char(w->in.data[suffix]) ? end : suffix;
}

/* Types and expressions: names in them are shortened, the rest is copied. */
static void put_types(struct allo_shortener *w, size_t at, size_t to)
{
	while (at < to) {
		if (allo_is_digit(w->in.data[at])) {
			at = put_number(w, at);
		} else if (begins_path(w, at)) {
			at = put_path(w, at, to, false);
		} else {
			allo_name_put_part(w, at, at + 1);
			at++;
		}
	}
}

bool allo_short_cpp(struct allo_shortener *w)
{
	struct parts parts;

	w->in = unwrap_pointer(without_clones(w->in));
	if (!find_parts(&parts, w->in))
		return false;
	ALLO_ASSERT(parts.prefix <= parts.start && parts.end <= w->in.len);
	allo_name_put_part(w, 0, parts.prefix);
	if (put_path(w, parts.start, parts.end, true) != parts.end)
		return false;
	if (w->detail == ALLO_NAME_DISTINCT && parts.parameters_end > 0) {
		put_types(w, parts.end, parts.parameters_end);
		allo_name_put_part(w, parts.parameters_end,
				   skip_qualifiers(w->in, parts.parameters_end));
	}
	return true;
}
