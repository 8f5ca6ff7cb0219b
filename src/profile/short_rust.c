/* short_rust.c - short names of Rust functions, in both manglings. */
#include "profile/name_scan.h"

static size_t put_path(struct allo_shortener *w, size_t at, size_t to);
static bool put_type(struct allo_shortener *w, size_t at, size_t to);

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* The end of a crate's hash, "[5224e6b81cd82a8f]"; `at`: none. */
static size_t skip_crate_hash(struct allo_text name, size_t at)
{
	size_t end = at + 1;

	if (!allo_name_has(name, at, ALLO_TEXT("[")))
		return at;
	while (end < name.len && is_hex(name.data[end]))
		end++;
	return end > at + 1 && allo_name_has(name, end, ALLO_TEXT("]")) ? end + 1 : at;
}

/* Whether "::h0123456789abcdef" ends the name. */
static bool is_last_hash(struct allo_text name, size_t at)
{
	uint64_t hash;

	return name.len - at == 19 && allo_name_has(name, at, ALLO_TEXT("::h")) &&
	       allo_text_hex(allo_text_from(name, at + 3), &hash);
}

static bool is_std(struct allo_text crate)
{
	return allo_text_equal(crate, ALLO_TEXT("core")) ||
	       allo_text_equal(crate, ALLO_TEXT("alloc")) ||
	       allo_text_equal(crate, ALLO_TEXT("std"));
}

/* Types. */

static size_t trim_front(struct allo_text name, size_t at, size_t to)
{
	while (at < to && name.data[at] == ' ')
		at++;
	return at;
}

/* Moves over the marks of references and pointers. */
static size_t skip_references(struct allo_text name, size_t at, size_t to)
{
	static const struct allo_text marks[] = {
		ALLO_TEXT_INIT("&"),
		ALLO_TEXT_INIT("mut "),
		ALLO_TEXT_INIT("*const "),
		ALLO_TEXT_INIT("*mut "),
	};
	size_t before;

	do {
		before = at;
		for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
			if (at < to && allo_name_has(name, at, marks[i]))
				at += marks[i].len;
		}
	} while (at != before);
	return at;
}

/* Items in brackets, "(A, B)" or "[u8; 32]". */
static void put_group(struct allo_shortener *w, size_t at, size_t to)
{
	allo_name_put_part(w, at, at + 1);
	for (at++; at < to - 1;) {
		size_t end = allo_name_find(w->in, at, to - 1, ALLO_TEXT(","));
		size_t count = allo_name_find(w->in, at, end, ALLO_TEXT(";"));

		at = trim_front(w->in, at, end);
		put_type(w, at, count);
		allo_name_put_part(w, count, end);
		at = end + 1;
		if (at < to - 1)
			allo_name_put(w, ALLO_TEXT(", "));
	}
	allo_name_put_part(w, to - 1, to);
}

/* Whether the type is the name of a generic parameter: "T", "K1", "_" or one of the common words.
 * "Option" may be the short name of a type. */
static bool is_parameter(struct allo_text type)
{
	static const struct allo_text words[] = {
		ALLO_TEXT_INIT("_"),    ALLO_TEXT_INIT("Args"), ALLO_TEXT_INIT("Func"),
		ALLO_TEXT_INIT("Fut"),  ALLO_TEXT_INIT("Idx"),  ALLO_TEXT_INIT("Item"),
		ALLO_TEXT_INIT("Iter"), ALLO_TEXT_INIT("Self"),
	};

	return allo_name_is_among(type, words, sizeof(words) / sizeof(*words)) ||
	       (type.len == 1 && is_upper(type.data[0])) ||
	       (type.len == 2 && is_upper(type.data[0]) &&
		(is_upper(type.data[1]) || allo_is_digit(type.data[1])));
}

/* Whether the type is that of functions, which has no name: "fn(u8) -> u8". */
static bool is_function(struct allo_text name, size_t at)
{
	return allo_name_has(name, at, ALLO_TEXT("fn(")) ||
	       allo_name_has(name, at, ALLO_TEXT("for<")) ||
	       allo_name_has(name, at, ALLO_TEXT("unsafe ")) ||
	       allo_name_has(name, at, ALLO_TEXT("extern "));
}

/* Returns whether the type says nothing: it is a generic parameter, or one of functions. */
static bool put_type(struct allo_shortener *w, size_t at, size_t to)
{
	size_t start = skip_references(w->in, at, to);
	char c = start < to ? w->in.data[start] : '\0';

	allo_name_put_part(w, at, start);
	if (w->depth >= ALLO_NAME_DEPTH) {
		allo_name_put(w, ALLO_TEXT("..."));
		return false;
	}
	w->depth++;
	if ((c == '[' || c == '(') && allo_name_group_end(w->in, start) == to) {
		put_group(w, start, to);
	} else if (allo_name_has(w->in, start, ALLO_TEXT("dyn "))) {
		/* The first of the bounds, "dyn Any + Send". */
		allo_name_put(w, ALLO_TEXT("dyn "));
		put_path(w, start + 4, allo_name_find(w->in, start, to, ALLO_TEXT(" +")));
	} else {
		size_t end = put_path(w, start, to);

		/* "fn(u8) -> u8", numbers and the like. */
		allo_name_put_part(w, end < to ? end : to, to);
	}
	w->depth--;
	return is_parameter(allo_name_slice(w->in, start, to)) || is_function(w->in, start);
}

/* Whether a generic argument says something: no lifetime, binding or default allocator. */
static bool is_shown(struct allo_text argument)
{
	return argument.len > 0 && argument.data[0] != '\'' &&
	       allo_text_find(argument, ALLO_TEXT(" = ")) == (size_t)-1 &&
	       !allo_text_equal(argument, ALLO_TEXT("alloc::alloc::Global"));
}

/* Concrete generic arguments, unless they are long. */
static void put_generics(struct allo_shortener *w, size_t at, size_t to)
{
	size_t mark = allo_name_mark(w), count = 0;

	while (at < to) {
		size_t comma = allo_name_find(w->in, at, to, ALLO_TEXT(",")),
		       before = allo_name_mark(w);

		at = trim_front(w->in, at, comma);
		if (is_shown(allo_name_slice(w->in, at, comma))) {
			allo_name_put(w, count ? ALLO_TEXT(", ") : ALLO_TEXT("<"));
			if (put_type(w, at, comma))
				allo_name_cut(w, before);
			else
				count++;
		}
		at = comma + 1;
	}
	if (count > 0)
		allo_name_put(w, ALLO_TEXT(">"));
	if (w->detail == ALLO_NAME_BRIEF && allo_name_mark(w) - mark > ALLO_NAME_INNER_ARGUMENTS)
		allo_name_cut(w, mark);
}

/* Paths. */

/* "<Vec as FromIterator>" */
static void put_distinct_self(struct allo_shortener *w, size_t type, size_t type_end, size_t trait,
			      size_t trait_end)
{
	allo_name_put(w, ALLO_TEXT("<"));
	put_type(w, type, type_end);
	allo_name_put(w, ALLO_TEXT(" as "));
	put_path(w, trait, trait_end);
	allo_name_put(w, ALLO_TEXT(">"));
}

/* The type of "<T as Trait>", "<impl Trait for T>", "<impl T>" or "<T>"; the trait, if the type
 * says nothing. */
static void put_self(struct allo_shortener *w, size_t at, size_t to)
{
	struct allo_text as = ALLO_TEXT(" as "), with = ALLO_TEXT(" for ");
	size_t mark = allo_name_mark(w), trait = at, trait_end = at, type = at, type_end = to;

	if (allo_name_has(w->in, at, ALLO_TEXT("impl "))) {
		trait = type = at + strlen("impl ");
		trait_end = allo_name_find(w->in, trait, to, with);
		if (trait_end < to)
			type = trait_end + with.len;
		else
			trait_end = trait;
	} else {
		type_end = allo_name_find(w->in, at, to, as);
		if (type_end < to) {
			trait = type_end + as.len;
			trait_end = to;
		}
	}
	if (w->detail == ALLO_NAME_DISTINCT && trait < trait_end) {
		put_distinct_self(w, type, type_end, trait, trait_end);
		return;
	}
	if (!put_type(w, skip_references(w->in, type, type_end), type_end) || trait == trait_end)
		return;
	allo_name_cut(w, mark);
	put_path(w, trait, trait_end);
}

/* A path that is being written. */
struct path {
	size_t mark; /* where it begins in the output */
	size_t at, to;
	bool is_std; /* modules of the standard library so far */
	bool is_started;
};

static void put_separator(struct allo_shortener *w, const struct path *path)
{
	if (allo_name_mark(w) > path->mark)
		allo_name_put(w, ALLO_TEXT("::"));
}

static void put_brackets(struct allo_shortener *w, struct path *path, size_t close)
{
	if (!path->is_started || allo_name_has(w->in, path->at, ALLO_TEXT("<impl "))) {
		allo_name_cut(w, path->mark);
		put_self(w, path->at + 1, close - 1);
		path->is_std = false;
	} else {
		put_generics(w, path->at + 1, close - 1);
	}
	path->at = close;
}

/* Closures keep their names; numbers of impls and compilers' wrappers are left out. */
static void put_braces(struct allo_shortener *w, struct path *path, size_t close)
{
	if (allo_text_find(allo_name_slice(w->in, path->at, close), ALLO_TEXT("closure")) !=
	    (size_t)-1) {
		put_separator(w, path);
		allo_name_put_part(w, path->at, close);
	}
	path->at = close;
}

static void put_identifier(struct allo_shortener *w, struct path *path)
{
	size_t end = allo_name_identifier_end(w->in, path->at);
	struct allo_text name = allo_name_slice(w->in, path->at, end);

	if (!path->is_started)
		path->is_std = is_std(name);
	/* A type of the standard library is known without its modules. */
	if (path->is_std && is_upper(name.data[0])) {
		allo_name_cut(w, path->mark);
		path->is_std = false;
	}
	put_separator(w, path);
	allo_name_put(w, name);
	path->at = skip_crate_hash(w->in, end);
}

/* False: no component begins here. */
static bool put_component(struct allo_shortener *w, struct path *path)
{
	char c = w->in.data[path->at];
	size_t close = c == '<' || c == '{' ? allo_name_group_end(w->in, path->at) : 0;

	if (close > path->to || (close == 0 && !allo_is_name_char(c)))
		return false;
	if (c == '<')
		put_brackets(w, path, close);
	else if (c == '{')
		put_braces(w, path, close);
	else
		put_identifier(w, path);
	path->is_started = true;
	return true;
}

/* Returns where the path ends. */
static size_t put_path(struct allo_shortener *w, size_t at, size_t to)
{
	struct path path = { .mark = allo_name_mark(w), .at = at, .to = to };

	while (path.at < to && put_component(w, &path)) {
		if (is_last_hash(w->in, path.at))
			return to;
		if (allo_name_has(w->in, path.at, ALLO_TEXT("::")))
			path.at += 2;
	}
	return path.at;
}

bool allo_short_rust(struct allo_shortener *w)
{
	return put_path(w, 0, w->in.len) == w->in.len;
}
