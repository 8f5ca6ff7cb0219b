/*
 * foreign_words.h - commands and options of other profilers, and their counterparts in allo.
 */
#ifndef ALLO_CLI_FOREIGN_WORDS_H
#define ALLO_CLI_FOREIGN_WORDS_H

/* The hint for a command that other tools have, such as "view"; NULL if the word is not known. */
const char *allo_foreign_command(const char *name);

/* The hint for an option of another tool that a command does not have, such as
 * "-diff_base=old.pb.gz"; NULL if it is not known. */
const char *allo_foreign_option(const char *command, const char *argument);

#endif
