#!/bin/sh
# Prints assembler code that embeds a file as it is: allo_NAME, and its length, the 64-bit number allo_NAME_size.
#
# usage: embed_bytes.sh NAME FILE        /dev/null: nothing
set -eu
# The checksum changes the text with the file, so that ninja assembles it again.
cat <<END
	/* $(cksum < "$2") */
	.section .rodata
	.global allo_$1, allo_$1_size
	.hidden allo_$1, allo_$1_size
	.balign 16
allo_$1:
	$(if [ -s "$2" ]; then echo ".incbin \"$2\""; fi)
0:
	.balign 8
allo_$1_size:
	.quad 0b - allo_$1
	.section .note.GNU-stack, "", %progbits
END
