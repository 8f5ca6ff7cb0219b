/*
 * file_name.h - expands the pattern of a recording's file name; also formats numbers and dates.
 */
#ifndef ALLO_CAPTURE_FILE_NAME_H
#define ALLO_CAPTURE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expands `pattern` to the `number`-th name of this process, from 1.  %e is the program's name, %p
 * the process id, %t the time (UTC), %h the host, %n the number and %% a %.  A pattern without %n
 * gives name.allo, then name.PID.allo, name.PID.2.allo and so on.  False if the name does not fit.
 */
bool allo_file_name(const char *pattern, unsigned number, char *name, size_t room);

/* Writes seconds since 1970 as a UTC date, up to the year 9999: 20261116T093005. */
enum { ALLO_DATE_LEN = 15 };
void allo_put_date(char *to, uint64_t seconds);

/* Writes a number with at least `width` digits; returns the number of digits. */
size_t allo_put_decimal(char *to, unsigned width, uint64_t value);

#endif
