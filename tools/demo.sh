#!/bin/sh
# What "make demo" shows: questions to a bundled profile, and the profile in other forms.
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

echo "$profile is what Valgrind's DHAT recorded of allo itself, drawing a flame graph."
show allo info "$profile"
show allo top "$profile" -n 5
show allo tree "$profile" --min 5
for form in pb.gz svg folded; do
	show allo convert -f "$profile" -o "$out/allo.$form"
done
printf '\nOpen %s in a browser, or try:  go tool pprof -top %s\n' "$out/allo.svg" "$out/allo.pb.gz"
