/* demangle.c - demangles with libiberty, within limits. */
#include "symbols/demangle.h"

#include "base/assert.h"
#include "base/trust.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* Suffixes of copies that compilers make of a function; digits and dots may follow. */
static const struct allo_text copy_marks[] = {
	ALLO_TEXT_INIT(".cold"), ALLO_TEXT_INIT(".constprop"),  ALLO_TEXT_INIT(".isra"),
	ALLO_TEXT_INIT(".llvm"), ALLO_TEXT_INIT(".localalias"), ALLO_TEXT_INIT(".lto_priv"),
	ALLO_TEXT_INIT(".part"), ALLO_TEXT_INIT(".warm"),
};

void allo_demangler_done(struct allo_demangler *demangler)
{
	allo_vec_done(&demangler->mangled);
	allo_vec_done(&demangler->readable);
}

static bool is_dlang(struct allo_text name)
{
	return name.len > 2 && allo_text_starts(name, ALLO_TEXT("_D")) &&
	       allo_is_digit(name.data[2]);
}

bool allo_is_mangled(struct allo_text name)
{
	return allo_text_starts(name, ALLO_TEXT("_Z")) || allo_text_starts(name, ALLO_TEXT("_R")) ||
	       is_dlang(name);
}

/* Whether a suffix ends here: nothing, a number or another suffix follows. */
static bool ends_mark(struct allo_text text)
{
	return text.len == 0 || text.data[0] == '.';
}

/* The start of the first suffix; the name's length without one. */
static size_t find_mark(struct allo_text name)
{
	for (size_t i = 1; i < name.len; i++) {
		if (name.data[i] != '.')
			continue;
		for (size_t k = 0; k < sizeof(copy_marks) / sizeof(*copy_marks); k++) {
			struct allo_text rest = allo_text_from(name, i);

			if (allo_text_skip(&rest, copy_marks[k]) && ends_mark(rest))
				return i;
		}
	}
	return name.len;
}

struct printer {
	struct allo_demangler *demangler;
	jmp_buf enough;
};

static void take_part(const char *part, size_t len, void *context)
{
	struct printer *printer = context;

	/* A short name can expand to any length, because parts of it refer to others.  A callback
	 * can stop the demangler only by longjmp; the demangler holds no memory but its stack. */
	if (len > ALLO_DEMANGLED_MAX - printer->demangler->readable.len ||
	    !allo_vec_append(&printer->demangler->readable, part, len))
		longjmp(printer->enough, 1);
}

/* Fills demangler->readable. */
static bool print_readable(struct allo_demangler *demangler, const char *mangled)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	struct printer printer = { .demangler = demangler };

	if (setjmp(printer.enough) != 0)
		return false;
	/* Rust's older names look like C++ with a hash at the end; rust_demangle recognises them,
	 * so it comes first. */
	return rust_demangle_callback(mangled, options, take_part, &printer) ||
	       (mangled[1] == 'Z' &&
		cplus_demangle_v3_callback(mangled, options, take_part, &printer));
}

static bool print_dlang(struct allo_demangler *demangler, const char *mangled)
{
	char *readable = dlang_demangle(mangled, DMGL_PARAMS | DMGL_ANSI);
	bool ok = readable && strlen(readable) <= ALLO_DEMANGLED_MAX &&
		  allo_vec_append(&demangler->readable, readable, strlen(readable));

	free(readable);
	return ok;
}

enum { HASH_LEN = 17 }; /* of "h" and sixteen digits */

/* Whether a part is the hash that ends Rust's older names.  As in rustc-demangle, a hash has at
 * least five different digits. */
static bool is_rust_hash(struct allo_text part)
{
	unsigned seen = 0;
	uint64_t hash;

	if (part.len != HASH_LEN || part.data[0] != 'h' ||
	    !allo_text_hex(allo_text_from(part, 1), &hash))
		return false;
	for (; hash != 0; hash >>= 4)
		seen |= 1u << (hash & 15);
	return __builtin_popcount(seen) >= 5;
}

/* Cuts a name at its first "::". */
static bool cut_path(struct allo_text name, struct allo_text *part, struct allo_text *rest)
{
	size_t at = allo_text_find(name, ALLO_TEXT("::"));

	if (at == (size_t)-1)
		return false;
	*part = (struct allo_text){ name.data, at };
	*rest = allo_text_from(name, at + 2);
	return true;
}

/* Whether a name is an older Rust name that another program demangled, as C++:
 * "_$LT$core..fmt..Error$GT$::fmt::h0123456789abcdef", or as Rust, with its hash:
 * "<core::fmt::Error>::fmt::h0123456789abcdef".  Cuts off a final " (.llvm.42)" or ".llvm.42". */
static bool is_half_readable(struct allo_text *name)
{
	size_t last = allo_text_find_last(*name, ALLO_TEXT("::"));
	struct allo_text hash;

	if (last == (size_t)-1 || last == 0)
		return false;
	hash = allo_text_from(*name, last + 2);
	if (hash.len > HASH_LEN && (hash.data[HASH_LEN] == ' ' || hash.data[HASH_LEN] == '.'))
		hash.len = HASH_LEN;
	if (!is_rust_hash(hash))
		return false;
	name->len = last + 2 + HASH_LEN;
	return true;
}

static bool append_part(struct allo_demangler *demangler, struct allo_text part)
{
	char length[24];
	int len = snprintf(length, sizeof(length), "%zu", part.len);

	return allo_vec_append(&demangler->mangled, length, (size_t)len) &&
	       allo_vec_append(&demangler->mangled, part.data, part.len);
}

/* Mangles the name again, then demangles it as Rust.  A name that was demangled as Rust before only
 * loses its hash. */
static struct allo_text repair_rust(struct allo_demangler *demangler, struct allo_text name)
{
	struct allo_text bare = { name.data, name.len - 2 - HASH_LEN }, rest = name, part;

	demangler->mangled.len = demangler->readable.len = 0;
	if (!allo_vec_append(&demangler->mangled, "_ZN", 3))
		return bare;
	while (cut_path(rest, &part, &rest)) {
		if (!append_part(demangler, part))
			return bare;
	}
	if (!append_part(demangler, rest) || !allo_vec_append(&demangler->mangled, "E", 2) ||
	    !print_readable(demangler, demangler->mangled.at) || demangler->readable.len == 0)
		return bare;
	rest = (struct allo_text){ demangler->readable.at, demangler->readable.len };
	return is_half_readable(&rest) ? bare : rest;
}

struct allo_text allo_demangle(struct allo_demangler *demangler, struct allo_text name)
{
	struct allo_text version, bare = name;

	if (name.len <= ALLO_MANGLED_MAX && is_half_readable(&bare))
		return repair_rust(demangler, bare);
	bare = name;
	if (allo_text_cut(name, '@', &bare, &version) && bare.len == 0)
		bare = name;
	bare.len = find_mark(bare);
	if (!allo_is_mangled(bare) || bare.len > ALLO_MANGLED_MAX)
		return bare;
	demangler->mangled.len = demangler->readable.len = 0;
	if (!allo_vec_append(&demangler->mangled, bare.data, bare.len) ||
	    !allo_vec_append(&demangler->mangled, "", 1))
		return bare;
	if (is_dlang(bare) ? !print_dlang(demangler, demangler->mangled.at)
			   : !print_readable(demangler, demangler->mangled.at))
		return bare;
	if (demangler->readable.len == 0)
		return bare;
	return (struct allo_text){ demangler->readable.at, demangler->readable.len };
}

/* Functions of a profile. */

static const uint64_t names_most = 256 << 20;

void allo_function_names_done(struct allo_function_names *names)
{
	allo_demangler_done(&names->demangler);
	allo_vec_done(&names->readable);
}

/* Demangles each name once, because it is the most expensive step. */
static allo_string_id find_readable(struct allo_function_names *names, struct allo_profile *profile,
				    allo_string_id name, struct allo_error *err)
{
	struct allo_text text = allo_profile_text(profile, name);
	allo_string_id readable;

	if (name < names->readable.len && names->readable.at[name] != 0)
		return names->readable.at[name];
	readable = allo_profile_add_string(profile, allo_demangle(&names->demangler, text), err);
	if (readable == 0)
		return 0;
	if (!allo_vec_cover(&names->readable, (size_t)name + 1)) {
		allo_fail_memory(err);
		return 0;
	}
	names->readable.at[name] = readable;
	return readable;
}

allo_function_id allo_function_names_add(struct allo_function_names *names,
					 struct allo_profile *profile, struct allo_text name,
					 allo_string_id file, uint32_t start_line,
					 struct allo_error *err)
{
	struct allo_function function = { .file = file, .start_line = start_line };
	allo_string_id id;

	if (name.len > ALLO_FUNCTION_NAME_MAX)
		name.len = ALLO_FUNCTION_NAME_MAX;
	if (name.len > allo_trust_limit(0, 0, names_most) - names->bytes)
		name = ALLO_TEXT("???");
	id = allo_profile_add_string(profile, name, err);
	if (id == 0)
		return 0;
	/* A name that was demangled before has been counted. */
	if (id >= names->readable.len || names->readable.at[id] == 0)
		names->bytes += name.len;
	ALLO_ASSERT(name.len > 0);
	function.name = find_readable(names, profile, id, err);
	function.system_name = function.name == id ? 0 : id;
	return function.name ? allo_profile_add_function(profile, &function, err) : 0;
}
