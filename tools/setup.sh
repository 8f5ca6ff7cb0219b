#!/bin/sh
# Installs the Debian packages that a job needs: tools/setup.sh build|test|stress|bench...
# Quiet and instant when everything is there.
set -eu

# What must be there, and the package that brings it: a command, or a file if it has a slash.
needs() {
	case $1 in
	build) cat <<-END ;;
		gcc gcc
		/usr/include/stdlib.h libc6-dev
		meson meson
		ninja ninja-build
		pkg-config pkg-config
		objcopy binutils
		/usr/include/zlib.h zlib1g-dev
		/usr/include/libdeflate.h libdeflate-dev
		/usr/include/zstd.h libzstd-dev
		/usr/include/xxhash.h libxxhash-dev
		/usr/include/gelf.h libelf-dev
		/usr/include/elfutils/libdw.h libdw-dev
		/usr/include/libiberty/demangle.h libiberty-dev
		/usr/include/sqlite3.h libsqlite3-dev
		/usr/include/microhttpd.h libmicrohttpd-dev
		END
	test) cat <<-END ;;
		python3 python3
		g++ g++
		rustc rustc
		cargo cargo
		clang clang
		/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a libclang-rt-14-dev
		/usr/include/cmocka.h libcmocka-dev
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		/usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross
		qemu-aarch64 qemu-user
		valgrind valgrind
		go golang-go
		protoc protobuf-compiler
		heaptrack heaptrack
		jeprof libjemalloc-dev
		/usr/include/gperftools/heap-profiler.h libgoogle-perftools-dev
		/usr/share/perl5/Devel/NYTProf/flamegraph.pl libdevel-nytprof-perl
		node nodejs
		npm npm
		chromium chromium
		zstd zstd
		less less
		/usr/bin/time time
		man man-db
		groff groff-base
		zsh zsh
		fish fish
		perl perl
		git git
		sqlite3 sqlite3
		perf linux-perf
		bpftrace bpftrace
		promtool prometheus
		google-pprof google-perftools
		redis-server redis-server
		redis-cli redis-tools
		redis-benchmark redis-tools
		nginx nginx-light
		curl curl
		pgrep procps
		setpriv util-linux
		/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 libjemalloc2
		/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 libtcmalloc-minimal4
		/usr/lib/x86_64-linux-gnu/libmimalloc.so.2 libmimalloc2.0
		END
	stress) cat <<-END ;;
		python3 python3
		javac default-jdk-headless
		redis-server redis-server
		redis-benchmark redis-tools
		nginx nginx-light
		END
	bench) cat <<-END ;;
		python3 python3
		g++ g++
		go golang-go
		heaptrack heaptrack
		mawk mawk
		sqlite3 sqlite3
		valgrind valgrind
		/usr/bin/time time
		END
	*) echo "setup: unknown job '$1'" >&2; exit 2 ;;
	esac
}

is_there() {
	case $1 in
	*/*) [ -e "$1" ] ;;
	*) command -v "$1" > /dev/null 2>&1 ;;
	esac
}

missing=$(for job in "$@"; do needs "$job"; done | while read -r what package; do
	is_there "$what" || echo "$package"
done | sort -u | tr '\n' ' ')
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo > /dev/null 2>&1 && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
	as_root=sudo
else
	echo "These Debian packages are needed: $missing" >&2
	echo "Install them as root, then try again:  apt-get install $missing" >&2
	exit 1
fi

echo "installing $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() {
	# shellcheck disable=SC2086 # a list of words
	$as_root apt-get install -y --no-install-recommends $missing > "$log" 2>&1
}
# The lists of packages may be missing or old: look them up only when it matters.
install || { $as_root apt-get update > "$log" 2>&1 && install; } || {
	cat "$log" >&2
	exit 1
}
