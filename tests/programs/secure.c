/* secure.c - linked with the runtime: tries to record and convert, and prints the errors. */
#include "blocks.h"

#include <allo.h>
#include <signal.h>

int main(int count, char **words)
{
	struct allo_config config = { .format = "dhat" };
	struct allo_heap_stats stats;
	void *data;
	size_t len;

	held(malloc(1009));
	if (count < 2 || strcmp(words[1], "start") != 0)
		return 0;
	must(allo_dump_on_signal(SIGUSR1, "signal.pb.gz"), "a handler can be installed");
	printf("start: %s\n", allo_start(&config) ? "recording" : allo_error());
	held(malloc(2003));
	printf("dump: %s\n", allo_dump("dump.pb.gz") ? "done" : allo_error());
	printf("buffer: %s\n", allo_dump_buffer(NULL, &data, &len) ? "done" : allo_error());
	raise(SIGUSR1);
	printf("stop: %s\n", allo_stop() ? "done" : allo_error());
	config = (struct allo_config){ .mode = ALLO_COUNTERS };
	printf("counters: %s\n", allo_start(&config) ? "on" : allo_error());
	held(malloc(10));
	printf("blocks: %d\n", allo_get_heap_stats(&stats) && stats.total_blocks > 0);
	return 0;
}
