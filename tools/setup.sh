#!/bin/sh
# Installs the Debian packages that a job needs.
#
# usage: setup.sh JOB...            installs missing packages; announces it first
#        setup.sh --check JOB...    installs nothing: prints the command and fails
#
# Jobs: build, engine, test, stress, bench, peers, packages, cross, coverage.
#
# Prints nothing and returns at once if no package is missing.  Packages that the distribution does not have are named and
# left out: what needs them says so later.
set -eu

# The major version of clang that is installed, or that the package "clang" would install.
clang_version() {
	if command -v clang > /dev/null 2>&1; then
		clang -dumpversion | cut -d. -f1
	else
		found=$(apt-cache show clang 2> /dev/null | sed -n 's/^Depends:.*clang-\([0-9]*\).*/\1/p' | head -n 1)
		echo "${found:-14}"
	fi
}

# Debian's package with perf, or Ubuntu's.
perf_package() {
	case $(. /etc/os-release && echo "${ID:-}") in
	ubuntu) echo "linux-tools-$(uname -r)" ;;
	*) echo linux-perf ;;
	esac
}

# A browser for the tests of pages: Ubuntu packages none, but its CI machines have Chrome.
browser_command() {
	for name in chromium-headless-shell chromium chromium-browser google-chrome; do
		command -v "$name" > /dev/null 2>&1 && break
	done
	echo "$name"
}

firefox_command() {
	command -v firefox-esr > /dev/null 2>&1 && echo firefox-esr || echo firefox
}

# The tests of the system's python3: libpython3.11-testsuite.
python_tests_package() {
	version=$(/usr/bin/python3 --version 2> /dev/null | sed -n 's/^Python \([0-9]*\.[0-9]*\).*/\1/p')
	echo "libpython${version:-3.11}-testsuite"
}

# A command, or a pattern of files if it has a slash; and the package that brings it.
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
	# The compiler of the viewer's engine (tools/find_wasm_clang.sh).
	engine) cat <<-END ;;
		clang-19 clang-19
		wasm-ld-19 lld-19
		/usr/lib/wasm32-wasi/libc.a wasi-libc
		/usr/lib/llvm-19/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a libclang-rt-19-dev-wasm32
		zstd zstd
		END
	test) cat <<-END ;;
		python3 python3
		g++ g++
		rustc rustc
		cargo cargo
		clang clang
		/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a libclang-rt-$(clang_version)-dev
		clang-format clang-format
		clang-tidy clang-tidy
		cppcheck cppcheck
		/usr/include/cmocka.h libcmocka-dev
		/usr/include/gtest/gtest.h libgtest-dev
		/usr/include/catch2/catch.hpp catch2
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		musl-gcc musl-tools
		/usr/include/*-linux-musl/stdlib.h musl-dev
		/usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross
		qemu-aarch64 qemu-user
		valgrind valgrind
		go golang-go
		lz4 lz4
		protoc protobuf-compiler
		heaptrack heaptrack
		jeprof libjemalloc-dev
		/usr/include/gperftools/heap-profiler.h libgoogle-perftools-dev
		/usr/share/perl5/Devel/NYTProf/flamegraph.pl libdevel-nytprof-perl
		node nodejs
		npm npm
		$(browser_command) chromium-headless-shell
		$(firefox_command) firefox-esr
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
		jq jq
		xz xz-utils
		perf $(perf_package)
		bpftrace bpftrace
		promtool prometheus
		cmake cmake
		/usr/lib/python3/dist-packages/pytest python3-pytest
		/usr/lib/python3/dist-packages/greenlet python3-greenlet
		/usr/lib/python3*/ensurepip/__init__.py python3-venv
		lintian lintian
		/usr/lib/python3/dist-packages/yaml python3-yaml
		google-pprof google-perftools
		redis-server redis-server
		redis-cli redis-tools
		redis-benchmark redis-tools
		nginx nginx-light
		/usr/lib/postgresql/*/bin/postgres postgresql
		curl curl
		pgrep procps
		setpriv util-linux
		/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 libjemalloc2
		/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 libtcmalloc-minimal4
		/usr/lib/x86_64-linux-gnu/libmimalloc.so.2 libmimalloc2.0
		END
	stress) cat <<-END ;;
		python3 python3
		patchelf patchelf
		javac default-jdk-headless
		redis-server redis-server
		redis-benchmark redis-tools
		nginx nginx-light
		/usr/lib/python3*/test/test_os.py $(python_tests_package)
		ruby ruby
		php php-cli
		Rscript r-base-core
		guile guile-3.0
		go golang-go
		node nodejs
		chromium chromium
		gdb gdb
		valgrind valgrind
		bwrap bubblewrap
		make make
		pgbench postgresql
		END
	bench) cat <<-END ;;
		python3 python3
		g++ g++
		go golang-go
		heaptrack heaptrack
		/usr/lib/*/libjemalloc.a libjemalloc-dev
		mawk mawk
		node nodejs
		npm npm
		$(browser_command) chromium-headless-shell
		sqlite3 sqlite3
		valgrind valgrind
		/usr/bin/time time
		END
	peers) cat <<-END ;;
		cargo cargo
		/usr/lib/python3*/ensurepip/__init__.py python3-venv
		go golang-go
		prometheus prometheus
		/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 libjemalloc2
		/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4 libgoogle-perftools4
		END
	packages) cat <<-END ;;
		dpkg-shlibdeps dpkg-dev
		/usr/lib/*/liblzma.a liblzma-dev
		END
	# Packages of arm64 on another machine.
	cross) cat <<-END ;;
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		/usr/aarch64-linux-gnu/include/stdlib.h libc6-dev-arm64-cross
		qemu-aarch64 qemu-user
		lintian lintian
		END
	coverage) cat <<-END ;;
		gcovr gcovr
		END
	*) echo "setup: unknown job '$1'" >&2; exit 2 ;;
	esac
}

is_there() {
	case $1 in
	*/*)
		for file in $1; do
			[ -e "$file" ] && return 0
		done
		return 1
		;;
	*) command -v "$1" > /dev/null 2>&1 ;;
	esac
}

only_checks=
if [ "${1:-}" = --check ]; then
	only_checks=1
	shift
fi
for job in "$@"; do
	needs "$job" > /dev/null
done

missing=$(for job in "$@"; do needs "$job"; done | while read -r thing package; do
	is_there "$thing" || echo "$package"
done | sort -u | tr '\n' ' ')
missing=${missing% }
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo > /dev/null 2>&1 && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
	as_root=sudo
else
	only_checks=1
fi
if [ -n "$only_checks" ]; then
	echo "These Debian packages are missing: $missing" >&2
	echo "Install them as root, then try again:" >&2
	echo "  apt-get install --no-install-recommends $missing" >&2
	exit 1
fi

echo "Installing missing packages: $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() {
	# shellcheck disable=SC2086 # a list of words
	$as_root apt-get install -y --no-install-recommends $missing > "$log" 2>&1
}
# Leaves out packages that do not exist here.  False if all of them do, so that they failed for another reason.
leave_out_unknown() {
	known= unknown=
	for package in $missing; do
		if apt-cache show "$package" > /dev/null 2>&1; then
			known="$known $package"
		else
			unknown="$unknown $package"
		fi
	done
	missing=$known
	[ -n "$unknown" ] && echo "Not available on this system:$unknown"
}

# The package lists may be missing or old: update them only if the first try fails.
install || { $as_root apt-get update > "$log" 2>&1 && install; } || { leave_out_unknown && install; } || {
	cat "$log" >&2
	exit 1
}
