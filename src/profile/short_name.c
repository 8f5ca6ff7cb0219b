/* short_name.c - tells the languages of names apart. */
#include "profile/short_name.h"

#include "profile/name_scan.h"

void allo_name_buffer_done(struct allo_name_buffer *buffer)
{
	allo_vec_done(&buffer->text);
}

static bool has(struct allo_text name, struct allo_text part)
{
	return allo_text_find(name, part) != (size_t)-1;
}

/* Whether a ',' is followed by something else than a space: C++ demanglers write a space. */
static bool has_tight_comma(struct allo_text name)
{
	for (size_t i = 0; i + 1 < name.len; i++) {
		if (name.data[i] == ',' && name.data[i + 1] != ' ' &&
		    !allo_text_ends((struct allo_text){ name.data, i }, ALLO_TEXT("operator")))
			return true;
	}
	return false;
}

static bool is_rust(struct allo_text name)
{
	/* Crates, and modules of std that C++ does not have. */
	static const struct allo_text starts[] = {
		ALLO_TEXT_INIT("alloc::"),     ALLO_TEXT_INIT("core::"),
		ALLO_TEXT_INIT("hashbrown::"), ALLO_TEXT_INIT("std::collections::"),
		ALLO_TEXT_INIT("std::env::"),  ALLO_TEXT_INIT("std::ffi::"),
		ALLO_TEXT_INIT("std::fs::"),   ALLO_TEXT_INIT("std::io::"),
		ALLO_TEXT_INIT("std::net::"),  ALLO_TEXT_INIT("std::panicking::"),
		ALLO_TEXT_INIT("std::path::"), ALLO_TEXT_INIT("std::process::"),
		ALLO_TEXT_INIT("std::rt::"),   ALLO_TEXT_INIT("std::sync::"),
		ALLO_TEXT_INIT("std::sys::"),
	};
	static const struct allo_text marks[] = {
		ALLO_TEXT_INIT("{{"),     ALLO_TEXT_INIT("{closure#"), ALLO_TEXT_INIT("{impl#"),
		ALLO_TEXT_INIT("{shim:"), ALLO_TEXT_INIT("::<"),
	};

	if (allo_text_ends(name, ALLO_TEXT(")")))
		return false;
	if (allo_text_starts(name, ALLO_TEXT("<")))
		return has(name, ALLO_TEXT(">::"));
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (allo_text_starts(name, starts[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (has(name, marks[i]))
			return true;
	}
	return has(name, ALLO_TEXT("<")) && has_tight_comma(name);
}

/* Names that have nothing to lose: those of C, most of Go's, and Python's. */
static bool is_plain(struct allo_text name)
{
	return allo_text_starts(name, ALLO_TEXT("py::")) ||
	       !(memchr(name.data, '(', name.len) || has(name, ALLO_TEXT("::")) ||
		 memchr(name.data, '<', name.len));
}

struct allo_text allo_short_name(struct allo_text name, enum allo_name_detail detail,
				 struct allo_name_buffer *buffer)
{
	struct allo_shortener w = { .in = name, .out = buffer, .detail = detail };
	bool is_short;

	if (name.len == 0 || is_plain(name))
		return name;
	buffer->text.len = 0;
	is_short = is_rust(name) ? allo_short_rust(&w) : allo_short_cpp(&w);
	buffer->has_failed |= w.has_failed;
	if (!is_short || w.has_failed || buffer->text.len == 0)
		return name;
	if (!allo_vec_append(&buffer->text, "", 1)) {
		buffer->has_failed = true;
		return name;
	}
	buffer->text.len--;
	return (struct allo_text){ buffer->text.at, buffer->text.len };
}
