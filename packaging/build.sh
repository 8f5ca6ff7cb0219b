#!/bin/sh
# Builds Allotrope for packages: no debug information, and the same bytes in any folder.
#
# usage: build.sh standalone|shared FOLDER [--cross SYSROOT] [OPTION...]       options of 'meson setup'
#
# standalone makes the program only, FOLDER/allo, stripped; shared is for distributions.  With --cross, a build is for
# arm64; cross.sh prepares SYSROOT.
set -eu

linking=$1
folder=$2
machine=$(uname -m)
shift 2
if [ "${1:-}" = --cross ]; then
	cross=$(cd "$2" && pwd)/cross.ini
	machine=aarch64
	shift 2
fi
cd "$(dirname "$0")/.."
[ -e "$folder/build.ninja" ] || {
	mkdir -p "$folder"
	meson setup "$folder" --prefix /usr --libdir "lib/$machine-linux-gnu" -Dlinking="$linking" -Ddebug=false \
		${cross:+--cross-file "$cross"} "$@" > "$folder/setup.log" || { cat "$folder/setup.log" >&2; exit 1; }
}
case $linking in
standalone)
	ninja -C "$folder" src/allo > "$folder/build.log" || { cat "$folder/build.log" >&2; exit 1; }
	strip -o "$folder/allo" "$folder/src/allo"
	;;
*)
	ninja -C "$folder" > "$folder/build.log" || { cat "$folder/build.log" >&2; exit 1; }
	;;
esac
