/*
 * quote.h - words for a shell, as commands that are printed for somebody to copy need them.
 */
#ifndef ALLO_CLI_QUOTE_H
#define ALLO_CLI_QUOTE_H

/* Within quotes where it has to be; to be freed, NULL when memory is short. */
char *allo_shell_quote(const char *word);

#endif
