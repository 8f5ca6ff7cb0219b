#!/bin/sh
# Prints the first clang that can build WebAssembly with wasi-libc, or nothing.  Debian's packages for it are
# clang-19, lld-19, wasi-libc and libclang-rt-19-dev-wasm32.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
printf '#include <errno.h>\n#include <stdlib.h>\nint twice(double x) { errno = abs((int)(x * 2)); return errno; }\n' > "$folder/try.c"
for clang in clang-19 clang-22 clang-21 clang-20 clang-18 clang-17 clang-16 clang; do
	if command -v "$clang" > /dev/null && "$clang" --target=wasm32-wasi -mexec-model=reactor -mbulk-memory \
			"$folder/try.c" -o "$folder/try.wasm" > /dev/null 2>&1; then
		command -v "$clang"
		exit 0
	fi
done
