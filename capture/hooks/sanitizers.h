/* sanitizers.h - the sanitizers that replace malloc, and refuse to come after another library. */
#ifndef ALLO_CAPTURE_SANITIZERS_H
#define ALLO_CAPTURE_SANITIZERS_H

/* X(name, word, symbol, gcc, clang): the name and word of wire/skip.h; the symbol that a program
 * defines if it contains the allocator; the libraries with the allocator. */
#define ALLO_SANITIZERS(X)                                                                         \
	X(ASAN, "asan", "__asan_init", "libasan.so", "libclang_rt.asan")                           \
	X(HWASAN, "hwasan", "__hwasan_init", "libhwasan.so", "libclang_rt.hwasan")                 \
	X(MSAN, "msan", "__msan_init", "libmsan.so", "libclang_rt.msan")                           \
	X(TSAN, "tsan", "__tsan_init", "libtsan.so", "libclang_rt.tsan")

#endif
