/*
 * file_name.h - the name of a recording's file, from a pattern.
 */
#ifndef ALLO_CAPTURE_FILE_NAME_H
#define ALLO_CAPTURE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `number`-th name, from 1, that a pattern gives in this process: %e is the program's name, %p
 * the process, %t the time (UTC), %h the host, %n the number and %% a %.  A pattern without %n
 * gives name.allo, then name.PID.allo, name.PID.2.allo and so on.  False when it does not fit. */
bool allo_file_name(const char *pattern, unsigned number, char *name, size_t room);

/* Writes a time since 1970 in UTC, up to the year 9999: 20261116T093005. */
enum { ALLO_DATE_LEN = 15 };
void allo_put_date(char *to, uint64_t seconds);

/* Writes a number at least so many digits wide; returns how many it took. */
size_t allo_put_decimal(char *to, unsigned width, uint64_t value);

#endif
