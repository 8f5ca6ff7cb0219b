/* rust_names.c - removes the hashes of crates. */
#include "analysis/sites/rust_names.h"

static bool is_hex(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_in_identifier(char c)
{
	return allo_is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The length of a hash at `at`: "[", hex digits, "]" between a crate's name and "::".  0: none. */
static size_t hash_len(struct allo_text name, size_t at)
{
	size_t end = at + 1;

	if (name.data[at] != '[' || at == 0 || !is_in_identifier(name.data[at - 1]))
		return 0;
	while (end < name.len && is_hex(name.data[end]))
		end++;
	if (end == at + 1 || !allo_text_starts(allo_text_from(name, end), ALLO_TEXT("]::")))
		return 0;
	return end + 1 - at;
}

struct allo_text allo_rust_name_plain(struct allo_text name, char room[ALLO_PLAIN_NAME_MAX])
{
	size_t len = 0;

	if (name.len > ALLO_PLAIN_NAME_MAX || name.len == 0 || !memchr(name.data, '[', name.len))
		return name;
	for (size_t i = 0; i < name.len; i++) {
		size_t hash = hash_len(name, i);

		if (hash > 0)
			i += hash - 1;
		else
			room[len++] = name.data[i];
	}
	return (struct allo_text){ room, len };
}
