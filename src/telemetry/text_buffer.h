/*
 * text_buffer.h - builds a text in memory that the caller owns.
 *
 * Text that does not fit is counted and dropped, so one pass with too little room tells how much is
 * needed.  Nothing is allocated: the runtime uses it inside other programs.
 */
#ifndef ALLO_TELEMETRY_TEXT_BUFFER_H
#define ALLO_TELEMETRY_TEXT_BUFFER_H

#include "base/text.h"

struct allo_text_buffer {
	char *text;
	size_t room;
	size_t len; /* of the whole text, even if it did not fit */
};

void allo_buffer_text(struct allo_text_buffer *buffer, struct allo_text text);
void allo_buffer_string(struct allo_text_buffer *buffer, const char *string);
void allo_buffer_u64(struct allo_text_buffer *buffer, uint64_t number);

/* Nanoseconds as seconds: 12.5 */
void allo_buffer_seconds(struct allo_text_buffer *buffer, uint64_t ns);

/* A quoted string that JSON, Prometheus and OpenMetrics all accept.  Control characters and invalid
 * UTF-8 are replaced.
 */
void allo_buffer_quoted(struct allo_text_buffer *buffer, struct allo_text text);

/* Terminates the text with a NUL, cutting it if necessary.  Returns the length of the whole text.
 */
size_t allo_buffer_end(struct allo_text_buffer *buffer);

#endif
