#!/bin/sh
# What the compiler and the linker do against the use of faults is in what was built: program and library are looked at with readelf, as
# hardening-check does, and so is each object file, since start files of the system decide what a whole program is marked with. The same look
# at a program built without all that finds everything missing.
set -u
: "${CT_BUILDDIR:?run this by make check}"
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: sanitizers do their own"
    exit 77
fi
flags=$(sed -n 's/^HARDEN_CFLAGS = *//p' "$CT_BUILDDIR/Makefile")
if [ -z "$flags" ] || ! command -v readelf >/dev/null; then
    echo "skipped: ${flags:+no readelf}${flags:-built without hardening}"
    exit 77
fi
LC_ALL=C
export LC_ALL
checks=0 failures=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# lacks FILE: names what it has not got
lacks() {
    readelf -hW "$1" | grep -q 'Type: *DYN' || echo "a place by lot (PIE)"
    readelf -lW "$1" | grep -q 'GNU_RELRO' || echo "tables that are read-only from the start on (RELRO)"
    readelf -lW "$1" | grep 'GNU_STACK' | grep -q ' RW ' || echo "a stack without code"
    readelf -dW "$1" | grep -q -e 'BIND_NOW' -e 'FLAGS_1.*NOW' || echo "libraries bound at the start"
    readelf -sW "$1" | grep -q '__stack_chk_fail' || echo "guarded frames"
    readelf -sW "$1" | grep -q '__[a-z]*_chk\(@\|$\)' || echo "a second look at buffers (_FORTIFY_SOURCE)"
}
expect_none() { # FILE
    checks=$((checks + 1))
    lacks "$1" >"$work/lacks"
    [ ! -s "$work/lacks" ] || { failures=$((failures + 1)) && sed "s,^,FAIL: ${1##*/} lacks ," "$work/lacks"; }
}
expect_none "$CT_BUILDDIR/captrain"
[ ! -e "$CT_BUILDDIR/.libs/libcaptrain.so" ] || expect_none "$CT_BUILDDIR/.libs/libcaptrain.so"
case $flags in
*-fcf-protection*)
    if readelf -hW "$CT_BUILDDIR/captrain" | grep -q 'Machine:.*X86-64'; then
        checks=$((checks + 1))
        find "$CT_BUILDDIR/src" "$CT_BUILDDIR/backends/cpu" -name '*.o' >"$work/objects"
        while read -r o; do
            readelf -nW "$o" | grep -q 'IBT, SHSTK' || echo "FAIL: ${o#"$CT_BUILDDIR"/} has no marks of where jumps may lead (CET)"
        done <"$work/objects" >"$work/unmarked"
        [ "$(wc -l <"$work/objects")" -ge 100 ] || echo "FAIL: only $(wc -l <"$work/objects") object files" >>"$work/unmarked"
        [ ! -s "$work/unmarked" ] || { failures=$((failures + 1)) && cat "$work/unmarked"; }
    fi
    ;;
esac

# --- a program that has none of it ---
checks=$((checks + 1))
cat >"$work/t.c" <<'C'
#include <stdio.h>
#include <string.h>
int main(int n, char **v) { char b[64]; strcpy(b, v[n - 1]); return puts(b) < 0; }
C
# shellcheck disable=SC2086
if ! ${CT_CC:-cc} -O2 -U_FORTIFY_SOURCE -fno-stack-protector -fno-pie -no-pie -z norelro -z lazy -z execstack "$work/t.c" -o "$work/t" 2>"$work/err"; then
    echo "note: no program without hardening can be built here: $(head -1 "$work/err")"
elif [ "$(lacks "$work/t" | wc -l)" -ne 6 ]; then
    failures=$((failures + 1))
    echo "FAIL: a program with none of it lacks only this:"
    lacks "$work/t"
fi
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
