/* perf_lines.c - parses lines whose fields depend on the options of `perf script`. */
#include "readers/traces/perf_lines.h"

static bool is_hex(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'f');
}

static struct allo_text skip_spaces(struct allo_text text)
{
	while (text.len > 0 && allo_is_space(text.data[0]))
		text = allo_text_from(text, 1);
	return text;
}

static struct allo_text drop_spaces(struct allo_text text)
{
	while (text.len > 0 && allo_is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

/* The first word of a text without leading spaces. */
static struct allo_text first_word(struct allo_text text)
{
	size_t len = 0;

	while (len < text.len && !allo_is_space(text.data[len]))
		len++;
	return (struct allo_text){ text.data, len };
}

/* Takes the last word off a text. */
static struct allo_text take_last_word(struct allo_text *text)
{
	struct allo_text word = drop_spaces(*text);
	size_t first = word.len;

	while (first > 0 && !allo_is_space(word.data[first - 1]))
		first--;
	*text = (struct allo_text){ word.data, first };
	return allo_text_from(word, first);
}

static struct allo_text rest_after(struct allo_text text, size_t count)
{
	return skip_spaces(allo_text_from(text, count));
}

/* Frames. */

/* The length of the address at the front; 0 if there is none. */
static size_t address_length(struct allo_text text)
{
	size_t len = 0;

	while (len < text.len && is_hex(text.data[len]))
		len++;
	return len == text.len || allo_is_space(text.data[len]) ? len : 0;
}

bool allo_perf_starts_frame(struct allo_text text)
{
	return address_length(text) > 0;
}

bool allo_perf_is_frame(struct allo_text line)
{
	return line.len > 0 && allo_perf_is_indented(line.data[0]) &&
	       allo_perf_starts_frame(skip_spaces(line));
}

/* Without "+0x1f" at the end. */
static struct allo_text without_offset(struct allo_text text)
{
	size_t at = text.len;

	while (at > 0 && is_hex(text.data[at - 1]))
		at--;
	if (at < text.len && at >= 3 && memcmp(text.data + at - 3, "+0x", 3) == 0)
		text.len = at - 3;
	return text;
}

/* The start of " (object)" after a symbol's offset, which cannot be part of a name. */
static size_t find_after_offset(struct allo_text text)
{
	size_t from = 0, at;

	while ((at = allo_text_find(allo_text_from(text, from), ALLO_TEXT("+0x"))) != (size_t)-1) {
		size_t end = from + at + 3;

		while (end < text.len && is_hex(text.data[end]))
			end++;
		if (end > from + at + 3 &&
		    allo_text_starts(allo_text_from(text, end), ALLO_TEXT(" (")))
			return end;
		from += at + 3;
	}
	return (size_t)-1;
}

/* The start of " (object)": both sides may contain spaces and parentheses. */
static size_t find_object(struct allo_text text)
{
	size_t at;

	if (text.len == 0 || text.data[text.len - 1] != ')')
		return (size_t)-1;
	if (allo_text_starts(text, ALLO_TEXT("[unknown] (")))
		return sizeof("[unknown]") - 1;
	at = find_after_offset(text);
	if (at == (size_t)-1)
		at = allo_text_find(text, ALLO_TEXT(" (/"));
	if (at == (size_t)-1)
		at = allo_text_find_last(text, ALLO_TEXT(" ("));
	return at;
}

struct allo_perf_frame allo_perf_parse_frame(struct allo_text line)
{
	struct allo_text text = skip_spaces(drop_spaces(line));
	struct allo_perf_frame frame = { 0 };
	size_t at;

	text = rest_after(text, address_length(text));
	frame.symbol = text;
	at = text.len > 0 && text.data[0] == '(' ? 0 : find_object(text);
	if (at != (size_t)-1) {
		frame.symbol.len = at;
		frame.object = rest_after(text, at);
		frame.object = without_offset((struct allo_text){
			frame.object.data + 1, frame.object.len - 1 - (frame.object.len > 1) });
	}
	frame.symbol = without_offset(drop_spaces(frame.symbol));
	if (allo_text_equal(frame.symbol, ALLO_TEXT("[unknown]")))
		frame.symbol.len = 0;
	frame.is_inlined = allo_text_equal(frame.object, ALLO_TEXT("inlined"));
	if (frame.is_inlined || allo_text_equal(frame.object, ALLO_TEXT("[unknown]")))
		frame.object.len = 0;
	return frame;
}

bool allo_perf_parse_place(struct allo_text line, struct allo_text *file, uint32_t *number)
{
	struct allo_text before, after;
	uint64_t found;

	if (!allo_text_cut_last(skip_spaces(drop_spaces(line)), ':', &before, &after) ||
	    before.len == 0 || !allo_text_u64(after, &found) || found > UINT32_MAX)
		return false;
	*file = before;
	*number = (uint32_t)found;
	return true;
}

/* Samples. */

/* "69622.507892", in nanoseconds; fractions have 6 or 9 digits. */
static bool parse_seconds(struct allo_text text, uint64_t *ns)
{
	struct allo_text whole, fraction;
	uint64_t seconds, parts;

	if (!allo_text_cut(text, '.', &whole, &fraction) || fraction.len > 9 ||
	    !allo_text_u64(whole, &seconds) || !allo_text_u64(fraction, &parts) ||
	    seconds >= INT64_MAX / 1000000000)
		return false;
	for (size_t digits = fraction.len; digits < 9; digits++)
		parts *= 10;
	*ns = seconds * 1000000000 + parts;
	return true;
}

/* "15094" or "15094/15097" */
static bool parse_thread(struct allo_text word, struct allo_perf_head *head)
{
	struct allo_text pid, tid = word;

	head->pid = 0;
	if (allo_text_cut(word, '/', &pid, &tid) && !allo_text_u64(pid, &head->pid))
		return false;
	head->has_tid = allo_text_u64(tid, &head->tid);
	return head->has_tid;
}

/* Whether a word between the thread's ids and the time is a CPU, "[003]", or its modes, "U". */
static bool is_mode(struct allo_text word)
{
	return word.len > 0 && (word.data[0] == '[' ||
				(word.len <= 2 && word.data[0] >= 'A' && word.data[0] <= 'Z'));
}

/* Parses the part before the time: "comm 15094/15097 [003] U". */
static void parse_who(struct allo_text text, struct allo_perf_head *head)
{
	struct allo_text rest = text, word;

	do {
		word = take_last_word(&rest);
	} while (is_mode(word));
	head->comm = skip_spaces(drop_spaces(parse_thread(word, head) ? rest : text));
}

/* Cuts a text at its first time: seconds with a colon after them, and a space before unless they
 * come first.
 */
static bool cut_at_time(struct allo_text text, struct allo_text *before, struct allo_text *after,
			uint64_t *ns)
{
	struct allo_text rest = text, ignored;

	while (allo_text_cut(rest, ':', &ignored, &rest)) {
		size_t colon = (size_t)(rest.data - 1 - text.data), first = colon;

		while (first > 0 &&
		       (allo_is_digit(text.data[first - 1]) || text.data[first - 1] == '.'))
			first--;
		if ((first == 0 || allo_is_space(text.data[first - 1])) &&
		    parse_seconds((struct allo_text){ text.data + first, colon - first }, ns)) {
			*before = (struct allo_text){ text.data, first };
			*after = rest;
			return true;
		}
	}
	return false;
}

/* Cuts a line at the time of the sample.  A name may look like anything: if a thread's ids and
 * another time follow a time, it was part of the name. */
static bool find_time(struct allo_text line, struct allo_text *before, struct allo_text *after,
		      uint64_t *ns)
{
	struct allo_text between, rest;
	struct allo_perf_head head = { 0 };
	uint64_t next_ns;

	if (!cut_at_time(line, before, after, ns))
		return false;
	while (cut_at_time(*after, &between, &rest, &next_ns)) {
		parse_who(between, &head);
		if (!head.has_tid || head.comm.len > 0)
			break;
		before->len = (size_t)(between.data + between.len - before->data);
		*after = rest;
		*ns = next_ns;
	}
	return true;
}

/* The length of "cycles:u:" at the front, including the last colon; 0 if there is none.  Only raw
 * events, "raw 0x1c2:", have a space in their names. */
static size_t event_length(struct allo_text text)
{
	size_t skipped = allo_text_starts(text, ALLO_TEXT("raw 0x")) ? 4 : 0;
	struct allo_text word = first_word(allo_text_from(text, skipped));

	return word.len > 1 && word.data[word.len - 1] == ':' ? skipped + word.len : 0;
}

static bool take_event(struct allo_text *text, struct allo_perf_head *head)
{
	size_t len = event_length(*text);

	if (len == 0)
		return false;
	head->event = (struct allo_text){ text->data, len - 1 };
	*text = rest_after(*text, len);
	return true;
}

/* Parses the part after the time: "100000 cycles:u: ...". */
static void parse_what(struct allo_text text, struct allo_perf_head *head)
{
	struct allo_text word, rest;

	text = skip_spaces(text);
	word = first_word(text);
	rest = rest_after(text, word.len);
	/* An address may have decimal digits only, but a symbol follows it. */
	head->has_period = allo_text_u64(word, &head->period) &&
			   (rest.len == 0 || event_length(rest) > 0 || address_length(rest) > 0);
	if (head->has_period)
		text = rest;
	take_event(&text, head);
	head->rest = text;
}

/* Without a time: "comm 15094 [003] 100000 cycles:u:", where the thread's
 * ids are the first number that only such words follow. */
static bool parse_timeless(struct allo_text line, struct allo_perf_head *head)
{
	enum { COMM_WORDS = 8 }; /* the kernel keeps 15 bytes of a name */
	struct allo_text text = line;

	for (int i = 0; i <= COMM_WORDS && text.len > 0; i++) {
		struct allo_text word = first_word(text), rest = rest_after(text, word.len);
		struct allo_text next = first_word(rest);

		if (parse_thread(word, head)) {
			parse_what(is_mode(next) ? rest_after(rest, next.len) : rest, head);
			if (head->event.len > 0 || head->rest.len == 0) {
				head->comm = drop_spaces((struct allo_text){
					line.data, (size_t)(text.data - line.data) });
				return true;
			}
		}
		text = rest;
	}
	*head = (struct allo_perf_head){ 0 };
	return take_event(&line, head) && line.len == 0;
}

bool allo_perf_parse_head(struct allo_text line, struct allo_perf_head *head)
{
	struct allo_text before, after;

	line = skip_spaces(drop_spaces(line));
	*head = (struct allo_perf_head){ 0 };
	head->has_time = find_time(line, &before, &after, &head->time_ns);
	if (!head->has_time)
		return parse_timeless(line, head);
	parse_who(before, head);
	parse_what(after, head);
	return true;
}
