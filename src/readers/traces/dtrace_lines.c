/* dtrace_lines.c - classifies lines by their look, and guesses the roles of keys. */
#include "readers/traces/dtrace_lines.h"

enum {
	USUAL_INDENT = 14, /* of frames */
	NAME_COLUMNS = 50, /* of a string */
	WIDE_COLUMNS = 17, /* of an integer of 64 bits, with the space before it */
};

size_t allo_dtrace_indent(struct allo_text line)
{
	size_t indent = 0;

	while (indent < line.len && (line.data[indent] == ' ' || line.data[indent] == '\t'))
		indent++;
	return indent;
}

/* Takes a word, and the white space before it, off the front. */
static bool take_word(struct allo_text *rest, struct allo_text *word)
{
	*rest = allo_text_from(*rest, allo_dtrace_indent(*rest));
	word->data = rest->data;
	word->len = 0;
	while (word->len < rest->len && rest->data[word->len] != ' ' &&
	       rest->data[word->len] != '\t')
		word->len++;
	*rest = allo_text_from(*rest, word->len);
	return word->len > 0;
}

/* Whether a word is a decimal number, perhaps negative; one that does not fit is clamped. */
static bool parse_number(struct allo_text word, struct allo_dtrace_key *key)
{
	struct allo_text digits = word;

	key->is_negative = allo_text_skip(&digits, ALLO_TEXT("-"));
	if (digits.len == 0)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (!allo_is_digit(digits.data[i]))
			return false;
	}
	if (!allo_text_u64(digits, &key->number))
		key->number = UINT64_MAX;
	return true;
}

static bool is_number(struct allo_text word)
{
	struct allo_dtrace_key ignored;

	return parse_number(word, &ignored);
}

static bool is_numbers(struct allo_text text)
{
	struct allo_text word;

	while (take_word(&text, &word)) {
		if (!is_number(word))
			return false;
	}
	return true;
}

bool allo_dtrace_is_plain(struct allo_text text)
{
	uint64_t ignored;

	return memchr(text.data, '`', text.len) ||
	       (allo_text_skip(&text, ALLO_TEXT("0x")) && allo_text_hex(text, &ignored));
}

/* "  3  71232                        :tick-10s", in columns of 3, 6 and 32, or with -F:
 * "  3  -> main". */
static bool is_probe(struct allo_text line)
{
	struct allo_text rest = line, cpu, id, name;

	if (!take_word(&rest, &cpu) || !is_number(cpu) || !take_word(&rest, &id))
		return false;
	if (allo_text_equal(id, ALLO_TEXT("->")) || allo_text_equal(id, ALLO_TEXT("<-")) ||
	    allo_text_equal(id, ALLO_TEXT("=>")) || allo_text_equal(id, ALLO_TEXT("<=")) ||
	    allo_text_equal(id, ALLO_TEXT("|")))
		return true;
	return is_number(id) && take_word(&rest, &name) && memchr(name.data, ':', name.len) &&
	       allo_dtrace_indent(rest) == rest.len && line.len >= 3 + 1 + 6 + 1 + 32;
}

static bool is_probe_head(struct allo_text line)
{
	struct allo_text word;

	return take_word(&line, &word) && allo_text_equal(word, ALLO_TEXT("CPU")) &&
	       take_word(&line, &word) &&
	       (allo_text_equal(word, ALLO_TEXT("ID")) ||
		allo_text_equal(word, ALLO_TEXT("FUNCTION")));
}

static bool is_annotation(struct allo_text text)
{
	return allo_text_starts(text, ALLO_TEXT("[ ")) && allo_text_ends(text, ALLO_TEXT(" ]"));
}

bool allo_dtrace_ends_in_number(struct allo_text line)
{
	struct allo_text before, last;

	return allo_text_cut_last(allo_text_trim(line), ' ', &before, &last) && is_number(last);
}

/* Whether a text with this indentation is a frame.  Frames of language helpers have neither module
 * nor address and are recognised by their indentation alone. */
static bool is_frame(struct allo_text text, size_t indent, size_t usual)
{
	struct allo_text rest = text, word;

	/* Keys that are names, also of symbols, are indented by two columns and followed by other
	 * keys or a count. */
	if (indent == ALLO_DTRACE_KEY_INDENT)
		return usual == indent && allo_dtrace_is_plain(text) &&
		       !allo_dtrace_ends_in_number(text);
	if (allo_dtrace_is_plain(text))
		return usual == 0 || indent == usual || indent >= ALLO_DTRACE_INDENT;
	return indent == (usual ? usual : USUAL_INDENT) && take_word(&rest, &word) &&
	       !is_number(word);
}

enum allo_dtrace_line allo_dtrace_line_of(struct allo_text line, size_t indent)
{
	size_t own = allo_dtrace_indent(line);
	struct allo_text text = allo_text_from(line, own);

	if (text.len == 0)
		return ALLO_DTRACE_BLANK;
	if (own == 0 && allo_text_starts(text, ALLO_TEXT("dtrace: ")))
		return ALLO_DTRACE_NOTICE;
	if (is_numbers(text))
		return ALLO_DTRACE_NUMBERS;
	if (allo_text_find(text, ALLO_TEXT("------------- Distribution -------------")) !=
	    (size_t)-1)
		return ALLO_DTRACE_TABLE;
	if (is_probe_head(text) || is_probe(line))
		return ALLO_DTRACE_PROBE;
	if (own > (indent ? indent : ALLO_DTRACE_INDENT) && is_annotation(text))
		return ALLO_DTRACE_ANNOTATION;
	return is_frame(text, own, indent) ? ALLO_DTRACE_FRAME : ALLO_DTRACE_WORDS;
}

uint64_t allo_dtrace_drops(struct allo_text notice)
{
	struct allo_dtrace_key number = { 0 };
	struct allo_text rest = notice, word;

	if (!allo_text_skip(&rest, ALLO_TEXT("dtrace: ")) || !take_word(&rest, &word))
		return 0;
	if (word.data[0] == '[' && !take_word(&rest, &word)) /* -x droptags */
		return 0;
	if (allo_text_find(rest, ALLO_TEXT(" drop")) == (size_t)-1 || !parse_number(word, &number))
		return 0;
	return number.number;
}

/* A name ends at two spaces or at the end of its columns. */
static struct allo_text name_at(struct allo_text text)
{
	size_t len = 0;

	while (len < text.len &&
	       !(text.data[len] == ' ' &&
		 (len >= NAME_COLUMNS || len + 1 == text.len || text.data[len + 1] == ' ')))
		len++;
	return (struct allo_text){ text.data, len };
}

size_t allo_dtrace_split(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS])
{
	struct allo_text rest = line, word;
	size_t count = 0;

	while (take_word(&rest, &word)) {
		struct allo_dtrace_key *key = &keys[count++];

		if (count > ALLO_DTRACE_KEYS)
			break;
		*key = (struct allo_dtrace_key){ .text = word };
		key->is_number = parse_number(word, key);
		key->is_wide = (size_t)(word.data + word.len - line.data) == WIDE_COLUMNS;
		if (key->is_number)
			continue;
		rest = (struct allo_text){ word.data, word.len + rest.len };
		key->text = name_at(rest);
		rest = allo_text_from(rest, key->text.len);
	}
	return count;
}

size_t allo_dtrace_split_words(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS])
{
	size_t count = 0;
	struct allo_text word;

	while (take_word(&line, &word)) {
		struct allo_dtrace_key *key = &keys[count++];

		if (count > ALLO_DTRACE_KEYS)
			break;
		*key = (struct allo_dtrace_key){ .text = word };
		key->is_number = parse_number(word, key);
	}
	return count;
}

enum {
	GROUPS_MOST = 64, /* distinct kinds of aggregations */
	CPUS_MOST = 256,  /* more CPUs need --fields */
};

/* Nine seconds of uptime in nanoseconds: larger than any process id. */
static const uint64_t least_time = UINT64_C(1) << 33;

static const struct {
	struct allo_text name;
	enum allo_dtrace_role role;
} names[] = {
	{ ALLO_TEXT_INIT("-"), ALLO_DTRACE_UNSAID },
	{ ALLO_TEXT_INIT("timestamp"), ALLO_DTRACE_TIME },
	{ ALLO_TEXT_INIT("walltimestamp"), ALLO_DTRACE_TIME },
	{ ALLO_TEXT_INIT("vtimestamp"), ALLO_DTRACE_TIME },
	{ ALLO_TEXT_INIT("pid"), ALLO_DTRACE_PID },
	{ ALLO_TEXT_INIT("tid"), ALLO_DTRACE_TID },
	{ ALLO_TEXT_INIT("execname"), ALLO_DTRACE_NAME },
	{ ALLO_TEXT_INIT("cpu"), ALLO_DTRACE_CPU },
};

static enum allo_dtrace_role role_of_name(struct allo_text name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(name, names[i].name))
			return names[i].role;
	}
	return ALLO_DTRACE_IGNORED;
}

bool allo_dtrace_columns_init(struct allo_dtrace_columns *columns, const char *fields)
{
	struct allo_text rest, name;

	if (!fields)
		return true;
	columns->has_fields = true;
	rest = allo_text_of(fields);
	while (rest.len > 0 && allo_text_next(&rest, ',', &name)) {
		if (columns->field_count == ALLO_DTRACE_KEYS)
			return false;
		columns->fields[columns->field_count++] = role_of_name(allo_text_trim(name));
	}
	return true;
}

void allo_dtrace_columns_done(struct allo_dtrace_columns *columns)
{
	allo_vec_done(&columns->groups);
}

/* Groups. */

static uint32_t names_among(const struct allo_dtrace_key *keys, size_t count)
{
	uint32_t among = 0;

	for (size_t i = 0; i < count; i++)
		among |= (uint32_t)!keys[i].is_number << i;
	return among;
}

static struct allo_dtrace_group *find_group(struct allo_dtrace_columns *columns,
					    const struct allo_dtrace_key *keys, size_t count,
					    size_t before, bool is_behind)
{
	struct allo_dtrace_group new = { .is_behind = is_behind,
					 .names = names_among(keys, count),
					 .first = before,
					 .count = count };

	for (size_t i = 0; i < columns->groups.len; i++) {
		struct allo_dtrace_group *group = &columns->groups.at[i];

		if (group->is_behind == is_behind && group->names == new.names &&
		    group->first == before && group->count == count)
			return group;
	}
	/* Too many groups: the rest share the last one. */
	if (columns->groups.len == GROUPS_MOST)
		columns->groups.len--;
	if (!allo_vec_append(&columns->groups, &new, 1))
		return NULL;
	return &columns->groups.at[columns->groups.len - 1];
}

static void look_at(struct allo_dtrace_group *group, const struct allo_dtrace_key *keys)
{
	for (size_t i = 0; i < group->count; i++) {
		struct allo_dtrace_column *column = &group->columns[i];
		uint64_t number = keys[i].is_negative ? 0 : keys[i].number;

		if (group->seen == 0)
			*column = (struct allo_dtrace_column){ number, number, number, false,
							       keys[i].is_wide };
		column->falls |= number < column->last;
		column->last = number;
		if (number < column->least)
			column->least = number;
		if (number > column->most)
			column->most = number;
	}
	group->seen++;
}

bool allo_dtrace_columns_look(struct allo_dtrace_columns *columns,
			      const struct allo_dtrace_key *keys, size_t count, size_t before,
			      bool is_behind)
{
	struct allo_dtrace_group *group = find_group(columns, keys, count, before, is_behind);

	if (group)
		look_at(group, keys);
	return group;
}

/* Roles. */

static bool is_name(const struct allo_dtrace_group *group, size_t column)
{
	return group->names >> column & 1;
}

static bool may_be_time(const struct allo_dtrace_group *group, size_t column)
{
	const struct allo_dtrace_column *seen = &group->columns[column];

	return group->roles[column] == ALLO_DTRACE_UNSAID && !is_name(group, column) &&
	       seen->least >= least_time && !seen->falls;
}

/* The time is the first column that may be one, unless --fields names it. */
static void find_time(struct allo_dtrace_group *group)
{
	size_t found = group->count;

	for (size_t i = group->count; i-- > 0;) {
		if (group->roles[i] == ALLO_DTRACE_TIME)
			return;
		if (may_be_time(group, i))
			found = i;
	}
	if (found < group->count)
		group->roles[found] = ALLO_DTRACE_TIME;
}

static void find_name(struct allo_dtrace_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (is_name(group, i)) {
			group->roles[i] = ALLO_DTRACE_NAME;
			return;
		}
	}
}

/* Lists the columns of numbers without a role; returns their count. */
static size_t list_unknown(const struct allo_dtrace_group *group, size_t unknown[ALLO_DTRACE_KEYS])
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (group->roles[i] == ALLO_DTRACE_UNSAID && !is_name(group, i))
			unknown[count++] = i;
	}
	return count;
}

/* CPUs are numbered from 0, threads and processes from 1. */
static bool may_be_cpu(const struct allo_dtrace_column *column)
{
	return column->least == 0 && column->most > 0 && column->most < CPUS_MOST;
}

static void find_cpu(struct allo_dtrace_group *group)
{
	size_t unknown[ALLO_DTRACE_KEYS], count = list_unknown(group, unknown);
	size_t small = 0, last = 0;

	for (size_t i = 0; i < count; i++) {
		if (may_be_cpu(&group->columns[unknown[i]])) {
			small++;
			last = unknown[i];
		}
	}
	if (small == 1)
		group->roles[last] = ALLO_DTRACE_CPU;
}

/* A process, then a thread.  A single number that is printed as 64 bits wide is not a process.
 */
static void find_thread(struct allo_dtrace_group *group)
{
	size_t unknown[ALLO_DTRACE_KEYS], count = list_unknown(group, unknown);

	if (count == 1)
		group->roles[unknown[0]] = group->columns[unknown[0]].is_wide ? ALLO_DTRACE_TID
									      : ALLO_DTRACE_PID;
	if (count == 2) {
		group->roles[unknown[0]] = ALLO_DTRACE_PID;
		group->roles[unknown[1]] = ALLO_DTRACE_TID;
	}
}

static void find_roles(const struct allo_dtrace_columns *columns, struct allo_dtrace_group *group)
{
	if (columns->has_fields) {
		for (size_t i = 0; i < group->count; i++)
			group->roles[i] = group->first + i < columns->field_count
						  ? columns->fields[group->first + i]
						  : ALLO_DTRACE_IGNORED;
		find_time(group);
	} else {
		find_time(group);
		find_name(group);
		find_cpu(group);
		find_thread(group);
	}
	group->has_roles = true;
}

bool allo_dtrace_columns_first_time(struct allo_dtrace_columns *columns, uint64_t *time)
{
	bool has_time = false;

	for (size_t i = 0; i < columns->groups.len; i++) {
		struct allo_dtrace_group *group = &columns->groups.at[i];

		if (!group->has_roles)
			find_roles(columns, group);
		for (size_t k = 0; k < group->count; k++) {
			if (group->roles[k] != ALLO_DTRACE_TIME)
				continue;
			if (!has_time || group->columns[k].least < *time)
				*time = group->columns[k].least;
			has_time = true;
		}
	}
	return has_time;
}

const enum allo_dtrace_role *allo_dtrace_columns_roles(struct allo_dtrace_columns *columns,
						       const struct allo_dtrace_key *keys,
						       size_t count, size_t before, bool is_behind)
{
	struct allo_dtrace_group *group = find_group(columns, keys, count, before, is_behind);

	if (!group)
		return NULL;
	if (group->seen == 0)
		look_at(group, keys);
	if (!group->has_roles)
		find_roles(columns, group);
	return group->roles;
}
