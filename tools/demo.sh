#!/bin/sh
# "make demo": records a program, shows the results, and converts a profile to other formats.
# usage: demo.sh BUILD
set -eu

out=$1/demo
profile=examples/allo.dhat.json
PATH=$(cd "$1/src" && pwd):$PATH
mkdir -p "$out"

# LD_PRELOAD cannot name a path with a space or colon: preload a copy from another folder.
case $(pwd) in
*[\ :]*)
	copies=$(mktemp -d)
	trap 'rm -rf "$copies"' EXIT
	cp "$1/capture/liballo.so" "$copies"
	export ALLO_LIBRARY="$copies/liballo.so"
	;;
esac

show() {
	printf '\n$ %s\n' "$*"
	"$@" 2>&1
}

echo "examples/record/index.c makes an index of words. It has two faults: it copies too much, and it leaks."
# shellcheck disable=SC2086 # CC may have options, or be "ccache gcc"
show ${CC:-cc} -g -O1 examples/record/index.c -o "$out/index"
show allo run -f -o "$out/index.allo" "$out/index" README.md
show allo leaks "$out/index.allo"
show allo top "$out/index.allo" -M temporary -n 1
show allo flame --no-open -M leaked "$out/index.allo" -f -o "$out/index.svg"

printf '\n%s is a recording by Valgrind'\''s DHAT: allo draws a flame graph.\n' "$profile"
show allo info "$profile"
show allo top "$profile" -n 5
show allo tree "$profile" --min 5
for ending in pb.gz svg folded; do
	show allo convert -f "$profile" -o "$out/allo.$ending"
done
printf '\nOpen %s in a browser, or try:  go tool pprof -top %s\n' "$out/allo.svg" "$out/allo.pb.gz"
printf 'To use allo in this shell:  export PATH=%s:$PATH\n' "$(cd "$1/src" && pwd)"
