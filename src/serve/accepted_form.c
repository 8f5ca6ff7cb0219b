/* accepted_form.c - see accepted_form.h. */
#include "serve/accepted_form.h"

#include "base/text.h"

#include <strings.h>

static bool is_word(struct allo_text text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* "0.75" in thousandths; 0 for what is no such number. */
static unsigned thousandths(struct allo_text text)
{
	unsigned scale = 1000, sum = 0;

	for (size_t i = 0; i < text.len && scale > 0; i++) {
		if (i == 1 && text.data[i] == '.')
			continue;
		if (!allo_is_digit(text.data[i]) || i > 4)
			return 0;
		sum += (unsigned)(text.data[i] - '0') * scale;
		scale /= 10;
	}
	return sum;
}

/* How much one of the list is wanted: "text/plain;version=0.0.4;q=0.5" */
static unsigned weight_of(struct allo_text parameters)
{
	struct allo_text parameter, key, value;
	unsigned weight = 1000;

	while (allo_text_next(&parameters, ';', &parameter)) {
		if (allo_text_cut(allo_text_trim(parameter), '=', &key, &value) &&
		    is_word(allo_text_trim(key), "q"))
			weight = thousandths(allo_text_trim(value));
	}
	return weight;
}

enum allo_metrics_format allo_accepted_form(const char *accept)
{
	struct allo_text rest = allo_text_of(accept ? accept : ""), entry, type;
	unsigned plain = 0, open = 0, weight;

	while (allo_text_next(&rest, ',', &entry)) {
		if (!allo_text_next(&entry, ';', &type))
			continue;
		type = allo_text_trim(type);
		weight = weight_of(entry);
		if (is_word(type, "application/openmetrics-text"))
			open = weight > open ? weight : open;
		else if (is_word(type, "text/plain") || is_word(type, "text/*") ||
			 is_word(type, "*/*"))
			plain = weight > plain ? weight : plain;
	}
	return open > 0 && open >= plain ? ALLO_METRICS_OPENMETRICS : ALLO_METRICS_PROMETHEUS;
}
