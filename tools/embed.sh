#!/bin/sh
# Prints a C source file with a file's content as a string, and its length as NAME_len: embed.sh NAME FILE > FILE.c
set -eu
printf 'extern const char %s[];\nconst char %s[] = ""\n' "$1" "$1"
od -An -v -to1 "$2" | sed 's/  */\\/g; s/\\*$//; s/^/"/; s/$/"/'
printf ';\nextern const unsigned long %s_len;\nconst unsigned long %s_len = sizeof(%s) - 1;\n' "$1" "$1" "$1"
