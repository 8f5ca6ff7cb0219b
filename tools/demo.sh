#!/bin/sh
# What "make demo" shows: a program recorded, what was found, and a profile in other forms.
# tools/demo.sh BUILD
set -eu

out=$1/demo
profile=examples/allo.dhat.json
PATH=$(cd "$1/src" && pwd):$PATH
mkdir -p "$out"

show() {
	printf '\n$ %s\n' "$*"
	"$@" 2>&1
}

echo "examples/record/index.c makes an index of words, and has two faults: it copies much, and leaks."
show "${CC:-cc}" -g -O1 examples/record/index.c -o "$out/index"
show allo run -f -o "$out/index.allo" "$out/index" README.md
show allo top "$out/index.allo" -M end_bytes -n 3
show allo top "$out/index.allo" -M alloc_blocks -n 3
show allo convert -f "$out/index.allo" -o "$out/index.svg"

printf '\n%s is what Valgrind'\''s DHAT recorded of allo itself, drawing a flame graph.\n' "$profile"
show allo info "$profile"
show allo top "$profile" -n 5
show allo tree "$profile" --min 5
for form in pb.gz svg folded; do
	show allo convert -f "$profile" -o "$out/allo.$form"
done
printf '\nOpen %s in a browser, or try:  go tool pprof -top %s\n' "$out/allo.svg" "$out/allo.pb.gz"
