/*
 * buffer.h - text into a buffer that somebody else owns.
 *
 * What does not fit is counted and left out, so that one pass tells how much room is needed.
 */
#ifndef ALLO_TELEMETRY_TEXT_BUFFER_H
#define ALLO_TELEMETRY_TEXT_BUFFER_H

#include "base/text.h"

struct allo_text_buffer {
	char *text;
	size_t room;
	size_t len; /* of all of it, whether or not it has fitted */
};

void allo_buffer_text(struct allo_text_buffer *buffer, struct allo_text text);
void allo_buffer_string(struct allo_text_buffer *buffer, const char *string);
void allo_buffer_u64(struct allo_text_buffer *buffer, uint64_t number);

/* Nanoseconds as seconds: 12.5 */
void allo_buffer_seconds(struct allo_text_buffer *buffer, uint64_t ns);

/* A string between quotes, as JSON and both forms of Prometheus have it; control characters, and
 * what is not UTF-8, are replaced. */
void allo_buffer_quoted(struct allo_text_buffer *buffer, struct allo_text text);

/* A NUL behind what has fitted.  Returns how long all of it is. */
size_t allo_buffer_end(struct allo_text_buffer *buffer);

#endif
