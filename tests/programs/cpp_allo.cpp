// cpp_allo.cpp - uses all of include/allo.h from C++, by type names without a class key.
//
// Prints one "name value" line for each result.  Output waits until nothing is recorded, because
// stdio allocates.
#include <allo.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

static void *volatile blocks[64]; // volatile: the compiler must not remove unused allocations
static char failed_assertion[1024];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	std::fprintf(stderr, "%s: %s\n", what, allo_error());
	std::exit(1);
}

static void allocate(int count, std::size_t size)
{
	for (int i = 0; i < count; i++)
		blocks[i] = std::malloc(size);
}

static void release(int count)
{
	for (int i = 0; i < count; i++)
		std::free(blocks[i]);
}

static void print_stats(const char *name, const allo_heap_stats &stats)
{
	std::printf("%s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
		    name, stats.total_blocks, stats.total_bytes, stats.current_blocks,
		    stats.current_bytes, stats.peak_blocks, stats.peak_bytes);
}

// A pool of the program's own: one block, resized once.
static void use_pool()
{
	static char memory[4096];
	std::uint32_t heap = allo_heap("pool");

	allo_on_alloc(heap, memory, 307);
	allo_on_realloc_begin(heap, memory);
	allo_on_realloc_end(heap, memory + 512, 311);
	allo_on_free(heap, memory + 512);
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 2000 && access(path, R_OK) != 0; i++)
		usleep(10000);
	must(access(path, R_OK) == 0, path);
}

static void dump()
{
	void *data;
	std::size_t len;

	must(allo_dump("so_far.folded"), "allo_dump");
	must(allo_dump_buffer("folded", &data, &len), "allo_dump_buffer");
	must(std::strlen(static_cast<char *>(data)) == len && len > 0, "the buffer is a text");
	std::free(data);
	must(allo_dump_on_signal(SIGUSR1, "signal.folded"), "allo_dump_on_signal");
	std::raise(SIGUSR1);
	wait_for("signal.folded");
}

static void record()
{
	allo_config config = {};
	allo_heap_stats before, since, scoped, within, of_thread;
	allo_event_stats events;
	allo_scope scope;
	const allo_mode mode = ALLO_EXACT;
	const allo_unwinder unwinder = ALLO_UNWINDER_AUTO;

	config.path = "cpp.allo";
	config.mode = mode;
	config.unwinder = unwinder;
	config.has_stats = true;
	must(allo_start(&config) != nullptr && allo_is_recording(), "allo_start");
	must(allo_get_heap_stats(&before), "allo_get_heap_stats");

	allo_label_push("part", "load");
	allocate(23, 1009);
	allo_label_pop();
	must(allo_scope_begin(&scope), "allo_scope_begin");
	blocks[23] = ::operator new(503);
	must(allo_scope_stats(&scope, &within), "allo_scope_stats");
	::operator delete(blocks[23]);
	must(allo_scope_end(&scope, &scoped), "allo_scope_end");
	must(allo_get_thread_stats(&of_thread), "allo_get_thread_stats");
	must(allo_get_heap_stats_since(&before, &since), "allo_get_heap_stats_since");

	ALLO_ASSERT_NO_ALLOCS
	{
		release(5);
	}
	ALLO_ASSERT_MAX_BYTES(5 * 1009)
	{
		allocate(5, 1009);
	}
	ALLO_ASSERT_HEAP(stats.current_blocks >= 23);
	allo_mark("loaded");
	allo_event(5);
	allo_event_named("request", 8);
	must(allo_get_event_stats(&events), "allo_get_event_stats");
	use_pool();
	dump();
	must(allo_stop() != nullptr && !allo_is_recording(), "allo_stop");

	print_stats("since", since);
	print_stats("within", within);
	print_stats("scoped", scoped);
	std::printf("thread_blocks %" PRIu64 "\n", of_thread.total_blocks);
	std::printf("events %" PRIu64 " %" PRIu64 "\n", events.total_events, events.total_units);
	release(23);
}

static void keep_message(const char *message)
{
	std::snprintf(failed_assertion, sizeof(failed_assertion), "%s", message);
}

// A failed assertion ends the recording and calls the handler, which returns here.
static void fail_assertion()
{
	allo_assert_handler *handler = keep_message;
	allo_config config = {};

	config.mode = ALLO_COUNTERS;
	must(allo_start(&config) != nullptr, "allo_start");
	allo_set_assert_handler(handler);
	ALLO_ASSERT_NO_ALLOCS
	{
		allocate(2, 701);
	}
	allo_set_assert_handler(nullptr);
	std::printf("failed %s\n", std::strchr(failed_assertion, '\n') + 1);
	std::printf("is_recording %d\n", allo_is_recording());
	std::printf("stopped %s: %s\n", allo_stop() ? "yes" : "no", allo_error());
	release(2);
}

static void measure()
{
	static char text[1 << 20];
	static allo_memory_snapshot snapshot, walked;
	const allo_process_memory &process = snapshot.process;
	const allo_page_memory &pages = walked.pages;
	const allo_cgroup_memory &cgroup = snapshot.cgroup;
	const allo_cgroup_stat &first_stat = cgroup.stats[0];
	const allo_system_memory &system = snapshot.system;
	const allo_allocator_memory &allocator = walked.allocator;
	const allo_heap_memory &heap = snapshot.heap;
	const allo_profiler_memory &profiler = snapshot.profiler;
	const allo_memory_source &source = snapshot.sources[0];
	const allo_memory_walk walk = ALLO_WALK_PAGES;
	const allo_metrics_format format = ALLO_METRICS_JSON;

	must(allo_get_memory_snapshot(&snapshot), "allo_get_memory_snapshot");
	must(allo_get_memory_snapshot_walked(&walked, walk | ALLO_WALK_ARENAS),
	     "allo_get_memory_snapshot_walked");
	must(snapshot.pid == static_cast<std::uint64_t>(getpid()), "the pid is ours");
	must(process.rss_bytes > 0 && process.rss_bytes != ALLO_UNKNOWN,
	     "the resident set is known");
	must(pages.pss_bytes > 0 && pages.pss_bytes <= pages.rss_bytes, "the pages were walked");
	must(cgroup.stat_count == 0 || first_stat.name[0], "lines of memory.stat have names");
	must(system.pressure_full_ns == ALLO_UNKNOWN ||
		     system.pressure_full_ns <= system.pressure_some_ns,
	     "full pressure is a part of some pressure");
	must(heap.live_bytes == ALLO_UNKNOWN, "nothing is counted");
	must(profiler.is_recording == 0, "nothing is recorded");
	must(snapshot.source_count > 0 && source.name[0], "sources have names");
	std::printf("allocator %s\n", allocator.name);
	must(allocator.arenas >= 1 && allocator.arenas != ALLO_UNKNOWN, "the arenas were walked");
	must(allo_metrics_as(format, 0, text, sizeof(text)) < sizeof(text) && text[0] == '{',
	     "JSON");
	must(allo_metrics_text(text, sizeof(text)) == std::strlen(text), "metrics");
	must(std::strncmp(text, "# HELP ", 7) == 0, "metrics begin with a help line");
}

int main()
{
	record();
	fail_assertion();
	measure();
	return 0;
}
