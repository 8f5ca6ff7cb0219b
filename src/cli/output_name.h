/*
 * output_name.h - names an output file after the input.
 */
#ifndef ALLO_CLI_OUTPUT_NAME_H
#define ALLO_CLI_OUTPUT_NAME_H

/* The name of a path or URL with another ending: "dir/server.1234.allo" becomes "server.1234.svg".
 * Standard input is called `unnamed`.  To be freed; NULL when out of memory. */
char *allo_output_name(const char *file, const char *ending, const char *unnamed);

#endif
