/* units.c - binary units for bytes, decimal ones for times, separators for counts. */
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>

enum allo_unit allo_unit_of(struct allo_text name)
{
	if (allo_text_equal(name, ALLO_TEXT("bytes")))
		return ALLO_UNIT_BYTES;
	if (allo_text_equal(name, ALLO_TEXT("nanoseconds")))
		return ALLO_UNIT_NS;
	return ALLO_UNIT_COUNT;
}

const char *allo_format_count(uint64_t count, char out[ALLO_NUMBER_SIZE])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *to = out;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

/* Formats `value` units[0] in the largest unit that it reaches. */
static const char *format_scaled(double value, const char *const *units, double step, char *out)
{
	/* 999.96 would print as 1000.0, so it moves to the next unit. */
	while (units[1] && value >= step - 0.05) {
		value /= step;
		units++;
	}
	snprintf(out, ALLO_NUMBER_SIZE, "%.*f %s", value < 9.995 ? 2 : 1, value, *units);
	return out;
}

const char *allo_format_bytes(uint64_t bytes, char out[ALLO_NUMBER_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL };

	char count[ALLO_NUMBER_SIZE];

	if (bytes < 1024) {
		snprintf(out, ALLO_NUMBER_SIZE, "%.5s B", allo_format_count(bytes, count));
		return out;
	}
	return format_scaled((double)bytes / 1024, units, 1024, out);
}

static const char *format_ns(uint64_t ns, char *out)
{
	static const char *const units[] = { "us", "ms", "s", NULL };

	if (ns < 1000) {
		snprintf(out, ALLO_NUMBER_SIZE, "%u ns", (unsigned)ns);
		return out;
	}
	return format_scaled((double)ns / 1000, units, 1000, out);
}

/* Formats with a sign, or none for '\0'. */
static const char *format_signed(char sign, struct allo_number number, enum allo_unit unit,
				 bool is_plain, char out[ALLO_NUMBER_SIZE])
{
	uint64_t magnitude = number.magnitude;
	char text[ALLO_NUMBER_SIZE];

	if (is_plain)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)magnitude);
	else if (unit == ALLO_UNIT_BYTES)
		allo_format_bytes(magnitude, text);
	else if (unit == ALLO_UNIT_NS)
		format_ns(magnitude, text);
	else
		allo_format_count(magnitude, text);
	/* Nothing was seen: nothing is estimated. */
	snprintf(out, ALLO_NUMBER_SIZE, "%s%.*s%.*s",
		 number.is_estimated && magnitude > 0 ? "~" : "", sign != '\0', &sign,
		 ALLO_NUMBER_SIZE - 3, text);
	return out;
}

const char *allo_format(struct allo_number number, enum allo_unit unit, bool is_plain,
			char out[ALLO_NUMBER_SIZE])
{
	char sign = number.is_negative && number.magnitude > 0 ? '-' : '\0';

	return format_signed(sign, number, unit, is_plain, out);
}

const char *allo_format_change(struct allo_number number, enum allo_unit unit, bool is_plain,
			       char out[ALLO_NUMBER_SIZE])
{
	char sign = number.magnitude == 0 ? '\0' : number.is_negative ? '-' : '+';

	return format_signed(sign, number, unit, is_plain, out);
}

const char *allo_format_share(double part, double whole, char out[ALLO_NUMBER_SIZE])
{
	if (whole == 0)
		snprintf(out, ALLO_NUMBER_SIZE, "-");
	else
		snprintf(out, ALLO_NUMBER_SIZE, "%.1f%%", 100 * part / whole);
	return out;
}

struct named_factor {
	const char *name;
	double factor;
};

/* Parses a number followed by one of these names, in upper or lower case.  NULL ends the table. */
static bool parse_scaled(struct allo_text text, const struct named_factor *names, uint64_t *value)
{
	enum { LONGEST = 64 };
	char word[LONGEST], *unit;
	double number;

	/* strtod() also accepts "inf", "nan" and "0x10", which are errors here. */
	if (text.len == 0 || text.len >= sizeof(word) || !allo_is_digit(text.data[0]))
		return false;
	memcpy(word, text.data, text.len);
	word[text.len] = '\0';
	if (strpbrk(word, "xX") || strlen(word) != text.len)
		return false;
	if (allo_text_u64(text, value) && names[0].factor == 1)
		return true;
	number = strtod(word, &unit);
	for (; names->name; names++) {
		if (strcasecmp(names->name, unit) != 0)
			continue;
		number *= names->factor;
		if (!(number < 0x1p64))
			return false;
		*value = (uint64_t)(number + (number < 0x1p52 ? 0.5 : 0));
		return true;
	}
	return false;
}

bool allo_parse_bytes(struct allo_text text, uint64_t *bytes)
{
	static const struct named_factor names[] = {
		{ "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "KiB", 0x1p10 },
		{ "KB", 1e3 },     { "M", 0x1p20 },   { "MiB", 0x1p20 }, { "MB", 1e6 },
		{ "G", 0x1p30 },   { "GiB", 0x1p30 }, { "GB", 1e9 },     { "T", 0x1p40 },
		{ "TiB", 0x1p40 }, { "TB", 1e12 },    { NULL, 0 },
	};

	return parse_scaled(text, names, bytes);
}

bool allo_parse_ns(struct allo_text text, uint64_t *ns)
{
	static const struct named_factor names[] = {
		{ "", 1e9 },   { "s", 1e9 },    { "ms", 1e6 },   { "us", 1e3 }, { "ns", 1 },
		{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
	};

	return parse_scaled(text, names, ns);
}
