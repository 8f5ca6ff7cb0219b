#!/bin/sh
# Prints a C source file with a text file's content as a string: embed.sh NAME FILE > FILE.c
set -eu
printf 'extern const char %s[];\nconst char %s[] =\n' "$1" "$1"
od -An -v -to1 "$2" | sed 's/  */\\/g; s/\\*$//; s/^/"/; s/$/"/'
echo ';'
