/*
 * quote.h - quotes words for a shell, for commands that users copy.
 */
#ifndef ALLO_CLI_QUOTE_H
#define ALLO_CLI_QUOTE_H

/* The word, in quotes if needed.  To be freed; NULL when memory is short. */
char *allo_shell_quote(const char *word);

#endif
