/* units.c - see units.h. */
#include "base/units.h"

#include <stdio.h>

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

/* A number above a step of `units` in the largest of them that it reaches. */
static const char *format_scaled(double value, const char *const *units, double step, char *out)
{
	/* 999.96 would print as 1000.0: that is the next unit's business. */
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

	if (bytes < 1024) {
		snprintf(out, ALLO_NUMBER_SIZE, "%u B", (unsigned)bytes);
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

/* With a sign in front, or none for '\0'. */
static const char *format_signed(char sign, uint64_t magnitude, enum allo_unit unit, bool is_plain,
				 char out[ALLO_NUMBER_SIZE])
{
	char text[ALLO_NUMBER_SIZE];

	if (is_plain)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)magnitude);
	else if (unit == ALLO_UNIT_BYTES)
		allo_format_bytes(magnitude, text);
	else if (unit == ALLO_UNIT_NS)
		format_ns(magnitude, text);
	else
		allo_format_count(magnitude, text);
	snprintf(out, ALLO_NUMBER_SIZE, "%.*s%.*s", sign != '\0', &sign, ALLO_NUMBER_SIZE - 2,
		 text);
	return out;
}

const char *allo_format(struct allo_number number, enum allo_unit unit, bool is_plain,
			char out[ALLO_NUMBER_SIZE])
{
	char sign = number.is_negative && number.magnitude > 0 ? '-' : '\0';

	return format_signed(sign, number.magnitude, unit, is_plain, out);
}

const char *allo_format_change(struct allo_number number, enum allo_unit unit, bool is_plain,
			       char out[ALLO_NUMBER_SIZE])
{
	char sign = number.magnitude == 0 ? '\0' : number.is_negative ? '-' : '+';

	return format_signed(sign, number.magnitude, unit, is_plain, out);
}

const char *allo_format_share(double part, double whole, char out[ALLO_NUMBER_SIZE])
{
	if (whole == 0)
		snprintf(out, ALLO_NUMBER_SIZE, "-");
	else
		snprintf(out, ALLO_NUMBER_SIZE, "%.1f%%", 100 * part / whole);
	return out;
}
