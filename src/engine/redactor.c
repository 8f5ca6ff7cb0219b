#include "engine/redactor.h"

#include "analysis/sites/allocator.h"
#include "analysis/sites/known_code.h"
#include "profile/naming.h"
#include "profile/offset_name.h"

#include <stdio.h>

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Each word is looked for in each text. */
enum { WORDS_MOST = 256 };

/* A word that is replaced wherever it stands. */
struct allo_secret_word {
	struct allo_text text, shown;
	bool is_program; /* functions may have the name of the program */
};

struct allo_module_pseudonym {
	struct allo_text path, shown;
};

typedef ALLO_VEC(char) characters;

void allo_redactor_done(struct allo_redactor *redactor)
{
	allo_vec_done(&redactor->words);
	allo_vec_done(&redactor->modules);
	allo_arena_done(&redactor->arena);
}

static struct allo_text keep(struct allo_redactor *redactor, struct allo_text text,
			     struct allo_error *err)
{
	char *copy = allo_arena_copy(&redactor->arena, text.data, text.len);

	if (!copy)
		allo_fail_memory(err);
	return (struct allo_text){ copy ? copy : "", copy ? text.len : 0 };
}

/* "f1a2b3c4d5": 40 bits, so that 10,000 names collide in one report of 20,000. */
static struct allo_text pseudonym(struct allo_redactor *redactor, const char *before,
				  struct allo_text text, const char *after, struct allo_error *err)
{
	char room[64];
	uint64_t hash = allo_hash_bytes(text.data, text.len, 0);
	int len = snprintf(room, sizeof(room), "%s%010llx%s", before,
			   (unsigned long long)(hash >> 24), after);

	return keep(redactor, (struct allo_text){ room, (size_t)len }, err);
}

/* Paths. */

/* Endings that tell the language. */
static const char *const endings[] = { ".c",   ".h",  ".cc", ".cpp", ".cxx", ".hpp",
				       ".tcc", ".rs", ".S",  ".py",  ".js",  ".go" };

static const char *ending_of(struct allo_text path)
{
	for (size_t i = 0; i < COUNT(endings); i++) {
		if (allo_text_ends(path, allo_text_of(endings[i])))
			return endings[i];
	}
	return "";
}

static struct allo_text hide_file(struct allo_redactor *redactor, struct allo_text path,
				  struct allo_error *err)
{
	/* The folder still tells which library a function is of. */
	static const char *const folders[] = { [ALLO_FILE_OF_CPP] = "/usr/include/c++/p",
					       [ALLO_FILE_OF_RUST] = "/rustc/library/std/src/p" };
	enum allo_file_library of = allo_known_file(path);
	const char *other = allo_is_library_file(path) ? "/usr/include/p" : "/p";

	return pseudonym(redactor, of == ALLO_FILE_OF_NONE ? other : folders[of], path,
			 ending_of(path), err);
}

static bool is_shared(struct allo_text path)
{
	struct allo_text name = allo_basename(path);

	return allo_text_find(name, ALLO_TEXT(".so")) < name.len;
}

/* "libc.so.6" of "libc.so.6.debug". */
static struct allo_text library_name(struct allo_text name)
{
	size_t len = allo_text_find(name, ALLO_TEXT(".so"));

	if (len >= name.len)
		return name;
	len += strlen(".so");
	while (len < name.len && (allo_is_digit(name.data[len]) || name.data[len] == '.'))
		len++;
	name.len = len;
	return name;
}

/* The libraries of C and C++ have the same names everywhere. */
static struct allo_text keep_runtime(struct allo_redactor *redactor, struct allo_text path,
				     struct allo_error *err)
{
	struct allo_text name = library_name(allo_basename(path));
	char room[128];
	int len = snprintf(room, sizeof(room), "/usr/lib/%.*s", ALLO_TEXT_ARG(name));

	return keep(redactor, (struct allo_text){ room, (size_t)len }, err);
}

static struct allo_text hide_module(struct allo_redactor *redactor, struct allo_text path,
				    bool is_own, struct allo_error *err)
{
	if (path.len > 0 && path.data[0] == '[') /* [vdso] */
		return path;
	if (allo_known_module(path).role == ALLO_ROLE_LIBRARY)
		return keep_runtime(redactor, path, err);
	if (!is_shared(path))
		return pseudonym(redactor, "/p", path, "", err);
	return pseudonym(redactor, is_own ? "/libp" : "/usr/lib/libp", path, ".so", err);
}

static struct allo_text find_module(struct allo_redactor *redactor, struct allo_text path,
				    struct allo_error *err)
{
	for (size_t i = 0; i < redactor->modules.len; i++) {
		if (allo_text_equal(redactor->modules.at[i].path, path))
			return redactor->modules.at[i].shown;
	}
	return hide_module(redactor, path, !allo_is_library_file(path), err);
}

/* Whether a character ends a path inside of a text. */
static bool ends_path(char c)
{
	return (unsigned char)c <= ' ' || strchr(":()<>,;'\"[]{}=", c);
}

/* "operator/" is a function of C++, and "/" alone a division. */
static bool is_path(struct allo_text piece)
{
	size_t slash = allo_text_find(piece, ALLO_TEXT("/"));

	return slash < piece.len && piece.len > 1 &&
	       !allo_text_starts(piece, ALLO_TEXT("operator/"));
}

/* Replaces the paths inside of a text. */
static struct allo_text hide_paths(struct allo_redactor *redactor, struct allo_text text,
				   struct allo_error *err)
{
	characters out = { 0 };
	struct allo_text result;

	if (!memchr(text.data, '/', text.len))
		return text;
	for (size_t at = 0; at < text.len;) {
		struct allo_text piece = allo_text_from(text, at);

		for (piece.len = 0;
		     at + piece.len < text.len && !ends_path(text.data[at + piece.len]);)
			piece.len++;
		at += piece.len;
		if (is_path(piece))
			piece = hide_file(redactor, piece, err);
		allo_vec_add_all(&out, piece.data, piece.len, err);
		if (at < text.len)
			allo_vec_add(&out, text.data[at++], err);
	}
	result = keep(redactor, (struct allo_text){ out.at, out.len }, err);
	allo_vec_done(&out);
	return result;
}

/* Words. */

static bool is_word_character(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool add_word(struct allo_redactor *redactor, struct allo_text text, struct allo_text shown,
		     bool is_program, struct allo_error *err)
{
	struct allo_secret_word word = { .shown = shown, .is_program = is_program };

	for (size_t i = 0; i < redactor->words.len; i++) {
		if (allo_text_equal(redactor->words.at[i].text, text))
			return true;
	}
	if (redactor->words.len == WORDS_MOST)
		return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE,
				 "there are more than %d names of users to hide", WORDS_MOST);
	word.text = keep(redactor, text, err);
	return text.len == 0 || allo_vec_add(&redactor->words, word, err);
}

/* The place of a word in a text, between characters of no word; text.len: none. */
static size_t find_word(struct allo_text text, struct allo_text word)
{
	for (size_t at = 0; at + word.len <= text.len; at++) {
		size_t found = allo_text_find(allo_text_from(text, at), word);

		if (found == (size_t)-1)
			break;
		at += found;
		if ((at == 0 || !is_word_character(text.data[at - 1])) &&
		    (at + word.len == text.len || !is_word_character(text.data[at + word.len])))
			return at;
	}
	return text.len;
}

static struct allo_text replace_word(struct allo_redactor *redactor, struct allo_text text,
				     const struct allo_secret_word *word, struct allo_error *err)
{
	characters out = { 0 };
	size_t at = find_word(text, word->text);

	if (at == text.len)
		return text;
	for (; at < text.len; at = find_word(text, word->text)) {
		allo_vec_add_all(&out, text.data, at, err);
		allo_vec_add_all(&out, word->shown.data, word->shown.len, err);
		text = allo_text_from(text, at + word->text.len);
	}
	allo_vec_add_all(&out, text.data, text.len, err);
	text = keep(redactor, (struct allo_text){ out.at, out.len }, err);
	allo_vec_done(&out);
	return text;
}

static struct allo_text hide_words(struct allo_redactor *redactor, struct allo_text text,
				   bool is_name, struct allo_error *err)
{
	for (size_t i = 0; i < redactor->words.len && !allo_failed(err); i++) {
		if (!is_name || !redactor->words.at[i].is_program)
			text = replace_word(redactor, text, &redactor->words.at[i], err);
	}
	return text;
}

/* Learns the user of /home/USER/src/app.c and of /home/USER. */
static bool learn_home(struct allo_redactor *redactor, struct allo_text path,
		       struct allo_error *err)
{
	static const struct allo_text homes[] = { ALLO_TEXT_INIT("/home/"),
						  ALLO_TEXT_INIT("/Users/") };
	struct allo_text user, rest;

	for (size_t i = 0; i < COUNT(homes) && redactor->what & ALLO_REDACT_HOST; i++) {
		size_t at = allo_text_find(path, homes[i]);

		if (at >= path.len)
			continue;
		user = allo_text_from(path, at + homes[i].len);
		allo_text_cut(user, '/', &user, &rest);
		if (!add_word(redactor, user, ALLO_TEXT("user"), false, err))
			return false;
	}
	return true;
}

static bool learn_host(struct allo_redactor *redactor, struct allo_text host,
		       struct allo_error *err)
{
	struct allo_text first = host, domain;

	if (!(redactor->what & ALLO_REDACT_HOST))
		return true;
	allo_text_cut(host, '.', &first, &domain);
	return add_word(redactor, host, ALLO_TEXT("host"), false, err) &&
	       add_word(redactor, first, ALLO_TEXT("host"), false, err);
}

/* The kernel names threads after the program, up to 15 characters. */
static bool learn_program(struct allo_redactor *redactor, struct allo_text path,
			  struct allo_error *err)
{
	struct allo_text name = allo_basename(path), shown;

	if (!(redactor->what & ALLO_REDACT_PATHS) || path.len == 0)
		return true;
	shown = allo_basename(find_module(redactor, path, err));
	if (!add_word(redactor, name, shown, true, err))
		return false;
	if (name.len > 15)
		name.len = 15;
	return add_word(redactor, name, shown, true, err);
}

bool allo_redactor_learn(struct allo_redactor *redactor, const struct allo_recording *recording,
			 struct allo_error *err)
{
	for (size_t i = 0; i < recording->modules.len; i++) {
		if (!learn_home(redactor, recording->modules.at[i].path, err))
			return false;
	}
	return learn_home(redactor, recording->program, err) &&
	       learn_home(redactor, recording->folder, err) &&
	       learn_host(redactor, recording->host, err) &&
	       learn_program(redactor, recording->program, err);
}

/* Functions. */

/* A name of a table, which holds nothing of the program: no parameter of a template. */
static bool is_public(struct allo_text name, enum allo_role role)
{
	if (memchr(name.data, '<', name.len) || memchr(name.data, '{', name.len))
		return false;
	if (role == ALLO_ROLE_ALLOCATOR)
		return allo_text_find(name, ALLO_TEXT("::")) == (size_t)-1 &&
		       allo_is_allocator(name, ALLO_TEXT(""));
	return role == ALLO_ROLE_STARTUP || allo_text_equal(name, ALLO_TEXT("main"));
}

/* Pseudonyms begin like the names of known_code.c, so that each function keeps its role. */
static const char *const prefixes[] = {
	[ALLO_ROLE_CODE] = "f",
	[ALLO_ROLE_SCRIPT] = "py::f",
	[ALLO_ROLE_STARTUP] = "std::__invoke_f",
	[ALLO_ROLE_SCRIPT_LIBRARY] = "py::f",
	[ALLO_ROLE_LIBRARY] = "std::f",
	[ALLO_ROLE_WRAPPER] = "xmalloc_f",
	[ALLO_ROLE_ALLOCATOR] = "std::allocator<>::f",
};

/* "git+0x1234a0" tells the module only. */
static bool hide_offset_name(struct allo_redactor *redactor, struct allo_text *name,
			     struct allo_error *err)
{
	char room[ALLO_OFFSET_NAME_SIZE];
	struct allo_text before, digits;
	uint64_t start;

	if (!allo_text_cut_last(*name, '+', &before, &digits) ||
	    !allo_text_skip(&digits, ALLO_TEXT("0x")) || !allo_text_hex(digits, &start))
		return false;
	for (size_t i = 0; i < redactor->modules.len; i++) {
		if (allo_is_offset_name(*name, redactor->modules.at[i].path)) {
			*name = keep(redactor,
				     allo_offset_name(redactor->modules.at[i].shown, start, room),
				     err);
			return true;
		}
	}
	return false;
}

static struct allo_text hide_function(struct allo_redactor *redactor, struct allo_text name,
				      struct allo_text file, struct allo_error *err)
{
	enum allo_role role;

	if (hide_offset_name(redactor, &name, err))
		return name;
	if (!(redactor->what & ALLO_REDACT_NAMES)) {
		if (redactor->what & ALLO_REDACT_PATHS)
			name = hide_paths(redactor, name, err);
		return hide_words(redactor, name, true, err);
	}
	role = allo_known_function(name, file, true).role;
	return is_public(name, role) ? name : pseudonym(redactor, prefixes[role], name, "", err);
}

/* All kinds of texts. */

static struct allo_text hide(void *context, enum allo_private_text kind, struct allo_text text,
			     struct allo_error *err)
{
	struct allo_redactor *redactor = context;
	bool hides_paths = redactor->what & ALLO_REDACT_PATHS;

	switch (kind) {
	case ALLO_PRIVATE_FUNCTION:
		return hide_function(redactor, text, ALLO_TEXT(""), err);
	case ALLO_PRIVATE_MODULE:
		return hides_paths ? find_module(redactor, text, err)
				   : hide_words(redactor, text, false, err);
	case ALLO_PRIVATE_FILE:
		return hides_paths ? hide_file(redactor, text, err)
				   : hide_words(redactor, text, false, err);
	case ALLO_PRIVATE_HOST:
		return redactor->what & ALLO_REDACT_HOST ? ALLO_TEXT("") : text;
	case ALLO_PRIVATE_LABEL:
		if (redactor->what & ALLO_REDACT_NAMES)
			return pseudonym(redactor, "t", text, "", err);
		break;
	case ALLO_PRIVATE_ARGUMENT:
		if (redactor->what & ALLO_REDACT_ARGS)
			return ALLO_TEXT("");
		break;
	}
	if (hides_paths)
		text = hide_paths(redactor, text, err);
	return hide_words(redactor, text, false, err);
}

struct allo_text_change allo_redactor_change(struct allo_redactor *redactor)
{
	/* A build id names a binary, and so all its functions and its path. */
	return (struct allo_text_change){
		.text = hide,
		.context = redactor,
		.drops_arguments = redactor->what & ALLO_REDACT_ARGS,
		.drops_build_ids = redactor->what & (ALLO_REDACT_NAMES | ALLO_REDACT_PATHS),
	};
}

/* Profiles. */

static void change_string(struct allo_redactor *redactor, struct allo_profile *profile,
			  enum allo_private_text kind, allo_string_id *id, struct allo_error *err)
{
	struct allo_text text = allo_profile_text(profile, *id);

	if (*id != 0 && !allo_failed(err))
		*id = allo_profile_add_string(profile, hide(redactor, kind, text, err), err);
}

/* Remembers the pseudonyms of modules while the original paths still tell which are own code. */
static bool learn_modules(struct allo_redactor *redactor, const struct allo_profile *profile,
			  struct allo_error *err)
{
	struct allo_ownership ownership = { 0 };

	for (size_t i = 1; i < profile->modules.len && !allo_failed(err); i++) {
		struct allo_text path = allo_profile_text(profile, profile->modules.at[i].path);
		bool is_own = allo_is_own_code(&ownership, profile, ALLO_TEXT(""), ALLO_TEXT(""),
					       path);
		struct allo_module_pseudonym known = { keep(redactor, path, err), path };

		learn_home(redactor, path, err);
		if (redactor->what & ALLO_REDACT_PATHS)
			known.shown = hide_module(redactor, path, is_own, err);
		allo_vec_add(&redactor->modules, known, err);
	}
	allo_ownership_done(&ownership);
	for (size_t i = 0; i < redactor->modules.len && !allo_failed(err); i++) {
		struct allo_module_pseudonym *known = &redactor->modules.at[i];

		if (!(redactor->what & ALLO_REDACT_PATHS))
			known->shown = hide_words(redactor, known->path, false, err);
	}
	return !allo_failed(err);
}

static void change_functions(struct allo_redactor *redactor, struct allo_profile *profile,
			     struct allo_error *err)
{
	for (size_t i = 1; i < profile->functions.len && !allo_failed(err); i++) {
		struct allo_text file = allo_profile_text(profile, profile->functions.at[i].file);

		learn_home(redactor, file, err);
	}
	for (size_t i = 1; i < profile->functions.len && !allo_failed(err); i++) {
		struct allo_function *function = &profile->functions.at[i];
		struct allo_text name = allo_profile_text(profile, function->name);
		struct allo_text file = allo_profile_text(profile, function->file);
		struct allo_text shown = hide_function(redactor, name, file, err);

		/* The linkage name contains the name. */
		if (!allo_text_equal(name, shown))
			function->system_name = 0;
		function->name = allo_profile_add_string(profile, shown, err);
		change_string(redactor, profile, ALLO_PRIVATE_FILE, &function->file, err);
	}
}

/* Units and kinds of values; a format may hold any text in their place. */
static void change_unit(struct allo_redactor *redactor, struct allo_profile *profile,
			allo_string_id *id, struct allo_error *err)
{
	static const char *const known[] = { "bytes",       "count",   "blocks",  "objects",
					     "space",       "cpu",     "samples", "allocations",
					     "nanoseconds", "seconds", "" };
	struct allo_text text = allo_profile_text(profile, *id);

	for (size_t i = 0; i < COUNT(known); i++) {
		if (allo_text_equal(text, allo_text_of(known[i])))
			return;
	}
	change_string(redactor, profile, ALLO_PRIVATE_LABEL, id, err);
}

static void change_metrics(struct allo_redactor *redactor, struct allo_profile *profile,
			   struct allo_error *err)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		struct allo_metric *metric = &profile->metrics.at[i];

		if (!metric->meaning)
			change_unit(redactor, profile, &metric->name, err);
		change_unit(redactor, profile, &metric->unit, err);
	}
	change_unit(redactor, profile, &profile->meta.period_type, err);
	change_unit(redactor, profile, &profile->meta.period_unit, err);
}

/* Everything else that a format may hold. */
static void change_meta(struct allo_redactor *redactor, struct allo_profile *profile,
			struct allo_error *err)
{
	struct allo_meta *meta = &profile->meta;

	if (redactor->what & ALLO_REDACT_ARGS)
		meta->command = 0;
	change_string(redactor, profile, ALLO_PRIVATE_ARGUMENT, &meta->command, err);
	/* Texts of any content. */
	profile->comments.len = 0;
	meta->drop_frames = meta->keep_frames = meta->doc_url = 0;
	for (size_t i = 0; i < profile->labels.len; i++) {
		struct allo_label *label = &profile->labels.at[i];

		change_string(redactor, profile, ALLO_PRIVATE_LABEL, &label->key, err);
		change_string(redactor, profile, ALLO_PRIVATE_LABEL, &label->text, err);
		change_unit(redactor, profile, &label->unit, err);
	}
	change_metrics(redactor, profile, err);
	for (size_t i = 1; i < profile->threads.len; i++) {
		change_string(redactor, profile, ALLO_PRIVATE_LABEL, &profile->threads.at[i].name,
			      err);
		change_string(redactor, profile, ALLO_PRIVATE_LABEL,
			      &profile->threads.at[i].process_name, err);
	}
}

bool allo_redactor_change_profile(struct allo_redactor *redactor, struct allo_profile *profile,
				  struct allo_error *err)
{
	if (!learn_modules(redactor, profile, err))
		return false;
	change_functions(redactor, profile, err);
	for (size_t i = 1; i < profile->modules.len; i++) {
		struct allo_module *module = &profile->modules.at[i];

		if (redactor->what & (ALLO_REDACT_NAMES | ALLO_REDACT_PATHS))
			module->build_id = 0;
		change_string(redactor, profile, ALLO_PRIVATE_MODULE, &module->path, err);
	}
	change_meta(redactor, profile, err);
	return !allo_failed(err);
}
