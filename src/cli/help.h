/*
 * help.h - prints the help of commands on the terminal.
 */
#ifndef ALLO_CLI_HELP_H
#define ALLO_CLI_HELP_H

#include "base/error.h"
#include "cli/command.h"

/* A paragraph about commands that find the newest recording. */
extern const char allo_help_newest[];

/* Prints the help of a command, or the list of commands for NULL, on standard output. */
bool allo_help_print(const struct allo_command *command, struct allo_error *err);

#endif
