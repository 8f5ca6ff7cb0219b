/* file_name.c - no stdio and no libc time functions: they allocate and read files. */
#include "capture/file/file_name.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <string.h>
#include <sys/utsname.h>
#include <time.h>

struct name {
	char *text;
	size_t len, room;
};

static void add(struct name *name, const char *text, size_t len)
{
	if (len < name->room - name->len)
		memcpy(name->text + name->len, text, len);
	/* An overflow sticks: len == room says so at the end. */
	name->len += len < name->room - name->len ? len : name->room - name->len;
}

size_t allo_put_decimal(char *to, unsigned width, uint64_t value)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0 || count < width);
	for (size_t i = 0; i < count; i++)
		to[i] = digits[count - 1 - i];
	return count;
}

static void add_number(struct name *name, unsigned width, uint64_t value)
{
	char digits[20];

	add(name, digits, allo_put_decimal(digits, width, value));
}

static void add_pid(struct name *name)
{
	add_number(name, 0, allo_process_number());
}

void allo_put_date(char *to, uint64_t seconds)
{
	/* Years that start in March have the leap day at their end.  719468 days lie between
	 * March 1st of year 0 and 1970. */
	uint64_t day = seconds / 86400 + 719468, era_day = day % 146097;
	uint64_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
	uint64_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
	uint64_t month = (5 * year_day + 2) / 153;

	to += allo_put_decimal(to, 4, day / 146097 * 400 + era_year + (month >= 10));
	to += allo_put_decimal(to, 2, month < 10 ? month + 3 : month - 9);
	to += allo_put_decimal(to, 2, year_day - (153 * month + 2) / 5 + 1);
	*to++ = 'T';
	to += allo_put_decimal(to, 2, seconds / 3600 % 24);
	to += allo_put_decimal(to, 2, seconds / 60 % 60);
	allo_put_decimal(to, 2, seconds % 60);
}

static void add_time(struct name *name)
{
	char date[ALLO_DATE_LEN];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	allo_put_date(date, (uint64_t)now.tv_sec);
	add(name, date, sizeof(date));
}

static void add_letter(struct name *name, char letter, unsigned number)
{
	struct utsname names;

	switch (letter) {
	case 'e':
		add(name, allo_settings.program, strlen(allo_settings.program));
		break;
	case 'p':
		add_pid(name);
		break;
	case 't':
		add_time(name);
		break;
	case 'h':
		if (ALLO_SYSCALL1(SYS_uname, &names) == 0)
			add(name, names.nodename, strlen(names.nodename));
		break;
	case 'n':
		add_number(name, 0, number);
		break;
	default:
		add(name, "%", 1);
	}
}

/* Inserts ".PID" or ".PID.N" before the extension. */
static void add_distinction(struct name *name, unsigned number)
{
	add(name, ".", 1);
	add_pid(name);
	if (number > 2) {
		add(name, ".", 1);
		add_number(name, 0, number - 1);
	}
}

static bool is_letter(const char *at)
{
	return at[0] == '%' && at[1] && strchr("epthn%", at[1]);
}

static bool is_numbered(const char *pattern)
{
	for (const char *at = pattern; *at; at++) {
		if (is_letter(at) && *++at == 'n')
			return true;
	}
	return false;
}

bool allo_file_name(const char *pattern, unsigned number, char *text, size_t room)
{
	struct name name = { .text = text, .room = room };
	const char *ending = strrchr(pattern, '.'), *folder = strrchr(pattern, '/');
	bool is_distinct = number == 1 || is_numbered(pattern);

	if (!ending || (folder && ending < folder))
		ending = pattern + strlen(pattern);
	for (const char *at = pattern;; at++) {
		if (at == ending && !is_distinct)
			add_distinction(&name, number);
		if (!*at)
			break;
		if (is_letter(at))
			add_letter(&name, *++at, number);
		else
			add(&name, at, 1);
	}
	if (name.len == room)
		return false;
	text[name.len] = '\0';
	return true;
}
