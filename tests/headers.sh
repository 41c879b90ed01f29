#!/bin/sh
# Every header compiles alone: C11 for ours, C++17 as well for the installed one. The headers of kernels that are made to be
# included several times, and say so by having no include guard, are not headers in this sense.
# Needs a configured build directory (config.h, generated headers): CT_BUILDDIR, else the current directory.
set -u
src=${CT_SRCDIR:-.}
build=${CT_BUILDDIR:-.}
cc=${CT_CC:-cc}
cxx=${CT_CXX:-c++}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
flags="-fsyntax-only -Wall -Wextra -Wpedantic -Werror -I$build -I$build/src -I$src/src -I$src"
for lib in freetype2 libpng yaml-0.1 jansson libprotobuf-c; do
    flags="$flags $(pkg-config --cflags "$lib" 2>/dev/null)"
done
failed=0
count=0

# compile COMPILER LANGUAGE STANDARD HEADER: a file that includes only this header, twice (its guard works).
compile() {
    printf '#include "%s"\n#include "%s"\nint only_to_have_a_declaration;\n' "$4" "$4" > "$tmp/one.$2"
    # The compiler may be several words ("gcc -m32"), the flags are.
    # shellcheck disable=SC2086
    $1 -std="$3" $flags "$tmp/one.$2" 2> "$tmp/err"
}

# The test must be able to fail: a header that needs another one first.
printf '#ifndef BAD_H\n#define BAD_H\nsize_t bad(void);\n#endif\n' > "$tmp/bad.h"
if compile "$cc" c gnu11 "$tmp/bad.h"; then
    echo "headers.sh: a header that does not compile alone was not noticed"
    exit 99
fi

for h in $(cd "$src" && find src backends -name '*.h' ! -name '*.pb-c.h' | LC_ALL=C sort); do
    grep -q '^#ifndef CT_\|^#ifndef CAPTRAIN_H\|^#pragma once' "$src/$h" || continue
    count=$((count + 1))
    if ! compile "$cc" c gnu11 "$src/$h"; then
        echo "$h does not compile alone as C11:"
        cat "$tmp/err"
        failed=$((failed + 1))
    fi
done
if command -v "${cxx%% *}" > /dev/null 2>&1; then
    if ! compile "$cxx" cc c++17 "$src/src/captrain.h"; then
        echo "src/captrain.h does not compile as C++17:"
        cat "$tmp/err"
        failed=$((failed + 1))
    fi
else
    echo "no C++ compiler: src/captrain.h was not tried as C++17"
fi
echo "$count headers, $failed failures"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
