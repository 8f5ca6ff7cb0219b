#include "cli/quote.h"

#include <stdlib.h>
#include <string.h>

char *allo_shell_quote(const char *word)
{
	char *quoted = malloc(4 * strlen(word) + 3), *to = quoted;

	if (!quoted)
		return NULL;
	if (*word != '\0' &&
	    strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			 "_-./+:@%,=") == strlen(word))
		return strcpy(quoted, word);
	*to++ = '\'';
	for (; *word; word++)
		to = *word == '\'' ? stpcpy(to, "'\\''") : (*to = *word, to + 1);
	strcpy(to, "'");
	return quoted;
}
