/*
 * error_text.h - descriptions of errno values, in English.
 *
 * strerror() may translate them, and allocates for it; strerrordesc_np() needs glibc 2.32.
 */
#ifndef ALLO_TELEMETRY_ERROR_TEXT_H
#define ALLO_TELEMETRY_ERROR_TEXT_H

/* Of a failed operation on a file or a process; another text for other numbers. */
const char *allo_error_text(int number);

#endif
