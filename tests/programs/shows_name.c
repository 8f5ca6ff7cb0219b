/* shows_name.c - prints how this process is called: its name, argv[0] and the path that was
 * executed. */
#include "blocks.h"

#include <sys/auxv.h>
#include <sys/prctl.h>

int main(int count, char **words)
{
	char name[16] = "";

	(void)count;
	free(held(malloc(2003)));
	prctl(PR_GET_NAME, name);
	printf("%s %s %s\n", name, words[0], (const char *)getauxval(AT_EXECFN));
	return 7;
}
