/*
 * known_runtime.c - the table of language runtimes, and the names by which a program or its
 * libraries tell one.
 */
#include "run/known_runtime.h"

#include "run/elf_symbols.h"

const struct allo_known_runtime allo_known_runtimes[ALLO_KNOWN_RUNTIMES] = {
	{ .name = ALLO_GO,
	  .note = ALLO_GO,
	  .is = "is a Go program, which does not use malloc",
	  .advice = "import net/http/pprof in it, and run 'allo top "
		    "http://HOST:PORT/debug/pprof/heap'" },
	{ .name = "Node.js",
	  .symbol = "_ZN4node5StartEiPPc", /* node::Start(int, char**) */
	  .variable = "NODE_OPTIONS",
	  .is = "is Node.js, which maps the heap of JavaScript itself",
	  .advice =
		  "set NODE_OPTIONS=\"--perf-basic-prof --interpreted-frames-native-stack\" to see "
		  "JavaScript functions" },
	{ .name = "Java",
	  .symbol = "JLI_Launch",
	  .is = "is Java, which maps the heap of its objects itself",
	  .advice = "'jcmd PID GC.class_histogram' counts the objects" },
	{ .name = "LuaJIT",
	  .symbol = "luaJIT_setmode",
	  .is = "is LuaJIT, which maps its heap itself",
	  .advice = "add --track malloc,new,mmap to record that" },
};

const struct allo_known_runtime *allo_known_runtime_find(int fd)
{
	struct allo_elf_symbol symbols[ALLO_KNOWN_RUNTIMES] = { 0 };

	for (unsigned i = 0; i < ALLO_KNOWN_RUNTIMES; i++)
		symbols[i].name = allo_known_runtimes[i].symbol ? allo_known_runtimes[i].symbol
								: "";
	allo_elf_find_symbols(fd, symbols, ALLO_KNOWN_RUNTIMES);
	for (unsigned i = 0; i < ALLO_KNOWN_RUNTIMES; i++) {
		const struct allo_known_runtime *runtime = &allo_known_runtimes[i];

		if (runtime->note ? allo_elf_has_note(fd, runtime->note) : symbols[i].is_there)
			return runtime;
	}
	return NULL;
}
