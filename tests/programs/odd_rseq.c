/*
 * odd_rseq.c - preloaded: a kernel that does not clear rseq_cs when a thread resumes.
 *
 * The runtime takes this struct rseq for that of the thread, but no kernel knows it.  Preload it
 * behind the runtime: its constructor then runs first.
 */
#include <stddef.h>
#include <stdint.h>

static __thread struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs, rest[2];
} own __attribute__((aligned(32), tls_model("initial-exec")));

/* As glibc declares them. */
unsigned int __rseq_size;
ptrdiff_t __rseq_offset;

__attribute__((constructor)) static void begin(void)
{
	__rseq_offset = (char *)&own - (char *)__builtin_thread_pointer();
	__rseq_size = sizeof(own);
}
