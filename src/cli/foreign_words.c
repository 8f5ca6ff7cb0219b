#include "cli/foreign_words.h"

#include "base/text.h"

#include <string.h>

/* Words that share a hint stand in one line, separated by spaces. */
struct entry {
	const char *words, *hint;
	const char *command; /* only of this one; NULL: of any */
};

static const struct entry commands[] = {
	{ "gui open web browse show ui viewer",
	  "'allo view FILE' opens the browser; 'allo top' and 'allo tree' print" },
	{ "flamegraph flames svg graph dot", "'allo flame FILE' draws a flame graph" },
	{ "html", "'allo report FILE' writes the viewer and the data as one HTML file" },
	{ "heap table", "'allo top FILE' lists the functions that hold the most memory" },
	{ "overview stat print", "'allo summary FILE' prints an overview of a recording" },
	{ "massif ms_print history chart",
	  "'allo timeline FILE' draws the heap over time; 'allo convert --to massif' writes a file "
	  "for ms_print" },
	{ "dhat dh_view",
	  "'allo tree --dhat FILE' shows a profile as DHAT's viewer does; 'allo convert --to dhat' "
	  "writes one" },
	{ "heaptrack heaptrack_print valgrind memray trace profile",
	  "'allo run PROGRAM' records a program" },
	{ "pprof text", "'allo top FILE' lists the functions that hold the most memory" },
	{ "annotate weblist source", "'allo list FUNCTION FILE' shows source lines with numbers" },
	{ "memcheck leak-check leakcheck", "'allo leaks FILE' lists memory that was never freed" },
	{ "compare base", "'allo diff BEFORE AFTER' compares two profiles" },
	{ "check assert test", "'allo budget' checks limits; 'allo verify' checks a file" },
	{ "export save to transform", "'allo convert FILE -o FILE.pb.gz' writes another format" },
	{ "dump script parse", "'allo events FILE' prints all events of a recording" },
	{ "traces", "'allo blocks --stacks FILE' prints allocations with their stacks" },
	{ "tags labels", "'allo top --by label:KEY FILE' lists the values of a label" },
	{ "query sqlite sqlite3 db", "'allo sql FILE QUERY' runs SQL on a recording" },
	{ "monitor watch follow", "'allo live PROCESS' shows the heap of a running program" },
	{ NULL, NULL },
};

static const struct entry options[] = {
	/* pprof */
	{ "sort",
	  "'allo top' sorts by the memory that each function holds itself, 'allo top --cum' by the "
	  "total",
	  "top" },
	{ "cum cumulative", "'allo top --cum' sorts by the total, callees included" },
	{ "flat", "'allo top' sorts by the memory that each function holds itself" },
	{ "diff_base base", "'allo diff BEFORE AFTER' compares two profiles" },
	{ "inuse_space", "'-M live' shows the bytes live at the end, '-M peak' those at the peak" },
	{ "inuse_objects", "'-M live-blocks' shows the blocks live at the end" },
	{ "alloc_space", "'-M total' shows all allocated bytes" },
	{ "alloc_objects", "'-M blocks' shows the number of allocations" },
	{ "sample_index type", "'-M NAME' selects the metric; 'allo info FILE' lists them" },
	{ "http web svg png pdf gif weblist",
	  "'allo flame FILE' draws a flame graph and opens it" },
	{ "dot callgrind", "'allo convert --to callgrind' writes a call graph for KCachegrind" },
	{ "text top", "'allo top FILE' lists the functions that hold the most memory" },
	{ "tree", "'allo tree FILE' prints the call tree" },
	{ "peek", "'allo peek FUNCTION FILE' prints its callers and callees" },
	{ "list", "'allo list FUNCTION FILE' shows source lines with numbers" },
	{ "traces", "'allo blocks --stacks FILE' prints allocations with their stacks" },
	{ "raw", "'allo convert --to json' writes all data as JSON" },
	{ "proto", "'allo convert FILE -o heap.pb.gz' writes pprof's format" },
	{ "focus", "'-F PATTERN' keeps stacks with a matching frame" },
	{ "ignore", "'-I PATTERN' leaves out stacks with a matching frame" },
	{ "tagfocus tagshow taghide", "'-L KEY=VALUE' keeps allocations with this label" },
	{ "tags", "'allo top --by label:KEY FILE' lists the values of a label" },
	{ "nodecount", "'-n N' limits the rows" },
	{ "nodefraction edgefraction trim",
	  "'-n N' limits the rows; 'allo tree --min PERCENT' hides small branches" },
	{ "unit", "'--bytes' prints numbers without units" },
	{ "lines addresses files functions filefunctions",
	  "'allo top --by function|site|file|address' groups the rows" },
	{ "drop_negative normalize", "'allo diff --normalize' compares shares" },
	{ "seconds", "'allo live PROCESS' and 'allo serve PROCESS' watch a running program" },
	/* heaptrack, whose letters have other meanings in heaptrack_print */
	{ "r record-only raw", "'allo run PROGRAM' only records; commands read the file later",
	  "run" },
	{ "a", "'allo summary FILE' prints an overview of a recording", "run" },
	{ "d debug", "'gdb --args PROGRAM' debugs; ALLO_DEBUG=1 writes a log of the recorder",
	  "run" },
	{ "use-inject", "'allo run' records from the start; nothing is injected later", "run" },
	{ "l", "'allo leaks FILE' lists memory that was never freed" },
	{ "T", "'allo top -M temporary FILE' lists temporary blocks" },
	{ "a", "'allo top -M blocks FILE' lists the functions that allocate most" },
	{ "d", "'allo diff BEFORE AFTER' compares two profiles" },
	{ "p", "'allo top FILE' lists the functions that held the most at the peak", "top" },
	{ "t shorten-templates", "names are short by default; --full-names prints them whole" },
	{ "m merge-backtraces", "'allo top' adds up the stacks of each function" },
	{ "filter-bt-function", "'-F PATTERN' keeps stacks with a matching frame" },
	{ "peak-limit", "'-n N' limits the rows" },
	{ "sub-peak-limit", "'allo peek FUNCTION FILE' prints the callers of a function" },
	{ "p pid attach",
	  "'allo attach PID' records a running process; 'allo mem PID' explains its memory" },
	{ "print-leaks", "'allo leaks FILE' lists memory that was never freed" },
	{ "print-peaks", "'allo top FILE' lists the functions that held the most at the peak" },
	{ "print-allocators", "'allo top -M blocks FILE' lists the functions that allocate most" },
	{ "print-temporary", "'allo top -M temporary FILE' lists temporary blocks" },
	{ "print-flamegraph flamegraph", "'allo flame FILE' draws a flame graph" },
	{ "print-histogram", "'allo hist FILE' shows the sizes of all blocks" },
	{ "print-massif", "'allo convert --to massif' writes a file for ms_print" },
	{ "diff", "'allo diff BEFORE AFTER' compares two profiles" },
	{ "analyze", "'allo summary FILE' prints an overview of a recording" },
	/* massif and other tools of Valgrind */
	{ "threshold massif-threshold", "'allo tree --min PERCENT' hides small branches" },
	{ "wrappers alloc-fn",
	  "'allo peek' shows all functions, wrappers included; --hide PATTERN removes frames",
	  "peek" },
	{ "alloc-fn", "'allo top --alloc-fn NAME' charges an allocating function's callers" },
	{ "wrappers", "'allo top --wrappers=none' shows the callers of malloc" },
	{ "ignore-fn", "'-I PATTERN' leaves out stacks with a matching frame" },
	{ "max-snapshots detailed-freq",
	  "a recording has every moment: 'allo timeline --steps N', 'allo tree --at TIME'" },
	{ "depth",
	  "'allo run --stack-depth N' limits the recorded stacks, 'allo tree --depth N' the shown "
	  "ones" },
	{ "peak-inaccuracy", "peaks are exact; 'allo top --at peak' shows the holders" },
	{ "heap-admin", "'allo mem PID' shows what malloc needs beside the blocks" },
	{ "pages-as-heap", "'allo run --track mmap,brk' records mappings as well" },
	{ "time-unit", "'allo timeline FILE' draws the heap over time" },
	{ "massif-out-file dhat-out-file out-file log-file",
	  "'allo run -o FILE' names the recording" },
	{ "num-callers", "'allo run --stack-depth N' limits the recorded stacks" },
	{ "trace-children", "'allo run' records child processes by default" },
	{ "leak-check show-leak-kinds", "'allo leaks FILE' lists memory that was never freed" },
	/* memray */
	{ "leaks", "'allo leaks FILE' lists memory that was never freed" },
	{ "temporary-allocations temporary-allocation-threshold",
	  "'allo top -M temporary FILE' lists temporary blocks" },
	{ "live live-remote", "'allo live PROCESS' shows the heap of a running program" },
	{ "native", "stacks of native code are always recorded" },
	{ "follow-fork", "'allo run' records child processes by default" },
	{ "trace-python-allocators", "'allo run python3 PROGRAM' records every object" },
	{ "aggregate", "'allo run -m sampled' and '-m counters' write small recordings" },
	{ "inverted", "'allo tree --invert' begins with the functions that allocate" },
	{ "split-threads", "'allo top --by label:thread' lists the threads" },
	{ "tool", "'allo run PROGRAM' records all that the commands show later" },
	{ NULL, NULL },
};

static bool has_word(const char *words, struct allo_text word)
{
	struct allo_text rest = allo_text_of(words), next;

	while (allo_text_next(&rest, ' ', &next)) {
		if (allo_text_equal(next, word))
			return true;
	}
	return false;
}

/* Entries of one command stand before those of any. */
static const char *find(const struct entry *entry, const char *command, struct allo_text word)
{
	for (; entry->words; entry++) {
		if ((!entry->command || strcmp(entry->command, command) == 0) &&
		    has_word(entry->words, word))
			return entry->hint;
	}
	return NULL;
}

const char *allo_foreign_command(const char *name)
{
	return find(commands, "", allo_text_of(name));
}

/* Go's programs accept one dash for two. */
const char *allo_foreign_option(const char *command, const char *argument)
{
	const char *name = argument + strspn(argument, "-");

	return find(options, command, (struct allo_text){ name, strcspn(name, "=") });
}
