/* messages.c - prefixes, colours and the progress bar. */
#include "report/messages.h"

#include "base/units.h"
#include "base/utf8.h"
#include "report/show.h"
#include "report/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Names from files must not move the cursor. */
static void put_printable(struct allo_text text)
{
	while (text.len > 0) {
		size_t len = allo_utf8_character(text);

		if (len == 0)
			fputs(ALLO_UTF8_REPLACEMENT, stderr);
		else if (allo_utf8_is_control(text))
			fputc('?', stderr);
		else
			fwrite(text.data, 1, len, stderr);
		text = allo_text_from(text, len ? len : 1);
	}
}

/* The rest of a line that has `column` columns.  On a terminal, long lines break between words. */
static void put_line(const char *line, size_t column)
{
	enum { INDENT = 4 };
	size_t width = allo_terminal_error_columns();
	struct allo_text rest = allo_text_of(line);

	while (rest.len > 0) {
		struct allo_text part = allo_show_next(&rest);

		if (width > 0 && part.data[0] == ' ' && column > INDENT &&
		    column + allo_utf8_columns(part) > width) {
			fprintf(stderr, "\n%*s", INDENT, "");
			column = INDENT;
			part = allo_text_trim(part);
		}
		put_printable(part);
		column += allo_utf8_columns(part);
	}
}

static struct allo_style error_style(void)
{
	return allo_style_of(allo_wants_color(ALLO_COLOR_AUTO, STDERR_FILENO));
}

static void say(const char *escape, const char *start, const char *fmt, va_list args)
{
	struct allo_style style = error_style();
	char line[8192];

	vsnprintf(line, sizeof(line), fmt, args);
	fprintf(stderr, "%s%s", escape, start);
	put_line(line, strlen(start));
	fprintf(stderr, "%s\n", escape[0] ? style.reset : "");
}

void allo_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("", "allo: ", fmt, args);
	va_end(args);
}

void allo_say_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(error_style().dim, "note: ", fmt, args);
	va_end(args);
}

void allo_say_advice(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("", "  ", fmt, args);
	va_end(args);
}

const char *allo_format_pos(struct allo_pos pos, char *out, size_t room)
{
	const char *file = pos.file ? pos.file : "", *slash = pos.part[0] ? "/" : "";

	if (pos.file && file[0] == '\0' && pos.part[0] == '\0')
		file = "''"; /* an empty name is still a name */

	if (pos.line > 0)
		snprintf(out, room, "%s%s%s:%llu:%llu", file, slash, pos.part,
			 (unsigned long long)pos.line, (unsigned long long)pos.byte);
	else if (pos.byte > 0)
		snprintf(out, room, "%s%s%s: byte %llu", file, slash, pos.part,
			 (unsigned long long)pos.byte);
	else
		snprintf(out, room, "%s%s%s", file, slash, pos.part);
	return out;
}

void allo_say_error(const struct allo_error *err)
{
	struct allo_style style = error_style();
	char where[4200] = "", line[4600];

	if (err->pos.file)
		allo_format_pos(err->pos, where, sizeof(where));
	snprintf(line, sizeof(line), "%s%s%s", where, where[0] ? ": " : "", err->message);
	fprintf(stderr, "allo: %serror:%s ", style.red, style.reset);
	put_line(line, strlen("allo: error: "));
	fputc('\n', stderr);
	if (err->hint[0]) {
		fprintf(stderr, "%s  hint: ", style.dim);
		put_line(err->hint, strlen("  hint: "));
		fprintf(stderr, "%s\n", style.reset);
	}
}

static bool is_fault(enum allo_note kind)
{
	return allo_note_kinds[kind].is_unread || allo_note_kinds[kind].is_repairable;
}

/* Whether to print the place of the first: a line, a fault in a binary file, or one of several
 * files. */
static bool has_place(const struct allo_notes *notes, enum allo_note kind)
{
	const struct allo_pos *first = &notes->of[kind].first;

	return first->line > 0 || first->part[0] || (first->byte > 0 && is_fault(kind)) ||
	       (first->file && notes->are_merged);
}

/* The numbers of a truncated file look like those of a whole one.  False if the note does not tell
 * where the file ends. */
static bool say_truncated(const struct allo_notes *notes)
{
	struct allo_pos end = notes->of[ALLO_NOTE_CUT].first;
	char count[ALLO_NUMBER_SIZE], where[4200];

	if (notes->of[ALLO_NOTE_CUT].count != 1 || !end.file || end.line > 0 || end.byte == 0)
		return false;
	allo_format_count(end.byte - 1, count);
	end.byte = 0;
	allo_say_note("%s is truncated: the numbers are those of its first %s bytes",
		      allo_format_pos(end, where, sizeof(where)), count);
	return true;
}

static void say_kind(const struct allo_notes *notes, enum allo_note kind)
{
	char count[ALLO_NUMBER_SIZE], detail[ALLO_NOTE_DETAIL], where[4200] = "";

	if (notes->of[kind].count == 0 || (kind == ALLO_NOTE_CUT && say_truncated(notes)))
		return;
	if (has_place(notes, kind))
		allo_format_pos(notes->of[kind].first, where, sizeof(where));
	allo_say_note("%s %s%s%s%s%s", allo_format_count(notes->of[kind].count, count),
		      allo_note_text(notes, kind), allo_note_detail(notes, kind, detail),
		      where[0] ? " (first at " : "", where, where[0] ? ")" : "");
}

void allo_say_missing(const struct allo_notes *notes)
{
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (allo_note_is_gap(n))
			say_kind(notes, n);
	}
}

void allo_say_other_notes(const struct allo_notes *notes)
{
	for (enum allo_note n = 0; n < ALLO_NOTES; n++) {
		if (!allo_note_is_gap(n))
			say_kind(notes, n);
	}
}

void allo_say_notes(const struct allo_notes *notes)
{
	allo_say_missing(notes);
	allo_say_other_notes(notes);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void draw(struct allo_progress_bar *bar, uint64_t done, uint64_t total, double now)
{
	char number[ALLO_NUMBER_SIZE], amount[ALLO_NUMBER_SIZE + 16];
	char filled[] = "====================";
	double elapsed = now - bar->started, share = total ? (double)done / (double)total : 0;
	int width = (int)sizeof(filled) - 1;

	if (bar->counts)
		snprintf(amount, sizeof(amount), "%s %s", allo_format_count(done, number),
			 bar->counts);
	else
		allo_format_bytes(done, amount);
	if (total == 0 || share > 1)
		fprintf(stderr, "\r\033[K%s  %s", bar->what, amount);
	else
		fprintf(stderr, "\r\033[K%s [%.*s>%*s] %3.0f%%  %s  eta %.0f s", bar->what,
			(int)(share * width), filled, width - (int)(share * width), "", share * 100,
			amount, elapsed / (share > 0 ? share : 1) * (1 - share));
	fflush(stderr);
	bar->drawn = now;
}

static void tell(void *context, uint64_t done, uint64_t total)
{
	struct allo_progress_bar *bar = context;
	double now = seconds_now();

	/* Shorter operations need no bar, and ten updates a second are enough. */
	if (now - bar->started > 0.3 && now - bar->drawn > 0.1)
		draw(bar, done, total, now);
}

void allo_progress_bar_init(struct allo_progress_bar *bar, const char *what)
{
	*bar = (struct allo_progress_bar){ .progress = { tell, bar },
					   .what = what,
					   .started = seconds_now(),
					   .is_on = isatty(STDERR_FILENO) };
}

void allo_progress_bar_done(struct allo_progress_bar *bar)
{
	if (bar->drawn > 0) {
		fputs("\r\033[K", stderr);
		fflush(stderr); /* before the result, which goes to another stream */
	}
	bar->drawn = 0;
}
