/*
 * help.h - help for people and for man(1), from the commands' tables.
 */
#ifndef ALLO_CLI_HELP_H
#define ALLO_CLI_HELP_H

#include "base/output.h"
#include "cli/command.h"

/* Prints a command's help, or the list of commands for NULL, on standard output. */
bool allo_help_print(const struct allo_command *command, struct allo_error *err);

/* allo-COMMAND(1), or allo(1) for NULL, in roff. */
void allo_man_command(struct allo_output *out, const struct allo_command *command);

/* allo-formats(7), with a section for each format. */
void allo_man_formats(struct allo_output *out);

/* A completion script for "bash", "zsh" or "fish"; false when there is no such shell. */
bool allo_completion(struct allo_output *out, const char *shell);

#endif
