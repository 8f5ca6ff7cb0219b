/* demangle.c - see demangle.h. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* What compilers put behind the name of a copy of a function; digits and dots may follow. */
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

/* Whether `text` is empty or goes on with a number or a further mark. */
static bool ends_mark(struct allo_text text)
{
	return text.len == 0 || text.data[0] == '.';
}

/* Where the first mark of a copy begins; the name's length if there is none. */
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

struct printing {
	struct allo_demangler *demangler;
	jmp_buf enough;
};

static void take_part(const char *part, size_t len, void *context)
{
	struct printing *printing = context;

	/* A short name can stand for one of any length, as parts of it refer to others: a callback
	 * has no other way to make the demangler stop.  It holds no memory but its stack. */
	if (len > ALLO_DEMANGLED_MAX - printing->demangler->readable.len ||
	    !allo_vec_append(&printing->demangler->readable, part, len))
		longjmp(printing->enough, 1);
}

/* Into demangler->readable. */
static bool print_readable(struct allo_demangler *demangler, const char *mangled)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	struct printing printing = { .demangler = demangler };

	if (setjmp(printing.enough) != 0)
		return false;
	/* Rust's older names are C++'s with a hash at their end: only the first of the two knows
	 * them apart. */
	return rust_demangle_callback(mangled, options, take_part, &printing) ||
	       (mangled[1] == 'Z' &&
		cplus_demangle_v3_callback(mangled, options, take_part, &printing));
}

static bool print_dlang(struct allo_demangler *demangler, const char *mangled)
{
	char *readable = dlang_demangle(mangled, DMGL_PARAMS | DMGL_ANSI);
	bool ok = readable && strlen(readable) <= ALLO_DEMANGLED_MAX &&
		  allo_vec_append(&demangler->readable, readable, strlen(readable));

	free(readable);
	return ok;
}

/* What ends Rust's older names: "h" and sixteen digits. */
static bool is_rust_hash(struct allo_text part)
{
	uint64_t ignored;

	return part.len == 17 && part.data[0] == 'h' &&
	       allo_text_hex(allo_text_from(part, 1), &ignored);
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

/* "_$LT$core..fmt..Error$GT$::fmt::h0123456789abcdef", perhaps with " (.llvm.42)" behind it: what
 * is left of Rust's older names by programs that take them for C++'s.  Without what is behind it.
 */
static bool is_half_readable(struct allo_text *name)
{
	size_t mark = allo_text_find(*name, ALLO_TEXT(" (.llvm."));
	size_t last;

	if (mark != (size_t)-1)
		name->len = mark;
	last = allo_text_find_last(*name, ALLO_TEXT("::"));
	return last != (size_t)-1 && last > 0 && is_rust_hash(allo_text_from(*name, last + 2));
}

static bool append_part(struct allo_demangler *demangler, struct allo_text part)
{
	char length[24];
	int len = snprintf(length, sizeof(length), "%zu", part.len);

	return allo_vec_append(&demangler->mangled, length, (size_t)len) &&
	       allo_vec_append(&demangler->mangled, part.data, part.len);
}

/* Takes half of the way back, to where the whole way begins. */
static struct allo_text mend_rust(struct allo_demangler *demangler, struct allo_text name)
{
	struct allo_text rest = name, part;

	demangler->mangled.len = demangler->readable.len = 0;
	if (!allo_vec_append(&demangler->mangled, "_ZN", 3))
		return name;
	while (cut_path(rest, &part, &rest)) {
		if (!append_part(demangler, part))
			return name;
	}
	if (!append_part(demangler, rest) || !allo_vec_append(&demangler->mangled, "E", 2) ||
	    !print_readable(demangler, demangler->mangled.at) || demangler->readable.len == 0)
		return name;
	return (struct allo_text){ demangler->readable.at, demangler->readable.len };
}

struct allo_text allo_demangle(struct allo_demangler *demangler, struct allo_text name)
{
	struct allo_text version, bare = name;

	if (name.len <= ALLO_MANGLED_MAX && is_half_readable(&bare))
		return mend_rust(demangler, bare);
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
