#!/bin/sh
# Prepares cross builds for arm64 on a Debian machine of another architecture, and changes nothing outside of FOLDER.
#
# usage: cross.sh FOLDER
#
# Downloads the libraries that Allotrope is linked with, of this machine's release of Debian, by an apt with a state of its
# own, and unpacks them: FOLDER/root has the files of all, FOLDER/packages/NAME those of each, with its control files.
# Writes FOLDER/cross.ini for meson.  Does nothing if the folder is complete.
set -eu

packages="libc6 libgcc-s1 zlib1g zlib1g-dev libdeflate0 libdeflate-dev libzstd1 libzstd-dev libxxhash0 libxxhash-dev
	libelf1 libelf-dev libdw1 libdw-dev libbz2-1.0 liblzma5 libiberty-dev libsqlite3-0 libsqlite3-dev libmicrohttpd-dev"

mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ ! -e "$folder/cross.ini" ] || exit 0
rm -rf "$folder/apt" "$folder/debs" "$folder/packages" "$folder/root"
mkdir -p "$folder/apt/state/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs" "$folder/packages" "$folder/root"

# The sources and keys are those of the machine.
cat > "$folder/apt/apt.conf" <<END
Dir::State "$folder/apt/state";
Dir::State::status "/dev/null";
Dir::Cache "$folder/apt/cache";
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
END
# shellcheck disable=SC2086 # a list of words
(
	export APT_CONFIG="$folder/apt/apt.conf"
	cd "$folder/debs"
	apt-get update && apt-get download $packages
) > "$folder/apt.log" 2>&1 || { cat "$folder/apt.log" >&2; exit 1; }

for package in $packages; do
	dpkg-deb -R "$folder/debs/$package"_*.deb "$folder/packages/$package"
	dpkg-deb -x "$folder/debs/$package"_*.deb "$folder/root"
done
rm -rf "$folder/apt" "$folder/debs" "$folder/apt.log"
# A link to /lib would be one to this machine's libraries.
find "$folder/root" -type l -lname '/*' | while read -r link; do
	ln -sf "$folder/root$(readlink "$link")" "$link"
done
# Only its header is used; the libraries that it is linked with itself are not here.
sed -i '/^Requires.private/d' "$folder/root/usr/lib/aarch64-linux-gnu/pkgconfig/libmicrohttpd.pc"

# The C library to compile with is that of the cross compiler.  Programs run with the other one: the dynamic linker of a
# system must be that of its C library.
libraries=$folder/root/usr/lib/aarch64-linux-gnu
cat > "$folder/cross.new" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
objcopy = 'aarch64-linux-gnu-objcopy'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '$folder/root']

[properties]
sys_root = '$folder/root'
pkg_config_libdir = '$libraries/pkgconfig:$folder/root/usr/share/pkgconfig'

[built-in options]
c_args = ['-isystem', '$folder/root/usr/include', '-isystem', '$folder/root/usr/include/aarch64-linux-gnu']
c_link_args = ['-L$libraries', '-Wl,-rpath-link,$libraries:$folder/root/lib/aarch64-linux-gnu']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
mv "$folder/cross.new" "$folder/cross.ini"
